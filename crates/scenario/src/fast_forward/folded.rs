//! Counters of a folded run.
//!
//! A folded run simulates representatives alone, and a representative also receives flows and messages of nodes that are
//! not simulated. The counter of such a flow grows as the counter of the flow that stands for it.

use xoff_applications::job::{Graph, JobImages, What};
use xoff_engine::state::Counter;
use xoff_models::ids::PortId;
use xoff_models::message::MessageId;
use xoff_models::symmetry::Symmetry;
use xoff_units::{index, number};

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
        Counter::Messages(job, number, place) => {
            let MessageId { number, place, .. } = group.first_message(MessageId { job, number, place });
            Counter::Messages(job, number, place)
        }
        Counter::Operations(..) | Counter::Series(..) | Counter::Timer(..) => counter,
    }
}

/// Returns the rank of a job that stands for a rank.
pub fn first_rank(group: &Symmetry, job: u32, graph: &Graph, rank: u32) -> u32 {
    let first = group.representative(graph.ranks[index(rank)].node);
    group.messages_of::<JobImages>().and_then(|images| images.rank_at(job, first)).unwrap_or(rank)
}

/// Returns the number of simulated members of a series of collectives or messages.
pub fn members(group: &Symmetry, graph: &Graph, series: u32) -> u32 {
    let is_simulated = |rank: &&u32| group.is_representative(graph.ranks[index(**rank)].node);
    match graph.numbered(series, 0).map(|first| graph.shared(first).what) {
        Some(What::Collective { group, .. }) => {
            number(graph.groups[index(group)].ranks.iter().filter(is_simulated).count())
        }
        Some(What::Message { from, to, .. }) if from == to => u32::from(is_simulated(&&from)),
        Some(What::Message { from, to, .. }) => number([from, to].iter().filter(is_simulated).count()),
        None => 0,
    }
}
