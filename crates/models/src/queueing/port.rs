//! An output port: its queues, their scheduler, and the link it feeds.

use std::collections::VecDeque;

use xoff_units::{Rate, Serializer, Time};

use super::counter::Counter;
use crate::packet::Packet;

/// Why a queue may not send; each cause has a bit of its own, so that overlapping pauses cannot clear one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// A PFC pause from the neighbour.
    Pfc,
    /// Source Flow Control.
    Sfc,
    /// Packets of the same flow in another queue go first.
    Order,
    /// `PortFC`.
    PortFc,
}

impl Cause {
    const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pfc => "pfc",
            Self::Sfc => "sfc",
            Self::Order => "order",
            Self::PortFc => "portfc",
        }
    }
}

/// One queue of a port. What waits is either packets, or *suppliers* that produce a packet when it is their turn: a host's own
/// flows, or the input FIFOs of a switch with input queueing.
#[derive(Debug, Default)]
pub struct Queue {
    /// Packets in order.
    pub packets: VecDeque<Packet>,
    /// Suppliers in turn.
    pub suppliers: VecDeque<u32>,
    /// Bytes of the packets.
    pub bytes: Counter,
    blocked: u8,
    in_ring: bool,
    level: u8,
    class: u8,
    deficit: u32,
    /// Data packets sent, dropped and ECN-marked.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets dropped before it.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
}

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
    pub const fn class(&self) -> u8 {
        self.class
    }
}

/// How queues of equal priority take turns.
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
    /// For each data queue its class and its level; lower levels are served strictly first.
    pub data: Vec<(u8, u8)>,
    /// How queues of one level take turns.
    pub turns: Turns,
}

#[derive(Debug, Default)]
struct Level {
    /// The only queue, when the level has one.
    single: Option<u16>,
    ring: VecDeque<u16>,
}

/// An output port.
#[derive(Debug)]
pub struct Port {
    /// When the frame in transmission ends.
    pub busy_until: Time,
    /// Whether the engine will call back for this port.
    pub is_woken: bool,
    /// Packets and suppliers that wait here.
    pub waiting: u32,
    /// Time that bytes take.
    pub serializer: Serializer,
    /// Propagation, and the peer's forwarding delay for what it forwards.
    pub delay: Time,
    /// The peer's forwarding delay.
    pub peer_delay: Time,
    /// The node at the other end.
    pub peer: u32,
    /// Queue 0 is control.
    pub queues: Vec<Queue>,
    levels: Vec<Level>,
    turns: Turns,
    /// Line rate.
    pub rate: Rate,
    /// Wire bytes of data and of control sent.
    pub data_bytes: u64,
    /// Wire bytes of control frames sent.
    pub control_bytes: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// When data last started on the wire.
    pub last_data: Time,
}

/// What a port sends next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The head packet of this queue.
    Packet(u16),
    /// The head supplier of this queue.
    Supplier(u16),
}

impl Port {
    /// An idle port.
    pub fn new(plan: &QueuePlan, rate: Rate, delay: Time, peer: u32, peer_delay: Time) -> Self {
        let mut queues = vec![Queue::default()];
        let count = plan.data.iter().map(|d| d.1 as usize + 1).max().unwrap_or(0);
        let mut levels: Vec<Level> = (0..count).map(|_| Level::default()).collect();
        let mut members = vec![0; count];
        for (class, level) in &plan.data {
            members[*level as usize] += 1;
            levels[*level as usize].single = (members[*level as usize] == 1).then_some(queues.len() as u16);
            queues.push(Queue { level: *level, class: *class, ..Queue::default() });
        }
        Self {
            busy_until: Time::ZERO,
            is_woken: false,
            waiting: 0,
            serializer: rate.serializer(),
            delay,
            peer_delay,
            peer,
            queues,
            levels,
            turns: plan.turns,
            rate,
            data_bytes: 0,
            control_bytes: 0,
            data_packets: 0,
            last_data: Time::ZERO,
        }
    }

    /// Puts a packet at the end of a queue.
    #[inline]
    pub fn push(&mut self, queue: usize, packet: Packet) {
        self.queues[queue].packets.push_back(packet);
        self.waiting += 1;
        self.enlist(queue);
    }

    /// Lets a supplier wait for its turn.
    pub fn push_supplier(&mut self, queue: usize, supplier: u32) {
        self.queues[queue].suppliers.push_back(supplier);
        self.waiting += 1;
        self.enlist(queue);
    }

    /// Puts a queue into its level's round when it has something to send.
    #[inline]
    fn enlist(&mut self, queue: usize) {
        let q = &mut self.queues[queue];
        if queue == 0 || q.in_ring || q.blocked != 0 {
            return;
        }
        let level = &mut self.levels[q.level as usize];
        if level.single.is_none() {
            q.in_ring = true;
            level.ring.push_back(queue as u16);
        }
    }

