//! The table of collectives, each measured over all messages.

use xoff_models::records::table::{Column, Data};
use xoff_models::traffic::workload::Together;

use crate::results::names::Names;
use crate::results::rows::Row;
use crate::summary::CollectiveSummary;

/// A collective, with the progress of its messages.
#[derive(Debug, Clone)]
pub struct Measured {
    pub of: Together,
    /// Start of the first message.
    pub start: Option<u64>,
    /// Arrival of the last arrived message, or the end at the last rank.
    pub end: u64,
    /// Number of arrived messages, or of ranks that have ended.
    pub arrived: u64,
    /// For a collective of a job: its place in the job.
    pub job: Option<Of>,
}

/// Place of a collective in a job.
#[derive(Debug, Clone)]
pub struct Of {
    pub name: String,
    pub group: String,
    pub label: String,
    pub iteration: u16,
    /// Time at which the last rank began.
    pub joined: u64,
}

impl Measured {
    pub const fn new(of: Together) -> Self {
        Self { of, start: None, end: 0, arrived: 0, job: None }
    }

    /// Adds a message with its start and its arrival, if any.
    pub fn add(&mut self, start: u64, arrived: Option<u64>) {
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
        self.end = self.end.max(arrived.unwrap_or(0));
        self.arrived += u64::from(arrived.is_some());
    }

    /// Returns the time from the first start to the last arrival, once all messages have arrived.
    fn time(&self) -> Option<u64> {
        self.start.filter(|_| self.arrived == self.of.over.count()).map(|start| self.end - start)
    }

    /// Returns the time from the beginning of the last rank to the last arrival; for a workload without
    /// ranks, the whole time.
    pub fn moving(&self) -> Option<u64> {
        self.time().map(|time| self.job.as_ref().map_or(time, |of| self.end - of.joined))
    }

    /// Returns the algorithm bandwidth in bit/s.
    fn rate(&self) -> Option<f64> {
        self.moving().map(|time| self.of.bytes as f64 * 8e12 / time.max(1) as f64)
    }

    /// Returns the values of the row.
    pub fn summary(&self) -> CollectiveSummary {
        let rate = self.rate();
        CollectiveSummary {
            time_ps: self.time(),
            algorithm_bps: rate,
            bus_bps: rate.map(|rate| rate * self.of.bus),
            algorithm: self.of.algorithm,
            protocol: self.of.protocol,
            channels: self.of.channels,
            predicted_ps: self.of.predicted.map(xoff_units::Duration::ps),
        }
    }
}

/// Returns the columns of a collective of a job: its place in the job.
fn of_job(c: &[Measured]) -> Vec<Column> {
    vec![
        Column {
            name: "name",
            meaning: "Name in the program; only for a job.",
            data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.name.clone())).collect()),
        },
        Column {
            name: "group",
            meaning: "Group of ranks; only for a job.",
            data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.group.clone())).collect()),
        },
        Column {
            name: "label",
            meaning: "Label of exposed time, such as TP; only for a job.",
            data: Data::MaybeText(c.iter().map(|c| c.job.as_ref().map(|of| of.label.clone())).collect()),
        },
        Column {
            name: "iteration",
            meaning: "Iteration; only for a job.",
            data: Data::MaybeU16(c.iter().map(|c| c.job.as_ref().map(|of| of.iteration)).collect()),
        },
    ]
}

impl Row for Measured {
    const TABLE: &'static str = "collectives";
    const ABOUT: &'static str = "One row per collective operation: workloads with a collective first, in their order, then collectives of each job, as they ended.";

    fn columns(c: &[Self], names: &Names) -> Vec<Column> {
        let mut columns = vec![
            Column {
                name: "workload",
                meaning: "The workload.",
                data: Data::Name(c.iter().map(|c| c.of.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "operation",
                meaning: "The operation, such as all-reduce.",
                data: Data::Static(c.iter().map(|c| c.of.operation).collect()),
            },
            Column {
                name: "algorithm",
                meaning: "The algorithm.",
                data: Data::Static(c.iter().map(|c| c.of.algorithm).collect()),
            },
            Column {
                name: "protocol",
                meaning: "The protocol of NCCL; only with NCCL.",
                data: Data::MaybeText(c.iter().map(|c| c.of.protocol.map(str::to_string)).collect()),
            },
            Column {
                name: "channels",
                meaning: "Channels that carry data.",
                data: Data::U32(c.iter().map(|c| c.of.channels).collect()),
            },
            Column {
                name: "ranks",
                meaning: "Number of ranks.",
                data: Data::U32(c.iter().map(|c| c.of.ranks).collect()),
            },
            Column {
                name: "size_bytes",
                meaning: "Data of a rank.",
                data: Data::U64(c.iter().map(|c| c.of.bytes).collect()),
            },
        ];
        columns.extend(of_job(c));
        columns.extend([
            Column {
                name: "last_rank_arrived_ps",
                meaning: "Time at which the last rank began the collective; only for a job.",
                data: Data::MaybeU64(c.iter().map(|c| c.job.as_ref().map(|of| of.joined)).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Start of the first message, or, for a job or with NCCL, the time at which the first rank began the collective; null before a start.",
                data: Data::MaybeU64(c.iter().map(|c| c.start).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "Time from `start_ps` to the arrival of the last message, with NCCL to the end at the last rank; null for an incomplete collective.",
                data: Data::MaybeU64(c.iter().map(Measured::time).collect()),
            },
            Column {
                name: "predicted_ps",
                meaning: "Time that NCCL's own model predicts for the collective, by which NCCL chooses; only with NCCL, and not for messages between pairs.",
                data: Data::MaybeU64(
                    c.iter().map(|c| c.of.predicted.map(xoff_units::Duration::ps)).collect(),
                ),
            },
            Column {
                name: "algorithm_bps",
                meaning: "Algorithm bandwidth: the data of a rank divided by `time_ps`; for a job, divided by the time since `last_rank_arrived_ps`.",
                data: Data::MaybeF64(c.iter().map(Measured::rate).collect()),
            },
            Column {
                name: "bus_bps",
                meaning: "Bus bandwidth: the algorithm bandwidth times the load of each link, 2 (n − 1) / n for all-reduce, (n − 1) / n for reduce-scatter, all-gather and all-to-all, and 1 otherwise.",
                data: Data::MaybeF64(c.iter().map(|c| c.summary().bus_bps).collect()),
            },
        ]);
        columns
    }
}
