//! From a scenario to results.

use std::ops::ControlFlow;
use std::time::Duration as WallTime;

use xoff_engine::clock::Instant;
use xoff_engine::state::PeriodKind;
use xoff_engine::{Checkpoint, Engine, Finish, Message as _, Plan as EnginePlan, Statistics};
use xoff_models::network::{Settings, build};
use xoff_models::node::Node;
use xoff_models::symmetry::ties::Symmetric;
use xoff_models::workload::{AllFlows, MAX_START};
use xoff_units::{Duration, Moment, number};

use crate::audit::{STILL, find_deadlock};
use crate::collect::Collector;
use crate::document::{Judgement, Scenario};
use crate::error::InputError;
use crate::fast_forward::{FastForward, StallDeadline, Suspended};
use crate::faults::Reroutes;
use crate::folding;
use crate::memory::{self, Budget};
use crate::observer::Observer;
use crate::runner::Runner;
use crate::summary::{self, PacketHopsByKind, Performance, Summary};
use crate::table::{Input, Table};
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

/// Checks during a run: deadlocks, lack of progress, memory, and a stop by the observer.
struct Watch<'a> {
    scenario: &'a Scenario,
    /// Time without transmission after which a paused port may belong to a deadlock.
    still: Duration,
    /// Time and number of events without progress of flows after which a run stalls.
    stall_timeout: (Duration, u64),
    budget: Budget,
    abort: Option<Abort>,
    was_stopped: bool,
    /// Only events of faults are left.
    is_over: bool,
    is_too_large: Option<InputError>,
    /// Start of the traffic, from which the moments of checks count: a run whose traffic starts later by any time ends
    /// later by the same time.
    origin: Moment,
    /// Number of passed multiples of [`STILL`] since `origin`.
    last_search: u64,
    /// Packets progress at the last check, the moment of the last gain, and the number of events at the first
    /// check with this state.
    last: (u64, Moment, u64),
    /// Start of a period without progress although flows wait for no other event, once the period is at least
    /// [`STILL`] long.
    stuck_since: Option<Moment>,
    last_report: Instant,
}

impl<'a> Watch<'a> {
    fn new(
        scenario: &'a Scenario,
        settings: &Settings,
        cp: &Checkpoint<'_, Node>,
    ) -> Result<Self, InputError> {
        // A pause that ends by itself before the end of the run is no deadlock.
        let ends = settings.mechanisms().parts().iter().filter_map(|p| p.properties().ends_pauses).min();
        let still = ends
            .filter(|ends| scenario.until.is_none_or(|until| until > Moment::ZERO + *ends))
            .map_or(STILL, |ends| STILL.max(ends));
        let endpoints = (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref());
        let longest =
            endpoints.filter_map(|e| e.timeouts()).map(|(_, longest)| longest).max().unwrap_or_default();
        let time = Duration(longest.ps().saturating_mul(STALL_TIMEOUTS)).max(STALL_AT_LEAST);
        Ok(Self {
            scenario,
            still,
            stall_timeout: (
                time + still.saturating_sub(STILL),
                STALL_EVENTS + STALL_EVENTS_A_NODE * u64::from(cp.nodes()),
            ),
            budget: Budget::new()?,
            abort: None,
            was_stopped: false,
            is_over: false,
            is_too_large: None,
            origin: Collector::first_start(cp),
            last_search: 0,
            last: (0, Moment::ZERO, 0),
            stuck_since: None,
            last_report: Instant::now(),
        })
    }

