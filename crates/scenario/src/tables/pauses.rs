//! Pauses of queues: in order of their ends, which is that of the run; those that last come at its end.

use xoff_models::effects::Asker;
use xoff_models::record::Pause;
use xoff_units::{Moment, index};

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Pause {
    const TABLE: &'static str = "pauses";
    const ABOUT: &'static str = "One row a pause of a queue of a port, as it ends; those that never ended come last.";

    fn columns(p: &[Self], names: &Names) -> Vec<Column> {
        let peer = |p: &Pause| names.ports[index(p.node)][p.port].peer;
        let origin = |p: &Pause| match p.asker {
            Asker::Neighbour => (Some(peer(p)), None),
            Asker::Output(node, port) => (Some(node), Some(port)),
            Asker::Itself => (None, None),
        };
        vec![
            Column { name: "node", meaning: "Whose port was paused.", data: names.node(p.iter().map(|p| p.node)) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(p.iter().map(|p| p.port.0).collect()) },
            Column { name: "peer", meaning: "The node at the other end of the link.", data: names.node(p.iter().map(peer)) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(p.iter().map(|p| p.queue.0).collect()) },
            Column { name: "class", meaning: "Its class.", data: Data::U8(p.iter().map(|p| p.class).collect()) },
            Column { name: "cause", meaning: "The mechanism that paused it.", data: Data::Static(p.iter().map(|p| p.cause).collect()) },
            Column {
                name: "origin",
                meaning: "The node that asked for it; null where it was the node itself, or one that is not named.",
                data: Data::MaybeName(p.iter().map(|p| origin(p).0).collect(), names.nodes.clone()),
            },
            Column {
                name: "origin_port",
                meaning: "The output there that filled; null where its inputs did.",
                data: Data::MaybeU16(p.iter().map(|p| origin(p).1.map(|port| port.0)).collect()),
            },
            Column { name: "start_ps", meaning: "When it began.", data: times(p.iter().map(|p| p.start)) },
            Column {
                name: "end_ps",
                meaning: "When it ended; null if it never did.",
                data: Data::MaybeU64(p.iter().map(|p| p.end.map(Moment::ps)).collect()),
            },
        ]
    }
}
