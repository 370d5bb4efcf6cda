//! Applications at a node: timers, acknowledged messages, and control messages from other nodes.
//!
//! Control lines have outputs and in-links of the engine behind ports and NVLink.

use super::{Cx, Node};
use crate::frames::kinds::Control;
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::parts::ids::ApplicationId;

impl Node {
    /// Handles a control message from another node. True if the frame is a control message.
    pub(super) fn on_control_frame(&mut self, frame: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(Control { application, line }) = frame.payload::<Control>() else { return false };
        let one = self.endpoint.as_mut().map(|endpoint| &mut endpoint.applications);
        if let Some(one) = one.and_then(|all| all.numbered(ApplicationId::new(application))) {
            one.on_control(line, &mut self.effects);
        }
        self.apply(cx);
        true
    }

    /// Handles a timer of an application, or a control message from the same node.
    pub(super) fn on_application(&mut self, kind: u64, owner: u8, payload: u32, cx: &mut Cx<'_>) {
        let number = token::application(kind);
        if let Some(one) = self.endpoint.as_mut().and_then(|endpoint| endpoint.applications.numbered(number))
        {
            let effects = &mut self.effects;
            match token::without_number(kind) {
                token::BEGIN => one.begin(owner, payload, effects),
                token::COMPUTED => one.compute(owner, payload, effects),
                token::CALL => one.on_timer(owner, payload, effects),
                _ => one.on_control(payload, effects),
            }
        }
        self.apply(cx);
    }

    /// Frees the slots of messages that are acknowledged.
    #[cold]
    pub(super) fn free_slots(&mut self, cx: &mut Cx<'_>) {
        if let Some(endpoint) = &mut self.endpoint {
            for flow in std::mem::take(&mut endpoint.freed) {
                endpoint.applications.each_mut().for_each(|one| one.free_slot(flow, &mut self.effects));
            }
        }
        self.apply(cx);
    }
}
