//! Whose bytes made nodes ask for pauses.

use xoff_models::delays::Contribution;
use xoff_models::effects::Because;

use super::{Names, Row, times};
use crate::table::{Column, Data};

impl Row for Contribution {
    const TABLE: &'static str = "contributions";
    const ABOUT: &'static str = "One row an output and flow whose bytes made a node ask for a pause, with `probe.delays`.";

    fn columns(c: &[Self], names: &Names) -> Vec<Column> {
        let about = |c: &Contribution| match c.because {
            Because::Input(port, class) => (Some(port.0), Some(u16::from(class)), None),
            Because::Tagged(port, tag) => (Some(port.0), None, Some(tag as u16)),
            Because::Output(_) => (None, None, None),
        };
        vec![
            Column { name: "time_ps", meaning: "When the node asked for a pause.", data: times(c.iter().map(|c| c.at)) },
            Column { name: "node", meaning: "The node.", data: names.node(c.iter().map(|c| c.node)) },
            Column { name: "cause", meaning: "The mechanism.", data: Data::Static(c.iter().map(|c| c.cause).collect()) },
            Column {
                name: "in_port",
                meaning: "The port to whose neighbour it spoke; null where all were told.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).0).collect()),
            },
            Column {
                name: "class",
                meaning: "The class of this node that is to come no more; null where it spoke of something else.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).1).collect()),
            },
            Column {
                name: "peer_queue",
                meaning: "The neighbour's queue that is to stop; null where it spoke of something else.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).2).collect()),
            },
            Column {
                name: "port",
                meaning: "The output that bytes wait for; null where none do, and another mechanism asked.",
                data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.0.0)).collect()),
            },
            Column { name: "queue", meaning: "The queue there.", data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.1.0)).collect()) },
            Column { name: "flow", meaning: "Their flow.", data: Data::MaybeU32(c.iter().map(|c| c.flow).collect()) },
            Column { name: "bytes", meaning: "How many.", data: Data::U64(c.iter().map(|c| c.bytes).collect()) },
        ]
    }
}
