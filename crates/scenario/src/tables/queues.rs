//! Queues of ports.

use super::{Names, Row};
use crate::table::{Column, Data};
use xoff_models::ids::PortId;

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
    const ABOUT: &'static str =
        "One row a queue of a port that held, sent or dropped something; control frames have one of their own, which is left out.";

    fn columns(q: &[Self], names: &Names) -> Vec<Column> {
        let number = |get: fn(&Self) -> u64| Data::U64(q.iter().map(get).collect());
        vec![
            Column { name: "node", meaning: "Whose port it is.", data: names.node(q.iter().map(|q| q.node)) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(q.iter().map(|q| q.port.0).collect()) },
            Column { name: "peer", meaning: "The node at the other end of the link.", data: names.node(q.iter().map(|q| q.peer)) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(q.iter().map(|q| q.number).collect()) },
            Column { name: "class", meaning: "The class of what waits in it.", data: Data::U8(q.iter().map(|q| q.class).collect()) },
            Column { name: "max_bytes", meaning: "Its greatest depth.", data: number(|q| q.max_bytes) },
            Column { name: "packets", meaning: "Packets that left it.", data: number(|q| q.packets) },
            Column { name: "bytes", meaning: "Bytes that left it.", data: number(|q| q.bytes) },
            Column { name: "marked", meaning: "Packets that were marked in it.", data: number(|q| q.marked) },
            Column { name: "dropped", meaning: "Packets that were to wait in it and were dropped.", data: number(|q| q.dropped) },
        ]
    }
}
