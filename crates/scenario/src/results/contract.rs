//! The contract of a collector, and what collectors share.

use std::sync::Arc;

use xoff_applications::job::Ended;
use xoff_engine::Checkpoint;
use xoff_models::frames::kinds::Kind;
use xoff_models::frames::packet::Packet;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::records::delays::Traced;
use xoff_models::records::events::Drop;
use xoff_models::records::table::Table;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::Moment;

use super::counts::Counts;
use super::ends::Ends;
use super::names::Names;
use super::news::{FlowEnd, MessageEnd, News, Over, Partial};
use super::rows::RowSet;
use super::unfold::Unfold;
use crate::ideal::IdealFct;
use crate::runner::Runner;
use crate::summary::Summary;
use crate::verdicts::Ledger;

/// Collects one kind of result. The hooks are called in this order: `take` at checkpoints, each followed by what the
/// collectors tell one another; at the end of the run a last `take`, then `close`, `close_node` for each node, `judge`, `finish` and
/// `summarize`.
pub trait Collect: Sized {
    /// The tables.
    type Rows: RowSet;

    /// Before the first event.
    fn new(runner: &Runner, shared: &Shared) -> Self;

    /// The rows not yet handed on.
    fn rows(&mut self) -> &mut Self::Rows;

    /// Hands on each table with at least `least` rows, during the run.
    fn hand_on(&mut self, least: usize, shared: &Shared, take: &mut dyn FnMut(Table)) {
        self.rows().hand_on(least, &shared.names, take);
    }

    /// Takes the records of nodes since the last call.
    fn take(&mut self, _: &mut Checkpoint<'_, Node>, _: &mut Shared) {}

    /// A packet was dropped.
    fn dropped(&mut self, _: &Drop, _: &mut Shared) {}

    /// A message was delivered.
    fn message(&mut self, _: &MessageEnd, _: &mut Shared) {}

    /// A rank finished an operation.
    fn operation(&mut self, _: &Ended, _: &mut Shared) {}

    /// A flow ended, or is unfinished at the end of the run.
    fn flow(&mut self, _: &FlowEnd, _: &mut Shared) {}

    /// Something that is measured ended: a flow, or a message in the place of its connection.
    fn over(&mut self, _: &Over, _: &mut Shared) {}

    /// Tells what is unfinished at the end of the run.
    fn close(&mut self, _: &mut Checkpoint<'_, Node>, _: &mut Shared) {}

    /// Tells what is unfinished at a node at the end of the run.
    fn close_node(&mut self, _: &Checkpoint<'_, Node>, _: &View, _: &mut Shared) {}

    /// Enters data for audits.
    fn judge(&self, _: &Checkpoint<'_, Node>, _: &Shared, _: &mut Ledger) {}

    /// See [`super::tally::Tally::fault`].
    fn fault(&self) -> Option<String> {
        None
    }

    /// Adds the rows and counts of the whole run.
    fn finish(&mut self, _: &Checkpoint<'_, Node>, _: &mut Shared) {}

    /// Writes the keys of the summary.
    fn summarize(&mut self, _: &mut Shared, _: &mut Summary) {}
}

/// What all collectors may read and add to.
pub struct Shared {
    /// The plan, without its flows.
    pub plan: AllFlows,
    /// Names of nodes, workloads, ports and paths.
    pub names: Names,
    /// All nodes, each with the simulated node that stands for it.
    pub unfold: Arc<Unfold>,
    /// Ends of flows.
    pub ends: Ends,
    /// Ideal FCTs.
    pub ideal: IdealFct,
    /// Counts of all components.
    pub counts: Counts,
    /// Rows that somebody reads.
    pub keeps: Keeps,
    /// Records after this moment stay with the nodes.
    pub until: Moment,
    /// The run ended before the last event.
    pub was_cut: bool,
    /// What collectors tell one another.
    pub news: News,
}

/// Rows that somebody reads. Other rows are not made.
#[derive(Debug, Clone, Copy)]
pub struct Keeps {
    /// Flows, messages of jobs, operations, requests and steps.
    pub flows: bool,
    /// Messages of jobs over NVLink.
    pub slices: bool,
    /// Tokens.
    pub tokens: bool,
    /// Delays.
    pub delays: bool,
}

impl Keeps {
    /// `wants_rows`: see [`crate::observer::Observer::wants_rows`].
    pub fn new(runner: &Runner, wants_rows: bool) -> Self {
        let probe = &runner.scenario().probe;
        Self {
            flows: wants_rows && probe.flows,
            slices: wants_rows && probe.flows && probe.slices,
            tokens: wants_rows && probe.tokens,
            delays: probe.delays != Traced::None,
        }
    }
}

impl Shared {
    /// Tells the end of a flow; `partial` for an unfinished flow at the end of the run.
    pub fn tell(&mut self, sent: Sent, partial: Option<Partial>) {
        let (src, workload) = (self.plan.sources.of(sent.flow), self.plan.name_of(sent.flow));
        let arrived = self.ends.arrival(sent.flow);
        let is_open = self.plan.is_open(sent.flow);
        let is_connection = is_open || self.plan.messages.contains_key(&workload);
        let mut probe = Packet::new(Kind::Data, sent.flow, 0, sent.dst, 0, sent.class);
        probe.set_path(sent.path);
        let ideal = (self.keeps.flows || !is_connection)
            .then(|| self.ideal.of(&self.names.ports, src, sent.port, probe, sent.size));
        let own = ideal.as_ref().filter(|_| !is_connection).map(|ideal| ideal.own);
        let over = own.map(|own| Over::new((sent.flow, workload), sent.size, sent.start, arrived, own));
        self.news.flows.push(FlowEnd {
            sent,
            src,
            workload,
            arrived,
            is_connection,
            is_open,
            partial,
            ideal,
            over,
        });
    }
}
