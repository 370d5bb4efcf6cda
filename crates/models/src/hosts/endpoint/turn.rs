//! Turns of a flow: the next step of a source, and the reasons to queue a flow again.

use xoff_units::Moment;

use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};

/// The node's next step for a flow at its turn.
#[derive(Debug)]
pub enum Turn {
    /// Sends this packet; the flow waits for the next turn.
    Send(Packet),
    /// Sends this; the flow may go on at this moment and not before.
    SendThenWait(Packet, Moment),
    /// Sends this; the flow leaves the round.
    SendAndLeave(Packet),
    /// The flow leaves the round.
    Leave,
}

/// The next turn of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requeue {
    /// The flow has no packet to send, or another event will list the flow.
    No,
    /// The flow joins the round of its queue.
    Now {
        /// The flow's slot, the number of the supplier.
        slot: u32,
        /// The port.
        port: PortId,
        /// The queue.
        queue: QueueId,
    },
    /// The pace allows the next packet at this time.
    At(Moment),
}
