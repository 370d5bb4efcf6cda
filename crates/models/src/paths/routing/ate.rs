//! Asymmetric Traffic Engineering: the choice between two first hops of unequal bandwidth.
//! A flow that may take either hop takes the faster hop with probability w. The host compares a volume T of
//! its flows on the faster hop with p·B, the bytes that the share p of the hop carries in a window.
//! - `in_flight`: T is the traffic of the first hop, "from source i to the first-hop high-bandwidth domain": bytes
//!   of the host's flows that wait for the port, or have not reached the other end of its link. Algorithm 5
//!   assigns a flow (line 2), detects T with this flow (line 3), and sets the weight of its pair of hosts to
//!   `p·B / T` if `T ≥ p·B`. Equation 3 (`raises`) multiplies the weights of all pairs by `p·B / T` once a
//!   window with T > 0.
//! - `started`: T is the payload of flows that started in the window. After a window with T > 0, `w ← w · p·B /
//!   T`, for all pairs alike; without `raises` only if T is above p·B.
//!
//! Simplifications: the paper compares a volume with a rate, so that a window is needed: the round trip of the
//! faster hop, unless one is given. A weight is at most 1, and begins at one half.
//! Source: the `PortFC` paper, section III-E, Algorithm 5 and equation 3; `docs/models/first_hop.md`.

use std::collections::{BTreeMap, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use crate::frames::framing::Framing;
use crate::parts::ids::PortId;
use crate::paths::topology::Link;

/// `host.first_hop.asymmetric`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Share of the faster domain's bandwidth that flows may take.
    pub threshold: f64,
    /// Volume that is compared with the faster domain's bandwidth.
    pub volume: Volume,
    /// Time in which the faster domain carries the volume. Default: the round trip of the faster hop for
    /// `in_flight`, and 10us for `started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Duration>,
    /// The weight of the faster domain rises again while the volume is below the threshold (equation 3).
    pub raises: bool,
}

/// Volume of a host's flows on the faster domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Volume {
    /// Bytes of the host's flows that wait for the port of the faster hop or are on its link.
    #[default]
    InFlight,
    /// Payload of flows that started in the window.
    Started,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: 0.9, volume: Volume::InFlight, window: None, raises: true }
    }
}

/// A port of the host as a first hop, and what is on its link.
#[derive(Debug, Clone)]
struct Hop {
    rate: Rate,
    delay: Duration,
    /// From the start of a full packet to the end of a control frame that answers it, without load.
    round_trip: Duration,
    on_link: VecDeque<Sent>,
}

state!(Hop {
    part: on_link;
    constant: rate, delay, round_trip;
});

/// A packet on a link.
#[derive(Debug, Clone, Copy)]
struct Sent {
    arrives: Moment,
    bytes: u64,
}

state!(Sent {
    moment: arrives;
    value: bytes;
});

impl Hop {
    fn new(link: Link, framing: Framing) -> Self {
        let Link { rate, delay } = link;
        let round_trip = delay * 2 + rate.time(framing.largest()) + rate.time(u64::from(framing.control));
        Self { rate, delay, round_trip, on_link: VecDeque::new() }
    }

    /// Forgets the packets that have arrived.
    fn advance(&mut self, now: Moment) {
        while self.on_link.front().is_some_and(|sent| sent.arrives <= now) {
            self.on_link.pop_front();
        }
    }
}

/// State of a host.
#[derive(Debug, Clone)]
pub struct Weight {
    params: Params,
    framing: Framing,
    stream: Stream,
    hops: Box<[Hop]>,
    faster: f64,
    /// Weights of destinations that Algorithm 5 has set.
    pairs: BTreeMap<u32, f64>,
    committed: u64,
    window_ends: Moment,
}

state!(Weight {
    part: hops;
    value: stream, faster, pairs, committed;
    moment: window_ends;
    constant: params, framing;
});

