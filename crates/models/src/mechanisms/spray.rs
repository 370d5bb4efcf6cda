//! Packet spraying: each packet takes one of the ports on shortest paths by itself, whatever its flow.
//! The port is drawn at random, or ports take turns for each set of choices, or a hash of the flow and an
//! entropy value decides. The packets of a flow take the entropy values in turn.
//! Invariant: choices are on shortest paths. Packets overtake one another.
//! Source: Dixit, Prakash, Hu, Kompella, "On the impact of packet spraying in data center networks" (INFOCOM
//! 2013), for random choices; Ultra Ethernet's public simulator for entropy values (`docs/models/spray.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::mix;
use xoff_engine::state;
use xoff_units::wide;

use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::ids::PortId;
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// Rule for the choice of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// At random.
    #[default]
    Random,
    /// In turn.
    RoundRobin,
    /// By a hash of the flow and of an entropy value, with a seed of each switch.
    Entropy,
}

/// `switch.routing.spray`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Rule for the choice of a port.
    pub choice: Choice,
    /// With `entropy`: values of a flow. Packets take the values in turn, in an order that changes with each
    /// round.
    pub entropy_values: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { choice: Choice::Random, entropy_values: 64 }
    }
}

/// Spraying at a node.
#[derive(Debug, Clone)]
pub struct Spray {
    choice: Choice,
    /// Number of packets with a choice, by the first port of the choice.
    turns: Vec<u32>,
    entropy_values: u32,
    salt: u64,
}

state!(Spray {
    value: turns;
    constant: choice, entropy_values, salt;
});

impl Install for Spray {
    type Params = Params;
    const LABEL: &'static str = "packet spraying";

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        let (choice, entropy_values, salt) =
            (params.choice, params.entropy_values, mix(u64::from(site.id) + 1));
        site.forwards.then(|| Self { choice, turns: vec![0; site.ports.len()], entropy_values, salt })
    }

    fn validate(params: &Params, _: &ValidationContext<'_>) -> Result<(), ParamError> {
        if !(1..=65_536).contains(&params.entropy_values) {
            return Err((
                "entropy_values",
                format!("{} is out of range; allowed are 1 to 65536", params.entropy_values),
            ));
        }
        Ok(())
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, scatters: true, ..Properties::default() }
    }
}

/// Returns the value of a packet: the values in turn, shifted by a number drawn for each round and for
/// retransmissions.
fn entropy(key: u32, packet: &Packet, entropy_values: u32) -> u64 {
    let (flow, turn, again) =
        (u64::from(key), packet.seq() / entropy_values, u64::from(packet.has(Packet::RETRANSMITTED)));
    let shift = mix(mix(flow << 32 | u64::from(turn)) ^ again) >> 32;
    (u64::from(packet.seq()) + shift) % u64::from(entropy_values)
}

impl Hooks for Spray {
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
        let n = wide(choices.len());
        let at = match self.choice {
            Choice::Random => effects.draw(packet, n),
            Choice::RoundRobin => {
                let turns = &mut self.turns[choices[0]];
                *turns = turns.wrapping_add(1);
                u64::from(*turns) % n
            }
            Choice::Entropy => {
                let key = effects.key(packet.flow());
                let hash =
                    mix(u64::from(key) ^ mix(entropy(key, packet, self.entropy_values) + 1) ^ self.salt)
                        >> 32;
                (hash * n) >> 32
            }
        };
        Some(choices[at as usize])
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    /// Returns the number of choices of each of four ports over 40,000 packets.
    fn chosen(choice: Choice) -> [u32; 4] {
        let (mut spray, core) =
            (Spray { choice, turns: vec![0; 6], entropy_values: 64, salt: 7 }, Core::for_tests(6, 1));
        let mut effects = Effects::for_tests(1);
        let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1000, 0);
        let mut counts = [0; 4];
        for seq in 0..40_000 {
            packet.set_seq(seq);
            let port = spray
                .route(&mut packet, &[PortId(2), PortId(3), PortId(4), PortId(5)], &core, &mut effects)
                .unwrap();
            counts[port.index() - 2] += 1;
        }
        counts
    }

    #[test]
    fn a_flow_has_so_many_values_and_takes_each_once_in_a_turn() {
        let value = |seq| entropy(3, &Packet::new(Kind::Data, 3, seq, 9, 1000, 0), 64);
        let turn = |from: u32| {
            let mut values: Vec<u64> = (from..from + 64).map(value).collect();
            values.sort_unstable();
            values
        };
        assert!(turn(0) == (0..64).collect::<Vec<_>>() && turn(0) == turn(64));
        assert!((0..64).any(|seq| value(seq) != value(seq + 64)), "in another order");
        let mut again = Packet::new(Kind::Data, 3, 5, 9, 1000, 0);
        again.set(Packet::RETRANSMITTED);
        assert_ne!(entropy(3, &again, 64), value(5));
    }

    #[test]
    fn packets_of_one_value_take_one_way() {
        let (mut spray, core, mut effects) = (
            Spray { choice: Choice::Entropy, turns: vec![0; 6], entropy_values: 1, salt: 7 },
            Core::for_tests(6, 1),
            Effects::for_tests(1),
        );
        let mut port = |seq| {
            spray.route(
                &mut Packet::new(Kind::Data, 3, seq, 9, 1000, 0),
                &[PortId(2), PortId(3), PortId(4), PortId(5)],
                &core,
                &mut effects,
            )
        };
        assert!((0..1000).all(|seq| port(seq) == port(0)));
    }

    #[test]
    fn every_port_gets_its_share() {
        assert_eq!(chosen(Choice::RoundRobin), [10_000; 4]);
        // Four standard deviations of a binomial count of mean 10,000 are 346.
        assert!(chosen(Choice::Random).iter().all(|n| n.abs_diff(10_000) < 346));
    }
}
