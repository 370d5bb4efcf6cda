//! A PHOLD-like model without packets: results must not depend on threads, window, clusters or partition.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use xoff_engine::random::Stream;
use xoff_engine::{Context, Engine, Finish, LinkSpec, Message, Node, Plan};
use xoff_units::{Duration, Moment};

/// A ball; every third ball has a ribbon, which counts the throws.
#[derive(Clone, Copy)]
struct Ball(u64, Option<u32>);

impl Message for Ball {
    type Side = u64;

    fn digest(&self) -> [u64; 2] {
        [self.0, 0]
    }

    fn side(&self) -> Option<u32> {
        self.1
    }

    fn at_side(self, slot: u32) -> Self {
        Self(self.0, Some(slot))
    }
}

struct Player {
    stream: Stream,
    delays: Vec<Duration>,
    last_arrival: Vec<Moment>,
    is_woken: Vec<bool>,
    seen: u64,
    caught: u64,
    throws: u64,
}

impl Player {
    /// Throws a ball with its ribbon; every third ball without a ribbon gets one.
    fn throw(&mut self, ball: u64, ribbon: Option<u32>, cx: &mut Context<'_, Ball>) {
        if self.throws == 0 {
            if let Some(slot) = ribbon {
                cx.sides().give_back(slot);
            }
            return;
        }
        let ribbon = ribbon.or_else(|| {
            ball.is_multiple_of(3).then(|| {
                let slot = cx.sides().take();
                *cx.sides().get(slot) = ball;
                slot
            })
        });
        self.throws -= 1;
        let out = self.stream.below(self.delays.len() as u64) as usize;
        let at =
            (cx.now() + self.delays[out] + Duration(self.stream.below(3) * 500)).max(self.last_arrival[out]);
        self.last_arrival[out] = at;
        if self.stream.below(10) == 0 {
            cx.send_express(out, cx.now() + self.delays[out], Ball(ball | 1 << 63, ribbon));
        } else {
            cx.send(out, at, Ball(ball, ribbon));
        }
    }
}

impl Node for Player {
    type Message = Ball;

    fn on_start(&mut self, cx: &mut Context<'_, Ball>) {
        for k in 0..3 {
            cx.set_timer(Moment(k * 100), k);
        }
    }

    fn on_arrival(&mut self, link: usize, ball: Ball, cx: &mut Context<'_, Ball>) {
        self.caught += 1;
        self.seen = self.seen.wrapping_mul(31).wrapping_add(ball.0 ^ link as u64 ^ cx.now().ps());
        if let Some(slot) = ball.1 {
            let tells = cx.sides().get(slot);
            *tells += 1;
            self.seen = self.seen.wrapping_mul(31).wrapping_add(*tells);
        }
        let choice = self.stream.below(3);
        let is_thrown = choice == 2 || choice == 1 && self.is_woken[link];
        if let Some(slot) = ball.1.filter(|_| !is_thrown) {
            cx.sides().give_back(slot);
        }
        match choice {
            0 => cx.set_timer(cx.now() + Duration(self.stream.below(4) * 500), ball.0),
            1 if !self.is_woken[link] => {
                self.is_woken[link] = true;
                cx.wake_output(link, cx.now() + Duration(self.stream.below(2) * 500));
            }
            _ => self.throw(ball.0 + 1, ball.1, cx),
        }
    }

    fn on_timer(&mut self, token: u64, cx: &mut Context<'_, Ball>) {
        self.throw(token + 1, None, cx);
    }

    fn on_output(&mut self, output: usize, cx: &mut Context<'_, Ball>) {
        assert!(cx.settled(output), "outputs come after all arrivals and timers of a moment");
        self.is_woken[output] = false;
        self.throw(output as u64, None, cx);
    }
}

const THROWS: u64 = 400;

/// A ring of `groups` × 4 players: short links inside a group of four, long ones between.
fn ring(groups: u32, (short, long): (u64, u64), plan: Plan) -> Engine<Player> {
    let n = groups * 4;
    let mut delays = vec![Vec::new(); n as usize];
    let mut links = Vec::new();
    let mut in_count = vec![0_u32; n as usize];
    let mut join = |a: u32, b: u32, delay: u64, delays: &mut Vec<Vec<Duration>>| {
        links.push(LinkSpec {
            from: (a, delays[a as usize].len() as u32),
            to: (b, in_count[b as usize]),
            lookahead: Duration(delay),
        });
        in_count[b as usize] += 1;
        delays[a as usize].push(Duration(delay));
    };
    for a in 0..n {
        for b in (a / 4 * 4)..(a / 4 * 4 + 4) {
            if a != b {
                join(a, b, short, &mut delays);
            }
        }
        join(a, (a + 4) % n, long, &mut delays);
    }
    let nodes = delays
        .iter()
        .enumerate()
        .map(|(i, d)| Player {
            stream: Stream::new(1, i as u64, "phold"),
            delays: d.clone(),
            last_arrival: vec![Moment::ZERO; d.len()],
            is_woken: vec![false; d.len()],
            seen: 0,
            caught: 0,
            throws: THROWS,
        })
        .collect();
    let home: Vec<u32> = (0..n).map(|i| i / 4 * 4).collect();
    Engine::new(nodes, &home, &links, plan).unwrap()
}

