//! Slices over NVLink at a host: for a rank here, or on the way to the NIC of a rank here.

use super::Endpoint;
use crate::effects::Effects;
use crate::message::{Delivered, Post};
use crate::serving::SERVING;

impl Endpoint {
    /// Sends a slice over NVLink.
    pub fn send_slice(&mut self, queue: u32, post: &Post, effects: &mut Effects) {
        if let Some(nvlink) = &mut self.nvlink {
            nvlink.push(queue, post, effects);
        }
    }

    /// A pipe is free.
    pub fn on_pipe(&mut self, pipe: u32, effects: &mut Effects) {
        if let Some(nvlink) = &mut self.nvlink {
            nvlink.start(pipe, effects);
        }
    }

    /// The first bit of a slice is here.
    pub fn on_head(&mut self, queue: u32, effects: &mut Effects) {
        if let Some(nvlink) = &mut self.nvlink {
            nvlink.enter(queue, effects);
        }
    }

    /// A slice is whole here: for a rank here, or on the way to the NIC of a rank here.
    pub fn on_slice(&mut self, queue: u32, effects: &mut Effects) {
        let Some((of, element, mut message)) = self.nvlink.as_mut().and_then(|nvlink| nvlink.take(queue))
        else {
            return;
        };
        self.name_here(element, &mut message);
        if of.0 & SERVING != 0 {
            if let Some(serving) = &mut self.serving {
                serving.deliver(&message.post, message.posted, effects);
            }
            self.delivered.push(Delivered { message, dst: self.node, at: effects.now });
            return;
        }
        if self.programs.relays(of, &message.post, effects) {
            return;
        }
        self.delivered.push(Delivered { message, dst: self.node, at: effects.now });
        self.programs.deliver(message.post.id, message.posted, effects);
    }

    /// True if no slice is on NVLink, and no message waits to be handed over.
    pub fn is_handed_over(&self) -> bool {
        self.nvlink.as_ref().is_none_or(|nvlink| nvlink.is_quiet()) && self.programs.are_handed_over()
    }
}
