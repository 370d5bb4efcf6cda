//! The nodes of one thread: their calendars, their in-links, and the run through a window.

use std::ops::Range;

use xoff_units::Time;

use crate::calendar::{Calendar, NO_EVENT, Slot};
use crate::context::{Context, fold};
use crate::transit::{BLOCK, Route, Transit};
use crate::{Message, Node};

/// One node with what the engine keeps for it.
pub(crate) struct Seat<N: Node> {
    pub node: N,
    pub id: u32,
    calendar: Calendar<N::Message>,
    outputs: Vec<Route>,
    /// Slot of an in-link → its channel.
    in_links: Vec<u32>,
    pub fingerprint: u64,
}

pub(crate) struct Partition<N: Node> {
    pub seats: Vec<Seat<N>>,
    pub transit: Transit<N::Message>,
    /// Nodes joined by links much shorter than the rest, and the window that they may run alone.
    clusters: Vec<(Range<usize>, Time)>,
    pub events: u64,
}

impl<N: Node> Partition<N> {
    pub fn new(partitions: usize) -> Self {
        Self { seats: Vec::new(), transit: Transit::new(partitions), clusters: Vec::new(), events: 0 }
    }

    pub fn add_node(&mut self, id: u32, node: N, in_links: usize, outputs: usize) -> u32 {
        self.seats.push(Seat {
            node,
            id,
            calendar: Calendar::new(in_links, outputs),
            outputs: Vec::with_capacity(outputs),
            in_links: Vec::with_capacity(in_links),
            fingerprint: fold(0, u64::from(id) + 1),
        });
        self.transit.add_node();
        self.seats.len() as u32 - 1
    }

    pub fn add_in_link(&mut self, seat: u32) -> u32 {
        let in_links = &mut self.seats[seat as usize].in_links;
        let link = self.transit.add_link(seat, in_links.len() as u32);
        in_links.push(link);
        link
    }

    pub fn add_output(&mut self, seat: u32, route: Route) {
        self.seats[seat as usize].outputs.push(route);
    }

    pub fn add_cluster(&mut self, seats: Range<usize>, window: Time) {
        self.clusters.push((seats, window));
    }

    pub fn start(&mut self) {
        for seat in 0..self.seats.len() {
            let Seat { node, calendar, outputs, fingerprint, .. } = &mut self.seats[seat];
            let mut cx = Context {
                now: Time::ZERO,
                horizon: Time::ZERO,
                outer_horizon: Time::ZERO,
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

    /// Messages on links that no node has seen yet: those that lie with their links, and express ones that a calendar has taken.
    pub fn under_way(&self) -> impl Iterator<Item = &N::Message> {
        self.transit.under_way().chain(self.seats.iter().flat_map(|seat| seat.calendar.express()))
    }

    /// The earliest event of this partition and of what it posted.
    pub fn next_event(&self) -> Time {
        self.transit.next_of_block.iter().copied().fold(self.transit.outbox_next, Time::min)
    }

    /// Runs every node up to `end`, exclusive.
    pub fn run_window(&mut self, end: Time) {
        self.transit.outbox_next = Time::NEVER;
        for cluster in 0..self.clusters.len() {
            let (seats, window) = self.clusters[cluster].clone();
            if window == Time::NEVER {
                self.run_range(seats, end, end);
            } else {
                loop {
                    let start = self.transit.next[seats.clone()].iter().copied().fold(Time::NEVER, Time::min);
                    if start >= end {
                        break;
                    }
                    self.run_range(seats.clone(), (start + window).min(end), end);
                }
            }
        }
    }

    /// Runs those of a range of nodes that have an event before `end`.
    fn run_range(&mut self, seats: Range<usize>, end: Time, outer_end: Time) {
        let mut first = seats.start;
        while first < seats.end {
            let block = first / BLOCK;
            let last = ((block + 1) * BLOCK).min(seats.end);
            if self.transit.next_of_block[block] < end {
                for seat in first..last {
                    if self.transit.next[seat] < end {
                        self.run_node(seat, end, outer_end);
                    }
                }
                self.transit.settle(block);
            }
            first = last;
        }
    }

    fn run_node(&mut self, index: usize, end: Time, outer_end: Time) {
        let Seat { node, calendar, outputs, in_links, fingerprint, .. } = &mut self.seats[index];
        let mut woken = std::mem::take(&mut self.transit.woken[index]);
        for slot in woken.drain(..) {
            let first = self.transit.channels[in_links[slot as usize] as usize].fifo.front();
            calendar.set_link(slot as usize, first.map(|f| f.0));
        }
        self.transit.woken[index] = woken;
        for express in self.transit.express[index].drain(..) {
            calendar.push_express(express);
        }
        let mut cx = Context {
            now: Time::ZERO,
            horizon: end,
            outer_horizon: outer_end,
            calendar,
            outputs,
            transit: &mut self.transit,
            fingerprint: *fingerprint,
        };
        let mut events = 0;
        let next = loop {
            let key = cx.calendar.top();
            cx.now = Calendar::<N::Message>::time_of(key);
            if cx.now >= end {
                break if key == NO_EVENT { Time::NEVER } else { cx.now };
            }
            events += 1;
            match cx.calendar.slot_of(key) {
                Slot::Link(link) => {
                    let fifo = &mut cx.transit.channels[in_links[link] as usize].fifo;
                    let Some((_, message)) = fifo.pop_front() else {
                        unreachable!("a link's slot is set only while its FIFO holds a message")
                    };
                    let next = fifo.front().map(|f| f.0);
                    cx.calendar.set_link(link, next);
                    cx.record(key ^ message.digest());
                    node.on_arrival(link, message, &mut cx);
                }
                Slot::Output(output) => {
                    let was_in_tree = cx.calendar.take_output(output, key);
                    node.on_output(output, &mut cx);
                    if was_in_tree {
                        cx.calendar.settle_output(output);
                    }
                }
                Slot::Timer => {
                    if let Some(token) = cx.calendar.pop_timer() {
                        node.on_timer(token, &mut cx);
                    }
                }
                Slot::Express => {
                    if let Some(express) = cx.calendar.pop_express() {
                        cx.record(key ^ express.message.digest());
                        node.on_arrival(express.link as usize, express.message, &mut cx);
                    }
                }
            }
        };
        *fingerprint = cx.fingerprint;
        self.events += events;
        self.transit.next[index] = next;
    }
}
