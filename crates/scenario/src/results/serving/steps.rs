//! Steps of serving: what the ranks of a DP rank computed together.

use xoff_applications::serving::{Label, StepRow};
use xoff_models::records::table::{Column, Data};

use crate::results::names::Names;
use crate::results::rows::Row;

impl Row for StepRow {
    const TABLE: &'static str = "steps";
    const ABOUT: &'static str = "One row per step of a DP rank of a serving workload, in order of the ends. The time is that of the slowest rank: `compute`, `exposed` and `bubble` add up to the time from start to end.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        let numbers = |f: &dyn Fn(&Self) -> u64| Data::U64(r.iter().map(f).collect());
        let mut columns = vec![
            Column {
                name: "workload",
                meaning: "Workload.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "phase",
                meaning: "Pool: `prefill`, `decode` or `aggregated`.",
                data: Data::Static(r.iter().map(|r| r.pool).collect()),
            },
            Column {
                name: "instance",
                meaning: "Instance of the pool.",
                data: Data::U32(r.iter().map(|r| r.instance).collect()),
            },
            Column {
                name: "rank",
                meaning: "DP rank of the instance.",
                data: Data::U32(r.iter().map(|r| r.dp).collect()),
            },
            Column {
                name: "step",
                meaning: "Number of the step of the DP rank, from 0.",
                data: Data::U32(r.iter().map(|r| r.step).collect()),
            },
            Column { name: "start_ps", meaning: "Start.", data: numbers(&|r| r.report.start.ps()) },
            Column {
                name: "end_ps",
                meaning: "End at the slowest rank.",
                data: numbers(&|r| r.report.end.ps()),
            },
            Column { name: "tokens", meaning: "New tokens.", data: numbers(&|r| r.counts[0]) },
            Column { name: "sequences", meaning: "Sequences.", data: numbers(&|r| r.counts[1]) },
            Column {
                name: "context_tokens",
                meaning: "Tokens in the context of the sequences, with the new tokens.",
                data: numbers(&|r| r.counts[2]),
            },
            Column {
                name: "compute_ps",
                meaning: "Time in which the rank computed.",
                data: numbers(&|r| r.report.compute.ps()),
            },
            Column {
                name: "exposed_ps",
                meaning: "Time in which messages were on their way to the rank, which computed nothing.",
                data: numbers(&|r| r.report.exposed().ps()),
            },
        ];
        let meanings = [
            ("exposed_tp_ps", "Part of `exposed_ps` in collectives of tensor-parallel ranks."),
            ("exposed_dispatch_ps", "Part of `exposed_ps` in dispatches."),
            ("exposed_combine_ps", "Part of `exposed_ps` in combines."),
        ];
        for ((label, _), (name, meaning)) in Label::ALL.into_iter().zip(meanings) {
            let data = numbers(&|r| r.report.exposed[label as usize].ps());
            columns.push(Column { name, meaning, data });
        }
        columns.push(Column {
            name: "bubble_ps",
            meaning: "Time in which the rank waited for other ranks.",
            data: numbers(&|r| r.report.bubble.ps()),
        });
        columns.push(Column {
            name: "slowest_rank",
            meaning: "Slowest rank, among all ranks of the workload.",
            data: Data::U32(r.iter().map(|r| r.slowest).collect()),
        });
        columns
    }
}
