//! Workloads: the traffic of a scenario, its flows and their starts. Each kind of traffic is a file; the registry is in this file.
//!
//! Listed flows wait in a list. Drawn flows are drawn one at a time from a stream of their source, when their time comes.

mod builder;
mod collective_summary;
mod flow_ids;
mod host;
mod placement;
mod row;
pub mod sizes;
mod source_queue;
mod warm_start;

use dyn_clone::{DynClone, clone_trait_object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

pub use self::builder::{MAX_FLOWS, MAX_LISTED, Made, Making};
pub use self::collective_summary::Together;
pub use self::flow_ids::{AllFlows, MAX_START};
pub use self::host::Host;
pub use self::placement::Placement;
pub use self::row::Flow;
pub use self::source_queue::Feed;
pub use self::warm_start::Warm;
use crate::framing::Framing;
use crate::topology::Topology;

/// A key and its problem.
pub type Problem = (String, String);

/// A kind of traffic, which makes flows from its table.
pub trait Traffic {
    /// Lists flows or adds drawn flows; returns the first invalid key, with the problem.
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem>;

    /// True for traffic of messages that may share connections.
    fn has_messages(&self) -> bool {
        false
    }
}

/// `workload[…].connections`: the relation of messages and flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// Messages of a channel between two ranks share one flow, which keeps its state from message to message.
    Persistent,
    /// Each message is a new flow.
    PerMessage,
}

/// Makes the table `[[workload]]`. A line names a module, which is the table's key and holds `Params`, a [`Traffic`]; the line's
/// comment is the documentation of the key.
macro_rules! registry {
    ($($(#[doc = $doc:literal])* $kind:ident),* $(,)?) => {
        $(pub mod $kind;)*

        /// `[[workload]]`: exactly one kind of traffic.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Workload {
            /// Shown in tables. Default: the kind of traffic.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            /// The start of the workload.
            #[serde(default)]
            pub start: Moment,
            /// Priority class of the packets.
            #[serde(default)]
            pub class: u8,
            /// For collectives and jobs: messages share connections that keep their state (`persistent`, the default), or each message is a
            /// flow.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub connections: Option<Connections>,
            /// Connections with separate paths over which the messages of a channel between two ranks take turns, 1 to 64. Default: one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub connections_per_channel: Option<u64>,
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $kind: Option<$kind::Params>,)*
            /// A CSV or Parquet file with a list: columns src, dst, size and optionally start, id, after, via (both separated by `;`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub table: Option<String>,
        }

        impl Workload {
            /// Names of the kinds. A table becomes a list of flows when flows are made.
            const KINDS: &str = concat!($(stringify!($kind), ", ",)* "table");

            /// The given kinds.
            fn given(&self) -> Vec<(&'static str, &dyn Traffic)> {
                let mut list: Vec<(&'static str, &dyn Traffic)> = Vec::new();
                $(if let Some(kind) = &self.$kind { list.push((stringify!($kind), kind)); })*
                list
            }
        }
    };
}

registry! {
    /// Several senders and one receiver.
    incast,
    /// Incasts again and again, at random hosts.
    repeated_incast,
    /// Pushes to a server, and the broadcast of the server.
    parameter_server,
    /// Tokens to experts and back.
    moe,
    /// One random cycle of flows over the hosts.
    permutation,
    /// Every pair.
    all_to_all,
    /// A collective operation of a job, whose messages depend on one another.
    collective,
    /// A job as a graph of computations, sends and receives of ranks.
    graph,
    /// A job that trains a model.
    training,
    /// Random arrivals.
    poisson,
    /// Open-loop sources: frames at random in the slots of a line.
    bernoulli,
    /// A list.
    flows,
}

impl Workload {
    /// The relation of messages and flows.
    pub fn connections(&self) -> Connections {
        self.connections.unwrap_or(Connections::Persistent)
    }

    /// Connections between two ranks for each channel.
    pub fn spread(&self) -> u16 {
        self.connections_per_channel.unwrap_or(1) as u16
    }

    fn check_connections(&self, at: &str, name: &str, kind: &dyn Traffic) -> Result<(), Problem> {
        for (key, is_given) in
            [("connections", self.connections.is_some()), ("connections_per_channel", self.connections_per_channel.is_some())]
        {
            if is_given && !kind.has_messages() {
                let why = format!("`{name}` has no messages to share a connection; remove it");
                return Err((format!("{at}.{key}"), why));
            }
        }
        match self.connections_per_channel {
            Some(_) if self.connections == Some(Connections::PerMessage) => Err((
                format!("{at}.connections_per_channel"),
                "not allowed with `per_message`, which gives each message a connection; remove it".into(),
            )),
            Some(spread) if !(1..=64).contains(&spread) => {
                Err((format!("{at}.connections_per_channel"), format!("{spread} is out of range; allowed are 1 to 64")))
            }
            _ => Ok(()),
        }
    }

    /// The given kind of traffic, by name.
    fn kind(&self, at: &str) -> Result<(&'static str, &dyn Traffic), Problem> {
        let given = self.given();
        if let [kind] = given.as_slice() {
            return Ok(*kind);
        }
        let names: Vec<_> = given.iter().map(|kind| kind.0).collect();
        let given = if names.is_empty() { "none is".to_string() } else { format!("{} are", names.join(" and ")) };
        Err((at.to_string(), format!("{given} given; give exactly one of {}", Self::KINDS)))
    }
}

/// Works out all flows.
pub fn make(workloads: &[Workload], topology: &Topology, classes: u8, framing: &Framing, seed: u64) -> Result<AllFlows, Problem> {
    let nothing = Workload::default();
    let mut making = Making::new(&nothing, topology, framing, seed);
    let mut names = Vec::new();
    for (w, workload) in workloads.iter().enumerate() {
        let at = format!("workload[{w}]");
        let (name, kind) = workload.kind(&at)?;
        if workload.class >= classes {
            let why = format!("{} is out of range; the switches have {classes} (switch.classes)", workload.class);
            return Err((format!("{at}.class"), why));
        }
        workload.check_connections(&at, name, kind)?;
        names.push(workload.name.clone().unwrap_or_else(|| name.to_string()));
        making.begin(w, workload, name);
        kind.make(&mut making)?;
        if workload.training.is_some() {
            making.check_alone(workloads)?;
        }
    }
    flow_ids::number(making, workloads, names)
}

/// A flow as the source knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// The number.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// The start.
    pub start: Moment,
    /// Pinned path, or 0.
    pub path: u16,
    /// Priority class.
    pub class: u8,
}

