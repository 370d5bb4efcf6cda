//! High-water marks of the counts of nodes.

use std::collections::BTreeMap;

use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::records::high_water::{Kind, Mark};
use xoff_models::records::table::{Column, Data};
use xoff_units::index;

use super::contract::{Collect, Shared};
use super::names::Names;
use super::rows::{Row, row_set};
use crate::runner::Runner;
use crate::summary::{self, Summary};

row_set! { high_water: Count }

/// Collects high-water marks.
pub struct HighWater {
    rows: Rows,
    highest: BTreeMap<&'static str, summary::HighWater>,
}

impl Collect for HighWater {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), highest: BTreeMap::new() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let unfold = &shared.unfold;
        let of = |view: &View| {
            let node = view.node;
            unfold.marks(view, &cp.node(view.of).core).into_iter().map(move |mark| Count { node, mark })
        };
        let marks: Vec<Count> = unfold.views().iter().flat_map(of).collect();
        self.highest =
            Kind::ALL.iter().map(|kind| (kind.name(), highest(*kind, &marks, &shared.names))).collect();
        // Depths of queues are in the table `queues`.
        self.rows.high_water = marks.into_iter().filter(|m| m.mark.kind != Kind::Queue).collect();
    }

    fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
        summary.high_water = std::mem::take(&mut self.highest);
    }
}

/// A count of a node.
pub struct Count {
    pub node: u32,
    pub mark: Mark,
}

impl Row for Count {
    const TABLE: &'static str = "high_water";
    const ABOUT: &'static str = "One row per count of a node with a threshold and a high-water mark above zero. For queues see `queues.max_bytes`.";

    fn columns(m: &[Self], names: &Names) -> Vec<Column> {
        let maybe = |get: fn(&Mark) -> Option<u64>| Data::MaybeU64(m.iter().map(|m| get(&m.mark)).collect());
        vec![
            Column {
                name: "node",
                meaning: "Node of the count.",
                data: names.node(m.iter().map(|m| m.node)),
            },
            Column {
                name: "kind",
                meaning: "`ingress`: waiting bytes that entered by a port; `headroom`: the ingress bytes above XOFF; `pool`: the shared part of the buffer.",
                data: Data::Static(m.iter().map(|m| m.mark.kind.name()).collect()),
            },
            Column {
                name: "port",
                meaning: "Ingress port; null for a pool.",
                data: maybe(|m| m.port.map(|port| u64::from(port.0))),
            },
            Column {
                name: "class",
                meaning: "Class; null for a pool.",
                data: maybe(|m| m.class.map(u64::from)),
            },
            Column {
                name: "bytes",
                meaning: "High-water mark.",
                data: Data::U64(m.iter().map(|m| m.mark.bytes).collect()),
            },
            Column {
                name: "threshold_bytes",
                meaning: "XOFF for `ingress`, the size for `headroom` and `pool`; null without a threshold, and for a dynamic threshold.",
                data: maybe(|m| m.threshold),
            },
        ]
    }
}

/// Returns the largest mark of a kind, the first of equal marks, with its place as text.
fn highest(kind: Kind, all: &[Count], names: &Names) -> summary::HighWater {
    let of_kind = all.iter().filter(|m| m.mark.kind == kind);
    let Some(Count { node, mark }) =
        of_kind.reduce(|best, m| if m.mark.bytes > best.mark.bytes { m } else { best })
    else {
        return summary::HighWater::default();
    };
    let port = mark.port.map_or_else(|| names.nodes[index(*node)].clone(), |port| names.port(*node, port));
    let place = mark.class.map_or_else(|| port.clone(), |class| format!("{port}, class {class}"));
    summary::HighWater { bytes: mark.bytes, threshold_bytes: mark.threshold, place }
}
