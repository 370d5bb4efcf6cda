//! The last bit of a packet that was handled earlier (cut-through). Until the last bit, the input counts a
//! packet that has started, and the rest of a trimmed packet waits.

use super::{Cx, Node};
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::mechanisms::contract::{Dequeued, Hooks, Watches};
use crate::parts::ids::PortId;
use crate::ports::cut_through::Rest;

impl Node {
    /// Defers an action until the last bit of a packet outside queues; false if the last bit has arrived.
    pub(super) fn put_off(&mut self, packet: &Packet, rest: Rest, cx: &mut Cx<'_>) -> bool {
        let Some(cut) = &mut self.cut_through else { return false };
        let Some(at) = cut.until(packet, cx.now()) else { return false };
        // A retransmitted copy is behind the leaving copy, whose last bit is outstanding.
        let queued = self.core.ports[rest.port].queues[rest.queue].packets.iter();
        let fetched = self.core.inputs.get(self.core.group(packet.in_port(), packet.class()));
        if rest.packet.is_data()
            && queued.chain(fetched.into_iter().flatten()).any(|other| other.is_like(packet))
        {
            return false;
        }
        cut.put_off(packet.in_port(), rest);
        cx.set_timer(at, token::pack(token::TAIL, 0, u32::from(packet.in_port().0)));
        true
    }

    /// Handles the arrival of the last bit of a packet handled earlier.
    pub(super) fn end_tail(&mut self, in_port: PortId, cx: &mut Cx<'_>) {
        let Some(Rest { packet, port, queue }) = self.cut_through.as_mut().and_then(|cut| cut.rest(in_port))
        else {
            return;
        };
        if !packet.is_data() {
            return self.send_control(port, packet, cx);
        }
        let group = self.core.group(in_port, packet.class());
        let crossed = self.core.ingress[group].sub(packet.bytes());
        if !self.core.buffer.is_by_output() {
            self.core.buffer.release(in_port, group, port, packet.bytes());
        }
        if self.mechanisms.want(Watches::DEQUEUE) {
            let event = Dequeued { packet: &packet, port, queue, is_whole: true };
            self.mechanisms.each(Watches::DEQUEUE, &self.core, &mut self.effects, |m, core, fx| {
                m.on_whole(&event, core, fx);
            });
        }
        if crossed {
            self.crossing(in_port, packet.class(), false, cx);
        } else {
            self.apply(cx);
        }
    }
}
