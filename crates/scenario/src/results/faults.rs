//! Failures, with their times and losses.

use std::sync::Arc;

use xoff_engine::Checkpoint;
use xoff_models::faults::plan::Plan;
use xoff_models::network::node::{
    FAULT, FAULTS, LOST, LOST_BYTES, LOST_CONTROL, Node, REROUTES, RETRIED, RETRIED_BYTES,
};
use xoff_models::parts::count::Tally;
use xoff_models::records::table::{Column, Data};
use xoff_units::index;

use super::contract::{Collect, Shared};
use super::names::Names;
use super::rows::{Row, row_set, times};
use crate::faults::{self, Fault};
use crate::runner::Runner;

row_set! { faults: Failed }

/// Collects failures.
pub struct Faults {
    rows: Rows,
    plan: Plan,
}

impl Collect for Faults {
    type Rows = Rows;

    fn new(runner: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), plan: runner.settings.failures.clone() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let mut counts = shared.counts.of(FAULT.name);
        for failing in (0..cp.nodes()).filter_map(|id| cp.node(id).failing.as_ref()) {
            counts.add(RETRIED, failing.retried.0);
            counts.add(RETRIED_BYTES, failing.retried.1);
        }
        counts.add(REROUTES, cp.node(0).core.routing.epoch.into());
        for fault in faults::outages(&self.plan, cp, cp.now) {
            counts.add(FAULTS, 1);
            counts.add(LOST, fault.lost.packets);
            counts.add(LOST_BYTES, fault.lost.bytes);
            counts.add(LOST_CONTROL, fault.lost.control);
            let unit = &self.plan.units[index(fault.unit)];
            let target = self.plan.name(fault.unit, &shared.names.nodes);
            self.rows.faults.push(Failed { entry: unit.fault, kind: unit.what.name(), target, fault });
        }
    }
}

/// A spell of a fault in words.
pub struct Failed {
    /// The entry of the scenario.
    pub entry: u32,
    /// Kind of the fault.
    pub kind: &'static str,
    /// The link, node or host.
    pub target: String,
    /// Times and losses.
    pub fault: Fault,
}

impl Row for Failed {
    const TABLE: &'static str = "faults";
    const ABOUT: &'static str = "One row per failure of a link, node or host.";

    fn columns(f: &[Self], _: &Names) -> Vec<Column> {
        let number = |get: fn(&Failed) -> u64| Data::U64(f.iter().map(get).collect());
        let targets = f.iter().map(|f| f.target.clone()).collect();
        vec![
            Column {
                name: "fault",
                meaning: "Entry of `fault`, from 0.",
                data: Data::U32(f.iter().map(|f| f.entry).collect()),
            },
            Column {
                name: "kind",
                meaning: "`down`, `rate`, `delay`, `bit errors`, `stall` or `compute`.",
                data: Data::Static(f.iter().map(|f| f.kind).collect()),
            },
            Column {
                name: "target",
                meaning: "Link, node or host.",
                data: Data::Name((0..f.len() as u32).collect(), Arc::new(targets)),
            },
            Column {
                name: "start_ps",
                meaning: "Start of the failure.",
                data: times(f.iter().map(|f| f.fault.outage.start)),
            },
            Column {
                name: "end_ps",
                meaning: "End of the failure; null for a failure at the end of the run.",
                data: Data::MaybeU64(
                    f.iter().map(|f| f.fault.outage.end.map(xoff_units::Moment::ps)).collect(),
                ),
            },
            Column {
                name: "lost_packets",
                meaning: "Data packets lost to the failure.",
                data: number(|f| f.fault.lost.packets),
            },
            Column {
                name: "lost_bytes",
                meaning: "Wire bytes of these packets.",
                data: number(|f| f.fault.lost.bytes),
            },
            Column {
                name: "lost_control",
                meaning: "Other frames lost to the failure.",
                data: number(|f| f.fault.lost.control),
            },
        ]
    }
}
