//! Credit-based flow control of links: a sender starts a packet only when the receiver has promised room for
//! the packet.
//! Each end of a link has room for `window` of each class, in blocks. The sender counts blocks sent, the
//! receiver blocks received and freed, modulo a power of two. A queue whose first packet lacks blocks waits.
//! `absolute` follows `InfiniBand`: updates name the limit (FCCL), the repeated count is FCTBS. `cbfc`
//! follows Ultra Ethernet: updates name freed blocks (`CF_Update`), the repeated count is `CC_Update`.
//! Simplifications: counts are repeated only by a sender that waits; control frames need no credits; hosts
//! free blocks at once; no port limit over classes.
//! Invariant: the bytes that wait of a port and class never exceed its window.
//! Source: `docs/models/credits.md`.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{Bytes, Duration, Moment, index, number};

use crate::frames::kinds::{self, Blocks};
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Departure, Dequeued, Enqueued, Hooks, Ingress, Install, Properties, Site, ValidationContext, Verdict,
    Watches,
};
use crate::parts::count::{Count, PAUSED, Tally};
use crate::parts::ids::{Classes, PortId, QueueId};
use crate::parts::param_error::{ParamError, remove};
use crate::ports::core::{Core, Queueing, Queues};
use crate::ports::effects::{Asker, Because, Effect, Effects};
use crate::ports::queueing::buffer::{self, Accounting};
use crate::ports::queueing::port::{Purpose, Queue};

/// Counters and updates of the two ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// `InfiniBand`'s: an update names the limit of the sender, in 12 bits.
    #[default]
    Absolute,
    /// Ultra Ethernet's CBFC: an update names the freed blocks, in 20 bits.
    Cbfc,
}

/// `switch.flow_control.credits`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Counters and updates of the two ends of a link.
    pub scheme: Scheme,
    /// Bytes of a credit. Default: 64 (`absolute`), or 128 (`cbfc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// Bytes of memory that a packet takes beyond its wire size: -16 to 127 (`cbfc`).
    pub overhead: i16,
    /// Bytes of each class that an input holds. Default: the class's share of the port's memory; with
    /// unlimited memory, and at hosts, the bytes that the link needs for full rate. Counters bound the
    /// window: `absolute` has at most 2048 blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// Least distance of two updates of a class, in bytes of the link. Default: 0, an update for each packet
    /// that leaves (`absolute`), or 6400 (`cbfc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_interval_bytes: Option<Bytes>,
    /// Period in which a sender that waits for credits repeats its count. Default: the time of 65536 bytes on
    /// its link (`absolute`), or 256 us (`cbfc`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_interval: Option<Duration>,
}

/// A flow control packet of InfiniBand, and a control ordered set of Ultra Ethernet.
const UPDATE_BYTES: u16 = 8;

impl Params {
    fn is_absolute(&self) -> bool {
        self.scheme == Scheme::Absolute
    }

    /// Returns the modulus of the counters, less one.
    fn mask(&self) -> u32 {
        if self.is_absolute() { (1 << 12) - 1 } else { (1 << 20) - 1 }
    }

    /// Returns the largest window in blocks.
    fn most(&self) -> u64 {
        if self.is_absolute() { 1 << 11 } else { (1 << 20) - 1 }
    }

    fn block(&self) -> u64 {
        self.block.map_or(if self.is_absolute() { 64 } else { 128 }, |b| b.0)
    }

    fn spacing(&self) -> u64 {
        self.update_interval_bytes.map_or(if self.is_absolute() { 0 } else { 6400 }, |b| b.0)
    }

    /// Blocks of a packet.
    fn cost(&self, bytes: u64) -> u64 {
        (bytes.saturating_add_signed(i64::from(self.overhead))).max(1).div_ceil(self.block())
    }

