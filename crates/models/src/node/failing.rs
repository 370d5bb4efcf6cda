//! What fails at a node, and what its links were and are: their faults, outages, rates and delays, and what was lost by them.

use std::collections::{BTreeMap, BTreeSet};

use xoff_engine::random::Stream;
use xoff_engine::state::{State, Walk};
use xoff_units::{Duration, Moment, Rate, wide};

use crate::fault::Queued;
use crate::fault::plan::{Part, Place, What};
use crate::fault::schedule::{Outage, Schedule};
use crate::ids::PortId;
use crate::packet::Packet;
use crate::retry::Retry;
use crate::streams;
use crate::topology::PortSpec;

/// A spell of a fault: the place of the fault in the plan, and which of its spells.
pub type OutageId = (u32, u32);

/// What was lost by a spell of a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Data packets, and their wire bytes.
    pub packets: u64,
    /// Their wire bytes.
    pub bytes: u64,
    /// All other frames.
    pub control: u64,
}

/// A fault that the node feels, and where it is in its schedule.
#[derive(Debug, Clone)]
pub(super) struct ActiveFault {
    pub(super) part: Part,
    /// The spell that lasts, or comes next.
    pub(super) outage: Option<Outage>,
    /// Which one it is.
    pub(super) number: u32,
    pub(super) lasts: bool,
}

impl ActiveFault {
    pub(super) fn id(&self) -> OutageId {
        (self.part.unit, self.number)
    }

    /// How often it has begun and ended.
    fn place(&self) -> u64 {
        u64::from(self.number) << 1 | u64::from(self.lasts)
    }

    pub(super) fn at(&self, port: PortId) -> Option<&Place> {
        self.part.places.iter().find(|place| self.lasts && place.port == port)
    }
}

/// How what comes by a port was sent, since a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition {
    pub(super) since: Moment,
    pub(super) rate: Rate,
    pub(super) delay: Duration,
}

/// The link of a port.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) spec: PortSpec,
    /// Outages that last, and whether frames for the link are lost.
    pub(super) downs: Vec<(OutageId, Queued)>,
    /// When it last went down, or came back; and whether the node takes other ports.
    pub(super) changed: Moment,
    pub(super) is_avoided: bool,
    /// When it went down, and by what.
    pub(super) failures: Vec<(Moment, OutageId)>,
    /// How what comes was sent: the newest last; and how many were before these.
    pub(super) came: Vec<Condition>,
    pub(super) past: u16,
    /// How often the rate or the delay of what is sent has changed. Each frame says it to the other end, as from the moment at which
    /// it is in alone it could have been sent at one rate or another.
    pub(super) changes: u16,
    /// Which of the bits that come are damaged.
    pub(super) errors: Stream,
    /// When all has arrived that was sent before its delay last became another, and how often nothing is sent since it does not.
    pub(super) arrived: Moment,
    pub(super) settling: u32,
    /// Wire bytes that were sent at rates before, and how long they took.
    pub(super) before: (u64, Duration),
    /// What is damaged is sent again.
    pub(super) retry: Option<Box<Retry>>,
}

/// What fails at a node.
#[derive(Debug, Clone)]
pub struct Failing {
    pub(super) felt: Vec<ActiveFault>,
    pub(super) lines: Vec<Line>,
    /// The node's forwarding delay.
    pub delay: Duration,
    /// How long it takes to see that a link is down, if it looks.
    pub local: Option<Duration>,
    /// What its interface holds of frames that nobody reads.
    pub room: u64,
    /// It is down.
    pub(super) downs: Vec<OutageId>,
    /// It reads nothing.
    pub(super) stalls: Vec<OutageId>,
    /// Frames that nobody has read, by which port and when they came, and their bytes.
    pub(super) unread: Vec<(PortId, Packet, Moment)>,
    pub(super) unread_bytes: u64,
    /// What was lost.
    pub lost: BTreeMap<OutageId, Lost>,
    /// Flows of which answers were lost, where it is written down what flows wait for.
    pub unheard: BTreeSet<u32>,
    /// Whether it is.
    pub follows: bool,
    /// Frames that links sent again, and their bytes.
    pub retried: (u64, u64),
    /// Bytes of a control frame.
    pub control: u16,
}

