//! BFC, Backpressure Flow Control (Goyal et al., NSDI 2022): flows get queues of their own, and a hop pauses
//! the upstream queue of a flow whose queue fills.
//! An output has `queues` data queues. A flow without packets here for `sticky` gets the lowest free queue,
//! or a random queue when all are in use. A packet above the threshold C·H/n is counted, and its upstream
//! queue is paused while any of its counted packets is here. Hosts assign queues in the same way.
//! Simplifications: the queue number is the tag of packets, without bytes on the wire; pause frames are not
//! repeated; queues take turns by packets. `resume = "threshold"` is ours.
//! Invariants: the packets of a flow are in one queue at a time; each pause has its resume.
//! Source: the public code of Pyrrha, which holds BFC (`docs/models/bfc.md`).

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::mix;
use xoff_engine::state;
use xoff_units::{Duration, Moment, index, number, wide};

use crate::frames::packet::Packet;
use crate::frames::{kinds, tag};
use crate::mechanisms::contract::{
    Departure, Dequeued, Enqueued, Hooks, Install, PortShape, Properties, Site, ValidationContext, Verdict,
    Watches,
};
use crate::parts::count::{Count, PAUSED, Tally};
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError, remove};
use crate::parts::streams::Keys;
use crate::ports::core::{Core, Queueing, Queues};
use crate::ports::effects::{Asker, Because, Effect, Effects};
use crate::ports::queueing::port::{Purpose, QueueSpec};

/// Moment of the resume of a paused queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resume {
    /// The last counted packet of the paused queue has left.
    #[default]
    Counted,
    /// The pausing queue has fallen to its threshold.
    Threshold,
}

/// `switch.flow_control.bfc`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Data queues of each output.
    pub queues: u32,
    /// Round trip of a hop (H). Default: twice the delay of the packet's input link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// Time for which a flow keeps its queue after its last arrival. Default: two round trips of a hop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Duration>,
    /// Entries of a switch's flow table for each of its queues; flows of equal hash are one flow.
    pub entries: u32,
    /// Moment of the resume of a paused queue.
    pub resume: Resume,
}

impl Default for Params {
    fn default() -> Self {
        Self { queues: 32, round_trip: None, sticky: None, entries: 100, resume: Resume::Counted }
    }
}

/// Flows of a hash at an output.
#[derive(Debug, Clone)]
struct Entry {
    queue: QueueId,
    packets: u32,
    last: Moment,
}

state!(Entry {
    value: queue, packets;
    moment: last;
});

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    in_port: PortId,
    /// Upstream queue of the packet.
    from: QueueId,
    is_counted: bool,
}

state!(Waiting {
    value: in_port, from, is_counted;
});

/// A data queue of an output.
#[derive(Debug, Clone, Default)]
struct BfcQueue {
    /// Table entries with packets here; at a host the flows that send.
    users: u32,
    /// End of the sticky time of the queue's flows.
    kept_until: Option<Moment>,
    packets: VecDeque<Waiting>,
    /// Upstream queues paused by the queue (`threshold`).
    paused: Vec<(PortId, QueueId)>,
}

state!(BfcQueue {
    value: users, paused;
    moments: kept_until;
    part: packets;
});

/// BFC at a node.
#[derive(Debug, Clone)]
pub struct Bfc {
    resume: Resume,
    frame_bytes: u16,
    /// For each port as an input: the round trip of its hop, and the sticky time.
    hops: Vec<(Duration, Duration)>,
    /// Data queues of each port, numbered from 1.
    lanes: Vec<Vec<BfcQueue>>,
    table: FxHashMap<(PortId, u32), Entry>,
    table_size: u32,
    keys: Keys,
    /// By input and upstream queue: the number of reasons to pause the queue.
    holds: FxHashMap<(PortId, QueueId), u32>,
    pauses: u64,
    shared: u64,
}

state!(Bfc {
    part: lanes;
    keyed: table, holds;
    constant: resume, frame_bytes, hops, table_size, keys;
    total: pauses, shared;
});

const PAUSES: Count = Count::number("pauses", "BFC pauses");
const SHARED: Count = Count::number("shared", "flows in a shared queue");

