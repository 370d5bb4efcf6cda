//! Slices over NVLink at a host: for a rank here, or on the way to the NIC of a rank here.

use super::Endpoint;
use crate::frames::message::{Delivered, Post};
use crate::parts::ids::ApplicationId;
use crate::ports::effects::Effects;
use crate::traffic::application::Application;

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
        let one = self.applications.numbered(ApplicationId::of_job(of.0));
        if one.is_some_and(|one| one.relays(of, &message.post, effects)) {
            return;
        }
        if self.nvlink.as_ref().is_some_and(|nvlink| nvlink.keeps_rows) {
            self.delivered.push(Delivered { message, dst: self.node, at: effects.now });
        }
        self.hand_up(&message, effects);
    }

    /// True if no slice is on NVLink, and no message waits to be handed over.
    pub fn is_handed_over(&self) -> bool {
        self.nvlink.as_ref().is_none_or(|nvlink| nvlink.is_quiet())
            && self.applications.each().all(Application::is_handed_over)
    }
}
