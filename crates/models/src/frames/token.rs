//! Timer tokens of a node: a kind, and a flow, a source or an owner.

use crate::parts::ids::ApplicationId;

/// A source's next flow starts.
pub const START: u64 = 0;
/// A paced flow may go on.
pub const PACE: u64 = 1;
/// A flow's retransmission timeout.
pub const RTO: u64 = 2;
/// A hold may have ended.
pub const HOLD: u64 = 3;
/// The next of the flows' first timeouts.
pub const FIRST_RTO: u64 = 4;
/// The timer of the receiver's half.
pub const RECEIVER: u64 = 5;
/// The last bit of a frame has arrived whose header was handled before.
pub const TAIL: u64 = 6;
/// A flow starts that waited for no other flow.
pub const RELEASED: u64 = 7;
/// A mechanism's timer.
pub const MECHANISM: u64 = 8;
/// A part of an application begins. The kinds of timers of applications carry the application's number.
pub const BEGIN: u64 = 9;
/// A computation of an application ends.
pub const COMPUTED: u64 = 10;
/// A fault begins or ends.
pub const FAULT: u64 = 11;
/// The link of a port has been down, or up again, for the detection delay of its node.
pub const AVOID: u64 = 13;
/// A link whose delay became shorter may be used again.
pub const SETTLED: u64 = 12;

/// A link repeats frames, or receives repeated frames.
pub const RETRY: u64 = 14;

/// A pipe of NVLink is free.
pub const PIPE: u64 = 15;
/// The first bit of a slice from a GPU of the same node is at its GPU.
pub const HEAD: u64 = 16;
/// A slice is whole at its GPU.
pub const SLICE: u64 = 17;
/// A timer of an application.
pub const CALL: u64 = 18;
/// A control message of an application from the same node is here.
pub const CONTROL: u64 = 20;

/// The timer of a flow's congestion control.
pub const RATE: u64 = 21;

/// Returns the kind without the number of an application.
pub const fn without_number(kind: u64) -> u64 {
    kind & 0xff
}

/// Returns the application of a kind.
pub const fn application(kind: u64) -> ApplicationId {
    ApplicationId::new((kind >> 8) as u8)
}

/// Packs a kind of timer of an application, an owner and a payload.
pub const fn call(of: ApplicationId, kind: u64, owner: u8, payload: u32) -> u64 {
    pack(kind | (of.get() as u64) << 8, owner, payload)
}

/// Packs a kind, an owner and a payload.
pub const fn pack(kind: u64, owner: u8, payload: u32) -> u64 {
    kind << 40 | (owner as u64) << 32 | payload as u64
}

/// Unpacks a token.
pub const fn unpack(token: u64) -> (u64, u8, u32) {
    (token >> 40, (token >> 32) as u8, token as u32)
}
