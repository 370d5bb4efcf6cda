//! What the time of ranks went by with.

use super::{Names, Row};
use crate::table::{Column, Data};

/// A part of the time of a rank in an iteration, in picoseconds.
pub struct Part {
    pub workload: u32,
    pub iteration: u16,
    pub rank: u32,
    pub node: u32,
    pub what: &'static str,
    pub label: Option<String>,
    pub time: u64,
}

impl Row for Part {
    const TABLE: &'static str = "jobs";
    const ABOUT: &'static str =
        "One row for each thing that the time of a rank went by with in an iteration; those of a rank add up to the iteration's time.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "The job.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column { name: "iteration", meaning: "The iteration, from 0 on.", data: Data::U16(r.iter().map(|r| r.iteration).collect()) },
            Column { name: "rank", meaning: "The rank.", data: Data::U32(r.iter().map(|r| r.rank).collect()) },
            Column { name: "host", meaning: "Where it is.", data: names.node(r.iter().map(|r| r.node)) },
            Column {
                name: "part",
                meaning: "`compute`; `exposed`: it waited for what was on its way; `bubble`: for other ranks.",
                data: Data::Static(r.iter().map(|r| r.what).collect()),
            },
            Column {
                name: "label",
                meaning: "What exposed time is counted as, such as TP.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column { name: "time_ps", meaning: "How long.", data: Data::U64(r.iter().map(|r| r.time).collect()) },
        ]
    }
}
