//! Flows, in order of their ends.

use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

/// A flow at its end, or at the end of the run. Times are in picoseconds.
pub struct Flow {
    pub number: u32,
    pub workload: u32,
    pub label: Option<String>,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub start: u64,
    pub fct: Option<u64>,
    /// Payload that arrived in order; none for a connection.
    pub delivered: Option<u64>,
    /// Bits per second from the start to the end, or to the end of the run.
    pub goodput: Option<u64>,
    pub acked: Option<u64>,
    pub ideal: u64,
    pub fastest: u64,
    pub slowdown: Option<f64>,
    pub sent: u64,
    pub retransmitted: u64,
    pub notifications: u32,
    pub holds: u32,
    pub paused: u64,
    pub min_rtt: Option<u64>,
    pub slow_rtts: u32,
    /// Nodes of the path, as an index into [`Ways`].
    pub via: u32,
}

fn min_rtt(r: &[Flow]) -> Column {
    Column {
        name: "min_rtt_ps",
        meaning: "Smallest round trip measured by the congestion control; null for a congestion control without measurements.",
        data: Data::MaybeU64(r.iter().map(|r| r.min_rtt).collect()),
    }
}

fn slow_rtts(r: &[Flow]) -> Column {
    Column {
        name: "slow_rtts",
        meaning: "Slow round trips: the congestion control alone held the flow below a tenth of the slowest link of a possible path, and no acknowledgement showed a queue, a mark or a loss.",
        data: Data::U32(r.iter().map(|r| r.slow_rtts).collect()),
    }
}

fn fct(r: &[Flow]) -> Column {
    Column {
        name: "fct_ps",
        meaning: "Time from the start to the last byte at the receiver. Null for an unfinished flow, and for a connection, whose messages are measured.",
        data: Data::MaybeU64(r.iter().map(|r| r.fct).collect()),
    }
}

fn fct_acked(r: &[Flow]) -> Column {
    Column {
        name: "fct_acked_ps",
        meaning: "Time from the start to the last ACK at the sender; null without the last ACK.",
        data: Data::MaybeU64(r.iter().map(|r| r.acked).collect()),
    }
}

fn delivered(r: &[Flow]) -> Column {
    Column {
        name: "delivered_bytes",
        meaning: "Payload that arrived in order by the end of the run. Null for a connection, whose messages are measured.",
        data: Data::MaybeU64(r.iter().map(|r| r.delivered).collect()),
    }
}

fn goodput(r: &[Flow]) -> Column {
    Column {
        name: "goodput_bps",
        meaning: "`delivered_bytes` in bits, divided by `fct_ps` and rounded down; for an unfinished flow, by the time from the start to the end of the run.",
        data: Data::MaybeU64(r.iter().map(|r| r.goodput).collect()),
    }
}

fn ideal_fct(r: &[Flow]) -> Column {
    Column {
        name: "ideal_fct_ps",
        meaning: "`fct_ps` of the flow alone in the network, on the path taken.",
        data: Data::U64(r.iter().map(|r| r.ideal).collect()),
    }
}

fn best_path_ideal_fct(r: &[Flow]) -> Column {
    Column {
        name: "best_path_ideal_fct_ps",
        meaning: "`fct_ps` of the flow alone in the network, on the fastest of the shortest paths, or on the path taken if faster.",
        data: Data::U64(r.iter().map(|r| r.fastest).collect()),
    }
}

impl Row for Flow {
    const TABLE: &'static str = "flows";
    const ABOUT: &'static str = "One row per flow, in order of the ends; unfinished flows come last.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "flow",
                meaning: "Number of the flow. Flows of a source have consecutive numbers.",
                data: Data::U32(r.iter().map(|r| r.number).collect()),
            },
            Column {
                name: "workload",
                meaning: "Workload of the flow.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "label",
                meaning: "`id` of the flow; null without an `id`.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column { name: "src", meaning: "Source of the flow.", data: names.node(r.iter().map(|r| r.src)) },
            Column {
                name: "dst",
                meaning: "Destination of the flow.",
                data: names.node(r.iter().map(|r| r.dst)),
            },
            Column {
                name: "size_bytes",
                meaning: "Payload.",
                data: Data::U64(r.iter().map(|r| r.size).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Start of the flow.",
                data: Data::U64(r.iter().map(|r| r.start).collect()),
            },
            fct(r),
            fct_acked(r),
            delivered(r),
            goodput(r),
            ideal_fct(r),
            best_path_ideal_fct(r),
            Column {
                name: "slowdown",
                meaning: "`fct_ps` divided by `ideal_fct_ps`.",
                data: Data::MaybeF64(r.iter().map(|r| r.slowdown).collect()),
            },
            Column {
                name: "packets_sent",
                meaning: "Packets sent, retransmissions included.",
                data: Data::U64(r.iter().map(|r| r.sent).collect()),
            },
            Column {
                name: "retransmitted",
                meaning: "Packets retransmitted.",
                data: Data::U64(r.iter().map(|r| r.retransmitted).collect()),
            },
            Column {
                name: "notifications",
                meaning: "Notifications to the congestion control.",
                data: Data::U32(r.iter().map(|r| r.notifications).collect()),
            },
            Column {
                name: "holds",
                meaning: "Number of holds at the source by mechanisms.",
                data: Data::U32(r.iter().map(|r| r.holds).collect()),
            },
            Column {
                name: "paused_ps",
                meaning: "Time held at the source; pauses of the egress port of the source are not included.",
                data: Data::U64(r.iter().map(|r| r.paused).collect()),
            },
            min_rtt(r),
            slow_rtts(r),
            Column {
                name: "via",
                meaning: "Nodes between source and destination; empty for a path chosen per packet.",
                data: Data::Name(r.iter().map(|r| r.via).collect(), names.ways.names.clone()),
            },
        ]
    }
}