    /// Returns the time from the start of a packet to its credits, with both directions of the link busy: the
    /// packet, the link's delay twice, the interval of updates, a packet in the way of the update, and the
    /// update.
    fn round_trip(&self, ingress: &Ingress<'_>) -> Duration {
        let (link, largest) = (ingress.port.link, ingress.framing.largest());
        let frames =
            [largest, self.spacing(), largest, u64::from(UPDATE_BYTES)].map(|bytes| link.rate.time(bytes));
        frames.into_iter().fold(link.delay * 2 + ingress.delay, |sum, time| sum + time)
    }

    /// Blocks with which the link never waits for credits.
    fn needed(&self, ingress: &Ingress<'_>) -> u64 {
        let largest = ingress.framing.largest();
        let packet = ingress.port.link.rate.time(largest).ps().max(1);
        self.round_trip(ingress).ps().div_ceil(packet) * self.cost(largest)
    }

    /// Returns the memory of each class of an input, where memory is limited.
    fn share(ingress: &Ingress<'_>) -> Option<u64> {
        match ingress.memory {
            buffer::Params::PerPort(bytes) => Some(bytes.0 / u64::from(ingress.classes)),
            buffer::Params::PerQueue(bytes) => Some(bytes.0),
            buffer::Params::Unlimited | buffer::Params::Shared(_) => None,
        }
    }

    /// Blocks of an input's window.
    fn window(&self, ingress: &Ingress<'_>) -> u64 {
        let bytes = self.window.map(|w| w.0).or_else(|| Self::share(ingress));
        bytes.map_or_else(|| self.needed(ingress), |bytes| bytes / self.block()).min(self.most())
    }
}

/// State of a class at the sending end of a link.
#[derive(Debug, Clone)]
struct Sender {
    /// Port and class.
    of: (PortId, u8),
    /// Counters: the blocks sent, and the limit.
    sent: u32,
    limit: u32,
    /// Blocks of the window.
    window: u32,
    /// Number of queues that wait.
    waiting: u32,
    /// True while a timer to repeat the count is set.
    is_timed: bool,
}

impl State for Sender {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { of: (port, class), sent, limit, waiting, is_timed, window: _ } = self;
        walk.at_link(port.0, true);
        walk.counter(true, *class, sent);
        walk.counter(true, *class, limit);
        walk.value((*waiting, *is_timed).word());
    }
}

/// State of a class at the receiving end of a link.
#[derive(Debug, Clone)]
struct Receiver {
    /// Port and class.
    of: (PortId, u8),
    /// Counter of blocks received.
    received: u32,
    /// Blocks in memory, and blocks of the window.
    used: u32,
    window: u32,
    /// The moment of the last update, and true when an update is due later.
    told: Option<Moment>,
    is_owed: bool,
    /// Repeated counts of the sender, kept until earlier packets are through the pipeline.
    repeated: VecDeque<u32>,
    /// The moment of the last record of the bytes that leave no room.
    said: Option<Moment>,
}

impl State for Receiver {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { of: (port, class), received, used, window: _, told, is_owed, repeated, said } = self;
        walk.at_link(port.0, false);
        walk.counter(true, *class, received);
        walk.value((*used, *is_owed, number(repeated.len())).word());
        for count in repeated {
            walk.counter(true, *class, count);
        }
        told.walk(walk);
        said.walk(walk);
    }
}

/// A port.
#[derive(Debug, Clone)]
struct Hop {
    /// Between two updates of a class.
    spacing: Duration,
    /// Between two repetitions of a count.
    repeat: Duration,
    /// Blocks with which the neighbour never waits, and the round trip of credits.
    needed: u32,
    round_trip: Duration,
}

/// Credits at a node.
#[derive(Debug, Clone)]
pub struct Credits {
    params: Params,
    forwards: bool,
    is_host: bool,
    /// The node's forwarding delay. Packets that came before a frame are through the pipeline after this
    /// delay.
    delay: Duration,
    /// Size of a frame with a repeated count.
    repeat_bytes: u16,
    /// Blocks of a full packet.
    full: u32,
    classes: Classes,
    hops: Vec<Hop>,
    /// By port and class.
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// By port and queue: true while the queue waits.
    is_waiting: Vec<Vec<bool>>,
    lose_updates: u32,
    waits: u64,
    updates: u64,
    lost: u64,
}

