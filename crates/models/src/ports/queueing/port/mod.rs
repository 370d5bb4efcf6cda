//! An output port: queues, scheduler, and the link.

use std::collections::VecDeque;

use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::{Duration, Moment, Rate, Serializer, index, number};

use super::counter::Gauge;
use super::ring::Ring;
use crate::frames::packet::Packet;
use crate::parts::ids::{MAX_CLASSES, QueueId};

/// Reason to block a queue. Each cause has its own bit, so that overlapping pauses cannot clear one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause(u8);

impl Cause {
    /// Packets of the same flow in another queue go first.
    pub const ORDER: Self = Self(15);
    /// The link of the port is down.
    pub const FAULT: Self = Self(14);

    /// The n-th mechanism of the node holds the queue.
    pub fn mechanism(n: u8) -> Self {
        debug_assert!(n < Self::FAULT.0, "a node has 14 mechanisms at most");
        Self(n)
    }

    /// Returns the mechanism of the cause, if any.
    pub fn owner(self) -> Option<u8> {
        (self.0 < Self::FAULT.0).then_some(self.0)
    }

    const fn bit(self) -> u16 {
        1 << self.0
    }
}

/// Packets that a queue is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Packets of a class: forwarded packets at a switch, own packets at a host.
    #[default]
    Class,
    /// Packets of a class that a host relays.
    Relayed,
    /// Packets of a class moved by a mechanism.
    Congestion,
    /// Packets of a flow whose packets by another path go first.
    Reorder,
    /// Packets chosen by the mechanism that planned the queue.
    Planned,
}

/// Specification of a data queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// Class of the queue.
    pub class: u8,
    /// Lower levels are served strictly first.
    pub level: u8,
    /// Packets that the queue is for.
    pub purpose: Purpose,
}

/// A queue of a port. Waiting are packets, or *suppliers* that produce a packet at their turn: flows of a
/// host, or input FIFOs (`iq`). The fields of each packet's path come first, in one cache line.
#[derive(Debug, Clone, Default)]
#[repr(C, align(64))]
pub struct Queue {
    /// Packets in order.
    pub packets: Ring<Packet>,
    /// Bytes of the packets.
    pub bytes: Gauge,
    /// Data packets sent.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    blocked: u16,
    /// Index of the queue's `Group`.
    group: u16,
    in_ring: bool,
    class: u8,
    purpose: Purpose,
    /// Suppliers in turn.
    pub suppliers: Ring<u32>,
    /// Suppliers that had a turn in the queue's present turn.
    taken: u32,
    /// Packets dropped at the queue.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
}

state!(Queue {
    part: packets, suppliers, bytes;
    value: blocked, in_ring, taken;
    total: sent, sent_bytes, dropped, marked;
    constant: group, class, purpose;
});

impl Queue {
    /// True while a cause blocks the queue.
    #[inline]
    pub const fn is_blocked(&self) -> bool {
        self.blocked != 0
    }

    /// True when no packet or supplier waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.suppliers.is_empty()
    }

    /// Returns the queue's class.
    #[inline]
    pub const fn class(&self) -> u8 {
        self.class
    }

    /// Returns the packets that the queue is for.
    #[inline]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }
}

/// Turns of classes of equal priority. The queues of a class (such as those of inputs) take turns packet by
/// packet.
///
/// A class or queue that cannot send leaves the round immediately, and joins at the end when it can send again
/// (Shreedhar, Varghese 1995). If it kept its place until its next turn, a packet that arrives at the end of the
/// last frame would precede classes that have waited longer. The order would then depend on which event of a
/// moment comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// A packet each.
    Packets,
    /// A packet for each class and for each supplier of a queue: flows of a host and its relayed packets take
    /// turns.
    Suppliers,
    /// Deficit round robin (Shreedhar, Varghese 1995), with the bytes of a round of each class.
    Bytes([u32; MAX_CLASSES]),
}

/// The queues of a port. Queue 0 is control, strictly first and never blocked.
#[derive(Debug, Clone)]
pub struct QueuePlan {
    /// The data queues.
    pub data: Vec<QueueSpec>,
    /// Turns of classes of a level.
    pub turns: Turns,
}

