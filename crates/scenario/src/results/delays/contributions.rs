//! Bytes that made nodes ask for pauses.

use xoff_models::ports::effects::Because;
use xoff_models::records::delays::Contribution;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::{Row, times};

impl Row for Contribution {
    const TABLE: &'static str = "contributions";
    const ABOUT: &'static str =
        "One row per output and flow with bytes that made a node ask for a pause; with `probe.delays`.";

    fn columns(c: &[Self], names: &Names) -> Vec<Column> {
        let about = |c: &Contribution| match c.because {
            Because::Input(port, class) => (Some(port.0), Some(u16::from(class)), None),
            Because::Tagged(port, tag) => (Some(port.0), None, Some(tag as u16)),
            Because::Output(_) => (None, None, None),
        };
        vec![
            Column {
                name: "time_ps",
                meaning: "Time of the request for a pause.",
                data: times(c.iter().map(|c| c.at)),
            },
            Column { name: "node", meaning: "Node that asked.", data: names.node(c.iter().map(|c| c.node)) },
            Column {
                name: "cause",
                meaning: "Mechanism that asked.",
                data: Data::Static(c.iter().map(|c| c.cause).collect()),
            },
            Column {
                name: "in_port",
                meaning: "Port to the paused neighbour; null for a request to all neighbours.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).0).collect()),
            },
            Column {
                name: "class",
                meaning: "Paused class at this node; null for a request without a class.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).1).collect()),
            },
            Column {
                name: "peer_queue",
                meaning: "Paused queue of the neighbour; null for a request without a queue.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).2).collect()),
            },
            Column {
                name: "port",
                meaning: "Output of the waiting bytes; null without waiting bytes, for a request caused by another mechanism.",
                data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.0.0)).collect()),
            },
            Column {
                name: "queue",
                meaning: "Queue of that output.",
                data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.1.0)).collect()),
            },
            Column {
                name: "flow",
                meaning: "Flow of the bytes.",
                data: Data::MaybeU32(c.iter().map(|c| c.flow).collect()),
            },
            Column {
                name: "bytes",
                meaning: "Number of bytes.",
                data: Data::U64(c.iter().map(|c| c.bytes).collect()),
            },
        ]
    }
}
