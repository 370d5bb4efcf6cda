//! Serving at a node: timers, and control messages from other nodes.
//!
//! Control lines have outputs and in-links of the engine behind ports and NVLink.

use super::{Cx, Node};
use crate::frames::Control;
use crate::packet::Packet;
use crate::token;

impl Node {
    /// Handles a control message from another node. True if the frame is a control message.
    pub(super) fn on_control_frame(&mut self, frame: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(Control { line }) = frame.payload::<Control>() else { return false };
        self.on_serving(token::CONTROL, 0, line, cx);
        true
    }

    /// Handles a timer of serving, or a control message.
    pub(super) fn on_serving(&mut self, kind: u64, owner: u8, payload: u32, cx: &mut Cx<'_>) {
        if let Some(serving) = self.endpoint.as_mut().and_then(|endpoint| endpoint.serving.as_mut()) {
            if kind == token::CONTROL {
                serving.on_control(payload, &mut self.effects);
            } else {
                serving.on_timer(owner, payload, &mut self.effects);
            }
        }
        self.apply(cx);
    }
}