#[derive(Debug, Clone, Default)]
struct Level {
    /// The queue of a level with one queue.
    single: Option<QueueId>,
    /// Groups in turn.
    ring: VecDeque<u16>,
}

state!(Level {
    value: ring;
    constant: single;
});

/// The queues of a class at a level.
#[derive(Debug, Clone, Default)]
struct Group {
    level: u8,
    class: u8,
    in_ring: bool,
    /// Queues in turn.
    ring: VecDeque<QueueId>,
    deficit: u32,
}

state!(Group {
    value: in_ring, ring, deficit;
    constant: level, class;
});

/// Turns of a port's queues.
#[derive(Debug, Clone)]
struct Order {
    levels: Vec<Level>,
    groups: Vec<Group>,
    turns: Turns,
}

state!(Order {
    part: levels, groups;
    constant: turns;
});

/// The supplier, if any, with a packet on the wire and more to send.
#[derive(Debug, Clone, Default)]
enum Sending {
    #[default]
    Nobody,
    Supplier {
        queue: QueueId,
        supplier: u32,
    },
}

impl State for Sending {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(match self {
            Self::Nobody => 0,
            Self::Supplier { queue, supplier } => (1_u32, *queue, *supplier).word(),
        });
    }
}

/// Wake-up state of a port: true when the engine will call back, and the number of reasons to send nothing.
/// Zero means that a call is needed, so that a test costs one comparison.
#[derive(Debug, Clone, Copy, Default)]
struct Calls(u8);

impl Calls {
    /// The engine will call back.
    const WOKEN: u8 = 1;
    /// A reason to sleep; several add up.
    const ASLEEP: u8 = 2;
}

impl Word for Calls {
    fn word(&self) -> u64 {
        u64::from(self.0)
    }
}

/// An output port, in two cache lines: the first for decisions, the second for counts.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Port {
    /// End of the frame in transmission.
    pub busy_until: Moment,
    /// Queue 0 is control.
    pub queues: Box<[Queue]>,
    /// Packets and suppliers that wait.
    pub waiting: u32,
    /// Control frames that wait.
    control: u32,
    sending: Sending,
    /// The node at the other end.
    pub peer: u32,
    /// Wake-up state.
    calls: Calls,
    /// True with one data queue, which needs no turns.
    is_single: bool,
    /// Control frames that go before a waiting packet of data; zero for strict priority of control.
    pub control_turns: u8,
    /// Control frames sent since data waits.
    control_run: u8,
    order: Box<Order>,
    /// Propagation, and the peer's forwarding delay for forwarded frames.
    pub delay: Duration,
    /// The peer's forwarding delay.
    pub peer_delay: Duration,
    /// Time of bytes.
    pub serializer: Serializer,
    /// Start of the last packet of data.
    pub last_data: Moment,
    /// Wire bytes of data sent.
    pub data_bytes: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// Wire bytes of control frames sent.
    pub control_bytes: u64,
    /// Line rate.
    pub rate: Rate,
}

state!(Port {
    due: busy_until;
    part: queues, sending, order;
    value: waiting, control, calls, control_run;
    total: data_bytes, data_packets, control_bytes;
    since: last_data;
    constant: peer, is_single, control_turns, delay, peer_delay, serializer, rate;
});

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Port>() == 128 && size_of::<Queue>() == 128);

/// Next transmission of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The head packet of this queue.
    Packet(QueueId),
    /// The head supplier of this queue.
    Supplier(QueueId),
}

