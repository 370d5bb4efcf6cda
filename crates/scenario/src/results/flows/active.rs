//! Flows that have not arrived whole by the end of a run: their payload and their goodput.

use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::network::node::Node;

use crate::results::unfold::Unfold;

/// Returns the payload of a flow that arrived in order. In a folded run the record is of a simulated source.
pub(super) fn delivered(unfold: &Unfold, cp: &Checkpoint<'_, Node>, s: &Sent, payload: u64) -> u64 {
    let (flow, dst) = unfold.arrival_of(s.flow, s.dst);
    let packets = cp.node(dst).endpoint.as_ref().map_or(0, |endpoint| endpoint.arrived_in_order(flow));
    u64::from(packets).saturating_mul(payload).min(s.size)
}

/// Returns the goodput of a payload over a time in picoseconds, in bits per second, rounded down; none without time.
pub(super) fn goodput(delivered: u64, time_ps: u64) -> Option<u64> {
    let bits = u128::from(delivered) * 8_000_000_000_000;
    bits.checked_div(time_ps.into()).map(|goodput| u64::try_from(goodput).unwrap_or(u64::MAX))
}
