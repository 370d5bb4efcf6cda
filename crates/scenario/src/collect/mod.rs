//! Collects the records of nodes at checkpoints, in node order, and judges the run.

mod active;
mod ends;
mod jobs;
mod sampling;
mod serving;
mod slow;

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::sync::Arc;

use xoff_engine::{Checkpoint, Finish};
use xoff_models::count::{LATE, PAUSED, Tally};
use xoff_models::delays::Traced;
use xoff_models::endpoint::{self, Sent};
use xoff_models::frames::Kind;
use xoff_models::high_water;
use xoff_models::ids::{ClassSet, PortId};
use xoff_models::job::Graph;
use xoff_models::mechanism::Hooks;
use xoff_models::mechanisms::ecn::MARKED;
use xoff_models::node::{
    FAULT, FAULTS, LOST, LOST_BYTES, LOST_CONTROL, Node, REROUTES, RETRIED, RETRIED_BYTES,
};
use xoff_models::overrides::Locals;
use xoff_models::packet::Packet;
use xoff_models::queueing::port::Port;
use xoff_models::record::Drop;
use xoff_models::routing::Map;
use xoff_models::symmetry::View;
use xoff_models::workload::AllFlows;
use xoff_units::{Duration, Moment, index};

use self::active::Partial;
use self::ends::Ends;
use self::sampling::Sampling;
use self::slow::{ShutOut, Stuck};
use crate::audit::Verdicts;
use crate::counts::Counts;
use crate::delays::{Delays, Delivered};
use crate::document::{Judgement, Scenario};
use crate::faults::Faults;
use crate::flow_statistics::{Active, Fct, Flows};
use crate::folding::Unfold;
use crate::ideal::IdealFct;
use crate::measures::{Measures, Over, Times};
use crate::observer::{Observer, Progress};
use crate::runner::Runner;
use crate::serving::Serving;
use crate::summary::{HighWater, Performance, Summary};
use crate::table::Table;
use crate::tables::Ways;
use crate::tables::faults::Failed;
use crate::tables::flows::Flow;
use crate::tables::high_water::{Count, highest};
use crate::tables::links::Link;
use crate::tables::queues::Queue;
use crate::tables::{Names, Rows};
use crate::verdicts::{End, Ledger, judge};
use crate::warnings::{Warning, warnings};

/// Rows are handed on in batches of this size.
const BATCH: usize = 1 << 16;

pub struct Collector {
    names: Names,
    /// A mechanism chooses ports, and each packet of a flow may take another path.
    is_routed: bool,
    rows: Rows,
    pub delays: Delays,
    measures: Measures,
    /// Completion times, to the last byte and to the last ACK, of all flows without warm starts.
    times: Times,
    fct_acked: Vec<u64>,
    ends: Ends,
    sampling: Sampling,
    shortage: Shortage,
    stuck: Stuck,
    shut_out: ShutOut,
    /// The first flow or message faster than the ideal FCT, with both times.
    too_fast: Option<(u32, [Duration; 2])>,
    warnings: Vec<Warning>,
    keeps_flows: bool,
    /// Messages of serving have rows.
    keeps_messages: bool,
    keeps_tokens: bool,
    /// Counts of all components.
    counts: Counts,
    high_water: BTreeMap<&'static str, HighWater>,
    /// A frame had nowhere to go.
    pub is_astray: bool,
    /// The run ended before the last event.
    was_cut: bool,
    /// Data packets that the simulated nodes started on links.
    pub hops: u64,
    dropped: u64,
    retransmitted: u64,
    active: Active,
    /// Payload of a full packet.
    payload: u64,
    alone: IdealFct,
    serving: Serving,
    jobs: Vec<Arc<Graph>>,
    pub faults: Faults,
    unfold: Arc<Unfold>,
}

/// Drops at one port and class within this time count as one shortage of headroom.
const BURST: Duration = Duration::us(20);

/// Drops for lack of room in lossless classes.
struct Shortage {
    /// Settings of all ports, with the lossless classes of each.
    locals: Locals,
    lossless: Vec<ClassSet>,
    /// The first drop, and the wire bytes dropped at the same port and class within [`BURST`].
    first: Option<(Drop, u64)>,
    drops: u64,
}

