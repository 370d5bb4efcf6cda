//! From a scenario to results.

use std::ops::ControlFlow;
use std::time::{Duration as WallTime, Instant};

use xoff_engine::state::Across;
use xoff_engine::{Checkpoint, Engine, Finish, Message as _, Plan as EnginePlan, Statistics};
use xoff_models::network::{Settings, build};
use xoff_models::node::Node;
use xoff_models::workload::MAX_START;
use xoff_units::{Duration, Moment};

use crate::audit::{STILL, find_deadlock};
use crate::collect::Collector;
use crate::document::{Judgement, Scenario};
use crate::error::InputError;
use crate::faults::Reroutes;
use crate::memory::{self, Budget};
use crate::observer::Observer;
use crate::runner::Runner;
use crate::skip::{GivenUp, Resting, Skip};
use crate::summary::{FastForward, PacketHopsByKind, Performance, Summary};
use crate::table::{Input, Table};
use crate::verdicts::{Abort, End, Ledger};

/// Results.
#[derive(Debug)]
pub struct Outcome {
    /// Numbers of the whole run.
    pub summary: Summary,
    /// Tables, less what was handed on before.
    pub tables: Vec<Table>,
    /// The observer stopped it.
    pub was_stopped: bool,
}

/// What is looked for while a run goes on: deadlocks, runs without progress or beyond their memory, and the wish to stop.
struct Watch<'a> {
    scenario: &'a Scenario,
    /// How long a paused port has to be still to be part of a deadlock.
    still: Duration,
    /// How long, and for how many events, flows may gain nothing.
    patience: (Duration, u64),
    budget: Budget,
    abort: Option<Abort>,
    was_stopped: bool,
    /// Nothing is left to do but what faults make.
    is_over: bool,
    is_too_large: Option<InputError>,
    /// Multiples of [`STILL`] that were passed.
    last_search: u64,
    /// Packets that flows had gained at the last look and since when they gained nothing, and how many events there were at the first look
    /// that saw both.
    last: (u64, Moment, u64),
    /// Since when nothing was gained although flows wait for nothing else, if that is [`STILL`] ago.
    stuck_since: Option<Moment>,
    last_report: Instant,
}

impl<'a> Watch<'a> {
    fn new(scenario: &'a Scenario, settings: &Settings, cp: &Checkpoint<'_, Node>) -> Result<Self, InputError> {
        // One that is ended before the run is over is none.
        let ends = settings.mechanisms().parts().iter().filter_map(|p| p.properties().ends_pauses).min();
        let still =
            ends.filter(|ends| scenario.until.is_none_or(|until| until > Moment::ZERO + *ends)).map_or(STILL, |ends| STILL.max(ends));
        let endpoints = (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref());
        let longest = endpoints.filter_map(|e| e.timeouts()).map(|(_, longest)| longest).max().unwrap_or_default();
        let time = Duration(longest.ps().saturating_mul(STALL_TIMEOUTS)).max(STALL_AT_LEAST);
        Ok(Self {
            scenario,
            still,
            patience: (time + still.saturating_sub(STILL), STALL_EVENTS + STALL_EVENTS_A_NODE * u64::from(cp.nodes())),
            budget: Budget::new()?,
            abort: None,
            was_stopped: false,
            is_over: false,
            is_too_large: None,
            last_search: 0,
            last: (0, Moment::ZERO, 0),
            stuck_since: None,
            last_report: Instant::now(),
        })
    }

