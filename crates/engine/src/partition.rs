//! Partitions: the nodes that one thread runs, their pending events, and the run through a window.

use std::hint::black_box;
use std::ops::Range;

use xoff_units::{Duration, Moment};

use crate::arrivals::Arrivals;
use crate::channel::{BLOCK, Channel, Route};
use crate::context::Context;
use crate::event_set::{EventSet, NO_EVENT, Slot};
use crate::fingerprint::Fingerprint;
use crate::state::{State, StateVisitor};
use crate::{END_OF_TIME, Message, Node};

/// A node, and the data that the engine keeps for the node. The fields that every event needs come first.
#[repr(C)]
pub(crate) struct PartitionSlot<N: Node> {
    pub fingerprint: Fingerprint,
    outputs: Vec<Route>,
    event_set: EventSet<N::Message>,
    pub id: u32,
    /// True while the node is suspended: its events wait until the node is resumed.
    rests: bool,
    pub events: u64,
    pub node: N,
}

/// A copy of a node and of its pending events, without messages in flight.
#[derive(Clone)]
pub struct Kept<N: Node> {
    /// The node.
    pub node: N,
    event_set: EventSet<N::Message>,
}

pub(crate) struct Partition<N: Node> {
    pub slots: Vec<PartitionSlot<N>>,
    pub channel: Channel<N::Message>,
    /// Ranges of nodes with the length of their inner windows: a cluster, or neighbours in memory without
    /// inner windows ([`Duration::FOREVER`]).
    clusters: Vec<(Range<usize>, Duration)>,
    arrivals: Arrivals,
    pub events: u64,
}

/// The limits of a run of some nodes: a window, or an inner window of a cluster.
#[derive(Clone, Copy)]
struct Window {
    end: Moment,
    /// End of the window that contains the inner window; equal to `end` without inner windows.
    outer_end: Moment,
    /// Arrivals before this moment stay in the inbox, which the engine reads in each window. Later arrivals
    /// wait in the event set of the node.
    near: Moment,
}

/// Largest number of outputs of a node for which all nodes of a block fit into the cache.
const SMALL: usize = 4;
/// Number of nodes of a partition from which on the engine reads ahead; fewer nodes stay in the cache.
const MANY: usize = 512;

/// Number of windows after the present window in which arrivals are near. In most networks all arrivals are
/// near.
const NEAR_WINDOWS: u64 = 8;

fn near(end: Moment, window: Duration) -> Moment {
    Moment(end.0.saturating_add(window.0.saturating_mul(NEAR_WINDOWS)).min(END_OF_TIME.0))
}

impl<N: Node> Partition<N> {
    pub fn new(partitions: usize) -> Self {
        Self {
            slots: Vec::new(),
            channel: Channel::new(partitions),
            clusters: Vec::new(),
            arrivals: Arrivals::new(),
            events: 0,
        }
    }

    pub fn add_node(&mut self, id: u32, node: N, in_links: usize, outputs: usize) -> u32 {
        self.slots.push(PartitionSlot {
            node,
            id,
            rests: false,
            events: 0,
            // The output after all ports is the last of a moment.
            event_set: EventSet::new(in_links, outputs + 1),
            outputs: Vec::with_capacity(outputs),
            fingerprint: Fingerprint::of_node(id),
        });
        self.channel.add_node();
        self.slots.len() as u32 - 1
    }

    pub fn add_output(&mut self, slot: u32, route: Route) {
        self.slots[slot as usize].outputs.push(route);
    }

    pub fn add_cluster(&mut self, slots: Range<usize>, window: Duration) {
        self.clusters.push((slots, window));
    }

    pub fn start(&mut self) {
        for slot in 0..self.slots.len() {
            let PartitionSlot { node, event_set, outputs, fingerprint, id, .. } = &mut self.slots[slot];
            let mut cx = Context {
                now: Moment::ZERO,
                node: *id,
                horizon: Moment::ZERO,
                outer_horizon: Moment::ZERO,
                event_set,
                outputs,
                channel: &mut self.channel,
                fingerprint: *fingerprint,
            };
            node.on_start(&mut cx);
            *fingerprint = cx.fingerprint;
            let top = event_set.top();
            if top != NO_EVENT {
                self.channel.expect(slot, EventSet::<N::Message>::time_of(top));
            }
        }
    }

    /// Returns the messages in flight to the nodes of this partition.
    pub fn under_way(&self) -> impl Iterator<Item = &N::Message> {
        self.channel.under_way().chain(self.slots.iter().flat_map(|slot| slot.event_set.under_way()))
    }

