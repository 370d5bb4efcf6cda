//! Queues, each time they are looked at.

use xoff_models::record::Sample;

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Sample {
    const TABLE: &'static str = "samples";
    const ABOUT: &'static str = "One row a queue that is not empty, each time queues are looked at; with `probe.queues` or `probe.replay`.";

    fn columns(s: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column { name: "time_ps", meaning: "When.", data: times(s.iter().map(|s| s.at)) },
            Column { name: "node", meaning: "Whose port it is.", data: names.node(s.iter().map(|s| s.node)) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(s.iter().map(|s| s.port.0).collect()) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(s.iter().map(|s| s.queue.0).collect()) },
            Column { name: "bytes", meaning: "Its depth.", data: Data::U32(s.iter().map(|s| s.bytes).collect()) },
        ]
    }
}
