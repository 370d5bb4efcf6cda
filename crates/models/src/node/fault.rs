//! What a node does when something fails at it: at the links of its ports, at itself, or at the host that it is.
//!
//! Each end of a link acts for itself, at the same moments: what it sends waits, what comes is lost if it was on the link as that went
//! down, and what mechanisms knew of the neighbour is forgotten. See `fault/mod.rs`, and `reference/README.md` for the semantics of outages.

use std::collections::{BTreeMap, BTreeSet};

use xoff_engine::Message as _;
use xoff_engine::random::Stream;
use xoff_engine::state::{State, Walk};
use xoff_units::{Duration, Moment, Rate, index, wide};

use super::{Cx, FAULT, Node};
use crate::core::Queues;
use crate::effects::Asker;
use crate::endpoint::token;
use crate::fault::Queued;
use crate::fault::plan::{Part, Place, What};
use crate::fault::schedule::{Schedule, Spell};
use crate::frames;
use crate::ids::{PortId, QueueId};
use crate::mechanism::{Hooks, Watches};
use crate::packet::Packet;
use crate::queueing::port::Cause;
use crate::record::Drop;
use crate::retry::Retry;
use crate::topology::PortSpec;

/// A spell of a fault: the place of the fault in the plan, and which of its spells.
pub type SpellId = (u32, u32);

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
#[derive(Debug)]
struct Felt {
    part: Part,
    /// The spell that lasts, or comes next.
    spell: Option<Spell>,
    /// Which one it is.
    number: u32,
    lasts: bool,
}

impl Felt {
    fn id(&self) -> SpellId {
        (self.part.unit, self.number)
    }

    /// How often it has begun and ended.
    fn place(&self) -> u64 {
        u64::from(self.number) << 1 | u64::from(self.lasts)
    }

    fn at(&self, port: PortId) -> Option<&Place> {
        self.part.places.iter().find(|place| self.lasts && place.port == port)
    }
}

/// How what comes by a port was sent, since a moment.
#[derive(Debug, Clone, Copy)]
struct Condition {
    since: Moment,
    rate: Rate,
    delay: Duration,
}

/// The link of a port.
#[derive(Debug)]
struct Line {
    spec: PortSpec,
    /// Outages that last, and whether frames for the link are lost.
    downs: Vec<(SpellId, Queued)>,
    /// When it last went down, or came back; and whether the node takes other ports.
    changed: Moment,
    is_avoided: bool,
    /// When it went down, and by what.
    failures: Vec<(Moment, SpellId)>,
    /// How what comes was sent: the newest last; and how many were before these.
    came: Vec<Condition>,
    past: u16,
    /// How often the rate or the delay of what is sent has changed. Each frame says it to the other end, as from the moment at which
    /// it is in alone it could have been sent at one rate or another.
    changes: u16,
    /// Which of the bits that come are damaged.
    errors: Stream,
    /// When all has arrived that was sent before its delay last became another, and how often nothing is sent since it does not.
    arrived: Moment,
    settling: u32,
    /// Wire bytes that were sent at rates before, and how long they took.
    before: (u64, Duration),
    /// What is damaged is sent again.
    retry: Option<Box<Retry>>,
}

/// What fails at a node.
#[derive(Debug)]
pub struct Failing {
    felt: Vec<Felt>,
    lines: Vec<Line>,
    /// The node's forwarding delay.
    pub delay: Duration,
    /// How long it takes to see that a link is down, if it looks.
    pub local: Option<Duration>,
    /// What its interface holds of frames that nobody reads.
    pub room: u64,
    /// It is down.
    downs: Vec<SpellId>,
    /// It reads nothing.
    stalls: Vec<SpellId>,
    /// Frames that nobody has read, by which port and when they came, and their bytes.
    unread: Vec<(PortId, Packet, Moment)>,
    unread_bytes: u64,
    /// What was lost.
    pub lost: BTreeMap<SpellId, Lost>,
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
const ON_ITS_WAY: Duration = Duration::ms(2_000);

impl Failing {
    /// How often its faults have begun and ended.
    pub fn epoch(&self) -> u64 {
        self.felt.iter().map(Felt::place).sum()
    }

