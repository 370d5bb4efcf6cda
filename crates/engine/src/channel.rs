//! Messages under way between the nodes of one thread, and to those of others.

use xoff_units::Moment;

use crate::Message;
use crate::event_set::EventSet;
use crate::event_set::{Arrival, Waiting, key_of};
use crate::slab::Slab;
use crate::state::{State, Walk};

/// Where an output leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// The receiving node's place in its partition, and its in-link.
    pub node: u32,
    pub link: u16,
    pub partition: u16,
    pub local: bool,
    pub same_cluster: bool,
}

/// A message for another partition.
pub(crate) struct Post<M> {
    pub node: u32,
    pub link: u16,
    pub express: bool,
    pub arrival: Moment,
    pub message: M,
}

/// Messages for another partition, in the order they were sent.
pub(crate) struct Batch<M: Message> {
    posts: Vec<Post<M>>,
    /// What travels beside some of them, with their places.
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

/// What is on its way to one node, in the order it was sent.
pub(crate) struct Inbox<M> {
    pub messages: Vec<Arrival<M>>,
    /// Messages that overtake what is on their link.
    pub express: Vec<Waiting<M>>,
}

/// So many nodes share an entry by which all of them are passed over when none has an event: in a large network few do in a
/// window.
pub(crate) const BLOCK: usize = 16;

/// Messages under way, and who has to look at them.
pub(crate) struct Channel<M: Message> {
    /// Per node.
    pub inboxes: Vec<Inbox<M>>,
    /// Per node: the time of its earliest event, arrivals included.
    pub next: Vec<Moment>,
    /// Per block of nodes: the earliest of `next`, or before it until `settle` is called.
    pub next_of_block: Vec<Moment>,
    /// Per partition: what to hand over at the end of the window.
    pub outbox: Vec<Batch<M>>,
    /// What travels beside messages that are here.
    pub sides: Slab<M::Side>,
    pub outbox_next: Moment,
    /// Nodes that asked for somebody to look: when, and what for.
    pub marked: Vec<(Moment, (u32, u64))>,
    /// The end of the window in which something came to a node that rests.
    pub reached: Option<Moment>,
}

impl<M: Message> Channel<M> {
    /// Without nodes yet, among so many partitions.
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

    /// Whether somebody has to look.
    pub const fn calls(&self) -> bool {
        !self.marked.is_empty() || self.reached.is_some()
    }

    /// Another node of this partition.
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

    /// Notes that a node has an event at a time.
    #[inline(always)]
    pub fn expect(&mut self, node: usize, at: Moment) {
        if at < self.next[node] {
            self.next[node] = at;
            let block = &mut self.next_of_block[node / BLOCK];
            *block = (*block).min(at);
        }
    }

    /// Finds the earliest event of a block anew, after nodes of it ran.
    #[inline]
    pub fn settle(&mut self, block: usize) {
        let end = ((block + 1) * BLOCK).min(self.next.len());
        self.next_of_block[block] = self.next[block * BLOCK..end].iter().copied().fold(Moment::NEVER, Moment::min);
    }

    /// Finds the earliest event of a node anew, after moments there have changed.
    pub fn look(&mut self, node: usize, event_set: &EventSet<M>) {
        self.next[node] = event_set.first().min(self.first_in_inbox(node));
        self.settle(node / BLOCK);
    }

    /// When the first arrives of what a calendar has not taken yet.
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

    /// Takes in what another partition sent.
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

    /// Shows what travels beside messages that were shown.
    pub fn walk_sides(&mut self, walk: &mut Walk<'_>)
    where
        M::Side: State,
    {
        for slot in std::mem::take(&mut walk.seen) {
            self.sides.get(slot).walk(walk);
        }
    }

    /// Messages on links that no calendar has seen yet.
    pub fn under_way<'a>(&'a self) -> impl Iterator<Item = &'a M> {
        let messages = |inbox: &'a Inbox<M>| inbox.messages.iter().map(|m| &m.message).chain(inbox.express.iter().map(|m| &m.message));
        self.inboxes.iter().flat_map(messages)
    }
}