state!(Credits {
    part: senders, receivers;
    value: is_waiting, lose_updates;
    constant: params, forwards, is_host, delay, repeat_bytes, full, classes, hops;
    total: waits, updates, lost;
});

const WAITS: Count = Count::number("waits", "waits for credits");
const UPDATES: Count = Count::number("updates", "credit updates");
const LOST: Count = Count::number("recovered", "credits recovered");

const UPDATE: u32 = 1 << 24;
const REPEAT: u32 = 2 << 24;
const REPEATED: u32 = 3 << 24;

impl Credits {
    fn group(&self, port: PortId, class: u8) -> usize {
        self.classes.group(port, class)
    }

    fn cost(&self, bytes: u16) -> u32 {
        self.params.cost(u64::from(bytes)) as u32
    }

    fn available(&self, group: usize) -> u32 {
        let Sender { sent, limit, .. } = self.senders[group];
        limit.wrapping_sub(sent) & self.params.mask()
    }

    /// Returns the blocks that a queue waits for: those of its first packet, or of `entering` in an empty
    /// queue. Packets made or fetched at transmission count as full packets.
    fn needs(&self, queue: &Queue, entering: Option<u16>, core: &Core) -> u32 {
        if core.queueing == Queueing::Iq || self.is_host && queue.purpose() == Purpose::Class {
            return self.full;
        }
        queue
            .packets
            .iter()
            .find(|p| p.is_data())
            .map(Packet::bytes)
            .or(entering)
            .map_or(0, |bytes| self.cost(bytes))
    }

    /// Blocks or unblocks the queues of a class. `entering` is a packet about to be in a queue, with the
    /// queue.
    fn judge(
        &mut self,
        port: PortId,
        class: u8,
        entering: Option<(QueueId, u16)>,
        core: &Core,
        effects: &mut Effects,
    ) {
        let group = self.group(port, class);
        let available = self.available(group);
        if available >= self.full && self.senders[group].waiting == 0 {
            return;
        }
        for queue in core.queues_of(port, class) {
            let entering = entering.and_then(|(into, bytes)| (into == queue).then_some(bytes));
            let waits = self.needs(&core.ports[port].queues[queue], entering, core) > available;
            if std::mem::replace(&mut self.is_waiting[port][queue], waits) == waits {
                continue;
            }
            let named = Queues::One(queue);
            if waits {
                self.waits += 1;
                self.senders[group].waiting += 1;
                effects.push(Effect::Block(port, named, Asker::Neighbour));
            } else {
                self.senders[group].waiting -= 1;
                effects.push(Effect::Unblock(port, named));
            }
        }
    }

    fn frame(class: u8, is_repeated: bool, count: u32, bytes: u16) -> Packet {
        let blocks = Blocks { is_own: is_repeated, class, count };
        Packet::with(kinds::Credits { blocks }, u32::MAX, 0, bytes, 0)
    }

    /// Sends an update of freed blocks, at once or when the update interval is over.
    fn owe(&mut self, group: usize, effects: &mut Effects) {
        let hop = &self.hops[self.classes.of(group).0];
        let receiver = &mut self.receivers[group];
        let due = receiver.told.map_or(effects.now, |told| told + hop.spacing);
        if due <= effects.now {
            self.update(group, effects);
        } else if !std::mem::replace(&mut receiver.is_owed, true) {
            effects.push(Effect::Timer(due, UPDATE | number(group)));
        }
    }

    fn update(&mut self, group: usize, effects: &mut Effects) {
        let receiver = &mut self.receivers[group];
        (receiver.told, receiver.is_owed) = (Some(effects.now), false);
        let left = receiver.received.wrapping_sub(receiver.used);
        let says = if self.params.is_absolute() { left.wrapping_add(receiver.window) } else { left }
            & self.params.mask();
        if self.lose_updates > 0 {
            self.lose_updates -= 1;
            return;
        }
        self.updates += 1;
        let (port, class) = self.classes.of(group);
        effects.push(Effect::Send(port, Self::frame(class, false, says, UPDATE_BYTES)));
    }

