//! What mechanisms ask of their node, carried out.

use xoff_units::Time;

use super::{Cx, Node, ORDER};
use crate::core::Queues;
use crate::effects::Effect;
use crate::endpoint::token;
use crate::mechanism::{Hooks, Watches};
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
            Effect::Block(port, queues) => self.block(port, queues, Cause::mechanism(owner), cx.now()),
            Effect::Unblock(port, queues) => self.unblock(port, queues, Cause::mechanism(owner), cx),
            Effect::CloseGate(port, queue) => self.block(port, Queues::One(queue), Cause::ORDER, cx.now()),
            Effect::OpenGate(port, queue) => self.unblock(port, Queues::One(queue), Cause::ORDER, cx),
            Effect::PauseNeighbour(port, class, is_on) => {
                self.effects.now = cx.now();
                let core = &self.core;
                self.mechanisms.each(Watches::REQUEST, &mut self.effects, |m, fx| m.on_pause_request(port, class, is_on, core, fx));
            }
            Effect::HoldFlow(flow, until) => {
                if let Some(endpoint) = &mut self.endpoint
                    && let Some(until) = endpoint.hold(flow, until, self.mechanisms.name(owner), cx.now())
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
                for flow in endpoint.hold_destination(dst, until, self.mechanisms.name(owner), cx.now()) {
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

    /// The name of a cause in tables: that of its mechanism.
    fn cause_name(&self, cause: Cause) -> &'static str {
        cause.owner().map_or(ORDER.name, |owner| self.mechanisms.name(owner))
    }

    fn block(&mut self, port: usize, queues: Queues, cause: Cause, now: Time) {
        let mut first = None;
        let mut is_new = false;
        let p = &mut self.core.ports[port];
        for queue in 1..p.queues.len() {
            if queues.has(queue, &p.queues[queue]) {
                first = first.or(Some(queue));
                is_new |= p.block(queue, cause);
            }
        }
        if let (true, Some(queue)) = (is_new, first) {
            let class = p.queues[queue].class();
            let pause = Pause {
                node: self.core.id,
                port: port as u16,
                queue: queue as u16,
                class,
                cause: self.cause_name(cause),
                start: now,
                end: None,
            };
            self.open_pauses.push(pause);
        }
    }

    fn unblock(&mut self, port: usize, queues: Queues, cause: Cause, cx: &mut Cx<'_>) {
        let mut first = None;
        let mut was_held = false;
        let p = &mut self.core.ports[port];
        for queue in 1..p.queues.len() {
            if queues.has(queue, &p.queues[queue]) {
                first = first.or(Some(queue));
                was_held |= p.unblock(queue, cause);
            }
        }
        if !was_held {
            return;
        }
        let name = self.cause_name(cause);
        let is_this = |p: &Pause| p.port as usize == port && Some(p.queue as usize) == first && p.cause == name;
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
