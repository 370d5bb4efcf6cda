//! Flowlet switching (`LetFlow`): a flow keeps its port until a gap longer than `timeout`, and then draws a
//! random port.
//! A flow that meets a queue slows down and makes gaps, and so leaves a congested path sooner.
//! Simplifications: exact gaps, where switches check an age bit; an entry for each flow, where switches share
//! entries by a hash. Each switch draws for itself.
//! Invariants: choices are on shortest paths; a flow changes its port at a node only after a longer gap.
//! Source: Vanini et al., "Let it flow: resilient asymmetric load balancing with flowlet switching" (NSDI
//! 2017); the timeout is from `ConWeave`'s public ns-3 code (`docs/models/flowlet.md`).

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, wide};

use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Hooks, Install, Properties, Site, Watches};
use crate::parts::count::{Count, Tally};
use crate::parts::ids::PortId;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// `switch.routing.flowlet`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A longer gap between two packets of a flow ends the flowlet.
    pub timeout: Duration,
}

impl Default for Params {
    fn default() -> Self {
        Self { timeout: Duration::us(100) }
    }
}

/// Number of entries below which expired entries are kept.
const FEW: usize = 1024;

/// Ports of flows until their next gap.
#[derive(Debug, Clone)]
pub(super) struct Table {
    timeout: Duration,
    /// For each recent flow: its port, and the moment of its last packet.
    flows: FxHashMap<u32, (PortId, Moment)>,
    /// Number of entries at which expired entries are removed.
    room: usize,
}

impl State for Table {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { timeout: _, flows, room: _ } = self;
        walk.keyed(flows.iter_mut(), |walk, _, (port, last)| {
            walk.value(u64::from(port.0));
            walk.moment(last);
        });
    }
}

impl Table {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout, flows: FxHashMap::default(), room: FEW }
    }

    /// Returns the port of a packet's flow, unless the flowlet is over.
    pub(super) fn go_on(&mut self, flow: u32, now: Moment) -> Option<PortId> {
        let (port, last) = self.flows.get_mut(&flow).filter(|(_, last)| now - *last <= self.timeout)?;
        *last = now;
        Some(*port)
    }

    /// Begins a flowlet.
    pub(super) fn begin(&mut self, flow: u32, port: PortId, now: Moment) {
        // Flows whose next packet begins one anyway are forgotten, each time as many have come as were left.
        if self.flows.len() >= self.room {
            self.flows.retain(|_, (_, last)| now - *last <= self.timeout);
            self.room = FEW.max(2 * self.flows.len());
        }
        self.flows.insert(flow, (port, now));
    }
}

/// Flowlets at a node.
#[derive(Debug, Clone)]
pub struct Flowlet {
    table: Table,
    begun: u64,
}

state!(Flowlet {
    total: begun;
    part: table;
});

const FLOWLETS: Count = Count::number("flowlets", "flowlets with a drawn port");

impl Flowlet {
    fn new(timeout: Duration) -> Self {
        Self { table: Table::new(timeout), begun: 0 }
    }
}

impl Install for Flowlet {
    type Params = Params;
    const LABEL: &'static str = "flowlets";
    const COUNTS: &'static [Count] = &[FLOWLETS];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self::new(params.timeout))
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, ..Properties::default() }
    }
}

impl Hooks for Flowlet {
    fn watches(&self) -> Watches {
        Watches::ROUTE
    }

    fn route(
        &mut self,
        packet: &mut Packet,
        choices: &[PortId],
        _: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        let now = effects.now;
        if let Some(port) = self.table.go_on(packet.flow(), now) {
            return Some(port);
        }
        let port = choices[effects.draw(packet, wide(choices.len())) as usize];
        self.begun += 1;
        self.table.begin(packet.flow(), port, now);
        Some(port)
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(FLOWLETS, self.begun);
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    /// Returns the number of choices of each of four ports over 40,000 packets of a flow that come `gap`
    /// apart, and the number of flowlets.
    fn chosen(gap: Duration) -> ([u32; 4], u64) {
        let (mut flowlet, core) = (Flowlet::new(Duration::us(100)), Core::for_tests(6, 1));
        let mut effects = Effects::for_tests(1);
        let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1000, 0);
        let mut counts = [0; 4];
        for seq in 0..40_000 {
            packet.set_seq(seq);
            effects.now += gap;
            let port = flowlet
                .route(&mut packet, &[PortId(2), PortId(3), PortId(4), PortId(5)], &core, &mut effects)
                .unwrap();
            counts[port.index() - 2] += 1;
        }
        (counts, flowlet.begun)
    }

    #[test]
    fn a_gap_of_the_timeout_keeps_the_port_and_a_longer_one_does_not() {
        let (mut counts, begun) = chosen(Duration::us(100));
        counts.sort_unstable();
        assert_eq!((counts, begun), ([0, 0, 0, 40_000], 1));
        let (counts, begun) = chosen(Duration::us(100) + Duration(1));
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(counts.iter().all(|n| n.abs_diff(10_000) < 346), "{counts:?}");
        assert_eq!(begun, 40_000);
    }

    #[test]
    fn flows_that_are_over_take_no_room() {
        // A packet of a new flow each microsecond: 101 of them are not over. One goes on all the time, and
        // keeps its port.
        let (mut flowlet, core) = (Flowlet::new(Duration::us(100)), Core::for_tests(6, 1));
        let mut effects = Effects::for_tests(1);
        let mut send = |flow| {
            effects.now += Duration::ns(500);
            let port = flowlet.route(
                &mut Packet::new(Kind::Data, flow, 0, 9, 1000, 0),
                &[PortId(2), PortId(3), PortId(4), PortId(5)],
                &core,
                &mut effects,
            );
            (port, flowlet.table.flows.len())
        };
        let (port, _) = send(0);
        for flow in 1..100_000 {
            assert_eq!(send(0).0, port);
            assert!(send(flow).1 <= FEW);
        }
    }
}