impl Bfc {
    /// Returns the lowest free queue of a port, or a random queue.
    fn free(&mut self, port: PortId, now: Moment, core: &Core, any: impl FnOnce(u64) -> u64) -> QueueId {
        let lanes = &self.lanes[port];
        let is_free = |q: &usize| {
            lanes[*q].users == 0
                && lanes[*q].kept_until.is_none_or(|until| until < now)
                && !core.ports[port].queues[q + 1].is_blocked()
        };
        if let Some(queue) = (0..lanes.len()).find(is_free) {
            return QueueId::at(1 + queue);
        }
        self.shared += 1;
        QueueId::at(1 + any(wide(lanes.len())) as usize)
    }

    fn key(&self, packet: &Packet, port: PortId) -> (PortId, u32) {
        (port, (mix(u64::from(self.keys.of(packet.flow()))) % u64::from(self.table_size)) as u32)
    }

    /// Returns the queue length above which packets of an input are counted at an output.
    fn threshold(&self, in_port: PortId, port: PortId, core: &Core) -> u64 {
        let out = &core.ports[port];
        let active = out.queues[1..].iter().filter(|q| q.bytes.bytes() > 0 && !q.is_blocked()).count().max(1);
        out.rate.bytes_in(self.hops[in_port].0) / wide(active)
    }

    fn hold(&mut self, at: (PortId, QueueId), effects: &mut Effects) {
        let holds = self.holds.entry(at).or_default();
        *holds += 1;
        if *holds == 1 {
            self.pauses += 1;
            effects.push(Effect::Pausing(Because::Tagged(at.0, u32::from(at.1.0))));
            effects.push(Effect::Send(at.0, self.frame(at.1, true)));
        }
    }

    fn release(&mut self, at: (PortId, QueueId), effects: &mut Effects) {
        let Some(holds) = self.holds.get_mut(&at) else { return };
        *holds -= 1;
        if *holds == 0 {
            self.holds.remove(&at);
            effects.push(Effect::Send(at.0, self.frame(at.1, false)));
        }
    }

    fn frame(&self, queue: QueueId, is_pause: bool) -> Packet {
        Packet::with(kinds::Bfc { queue: queue.0, is_pause }, u32::MAX, 0, self.frame_bytes, 0)
    }
}

impl Install for Bfc {
    type Params = Params;
    const LABEL: &'static str = "BFC";
    const COUNTS: &'static [Count] = &[PAUSES, SHARED, PAUSED];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let hop = |delay: Duration| {
            let round_trip = params.round_trip.unwrap_or(delay * 2);
            (round_trip, params.sticky.unwrap_or(round_trip * 2))
        };
        Some(Self {
            resume: params.resume,
            frame_bytes: site.framing.control,
            hops: site.ports.iter().map(|p| hop(p.link.delay)).collect(),
            lanes: core
                .ports
                .iter()
                .map(|p| p.queues[1..].iter().map(|_| BfcQueue::default()).collect())
                .collect(),
            table: FxHashMap::default(),
            keys: site.sources.keys.clone(),
            table_size: params.entries * params.queues * number(site.ports.len().max(1)),
            holds: FxHashMap::default(),
            pauses: 0,
            shared: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        let why = "BFC would put own and relayed flows of the host into the same queues; remove switch.flow_control.bfc";
        Properties {
            can_deadlock: true,
            assigns_queues: true,
            plans_queues: true,
            tag_bits: tag::BITS,
            if_frames_are_lost: Some((
                true,
                "does not repeat a lost frame, and a queue could stay paused; remove the fault or bfc",
            )),
            refuses_relayed_sources: Some(("", why)),
            ..Properties::default()
        }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if !(1..=1024).contains(&params.queues) {
            return Err(("queues", format!("{} is out of range; allowed are 1 to 1024", params.queues)));
        }
        if !(1..=10_000).contains(&params.entries) {
            return Err(("entries", format!("{} is out of range; allowed are 1 to 10000", params.entries)));
        }
        for (key, time) in [("round_trip", params.round_trip), ("sticky", params.sticky)] {
            if time.is_some_and(|t| t > Duration::ms(1_000)) {
                return Err((key, "allowed are 0ns to 1s".into()));
            }
        }
        if let Some(lossless) = context.other(|o| o.is_lossless) {
            return Err(("", remove(format!("mutually exclusive with {lossless}"))));
        }
        if context.classes > 1 {
            return Err(("", Change::set("switch.classes", 1).after("BFC has its own queues and one class")));
        }
        if context.queueing != Queueing::Oq {
            return Err(("", Change::set("switch.queueing", "oq").after("BFC needs output queues")));
        }
        Ok(())
    }

    fn queues(params: &Params, _: &PortShape<'_>, _: u32, _: PortId) -> Option<Vec<QueueSpec>> {
        Some(vec![QueueSpec { class: 0, level: 0, purpose: Purpose::Planned }; index(params.queues)])
    }
}