impl Port {
    /// An idle port.
    pub fn new(plan: &QueuePlan, rate: Rate, delay: Duration, peer: u32, peer_delay: Duration) -> Self {
        let mut queues = vec![Queue::default()];
        let count = plan.data.iter().map(|d| usize::from(d.level) + 1).max().unwrap_or(0);
        let mut levels: Vec<Level> = (0..count).map(|_| Level::default()).collect();
        let mut groups: Vec<Group> = Vec::new();
        let mut members = vec![0; count];
        for &QueueSpec { class, level, purpose } in &plan.data {
            members[usize::from(level)] += 1;
            levels[usize::from(level)].single =
                (members[usize::from(level)] == 1).then_some(QueueId::at(queues.len()));
            let group =
                groups.iter().position(|g| (g.class, g.level) == (class, level)).unwrap_or_else(|| {
                    groups.push(Group { level, class, ..Group::default() });
                    groups.len() - 1
                });
            queues.push(Queue { class, purpose, group: group as u16, ..Queue::default() });
        }
        Self {
            busy_until: Moment::ZERO,
            calls: Calls::default(),
            waiting: 0,
            control: 0,
            sending: Sending::Nobody,
            serializer: rate.serializer(),
            delay,
            peer_delay,
            peer,
            is_single: queues.len() == 2,
            control_turns: 0,
            control_run: 0,
            queues: queues.into_boxed_slice(),
            order: Box::new(Order { levels, groups, turns: plan.turns }),
            rate,
            data_bytes: 0,
            control_bytes: 0,
            data_packets: 0,
            last_data: Moment::ZERO,
        }
    }

    /// Reads the memory of the next packet.
    #[inline]
    pub fn touch(&self) -> u64 {
        let data = &self.queues[1];
        self.busy_until.0
            ^ self.last_data.0
            ^ data.sent
            ^ data.packets.front().map_or(0, |packet| u64::from(packet.flow()))
    }

    /// Puts a packet at the end of a queue.
    #[inline]
    pub fn push(&mut self, queue: QueueId, packet: Packet) {
        self.queues[queue].packets.push_back(packet);
        self.waiting += 1;
        self.control += u32::from(queue == QueueId(0));
        self.enlist(queue);
    }

    /// Adds a supplier that waits for its turn.
    pub fn push_supplier(&mut self, queue: QueueId, supplier: u32) {
        self.queues[queue].suppliers.push_back(supplier);
        self.waiting += 1;
        self.enlist(queue);
    }

    /// Adds a supplier with more to send at the end of its frame. Suppliers due until then go first.
    #[inline]
    pub fn push_supplier_after(&mut self, queue: QueueId, supplier: u32) {
        self.sending = Sending::Supplier { queue, supplier };
    }

    /// Brings the supplier of the lowest rank to the head of a queue; of equal ranks the first goes first.
    pub fn promote(&mut self, queue: QueueId, rank: impl Fn(u32) -> u64) {
        let all = &mut self.queues[queue].suppliers;
        let lowest =
            all.iter().copied().enumerate().min_by_key(|(place, supplier)| (rank(*supplier), *place));
        let Some((place, supplier)) = lowest.filter(|(place, _)| *place > 0) else { return };
        let rest =
            all.iter().copied().enumerate().filter(|(other, _)| *other != place).map(|(_, other)| other);
        *all = std::iter::once(supplier).chain(rest).collect();
    }

    /// Moves a supplier to the end of another queue, also a supplier with a frame in transmission.
    pub fn move_supplier(&mut self, supplier: u32, from: QueueId, to: QueueId) {
        if let Sending::Supplier { queue, supplier: sending } = &mut self.sending
            && (*queue, *sending) == (from, supplier)
        {
            *queue = to;
            return;
        }
        if self.remove_supplier(supplier, from) {
            self.push_supplier(to, supplier);
        }
    }

    /// Removes a supplier from a queue, also a supplier with a frame in transmission; true when found.
    pub fn remove_supplier(&mut self, supplier: u32, from: QueueId) -> bool {
        if let Sending::Supplier { queue, supplier: sending } = self.sending
            && (queue, sending) == (from, supplier)
        {
            self.sending = Sending::Nobody;
            return true;
        }
        let all = &self.queues[from].suppliers;
        let rest: Ring<u32> = all.iter().copied().filter(|s| *s != supplier).collect();
        let waited = rest.len() < all.len();
        if waited {
            self.queues[from].suppliers = rest;
            self.waiting -= 1;
            self.delist(from);
        }
        waited
    }

    /// Ends the frame in transmission, with all suppliers due until now waiting.
    #[inline]
    pub fn end_frame(&mut self) {
        if let Sending::Supplier { queue, supplier } = std::mem::take(&mut self.sending) {
            self.push_supplier(queue, supplier);
        }
    }

