//! The nodes of one thread: their calendars, what is on its way to them, and the run through a window.

use std::hint::black_box;
use std::ops::Range;

use xoff_units::{Duration, Moment};

use crate::arrivals::Arrivals;
use crate::calendar::{Calendar, NO_EVENT, Slot};
use crate::context::Context;
use crate::fingerprint::Fingerprint;
use crate::state::{State, Walk};
use crate::transit::{BLOCK, Route, Transit};
use crate::{END_OF_TIME, Message, Node};

/// One node with what the engine keeps for it; what each event needs comes first.
#[repr(C)]
pub(crate) struct Seat<N: Node> {
    pub fingerprint: Fingerprint,
    outputs: Vec<Route>,
    calendar: Calendar<N::Message>,
    pub id: u32,
    /// Its events wait until it is woken.
    rests: bool,
    pub events: u64,
    pub node: N,
}

/// A copy of a node to which nothing was on its way, and of what it waits for.
#[derive(Clone)]
pub struct Kept<N: Node> {
    /// The node.
    pub node: N,
    calendar: Calendar<N::Message>,
}

pub(crate) struct Partition<N: Node> {
    pub seats: Vec<Seat<N>>,
    pub transit: Transit<N::Message>,
    /// Nodes joined by links much shorter than the rest, and the window that they may run alone.
    clusters: Vec<(Range<usize>, Duration)>,
    arrivals: Arrivals,
    pub events: u64,
}

/// What nodes run through at once.
#[derive(Clone, Copy)]
struct Window {
    end: Moment,
    /// Where the window ends that is common to all clusters.
    outer_end: Moment,
    /// What arrives before this moment is looked at in each window until it does.
    near: Moment,
}

/// Of nodes with so many outputs at most, a block's fit into the cache beside one another.
const SMALL: usize = 4;
/// The nodes of a smaller network are in a cache anyway.
const MANY: usize = 512;

/// So many windows ahead a message is near: in most networks all of them are.
const NEAR_WINDOWS: u64 = 8;

fn near(end: Moment, window: Duration) -> Moment {
    Moment(end.0.saturating_add(window.0.saturating_mul(NEAR_WINDOWS)).min(END_OF_TIME.0))
}

impl<N: Node> Partition<N> {
    pub fn new(partitions: usize) -> Self {
        Self { seats: Vec::new(), transit: Transit::new(partitions), clusters: Vec::new(), arrivals: Arrivals::new(), events: 0 }
    }

    pub fn add_node(&mut self, id: u32, node: N, in_links: usize, outputs: usize) -> u32 {
        self.seats.push(Seat {
            node,
            id,
            rests: false,
            events: 0,
            calendar: Calendar::new(in_links, outputs),
            outputs: Vec::with_capacity(outputs),
            fingerprint: Fingerprint::of_node(id),
        });
        self.transit.add_node();
        self.seats.len() as u32 - 1
    }

    pub fn add_output(&mut self, seat: u32, route: Route) {
        self.seats[seat as usize].outputs.push(route);
    }

    pub fn add_cluster(&mut self, seats: Range<usize>, window: Duration) {
        self.clusters.push((seats, window));
    }

    pub fn start(&mut self) {
        for seat in 0..self.seats.len() {
            let Seat { node, calendar, outputs, fingerprint, id, .. } = &mut self.seats[seat];
            let mut cx = Context {
                now: Moment::ZERO,
                node: *id,
                horizon: Moment::ZERO,
                outer_horizon: Moment::ZERO,
                calendar,
                outputs,
                transit: &mut self.transit,
                fingerprint: *fingerprint,
            };
            node.on_start(&mut cx);
            *fingerprint = cx.fingerprint;
            let top = calendar.top();
            if top != NO_EVENT {
                self.transit.expect(seat, Calendar::<N::Message>::time_of(top));
            }
        }
    }

    /// Messages on links that no node has seen yet.
    pub fn under_way(&self) -> impl Iterator<Item = &N::Message> {
        self.transit.under_way().chain(self.seats.iter().flat_map(|seat| seat.calendar.under_way()))
    }

    /// Whether nothing is to come but reminders.
    pub fn is_at_rest(&self) -> bool {
        self.transit.under_way().next().is_none() && self.seats.iter().all(|seat| seat.calendar.is_at_rest(N::timer))
    }

