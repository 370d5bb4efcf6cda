//! Scope: a set of nodes that fast-forward treats as one. The whole network is a scope, and so is each
//! independent component.

use xoff_engine::state::{Snapshot, StateVisitor, Totals};
use xoff_engine::{Checkpoint, Fingerprint};
use xoff_models::hosts::endpoint::Endpoint;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::symmetry::Symmetry;
use xoff_units::{Moment, index};

use super::offsets::NetworkOffsets;

/// A scope at one moment.
#[derive(Clone)]
pub struct Instant {
    pub at: Moment,
    pub offsets: NetworkOffsets,
    /// Fingerprint of each node.
    pub fingerprints: Vec<Fingerprint>,
    /// Events before the moment.
    pub events: u64,
    /// Bytes and slices sent across the border before the moment.
    pub crossed: u64,
    /// Data packets started by each node before the moment.
    pub started: Vec<u64>,
}

/// A set of nodes.
pub struct Scope {
    /// Nodes, in ascending order.
    pub nodes: Vec<u32>,
    /// Outputs to nodes outside the scope, and outputs of those nodes into the scope.
    border: Vec<(u32, PortId)>,
    /// Nodes with NVLink across the border, inside and outside the scope.
    servers: Vec<u32>,
    /// True for the whole network.
    pub is_whole: bool,
}

impl Scope {
    /// Returns the scope of these nodes, in ascending order.
    pub fn of(nodes: Vec<u32>, cp: &Checkpoint<'_, Node>) -> Self {
        let wiring = &cp.node(0).core.routing.wiring;
        let outputs = nodes.iter().flat_map(|node| {
            PortId::each(&wiring.ports[index(*node)]).map(move |(port, end)| (*node, port, end))
        });
        let across = outputs.filter(|(.., end)| nodes.binary_search(&end.peer).is_err());
        let border = across.flat_map(|(node, port, end)| [(node, port), (end.peer, end.peer_port)]).collect();
        let mut scope = Self { border, servers: Vec::new(), is_whole: false, nodes };
        scope.servers = (0..cp.nodes()).filter(|node| scope.slices(*node, cp).next().is_some()).collect();
        scope
    }