    /// True if no event is pending except reminders.
    pub fn is_at_rest(&self) -> bool {
        self.channel.under_way().next().is_none()
            && self.slots.iter().all(|slot| slot.event_set.is_at_rest(N::timer))
    }

    /// Returns the moment of the earliest event of this partition, and of the messages to other partitions.
    pub fn next_event(&self) -> Moment {
        self.channel.next_of_block.iter().copied().fold(self.channel.outbox_next, Moment::min)
    }

    /// Suspends a node: its events wait until [`Partition::resume`]. Messages in flight move to the event set
    /// of the node, and the inbox then has only messages sent since the suspension.
    pub fn suspend(&mut self, slot: u32) {
        let (PartitionSlot { event_set, rests, .. }, slot) = (&mut self.slots[slot as usize], slot as usize);
        let inbox = &mut self.channel.inboxes[slot];
        inbox.messages.drain(..).for_each(|arrival| event_set.push_far(arrival));
        inbox.express.drain(..).for_each(|express| event_set.push_express(express));
        *rests = true;
        self.channel.next[slot] = Moment::NEVER;
        self.channel.settle(slot / BLOCK);
    }

    /// True if no message is in flight to a node.
    pub fn is_quiet(&self, slot: u32) -> bool {
        let (PartitionSlot { event_set, .. }, inbox) =
            (&self.slots[slot as usize], &self.channel.inboxes[slot as usize]);
        event_set.under_way().next().is_none() && inbox.messages.is_empty() && inbox.express.is_empty()
    }

    /// Returns the moment of the next event of a node.
    pub fn first(&self, slot: u32) -> Moment {
        self.slots[slot as usize].event_set.first()
    }

    /// Copies a node, with its pending events. No message may be in flight to the node.
    pub fn keep(&self, slot: u32) -> Kept<N>
    where
        N: Clone,
    {
        let PartitionSlot { node, event_set, .. } = &self.slots[slot as usize];
        Kept { node: node.clone(), event_set: event_set.clone() }
    }

    /// Replaces a node by a copy. Messages sent to a suspended node since the suspension stay.
    pub fn put(&mut self, slot: u32, kept: Kept<N>) {
        let PartitionSlot { node, event_set, rests, .. } = &mut self.slots[slot as usize];
        (*node, *event_set) = (kept.node, kept.event_set);
        if !*rests {
            self.channel.look(slot as usize, event_set);
        }
    }

    /// Returns the earliest arrival at a node among messages sent since its suspension.
    pub fn first_since_suspension(&self, slot: u32) -> Moment {
        self.channel.first_in_inbox(slot as usize)
    }

    /// Resumes a node with its first event, which may lie before the moment of other nodes.
    pub fn resume(&mut self, slot: u32) {
        let PartitionSlot { event_set, rests, .. } = &mut self.slots[slot as usize];
        *rests = false;
        self.channel.look(slot as usize, event_set);
    }

    /// Runs all nodes through the window that ends at `end`, exclusive, and is at most `window` long. A
    /// cluster with inner windows repeats inner windows until no node of the cluster has an event before
    /// `end`.
    pub fn run_window(&mut self, end: Moment, window: Duration) {
        self.channel.outbox_next = Moment::NEVER;
        for cluster in 0..self.clusters.len() {
            let (slots, own_window) = self.clusters[cluster].clone();
            if own_window == Duration::FOREVER {
                self.run_range(slots, Window { end, outer_end: end, near: near(end, window) });
            } else {
                loop {
                    let start =
                        self.channel.next[slots.clone()].iter().copied().fold(Moment::NEVER, Moment::min);
                    if start >= end {
                        break;
                    }
                    let own_end = (start + own_window).min(end);
                    self.run_range(
                        slots.clone(),
                        Window { end: own_end, outer_end: end, near: near(own_end, own_window) },
                    );
                }
            }
        }
    }

    /// Runs the nodes of a range that have an event in the window.
    fn run_range(&mut self, slots: Range<usize>, window: Window) {
        let mut first = slots.start;
        while first < slots.end {
            let block = first / BLOCK;
            let last = ((block + 1) * BLOCK).min(slots.end);
            if self.channel.next_of_block[block] < window.end {
                if self.slots.len() >= MANY {
                    self.touch_due(first..last, window.end);
                }
                for slot in first..last {
                    if self.channel.next[slot] < window.end {
                        self.run_node(slot, window);
                    }
                }
                self.channel.settle(block);
            }
            first = last;
        }
    }

