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
    /// Of a job's: which it is.
    pub job: Option<Of>,
}

/// Which collective of a job it is.
#[derive(Debug, Clone)]
pub struct Of {
    pub name: String,
    pub group: String,
    pub label: String,
    pub iteration: u16,
    /// When the last of its ranks began it.
    pub joined: u64,
}

impl Measured {
    pub const fn new(of: Together) -> Self {
        Self { of, start: None, end: 0, arrived: 0, job: None }
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

    /// The same from when the last rank had begun it: what came before was waiting.
    pub fn moving(&self) -> Option<u64> {
        self.time().map(|time| self.job.as_ref().map_or(time, |of| self.end - of.joined))
    }

    /// Bits of its data by that time.
    fn rate(&self) -> Option<f64> {
        self.moving().map(|time| self.of.bytes as f64 * 8e12 / time.max(1) as f64)
    }

    /// Its row's numbers.
    pub fn summary(&self) -> CollectiveSummary {
        let rate = self.rate();
        CollectiveSummary { time_ps: self.time(), algorithm_bps: rate, bus_bps: rate.map(|rate| rate * self.of.bus) }
    }
}

impl Row for Measured {
    const TABLE: &'static str = "collectives";
    const ABOUT: &'static str =
        "One row a collective operation: those of workloads of their own, in their order, then those of each job as they ended.";

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
                name: "name",
                meaning: "Of a job: what it is called.",
                data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.name.clone())).collect()),
            },
            Column {
                name: "group",
                meaning: "Of a job: the group whose it is.",
                data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.group.clone())).collect()),
            },
            Column {
                name: "label",
                meaning: "Of a job: what its time is counted as, such as TP.",
                data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.label.clone())).collect()),
            },
            Column {
                name: "iteration",
                meaning: "Of a job: the iteration.",
                data: Data::MaybeU16(c.iter().map(|c| c.job.as_ref().map(|of| of.iteration)).collect()),
            },
            Column {
                name: "last_rank_arrived_ps",
                meaning: "Of a job: when the last of its ranks began it.",
                data: Data::MaybeU64(c.iter().map(|c| c.job.as_ref().map(|of| of.joined)).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "When its first message started, or the first rank of a job began it; null if none did.",
                data: Data::MaybeU64(c.iter().map(|c| c.start).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "From then until its last message had arrived, and left; null if that never came.",
                data: Data::MaybeU64(c.iter().map(Measured::time).collect()),
            },
            Column {
                name: "algorithm_bps",
                meaning: "Algorithm bandwidth: the data of a rank by `time_ps`, of a job by the time since `last_rank_arrived_ps`.",
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
