//! What is sent: workloads, the flows that they make, and when these start.
//!
//! Listed flows wait in a list; Poisson flows are drawn one at a time, when their time comes, from a stream of their source.

pub mod bernoulli;
pub mod incasts;
pub mod moe;
mod numbering;
pub mod parameter_server;
pub mod poisson;
pub mod sizes;

use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use xoff_engine::random::Stream;
use xoff_units::{Bytes, Rate, Time};

use self::numbering::{Listed, number, row};
pub use self::numbering::{MAX_START, Plan};
use crate::framing::Framing;
use crate::topology::Topology;

/// A host by number or by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Host {
    /// The n-th host.
    Number(u64),
    /// Its name.
    Name(String),
}

impl<'de> Deserialize<'de> for Host {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Host;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a host's number or its name, such as 8 or \"host8\"")
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Host, E> {
                Ok(Host::Number(n))
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Host, E> {
                u64::try_from(n).map(Host::Number).map_err(|_| E::custom(format!("{n} is not a host's number")))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Host, E> {
                Ok(Host::Name(name.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Host {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Host".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["integer", "string"], "minimum": 0, "description": "a host's number or its name" })
    }
}

/// `workload[…].incast`: several senders, one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Who sends.
    pub senders: Vec<Host>,
    /// Who receives.
    pub receiver: Host,
    /// Payload of each sender.
    pub size: Bytes,
}

/// `workload[…].permutation`: every host sends to another, in one random cycle over all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Payload of each.
    pub size: Bytes,
    /// Which hosts; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

/// `workload[…].all_to_all`: every host sends to every other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Payload of each pair.
    pub size: Bytes,
    /// Which hosts; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

/// A listed flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Who sends.
    pub src: Host,
    /// Who receives.
    pub dst: Host,
    /// Payload.
    pub size: Bytes,
    /// When, after the workload's start.
    #[serde(default)]
    pub start: Time,
    /// A unique name, to be shown and to wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Starts when all of these have arrived at its source (and not before its start).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// The nodes it passes, in order; `name/k` takes the k-th of parallel links into that node. Default: ECMP.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
}

/// `[[workload]]`: exactly one kind of traffic.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Shown in tables. Default: the kind of traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it begins.
    #[serde(default)]
    pub start: Time,
    /// Priority class of its packets.
    #[serde(default)]
    pub class: u8,
    /// Several senders, one receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incast: Option<Incast>,
    /// Incasts again and again, at random hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incasts: Option<incasts::Params>,
    /// Pushes to a server and its broadcast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameter_server: Option<parameter_server::Params>,
    /// Tokens to experts and back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moe: Option<moe::Params>,
    /// One random cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permutation: Option<Permutation>,
    /// Every pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_to_all: Option<AllToAll>,
    /// Random arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poisson: Option<poisson::Params>,
    /// Open-loop sources: frames at random in the slots of their lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bernoulli: Option<bernoulli::Params>,
    /// A list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<Flow>>,
    /// A CSV or Parquet file with a list: columns src, dst, size and optionally start, id, after, via (both separated by `;`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
}

/// A flow as its source knows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowSpec {
    /// Its number.
    pub flow: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: u64,
    /// When it starts.
    pub start: Time,
    /// Pinned path, or 0.
    pub path: u16,
    /// Priority class.
    pub class: u8,
}

/// Where a source's flows come from.
#[derive(Debug)]
pub enum Start {
    /// From a list in order of start.
    List(std::vec::IntoIter<FlowSpec>),
    /// Drawn one by one.
    Poisson(poisson::Source),
}

impl Start {
    /// When the next flow starts.
    pub fn peek(&self) -> Option<Time> {
        match self {
            Self::List(list) => list.as_slice().first().map(|f| f.start),
            Self::Poisson(source) => source.peek(),
        }
    }

