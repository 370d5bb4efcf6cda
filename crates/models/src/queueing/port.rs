//! An output port: its queues, their scheduler, and the link it feeds.

use std::collections::VecDeque;

use crate::ids::QueueId;
use xoff_engine::state;
use xoff_engine::state::{State, Walk, Word};
use xoff_units::{Duration, Moment, Rate, Serializer, index, number};

use super::counter::Gauge;
use super::ring::Ring;
use crate::packet::Packet;

/// Why a queue may not send; each cause has a bit of its own, so that overlapping pauses cannot clear one another.
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

    /// Which mechanism of the node it is, if it is one.
    pub fn owner(self) -> Option<u8> {
        (self.0 < Self::FAULT.0).then_some(self.0)
    }

    const fn bit(self) -> u16 {
        1 << self.0
    }
}

/// Whose packets a queue is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Those of a class: what a switch forwards, what a host sends.
    #[default]
    Class,
    /// Those of a class that a host relays.
    Relayed,
    /// Those of a class that a mechanism moved out of its queue.
    Congestion,
    /// Those of a flow whose packets by another path go first.
    Reorder,
    /// What the mechanism that planned it says.
    Planned,
}

/// A data queue before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSpec {
    /// The class it serves.
    pub class: u8,
    /// Lower levels are served strictly first.
    pub level: u8,
    /// Whose packets it is for.
    pub purpose: Purpose,
}

/// One queue of a port. What waits is either packets, or *suppliers* that produce a packet when it is their turn: a host's own
/// flows, or the input FIFOs of a switch with input queueing. What each packet needs comes first, in one line of the cache.
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
    /// Where in the order of its port: which of its `Group`s.
    group: u16,
    in_ring: bool,
    class: u8,
    purpose: Purpose,
    /// Suppliers in turn.
    pub suppliers: Ring<u32>,
    /// Suppliers that had their turn since the queue has its own.
    taken: u32,
    /// Packets dropped before it.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
}

state!(Queue {
    part: packets, suppliers, bytes;
    value: blocked, in_ring, taken;
    total: sent, sent_bytes, dropped, marked;
    still: group, class, purpose;
});

impl Queue {
    /// Whether a pause holds it.
    #[inline]
    pub const fn is_blocked(&self) -> bool {
        self.blocked != 0
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.suppliers.is_empty()
    }

    /// The class it serves.
    #[inline]
    pub const fn class(&self) -> u8 {
        self.class
    }

    /// Whose packets it is for.
    #[inline]
    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }
}

/// How classes of equal priority take turns. The queues of one class (for each input, say) take turns packet by packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// A packet each.
    Packets,
    /// A packet each, and for each supplier of a queue: a host's own flows and what it relays take turns.
    Suppliers,
    /// Deficit round robin (Shreedhar, Varghese 1995): bytes each, this many a round.
    Bytes(u32),
}

/// The queues that a port gets: queue 0 is control, strictly first and never blocked.
#[derive(Debug, Clone)]
pub struct QueuePlan {
    /// The data queues.
    pub data: Vec<QueueSpec>,
    /// How classes of one level take turns.
    pub turns: Turns,
}

#[derive(Debug, Clone, Default)]
struct Level {
    /// The only queue, when the level has one.
    single: Option<QueueId>,
    /// Its groups in turn.
    ring: VecDeque<u16>,
}

state!(Level {
    value: ring;
    still: single;
});

/// The queues of one class at one level.
#[derive(Debug, Clone, Default)]
struct Group {
    level: u8,
    class: u8,
    in_ring: bool,
    /// Its queues in turn.
    ring: VecDeque<QueueId>,
    deficit: u32,
}

state!(Group {
    value: in_ring, ring, deficit;
    still: level, class;
});

/// How the queues of a port take turns.
#[derive(Debug, Clone)]
struct Order {
    levels: Vec<Level>,
    groups: Vec<Group>,
    turns: Turns,
}

state!(Order {
    part: levels, groups;
    still: turns;
});

