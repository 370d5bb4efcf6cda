//! Directions of links.

use xoff_models::parts::ids::PortId;
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

/// A direction of a link.
pub struct Link {
    pub node: u32,
    pub kind: &'static str,
    pub port: PortId,
    pub peer: u32,
    pub rate_bps: u64,
    pub delay_ps: u64,
    pub data_bytes: u64,
    pub control_bytes: u64,
    pub busy_ps: u64,
    pub paused_ps: u64,
    pub data_packets: u64,
    /// Of the time until the last link fell silent, or the run was cut short.
    pub utilisation: f64,
}

impl Row for Link {
    const TABLE: &'static str = "links";
    const ABOUT: &'static str = "One row per direction of a link.";

    fn columns(l: &[Self], names: &Names) -> Vec<Column> {
        let number = |get: fn(&Self) -> u64| Data::U64(l.iter().map(get).collect());
        vec![
            Column { name: "node", meaning: "Sending node.", data: names.node(l.iter().map(|l| l.node)) },
            Column {
                name: "kind",
                meaning: "Kind of the sending node: `host`, `switch`, or `relay` for a host that forwards.",
                data: Data::Static(l.iter().map(|l| l.kind).collect()),
            },
            Column {
                name: "port",
                meaning: "Port of the sending node.",
                data: Data::U16(l.iter().map(|l| l.port.0).collect()),
            },
            Column { name: "peer", meaning: "Receiving node.", data: names.node(l.iter().map(|l| l.peer)) },
            Column { name: "rate_bps", meaning: "Rate of the link.", data: number(|l| l.rate_bps) },
            Column {
                name: "delay_ps",
                meaning: "Propagation delay of the link.",
                data: number(|l| l.delay_ps),
            },
            Column {
                name: "data_bytes",
                meaning: "Bytes of data packets, retransmissions included.",
                data: number(|l| l.data_bytes),
            },
            Column {
                name: "control_bytes",
                meaning: "Bytes of other frames.",
                data: number(|l| l.control_bytes),
            },
            Column { name: "busy_ps", meaning: "Time in transmission.", data: number(|l| l.busy_ps) },
            Column {
                name: "paused_ps",
                meaning: "Sum of the paused times of the queues of the port; overlaps count once per queue.",
                data: number(|l| l.paused_ps),
            },
            Column { name: "data_packets", meaning: "Data packets.", data: number(|l| l.data_packets) },
            Column {
                name: "utilisation",
                meaning: "`busy_ps` as a share of the run, 0 to 1.",
                data: Data::F64(l.iter().map(|l| l.utilisation).collect()),
            },
        ]
    }
}