    /// Takes the sender's count of blocks sent before this moment; missing blocks are lost, and are freed.
    fn repair(&mut self, group: usize, count: u32, effects: &mut Effects) {
        let receiver = &mut self.receivers[group];
        let missing = count.wrapping_sub(receiver.received) & self.params.mask();
        receiver.received = count;
        self.lost += u64::from(missing);
        self.owe(group, effects);
    }

    /// Records the bytes that leave less room than the neighbour needs, once a round trip. `others` are the
    /// bytes already waiting.
    fn explain(&mut self, group: usize, others: u32, effects: &mut Effects) {
        let hop = &self.hops[self.classes.of(group).0];
        let receiver = &mut self.receivers[group];
        let is_short = others > 0 && receiver.window.saturating_sub(receiver.used) < hop.needed;
        if is_short && receiver.said.is_none_or(|said| effects.now >= said + hop.round_trip) {
            receiver.said = Some(effects.now);
            let (port, class) = self.classes.of(group);
            effects.push(Effect::Pausing(Because::Input(port, class)));
        }
    }
}

impl Install for Credits {
    type Params = Params;
    const LABEL: &'static str = "credits";
    const COUNTS: &'static [Count] = &[WAITS, UPDATES, LOST, PAUSED];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let near = |port: PortId| &site.ends[port].near;
        let hop = |(port, spec): (PortId, &crate::paths::topology::PortSpec)| Hop {
            spacing: spec.link.rate.time(params.spacing()),
            repeat: params.refresh_interval.unwrap_or_else(|| {
                if params.is_absolute() { spec.link.rate.time(1 << 16) } else { Duration::us(256) }
            }),
            needed: params.needed(near(port)).min(u64::from(u32::MAX)) as u32,
            round_trip: params.round_trip(near(port)),
        };
        let groups =
            || site.ends.iter().flat_map(|ends| std::iter::repeat_n(ends, usize::from(core.classes.0)));
        let sender = |(group, window): (usize, u64)| {
            let window = window as u32;
            Sender { of: core.classes.of(group), sent: 0, limit: window, window, waiting: 0, is_timed: false }
        };
        let receiver = |(group, window): (usize, u64)| Receiver {
            of: core.classes.of(group),
            received: 0,
            used: 0,
            window: window as u32,
            told: None,
            is_owed: false,
            repeated: VecDeque::new(),
            said: None,
        };
        Some(Self {
            params: params.clone(),
            forwards: site.forwards,
            is_host: site.is_host,
            delay: site.ends.first().map_or(Duration::ZERO, |ends| ends.near.delay),
            repeat_bytes: if params.is_absolute() { UPDATE_BYTES } else { site.framing.control },
            full: params.cost(site.framing.largest()) as u32,
            classes: core.classes,
            hops: PortId::each(site.ports).map(hop).collect(),
            senders: groups().map(|ends| params.window(&ends.far)).enumerate().map(sender).collect(),
            receivers: groups().map(|ends| params.window(&ends.near)).enumerate().map(receiver).collect(),
            is_waiting: core.ports.iter().map(|p| vec![false; p.queues.len()]).collect(),
            lose_updates: site.faults.lose_credit_updates,
            waits: 0,
            updates: 0,
            lost: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        Properties {
            is_lossless: true,
            can_deadlock: true,
            accounting: Some(Accounting::Ingress),
            smallest_frame: Some(UPDATE_BYTES),
            ..Properties::default()
        }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if let Some(lossless) = context.other(|o| o.is_lossless) {
            return Err(("", remove(format!("mutually exclusive with {lossless}"))));
        }
        if let Some(other) = context.other(|o| o.assigns_queues) {
            let why = remove(format!("counts packets in class queues, but {other} assigns other queues"));
            return Err(("", why));
        }
        if matches!(context.memory, buffer::Params::Shared(_)) {
            let why = "not allowed with a shared switch.buffer, because its dynamic thresholds can reject granted packets; use per_port or per_queue";
            return Err(("", why.into()));
        }
        if let Some(block) = params.block.filter(|b| !(1..=65_535).contains(&b.0)) {
            return Err(("block", format!("{block} is out of range; allowed are 1 to 65535 bytes")));
        }
        if !(-16..=127).contains(&params.overhead) {
            return Err(("overhead", format!("{} is out of range; allowed are -16 to 127", params.overhead)));
        }
        if let Some(spacing) = params.update_interval_bytes.filter(|s| s.0 > 1 << 20) {
            return Err((
                "update_interval_bytes",
                format!("{spacing} is out of range; allowed are 0 to 1MiB"),
            ));
        }
        if let Some(repeat) =
            params.refresh_interval.filter(|t| !(Duration::ns(100)..=Duration::ms(1_000)).contains(t))
        {
            return Err(("refresh_interval", format!("{repeat} is out of range; allowed are 100ns to 1s")));
        }
        let (block, most, cost) = (params.block(), params.most(), params.cost(context.framing.largest()));
        if cost > most {
            let why = format!(
                "a packet of {} B takes {cost} blocks of {block} B; counters allow {most} blocks",
                context.framing.largest()
            );
            return Err(("block", why));
        }
        if let Some(window) = params.window.filter(|w| !(cost..=most).contains(&(w.0 / block))) {
            let (least, most) = (Bytes(cost * block), Bytes(most * block));
            return Err((
                "window",
                format!("{window} is out of range; allowed are a packet's blocks, {least}, to {most}"),
            ));
        }
        Ok(())
    }

    fn check_port(
        params: &Params,
        ingress: &Ingress<'_>,
        _: Option<&crate::mechanisms::contract::Levels>,
    ) -> Result<(), ParamError> {
        let Some(share) = Params::share(ingress) else { return Ok(()) };
        if let Some(window) = params.window.filter(|w| w.0 > share) {
            let why =
                format!("{window} exceeds the share of a class in the memory of the port, {}", Bytes(share));
            return Err(("window", why));
        }
        let (cost, block) = (params.cost(ingress.framing.largest()), params.block());
        if params.window(ingress) < cost {
            let why = format!(
                "the share of a class in the memory of the port, {}, is below a packet of {cost} blocks of {block} B",
                Bytes(share)
            );
            return Err(("window", why));
        }
        Ok(())
    }

    fn warn_port(params: &Params, ingress: &Ingress<'_>) -> Option<ParamError> {
        let (window, needed, block) = (params.window(ingress), params.needed(ingress), params.block());
        let (rate, delay) = (ingress.port.link.rate, ingress.port.link.delay);
        let why = || {
            let (window, needed) = (Bytes(window * block), Bytes(needed * block));
            format!(
                "{window} is below the {needed} that a {rate} link of {delay} needs at full rate in both directions: the link will wait for credits"
            )
        };
        (window < needed).then(|| ("window", why()))
    }
}

impl Hooks for Credits {
    fn watches(&self) -> Watches {
        let always = Watches::DEPARTURE.and(Watches::CONTROL).and(Watches::LINK);
        let forwards = if self.forwards { Watches::ENQUEUE.and(Watches::DEQUEUE) } else { Watches::NONE };
        always.and(forwards).and(if self.is_host { Watches::DELIVERED } else { Watches::NONE })
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        let (port, class) = (event.port, event.packet.class());
        let (group, cost) = (self.group(port, class), self.cost(event.packet.bytes()));
        debug_assert!(cost <= self.available(group), "a packet is sent without credits");
        let sender = &mut self.senders[group];
        sender.sent = sender.sent.wrapping_add(cost) & self.params.mask();
        if !std::mem::replace(&mut sender.is_timed, true) {
            effects.push(Effect::Timer(effects.now + self.hops[port].repeat, REPEAT | number(group)));
        }
        self.judge(port, class, None, core, effects);
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let (in_port, bytes) = (event.packet.in_port(), event.packet.bytes());
        let (group, cost) = (self.group(in_port, event.packet.class()), self.cost(bytes));
        let receiver = &mut self.receivers[group];
        receiver.received = receiver.received.wrapping_add(cost) & self.params.mask();
        receiver.used += cost;
        debug_assert!(receiver.used <= receiver.window, "the neighbour sent more than the window");
        self.explain(group, core.ingress[group].bytes() - u32::from(bytes), effects);
        self.judge(event.port, event.packet.class(), Some((event.queue, bytes)), core, effects);
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if event.is_whole {
            self.on_whole(event, core, effects);
        }
    }

