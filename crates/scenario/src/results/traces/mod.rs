//! Traces: frames at nodes, and samples of queue depths.

mod packets;
mod samples;
mod sampling;

use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::records::events::{Sample, Trace};
use xoff_models::records::table::Table;
use xoff_units::Duration;

use self::sampling::Sampling;
use super::contract::{Collect, Shared};
use super::rows::{RowSet, row_set};
use crate::runner::Runner;
use crate::summary::Summary;

row_set! { packets: Trace, samples: Sample }

/// Collects traces.
pub struct Traces {
    rows: Rows,
    sampling: Sampling,
}

impl Collect for Traces {
    type Rows = Rows;

    fn new(runner: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), sampling: Sampling::new(&runner.scenario().probe) }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    /// Samples of a replay stay until the end, because old samples are thinned.
    fn hand_on(&mut self, least: usize, shared: &Shared, take: &mut dyn FnMut(Table)) {
        let kept = if self.sampling.is_replay { std::mem::take(&mut self.rows.samples) } else { Vec::new() };
        self.rows.hand_on(least, &shared.names, take);
        if self.sampling.is_replay {
            self.rows.samples = kept;
        }
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        if self.sampling.interval.is_some() {
            // A node writes samples at its next event, which may be long after the events of other nodes.
            self.sampling.catch_up(cp, &mut self.rows.samples);
        }
        let Rows { packets, samples } = &mut self.rows;
        let known = (packets.len(), samples.len());
        for id in 0..cp.nodes() {
            let node = cp.node_mut(id);
            packets.append(&mut node.records.packets);
            // Rows of skipped time may exist here before the rows of other nodes.
            let until = node.records.samples.partition_point(|sample| sample.at < shared.until);
            samples.extend(node.records.samples.drain(..until));
        }
        // Rows between two checkpoints are in node order. At one moment, arrivals of a node come first, then departures
        // by port.
        packets[known.0..]
            .sort_by_key(|p| (p.at, p.node, if p.is_departure { 1 + u32::from(p.port.0) } else { 0 }));
        samples[known.1..].sort_by_key(|s| s.at);
        self.sampling.thin(cp, samples, 0);
    }

    fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
        summary.sampled_every_ps = self.sampling.interval.map(Duration::ps);
    }
}