    /// `events` counts all events, forwarded events included, which makes checks independent of fast-forward.
    /// Suspended nodes count as running.
    fn look(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        (events, suspended): (u64, &Suspended),
        collector: &mut Collector,
        observer: &mut dyn Observer,
    ) -> ControlFlow<()> {
        let fails = !collector.faults.plan.is_empty();
        self.is_over = fails && collector.is_over(cp);
        if self.is_over {
            return ControlFlow::Break(());
        }
        let search = cp.now.since(self.origin).ps() / STILL.ps();
        if search > self.last_search {
            self.last_search = search;
            self.search(cp, suspended)?;
            let is_waiting =
                collector.faults.will_mend(cp.now, self.stall_timeout.0 / 2) || !suspended.is_empty();
            self.measure(cp, events, collector.faults.mended, is_waiting)?;
        }
        if self.last_report.elapsed() >= WallTime::from_millis(100) {
            self.last_report = Instant::now();
            self.is_too_large = self.budget.passed().map(|held| self.budget.refusal(held, cp.now));
            self.was_stopped = observer.progress(collector.progress(cp, self.scenario.until)).is_break();
            if self.was_stopped || self.is_too_large.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Looks for a deadlock.
    fn search(&mut self, cp: &Checkpoint<'_, Node>, suspended: &Suspended) -> ControlFlow<()> {
        let Some(cycle) = find_deadlock(cp, cp.now.saturating_sub(self.still), |id| !suspended.has(id))
        else {
            return ControlFlow::Continue(());
        };
        self.abort.get_or_insert(Abort::Deadlock(cp.now, cycle));
        // Without `until` the run would go on with timers alone.
        if self.scenario.audits.deadlock == Judgement::Fail || self.scenario.until.is_none() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Returns the earliest moment at which the run may be given up without progress; a check follows within
    /// [`STILL`].
    fn stall_deadline(&self) -> Option<StallDeadline> {
        let (progress, _, events) = self.last;
        self.stuck_since.filter(|_| self.abort.is_none()).map(|since| StallDeadline {
            progress,
            at: (since + self.stall_timeout.0).saturating_sub(STILL),
            events: events + self.stall_timeout.1,
        })
    }

    /// Updates the progress of flows. The moments of gains and of `mended` faults are independent of the
    /// checks. A flow that waits for the end of a fault does not stall.
    fn measure(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        events: u64,
        mended: Moment,
        is_waiting: bool,
    ) -> ControlFlow<()> {
        let gains = Collector::gains(cp);
        let (progress, before, by) = self.last;
        let since = gains.at.max(gains.begun).max(mended);
        let is_stuck = gains.is_busy && !is_waiting;
        self.stuck_since = (is_stuck && cp.now.since(since) >= STILL).then_some(since);
        if (progress, before) != (gains.packets, since) || !is_stuck {
            self.last = (gains.packets, since, events);
        } else if self.abort.is_none()
            && (cp.now.since(since) >= self.stall_timeout.0 || events - by >= self.stall_timeout.1)
        {
            self.abort = Some(Abort::Stall(gains.at));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// A run in which no flow gains a packet for this many retransmission timeouts, and this long, makes no
/// progress.
const STALL_TIMEOUTS: u64 = 25;
const STALL_AT_LEAST: Duration = Duration::ms(100);
/// Events without progress of any flow after which a run stalls, plus a number per node.
const STALL_EVENTS: u64 = 20_000_000;
const STALL_EVENTS_A_NODE: u64 = 20_000;

impl Runner {
    /// Runs to the end.
    pub fn run(self, engine: EnginePlan, observer: &mut dyn Observer) -> Result<Outcome, InputError> {
        self.run_with(engine, observer, |_| true)
    }

    /// Same as `run`, with an observer of all nodes at each checkpoint that may change nodes. Records stay
    /// with the nodes until the observer allows the collection.
    pub fn run_with(
        self,
        engine: EnginePlan,
        observer: &mut dyn Observer,
        mut look: impl FnMut(&mut Checkpoint<'_, Node>) -> bool,
    ) -> Result<Outcome, InputError> {
        let again =
            (self.scenario.ties.is_some() && engine.fold).then(|| (self.scenario.clone(), self.began));
        match self.simulate(engine.clone(), None, observer, &mut look)? {
            Simulated::Whole(outcome) => Ok(*outcome),
            Simulated::Again(obstacle) => {
                let Some((scenario, began)) = again else { unreachable!("the run was folded") };
                let runner = Self::filled(scenario, began)?;
                match runner.simulate(engine, Some(obstacle), observer, &mut look)? {
                    Simulated::Whole(outcome) => Ok(*outcome),
                    Simulated::Again(_) => unreachable!("a run of all nodes has no bound"),
                }
            }
        }
    }

    /// Runs to the end, folded if possible unless there is an obstacle.
    fn simulate(
        mut self,
        engine: EnginePlan,
        obstacle: Option<String>,
        observer: &mut dyn Observer,
        look: &mut dyn FnMut(&mut Checkpoint<'_, Node>) -> bool,
    ) -> Result<Simulated, InputError> {
        let (threads, is_enabled) = (engine.threads, engine.fast_forward);
        linked(&self.scenario)?;
        let obstacle = obstacle.or_else(|| (!engine.fold).then(|| "--no-fold".into()));
        let folding = folding::prepare(&mut self, obstacle);
        let symmetric = self.settings.symmetric.clone();
        let mut collector = Collector::new(&self, observer.wants_rows());
        let plan = self.plan.without_flows();
        let Self { topology, plan: whole, settings, scenario, began, .. } = self;
        // Later moments exceed the clock of the engine.
        let until = scenario.until.unwrap_or(MAX_START);
        let engine = EnginePlan { until, ..engine };
        let nodes = number(topology.nodes.len());
        let is_end = if settings.failures.is_empty() { Vec::new() } else { whole.ends(topology.nodes.len()) };
        let paths = whole.paths.clone();
        let mut engine: Engine<Node> =
            build(&topology, whole, &settings, engine).map_err(|e| InputError::new("network", e.0))?;
        let build_cpu_seconds = began.1.elapsed().as_secs_f64();
        collector.begin(&engine.checkpoint(Moment::ZERO));
        let reroutes = Reroutes::of(&settings, || (topology.clone(), paths, is_end, collector.whole_map()));
        let watch = Watch::new(&scenario, &settings, &engine.checkpoint(Moment::ZERO))?;
        engine.align(watch.origin);
        let fast_forward =
            FastForward::of(&scenario, &settings, until, is_enabled, &engine.checkpoint(Moment::ZERO));
        let mut course = Course {
            plan: &plan,
            collector,
            fast_forward,
            reroutes,
            watch,
            observer,
            look,
            ended: None,
            is_stopping: false,
            is_at_limits: false,
        };
        let finish = engine.run(|cp| course.go_on(cp));
        let Course { watch, mut collector, fast_forward, observer, ended, is_at_limits, .. } = course;
        let Watch { mut abort, was_stopped, is_too_large, is_over, .. } = watch;
        let mut finish = if is_over { Finish::Idle } else { finish };
        if let Some(refusal) = is_too_large {
            return Err(refusal);
        }
        let at = ended.unwrap_or_default();
        if is_at_limits || collector.is_at_limits(&engine.checkpoint(at)) {
            return Ok(Simulated::Again(folding::at_limits(at)));
        }
        let ledger = ledger(&engine);
        let fingerprint = fingerprint(&engine, symmetric.as_ref(), nodes);
        let statistics = engine.statistics();
        let mut cp = engine.checkpoint(at);
        collector.drain(&mut cp, &plan, observer);
        conclude(&mut finish, &mut abort, &collector, &mut cp);
        collector.catch_up(&mut cp);
        collector.drain_until(Moment::NEVER, &mut cp, &plan, observer);
        collector.close_delays(&mut cp, &plan);
        let verdicts = collector.judge(&cp, &scenario, &End { finish, abort }, ledger);
        if collector.times() > 1 && !verdicts.have_passed() {
            return Ok(Simulated::Again(folding::IN_DOUBT.into()));
        }
        let tables = collector.finish(&cp, &plan, cp.now);
        let mut performance = performance(&collector, fast_forward, statistics);
        (performance.build_cpu_seconds, performance.threads) = (build_cpu_seconds, threads);
        performance.folding = folding;
        (performance.wall_seconds, performance.cpu_seconds) =
            (began.0.elapsed().as_secs_f64(), began.1.elapsed().as_secs_f64());
        let summary = collector.summary(&scenario, fingerprint, verdicts, performance, cp.now);
        Ok(Simulated::Whole(Box::new(Outcome { summary, tables, was_stopped })))
    }
}

/// The course of a run, from checkpoint to checkpoint.
struct Course<'a> {
    plan: &'a AllFlows,
    collector: Collector,
    fast_forward: FastForward,
    reroutes: Option<Reroutes>,
    watch: Watch<'a>,
    observer: &'a mut dyn Observer,
    /// See [`Runner::run_with`].
    look: &'a mut dyn FnMut(&mut Checkpoint<'_, Node>) -> bool,
    /// The last checkpoint.
    ended: Option<Moment>,
    is_stopping: bool,
    /// A folded run differs from the run of all nodes from now on.
    is_at_limits: bool,
}

impl Course<'_> {
    /// Acts at a checkpoint. The run ends with a break.
    fn go_on(&mut self, cp: &mut Checkpoint<'_, Node>) -> ControlFlow<()> {
        if self.fast_forward.on_requested_checkpoint(cp) {
            return ControlFlow::Continue(());
        }
        self.ended = Some(cp.now);
        self.is_at_limits |= self.collector.is_at_limits(cp);
        if self.is_at_limits {
            return ControlFlow::Break(());
        }
        if let Some(reroutes) = &mut self.reroutes {
            self.fast_forward.expect(reroutes.look(cp));
        }
        if !(self.look)(cp) {
            return ControlFlow::Continue(());
        }
        if self.is_stopping || !self.fast_forward.tend(cp) {
            self.collector.drain(cp, self.plan, self.observer);
        } else {
            self.collector.take_flows(cp, self.plan);
        }
        if self.is_stopping {
            return ControlFlow::Break(());
        }
        // A stray frame fails the run; the sender would retransmit without end.
        let flow = if self.collector.is_astray {
            ControlFlow::Break(())
        } else {
            let events = (cp.statistics.events + self.fast_forward.events(), self.fast_forward.suspended());
            self.watch.look(cp, events, &mut self.collector, self.observer)
        };
        self.fast_forward.set_stall_deadline(self.watch.stall_deadline(), cp);
        // The end is where all nodes are.
        self.is_stopping = flow.is_break();
        if self.is_stopping && self.fast_forward.gather(cp) { ControlFlow::Continue(()) } else { flow }
    }
}

/// The end of a simulation.
enum Simulated {
    /// The results.
    Whole(Box<Outcome>),
    /// A folded run came to the limits of a fixed switch, or an audit has a finding. The run begins again with all nodes, for
    /// this reason.
    Again(String),
}

/// Refuses a congestion control in Python without a session.
fn linked(scenario: &Scenario) -> Result<(), InputError> {
    let controls = scenario.host.python_controls();
    let Some((path, python)) = controls.into_iter().find(|(_, python)| python.link.is_none()) else {
        return Ok(());
    };
    let why = format!("`{}` is Python code; `xoff run --allow-python` runs the class", python.class);
    Err(InputError::new(path, why))
}

/// Moves the end of an idle run to the last event, and looks for a deadlock there.
fn conclude(
    finish: &mut Finish,
    abort: &mut Option<Abort>,
    collector: &Collector,
    cp: &mut Checkpoint<'_, Node>,
) {
    // The next check without further events would depend on fast-forward.
    if *finish == Finish::Ended && cp.is_at_rest() && !Collector::goes_on(cp) {
        *finish = Finish::Idle;
    }
    if *finish == Finish::Idle {
        cp.now = collector.end(cp);
        *abort = abort.take().or_else(|| deadlocked(cp));
    }
}

/// Returns the fingerprint of a run. A fixed switch handles frames for different servers in any order, and one node of an
/// orbit tells of the others unless chance tells them apart: the fingerprint of a run of equal nodes covers the
/// representatives that no rotation leaves in place.
fn fingerprint(engine: &Engine<Node>, symmetric: Option<&Symmetric>, nodes: u32) -> u64 {
    let Some(Symmetric { group, .. }) = symmetric.filter(|of| of.is_alike) else {
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

/// Returns the performance of a run, without times.
fn performance(collector: &Collector, fast_forward: FastForward, statistics: Statistics) -> Performance {
    let (mut forwarded, blockers) = fast_forward.end();
    let times = u64::from(collector.times());
    forwarded.packet_hops.iter_mut().for_each(|hops| *hops *= times);
    forwarded.packet_hops_in_components *= times;
    let by_kind = PacketHopsByKind {
        packets: forwarded.packet_hops[PeriodKind::Packets as usize],
        steps: forwarded.packet_hops[PeriodKind::Steps as usize],
        layers: forwarded.packet_hops[PeriodKind::Layers as usize..PeriodKind::BusyPeriods as usize]
            .iter()
            .sum(),
        busy_periods: forwarded.packet_hops[PeriodKind::BusyPeriods as usize],
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
        data_packet_hops: collector.hops,
        packet_hops_simulated: (collector.hops - report.packet_hops) / times,
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

/// Checks, builds and runs a scenario.
pub fn run(
    scenario: Scenario,
    tables: impl FnMut(&str) -> Option<Input>,
    engine: EnginePlan,
    observer: &mut dyn Observer,
) -> Result<Outcome, InputError> {
    Runner::new(scenario, tables)?.run(engine, observer)
}
