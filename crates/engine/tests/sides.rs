//! Side records influence later events as much as messages do, and are part of the receiving node's digest
//! while in flight.

use std::ops::ControlFlow;

use xoff_engine::state::{State, StateVisitor};
use xoff_engine::{Context, Engine, LinkSpec, Message, Node, Plan};
use xoff_units::{Duration, Moment};

/// A letter with an enclosure.
#[derive(Clone, Copy)]
struct Letter(Option<u32>);

#[derive(Default)]
struct Enclosed(u64);

impl State for Enclosed {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(self.0);
    }
}

impl State for Letter {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        if let Some(slot) = self.0 {
            walk.side(slot);
        }
    }
}

impl Message for Letter {
    type Side = Enclosed;

    fn digest(&self) -> [u64; 2] {
        [0, 0]
    }

    fn side(&self) -> Option<u32> {
        self.0
    }

    fn at_side(self, slot: u32) -> Self {
        Self(Some(slot))
    }
}

/// Sends its letters after a while.
struct Writer(Vec<Option<u64>>);

impl State for Writer {
    fn walk(&mut self, _: &mut StateVisitor<'_>) {}
}

impl Node for Writer {
    type Message = Letter;

    fn on_start(&mut self, cx: &mut Context<'_, Letter>) {
        cx.set_timer(Moment(100), 0);
        // A checkpoint comes before the timer.
        cx.set_timer(Moment(22_000), 0);
    }

    fn on_timer(&mut self, _: u64, cx: &mut Context<'_, Letter>) {
        for (place, enclosed) in (0..).zip(std::mem::take(&mut self.0)) {
            let slot = enclosed.map(|enclosed| {
                let slot = cx.sides().take();
                cx.sides().get(slot).0 = enclosed;
                slot
            });
            cx.send(0, Moment(25_000 + place), Letter(slot));
        }
    }

    fn on_arrival(&mut self, _: usize, letter: Letter, cx: &mut Context<'_, Letter>) {
        if let Some(slot) = letter.0 {
            cx.sides().give_back(slot);
        }
    }

    fn on_output(&mut self, _: usize, _: &mut Context<'_, Letter>) {}
}

/// Returns the receiving node's digest while these letters are in flight, and the number of words.
fn digest(letters: &[Option<u64>], partitions: usize) -> (u64, u64) {
    let links = [LinkSpec { from: (0, 0), to: (1, 0), lookahead: Duration(10_000) }];
    let plan = Plan { partitions: Some(partitions), checkpoint: Duration(5_000), ..Plan::default() };
    let mut engine =
        Engine::new(vec![Writer(letters.to_vec()), Writer(Vec::new())], &[0, 1], &links, plan).unwrap();
    let mut seen = None;
    engine.run(|cp| {
        if cp.now == Moment(20_000) {
            let mut walk = StateVisitor::digest(cp.now, &|_| 0);
            cp.walk_some([1], &mut walk);
            let snapshot = walk.snapshot();
            seen = Some((snapshot.digest(), snapshot.count));
        }
        ControlFlow::Continue(())
    });
    seen.unwrap()
}

#[test]
fn what_is_enclosed_is_in_a_digest() {
    let usual = [Some(1), None, Some(2)];
    for partitions in [1, 2] {
        let (seen, words) = digest(&usual, partitions);
        assert_eq!((seen, words), digest(&usual, 1), "whoever has it");
        for other in [[Some(1), None, Some(3)], [Some(2), None, Some(1)], [Some(1), Some(2), None]] {
            assert_ne!(seen, digest(&other, partitions).0, "{other:?}");
        }
        assert!(words > digest(&[None, None, None], partitions).1, "it costs what it takes to look at it");
    }
}
