//! Names for the numbers in rows.

use std::sync::Arc;

use xoff_models::parts::ids::PortId;
use xoff_models::paths::topology::PortSpec;
use xoff_models::records::table::Data;
use xoff_units::index;

use super::ways::Ways;

/// Names for the numbers in rows.
#[derive(Default)]
pub struct Names {
    /// Of nodes.
    pub nodes: Arc<Vec<String>>,
    /// Of workloads.
    pub workloads: Arc<Vec<String>>,
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

    /// Names of nodes.
    pub fn node(&self, ids: impl IntoIterator<Item = u32>) -> Data {
        Data::Name(ids.into_iter().collect(), self.nodes.clone())
    }
}
