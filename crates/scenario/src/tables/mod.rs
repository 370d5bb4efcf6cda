//! The tables of a result: a file and a line for each.

use std::sync::Arc;

use xoff_models::ids::PortId;
use xoff_models::topology::PortSpec;
use xoff_units::{Moment, index};

use self::flows::Ways;
use crate::table::{Column, Data, Table};

/// What numbers in rows stand for.
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
    /// What a row is.
    const ABOUT: &'static str;

    /// The columns that rows make.
    fn columns(rows: &[Self], names: &Names) -> Vec<Column>;

    /// The table that rows make.
    fn table(rows: &[Self], names: &Names) -> Table {
        Table { name: Self::TABLE, about: Self::ABOUT, columns: Self::columns(rows, names) }
    }
}

/// Makes [`Rows`] and what is done with each of them. A line names a module, which has the table's columns, and what a row is.
macro_rules! registry {
    ($($table:ident: $row:ty,)*) => {
        $(pub mod $table;)*

        /// The rows of each table that nobody has taken yet.
        #[derive(Default)]
        pub struct Rows {
            $(pub $table: Vec<$row>,)*
        }

        impl Rows {
            /// Hands on each table that has at least `least` rows.
            pub fn hand_on(&mut self, least: usize, names: &Names, take: &mut dyn FnMut(Table)) {
                $(if self.$table.len() >= least {
                    take(Row::table(&std::mem::take(&mut self.$table), names));
                })*
            }

            /// All of them.
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
}

/// The tables of a result, without a row: what there is, and what it means.
pub fn tables() -> Vec<Table> {
    let names = Names { nodes: Arc::default(), workloads: Arc::default(), ports: Vec::new(), ways: Ways::default() };
    Rows::default().tables(&names)
}
