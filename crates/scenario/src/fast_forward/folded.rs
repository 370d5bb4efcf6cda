//! Counters of a folded run.
//!
//! A folded run simulates representatives alone, and a representative also receives flows and messages of nodes that are
//! not simulated. The counter of such a flow grows as the counter of the flow that stands for it.

use xoff_engine::state::Counter;
use xoff_models::frames::message::{MessageId, POSTED};
use xoff_models::parts::ids::PortId;
use xoff_models::paths::symmetry::Symmetry;

/// Returns the counter that stands for a counter.
pub fn canonical(group: &Symmetry, counter: Counter) -> Counter {
    let output = |node: u32, port: u16| {
        let port = PortId(port);
        let element = group.inverse(group.element_of_port(node, port).unwrap_or_default());
        (group.representative(node), group.image_port(element, node, port).0)
    };
    match counter {
        Counter::Packets(flow) => Counter::Packets(group.first_flow(flow)),
        Counter::Granted(flow) => Counter::Granted(group.first_flow(flow)),
        Counter::Asked(flow) => Counter::Asked(group.first_flow(flow)),
        Counter::Bytes(node, port) => {
            let (node, port) = output(node, port);
            Counter::Bytes(node, port)
        }
        Counter::Class(node, port, class) => {
            let (node, port) = output(node, port);
            Counter::Class(node, port, class)
        }
        Counter::Own(POSTED, [job, number, place]) => {
            group.first_message(MessageId { job, number, place }).posted()
        }
        Counter::Own(..) | Counter::Series(..) | Counter::Timer(..) => counter,
    }
}
