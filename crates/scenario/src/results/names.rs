//! Names for the numbers in rows.

use std::ops::Deref;

use xoff_models::parts::ids::PortId;
use xoff_models::paths::topology::PortSpec;
use xoff_models::traffic::application::Names as NamesOfNodes;
use xoff_units::index;

use super::ways::Ways;

/// Names for the numbers in rows.
#[derive(Default)]
pub struct Names {
    /// Of nodes and workloads, which applications know, too.
    pub own: NamesOfNodes,
    /// Ports of each node.
    pub ports: Vec<Vec<PortSpec>>,
    /// Of the ways of flows.
    pub ways: Ways,
}

impl Names {
    /// A port in words.
    pub fn port(&self, node: u32, port: PortId) -> String {
        let peer = self.ports[index(node)][port].peer;
        format!("{} port {port} (to {})", self.nodes[index(node)], self.nodes[index(peer)])
    }
}

impl Deref for Names {
    type Target = NamesOfNodes;

    fn deref(&self) -> &NamesOfNodes {
        &self.own
    }
}
