//! Flows that stay slow on an empty path.
//!
//! Models: at an answer with a round trip, the rate of a flow is the payload in flight divided by the round
//! trip (Little's law). A round trip is *slow* if the rate is below a tenth of the slowest link on the path,
//! only window or pace holds the flow, and no answer carries a mark, reports a loss or exceeds the least
//! round trip by more than a tenth. A slow round trip is *stuck* if the payload in flight did not grow since
//! the slow round trip before. Limits: a flow beside others below the capacity of their links is judged as
//! well.

use std::sync::Arc;

use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, Rate, index};

use crate::parts::ids::PortId;
use crate::paths::topology::{PortSpec, Topology};

/// Shares of a rate, and of a round trip, below which a flow is slow and a path empty.
const TENTH: u64 = 10;

/// The slowest link on the path of a flow: the minimum of its first port, of the links between forwarding
/// nodes, and of the slowest port of the destination. No path has a slower link.
#[derive(Debug, Clone, Default)]
pub struct Bottlenecks {
    own: Vec<Rate>,
    between: Option<Rate>,
    into: Arc<[Rate]>,
}

impl Bottlenecks {
    /// Returns the bottlenecks of a network.
    pub fn new(topology: &Topology, ports: &[Vec<PortSpec>]) -> Self {
        let forwards = |n: u32| topology.nodes[index(n)].forwards;
        let between =
            topology.links.iter().filter(|l| forwards(l.a) && forwards(l.b)).map(|l| l.link.rate).min();
        let into = ports
            .iter()
            .map(|ports| ports.iter().map(|p| p.link.rate).min().unwrap_or(Rate(u64::MAX)))
            .collect();
        Self { own: Vec::new(), between, into }
    }

    /// Returns the bottlenecks of a host with ports of these rates.
    #[must_use]
    pub fn leaving_by(&self, own: Vec<Rate>) -> Self {
        Self { own, ..self.clone() }
    }

    /// Returns the bottleneck of flows to `dst` that leave by `port`.
    pub(super) fn of(&self, port: PortId, dst: u32) -> Rate {
        let own = self.own[port];
        let into = self.into.get(index(dst)).copied().unwrap_or(own);
        own.min(into).min(self.between.unwrap_or(own))
    }
}

/// The slow round trips of a flow.
#[derive(Debug, Clone, Default)]
pub(super) struct Slow {
    /// The start of the present slow round trip, and the payload in flight at that time.
    since: Option<(Moment, u64)>,
    /// Slow round trips, and the stuck ones among them.
    pub round_trips: u32,
    pub stuck: u32,
}

impl State for Slow {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { since, round_trips, stuck } = self;
        walk.value(since.map_or(u64::MAX, |(_, under_way)| under_way));
        if let Some((at, _)) = since {
            walk.moment(at);
        }
        walk.total(round_trips);
        walk.total(stuck);
    }
}

/// An answer with the data that a flow's rate follows from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    /// Payload in flight before the answer.
    pub under_way: u64,
    pub round_trip: Duration,
    pub least: Duration,
    /// True when the answer reports a mark or a loss, or when window and pace do not hold the flow.
    pub is_excused: bool,
    /// Rate of the slowest link on the path.
    pub slowest: Rate,
    pub now: Moment,
}

impl Slow {
    pub fn on_answer(&mut self, answer: &Answer) {
        let Answer { under_way, round_trip, least, is_excused, slowest, now } = *answer;
        let is_late = round_trip.ps() - least.ps() > least.ps() / TENTH;
        let is_fast = u128::from(under_way) * 8 * 1_000_000_000_000 * u128::from(TENTH)
            > u128::from(slowest.0) * u128::from(round_trip.ps());
        if is_excused || is_late || is_fast {
            self.since = None;
            return;
        }
        let (since, before) = *self.since.get_or_insert((now, under_way));
        if now >= since + round_trip {
            self.round_trips += 1;
            self.stuck += u32::from(under_way <= before);
            self.since = Some((now, under_way));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_a_round_trip_on_an_empty_path_is_slow_and_stuck_until_it_grows() {
        let mut s = Slow::default();
        let answer = |n: u64| Answer {
            under_way: 1000,
            round_trip: Duration::us(10),
            least: Duration::us(10),
            is_excused: false,
            slowest: Rate::gbps(100),
            now: Moment::us(10 * n),
        };
        (0..5).for_each(|n| s.on_answer(&answer(n)));
        assert_eq!((s.round_trips, s.stuck), (4, 4));
        s.on_answer(&Answer { under_way: 2000, ..answer(5) });
        assert_eq!((s.round_trips, s.stuck), (5, 4));
        // 100 Gb/s for 10 us are 125 KB: a tenth is not slow, nor is a flow that is excused or has a queue
        // before it.
        let others = [
            Answer { under_way: 12_501, ..answer(7) },
            Answer { is_excused: true, ..answer(7) },
            Answer { round_trip: Duration::ns(11_001), ..answer(7) },
        ];
        for other in others {
            s.since = None;
            s.on_answer(&answer(6));
            s.on_answer(&other);
            s.on_answer(&answer(8));
            assert_eq!((s.since, s.round_trips), (Some((Moment::us(80), 1000)), 5));
        }
    }
}