    /// What a node feels.
    pub fn new(parts: &[Part], seed: u64, node: u32, ports: &[PortSpec]) -> Self {
        let felt = |part: &Part| {
            let mut part = part.clone();
            Felt { spell: part.schedule.next(), part, number: 0, lasts: false }
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
            errors: Stream::new(seed, u64::from(node) << 16 | u64::from(port.0), "bit errors"),
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
    fn is_down(&self, port: PortId) -> bool {
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
    fn flushes(&self, port: PortId) -> Option<SpellId> {
        self.lines[port].downs.iter().find(|down| down.1 == Queued::Flush).map(|down| down.0)
    }

    fn note(&mut self, by: SpellId, packet: &Packet) {
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
    fn condition(&self, port: PortId, now: Moment, is_meant: impl Fn(&Place) -> bool) -> Condition {
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

    /// When a host has computed what would take until a moment, slower while faults last that make it so.
    pub fn computed(&self, now: Moment, until: Moment) -> Moment {
        let mut slow: Vec<(f64, Option<Spell>, Schedule)> = Vec::new();
        for felt in &self.felt {
            if let What::Compute(factor) = felt.part.what {
                slow.push((factor, felt.spell, felt.part.schedule.clone()));
            }
        }
        let (mut at, mut left) = (now, (until - now).ps() as f64);
        loop {
            let (mut factor, mut next) = (1.0, Moment::NEVER);
            for (times, spell, schedule) in &mut slow {
                while spell.and_then(|spell| spell.end).is_some_and(|end| end <= at) {
                    *spell = schedule.next();
                }
                let Some(spell) = *spell else { continue };
                if spell.start <= at {
                    factor *= *times;
                    next = next.min(spell.end.unwrap_or(Moment::NEVER));
                } else {
                    next = next.min(spell.start);
                }
            }
            let takes = left * factor;
            if next == Moment::NEVER || takes <= (next - at).ps() as f64 {
                return at + Duration(takes.ceil() as u64);
            }
            left -= (next - at).ps() as f64 / factor;
            at = next;
        }
    }

    /// Says in a frame how often its link had changed when it was sent.
    pub(super) fn stamp(&self, port: PortId, frame: &mut Packet) {
        frame.set_changes(self.lines[port].changes);
    }

    /// The last failure of a port's link while a frame was on it of which enough was in at a moment; `needed` is how long that takes at
    /// a rate.
    fn failure(&self, port: PortId, frame: &Packet, in_at: Moment, needed: impl Fn(Rate) -> Duration) -> Option<SpellId> {
        let line = &self.lines[port];
        let (at, by) = *line.failures.iter().rev().find(|failure| failure.0 < in_at)?;
        let sent = line.came.get(usize::from(frame.changes().wrapping_sub(line.past)))?;
        (in_at.saturating_sub(sent.delay + needed(sent.rate)) <= at).then_some(by)
    }

    /// The fault that damages a frame which came by a port, if one does.
    pub(super) fn damage(&mut self, port: PortId, bytes: u16) -> Option<SpellId> {
        let errors = |felt: &Felt| match felt.part.what {
            What::Errors(p) => felt.at(port).filter(|place| place.receives).map(|_| (p, felt.id())),
            _ => None,
        };
        let (p, by) = self.felt.iter().rev().find_map(errors)?;
        // All bits have to come as they were sent.
        let is_whole = libm::exp(f64::from(bytes) * 8.0 * libm::log1p(-p));
        (self.lines[port].errors.uniform() >= is_whole).then_some(by)
    }
}

impl Node {
    /// The same node, with what fails at it.
    #[must_use]
    pub fn failing(self, failing: Option<Box<Failing>>) -> Self {
        Self { is_watched: self.is_watched || failing.is_some(), failing, ..self }
    }

    /// How long a port has been sending in all.
    pub fn sending_time(&self, port: PortId) -> Duration {
        let p = &self.core.ports[port];
        let (bytes, time) = self.failing.as_ref().map_or((0, Duration::ZERO), |failing| failing.lines[port].before);
        time + p.serializer.time(p.data_bytes + p.control_bytes - bytes)
    }

    /// Sets timers for the first spell of each fault, before all others.
    pub(super) fn expect_faults(&self, cx: &mut Cx<'_>) {
        let Some(failing) = &self.failing else { return };
        (0..failing.felt.len()).for_each(|n| self.expect(n, cx));
    }

    fn expect(&self, number: usize, cx: &mut Cx<'_>) {
        let Some(spell) = self.failing.as_ref().and_then(|failing| failing.felt[number].spell) else { return };
        for (at, payload) in [(Some(spell.start), number << 1), (spell.end, number << 1 | 1)] {
            if let Some(at) = at {
                cx.set_timer(at, token::pack(token::FAULT, 0, payload as u32));
            }
        }
    }

    /// A spell of a fault begins or ends.
    pub(super) fn on_fault(&mut self, payload: u32, cx: &mut Cx<'_>) {
        let (number, begins) = (index(payload >> 1), payload & 1 == 0);
        let Some(failing) = &mut self.failing else { return };
        let felt = &mut failing.felt[number];
        felt.lasts = begins;
        let (id, what, places, is_whole) = (felt.id(), felt.part.what, felt.part.places.clone(), felt.part.is_whole);
        if is_whole && matches!(what, What::Down(_)) {
            mark(&mut failing.downs, id, begins);
        }
        for place in places {
            match what {
                // What waits in a node that is down is lost with it.
                What::Down(_) if begins && is_whole => self.fail(place.port, id, Queued::Flush, cx),
                What::Down(queued) if begins => self.fail(place.port, id, queued, cx),
                What::Down(_) => self.repair(place.port, id, cx),
                What::Rate(_) | What::Delay(_) => self.change_line(place, cx),
                What::Errors(_) | What::Stall | What::Compute(_) => {}
            }
        }
        if what == What::Stall {
            self.stall(id, begins, cx);
        }
        if begins {
            return;
        }
        if let Some(failing) = &mut self.failing {
            let felt = &mut failing.felt[number];
            felt.number += 1;
            felt.spell = felt.part.schedule.next();
            self.expect(number, cx);
        }
    }

    /// Whether anything is odd about what this node lets in.
    fn is_odd(&self) -> bool {
        self.faults.vanish > 0 || self.failing.as_ref().is_some_and(|failing| failing.lines.iter().any(|line| !line.downs.is_empty()))
    }

    /// The link of a port goes down.
    fn fail(&mut self, port: PortId, by: SpellId, queued: Queued, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        let line = &mut failing.lines[port];
        line.downs.push((by, queued));
        if line.downs.len() == 1 {
            let past = line.failures.partition_point(|failure| failure.0 + ON_ITS_WAY < cx.now());
            line.failures.drain(..past);
            line.failures.push((cx.now(), by));
            line.changed = cx.now();
            self.look_later(port, cx);
            self.is_odd = true;
            self.core.ports[port].sleep();
            for class in 0..self.core.classes as u8 {
                self.block(port, Queues::Class(class), Cause::FAULT, Asker::Itself, cx.now());
            }
            self.tell_of_link(port, false, cx);
            self.empty(port, QueueId(0), by, Packet::is_link_local, cx);
        }
        if queued == Queued::Flush {
            for queue in QueueId::all(self.core.ports[port].queues.len()) {
                self.empty(port, queue, by, |_| true, cx);
            }
        }
    }

    /// An outage of the link of a port ends.
    fn repair(&mut self, port: PortId, by: SpellId, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        let downs = &mut failing.lines[port].downs;
        downs.retain(|down| down.0 != by);
        if !downs.is_empty() {
            return;
        }
        failing.lines[port].changed = cx.now();
        self.look_later(port, cx);
        self.is_odd = self.is_odd();
        for class in 0..self.core.classes as u8 {
            self.unblock(port, Queues::Class(class), Cause::FAULT, cx);
        }
        self.tell_of_link(port, true, cx);
        self.rouse(port, cx);
    }

    /// Looks at the link of a port when it has been as it is now for as long as that takes.
    fn look_later(&self, port: PortId, cx: &mut Cx<'_>) {
        if let Some(local) = self.failing.as_ref().and_then(|failing| failing.local) {
            cx.set_timer(cx.now() + local, token::pack(token::AVOID, 0, u32::from(port.0)));
        }
    }

    pub(super) fn rouse(&mut self, port: PortId, cx: &mut Cx<'_>) {
        if self.core.ports[port].rouse() {
            self.kick(port, cx);
        }
    }

    /// Mechanisms forget what they knew of the neighbour at a port, or tell it anew what it has to know.
    fn tell_of_link(&mut self, port: PortId, is_up: bool, cx: &mut Cx<'_>) {
        self.mechanisms.each(Watches::LINK, &self.core, &mut self.effects, |m, core, fx| m.on_link(port, is_up, core, fx));
        self.apply(cx);
    }

    /// Loses what waits in a queue of a port.
    fn empty(&mut self, port: PortId, queue: QueueId, by: SpellId, is_to_go: impl Fn(&Packet) -> bool, cx: &mut Cx<'_>) {
        for packet in self.core.ports[port].take(queue, is_to_go) {
            if packet.is_data() {
                self.uncount(port, queue, &packet, Some(FAULT.name), cx);
            } else if let Some(slot) = packet.side() {
                cx.sides().give_back(slot);
            }
            if let Some(failing) = &mut self.failing {
                failing.note(by, &packet);
            }
        }
        // What mechanisms make of it happens now, and not at whatever is next.
        self.apply(cx);
    }

    /// What a link is one way is another from now on.
    fn change_line(&mut self, place: Place, cx: &mut Cx<'_>) {
        let (port, now) = (place.port, cx.now());
        let sent = self.sending_time(port);
        let Some(failing) = &mut self.failing else { return };
        if place.receives {
            let condition = failing.condition(port, now, |place| place.receives);
            let line = &mut failing.lines[port];
            // Of those that nothing on its way was sent under one is kept, so that there is always one.
            let past = line.came.iter().skip(1).take_while(|c| c.since + ON_ITS_WAY < now).count();
            line.came.drain(..past);
            line.past = line.past.wrapping_add(past as u16);
            line.came.push(condition);
        }
        if !place.sends {
            return;
        }
        let condition = failing.condition(port, now, |place| place.sends);
        let p = &mut self.core.ports[port];
        failing.lines[port].changes = failing.lines[port].changes.wrapping_add(1);
        failing.lines[port].before = (p.data_bytes + p.control_bytes, sent);
        let delay = condition.delay + p.peer_delay;
        // The last frame that was sent arrives first.
        let arrived = &mut failing.lines[port].arrived;
        *arrived = (*arrived).max(p.busy_until + p.delay);
        let settled = arrived.saturating_sub(delay);
        (p.serializer, p.rate, p.delay) = (condition.rate.serializer(), condition.rate, delay);
        if settled > now {
            let settling = &mut failing.lines[port].settling;
            *settling += 1;
            if *settling == 1 {
                p.sleep();
            }
            cx.set_timer(settled, token::pack(token::SETTLED, 0, u32::from(port.0)));
        }
    }

    /// A port that waited for its link to become shorter sends again.
    pub(super) fn on_settled(&mut self, port: PortId, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        failing.lines[port].settling -= 1;
        if failing.lines[port].settling == 0 {
            self.rouse(port, cx);
        }
    }

    /// The host reads nothing from now on, or all that has come meanwhile.
    fn stall(&mut self, by: SpellId, begins: bool, cx: &mut Cx<'_>) {
        let Some(failing) = &mut self.failing else { return };
        mark(&mut failing.stalls, by, begins);
        if failing.stalls.len() != usize::from(begins) {
            return;
        }
        for port in PortId::all(self.core.ports.len()) {
            for class in 0..self.core.classes as u8 {
                self.mechanisms
                    .each(Watches::REQUEST, &self.core, &mut self.effects, |m, core, fx| m.on_pause_request(port, class, begins, core, fx));
            }
        }
        self.apply(cx);
        if !begins && let Some(failing) = &mut self.failing {
            failing.unread_bytes = 0;
            for (port, packet, came) in std::mem::take(&mut failing.unread) {
                if let Some(recorder) = &mut self.delays {
                    recorder.on_read(&packet, port, FAULT.name, came, cx.now());
                }
                if self.wanted.packets {
                    self.trace(port, &packet, false, cx.now());
                }
                self.handle(port, packet, cx);
            }
        }
    }

    /// Whether a frame that came is handled no further, since it was lost on its way, or nobody reads it.
    pub(super) fn is_intercepted(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        // What ends here, or at the interface, is not forwarded.
        let is_forwarded = !packet.is_link_local() && packet.dst() != self.core.id;
        let in_at = if is_forwarded { cx.now().saturating_sub(failing.delay) } else { cx.now() };
        let head = self.cut_through.as_ref().and_then(|cut| cut.needed(port, packet, self.core.id, &self.core.routing));
        let needed = |rate: Rate| head.unwrap_or_else(|| rate.time(u64::from(packet.bytes())));
        let lost_by = failing.downs.last().copied().or_else(|| failing.failure(port, packet, in_at, needed));
        if let Some(by) = lost_by {
            self.lose_on_link(port, packet, by, cx);
            return true;
        }
        if let Some(says) = packet.payload::<frames::Retry>() {
            self.on_retry(port, says, cx);
            return true;
        }
        let damaged_by = failing.damage(port, packet.bytes());
        if failing.retry(port).is_some() && !packet.is_link_local() {
            return self.is_held(port, packet, damaged_by, cx) || self.is_unread(port, packet, cx);
        }
        if let Some(by) = damaged_by {
            self.lose_on_link(port, packet, by, cx);
            return true;
        }
        self.is_unread(port, packet, cx)
    }

    /// Whether nobody reads a frame, which waits at the interface, or is lost there.
    pub(super) fn is_unread(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        let Some(by) = failing.stalls.last().copied().filter(|_| !packet.is_link_local()) else { return false };
        if failing.unread_bytes + u64::from(packet.bytes()) > failing.room {
            self.lose_on_link(port, packet, by, cx);
        } else {
            failing.unread_bytes += u64::from(packet.bytes());
            failing.unread.push((port, *packet, cx.now()));
        }
        true
    }

    /// A frame that came by a port is gone: a drop of the port that sent it.
    pub(super) fn lose_on_link(&mut self, port: PortId, packet: &Packet, by: SpellId, cx: &mut Cx<'_>) {
        if let Some(failing) = &mut self.failing {
            failing.note(by, packet);
        }
        if let Some(slot) = packet.side() {
            cx.sides().give_back(slot);
        }
        if !packet.is_data() {
            return;
        }
        self.counts.dropped += 1;
        self.counts.dropped_bytes += u64::from(packet.bytes());
        let from = self.core.routing.wiring.ports[index(self.core.id)][port];
        let (flow, seq, bytes) = (packet.flow(), packet.seq(), packet.bytes());
        let (in_port, class, by) = (packet.in_port(), packet.class(), Some(FAULT.name));
        self.records.drops.push(Drop { at: cx.now(), node: from.peer, port: from.peer_port, in_port, class, flow, seq, bytes, by });
    }

    /// Whether a data packet that is to go by a port is lost, since that leads nowhere.
    pub(super) fn refuses(&mut self, port: PortId, packet: &Packet, cx: &mut Cx<'_>) -> bool {
        if self.faults.vanish > 0 {
            self.faults.vanish -= 1;
            self.is_odd = self.is_odd();
            return true;
        }
        let Some(by) = self.failing.as_ref().and_then(|failing| failing.flushes(port)) else { return false };
        let queue = self.core.queue_for(packet.class(), packet.in_port());
        if let Some(failing) = &mut self.failing {
            failing.note(by, packet);
        }
        self.write_off(port, queue, packet, Some(FAULT.name), cx);
        true
    }

    /// Whether a frame that is no data, and is to go by a port, is lost there.
    pub(super) fn loses_control(&mut self, port: PortId, frame: &Packet, cx: &mut Cx<'_>) -> bool {
        let Some(failing) = &mut self.failing else { return false };
        if !failing.is_down(port) {
            return false;
        }
        let by = failing.flushes(port).or_else(|| failing.lines[port].downs.first().map(|down| down.0).filter(|_| frame.is_link_local()));
        let Some(by) = by else { return false };
        failing.note(by, frame);
        if let Some(slot) = frame.side() {
            cx.sides().give_back(slot);
        }
        true
    }
}

/// Puts a spell among those that last, or takes it from there.
fn mark(list: &mut Vec<SpellId>, id: SpellId, begins: bool) {
    if begins {
        list.push(id);
    } else {
        list.retain(|other| *other != id);
    }
}