    /// Reads the memory that the next events of a block need: the cache misses of several nodes then overlap.
    /// Nodes with many outputs are left out, since they would evict one another from the cache.
    fn touch_due(&self, slots: Range<usize>, end: Moment) {
        let touch = |slot: usize| {
            let PartitionSlot { node, event_set, fingerprint, .. } = &self.slots[slot];
            // A cache line holds two messages.
            let messages = self.channel.inboxes[slot]
                .messages
                .iter()
                .step_by(2)
                .fold(0, |sum, arrival| sum ^ arrival.key);
            fingerprint.touch() ^ event_set.touch() ^ node.touch() ^ messages
        };
        let due =
            slots.filter(|slot| self.channel.next[*slot] < end && self.slots[*slot].outputs.len() <= SMALL);
        black_box(due.fold(0, |sum, slot| sum ^ touch(slot)));
    }

    fn run_node(&mut self, index: usize, window: Window) {
        let PartitionSlot { node, event_set, outputs, fingerprint, id, rests, events: of_node } =
            &mut self.slots[index];
        if *rests {
            self.channel.next[index] = Moment::NEVER;
            self.channel.reached = Some(window.outer_end);
            return;
        }
        let arrivals = &mut self.arrivals;
        let inbox = &mut self.channel.inboxes[index];
        for express in inbox.express.drain(..) {
            event_set.push_express(express);
        }
        arrivals.collect(&mut inbox.messages, event_set, self.channel.next[index], window.end);
        if node.has_turns() {
            arrivals.take_turns(&inbox.messages, event_set);
        }
        let mut cx = Context {
            now: Moment::ZERO,
            node: *id,
            horizon: window.end,
            outer_horizon: window.outer_end,
            event_set,
            outputs,
            channel: &mut self.channel,
            fingerprint: *fingerprint,
        };
        let mut events = 0;
        let later = loop {
            let key = cx.event_set.top();
            cx.now = EventSet::<N::Message>::time_of(key);
            if cx.now >= window.end {
                break key;
            }
            events += 1;
            let (link, message) = match cx.event_set.slot_of(key) {
                Slot::Link(link) => (link, arrivals.take(&cx.channel.inboxes[index].messages, cx.event_set)),
                Slot::Express => match cx.event_set.pop_express() {
                    Some(arrival) => arrival,
                    None => continue,
                },
                Slot::Output(output) => {
                    let was_in_tree = cx.event_set.take_output(output, key);
                    node.on_output(output, &mut cx);
                    if was_in_tree {
                        cx.event_set.settle_output(output);
                    }
                    continue;
                }
                Slot::Timer => {
                    if let Some(token) = cx.event_set.pop_timer() {
                        node.on_timer(token, &mut cx);
                    }
                    continue;
                }
            };
            // The only call of `on_arrival`: the compiler inlines the handling of messages into this loop.
            cx.fingerprint.record(key, message.digest());
            node.on_arrival(link, message, &mut cx);
        };
        *fingerprint = cx.fingerprint;
        self.events += events;
        *of_node += events;
        let inbox = &mut self.channel.inboxes[index].messages;
        let next = later.min(arrivals.finish(inbox, event_set, window.end, window.near));
        self.channel.next[index] =
            if next == NO_EVENT { Moment::NEVER } else { EventSet::<N::Message>::time_of(next) };
    }
}

impl<N: Node + State> Partition<N>
where
    N::Message: State,
    <N::Message as Message>::Side: State,
{
    /// Visits the state of a node: pending events, messages in flight to the node, the node itself, side
    /// records. `walk` is the visit ([`State::walk`]): `walk` digests, shifts, notes or repeats the state.
    pub fn walk_seat(&mut self, slot: u32, walk: &mut StateVisitor<'_>) {
        let PartitionSlot { node, event_set, rests, .. } = &mut self.slots[slot as usize];
        let inbox = &mut self.channel.inboxes[slot as usize];
        // Messages sent since a suspension are no part of the state before the node is resumed.
        let inbox: (&mut [_], &mut [_]) =
            if *rests { (&mut [], &mut []) } else { (&mut inbox.messages, &mut inbox.express) };
        event_set.walk(inbox, N::timer, walk);
        node.walk(walk);
        self.channel.walk_sides(walk);
        if walk.by() > Duration::ZERO && !*rests {
            self.channel.look(slot as usize, event_set);
            // The outbox is empty between windows: its messages are in the inboxes of their receivers.
            self.channel.outbox_next = Moment::NEVER;
        }
    }
}

impl<N: Node + State> Kept<N>
where
    N::Message: State,
{
    /// Visits the state of the copy, as the state of node `id`. `walk` is the visit ([`State::walk`]).
    pub fn walk(&mut self, id: u32, walk: &mut StateVisitor<'_>) {
        walk.at_node(id);
        self.event_set.walk((&mut [], &mut []), N::timer, walk);
        self.node.walk(walk);
    }
}
