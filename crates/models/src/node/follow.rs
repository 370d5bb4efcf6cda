//! What a node writes down as it follows packets and flows, for those who asked (`probe.delays`, `probe.packets`).

use crate::ids::{PortId, QueueId};
use xoff_units::Moment;

use super::Node;
use crate::delays::{Start, Wait};
use crate::packet::Packet;

impl Node {
    /// Writes down that a frame starts on the link; the next node handles it when the bits are in that leave until `handled`.
    #[cold]
    pub(super) fn watch(&mut self, port: PortId, queue: QueueId, frame: &Packet, now: Moment, handled: Moment) {
        if self.wanted.packets {
            self.trace(port, frame, true, now);
        }
        if let Some(recorder) = &mut self.delays {
            let p = &self.core.ports[port];
            let (ends, ends_there) = (p.busy_until, frame.is_link_local() || frame.dst() == p.peer);
            let propagation = p.delay - p.peer_delay;
            let reaches = handled + if ends_there { propagation } else { p.delay };
            recorder.on_start(frame, &Start { port, queue, now, ends, handled, reaches, propagation });
        }
    }

    /// Writes down that a packet came to wait for an output.
    #[cold]
    pub(super) fn follow_arrival(&mut self, packet: &Packet, port: PortId, queue: QueueId, now: Moment) {
        if let Some(recorder) = &mut self.delays {
            recorder.on_arrival(packet, port, queue, now);
        }
    }

    /// Mechanisms have seen the packet that came.
    #[cold]
    pub(super) fn follow_entry(&mut self) {
        if let Some(recorder) = &mut self.delays {
            recorder.has_entered();
        }
    }

    /// Writes down that a flow of this node sends until then, and what it waits for after that.
    #[cold]
    pub(super) fn follow_turn(&mut self, flow: u32, now: Moment, ends: Moment) {
        if let (Some(recorder), Some(endpoint)) = (&mut self.delays, &self.endpoint) {
            recorder.sends(flow, endpoint.waits_for(flow, now).unwrap_or(Wait::Ack), now, ends);
        }
    }

    /// Writes down what a flow of this node waits for from now on.
    #[cold]
    pub(super) fn follow(&mut self, flow: u32, now: Moment) {
        if let (Some(recorder), Some(endpoint)) = (&mut self.delays, &self.endpoint)
            && let Some(wait) = endpoint.waits_for(flow, now)
        {
            recorder.wait(flow, wait, now);
        }
    }

    /// Nothing is written down of a flow that has ended.
    #[cold]
    pub(super) fn follow_end(&mut self, flow: u32) {
        if let (Some(recorder), Some(endpoint)) = (&mut self.delays, &self.endpoint)
            && !endpoint.is_under_way(flow)
        {
            recorder.end(flow);
        }
    }

    /// A mechanism holds a flow of this node.
    pub(super) fn follow_hold(&mut self, flow: u32, owner: u8, now: Moment) {
        if let Some(recorder) = &mut self.delays {
            recorder.hold(flow, self.mechanisms.name(owner), now);
            self.follow(flow, now);
        }
    }
}
