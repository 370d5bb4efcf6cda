//! The congestion point: watches queues, sends messages to sources, and measures the three things to avoid.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate, index, wide};

use super::counts::{ABOVE, ABOVE_AFTER_PAUSE, IDLE, MESSAGES, RESUMES};
use super::params::{Dynamic, Hold, Mode, Params, Signals};
use crate::frames::kinds::Sfcm;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Dequeued, Enqueued, Site};
use crate::parts::count::Tally;
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::Sources;
use crate::ports::core::{Core, Queueing};
use crate::ports::queueing::port::Purpose;

/// A source, or its destination or queue by `hold`, that was sent a message.
#[derive(Debug, Clone, Copy)]
struct Held {
    flow: u32,
    dst: u32,
    class: u8,
    sent: Moment,
    /// End of its pause, by the congestion point's clock.
    until: Moment,
    /// Earliest moment of the next message.
    next: Moment,
    /// True until the first packet of the source after its pause.
    is_out: bool,
}

state!(Held {
    value: flow, dst, class, is_out;
    moment: sent, until, next;
});

/// A queue, or an input FIFO.
#[derive(Debug, Clone, Default)]
struct Watched {
    /// The moment when the queue reached the threshold.
    above: Option<Moment>,
    /// The moment from which the queue was at the threshold after a pause.
    under_reacted: Option<Moment>,
    /// Number of held sources with `is_out`.
    out: u32,
    /// Keys of held sources to resume.
    paused: Vec<u64>,
    /// Packets of each source (dynamic settings only).
    present: FxHashMap<u32, u32>,
}

state!(Watched {
    moments: above, under_reacted;
    value: out, paused;
    keyed: present;
});

/// SFC at a forwarding node.
#[derive(Debug, Clone)]
pub struct Point {
    threshold: u32,
    pause: Duration,
    target: Option<u32>,
    round_trip: Duration,
    dynamic: Dynamic,
    resume: Option<u32>,
    interval: Option<Duration>,
    hold: Hold,
    /// With `last_hop`: true for ports to hosts. Messages are for packets that end at the host.
    to_host: Option<Vec<bool>>,
    /// True with a queue for each input and output.
    is_by_input: bool,
    /// True when a setting depends on the number of sources at a queue.
    counts_sources: bool,
    /// For each port: the index of its first queue among all queues.
    first: Vec<usize>,
    frame_bytes: u16,
    /// Lowest XOFF of the ports.
    xoff: u32,
    /// True when packets of class 0 carry their interface's queue as a tag.
    tags: bool,
    sources: Arc<Sources>,
    watched: Vec<Watched>,
    held: FxHashMap<u64, Held>,
    /// Number of held sources at which the expired ones are removed.
    next_purge: usize,
    messages: u64,
    resumes: u64,
    above: Duration,
    above_after_pause: Duration,
    idle: Duration,
}

state!(Point {
    part: watched;
    keyed: held;
    value: next_purge;
    constant: threshold, pause, target, round_trip, dynamic, resume, interval, hold, to_host, is_by_input, counts_sources, first, frame_bytes, xoff, tags, sources;
    total: messages, resumes, above, above_after_pause, idle;
});

/// Time after a pause without packets after which a source is forgotten.
const FORGET: Duration = Duration::ms(1);

impl Point {
    pub fn new(params: &Params, site: &Site<'_>, core: &Core) -> Self {
        let first: Vec<usize> = core
            .ports
            .iter()
            .scan(0, |next, port| {
                let at = *next;
                *next += port.queues.len();
                Some(at)
            })
            .collect();
        let queues: usize = core.ports.iter().map(|p| p.queues.len()).sum();
        let watched = if core.queueing == Queueing::Iq { core.inputs.len() } else { queues };
        let is_by_input = core.queueing == Queueing::Voq;
        Self {
            threshold: params.threshold.map_or(0, |t| t.0 as u32),
            pause: params.pause.unwrap_or_default(),
            target: params.target.map(|t| t.0 as u32),
            round_trip: params.round_trip.unwrap_or_default(),
            dynamic: params.dynamic.unwrap_or_default(),
            resume: params.resume.map(|r| r.0 as u32),
            interval: params.interval,
            hold: params.hold,
            to_host: (params.signals == Signals::LastHop)
                .then(|| site.ports.iter().map(|p| site.map.wiring.is_host[index(p.peer)]).collect()),
            is_by_input,
            counts_sources: params.dynamic.is_some_and(|d| d != Dynamic::default())
                || is_by_input && params.target.is_some(),
            first,
            frame_bytes: site.framing.control,
            xoff: site.levels.iter().flatten().map(|l| l.xoff as u32).min().unwrap_or(0),
            tags: !site.is_host && params.mode == Mode::NicIsolation,
            sources: site.sources.clone(),
            watched: (0..watched).map(|_| Watched::default()).collect(),
            held: FxHashMap::default(),
            next_purge: 1024,
            messages: 0,
            resumes: 0,
            above: Duration::ZERO,
            above_after_pause: Duration::ZERO,
            idle: Duration::ZERO,
        }
    }

