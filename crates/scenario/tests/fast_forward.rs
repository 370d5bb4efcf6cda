//! Repeating a recurring stretch (`StateVisitor::repeat`): a run with a repeated stretch has the summary and
//! the tables of a run simulating every repetition. The test fails for a component that does not declare one
//! of its totals.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use xoff_engine::state::{Counter, Offsets, StateVisitor, Totals};
use xoff_engine::{Checkpoint, Plan};
use xoff_models::network::node::Node;
use xoff_scenario::{Data, Outcome, Runner, Table, from_toml};
use xoff_units::{Duration, Moment};

/// A packet of 1048 B at 100 Gb/s.
const PACKET: Duration = Duration(1_048 * 80);

/// Each scenario with the least number of recurring packet times.
const SCENARIOS: &[(&str, &str, u64)] = &[
    (
        "a flow alone",
        r#"
network.star = { hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ flows = [{ src = "host0", dst = "host1", size = "2MB" }] }]
"#,
        1,
    ),
    (
        "a ring, whose data and ACKs share a line",
        r#"
network.star = { hosts = 8, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ collective = { operation = "all_reduce", algorithm = "ring", size = "16MB" } }]
switch.flow_control.pfc = {}
"#,
        100,
    ),
    (
        "two flows into one, which are paused in turn",
        r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ incast = { senders = [0, 1], receiver = 2, size = "6MB" } }]
switch.flow_control.pfc = { xoff = "40KB" }
"#,
        50,
    ),
    (
        "pauses that last a time",
        r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ incast = { senders = [0, 1], receiver = 2, size = "6MB" } }]
switch.flow_control.pfc = { xoff = "40KB", quanta = 100 }
"#,
        50,
    ),
    (
        "virtual output queues",
        r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ incast = { senders = [0, 1], receiver = 2, size = "6MB" } }]
switch = { queueing = "voq", flow_control.pfc = { xoff = "40KB" } }
"#,
        50,
    ),
    (
        "packets that cut through",
        r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ incast = { senders = [0, 1], receiver = 2, size = "6MB" } }]
switch = { cut_through = {}, flow_control.pfc = { xoff = "40KB" } }
"#,
        50,
    ),
    (
        "records beside packets, each of which is written down",
        r#"
network.star = { hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ flows = [{ src = "host0", dst = "host1", size = "2MB" }] }]
switch.telemetry = {}
probe.packets = true
"#,
        1,
    ),
    (
        "samples of queues",
        r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ incast = { senders = [0, 1], receiver = 2, size = "6MB" } }]
switch.flow_control.pfc = { xoff = "40KB" }
probe.queues = "83840ps"
"#,
        50,
    ),
];

/// The progress of all flows under way and all outputs.
#[derive(Clone)]
struct Progress(HashMap<Counter, u64>);

impl Progress {
    fn of(cp: &Checkpoint<'_, Node>) -> Self {
        let mut counters = HashMap::new();
        for node in (0..cp.nodes()).map(|id| cp.node(id)) {
            let flows = node.endpoint.iter().flat_map(|e| e.under_way());
            counters.extend(flows.map(|flow| (Counter::Packets(flow.flow), u64::from(flow.passed))));
            let outputs = node.core.ports.iter().map(|port| port.data_bytes).enumerate();
            counters.extend(outputs.map(|(port, sent)| (Counter::Bytes(node.core.id, port as u16), sent)));
        }
        Self(counters)
    }

    /// Returns the progress since another moment, multiplied by `times`.
    fn since(&self, before: &Self, times: u64) -> Self {
        Self(self.0.iter().map(|(counter, n)| (*counter, (n - before.0[counter]) * times)).collect())
    }
}

impl Offsets for Progress {
    fn offset(&self, counter: Counter) -> u64 {
        self.0.get(&counter).copied().unwrap_or(0)
    }
}

fn digest(cp: &mut Checkpoint<'_, Node>) -> u64 {
    let reached = Progress::of(cp);
    let mut walk = StateVisitor::digest(cp.now, &reached);
    cp.walk(&mut walk);
    walk.result()
}

fn totals(cp: &mut Checkpoint<'_, Node>) -> Totals {
    let mut walk = StateVisitor::note(cp.now, &|_| 0);
    cp.walk(&mut walk);
    walk.totals()
}