    fn on_whole(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let group = self.group(event.packet.in_port(), event.packet.class());
        self.receivers[group].used -= self.cost(event.packet.bytes());
        self.explain(group, core.ingress[group].bytes(), effects);
        self.owe(group, effects);
    }

    fn on_delivered(&mut self, packet: &Packet, port: PortId, _: &Core, effects: &mut Effects) {
        let (group, cost) = (self.group(port, packet.class()), self.cost(packet.bytes()));
        let receiver = &mut self.receivers[group];
        receiver.received = receiver.received.wrapping_add(cost) & self.params.mask();
        self.owe(group, effects);
    }

    fn on_control(&mut self, frame: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        let Some(kinds::Credits { blocks: Blocks { is_own: is_repeated, class, count } }) = frame.payload()
        else {
            return Verdict::Pass;
        };
        let group = self.group(port, class);
        if is_repeated {
            // Frames for the link go past the pipeline in which what was sent before them may be.
            self.receivers[group].repeated.push_back(count);
            effects.push(Effect::Timer(effects.now + self.delay, REPEATED | number(group)));
        } else {
            let sender = &mut self.senders[group];
            let window = if self.params.is_absolute() { 0 } else { sender.window };
            sender.limit = count.wrapping_add(window) & self.params.mask();
            self.judge(port, class, None, core, effects);
        }
        Verdict::Consume
    }

