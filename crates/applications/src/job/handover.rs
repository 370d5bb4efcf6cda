//! Hand-overs: the messages of a library between the moment when their data is at the sender and the moment
//! when NVLink or the NIC has the message.
//!
//! A thread block of a channel hands one message over at a time, at the speed of the channel. The message then
//! waits for the delay of a hand-over. A message for the network then waits for a free slot of its
//! connection, and for the proxy of the rank whose NIC sends, which posts one message at a time. Example: a
//! connection of 8 slots has 8 messages under way; the ninth message waits until the first message is
//! acknowledged. The proxy then takes 1 µs, and the message is posted. Simplification: a receiver always has
//! a free slot. Source: NCCL 2.30.7, `transport/net.cc` (`sendProxyProgress`); `docs/models/nccl.md`.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use xoff_engine::state::{State, StateVisitor};
use xoff_models::frames::message::{After, MessageId};
use xoff_units::{Duration, Moment, index, wide};

/// A message on the way to NVLink or to a NIC.
#[derive(Debug, Clone, Copy)]
pub(super) struct Handover {
    /// End of the present delay.
    pub at: Moment,
    /// The message.
    pub id: MessageId,
    /// Last condition for the message.
    pub after: After,
}

impl State for Handover {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { at, id, after } = self;
        walk.moment(at);
        after.walk(*id, walk);
        id.walk(walk);
    }
}

/// The queue of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delay {
    /// Before NVLink.
    NvLink,
    /// Before the network.
    Network,
    /// At the proxy.
    Proxy,
}

impl Delay {
    const ALL: [Self; 3] = [Self::NvLink, Self::Network, Self::Proxy];

    /// Returns the queue of a number in a timer.
    pub fn of(number: u32) -> Self {
        Self::ALL[number as usize % Self::ALL.len()]
    }
}

/// Work of a thread block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Group and channel of the block.
    pub block: (u32, u16),
    /// Last condition for the message.
    pub after: After,
    /// Time of the message at the speed of the channel.
    pub time: Duration,
    /// True if data goes on line by line.
    pub streams: bool,
}

/// Slots of a connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    /// Messages posted and not acknowledged.
    pub used: u16,
    /// Messages that wait for a slot.
    pub waiting: VecDeque<Handover>,
}

/// A queue of slices over NVLink: the rank at the other end, the connection, and the kind of the way.
pub type QueueKey = (u32, u64, u8);

/// The hand-overs of a rank.
#[derive(Debug, Clone, Default)]
pub struct Handovers {
    delayed: [VecDeque<Handover>; 3],
    /// For each group and channel: the end of the present work of the thread block.
    blocks: FxHashMap<(u32, u16), Moment>,
    /// The last work of a block within an event: block, condition, time of the event, and the hand-over.
    last: Option<((u32, u16), After, Moment, Moment)>,
    /// The end of the proxy's present work.
    free: Moment,
    /// By connection, in the order of the program's connections.
    pub(super) slots: Vec<Slots>,
    /// NVLink's queues of slices at the host of the rank.
    queues: Vec<(QueueKey, u32)>,
    /// Places of connections by flow.
    places: Vec<(u32, u32)>,
}

impl State for Handovers {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { delayed, blocks, last, free, slots, queues: _, places: _ } = self;
        *last = None;
        walk.keyed(blocks.iter_mut(), |walk, _, free| walk.due(free));
        for queue in delayed {
            walk.value(wide(queue.len()));
            for one in queue {
                one.walk(walk);
            }
        }
        walk.due(free);
        for Slots { used, waiting } in slots {
            walk.value(u64::from(*used) << 32 | wide(waiting.len()));
            for one in waiting {
                one.walk(walk);
            }
        }
    }
}

impl Handovers {
    /// Returns hand-overs for the flows of connections, with the queues of NVLink.
    pub fn new(flows: impl ExactSizeIterator<Item = u32>, mut queues: Vec<(QueueKey, u32)>) -> Self {
        queues.sort_unstable();
        let slots = vec![Slots::default(); flows.len()];
        let mut places: Vec<(u32, u32)> = flows.zip(0..).collect();
        places.sort_unstable();
        let delayed = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
        Self { delayed, blocks: FxHashMap::default(), last: None, free: Moment::ZERO, slots, queues, places }
    }

    /// Returns NVLink's queues by key, in order, with their numbers.
    pub fn queues(&self) -> &[(QueueKey, u32)] {
        &self.queues
    }

    /// Returns the queue of NVLink with a key.
    pub fn queue(&self, key: QueueKey) -> Option<u32> {
        let place = self.queues.binary_search_by_key(&key, |one| one.0).ok()?;
        Some(self.queues[place].1)
    }

    /// Returns the place of the connection with a flow.
    pub fn place(&self, flow: u32) -> Option<usize> {
        let at = self.places.binary_search_by_key(&flow, |one| one.0).ok()?;
        Some(index(self.places[at].1))
    }

    /// Adds a message to a delay, behind messages that end no later.
    pub(super) fn delay(&mut self, by: Delay, message: Handover) {
        let queue = &mut self.delayed[by as usize];
        let place = queue.partition_point(|one| one.at <= message.at);
        queue.insert(place, message);
    }

    /// Returns the moment when the thread block of a channel hands a message over that takes `time`. Messages
    /// with the same data, which became ready by the same message, go to several ranks at once. `streams` is
    /// true if the data goes on line by line: the first line leaves when the block begins.
    pub(super) fn pass_block(&mut self, work: Work, now: Moment) -> Moment {
        let Work { block, after, time, streams } = work;
        if let Some(last) = self.last.filter(|last| (last.0, last.1, last.2) == (block, after, now)) {
            return last.3;
        }
        let free = self.blocks.entry(block).or_insert(Moment::ZERO);
        let begins = (*free).max(now);
        *free = begins + time;
        let at = if streams { begins } else { *free };
        self.last = Some((block, after, now, at));
        at
    }

    /// Takes the first message of a delay.
    pub(super) fn take(&mut self, by: Delay) -> Option<Handover> {
        self.delayed[by as usize].pop_front()
    }

    /// Returns the moment when the proxy posts the next message. The proxy is then busy for `time`.
    pub(super) fn post(&mut self, time: Duration, now: Moment) -> Moment {
        let at = self.free.max(now);
        self.free = at + time;
        at
    }

    /// True if no message is between its data and NVLink or the NIC.
    pub fn is_empty(&self) -> bool {
        self.delayed.iter().all(VecDeque::is_empty) && self.slots.iter().all(|slots| slots.waiting.is_empty())
    }
}
