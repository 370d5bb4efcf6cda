//! Samples of queue depths.

use xoff_models::records::events::Sample;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::{Row, times};

impl Row for Sample {
    const TABLE: &'static str = "samples";
    const ABOUT: &'static str =
        "One row per non-empty queue and sample; with `probe.queues` or `probe.replay`.";

    fn columns(s: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column { name: "time_ps", meaning: "Time of the sample.", data: times(s.iter().map(|s| s.at)) },
            Column { name: "node", meaning: "Node of the port.", data: names.node(s.iter().map(|s| s.node)) },
            Column {
                name: "port",
                meaning: "Number of the port at the node.",
                data: Data::U16(s.iter().map(|s| s.port.0).collect()),
            },
            Column {
                name: "queue",
                meaning: "Number of the queue at the port.",
                data: Data::U16(s.iter().map(|s| s.queue.0).collect()),
            },
            Column {
                name: "bytes",
                meaning: "Bytes in the queue.",
                data: Data::U32(s.iter().map(|s| s.bytes).collect()),
            },
        ]
    }
}
