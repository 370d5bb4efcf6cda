//! Counts of the components of a network.

use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint;
use xoff_models::mechanisms::contract::Hooks;
use xoff_models::mechanisms::ecn::MARKED;
use xoff_models::network::node::Node;
use xoff_models::parts::count::{LATE, PAUSED, Tally};
use xoff_units::Moment;

use super::contract::{Collect, Shared};
use super::counts::Counts;
use crate::runner::Runner;
use crate::summary::Summary;

/// Collects the counts of nodes, their mechanisms and their endpoints.
#[derive(Default)]
pub struct Components {
    rows: (),
}

impl Collect for Components {
    type Rows = ();

    fn new(_: &Runner, _: &Shared) -> Self {
        Self::default()
    }

    fn rows(&mut self) -> &mut () {
        &mut self.rows
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let times = shared.unfold.times();
        let mut marked = 0;
        for id in shared.unfold.clone().simulated() {
            let node = cp.node(id);
            marked += node.counts.marked * u64::from(times);
            (0..times).for_each(|_| count(&mut shared.counts, node, cp.now));
        }
        // Marks are one count for all mechanisms.
        shared.counts.declaring(MARKED).add(MARKED, marked);
    }

    fn summarize(&mut self, shared: &mut Shared, summary: &mut Summary) {
        summary.components = std::mem::take(&mut shared.counts.components);
        summary.counts = std::mem::take(&mut shared.counts.groups);
    }
}

/// Adds the counts of a node, its mechanisms and its endpoint.
fn count(counts: &mut Counts, node: &Node, now: Moment) {
    let open = node.open_pauses.iter().map(|p| (p.cause, now.since(p.start)));
    for (cause, time) in node.paused_by.iter().map(|p| (*p.0, *p.1)).chain(open) {
        counts.of(cause).add(PAUSED, time.ps());
    }
    for mechanism in node.mechanisms.iter() {
        mechanism.counts(now, &mut counts.of(mechanism.name()));
    }
    let Some(e) = &node.endpoint else { return };
    for (cause, holds) in &e.late_holds {
        counts.of(cause).add(LATE, *holds);
    }
    e.counts(&mut counts.of(endpoint::GROUP.name));
    if let Some(part) = e.receiving_part() {
        e.count_receiving(&mut counts.of(part));
    }
    e.count_control(|control, count, n| counts.of(control).add(count, n));
}
