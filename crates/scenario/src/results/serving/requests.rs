//! Requests of serving, with the parts of their times.

use xoff_applications::serving::{RequestRow, part};
use xoff_models::records::table::{Column, Data};
use xoff_units::Duration;

use crate::results::names::Names;
use crate::results::rows::Row;

/// Columns of the parts of the time of a request.
const PARTS: [(usize, &str, &str); 11] = [
    (part::RESERVE_QUEUE, "reserve_queue_ps", "The request waited for memory at decode."),
    (part::PREFILL_QUEUE, "prefill_queue_ps", "The request waited for steps of prefill."),
    (part::PREFILL_COMPUTE, "prefill_compute_ps", "Prefill computed."),
    (part::PREFILL_EXPOSED, "prefill_exposed_ps", "Messages of prefill were on their way."),
    (part::PREFILL_BUBBLE, "prefill_bubble_ps", "Prefill waited for other ranks."),
    (part::KV_QUEUE, "kv_queue_ps", "The KV cache waited for decode to ask; only with `pull`."),
    (part::KV_EXPOSED, "kv_exposed_ps", "The KV cache was on its way after the end of prefill."),
    (part::DECODE_QUEUE, "decode_queue_ps", "The request waited for steps of decode."),
    (part::DECODE_COMPUTE, "decode_compute_ps", "Decode computed."),
    (part::DECODE_EXPOSED, "decode_exposed_ps", "Messages of decode were on their way."),
    (part::DECODE_BUBBLE, "decode_bubble_ps", "Decode waited for other ranks."),
];

fn times(times: impl Iterator<Item = Option<Duration>>) -> Data {
    Data::MaybeU64(times.map(|time| time.map(Duration::ps)).collect())
}

fn places(places: impl Iterator<Item = Option<u32>>) -> Data {
    Data::MaybeU32(places.collect())
}

/// Arrival, tokens and places.
fn what(r: &[RequestRow], names: &Names) -> Vec<Column> {
    let numbers = |f: &dyn Fn(&RequestRow) -> u64| Data::U64(r.iter().map(f).collect());
    vec![
        Column {
            name: "workload",
            meaning: "Workload.",
            data: Data::Name(r.iter().map(|r| r.workload).collect(), names.workloads.clone()),
        },
        Column {
            name: "request",
            meaning: "Number of the request in the order of arrivals, from 0.",
            data: Data::U32(r.iter().map(|r| r.request).collect()),
        },
        Column { name: "arrival_ps", meaning: "Arrival.", data: numbers(&|r| r.arrival.ps()) },
        Column { name: "input_tokens", meaning: "Tokens of the prompt.", data: numbers(&|r| r.tokens[0]) },
        Column {
            name: "cached_tokens",
            meaning: "Tokens of the prompt that prefill had not to compute.",
            data: numbers(&|r| r.tokens[1]),
        },
        Column { name: "output_tokens", meaning: "Tokens of the answer.", data: numbers(&|r| r.tokens[2]) },
        Column {
            name: "prefill_instance",
            meaning: "Instance of prefill.",
            data: Data::U32(r.iter().map(|r| r.prefill.0).collect()),
        },
        Column {
            name: "prefill_rank",
            meaning: "DP rank of the instance of prefill.",
            data: Data::U32(r.iter().map(|r| r.prefill.1).collect()),
        },
        Column {
            name: "decode_instance",
            meaning: "Instance of decode; null before the choice.",
            data: places(r.iter().map(|r| r.decode.map(|place| place.0))),
        },
        Column {
            name: "decode_rank",
            meaning: "DP rank of the instance of decode; null before the choice.",
            data: places(r.iter().map(|r| r.decode.map(|place| place.1))),
        },
    ]
}

/// Times and service levels.
fn times_of(r: &[RequestRow]) -> Vec<Column> {
    let bytes = Data::U64(r.iter().map(|r| r.kv_bytes).collect());
    vec![
        Column { name: "kv_bytes", meaning: "Bytes of the transferred KV cache.", data: bytes },
        Column {
            name: "kv_transfer_ps",
            meaning: "From the posting of the first message with the KV cache to the end of the last message; null without a transfer.",
            data: times(r.iter().map(|r| r.kv_transfer)),
        },
        Column {
            name: "ttft_ps",
            meaning: "Time to the first token (TTFT); null before the first token.",
            data: times(r.iter().map(|r| r.ttft)),
        },
        Column {
            name: "tpot_ps",
            meaning: "Mean time of a token after the first token (TPOT); null with one token.",
            data: times(r.iter().map(|r| r.itl.map(|itl| itl.0))),
        },
        Column {
            name: "itl_max_ps",
            meaning: "Longest time between two tokens (ITL); null with one token.",
            data: times(r.iter().map(|r| r.itl.map(|itl| itl.1))),
        },
        Column {
            name: "e2e_ps",
            meaning: "Time to the last token; null for a request that had not ended.",
            data: times(r.iter().map(|r| r.e2e)),
        },
        Column {
            name: "slo_met",
            meaning: "True if all given service levels were met; null without service levels, or for a request that had not ended.",
            data: Data::MaybeBool(r.iter().map(|r| r.meets).collect()),
        },
    ]
}

impl Row for RequestRow {
    const TABLE: &'static str = "requests";
    const ABOUT: &'static str = "One row per request of a serving workload, in order of the ends; requests that had not ended follow, with null ends. The parts of the time of an ended request add up to `e2e_ps`.";

    fn columns(r: &[Self], names: &Names) -> Vec<Column> {
        let numbers = |f: &dyn Fn(&Self) -> u64| Data::U64(r.iter().map(f).collect());
        let mut columns = what(r, names);
        for (place, name, meaning) in PARTS {
            columns.push(Column { name, meaning, data: numbers(&|r| r.parts[place].ps()) });
        }
        columns.extend(times_of(r));
        columns
    }
}
