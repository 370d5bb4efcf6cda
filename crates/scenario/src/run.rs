//! From a scenario to results.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use xoff_engine::{Engine, Finish, Plan as EnginePlan};
use xoff_models::endpoint::Framing;
use xoff_models::network::{Settings, build};
use xoff_models::node::Node;
use xoff_models::packet::Kind;
use xoff_models::queueing::port::Turns as PortTurns;
use xoff_models::record::Wanted;
use xoff_models::topology::{PortSpec, Topology};
use xoff_models::transport::Protocol;
use xoff_models::workload::{self, AllFlows, MAX_START};
use xoff_units::Time;

use crate::audit::find_deadlock;
use crate::collect::{Collector, Trouble};
use crate::document::{Judgement, Scenario, Turns};
use crate::limits;
use crate::memory::{self, Budget};
use crate::read::InputError;
use crate::summary::{Performance, Summary};
use crate::table::{Input, Table, fill};

/// How far a run is.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct Progress {
    /// Simulated time.
    pub simulated_ps: u64,
    /// Flows delivered.
    pub flows_completed: u64,
    /// Flows in all.
    pub flows_total: u64,
    /// Payload of delivered flows.
    pub bytes_completed: u64,
    /// Payload in all.
    pub bytes_total: u64,
    /// How much of the run is done, from 0 to 1: of its payload, or of its time if `until` ends it.
    pub share: f64,
}

/// Who watches a run.
pub trait Observer {
    /// Called at most ten times a second; breaking stops the run.
    fn progress(&mut self, progress: Progress) -> ControlFlow<()>;
    /// Whether rows are handed on in batches as they come; otherwise all are kept for the outcome.
    fn takes_rows(&self) -> bool;
    /// Rows that are complete.
    fn rows(&mut self, table: Table);
}

/// Nobody.
impl Observer for () {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn takes_rows(&self) -> bool {
        false
    }
    fn rows(&mut self, _: Table) {}
}

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

/// A port that sent nothing for this long while paused may be part of a deadlock.
const STILL: Time = Time::ms(1);
/// A run in which no flow gains a packet for this many retransmission timeouts, and this long, makes no progress.
const STALL_TIMEOUTS: u64 = 25;
const STALL_AT_LEAST: Time = Time::ms(100);
/// Nor does one that handles so many events, and so many more for each node, without any flow gaining a packet.
const STALL_EVENTS: u64 = 20_000_000;
const STALL_EVENTS_A_NODE: u64 = 20_000;
/// How many events may pass until progress is looked for again.
const LOOK_EVERY: u64 = 1_000_000;

/// A scenario that was checked and can run.
pub struct Runner {
    /// The network.
    pub topology: Topology,
    /// Its ports.
    pub ports: Vec<Vec<PortSpec>>,
    /// All flows.
    pub plan: AllFlows,
    /// Models' settings.
    pub settings: Settings,
    scenario: Scenario,
}