    /// The earliest event of this partition and of what it posted.
    pub fn next_event(&self) -> Moment {
        self.transit.next_of_block.iter().copied().fold(self.transit.outbox_next, Moment::min)
    }

    /// Lets a node rest: what is on its way to it goes into its calendar, and nothing happens there until it is woken.
    pub fn rest(&mut self, seat: u32) {
        let (Seat { calendar, rests, .. }, seat) = (&mut self.seats[seat as usize], seat as usize);
        let inbox = &mut self.transit.inboxes[seat];
        inbox.messages.drain(..).for_each(|arrival| calendar.push_far(arrival));
        inbox.express.drain(..).for_each(|express| calendar.push_express(express));
        *rests = true;
        self.transit.next[seat] = Moment::NEVER;
        self.transit.settle(seat / BLOCK);
    }

    /// Whether nothing is on its way to a node.
    pub fn is_quiet(&self, seat: u32) -> bool {
        let (Seat { calendar, .. }, inbox) = (&self.seats[seat as usize], &self.transit.inboxes[seat as usize]);
        calendar.under_way().next().is_none() && inbox.messages.is_empty() && inbox.express.is_empty()
    }

    /// When something happens at a node next.
    pub fn first(&self, seat: u32) -> Moment {
        self.seats[seat as usize].calendar.first()
    }

    /// Copies a node to which nothing is on its way.
    pub fn keep(&self, seat: u32) -> Kept<N>
    where
        N: Clone,
    {
        let Seat { node, calendar, .. } = &self.seats[seat as usize];
        Kept { node: node.clone(), calendar: calendar.clone() }
    }

    /// Puts one in the place of a node to which nothing is on its way; what has come to it while it rests stays.
    pub fn put(&mut self, seat: u32, kept: Kept<N>) {
        let Seat { node, calendar, rests, .. } = &mut self.seats[seat as usize];
        (*node, *calendar) = (kept.node, kept.calendar);
        if !*rests {
            self.transit.look(seat as usize, calendar);
        }
    }

    /// When the first arrives of what was sent to a node since it rests.
    pub fn first_since_rest(&self, seat: u32) -> Moment {
        self.transit.first_in_inbox(seat as usize)
    }

    /// Ends a rest: the node goes on with its first event, which may be one that is over elsewhere.
    pub fn wake(&mut self, seat: u32) {
        let Seat { calendar, rests, .. } = &mut self.seats[seat as usize];
        *rests = false;
        self.transit.look(seat as usize, calendar);
    }

    /// Runs every node up to `end`, exclusive, of a window that is at most `window` long.
    pub fn run_window(&mut self, end: Moment, window: Duration) {
        self.transit.outbox_next = Moment::NEVER;
        for cluster in 0..self.clusters.len() {
            let (seats, own_window) = self.clusters[cluster].clone();
            if own_window == Duration::FOREVER {
                self.run_range(seats, Window { end, outer_end: end, near: near(end, window) });
            } else {
                loop {
                    let start = self.transit.next[seats.clone()].iter().copied().fold(Moment::NEVER, Moment::min);
                    if start >= end {
                        break;
                    }
                    let own_end = (start + own_window).min(end);
                    self.run_range(seats.clone(), Window { end: own_end, outer_end: end, near: near(own_end, own_window) });
                }
            }
        }
    }

    /// Runs those of a range of nodes that have an event in the window.
    fn run_range(&mut self, seats: Range<usize>, window: Window) {
        let mut first = seats.start;
        while first < seats.end {
            let block = first / BLOCK;
            let last = ((block + 1) * BLOCK).min(seats.end);
            if self.transit.next_of_block[block] < window.end {
                if self.seats.len() >= MANY {
                    self.touch_due(first..last, window.end);
                }
                for seat in first..last {
                    if self.transit.next[seat] < window.end {
                        self.run_node(seat, window);
                    }
                }
                self.transit.settle(block);
            }
            first = last;
        }
    }