impl Shortage {
    fn new(locals: &Locals) -> Self {
        let lossless = locals.list().iter().map(|local| local.mechanisms.lossless()).collect();
        Self { locals: locals.clone(), lossless, first: None, drops: 0 }
    }

    fn note(&mut self, d: &Drop) {
        // A drop by a mechanism is no lack of room.
        let is_lossless = || self.lossless[self.locals.place(index(d.node), d.in_port)].has(d.class);
        if d.by.is_some() || !is_lossless() {
            return;
        }
        self.drops += 1;
        let (first, bytes) = self.first.get_or_insert((*d, 0));
        if (d.node, d.in_port, d.class) == (first.node, first.in_port, first.class)
            && d.at <= first.at + BURST
        {
            *bytes += u64::from(d.bytes);
        }
    }
}

/// Progress of all flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gains {
    /// New packets that have arrived.
    pub packets: u64,
    /// Time of the last arrival of a new packet.
    pub at: Moment,
    /// Last start of a flow or message.
    pub begun: Moment,
    /// A flow has data to send or waits for an acknowledgement. Connections of computing ranks do not count.
    pub is_busy: bool,
}

impl Collector {
    /// Returns a collector; `wants_rows` as in [`Observer::wants_rows`].
    pub fn new(runner: &Runner, unfold: Unfold, wants_rows: bool) -> Self {
        let plan = &runner.plan;
        let keeps_flows = wants_rows && runner.scenario().probe.flows;
        let unfold = Arc::new(unfold);
        let acknowledges = runner.settings.protocols()[0].acknowledges();
        Self {
            names: Names {
                nodes: Arc::new(runner.topology.nodes.iter().map(|n| n.name.clone()).collect()),
                workloads: Arc::new(plan.names.clone()),
                ports: runner.ports.clone(),
                ways: Ways::default(),
            },
            is_routed: runner.scenario().switch.mechanisms().any(|p| p.routes),
            rows: Rows::default(),
            delays: Delays::default(),
            measures: Measures::new(plan, runner.scenario()),
            times: Times::default(),
            fct_acked: Vec::new(),
            ends: Ends::new(plan, acknowledges, unfold.clone(), keeps_flows),
            sampling: Sampling::new(&runner.scenario().probe),
            shortage: Shortage::new(&runner.settings.locals),
            stuck: Stuck::default(),
            shut_out: ShutOut::default(),
            too_fast: None,
            warnings: warnings(runner),
            keeps_flows,
            keeps_tokens: wants_rows && runner.scenario().probe.tokens,
            keeps_messages: keeps_flows && runner.scenario().probe.delays != Traced::None,
            counts: Counts::new(&runner.settings),
            high_water: BTreeMap::new(),
            is_astray: false,
            was_cut: false,
            hops: 0,
            dropped: 0,
            retransmitted: 0,
            active: Active::default(),
            payload: runner.settings.framing.payload,
            alone: IdealFct::new(runner),
            serving: Serving::new(plan),
            jobs: plan.jobs.clone(),
            faults: Faults::new(runner.settings.failures.clone()),
            unfold,
        }
    }

    pub fn progress(&self, cp: &Checkpoint<'_, Node>, until: Option<Moment>) -> Progress {
        let hops: u64 = self.unfold.simulated().map(|id| cp.node(id).counts.data_hops).sum();
        Progress {
            data_packet_hops: hops * u64::from(self.unfold.times()),
            ..self.ends.progress(cp.now, until)
        }
    }

