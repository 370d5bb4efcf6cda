//! Collectives, measured over all messages: their times and bandwidths.

use serde_json::json;
use xoff_applications::job::{Ended, Jobs};
use xoff_document::Scenario;
use xoff_models::traffic::workload::{AllFlows, Over as Ends};
use xoff_units::index;

use super::contract::{Group, KeyType, Measure, Rows, Say};
use super::measured::Measured;
use crate::results::news::Over;

/// In the order of workloads, and the workload of each job.
pub struct Collectives(Vec<Measured>, Vec<u32>);

impl Measure for Collectives {
    const KEYS: &'static [(&'static str, KeyType, &'static str)] = &[(
        "collective",
        KeyType::Sometimes("CollectiveSummary"),
        "Bandwidths and time of the collective; only for a workload with a collective.",
    )];

    fn new(_: &[Group], plan: &AllFlows, _: &Scenario) -> Self {
        let workloads = Jobs::of(&plan.applications).iter().map(|job| job.workload).collect();
        Self(plan.collectives.iter().cloned().map(Measured::new).collect(), workloads)
    }

    fn add(&mut self, _: usize, flow: &Over) {
        if let Ok(place) = self.0.binary_search_by_key(&flow.workload, |c| c.of.workload)
            && matches!(self.0[place].of.over, Ends::Messages(_))
        {
            self.0[place].add(flow.start, flow.arrived);
        }
    }

    fn end(&mut self, ended: &Ended) {
        let workload = self.1[index(ended.job)];
        if let Ok(place) = self.0.binary_search_by_key(&workload, |c| c.of.workload)
            && matches!(self.0[place].of.over, Ends::Ranks(_))
        {
            self.0[place].add(ended.start.ps(), Some(ended.end.ps()));
        }
    }

    /// Of several collectives the slowest by bus bandwidth. An unfinished collective has no bandwidth and
    /// counts as the slowest.
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
