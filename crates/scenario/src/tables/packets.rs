//! Frames that arrive and depart.

use xoff_models::packet::Packet;
use xoff_models::record::Trace;

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Trace {
    const TABLE: &'static str = "packets";
    const ABOUT: &'static str = "One row each time a frame arrives or departs; with `probe.packets`.";

    fn columns(t: &[Self], names: &Names) -> Vec<Column> {
        let event = |t: &Trace| if t.is_departure { "depart" } else { "arrive" };
        let has = |flags: u16| Data::U8(t.iter().map(|t| u8::from(t.frame.has(flags))).collect());
        vec![
            Column { name: "time_ps", meaning: "When its last bit arrived, or its first departed.", data: times(t.iter().map(|t| t.at)) },
            Column { name: "node", meaning: "Where.", data: names.node(t.iter().map(|t| t.node)) },
            Column { name: "port", meaning: "The port.", data: Data::U16(t.iter().map(|t| t.port.0).collect()) },
            Column { name: "event", meaning: "`arrive` or `depart`.", data: Data::Static(t.iter().map(event).collect()) },
            Column {
                name: "kind",
                meaning: "What kind of frame it is.",
                data: Data::Static(t.iter().map(|t| t.frame.kind().name()).collect()),
            },
            Column {
                name: "flow",
                meaning: "Its flow, or that of which it speaks.",
                data: Data::U32(t.iter().map(|t| t.frame.flow()).collect()),
            },
            Column { name: "seq", meaning: "Its number in the flow.", data: Data::U32(t.iter().map(|t| t.frame.seq()).collect()) },
            Column {
                name: "bytes",
                meaning: "Its size on the wire.",
                data: Data::U32(t.iter().map(|t| u32::from(t.frame.bytes())).collect()),
            },
            Column { name: "class", meaning: "Its class.", data: Data::U8(t.iter().map(|t| t.frame.class()).collect()) },
            Column {
                name: "marked",
                meaning: "1 if it is marked, or an answer that says so of its packet.",
                data: Data::U8(t.iter().map(|t| u8::from(t.frame.is_marked())).collect()),
            },
            Column { name: "retransmission", meaning: "1 if it is a packet that was sent before.", data: has(Packet::RETRANSMITTED) },
            Column { name: "last_of_flow", meaning: "1 if it is the last packet of its flow.", data: has(Packet::LAST) },
            Column {
                name: "payload_field",
                meaning: "What it says beside `seq`: quanta of a PFC frame, nanoseconds of an SFCM, the packet that a NACK is about; 0 if nothing.",
                data: Data::U32(t.iter().map(|t| t.frame.says()).collect()),
            },
        ]
    }
}
