//! The context in which workloads make flows: hosts by name, checks of sizes and ends, limits, and random
//! streams.
//!
//! Keys in errors are full paths. The streams of a workload depend on its name, its turn among workloads of
//! the same name, its kind, and the host where each host draws for itself. A workload therefore does not
//! disturb another. Limits: `docs/models/size.md`.

use std::any::Any;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{Bytes, Duration, Moment, Rate, index, number, wide};

use super::collective_summary::Together;
use super::connected::Connected;
use super::host::Host;
use super::row::Flow;
use crate::frames::flow::{Drawn, SourceQueue};
use crate::frames::framing::Framing;
use crate::parts::streams::{self, Keys, at_host, label};
use crate::paths::topology::{PortSpec, Reach, Topology};
use crate::traffic::application::{Connection, Planned, Plans};

/// Most dependencies between flows, at 16 bytes or more: 1 GB.
const MAX_WAITS: u64 = 1 << 26;
/// Most flows of a scenario. Each takes a few bytes during the whole run.
pub const MAX_FLOWS: u64 = 100_000_000;
/// Most listed flows of a scenario. Flows drawn one by one take less memory.
pub const MAX_LISTED: u64 = 1 << 24;

/// A key and its problem.
pub type Problem = (String, String);

/// `workload[…].connections`: the relation of messages and flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// Messages of a channel between two ranks share one flow, which keeps its state from message to message.
    Persistent,
    /// Each message is a new flow.
    PerMessage,
}

/// The keys that all kinds of traffic share.
#[derive(Debug, Clone, Copy)]
pub struct Common<'a> {
    /// The given name.
    pub name: Option<&'a str>,
    /// The start of the workload.
    pub start: Moment,
    /// Priority class of the packets.
    pub class: u8,
    /// The relation of messages and flows.
    pub connections: Connections,
    /// Keys of the table beside the kind's own, for kinds that know the type.
    pub others: &'a dyn Any,
    /// Connections between two ranks for each channel.
    pub connections_per_channel: u16,
    /// True for flows that stand in a table.
    pub is_table: bool,
}

/// A flow of a workload. The flow starts when the flows of the workload at these positions have arrived or
/// left.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// Sending node.
    pub src: u32,
    /// Receiving node.
    pub dst: u32,
    /// Payload.
    pub size: Bytes,
    /// The start, after the workload's start.
    pub start: Duration,
    /// Flows that must arrive at the source, or whose last packet must leave the source.
    pub after: Vec<usize>,
    /// A name, to be shown in tables (`label`).
    pub name: Option<String>,
}

/// A flow without a number yet.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    /// In the order in which flows were listed.
    pub position: usize,
    /// Positions of the flows that this flow waits for, if a workload made the flow.
    pub after: Vec<usize>,
    pub src: u32,
    pub dst: u32,
    pub size: u64,
    pub start: Moment,
    pub class: u8,
    pub workload: u16,
    /// The key for hashes and draws.
    pub key: u32,
    /// The flow was under way when its workload began.
    pub is_warm: bool,
    /// The row of a listed flow.
    pub detail: Option<(usize, &'a Flow)>,
    /// Arrival times of the packets, for data that arrives packet by packet.
    pub arrivals: Option<Box<SourceQueue>>,
}

/// The drawn flows of one node and one workload.
#[derive(Debug)]
pub(super) struct DrawnAt {
    pub workload: u16,
    pub node: u32,
    /// The base of the flows' keys.
    pub entity: u64,
    pub flows: Box<dyn Drawn>,
}

