//! Nodes and links listed in the scenario or in tables.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Propagation, Rate, wide};

use super::{Link, MAX_NODES, NodeSpec, Shape, Topology, bounded};

/// The kind of a listed node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Sends and receives.
    Host,
    /// Forwards.
    Switch,
    /// Does both.
    Relay,
}

/// A listed node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Unique name.
    pub name: String,
    /// The kind of the node.
    pub kind: Role,
    /// Forwarding delay of the node. Default: that of the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// A listed link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Name of one end.
    pub a: String,
    /// Name of the other end.
    pub b: String,
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation delay, or the length of the cable.
    #[serde(deserialize_with = "Propagation::time")]
    #[schemars(with = "Propagation")]
    pub delay: Duration,
}

/// `network.explicit`: lists, or CSV or Parquet files with the same columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Nodes; hosts are numbered first, each kind in the order listed.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// Links; their order at a node sets the port numbers of the node.
    #[serde(default)]
    pub links: Vec<Edge>,
    /// A file with nodes: columns name, kind and optionally delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_table: Option<String>,
    /// A file with links: columns a, b, rate, delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_table: Option<String>,
}

impl Shape for Params {
    fn build(&self) -> Result<Topology, (String, String)> {
        // What comes from a table is blamed on its row there.
        let nodes = if self.nodes_table.is_some() { "nodes_table" } else { "nodes" };
        let links = if self.links_table.is_some() { "links_table" } else { "links" };
        if self.nodes.is_empty() {
            return Err((nodes.into(), "the list is empty; a network needs hosts".into()));
        }
        bounded(nodes, wide(self.nodes.len()), MAX_NODES)?;
        let mut t = Topology::default();
        let mut number = HashMap::new();
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|i| self.nodes[*i].kind == Role::Switch);
        for i in order {
            let node = &self.nodes[i];
            if node.name.trim().is_empty() {
                return Err((format!("{nodes}[{i}].name"), "the name is empty".into()));
            }
            if number.insert(node.name.as_str(), t.nodes.len() as u32).is_some() {
                return Err((
                    format!("{nodes}[{i}].name"),
                    format!("`{}` is the name of two nodes", node.name),
                ));
            }
            t.nodes.push(NodeSpec {
                name: node.name.clone(),
                forwards: node.kind != Role::Host,
                is_host: node.kind != Role::Switch,
                reduces: false,
                delay: node.delay,
            });
        }
        for (i, edge) in self.links.iter().enumerate() {
            let end = |key: &str, name: &str| {
                number
                    .get(name)
                    .copied()
                    .ok_or_else(|| (format!("{links}[{i}].{key}"), format!("unknown node `{name}`")))
            };
            let (a, b) = (end("a", &edge.a)?, end("b", &edge.b)?);
            if a == b {
                return Err((format!("{links}[{i}]"), format!("`{}` has a link to itself", edge.a)));
            }
            t.join(a, b, Link { rate: edge.rate, delay: edge.delay });
        }
        Ok(t)
    }
}
