//! The simulation of the nodes that `Unfold` names, from checkpoint to checkpoint, and its results.

mod watch;

use std::ops::ControlFlow;

use xoff_document::InputError;
use xoff_engine::{Checkpoint, Engine, Finish, Message as _, Plan as EnginePlan, Statistics};
use xoff_models::network::node::Node;
use xoff_models::network::{Settings, build, run};
use xoff_models::paths::symmetry::ties::Symmetric;
use xoff_models::records::table::Table;
use xoff_models::traffic::application::period;
use xoff_models::traffic::workload::MAX_START;
use xoff_units::{Moment, number};

use self::watch::Watch;
use crate::audit::find_deadlock;
use crate::fast_forward::FastForward;
use crate::faults::Reroutes;
use crate::memory;
use crate::observer::Observer;
use crate::results::Results;
use crate::results::unfold::Unfold;
use crate::results::work::rows as planned_rows;
use crate::runner::Runner;
use crate::summary::{self, PacketHopsByKind, Performance, Summary};
use crate::traffic::goes_on;
use crate::verdicts::{Abort, End, Ledger};

/// Results.
#[derive(Debug)]
pub struct Outcome {
    /// Numbers of the whole run.
    pub summary: Summary,
    /// Tables, without rows already passed on.
    pub tables: Vec<Table>,
    /// The observer stopped the run.
    pub was_stopped: bool,
}

/// Looks at all nodes at a checkpoint, and may change them. Records stay with the nodes until it returns true.
pub type Look<'a> = dyn FnMut(&mut Checkpoint<'_, Node>) -> bool + 'a;

/// Simulates to the end. Costs are those of the simulated nodes.
pub fn simulate(
    runner: Runner,
    engine: EnginePlan,
    unfold: Unfold,
    observer: &mut dyn Observer,
    look: &mut Look<'_>,
) -> Result<Box<Outcome>, InputError> {
    let (threads, is_enabled) = (engine.threads, engine.fast_forward);
    let keeps_all = observer.wants_rows() && !observer.takes_rows() && runner.scenario.probe.flows;
    if keeps_all && runner.scenario.until.is_none() {
        memory::Budget::new()?.check_rows(planned_rows(&runner.plan))?;
    }
    let mut results = Results::new(&runner, unfold, observer.wants_rows());
    let Runner { topology, plan: whole, settings, scenario, began, .. } = runner;
    // Later moments exceed the clock of the engine.
    let until = scenario.until.unwrap_or(MAX_START);
    let engine = EnginePlan { until, ..engine };
    let is_end = if settings.failures.is_empty() { Vec::new() } else { whole.ends(topology.nodes.len()) };
    let paths = whole.paths.clone();
    let mut engine: Engine<Node> =
        build(&topology, whole, &settings, engine).map_err(|e| InputError::new("network", e.0))?;
    let build_cpu_seconds = began.1.elapsed().as_secs_f64();
    results.begin(&engine.checkpoint(Moment::ZERO));
    let reroutes = Reroutes::of(&settings, || (topology.clone(), paths, is_end, results.whole_map()));
    let watch = Watch::new(&scenario, &settings, &engine.checkpoint(Moment::ZERO))?;
    engine.align(watch.origin);
    let fast_forward =
        FastForward::of(&scenario, &settings, until, is_enabled, &engine.checkpoint(Moment::ZERO));
    let mut course =
        Course { results, fast_forward, reroutes, watch, observer, look, ended: None, is_stopping: false };
    let finish = run(&mut engine, &mut |cp| course.go_on(cp));
    let Course { watch, mut results, fast_forward, observer, ended, .. } = course;
    let Watch { mut abort, was_stopped, is_too_large, is_over, .. } = watch;
    let mut finish = if is_over { Finish::Idle } else { finish };
    if let Some(refusal) = is_too_large.or_else(|| watch::lacking_disk(&results)) {
        return Err(refusal);
    }
    let at = ended.unwrap_or_default();
    let ledger = ledger(&engine);
    let fingerprint = fingerprint(&engine, &settings, number(topology.nodes.len()));
    let statistics = engine.statistics();
    let mut cp = engine.checkpoint(at);
    results.take(at, &mut cp, observer);
    conclude(&mut finish, &mut abort, &results, &mut cp);
    results.take(Moment::NEVER, &mut cp, observer);
    let verdicts = results.conclude(&mut cp, &scenario, &End { finish, abort }, ledger);
    let tables = results.tables();
    let mut performance = performance(results.hops(&cp), fast_forward, statistics);
    (performance.build_cpu_seconds, performance.threads) = (build_cpu_seconds, threads);
    (performance.wall_seconds, performance.cpu_seconds) =
        (began.0.elapsed().as_secs_f64(), began.1.elapsed().as_secs_f64());
    let summary = Summary {
        name: scenario.name.clone(),
        seed: scenario.seed,
        fingerprint: format!("{fingerprint:016x}"),
        simulated_ps: cp.now.ps(),
        audits: verdicts.0,
        performance,
        ..results.summary()
    };
    Ok(Box::new(Outcome { summary, tables, was_stopped }))
}