state!(FlowSpec {
    value: flow, dst, size, path, class;
    due: start;
});

/// The expected offer of a source.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// Flows arrive from here on.
    pub from: Moment,
    /// Up to here.
    pub to: Moment,
    /// Bytes on the wire in this time, on average over all draws.
    pub bytes: f64,
}

/// Flows of one host that are drawn one at a time during the run. Their number is known before the run.
pub trait Drawn: std::fmt::Debug + Send + State + DynClone {
    /// The start of the next flow.
    fn peek(&self) -> Option<Moment>;

    /// Takes the next flow and draws the following flow.
    fn take(&mut self) -> Option<FlowSpec>;

    /// The class and the possible receivers except the host. Hosts of one workload share the list.
    fn destinations(&self) -> (u8, &[u32]);

    /// Flows in all.
    fn count(&self) -> u64;

    /// Payload in all.
    fn bytes(&self) -> u64;

    /// The offer expected before the draws.
    fn offer(&self) -> Offer;

    /// Numbers the flows from here.
    fn number_from(&mut self, flow: u32);
}

clone_trait_object!(Drawn);

/// The source of a host's flows.
#[derive(Debug, Clone)]
pub enum Start {
    /// From a list, the last first to start.
    List(Vec<FlowSpec>),
    /// Flows drawn one by one.
    Drawn(Box<dyn Drawn>),
}

impl State for Start {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        match self {
            Self::List(list) => list.walk(walk),
            Self::Drawn(flows) => flows.walk(walk),
        }
    }
}

impl Start {
    /// Returns flows in the order of their starts.
    pub fn list(mut flows: Vec<FlowSpec>) -> Self {
        flows.reverse();
        Self::List(flows)
    }

    /// The start of the next flow.
    pub fn peek(&self) -> Option<Moment> {
        match self {
            Self::List(list) => list.last().map(|f| f.start),
            Self::Drawn(flows) => flows.peek(),
        }
    }

    /// Takes the next flow.
    pub fn take(&mut self) -> Option<FlowSpec> {
        match self {
            Self::List(list) => {
                let next = list.pop();
                if list.len() < list.capacity() / 4 {
                    // What has started takes no memory twice.
                    list.shrink_to(2 * list.len());
                }
                next
            }
            Self::Drawn(flows) => flows.take(),
        }
    }
}

#[cfg(test)]
mod tests;
