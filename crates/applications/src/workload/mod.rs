//! Workloads: the traffic of a scenario. Each kind of traffic is a file; the registry is in this file.

mod library;
mod nccl;
mod placement;
pub mod python;
pub mod sizes;
mod warm_start;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::frames::framing::Framing;
use xoff_models::parts::param_error::remove;
use xoff_models::parts::plugin_parts::Given;
use xoff_models::paths::topology::Topology;
use xoff_models::traffic::workload::{
    AllFlows, Common, Connections, Making, Problem, Traffic, Vtable, number_flows,
};
use xoff_units::{Duration, Moment};

pub use self::nccl::{Library, Params as NcclParams};
pub use self::placement::Placement;
pub use self::warm_start::Warm;

/// Makes the table `[[workload]]`. A line names a module, which is the table's key and holds `Params`, a
/// [`Traffic`]; the line's comment is the documentation of the key.
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
            /// For collectives and jobs: messages share connections that keep their state (`persistent`, the
            /// default), or each message is a flow.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub connections: Option<Connections>,
            /// Connections with separate paths over which the messages of a channel between two ranks take
            /// turns, 1 to 64. Default: one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub connections_per_channel: Option<u64>,
            /// Settings of collectives with `library = "nccl"`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub nccl: Option<NcclParams>,
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $kind: Option<$kind::Params>,)*
            /// Kinds of traffic of plug-ins.
            #[serde(default, skip_serializing_if = "Given::is_empty")]
            pub plugins: Given<Vtable>,
            /// A CSV or Parquet file with a list: columns src, dst, size and optionally start, id, after, via
            /// (both separated by `;`).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub table: Option<String>,
            /// A Python function that returns the rows: flows as in `table`, or beside `graph` the operations of the
            /// job. Called with `--allow-python` alone.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub python: Option<python::Params>,
        }

        impl Workload {
            /// Names of the kinds. A table becomes a list of flows when flows are made, and so do rows of `python`.
            const KINDS: &str = concat!($(stringify!($kind), ", ",)* "table, python");

            /// The given kinds.
            fn given(&self) -> Vec<(&'static str, &dyn Traffic)> {
                let mut list: Vec<(&'static str, &dyn Traffic)> = Vec::new();
                $(if let Some(kind) = &self.$kind { list.push((stringify!($kind), kind)); })*
                list.extend(self.plugins.iter().map(|(entry, params)| (entry.name, entry.given(params))));
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
    /// Requests to a language model: prefill, KV caches, decode.
    serving,
    /// Random arrivals.
    poisson,
    /// Open-loop sources: frames at random in the slots of a line.
    bernoulli,
    /// A list.
    flows,
}

impl Workload {
    /// Returns the highest class of the packets.
    pub fn highest_class(&self) -> u8 {
        let of_operations = self.graph.iter().flat_map(graph::Params::classes);
        let of_messages = self.serving.iter().flat_map(serving::Params::classes);
        of_operations.chain(of_messages).fold(self.class, u8::max)
    }

    /// The keys that all kinds share. `nccl` are the settings in the place of missing settings of NCCL.
    fn common<'a>(&'a self, nccl: &'a NcclParams) -> Common<'a> {
        Common {
            others: self.nccl.as_ref().unwrap_or(nccl),
            name: self.name.as_deref(),
            start: self.start,
            class: self.class,
            connections: self.connections.unwrap_or(Connections::Persistent),
            connections_per_channel: self.connections_per_channel.unwrap_or(1) as u16,
            is_table: self.table.is_some(),
        }
    }

    fn check_connections(&self, at: &str, name: &str, kind: &dyn Traffic) -> Result<(), Problem> {
        for (key, is_given) in [
            ("connections", self.connections.is_some()),
            ("connections_per_channel", self.connections_per_channel.is_some()),
        ] {
            if is_given && !kind.has_messages() {
                let why = remove(format!("`{name}` has no messages to share a connection"));
                return Err((format!("{at}.{key}"), why));
            }
        }
        match self.connections_per_channel {
            Some(_) if self.connections == Some(Connections::PerMessage) => Err((
                format!("{at}.connections_per_channel"),
                remove("not allowed with `per_message`, which gives each message a connection"),
            )),
            Some(spread) if !(1..=64).contains(&spread) => Err((
                format!("{at}.connections_per_channel"),
                format!("{spread} is out of range; allowed are 1 to 64"),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a function that Python cannot have, and a function beside another kind of traffic than `graph`.
    pub fn check_python(&self, at: &str) -> Result<(), Problem> {
        let Some(python) = &self.python else { return Ok(()) };
        let of_table = self.table.as_ref().map(|_| "table");
        let other = self.given().iter().map(|kind| kind.0).chain(of_table).find(|kind| *kind != "graph");
        if let Some(other) = other {
            let why = format!("{other} and python are given; `python` is allowed alone, or beside `graph`");
            return Err((at.to_string(), why));
        }
        python.check(at, self.graph.is_some())
    }

    /// The given kind of traffic, by name.
    fn kind(&self, at: &str) -> Result<(&'static str, &dyn Traffic), Problem> {
        let given = self.given();
        if let [kind] = given.as_slice() {
            return Ok(*kind);
        }
        let names: Vec<_> = given.iter().map(|kind| kind.0).collect();
        let given =
            if names.is_empty() { "none is".to_string() } else { format!("{} are", names.join(" and ")) };
        Err((at.to_string(), format!("{given} given; give exactly one of {}", Self::KINDS)))
    }
}

/// Works out all flows.
pub fn make(
    workloads: &[Workload],
    topology: &Topology,
    classes: u8,
    framing: &Framing,
    seed: u64,
    switch_delay: Duration,
) -> Result<AllFlows, Problem> {
    let (nothing, nccl) = (Workload::default(), NcclParams::default());
    let commons: Vec<Common<'_>> = workloads.iter().map(|workload| workload.common(&nccl)).collect();
    let trains: Vec<bool> = workloads.iter().map(|workload| workload.training.is_some()).collect();
    let mut making = Making::new(nothing.common(&nccl), topology, framing, seed, switch_delay, classes);
    let mut names = Vec::new();
    for (w, workload) in workloads.iter().enumerate() {
        let at = format!("workload[{w}]");
        let (name, kind) = workload.kind(&at)?;
        making.check_class(workload.class, &format!("{at}.class"))?;
        workload.check_connections(&at, name, kind)?;
        names.push(workload.name.clone().unwrap_or_else(|| name.to_string()));
        making.begin(w, commons[w], name);
        kind.make(&mut making)?;
        if trains[w] {
            library::check_alone(&making, &trains)?;
        }
    }
    number_flows(making, &commons, names)
}

#[cfg(test)]
mod tests;
