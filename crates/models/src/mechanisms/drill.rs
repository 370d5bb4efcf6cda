//! DRILL(d, m): each packet goes to the shortest of a few local queues, d drawn at random and m remembered.
//! At each node with a choice a packet looks at `memory` remembered ports and at `samples` drawn ports, and
//! takes the port with the fewest waiting bytes. Of equal ports the first port looked at wins, remembered
//! ports first. The `memory` best ports are remembered.
//! Simplifications: one forwarding engine a node; memory for each set of equal ports, where the public code
//! has memory for each destination; no frame on the wire in the load; no weights of asymmetric paths; no
//! reordering buffer. Invariants: choices are on shortest paths; no port looked at had fewer waiting bytes.
//! Source: Ghorbani et al., "DRILL: micro load balancing for low-latency data center networks" (SIGCOMM
//! 2017), and `ConWeave`'s public ns-3 code; `docs/models/drill.md`.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state::{State, StateVisitor, Word};

use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::ids::PortId;
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// `switch.routing.drill`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Different ports drawn for each packet (d); all ports, if fewer exist.
    pub samples: u16,
    /// Number of remembered ports (m).
    pub memory: u16,
}

impl Default for Params {
    fn default() -> Self {
        Self { samples: 2, memory: 1 }
    }
}

/// DRILL at a node.
#[derive(Debug, Clone)]
pub struct Drill {
    samples: usize,
    memory: usize,
    /// The least loaded ports of the last packet, for each set of choices.
    best: FxHashMap<Box<[PortId]>, Vec<PortId>>,
    /// The ports of a choice, drawn ports first.
    drawn: Vec<PortId>,
}

impl State for Drill {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { samples: _, memory: _, best, drawn: _ } = self;
        walk.keyed(best.iter_mut(), |walk, _, ports| walk.value(ports.word()));
    }
}

impl Drill {
    fn new(params: &Params) -> Self {
        let (samples, memory) = (params.samples.into(), params.memory.into());
        Self { samples, memory, best: FxHashMap::default(), drawn: Vec::new() }
    }

    /// Draws different ports.
    fn draw(&mut self, choices: &[PortId], stream: &mut Stream) {
        self.drawn.clear();
        self.drawn.extend_from_slice(choices);
        let wanted = self.samples.min(choices.len());
        for at in 0..wanted {
            let other = at + stream.place(choices.len() - at);
            self.drawn.swap(at, other);
        }
        self.drawn.truncate(wanted);
    }
}

impl Install for Drill {
    type Params = Params;
    const LABEL: &'static str = "DRILL";

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self::new(params))
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, scatters: true, ..Properties::default() }
    }

    fn validate(params: &Params, _: &ValidationContext<'_>) -> Result<(), ParamError> {
        if params.samples == 0 {
            return Err(("samples", "0 is out of range; must be at least 1".into()));
        }
        Ok(())
    }
}

impl Hooks for Drill {
    fn watches(&self) -> Watches {
        Watches::ROUTE
    }

    fn route(
        &mut self,
        _: &mut Packet,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        self.draw(choices, effects.stream());
        if !self.best.contains_key(choices) {
            self.best.insert(choices.into(), Vec::new());
        }
        let seen = self.best.get_mut(choices)?;
        for port in &self.drawn {
            if !seen.contains(port) {
                seen.push(*port);
            }
        }
        // The order of those that are equal stays: remembered ones first.
        seen.sort_by_key(|port| core.waiting_bytes(*port));
        let least = seen[0];
        seen.truncate(self.memory);
        Some(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::kinds::Kind;

    /// A switch with four equal ways, ports 2 to 5.
    struct Switch {
        drill: Drill,
        core: Core,
        effects: Effects,
    }

    impl Switch {
        fn new(samples: u16, memory: u16) -> Self {
            let effects = Effects::for_tests(1);
            Self { drill: Drill::new(&Params { samples, memory }), core: Core::for_tests(6, 1), effects }
        }

        fn wait(&mut self, bytes: [u16; 4]) {
            for (at, bytes) in bytes.into_iter().enumerate() {
                self.core.ports[2 + at].queues[1].bytes.add(bytes);
            }
        }

        fn choose(&mut self, choices: &[PortId]) -> PortId {
            let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1000, 0);
            self.drill.route(&mut packet, choices, &self.core, &mut self.effects).unwrap()
        }

        /// Returns the number of choices of each port over 40,000 packets.
        fn chosen(&mut self) -> [u32; 4] {
            let mut counts = [0; 4];
            for _ in 0..40_000 {
                counts[self.choose(&[PortId(2), PortId(3), PortId(4), PortId(5)]).index() - 2] += 1;
            }
            counts
        }
    }

    #[test]
    fn shares_follow_from_the_ranks_of_queues() {
        // Of two different ports out of four the shortest is among them in 1/2 of all draws, and is best of
        // the rest in 1/3, 1/6, 0. Four standard deviations of a binomial count of 40,000 are 400 at most.
        for (samples, shares) in [
            (1, [10_000; 4]),
            (2, [20_000, 13_333, 6_667, 0]),
            (3, [30_000, 10_000, 0, 0]),
            (9, [40_000, 0, 0, 0]),
        ] {
            let mut switch = Switch::new(samples, 0);
            switch.wait([1000, 2000, 3000, 4000]);
            let counts = switch.chosen();
            assert!(
                counts.iter().zip(shares).all(|(n, share)| n.abs_diff(share) < 400),
                "{samples}: {counts:?}"
            );
        }
    }

    #[test]
    fn what_is_remembered_is_looked_at_again() {
        let mut switch = Switch::new(1, 1);
        switch.wait([1000, 2000, 3000, 4000]);
        // Once a draw has met the shortest queue, no other is taken; three draws in four miss it.
        let counts = switch.chosen();
        assert!(counts[0] > 39_900, "{counts:?}");
        // It becomes the longest: the next draw is shorter.
        switch.wait([9000, 0, 0, 0]);
        let met = loop {
            match switch.choose(&[PortId(2), PortId(3), PortId(4), PortId(5)]) {
                PortId(2) => {}
                port => break port,
            }
        };
        assert!((PortId(3)..=PortId(5)).contains(&met));
    }

    #[test]
    fn of_equals_the_one_remembered_goes_on() {
        let mut switch = Switch::new(2, 1);
        let first = switch.choose(&[PortId(2), PortId(3), PortId(4), PortId(5)]);
        assert_eq!(switch.chosen()[first.index() - 2], 40_000);
        let mut forgetful = Switch::new(2, 0);
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(forgetful.chosen().iter().all(|n| n.abs_diff(10_000) < 346));
    }

    #[test]
    fn other_choices_have_a_memory_of_their_own() {
        let mut switch = Switch::new(2, 2);
        switch.wait([5000, 1000, 0, 0]);
        for _ in 0..100 {
            switch.choose(&[PortId(2), PortId(3), PortId(4), PortId(5)]);
            assert!([2, 3].map(PortId).contains(&switch.choose(&[PortId(2), PortId(3)])));
        }
        assert_eq!(switch.choose(&[PortId(2), PortId(3)]), PortId(3));
    }
}
