//! Together operations: their messages, measured together.

use xoff_models::workload::Together;

use super::{Names, Row};
use crate::summary::CollectiveSummary;
use crate::table::{Column, Data};

/// A collective operation, with what is known of its messages.
#[derive(Debug, Clone)]
pub struct Measured {
    pub of: Together,
    /// When the first of them started.
    pub start: Option<u64>,
    /// When the last of those that arrived did.
    pub end: u64,
    /// How many arrived.
    pub arrived: u64,
}

impl Measured {
    pub const fn new(of: Together) -> Self {
        Self { of, start: None, end: 0, arrived: 0 }
    }

    /// Adds a message: when it started and when it arrived, if it did.
    pub fn add(&mut self, start: u64, arrived: Option<u64>) {
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
        self.end = self.end.max(arrived.unwrap_or(0));
        self.arrived += u64::from(arrived.is_some());
    }

    /// From its first message's start to its last one's arrival, when all have arrived.
    fn time(&self) -> Option<u64> {
        self.start.filter(|_| self.arrived == self.of.messages).map(|start| self.end - start)
    }

    /// Bits of its data by time.
    fn rate(&self) -> Option<f64> {
        self.time().map(|time| self.of.bytes as f64 * 8e12 / time as f64)
    }

    /// Its row's numbers.
    pub fn summary(&self) -> CollectiveSummary {
        let rate = self.rate();
        CollectiveSummary { time_ps: self.time(), algorithm_bps: rate, bus_bps: rate.map(|rate| rate * self.of.bus) }
    }
}

impl Row for Measured {
    const TABLE: &'static str = "collectives";
    const ABOUT: &'static str = "One row a collective operation, in the order of workloads.";

    fn columns(c: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "The workload that it is.",
                data: Data::Name(c.iter().map(|c| c.of.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "operation",
                meaning: "What the ranks have in the end.",
                data: Data::Static(c.iter().map(|c| c.of.operation).collect()),
            },
            Column { name: "algorithm", meaning: "How they come to it.", data: Data::Static(c.iter().map(|c| c.of.algorithm).collect()) },
            Column { name: "ranks", meaning: "How many there are.", data: Data::U32(c.iter().map(|c| c.of.ranks).collect()) },
            Column { name: "size_bytes", meaning: "The data of a rank.", data: Data::U64(c.iter().map(|c| c.of.bytes).collect()) },
            Column {
                name: "start_ps",
                meaning: "When its first message started; null if none did.",
                data: Data::MaybeU64(c.iter().map(|c| c.start).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "From then until its last message had arrived; null if that never came.",
                data: Data::MaybeU64(c.iter().map(Measured::time).collect()),
            },
            Column {
                name: "algorithm_bps",
                meaning: "Algorithm bandwidth: the data of a rank by `time_ps`.",
                data: Data::MaybeF64(c.iter().map(Measured::rate).collect()),
            },
            Column {
                name: "bus_bps",
                meaning: "Bus bandwidth: the same by what each link has to carry of it, 2 (n − 1) / n for an all-reduce and (n − 1) / n else.",
                data: Data::MaybeF64(c.iter().map(|c| c.summary().bus_bps).collect()),
            },
        ]
    }
}