impl Hooks for Bfc {
    fn watches(&self) -> Watches {
        let all = [
            Watches::ASSIGN,
            Watches::ENQUEUE,
            Watches::DEQUEUE,
            Watches::DEPARTURE,
            Watches::CONTROL,
            Watches::LINK,
        ];
        all.into_iter().fold(Watches::PLACE, Watches::and)
    }

    /// Gives a flow of this host a queue until its last packet leaves. Later retransmissions may share the
    /// queue.
    fn place_flow(&mut self, packet: &mut Packet, port: PortId, core: &Core) -> Option<QueueId> {
        let key = u64::from(self.keys.of(packet.flow()));
        let queue = self.free(port, Moment::ZERO, core, |n| mix(key) % n);
        self.lanes[port][queue.index() - 1].users += 1;
        Some(queue)
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, _: &Core, _: &mut Effects) {
        let is_last = event.packet.has(Packet::LAST) && !event.packet.has(Packet::RETRANSMITTED);
        if event.is_own && is_last {
            self.lanes[event.port][event.queue.index() - 1].users -= 1;
        }
        event.packet.set_tag(u32::from(event.queue.0));
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        let (now, sticky) = (effects.now, self.hops[packet.in_port()].1);
        let key = self.key(packet, port);
        let kept = self.table.get(&key).filter(|e| e.packets > 0 || now - e.last <= sticky).map(|e| e.queue);
        let queue = kept.unwrap_or_else(|| self.free(port, now, core, |n| effects.draw(packet, n)));
        let packets = self.table.get(&key).map_or(0, |e| e.packets);
        self.table.insert(key, Entry { queue, packets, last: now });
        let lane = &mut self.lanes[port][queue.index() - 1];
        lane.kept_until = lane.kept_until.max(Some(now + sticky));
        Some(queue)
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let Enqueued { packet, port, queue } = *event;
        let from = (packet.in_port(), QueueId(packet.tag() as u16));
        let bytes = u64::from(core.ports[port].queues[queue].bytes.bytes());
        let is_over = bytes > self.threshold(packet.in_port(), port, core);
        let key = self.key(packet, port);
        let Some(entry) = self.table.get_mut(&key) else { return };
        entry.packets += 1;
        let lane = &mut self.lanes[port][queue.index() - 1];
        lane.users += u32::from(entry.packets == 1);
        let is_counted = is_over && self.resume == Resume::Counted;
        lane.packets.push_back(Waiting { in_port: from.0, from: from.1, is_counted });
        let is_new = is_over && self.resume == Resume::Threshold && !lane.paused.contains(&from);
        if is_new {
            lane.paused.push(from);
        }
        if is_counted || is_new {
            self.hold(from, effects);
        }
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let Dequeued { packet, port, queue, .. } = *event;
        let key = self.key(packet, port);
        let lane = &mut self.lanes[port][queue.index() - 1];
        if let Some(entry) = self.table.get_mut(&key) {
            entry.packets -= 1;
            lane.users -= u32::from(entry.packets == 0);
        }
        let Some(left) = lane.packets.pop_front() else { return };
        if left.is_counted {
            self.release((left.in_port, left.from), effects);
        }
        let paused = std::mem::take(&mut self.lanes[port][queue.index() - 1].paused);
        let bytes = u64::from(core.ports[port].queues[queue].bytes.bytes());
        let (over, under): (Vec<_>, Vec<_>) =
            paused.into_iter().partition(|at| bytes > self.threshold(at.0, port, core));
        self.lanes[port][queue.index() - 1].paused = over;
        for at in under {
            self.release(at, effects);
        }
    }

