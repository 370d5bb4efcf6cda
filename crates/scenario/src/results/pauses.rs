//! Pauses of queues, in order of their ends. Pauses active at the end of the run end there.

use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::ports::effects::Asker;
use xoff_models::records::events::Pause;
use xoff_models::records::table::{Column, Data};
use xoff_units::{Moment, index};

use super::contract::{Collect, Shared};
use super::names::Names;
use super::rows::{Row, row_set, times};
use crate::runner::Runner;

row_set! { pauses: Pause }

/// Collects pauses.
pub struct Pauses {
    rows: Rows,
}

impl Collect for Pauses {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let unfold = shared.unfold.clone();
        let image = |view: &View, rows: &[Pause]| unfold.pauses(view, rows);
        let mut pauses = unfold.take(cp, |node| std::mem::take(&mut node.records.pauses), Some(&image));
        pauses.sort_by_key(|pause| pause.end);
        self.rows.pauses.append(&mut pauses);
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let open = |view: &View| shared.unfold.pauses(view, &cp.node(view.of).open_pauses);
        let mut open: Vec<Pause> = shared.unfold.views().iter().flat_map(open).collect();
        open.sort_by_key(|p| (p.start, p.node, p.port, p.queue));
        self.rows.pauses.append(&mut open);
    }
}

impl Row for Pause {
    const TABLE: &'static str = "pauses";
    const ABOUT: &'static str =
        "One row per pause of a queue of a port, in order of the ends; unfinished pauses come last.";

    fn columns(p: &[Self], names: &Names) -> Vec<Column> {
        let peer = |p: &Pause| names.ports[index(p.node)][p.port].peer;
        let origin = |p: &Pause| match p.asker {
            Asker::Neighbour => (Some(peer(p)), None),
            Asker::Output(node, port) => (Some(node), Some(port)),
            Asker::Itself => (None, None),
        };
        vec![
            Column { name: "node", meaning: "Paused node.", data: names.node(p.iter().map(|p| p.node)) },
            Column {
                name: "port",
                meaning: "Number of the port at the node.",
                data: Data::U16(p.iter().map(|p| p.port.0).collect()),
            },
            Column {
                name: "peer",
                meaning: "Node at the other end of the link.",
                data: names.node(p.iter().map(peer)),
            },
            Column {
                name: "queue",
                meaning: "Number of the queue at the port.",
                data: Data::U16(p.iter().map(|p| p.queue.0).collect()),
            },
            Column {
                name: "class",
                meaning: "Class of the queue.",
                data: Data::U8(p.iter().map(|p| p.class).collect()),
            },
            Column {
                name: "cause",
                meaning: "Mechanism that paused the queue.",
                data: Data::Static(p.iter().map(|p| p.cause).collect()),
            },
            Column {
                name: "origin",
                meaning: "Node that asked for the pause; null for a pause by the node itself, and for an unnamed node.",
                data: Data::MaybeName(p.iter().map(|p| origin(p).0).collect(), names.nodes.clone()),
            },
            Column {
                name: "origin_port",
                meaning: "Congested output of `origin`; null for a congested input.",
                data: Data::MaybeU16(p.iter().map(|p| origin(p).1.map(|port| port.0)).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "Start of the pause.",
                data: times(p.iter().map(|p| p.start)),
            },
            Column {
                name: "end_ps",
                meaning: "End of the pause; null for an unfinished pause.",
                data: Data::MaybeU64(p.iter().map(|p| p.end.map(Moment::ps)).collect()),
            },
        ]
    }
}
