//! From a topology, a plan of flows and settings to a runnable engine.

use std::sync::Arc;

use crate::ids::{Classes, PortId};
use xoff_engine::random::Stream;
use xoff_engine::{Engine, LinkSpec, Plan as EnginePlan, PlanError};
use xoff_units::{Duration, Moment, Rate, Serializer, index, number};

use crate::congestion_control::contract::{Echo, Line};
use crate::congestion_control::{self, CongestionControl, Scheme};
use crate::core::{Core, Queueing};
use crate::count::Group;
use crate::cut_through::{self, CutThrough};
use crate::effects::Effects;
use crate::endpoint::{self, Bottlenecks, Classify, Config, Endpoint, Jitter, Mixed};
use crate::failover::Failover;
use crate::fault;
use crate::fault_injection::Faults;
use crate::framing::Framing;
use crate::job::Programs;
use crate::mechanism::{Ends, Ingress, Levels, PortShape, Site};
use crate::mechanisms::{self, Mechanisms, Part, Tables};
use crate::node::failing::Failing;
use crate::node::{self, Acks, Node};
use crate::overrides::Locals;
use crate::queueing::buffer::{Accounting, Buffer, Params as BufferParams, Share, SharedBuffer};
use crate::queueing::port::{Port, Purpose, QueuePlan, QueueSpec, Turns};
use crate::record::Wanted;
use crate::relay::{self, Scheduler};
use crate::retry::{self, Retry};
use crate::routing::ate::Weight;
use crate::routing::{FirstHop, MAX_SWITCHES, Map, longest_round_trip, shortest};
use crate::sizing;
use crate::stack::{Stack, Stacks};
use crate::streams;
use crate::topology::{NodeSpec, PortSpec, Topology};
use crate::transport::{self, Protocol};
use crate::workload::AllFlows;

/// All settings of a network.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seed of all random streams.
    pub seed: u64,
    /// Packet sizes.
    pub framing: Framing,
    /// Fixed processing delay of forwarded packets at switches.
    pub switch_delay: Duration,
    /// Place where packets wait in switches.
    pub queueing: Queueing,
    /// Admission, and mechanisms at switches and interfaces, for each port.
    pub locals: Locals,
    /// Data classes.
    pub classes: u8,
    /// Turns of classes; without turns, strict priority by number (class 0 last).
    pub turns: Option<Turns>,
    /// With turns: number of the highest classes that are served strictly first.
    pub priority_classes: u8,
    /// Class of a new flow.
    pub classify: Classify,
    /// Share of a packet's time by which packets start late at most.
    pub jitter: f64,
    /// Transports and congestion controls of hosts.
    pub stacks: Stacks,
    /// Settings of hosts that relay.
    pub relay: relay::Params,
    /// Choice of the first port at hosts with several ports.
    pub first_hop: FirstHop,
    /// Queue of acknowledgements.
    pub acks: Acks,
    /// Injected faults of switches.
    pub faults: Faults,
    /// Planned failures.
    pub failures: fault::plan::Plan,
    /// Reroutes after failures.
    pub failover: Failover,
    /// Links with link-level retry.
    pub retry: Option<retry::Params>,
    /// Records to write.
    pub wanted: Wanted,
}

impl Settings {
    /// Returns the mechanisms at ports without overrides.
    pub fn mechanisms(&self) -> &Tables {
        &self.locals.list()[0].mechanisms
    }

    /// Returns the transports for questions that do not depend on a line: the transport of most hosts, and transports
    /// of overrides.
    pub fn protocols(&self) -> Vec<Protocol> {
        self.stacks.list().iter().map(|stack| Protocol::new(&stack.transport, Line::nominal(self.framing))).collect()
    }

    /// Returns the given components, in the order of [`groups`].
    pub fn parts(&self) -> Vec<&'static str> {
        let mechanisms = self.mechanisms().parts();
        let mut names: Vec<&'static str> = mechanisms.iter().map(|p| p.name()).chain([endpoint::GROUP.name]).collect();
        for (stack, protocol) in self.stacks.list().iter().zip(self.protocols()) {
            for name in stack.congestion_control.given().into_iter().chain([protocol.name()]) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.extend((!self.failures.is_empty()).then_some(node::FAULT.name));
        names
    }

    /// Returns the memory of a forwarding node, with the share of a port.
    fn memory(&self, node: u32, port: PortId, is_host: bool) -> &BufferParams {
        if is_host { &self.relay.buffer } else { &self.locals.at(index(node), port).buffer }
    }