    fn on_control(&mut self, frame: &Packet, port: PortId, _: &Core, effects: &mut Effects) -> Verdict {
        let Some(kinds::Bfc { queue, is_pause }) = frame.payload() else { return Verdict::Pass };
        let queues = Queues::One(QueueId(queue));
        effects.push(if is_pause {
            Effect::Block(port, queues, Asker::Neighbour)
        } else {
            Effect::Unblock(port, queues)
        });
        Verdict::Consume
    }

    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        if is_up {
            let mut held: Vec<QueueId> = self.holds.keys().filter(|at| at.0 == port).map(|at| at.1).collect();
            held.sort_unstable();
            for queue in held {
                effects.push(Effect::Send(port, self.frame(queue, true)));
            }
        } else {
            let queues = QueueId::all(core.ports[port].queues.len()).skip(1);
            queues.for_each(|queue| effects.push(Effect::Unblock(port, Queues::One(queue))));
        }
    }

    fn standing_pauses(&self, add: &mut dyn FnMut(PortId, u8)) {
        let mut ports: Vec<PortId> = self.holds.keys().map(|at| at.0).collect();
        ports.sort_unstable();
        for port in ports {
            add(port, 0);
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(PAUSES, self.pauses);
        tally.add(SHARED, self.shared);
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    const SIZE: u16 = 1000;

    /// A switch of three ports with three data queues each, and hops of 2 us: 25 KB at 100 Gb/s.
    struct Switch {
        bfc: Bfc,
        core: Core,
        effects: Effects,
    }

    impl Switch {
        fn new(resume: Resume) -> Self {
            let core = Core::for_tests(3, 3);
            let bfc = Bfc {
                resume,
                frame_bytes: 64,
                hops: vec![(Duration::us(2), Duration::us(4)); 3],
                lanes: (0..3).map(|_| (0..3).map(|_| BfcQueue::default()).collect()).collect(),
                table: FxHashMap::default(),
                keys: Keys::default(),
                table_size: 1000,
                holds: FxHashMap::default(),
                pauses: 0,
                shared: 0,
            };
            Self { bfc, core, effects: Effects::for_tests(1) }
        }

        /// A packet of a flow comes by a port from an upstream queue, for port 2; returns its queue here.
        fn arrive(&mut self, flow: u32, in_port: PortId, from: u32) -> QueueId {
            let mut packet = Packet::new(Kind::Data, flow, 0, 9, SIZE, 0);
            packet.set_in_port(in_port);
            packet.set_tag(from);
            let queue = self.bfc.assign_queue(&mut packet, PortId(2), &self.core, &mut self.effects).unwrap();
            self.core.ports[2].queues[queue].bytes.add(SIZE);
            self.bfc.on_enqueue(
                &Enqueued { packet: &packet, port: PortId(2), queue },
                &self.core,
                &mut self.effects,
            );
            queue
        }

        fn leave(&mut self, flow: u32, queue: QueueId) {
            self.core.ports[2].queues[queue].bytes.sub(SIZE);
            let packet = Packet::new(Kind::Data, flow, 0, 9, SIZE, 0);
            self.bfc.on_dequeue(
                &Dequeued { packet: &packet, port: PortId(2), queue, is_whole: true },
                &self.core,
                &mut self.effects,
            );
        }

        /// Returns the frames to neighbours: port, upstream queue, and true for a pause.
        fn told(&mut self) -> Vec<(usize, u32, bool)> {
            let told = |(_, effect): (u8, Effect)| match effect {
                Effect::Send(port, frame) => Some((port.index(), frame.seq(), frame.says() > 0)),
                // Why it does is written down beside.
                Effect::Pausing(_) => None,
                other => panic!("{other:?}"),
            };
            self.effects.take().into_iter().filter_map(told).collect()
        }
    }

    #[test]
    fn a_flow_gets_the_lowest_queue_that_nobody_uses() {
        let mut s = Switch::new(Resume::Counted);
        assert_eq!(
            [s.arrive(1, PortId(0), 1), s.arrive(2, PortId(0), 2), s.arrive(1, PortId(0), 1)],
            [1, 2, 1].map(QueueId)
        );
        // Flow 1 has left, and keeps its queue for 4 us after its last arrival.
        s.leave(1, QueueId(1));
        s.leave(1, QueueId(1));
        s.effects.now = Moment::us(4);
        assert_eq!([s.arrive(3, PortId(0), 3), s.arrive(1, PortId(0), 1)], [3, 1].map(QueueId));
        s.leave(1, QueueId(1));
        s.effects.now = Moment::us(9);
        assert_eq!(s.arrive(4, PortId(0), 4), QueueId(1));
        // Flows 4, 2 and 3 have all queues: flow 1 shares one.
        assert_eq!(s.bfc.shared, 0);
        s.arrive(1, PortId(0), 1);
        assert_eq!(s.bfc.shared, 1);
    }

    #[test]
    fn what_is_beyond_the_threshold_pauses_the_queue_that_it_came_from() {
        // One queue may hold 25 packets, two of them 12 each.
        let mut s = Switch::new(Resume::Counted);
        for _ in 0..25 {
            s.arrive(1, PortId(0), 7);
        }
        assert_eq!(s.told(), []);
        s.arrive(1, PortId(0), 7);
        s.arrive(1, PortId(0), 7);
        assert_eq!(s.told(), [(0, 7, true)]);
        // Another flow: it is below its half, and then above.
        for _ in 0..12 {
            s.arrive(2, PortId(1), 3);
        }
        assert_eq!(s.told(), []);
        s.arrive(2, PortId(1), 3);
        assert_eq!(s.told(), [(1, 3, true)]);
        // The neighbour goes on when the last packet that was counted has left.
        for _ in 0..26 {
            s.leave(1, QueueId(1));
        }
        assert_eq!(s.told(), []);
        s.leave(1, QueueId(1));
        assert_eq!(s.told(), [(0, 7, false)]);
        assert_eq!(s.bfc.pauses, 2);
    }

    #[test]
    fn with_a_threshold_it_goes_on_when_the_queue_has_fallen_to_it() {
        let mut s = Switch::new(Resume::Threshold);
        for _ in 0..30 {
            s.arrive(1, PortId(0), 7);
        }
        assert_eq!(s.told(), [(0, 7, true)]);
        for _ in 0..4 {
            s.leave(1, QueueId(1));
        }
        assert_eq!(s.told(), []);
        s.leave(1, QueueId(1));
        assert_eq!(s.told(), [(0, 7, false)]);
    }

    #[test]
    fn a_frame_holds_one_queue() {
        let mut s = Switch::new(Resume::Counted);
        for is_pause in [true, false] {
            let frame = s.bfc.frame(QueueId(5), is_pause);
            assert_eq!(s.bfc.on_control(&frame, PortId(1), &s.core, &mut s.effects), Verdict::Consume);
        }
        let asked: Vec<Effect> = s.effects.take().into_iter().map(|e| e.1).collect();
        assert!(matches!(
            asked[..],
            [
                Effect::Block(PortId(1), Queues::One(QueueId(5)), Asker::Neighbour),
                Effect::Unblock(PortId(1), Queues::One(QueueId(5)))
            ]
        ));
    }

    #[test]
    fn a_host_gives_each_flow_a_queue_until_its_last_packet_leaves() {
        let mut s = Switch::new(Resume::Counted);
        let place = |s: &mut Switch, flow| {
            s.bfc.place_flow(&mut Packet::new(Kind::Data, flow, 0, 9, 0, 0), PortId(0), &s.core).unwrap()
        };
        assert_eq!([place(&mut s, 1), place(&mut s, 2)], [QueueId(1), QueueId(2)]);
        let mut packet = Packet::new(Kind::Data, 1, 0, 9, SIZE, 0);
        let leave = |s: &mut Switch, packet: &mut Packet| {
            let mut records = crate::frames::packet_metadata::Records::default();
            let mut event =
                Departure { packet, port: PortId(0), queue: QueueId(1), is_own: true, records: &mut records };
            s.bfc.on_departure(&mut event, &s.core, &mut s.effects);
        };
        leave(&mut s, &mut packet);
        assert_eq!((packet.tag(), place(&mut s, 3)), (1, QueueId(3)));
        packet.set(Packet::LAST);
        leave(&mut s, &mut packet);
        assert_eq!(place(&mut s, 4), QueueId(1));
    }
}
