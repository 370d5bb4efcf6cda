//! Faults of a node, with the past and present conditions of its links: outages, rates, delays and losses.

use std::collections::{BTreeMap, BTreeSet};

use xoff_engine::random::Stream;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, Rate, wide};

use crate::faults::Queued;
use crate::faults::plan::{Part, Place, What};
use crate::faults::schedule::{Outage, Schedule};
use crate::frames::packet::Packet;
use crate::parts::ids::{ClassSet, PortId};
use crate::parts::streams;
use crate::paths::retry::Retry;
use crate::paths::topology::PortSpec;

/// An outage of a fault: the index of the fault in the plan, and the number of the outage.
pub type OutageId = (u32, u32);

/// Losses of an outage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Data packets.
    pub packets: u64,
    /// Wire bytes of the data packets.
    pub bytes: u64,
    /// All other frames.
    pub control: u64,
}

/// A fault at the node, with its position in the schedule.
#[derive(Debug, Clone)]
pub(super) struct ActiveFault {
    pub(super) part: Part,
    /// The present or next outage.
    pub(super) outage: Option<Outage>,
    /// Number of the outage.
    pub(super) number: u32,
    pub(super) lasts: bool,
}

impl ActiveFault {
    pub(super) fn id(&self) -> OutageId {
        (self.part.unit, self.number)
    }

    /// Number of beginnings and ends.
    fn place(&self) -> u64 {
        u64::from(self.number) << 1 | u64::from(self.lasts)
    }

    pub(super) fn at(&self, port: PortId) -> Option<&Place> {
        self.part.places.iter().find(|place| self.lasts && place.port == port)
    }
}

/// Condition of an incoming link, since a moment.
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
    /// Active outages, and the treatment of frames for the link.
    pub(super) downs: Vec<(OutageId, Queued)>,
    /// Last change of the link between up and down; true while the node avoids the port.
    pub(super) changed: Moment,
    pub(super) is_avoided: bool,
    /// Times of failures, with their outages.
    pub(super) failures: Vec<(Moment, OutageId)>,
    /// Conditions of incoming frames, the newest last; and the number of earlier conditions.
    pub(super) came: Vec<Condition>,
    pub(super) past: u16,
    /// Number of changes of rate or delay of sent frames. Each frame carries the number, because the arrival
    /// time alone does not identify the condition.
    pub(super) changes: u16,
    /// Random stream of damaged bits.
    pub(super) errors: Stream,
    /// Arrival of the last frame sent before the delay changed, and the number of waits of the port for this
    /// moment.
    pub(super) arrived: Moment,
    pub(super) settling: u32,
    /// Wire bytes sent at earlier rates, and their transmission time.
    pub(super) before: (u64, Duration),
    /// Link-level retry, if any.
    pub(super) retry: Option<Box<Retry>>,
}

/// Faults of a node.
#[derive(Debug, Clone)]
pub struct Failing {
    pub(super) felt: Vec<ActiveFault>,
    pub(super) lines: Vec<Line>,
    /// The node's forwarding delay.
    pub delay: Duration,
    /// Time until the node notices a change of a link, if `local_repair_delay` is set.
    pub local: Option<Duration>,
    /// Room of the interface for unread frames.
    pub room: u64,
    /// Classes of data with room.
    pub lossless: ClassSet,
    /// Active outages of the node.
    pub(super) downs: Vec<OutageId>,
    /// Active stalls of the host.
    pub(super) stalls: Vec<OutageId>,
    /// Unread frames, with port and arrival; and their bytes.
    pub(super) unread: Vec<(PortId, Packet, Moment)>,
    pub(super) unread_bytes: u64,
    /// Losses by outage.
    pub lost: BTreeMap<OutageId, Lost>,
    /// Flows with lost acknowledgements, if delays are recorded.
    pub unheard: BTreeSet<u32>,
    /// True if delays are recorded.
    pub follows: bool,
    /// Frames retransmitted by links, and their bytes.
    pub retried: (u64, u64),
    /// Bytes of a control frame.
    pub control: u16,
}