/// Who has a packet on the wire and more to send: a supplier of this queue.
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
    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(match self {
            Self::Nobody => 0,
            Self::Supplier { queue, supplier } => (1_u32, *queue, *supplier).word(),
        });
    }
}

/// Whether the engine will call back for a port; and how many reasons there are for it to send nothing, so that nobody has to. It is
/// zero where somebody has to call, so that asking costs no more than a flag would.
#[derive(Debug, Clone, Copy, Default)]
struct Calls(u8);

impl Calls {
    /// The engine will call back.
    const WOKEN: u8 = 1;
    /// A reason to sleep, of a few.
    const ASLEEP: u8 = 2;
}

impl Word for Calls {
    fn word(&self) -> u64 {
        u64::from(self.0)
    }
}

/// An output port: two lines of the cache, of which the first decides what is sent, and the second counts it.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub struct Port {
    /// When the frame in transmission ends.
    pub busy_until: Moment,
    /// Queue 0 is control.
    pub queues: Box<[Queue]>,
    /// Packets and suppliers that wait here.
    pub waiting: u32,
    /// Control frames among them.
    control: u32,
    sending: Sending,
    /// The node at the other end.
    pub peer: u32,
    /// Who calls when.
    calls: Calls,
    /// Whether there is but one data queue, which then has nobody to take turns with.
    is_single: bool,
    /// Control frames that go before a packet of data that waits; none of them waits for data where it is zero.
    pub control_turns: u8,
    /// Control frames that went since data waits.
    control_run: u8,
    order: Box<Order>,
    /// Propagation, and the peer's forwarding delay for what it forwards.
    pub delay: Duration,
    /// The peer's forwarding delay.
    pub peer_delay: Duration,
    /// Time that bytes take.
    pub serializer: Serializer,
    /// When data last started on the wire.
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
    still: peer, is_single, control_turns, delay, peer_delay, serializer, rate;
});

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Port>() == 128 && size_of::<Queue>() == 128);

