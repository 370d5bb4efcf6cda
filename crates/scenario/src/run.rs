//! From a scenario to results.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use xoff_engine::{Checkpoint, Engine, Finish, Plan as EnginePlan};
use xoff_models::endpoint::{Framing, Sent};
use xoff_models::mechanism::Mechanism;
use xoff_models::network::{Settings, build};
use xoff_models::node::Node;
use xoff_models::packet::{Kind, Packet};
use xoff_models::queueing::port::Turns as PortTurns;
use xoff_models::record::{Drop, Pause, Sample, Trace, Wanted};
use xoff_models::topology::{PortSpec, Topology};
use xoff_models::workload::{self, Plan};
use xoff_units::Time;

use crate::audit::{Verdicts, Waiter, find_deadlock};
use crate::document::{Judgement, Scenario, Turns};
use crate::read::InputError;
use crate::summary::{self, Ecn, Fct, Flows, Performance, Pfc, Sfc, Summary, WorkloadSummary};
use crate::table::{Column, Data, Input, Table, fill};

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
}

/// Who watches a run.
pub trait Observer {
    /// Called at most ten times a second; breaking stops the run.
    fn progress(&mut self, progress: Progress) -> ControlFlow<()>;
    /// Rows that are complete; true when they were taken. Otherwise they are kept for the outcome.
    fn rows(&mut self, table: &Table) -> bool;
}