fn run(text: &str, look: impl FnMut(&mut Checkpoint<'_, Node>) -> bool) -> Outcome {
    let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
    runner
        .run_with(Plan { checkpoint: PACKET, fast_forward: false, ..Plan::default() }, &mut (), look)
        .unwrap()
}

/// The summary without the performance group and the fingerprint. The fingerprint covers every arrival, also
/// arrivals never simulated.
fn summary(outcome: &Outcome) -> Value {
    let mut all = serde_json::to_value(&outcome.summary).unwrap();
    for key in ["performance", "fingerprint"] {
        all.as_object_mut().unwrap().remove(key);
    }
    all
}

fn cells(data: &Data) -> Vec<String> {
    fn all<T: std::fmt::Debug>(cells: &[T]) -> Vec<String> {
        cells.iter().map(|cell| format!("{cell:?}")).collect()
    }
    match data {
        Data::U64(cells) => all(cells),
        Data::MaybeU64(cells) => all(cells),
        Data::U32(cells) | Data::Name(cells, _) => all(cells),
        Data::U16(cells) => all(cells),
        Data::U8(cells) => all(cells),
        Data::F64(cells) => all(cells),
        Data::MaybeF64(cells) => all(cells),
        Data::Static(cells) => all(cells),
        Data::MaybeU16(cells) => all(cells),
        Data::MaybeBool(cells) => all(cells),
        Data::MaybeU32(cells) | Data::MaybeName(cells, _) => all(cells),
        Data::MaybeStatic(cells) => all(cells),
        Data::MaybeText(cells) => all(cells),
    }
}

/// The rows of all tables, sorted: rows of one moment have the order of collection.
fn rows(outcome: &Outcome) -> BTreeMap<&'static str, Vec<Vec<String>>> {
    let table = |t: &Table| {
        let columns: Vec<Vec<String>> = t.columns.iter().map(|c| cells(&c.data)).collect();
        let row = |n: usize| columns.iter().map(|cells| cells[n].clone()).collect::<Vec<_>>();
        let mut rows: Vec<Vec<String>> = (0..columns.first().map_or(0, Vec::len)).map(row).collect();
        rows.sort();
        (t.name, rows)
    };
    outcome.tables.iter().map(table).collect()
}

/// Returns two moments with equal states, the second at least `least` packet times after the first. Counters
/// created on demand exist at the first moment.
fn period(name: &str, text: &str, least: u64) -> (Moment, Moment) {
    let mut seen: HashMap<u64, Moment> = HashMap::new();
    let mut found = None;
    run(text, |cp| {
        if found.is_none() {
            let first = *seen.entry(digest(cp)).or_insert(cp.now);
            if cp.now - first >= PACKET * least {
                found = Some((first, cp.now));
            }
        }
        true
    });
    let (first, second): (Moment, Moment) = found.unwrap_or_else(|| panic!("{name} repeats itself"));
    (second, second + (second - first))
}

#[test]
fn a_run_in_which_a_stretch_is_repeated_ends_as_one_that_goes_through_it() {
    for (name, text, least) in SCENARIOS {
        let (from, to) = period(name, text, *least);
        let usual = run(text, |_| true);
        for times in [1, 4] {
            let mut before: Option<(Totals, Progress, u64)> = None;
            let mut is_done = false;
            let repeated = run(text, |cp| {
                if cp.now == from && before.is_none() {
                    before = Some((totals(cp), Progress::of(cp), digest(cp)));
                }
                if cp.now == to && !is_done {
                    is_done = true;
                    let (totals, then, situation) = before.clone().unwrap();
                    assert_eq!(digest(cp), situation, "{name}");
                    let further = Progress::of(cp).since(&then, times);
                    let mut walk = StateVisitor::repeat(cp.now, to - from, times, totals, &further);
                    cp.walk(&mut walk);
                    assert!(walk.fits(), "{name}");
                }
                before.is_none() || is_done
            });
            assert!(is_done);
            assert_eq!(summary(&repeated), summary(&usual), "{name}, {times} times");
            assert_eq!(rows(&repeated), rows(&usual), "{name}, {times} times");
            let events = |outcome: &Outcome| outcome.summary.performance.events;
            assert!(events(&repeated) < events(&usual), "{name}: some of it was not simulated");
        }
    }
}

#[test]
fn what_is_not_as_it_was_is_not_repeated() {
    let (name, text, least) = SCENARIOS[0];
    let (from, to) = period(name, text, least);
    let mut before = None;
    run(text, |cp| {
        if cp.now == from {
            before = Some(totals(cp));
        }
        if cp.now == to {
            // Totals with one more entry than the nodes have, and then with one less.
            let noted = before.clone().unwrap();
            for walk in [
                StateVisitor::repeat(cp.now, to - from, 0, Totals::default(), &|_| 0),
                StateVisitor::repeat(cp.now, to - from, 0, noted, &|_| 0),
            ] {
                let (mut walk, nodes) = (walk, cp.nodes());
                cp.walk_some(0..nodes - 1, &mut walk);
                assert!(!walk.fits());
            }
        }
        true
    });
}

fn run_with(text: &str, plan: Plan) -> Outcome {
    Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap().run(plan, &mut ()).unwrap()
}