    /// Returns the watched queue of a packet and its bytes. Returns none for congestion queues, and for
    /// outputs that send no messages.
    fn watched(&self, packet: &Packet, port: PortId, queue: QueueId, core: &Core) -> Option<(usize, u32)> {
        if self.to_host.as_ref().is_some_and(|to_host| !to_host[port]) {
            return None;
        }
        if core.queueing == Queueing::Iq {
            let group = core.group(packet.in_port(), packet.class());
            return Some((group, core.ingress[group].bytes()));
        }
        let q = &core.ports[port].queues[queue];
        (q.purpose() != Purpose::Congestion).then(|| (self.first[port] + queue.index(), q.bytes.bytes()))
    }

    /// Returns the class in which a packet left its source.
    fn class_of(&self, packet: &Packet) -> u8 {
        if self.tags && packet.class() == 0 { packet.tag() as u8 } else { packet.class() }
    }

    fn key(&self, flow: u32, dst: u32, class: u8) -> u64 {
        match self.hold {
            Hold::Flow => u64::from(flow),
            Hold::Destination => u64::from(self.sources.of(flow)) << 32 | u64::from(dst),
            Hold::Queue => u64::from(self.sources.of(flow)) << 8 | u64::from(class),
        }
    }

    /// Returns the number of sources with packets in the queue, or with `voq` in all queues of the output.
    fn sources_at(&self, crowd: usize) -> u64 {
        wide(self.watched[crowd].present.len().max(1))
    }

    /// Returns the index at which the sources of a queue are counted: with `voq` the first queue of the class
    /// and output.
    fn crowd(&self, index: usize, packet: &Packet, port: PortId, core: &Core) -> usize {
        match core.queueing {
            Queueing::Voq => self.first[port] + core.queue_for(packet.class(), PortId(0)).index(),
            _ => index,
        }
    }

    fn threshold(&self, crowd: usize, rate: Rate) -> u32 {
        if !self.dynamic.threshold {
            return self.threshold;
        }
        let headroom = self.growth(self.sources_at(crowd), rate);
        self.xoff.saturating_sub(headroom.min(u64::from(u32::MAX)) as u32).max(self.threshold).max(1)
    }

    /// Returns the bytes that N sources add to a queue in a round trip: (N − 1)·R·C, or (1 − 1/N)·R·C with a
    /// queue for each input.
    fn growth(&self, sources: u64, rate: Rate) -> u64 {
        let all = rate.bytes_in(Duration((sources - 1) * self.round_trip.ps()));
        if self.is_by_input { all / sources } else { all }
    }

    fn pause(&self, crowd: usize, bytes: u32, rate: Rate) -> Duration {
        // With a queue for each input each drains at its share of the rate.
        let share = if self.is_by_input { self.sources_at(crowd) } else { 1 };
        if self.dynamic.pause {
            let sources = self.sources_at(crowd);
            return Duration((sources - 1) * self.round_trip.ps()) + rate.time(u64::from(bytes) * share / 2);
        }
        self.target.map_or(self.pause, |target| {
            rate.time(u64::from(bytes.saturating_sub(target)) * share).saturating_sub(self.round_trip)
        })
    }

    fn message(&self, held: &Held, pause: Duration) -> Packet {
        let pause = pause.ps().div_ceil(1_000).min(u64::from(u32::MAX)) as u32;
        let payload = Sfcm { destination: held.dst, pause };
        Packet::with(payload, held.flow, self.sources.of(held.flow), self.frame_bytes, held.class)
    }

