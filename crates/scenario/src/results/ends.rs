//! Ends of flows, and the progress of a run.

use std::collections::BTreeSet;
use std::sync::Arc;

use xoff_applications::job::Jobs;
use xoff_applications::serving::{Servings, TokenRow};
use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{Moment, index, wide};

use super::unfold::Unfold;
use super::work::Work;
use crate::observer::Progress;

pub struct Ends {
    /// Arrival of the last byte of each flow; `NEVER` before.
    arrived: Vec<Moment>,
    completed: u64,
    /// Maximum of these moments.
    pub last: Moment,
    /// End of the last operation of a job.
    pub last_operation: Moment,
    /// Flows whose last packet has left, for transports without acknowledgements.
    left: Vec<Sent>,
    /// Flows that lost a packet without retransmission.
    lost: BTreeSet<u32>,
    /// The transport retransmits losses.
    repeats: bool,
    bytes_completed: u64,
    open_lost: bool,
    flows: u64,
    bytes: u64,
    /// Finished operations of jobs and requests of serving, and all operations and requests; without reducers.
    operations: (u64, u64),
    /// Connections, by the numbers of workloads. Delivery is counted by message.
    connections: Connections,
    unfold: Arc<Unfold>,
    /// True if each flow has a row.
    keeps_flows: bool,
    work: Work,
}

/// Connections among the flows.
struct Connections {
    /// First flow of each range, and whether the range consists of connections.
    stretches: Vec<(u32, bool)>,
}

impl Connections {
    fn new(plan: &AllFlows) -> Self {
        Self {
            stretches: plan
                .ranges
                .iter()
                .map(|(first, name)| (*first, plan.messages.contains_key(name)))
                .collect(),
        }
    }

    /// Returns the payload of a flow that is counted at its end.
    fn size(&self, s: &Sent) -> u64 {
        let place = self.stretches.partition_point(|stretch| stretch.0 <= s.flow);
        if self.stretches[place - 1].1 { 0 } else { s.size }
    }
}

impl Ends {
    /// Returns the ends of a run that has not begun. With `keeps_flows` the flows of all nodes end one by one,
    /// also in a folded run.
    pub fn new(plan: &AllFlows, repeats: bool, unfold: Arc<Unfold>, keeps_flows: bool, work: Work) -> Self {
        let operations: u64 = Jobs::of(&plan.applications).iter().map(|job| job.operations()).sum();
        let requests: u64 = Servings::of(&plan.applications).map(|one| wide(one.requests.len())).sum();
        Self {
            arrived: vec![Moment::NEVER; plan.flows as usize],
            completed: 0,
            last: Moment::ZERO,
            last_operation: Moment::ZERO,
            left: Vec::new(),
            lost: BTreeSet::new(),
            repeats,
            bytes_completed: 0,
            open_lost: false,
            flows: plan.flows - plan.open.values().sum::<u64>(),
            bytes: plan.bytes,
            operations: (0, operations + requests),
            connections: Connections::new(plan),
            unfold,
            keeps_flows,
            work,
        }
    }

    /// Returns the number of flows for which a flow of a row stands.
    pub fn times(&self) -> u64 {
        if self.keeps_flows { 1 } else { u64::from(self.unfold.times()) }
    }

    /// Returns the arrival of the last byte of a flow.
    pub fn arrival(&self, flow: u32) -> Option<Moment> {
        Some(self.arrived[index(self.unfold.first_flow(flow))]).filter(|at| *at != Moment::NEVER)
    }

    /// Takes the arrivals recorded by hosts, and returns flows that ended.
    pub fn arrivals(&mut self, cp: &mut Checkpoint<'_, Node>) -> Vec<Sent> {
        for id in self.unfold.simulated() {
            let Some(endpoint) = &mut cp.node_mut(id).endpoint else { continue };
            for (flow, at) in endpoint.arrived.drain(..) {
                self.arrived[index(self.unfold.first_flow(flow))] = at;
                self.completed += u64::from(self.unfold.times());
                self.last = self.last.max(at);
            }
        }
        let is_settled = |s: &Sent| self.arrival(s.flow).is_some() || self.lost.contains(&s.flow);
        let (settled, left): (Vec<_>, Vec<_>) = self.left.iter().partition(|s| is_settled(s));
        self.left = left;
        let bytes: u64 = settled.iter().map(|s| self.connections.size(s)).sum();
        self.bytes_completed += bytes * self.times();
        settled
    }

