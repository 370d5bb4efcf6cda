//! Tokens of serving.

use xoff_applications::serving::TokenRow;
use xoff_models::records::table::{Column, Data};
use xoff_units::Duration;

use crate::results::names::Names;
use crate::results::rows::{Row, times};

impl Row for TokenRow {
    const TABLE: &'static str = "tokens";
    const ABOUT: &'static str =
        "One row per token of a request of a serving workload, in order of time; with `probe.tokens`.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column {
                name: "workload",
                meaning: "Workload.",
                data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
            },
            Column {
                name: "request",
                meaning: "Request.",
                data: Data::U32(r.iter().map(|r| r.request).collect()),
            },
            Column {
                name: "token",
                meaning: "Number of the token in the answer, from 0.",
                data: Data::U64(r.iter().map(|r| r.token).collect()),
            },
            Column {
                name: "step",
                meaning: "Step of the DP rank of decode that made the token; null for a token of prefill.",
                data: Data::MaybeU32(r.iter().map(|r| r.step).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "Time at which the token was shown.",
                data: times(r.iter().map(|r| r.at)),
            },
            Column {
                name: "itl_ps",
                meaning: "Time since the token before (ITL); null for the first token.",
                data: Data::MaybeU64(r.iter().map(|r| r.gap.map(Duration::ps)).collect()),
            },
        ]
    }
}
