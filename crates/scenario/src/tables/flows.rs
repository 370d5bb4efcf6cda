//! Flows, as they end.

use std::collections::HashMap;
use std::sync::Arc;
use xoff_units::{index, number};

use super::{Names, Row};
use crate::table::{Column, Data};

/// A flow that has ended, or that had not when the run did. Times are in picoseconds.
pub struct Flow {
    pub number: u32,
    pub workload: u32,
    pub label: Option<String>,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub start: u64,
    pub fct: Option<u64>,
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
    /// The nodes between its ends, by their place in [`Ways`].
    pub via: u32,
}

/// The distinct ways of flows, as lists of the nodes between their ends.
#[derive(Default)]
pub struct Ways {
    known: HashMap<Vec<u32>, u32>,
    names: Arc<Vec<String>>,
}

impl Ways {
    /// The place of a way; a new one is added.
    pub fn place(&mut self, nodes: Vec<u32>, names: &[String]) -> u32 {
        *self.known.entry(nodes).or_insert_with_key(|nodes| {
            let words: Vec<&str> = nodes.iter().map(|n| names[index(*n)].as_str()).collect();
            Arc::make_mut(&mut self.names).push(words.join(", "));
            number(self.names.len()) - 1
        })
    }
}

fn min_rtt(r: &[Flow]) -> Column {
    Column {
        name: "min_rtt_ps",
        meaning: "The least round trip that its congestion control measured; null without one that does.",
        data: Data::MaybeU64(r.iter().map(|r| r.min_rtt).collect()),
    }
}

fn slow_rtts(r: &[Flow]) -> Column {
    Column {
        name: "slow_rtts",
        meaning: "Round trips in which its congestion control alone held it below a tenth of the slowest link that its path may have, though no answer showed a queue, a mark or a loss.",
        data: Data::U32(r.iter().map(|r| r.slow_rtts).collect()),
    }
}

impl Row for Flow {
    const TABLE: &'static str = "flows";
    const ABOUT: &'static str = "One row a flow, as it ends; those that did not end come last.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "flow",
                meaning: "Its number; flows of a source have numbers without gaps.",
                data: Data::U32(r.iter().map(|r| r.number).collect()),
            },
            Column {
                name: "workload",
                meaning: "The workload it is of.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "label",
                meaning: "Its `id`, if it has one.",
                data: Data::MaybeText(r.iter().map(|r| r.label.clone()).collect()),
            },
            Column { name: "src", meaning: "Where it starts.", data: names.node(r.iter().map(|r| r.src)) },
            Column { name: "dst", meaning: "Where it ends.", data: names.node(r.iter().map(|r| r.dst)) },
            Column { name: "size_bytes", meaning: "Payload.", data: Data::U64(r.iter().map(|r| r.size).collect()) },
            Column { name: "start_ps", meaning: "When it started.", data: Data::U64(r.iter().map(|r| r.start).collect()) },
            Column {
                name: "fct_ps",
                meaning: "From its start to the receiver's last byte; null if that never came, and of connections, whose messages are measured.",
                data: Data::MaybeU64(r.iter().map(|r| r.fct).collect()),
            },
            Column {
                name: "fct_acked_ps",
                meaning: "From its start to the sender's last ACK; null if that never came.",
                data: Data::MaybeU64(r.iter().map(|r| r.acked).collect()),
            },
            Column {
                name: "ideal_fct_ps",
                meaning: "What `fct_ps` would be alone in the network, by the path that it took.",
                data: Data::U64(r.iter().map(|r| r.ideal).collect()),
            },
            Column {
                name: "best_path_ideal_fct_ps",
                meaning: "The same by the fastest of the shortest paths, or by its own if that is faster.",
                data: Data::U64(r.iter().map(|r| r.fastest).collect()),
            },
            Column {
                name: "slowdown",
                meaning: "`fct_ps` over `ideal_fct_ps`.",
                data: Data::MaybeF64(r.iter().map(|r| r.slowdown).collect()),
            },
            Column {
                name: "packets_sent",
                meaning: "Packets sent, again ones included.",
                data: Data::U64(r.iter().map(|r| r.sent).collect()),
            },
            Column { name: "retransmitted", meaning: "Packets sent again.", data: Data::U64(r.iter().map(|r| r.retransmitted).collect()) },
            Column {
                name: "notifications",
                meaning: "What its congestion control was told by the network.",
                data: Data::U32(r.iter().map(|r| r.notifications).collect()),
            },
            Column {
                name: "holds",
                meaning: "How often a mechanism held it at its source.",
                data: Data::U32(r.iter().map(|r| r.holds).collect()),
            },
            Column {
                name: "paused_ps",
                meaning: "For how long it was held so; pauses of the port that it left by are not in it.",
                data: Data::U64(r.iter().map(|r| r.paused).collect()),
            },
            min_rtt(r),
            slow_rtts(r),
            Column {
                name: "via",
                meaning: "The nodes between its ends; empty where each packet chooses its way.",
                data: Data::Name(r.iter().map(|r| r.via).collect(), names.ways.names.clone()),
            },
        ]
    }
}