/// What begins or ends comes from outside: see the timers of nodes.
impl State for Failing {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            felt,
            lines,
            downs,
            stalls,
            unread,
            lost,
            follows,
            retried,
            // Of what nobody reads, and of what is followed.
            unread_bytes: _,
            unheard: _,
            // What never changes.
            delay: _,
            local: _,
            room: _,
            control: _,
        } = self;
        // What is damaged is drawn anew, what nobody reads grows, and who waits for an answer is written down by the moment.
        let draws = felt.iter().any(|felt| felt.lasts && matches!(felt.part.what, What::Errors(_)));
        if draws || *follows || !stalls.is_empty() || !unread.is_empty() {
            walk.refuse();
        }
        for felt in felt {
            walk.value(felt.place());
        }
        walk.value(wide(downs.len()));
        walk.same(wide(lost.len()));
        for lost in lost.values_mut() {
            walk.total(&mut lost.packets);
            walk.total(&mut lost.bytes);
            walk.total(&mut lost.control);
        }
        walk.total(&mut retried.0);
        walk.total(&mut retried.1);
        for line in lines {
            line.walk(walk);
        }
    }
}

impl Line {
    /// Nothing is as before while what was sent before the link failed or changed may be under way; what a link sends again cannot be
    /// repeated.
    fn walk(&self, walk: &mut Walk<'_>) {
        let Self {
            downs,
            is_avoided,
            failures,
            came,
            settling,
            retry,
            // Looked at only when a timer expires, or something fails or changes again.
            changed: _,
            past: _,
            changes: _,
            errors: _,
            arrived: _,
            before: _,
            spec: _,
        } = self;
        let longest = |c: &Condition| c.delay + c.rate.time(u64::from(u16::MAX));
        let under_way = came.iter().map(longest).max().unwrap_or_default();
        let last = failures.last().map(|failure| failure.0).max(came.last().map(|c| c.since));
        let is_fresh = last.is_some_and(|last| last > Moment::ZERO && walk.now() <= last + under_way);
        walk.value(if is_fresh || *settling > 0 { walk.now().ps() } else { 0 });
        if retry.is_some() {
            walk.refuse();
        }
        walk.value(wide(downs.len()) << 1 | u64::from(*is_avoided));
    }
}

/// Nothing that was sent so long ago is on its way any more: the longest link, and the largest frame at the lowest rate.
pub(super) const ON_ITS_WAY: Duration = Duration::ms(2_000);

impl Failing {
    /// How often its faults have begun and ended.
    pub fn epoch(&self) -> u64 {
        self.felt.iter().map(ActiveFault::place).sum()
    }

    /// What a node feels.
    pub fn new(parts: &[Part], seed: u64, node: u32, ports: &[PortSpec]) -> Self {
        let felt = |part: &Part| {
            let mut part = part.clone();
            ActiveFault { outage: part.schedule.next(), part, number: 0, lasts: false }
        };
        let line = |(port, spec): (PortId, &PortSpec)| Line {
            spec: *spec,
            downs: Vec::new(),
            changed: Moment::ZERO,
            is_avoided: false,
            failures: Vec::new(),
            past: 0,
            changes: 0,
            came: vec![Condition { since: Moment::ZERO, rate: spec.link.rate, delay: spec.link.delay }],
            errors: Stream::new(seed, u64::from(node) << 16 | u64::from(port.0), streams::BIT_ERRORS),
            arrived: Moment::ZERO,
            settling: 0,
            before: (0, Duration::ZERO),
            retry: None,
        };
        Self {
            felt: parts.iter().map(felt).collect(),
            lines: PortId::each(ports).map(line).collect(),
            delay: Duration::ZERO,
            local: None,
            room: 0,
            downs: Vec::new(),
            stalls: Vec::new(),
            unread: Vec::new(),
            unread_bytes: 0,
            lost: BTreeMap::new(),
            unheard: BTreeSet::new(),
            follows: false,
            retried: (0, 0),
            control: 0,
        }
    }

    /// Lets the link of a port send again what is damaged.
    pub fn retries(&mut self, port: PortId, retry: Retry) {
        self.lines[port].retry = Some(Box::new(retry));
    }

    /// What is known of a link that sends again, if that of a port does.
    pub(super) fn retry(&mut self, port: PortId) -> Option<&mut Retry> {
        self.lines[port].retry.as_deref_mut()
    }