/// What a port sends next.
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
            levels[usize::from(level)].single = (members[usize::from(level)] == 1).then_some(QueueId::at(queues.len()));
            let group = groups.iter().position(|g| (g.class, g.level) == (class, level)).unwrap_or_else(|| {
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

    /// Reads what the next packet needs.
    #[inline]
    pub fn touch(&self) -> u64 {
        let data = &self.queues[1];
        self.busy_until.0 ^ self.last_data.0 ^ data.sent ^ data.packets.front().map_or(0, |packet| u64::from(packet.flow()))
    }

    /// Puts a packet at the end of a queue.
    #[inline]
    pub fn push(&mut self, queue: QueueId, packet: Packet) {
        self.queues[queue].packets.push_back(packet);
        self.waiting += 1;
        self.control += u32::from(queue == QueueId(0));
        self.enlist(queue);
    }

    /// Lets a supplier wait for its turn.
    pub fn push_supplier(&mut self, queue: QueueId, supplier: u32) {
        self.queues[queue].suppliers.push_back(supplier);
        self.waiting += 1;
        self.enlist(queue);
    }

    /// A supplier that has more to send waits for its next turn from the end of its frame on: what falls due until then is before it.
    #[inline]
    pub fn push_supplier_after(&mut self, queue: QueueId, supplier: u32) {
        self.sending = Sending::Supplier { queue, supplier };
    }

    /// Lets a supplier that waits in a queue, or will after its frame, wait in another one, as the last there.
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

    /// Lets a supplier wait no more in a queue, nor after its frame; true if it did.
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
        }
        waited
    }

    /// The frame on the wire has ended, and everything that fell due by then waits.
    #[inline]
    pub fn end_frame(&mut self) {
        if let Sending::Supplier { queue, supplier } = std::mem::take(&mut self.sending) {
            self.push_supplier(queue, supplier);
        }
    }

    /// Whether anything waits, or will when the frame on the wire has ended.
    #[inline]
    pub const fn has_more(&self) -> bool {
        self.waiting > 0 || !matches!(self.sending, Sending::Nobody)
    }

    /// Whether the engine will call back for this port, or nobody is to call.
    #[inline]
    pub const fn is_woken(&self) -> bool {
        self.calls.0 != 0
    }

    /// The engine will call back for a port that nobody was to call for.
    #[inline]
    pub const fn wake(&mut self) {
        self.calls.0 = Calls::WOKEN;
    }

    /// The engine has called back; true if nothing is sent all the same.
    #[inline]
    pub const fn is_called_in_vain(&mut self) -> bool {
        self.calls.0 &= !Calls::WOKEN;
        self.calls.0 != 0
    }

    /// One more reason to send nothing, whatever waits.
    pub const fn sleep(&mut self) {
        self.calls.0 += Calls::ASLEEP;
    }

    /// One reason less; true when that was the last, and there is something to send that nobody will call for.
    pub const fn rouse(&mut self) -> bool {
        self.calls.0 -= Calls::ASLEEP;
        self.calls.0 == 0 && self.has_more()
    }

    /// Lets a queue take turns, and its group with it, when it has something to send.
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

    /// Blocks a queue; true when this cause did not hold it before.
    pub fn block(&mut self, queue: QueueId, cause: Cause) -> bool {
        let q = &mut self.queues[queue];
        let new = q.blocked & cause.bit() == 0;
        q.blocked |= cause.bit();
        new
    }

    /// Takes a cause away; true when it held the queue.
    pub fn unblock(&mut self, queue: QueueId, cause: Cause) -> bool {
        let q = &mut self.queues[queue];
        let held = q.blocked & cause.bit() != 0;
        q.blocked &= !cause.bit();
        if held && q.blocked == 0 && !q.is_empty() {
            self.enlist(queue);
        }
        held
    }

    /// The next to send, by strict priority over levels and turns within one; none when all that waits is blocked.
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

    /// Control goes first, unless it is data's turn.
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

    /// What a queue has to send.
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
            let Some(queue) = self.next_of(g) else {
                let group = &mut self.order.groups[usize::from(g)];
                group.in_ring = false;
                group.deficit = 0;
                self.order.levels[level].ring.pop_front();
                continue;
            };
            let group = &mut self.order.groups[usize::from(g)];
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
            if let Turns::Bytes(quantum) = self.order.turns {
                let size = u32::from(head.bytes());
                // Short of its head means a new visit: a group that cannot go on was sent to the back.
                if group.deficit < size {
                    group.deficit += quantum;
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

    /// The queue of a group whose turn it is; those that cannot send leave the round.
    #[inline]
    fn next_of(&mut self, group: u16) -> Option<QueueId> {
        let ring = &mut self.order.groups[usize::from(group)].ring;
        loop {
            let queue = *ring.front()?;
            let q = &mut self.queues[queue];
            if q.blocked == 0 && !q.is_empty() {
                return Some(queue);
            }
            q.in_ring = false;
            q.taken = 0;
            ring.pop_front();
        }
    }

    /// The size of the packet that a group would send after the head of its first queue.
    fn after_head(&self, group: u16) -> Option<u32> {
        let ring = &self.order.groups[usize::from(group)].ring;
        let mut others = ring.iter().skip(1).map(|&queue| &self.queues[queue]).filter(|q| q.blocked == 0);
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
        self.queues[queue].packets.pop_front()
    }

    /// Takes packets out of a queue wherever they are in it.
    pub fn take(&mut self, queue: QueueId, is_to_go: impl Fn(&Packet) -> bool) -> Vec<Packet> {
        let waiting = std::mem::take(&mut self.queues[queue].packets);
        let (gone, kept): (Vec<Packet>, Vec<Packet>) = waiting.iter().partition(|packet| is_to_go(packet));
        self.waiting -= number(gone.len());
        self.control -= if queue == QueueId(0) { number(gone.len()) } else { 0 };
        self.queues[queue].packets = kept.into_iter().collect();
        gone
    }

    /// Takes the head supplier of a queue.
    pub fn pop_supplier(&mut self, queue: QueueId) -> Option<u32> {
        self.waiting -= 1;
        self.queues[queue].suppliers.pop_front()
    }
}

#[cfg(test)]
mod tests;
