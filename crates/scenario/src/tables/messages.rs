//! Messages of connections, as they are delivered.

use xoff_models::message::After;

use super::{Names, Row};
use crate::table::{Column, Data};

/// A message that was delivered. Times are in picoseconds.
pub struct Message {
    pub flow: u32,
    pub workload: u32,
    pub operation: u32,
    pub place: u32,
    pub from: u32,
    pub to: u32,
    pub step: u32,
    pub channel: u16,
    pub label: String,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub posted: u64,
    pub after: After,
    pub left: u64,
    pub fct: u64,
    pub ideal: u64,
    pub slowdown: f64,
}

/// What had to come before something, in a word, and its number.
pub const fn after(after: After) -> (&'static str, Option<u32>) {
    match after {
        After::Start => ("start", None),
        After::Operation(place) => ("operation", Some(place)),
        After::Begun => ("begun", None),
        After::Message(place) => ("message", Some(place)),
    }
}

impl Row for Message {
    const TABLE: &'static str = "messages";
    const ABOUT: &'static str = "One row a message of a connection, as it is delivered.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column { name: "flow", meaning: "Its connection.", data: Data::U32(r.iter().map(|r| r.flow).collect()) },
            Column {
                name: "workload",
                meaning: "The workload it is of.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "operation",
                meaning: "The number of its operation, which all ranks that take part know it by.",
                data: Data::U32(r.iter().map(|r| r.operation).collect()),
            },
            Column {
                name: "message",
                meaning: "Its number in the operation; those of a rank have numbers without gaps.",
                data: Data::U32(r.iter().map(|r| r.place).collect()),
            },
            Column { name: "rank", meaning: "The rank that sends it.", data: Data::U32(r.iter().map(|r| r.from).collect()) },
            Column { name: "to_rank", meaning: "The rank that receives it.", data: Data::U32(r.iter().map(|r| r.to).collect()) },
            Column {
                name: "step",
                meaning: "The step of the collective's algorithm, from 0 on.",
                data: Data::U32(r.iter().map(|r| r.step).collect()),
            },
            Column { name: "channel", meaning: "The channel.", data: Data::U16(r.iter().map(|r| r.channel).collect()) },
            Column {
                name: "label",
                meaning: "What its time is counted as, such as TP.",
                data: Data::MaybeText(r.iter().map(|r| Some(r.label.clone())).collect()),
            },
            Column { name: "src", meaning: "Where it starts.", data: names.node(r.iter().map(|r| r.src)) },
            Column { name: "dst", meaning: "Where it ends.", data: names.node(r.iter().map(|r| r.dst)) },
            Column { name: "size_bytes", meaning: "Payload.", data: Data::U64(r.iter().map(|r| r.size).collect()) },
            Column {
                name: "start_ps",
                meaning: "When it was handed to its connection.",
                data: Data::U64(r.iter().map(|r| r.posted).collect()),
            },
            Column {
                name: "released_by",
                meaning: "What came last of all that had to come before: its operation had `begun`, or a `message` of that had arrived.",
                data: Data::Static(r.iter().map(|r| after(r.after).0).collect()),
            },
            Column {
                name: "released_by_message",
                meaning: "The number of that message.",
                data: Data::MaybeU32(r.iter().map(|r| after(r.after).1).collect()),
            },
            Column {
                name: "left_ps",
                meaning: "When its last packet began to leave for the first time.",
                data: Data::U64(r.iter().map(|r| r.left).collect()),
            },
            Column {
                name: "fct_ps",
                meaning: "From `start_ps` until all of it, and of all messages before it, was at the receiver.",
                data: Data::U64(r.iter().map(|r| r.fct).collect()),
            },
            Column {
                name: "ideal_fct_ps",
                meaning: "What `fct_ps` would be alone in the network, by the path of its connection.",
                data: Data::U64(r.iter().map(|r| r.ideal).collect()),
            },
            Column { name: "slowdown", meaning: "`fct_ps` over `ideal_fct_ps`.", data: Data::F64(r.iter().map(|r| r.slowdown).collect()) },
        ]
    }
}