    /// True when a packet or supplier waits, or will wait at the end of the frame.
    #[inline]
    pub const fn has_more(&self) -> bool {
        self.waiting > 0 || !matches!(self.sending, Sending::Nobody)
    }

    /// True when the engine will call back, or no call is needed.
    #[inline]
    pub const fn is_woken(&self) -> bool {
        self.calls.0 != 0
    }

    /// Notes that the engine will call back.
    #[inline]
    pub const fn wake(&mut self) {
        self.calls.0 = Calls::WOKEN;
    }

    /// Notes the engine's call; true when the port sleeps all the same.
    #[inline]
    pub const fn take_call(&mut self) -> bool {
        self.calls.0 &= !Calls::WOKEN;
        self.calls.0 != 0
    }

    /// Adds a reason to send nothing.
    pub const fn sleep(&mut self) {
        self.calls.0 += Calls::ASLEEP;
    }

    /// Removes a reason to send nothing; true when the last reason is gone and a call is needed.
    pub const fn rouse(&mut self) -> bool {
        self.calls.0 -= Calls::ASLEEP;
        self.calls.0 == 0 && self.has_more()
    }

    /// Lets a queue and its group take turns.
    #[inline]
    fn enlist(&mut self, queue: QueueId) {
        if !self.is_single {
            self.enlist_in_turn(queue);
        }
    }

    fn enlist_in_turn(&mut self, queue: QueueId) {
        let q = &mut self.queues[queue];
        if queue == QueueId(0) || q.in_ring || q.blocked != 0 {
            return;
        }
        let group = &mut self.order.groups[usize::from(q.group)];
        let level = &mut self.order.levels[usize::from(group.level)];
        if level.single.is_some() {
            return;
        }
        q.in_ring = true;
        group.ring.push_back(queue);
        if !group.in_ring {
            group.in_ring = true;
            level.ring.push_back(q.group);
        }
    }

    /// Removes a queue that cannot send from the round.
    #[inline]
    fn delist(&mut self, queue: QueueId) {
        let q = &self.queues[queue];
        if q.in_ring && (q.blocked != 0 || q.is_empty()) {
            self.delist_in_turn(queue);
        }
    }

    fn delist_in_turn(&mut self, queue: QueueId) {
        let q = &mut self.queues[queue];
        (q.in_ring, q.taken) = (false, 0);
        let group = &mut self.order.groups[usize::from(q.group)];
        group.ring.retain(|other| *other != queue);
        if group.ring.is_empty() {
            (group.in_ring, group.deficit) = (false, 0);
            self.order.levels[usize::from(group.level)].ring.retain(|other| *other != q.group);
        }
    }

    /// Blocks a queue; true when the cause is new.
    pub fn block(&mut self, queue: QueueId, cause: Cause) -> bool {
        let q = &mut self.queues[queue];
        let new = q.blocked & cause.bit() == 0;
        q.blocked |= cause.bit();
        self.delist(queue);
        new
    }

    /// Removes a cause; true when the cause was there.
    pub fn unblock(&mut self, queue: QueueId, cause: Cause) -> bool {
        let q = &mut self.queues[queue];
        let held = q.blocked & cause.bit() != 0;
        q.blocked &= !cause.bit();
        if held && q.blocked == 0 && !q.is_empty() {
            self.enlist(queue);
        }
        held
    }

    /// Selects the next transmission: strict priority over levels, turns within a level; none when all queues
    /// are blocked.
    #[inline]
    pub fn select(&mut self) -> Option<Choice> {
        if self.control > 0 {
            return Some(self.select_beside_control());
        }
        self.select_data()
    }

    #[inline]
    fn select_data(&mut self) -> Option<Choice> {
        if self.is_single { self.choose(QueueId(1)) } else { self.select_by_level() }
    }

    /// Selects control, unless data has a turn.
    #[inline]
    fn select_beside_control(&mut self) -> Choice {
        if self.control_turns > 0 && self.control_run >= self.control_turns {
            self.control_run = 0;
            if let Some(data) = self.select_data() {
                return data;
            }
        }
        Choice::Packet(QueueId(0))
    }

