//! What completion times are made of.

use xoff_units::Moment;

pub use crate::delays::Row as Delay;

use super::{Names, Row};
use crate::table::{Column, Data};

impl Row for Delay {
    const TABLE: &'static str = "delays";
    const ABOUT: &'static str = "One row a part of a completion time, with `probe.delays`. The parts of a flow, or of a message, add up to its `fct_ps`; those of one \
                     that was not delivered to its time at its source until the run ended.";

    fn columns(d: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column { name: "flow", meaning: "The flow.", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column {
                name: "operation",
                meaning: "Of a connection: the number of the operation whose message it is; null for a flow.",
                data: Data::MaybeU32(d.iter().map(|d| d.message.map(|m| m.0)).collect()),
            },
            Column {
                name: "message",
                meaning: "The number of that message in the operation.",
                data: Data::MaybeU32(d.iter().map(|d| d.message.map(|m| m.1)).collect()),
            },
            Column {
                name: "hop",
                meaning: "Which link of its way; that of its source is number 0.",
                data: Data::U16(d.iter().map(|d| d.hop).collect()),
            },
            Column { name: "node", meaning: "The node that sends there.", data: names.node(d.iter().map(|d| d.node)) },
            Column { name: "port", meaning: "Its port.", data: Data::U16(d.iter().map(|d| d.port.0).collect()) },
            Column {
                name: "kind",
                meaning: "The cause of this part: `transmission`, `retransmission`, `queueing` (packets that go first), `control`, `paused`, `hol_blocking` (behind the head of an input), `source_held`, `pacing`, `window`, `awaiting_pull` (the receiver had not pulled it), `awaiting_ack`, `app_limited` (no data to send), `serialization`, `propagation`, `processing`.",
                data: Data::Static(d.iter().map(|d| d.part.kind.name()).collect()),
            },
            Column {
                name: "blocking_flow",
                meaning: "The flow whose packets went first; null for every other kind.",
                data: Data::MaybeU32(d.iter().map(|d| d.part.flow).collect()),
            },
            Column {
                name: "cause",
                meaning: "The mechanism that paused the queue or held the flow; `fault` where a link was down, and for `retransmission` and `awaiting_ack` where faults took every packet and acknowledgement that the flow lost; null otherwise.",
                data: Data::MaybeStatic(d.iter().map(|d| d.part.cause).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "When it began, of a pause; null where pieces are added up.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.from.map(Moment::ps)).collect()),
            },
            Column {
                name: "pause_queue",
                meaning: "The queue of that pause in the table `pauses`.",
                data: Data::MaybeU16(d.iter().map(|d| d.part.pause.map(|p| p.0.0)).collect()),
            },
            Column {
                name: "pause_start_ps",
                meaning: "When that pause began.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.pause.map(|p| p.1.ps())).collect()),
            },
            Column { name: "time_ps", meaning: "How long it took.", data: Data::U64(d.iter().map(|d| d.part.time.ps()).collect()) },
        ]
    }
}