/// Beginnings and ends come from outside: see the timers of nodes.
impl State for Failing {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            felt,
            lines,
            downs,
            stalls,
            unread,
            lost,
            follows,
            retried,
            // For unread frames, and for recorded flows.
            unread_bytes: _,
            unheard: _,
            // Constant fields.
            delay: _,
            local: _,
            room: _,
            lossless: _,
            control: _,
        } = self;
        // Damage is drawn anew, unread frames grow, and waits for acknowledgements are recorded by the
        // moment. These states never recur.
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
    /// Shows the state. No state recurs while frames from before a failure or change may be in flight, or
    /// while a link may retransmit.
    fn walk(&self, walk: &mut StateVisitor<'_>) {
        let Self {
            downs,
            is_avoided,
            failures,
            came,
            settling,
            retry,
            // Read only when a timer expires, or at the next failure or change.
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

/// Maximum time of a frame in flight: the longest link, and the largest frame at the lowest rate.
pub(super) const ON_ITS_WAY: Duration = Duration::ms(2_000);

impl Failing {
    /// Returns the number of beginnings and ends of faults.
    pub fn epoch(&self) -> u64 {
        self.felt.iter().map(ActiveFault::place).sum()
    }

    /// Returns the faults of a node.
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
            lossless: ClassSet::NONE,
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

    /// Gives the link of a port link-level retry.
    pub fn retries(&mut self, port: PortId, retry: Retry) {
        self.lines[port].retry = Some(Box::new(retry));
    }

    /// Returns the link-level retry of the link of a port, if any.
    pub(super) fn retry(&mut self, port: PortId) -> Option<&mut Retry> {
        self.lines[port].retry.as_deref_mut()
    }

    /// Returns unread frames, and frames that will be retransmitted.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let held =
            self.lines.iter().filter_map(|line| line.retry.as_ref()).flat_map(|retry| &retry.receiver.held);
        self.unread.iter().map(|unread| &unread.1).chain(held)
    }

    /// True if the host reads nothing, which pauses its neighbours.
    pub const fn is_stalled(&self) -> bool {
        !self.stalls.is_empty()
    }

    /// True if the link of a port is down.
    pub(super) fn is_down(&self, port: PortId) -> bool {
        !self.lines[port].downs.is_empty()
    }

    /// Updates the avoidance of a port after an unchanged condition of its link; true for a change.
    pub(super) fn sees(&mut self, port: PortId, now: Moment) -> bool {
        let is_down = self.is_down(port);
        let line = &mut self.lines[port];
        let is_due = self.local.is_some_and(|local| line.changed + local == now);
        is_due && std::mem::replace(&mut line.is_avoided, is_down) != is_down
    }

    /// True if the node avoids the port.
    pub(super) fn avoids(&self, port: PortId) -> bool {
        self.lines[port].is_avoided
    }

    /// True if the node avoids any port.
    pub(super) fn avoids_any(&self) -> bool {
        self.lines.iter().any(|line| line.is_avoided)
    }

    /// Returns the outage that loses frames for a port, if any.
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

    /// Returns the condition of a link in one direction, with all active faults. For several faults, the last
    /// in the scenario counts.
    pub(super) fn condition(
        &self,
        port: PortId,
        now: Moment,
        is_meant: impl Fn(&Place) -> bool,
    ) -> Condition {
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

    /// True if hosts have times of slow computation.
    pub fn slows(&self) -> bool {
        self.felt.iter().any(|felt| matches!(felt.part.what, What::Compute(_)))
    }

    /// Returns the end of a computation that would end at `until` at full speed.
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

    /// Writes the number of changes of the link into a frame.
    pub(super) fn stamp(&self, port: PortId, frame: &mut Packet) {
        frame.set_changes(self.lines[port].changes);
    }

    /// Returns the last failure of the link of a port while a frame was on the link, if enough of the frame
    /// had arrived at `in_at`. `needed` is the time for that part at a rate.
    pub(super) fn failure(
        &self,
        port: PortId,
        frame: &Packet,
        in_at: Moment,
        needed: impl Fn(Rate) -> Duration,
    ) -> Option<OutageId> {
        let line = &self.lines[port];
        let (at, by) = *line.failures.iter().rev().find(|failure| failure.0 < in_at)?;
        let sent = line.came.get(usize::from(frame.changes().wrapping_sub(line.past)))?;
        (in_at.saturating_sub(sent.delay + needed(sent.rate)) <= at).then_some(by)
    }

    /// Returns the fault that damages a frame of a port, if any.
    pub(super) fn damage(&mut self, port: PortId, bytes: u16) -> Option<OutageId> {
        let errors = |felt: &ActiveFault| match felt.part.what {
            What::Errors(p) => felt.at(port).filter(|place| place.receives).map(|_| (p, felt.id())),
            _ => None,
        };
        let (p, by) = self.felt.iter().rev().find_map(errors)?;
        // All bits must arrive undamaged.
        let is_whole = libm::exp(f64::from(bytes) * 8.0 * libm::log1p(-p));
        (self.lines[port].errors.uniform() >= is_whole).then_some(by)
    }
}