    /// Takes the next flow.
    pub fn take(&mut self) -> Option<FlowSpec> {
        match self {
            Self::List(list) => list.next(),
            Self::Poisson(source) => source.take(),
        }
    }
}

/// A key and what is wrong with it.
pub type Problem = (String, String);

/// A flow that a workload makes; it starts when those of the same workload with these positions have arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// Sending node.
    pub src: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: Bytes,
    /// When, after the workload's start.
    pub start: Time,
    /// Flows that arrive at its source.
    pub after: Vec<usize>,
}

/// Refuses more flows than may be listed before they are made.
fn fits(key: &str, flows: u64) -> Result<(), Problem> {
    if flows > MAX_LISTED { Err(too_many_listed(key)) } else { Ok(()) }
}

/// Refuses more waits of flows for others than fit into memory.
fn waits_fit(key: &str, waits: u64) -> Result<(), Problem> {
    if waits > MAX_WAITS {
        let why = format!("its flows would wait {waits} times or more for another; {MAX_WAITS} are possible; give fewer hosts or rounds");
        return Err((key.to_string(), why));
    }
    Ok(())
}

/// Waits of flows for others, 16 bytes each or more: 1 GB.
const MAX_WAITS: u64 = 1 << 26;
/// Flows that a scenario may have: each takes a few bytes from the beginning to the end of a run.
pub const MAX_FLOWS: u64 = 100_000_000;
/// Flows that a scenario may list; those that are drawn one by one take less memory.
pub const MAX_LISTED: u64 = 1 << 24;

fn too_many_listed(key: &str) -> Problem {
    (key.to_string(), format!("these are more flows than the {MAX_LISTED} that a scenario may list; give fewer hosts or rows"))
}

