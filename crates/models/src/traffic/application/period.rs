//! The kinds of periods that fast-forward looks for, the shortest first.

use xoff_engine::state::PeriodKind;

/// Packets: no message ends in the period.
pub const PACKETS: PeriodKind = PeriodKind::Within(0);
/// Steps of a collective: messages end in the period. The end of a message counts relative to the packets of the flow.
pub const STEPS: PeriodKind = PeriodKind::Within(1);
/// Layers: operations end in the period, with all their messages.
pub const LAYERS: PeriodKind = PeriodKind::Across(0);
/// Iterations: like layers, but longer. A period may contain repeated layers.
pub const ITERATIONS: PeriodKind = PeriodKind::Across(1);
/// Busy periods: operations count relative to the present operation of each program.
pub const BUSY: PeriodKind = PeriodKind::Busy;

/// All kinds, in order.
pub const KINDS: [PeriodKind; 5] = [PACKETS, STEPS, LAYERS, ITERATIONS, BUSY];

/// Returns the place of a kind among [`KINDS`].
pub fn place(kind: PeriodKind) -> usize {
    KINDS.iter().position(|one| *one == kind).unwrap_or_default()
}