fn play(lengths: (u64, u64), plan: Plan) -> (u64, Vec<u64>, u64) {
    let mut engine = ring(6, lengths, plan);
    let mut checkpoints = 0;
    let finish = engine.run(|_| {
        checkpoints += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((finish, engine.sides()), (Finish::Idle, 0));
    let fingerprint = engine.fingerprint();
    (fingerprint, engine.into_nodes().iter().map(|p| p.seen).collect(), checkpoints)
}

/// Rows in which each two choices of any two factors meet at least once; `levels` are the choices of each
/// factor.
fn pairwise(levels: &[usize]) -> Vec<Vec<usize>> {
    let all = levels.iter().fold(vec![Vec::new()], |rows: Vec<Vec<usize>>, n| {
        rows.iter().flat_map(|row| (0..*n).map(move |level| [row.as_slice(), &[level]].concat())).collect()
    });
    let pairs = |row: &[usize]| -> Vec<_> {
        (0..row.len())
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| (a, row[a], b, row[b]))
            .collect()
    };
    let mut missing: BTreeSet<_> = all.iter().flat_map(|row| pairs(row)).collect();
    let mut chosen = Vec::new();
    while !missing.is_empty() {
        let new = |row: &&Vec<usize>| pairs(row).iter().filter(|pair| missing.contains(pair)).count();
        let best = all.iter().max_by_key(new).unwrap().clone();
        for pair in pairs(&best) {
            missing.remove(&pair);
        }
        chosen.push(best);
    }
    chosen
}

#[test]
fn result_depends_on_nothing_but_the_model() {
    let lengths = [(1_000, 1_000), (1_000, 40_000), (500, 1_500)];
    let partitions = [None, Some(1), Some(2), Some(3), Some(7)];
    let windows = [None, Some(Duration(1)), Some(Duration(333)), Some(Duration(1_000_000))];
    let base = lengths.map(|lengths| play(lengths, Plan { clusters: false, ..Plan::default() }));
    for row in pairwise(&[lengths.len(), 3, partitions.len(), windows.len(), 2, 2]) {
        let plan = Plan {
            threads: 1 + row[1],
            partitions: partitions[row[2]],
            window: windows[row[3]],
            clusters: row[4] == 1,
            solo_below: [0, u64::MAX][row[5]],
            ..Plan::default()
        };
        assert!(play(lengths[row[0]], plan.clone()) == base[row[0]], "{:?} {plan:?}", lengths[row[0]]);
    }
}

#[test]
fn what_is_under_way_is_counted_wherever_it_lies() {
    let lengths = (1_000, 40_000);
    for (threads, partitions, window) in
        [(1, 1, None), (1, 3, Some(Duration(333))), (2, 2, None), (3, 7, Some(Duration(1)))]
    {
        for until in [Moment(3_000), Moment(77_777), Moment(200_000)] {
            let plan = Plan {
                threads,
                partitions: Some(partitions),
                window,
                until,
                solo_below: 0,
                ..Plan::default()
            };
            let mut engine = ring(6, lengths, plan);
            engine.run(|_| ControlFlow::Continue(()));
            let (mut under_way, mut ribbons) = (0, 0);
            engine.for_each_under_way(|ball| {
                under_way += 1;
                ribbons += usize::from(ball.1.is_some());
            });
            assert!(ribbons > 0 && engine.sides() == ribbons);
            let players = engine.into_nodes();
            let thrown: u64 = players.iter().map(|p| THROWS - p.throws).sum();
            let caught: u64 = players.iter().map(|p| p.caught).sum();
            assert!(
                under_way > 0 && thrown == caught + under_way,
                "{thrown} thrown, {caught} caught, {under_way} under way at {until}"
            );
        }
    }
}

#[test]
fn a_checkpoint_stops_the_run_where_it_stands() {
    struct Ticker(Vec<Moment>);
    impl Node for Ticker {
        type Message = Ball;
        fn on_start(&mut self, cx: &mut Context<'_, Ball>) {
            cx.set_timer(Moment(10), 0);
        }
        fn on_arrival(&mut self, _: usize, _: Ball, _: &mut Context<'_, Ball>) {}
        fn on_timer(&mut self, _: u64, cx: &mut Context<'_, Ball>) {
            self.0.push(cx.now());
            cx.set_timer(cx.now() + Duration(700), 0);
        }
        fn on_output(&mut self, _: usize, _: &mut Context<'_, Ball>) {}
    }
    let links = [LinkSpec { from: (0, 0), to: (0, 0), lookahead: Duration(1_000) }];
    let mut all = Vec::new();
    // Requested moments lie between grid moments. The engine ignores requests in the past, and requests
    // beyond the next grid moment.
    for (asked, expected) in [
        (vec![], vec![0, 5_000, 10_000, 15_000, 20_000]),
        (vec![(5_000, 7_777), (7_777, 7_778)], vec![0, 5_000, 7_777, 7_778, 10_000, 15_000, 20_000]),
        (
            vec![(5_000, 4_000), (10_000, 15_000), (15_000, 16_000)],
            vec![0, 5_000, 10_000, 15_000, 16_000, 20_000],
        ),
    ] {
        let mut seen = Vec::new();
        let plan = Plan { checkpoint: Duration(5_000), ..Plan::default() };
        let mut engine = Engine::new(vec![Ticker(Vec::new())], &[0], &links, plan).unwrap();
        let finish = engine.run(|c| {
            seen.push(c.now);
            c.next = asked.iter().find(|at| Moment(at.0) == c.now).map(|at| Moment(at.1));
            if c.now >= Moment(20_000) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(finish, Finish::Stopped);
        assert_eq!(seen, expected.into_iter().map(Moment).collect::<Vec<_>>());
        let ticks = engine.into_nodes().remove(0).0;
        assert!(ticks.last().is_some_and(|t| *t > Moment(19_000) && *t < Moment(20_000)));
        all.push(ticks);
    }
    assert!(all.iter().all(|ticks| *ticks == all[0]), "looking changes nothing");
}

#[test]
#[should_panic(expected = "arrives within its own window")]
fn too_early_a_message_is_caught() {
    struct Hasty;
    impl Node for Hasty {
        type Message = Ball;
        fn on_start(&mut self, cx: &mut Context<'_, Ball>) {
            cx.set_timer(Moment(10), 0);
        }
        fn on_arrival(&mut self, _: usize, _: Ball, _: &mut Context<'_, Ball>) {}
        fn on_timer(&mut self, _: u64, cx: &mut Context<'_, Ball>) {
            cx.send(0, cx.now() + Duration(1), Ball(0, None));
        }
        fn on_output(&mut self, _: usize, _: &mut Context<'_, Ball>) {}
    }
    let links = [LinkSpec { from: (0, 0), to: (1, 0), lookahead: Duration(1_000) }];
    let mut engine = Engine::new(vec![Hasty, Hasty], &[0, 1], &links, Plan::default()).unwrap();
    engine.run(|_| ControlFlow::Continue(()));
}

#[test]
fn a_panic_on_one_thread_ends_all() {
    struct Faulty(u32);
    impl Node for Faulty {
        type Message = Ball;
        fn on_start(&mut self, cx: &mut Context<'_, Ball>) {
            cx.set_timer(Moment(10), 0);
        }
        fn on_arrival(&mut self, _: usize, _: Ball, _: &mut Context<'_, Ball>) {}
        fn on_timer(&mut self, _: u64, cx: &mut Context<'_, Ball>) {
            assert!(!(self.0 == 3 && cx.now() > Moment(100_000)), "node 3 is faulty");
            cx.set_timer(cx.now() + Duration(100), 0);
        }
        fn on_output(&mut self, _: usize, _: &mut Context<'_, Ball>) {}
    }
    let links: Vec<LinkSpec> =
        (0..4).map(|i| LinkSpec { from: (i, 0), to: ((i + 1) % 4, 0), lookahead: Duration(1_000) }).collect();
    let plan = Plan { threads: 2, solo_below: 0, ..Plan::default() };
    let mut engine = Engine::new((0..4).map(Faulty).collect(), &[0, 1, 2, 3], &links, plan).unwrap();
    let result =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.run(|_| ControlFlow::Continue(()))));
    assert!(result.is_err());
}