/// Works out all flows. `nic_rate` is what loads refer to.
pub fn plan(workloads: &[Workload], topology: &Topology, classes: u8, framing: &Framing, seed: u64) -> Result<Plan, Problem> {
    let payload = framing.payload;
    let hosts = topology.hosts();
    let ports = topology.ports();
    let mut names_to_nodes: HashMap<&str, u32> = HashMap::new();
    for (n, node) in topology.nodes.iter().enumerate() {
        names_to_nodes.insert(&node.name, n as u32);
    }
    let find = |host: &Host, key: &str| -> Result<u32, Problem> {
        match host {
            Host::Number(n) => hosts
                .get(*n as usize)
                .copied()
                .ok_or_else(|| (key.to_string(), format!("there is no host {n}; hosts are numbered 0 to {}", hosts.len() - 1))),
            Host::Name(name) => match names_to_nodes.get(name.as_str()) {
                Some(n) if topology.nodes[*n as usize].is_host => Ok(*n),
                Some(_) => Err((key.to_string(), format!("`{name}` is a switch; flows start and end at hosts"))),
                None => Err((key.to_string(), format!("there is no host `{name}`"))),
            },
        }
    };
    let all = |given: Option<&Vec<Host>>, key: &str| -> Result<Vec<u32>, Problem> {
        let Some(given) = given else { return Ok(hosts.clone()) };
        let list = given.iter().enumerate().map(|(i, h)| find(h, &format!("{key}[{i}]"))).collect::<Result<Vec<_>, _>>()?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err((key.to_string(), "a host is listed twice".into()));
        }
        Ok(list)
    };
    let mut listed: Vec<Listed<'_>> = Vec::new();
    let mut drawn: Vec<(u16, u32, poisson::Source)> = Vec::new();
    let mut drawn_flows = 0;
    let mut names = Vec::new();
    for (w, workload) in workloads.iter().enumerate() {
        let at = format!("workload[{w}]");
        let mut kinds = Vec::new();
        macro_rules! kinds {
            ($($kind:ident),*) => { $(if workload.$kind.is_some() { kinds.push(stringify!($kind)); })* };
        }
        kinds!(incast, incasts, parameter_server, moe, permutation, all_to_all, poisson, bernoulli, flows);
        let [kind] = kinds.as_slice() else {
            let given = if kinds.is_empty() { "none is".to_string() } else { format!("{} are", kinds.join(" and ")) };
            return Err((
                at,
                format!(
                    "{given} given; give exactly one of incast, incasts, parameter_server, moe, permutation, all_to_all, poisson, bernoulli, flows, table"
                ),
            ));
        };
        if workload.class >= classes {
            return Err((
                format!("{at}.class"),
                format!("{} is out of range; the switches have {classes} (switch.classes)", workload.class),
            ));
        }
        let index = w as u16;
        names.push(workload.name.clone().unwrap_or_else(|| (*kind).to_string()));
        let (start, class) = (workload.start, workload.class);
        let add = |listed: &mut Vec<Listed<'_>>, src: u32, dst: u32, size: Bytes, key: &str| -> Result<(), Problem> {
            check_ends(src, dst, key, topology)?;
            check_size(size, payload, key)?;
            let position = listed.len();
            listed.push(Listed {
                position,
                after: Vec::new(),
                src,
                dst,
                size: size.0,
                start,
                class,
                workload: index,
                detail: None,
                arrivals: None,
            });
            if listed.len() as u64 > MAX_LISTED { Err(too_many_listed(key)) } else { Ok(()) }
        };
        if let Some(incast) = &workload.incast {
            let key = format!("{at}.incast");
            let receiver = find(&incast.receiver, &format!("{key}.receiver"))?;
            check_size(incast.size, payload, &key)?;
            if incast.senders.is_empty() {
                return Err((format!("{key}.senders"), "the list is empty".into()));
            }
            for (i, sender) in incast.senders.iter().enumerate() {
                let key = format!("{key}.senders[{i}]");
                let src = find(sender, &key)?;
                add(&mut listed, src, receiver, incast.size, &key)?;
            }
        }
        let mut made = Vec::new();
        if let Some(incasts) = &workload.incasts {
            let key = format!("{at}.incasts");
            let members = all(incasts.hosts.as_ref(), &format!("{key}.hosts"))?;
            check_size(incasts.size, payload, &key)?;
            made = incasts.flows(&key, &members, Stream::new(seed, w as u64, "incasts"))?;
        }
        if let Some(server) = &workload.parameter_server {
            let key = format!("{at}.parameter_server");
            let workers = all(server.workers.as_ref(), &format!("{key}.workers"))?;
            check_size(server.size, payload, &key)?;
            made = server.flows(&key, find(&server.server, &format!("{key}.server"))?, &workers)?;
        }
        if let Some(moe) = &workload.moe {
            let key = format!("{at}.moe");
            let members = all(moe.hosts.as_ref(), &format!("{key}.hosts"))?;
            if moe.token.0 == 0 || moe.token.0.saturating_mul(moe.tokens) / payload >= u64::from(u32::MAX) {
                return Err((format!("{key}.token"), format!("{} is out of range for {} tokens", moe.token, moe.tokens)));
            }
            made = moe.flows(&key, &members, Stream::new(seed, w as u64, "moe"))?;
        }
        let first = listed.len();
        fits(&at, (first + made.len()) as u64)?;
        listed.extend(made.into_iter().enumerate().map(|(i, f)| Listed {
            position: first + i,
            after: f.after.iter().map(|a| first + a).collect(),
            src: f.src,
            dst: f.dst,
            size: f.size.0,
            start: start + f.start,
            class,
            workload: index,
            detail: None,
            arrivals: None,
        }));
        if let Some(permutation) = &workload.permutation {
            let key = format!("{at}.permutation");
            let mut members = all(permutation.hosts.as_ref(), &format!("{key}.hosts"))?;
            if members.len() < 2 {
                return Err((format!("{key}.hosts"), "a permutation needs two hosts or more".into()));
            }
            Stream::new(seed, w as u64, "permutation").shuffle(&mut members);
            for i in 0..members.len() {
                add(&mut listed, members[i], members[(i + 1) % members.len()], permutation.size, &key)?;
            }
        }
        if let Some(all_to_all) = &workload.all_to_all {
            let key = format!("{at}.all_to_all");
            let members = all(all_to_all.hosts.as_ref(), &format!("{key}.hosts"))?;
            if members.len() < 2 {
                return Err((format!("{key}.hosts"), "all-to-all traffic needs two hosts or more".into()));
            }
            if members.len() as u64 * (members.len() as u64 - 1) + listed.len() as u64 > MAX_LISTED {
                return Err(too_many_listed(&key));
            }
            for (i, src) in members.iter().enumerate() {
                // Each starts with its successor, so that no host is everybody's first.
                for j in 1..members.len() {
                    add(&mut listed, *src, members[(i + j) % members.len()], all_to_all.size, &key)?;
                }
            }
        }
        if let Some(poisson) = &workload.poisson {
            let key = format!("{at}.poisson");
            let sources = all(poisson.sources.as_ref(), &format!("{key}.sources"))?;
            let destinations = all(poisson.destinations.as_ref(), &format!("{key}.destinations"))?;
            let rate = |n: u32| Rate(ports[n as usize].iter().map(|p| p.link.rate.0).sum());
            let made = poisson.sources(&key, &sources, &destinations, rate, start, class, w as u64, seed, MAX_FLOWS - drawn_flows)?;
            drawn_flows += made.iter().map(|(_, source)| source.count()).sum::<u64>();
            drawn.extend(made.into_iter().map(|(node, source)| (index, node, source)));
        }
        if let Some(bernoulli) = &workload.bernoulli {
            let key = format!("{at}.bernoulli");
            let sources = all(Some(&bernoulli.sources), &format!("{key}.sources"))?;
            let line = |n: u32| ports[n as usize].iter().map(|p| p.link.rate).max().unwrap_or(Rate(1));
            bernoulli.validate(&key, framing, sources.iter().map(|n| line(*n)).max().unwrap_or(Rate(1)))?;
            for (i, src) in sources.iter().enumerate() {
                let which = if bernoulli.destinations.len() == 1 { 0 } else { i };
                let dst = find(&bernoulli.destinations[which], &format!("{key}.destinations[{which}]"))?;
                check_ends(*src, dst, &format!("{key}.sources[{i}]"), topology)?;
                let stream = Stream::new(seed, (w as u64) << 32 | u64::from(*src), "bernoulli");
                let Some((arrivals, first, count)) = bernoulli.arrivals(line(*src), framing, start, stream) else { continue };
                let size = u64::from(count) * payload;
                listed.push(Listed {
                    position: listed.len(),
                    after: Vec::new(),
                    src: *src,
                    dst,
                    size,
                    start: first,
                    class,
                    workload: index,
                    detail: None,
                    arrivals: Some(Box::new(arrivals)),
                });
            }
            fits(&key, listed.len() as u64)?;
        }
        if let Some(flows) = &workload.flows {
            if flows.len() as u64 + listed.len() as u64 > MAX_LISTED {
                return Err(too_many_listed(&at));
            }
            for (i, flow) in flows.iter().enumerate() {
                let key = row(w, workload, i);
                let src = find(&flow.src, &format!("{key}.src"))?;
                let dst = find(&flow.dst, &format!("{key}.dst"))?;
                check_ends(src, dst, &key, topology)?;
                check_size(flow.size, payload, &key)?;
                listed.push(Listed {
                    position: listed.len(),
                    after: Vec::new(),
                    src,
                    dst,
                    size: flow.size.0,
                    start: start + flow.start,
                    class,
                    workload: index,
                    detail: Some((i, flow)),
                    arrivals: None,
                });
            }
        }
    }
    number(topology, workloads, listed, drawn, names, &names_to_nodes)
}

fn check_ends(src: u32, dst: u32, key: &str, topology: &Topology) -> Result<(), Problem> {
    if src == dst {
        return Err((key.to_string(), format!("`{}` sends to itself", topology.nodes[src as usize].name)));
    }
    Ok(())
}

/// `key` is what holds the size.
fn check_size(size: Bytes, payload: u64, key: &str) -> Result<(), Problem> {
    if size.0 == 0 {
        return Err((format!("{key}.size"), "it is zero; a flow has at least one byte".into()));
    }
    if size.0 / payload >= u64::from(u32::MAX) {
        return Err((format!("{key}.size"), format!("{size} makes more than 2^32 packets of {payload} B")));
    }
    Ok(())
}