    /// Takes the finished flows recorded by sources, and returns flows that ended.
    pub fn departures(&mut self, cp: &mut Checkpoint<'_, Node>) -> Vec<Sent> {
        let unfold = self.unfold.clone();
        let image = |view: &View, rows: &[Sent]| rows.iter().map(|s| unfold.sent(view, s)).collect();
        let sent = unfold.take(
            cp,
            |node| node.endpoint.as_mut().map_or_else(Vec::new, |e| std::mem::take(&mut e.sent)),
            self.keeps_flows.then_some(&image),
        );
        let mut over = Vec::new();
        for s in sent {
            if self.repeats || self.arrival(s.flow).is_some() {
                self.bytes_completed += self.connections.size(&s) * self.times();
                over.push(s);
            } else {
                self.left.push(s);
            }
        }
        over
    }

    /// A message of a connection was delivered.
    pub fn deliver(&mut self, bytes: u64) {
        self.bytes_completed += bytes * self.times();
        self.work.add_rows(1);
    }

    /// A simulated node received slices over NVLink.
    pub fn add_slices(&mut self, slices: u64) {
        self.work.add_slices(slices * u64::from(self.unfold.times()));
    }

    /// A token of serving was made.
    pub fn add_token(&mut self, row: &TokenRow) {
        self.work.add_token(row);
    }

    /// Adds finished operations of jobs, with the end of the last operation.
    pub fn end(&mut self, operations: u64, last: Moment) {
        self.operations.0 += operations;
        self.work.add_rows(operations);
        self.last_operation = self.last_operation.max(last);
    }

    /// A flow lost a packet; `is_open` for an open connection.
    pub fn lose(&mut self, flow: u32, is_open: bool) {
        if !self.repeats && is_open {
            self.open_lost = true;
        } else if !self.repeats {
            self.lost.insert(flow);
        }
    }

    /// True if an open connection lost a packet for good.
    pub const fn open_lost(&self) -> bool {
        self.open_lost
    }

