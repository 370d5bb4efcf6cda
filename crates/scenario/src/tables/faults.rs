//! Failures, with their times and losses.

use std::sync::Arc;

use super::{Names, Row, times};
use crate::faults::Fault;
use crate::table::{Column, Data};

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
