//! Moments of a fault: one spell, or drawn spells.
//! Each component that needs the moments draws them from a stream of the same key: both ends of a link, the
//! routes of all nodes, and the table of faults. No spell is drawn before its time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{Duration, Moment};

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// This time.
    Fixed(Duration),
    /// Exponentially distributed, with this mean: failures without memory.
    Exponential(Duration),
    /// Uniformly distributed between the two times.
    Uniform([Duration; 2]),
}

/// The longest drawn time.
const LONGEST: Duration = Duration::ms(281_000);

impl Time {
    /// Refuses values out of range.
    pub fn validate(&self) -> Result<(), String> {
        let (Self::Fixed(most) | Self::Exponential(most) | Self::Uniform([_, most])) = *self;
        if most < Duration::ns(1) || most > LONGEST {
            return Err(format!("{most} is out of range; allowed are 1ns to {LONGEST}"));
        }
        match self {
            Self::Uniform([least, most]) if least > most => {
                Err(format!("{least} is longer than {most}; write the shorter first"))
            }
            Self::Fixed(_) | Self::Exponential(_) | Self::Uniform(_) => Ok(()),
        }
    }

    /// Draws the next time, which is never zero.
    fn draw(&self, stream: &mut Stream) -> Duration {
        let ps = match *self {
            Self::Fixed(time) => time.0,
            Self::Exponential(mean) => (-libm::log(1.0 - stream.uniform()) * mean.real()) as u64,
            Self::Uniform([least, most]) => least.0 + stream.below(most.0 - least.0 + 1),
        };
        Duration(ps.clamp(1, LONGEST.0))
    }
}

/// A spell of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// Start of the spell.
    pub start: Moment,
    /// End of the spell; none for ever.
    pub end: Option<Moment>,
}

/// The spells of a fault at a link, node or host, in order, with gaps between.
#[derive(Debug, Clone)]
pub struct Schedule {
    from: Option<Moment>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Once(Option<Duration>),
    Drawn { between: Time, repair: Time, stream: Stream },
}

impl Schedule {
    /// Makes one spell.
    pub const fn once(at: Moment, lasts: Option<Duration>) -> Self {
        Self { from: Some(at), kind: Kind::Once(lasts) }
    }

    /// Makes drawn spells, the first some time after a moment.
    pub const fn drawn(from: Moment, between: Time, repair: Time, stream: Stream) -> Self {
        Self { from: Some(from), kind: Kind::Drawn { between, repair, stream } }
    }

    /// True for drawn spells, which have no last.
    pub const fn is_endless(&self) -> bool {
        matches!(self.kind, Kind::Drawn { .. })
    }
}

impl Iterator for Schedule {
    type Item = Outage;

    fn next(&mut self) -> Option<Outage> {
        let from = self.from?;
        let outage = match &mut self.kind {
            Kind::Once(lasts) => {
                self.from = None;
                Outage { start: from, end: lasts.map(|lasts| from + lasts) }
            }
            Kind::Drawn { between, repair, stream } => {
                let start = from + between.draw(stream);
                let end = start + repair.draw(stream);
                self.from = Some(end);
                Outage { start, end: Some(end) }
            }
        };
        Some(outage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_is_once() {
        let outage = Outage { start: Moment::us(5), end: Some(Moment::us(7)) };
        assert_eq!(Schedule::once(Moment::us(5), Some(Duration::us(2))).collect::<Vec<_>>(), [outage]);
        assert_eq!(Schedule::once(Moment::us(5), None).map(|s| s.end).collect::<Vec<_>>(), [None]);
    }

    #[test]
    fn times_have_the_mean_of_their_distribution_and_two_that_draw_agree() {
        let schedule =
            |between, repair| Schedule::drawn(Moment::us(3), between, repair, Stream::new(7, 1, "fault"));
        let us = Duration::us;
        for (between, repair, means) in [
            (Time::Exponential(us(100)), Time::Exponential(us(10)), [100.0, 10.0]),
            (Time::Uniform([us(10), us(30)]), Time::Fixed(us(5)), [20.0, 5.0]),
        ] {
            let outages: Vec<Outage> = schedule(between, repair).take(20_000).collect();
            assert_eq!(outages, schedule(between, repair).take(20_000).collect::<Vec<_>>());
            assert!(
                outages.windows(2).all(|w| w[0].end.unwrap() < w[1].start)
                    && outages[0].start > Moment::us(3)
            );
            let up =
                outages.windows(2).map(|w| w[1].start - w[0].end.unwrap()).fold(Duration::ZERO, |a, b| a + b);
            let down = outages.iter().map(|s| s.end.unwrap() - s.start).fold(Duration::ZERO, |a, b| a + b);
            for (sum, mean) in [(up, means[0]), (down, means[1])] {
                let found = sum.real() / 1e6 / outages.len() as f64;
                // Four standard errors of an exponential mean.
                assert!((found / mean - 1.0).abs() < 4.0 / 141.0, "{found} for {mean}");
            }
        }
    }

    #[test]
    fn a_time_is_never_zero() {
        let times = [Time::Exponential(Duration::ns(1)), Time::Uniform([Duration::ZERO, Duration::ns(1)])];
        let mut stream = Stream::new(1, 1, "test");
        assert!((0..10_000).all(|n| times[n % 2].draw(&mut stream) > Duration::ZERO));
    }
}
