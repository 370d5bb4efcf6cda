//! Parts of completion times.

use xoff_models::parts::ids::PortId;
use xoff_models::records::delays::Part;
use xoff_models::records::table::{Column, Data};
use xoff_units::Moment;

use crate::results::names::Names;
use crate::results::rows::Row;

/// A part of the completion time of a flow, with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The flow.
    pub flow: u32,
    /// For a connection: the message, as the number of the operation and the place in the operation.
    pub message: Option<(u32, u32)>,
    /// Link on the path; the link of the source is number 0.
    pub hop: u16,
    /// Sending node of the link.
    pub node: u32,
    /// Sending port of the link.
    pub port: PortId,
    /// Kind, cause and duration.
    pub part: Part,
}

impl Row for Delay {
    const TABLE: &'static str = "delays";
    const ABOUT: &'static str = "One row per part of a completion time; with `probe.delays`. The parts of a flow or message add up to `fct_ps`. The parts of an \
                     undelivered flow or message add up to the time at the source until the end of the run.";

    fn columns(d: &[Self], names: &Names) -> Vec<Column> {
        vec![
            Column { name: "flow", meaning: "Flow.", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column {
                name: "operation",
                meaning: "Number of the operation of the message; null for a flow.",
                data: Data::MaybeU32(d.iter().map(|d| d.message.map(|m| m.0)).collect()),
            },
            Column {
                name: "message",
                meaning: "Number of the message in the operation; null for a flow.",
                data: Data::MaybeU32(d.iter().map(|d| d.message.map(|m| m.1)).collect()),
            },
            Column {
                name: "hop",
                meaning: "Link on the path, from 0 at the source.",
                data: Data::U16(d.iter().map(|d| d.hop).collect()),
            },
            Column {
                name: "node",
                meaning: "Sending node of the link.",
                data: names.node(d.iter().map(|d| d.node)),
            },
            Column {
                name: "port",
                meaning: "Sending port of the link.",
                data: Data::U16(d.iter().map(|d| d.port.0).collect()),
            },
            Column {
                name: "kind",
                meaning: "Kind of the part: `transmission`, `retransmission`, `queueing` (behind other packets), `control`, `paused`, `hol_blocking` (behind the head of an input), `source_held`, `pacing`, `window`, `awaiting_pull` (not yet pulled by the receiver), `awaiting_ack`, `app_limited` (no data to send), `serialization`, `propagation`, `processing`.",
                data: Data::Static(d.iter().map(|d| d.part.kind.name()).collect()),
            },
            Column {
                name: "blocking_flow",
                meaning: "Flow of the packets ahead, for `queueing`; null for other kinds.",
                data: Data::MaybeU32(d.iter().map(|d| d.part.flow).collect()),
            },
            Column {
                name: "cause",
                meaning: "Mechanism that paused the queue or held the flow. `fault` while a link was down, and for `retransmission` and `awaiting_ack` of a flow with losses by faults alone. Null otherwise.",
                data: Data::MaybeStatic(d.iter().map(|d| d.part.cause).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Start of the part, for a pause; null for a sum of parts.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.from.map(Moment::ps)).collect()),
            },
            Column {
                name: "pause_queue",
                meaning: "Queue of the pause in the table `pauses`.",
                data: Data::MaybeU16(d.iter().map(|d| d.part.pause.map(|p| p.0.0)).collect()),
            },
            Column {
                name: "pause_start_ps",
                meaning: "Start of the pause.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.pause.map(|p| p.1.ps())).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "Duration of the part.",
                data: Data::U64(d.iter().map(|d| d.part.time.ps()).collect()),
            },
        ]
    }
}
