//! Turns: a node may order messages of one moment by turns and not by in-links, whatever partitions sent the messages.

use std::ops::ControlFlow;

use xoff_engine::{Context, Engine, LinkSpec, Message, Node, Plan};
use xoff_units::{Duration, Moment};

const SENDERS: u32 = 6;
const DELAY: Duration = Duration(1_000);

/// A message of a sender, which is also the turn of the message.
#[derive(Clone, Copy)]
struct From(u32);

impl Message for From {
    type Side = ();

    fn digest(&self) -> [u64; 2] {
        [u64::from(self.0), 0]
    }

    fn turn(&self) -> u64 {
        u64::from(self.0)
    }
}

/// A sender, or the receiver, which notes the senders in the order of arrival.
struct Hand {
    /// For a sender: its number, and the in-link in whose place the message comes.
    sends: Option<(u32, u16)>,
    has_turns: bool,
    seen: Vec<u32>,
}

impl Node for Hand {
    type Message = From;

    fn has_turns(&self) -> bool {
        self.has_turns
    }

    fn on_start(&mut self, cx: &mut Context<'_, From>) {
        if self.sends.is_some() {
            cx.set_timer(Moment(10), 0);
        }
    }

    fn on_arrival(&mut self, _: usize, From(sender): From, _: &mut Context<'_, From>) {
        self.seen.push(sender);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Context<'_, From>) {
        if let Some((sender, place)) = self.sends {
            cx.send_in_turn(0, place, cx.now() + DELAY, From(sender));
        }
    }

    fn on_output(&mut self, _: usize, _: &mut Context<'_, From>) {}
}

/// Returns the order of arrival of messages that all arrive at one moment.
fn order(places: [u16; SENDERS as usize], has_turns: bool, partitions: usize) -> Vec<u32> {
    let sender = |(sender, place): (u32, u16)| Hand {
        sends: Some((sender, place)),
        has_turns: false,
        seen: Vec::new(),
    };
    let mut nodes: Vec<Hand> = (0..).zip(places).map(sender).collect();
    nodes.push(Hand { sends: None, has_turns, seen: Vec::new() });
    let link = |from: u32| LinkSpec { from: (from, 0), to: (SENDERS, from), lookahead: DELAY };
    let links: Vec<LinkSpec> = (0..SENDERS).map(link).collect();
    // The senders with the highest numbers are in the partition of the receiver.
    let groups: Vec<u32> = (0..=SENDERS).map(|node| if node > 3 { SENDERS } else { node }).collect();
    let plan = Plan { partitions: Some(partitions), clusters: false, ..Plan::default() };
    let mut engine = Engine::new(nodes, &groups, &links, plan).unwrap();
    engine.run(|_| ControlFlow::Continue(()));
    engine.into_nodes().pop().unwrap().seen
}

#[test]
fn a_message_comes_in_the_place_of_another_link() {
    for partitions in 1..=4 {
        assert_eq!(order([0, 1, 2, 3, 4, 5], false, partitions), [0, 1, 2, 3, 4, 5]);
        assert_eq!(order([3, 4, 5, 0, 1, 2], false, partitions), [3, 4, 5, 0, 1, 2]);
    }
}

#[test]
fn messages_in_one_place_come_by_turn_whatever_the_partitions() {
    for partitions in 1..=4 {
        assert_eq!(order([1, 0, 1, 0, 1, 0], true, partitions), [1, 3, 5, 0, 2, 4]);
    }
    // Without turns the order is that of sending, and messages of other partitions are sent last.
    assert_ne!(order([1, 0, 1, 0, 1, 0], false, 4), order([1, 0, 1, 0, 1, 0], true, 4));
}
