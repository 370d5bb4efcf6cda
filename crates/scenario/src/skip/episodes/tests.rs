//! Episodes by themselves, with nothing else skipped beside them.

use std::collections::BTreeSet;

use serde_json::Value;
use xoff_engine::Plan;
use xoff_units::Duration;

use super::*;
use crate::skip::Skipped;
use crate::skip::budget::Budget;
use crate::{Outcome, Runner, from_toml};

/// In each iteration both layers compute and reduce, forward and backward.
const JOB: &str = r#"
network.star = { hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
framing = { payload = "4096B", header = "48B" }
switch.flow_control.pfc = {}
[[workload]]
[workload.training]
model = { layers = 2, hidden = 1024, heads = 8, sequence = 512, vocabulary = 1024 }
parallel = { tensor = 2 }
micro_batch = 1
global_batch = 1
iterations = 5
compute = { peak = 312e12, efficiency = 0.4 }
"#;

fn common() -> Common {
    let mut budget = Budget::new();
    budget.allow(u64::MAX / 1_000_000);
    Common {
        until: Moment::NEVER,
        elsewhere: None,
        given_up: None,
        budget,
        vain: (0, Vec::new()),
        watched: None,
        kept: 0,
        skipped: Skipped::default(),
    }
}

/// Runs with somebody who recalls episodes, and before each says what he thinks of all that is known.
fn run(spoil: impl Fn(&mut Episodes)) -> (Outcome, Skipped) {
    let (mut search, mut common) = (None, common());
    let runner = Runner::new(from_toml(JOB, &[]).unwrap(), |_| None).unwrap();
    let plan = Plan { checkpoint: Duration::us(1), fast_forward: false, ..Plan::default() };
    let outcome = runner.run_with(plan, &mut (), |cp| {
        let search = search.get_or_insert_with(|| Search::of_all(cp));
        while let Some(found) = search.recall(&mut common, cp) {
            spoil(&mut search.episodes);
            search.put_further(&mut common, found, 1, cp);
        }
        !search.holds()
    });
    (outcome.unwrap(), common.skipped)
}

fn nothing(_: &mut Episodes) {}

fn results(outcome: &Outcome) -> (Value, String, u64) {
    let mut all = serde_json::to_value(&outcome.summary).unwrap();
    all.as_object_mut().unwrap().remove("performance");
    (all, format!("{:?}", outcome.tables), outcome.summary.performance.data_packet_hops)
}

/// The totals that have grown in any episode that is remembered.
fn grown(episodes: &mut Episodes) -> BTreeSet<usize> {
    let memories = episodes.known.values_mut().flatten().filter_map(|episode| episode.second.as_mut());
    memories.flat_map(|memory| after(memory).grown(&memory.totals)).collect()
}

fn after(memory: &mut Memory) -> Totals {
    let mut walk = Walk::note(memory.seen.at, &memory.seen.reached);
    (0..).zip(&mut memory.nodes).for_each(|(id, node)| node.walk(id, &mut walk));
    walk.totals()
}

fn without(episodes: &mut Episodes, place: usize) {
    for memory in episodes.known.values_mut().flatten().filter_map(|episode| episode.second.as_mut()) {
        let now = after(memory);
        if now.grown(&memory.totals).contains(&place) {
            memory.totals = std::mem::take(&mut memory.totals).leaving_out(place, &now);
        }
    }
}

fn usual() -> Outcome {
    Runner::new(from_toml(JOB, &[]).unwrap(), |_| None).unwrap().run(Plan { fast_forward: false, ..Plan::default() }, &mut ()).unwrap()
}

#[test]
fn a_run_in_which_episodes_are_recalled_ends_as_one_that_goes_through_them() {
    let (outcome, skipped) = run(nothing);
    assert_eq!(results(&outcome), results(&usual()));
    let hops = outcome.summary.performance.data_packet_hops;
    let share = skipped.packet_hops[Across::Episodes as usize] as f64 / hops as f64;
    // In the first iteration connections begin, and in the last they end.
    assert!(share > 0.4 && skipped.episodes > 10, "{share} {}", skipped.episodes);
}

#[test]
fn a_total_that_is_left_out_of_an_episode_is_noticed() {
    let expected = results(&usual());
    let places = std::cell::RefCell::new(BTreeSet::new());
    run(|episodes| places.borrow_mut().extend(grown(episodes)));
    let places = places.into_inner();
    assert!(places.len() > 20, "{}", places.len());
    let is_noticed = |place: usize| results(&run(|episodes| without(episodes, place)).0) != expected;
    let unnoticed: Vec<usize> = places.iter().copied().filter(|place| !is_noticed(*place)).collect();
    // What hosts gained is looked at where a run stalls, and nowhere else.
    assert!(unnoticed.len() <= 2, "{unnoticed:?} of {}", places.len());
}

#[test]
fn an_episode_that_is_put_a_picosecond_late_is_noticed() {
    let late = |episodes: &mut Episodes| {
        for memory in episodes.known.values_mut().flatten().filter_map(|episode| episode.second.as_mut()) {
            memory.seen.begun.at = memory.seen.begun.at - Duration(1);
        }
    };
    assert_ne!(results(&run(late).0), results(&usual()));
}

#[test]
fn what_is_kept_no_longer_fits_if_something_else_was_counted() {
    // A total more than there are: nothing is put in place, and all is gone through.
    let spoil = |episodes: &mut Episodes| {
        for memory in episodes.known.values_mut().flatten().filter_map(|episode| episode.second.as_mut()) {
            memory.totals = Totals::default();
        }
    };
    let (outcome, skipped) = run(spoil);
    assert_eq!((results(&outcome), skipped.episodes), (results(&usual()), 0));
}