/// The course of a run, from checkpoint to checkpoint.
struct Course<'a> {
    results: Results,
    fast_forward: FastForward,
    reroutes: Option<Reroutes>,
    watch: Watch<'a>,
    observer: &'a mut dyn Observer,
    look: &'a mut Look<'a>,
    /// The last checkpoint.
    ended: Option<Moment>,
    is_stopping: bool,
}

impl Course<'_> {
    /// Acts at a checkpoint. The run ends with a break.
    fn go_on(&mut self, cp: &mut Checkpoint<'_, Node>) -> ControlFlow<()> {
        if self.fast_forward.on_requested_checkpoint(cp) {
            return ControlFlow::Continue(());
        }
        self.ended = Some(cp.now);
        if let Some(reroutes) = &mut self.reroutes {
            self.fast_forward.expect(reroutes.look(cp));
        }
        if !(self.look)(cp) {
            return ControlFlow::Continue(());
        }
        if self.is_stopping || !self.fast_forward.tend(cp) {
            self.results.take(cp.now, cp, self.observer);
        } else {
            self.results.take_flows(cp);
        }
        if self.is_stopping {
            return ControlFlow::Break(());
        }
        // A stray frame fails the run; the sender would retransmit without end.
        let flow = if self.results.is_astray {
            ControlFlow::Break(())
        } else {
            let events = (cp.statistics.events + self.fast_forward.events(), self.fast_forward.suspended());
            self.watch.look(cp, events, &self.results, self.observer)
        };
        self.fast_forward.set_stall_deadline(self.watch.stall_deadline(), cp);
        // The end is where all nodes are.
        self.is_stopping = flow.is_break();
        if self.is_stopping && self.fast_forward.gather(cp) { ControlFlow::Continue(()) } else { flow }
    }
}

/// Moves the end of an idle run to the last event, and looks for a deadlock there.
fn conclude(
    finish: &mut Finish,
    abort: &mut Option<Abort>,
    results: &Results,
    cp: &mut Checkpoint<'_, Node>,
) {
    // The next check without further events would depend on fast-forward.
    if *finish == Finish::Ended && cp.is_at_rest() && !goes_on(cp) {
        *finish = Finish::Idle;
    }
    if *finish == Finish::Idle {
        cp.now = results.end(cp);
        *abort = abort.take().or_else(|| deadlocked(cp));
    }
}

/// Returns the fingerprint of a run. With relative ties a fixed switch handles frames for different servers in any order,
/// and one node of an orbit tells of the others unless chance tells them apart. The fingerprint then covers the
/// representatives that no rotation leaves in place.
fn fingerprint(engine: &Engine<Node>, settings: &Settings, nodes: u32) -> u64 {
    let Some(Symmetric { group, .. }) = settings.symmetric.as_ref().filter(|of| of.is_alike) else {
        return engine.fingerprint();
    };
    let tells = |node: &u32| group.is_representative(*node) && !group.is_fixed(*node);
    engine.fingerprint_of((0..nodes).filter(tells))
}

/// Returns the frames on links at the end of a run.
fn ledger(engine: &Engine<Node>) -> Ledger {
    let mut on_links = (0, 0);
    engine.for_each_under_way(|p| {
        on_links.0 += if p.is_data() { u64::from(p.bytes()) } else { 0 };
        on_links.1 += usize::from(p.side().is_some());
    });
    Ledger::new(on_links, engine.sides())
}

/// Returns the costs of the simulated nodes, without times. `hops`: data packet-hops.
fn performance(hops: u64, fast_forward: FastForward, statistics: Statistics) -> Performance {
    let (forwarded, blockers) = fast_forward.end();
    let by_kind = PacketHopsByKind {
        packets: forwarded.packet_hops[period::place(period::PACKETS)],
        steps: forwarded.packet_hops[period::place(period::STEPS)],
        layers: forwarded.packet_hops[period::place(period::LAYERS)..period::place(period::BUSY)]
            .iter()
            .sum(),
        busy_periods: forwarded.packet_hops[period::place(period::BUSY)],
    };
    let report = summary::FastForward {
        packet_hops: forwarded.packet_hops.iter().sum(),
        by_kind,
        packet_hops_in_components: forwarded.packet_hops_in_components,
        components: forwarded.components,
        periods: forwarded.periods,
        busy_periods: forwarded.busy_periods,
        blockers,
    };
    Performance {
        data_packet_hops: hops,
        packet_hops_simulated: hops - report.packet_hops,
        fast_forward: report,
        events: statistics.events,
        windows: statistics.windows,
        peak_rss_bytes: memory::peak_rss_bytes(),
        events_on_one_thread: statistics.events_alone,
        ..Performance::default()
    }
}

/// Returns the ring of ports that wait for one another after the last event, if any; the moment is the last
/// departure of data from any port.
fn deadlocked(cp: &mut Checkpoint<'_, Node>) -> Option<Abort> {
    let cycle = find_deadlock(cp, Moment::NEVER, |_| true)?;
    let ports = (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
    cp.now = ports.map(|p| p.last_data).fold(cp.now, Moment::max);
    Some(Abort::Deadlock(cp.now, cycle))
}
