//! Operations of jobs, in order of their ends.

use xoff_applications::job::program::By;
use xoff_models::frames::message::After;
use xoff_models::records::table::{Column, Data};

use crate::results::messages::after;
use crate::results::names::Names;
use crate::results::rows::Row;

/// A finished operation of a rank. Times are in picoseconds.
pub struct Operation {
    pub workload: u32,
    pub iteration: u16,
    pub rank: u32,
    pub node: u32,
    pub place: u32,
    pub number: Option<u32>,
    pub kind: &'static str,
    pub name: String,
    pub label: Option<String>,
    pub start: u64,
    pub after: After,
    pub end: u64,
    pub by: Option<By>,
    /// Indices of the operations of the rank that wait for this operation.
    pub then: Vec<u32>,
}

impl Row for Operation {
    const TABLE: &'static str = "operations";
    const ABOUT: &'static str = "One row per ended operation of a rank of a job, in order of the ends.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "Workload of the job.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "iteration",
                meaning: "Iteration of the job, from 0.",
                data: Data::U16(r.iter().map(|r| r.iteration).collect()),
            },
            Column { name: "rank", meaning: "Rank.", data: Data::U32(r.iter().map(|r| r.rank).collect()) },
            Column { name: "host", meaning: "Host of the rank.", data: names.node(r.iter().map(|r| r.node)) },
            Column {
                name: "index",
                meaning: "Number of the operation in the program of the rank.",
                data: Data::U32(r.iter().map(|r| r.place).collect()),
            },
            Column {
                name: "operation",
                meaning: "Number of the operation, the same at all participating ranks; null for a computation.",
                data: Data::MaybeU32(r.iter().map(|r| r.number).collect()),
            },
            Column {
                name: "kind",
                meaning: "`compute`, `send`, `recv`, or the name of a collective.",
                data: Data::Static(r.iter().map(|r| r.kind).collect()),
            },
            Column {
                name: "label",
                meaning: "Label of exposed time, such as TP; null for a computation.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column {
                name: "name",
                meaning: "Name of the operation.",
                data: Data::MaybeText(r.iter().map(|r| Some(r.name.clone())).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Start: the predecessors had ended, and the unit was free.",
                data: Data::U64(r.iter().map(|r| r.start).collect()),
            },
            Column {
                name: "released_by",
                meaning: "Last condition for the start: the end of an `operation`, the `start` of the job, or a flow or job `elsewhere`.",
                data: Data::Static(r.iter().map(|r| after(r.after).0).collect()),
            },
            Column {
                name: "released_by_index",
                meaning: "Index of the operation that ended last.",
                data: Data::MaybeU32(r.iter().map(|r| after(r.after).1).collect()),
            },
            Column {
                name: "successors",
                meaning: "Indices of the operations of the rank that wait for this operation, separated by `;`.",
                data: Data::MaybeText(r.iter().map(|r| Some(listed(&r.then))).collect()),
            },
            Column {
                name: "end_ps",
                meaning: "End of the operation.",
                data: Data::U64(r.iter().map(|r| r.end).collect()),
            },
            Column {
                name: "ended_by",
                meaning: "Event at the end: a message `arrived`, a message had `left`, or the rank had `computed`.",
                data: Data::Static(
                    r.iter()
                        .map(|r| r.by.map_or("computed", |by| if by.arrived { "arrived" } else { "left" }))
                        .collect(),
                ),
            },
            Column {
                name: "ended_by_message",
                meaning: "Number of the message in the operation; null for `computed`.",
                data: Data::MaybeU32(r.iter().map(|r| r.by.map(|by| by.message)).collect()),
            },
        ]
    }
}

fn listed(places: &[u32]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
}
