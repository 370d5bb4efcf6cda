//! Messages of connections, in order of delivery.

use xoff_models::frames::message::After;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

/// A delivered message. Times are in picoseconds.
pub struct Message {
    pub flow: Option<u32>,
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

/// Returns the condition for a start as a word, with its number.
pub const fn after(after: After) -> (&'static str, Option<u32>) {
    match after {
        After::Start => ("start", None),
        After::Operation(place) => ("operation", Some(place)),
        After::Begun => ("begun", None),
        After::Message(place) => ("message", Some(place)),
        After::Elsewhere => ("elsewhere", None),
    }
}

fn released_by(r: &[Message]) -> Column {
    Column {
        name: "released_by",
        meaning: "Last condition for the start: the operation had `begun`, or a `message` of the operation had arrived.",
        data: Data::Static(r.iter().map(|r| after(r.after).0).collect()),
    }
}

fn released_by_message(r: &[Message]) -> Column {
    Column {
        name: "released_by_message",
        meaning: "Number of the message that arrived.",
        data: Data::MaybeU32(r.iter().map(|r| after(r.after).1).collect()),
    }
}

fn fct(r: &[Message]) -> Column {
    Column {
        name: "fct_ps",
        meaning: "Time from `start_ps` to the arrival of all bytes of the message and of all earlier messages.",
        data: Data::U64(r.iter().map(|r| r.fct).collect()),
    }
}

fn ideal_fct(r: &[Message]) -> Column {
    Column {
        name: "ideal_fct_ps",
        meaning: "`fct_ps` of the message alone in the network, on the path of the connection.",
        data: Data::U64(r.iter().map(|r| r.ideal).collect()),
    }
}

impl Row for Message {
    const TABLE: &'static str = "messages";
    const ABOUT: &'static str = "One row per delivered message of a connection, in order of delivery.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "flow",
                meaning: "Connection of the message; none for a message over NVLink, which has a row only with `probe.slices`.",
                data: Data::MaybeU32(r.iter().map(|r| r.flow).collect()),
            },
            Column {
                name: "workload",
                meaning: "Workload of the message.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "operation",
                meaning: "Number of the operation, the same at all participating ranks.",
                data: Data::U32(r.iter().map(|r| r.operation).collect()),
            },
            Column {
                name: "message",
                meaning: "Number of the message in the operation. Messages of a rank have consecutive numbers.",
                data: Data::U32(r.iter().map(|r| r.place).collect()),
            },
            Column {
                name: "rank",
                meaning: "Sending rank.",
                data: Data::U32(r.iter().map(|r| r.from).collect()),
            },
            Column {
                name: "to_rank",
                meaning: "Receiving rank.",
                data: Data::U32(r.iter().map(|r| r.to).collect()),
            },
            Column {
                name: "step",
                meaning: "Step of the algorithm of the collective, from 0.",
                data: Data::U32(r.iter().map(|r| r.step).collect()),
            },
            Column {
                name: "channel",
                meaning: "Channel.",
                data: Data::U16(r.iter().map(|r| r.channel).collect()),
            },
            Column {
                name: "label",
                meaning: "Label of exposed time, such as TP.",
                data: Data::MaybeText(r.iter().map(|r| Some(r.label.clone())).collect()),
            },
            Column { name: "src", meaning: "Source host.", data: names.node(r.iter().map(|r| r.src)) },
            Column { name: "dst", meaning: "Destination host.", data: names.node(r.iter().map(|r| r.dst)) },
            Column {
                name: "size_bytes",
                meaning: "Payload.",
                data: Data::U64(r.iter().map(|r| r.size).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Time at which the message was posted to the connection.",
                data: Data::U64(r.iter().map(|r| r.posted).collect()),
            },
            released_by(r),
            released_by_message(r),
            Column {
                name: "left_ps",
                meaning: "First start of transmission of the last packet.",
                data: Data::U64(r.iter().map(|r| r.left).collect()),
            },
            fct(r),
            ideal_fct(r),
            Column {
                name: "slowdown",
                meaning: "`fct_ps` divided by `ideal_fct_ps`.",
                data: Data::F64(r.iter().map(|r| r.slowdown).collect()),
            },
        ]
    }
}