/// Nobody.
impl Observer for () {
    fn progress(&mut self, _: Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn rows(&mut self, _: &Table) -> bool {
        false
    }
}

/// Results.
#[derive(Debug)]
pub struct Outcome {
    /// Numbers of the whole run.
    pub summary: Summary,
    /// Tables.
    pub tables: Vec<Table>,
    /// The observer stopped it.
    pub was_stopped: bool,
}

/// Rows are handed on in batches of this size.
const BATCH: usize = 1 << 16;
/// A port that sent nothing for this long while paused may be part of a deadlock.
const STILL: Time = Time::ms(1);

/// A scenario that was checked and can run.
pub struct Runner {
    /// The network.
    pub topology: Topology,
    /// Its ports.
    pub ports: Vec<Vec<PortSpec>>,
    /// All flows.
    pub plan: Plan,
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
        let framing = Framing {
            payload: scenario.framing.payload.0,
            header: scenario.framing.header.0 + scenario.framing.gap.0,
            control: (scenario.framing.control.0.max(scenario.framing.minimum.0) + scenario.framing.gap.0) as u16,
            minimum: scenario.framing.minimum.0 + scenario.framing.gap.0,
        };
        let plan = workload::plan(&scenario.workload, &topology, scenario.switch.classes, framing.payload, scenario.seed)?;
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
            ecn: scenario.switch.ecn.clone(),
            flow_control: scenario.switch.flow_control.clone(),
            transport: scenario.host.transport.go_back_n.clone().unwrap_or_default(),
            congestion_control: scenario.host.congestion_control.clone(),
            wanted: Wanted { packets: scenario.probe.packets, queues: scenario.probe.queues.unwrap_or_default() },
        };
        let ports = topology.ports();
        reachable(&topology, &ports, &plan)?;
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
        let names = Arc::new(self.topology.nodes.iter().map(|n| n.name.clone()).collect::<Vec<_>>());
        let mut collector = Collector::new(&self, names);
        let plan = Plan {
            sources: self.plan.sources.clone(),
            paths: self.plan.paths.clone(),
            starts: Vec::new(),
            waiting: Vec::new(),
            ranges: self.plan.ranges.clone(),
            names: self.plan.names.clone(),
            labels: self.plan.labels.clone(),
            flows: self.plan.flows,
            bytes: self.plan.bytes,
            pairs: Vec::new(),
        };
        let Self { topology, plan: whole, settings, scenario, .. } = self;
        let mut engine: Engine<Node> = build(&topology, whole, &settings, engine).map_err(|e| InputError::new("network", e.0))?;
        let mut last_look = Instant::now();
        let mut last_search = Time::ZERO;
        let mut deadlock = None;
        let mut was_stopped = false;
        let mut stopped_at = None;
        let until = scenario.until.unwrap_or(Time::NEVER);
        let finish = engine.run(|cp| {
            collector.drain(cp, &plan, observer);
            // A frame that went astray fails the run; senders would repeat it for ever.
            if cp.now >= until || collector.is_astray {
                stopped_at = Some(cp.now);
                return ControlFlow::Break(());
            }
            if cp.now.since(last_search) >= STILL {
                last_search = cp.now;
                if let Some(cycle) = find_deadlock(cp, cp.now.since(STILL)) {
                    deadlock.get_or_insert((cp.now, cycle));
                    // Without an end of its own the run would go on with timers alone.
                    if scenario.audits.deadlock == Judgement::Fail || until == Time::NEVER {
                        stopped_at = Some(cp.now);
                        return ControlFlow::Break(());
                    }
                }
            }
            if last_look.elapsed() >= Duration::from_millis(100) {
                last_look = Instant::now();
                if observer.progress(collector.progress(cp.now)).is_break() {
                    was_stopped = true;
                    stopped_at = Some(cp.now);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        let mut on_links = 0;
        engine.for_each_under_way(|p| on_links += if p.kind == Kind::Data { u64::from(p.bytes) } else { 0 });
        let fingerprint = engine.fingerprint();
        let statistics = engine.statistics();
        let mut cp = engine.checkpoint(stopped_at.unwrap_or(Time::NEVER));
        collector.drain(&mut cp, &plan, observer);
        if deadlock.is_none() && finish == Finish::Idle {
            deadlock = find_deadlock(&cp, Time::NEVER).map(|cycle| (collector.end, cycle));
        }
        let verdicts = collector.judge(&cp, &plan, &scenario, finish, deadlock, on_links);
        collector.finish(&mut cp, &plan);
        let performance = Performance {
            data_packet_hops: collector.hops,
            events: statistics.events,
            windows: statistics.windows,
            cpu_seconds: clock.1.elapsed().as_secs_f64(),
            wall_seconds: clock.0.elapsed().as_secs_f64(),
            peak_rss_bytes: summary::peak_rss_bytes(),
            threads,
        };
        let summary = collector.summary(&scenario, fingerprint, verdicts, performance, stopped_at);
        let tables = collector.tables();
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
fn reachable(topology: &Topology, ports: &[Vec<PortSpec>], plan: &Plan) -> Result<(), InputError> {
    let n = topology.nodes.len();
    let mut island = vec![u32::MAX; n];
    for start in 0..n {
        if island[start] != u32::MAX || !topology.nodes[start].is_host {
            continue;
        }
        let mut stack = vec![start];
        island[start] = start as u32;
        while let Some(at) = stack.pop() {
            if at != start && !topology.nodes[at].forwards {
                continue;
            }
            for p in &ports[at] {
                if island[p.peer as usize] == u32::MAX {
                    island[p.peer as usize] = start as u32;
                    stack.push(p.peer as usize);
                }
            }
        }
    }
    let drawn = plan.starts.iter().any(|s| s.iter().any(|s| matches!(s, workload::Start::Poisson(_))));
    let islands: std::collections::BTreeSet<u32> = topology.hosts().iter().map(|h| island[*h as usize]).collect();
    if drawn && islands.len() > 1 {
        return Err(InputError::new("network", "some hosts cannot reach others, and random flows may go between any of them"));
    }
    match plan.pairs.iter().find(|(a, b)| island[*a as usize] != island[*b as usize]) {
        Some((a, b)) => Err(InputError::new(
            "workload",
            format!("no path leads from {} to {}", topology.nodes[*a as usize].name, topology.nodes[*b as usize].name),
        )),
        None => Ok(()),
    }
}

/// Gathers rows at checkpoints, in node order.
struct Collector {
    names: Arc<Vec<String>>,
    workloads: Arc<Vec<String>>,
    /// When each flow's last byte arrived; `u64::MAX` when it has not.
    arrived: Vec<u64>,
    rows: FlowRows,
    fct: Vec<u64>,
    fct_acked: Vec<u64>,
    by_workload: BTreeMap<String, (Flows, Vec<u64>)>,
    drops: Vec<Drop>,
    pauses: Vec<Pause>,
    packets: Vec<Trace>,
    samples: Vec<Sample>,
    queues: Vec<Column>,
    links: Vec<Column>,
    end: Time,
    completed: u64,
    is_astray: bool,
    bytes_completed: u64,
    flows_total: u64,
    bytes_total: u64,
    hops: u64,
    pfc: Pfc,
    sfc: Sfc,
    ecn: Ecn,
    dropped: u64,
    retransmitted: u64,
    ports: Vec<Vec<PortSpec>>,
    framing: Framing,
    switch_delay: Vec<Time>,
}

#[derive(Default)]
struct FlowRows {
    flow: Vec<u32>,
    workload: Vec<u32>,
    label: Vec<Option<String>>,
    src: Vec<u32>,
    dst: Vec<u32>,
    size: Vec<u64>,
    start: Vec<u64>,
    fct: Vec<Option<u64>>,
    acked: Vec<Option<u64>>,
    ideal: Vec<u64>,
    slowdown: Vec<Option<f64>>,
    sent: Vec<u64>,
    retransmitted: Vec<u64>,
    cnps: Vec<u32>,
    sfcms: Vec<u32>,
    paused: Vec<u64>,
}

impl Collector {
    fn new(runner: &Runner, names: Arc<Vec<String>>) -> Self {
        let mut by_workload = BTreeMap::new();
        for (i, (first, workload)) in runner.plan.ranges.iter().enumerate() {
            let next = runner.plan.ranges.get(i + 1).map_or(runner.plan.flows, |r| u64::from(r.0));
            let entry: &mut (Flows, Vec<u64>) = by_workload.entry(runner.plan.names[*workload as usize].clone()).or_default();
            entry.0.total += next - u64::from(*first);
        }
        let delay = |n: &xoff_models::topology::NodeSpec| {
            n.delay.unwrap_or(if n.forwards && !n.is_host { runner.settings.switch_delay } else { Time::ZERO })
        };
        Self {
            names,
            workloads: Arc::new(runner.plan.names.clone()),
            arrived: vec![u64::MAX; runner.plan.flows as usize],
            rows: FlowRows::default(),
            fct: Vec::new(),
            fct_acked: Vec::new(),
            by_workload,
            drops: Vec::new(),
            pauses: Vec::new(),
            packets: Vec::new(),
            samples: Vec::new(),
            queues: Vec::new(),
            links: Vec::new(),
            end: Time::ZERO,
            completed: 0,
            is_astray: false,
            bytes_completed: 0,
            flows_total: runner.plan.flows,
            bytes_total: runner.plan.bytes,
            hops: 0,
            pfc: Pfc::default(),
            sfc: Sfc::default(),
            ecn: Ecn::default(),
            dropped: 0,
            retransmitted: 0,
            ports: runner.ports.clone(),
            framing: runner.settings.framing,
            switch_delay: runner.topology.nodes.iter().map(delay).collect(),
        }
    }

    fn progress(&self, now: Time) -> Progress {
        Progress {
            simulated_ps: now.ps(),
            flows_completed: self.completed,
            flows_total: self.flows_total,
            bytes_completed: self.bytes_completed,
            bytes_total: self.bytes_total,
        }
    }

    fn drain(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &Plan, observer: &mut dyn Observer) {
        for id in 0..cp.nodes() {
            let node = cp.node_mut(id);
            let Some(endpoint) = &mut node.endpoint else { continue };
            for (flow, at) in endpoint.arrived.drain(..) {
                self.arrived[flow as usize] = at.ps();
                self.completed += 1;
                self.end = self.end.max(at);
            }
        }
        for id in 0..cp.nodes() {
            let node = cp.node_mut(id);
            self.is_astray |= node.counts.lost > 0;
            self.drops.append(&mut node.records.drops);
            self.pauses.append(&mut node.records.pauses);
            self.packets.append(&mut node.records.packets);
            self.samples.append(&mut node.records.samples);
            let Some(endpoint) = &mut node.endpoint else { continue };
            if !endpoint.sent.is_empty() {
                let sent = std::mem::take(&mut endpoint.sent);
                for s in &sent {
                    self.bytes_completed += s.size;
                    self.add_flow(cp, plan, s);
                }
            }
        }
        if self.rows.flow.len() >= BATCH {
            let table = self.flow_table();
            if observer.rows(&table) {
                self.rows = FlowRows::default();
            }
        }
    }

    fn add_flow(&mut self, cp: &Checkpoint<'_, Node>, plan: &Plan, s: &Sent) {
        let src = plan.sources.of(s.flow);
        let at = plan.ranges.partition_point(|r| r.0 <= s.flow) - 1;
        let workload = plan.ranges[at].1;
        let arrived = self.arrived[s.flow as usize];
        let fct = (arrived != u64::MAX).then(|| arrived - s.start.ps());
        let acked = s.acknowledged.map(|a| a.ps() - s.start.ps());
        let ideal = self.ideal(cp, s, src);
        if let Some(fct) = fct {
            self.fct.push(fct);
            if let Some(entry) = self.by_workload.get_mut(&plan.names[workload as usize]) {
                entry.0.completed += 1;
                entry.1.push(fct);
            }
        }
        self.fct_acked.extend(acked);
        self.retransmitted += s.retransmitted;
        let r = &mut self.rows;
        r.flow.push(s.flow);
        r.workload.push(u32::from(workload));
        r.label.push(plan.labels.get(&s.flow).cloned());
        r.src.push(src);
        r.dst.push(s.dst);
        r.size.push(s.size);
        r.start.push(s.start.ps());
        r.fct.push(fct);
        r.acked.push(acked);
        r.ideal.push(ideal);
        r.slowdown.push(fct.map(|f| f as f64 / ideal as f64));
        r.sent.push(s.packets);
        r.retransmitted.push(s.retransmitted);
        r.cnps.push(s.cnps);
        r.sfcms.push(s.sfcms);
        r.paused.push(s.paused.ps());
    }

    /// The time that a flow alone would take to its last byte: propagation and processing of its path, all of it at the slowest
    /// link, and one packet at each other link.
    fn ideal(&self, cp: &Checkpoint<'_, Node>, s: &Sent, src: u32) -> u64 {
        let mut probe = Packet::new(Kind::Data, s.flow, 0, s.dst, 0, s.class);
        probe.path = s.path;
        let packet = u64::from(self.framing.wire(s.size, 0));
        let wire = self.framing.wire_bytes(s.size);
        let (mut at, mut total, mut slowest) = (src, 0, (0, 0));
        for _ in 0..64 {
            let port = &self.ports[at as usize][cp.node(at).routes().port(&probe)];
            let one = port.link.rate.time(packet).ps();
            total += port.link.delay.ps() + one;
            if one > slowest.0 {
                slowest = (one, port.link.rate.time(wire).ps());
            }
            probe.hop();
            at = port.peer;
            if at == s.dst {
                break;
            }
            total += self.switch_delay[at as usize].ps();
        }
        total - slowest.0 + slowest.1
    }

    fn judge(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        plan: &Plan,
        scenario: &Scenario,
        finish: Finish,
        deadlock: Option<(Time, Vec<Waiter>)>,
        on_links: u64,
    ) -> Verdicts {
        let (mut injected, mut delivered, mut dropped, mut queued, mut lost, mut reordered) = (0, 0, 0, on_links, 0, 0);
        let mut standing = Vec::new();
        for id in 0..cp.nodes() {
            let node = cp.node(id);
            if let Some(e) = &node.endpoint {
                injected += e.injected_bytes;
                delivered += e.delivered_bytes;
                reordered += e.reordered;
                self.sfc.late += e.late_sfcms;
                self.ecn.notifications += e.cnps;
            }
            dropped += node.counts.dropped_bytes;
            queued += node.queued_bytes();
            lost += node.counts.lost;
            self.hops += node.counts.data_hops;
            self.pfc.pauses += node.counts.pfc_pauses;
            self.pfc.paused_ps += node.paused.iter().map(|t| t.ps()).sum::<u64>();
            self.sfc.messages += node.counts.sfcms;
            self.ecn.marked += node.counts.marked;
            self.dropped += node.counts.dropped;
            for mechanism in node.mechanisms.iter() {
                if let Mechanism::Pfc(pfc) = mechanism {
                    standing.extend(pfc.outstanding().map(|(port, class)| (id, port, class)));
                }
            }
            for (port, class, _, _) in &node.open_pauses {
                standing.push((id, *port as usize, *class));
            }
        }
        let name = |id: u32| &self.names[id as usize];
        let port = |id: u32, port: usize| format!("{} port {port} (to {})", name(id), name(self.ports[id as usize][port].peer));
        let mut verdicts = Verdicts::default();
        let balance = (injected != delivered + dropped + queued || lost > 0).then(|| {
            format!(
                "{injected} B entered, {delivered} B arrived, {dropped} B were dropped and {queued} B are queued; {lost} frames were lost"
            )
        });
        verdicts.enter("conservation", Judgement::Fail, balance);
        let is_lossless = scenario.switch.flow_control.pfc.is_some();
        let loss = (is_lossless && self.dropped > 0).then(|| {
            let d = &self.drops[0];
            format!(
                "{} packets of a lossless class were dropped, the first at {} at {}, class {}, out of port {}; give more headroom above XOFF, at least {} B more",
                self.dropped,
                d.at,
                port(d.node, d.in_port as usize),
                d.class,
                d.port,
                self.drops.iter().filter(|o| (o.node, o.in_port, o.class) == (d.node, d.in_port, d.class)).map(|o| u64::from(o.bytes)).sum::<u64>(),
            )
        });
        verdicts.enter("loss", scenario.audits.loss, loss);
        let unpaired = (finish == Finish::Idle && deadlock.is_none()).then(|| standing.first()).flatten().map(|(id, p, class)| {
            format!("{} pauses were never taken back, the first at {}, class {class}", standing.len(), port(*id, *p))
        });
        verdicts.enter("pauses", scenario.audits.pauses, unpaired);
        let disorder = (reordered > 0).then(|| format!("{reordered} packets arrived out of order in their flow"));
        verdicts.enter("order", Judgement::Fail, disorder);
        let cycle = deadlock.as_ref().map(|(at, cycle)| {
            let list: Vec<_> = cycle.iter().map(|(id, p, class)| format!("{}, class {class}", port(*id, *p as usize))).collect();
            format!("at {at} these wait for one another: {}", list.join(" → "))
        });
        verdicts.enter("deadlock", scenario.audits.deadlock, cycle);
        let missing = (finish == Finish::Idle && self.completed < plan.flows)
            .then(|| format!("{} of {} flows were not delivered, and nothing is left to do", plan.flows - self.completed, plan.flows));
        verdicts.enter("completion", scenario.audits.completion, missing);
        verdicts
    }

    /// Rows of what is not over, and of ports and queues.
    fn finish(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &Plan) {
        for id in 0..cp.nodes() {
            let unfinished = cp.node(id).endpoint.as_ref().map_or_else(Vec::new, |e| e.unfinished());
            for s in unfinished {
                self.add_flow(cp, plan, &s);
            }
            let node = cp.node(id);
            for (port, class, cause, start) in &node.open_pauses {
                self.pauses.push(Pause { node: id, port: *port, class: *class, cause: cause.name(), start: *start, end: None });
            }
        }
        self.pauses.sort_by_key(|p| (p.start, p.node, p.port, p.class));
        self.drops.sort_by_key(|d| (d.at, d.node, d.port));
        self.packets.sort_by_key(|p| p.at);
        self.samples.sort_by_key(|s| s.at);
        let names = |ids: Vec<u32>| Data::Name(ids, self.names.clone());
        let (mut q, mut l) = (Rows::default(), Rows::default());
        for id in 0..cp.nodes() {
            let node = cp.node(id);
            for (i, p) in node.core.ports.iter().enumerate() {
                let spec = &self.ports[id as usize][i];
                l.node.push(id);
                l.port.push(i as u16);
                l.peer.push(p.peer);
                let busy = p.serializer.time(p.data_bytes + p.control_bytes).ps();
                l.numbers.push([p.rate.0, spec.link.delay.ps(), p.data_bytes, p.control_bytes, busy, node.paused[i].ps(), p.data_packets]);
                for (k, queue) in p.queues.iter().enumerate().skip(1) {
                    if queue.sent == 0 && queue.dropped == 0 {
                        continue;
                    }
                    q.node.push(id);
                    q.port.push(i as u16);
                    q.peer.push(p.peer);
                    q.queue.push(k as u16);
                    q.class.push(queue.class());
                    q.numbers.push([u64::from(queue.bytes.peak()), queue.sent, queue.sent_bytes, queue.marked, queue.dropped, 0, 0]);
                }
            }
        }
        let number = |rows: &[[u64; 7]], i: usize| Data::U64(rows.iter().map(|r| r[i]).collect());
        let end = self.end.ps().max(1) as f64;
        self.queues = vec![
            Column { name: "node", data: names(q.node) },
            Column { name: "port", data: Data::U16(q.port) },
            Column { name: "peer", data: names(q.peer) },
            Column { name: "queue", data: Data::U16(q.queue) },
            Column { name: "class", data: Data::U8(q.class) },
            Column { name: "max_bytes", data: number(&q.numbers, 0) },
            Column { name: "packets", data: number(&q.numbers, 1) },
            Column { name: "bytes", data: number(&q.numbers, 2) },
            Column { name: "marked", data: number(&q.numbers, 3) },
            Column { name: "dropped", data: number(&q.numbers, 4) },
        ];
        self.links = vec![
            Column { name: "node", data: names(l.node) },
            Column { name: "port", data: Data::U16(l.port) },
            Column { name: "peer", data: names(l.peer) },
            Column { name: "rate_bps", data: number(&l.numbers, 0) },
            Column { name: "delay_ps", data: number(&l.numbers, 1) },
            Column { name: "data_bytes", data: number(&l.numbers, 2) },
            Column { name: "control_bytes", data: number(&l.numbers, 3) },
            Column { name: "busy_ps", data: number(&l.numbers, 4) },
            Column { name: "paused_ps", data: number(&l.numbers, 5) },
            Column { name: "data_packets", data: number(&l.numbers, 6) },
            Column { name: "utilisation", data: Data::F64(l.numbers.iter().map(|r| r[4] as f64 / end).collect()) },
        ];
    }

    fn summary(
        &mut self,
        scenario: &Scenario,
        fingerprint: u64,
        verdicts: Verdicts,
        performance: Performance,
        stopped_at: Option<Time>,
    ) -> Summary {
        let workloads = std::mem::take(&mut self.by_workload);
        Summary {
            name: scenario.name.clone(),
            seed: scenario.seed,
            fingerprint: format!("{fingerprint:016x}"),
            simulated_ps: stopped_at.unwrap_or(self.end).ps(),
            flows: Flows { total: self.flows_total, completed: self.completed },
            fct_ps: Fct::of(&mut self.fct),
            fct_acked_ps: Fct::of(&mut self.fct_acked),
            workloads: workloads
                .into_iter()
                .map(|(n, (flows, mut fct))| (n, WorkloadSummary { flows, fct_ps: Fct::of(&mut fct) }))
                .collect(),
            pfc: self.pfc,
            sfc: self.sfc,
            ecn: self.ecn,
            drops: self.dropped,
            retransmitted: self.retransmitted,
            audits: verdicts.0,
            performance,
        }
    }

    fn flow_table(&self) -> Table {
        let r = &self.rows;
        let name = |ids: &[u32]| Data::Name(ids.to_vec(), self.names.clone());
        Table {
            name: "flows",
            columns: vec![
                Column { name: "flow", data: Data::U32(r.flow.clone()) },
                Column { name: "workload", data: Data::Name(r.workload.clone(), self.workloads.clone()) },
                Column { name: "label", data: Data::MaybeText(r.label.clone()) },
                Column { name: "src", data: name(&r.src) },
                Column { name: "dst", data: name(&r.dst) },
                Column { name: "size_bytes", data: Data::U64(r.size.clone()) },
                Column { name: "start_ps", data: Data::U64(r.start.clone()) },
                Column { name: "fct_ps", data: Data::MaybeU64(r.fct.clone()) },
                Column { name: "fct_acked_ps", data: Data::MaybeU64(r.acked.clone()) },
                Column { name: "ideal_fct_ps", data: Data::U64(r.ideal.clone()) },
                Column { name: "slowdown", data: Data::MaybeF64(r.slowdown.clone()) },
                Column { name: "packets_sent", data: Data::U64(r.sent.clone()) },
                Column { name: "retransmitted", data: Data::U64(r.retransmitted.clone()) },
                Column { name: "cnps", data: Data::U32(r.cnps.clone()) },
                Column { name: "sfcms", data: Data::U32(r.sfcms.clone()) },
                Column { name: "paused_ps", data: Data::U64(r.paused.clone()) },
            ],
        }
    }

    fn tables(self) -> Vec<Table> {
        let flows = self.flow_table();
        let names = |ids: Vec<u32>| Data::Name(ids, self.names.clone());
        let peer = |node: u32, port: u16| self.ports[node as usize][port as usize].peer;
        let times = |t: Vec<Time>| Data::U64(t.into_iter().map(Time::ps).collect());
        let p = &self.pauses;
        let pauses = vec![
            Column { name: "node", data: names(p.iter().map(|p| p.node).collect()) },
            Column { name: "port", data: Data::U16(p.iter().map(|p| p.port).collect()) },
            Column { name: "peer", data: names(p.iter().map(|p| peer(p.node, p.port)).collect()) },
            Column { name: "class", data: Data::U8(p.iter().map(|p| p.class).collect()) },
            Column { name: "cause", data: Data::Static(p.iter().map(|p| p.cause).collect()) },
            Column { name: "start_ps", data: times(p.iter().map(|p| p.start).collect()) },
            Column { name: "end_ps", data: Data::MaybeU64(p.iter().map(|p| p.end.map(Time::ps)).collect()) },
        ];
        let d = &self.drops;
        let drops = vec![
            Column { name: "time_ps", data: times(d.iter().map(|d| d.at).collect()) },
            Column { name: "node", data: names(d.iter().map(|d| d.node).collect()) },
            Column { name: "port", data: Data::U16(d.iter().map(|d| d.port).collect()) },
            Column { name: "in_port", data: Data::U16(d.iter().map(|d| d.in_port).collect()) },
            Column { name: "class", data: Data::U8(d.iter().map(|d| d.class).collect()) },
            Column { name: "flow", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column { name: "seq", data: Data::U32(d.iter().map(|d| d.seq).collect()) },
            Column { name: "reason", data: Data::Static(vec!["buffer full"; d.len()]) },
        ];
        let t = &self.packets;
        let packets = vec![
            Column { name: "time_ps", data: times(t.iter().map(|t| t.at).collect()) },
            Column { name: "node", data: names(t.iter().map(|t| t.node).collect()) },
            Column { name: "port", data: Data::U16(t.iter().map(|t| t.port).collect()) },
            Column { name: "event", data: Data::Static(t.iter().map(|t| if t.is_departure { "depart" } else { "arrive" }).collect()) },
            Column { name: "kind", data: Data::Static(t.iter().map(|t| t.kind.name()).collect()) },
            Column { name: "flow", data: Data::U32(t.iter().map(|t| t.flow).collect()) },
            Column { name: "seq", data: Data::U32(t.iter().map(|t| t.seq).collect()) },
            Column { name: "bytes", data: Data::U32(t.iter().map(|t| u32::from(t.bytes)).collect()) },
        ];
        let s = &self.samples;
        let samples = vec![
            Column { name: "time_ps", data: times(s.iter().map(|s| s.at).collect()) },
            Column { name: "node", data: names(s.iter().map(|s| s.node).collect()) },
            Column { name: "port", data: Data::U16(s.iter().map(|s| s.port).collect()) },
            Column { name: "queue", data: Data::U16(s.iter().map(|s| s.queue).collect()) },
            Column { name: "bytes", data: Data::U32(s.iter().map(|s| s.bytes).collect()) },
        ];
        vec![
            flows,
            Table { name: "queues", columns: self.queues.clone() },
            Table { name: "pauses", columns: pauses },
            Table { name: "links", columns: self.links.clone() },
            Table { name: "drops", columns: drops },
            Table { name: "packets", columns: packets },
            Table { name: "samples", columns: samples },
        ]
    }
}

#[derive(Default)]
struct Rows {
    node: Vec<u32>,
    port: Vec<u16>,
    peer: Vec<u32>,
    queue: Vec<u16>,
    class: Vec<u8>,
    numbers: Vec<[u64; 7]>,
}
