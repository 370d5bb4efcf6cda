//! Messages under way between the nodes of one thread, and to those of others.

use std::collections::VecDeque;

use xoff_units::Time;

use crate::Message;
use crate::calendar::Express;
use crate::slab::Slab;

/// Where an output leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// The link's index in the receiving partition.
    pub link: u32,
    pub partition: u16,
    pub local: bool,
    pub same_cluster: bool,
}

/// A message for another partition.
pub(crate) struct Post<M> {
    pub link: u32,
    pub express: bool,
    pub arrival: Time,
    pub message: M,
}

/// Messages for another partition, in the order they were sent.
pub(crate) struct Letters<M: Message> {
    posts: Vec<Post<M>>,
    /// What travels beside some of them, with their places.
    sides: Vec<(u32, M::Side)>,
}

impl<M: Message> Letters<M> {
    pub const fn new() -> Self {
        Self { posts: Vec::new(), sides: Vec::new() }
    }

    pub const fn is_empty(&self) -> bool {
        self.posts.is_empty()
    }
}

/// A link as its receiver holds it: a FIFO and whom it wakes.
pub(crate) struct Channel<M> {
    pub fifo: VecDeque<(Time, M)>,
    node: u32,
    slot: u32,
}

/// So many nodes share an entry by which all of them are passed over when none has an event: in a large network few do in a
/// window.
pub(crate) const BLOCK: usize = 16;

/// Messages under way, and who has to look at them.
pub(crate) struct Transit<M: Message> {
    pub channels: Vec<Channel<M>>,
    /// Per node: the time of its earliest event, woken links included.
    pub next: Vec<Time>,
    /// Per block of nodes: the earliest of `next`, or before it until `settle` is called.
    pub next_of_block: Vec<Time>,
    /// Per node: links whose FIFO was empty when a message came.
    pub woken: Vec<Vec<u32>>,
    pub express: Vec<Vec<Express<M>>>,
    /// Per partition: what to hand over at the end of the window.
    pub outbox: Vec<Letters<M>>,
    /// What travels beside messages that are here.
    pub sides: Slab<M::Side>,
    pub outbox_next: Time,
}

impl<M: Message> Transit<M> {
    /// Without nodes yet, among so many partitions.
    pub fn new(partitions: usize) -> Self {
        Self {
            channels: Vec::new(),
            next: Vec::new(),
            next_of_block: Vec::new(),
            woken: Vec::new(),
            express: Vec::new(),
            outbox: (0..partitions).map(|_| Letters::new()).collect(),
            sides: Slab::default(),
            outbox_next: Time::NEVER,
        }
    }

    /// Another node of this partition.
    pub fn add_node(&mut self) {
        self.next.push(Time::NEVER);
        self.next_of_block.resize(self.next.len().div_ceil(BLOCK), Time::NEVER);
        self.woken.push(Vec::new());
        self.express.push(Vec::new());
    }

    /// Another link, to a node's slot; returns its number.
    pub fn add_link(&mut self, node: u32, slot: u32) -> u32 {
        self.channels.push(Channel { fifo: VecDeque::new(), node, slot });
        self.channels.len() as u32 - 1
    }

    #[inline(always)]
    pub fn deliver(&mut self, link: u32, arrival: Time, message: M) {
        let channel = &mut self.channels[link as usize];
        debug_assert!(channel.fifo.back().is_none_or(|last| last.0 <= arrival), "messages of a link arrive in the order they were sent");
        let is_first = channel.fifo.is_empty();
        channel.fifo.push_back((arrival, message));
        if is_first {
            let (node, slot) = (channel.node as usize, channel.slot);
            self.woken[node].push(slot);
            self.expect(node, arrival);
        }
    }

    pub fn deliver_express(&mut self, link: u32, arrival: Time, message: M) {
        let channel = &self.channels[link as usize];
        let node = channel.node as usize;
        self.express[node].push(Express { at: arrival, link: channel.slot, message });
        self.expect(node, arrival);
    }

    /// Notes that a node has an event at a time.
    #[inline(always)]
    pub fn expect(&mut self, node: usize, at: Time) {
        self.next[node] = self.next[node].min(at);
        let block = &mut self.next_of_block[node / BLOCK];
        *block = (*block).min(at);
    }

    /// Finds the earliest event of a block anew, after nodes of it ran.
    #[inline]
    pub fn settle(&mut self, block: usize) {
        let end = ((block + 1) * BLOCK).min(self.next.len());
        self.next_of_block[block] = self.next[block * BLOCK..end].iter().copied().fold(Time::NEVER, Time::min);
    }

    #[inline]
    pub fn post(&mut self, route: Route, post: Post<M>) {
        self.outbox_next = self.outbox_next.min(post.arrival);
        let letters = &mut self.outbox[route.partition as usize];
        if let Some(slot) = post.message.side() {
            letters.sides.push((letters.posts.len() as u32, self.sides.remove(slot)));
        }
        letters.posts.push(post);
    }

    /// Takes in what another partition sent.
    pub fn receive(&mut self, letters: &mut Letters<M>) {
        let mut sides = letters.sides.drain(..).peekable();
        for (place, mut post) in letters.posts.drain(..).enumerate() {
            if let Some((_, side)) = sides.next_if(|s| s.0 as usize == place) {
                post.message = post.message.at_side(self.sides.insert(side));
            }
            if post.express {
                self.deliver_express(post.link, post.arrival, post.message);
            } else {
                self.deliver(post.link, post.arrival, post.message);
            }
        }
    }

    /// Messages on links that no calendar has seen yet.
    pub fn under_way(&self) -> impl Iterator<Item = &M> {
        self.channels.iter().flat_map(|c| c.fifo.iter().map(|e| &e.1)).chain(self.express.iter().flatten().map(|e| &e.message))
    }
}
