//! Execution of the effects that mechanisms request from their node.

use xoff_units::{Moment, number};

use super::{Cx, FAULT, Node, ORDER};
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::mechanisms::contract::{Dequeued, Hooks, Watches};
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Queues;
use crate::ports::effects::{Asker, Effect};
use crate::ports::queueing::port::Cause;
use crate::records::events::Pause;

impl Node {
    /// Executes the requested effects.
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
            Effect::Send(port, frame) if self.has_turns => self.send_late(port, frame, cx),
            Effect::Send(port, frame) => self.queue_control(port, QueueId(0), frame, cx),
            Effect::Emit(frame) => self.queue_control(self.routes.port(&frame), QueueId(0), frame, cx),
            Effect::Block(port, queues, asker) => {
                self.block(port, queues, Cause::mechanism(owner), asker, cx.now());
            }
            Effect::Discard(port, queues) => self.discard(port, queues, owner, cx),
            Effect::MoveQueue(port, from, to) => self.pour(port, from, to, cx),
            Effect::Pausing(because) => {
                if let Some(recorder) = &mut self.delays {
                    let routes = &self.routes;
                    recorder.on_pausing(
                        because,
                        self.mechanisms.name(owner),
                        &self.core,
                        |p| routes.port(p),
                        cx.now(),
                    );
                }
            }
            Effect::Unblock(port, queues) => self.unblock(port, queues, Cause::mechanism(owner), cx),
            Effect::HoldQueue(port, queue) => {
                self.block(port, Queues::One(queue), Cause::ORDER, Asker::Itself, cx.now());
            }
            Effect::ReleaseQueue(port, queue) => self.unblock(port, Queues::One(queue), Cause::ORDER, cx),
            Effect::PauseNeighbour(port, class, is_on) => {
                self.mechanisms.each(Watches::REQUEST, &self.core, &mut self.effects, |m, core, fx| {
                    m.on_pause_request(port, class, is_on, core, fx);
                });
            }
            Effect::HoldFlow(flow, until) => {
                if let Some(endpoint) = &mut self.endpoint
                    && let Some(until) = endpoint.hold(flow, until, self.mechanisms.name(owner), cx.now())
                {
                    if until < Moment::NEVER {
                        cx.set_timer(until, token::pack(token::HOLD, 0, flow));
                    }
                    self.follow_hold(flow, owner, cx.now());
                }
            }
            Effect::ReleaseFlow(flow) => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.release(flow, cx.now());
                    self.requeue(flow, cx);
                }
            }
            Effect::HoldDestination(dst, until) => {
                let Some(endpoint) = &mut self.endpoint else { return };
                let flows = endpoint.hold_destination(dst, until, self.mechanisms.name(owner), cx.now());
                if let Some(recorder) = &mut self.delays {
                    recorder.hold_destination(dst, self.mechanisms.name(owner));
                }
                for flow in flows {
                    cx.set_timer(until, token::pack(token::HOLD, 0, flow));
                    self.follow_hold(flow, owner, cx.now());
                }
            }
            Effect::OperationEnded(number) => self.end_operation(number),
            Effect::ClassOfFlow(flow, class) => self.change_class(flow, class, cx),
            Effect::Answer(frame) => self.send_on(self.routes.port(&frame), frame, cx),
            Effect::Alarm(kind, at, payload) => cx.set_timer(at, token::pack(kind, 0, payload)),
            Effect::Start(spec) => self.start_flow(&spec, cx),
            Effect::Post(post) => self.post(&post, cx),
            Effect::Call(of, owner, at, what) => cx.set_timer(at, token::call(of, token::CALL, owner, what)),
            Effect::Compute(of, owner, until, what) => {
                cx.set_timer(self.computed(until), token::call(of, token::COMPUTED, owner, what));
            }
            Effect::Control(of, at, line) => cx.set_timer(at, token::call(of, token::CONTROL, 0, line)),
            Effect::SendSlice(queue, post) => {
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.send_slice(queue, &post, &mut self.effects);
                }
            }
            Effect::Leave(output, at, frame) => cx.send(usize::from(output), at, frame),
            Effect::Timer(at, payload) => cx.set_timer(at, token::pack(token::MECHANISM, owner, payload)),
        }
    }

    /// Releases flows and operations that wait for an operation.
    fn end_operation(&mut self, number: u32) {
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.release_after(number, &mut self.effects);
        }
    }

    /// Sends the rest of a flow of this node in another class.
    fn change_class(&mut self, flow: u32, class: u8, cx: &mut Cx<'_>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let Some((port, slot, from)) = endpoint.set_class(flow, class) else { return };
        let queue = QueueId(1 + u16::from(class));
        if queue == from {
            return;
        }
        // The old queue may be paused for long; the supplier waits in the new queue from now on.
        self.core.ports[port].move_supplier(slot, from, queue);
        self.kick(port, cx);
        if self.is_watched {
            self.follow(flow, cx.now());
        }
    }

    /// Drops the data of queues of a port. For all counts, the data has left the queues.
    fn discard(&mut self, port: PortId, queues: Queues, owner: u8, cx: &mut Cx<'_>) {
        let by = Some(self.mechanisms.drops_as(owner));
        for queue in QueueId::all(self.core.ports[port].queues.len()).skip(1) {
            if !queues.has(queue, &self.core.ports[port].queues[queue]) {
                continue;
            }
            for packet in self.core.ports[port].take(queue, Packet::is_data) {
                self.uncount(port, queue, &packet, by, cx);
            }
        }
    }

    /// Removes a dropped packet, taken from a queue of a port, from all counts.
    pub(super) fn uncount(
        &mut self,
        port: PortId,
        queue: QueueId,
        packet: &Packet,
        by: Option<&'static str>,
        cx: &mut Cx<'_>,
    ) {
        let group = self.core.group(packet.in_port(), packet.class());
        self.core.ports[port].queues[queue].bytes.sub(packet.bytes());
        let crossed = self.core.ingress[group].sub(packet.bytes());
        self.core.buffer.release(packet.in_port(), group, port, packet.bytes());
        if self.mechanisms.want(Watches::DEQUEUE) {
            let event = Dequeued { packet, port, queue, is_whole: true };
            self.mechanisms.each(Watches::DEQUEUE, &self.core, &mut self.effects, |m, core, fx| {
                m.on_dequeue(&event, core, fx);
            });
            self.effects.take_mark();
        }
        if let Some(recorder) = &mut self.delays {
            recorder.on_discard(packet, port);
        }
        self.record_drop(port, queue, packet, by, cx);
        if crossed {
            self.crossing(packet.in_port(), packet.class(), false, cx);
        }
    }

    /// Moves the packets of a queue of a port to another queue.
    fn pour(&mut self, port: PortId, from: QueueId, to: QueueId, cx: &mut Cx<'_>) {
        let p = &mut self.core.ports[port];
        let waiting = std::mem::take(&mut p.queues[from].packets);
        p.waiting -= number(waiting.len());
        for packet in waiting.iter() {
            p.queues[from].bytes.sub(packet.bytes());
            p.queues[to].bytes.add(packet.bytes());
            p.push(to, *packet);
            if let Some(recorder) = &mut self.delays {
                recorder.on_pour(packet, port, from, cx.now());
            }
        }
        if !waiting.is_empty() {
            self.kick(port, cx);
        }
    }

    /// Returns the name of a cause in tables: the name of its mechanism.
    fn cause_name(&self, cause: Cause) -> &'static str {
        let own = if cause == Cause::FAULT { FAULT.name } else { ORDER.name };
        cause.owner().map_or(own, |owner| self.mechanisms.name(owner))
    }

    /// Returns the end of a computation that would end at `until` at full speed.
    fn computed(&self, until: Moment) -> Moment {
        self.failing.as_ref().map_or(until, |failing| failing.computed(self.effects.now, until))
    }

    pub(super) fn block(&mut self, port: PortId, queues: Queues, cause: Cause, asker: Asker, now: Moment) {
        let name = self.cause_name(cause);
        let mut first = None;
        let mut is_new = false;
        let p = &mut self.core.ports[port];
        for queue in QueueId::all(p.queues.len()).skip(1) {
            if queues.has(queue, &p.queues[queue]) {
                let first = *first.get_or_insert(queue);
                if p.block(queue, cause) {
                    is_new = true;
                    if let Some(recorder) = &mut self.delays {
                        recorder.block(port, queue, first, name, now);
                    }
                }
            }
        }
        if let (true, Some(queue)) = (is_new, first) {
            let class = p.queues[queue].class();
            let pause =
                Pause { node: self.core.id, port, queue, class, cause: name, asker, start: now, end: None };
            self.open_pauses.push(pause);
        }
    }

    pub(super) fn unblock(&mut self, port: PortId, queues: Queues, cause: Cause, cx: &mut Cx<'_>) {
        let name = self.cause_name(cause);
        let mut first = None;
        let mut was_held = false;
        let p = &mut self.core.ports[port];
        for queue in QueueId::all(p.queues.len()).skip(1) {
            if queues.has(queue, &p.queues[queue]) {
                first = first.or(Some(queue));
                if p.unblock(queue, cause) {
                    was_held = true;
                    if let Some(recorder) = &mut self.delays {
                        recorder.unblock(port, queue, name, cx.now());
                    }
                }
            }
        }
        if !was_held {
            return;
        }
        let is_this = |p: &Pause| p.port == port && Some(p.queue) == first && p.cause == name;
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

#[cfg(test)]
mod tests {
    use super::super::tests::{SWITCH, arrived, run};
    use xoff_units::{Duration, index};

    use super::*;
    use crate::frames::kinds::{self, Kind};
    use crate::frames::packet::Packet;
    use crate::hosts::stack::{Stack, Stacks};
    use crate::mechanisms::overrides::{Local, Locals};
    use crate::mechanisms::{bcn, pfc};
    use crate::network::Settings;

    #[test]
    fn what_is_poured_goes_on_behind_what_waits_there() {
        // Two classes, both blocked from the start. A flow of three packets waits in each queue for host 2.
        // At 5 us the packets of the first queue move to the end of the second queue, which opens. The first
        // queue stays blocked and empty.
        let settings = Settings { classes: 2, ..Settings::for_tests() };
        let flows = [(0, 2, 3000, Duration::ZERO), (1, 2, 3000, Duration::ZERO)];
        let close =
            [1, 2].map(|queue| (SWITCH, Moment::ZERO, 0, Effect::HoldQueue(PortId(2), QueueId(queue))));
        let script = [
            close[0],
            close[1],
            (0, Moment::ZERO, 0, Effect::ClassOfFlow(0, 1)),
            (SWITCH, Moment::us(5), 0, Effect::MoveQueue(PortId(2), QueueId(1), QueueId(2))),
            (SWITCH, Moment::us(5), 0, Effect::ReleaseQueue(PortId(2), QueueId(2))),
        ];
        let nodes = run(&settings, &flows, &script);
        let queues = &nodes[index(SWITCH)].core.ports[2].queues;
        assert_eq!(
            (queues[1].sent, queues[2].sent, queues[1].bytes.bytes(), queues[2].bytes.bytes()),
            (0, 6, 0, 0)
        );
        assert_eq!((queues[1].bytes.peak(), queues[2].bytes.peak()), (3750, 7500));
        // Six packets of 100 ns from 5 us on, and a link of 1 us.
        assert_eq!(
            arrived(&nodes, 2),
            [(0, Moment::ns(5000 + 300 + 1000)), (1, Moment::ns(5000 + 600 + 1000))]
        );
    }

    /// Mechanism 0 is PFC and mechanism 1, at the switch, is BCN; neither acts without a script.
    fn settings() -> Settings {
        let mut local = Local::default();
        local.mechanisms.flow_control.pfc = Some(pfc::Params::default());
        local.mechanisms.flow_control.bcn = Some(bcn::Params::default());
        Settings { classes: 2, locals: Locals::uniform(local), ..Settings::for_tests() }
    }

    const PFC: u8 = 0;
    const BCN: u8 = 1;
    /// Ten packets from host 0 to host 2, which have all come to the switch by 2 us.
    const TEN: [(u64, u64, u64, Duration); 1] = [(0, 2, 10_000, Duration::ZERO)];

    /// Returns finished pauses: port, queue, class, cause, start and end in nanoseconds.
    fn rows(node: &Node) -> Vec<(u16, u16, u8, &'static str, u64, u64)> {
        let row = |p: &Pause| {
            (p.port.0, p.queue.0, p.class, p.cause, p.start.ps() / 1000, p.end.unwrap().ps() / 1000)
        };
        node.records.pauses.iter().map(row).collect()
    }

    #[test]
    fn pauses_of_two_mechanisms_do_not_clear_one_another() {
        let all = Queues::Class(0);
        let at_switch = |us: u64, owner: u8, effect: Effect| (SWITCH, Moment::us(us), owner, effect);
        let script = [
            at_switch(0, BCN, Effect::Unblock(PortId(2), all)),
            at_switch(1, PFC, Effect::Block(PortId(2), all, Asker::Neighbour)),
            at_switch(2, BCN, Effect::Block(PortId(2), all, Asker::Neighbour)),
            at_switch(3, PFC, Effect::Block(PortId(2), all, Asker::Neighbour)),
            at_switch(4, PFC, Effect::Unblock(PortId(2), all)),
            at_switch(5, PFC, Effect::HoldQueue(PortId(2), QueueId(1))),
            at_switch(6, BCN, Effect::Unblock(PortId(2), all)),
            at_switch(7, BCN, Effect::Block(PortId(2), Queues::Class(1), Asker::Neighbour)),
            at_switch(9, BCN, Effect::ReleaseQueue(PortId(2), QueueId(1))),
        ];
        let nodes = run(&settings(), &TEN, &script);
        let switch = &nodes[index(SWITCH)];
        let expected = [
            (2, 1, 0, "pfc", 1000, 4000),
            (2, 1, 0, "bcn", 2000, 6000),
            (2, 1, 0, "reorder_gates", 5000, 9000),
        ];
        assert_eq!(
            rows(switch),
            expected,
            "what is held already begins no pause, and what is not held ends none"
        );
        // All ten packets leave from 9 us on, 100 ns each.
        assert_eq!(arrived(&nodes, 2), [(0, Moment::us(11))]);
        assert_eq!(switch.paused, [Duration::ZERO, Duration::ZERO, Duration::us(11)]);
        let by = [("bcn", Duration::us(4)), ("pfc", Duration::us(3)), ("reorder_gates", Duration::us(4))];
        assert_eq!(switch.paused_by.iter().map(|(name, time)| (*name, *time)).collect::<Vec<_>>(), by);
        let [open] = switch.open_pauses[..] else { panic!("the pause of class 1 lasts") };
        assert_eq!(
            (open.queue, open.class, open.cause, open.start, open.end),
            (QueueId(2), 1, "bcn", Moment::us(7), None)
        );
    }

    #[test]
    fn a_flow_of_the_host_is_held_and_released() {
        // Three packets have started by 250 ns. Seven packets take 700 ns, and the last packet needs another
        // 100 ns and 2 us.
        let hold = (0, Moment::ns(250), PFC, Effect::HoldFlow(0, Moment::us(5)));
        for (end, script) in [
            (Moment::us(5), vec![hold]),
            (Moment::us(3), vec![hold, (0, Moment::us(3), PFC, Effect::ReleaseFlow(0))]),
            (Moment::us(5), vec![(0, Moment::ns(250), PFC, Effect::HoldDestination(2, Moment::us(5)))]),
            (
                Moment::us(4),
                vec![
                    (0, Moment::ns(250), PFC, Effect::HoldDestination(2, Moment::us(5))),
                    (0, Moment::us(4), PFC, Effect::HoldDestination(2, Moment::us(4))),
                ],
            ),
            (Moment::ns(300), vec![(0, Moment::ns(250), PFC, Effect::HoldDestination(1, Moment::us(5)))]),
        ] {
            let nodes = run(&settings(), &TEN, &script);
            assert_eq!(arrived(&nodes, 2), [(0, end + Duration::ns(2800))]);
            let host = nodes[0].endpoint.as_ref().unwrap();
            let held = if end > Moment::us(1) { end - Moment::ns(250) } else { Duration::ZERO };
            assert_eq!((host.sent[0].paused, host.sent[0].holds), (held, u32::from(held > Duration::ZERO)));
            assert_eq!(host.late_holds.get("pfc").copied(), (held == Duration::ZERO).then_some(1));
        }
    }

    #[test]
    fn the_rest_of_a_flow_changes_class_and_queues() {
        let script = [(0, Moment::ns(250), PFC, Effect::ClassOfFlow(0, 1))];
        let nodes = run(&settings(), &TEN, &script);
        let queues = &nodes[index(SWITCH)].core.ports[2].queues;
        assert_eq!((queues[1].sent, queues[2].sent), (3, 7));
        assert_eq!(nodes[0].endpoint.as_ref().unwrap().sent[0].class, 1);
    }

    #[test]
    fn a_request_pauses_the_neighbour_without_the_delay_of_forwarding() {
        // Frames of 10 ns over 1 us. PFC counts the pause for any requester.
        let ask =
            |us: u64, is_on: bool| (SWITCH, Moment::us(us), BCN, Effect::PauseNeighbour(PortId(1), 1, is_on));
        let settings = Settings { switch_delay: Duration::ns(300), ..settings() };
        let nodes = run(&settings, &[], &[ask(2, true), ask(5, false)]);
        assert_eq!(rows(&nodes[1]), [(0, 2, 1, "pfc", 3010, 6010)]);
        assert!(rows(&nodes[0]).is_empty() && rows(&nodes[2]).is_empty());
    }

    #[test]
    fn what_waits_is_dropped_and_counted_as_gone() {
        // Ten packets wait from 2 us on. The packets are retransmitted, and no first copy is left.
        let hold = (SWITCH, Moment::ZERO, PFC, Effect::Block(PortId(2), Queues::Class(0), Asker::Neighbour));
        let drop = (SWITCH, Moment::us(3), PFC, Effect::Discard(PortId(2), Queues::Class(0)));
        let others = (SWITCH, Moment::us(3), PFC, Effect::Discard(PortId(2), Queues::Class(1)));
        let go = (SWITCH, Moment::us(4), PFC, Effect::Unblock(PortId(2), Queues::Class(0)));
        let nodes = run(&settings(), &TEN, &[hold, others, drop, go]);
        let switch = &nodes[index(SWITCH)];
        let drops = &switch.records.drops;
        assert_eq!(
            drops.iter().map(|d| (d.at, d.port.0, d.seq, d.by)).collect::<Vec<_>>(),
            (0..10).map(|n| (Moment::us(3), 2, n, Some("PFC watchdog"))).collect::<Vec<_>>()
        );
        assert_eq!(
            (switch.counts.dropped, switch.counts.dropped_bytes, switch.queued_bytes()),
            (10, 12_500, 0)
        );
        assert_eq!(
            (
                switch.core.ingress[0].bytes(),
                switch.core.waiting_bytes(PortId(2)),
                switch.core.ports[2].waiting
            ),
            (0, 0, 0)
        );
        let [flow] = nodes[0].endpoint.as_ref().unwrap().sent[..] else { panic!("the flow is acknowledged") };
        assert_eq!((flow.retransmitted, arrived(&nodes, 2).len()), (10, 1));
    }

    #[test]
    fn a_frame_goes_to_the_neighbour_or_to_its_destination() {
        let pause = Packet::with(kinds::Pfc { classes: 1, quanta: 1 }, u32::MAX, 0, 125, 0);
        let script = [
            (1, Moment::us(2), PFC, Effect::Send(PortId(0), pause)),
            (1, Moment::us(2), PFC, Effect::Emit(Packet::new(Kind::Cnp, 0, 0, 0, 125, 0))),
        ];
        let mut settings = settings();
        let mut stack = Stack::default();
        stack.congestion_control.dcqcn = Some(crate::hosts::congestion_control::dcqcn::Params::default());
        settings.stacks = Stacks::uniform(stack);
        let nodes = run(&settings, &TEN, &script);
        // The switch is paused toward host 1, and the frame behind that pause passes the switch.
        let [open] = nodes[index(SWITCH)].open_pauses[..] else { panic!("one pause lasts") };
        assert_eq!((open.port, open.cause, open.start), (PortId(1), "pfc", Moment::ns(3010)));
        assert_eq!([0, 1, 2].map(|host| nodes[host].endpoint.as_ref().unwrap().notifications), [1, 0, 0]);
        assert_eq!(nodes[index(SWITCH)].core.ports[1].control_bytes, 0);
    }
}
