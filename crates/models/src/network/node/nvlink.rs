//! Slices over NVLink between the nodes of a server.
//!
//! Pipes have outputs and in-links of the engine behind those of the ports.

use super::{Cx, Node};
use crate::frames::kinds::Slice;
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::hosts::endpoint::Endpoint;
use crate::ports::effects::Effects;

impl Node {
    /// Handles the first bit of a slice from another node. True if the frame is a slice.
    pub(super) fn on_slice_head(&mut self, frame: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(Slice { queue }) = frame.payload::<Slice>() else { return false };
        self.on_nvlink(cx, |endpoint, effects| endpoint.on_head(queue, effects));
        true
    }

    /// Handles a timer of NVLink.
    pub(super) fn on_nvlink_timer(&mut self, kind: u64, payload: u32, cx: &mut Cx<'_>) {
        self.on_nvlink(cx, |endpoint, effects| match kind {
            token::PIPE => endpoint.on_pipe(payload, effects),
            token::HEAD => endpoint.on_head(payload, effects),
            _ => endpoint.on_slice(payload, effects),
        });
    }

    fn on_nvlink(&mut self, cx: &mut Cx<'_>, what: impl FnOnce(&mut Endpoint, &mut Effects)) {
        if let Some(endpoint) = &mut self.endpoint {
            what(endpoint, &mut self.effects);
        }
        self.apply(cx);
    }
}
