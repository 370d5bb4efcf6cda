//! Counts of `ConWeave`.

use crate::parts::count::Count;

pub(super) const MOVED: Count = Count::number("moved", "flows moved to another path");

pub(super) const HELD: Count = Count::number("held_flows", "flows held for the TAIL");

pub(super) const PACKETS: Count = Count::number("held_packets", "packets held");

pub(super) const EARLY: Count = Count::number("flushed_early", "flows released before the TAIL");

pub(super) const UNHELD: Count = Count::number("reorder_queue_exhausted", "packets without a reorder queue");

pub(super) const MESSAGES: Count = Count::number("messages", "frames between switches of racks");
