//! The hosts of a scenario, for functions that write traffic.

use serde::Serialize;
use xoff_document::{Input, InputError, Scenario, fill_network};
use xoff_units::index;

use crate::limits;
use crate::runner::topology;

/// The hosts of a network, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hosts {
    /// The name of each host.
    pub names: Vec<String>,
    /// The rate of each host: the sum over its links.
    pub rates_bps: Vec<u64>,
    /// The name of the node at the other end of each host's first link.
    pub switches: Vec<String>,
}

/// Builds the network, without traffic, and returns the hosts.
pub fn hosts(
    mut scenario: Scenario,
    mut tables: impl FnMut(&str) -> Option<Input>,
) -> Result<Hosts, InputError> {
    fill_network(&mut scenario, &mut tables)?;
    let topology = topology(&scenario)?;
    limits::check_network(&scenario, &topology)?;
    let (ports, nodes) = (topology.ports(), topology.hosts());
    let name = |node: u32| topology.nodes[index(node)].name.clone();
    let first = |node: &u32| ports[index(*node)].first().map_or_else(String::new, |port| name(port.peer));
    Ok(Hosts {
        names: nodes.iter().map(|node| name(*node)).collect(),
        rates_bps: nodes
            .iter()
            .map(|node| ports[index(*node)].iter().map(|port| port.link.rate.0).sum())
            .collect(),
        switches: nodes.iter().map(first).collect(),
    })
}
