//! What mechanisms ask of their node, carried out.

use xoff_units::Time;

use super::{Cx, Node};
use crate::endpoint::token;
use crate::mechanism::{Effect, Hooks, Queues, Watches};
use crate::queueing::port::Cause;
use crate::record::Pause;

impl Node {
    /// Carries out what mechanisms asked for.
    #[inline]
    pub(super) fn apply(&mut self, cx: &mut Cx<'_>) {
        if !self.effects.is_empty() {
            self.apply_all(cx);
        }
    }

    fn apply_all(&mut self, cx: &mut Cx<'_>) {
        // An effect may make a mechanism ask for more.
        while !self.effects.is_empty() {
            let list = self.effects.take();
            for (owner, effect) in &list {
                self.carry_out(*owner, *effect, cx);
            }
            self.effects.put_back(list);
        }
    }

    fn carry_out(&mut self, owner: u8, effect: Effect, cx: &mut Cx<'_>) {
        match effect {
            Effect::Send(port, frame) => {
                self.core.ports[port].push(0, frame);
                self.kick(port, cx);
            }
            Effect::Emit(frame) => {
                let port = self.routes.port(&frame);
                self.core.ports[port].push(0, frame);
                self.kick(port, cx);
            }
            Effect::Block(port, queues, cause) => self.block(port, queues, cause, cx.now()),
            Effect::Unblock(port, queues, cause) => self.unblock(port, queues, cause, cx),
            Effect::PauseNeighbour(port, class, is_on) => {
                self.effects.now = cx.now();
                let core = &self.core;
                self.mechanisms.each(Watches::REQUEST, &mut self.effects, |m, fx| m.on_pause_request(port, class, is_on, core, fx));
            }
            Effect::HoldFlow(flow, until) => {
                if let Some(endpoint) = &mut self.endpoint
                    && let Some(until) = endpoint.hold(flow, until, cx.now())
                {
                    cx.set_timer(until, token::pack(token::HOLD, 0, flow));
                }
            }
            Effect::ReleaseFlow(flow) => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.release(flow, cx.now());
                    self.relist(flow, cx);
                }
            }
            Effect::HoldDestination(dst, until) => {
                let Some(endpoint) = &mut self.endpoint else { return };
                for flow in endpoint.hold_destination(dst, until, cx.now()) {
                    cx.set_timer(until, token::pack(token::HOLD, 0, flow));
                }
            }
            Effect::ClassOfFlow(flow, class) => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.set_class(flow, class);
                }
            }
            Effect::Timer(at, payload) => cx.set_timer(at, token::pack(token::MECHANISM, owner, payload)),
        }
    }

    fn block(&mut self, port: usize, queues: Queues, cause: Cause, now: Time) {
        let mut is_new = false;
        for queue in self.core.queues(queues) {
            is_new |= self.core.ports[port].block(queue, cause);
        }
        if is_new {
            let (node, queue) = (self.core.id, self.core.queues(queues).next().unwrap_or_default());
            let class = self.core.ports[port].queues[queue].class();
            let (port, queue) = (port as u16, queue as u16);
            self.open_pauses.push(Pause { node, port, queue, class, cause: cause.name(), start: now, end: None });
        }
    }

    fn unblock(&mut self, port: usize, queues: Queues, cause: Cause, cx: &mut Cx<'_>) {
        let mut held = false;
        for queue in self.core.queues(queues) {
            held |= self.core.ports[port].unblock(queue, cause);
        }
        if !held {
            return;
        }
        let first = self.core.queues(queues).next().unwrap_or_default();
        let is_this = |p: &Pause| (p.port as usize, p.queue as usize, p.cause) == (port, first, cause.name());
        if let Some(i) = self.open_pauses.iter().position(is_this) {
            let pause = self.open_pauses.swap_remove(i);
            self.paused[port] += cx.now() - pause.start;
            *self.paused_by.entry(pause.cause).or_default() += cx.now() - pause.start;
            self.records.pauses.push(Pause { end: Some(cx.now()), ..pause });
        }
        if self.core.ports[port].waiting > 0 {
            self.kick(port, cx);
        }
    }
}
