//! Dropped packets.

use xoff_models::record::Drop;

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Drop {
    const TABLE: &'static str = "drops";
    const ABOUT: &'static str = "One row per dropped data packet.";

    fn columns(d: &[Self], names: &Names) -> Vec<Column> {
        let reasons = Data::Static(d.iter().map(|d| d.by.unwrap_or("buffer full")).collect());
        vec![
            Column { name: "time_ps", meaning: "Time of the drop.", data: times(d.iter().map(|d| d.at)) },
            Column {
                name: "node",
                meaning: "Node that dropped the packet.",
                data: names.node(d.iter().map(|d| d.node)),
            },
            Column {
                name: "port",
                meaning: "Egress port of the packet.",
                data: Data::U16(d.iter().map(|d| d.port.0).collect()),
            },
            Column {
                name: "in_port",
                meaning: "Ingress port of the packet.",
                data: Data::U16(d.iter().map(|d| d.in_port.0).collect()),
            },
            Column {
                name: "class",
                meaning: "Class of the packet.",
                data: Data::U8(d.iter().map(|d| d.class).collect()),
            },
            Column {
                name: "flow",
                meaning: "Flow of the packet.",
                data: Data::U32(d.iter().map(|d| d.flow).collect()),
            },
            Column {
                name: "seq",
                meaning: "Number of the packet in the flow.",
                data: Data::U32(d.iter().map(|d| d.seq).collect()),
            },
            Column {
                name: "reason",
                meaning: "Reason: `buffer full`, or the name of the mechanism that dropped the packet.",
                data: reasons,
            },
        ]
    }
}