/// Summary and tables without the performance group.
fn results(outcome: &Outcome) -> (Value, Vec<(&'static str, Vec<String>)>) {
    let mut all = serde_json::to_value(&outcome.summary).unwrap();
    all.as_object_mut().unwrap().remove("performance");
    let column = |c: &xoff_scenario::Column| format!("{} {:?}", c.name, cells(&c.data));
    let tables = outcome.tables.iter().map(|t| (t.name, t.columns.iter().map(column).collect()));
    (all, tables.collect())
}

#[test]
fn a_run_with_fast_forward_has_the_results_of_a_full_run() {
    for (name, text, _) in SCENARIOS {
        let full = run_with(text, Plan { fast_forward: false, ..Plan::default() });
        for (threads, partitions) in [(1, None), (1, Some(3)), (2, Some(3))] {
            let forwarded = run_with(text, Plan { threads, partitions, solo_below: 0, ..Plan::default() });
            let performance = &forwarded.summary.performance;
            assert!(
                performance.fast_forward.packet_hops > performance.data_packet_hops / 4,
                "{name}: some packet-hops are fast-forwarded"
            );
            assert_eq!(results(&forwarded), results(&full), "{name}");
        }
    }
}

/// Runs, and repeats a stretch four times without one of the totals that grew in the stretch; returns the
/// number of such totals.
fn leaving_out(text: &str, (from, to): (Moment, Moment), place: usize) -> (Option<Outcome>, usize) {
    let (mut before, mut count, mut fits) = (None, 0, true);
    let mut is_done = false;
    let outcome = run(text, |cp| {
        if cp.now == from && before.is_none() {
            before = Some((totals(cp), Progress::of(cp)));
        }
        if cp.now == to && !is_done {
            is_done = true;
            let (then, reached) = before.clone().unwrap();
            let now = totals(cp);
            let grown = now.grown(&then);
            count = grown.len();
            let further = Progress::of(cp).since(&reached, 4);
            let mut walk =
                StateVisitor::repeat(cp.now, to - from, 4, then.leaving_out(grown[place], &now), &further);
            cp.walk(&mut walk);
            fits = walk.fits();
        }
        before.is_none() || is_done
    });
    (fits.then_some(outcome), count)
}

#[test]
fn a_total_that_a_part_leaves_out_is_noticed() {
    for (name, text, least) in [&SCENARIOS[2], &SCENARIOS[6]] {
        let stretch = period(name, text, *least);
        let all = |outcome: &Outcome| {
            (summary(outcome), rows(outcome), outcome.summary.performance.data_packet_hops)
        };
        let expected = all(&run(text, |_| true));
        let count = leaving_out(text, stretch, 0).1;
        assert!(count > 10, "{name}");
        let is_noticed =
            |place| leaving_out(text, stretch, place).0.is_none_or(|outcome| all(&outcome) != expected);
        let unnoticed = (0..count).filter(|place| !is_noticed(*place)).count();
        // The progress of hosts is read only at a stall.
        assert!(unnoticed <= 1, "{name}: {unnoticed} of {count}");
    }
}

/// A flow, a second flow that disturbs the first for a while, and a third flow that comes later.
const DISTURBED: &str = r#"
network.star = { hosts = 3, link = { rate = "100Gbps", delay = "1us" } }
workload = [
  { flows = [{ src = "host0", dst = "host2", size = "6MB" }] },
  { flows = [{ src = "host1", dst = "host2", size = "100KB", start = "20us" }] },
  { flows = [{ src = "host1", dst = "host2", size = "1MB", start = "300us" }] },
]
switch = { ecn.step.threshold = "20KB", flow_control.pfc = {} }
"#;

/// Components with a memory that stays invisible until the third flow comes.
const REMEMBERED: &[(&str, &str)] = &[
    // The share of marks.
    ("dctcp", "host.congestion_control.dctcp = {}"),
    // An unlimited window grows.
    ("swift", "host.congestion_control.swift = {}"),
];

/// Digests of the state: without one component, and of all.
fn forgetting(cp: &mut Checkpoint<'_, Node>, part: &str) -> (u64, u64) {
    let reached = Progress::of(cp);
    let mut walk = StateVisitor::digest(cp.now, &reached);
    cp.walk(&mut walk);
    let mut all = walk.snapshot();
    let full = all.digest();
    all.parts.retain(|known| known.0 != part);
    (all.digest(), full)
}

#[test]
fn a_part_that_a_digest_forgets_is_noticed() {
    for (part, control) in REMEMBERED {
        let text = &format!("{DISTURBED}{control}");
        let mut seen: HashMap<u64, (Moment, u64)> = HashMap::new();
        let mut found = Vec::new();
        let usual = run(text, |cp| {
            let (without, full) = forgetting(cp, part);
            let (first, known) = *seen.entry(without).or_insert((cp.now, full));
            // The repeated stretch ends before the third flow comes.
            if full != known && cp.now + (cp.now - first) * 4 < Moment::us(300) {
                found.push((first, cp.now));
            }
            true
        });
        let (from, to) = found
            .into_iter()
            .max_by_key(|found| found.1 - found.0)
            .unwrap_or_else(|| panic!("{part}: some moments differ in it alone"));
        let mut before = None;
        let mut is_done = false;
        let repeated = run(text, |cp| {
            if cp.now == from {
                before = Some((totals(cp), Progress::of(cp)));
            }
            if cp.now == to && !is_done {
                is_done = true;
                let (then, reached) = before.clone().unwrap();
                let further = Progress::of(cp).since(&reached, 4);
                let mut walk = StateVisitor::repeat(cp.now, to - from, 4, then, &further);
                cp.walk(&mut walk);
                assert!(walk.fits(), "{part}");
            }
            before.is_none() || is_done
        });
        assert!(is_done);
        assert_ne!(rows(&repeated), rows(&usual), "{part}");
    }
}