    /// `events` are all that there were, skipped ones too: what is looked for depends on what happened, and not on what was skipped. Nodes
    /// that rest go on, whatever they look like.
    fn look(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        (events, resting): (u64, &Resting),
        collector: &mut Collector,
        observer: &mut dyn Observer,
    ) -> ControlFlow<()> {
        let fails = !collector.faults.plan.is_empty();
        self.is_over = fails && collector.is_over(cp);
        if self.is_over {
            return ControlFlow::Break(());
        }
        let search = cp.now.ps() / STILL.ps();
        if search > self.last_search {
            self.last_search = search;
            self.search(cp, resting)?;
            let is_waiting = collector.faults.will_mend(cp.now, self.patience.0 / 2) || !resting.is_empty();
            self.measure(cp, events, collector.faults.mended, is_waiting)?;
        }
        if self.last_report.elapsed() >= WallTime::from_millis(100) {
            self.last_report = Instant::now();
            self.is_too_large = self.budget.passed().map(|held| self.budget.refusal(held, cp.now));
            self.was_stopped = observer.progress(collector.progress(cp.now, self.scenario.until)).is_break();
            if self.was_stopped || self.is_too_large.is_some() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// Looks for a deadlock.
    fn search(&mut self, cp: &Checkpoint<'_, Node>, resting: &Resting) -> ControlFlow<()> {
        let Some(cycle) = find_deadlock(cp, cp.now.saturating_sub(self.still), |id| !resting.has(id)) else {
            return ControlFlow::Continue(());
        };
        self.abort.get_or_insert(Abort::Deadlock(cp.now, cycle));
        // Without an end of its own the run would go on with timers alone.
        if self.scenario.audits.deadlock == Judgement::Fail || self.scenario.until.is_none() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// From when on the run may be given up, if nothing is gained until then: at a look, of which one comes within [`STILL`].
    fn given_up(&self) -> Option<GivenUp> {
        let (gained, _, events) = self.last;
        self.stuck_since.filter(|_| self.abort.is_none()).map(|since| GivenUp {
            gained,
            at: (since + self.patience.0).saturating_sub(STILL),
            events: events + self.patience.1,
        })
    }

    /// Looks whether flows gain packets: the moments of what they gained, and of faults that were `mended`, do not depend on when it is
    /// looked. Who waits for what will mend waits for something.
    fn measure(&mut self, cp: &Checkpoint<'_, Node>, events: u64, mended: Moment, is_waiting: bool) -> ControlFlow<()> {
        let gains = Collector::gains(cp);
        let (gained, before, by) = self.last;
        let since = gains.at.max(gains.begun).max(mended);
        let is_stuck = gains.is_busy && !is_waiting;
        self.stuck_since = (is_stuck && cp.now.since(since) >= STILL).then_some(since);
        if (gained, before) != (gains.packets, since) || !is_stuck {
            self.last = (gains.packets, since, events);
        } else if self.abort.is_none() && (cp.now.since(since) >= self.patience.0 || events - by >= self.patience.1) {
            self.abort = Some(Abort::Stall(gains.at));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// A run in which no flow gains a packet for this many retransmission timeouts, and this long, makes no progress.
const STALL_TIMEOUTS: u64 = 25;
const STALL_AT_LEAST: Duration = Duration::ms(100);
/// Nor does one that handles so many events, and so many more for each node, without any flow gaining a packet.
const STALL_EVENTS: u64 = 20_000_000;
const STALL_EVENTS_A_NODE: u64 = 20_000;

impl Runner {
    /// Runs to the end.
    pub fn run(self, engine: EnginePlan, observer: &mut dyn Observer) -> Result<Outcome, InputError> {
        self.run_with(engine, observer, |_| true)
    }

    /// The same with somebody who looks at all nodes at each checkpoint, and may change them; what they wrote down stays with them
    /// until it says that it may be taken.
    pub fn run_with(
        self,
        engine: EnginePlan,
        observer: &mut dyn Observer,
        mut look: impl FnMut(&mut Checkpoint<'_, Node>) -> bool,
    ) -> Result<Outcome, InputError> {
        let (threads, skips) = (engine.threads, engine.fast_forward);
        let mut collector = Collector::new(&self);
        let plan = self.plan.without_flows();
        let Self { topology, plan: whole, settings, scenario, began, .. } = self;
        // What comes later than that is beyond the engine's clock.
        let until = scenario.until.unwrap_or(MAX_START);
        let engine = EnginePlan { until, ..engine };
        let (paths, is_end) = (whole.paths.clone(), whole.ends(topology.nodes.len()));
        let mut engine: Engine<Node> = build(&topology, whole, &settings, engine).map_err(|e| InputError::new("network", e.0))?;
        let build_cpu_seconds = began.1.elapsed().as_secs_f64();
        collector.begin(&engine.checkpoint(Moment::ZERO));
        let mut reroutes = Reroutes::of(&settings, || (topology.clone(), paths, is_end, collector.whole_map()));
        let mut watch = Watch::new(&scenario, &settings, &engine.checkpoint(Moment::ZERO))?;
        let mut skip = Skip::of(&scenario, &settings, until, skips, &engine.checkpoint(Moment::ZERO));
        let (mut ended, mut is_stopping) = (None, false);
        let finish = engine.run(|cp| {
            if skip.on_requested_checkpoint(cp) {
                return ControlFlow::Continue(());
            }
            ended = Some(cp.now);
            if let Some(reroutes) = &mut reroutes {
                skip.expect(reroutes.look(cp));
            }
            if !look(cp) {
                return ControlFlow::Continue(());
            }
            if is_stopping || !skip.holds(cp) {
                collector.drain(cp, &plan, observer);
            } else {
                collector.take_flows(cp, &plan);
            }
            if is_stopping {
                return ControlFlow::Break(());
            }
            // A frame that went astray fails the run; senders would repeat it for ever.
            let flow = if collector.is_astray {
                ControlFlow::Break(())
            } else {
                watch.look(cp, (cp.statistics.events + skip.events(), skip.resting()), &mut collector, observer)
            };
            skip.patience(watch.given_up(), cp);
            // The end is where all nodes are.
            is_stopping = flow.is_break();
            if is_stopping && skip.gather(cp) { ControlFlow::Continue(()) } else { flow }
        });
        let Watch { mut abort, was_stopped, is_too_large, is_over, .. } = watch;
        let mut finish = if is_over { Finish::Idle } else { finish };
        if let Some(refusal) = is_too_large {
            return Err(refusal);
        }
        let ledger = ledger(&engine);
        let fingerprint = engine.fingerprint();
        let statistics = engine.statistics();
        let mut cp = engine.checkpoint(ended.unwrap_or_default());
        collector.drain(&mut cp, &plan, observer);
        // When somebody would look again, with nothing left to look for, depends on what was skipped.
        if finish == Finish::Ended && cp.is_at_rest() && !Collector::goes_on(&cp) {
            finish = Finish::Idle;
        }
        if finish == Finish::Idle {
            cp.now = collector.end(&cp);
            abort = abort.or_else(|| deadlocked(&mut cp));
        }
        collector.catch_up(&mut cp);
        collector.drain_until(Moment::NEVER, &mut cp, &plan, observer);
        collector.close_delays(&mut cp, &plan);
        let verdicts = collector.judge(&cp, &scenario, &End { finish, abort }, ledger);
        let tables = collector.finish(&cp, &plan, cp.now);
        let mut performance = performance(&collector, skip, statistics);
        (performance.build_cpu_seconds, performance.threads) = (build_cpu_seconds, threads);
        (performance.wall_seconds, performance.cpu_seconds) = (began.0.elapsed().as_secs_f64(), began.1.elapsed().as_secs_f64());
        let summary = collector.summary(&scenario, fingerprint, verdicts, performance, cp.now);
        Ok(Outcome { summary, tables, was_stopped })
    }
}

/// What is on its way when a run is over.
fn ledger(engine: &Engine<Node>) -> Ledger {
    let mut on_links = (0, 0);
    engine.for_each_under_way(|p| {
        on_links.0 += if p.is_data() { u64::from(p.bytes()) } else { 0 };
        on_links.1 += usize::from(p.side().is_some());
    });
    Ledger::new(on_links, engine.sides())
}

/// What a run did, but for the time that it took.
fn performance(collector: &Collector, skip: Skip, statistics: Statistics) -> Performance {
    let (skipped, blockers) = skip.end();
    let by_kind = PacketHopsByKind {
        packets: skipped.packet_hops[Across::Packets as usize],
        steps: skipped.packet_hops[Across::Messages as usize],
        layers: skipped.packet_hops[Across::Operations as usize..Across::Episodes as usize].iter().sum(),
        episodes: skipped.packet_hops[Across::Episodes as usize],
    };
    let fast_forward = FastForward {
        packet_hops: skipped.packet_hops.iter().sum(),
        by_kind,
        packet_hops_in_components: skipped.packet_hops_in_islands,
        components: skipped.islands,
        periods: skipped.periods,
        episodes: skipped.episodes,
        blockers,
    };
    Performance {
        data_packet_hops: collector.hops,
        packet_hops_simulated: collector.hops - fast_forward.packet_hops,
        fast_forward,
        events: statistics.events,
        windows: statistics.windows,
        peak_rss_bytes: memory::peak_rss_bytes(),
        events_on_one_thread: statistics.events_alone,
        ..Performance::default()
    }
}

/// Ports that wait for one another when nothing is left to do; the moment is that at which the last of all sent.
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
