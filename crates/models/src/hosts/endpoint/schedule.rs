//! The turns of a flow, from its start to its last packet: the time and the packet of each transmission.

use std::collections::VecDeque;

use xoff_units::{Duration, Moment, index, number};

use super::config::Config;
use super::sender::{Sender, Told};
use super::turn::{Requeue, Turn};
use super::{Endpoint, NO_SLOT};
use crate::frames::flow::FlowSpec;
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::hosts::congestion_control::contract::{NewFlow, Sent as OnWire};
use crate::hosts::pulls::Credit;
use crate::hosts::transport::contract::Progress;
use crate::parts::ids::{ApplicationId, PortId, QueueId};
use crate::paths::routing::{Paths, Routes};
use crate::ports::effects::{Effect, Effects};
use crate::records::delays::Wait;

/// Sets the deadline of a flow after a packet, and the alarm of its first timeout.
fn expect_ack(
    s: &mut Sender,
    config: &Config,
    first_timeouts: &mut VecDeque<(Moment, u32)>,
    effects: &mut Effects,
) {
    if !config.transport.acknowledges() {
        return;
    }
    s.deadline = config.transport.deadline(&s.progress, &s.transport, effects.now);
    if !s.is_rto_set {
        s.is_rto_set = true;
        let first = effects.now + config.transport.timeouts().0;
        if first_timeouts.is_empty() {
            effects.push(Effect::Alarm(token::FIRST_RTO, first, 0));
        }
        first_timeouts.push_back((first, s.flow));
    }
}

impl Endpoint {
    /// Returns the port of a flow among `choices`, if the host has a rule of its own.
    pub fn first_hop(&mut self, spec: &FlowSpec, choices: &[PortId], now: Moment) -> Option<PortId> {
        let Self { weight, senders, config, .. } = self;
        let weight = weight.as_mut().filter(|_| choices.len() > 1 && spec.path < Paths::FIRST)?;
        let (faster, slower) = weight.unequal(choices)?;
        let unsent = || {
            let there = senders.iter().flatten().filter(|sender| sender.port == faster);
            there.map(|sender| sender.unsent(&config.framing)).sum()
        };
        Some(if weight.takes_faster(spec.size, spec.dst, faster, unsent, now) { faster } else { slower })
    }

    /// The class of a new flow, by the host's rule.
    pub fn class_for(&self, spec: &FlowSpec) -> u8 {
        self.config.classify.class(spec)
    }

    /// Starts a flow in a queue of a port. Returns the slot, for the node to list the flow, and the end of
    /// the hold of the destination.
    pub fn start(
        &mut self,
        spec: &FlowSpec,
        port: PortId,
        queue: QueueId,
        effects: &mut Effects,
    ) -> (u32, Option<Moment>) {
        let now = effects.now;
        self.latest.begun_at = now;
        let place = index(spec.flow - self.first_flow);
        if self.slots.len() <= place {
            self.slots.resize(place + 1, NO_SLOT);
        }
        let held_until = self.held_destinations.get(&spec.dst).copied().filter(|until| *until > now);
        let control = self.config.schemes.of_class(spec.class);
        let scheme = self.config.schemes.at(control, port);
        let messages = self.opening.take();
        let packets = messages
            .as_ref()
            .map_or_else(|| self.config.framing.packets(spec.size) as u32, |messages| messages.packets());
        let last = spec.size.wrapping_sub(u64::from(packets - 1) * self.config.framing.payload) as u16;
        let new = NewFlow {
            key: self.config.sources.keys.of(spec.flow),
            size: messages.is_none().then_some(spec.size),
            class: spec.class,
            destination: spec.dst,
        };
        let mut sender = Sender {
            flow: spec.flow,
            dst: spec.dst,
            last,
            start: now,
            port,
            path: spec.path,
            queue,
            class: spec.class,
            control,
            is_listed: true,
            is_rto_set: false,
            pace_at: Moment::NEVER,
            arrivals: self.arrivals.remove(&spec.flow),
            messages,
            stamps: scheme.hears_acks().then(Box::default),
            progress: Progress { packets, ..Progress::default() },
            transport: self.config.transport.sender(),
            credit: self
                .config
                .pulls
                .as_ref()
                .map(|rules| Box::new(Credit::new(rules, packets, &mut self.counters))),
            rate: scheme.start(&new),
            next_send: now,
            told: held_until
                .map(|until| Box::new(Told { held_until: until, held: until - now, ..Told::default() })),
            deadline: Moment::NEVER,
            retransmitted: 0,
        };
        sender.set_timer(&self.config, effects);
        let slot = if let Some(slot) = self.free.pop() {
            self.senders[index(slot)] = Some(sender);
            slot
        } else {
            self.senders.push(Some(sender));
            number(self.senders.len()) - 1
        };
        self.slots[place] = slot;
        (slot, held_until)
    }