    /// The forwarding delay of a node.
    pub fn delay(&self, node: &NodeSpec) -> Duration {
        node.delay.unwrap_or(match (node.forwards, node.is_host) {
            (false, _) => Duration::ZERO,
            (true, false) => self.switch_delay,
            (true, true) => self.relay.delay,
        })
    }

    /// Returns the cut-through settings of port `number` of a node; `None` for store and forward.
    pub fn cut_through(&self, node: u32, number: PortId, spec: &NodeSpec) -> Option<cut_through::Params> {
        self.locals.at(index(node), number).cut_through.filter(|_| spec.forwards && !spec.is_host)
    }

    /// Returns the ingress description of port `number` of a forwarding node.
    pub fn ingress<'a>(&'a self, node: u32, number: PortId, ports: &'a [PortSpec], spec: &NodeSpec) -> Ingress<'a> {
        let (port, largest) = (&ports[number], self.framing.largest());
        let fastest = || ports.iter().map(|p| p.link.rate).fold(port.link.rate, Rate::max);
        let cut = self.cut_through(node, number, spec);
        Ingress {
            port,
            delay: self.delay(spec),
            framing: &self.framing,
            counted_after: cut.map_or(largest, |cut| cut.counted_after(largest, port.link.rate, fastest())),
            memory: self.memory(node, number, spec.is_host),
            classes: self.counted_classes(),
            is_host: spec.is_host,
        }
    }

    /// Returns the levels of a port of a forwarding node, from the mechanism with levels.
    pub fn levels(&self, node: u32, number: PortId, ports: &[PortSpec], spec: &NodeSpec) -> Option<Levels> {
        self.locals.at(index(node), number).mechanisms.levels(&self.ingress(node, number, ports, spec))
    }

    /// Returns the number of classes counted at an ingress port: classes of switches, or queues of an interface.
    pub fn counted_classes(&self) -> u8 {
        self.classes.max(self.mechanisms().interface_queues())
    }

    /// True if memory belongs to outputs: a lossy output-queued switch drops at the output.
    fn counts_egress(&self) -> bool {
        self.queueing == Queueing::Oq && self.mechanisms().accounting().is_none_or(|a| a == Accounting::Egress)
    }

    /// Returns the buffer of a forwarding node, with the levels of its ports.
    pub fn buffer(&self, node: u32, levels: &[Option<Levels>], is_host: bool) -> Buffer {
        let (ports, classes) = (levels.len(), usize::from(self.counted_classes()));
        match if is_host { &self.relay.buffer } else { &self.locals.list()[0].buffer } {
            BufferParams::Unlimited => Buffer::Unlimited,
            BufferParams::PerQueue(bytes) => {
                let limit = bytes.0 as u32;
                if self.counts_egress() { Buffer::PerEgressQueue(limit) } else { Buffer::PerIngressClass(limit) }
            }
            BufferParams::PerPort(bytes) => {
                let (limit, used) = (bytes.0 as u32, vec![0; ports]);
                if self.counts_egress() { Buffer::PerEgress { limit, used } } else { Buffer::PerIngress { limit, used } }
            }
            BufferParams::Shared(shared) => {
                let groups = PortId::each(levels).flat_map(|(port, levels)| {
                    let BufferParams::Shared(here) = self.memory(node, port, is_host) else {
                        unreachable!("an override keeps the kind of buffer")
                    };
                    // No headroom without a mechanism that pauses in time.
                    let headroom = levels.map_or(0, |l| here.headroom.map_or(l.headroom, |given| given.0));
                    std::iter::repeat_n(Share { alpha: here.alpha, headroom: headroom as i64 }, classes)
                });
                Buffer::Shared(SharedBuffer::new(shared.total.0, shared.reserve.0, groups))
            }
        }
    }
}

/// Returns the counts of all components, given or not.
pub fn groups() -> impl Iterator<Item = Group> {
    let hosts = [endpoint::GROUP].into_iter().chain(transport::GROUPS.iter().chain(congestion_control::GROUPS).copied());
    mechanisms::GROUPS.iter().copied().chain([node::ORDER, node::FAULT]).chain(hosts)
}

/// The data queues of a node's ports.
struct DataQueues {
    data: Vec<QueueSpec>,
    turns: Turns,
}