impl Weight {
    /// Makes the state of a host before its first flow, with the links of its ports.
    pub fn new(
        params: &Params,
        links: impl IntoIterator<Item = Link>,
        framing: Framing,
        stream: Stream,
    ) -> Self {
        Self {
            params: params.clone(),
            framing,
            stream,
            hops: links.into_iter().map(|link| Hop::new(link, framing)).collect(),
            faster: 0.5,
            pairs: BTreeMap::new(),
            committed: 0,
            window_ends: Moment::ZERO,
        }
    }

    /// Returns the probability that the next flow to a destination takes the faster domain.
    pub fn of(&self, dst: u32) -> f64 {
        self.pairs.get(&dst).copied().unwrap_or(self.faster)
    }

    /// Returns the faster and the slower of these hops, if their rates differ.
    pub fn unequal(&self, choices: &[PortId]) -> Option<(PortId, PortId)> {
        let rate = |port: PortId| self.hops[port.index()].rate;
        let faster = choices.iter().copied().max_by_key(|port| rate(*port))?;
        let slower = choices.iter().copied().find(|port| rate(*port) < rate(faster))?;
        Some((faster, slower))
    }

    /// A packet of a flow has taken its turn at a port, and leaves whole at `ends`.
    pub fn on_sent(&mut self, port: PortId, bytes: u16, now: Moment, ends: Moment) {
        if self.params.volume == Volume::InFlight {
            let hop = &mut self.hops[port.index()];
            hop.advance(now);
            hop.on_link.push_back(Sent { arrives: ends + hop.delay, bytes: u64::from(bytes) });
        }
    }

    /// Chooses the first hop of a flow of `size` bytes to `dst`; true for the faster hop, which is port `port`.
    /// `unsent` returns the bytes of the host's flows that wait for this port.
    pub fn takes_faster(
        &mut self,
        size: u64,
        dst: u32,
        port: PortId,
        unsent: impl FnOnce() -> u64,
        now: Moment,
    ) -> bool {
        let hop = &mut self.hops[port.index()];
        let (volume, usual) = match self.params.volume {
            Volume::InFlight => {
                hop.advance(now);
                (unsent() + hop.on_link.iter().map(|sent| sent.bytes).sum::<u64>(), hop.round_trip)
            }
            Volume::Started => (self.committed, Duration::us(10)),
        };
        let window = self.params.window.unwrap_or(usual);
        let capacity = self.params.threshold * hop.rate.real() / 8e12 * window.real();
        let is_algorithm_5 = self.params.volume == Volume::InFlight && !self.params.raises;
        if !is_algorithm_5 && now >= self.window_ends {
            self.committed = 0;
            self.step(capacity, volume, window, now);
        }
        let is_faster = self.stream.uniform() < self.of(dst);
        if is_faster && self.params.volume == Volume::Started {
            self.committed += size;
        }
        if is_algorithm_5 {
            let own = size + self.framing.packets(size) * self.framing.header;
            let volume = (volume + if is_faster { own } else { 0 }) as f64;
            if volume >= capacity {
                self.pairs.insert(dst, capacity / volume);
            }
        }
        is_faster
    }