    /// Takes a flow's turn; `wire_time` is the time of a frame on the wire.
    #[inline]
    pub fn turn(&mut self, slot: u32, wire_time: impl Fn(u16) -> Duration, effects: &mut Effects) -> Turn {
        let (now, config) = (effects.now, &*self.config);
        let Some(s) = &mut self.senders[index(slot)] else { return Turn::Leave };
        let next = config.transport.next(&s.progress, &s.transport);
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        let may_go = |seq: &u32| {
            s.next_send <= now && s.held_until() <= now && s.may_send(*seq, config) && s.has_arrived(*seq)
        };
        let Some(seq) = next.filter(may_go) else {
            s.is_listed = false;
            return Turn::Leave;
        };
        let mut packet = s.packet(seq, config);
        let bytes = packet.bytes();
        if packet.has(Packet::MESSAGE)
            && !packet.has(Packet::RETRANSMITTED)
            && let Some(id) = s.end_message(seq, now)
            && let Some(one) = self.applications.numbered(ApplicationId::of_job(id.job))
        {
            one.leave(id, effects);
        }
        config.transport.on_sent(&mut s.progress, &mut s.transport, seq, now);
        if packet.has(Packet::MESSAGE)
            && !config.transport.acknowledges()
            && let Some(messages) = &mut s.messages
        {
            let count = messages.forget(s.progress.unacknowledged);
            if self.frees_slots {
                self.freed.extend(std::iter::repeat_n(s.flow, count));
            }
        }
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        self.injected_bytes += u64::from(bytes);
        if s.credit.is_some() {
            s.spend(&mut packet, config, &mut self.counters);
        }
        let scheme = config.schemes.at(s.control, s.port);
        let ends = now + wire_time(bytes);
        self.weight.iter_mut().for_each(|weight| weight.on_sent(s.port, bytes, now, ends));
        let mut resumes = ends;
        if !scheme.is_none() {
            if let Some(stamps) = &mut s.stamps {
                packet.set_copy(stamps.on_sent(seq, now));
            }
            let is_queue_empty = s.arrivals.as_ref().is_none_or(|a| a.arrived() <= s.progress.highest);
            let (key, ahead) = (config.sources.keys.of(s.flow), scheme.looks_ahead());
            let left = if ahead == 0 { 0 } else { s.left(&config.framing).min(ahead) };
            let sent = OnWire { key, bytes: u64::from(bytes), is_queue_empty, left, now };
            s.next_send = now + scheme.on_sent(&mut s.rate, &mut packet, sent);
            s.set_timer(config, effects);
            resumes = s.next_send;
        }
        if let Some(jitter) = &config.jitter {
            self.latest.drawn += 1;
            resumes = s.jitter(jitter, &packet, config, [now, resumes.max(ends)]);
        }
        expect_ack(s, config, &mut self.first_timeouts, effects);
        let next = config.transport.next(&s.progress, &s.transport);
        if config.transport.coalesces()
            && (packet.has(Packet::RETRANSMITTED) || next.is_none_or(|seq| !s.may_send(seq, config)))
        {
            packet.set(Packet::ASKS);
        }
        resumes = resumes.max(next.map_or(now, |seq| s.arrives(seq)));
        if next.is_none() {
            s.is_listed = false;
            if !config.transport.acknowledges()
                && s.messages.as_ref().is_none_or(|messages| messages.is_closed)
            {
                self.let_go(slot, now);
            }
            Turn::SendAndLeave(packet)
        } else if resumes > ends {
            s.is_listed = false;
            s.pace_at = resumes;
            Turn::SendThenWait(packet, resumes)
        } else {
            Turn::Send(packet)
        }
    }

    /// Ends a flow with its last packet, for transports without answers.
    fn let_go(&mut self, slot: u32, now: Moment) {
        let Some(s) = self.senders[index(slot)].take() else { return };
        self.count_finished(&s);
        self.sent.push(s.record(None, &self.config.framing, now));
        self.slots[index(s.flow - self.first_flow)] = NO_SLOT;
        self.free.push(slot);
    }

    /// Lists a flow again if the flow can send.
    #[inline]
    pub fn requeue(&mut self, flow: u32, now: Moment) -> Requeue {
        let Some(slot) = self.slot(flow) else { return Requeue::No };
        let config = &self.config;
        let Some(s) = &mut self.senders[slot] else { return Requeue::No };
        let Some(next) = config.transport.next(&s.progress, &s.transport) else { return Requeue::No };
        if s.is_listed || s.held_until() > now || !s.may_send(next, config) {
            return Requeue::No;
        }
        self.held_back += s.arrivals.as_mut().map_or(0, |a| a.advance(s.progress.highest, now));
        let resumes = s.next_send.max(s.arrives(next));
        if resumes <= now {
            s.is_listed = true;
            return Requeue::Now { slot: number(slot), port: s.port, queue: s.queue };
        }
        // After its last packet nothing waits for the pace of a flow that goes back.
        if s.pace_at <= resumes {
            return Requeue::No;
        }
        s.pace_at = resumes;
        Requeue::At(resumes)
    }