impl DataQueues {
    /// Queues of classes. A switch with virtual output queues has one queue for each class and input; a relaying host
    /// has a second queue for relayed packets.
    fn new(settings: &Settings, node: &NodeSpec, ports: usize, has_hosts: bool) -> Self {
        let classes = settings.counted_classes();
        let relays = node.is_host && node.forwards;
        let inputs = if settings.queueing == Queueing::Voq && !node.is_host { ports } else { 1 };
        // Queues of an interface are served in turn.
        let turns = settings.turns.or((settings.mechanisms().interface_queues() > 1).then_some(Turns::Packets));
        let strict = if turns.is_some() { settings.priority_classes.min(classes - 1) } else { classes };
        // The highest classes are served strictly first, one after another. The other classes take turns.
        let level = |class: u8| 2 * (classes - 1 - class).min(strict) + 1;
        let relay_level = |class: u8| level(class) - u8::from(settings.relay.scheduler == Scheduler::RelayFirst);
        let own = |class: u8| std::iter::repeat_n(QueueSpec { class, level: level(class), purpose: Purpose::Class }, inputs);
        let mut data: Vec<QueueSpec> = (0..classes).flat_map(own).collect();
        if relays {
            data.extend((0..classes).map(|class| QueueSpec { class, level: relay_level(class), purpose: Purpose::Relayed }));
        }
        if node.forwards && settings.mechanisms().any(|p| p.wants_congestion_queues) {
            data.extend((0..classes).map(|class| QueueSpec { class, level: level(class), purpose: Purpose::Congestion }));
        }
        if node.forwards && !node.is_host && has_hosts {
            let queues = usize::from(settings.mechanisms().reorder_queues());
            let of = |class: u8| std::iter::repeat_n(QueueSpec { class, level: level(class), purpose: Purpose::Reorder }, queues);
            data.extend((0..classes).flat_map(of));
        }
        // Levels without a queue would be looked at with every packet.
        let mut used: Vec<u8> = data.iter().map(|d| d.level).collect();
        used.sort_unstable();
        used.dedup();
        for queue in &mut data {
            queue.level = used.partition_point(|l| *l < queue.level) as u8;
        }
        let otherwise = if relays && settings.relay.scheduler == Scheduler::PerFlow { Turns::Suppliers } else { Turns::Packets };
        Self { data, turns: turns.unwrap_or(otherwise) }
    }
}

/// Properties of a network shared by the lines of all hosts.
#[derive(Debug, Clone)]
pub struct Lines {
    line: Line,
    bottlenecks: Bottlenecks,
}

