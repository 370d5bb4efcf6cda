//! The channel of a partition: messages in flight to its nodes, and messages to hand over to other
//! partitions.

use xoff_units::Moment;

use crate::Message;
use crate::event_set::EventSet;
use crate::event_set::{Arrival, Waiting, key_of};
use crate::slab::Slab;
use crate::state::{State, StateVisitor};

/// Destination of an output of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// Index of the receiving node in its partition. `link` is the in-link of the node.
    pub node: u32,
    pub link: u16,
    pub partition: u16,
    pub local: bool,
    pub same_cluster: bool,
}

/// A message to a node of another partition.
pub(crate) struct Post<M> {
    pub node: u32,
    pub link: u16,
    pub express: bool,
    pub arrival: Moment,
    pub message: M,
}

/// Messages to nodes of one other partition, in sending order.
pub(crate) struct Batch<M: Message> {
    posts: Vec<Post<M>>,
    /// Side records, each with the index of its message in `posts`.
    sides: Vec<(u32, M::Side)>,
}

impl<M: Message> Batch<M> {
    pub const fn new() -> Self {
        Self { posts: Vec::new(), sides: Vec::new() }
    }

    pub const fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }
}

/// The inbox of a node: messages in flight to the node, in sending order.
pub(crate) struct Inbox<M> {
    pub messages: Vec<Arrival<M>>,
    /// Messages that may overtake other messages of their link.
    pub express: Vec<Waiting<M>>,
}

/// Number of nodes in a block. The engine tests one moment per block, and skips blocks without an event in
/// the window: in a large network few nodes have an event in a window.
pub(crate) const BLOCK: usize = 16;

/// The channel of a partition. Nodes are numbered by their index in the partition.
pub(crate) struct Channel<M: Message> {
    /// For each node: the messages in flight to the node.
    pub inboxes: Vec<Inbox<M>>,
    /// For each node: moment of the earliest event, arrivals included. `NEVER` for a suspended node.
    pub next: Vec<Moment>,
    /// For each block of nodes: the minimum of `next`. Between two calls of [`Channel::settle`] the moment
    /// may be too early: the block is then tested in vain.
    pub next_of_block: Vec<Moment>,
    /// For each partition: messages to hand over when the window ends.
    pub outbox: Vec<Batch<M>>,
    /// Side records of the messages in this partition.
    pub sides: Slab<M::Side>,
    pub outbox_next: Moment,
    /// Requests of checkpoints: the moment of the request, the node, and the reason
    /// ([`Context::mark`](crate::Context::mark)).
    pub marked: Vec<(Moment, (u32, u64))>,
    /// End of the window in which a message reached a suspended node, if any.
    pub reached: Option<Moment>,
}

impl<M: Message> Channel<M> {
    /// Returns a channel without nodes, for a number of partitions.
    pub fn new(partitions: usize) -> Self {
        Self {
            inboxes: Vec::new(),
            next: Vec::new(),
            next_of_block: Vec::new(),
            outbox: (0..partitions).map(|_| Batch::new()).collect(),
            sides: Slab::default(),
            outbox_next: Moment::NEVER,
            marked: Vec::new(),
            reached: None,
        }
    }

    /// True if a node requested a checkpoint, or if a message reached a suspended node.
    pub const fn calls(&self) -> bool {
        !self.marked.is_empty() || self.reached.is_some()
    }

    /// Adds a node.
    pub fn add_node(&mut self) {
        self.next.push(Moment::NEVER);
        self.next_of_block.resize(self.next.len().div_ceil(BLOCK), Moment::NEVER);
        self.inboxes.push(Inbox { messages: Vec::new(), express: Vec::new() });
    }

    #[inline(always)]
    pub fn deliver(&mut self, node: u32, link: u16, arrival: Moment, message: M) {
        let inbox = &mut self.inboxes[node as usize];
        inbox.messages.push(Arrival { key: key_of(arrival, usize::from(link)), message });
        self.expect(node as usize, arrival);
    }

    pub fn deliver_express(&mut self, node: u32, link: u16, arrival: Moment, message: M) {
        self.inboxes[node as usize].express.push(Waiting { turn: (arrival.0, u64::from(link)), message });
        self.expect(node as usize, arrival);
    }

    /// Notes that a node has an event at `at`.
    #[inline(always)]
    pub fn expect(&mut self, node: usize, at: Moment) {
        if at < self.next[node] {
            self.next[node] = at;
            let block = &mut self.next_of_block[node / BLOCK];
            *block = (*block).min(at);
        }
    }

    /// Recomputes the earliest moment of a block, after its nodes have run.
    #[inline]
    pub fn settle(&mut self, block: usize) {
        let end = ((block + 1) * BLOCK).min(self.next.len());
        self.next_of_block[block] =
            self.next[block * BLOCK..end].iter().copied().fold(Moment::NEVER, Moment::min);
    }

    /// Recomputes the earliest moment of a node, after a change of its pending events.
    pub fn look(&mut self, node: usize, event_set: &EventSet<M>) {
        self.next[node] = event_set.first().min(self.first_in_inbox(node));
        self.settle(node / BLOCK);
    }

    /// Returns the earliest arrival in the inbox of a node. Messages that have moved to the event set are not
    /// in the inbox.
    pub fn first_in_inbox(&self, node: usize) -> Moment {
        let inbox = &self.inboxes[node];
        let messages = inbox.messages.iter().map(|arrival| EventSet::<M>::time_of(arrival.key));
        let express = inbox.express.iter().map(|waiting| Moment(waiting.turn.0));
        messages.chain(express).fold(Moment::NEVER, Moment::min)
    }

    #[inline]
    pub fn post(&mut self, route: Route, post: Post<M>) {
        self.outbox_next = self.outbox_next.min(post.arrival);
        let batch = &mut self.outbox[route.partition as usize];
        if let Some(slot) = post.message.side() {
            batch.sides.push((batch.posts.len() as u32, self.sides.remove(slot)));
        }
        batch.posts.push(post);
    }

    /// Moves the messages from another partition into the inboxes of their nodes, and empties the batch.
    pub fn receive(&mut self, batch: &mut Batch<M>) {
        let mut sides = batch.sides.drain(..).peekable();
        for (place, mut post) in batch.posts.drain(..).enumerate() {
            if let Some((_, side)) = sides.next_if(|s| s.0 as usize == place) {
                post.message = post.message.at_side(self.sides.insert(side));
            }
            if post.express {
                self.deliver_express(post.node, post.link, post.arrival, post.message);
            } else {
                self.deliver(post.node, post.link, post.arrival, post.message);
            }
        }
    }

    /// Visits the side records of the messages that `walk` has visited. `walk` is a visit of the state of a
    /// node ([`State::walk`]); messages are visited first, and their side records after the node.
    pub fn walk_sides(&mut self, walk: &mut StateVisitor<'_>)
    where
        M::Side: State,
    {
        for slot in std::mem::take(&mut walk.seen) {
            self.sides.get(slot).walk(walk);
        }
    }

    /// Returns the messages in all inboxes.
    pub fn under_way<'a>(&'a self) -> impl Iterator<Item = &'a M> {
        let messages = |inbox: &'a Inbox<M>| {
            inbox.messages.iter().map(|m| &m.message).chain(inbox.express.iter().map(|m| &m.message))
        };
        self.inboxes.iter().flat_map(messages)
    }
}
