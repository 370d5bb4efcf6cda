//! How fast collective operations are.

use serde_json::json;
use xoff_models::workload::AllFlows;

use super::{Group, Measure, Over, Say};
use crate::document::Scenario;
use crate::tables::Rows;
use crate::tables::collectives::Measured;

/// In the order of workloads.
pub struct Collectives(Vec<Measured>);

impl Measure for Collectives {
    const KEYS: &'static [(&'static str, &'static str)] = &[("collective", "How fast its collective operation was, if it is one.")];

    fn new(_: &[Group], plan: &AllFlows, _: &Scenario) -> Self {
        Self(plan.collectives.iter().cloned().map(Measured::new).collect())
    }

    fn add(&mut self, _: usize, flow: &Over) {
        if let Ok(place) = self.0.binary_search_by_key(&flow.workload, |c| c.of.workload) {
            self.0[place].add(flow.start, flow.arrived);
        }
    }

    /// Of several the slowest by the bus; one that has not ended has no bandwidth, and is that.
    fn say(&mut self, _: usize, of: &Group, say: &mut Say<'_>) {
        let all = self.0.iter().filter(|c| of.workloads.contains(&c.of.workload)).map(Measured::summary);
        let slowest = all.min_by(|a, b| a.bus_bps.unwrap_or(0.0).total_cmp(&b.bus_bps.unwrap_or(0.0)));
        if let Some(slowest) = slowest {
            say("collective", json!(slowest));
        }
    }

    fn rows(&self, rows: &mut Rows) {
        rows.collectives.clone_from(&self.0);
    }
}
