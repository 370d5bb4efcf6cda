//! Operations of jobs, as they end.

use xoff_models::job::program::By;
use xoff_models::message::After;

use super::messages::after;
use super::{Names, Row};
use crate::table::{Column, Data};

/// An operation of a rank that is over. Times are in picoseconds.
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
    /// The places of those of its rank that wait for it.
    pub then: Vec<u32>,
}

impl Row for Operation {
    const TABLE: &'static str = "operations";
    const ABOUT: &'static str = "One row an operation of a rank of a job, as it ends.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "The job.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "iteration",
                meaning: "The iteration of the job that it is of, from 0 on.",
                data: Data::U16(r.iter().map(|r| r.iteration).collect()),
            },
            Column { name: "rank", meaning: "The rank.", data: Data::U32(r.iter().map(|r| r.rank).collect()) },
            Column { name: "host", meaning: "Where it is.", data: names.node(r.iter().map(|r| r.node)) },
            Column { name: "index", meaning: "Its number in the rank's program.", data: Data::U32(r.iter().map(|r| r.place).collect()) },
            Column {
                name: "operation",
                meaning: "The number that all ranks know it by that take part; null if it only computes.",
                data: Data::MaybeU32(r.iter().map(|r| r.number).collect()),
            },
            Column {
                name: "kind",
                meaning: "What it is: `compute`, `send`, `recv`, or the name of a collective.",
                data: Data::Static(r.iter().map(|r| r.kind).collect()),
            },
            Column {
                name: "label",
                meaning: "What its time is counted as, such as TP; null if it only computes.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column { name: "name", meaning: "What it is called.", data: Data::MaybeText(r.iter().map(|r| Some(r.name.clone())).collect()) },
            Column {
                name: "start_ps",
                meaning: "When it began: everything before it was over, and its unit was free.",
                data: Data::U64(r.iter().map(|r| r.start).collect()),
            },
            Column {
                name: "released_by",
                meaning: "What of that ended last: an `operation`, or nothing but the `start` of the job.",
                data: Data::Static(r.iter().map(|r| after(r.after).0).collect()),
            },
            Column {
                name: "released_by_index",
                meaning: "The place of that operation.",
                data: Data::MaybeU32(r.iter().map(|r| after(r.after).1).collect()),
            },
            Column {
                name: "successors",
                meaning: "The places of the operations of its rank that wait for it, separated by `;`.",
                data: Data::MaybeText(r.iter().map(|r| Some(listed(&r.then))).collect()),
            },
            Column { name: "end_ps", meaning: "When it was over.", data: Data::U64(r.iter().map(|r| r.end).collect()) },
            Column {
                name: "ended_by",
                meaning: "What ended it: a message that `arrived`, or one that had `left`, or that it had `computed`.",
                data: Data::Static(r.iter().map(|r| r.by.map_or("computed", |by| if by.arrived { "arrived" } else { "left" })).collect()),
            },
            Column {
                name: "ended_by_message",
                meaning: "The number of that message in the operation.",
                data: Data::MaybeU32(r.iter().map(|r| r.by.map(|by| by.message)).collect()),
            },
        ]
    }
}

fn listed(places: &[u32]) -> String {
    places.iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
}
