//! The tables of a result: a file and a line for each.

use std::sync::Arc;

use xoff_models::ids::PortId;
use xoff_models::topology::PortSpec;
use xoff_units::{Moment, index};

mod ways;

pub use self::ways::Ways;
use crate::table::{Column, Data, Table};

/// Names for the numbers in rows.
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

fn times(t: impl Iterator<Item = Moment>) -> Data {
    Data::U64(t.map(Moment::ps).collect())
}

/// A row of a table.
pub trait Row: Sized {
    /// The table's name.
    const TABLE: &'static str;
    /// Meaning of a row.
    const ABOUT: &'static str;

    /// Returns the columns of the rows.
    fn columns(rows: &[Self], names: &Names) -> Vec<Column>;

    /// Returns the table of the rows.
    fn table(rows: &[Self], names: &Names) -> Table {
        Table { name: Self::TABLE, about: Self::ABOUT, columns: Self::columns(rows, names) }
    }
}

/// Defines [`Rows`] and its methods. A line names a module with the columns of a table, and the type of a
/// row.
macro_rules! registry {
    ($($table:ident: $row:ty,)*) => {
        $(pub mod $table;)*

        /// Rows of each table, not yet taken.
        #[derive(Default)]
        pub struct Rows {
            $(pub $table: Vec<$row>,)*
        }

        impl Rows {
            /// Passes on each table with at least `least` rows.
            pub fn hand_on(&mut self, least: usize, names: &Names, take: &mut dyn FnMut(Table)) {
                $(if self.$table.len() >= least {
                    take(Row::table(&std::mem::take(&mut self.$table), names));
                })*
            }

            /// Returns all tables.
            pub fn tables(&mut self, names: &Names) -> Vec<Table> {
                vec![$(Row::table(&std::mem::take(&mut self.$table), names)),*]
            }
        }
    };
}

registry! {
    flows: flows::Flow,
    queues: queues::Queue,
    links: links::Link,
    pauses: xoff_models::record::Pause,
    drops: xoff_models::record::Drop,
    packets: xoff_models::record::Trace,
    samples: xoff_models::record::Sample,
    delays: delays::Delay,
    contributions: xoff_models::delays::Contribution,
    high_water: high_water::Count,
    collectives: collectives::Measured,
    messages: messages::Message,
    operations: operations::Operation,
    jobs: jobs::Part,
    faults: faults::Failed,
    requests: xoff_models::serving::RequestRow,
    steps: xoff_models::serving::StepRow,
    tokens: xoff_models::serving::TokenRow,
}

/// Returns the tables of a result without rows, for their descriptions.
pub fn tables() -> Vec<Table> {
    let names =
        Names { nodes: Arc::default(), workloads: Arc::default(), ports: Vec::new(), ways: Ways::default() };
    Rows::default().tables(&names)
}