    /// Returns the reason why a flow waits; none after the end of the flow.
    pub fn waits_for(&self, flow: u32, now: Moment) -> Option<Wait> {
        let s = self.senders[self.slot(flow)?].as_ref()?;
        if s.is_listed {
            return Some(Wait::Turn(s.queue));
        }
        if s.is_idle(&self.config) {
            return Some(Wait::AppLimited);
        }
        let Some(next) = self.config.transport.next(&s.progress, &s.transport) else {
            return Some(Wait::Ack);
        };
        let arrives = s.arrives(next);
        Some(if s.held_until() > now {
            Wait::SourceHeld
        } else if !s.has_credit() || next >= self.config.schemes.at(s.control, s.port).limit(&s.rate) {
            Wait::Pull
        } else if !s.has_window(next, &self.config) {
            Wait::Window
        } else if arrives > now && arrives >= s.next_send {
            Wait::AppLimited
        } else {
            Wait::Pacing
        })
    }

    /// Handles the pacing timer of a flow. A timer set before the pace rose is ignored.
    pub fn on_pace(&mut self, flow: u32, now: Moment) {
        if let Some(slot) = self.slot(flow)
            && let Some(s) = &mut self.senders[slot]
            && s.pace_at <= now
        {
            s.pace_at = Moment::NEVER;
        }
    }

    /// Returns a flow whose first timeout is due; otherwise sets the timer for the next. First timeouts come
    /// in the order of first packets, so one timer serves all flows. Finished flows are skipped.
    pub fn next_timeout(&mut self, effects: &mut Effects) -> Option<u32> {
        while let Some((deadline, flow)) = self.first_timeouts.front().copied() {
            let is_over = self.slot(flow).is_none();
            if !is_over && deadline > effects.now {
                effects.push(Effect::Alarm(token::FIRST_RTO, deadline, 0));
                return None;
            }
            self.first_timeouts.pop_front();
            if !is_over {
                return Some(flow);
            }
        }
        None
    }

    /// The flow number of a slot.
    pub fn flow_of(&self, slot: u32) -> u32 {
        self.senders[index(slot)].as_ref().map_or(u32::MAX, |s| s.flow)
    }

    /// Moves the rest of a flow to another class. Returns port, slot and the previous queue, if the flow
    /// still sends.
    pub fn set_class(&mut self, flow: u32, class: u8) -> Option<(PortId, u32, QueueId)> {
        let slot = self.slot(flow)?;
        let s = self.senders[slot].as_mut()?;
        s.class = class;
        Some((s.port, number(slot), std::mem::replace(&mut s.queue, QueueId(1 + u16::from(class)))))
    }

    /// Returns flows on a port that routing no longer allows, or away from an own port that is allowed again,
    /// each with the new port.
    pub fn misplaced(&self, routes: &Routes) -> Vec<(u32, PortId)> {
        let senders = self
            .slots
            .iter()
            .filter(|slot| **slot != NO_SLOT)
            .filter_map(|slot| self.senders[index(*slot)].as_ref());
        let place = |s: &Sender| {
            let choices = routes.choices(s.dst);
            let is_good = |port: PortId| choices.contains(&port);
            let port = [self.homes.get(&s.flow).copied().unwrap_or(s.port), s.port]
                .into_iter()
                .find(|port| is_good(*port))
                .unwrap_or_else(|| routes.choose(s.dst, s.flow));
            (s.path < Paths::FIRST && !choices.is_empty() && port != s.port).then_some((s.flow, port))
        };
        senders.filter_map(place).collect()
    }

    /// Moves the rest of a flow to another port. Returns the slot, the previous port and the queue, if the
    /// flow still sends.
    pub fn set_port(&mut self, flow: u32, port: PortId) -> Option<(u32, PortId, QueueId)> {
        let slot = self.slot(flow)?;
        let s = self.senders[slot].as_mut()?;
        let from = std::mem::replace(&mut s.port, port);
        if *self.homes.entry(flow).or_insert(from) == port {
            self.homes.remove(&flow);
        }
        Some((number(slot), from, s.queue))
    }

    /// Frees a slot that left the round of its queue after the end of its flow.
    pub fn reclaim(&mut self, slot: u32) {
        if self.senders[index(slot)].is_none() {
            self.free.push(slot);
        }
    }
}