impl Runner {
    /// Builds network and flows; refuses what cannot be.
    pub fn new(mut scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Self, InputError> {
        fill(&mut scenario, tables)?;
        let topology = scenario
            .network
            .build()
            .map_err(|(key, why)| InputError::new(if key.is_empty() { "network".into() } else { format!("network.{key}") }, why))?;
        limits::check_network(&scenario, &topology)?;
        let framing = Framing {
            payload: scenario.framing.payload.0,
            header: scenario.framing.header.0 + scenario.framing.gap.0,
            control: (scenario.framing.control.0.max(scenario.framing.minimum.0) + scenario.framing.gap.0) as u16,
            minimum: scenario.framing.minimum.0 + scenario.framing.gap.0,
        };
        let plan = workload::make(&scenario.workload, &topology, scenario.switch.classes, &framing, scenario.seed)?;
        let settings = Settings {
            seed: scenario.seed,
            framing,
            switch_delay: scenario.switch.delay,
            queueing: scenario.switch.queueing,
            buffer: scenario.switch.buffer.clone(),
            classes: scenario.switch.classes,
            turns: match scenario.switch.scheduler {
                Turns::Strict => None,
                Turns::RoundRobin => Some(PortTurns::Packets),
                Turns::Drr(quantum) => Some(PortTurns::Bytes(quantum.0 as u32)),
            },
            priority_classes: scenario.switch.priority_classes,
            classify: scenario.host.classify.clone().unwrap_or_default(),
            ecn: scenario.switch.ecn.clone(),
            flow_control: scenario.switch.flow_control.clone(),
            transport: Protocol::new(&scenario.host.transport),
            congestion_control: scenario.host.congestion_control.clone(),
            relay: scenario.host.relay.clone(),
            first_hop: scenario.host.first_hop.clone(),
            faults: scenario.switch.faults,
            wanted: Wanted { packets: scenario.probe.packets, queues: scenario.probe.queues.unwrap_or_default() },
        };
        let ports = topology.ports();
        reachable(&topology, &ports, &plan)?;
        limits::check_memory(&topology, &ports, &settings)?;
        limits::check_relays(&scenario, &topology, &ports, &plan)?;
        limits::check_levels(&scenario, &topology, &ports, &settings)?;
        Ok(Self { topology, ports, plan, settings, scenario })
    }

    /// The scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Runs to the end.
    pub fn run(self, engine: EnginePlan, observer: &mut dyn Observer) -> Result<Outcome, InputError> {
        let threads = engine.threads;
        let clock = (Instant::now(), cpu_time::ProcessTime::now());
        let mut collector = Collector::new(&self);
        let plan = AllFlows {
            sources: self.plan.sources.clone(),
            paths: self.plan.paths.clone(),
            starts: Vec::new(),
            waiting: Vec::new(),
            arrivals: Vec::new(),
            ranges: self.plan.ranges.clone(),
            names: self.plan.names.clone(),
            labels: self.plan.labels.clone(),
            flows: self.plan.flows,
            bytes: self.plan.bytes,
            pairs: Vec::new(),
        };
        let Self { topology, plan: whole, settings, scenario, .. } = self;
        // What comes later than that is beyond the engine's clock.
        let until = scenario.until.unwrap_or(MAX_START);
        let engine = EnginePlan { until, ..engine };
        let mut engine: Engine<Node> = build(&topology, whole, &settings, engine).map_err(|e| InputError::new("network", e.0))?;
        let patience = Time(settings.transport.rto_range().1.ps().saturating_mul(STALL_TIMEOUTS)).max(STALL_AT_LEAST);
        let tedium = STALL_EVENTS + STALL_EVENTS_A_NODE * topology.nodes.len() as u64;
        let budget = Budget::new()?;
        let mut is_too_large = None;
        let mut last_look = Instant::now();
        let mut last_search = Time::ZERO;
        let mut last_events = 0;
        let mut last_gain = (0, Time::ZERO, 0);
        let mut trouble = None;
        let mut was_stopped = false;
        let mut ended = None;
        let finish = engine.run(|cp| {
            ended = Some(cp.now);
            collector.drain(cp, &plan, observer);
            // A frame that went astray fails the run; senders would repeat it for ever.
            if collector.is_astray {
                return ControlFlow::Break(());
            }
            let events = cp.statistics.events;
            let is_time = cp.now.since(last_search) >= STILL;
            if is_time {
                last_search = cp.now;
                if let Some(cycle) = find_deadlock(cp, cp.now.since(STILL)) {
                    trouble.get_or_insert(Trouble::Deadlock(cp.now, cycle));
                    // Without an end of its own the run would go on with timers alone.
                    if scenario.audits.deadlock == Judgement::Fail || scenario.until.is_none() {
                        return ControlFlow::Break(());
                    }
                }
            }
            if is_time || events >= last_events + LOOK_EVERY {
                last_events = events;
                let (gained, is_busy) = Collector::gained(cp);
                if gained > last_gain.0 || !is_busy {
                    last_gain = (gained, cp.now, events);
                } else if trouble.is_none() && (cp.now.since(last_gain.1) >= patience || events - last_gain.2 >= tedium) {
                    trouble = Some(Trouble::Stall(last_gain.1));
                    return ControlFlow::Break(());
                }
            }
            if last_look.elapsed() >= Duration::from_millis(100) {
                last_look = Instant::now();
                is_too_large = budget.passed().map(|held| budget.refusal(held, cp.now));
                if is_too_large.is_some() {
                    return ControlFlow::Break(());
                }
                if observer.progress(collector.progress(cp.now, scenario.until)).is_break() {
                    was_stopped = true;
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        if let Some(refusal) = is_too_large {
            return Err(refusal);
        }
        let mut on_links = 0;
        engine.for_each_under_way(|p| on_links += if p.kind == Kind::Data { u64::from(p.bytes) } else { 0 });
        let fingerprint = engine.fingerprint();
        let statistics = engine.statistics();
        let mut cp = engine.checkpoint(ended.unwrap_or_default());
        collector.drain(&mut cp, &plan, observer);
        if finish == Finish::Idle {
            cp.now = collector.end;
            if trouble.is_none() {
                trouble = find_deadlock(&cp, Time::NEVER).map(|cycle| {
                    let ports = (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
                    cp.now = ports.map(|p| p.last_data).fold(cp.now, Time::max);
                    Trouble::Deadlock(cp.now, cycle)
                });
            }
        }
        let verdicts = collector.judge(&cp, &plan, &scenario, finish, trouble, on_links);
        let tables = collector.finish(&cp, &plan, cp.now);
        let performance = Performance {
            data_packet_hops: collector.hops,
            events: statistics.events,
            windows: statistics.windows,
            cpu_seconds: clock.1.elapsed().as_secs_f64(),
            wall_seconds: clock.0.elapsed().as_secs_f64(),
            peak_rss_bytes: memory::peak_rss_bytes(),
            threads,
        };
        let summary = collector.summary(&scenario, fingerprint, verdicts, performance, cp.now);
        Ok(Outcome { summary, tables, was_stopped })
    }
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

/// Refuses flows between hosts that no path joins.
fn reachable(topology: &Topology, ports: &[Vec<PortSpec>], plan: &AllFlows) -> Result<(), InputError> {
    let n = topology.nodes.len();
    // Packets pass nodes that forward: nodes that are joined by these alone are an island.
    let mut island = vec![u32::MAX; n];
    for start in (0..n).filter(|n| topology.nodes[*n].forwards) {
        if island[start] != u32::MAX {
            continue;
        }
        let mut stack = vec![start];
        island[start] = start as u32;
        while let Some(at) = stack.pop() {
            for p in ports[at].iter().filter(|p| topology.nodes[p.peer as usize].forwards) {
                if island[p.peer as usize] == u32::MAX {
                    island[p.peer as usize] = start as u32;
                    stack.push(p.peer as usize);
                }
            }
        }
    }
    // A host may be on several.
    let on = |host: u32| -> BTreeSet<u32> {
        let peers = ports[host as usize].iter().map(|p| p.peer);
        peers.chain([host]).map(|node| island[node as usize]).filter(|island| *island != u32::MAX).collect()
    };
    let islands: BTreeMap<u32, BTreeSet<u32>> = topology.hosts().into_iter().map(|host| (host, on(host))).collect();
    let mut all = islands.values();
    if all.next().is_some_and(|first| !first.is_empty() && all.all(|other| other == first)) {
        return Ok(());
    }
    let is_joined = |a: u32, b: u32| !islands[&a].is_disjoint(&islands[&b]) || ports[a as usize].iter().any(|p| p.peer == b);
    let drawn = plan.starts.iter().enumerate().flat_map(|(src, starts)| {
        starts.iter().filter_map(move |start| match start {
            workload::Start::Drawn(source) => Some((src as u32, source.destinations().1)),
            workload::Start::List(_) => None,
        })
    });
    let drawn = drawn.flat_map(|(src, destinations)| destinations.iter().filter(move |dst| **dst != src).map(move |dst| (src, *dst)));
    match plan.pairs.iter().copied().chain(drawn).find(|(a, b)| !is_joined(*a, *b)) {
        Some((a, b)) => Err(InputError::new(
            "workload",
            format!("no path leads from {} to {}", topology.nodes[a as usize].name, topology.nodes[b as usize].name),
        )),
        None => Ok(()),
    }
}