/// The context in which a workload makes flows, and the flows of all workloads so far.
#[derive(Debug)]
pub struct Making<'a> {
    /// The present workload.
    pub workload: Common<'a>,
    /// The network.
    pub topology: &'a Topology,
    /// The ports of each node.
    pub ports: Vec<Vec<PortSpec>>,
    /// Sizes on the wire.
    pub framing: &'a Framing,
    pub(super) nodes: HashMap<&'a str, u32>,
    pub(super) listed: Vec<Listed<'a>>,
    /// Names of listed flows by position, beside ids of rows.
    pub(super) named: HashMap<usize, String>,
    pub(super) drawn: Vec<DrawnAt>,
    pub(super) collectives: Vec<Together>,
    pub(super) applications: Plans,
    pub(super) connected: Vec<Connected>,
    pub(super) lasts: Moment,
    hosts: Vec<u32>,
    /// Forwarding delay of switches.
    pub switch_delay: Duration,
    /// Priority classes of the switches.
    pub(super) classes: u8,
    seed: u64,
    index: usize,
    kind: &'static str,
    /// The base of streams and keys of the present workload.
    entity: u64,
    /// The number of flows and connections.
    count: usize,
    /// The number of flows and connections of earlier workloads.
    before: usize,
    /// The number of workloads of each name.
    turns: HashMap<String, u32>,
}

impl<'a> Making<'a> {
    /// Begins with the first workload of a network. Draws depend on `seed`.
    pub fn new(
        first: Common<'a>,
        topology: &'a Topology,
        framing: &'a Framing,
        seed: u64,
        switch_delay: Duration,
        classes: u8,
    ) -> Self {
        let nodes =
            topology.nodes.iter().enumerate().map(|(n, node)| (node.name.as_str(), number(n))).collect();
        let (ports, hosts) = (topology.ports(), topology.hosts());
        let (listed, drawn) = (Vec::new(), Vec::new());
        let (collectives, lasts) = (Vec::new(), Moment::ZERO);
        Self {
            workload: first,
            topology,
            ports,
            framing,
            nodes,
            listed,
            named: HashMap::new(),
            drawn,
            collectives,
            applications: Plans::default(),
            connected: Vec::new(),
            lasts,
            hosts,
            switch_delay,
            classes,
            seed,
            index: 0,
            kind: "",
            entity: 0,
            count: 0,
            before: 0,
            turns: HashMap::new(),
        }
    }

    /// Begins the workload at an index of the document. `kind` is the name of its kind of traffic.
    pub fn begin(&mut self, index: usize, workload: Common<'a>, kind: &'static str) {
        (self.index, self.workload, self.kind, self.before) = (index, workload, kind, self.count);
        let name = workload.name.unwrap_or_else(|| label(kind));
        let turn = self.turns.entry(name.to_string()).or_default();
        self.entity = streams::workload(name, *turn);
        *turn += 1;
    }

    /// The workload's place in the document.
    pub const fn index(&self) -> u32 {
        number(self.index)
    }

    /// The workload's key.
    pub fn at(&self) -> String {
        format!("workload[{}]", self.index)
    }

    /// The key of the workload's kind of traffic.
    pub fn key(&self) -> String {
        format!("workload[{}].{}", self.index, self.kind)
    }

    /// Returns the node of a host; `key` is the key that names the host.
    pub fn host(&self, host: &Host, key: &str) -> Result<u32, Problem> {
        let hosts = &self.hosts;
        match host {
            Host::Number(n) => hosts.get(*n as usize).copied().ok_or_else(|| {
                (key.to_string(), format!("unknown host {n}; hosts are numbered 0 to {}", hosts.len() - 1))
            }),
            Host::Name(name) => match self.nodes.get(name.as_str()) {
                Some(n) if self.topology.nodes[index(*n)].reduces => Err((
                    key.to_string(),
                    format!("`{name}` reduces in a switch; flows start and end at hosts"),
                )),
                Some(n) if self.topology.nodes[index(*n)].is_host => Ok(*n),
                Some(_) => {
                    Err((key.to_string(), format!("`{name}` is a switch; flows start and end at hosts")))
                }
                None => Err((key.to_string(), format!("unknown host `{name}`"))),
            },
        }
    }

    /// Returns the nodes of these hosts, each once, or of all hosts by default; `key` is the key of the list.
    pub fn hosts(&self, given: Option<&Vec<Host>>, key: &str) -> Result<Vec<u32>, Problem> {
        let Some(given) = given else { return Ok(self.hosts.clone()) };
        let list = given
            .iter()
            .enumerate()
            .map(|(i, h)| self.host(h, &format!("{key}[{i}]")))
            .collect::<Result<Vec<_>, _>>()?;
        let mut sorted = list.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() != list.len() {
            return Err((key.to_string(), "a host is listed twice".into()));
        }
        Ok(list)
    }

