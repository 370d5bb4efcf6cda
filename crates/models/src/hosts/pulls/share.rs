//! The share of its line that a host pulls when the network is narrower than the line.
//!
//! Models: at each interval the share of packets trimmed before the last hop is subtracted from the rate, and
//! an average share of marks above `target` lowers the rate by a factor. Otherwise the rate grows by
//! `increase`, which doubles with each calm interval without marks. Source: the control for oversubscribed
//! networks in the public simulator of Ultra Ethernet (`oversubscribed_cc.cpp`); `docs/models/rccc.md`.
//! Simplifications: intervals are computed when packets arrive or pulls are sent, and cost no event.
//! Invariants: `minimum` ≤ rate ≤ 1.

use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment};

use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::streams;

/// The parameters of the adaption.
#[derive(Debug, Clone, Copy)]
pub struct Adaption {
    /// The mean interval; each interval is drawn within a quarter of the mean.
    pub interval: Duration,
    /// Tolerated average share of marked packets.
    pub target: f64,
    /// Growth of the rate per interval without congestion.
    pub increase: f64,
    /// Factor of the decrease for marks above the target.
    pub decrease: f64,
    /// The least.
    pub minimum: f64,
    /// Of the scenario's random numbers.
    pub seed: u64,
}

/// Weight of the last interval in the average share of marked packets.
const WEIGHT: f64 = 0.5;
/// After this many empty intervals the rate is one and the average zero.
const FORGOTTEN: u32 = 64;

/// The share of a host.
#[derive(Debug, Clone)]
pub struct Share {
    rate: f64,
    average: f64,
    calm: u32,
    arrived: u32,
    marked: u32,
    /// Packets trimmed before their last hop, and at the last hop.
    cut: u32,
    cut_last: u32,
    ends: Moment,
    stream: Stream,
}

state!(Share {
    value: rate, average, calm, arrived, marked, cut, cut_last, stream;
    moment: ends;
});

impl Share {
    /// Of a host at rest.
    pub fn new(adaption: &Adaption, host: u32) -> Self {
        let mut stream = Stream::new(adaption.seed, u64::from(host), streams::PULLS);
        let ends = Moment::ZERO + Self::interval(adaption, &mut stream);
        Self { rate: 1.0, average: 0.0, calm: 0, arrived: 0, marked: 0, cut: 0, cut_last: 0, ends, stream }
    }

    fn interval(adaption: &Adaption, stream: &mut Stream) -> Duration {
        Duration::of_real(adaption.interval.real() * (0.75 + 0.5 * stream.uniform())).max(Duration(1))
    }

    /// Counts an arriving packet.
    pub fn on_packet(&mut self, adaption: &Adaption, packet: &Packet, now: Moment) {
        self.settle(adaption, now);
        match packet.kind() {
            Kind::Data => self.marked += u32::from(packet.has(Packet::CE)),
            // Counted from where it was cut.
            Kind::Header if packet.hops() <= 1 => self.cut_last += 1,
            Kind::Header => self.cut += 1,
            _ => return,
        }
        self.arrived += 1;
    }

    /// The rate now.
    pub fn rate(&mut self, adaption: &Adaption, now: Moment) -> f64 {
        self.settle(adaption, now);
        self.rate
    }

    fn settle(&mut self, adaption: &Adaption, now: Moment) {
        for _ in 0..FORGOTTEN {
            if now < self.ends {
                return;
            }
            self.look(adaption);
            self.ends += Self::interval(adaption, &mut self.stream);
        }
        self.ends = self.ends.max(now + Self::interval(adaption, &mut self.stream));
    }

    fn look(&mut self, adaption: &Adaption) {
        let whole = self.arrived - self.cut - self.cut_last;
        let fraction = if whole > 0 { f64::from(self.marked) / f64::from(whole) } else { 0.0 };
        self.average = (1.0 - WEIGHT) * self.average + WEIGHT * fraction;
        let is_marked = self.average > adaption.target;
        if self.cut > 0 {
            self.rate -= f64::from(self.cut) / f64::from(self.arrived);
        }
        if is_marked {
            self.rate *= 1.0 - (self.average - adaption.target) * adaption.decrease;
        }
        if self.cut > 0 || is_marked {
            self.calm = 0;
        } else {
            let grows = if self.marked == 0 { f64::from(1_u32 << self.calm.min(30)) } else { 1.0 };
            self.rate += adaption.increase * grows;
            self.calm += 1;
        }
        self.rate = self.rate.clamp(adaption.minimum, 1.0);
        (self.arrived, self.marked, self.cut, self.cut_last) = (0, 0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADAPTION: Adaption = Adaption {
        interval: Duration::us(16),
        target: 0.3,
        increase: 0.01,
        decrease: 0.5,
        minimum: 0.01,
        seed: 1,
    };

    /// A share after an interval with these packets: whole, marked, trimmed before and at the last hop.
    fn after(whole: u32, marked: u32, cut: u32, cut_last: u32, share: &mut Share) -> f64 {
        (share.arrived, share.marked, share.cut, share.cut_last) =
            (whole + cut + cut_last, marked, cut, cut_last);
        share.look(&ADAPTION);
        share.rate
    }

    fn is(rate: f64, expected: f64) -> bool {
        (rate - expected).abs() < 1e-12
    }

    #[test]
    fn the_rate_falls_with_cuts_and_marks_and_grows_in_doubling_steps() {
        let s = &mut Share::new(&ADAPTION, 3);
        assert!(is(after(60, 0, 40, 0, s), 0.6));
        assert!(is(after(60, 0, 0, 40, s), 0.61), "cuts at the last hop are for pulls to prevent");
        assert!(is(after(10, 0, 0, 0, s), 0.63));
        assert!(is(after(10, 1, 0, 0, s), 0.64), "a mark keeps it from doubling");
        // The average is (0.05 + 1) / 2 = 0.525, which is 0.225 above what is borne.
        assert!(is(after(10, 10, 0, 0, s), 0.64 * (1.0 - 0.225 * 0.5)));
        for _ in 0..9 {
            after(1, 0, 0, 0, s);
        }
        assert!(is(s.rate, 1.0));
        assert!(is(after(0, 0, 100, 0, s), 0.01));
    }

    #[test]
    fn intervals_without_arrivals_are_made_up_for() {
        let mut s = Share::new(&ADAPTION, 3);
        assert!(s.ends >= Moment::us(12) && s.ends <= Moment::us(20));
        s.rate = 0.5;
        // From five to eight of them in 100 us: a hundredth more, two, four and so on.
        let rate = s.rate(&ADAPTION, Moment::us(100));
        assert!(
            [31.0, 63.0, 127.0, 255.0].iter().any(|steps| is(rate, (0.5_f64 + 0.01 * steps).min(1.0))),
            "{rate}"
        );
        s.rate = 0.5;
        assert!(is(s.rate(&ADAPTION, Moment::ms(900)), 1.0));
        assert!(s.ends > Moment::ms(900) && s.ends <= Moment::us(900_020));
    }
}