    /// Multiplies the weight by capacity over volume, and begins the window of `now`.
    fn step(&mut self, capacity: f64, volume: u64, window: Duration, now: Moment) {
        if volume > 0 {
            let factor = capacity / volume as f64;
            if factor < 1.0 || self.params.raises {
                self.faster = (self.faster * factor).min(1.0);
            }
        }
        let behind = (now.0 - self.window_ends.0) / window.0;
        self.window_ends = Moment(self.window_ends.0 + (behind + 1) * window.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: PortId = PortId(0);
    const LINKS: [Link; 2] = [
        Link { rate: Rate::gbps(160), delay: Duration::us(1) },
        Link { rate: Rate::gbps(100), delay: Duration::us(1) },
    ];

    /// Packets of 950 B and headers of 50 B: 50 ns at 160 Gb/s. A control frame of 100 B takes 5 ns.
    const FRAMING: Framing = Framing { payload: 950, header: 50, control: 100, minimum: 64 };

    fn weight(params: Params) -> Weight {
        Weight::new(&params, LINKS, FRAMING, Stream::new(1, 0, "ate"))
    }

    fn started(window: u64) -> Params {
        Params { volume: Volume::Started, window: Some(Duration::us(window)), ..Params::default() }
    }

    fn in_flight(raises: bool) -> Params {
        Params { window: Some(Duration::us(8)), raises, ..Params::default() }
    }

    /// Takes the hop of a flow of `size` bytes to host 7, with nothing that waits.
    fn start(w: &mut Weight, size: u64, now: Moment) -> bool {
        w.takes_faster(size, 7, FAST, || 0, now)
    }

    #[test]
    fn what_is_committed_settles_at_the_threshold() {
        // Twice what the faster domain carries is offered: w settles where half of the volume times w is 0.9
        // of its capacity.
        let mut w = weight(started(100));
        let capacity = 160e9 / 8.0 * 100e-6;
        let size = (capacity * 2.0 / 1000.0) as u64;
        let mut faster = 0.0;
        for i in 0..200_000_u64 {
            let took = start(&mut w, size, Moment(i * Duration::us(100).0 / 1000));
            faster += if took && i >= 100_000 { size as f64 } else { 0.0 };
        }
        let committed = faster / 100.0 / capacity;
        assert!((committed - 0.9).abs() < 0.02, "{committed}");
        assert!((w.of(7) - 0.45).abs() < 0.05, "{}", w.of(7));
    }

    #[test]
    fn an_idle_window_changes_nothing_and_the_letter_never_raises() {
        let mut w = weight(Params { raises: false, ..started(10) });
        start(&mut w, 1, Moment::ZERO);
        start(&mut w, 1, Moment::us(500));
        assert!((w.of(7) - 0.5).abs() < 1e-12);
        let mut w = weight(started(10));
        for i in 0..50 {
            start(&mut w, 1, Moment::us(20 * i));
        }
        assert!((w.of(7) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn algorithm_5_sets_the_weight_of_the_pair_at_hand_to_capacity_over_volume() {
        // In 8 us 160 Gb/s carry 160 KB; p = 0.9 of them are 144 KB. A flow of 950 B that is assigned to the
        // faster hop adds 1000 B on the wire to T.
        let mut w = weight(in_flight(false));
        for unsent in [0, 142_999, 288_000, 144_000, 0, 576_000] {
            let before = w.of(7);
            let volume =
                unsent + if w.takes_faster(950, 7, FAST, || unsent, Moment::ZERO) { 1000 } else { 0 };
            let expected = if volume >= 144_000 { 144e3 / volume as f64 } else { before };
            assert!((w.of(7) - expected).abs() < 1e-12, "{unsent}: {}", w.of(7));
            assert!((w.of(8) - 0.5).abs() < 1e-12);
        }
        assert!((w.of(7) - 0.25).abs() < 1e-3, "{}", w.of(7));
    }

    #[test]
    fn a_flow_is_part_of_the_volume_that_its_assignment_makes() {
        // Line 2 assigns, line 3 detects: a flow of 288 KB on the wire alone halves the weight of its pair if it
        // takes the faster hop, and changes nothing otherwise.
        let mut w = weight(in_flight(false));
        for dst in 0..64 {
            w.takes_faster(288 * 950, dst, FAST, || 0, Moment::ZERO);
            assert!((w.of(dst) - 0.5).abs() < 1e-12, "{dst}");
            let took = w.takes_faster(576 * 950, dst, FAST, || 0, Moment::ZERO);
            let expected = if took { 0.25 } else { 0.5 };
            assert!((w.of(dst) - expected).abs() < 1e-12, "{dst}: {}", w.of(dst));
        }
    }

    #[test]
    fn a_packet_counts_until_it_reaches_the_other_end_of_the_link() {
        // Sent from 0 to 50 ns, a packet arrives at 1.05 us. No acknowledgement is awaited.
        let mut w = weight(in_flight(false));
        for n in 0..288 {
            w.on_sent(FAST, 1000, Moment(n * 50_000), Moment((n + 1) * 50_000));
        }
        // At 14.4 us the packets that left after 13.4 us are on the link: 20 of them.
        let at = |w: &mut Weight, now| {
            w.hops[0].advance(now);
            w.hops[0].on_link.iter().map(|sent| sent.bytes).sum::<u64>()
        };
        assert_eq!(at(&mut w, Moment(288 * 50_000)), 20_000);
        assert_eq!(at(&mut w, Moment(288 * 50_000 + Duration::us(1).0 - 1)), 1000);
        assert_eq!(at(&mut w, Moment(288 * 50_000 + Duration::us(1).0)), 0);
    }

    #[test]
    fn the_window_is_the_round_trip_of_the_faster_hop() {
        // 2 us of propagation, 50 ns of a full packet and 5 ns of a control frame: 160 Gb/s carry 41.1 KB, and
        // p = 0.9 of them are 36.99 KB. Neither the slower hop nor the path behind the hop matters.
        let mut w = weight(Params { raises: false, ..Params::default() });
        assert_eq!(w.hops[0].round_trip, Duration::us(2) + Duration::ns(55));
        w.takes_faster(950, 7, FAST, || 35_989, Moment::ZERO);
        assert!((w.of(7) - 0.5).abs() < 1e-12);
        w.takes_faster(950, 7, FAST, || 73_980, Moment::ZERO);
        assert!((w.of(7) - 0.5).abs() < 0.01 && w.pairs.contains_key(&7), "{}", w.of(7));
    }

    #[test]
    fn the_faster_hop_is_found_by_rate() {
        let w = weight(Params::default());
        assert_eq!(w.unequal(&[PortId(1), PortId(0)]), Some((PortId(0), PortId(1))));
        assert_eq!(w.unequal(&[PortId(1), PortId(1)]), None);
    }

    #[test]
    fn equation_3_multiplies_the_weights_of_all_pairs_once_a_window() {
        let mut w = weight(in_flight(true));
        // Moments in us, the volume in flight, and the weight: 0.5 without volume, halved, unchanged in the same
        // window and without volume, and doubled twice up to 1.
        for (at, volume, expected) in [
            (0, 0, 0.5),
            (8, 288_000, 0.25),
            (9, 288_000, 0.25),
            (16, 0, 0.25),
            (24, 72_000, 0.5),
            (90, 14_400, 1.0),
        ] {
            w.takes_faster(1, 7, FAST, || volume, Moment::us(at));
            assert!(
                (w.of(7) - expected).abs() < 1e-12 && (w.of(8) - expected).abs() < 1e-12,
                "{at}: {}",
                w.of(7)
            );
        }
    }

    #[test]
    fn the_volume_in_flight_settles_at_the_threshold() {
        // 600 KB are offered in a window of 8 us, in flows of 2 KB that stay in flight for a window. The
        // equilibrium of equation 3 is T = p B = 144 KB, that is w = 0.24.
        let mut w = weight(in_flight(true));
        let mut flying = VecDeque::new();
        let (flows, mut volumes) = (300, Vec::new());
        for i in 0..flows * 2000_u64 {
            let now = Moment(i * Duration::us(8).0 / flows);
            while flying.front().is_some_and(|left: &Moment| *left <= now) {
                flying.pop_front();
            }
            let volume = flying.len() as u64 * 2000;
            if w.takes_faster(2000, 7, FAST, || volume, now) {
                flying.push_back(now + Duration::us(8));
            }
            if i >= flows * 1000 {
                volumes.push(volume as f64);
            }
        }
        let mean = volumes.iter().sum::<f64>() / volumes.len() as f64;
        assert!((mean - 144_000.0).abs() < 0.05 * 144_000.0, "{mean}");
    }
}
