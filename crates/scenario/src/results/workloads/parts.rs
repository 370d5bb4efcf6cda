//! The table of the parts of the time of ranks.

use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

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
    const ABOUT: &'static str = "One row per rank, iteration and part of the time. The parts of a rank add up to the time of the iteration.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "Workload of the job.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "iteration",
                meaning: "Iteration, from 0.",
                data: Data::U16(r.iter().map(|r| r.iteration).collect()),
            },
            Column { name: "rank", meaning: "Rank.", data: Data::U32(r.iter().map(|r| r.rank).collect()) },
            Column { name: "host", meaning: "Host of the rank.", data: names.node(r.iter().map(|r| r.node)) },
            Column {
                name: "part",
                meaning: "`compute`; `exposed`: the rank waited for messages in flight; `bubble`: the rank waited for other ranks.",
                data: Data::Static(r.iter().map(|r| r.what).collect()),
            },
            Column {
                name: "label",
                meaning: "Label of exposed time, such as TP.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "Duration of the part.",
                data: Data::U64(r.iter().map(|r| r.time).collect()),
            },
        ]
    }
}
