//! Suspended nodes: nodes of independent components that repeat a period while other nodes run.

use xoff_units::index;

/// The set of suspended nodes.
#[derive(Debug, Default)]
pub struct Suspended {
    nodes: Vec<bool>,
    /// Number of suspended components.
    pub components: u64,
}

impl Suspended {
    /// Returns an empty set for a network with this many nodes.
    pub fn none(nodes: u32) -> Self {
        Self { nodes: vec![false; index(nodes)], components: 0 }
    }

    /// True if a node is suspended.
    pub fn has(&self, node: u32) -> bool {
        self.nodes.get(index(node)).copied().unwrap_or(false)
    }

    /// Returns the running nodes.
    pub fn running(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.nodes).filter(|node| !node.1).map(|node| node.0)
    }

    /// True if all nodes run.
    pub const fn is_empty(&self) -> bool {
        self.components == 0
    }

    /// Suspends or resumes the nodes of a component.
    pub fn set(&mut self, nodes: &[u32], is_suspended: bool) {
        for node in nodes {
            self.nodes[index(*node)] = is_suspended;
        }
        self.components = if is_suspended { self.components + 1 } else { self.components - 1 };
    }
}
