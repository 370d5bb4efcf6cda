//! What an application reports: tables and an entry of the summary.

use std::any::Any;
use std::sync::Arc;

use serde_json::Value;

use crate::paths::symmetry::{Symmetry, View};
use crate::records::table::{Data, Table};

/// Names for the numbers in rows.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Of nodes.
    pub nodes: Arc<Vec<String>>,
    /// Of workloads.
    pub workloads: Arc<Vec<String>>,
}

impl Names {
    /// Returns a column of nodes.
    pub fn node(&self, ids: impl IntoIterator<Item = u32>) -> Data {
        Data::Name(ids.into_iter().collect(), self.nodes.clone())
    }
}

/// The results of an application.
pub trait Results: Send {
    /// The name in the summary.
    fn name(&self) -> &'static str;

    /// Takes the records of the part at a node, which has the type of the application's parts. `views` are the nodes that the
    /// part stands for: in a run of all nodes the node alone, in a folded run the node and its images under `group`.
    fn take(&mut self, part: &mut dyn Any, views: &[View], group: Option<&Symmetry>);

    /// Returns the tables of the whole run, without rows before the run.
    fn tables(&mut self, names: &Names) -> Vec<Table>;

    /// Returns the entry of the summary.
    fn summary(&mut self, names: &Names) -> Value;
}
