//! Packets that were dropped.

use xoff_models::record::Drop;

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Drop {
    const TABLE: &'static str = "drops";
    const ABOUT: &'static str = "One row a data packet that was dropped.";

    fn columns(d: &[Self], names: &Names) -> Vec<Column> {
        let reasons = Data::Static(d.iter().map(|d| d.by.unwrap_or("buffer full")).collect());
        vec![
            Column { name: "time_ps", meaning: "When.", data: times(d.iter().map(|d| d.at)) },
            Column { name: "node", meaning: "Where.", data: names.node(d.iter().map(|d| d.node)) },
            Column { name: "port", meaning: "The port that it was to leave by.", data: Data::U16(d.iter().map(|d| d.port.0).collect()) },
            Column { name: "in_port", meaning: "The port that it came in by.", data: Data::U16(d.iter().map(|d| d.in_port.0).collect()) },
            Column { name: "class", meaning: "Its class.", data: Data::U8(d.iter().map(|d| d.class).collect()) },
            Column { name: "flow", meaning: "Its flow.", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column { name: "seq", meaning: "Its number in the flow.", data: Data::U32(d.iter().map(|d| d.seq).collect()) },
            Column { name: "reason", meaning: "Why: `buffer full`, or the mechanism that dropped it.", data: reasons },
        ]
    }
}