    /// Returns the next transmission of a queue.
    #[inline]
    fn choose(&self, queue: QueueId) -> Option<Choice> {
        let q = &self.queues[queue];
        if q.blocked != 0 {
            None
        } else if !q.packets.is_empty() {
            Some(Choice::Packet(queue))
        } else if !q.suppliers.is_empty() {
            Some(Choice::Supplier(queue))
        } else {
            None
        }
    }

    fn select_by_level(&mut self) -> Option<Choice> {
        for l in 0..self.order.levels.len() {
            let choice = match self.order.levels[l].single {
                Some(single) => self.choose(single),
                None => self.select_in_turn(l),
            };
            if choice.is_some() {
                return choice;
            }
        }
        None
    }

    fn select_in_turn(&mut self, level: usize) -> Option<Choice> {
        loop {
            let g = *self.order.levels[level].ring.front()?;
            let group = &mut self.order.groups[usize::from(g)];
            let queue = *group.ring.front()?;
            let q = &mut self.queues[queue];
            let Some(head) = q.packets.front() else {
                q.taken += 1;
                if self.order.turns != Turns::Suppliers || index(q.taken) >= q.suppliers.len() {
                    q.taken = 0;
                    group.ring.rotate_left(1);
                    self.order.levels[level].ring.rotate_left(1);
                }
                return Some(Choice::Supplier(queue));
            };
            let mut goes_on = false;
            if let Turns::Bytes(quanta) = &self.order.turns {
                let size = u32::from(head.bytes());
                // Short of its head means a new visit: a group that cannot go on was sent to the back.
                if group.deficit < size {
                    group.deficit += quanta[usize::from(group.class) % MAX_CLASSES];
                }
                if group.deficit < size {
                    self.order.levels[level].ring.rotate_left(1);
                    continue;
                }
                group.deficit -= size;
                let left = group.deficit;
                goes_on = self.after_head(g).is_some_and(|next| next <= left);
            }
            self.order.groups[usize::from(g)].ring.rotate_left(1);
            if !goes_on {
                self.order.levels[level].ring.rotate_left(1);
            }
            return Some(Choice::Packet(queue));
        }
    }

    /// Returns the size of the packet behind the head of a group's first queue.
    fn after_head(&self, group: u16) -> Option<u32> {
        let ring = &self.order.groups[usize::from(group)].ring;
        let mut others = ring.iter().skip(1).map(|&queue| &self.queues[queue]);
        let next = others.find_map(|q| q.packets.front());
        next.or_else(|| self.queues[*ring.front()?].packets.get(1)).map(|packet| u32::from(packet.bytes()))
    }

    /// Takes the head packet of a queue.
    #[inline]
    pub fn pop(&mut self, queue: QueueId) -> Option<Packet> {
        self.waiting -= 1;
        if queue == QueueId(0) {
            self.control -= 1;
            if self.control_turns > 0 {
                self.control_run = if self.waiting > self.control { self.control_run + 1 } else { 0 };
            }
        }
        let packet = self.queues[queue].packets.pop_front();
        self.delist(queue);
        packet
    }

    /// Takes packets out of any place of a queue.
    pub fn take(&mut self, queue: QueueId, is_to_go: impl Fn(&Packet) -> bool) -> Vec<Packet> {
        let waiting = std::mem::take(&mut self.queues[queue].packets);
        let (gone, kept): (Vec<Packet>, Vec<Packet>) = waiting.iter().partition(|packet| is_to_go(packet));
        self.waiting -= number(gone.len());
        self.control -= if queue == QueueId(0) { number(gone.len()) } else { 0 };
        self.queues[queue].packets = kept.into_iter().collect();
        self.delist(queue);
        gone
    }

    /// Takes the head supplier of a queue.
    pub fn pop_supplier(&mut self, queue: QueueId) -> Option<u32> {
        self.waiting -= 1;
        let supplier = self.queues[queue].suppliers.pop_front();
        self.delist(queue);
        supplier
    }
}

#[cfg(test)]
mod tests;