    pub fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, now: Moment) -> Option<Packet> {
        let packet = event.packet;
        let (index, bytes) = self.watched(packet, event.port, event.queue, core)?;
        let crowd = self.crowd(index, packet, event.port, core);
        if self.counts_sources {
            *self.watched[crowd].present.entry(self.sources.of(packet.flow())).or_default() += 1;
        }
        if self.watched[index].out > 0 {
            self.note_return(index, event, core, now);
        }
        let rate = core.ports[event.port].rate;
        let threshold = self.threshold(crowd, rate);
        if bytes < threshold {
            return None;
        }
        let watched = &mut self.watched[index];
        let since = *watched.above.get_or_insert(now);
        // A host that relays is not the destination of all that goes to it.
        if self.to_host.is_some() && core.ports[event.port].peer != packet.dst() {
            return None;
        }
        let key = self.key(packet.flow(), packet.dst(), self.class_of(packet));
        if let Some(held) = self.held.get(&key) {
            if held.sent >= since && now >= held.until {
                self.watched[index].under_reacted.get_or_insert(now);
            }
            if now < held.next {
                return None;
            }
        }
        let pause = self.pause(crowd, bytes, rate);
        if pause == Duration::ZERO {
            return None;
        }
        let held = Held {
            flow: packet.flow(),
            dst: packet.dst(),
            class: self.class_of(packet),
            sent: now,
            until: now + pause,
            next: now + self.interval.unwrap_or(pause),
            is_out: true,
        };
        let was_out = self.held.insert(key, held).is_some_and(|h| h.is_out);
        let watched = &mut self.watched[index];
        watched.out += u32::from(!was_out);
        if self.resume.is_some() {
            watched.paused.push(key);
        }
        self.messages += 1;
        self.purge(now);
        Some(self.message(&held, pause))
    }

    /// Records the first packet of a source after its pause, and adds the output's idle time.
    fn note_return(&mut self, index: usize, event: &Enqueued<'_>, core: &Core, now: Moment) {
        let key = self.key(event.packet.flow(), event.packet.dst(), self.class_of(event.packet));
        let Some(held) = self.held.get_mut(&key).filter(|h| h.is_out && now >= h.until) else { return };
        held.is_out = false;
        self.watched[index].out = self.watched[index].out.saturating_sub(1);
        let port = &core.ports[event.port];
        let is_alone = core.queueing != Queueing::Iq
            && core.egress_bytes(event.port, event.queue) == u32::from(event.packet.bytes());
        if is_alone && port.busy_until < now {
            self.idle += now - port.busy_until.max(held.sent);
        }
    }

    pub fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, now: Moment) -> Vec<Packet> {
        let Some((index, _)) = self.watched(event.packet, event.port, event.queue, core) else {
            return Vec::new();
        };
        if self.counts_sources {
            let crowd = self.crowd(index, event.packet, event.port, core);
            let source = self.sources.of(event.packet.flow());
            let present = &mut self.watched[crowd].present;
            if let Some(packets) = present.get_mut(&source) {
                *packets -= 1;
                if *packets == 0 {
                    present.remove(&source);
                }
            }
        }
        self.on_whole(event, core, now)
    }

    /// Judges threshold and resume when bytes have left the queue, or an input has the last bit of a packet
    /// in transmission.
    pub fn on_whole(&mut self, event: &Dequeued<'_>, core: &Core, now: Moment) -> Vec<Packet> {
        let Some((index, bytes)) = self.watched(event.packet, event.port, event.queue, core) else {
            return Vec::new();
        };
        let crowd = self.crowd(index, event.packet, event.port, core);
        if self.watched[index].above.is_some() && bytes < self.threshold(crowd, core.ports[event.port].rate) {
            let watched = &mut self.watched[index];
            self.above += watched.above.take().map_or(Duration::ZERO, |t| now - t);
            self.above_after_pause += watched.under_reacted.take().map_or(Duration::ZERO, |t| now - t);
        }
        match self.resume {
            Some(level) if bytes <= level && !self.watched[index].paused.is_empty() => {
                self.resume_all(index, now)
            }
            _ => Vec::new(),
        }
    }

    fn resume_all(&mut self, index: usize, now: Moment) -> Vec<Packet> {
        let mut messages = Vec::new();
        for key in std::mem::take(&mut self.watched[index].paused) {
            if let Some(held) = self.held.get_mut(&key).filter(|h| h.until > now) {
                (held.until, held.next) = (now, now);
                let held = *held;
                self.resumes += 1;
                messages.push(self.message(&held, Duration::ZERO));
            }
        }
        messages
    }

    fn purge(&mut self, now: Moment) {
        if self.held.len() < self.next_purge {
            return;
        }
        self.held.retain(|_, h| now < h.next.max(h.until + FORGET));
        self.next_purge = (2 * self.held.len()).max(1024);
        // Sources without anything left to send never return.
        if !self.held.values().any(|h| h.is_out) {
            self.watched.iter_mut().for_each(|w| w.out = 0);
        }
    }

    pub fn counts(&self, now: Moment, tally: &mut dyn Tally) {
        let open = |since: fn(&Watched) -> Option<Moment>| {
            self.watched.iter().filter_map(since).map(|t| now.since(t).ps()).sum::<u64>()
        };
        tally.add(MESSAGES, self.messages);
        tally.add(RESUMES, self.resumes);
        tally.add(ABOVE, self.above.ps() + open(|w| w.above));
        tally.add(ABOVE_AFTER_PAUSE, self.above_after_pause.ps() + open(|w| w.under_reacted));
        tally.add(IDLE, self.idle.ps());
    }
}