impl Lines {
    /// Computes the properties from a network.
    pub fn new(topology: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Self {
        let nominal = Line::nominal(settings.framing);
        // Only users of acknowledgements or pulls, and components that declare the need, require the round trip.
        let asks = |stack: &Stack| {
            Scheme::new(&stack.congestion_control, nominal).hears_acks()
                || stack.congestion_control.pulls(nominal).is_some()
                || stack.transport.wants_round_trip()
        };
        let shortest = settings.protocols().iter().filter(|p| p.acknowledges()).map(|p| p.timeouts().0).min();
        let needs_it = settings.stacks.list().iter().any(asks)
            || settings.mechanisms().any(|p| p.wants_round_trip)
            || shortest.is_some_and(|timeout| timeout < Self::bound(topology, settings) * 2);
        let delay = |n: u32| settings.delay(&topology.nodes[index(n)]);
        let largest = settings.framing.largest();
        let tail_of = |n: u32, port: PortId, [input, output]: [Serializer; 2]| {
            let cut = settings.cut_through(n, port, &topology.nodes[index(n)]);
            cut.map_or(Duration::ZERO, |cut| input.time(largest) - cut_through::head(cut.header.0, largest, input, output))
        };
        let longest =
            |answer: u64| if needs_it { longest_round_trip(topology, ports, delay, tail_of, largest, answer) } else { Duration::ZERO };
        let (round_trip, answered) = (longest(0), longest(u64::from(settings.framing.control)));
        let trims = settings.mechanisms().any(|p| p.cuts_data);
        Self { line: Line { seed: settings.seed, round_trip, answered, trims, ..nominal }, bottlenecks: Bottlenecks::new(topology, ports) }
    }

    /// Returns an upper bound of a round trip without load: the longest link and slowest node at each of the maximum
    /// number of hops.
    fn bound(topology: &Topology, settings: &Settings) -> Duration {
        let frames = settings.framing.largest() + u64::from(settings.framing.control);
        let link = topology.links.iter().map(|l| l.link.delay * 2 + l.link.rate.time(frames)).max().unwrap_or_default();
        let node = topology.nodes.iter().map(|node| settings.delay(node) * 2).max().unwrap_or_default();
        (link + node) * (MAX_SWITCHES as u64 + 1).min(topology.links.len() as u64)
    }

    /// Returns the longest round trip without load; zero if no value depends on the round trip.
    pub const fn longest_round_trip(&self) -> Duration {
        self.line.answered
    }

    /// Returns the transport of a stack with derived defaults.
    pub fn protocol(&self, stack: &Stack) -> Protocol {
        Protocol::new(&stack.transport, self.line)
    }

    /// Returns the transport of hosts with ports of these rates, and the congestion control of each rate, with
    /// derived defaults and values of presets.
    pub fn settled(&self, rates: &[Rate], stack: &Stack) -> (transport::Table, Vec<(Rate, CongestionControl)>) {
        let mut distinct = rates.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let at = |rate: Rate| (rate, stack.congestion_control.settled(self.of(rate)));
        (stack.transport.settled(self.fastest(rates)), distinct.into_iter().map(at).collect())
    }

    /// The line of a port.
    pub fn of(&self, rate: Rate) -> Line {
        Line { rate, ..self.line }
    }

    /// Returns the fastest line of a host, as flows may leave by any port.
    fn fastest(&self, rates: &[Rate]) -> Line {
        self.of(rates.iter().copied().max().unwrap_or(self.line.rate))
    }

    /// Returns the lines of a host as one line.
    fn whole(&self, rates: &[Rate]) -> Line {
        self.of(Rate(rates.iter().map(|rate| rate.0).sum()))
    }
}

/// Configurations shared by endpoints with equal interfaces and stacks.
struct Configs {
    known: Vec<(Vec<Rate>, usize, Arc<Config>)>,
    lines: Lines,
}

impl Configs {
    /// Returns the shared configuration of a host with these ports, for flows of the stack with this index.
    fn of(&mut self, ports: &[PortSpec], place: usize, plan: &AllFlows, settings: &Settings) -> Arc<Config> {
        let rates: Vec<Rate> = ports.iter().map(|p| p.link.rate).collect();
        if let Some(known) = self.known.iter().find(|known| known.0 == rates && known.1 == place) {
            return known.2.clone();
        }
        let stack = &settings.stacks.list()[place];
        let schemes: Vec<Scheme> = rates.iter().map(|rate| Scheme::new(&stack.congestion_control, self.lines.of(*rate))).collect();
        let transport = Protocol::new(&stack.transport, self.lines.fastest(&rates));
        let whole = self.lines.whole(&rates);
        let on_answers = settings.mechanisms().parts().iter().any(|p| p.listens_to().is_some()).then_some(Echo::EVERY);
        let config = Arc::new(Config {
            framing: settings.framing,
            echo: schemes.first().and_then(Scheme::echo).or(on_answers),
            schemes,
            transport: transport.clone(),
            pulls: transport.pulls(whole).or_else(|| stack.congestion_control.pulls(whole)),
            loses_frames: !settings.failures.is_empty(),
            classify: settings.classify.clone(),
            jitter: Jitter::new(settings.jitter, settings.seed),
            sources: plan.sources.clone(),
            bottlenecks: self.lines.bottlenecks.leaving_by(rates.clone()),
        });
        self.known.push((rates, place, config.clone()));
        config
    }

    /// Returns the configurations of all stacks at a host with these ports, if there are several stacks. A receiver
    /// acts by the stack of the source.
    fn mixed(&mut self, ports: &[PortSpec], plan: &AllFlows, settings: &Settings) -> Option<Box<Mixed>> {
        let count = settings.stacks.list().len();
        let configs = || (0..count).map(|place| self.of(ports, place, plan, settings)).collect();
        (count > 1).then(configs).map(|configs| Box::new(Mixed { configs, places: settings.stacks.places().clone() }))
    }
}

/// Inputs for building nodes.
struct Builder<'a> {
    topology: &'a Topology,
    ports: Vec<Vec<PortSpec>>,
    settings: &'a Settings,
    map: Arc<Map>,
    round_trip: Duration,
    /// For each of [`Locals::list`].
    parts: Vec<Vec<Box<dyn Part + 'a>>>,
}

