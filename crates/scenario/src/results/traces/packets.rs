//! Arrivals and departures of frames.

use xoff_models::frames::packet::Packet;
use xoff_models::records::events::Trace;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::{Row, times};

impl Row for Trace {
    const TABLE: &'static str = "packets";
    const ABOUT: &'static str = "One row per arrival or departure of a frame; with `probe.packets`.";

    fn columns(t: &[Self], names: &Names) -> Vec<Column> {
        let event = |t: &Trace| if t.is_departure { "depart" } else { "arrive" };
        let has = |flags: u16| Data::U8(t.iter().map(|t| u8::from(t.frame.has(flags))).collect());
        vec![
            Column {
                name: "time_ps",
                meaning: "Time at which the last bit arrived, or the first bit departed.",
                data: times(t.iter().map(|t| t.at)),
            },
            Column { name: "node", meaning: "Node.", data: names.node(t.iter().map(|t| t.node)) },
            Column { name: "port", meaning: "Port.", data: Data::U16(t.iter().map(|t| t.port.0).collect()) },
            Column {
                name: "event",
                meaning: "`arrive` or `depart`.",
                data: Data::Static(t.iter().map(event).collect()),
            },
            Column {
                name: "kind",
                meaning: "Kind of the frame.",
                data: Data::Static(t.iter().map(|t| t.frame.kind().name()).collect()),
            },
            Column {
                name: "flow",
                meaning: "Flow of the frame, or flow that a control frame names.",
                data: Data::U32(t.iter().map(|t| t.frame.flow()).collect()),
            },
            Column {
                name: "seq",
                meaning: "Number of the packet in the flow.",
                data: Data::U32(t.iter().map(|t| t.frame.seq()).collect()),
            },
            Column {
                name: "bytes",
                meaning: "Size of the frame on the wire.",
                data: Data::U32(t.iter().map(|t| u32::from(t.frame.bytes())).collect()),
            },
            Column {
                name: "class",
                meaning: "Class of the frame.",
                data: Data::U8(t.iter().map(|t| t.frame.class()).collect()),
            },
            Column {
                name: "marked",
                meaning: "1 for a marked packet, and for an acknowledgement of a marked packet.",
                data: Data::U8(t.iter().map(|t| u8::from(t.frame.is_marked())).collect()),
            },
            Column {
                name: "retransmission",
                meaning: "1 for a retransmission.",
                data: has(Packet::RETRANSMITTED),
            },
            Column {
                name: "last_of_flow",
                meaning: "1 for the last packet of a flow.",
                data: has(Packet::LAST),
            },
            Column {
                name: "payload_field",
                meaning: "Second number of a control frame: quanta of a PFC frame, nanoseconds of an SFCM, the packet named by a NACK; 0 for other frames.",
                data: Data::U32(t.iter().map(|t| t.frame.says()).collect()),
            },
        ]
    }
}
