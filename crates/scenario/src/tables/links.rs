//! Directions of links.

use super::{Names, Row};
use crate::table::{Column, Data};
use xoff_models::ids::PortId;

/// A direction of a link.
pub struct Link {
    pub node: u32,
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
    const ABOUT: &'static str = "One row a direction of a link.";

    fn columns(l: &[Self], names: &Names) -> Vec<Column> {
        let number = |get: fn(&Self) -> u64| Data::U64(l.iter().map(get).collect());
        vec![
            Column { name: "node", meaning: "The node that sends.", data: names.node(l.iter().map(|l| l.node)) },
            Column { name: "port", meaning: "Its port.", data: Data::U16(l.iter().map(|l| l.port.0).collect()) },
            Column { name: "peer", meaning: "The node that receives.", data: names.node(l.iter().map(|l| l.peer)) },
            Column { name: "rate_bps", meaning: "The link's rate.", data: number(|l| l.rate_bps) },
            Column { name: "delay_ps", meaning: "Its propagation delay.", data: number(|l| l.delay_ps) },
            Column { name: "data_bytes", meaning: "Bytes of data packets, again ones included.", data: number(|l| l.data_bytes) },
            Column { name: "control_bytes", meaning: "Bytes of all other frames.", data: number(|l| l.control_bytes) },
            Column { name: "busy_ps", meaning: "For how long it sent.", data: number(|l| l.busy_ps) },
            Column {
                name: "paused_ps",
                meaning: "For how long some queue of the port was paused, overlaps counted for each.",
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