    fn on_timer(&mut self, token: u32, _: &Core, effects: &mut Effects) {
        let group = index(token & 0x00FF_FFFF);
        match token & 0xFF00_0000 {
            UPDATE => self.update(group, effects),
            REPEATED => {
                if let Some(count) = self.receivers[group].repeated.pop_front() {
                    self.repair(group, count, effects);
                }
            }
            _ => {
                let is_whole = self.available(group) == self.senders[group].window;
                self.senders[group].is_timed = !is_whole;
                if !is_whole {
                    let ((port, class), count) = (self.classes.of(group), self.senders[group].sent);
                    effects.push(Effect::Send(port, Self::frame(class, true, count, self.repeat_bytes)));
                    effects.push(Effect::Timer(effects.now + self.hops[port].repeat, token));
                }
            }
        }
    }

    /// Sets the counts of both ends to zero. The sender waits for an update.
    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        for class in self.classes.each() {
            let group = self.group(port, class);
            if is_up {
                self.update(group, effects);
                if !std::mem::replace(&mut self.senders[group].is_timed, true) {
                    effects.push(Effect::Timer(effects.now + self.hops[port].repeat, REPEAT | number(group)));
                }
                continue;
            }
            (self.senders[group].sent, self.senders[group].limit) = (0, 0);
            self.receivers[group].received = 0;
            self.receivers[group].repeated.clear();
            self.judge(port, class, None, core, effects);
        }
    }

    fn counters(&self, add: &mut dyn FnMut(PortId, u8, u32, u32)) {
        for sender in &self.senders {
            add(sender.of.0, sender.of.1, sender.sent, self.params.mask());
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(WAITS, self.waits);
        tally.add(UPDATES, self.updates);
        tally.add(LOST, self.lost);
    }
}

#[cfg(test)]
mod tests;
