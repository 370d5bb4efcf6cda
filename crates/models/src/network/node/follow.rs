//! Records of packets and flows for `probe.delays` and `probe.packets`.

use xoff_units::Moment;

use super::Node;
use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};
use crate::records::delays::{Start, Wait};

impl Node {
    /// Records the start of a frame on the link. The next node handles the frame once the bits sent until
    /// `handled` have arrived.
    #[cold]
    pub(super) fn watch(
        &mut self,
        port: PortId,
        queue: QueueId,
        frame: &Packet,
        now: Moment,
        handled: Moment,
    ) {
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

    /// Records the arrival of a packet at its output.
    #[cold]
    pub(super) fn follow_arrival(&mut self, packet: &Packet, port: PortId, queue: QueueId, now: Moment) {
        if let Some(recorder) = &mut self.delays {
            recorder.on_arrival(packet, port, queue, now);
        }
    }

    /// Records that mechanisms have seen the arrived packet.
    #[cold]
    pub(super) fn follow_entry(&mut self) {
        if let Some(recorder) = &mut self.delays {
            recorder.entered();
        }
    }

    /// Records that a flow of this node sends until `ends`, and the reason for waiting afterwards.
    #[cold]
    pub(super) fn follow_turn(&mut self, flow: u32, now: Moment, ends: Moment) {
        if let (Some(recorder), Some(endpoint)) = (&mut self.delays, &self.endpoint) {
            recorder.sends(flow, endpoint.waits_for(flow, now).unwrap_or(Wait::Ack), now, ends);
        }
    }

    /// Records the present reason for waiting of a flow of this node.
    #[cold]
    pub(super) fn follow(&mut self, flow: u32, now: Moment) {
        if let (Some(recorder), Some(endpoint)) = (&mut self.delays, &self.endpoint)
            && let Some(wait) = endpoint.waits_for(flow, now)
        {
            recorder.wait(flow, wait, now);
        }
    }

    /// Ends the records of a finished flow.
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
