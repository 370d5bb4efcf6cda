//! Queues of ports.

use xoff_models::parts::ids::PortId;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

/// A queue of a port.
pub struct Queue {
    pub node: u32,
    pub port: PortId,
    pub peer: u32,
    pub number: u16,
    pub class: u8,
    pub max_bytes: u64,
    pub packets: u64,
    pub bytes: u64,
    pub marked: u64,
    pub dropped: u64,
}

impl Row for Queue {
    const TABLE: &'static str = "queues";
    const ABOUT: &'static str = "One row per queue of a port that held, sent or dropped a packet. The queue of control frames is left out.";

    fn columns(q: &[Self], names: &Names) -> Vec<Column> {
        let number = |get: fn(&Self) -> u64| Data::U64(q.iter().map(get).collect());
        vec![
            Column { name: "node", meaning: "Node of the port.", data: names.node(q.iter().map(|q| q.node)) },
            Column {
                name: "port",
                meaning: "Number of the port at the node.",
                data: Data::U16(q.iter().map(|q| q.port.0).collect()),
            },
            Column {
                name: "peer",
                meaning: "Node at the other end of the link.",
                data: names.node(q.iter().map(|q| q.peer)),
            },
            Column {
                name: "queue",
                meaning: "Number of the queue at the port.",
                data: Data::U16(q.iter().map(|q| q.number).collect()),
            },
            Column {
                name: "class",
                meaning: "Class of the packets in the queue.",
                data: Data::U8(q.iter().map(|q| q.class).collect()),
            },
            Column {
                name: "max_bytes",
                meaning: "High-water mark of the queue.",
                data: number(|q| q.max_bytes),
            },
            Column { name: "packets", meaning: "Packets sent from the queue.", data: number(|q| q.packets) },
            Column { name: "bytes", meaning: "Bytes sent from the queue.", data: number(|q| q.bytes) },
            Column {
                name: "marked",
                meaning: "Packets marked in the queue that no queue before had marked.",
                data: number(|q| q.marked),
            },
            Column { name: "dropped", meaning: "Packets dropped at the queue.", data: number(|q| q.dropped) },
        ]
    }
}