    /// Blocks a queue; true when this cause did not hold it before.
    pub fn block(&mut self, queue: usize, cause: Cause) -> bool {
        let q = &mut self.queues[queue];
        let new = q.blocked & cause.bit() == 0;
        q.blocked |= cause.bit();
        new
    }

    /// Takes a cause away; true when it held the queue.
    pub fn unblock(&mut self, queue: usize, cause: Cause) -> bool {
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
        if !self.queues[0].packets.is_empty() {
            return Some(Choice::Packet(0));
        }
        for l in 0..self.levels.len() {
            if let Some(single) = self.levels[l].single {
                let q = &self.queues[single as usize];
                if q.blocked == 0 {
                    if !q.packets.is_empty() {
                        return Some(Choice::Packet(single));
                    }
                    if !q.suppliers.is_empty() {
                        return Some(Choice::Supplier(single));
                    }
                }
            } else if let Some(choice) = self.select_in_turn(l) {
                return Some(choice);
            }
        }
        None
    }

    fn select_in_turn(&mut self, level: usize) -> Option<Choice> {
        loop {
            let index = *self.levels[level].ring.front()?;
            let q = &mut self.queues[index as usize];
            if q.blocked != 0 || q.is_empty() {
                q.in_ring = false;
                q.deficit = 0;
                self.levels[level].ring.pop_front();
                continue;
            }
            let Some(head) = q.packets.front() else {
                q.deficit += 1;
                if self.turns != Turns::Suppliers || q.deficit as usize >= q.suppliers.len() {
                    q.deficit = 0;
                    self.levels[level].ring.rotate_left(1);
                }
                return Some(Choice::Supplier(index));
            };
            match self.turns {
                Turns::Packets | Turns::Suppliers => {
                    self.levels[level].ring.rotate_left(1);
                    return Some(Choice::Packet(index));
                }
                Turns::Bytes(quantum) => {
                    let size = u32::from(head.bytes);
                    // Short of its head means a new visit: a queue that cannot go on was sent to the back.
                    if q.deficit < size {
                        q.deficit += quantum;
                    }
                    let may_send = q.deficit >= size;
                    if may_send {
                        q.deficit -= size;
                    }
                    if !may_send || q.packets.get(1).is_none_or(|next| u32::from(next.bytes) > q.deficit) {
                        self.levels[level].ring.rotate_left(1);
                    }
                    if may_send {
                        return Some(Choice::Packet(index));
                    }
                }
            }
        }
    }

    /// Takes the head packet of a queue.
    #[inline]
    pub fn pop(&mut self, queue: u16) -> Option<Packet> {
        self.waiting -= 1;
        self.queues[queue as usize].packets.pop_front()
    }

    /// Takes the head supplier of a queue.
    pub fn pop_supplier(&mut self, queue: u16) -> Option<u32> {
        self.waiting -= 1;
        self.queues[queue as usize].suppliers.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;

    fn port(data: &[(u8, u8)], turns: Turns) -> Port {
        Port::new(&QueuePlan { data: data.to_vec(), turns }, Rate::gbps(100), Time::ns(1), 0, Time::ZERO)
    }

    fn drain(port: &mut Port, n: usize) -> Vec<u16> {
        let mut order = Vec::new();
        for _ in 0..n {
            let Some(Choice::Packet(q)) = port.select() else { break };
            port.pop(q);
            order.push(q);
        }
        order
    }

    #[test]
    fn control_first_then_levels_then_turns() {
        let mut p = port(&[(0, 0), (1, 1), (2, 1)], Turns::Packets);
        for q in [2, 3, 1, 2, 3, 0] {
            p.push(q, Packet::new(Kind::Data, 0, 0, 0, 100, 0));
        }
        assert_eq!(drain(&mut p, 9), [0, 1, 2, 3, 2, 3]);
        assert_eq!(p.waiting, 0);
    }

    #[test]
    fn deficit_round_robin_shares_bytes() {
        let mut p = port(&[(0, 0), (1, 0)], Turns::Bytes(1500));
        for _ in 0..1000 {
            p.push(1, Packet::new(Kind::Data, 0, 0, 0, 1500, 0));
            p.push(2, Packet::new(Kind::Data, 0, 0, 0, 300, 0));
        }
        let order = drain(&mut p, 600);
        let (big, small) = (order.iter().filter(|q| **q == 1).count(), order.iter().filter(|q| **q == 2).count());
        assert_eq!((big, small), (100, 500));
    }

    #[test]
    fn causes_do_not_clear_one_another_and_blocked_queues_wait() {
        let mut p = port(&[(0, 0), (1, 0)], Turns::Packets);
        assert!(p.block(1, Cause::Pfc));
        assert!(!p.block(1, Cause::Pfc));
        p.push(1, Packet::default());
        assert_eq!(p.select(), None);
        p.push(2, Packet::default());
        assert_eq!(drain(&mut p, 2), [2]);
        assert!(p.unblock(1, Cause::Pfc));
        assert!(!p.unblock(1, Cause::Pfc));
        assert_eq!(drain(&mut p, 2), [1]);
    }
}
