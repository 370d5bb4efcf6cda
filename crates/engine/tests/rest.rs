//! Suspended nodes: a part of a network that sends nothing may be suspended until a message reaches the part,
//! with equal results.

use std::ops::ControlFlow;

use xoff_engine::random::Stream;
use xoff_engine::{Context, Engine, Finish, LinkSpec, Message, Node, Plan};
use xoff_units::{Duration, Moment};

/// A message; a hot stone leaves its group after a number of hops.
#[derive(Clone, Copy)]
struct Stone(u64);

impl Message for Stone {
    type Side = ();

    fn digest(&self) -> [u64; 2] {
        [self.0, 0]
    }

    fn side(&self) -> Option<u32> {
        None
    }

    fn at_side(self, _: u32) -> Self {
        self
    }
}

const GROUPS: u32 = 5;
const SHORT: Duration = Duration(500);
const LONG: Duration = Duration(20_000);
const END: Moment = Moment(3_000_000);

/// One of four nodes that pass a stone on; the first node of a group passes hot stones to the next group.
struct Hand {
    stream: Stream,
    is_first: bool,
    begins: bool,
    hot: i32,
}

impl Node for Hand {
    type Message = Stone;

    fn on_start(&mut self, cx: &mut Context<'_, Stone>) {
        if self.is_first {
            cx.set_timer(Moment(100), 0);
        }
        if self.begins {
            cx.set_timer(Moment(300), 2);
        }
    }

    fn on_arrival(&mut self, link: usize, Stone(hot): Stone, cx: &mut Context<'_, Stone>) {
        // A stone by the second link came from another group.
        let hot = if link == 1 { 2 + self.stream.below(40) } else { hot.saturating_sub(u64::from(hot > 1)) };
        self.hot += i32::from(link == 1);
        cx.set_timer(cx.now() + Duration(10 + self.stream.below(3_000)), hot);
    }

    fn on_timer(&mut self, hot: u64, cx: &mut Context<'_, Stone>) {
        if hot == 1 && self.is_first {
            self.hot -= 1;
            if cx.now() < END {
                cx.send(1, cx.now() + LONG, Stone(1));
            }
        } else if cx.now() < END {
            cx.send(0, cx.now() + SHORT, Stone(hot));
        }
    }

    fn on_output(&mut self, _: usize, _: &mut Context<'_, Stone>) {}
}

fn engine(plan: Plan) -> Engine<Hand> {
    let mut links = Vec::new();
    for node in 0..4 * GROUPS {
        let next = node / 4 * 4 + (node + 1) % 4;
        links.push(LinkSpec { from: (node, 0), to: (next, 0), lookahead: SHORT });
        if node % 4 == 0 {
            links.push(LinkSpec { from: (node, 1), to: ((node + 4) % (4 * GROUPS), 1), lookahead: LONG });
        }
    }
    let hand = |node| Hand {
        stream: Stream::new(1, node, "hand"),
        is_first: node % 4 == 0,
        begins: node == 0,
        hot: 0,
    };
    let groups: Vec<u32> = (0..4 * GROUPS).map(|node| node / 4 * 4).collect();
    Engine::new((0..u64::from(4 * GROUPS)).map(hand).collect(), &groups, &links, plan).unwrap()
}

#[test]
fn what_nothing_leaves_may_be_left_behind() {
    let mut whole = engine(Plan::default());
    assert_eq!(whole.run(|_| ControlFlow::Continue(())), Finish::Idle);
    for (threads, partitions, clusters) in [(1, 1, true), (1, 3, true), (2, 5, true), (2, 2, false)] {
        let plan = Plan {
            threads,
            partitions: Some(partitions),
            clusters,
            checkpoint: Duration(30_000),
            solo_below: 0,
            ..Plan::default()
        };
        let mut parts = engine(plan);
        let mut resting: Vec<Option<Moment>> = vec![None; GROUPS as usize];
        let (mut rests, mut reached, mut over) = (0, 0, 0);
        let finish = parts.run(|cp| {
            for group in 0..GROUPS {
                let nodes: Vec<u32> = (4 * group..4 * group + 4).collect();
                let until = &mut resting[group as usize];
                if let Some(at) = *until {
                    let is_reached = cp.first_since_suspension(&nodes) < cp.now;
                    if is_reached || at <= cp.now {
                        cp.resume(&nodes);
                        *until = None;
                        reached += u32::from(is_reached);
                        over += u32::from(!is_reached);
                    }
                } else if cp.called.is_none()
                    && cp.now < END
                    && nodes.iter().map(|node| cp.node(*node).hot).sum::<i32>() == 0
                {
                    // The group has no hot stone, and sends none out before a stone arrives.
                    let at = cp.now + Duration(700 + 61_000 * u64::from(group % 3));
                    cp.suspend(&nodes);
                    cp.call(at);
                    *until = Some(at);
                    rests += 1;
                }
            }
            ControlFlow::Continue(())
        });
        assert_eq!(
            (finish, parts.fingerprint()),
            (Finish::Idle, whole.fingerprint()),
            "{threads} {partitions} {clusters}"
        );
        assert_eq!(parts.statistics().events, whole.statistics().events);
        assert!(rests > 20 && reached > 3 && over > 3, "{rests} {reached} {over}");
    }
}