impl Builder<'_> {
    fn delay(&self, node: u32) -> Duration {
        self.settings.delay(&self.topology.nodes[index(node)])
    }

    /// Returns the levels of each ingress port of a forwarding node.
    fn levels(&self, node: u32) -> Vec<Option<Levels>> {
        let (spec, ports) = (&self.topology.nodes[index(node)], &self.ports[index(node)]);
        let levels = |number: PortId| {
            let ingress = self.settings.ingress(node, number, ports, spec);
            let parts = &self.parts[self.settings.locals.place(index(node), number)];
            parts.iter().find_map(|p| p.levels(&ingress)).filter(|_| spec.forwards)
        };
        PortId::all(ports.len()).map(levels).collect()
    }

    fn input(&self, node: u32, number: PortId) -> Ingress<'_> {
        let spec = &self.topology.nodes[index(node)];
        let ingress = self.settings.ingress(node, number, &self.ports[index(node)], spec);
        if spec.forwards { ingress } else { Ingress { memory: &BufferParams::Unlimited, ..ingress } }
    }

    /// Both ends of the links of a node.
    fn ends(&self, node: u32) -> Vec<Ends<'_>> {
        let far = |port: &PortSpec| self.input(port.peer, port.peer_port);
        let ends = |(number, port): (PortId, &PortSpec)| Ends { near: self.input(node, number), far: far(port) };
        PortId::each(&self.ports[index(node)]).map(ends).collect()
    }

    fn core(&self, node: u32, levels: &[Option<Levels>]) -> Core {
        let (spec, ports, settings) = (&self.topology.nodes[index(node)], &self.ports[index(node)], self.settings);
        let port_shape = PortShape { wiring: &self.map.wiring, relay: &settings.relay };
        let plans = DataQueues::new(settings, spec, ports.len(), !self.hosts(node).is_empty());
        let list = PortId::each(ports)
            .map(|(i, p)| {
                let planned = self.parts[0].iter().find_map(|part| part.queues(&port_shape, node, i));
                let queues = QueuePlan { data: planned.unwrap_or_else(|| plans.data.clone()), turns: plans.turns };
                let peer_delay = self.delay(p.peer);
                Port::new(&queues, p.link.rate, p.link.delay + peer_delay, p.peer, peer_delay)
            })
            .collect();
        let queueing = if spec.is_host { Queueing::Oq } else { settings.queueing };
        let buffer = if spec.forwards { settings.buffer(node, levels, spec.is_host) } else { Buffer::Unlimited };
        let merges_classes = settings.mechanisms().interface_queues() > 1 && !spec.is_host;
        Core::new(node, list, Classes(settings.counted_classes()), queueing, buffer, merges_classes)
    }

    /// Returns the cut-through input of a port, if any.
    fn cut(&self, node: u32, number: PortId) -> Option<cut_through::Input> {
        let params = self.settings.cut_through(node, number, &self.topology.nodes[index(node)])?;
        let are_chosen = self.settings.mechanisms().any(|p| p.routes) || self.settings.failover.local_repair_delay.is_some();
        Some(cut_through::Input::new(params, &self.ports[index(node)], node, number, are_chosen))
    }

    /// Returns the cut-through inputs at the other ends of the links of a node, and at the node.
    fn cut_through(&self, node: u32) -> Option<Box<CutThrough>> {
        let ports = &self.ports[index(node)];
        let ahead = ports.iter().map(|p| self.cut(p.peer, p.peer_port)).collect();
        CutThrough::new(ahead, PortId::all(ports.len()).map(|number| self.cut(node, number)).collect())
    }

    /// Returns the hosts behind a node, with their ports.
    fn hosts(&self, node: u32) -> Vec<(u32, PortId)> {
        let is_leaf = |p: &PortSpec| self.topology.nodes[index(p.peer)].is_host && !self.topology.nodes[index(p.peer)].forwards;
        PortId::each(&self.ports[index(node)]).filter(|p| is_leaf(p.1)).map(|(i, p)| (p.peer, i)).collect()
    }

    /// Returns a node with its mechanisms.
    fn node(&self, node: u32, endpoint: Option<Box<Endpoint>>, plan: &AllFlows) -> Node {
        let (spec, settings) = (&self.topology.nodes[index(node)], self.settings);
        let (levels, hosts, ends) = (self.levels(node), self.hosts(node), self.ends(node));
        let mut core = self.core(node, &levels);
        let site = Site {
            id: node,
            forwards: spec.forwards,
            is_host: spec.is_host,
            ports: &self.ports[index(node)],
            ends: &ends,
            levels: &levels,
            hosts: &hosts,
            framing: &settings.framing,
            faults: settings.faults,
            relay: &settings.relay,
            round_trip: self.round_trip,
            map: &self.map,
            sources: &plan.sources,
        };
        let mut list = Vec::new();
        for part in &self.parts[0] {
            let Some(mut mechanism) = part.install(&site, &mut core) else { continue };
            for port in PortId::all(site.ports.len()) {
                let place = settings.locals.place(index(node), port);
                let own = self.parts[place].iter().filter(|p| place > 0 && p.name() == part.name());
                own.for_each(|p| p.install_at(port, &mut mechanism));
            }
            list.push(mechanism);
        }
        let mechanisms = Mechanisms::new(list);
        let effects = Effects::new(settings.seed, node, &plan.sources.keys, mechanisms.iter().map(mechanisms::Mechanism::name));
        // A reroute may also reorder packets of a flow.
        let is_rerouted = settings.failover.is_given() && !settings.failures.is_empty();
        let reorders = settings.mechanisms().any(|p| p.routes || p.reorders) || settings.faults.overtake > 0 || is_rerouted;
        Node::new(core, self.map.clone(), spec.forwards, mechanisms, effects, endpoint)
            .with(settings.wanted.clone(), reorders, settings.acks, settings.faults)
            .cutting_through(self.cut_through(node))
            .failing(self.failing(node))
    }

    /// Returns the faults of a node.
    fn failing(&self, node: u32) -> Option<Box<Failing>> {
        let (settings, spec, ports) = (self.settings, &self.topology.nodes[index(node)], &self.ports[index(node)]);
        // Bytes in flight at a pause of a neighbour have room at the interface; with credits, all bytes have room.
        let control = u64::from(settings.framing.control);
        let largest = settings.framing.largest();
        let of = |p: &PortSpec| sizing::pfc_headroom(p.link.rate, p.link.delay, Duration::ZERO, largest, largest, control);
        let headroom = ports.iter().map(|p| of(p).0 + of(p).1).max().unwrap_or(0) * u64::from(settings.classes);
        let is_lossless = settings.mechanisms().any(|p| p.is_lossless);
        let pauses = settings.mechanisms().any(|p| p.pauses_neighbours);
        let room = if pauses {
            headroom
        } else if is_lossless {
            u64::MAX
        } else {
            0
        };
        let parts = settings.failures.parts(node);
        let follows = !settings.wanted.delays.is_none();
        // A host with another port leaves a port that is down, at the latest when all nodes know of the failure.
        let is_served = spec.is_host && !spec.forwards && ports.len() > 1;
        let local = settings.failover.local_repair_delay.or(settings.failover.convergence_time.filter(|_| is_served));
        let retries: Vec<(PortId, Retry)> = PortId::all(ports.len()).filter_map(|port| Some((port, self.retry(node, port)?))).collect();
        (!parts.is_empty() || !retries.is_empty()).then(|| {
            let mut failing = Failing::new(parts, settings.seed, node, ports);
            (failing.delay, failing.room, failing.local, failing.follows) = (self.delay(node), room, local, follows);
            failing.control = settings.framing.control;
            for (port, retry) in retries {
                failing.retries(port, retry);
            }
            Box::new(failing)
        })
    }

    /// Returns the link-level retry of the link of a port, if any.
    fn retry(&self, node: u32, port: PortId) -> Option<Retry> {
        let (framing, spec) = (&self.settings.framing, &self.ports[index(node)][port]);
        let name = |node: u32| self.topology.nodes[index(node)].name.as_str();
        let params = self.settings.retry.as_ref().filter(|retry| retry.is_for(name(node), name(spec.peer)))?;
        // Time until a frame arrived, was handled, and its acknowledgement came back.
        let answered = spec.link.delay * 2 + self.delay(spec.peer) + spec.link.rate.time(u64::from(framing.control));
        let sender = retry::Sender::new(params, framing.largest(), answered);
        Some(Retry { sender, receiver: retry::Receiver::new(params), sleeps: false, timer: Moment::NEVER })
    }

    /// Returns the links with their lookahead, by sending node and port.
    fn links(&self) -> Vec<LinkSpec> {
        let framing = &self.settings.framing;
        let own = self.parts[0].iter().filter_map(|p| p.properties().smallest_frame).min();
        let smallest = framing.minimum.min(u64::from(own.map_or(framing.control, |own| own.min(framing.control)))).max(1);
        let nodes = self.ports.iter().enumerate();
        let link = |n: usize, p: usize, port: &PortSpec| {
            let (delay, rate) = self.settings.failures.bounds(number(n), PortId::at(p), port);
            let (peer, peer_port) = (port.peer, port.peer_port);
            let header = self.settings.cut_through(peer, peer_port, &self.topology.nodes[index(peer)]).map(|cut| cut.header.0);
            let handled_after = header.map_or(smallest, |header| header.min(smallest));
            LinkSpec { from: (number(n), number(p)), to: (peer, u32::from(port.peer_port.0)), lookahead: delay + rate.time(handled_after) }
        };
        nodes.flat_map(|(n, list)| list.iter().enumerate().map(move |(p, port)| link(n, p, port))).collect()
    }
}

