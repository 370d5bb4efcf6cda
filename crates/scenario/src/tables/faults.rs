//! What failed, when, and what was lost by it.

use std::sync::Arc;

use super::{Names, Row, times};
use crate::faults::Fault;
use crate::table::{Column, Data};

/// A spell of a fault in words.
pub struct Failed {
    /// The entry of the scenario.
    pub entry: u32,
    /// What it does.
    pub kind: &'static str,
    /// The link, node or host.
    pub target: String,
    /// When, and what was lost.
    pub fault: Fault,
}

impl Row for Failed {
    const TABLE: &'static str = "faults";
    const ABOUT: &'static str = "One row a time during which a link, a node or a host failed.";

    fn columns(f: &[Self], _: &Names) -> Vec<Column> {
        let number = |get: fn(&Failed) -> u64| Data::U64(f.iter().map(get).collect());
        let targets = f.iter().map(|f| f.target.clone()).collect();
        vec![
            Column { name: "fault", meaning: "The entry of `fault`, from 0.", data: Data::U32(f.iter().map(|f| f.entry).collect()) },
            Column {
                name: "kind",
                meaning: "`down`, `rate`, `delay`, `bit errors`, `stall` or `compute`.",
                data: Data::Static(f.iter().map(|f| f.kind).collect()),
            },
            Column {
                name: "target",
                meaning: "The link, node or host.",
                data: Data::Name((0..f.len() as u32).collect(), Arc::new(targets)),
            },
            Column { name: "start_ps", meaning: "When it began.", data: times(f.iter().map(|f| f.fault.outage.start)) },
            Column {
                name: "end_ps",
                meaning: "When it ended; null if it lasted at the end of the run.",
                data: Data::MaybeU64(f.iter().map(|f| f.fault.outage.end.map(xoff_units::Moment::ps)).collect()),
            },
            Column { name: "lost_packets", meaning: "Data packets lost by it.", data: number(|f| f.fault.lost.packets) },
            Column { name: "lost_bytes", meaning: "Their wire bytes.", data: number(|f| f.fault.lost.bytes) },
            Column { name: "lost_control", meaning: "All other frames lost by it.", data: number(|f| f.fault.lost.control) },
        ]
    }
}