    /// Returns the end of a run without further events: the end of the last flow or operation or, with
    /// unfinished flows, the departure of the last data packet.
    pub fn end(&self, cp: &Checkpoint<'_, Node>) -> Moment {
        let ended = self.ends.last.max(self.ends.last_operation);
        if self.ends.missing() == 0 {
            return ended;
        }
        let ports = (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
        ports.map(|p| p.last_data).fold(ended, Moment::max)
    }

    /// See [`Unfold::is_valid`].
    pub fn is_valid(&self, cp: &Checkpoint<'_, Node>) -> bool {
        self.unfold.is_valid(cp)
    }

    /// Starts the collection.
    pub fn begin(&mut self, cp: &Checkpoint<'_, Node>) {
        self.alone.routing = cp.node(0).core.routing.clone();
    }

    /// Routes at the start of the run.
    pub fn whole_map(&self) -> Arc<Map> {
        self.alone.routing.clone()
    }

    /// Takes the records since the last call, and passes complete batches to the observer.
    pub fn drain(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &AllFlows, observer: &mut dyn Observer) {
        self.drain_until(cp.now, cp, plan, observer);
    }

    /// Takes flows that ended since the last call, and leaves other records in place.
    pub fn take_flows(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &AllFlows) {
        self.is_astray |= (0..cp.nodes()).any(|id| cp.node(id).counts.lost > 0);
        for s in self.ends.arrivals(cp) {
            self.add_flow(plan, &s, None);
        }
        for s in self.ends.departures(cp) {
            self.add_flow(plan, &s, None);
        }
    }

    /// Same as `drain`; takes samples only before a moment.
    pub fn drain_until(
        &mut self,
        samples_until: Moment,
        cp: &mut Checkpoint<'_, Node>,
        plan: &AllFlows,
        observer: &mut dyn Observer,
    ) {
        self.delays.drain(cp);
        self.take_messages(cp, plan);
        self.take_serving(cp);
        for s in self.ends.arrivals(cp) {
            self.add_flow(plan, &s, None);
        }
        if self.sampling.interval.is_some() {
            // A node writes samples at its next event, which may be long after the events of other nodes.
            self.catch_up(cp);
        }
        let Rows { drops, pauses, packets, samples, .. } = &mut self.rows;
        let known = (drops.len(), pauses.len(), packets.len(), samples.len());
        for id in 0..cp.nodes() {
            let node = cp.node_mut(id);
            self.is_astray |= node.counts.lost > 0;
            packets.append(&mut node.records.packets);
            // Rows of skipped time may exist here before the rows of other nodes.
            let until = node.records.samples.partition_point(|sample| sample.at < samples_until);
            samples.extend(node.records.samples.drain(..until));
        }
        self.unfold.take_records(cp, drops, pauses);
        // Rows between two checkpoints are in node order. The rows of a node are in order of time.
        drops[known.0..].sort_by_key(|d| d.at);
        pauses[known.1..].sort_by_key(|p| p.end);
        // At one moment, arrivals of a node come first, then departures by port.
        packets[known.2..]
            .sort_by_key(|p| (p.at, p.node, if p.is_departure { 1 + u32::from(p.port.0) } else { 0 }));
        samples[known.3..].sort_by_key(|s| s.at);
        for s in self.ends.departures(cp) {
            self.add_flow(plan, &s, None);
        }
        for d in &self.rows.drops[known.0..] {
            self.ends.lose(d.flow, plan.is_open(d.flow));
            self.shortage.note(d);
        }
        self.sampling.thin(cp, &mut self.rows.samples, 0);
        if observer.takes_rows() {
            self.hand_on(BATCH, observer);
        }
    }

    /// Cuts the completion times of unfinished flows: up to the last byte, or up to now for an undelivered
    /// flow.
    pub fn close_delays(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &AllFlows) {
        let unfinished = |id| cp.node(id).endpoint.as_ref().map_or_else(Vec::new, |e| e.unfinished(cp.now));
        for s in (0..cp.nodes())
            .flat_map(unfinished)
            .filter(|s| !plan.messages.contains_key(&plan.name_of(s.flow)) && !plan.is_open(s.flow))
        {
            if let Some(arrived) = self.ends.arrival(s.flow) {
                let delivered =
                    Delivered { flow: s.flow, message: None, start: s.start, arrived, dst: s.dst };
                self.delays.complete(&delivered, &self.names.ports);
            }
        }
        let ends = &self.ends;
        self.delays.close(cp, |flow| plan.is_open(flow) || ends.arrival(flow).is_some());
    }

    /// See [`Sampling::catch_up`].
    pub fn catch_up(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.sampling.catch_up(cp, &mut self.rows.samples);
    }

    /// Passes each table with at least `least` rows to the observer. Samples of a replay stay until the end.
    fn hand_on(&mut self, least: usize, observer: &mut dyn Observer) {
        self.rows.delays.append(&mut self.delays.rows);
        self.rows.contributions.append(&mut self.delays.contributions);
        let kept = if self.sampling.is_replay { std::mem::take(&mut self.rows.samples) } else { Vec::new() };
        self.rows.hand_on(least, &self.names, &mut |table| observer.rows(table));
        if self.sampling.is_replay {
            self.rows.samples = kept;
        }
    }

    /// True when only events of faults are left: no frame is in the network, and no flow will start. Flows
    /// with lost packets that are not retransmitted may be unfinished.
    pub fn is_over(&self, cp: &Checkpoint<'_, Node>) -> bool {
        let nodes = || (0..cp.nodes()).map(|id| cp.node(id));
        let waits = |node: &Node| node.queued_bytes() > 0 || node.core.ports.iter().any(Port::has_more);
        if Self::goes_on(cp) || nodes().any(waits) {
            return false;
        }
        let failing = || nodes().filter_map(|node| node.failing.as_ref());
        // A stalled host may hold data that flows wait for.
        let has_stalled = failing().any(|failing| failing.is_stalled());
        let is_missed = self.ends.missing() > 0;
        if is_missed && (has_stalled || failing().any(|failing| failing.waiting().next().is_some())) {
            return false;
        }
        let mut ledger = Ledger::default();
        nodes().for_each(|node| ledger.enter(node.core.id, node, |peer| cp.node(peer)));
        !ledger.is_paused() && (cp.is_quiet() || has_stalled)
    }

    /// True if a flow has an action of its own left, now or later.
    pub fn goes_on(cp: &Checkpoint<'_, Node>) -> bool {
        (0..cp.nodes()).any(|id| cp.node(id).endpoint.as_ref().is_some_and(|e| e.goes_on(cp.now)))
    }

    /// Returns the start of the traffic; zero without traffic.
    pub fn first_start(cp: &Checkpoint<'_, Node>) -> Moment {
        let endpoints = (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref());
        endpoints
            .map(|endpoint| endpoint.first_start())
            .min()
            .filter(|at| *at < Moment::NEVER)
            .unwrap_or_default()
    }

    /// Returns the progress of flows.
    pub fn gains(cp: &Checkpoint<'_, Node>) -> Gains {
        let endpoints = (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref());
        endpoints.fold(Gains::default(), |sum, e| Gains {
            packets: sum.packets + e.accepted,
            at: sum.at.max(e.latest.gained_at),
            begun: sum.begun.max(e.latest.begun_at),
            is_busy: sum.is_busy || !e.is_quiet(),
        })
    }

    /// Adds a flow; `partial` is of a flow at the end of the run.
    fn add_flow(&mut self, plan: &AllFlows, s: &Sent, partial: Option<Partial>) {
        let src = plan.sources.of(s.flow);
        let workload = plan.name_of(s.flow);
        let arrived = self.ends.arrival(s.flow);
        let fct = arrived.map(|at| (at - s.start).ps());
        // A connection has idle times, and messages are measured instead.
        let is_open = plan.is_open(s.flow);
        let is_connection = is_open || plan.messages.contains_key(&workload);
        if is_connection {
            self.delays.forget(s.flow);
        } else if let Some(arrived) = arrived {
            let delivered = Delivered { flow: s.flow, message: None, start: s.start, arrived, dst: s.dst };
            self.delays.complete(&delivered, &self.names.ports);
        }
        let partial = partial.filter(|_| arrived.is_none() && !is_connection);
        let delivered = partial.map_or(s.size, |partial| partial.delivered);
        let time = fct.or_else(|| partial.map(|partial| partial.end.since(s.start).ps()));
        let goodput = time.filter(|_| !is_connection).and_then(|time| active::goodput(delivered, time));
        if let Some(goodput) = goodput.filter(|_| partial.is_some_and(|partial| partial.is_active)) {
            self.active.add(goodput, self.ends.times());
        }
        let acked = s.acknowledged.map(|a| a.ps() - s.start.ps());
        let mut probe = Packet::new(Kind::Data, s.flow, 0, s.dst, 0, s.class);
        probe.set_path(s.path);
        // Messages are measured in the place of a connection, and only the row of the connection has an ideal.
        let ideal = (self.keeps_flows || !is_connection)
            .then(|| self.alone.of(&self.names.ports, src, s.port, probe, s.size));
        let measured = fct.filter(|_| !is_connection).zip(ideal.as_ref().map(|ideal| ideal.own));
        let slowdown = measured.map(|(fct, own)| self.slowdown(s.flow, fct, own));
        if !is_connection {
            self.measure(
                plan,
                &Over {
                    workload,
                    size: s.size,
                    start: s.start.ps(),
                    arrived: arrived.map(Moment::ps),
                    slowdown,
                },
            );
            let acked = acked.filter(|_| !plan.is_warm(workload));
            self.fct_acked
                .extend(acked.into_iter().flat_map(|acked| repeat_n(acked, self.ends.times() as usize)));
        }
        self.retransmitted += s.retransmitted * self.ends.times();
        // A connection that stays open waits for its next message.
        if !is_open {
            self.stuck.note(s, self.ends.times());
            self.shut_out.note(s, self.ends.times());
        }
        let Some(ideal) = ideal.filter(|_| self.keeps_flows) else { return };
        let via =
            self.names.ways.place(if self.is_routed { Vec::new() } else { ideal.via }, &self.names.nodes);
        self.rows.flows.push(Flow {
            number: s.flow,
            workload,
            label: plan.labels.get(&s.flow).cloned(),
            src,
            dst: s.dst,
            size: s.size,
            start: s.start.ps(),
            // A connection has idle times, and messages are measured instead.
            fct: fct.filter(|_| !is_connection),
            delivered: (!is_connection).then_some(delivered),
            goodput,
            acked,
            ideal: ideal.own.ps(),
            fastest: ideal.fastest.ps(),
            slowdown,
            sent: s.packets,
            retransmitted: s.retransmitted,
            notifications: s.notifications,
            holds: s.holds,
            paused: s.paused.ps(),
            min_rtt: s.least_round_trip.map(Duration::ps),
            slow_rtts: s.slow.0,
            via,
        });
    }

    /// Returns the completion time of a flow or message divided by its ideal FCT.
    fn slowdown(&mut self, flow: u32, fct: u64, ideal: Duration) -> f64 {
        if fct < ideal.ps() {
            self.too_fast.get_or_insert((flow, [Duration(fct), ideal]));
        }
        fct as f64 / ideal.real()
    }

    fn measure(&mut self, plan: &AllFlows, over: &Over) {
        for _ in 0..self.ends.times() {
            self.measures.add(over);
            if !plan.is_warm(over.workload) {
                self.times.add(over);
            }
        }
    }

    /// Computes counts and the verdicts of all audits. The ledger adds frames on links.
    pub fn judge(
        &mut self,
        cp: &Checkpoint<'_, Node>,
        scenario: &Scenario,
        end: &End,
        ledger: Ledger,
    ) -> Verdicts {
        self.was_cut = end.finish != Finish::Idle;
        let (mut ledger, mut marked) = (ledger, 0);
        let (unfold, times) = (self.unfold.clone(), u64::from(self.unfold.times()));
        for id in unfold.simulated() {
            let node = cp.node(id);
            self.hops += node.counts.data_hops;
            self.dropped += node.counts.dropped * times;
            marked += node.counts.marked * times;
            (0..times).for_each(|_| self.count(node, cp.now));
            ledger.enter(id, node, |peer| cp.node(peer));
        }
        // Marks are one count for all mechanisms.
        self.counts.declaring(MARKED).add(MARKED, marked);
        ledger.first_drop = self.shortage.first.map(|(drop, bytes)| (drop, bytes, self.shortage.drops));
        ledger.missing = self.ends.missing();
        ledger.flows = self.ends.count().0;
        ledger.uncut = self.delays.wrong;
        ledger.stuck = Self::stuck(cp, &self.jobs);
        let mut verdicts = judge(&ledger, &self.names, scenario, end);
        self.judge_serving(cp, end, &mut verdicts);
        verdicts
    }

    /// Adds the counts of a node, its mechanisms and its endpoint.
    fn count(&mut self, node: &Node, now: Moment) {
        let open = node.open_pauses.iter().map(|p| (p.cause, now.since(p.start)));
        for (cause, time) in node.paused_by.iter().map(|p| (*p.0, *p.1)).chain(open) {
            self.counts.of(cause).add(PAUSED, time.ps());
        }
        for mechanism in node.mechanisms.iter() {
            mechanism.counts(now, &mut self.counts.of(mechanism.name()));
        }
        let Some(e) = &node.endpoint else { return };
        for (cause, holds) in &e.late_holds {
            self.counts.of(cause).add(LATE, *holds);
        }
        e.counts(&mut self.counts.of(endpoint::GROUP.name));
        if let Some(part) = e.receiving_part() {
            e.count_receiving(&mut self.counts.of(part));
        }
        e.count_control(|control, count, n| self.counts.of(control).add(count, n));
    }

    /// Adds rows of unfinished flows, of ports and of queues, and returns the remaining tables.
    pub fn finish(&mut self, cp: &Checkpoint<'_, Node>, plan: &AllFlows, now: Moment) -> Vec<Table> {
        for s in self.ends.unsettled() {
            let delivered = active::delivered(&self.unfold, cp, &s, self.payload);
            self.add_flow(plan, &s, Some(Partial { delivered, end: now, is_active: false }));
        }
        self.censor(cp, now);
        let mut open = Vec::new();
        // The last acknowledgements leave after the last flow has arrived, unless the run was cut short
        // before.
        let all_ports = || (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
        let end = if self.was_cut { now } else { all_ports().map(|p| p.busy_until).fold(now, Moment::max) };
        let unfold = self.unfold.clone();
        for view in unfold.views() {
            let (id, node) = (view.node, cp.node(view.of));
            self.add_active(cp, plan, now, view);
            let mut paused = node.paused.clone();
            open.extend(unfold.pauses(view, &node.open_pauses));
            for p in &node.open_pauses {
                paused[p.port] += now.since(p.start);
            }
            for (i, spec) in PortId::each(&self.names.ports[index(id)]) {
                let own = unfold.port(view, i);
                let p = &node.core.ports[own];
                // For a frame in transmission at the end, only the sent part counts as link time.
                let busy_ps =
                    node.sending_time(own).saturating_sub(p.busy_until.since(end)).ps().min(end.ps());
                self.rows.links.push(Link {
                    node: id,
                    port: i,
                    peer: spec.peer,
                    rate_bps: p.rate.0,
                    delay_ps: spec.link.delay.ps(),
                    data_bytes: p.data_bytes,
                    control_bytes: p.control_bytes,
                    busy_ps,
                    paused_ps: paused[own].ps(),
                    data_packets: p.data_packets,
                    utilisation: busy_ps as f64 / end.ps().max(1) as f64,
                });
                for (k, queue) in p.queues.iter().enumerate().skip(1) {
                    if queue.sent == 0 && queue.dropped == 0 && queue.bytes.peak() == 0 {
                        continue;
                    }
                    self.rows.queues.push(Queue {
                        node: id,
                        port: i,
                        peer: spec.peer,
                        number: k as u16,
                        class: queue.class(),
                        max_bytes: queue.bytes.peak().into(),
                        packets: queue.sent,
                        bytes: queue.sent_bytes,
                        marked: queue.marked,
                        dropped: queue.dropped,
                    });
                }
            }
        }
        let marks: Vec<Count> =
            unfold.views().iter().flat_map(|view| unfold.marks(view, &cp.node(view.of).core)).collect();
        self.high_water = high_water::Kind::ALL
            .iter()
            .map(|kind| (kind.name(), highest(*kind, &marks, &self.names)))
            .collect();
        // Depths of queues are in the table `queues`.
        self.rows.high_water = marks.into_iter().filter(|m| m.mark.kind != high_water::Kind::Queue).collect();
        self.add_faults(cp, now);
        open.sort_by_key(|p| (p.start, p.node, p.port, p.queue));
        self.rows.pauses.extend(open);
        self.measures.rows(&mut self.rows);
        self.rows.delays.append(&mut self.delays.rows);
        self.rows.contributions.append(&mut self.delays.contributions);
        self.rows.tables(&self.names)
    }

    /// Adds the flows that a node sends at the end.
    fn add_active(&mut self, cp: &Checkpoint<'_, Node>, plan: &AllFlows, now: Moment, view: &View) {
        let Some(endpoint) = &cp.node(view.of).endpoint else { return };
        if !self.keeps_flows && view.node != view.of {
            return;
        }
        let image = |s: &Sent| {
            let delivered = active::delivered(&self.unfold, cp, s, self.payload);
            (self.unfold.sent(view, s), Partial { delivered, end: now, is_active: true })
        };
        let mut unfinished: Vec<(Sent, Partial)> = endpoint.unfinished(now).iter().map(image).collect();
        unfinished.sort_by_key(|(s, _)| s.flow);
        for (s, partial) in &unfinished {
            self.add_flow(plan, s, Some(*partial));
        }
    }

    /// Adds the faults with their losses.
    fn add_faults(&mut self, cp: &Checkpoint<'_, Node>, now: Moment) {
        for failing in (0..cp.nodes()).filter_map(|id| cp.node(id).failing.as_ref()) {
            let mut counts = self.counts.of(FAULT.name);
            counts.add(RETRIED, failing.retried.0);
            counts.add(RETRIED_BYTES, failing.retried.1);
        }
        self.counts.of(FAULT.name).add(REROUTES, cp.node(0).core.routing.epoch.into());
        for fault in self.faults.rows(cp, now) {
            let mut counts = self.counts.of(FAULT.name);
            counts.add(FAULTS, 1);
            counts.add(LOST, fault.lost.packets);
            counts.add(LOST_BYTES, fault.lost.bytes);
            counts.add(LOST_CONTROL, fault.lost.control);
            let unit = &self.faults.plan.units[index(fault.unit)];
            let target = self.faults.plan.name(fault.unit, &self.names.nodes);
            self.rows.faults.push(Failed { entry: unit.fault, kind: unit.what.name(), target, fault });
        }
    }

    pub fn summary(
        mut self,
        scenario: &Scenario,
        fingerprint: u64,
        mut verdicts: Verdicts,
        performance: Performance,
        now: Moment,
    ) -> Summary {
        self.warnings.extend(self.stuck.warning().into_iter().chain(self.shut_out.warning()));
        // A fault may raise the rate of a link above the rate of the network.
        let too_fast = self.too_fast.filter(|_| scenario.fault.is_empty());
        let too_fast = too_fast.map(|(flow, [took, ideal])| {
            format!("flow {flow} took {took}, less than the ideal FCT of {ideal}")
        });
        verdicts.enter("slowdown", Judgement::Fail, too_fast);
        let (fct_ps, slowdown) = self.times.summary();
        let (total, completed) = self.ends.count();
        Summary {
            name: scenario.name.clone(),
            seed: scenario.seed,
            fingerprint: format!("{fingerprint:016x}"),
            simulated_ps: now.ps(),
            sampled_every_ps: self.sampling.interval.map(Duration::ps),
            flows: Flows { total, completed },
            active_flows: self.active,
            fct_ps,
            fct_acked_ps: Fct::of(&mut self.fct_acked),
            slowdown,
            workloads: self.measures.summaries(),
            serving: self.serving.summaries(),
            components: self.counts.components,
            counts: self.counts.groups,
            high_water: self.high_water,
            drops: self.dropped,
            retransmitted: self.retransmitted,
            warnings: self.warnings,
            audits: verdicts.0,
            performance,
        }
    }
}
