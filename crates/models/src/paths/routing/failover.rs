//! Routes after link failures, and the moments of their changes.
//! A switch, or a host with several links, leaves a port whose link has been down for `local_repair_delay`,
//! while another port is on a shortest path, and returns to the port after as long. After `convergence_time`
//! the routes of all nodes are shortest paths over links that have been up for as long, at one moment.
//! Simplifications: no routing messages; no transient circles; a flow is hashed anew when its choices change;
//! unreachable nodes keep the routes of the whole network. Pinned packets keep their path.
//! Invariants: a change depends on the faults alone; packets follow the routes of the moment of forwarding.
//! Source: `docs/models/failover.md`.

use std::sync::Arc;

use xoff_units::{index, number};

use super::shortest::shortest_by;
use super::{FirstHop, Map, Paths, Routes};
use crate::parts::ids::PortId;
use crate::paths::topology::Topology;

/// Choices of an unreachable destination.
const NOWHERE: (u32, u32) = (u32::MAX, 1);

impl Routes {
    /// Returns the routes with other choices. Faults tell equal nodes apart, so no node chooses as its images do.
    fn with(&self, entries: Vec<(u32, u32)>, choices: Vec<PortId>) -> Self {
        let (destinations, paths) = (self.destinations.clone(), self.paths.clone());
        Self { entries, choices, destinations, paths, alike: None, ..*self }
    }

    /// Returns the routes without avoided ports, wherever another port is left.
    #[must_use]
    pub fn without(&self, is_avoided: impl Fn(PortId) -> bool) -> Self {
        let mut choices = Vec::new();
        let entry = |&(start, count): &(u32, u32)| {
            let (start, end) = (index(start), index(start) + index(count));
            let Some(all) = self.choices.get(start..end).filter(|all| !all.is_empty()) else {
                return (number(start), count);
            };
            let left: Vec<PortId> = all.iter().copied().filter(|port| !is_avoided(*port)).collect();
            let list = if left.is_empty() { all } else { &left };
            let first = number(choices.len());
            choices.extend_from_slice(list);
            (first, number(list.len()))
        };
        let entries = self.entries.iter().map(entry).collect();
        self.with(entries, choices)
    }

    /// Returns the routes with those of `other` for unreachable destinations.
    fn or(&self, other: &Self) -> Self {
        let mut choices = self.choices.clone();
        let entry = |(own, other_entry): (&(u32, u32), &(u32, u32))| {
            let (start, count) = (index(other_entry.0), index(other_entry.1));
            match other.choices.get(start..start + count) {
                Some(list) if *own == NOWHERE && !list.is_empty() => {
                    choices.extend_from_slice(list);
                    ((choices.len() - list.len()) as u32, other_entry.1)
                }
                _ => *own,
            }
        };
        let entries = self.entries.iter().zip(&other.entries).map(entry).collect();
        self.with(entries, choices)
    }
}

/// Inputs of the routes.
#[derive(Debug, Clone)]
pub struct Basis {
    /// The network.
    pub topology: Topology,
    /// Pinned paths.
    pub paths: Arc<Paths>,
    /// Rule for the port by which a flow leaves its host.
    pub first_hop: FirstHop,
    /// Seed of the run.
    pub seed: u64,
    /// Nodes where flows start or end.
    pub is_end: Vec<bool>,
    /// Routes without failures.
    pub whole: Arc<Map>,
}

impl Basis {
    /// Returns the routes of all nodes over usable links, as successors of `before`.
    pub fn changed(&self, before: &Map, may_use: impl Fn(u32, PortId) -> bool) -> Map {
        let routes = shortest_by(
            &self.topology,
            self.paths.clone(),
            &self.first_hop,
            self.seed,
            |n| self.is_end[n],
            may_use,
        );
        let all = routes.iter().zip(&self.whole.routes).map(|(own, whole)| Arc::new(own.or(whole))).collect();
        before.changed(all)
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Duration, Rate};

    use super::super::shortest::shortest;
    use super::*;
    use crate::paths::topology::{Link, Shape, leaf_spine};

    /// Two hosts at each of two leaves: hosts 0 to 3, leaves 4 and 5, spines from 6 on; ports from 2 on of a
    /// leaf lead to spines.
    fn basis(spines: u64) -> Basis {
        let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
        let shape =
            leaf_spine::Params { leaves: 2, spines, hosts_per_leaf: 2, link, fabric_link: None, parallel: 1 };
        let topology = shape.build().unwrap();
        let routes = shortest(&topology, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true);
        let whole = Arc::new(Map::new(routes, topology.wiring()));
        let is_end = vec![true; topology.nodes.len()];
        Basis { topology, paths: Arc::new(Paths::new()), first_hop: FirstHop::Hash, seed: 1, is_end, whole }
    }

    #[test]
    fn a_port_is_avoided_while_another_is_left() {
        let basis = basis(3);
        let leaf = &basis.whole.routes[4];
        let ports = |list: &[u16]| list.iter().map(|p| PortId(*p)).collect::<Vec<_>>();
        assert_eq!(leaf.without(|port| port == PortId(3)).choices(2), ports(&[2, 4]));
        assert_eq!(leaf.without(|port| port > PortId(1)).choices(2), ports(&[2, 3, 4]), "all are as bad");
        let avoiding = leaf.without(|port| port == PortId(1));
        assert_eq!(
            (avoiding.choose(1, 9), avoiding.choose(0, 9)),
            (PortId(1), PortId(0)),
            "a host has one port"
        );
    }

    #[test]
    fn new_routes_are_shortest_and_what_is_cut_off_keeps_its_own() {
        let basis = basis(2);
        // Leaf 4 has lost spine 6: leaf 5 sends by spine 7 alone.
        let map = basis.changed(&basis.whole, |node, port| {
            (node, port) != (4, PortId(2)) && (node, port) != (6, PortId(0))
        });
        assert_eq!(
            (map.epoch, map.routes[5].choices(0), map.routes[4].choices(2)),
            (1, &[PortId(3)][..], &[PortId(3)][..])
        );
        // Leaf 4 has lost both: routes there and from there are as they were.
        let cut = basis.changed(&map, |node, port| node != 4 || port < PortId(2));
        assert_eq!((cut.epoch, cut.routes[5].choices(0).len(), cut.routes[4].choices(2).len()), (2, 2, 2));
        assert_eq!(cut.routes[4].choose(1, 3), PortId(1));
    }
}
