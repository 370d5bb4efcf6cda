//! `switch.faults`: faults injected into nodes, to prove that each audit can fail, and to measure
//! consequences. Source: `docs/models/faults.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state::Word as _;

use crate::frames::packet::Packet;
use crate::ports::queueing::ring::Ring;

/// Number of injected faults of each kind. All are zero by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Number of data packets that vanish uncounted at each switch.
    pub vanish: u32,
    /// Number of data packets that each switch lets overtake the packet before in the queue.
    pub overtake: u32,
    /// Number of data packets at each switch that pass the forwarding latency of the next switch.
    pub hurry: u32,
    /// Number of PFC resumes that each node never sends.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_resumes: u32,
    /// Number of credit updates that each node loses.
    #[serde(skip_serializing_if = "is_zero")]
    pub lose_credit_updates: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// The faults that a switch still injects. A node has them only if the scenario asks for some.
#[derive(Debug, Clone)]
pub struct Injected(Faults);

impl Injected {
    /// Returns the faults of a switch, if any.
    pub fn new(faults: Faults) -> Option<Box<Self>> {
        let counts = [faults.vanish, faults.overtake, faults.hurry];
        counts.iter().any(|n| *n > 0).then(|| Box::new(Self(faults)))
    }

    /// Lets a packet vanish that arrives on its way to another node. Returns true if it has vanished.
    pub fn vanish(&mut self, packet: &Packet) -> bool {
        packet.is_data() && take(&mut self.0.vanish, true)
    }

    /// Lets the next packet of a queue overtake the packet that starts, if both are of one flow and of one size.
    pub fn overtake(&mut self, packet: &mut Packet, queue: &mut Ring<Packet>) {
        let is_alike = |next: &Packet| {
            packet.is_data() && (next.flow(), next.bytes()) == (packet.flow(), packet.bytes())
        };
        if let Some(next) = queue.front_mut().filter(|next| is_alike(next))
            && take(&mut self.0.overtake, true)
        {
            std::mem::swap(packet, next);
        }
    }

    /// Lets a packet that starts pass the forwarding latency of the next switch, if there is one. Returns true if it does.
    pub fn hurry(&mut self, packet: &Packet, has_latency: bool) -> bool {
        take(&mut self.0.hurry, packet.is_data() && has_latency)
    }

    /// What is left, as a state.
    pub fn word(&self) -> u64 {
        (self.0.vanish, self.0.overtake, self.0.hurry).word()
    }
}

/// Uses up a fault if one is due and left.
fn take(left: &mut u32, is_due: bool) -> bool {
    let is_taken = is_due && *left > 0;
    *left -= u32::from(is_taken);
    is_taken
}