    /// Returns the numbers of slices that a node has sent across the border, by queue of NVLink.
    fn slices<'a>(&'a self, node: u32, cp: &'a Checkpoint<'_, Node>) -> impl Iterator<Item = u64> + 'a {
        let is_inside = self.place(node).is_some();
        let nvlink = cp.node(node).endpoint.iter().filter_map(|endpoint| endpoint.nvlink.as_ref());
        let sent = nvlink.flat_map(|nvlink| nvlink.sent());
        sent.filter(move |(to, _)| self.place(*to).is_some() != is_inside).map(|(_, slices)| slices)
    }

    /// Returns the scope of all nodes, or of the simulated nodes of a folded run.
    pub fn whole(cp: &Checkpoint<'_, Node>, folded: Option<&Symmetry>) -> Self {
        let is_simulated = |node: &u32| folded.is_none_or(|group| group.is_representative(*node));
        let nodes = (0..cp.nodes()).filter(is_simulated).collect();
        Self { is_whole: true, border: Vec::new(), servers: Vec::new(), nodes }
    }

    /// Returns the place of a node in the scope.
    pub fn place(&self, node: u32) -> Option<usize> {
        self.nodes.binary_search(&node).ok()
    }

    /// Shows the state of all nodes to a walk.
    pub fn walk(&self, walk: &mut StateVisitor<'_>, cp: &mut Checkpoint<'_, Node>) {
        cp.walk_some(self.nodes.iter().copied(), walk);
    }

    /// Returns the digests of the state at a moment, with all words if `keeps_words`.
    pub fn snapshot(
        &self,
        at: Moment,
        offsets: &NetworkOffsets,
        keeps_words: bool,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Snapshot {
        let mut walk =
            if keeps_words { StateVisitor::keep(at, offsets) } else { StateVisitor::digest(at, offsets) };
        self.walk(&mut walk, cp);
        walk.snapshot()
    }

    /// Returns the totals at a moment.
    pub fn totals(&self, at: Moment, offsets: &NetworkOffsets, cp: &mut Checkpoint<'_, Node>) -> Totals {
        let mut walk = StateVisitor::note(at, offsets);
        self.walk(&mut walk, cp);
        walk.totals()
    }

    /// Returns the scope at a moment, before which the nodes had this many events.
    pub fn instant(
        &self,
        at: Moment,
        offsets: NetworkOffsets,
        events: u64,
        cp: &mut Checkpoint<'_, Node>,
    ) -> Instant {
        let started = self.nodes.iter().map(|id| cp.node(*id).counts.data_hops).collect();
        Instant {
            at,
            offsets,
            fingerprints: self.fingerprints(cp),
            events,
            crossed: self.crossed(cp),
            started,
        }
    }

    /// Returns the fingerprint of each node.
    pub fn fingerprints(&self, cp: &mut Checkpoint<'_, Node>) -> Vec<Fingerprint> {
        self.nodes.iter().map(|id| *cp.fingerprint_mut(*id)).collect()
    }

    /// Returns the hosts of the scope.
    pub fn endpoints<'a>(&'a self, cp: &'a Checkpoint<'_, Node>) -> impl Iterator<Item = &'a Endpoint> {
        self.nodes.iter().filter_map(|id| cp.node(*id).endpoint.as_deref())
    }

    /// True if a flow has ended and is in no table yet.
    pub fn has_ended_flows(&self, cp: &Checkpoint<'_, Node>) -> bool {
        self.endpoints(cp).any(|endpoint| !(endpoint.sent.is_empty() && endpoint.arrived.is_empty()))
    }

    /// Returns the bytes sent across the border by ports, plus the slices sent across the border by NVLink: a number that
    /// stays the same only if nothing is sent.
    pub fn crossed(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        let ports = self.border.iter().map(|(node, port)| &cp.node(*node).core.ports[*port]);
        let slices = self.servers.iter().flat_map(|node| self.slices(*node, cp));
        ports.map(|port| port.data_bytes + port.control_bytes).sum::<u64>() + slices.sum::<u64>()
    }

    /// True if an output at the border is paused.
    pub fn is_border_paused(&self, cp: &Checkpoint<'_, Node>) -> bool {
        self.border
            .iter()
            .any(|(node, port)| cp.node(*node).open_pauses.iter().any(|pause| pause.port == *port))
    }

    /// Returns the data packets started by the nodes.
    pub fn packet_hops(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.nodes.iter().map(|id| cp.node(*id).counts.data_hops).sum()
    }

    /// Returns the simulated events of the nodes.
    pub fn simulated(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        if self.is_whole { cp.statistics.events } else { cp.events_of(&self.nodes) }
    }
}

#[cfg(test)]
mod tests {
    use xoff_document::from_toml;
    use xoff_engine::Plan;
    use xoff_models::network::build;

    use super::*;
    use crate::runner::Runner;

    #[test]
    fn a_border_counts_nvlink_from_both_sides() {
        let text = r#"
            [network.servers]
            gpus = 2
            gpu = "h100"
            [network.rail]
            servers = 2
            gpus_per_server = 2
            rail = { rate = "400Gbps", delay = "500ns" }
            [[workload]]
            collective = { operation = "all_reduce", size = "1MB", library = "nccl", algorithm = "ring" }
        "#;
        let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
        let engine = build(&runner.topology, runner.plan, &runner.settings, Plan::default()).unwrap();
        let cp = engine.checkpoint(Moment::ZERO);
        for left in 0..2 {
            let scope = Scope::of((0..cp.nodes()).filter(|node| *node != left).collect(), &cp);
            // The GPUs of a server send to each other: the one outside, and the one inside.
            assert_eq!(scope.servers, [0, 1], "without host {left}");
        }
    }
}