    /// Reads what the next events of the nodes of a block need, so that misses of the cache overlap. Large nodes would push one
    /// another out of it.
    fn touch_due(&self, seats: Range<usize>, end: Moment) {
        let touch = |seat: usize| {
            let Seat { node, calendar, fingerprint, .. } = &self.seats[seat];
            // Two messages share a line of the cache.
            let messages = self.transit.inboxes[seat].messages.iter().step_by(2).fold(0, |sum, arrival| sum ^ arrival.key);
            fingerprint.touch() ^ calendar.touch() ^ node.touch() ^ messages
        };
        let due = seats.filter(|seat| self.transit.next[*seat] < end && self.seats[*seat].outputs.len() <= SMALL);
        black_box(due.fold(0, |sum, seat| sum ^ touch(seat)));
    }

    fn run_node(&mut self, index: usize, window: Window) {
        let Seat { node, calendar, outputs, fingerprint, id, rests, events: of_node } = &mut self.seats[index];
        if *rests {
            self.transit.next[index] = Moment::NEVER;
            self.transit.reached = Some(window.outer_end);
            return;
        }
        let arrivals = &mut self.arrivals;
        let inbox = &mut self.transit.inboxes[index];
        for express in inbox.express.drain(..) {
            calendar.push_express(express);
        }
        arrivals.collect(&mut inbox.messages, calendar, self.transit.next[index], window.end);
        let mut cx = Context {
            now: Moment::ZERO,
            node: *id,
            horizon: window.end,
            outer_horizon: window.outer_end,
            calendar,
            outputs,
            transit: &mut self.transit,
            fingerprint: *fingerprint,
        };
        let mut events = 0;
        let later = loop {
            let key = cx.calendar.top();
            cx.now = Calendar::<N::Message>::time_of(key);
            if cx.now >= window.end {
                break key;
            }
            events += 1;
            let (link, message) = match cx.calendar.slot_of(key) {
                Slot::Link(link) => (link, arrivals.take(&cx.transit.inboxes[index].messages, cx.calendar)),
                Slot::Express => match cx.calendar.pop_express() {
                    Some(arrival) => arrival,
                    None => continue,
                },
                Slot::Output(output) => {
                    let was_in_tree = cx.calendar.take_output(output, key);
                    node.on_output(output, &mut cx);
                    if was_in_tree {
                        cx.calendar.settle_output(output);
                    }
                    continue;
                }
                Slot::Timer => {
                    if let Some(token) = cx.calendar.pop_timer() {
                        node.on_timer(token, &mut cx);
                    }
                    continue;
                }
            };
            // One place, so that a node's work on a message is compiled into this loop.
            cx.fingerprint.record(key, message.digest());
            node.on_arrival(link, message, &mut cx);
        };
        *fingerprint = cx.fingerprint;
        self.events += events;
        *of_node += events;
        let inbox = &mut self.transit.inboxes[index].messages;
        let next = later.min(arrivals.finish(inbox, calendar, window.end, window.near));
        self.transit.next[index] = if next == NO_EVENT { Moment::NEVER } else { Calendar::<N::Message>::time_of(next) };
    }
}

impl<N: Node + State> Partition<N>
where
    N::Message: State,
    <N::Message as Message>::Side: State,
{
    /// Shows the state of a node and of what is on its way to it.
    pub fn walk_seat(&mut self, seat: u32, walk: &mut Walk<'_>) {
        let Seat { node, calendar, rests, .. } = &mut self.seats[seat as usize];
        let inbox = &mut self.transit.inboxes[seat as usize];
        // What came to a node that rests waits for it to be woken.
        let inbox: (&mut [_], &mut [_]) = if *rests { (&mut [], &mut []) } else { (&mut inbox.messages, &mut inbox.express) };
        calendar.walk(inbox, N::timer, walk);
        node.walk(walk);
        self.transit.walk_sides(walk);
        if walk.by() > Duration::ZERO && !*rests {
            self.transit.look(seat as usize, calendar);
            // What was posted is with whom it was for.
            self.transit.outbox_next = Moment::NEVER;
        }
    }
}

impl<N: Node + State> Kept<N>
where
    N::Message: State,
{
    /// Shows its state, as that of a node by this number.
    pub fn walk(&mut self, id: u32, walk: &mut Walk<'_>) {
        walk.at_node(id);
        self.calendar.walk((&mut [], &mut []), N::timer, walk);
        self.node.walk(walk);
    }
}