    /// The sum of the rates of a host's links, to which loads refer.
    pub fn rate(&self, host: u32) -> Rate {
        Rate(self.ports[index(host)].iter().map(|p| p.link.rate.0).sum())
    }

    /// The workload's random stream.
    pub fn stream(&self) -> Stream {
        Stream::new(self.seed, self.entity, label(self.kind))
    }

    /// The stream of one host, for workloads whose hosts draw separately.
    pub fn stream_of(&self, host: u32) -> Stream {
        self.stream_for(host, self.kind)
    }

    /// Another stream of the host, so that draws for one purpose do not disturb draws for another.
    pub fn stream_for(&self, host: u32, purpose: &str) -> Stream {
        Stream::new(self.seed, at_host(self.entity, host), label(purpose))
    }

    /// Refuses a class that the switches do not have; `key` is the key of the class.
    pub fn check_class(&self, class: u8, key: &str) -> Result<(), Problem> {
        if class >= self.classes {
            let why = format!("{class} is out of range; the switches have {} (switch.classes)", self.classes);
            return Err((key.to_string(), why));
        }
        Ok(())
    }

    /// Refuses a flow from a host to itself; `key` is the key of the flow.
    pub fn check_ends(&self, src: u32, dst: u32, key: &str) -> Result<(), Problem> {
        if src == dst {
            return Err((
                key.to_string(),
                format!("`{}` sends to itself", self.topology.nodes[index(src)].name),
            ));
        }
        Ok(())
    }

    /// Refuses a flow without a byte or with too many packets; `key` is the key of the size.
    pub fn check_size(&self, size: Bytes, key: &str) -> Result<(), Problem> {
        let payload = self.framing.payload;
        if size.0 == 0 {
            return Err((format!("{key}.size"), "must be at least 1B".into()));
        }
        if size.0 / payload >= u64::from(u32::MAX) {
            return Err((
                format!("{key}.size"),
                format!("{size} makes more than 2^32 packets of {payload} B"),
            ));
        }
        Ok(())
    }

    /// Refuses flows beyond the limit of listed flows before the flows are made.
    pub fn check_room(&self, flows: u64, key: &str) -> Result<(), Problem> {
        fits(key, flows.saturating_add(wide(self.count)))
    }

    /// Sets the duration of the workload, for workloads whose flows do not show the duration.
    pub fn lasts(&mut self, duration: Duration) {
        self.lasts = self.lasts.max(self.workload.start + duration);
    }

    /// The number of flows that may still be drawn.
    pub fn room_to_draw(&self) -> u64 {
        MAX_FLOWS.saturating_sub(self.drawn.iter().map(|d| d.flows.count()).sum())
    }

    /// Lists a flow that starts with the workload; `key` is the key to blame.
    pub fn add(&mut self, src: u32, dst: u32, size: Bytes, key: &str) -> Result<(), Problem> {
        self.check_ends(src, dst, key)?;
        self.check_size(size, key)?;
        self.list(src, dst, size.0, self.workload.start);
        self.check_room(0, key)
    }

    /// Lists flows with dependencies.
    pub fn add_made(&mut self, made: Vec<Made>) -> Result<(), Problem> {
        self.check_room(wide(made.len()), &self.at())?;
        let first = self.listed.len();
        for f in made {
            let after = f.after.iter().map(|a| first + a).collect();
            self.named.extend(f.name.map(|name| (self.listed.len(), name)));
            self.list(f.src, f.dst, f.size.0, self.workload.start + f.start).after = after;
        }
        Ok(())
    }

    /// Returns the reducers in switches and their distances to these hosts.
    pub fn reach(&self, hosts: &[u32]) -> Vec<Reach> {
        self.topology.reach(&self.ports, hosts)
    }