/// Builds all nodes and the engine.
pub fn build(topology: &Topology, mut plan: AllFlows, settings: &Settings, engine: EnginePlan) -> Result<Engine<Node>, PlanError> {
    let ends = plan.ends(topology.nodes.len());
    let routes = shortest(topology, plan.paths.clone(), &settings.first_hop, settings.seed, |node| ends[node]);
    let map = Arc::new(Map::new(routes, topology.wiring()));
    let parts = settings.locals.list().iter().map(|l| l.mechanisms.parts()).collect();
    let ports = topology.ports();
    let lines = Lines::new(topology, &ports, settings);
    let builder = Builder { topology, ports, settings, map, round_trip: lines.line.round_trip, parts };
    let mut starts = std::mem::take(&mut plan.starts).into_iter();
    let mut waiting = std::mem::take(&mut plan.waiting).into_iter();
    let mut configs = Configs { known: Vec::new(), lines };
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    for (n, spec) in topology.nodes.iter().enumerate() {
        let id = number(n);
        let (starts, waiting) = (starts.next().unwrap_or_default(), waiting.next().unwrap_or_default());
        let endpoint = spec.is_host.then(|| {
            let weight = match &settings.first_hop {
                FirstHop::Asymmetric(ate) => Some(Weight::new(ate, Stream::new(settings.seed, u64::from(id), streams::FIRST_HOP))),
                FirstHop::Hash | FirstHop::Lowest | FirstHop::Highest => None,
            };
            let config = configs.of(&builder.ports[n], settings.stacks.place(n), &plan, settings);
            let mut endpoint = Endpoint::new(id, config, weight, starts, waiting);
            endpoint.mixed = configs.mixed(&builder.ports[n], &plan, settings);
            endpoint.arrivals = std::mem::take(&mut plan.arrivals[n]);
            endpoint.connections = std::mem::take(&mut plan.connections[n]);
            endpoint.incoming = std::mem::take(&mut plan.incoming[n]);
            endpoint.programs = Programs::new(std::mem::take(&mut plan.programs[n]));
            Box::new(endpoint)
        });
        nodes.push(builder.node(id, endpoint, &plan));
    }
    // A host lies in memory beside its switch.
    let groups: Vec<u32> = (0..topology.nodes.len())
        .map(|n| match builder.ports[n].as_slice() {
            [only] if topology.nodes[n].is_host => only.peer,
            _ => number(n),
        })
        .collect();
    Engine::new(nodes, &groups, &builder.links(), engine)
}

#[cfg(test)]
impl Settings {
    /// Switches without limits or mechanisms, and hosts with Go-Back-N at line rate; a full packet takes 100 ns at 100 Gb/s.
    pub(crate) fn for_tests() -> Self {
        let framing = Framing::for_tests();
        Self {
            seed: 1,
            framing,
            switch_delay: Duration::ZERO,
            queueing: Queueing::default(),
            locals: Locals::uniform(crate::overrides::Local::default()),
            classes: 1,
            turns: None,
            priority_classes: 0,
            classify: Classify::default(),
            jitter: 0.0,
            stacks: Stacks::uniform(Stack::default()),
            relay: relay::Params::default(),
            first_hop: FirstHop::default(),
            acks: Acks::default(),
            faults: Faults::default(),
            failures: fault::plan::Plan::default(),
            failover: Failover::default(),
            retry: None,
            wanted: Wanted::default(),
        }
    }
}
