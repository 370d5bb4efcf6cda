//! Pause frames of ports, as the counters of a switch count them.

use xoff_models::mechanisms::contract::PauseFrames;
use xoff_models::parts::ids::PortId;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

/// Pause frames of a class of a port.
pub struct OfClass {
    pub node: u32,
    pub port: PortId,
    pub peer: u32,
    pub class: u8,
    pub frames: PauseFrames,
}

impl Row for OfClass {
    const TABLE: &'static str = "pause_frames";
    const ABOUT: &'static str =
        "One row per port and class that sent or received PFC frames; a resume is a frame as well.";

    fn columns(f: &[Self], names: &Names) -> Vec<Column> {
        let number = |get: fn(&PauseFrames) -> u64| Data::U64(f.iter().map(|f| get(&f.frames)).collect());
        vec![
            Column { name: "node", meaning: "Node of the port.", data: names.node(f.iter().map(|f| f.node)) },
            Column {
                name: "port",
                meaning: "Number of the port at the node.",
                data: Data::U16(f.iter().map(|f| f.port.0).collect()),
            },
            Column {
                name: "peer",
                meaning: "Node at the other end of the link.",
                data: names.node(f.iter().map(|f| f.peer)),
            },
            Column { name: "class", meaning: "Class.", data: Data::U8(f.iter().map(|f| f.class).collect()) },
            Column { name: "sent", meaning: "Frames sent to the peer.", data: number(|f| f.sent) },
            Column {
                name: "received",
                meaning: "Frames received from the peer.",
                data: number(|f| f.received),
            },
            Column {
                name: "ignored",
                meaning: "Pauses received that the port did not obey, because the class is not in `obey`.",
                data: number(|f| f.ignored),
            },
            Column {
                name: "storms",
                meaning: "Storms that the PFC watchdog found at the port.",
                data: number(|f| f.storms),
            },
        ]
    }
}