    /// Returns the plan of an application, to which workloads add; an empty plan is made at the first call.
    pub fn plan<P: Planned>(&mut self) -> Result<&mut P, Problem> {
        let key = self.key();
        let why = "plug-ins have more than six applications in this scenario; remove one";
        self.applications.entry().ok_or((key, why.into()))
    }

    /// Returns the plans of all applications so far.
    pub const fn plans(&self) -> &Plans {
        &self.applications
    }

    /// Adds connections of an application between its ranks, which are at these nodes; connections of one rank stand next to
    /// each other. `of` is the application's own number for the list ([`crate::traffic::application::NumberedBlock::of`]). `is_open`:
    /// messages and bytes are unknown before the run.
    pub fn connect<P: Planned>(
        &mut self,
        of: u32,
        nodes: Vec<u32>,
        list: Vec<Connection>,
        is_open: bool,
    ) -> Result<(), Problem> {
        self.check_room(wide(list.len()), &if is_open { self.key() } else { self.at() })?;
        if let Some(one) = list.iter().find(|one| one.packets >= u64::from(u32::MAX)) {
            let [from, to] =
                [one.from, one.to].map(|rank| &self.topology.nodes[index(nodes[index(rank)])].name);
            let why = format!(
                "{from} would send {to} {} packets on a connection; less than 2^32 are possible",
                one.packets
            );
            return Err((self.at(), why));
        }
        let owner = (self.plan::<P>()?.id(), of);
        let keys = (self.entity, wide(self.count - self.before));
        let (workload, position, class) = (self.index as u16, self.listed.len(), self.workload.class);
        self.count += list.len();
        let start = self.workload.start;
        self.connected.push(Connected {
            owner,
            is_open,
            workload,
            position,
            keys,
            start,
            class,
            nodes,
            list,
        });
        Ok(())
    }

    /// Measures the workload's flows together.
    pub fn measure(&mut self, collective: Together) {
        self.collectives.push(collective);
    }

    /// Adds flows of a node that are drawn during the run.
    pub fn add_drawn(&mut self, node: u32, flows: impl Drawn + 'static) {
        let entity = at_host(self.entity, node);
        self.drawn.push(DrawnAt { workload: self.index as u16, node, entity, flows: Box::new(flows) });
    }

    /// Lists a flow that is under way when the workload begins.
    pub fn add_warm(&mut self, src: u32, dst: u32, size: u64) {
        self.list(src, dst, size, self.workload.start).is_warm = true;
    }

    /// Lists a flow whose packets arrive at the source one by one, the first at `start`.
    pub fn add_arriving(&mut self, src: u32, dst: u32, size: u64, start: Moment, arrivals: SourceQueue) {
        self.list(src, dst, size, start).arrivals = Some(Box::new(arrivals));
    }

    /// Lists a checked flow.
    pub(super) fn list(&mut self, src: u32, dst: u32, size: u64, start: Moment) -> &mut Listed<'a> {
        let (position, class, workload) = (self.listed.len(), self.workload.class, self.index as u16);
        let (after, is_warm, detail, arrivals) = (Vec::new(), false, None, None);
        let key = Keys::key(self.entity, wide(self.count - self.before));
        self.listed.push(Listed {
            position,
            after,
            src,
            dst,
            size,
            start,
            class,
            workload,
            key,
            is_warm,
            detail,
            arrivals,
        });
        self.count += 1;
        &mut self.listed[position]
    }
}

/// Refuses flows beyond the limit of listed flows before the flows are made.
pub fn fits(key: &str, flows: u64) -> Result<(), Problem> {
    if flows > MAX_LISTED {
        let why = format!("too many flows; the maximum is {MAX_LISTED}; give fewer hosts or rows");
        return Err((key.to_string(), why));
    }
    Ok(())
}

/// Refuses dependencies beyond the limit of memory.
pub fn waits_fit(key: &str, waits: u64) -> Result<(), Problem> {
    if waits > MAX_WAITS {
        let why = format!(
            "{waits} or more dependencies between flows exceed the maximum of {MAX_WAITS}; give fewer hosts or rounds"
        );
        return Err((key.to_string(), why));
    }
    Ok(())
}
