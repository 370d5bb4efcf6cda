//! Busy periods alone, without other periods.

use std::collections::BTreeSet;

use serde_json::Value;
use xoff_engine::Plan;
use xoff_models::traffic::application::period;
use xoff_units::Duration;

use super::*;
use crate::fast_forward::Forwarded;
use crate::fast_forward::search::Search;
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

/// Runs a job in which the observer replays busy periods, and changes the recorded busy periods before each
/// replay.
fn run(spoil: impl Fn(&mut BusyPeriods)) -> (Outcome, Forwarded) {
    let (mut search, mut shared) = (None, Shared::new(Moment::NEVER, None));
    shared.budget.expect(u64::MAX / 1_000_000);
    let runner = Runner::new(from_toml(JOB, &[]).unwrap(), |_| None).unwrap();
    let plan = Plan { checkpoint: Duration::us(1), fast_forward: false, ..Plan::default() };
    let outcome = runner.run_with(plan, &mut (), |cp| {
        let search = search.get_or_insert_with(|| Search::of(Scope::whole(cp, None), cp));
        while let Some(found) = search.recall(&mut shared, cp) {
            spoil(&mut search.busy_periods);
            search.fast_forward(found, 1, &mut shared, cp);
        }
        !search.keeps_rows()
    });
    (outcome.unwrap(), shared.forwarded)
}

fn nothing(_: &mut BusyPeriods) {}

fn results(outcome: &Outcome) -> (Value, String, u64) {
    let mut all = serde_json::to_value(&outcome.summary).unwrap();
    all.as_object_mut().unwrap().remove("performance");
    (all, format!("{:?}", outcome.tables), outcome.summary.performance.data_packet_hops)
}

/// Returns the totals that grew in a recorded busy period.
fn grown(busy_periods: &mut BusyPeriods) -> BTreeSet<usize> {
    let memories =
        busy_periods.known.values_mut().flatten().filter_map(|busy_period| busy_period.second.as_mut());
    memories.flat_map(|memory| after(memory).grown(&memory.totals)).collect()
}

fn after(memory: &mut Memory) -> Totals {
    let mut walk = StateVisitor::note(memory.second[1].at, &memory.second[1].offsets);
    (0..).zip(&mut memory.nodes).for_each(|(id, node)| node.walk(id, &mut walk));
    walk.totals()
}

fn without(busy_periods: &mut BusyPeriods, place: usize) {
    for memory in
        busy_periods.known.values_mut().flatten().filter_map(|busy_period| busy_period.second.as_mut())
    {
        let now = after(memory);
        if now.grown(&memory.totals).contains(&place) {
            memory.totals = std::mem::take(&mut memory.totals).leaving_out(place, &now);
        }
    }
}

fn usual() -> Outcome {
    Runner::new(from_toml(JOB, &[]).unwrap(), |_| None)
        .unwrap()
        .run(Plan { fast_forward: false, ..Plan::default() }, &mut ())
        .unwrap()
}

#[test]
fn a_run_with_replayed_busy_periods_ends_as_a_full_run() {
    let (outcome, forwarded) = run(nothing);
    assert_eq!(results(&outcome), results(&usual()));
    let hops = outcome.summary.performance.data_packet_hops;
    let share = forwarded.packet_hops[period::place(period::BUSY)] as f64 / hops as f64;
    // In the first iteration connections begin, and in the last they end.
    assert!(share > 0.4 && forwarded.busy_periods > 10, "{share} {}", forwarded.busy_periods);
}

#[test]
fn a_total_left_out_of_a_busy_period_is_noticed() {
    let expected = results(&usual());
    let places = std::cell::RefCell::new(BTreeSet::new());
    run(|busy_periods| places.borrow_mut().extend(grown(busy_periods)));
    let places = places.into_inner();
    assert!(places.len() > 20, "{}", places.len());
    let is_noticed = |place: usize| results(&run(|busy_periods| without(busy_periods, place)).0) != expected;
    let unnoticed: Vec<usize> = places.iter().copied().filter(|place| !is_noticed(*place)).collect();
    // The audit of stalls alone reads the packets gained by hosts.
    assert!(unnoticed.len() <= 2, "{unnoticed:?} of {}", places.len());
}

#[test]
fn a_busy_period_replayed_a_picosecond_late_is_noticed() {
    let late = |busy_periods: &mut BusyPeriods| {
        for memory in
            busy_periods.known.values_mut().flatten().filter_map(|busy_period| busy_period.second.as_mut())
        {
            memory.second[0].at = memory.second[0].at - Duration(1);
        }
    };
    assert_ne!(results(&run(late).0), results(&usual()));
}

#[test]
fn a_copy_with_other_totals_is_not_replayed() {
    // Totals of another shape: no busy period is replayed.
    let spoil = |busy_periods: &mut BusyPeriods| {
        for memory in
            busy_periods.known.values_mut().flatten().filter_map(|busy_period| busy_period.second.as_mut())
        {
            memory.totals = Totals::default();
        }
    };
    let (outcome, forwarded) = run(spoil);
    assert_eq!((results(&outcome), forwarded.busy_periods), (results(&usual()), 0));
}