    /// Frames that nobody has read, and those that will come again.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let held = self.lines.iter().filter_map(|line| line.retry.as_ref()).flat_map(|retry| &retry.receiver.held);
        self.unread.iter().map(|unread| &unread.1).chain(held)
    }

    /// Whether the host reads nothing, so that its neighbours are paused.
    pub const fn is_stalled(&self) -> bool {
        !self.stalls.is_empty()
    }

    /// Whether the link of a port is down.
    pub(super) fn is_down(&self, port: PortId) -> bool {
        !self.lines[port].downs.is_empty()
    }

    /// Looks whether the link of a port has been as it is for so long that the node avoids it, or no longer; true if that changes.
    pub(super) fn sees(&mut self, port: PortId, now: Moment) -> bool {
        let is_down = self.is_down(port);
        let line = &mut self.lines[port];
        let is_due = self.local.is_some_and(|local| line.changed + local == now);
        is_due && std::mem::replace(&mut line.is_avoided, is_down) != is_down
    }

    /// Whether the node takes other ports.
    pub(super) fn avoids(&self, port: PortId) -> bool {
        self.lines[port].is_avoided
    }

    /// Whether it avoids any.
    pub(super) fn avoids_any(&self) -> bool {
        self.lines.iter().any(|line| line.is_avoided)
    }

    /// The outage by which frames for a port are lost, if they are.
    pub(super) fn flushes(&self, port: PortId) -> Option<OutageId> {
        self.lines[port].downs.iter().find(|down| down.1 == Queued::Flush).map(|down| down.0)
    }

    pub(super) fn note(&mut self, by: OutageId, packet: &Packet) {
        let lost = self.lost.entry(by).or_default();
        if packet.is_data() {
            lost.packets += 1;
            lost.bytes += u64::from(packet.bytes());
        } else {
            lost.control += 1;
            if self.follows && !packet.is_link_local() {
                self.unheard.insert(packet.flow());
            }
        }
    }

    /// What a link is one way, with all faults that last there; of several the last of the scenario holds.
    pub(super) fn condition(&self, port: PortId, now: Moment, is_meant: impl Fn(&Place) -> bool) -> Condition {
        let mut link = self.lines[port].spec.link;
        for felt in self.felt.iter().filter(|felt| felt.at(port).is_some_and(&is_meant)) {
            match felt.part.what {
                What::Rate(rate) => link.rate = rate,
                What::Delay(delay) => link.delay = delay,
                What::Down(_) | What::Errors(_) | What::Stall | What::Compute(_) => {}
            }
        }
        Condition { since: now, rate: link.rate, delay: link.delay }
    }

    /// Whether hosts compute slower at times.
    pub fn slows(&self) -> bool {
        self.felt.iter().any(|felt| matches!(felt.part.what, What::Compute(_)))
    }

    /// When a host has computed what would take until a moment, slower while faults last that make it so.
    pub fn computed(&self, now: Moment, until: Moment) -> Moment {
        let mut slow: Vec<(f64, Option<Outage>, Schedule)> = Vec::new();
        for felt in &self.felt {
            if let What::Compute(factor) = felt.part.what {
                slow.push((factor, felt.outage, felt.part.schedule.clone()));
            }
        }
        let (mut at, mut left) = (now, (until - now).real());
        loop {
            let (mut factor, mut next) = (1.0, Moment::NEVER);
            for (times, outage, schedule) in &mut slow {
                while outage.and_then(|outage| outage.end).is_some_and(|end| end <= at) {
                    *outage = schedule.next();
                }
                let Some(outage) = *outage else { continue };
                if outage.start <= at {
                    factor *= *times;
                    next = next.min(outage.end.unwrap_or(Moment::NEVER));
                } else {
                    next = next.min(outage.start);
                }
            }
            let takes = left * factor;
            if next == Moment::NEVER || takes <= (next - at).real() {
                return at + Duration::of_real(takes.ceil());
            }
            left -= (next - at).real() / factor;
            at = next;
        }
    }

    /// Says in a frame how often its link had changed when it was sent.
    pub(super) fn stamp(&self, port: PortId, frame: &mut Packet) {
        frame.set_changes(self.lines[port].changes);
    }

    /// The last failure of a port's link while a frame was on it of which enough was in at a moment; `needed` is how long that takes at
    /// a rate.
    pub(super) fn failure(&self, port: PortId, frame: &Packet, in_at: Moment, needed: impl Fn(Rate) -> Duration) -> Option<OutageId> {
        let line = &self.lines[port];
        let (at, by) = *line.failures.iter().rev().find(|failure| failure.0 < in_at)?;
        let sent = line.came.get(usize::from(frame.changes().wrapping_sub(line.past)))?;
        (in_at.saturating_sub(sent.delay + needed(sent.rate)) <= at).then_some(by)
    }

    /// The fault that damages a frame which came by a port, if one does.
    pub(super) fn damage(&mut self, port: PortId, bytes: u16) -> Option<OutageId> {
        let errors = |felt: &ActiveFault| match felt.part.what {
            What::Errors(p) => felt.at(port).filter(|place| place.receives).map(|_| (p, felt.id())),
            _ => None,
        };
        let (p, by) = self.felt.iter().rev().find_map(errors)?;
        // All bits have to come as they were sent.
        let is_whole = libm::exp(f64::from(bytes) * 8.0 * libm::log1p(-p));
        (self.lines[port].errors.uniform() >= is_whole).then_some(by)
    }
}
