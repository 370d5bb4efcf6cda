//! Flows: their ends, completion times and goodputs.

mod active;
mod slow;
mod table;

use std::iter::repeat_n;

use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::records::events::Drop;
use xoff_units::Duration;

use self::slow::{ShutOut, Stuck, Why};
use self::table::Flow;
use super::contract::{Collect, Shared};
use super::news::{FlowEnd, Over, Partial};
use super::rows::row_set;
use super::statistics::{Active, Fct, Flows as Numbers, Times};
use super::tally::Tally;
use crate::runner::Runner;
use crate::summary::Summary;
use crate::verdicts::Ledger;

row_set! { flows: Flow }

/// Collects flows.
pub struct Flows {
    rows: Rows,
    /// A mechanism chooses ports, and each packet of a flow may take another path.
    is_routed: bool,
    /// Payload of a full packet.
    payload: u64,
    /// Completion times, to the last byte and to the last ACK, of all flows without warm starts.
    times: Times,
    fct_acked: Tally,
    /// The first flow or message faster than the ideal FCT, with both times.
    too_fast: Option<(u32, [Duration; 2])>,
    active: Active,
    retransmitted: u64,
    stuck: Stuck,
    shut_out: ShutOut,
}

impl Collect for Flows {
    type Rows = Rows;

    fn new(runner: &Runner, _: &Shared) -> Self {
        Self {
            rows: Rows::default(),
            is_routed: runner.scenario().switch.mechanisms().any(|p| p.routes),
            payload: runner.settings.framing.payload,
            times: Times::default(),
            fct_acked: Tally::default(),
            too_fast: None,
            active: Active::default(),
            retransmitted: 0,
            stuck: Stuck::default(),
            shut_out: ShutOut::default(),
        }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let mut ended = shared.ends.arrivals(cp);
        ended.extend(shared.ends.departures(cp));
        for sent in ended {
            shared.tell(sent, None);
        }
    }

    fn fault(&self) -> Option<String> {
        self.times.fault().or_else(|| self.fct_acked.fault())
    }

    fn dropped(&mut self, drop: &Drop, shared: &mut Shared) {
        shared.ends.lose(drop.flow, shared.plan.is_open(drop.flow));
    }

    fn flow(&mut self, end: &FlowEnd, shared: &mut Shared) {
        let s = &end.sent;
        let times = shared.ends.times();
        let acked = s.acknowledged.map(|a| a.ps() - s.start.ps());
        if !end.is_connection {
            let acked = acked.filter(|_| !shared.plan.is_warm(end.workload));
            for acked in acked.into_iter().flat_map(|acked| repeat_n(acked, times as usize)) {
                self.fct_acked.add(acked);
            }
        }
        self.retransmitted += s.retransmitted * times;
        if !end.is_open {
            self.stuck.note(s, times);
            self.shut_out.note(s, times);
        }
        self.add_row(end, acked, shared);
    }

    fn over(&mut self, over: &Over, shared: &mut Shared) {
        if let Some((flow, [took, ideal])) = over.took_less_than_ideal() {
            self.too_fast.get_or_insert((flow, [took, ideal]));
        }
        if !shared.plan.is_warm(over.workload) {
            (0..shared.ends.times()).for_each(|_| self.times.add(over));
        }
    }

    fn close(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let now = cp.now;
        for sent in shared.ends.unsettled() {
            let delivered = active::delivered(&shared.unfold, cp, &sent, self.payload);
            let partial = Partial { delivered, end: now, is_active: false };
            shared.tell(sent, Some(partial));
        }
    }

    fn close_node(&mut self, cp: &Checkpoint<'_, Node>, view: &View, shared: &mut Shared) {
        let Some(endpoint) = &cp.node(view.of).endpoint else { return };
        if !shared.keeps.flows && view.node != view.of {
            return;
        }
        let image = |s: &Sent| {
            let delivered = active::delivered(&shared.unfold, cp, s, self.payload);
            (shared.unfold.sent(view, s), Partial { delivered, end: cp.now, is_active: true })
        };
        let mut unfinished: Vec<(Sent, Partial)> = endpoint.unfinished(cp.now).iter().map(image).collect();
        unfinished.sort_by_key(|(s, _)| s.flow);
        for (sent, partial) in unfinished {
            shared.tell(sent, Some(partial));
        }
    }

    fn judge(&self, _: &Checkpoint<'_, Node>, shared: &Shared, ledger: &mut Ledger) {
        ledger.missing = shared.ends.missing();
        ledger.flows = shared.ends.count().0;
        ledger.open_lost = shared.ends.open_lost();
        ledger.too_fast = self.too_fast;
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let nodes = || shared.unfold.simulated().map(|id| cp.node(id));
        let is_disordered =
            |node: &Node| node.endpoint.as_ref().is_some_and(|endpoint| endpoint.reordered > 0);
        self.shut_out.learn(if nodes().any(|node| node.counts.dropped_bytes > 0) {
            Why::Losses
        } else if nodes().any(is_disordered) {
            Why::Disorder
        } else {
            Why::Early
        });
    }

    fn summarize(&mut self, shared: &mut Shared, summary: &mut Summary) {
        let (total, completed) = shared.ends.count();
        summary.flows = Numbers { total, completed };
        summary.active_flows = self.active;
        (summary.fct_ps, summary.slowdown) = std::mem::take(&mut self.times).summary();
        summary.fct_acked_ps = Fct::of(std::mem::take(&mut self.fct_acked));
        summary.retransmitted = self.retransmitted;
        summary.warnings.extend(self.stuck.warning().into_iter().chain(self.shut_out.warning()));
    }
}

impl Flows {
    /// Adds the goodput of an active flow, and the row.
    fn add_row(&mut self, end: &FlowEnd, acked: Option<u64>, shared: &mut Shared) {
        let s = &end.sent;
        let is_measured = !end.is_connection;
        let fct = end.arrived.map(|at| (at - s.start).ps());
        let partial = end.partial.filter(|_| end.arrived.is_none() && is_measured);
        let delivered = partial.map_or(s.size, |partial| partial.delivered);
        let time = fct.or_else(|| partial.map(|partial| partial.end.since(s.start).ps()));
        let goodput = time.filter(|_| is_measured).and_then(|time| active::goodput(delivered, time));
        if let Some(goodput) = goodput.filter(|_| partial.is_some_and(|partial| partial.is_active)) {
            self.active.add(goodput, shared.ends.times());
        }
        let Some(ideal) = end.ideal.as_ref().filter(|_| shared.keeps.flows) else { return };
        let via = if self.is_routed { &[][..] } else { &ideal.via };
        let via = shared.names.ways.place(via.to_vec(), &shared.names.own.nodes);
        self.rows.flows.push(Flow {
            number: s.flow,
            workload: end.workload,
            label: shared.plan.labels.get(&s.flow).cloned(),
            src: end.src,
            dst: s.dst,
            size: s.size,
            start: s.start.ps(),
            fct: fct.filter(|_| is_measured),
            delivered: is_measured.then_some(delivered),
            goodput,
            acked,
            ideal: ideal.own.ps(),
            fastest: ideal.fastest.ps(),
            slowdown: end.over.as_ref().and_then(|over| over.slowdown),
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
}
