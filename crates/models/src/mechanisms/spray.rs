//! Packet spraying: each packet takes one of the shortest paths by itself, whatever its flow.
//!
//! Models: at each node that forwards and has a choice, the port is drawn at random for each packet, or ports take turns for each
//! set of choices. Pinned paths are kept. Source: Dixit, Prakash, Hu, Kompella, "On the impact of packet spraying in data center
//! networks" (INFOCOM 2013), for the random choice.
//! Simplifications: the first hop is the host's (`host.first_hop`); control frames keep to the path that ECMP gives them.
//! Invariants: every choice is on a shortest path. Packets overtake one another: with a transport that needs order they are sent again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::Core;
use crate::effects::Effects;
use crate::mechanism::{Hooks, Install, Properties, Site, Watches};
use crate::packet::Packet;
use xoff_engine::state;

/// How a port is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// At random.
    #[default]
    Random,
    /// In turn.
    RoundRobin,
}

/// `switch.routing.spray`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// How a port is chosen.
    pub choice: Choice,
}

/// Spraying at one node.
#[derive(Debug)]
pub struct Spray {
    choice: Choice,
    /// Packets that had a choice, by the first port of it: equal choices share their turns.
    turns: Vec<u32>,
}

state!(Spray {
    value: turns;
    still: choice;
});

impl Install for Spray {
    type Params = Params;
    const LABEL: &'static str = "packet spraying";

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self { choice: params.choice, turns: vec![0; site.ports.len()] })
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, ..Properties::default() }
    }
}

impl Hooks for Spray {
    fn watches(&self) -> Watches {
        Watches::ROUTE
    }

    fn route(&mut self, _: &mut Packet, choices: &[u16], _: &Core, effects: &mut Effects) -> Option<u16> {
        let n = choices.len() as u64;
        let at = match self.choice {
            Choice::Random => effects.stream().below(n),
            Choice::RoundRobin => {
                let turns = &mut self.turns[choices[0] as usize];
                *turns = turns.wrapping_add(1);
                u64::from(*turns) % n
            }
        };
        Some(choices[at as usize])
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::packet::Kind;

    /// How often each of four ports is chosen for 40,000 packets.
    fn chosen(choice: Choice) -> [u32; 4] {
        let (mut spray, core) = (Spray { choice, turns: vec![0; 6] }, Core::for_tests(6, 1));
        let mut effects = Effects::for_tests(1);
        let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1000, 0);
        let mut counts = [0; 4];
        for _ in 0..40_000 {
            let port = spray.route(&mut packet, &[2, 3, 4, 5], &core, &mut effects).unwrap();
            counts[port as usize - 2] += 1;
        }
        counts
    }

    #[test]
    fn every_port_gets_its_share() {
        assert_eq!(chosen(Choice::RoundRobin), [10_000; 4]);
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(chosen(Choice::Random).iter().all(|n| n.abs_diff(10_000) < 346));
    }
}