    /// Returns flows without further records.
    pub fn unsettled(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.left)
    }

    /// Returns the number of flows, and of flows with a last byte that arrived.
    pub const fn count(&self) -> (u64, u64) {
        (self.flows, self.completed)
    }

    /// Returns the number of unfinished flows, without raw flows that lost packets.
    pub fn missing(&self) -> u64 {
        self.flows - self.completed - wide(self.lost.len())
    }

    pub fn progress(&self, now: Moment, until: Option<Moment>) -> Progress {
        let bytes = (self.bytes_completed, self.bytes);
        let of_work = self
            .work
            .share(now, bytes, self.completed)
            .unwrap_or_else(|| self.operations.0 as f64 / self.operations.1.max(1) as f64);
        let (work_completed, work_total) = self.work.besides_packets(self.completed);
        Progress {
            share: until.map_or(of_work, |until| of_work.max(now.real() / until.real())).min(1.0),
            simulated_ps: now.ps(),
            flows_completed: self.completed,
            flows_total: self.flows,
            bytes_completed: self.bytes_completed,
            bytes_total: self.bytes,
            operations_completed: self.operations.0,
            operations_total: self.operations.1,
            data_packet_hops: 0,
            work_completed,
            work_total,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use xoff_applications::job::Programs;

    use xoff_engine::Plan;
    use xoff_models::network::build;

    use super::*;
    use crate::runner::Runner;
    use xoff_document::from_toml;

    /// Runs two flows of ten packets into one host, with the given transport, and calls back every
    /// microsecond.
    fn run(transport: &str, look: impl FnMut(&mut Ends, &[Sent], &mut Checkpoint<'_, Node>)) -> Ends {
        let flows = r#"flows = [{ src = 0, dst = 2, size = "10KB" }, { src = 1, dst = 2, size = "10KB" }]"#;
        run_workload(transport, flows, look)
    }

    fn run_workload(
        transport: &str,
        workload: &str,
        mut look: impl FnMut(&mut Ends, &[Sent], &mut Checkpoint<'_, Node>),
    ) -> Ends {
        let text = format!(
            r#"
            {transport}
            [network.star]
            hosts = 3
            link = {{ rate = "100Gbps", delay = "1us" }}
            [[workload]]
            {workload}
            "#
        );
        let runner = Runner::new(from_toml(&text, &[]).unwrap(), |_| None).unwrap();
        let acknowledges = runner.settings.protocols()[0].acknowledges();
        let unfold = Arc::new(Unfold::identity(&runner.topology));
        let work = Work::new(&runner.plan, runner.settings.framing.payload, 1, true);
        let mut ends = Ends::new(&runner.plan, acknowledges, unfold, true, work);
        let plan = Plan { checkpoint: xoff_units::Duration::us(1), ..Plan::default() };
        let mut engine = build(&runner.topology, runner.plan, &runner.settings, plan).unwrap();
        let mut after = |cp: &mut Checkpoint<'_, Node>| {
            let mut over = ends.arrivals(cp);
            over.extend(ends.departures(cp));
            look(&mut ends, &over, cp);
        };
        engine.run(|cp| {
            after(cp);
            ControlFlow::Continue(())
        });
        after(&mut engine.checkpoint(Moment::ms(1)));
        ends
    }

    #[test]
    fn a_flow_is_over_when_its_source_knows_and_complete_when_its_last_byte_is_there() {
        let (mut over, mut share) = (Vec::new(), Vec::new());
        let ends = run("", |ends, now, cp| {
            over.extend(now.iter().map(|s| s.flow));
            share.push(ends.progress(cp.now, None).share);
        });
        over.sort_unstable();
        assert_eq!((over, ends.count(), ends.missing()), (vec![0, 1], (2, 2), 0));
        assert!(share.is_sorted() && share.first() == Some(&0.0) && share.last() == Some(&1.0), "{share:?}");
        let arrivals = [0, 1].map(|flow| ends.arrival(flow).unwrap());
        assert_eq!(ends.last, arrivals[0].max(arrivals[1]));
        assert!(
            (ends.progress(Moment::us(3), Some(Moment::us(2))).share - 1.0).abs() < 1e-12,
            "no run is more than over"
        );
    }

    #[test]
    fn a_job_that_only_computes_is_as_far_as_its_operations() {
        let graph = r#"graph.operations = [
            { rank = 0, kind = "compute", name = "a", duration = "5us" },
            { rank = 0, kind = "compute", name = "b", after = ["a"], duration = "5us" },
            { rank = 1, kind = "compute", name = "c", duration = "8us" },
            { rank = 1, kind = "compute", name = "d", after = ["c"], duration = "8us" },
        ]"#;
        let mut seen = Vec::new();
        run_workload("", graph, |ends, _, cp| {
            for id in 0..cp.nodes() {
                let endpoint = cp.node_mut(id).endpoint.as_mut();
                let programs = endpoint.and_then(|endpoint| endpoint.applications.of_mut::<Programs>());
                let ended = programs.map_or(0, |programs| wide(programs.take_ended().count()));
                ends.end(ended, Moment::ZERO);
            }
            let progress = ends.progress(cp.now, None);
            seen.push((
                progress.operations_completed,
                progress.operations_total,
                (progress.share * 4.0) as u64,
            ));
        });
        seen.dedup();
        assert_eq!(seen, [0, 1, 2, 3, 4].map(|over| (over, 4, over)));
    }

    #[test]
    fn a_flow_that_lost_what_nobody_sends_again_is_nobody_s_to_bring() {
        let transport = "[host.transport.raw]\n[switch.buffer]\nper_port = \"5KB\"";
        let mut over = Vec::new();
        let mut ends = run(transport, |ends, now, cp| {
            over.extend(now.iter().map(|s| s.flow));
            for id in 0..cp.nodes() {
                for drop in cp.node_mut(id).records.drops.drain(..) {
                    ends.lose(drop.flow, false);
                }
            }
        });
        let left: Vec<u32> = ends.unsettled().iter().map(|s| s.flow).collect();
        let (total, completed) = ends.count();
        assert_eq!((total, ends.missing()), (2, 0));
        assert!(completed < 2 && over.len() + left.len() == 2, "{over:?} {left:?}");
        assert!([0, 1].iter().all(|flow| ends.arrival(*flow).is_none() || over.contains(flow)));
    }
}
