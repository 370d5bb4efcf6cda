//! From a topology, a plan of flows and settings to a runnable engine.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use xoff_engine::random::Stream;
use xoff_engine::{Checkpoint, Engine, Finish, LinkSpec, Plan as EnginePlan, PlanError};
use xoff_units::{Duration, Moment, Rate, index, number};

use super::lines::Lines;
use super::settings::Settings;
use crate::frames::tag::TagField;
use crate::hosts::congestion_control::contract::Echo;
use crate::hosts::congestion_control::{self, Scheme};
use crate::hosts::endpoint::{self, Config, Endpoint, Jitter, Mixed, Schemes};
use crate::hosts::transport::{self, Protocol};
use crate::mechanisms::contract::{Ends, Ingress, Levels, PortShape, Site};
use crate::mechanisms::{self, Mechanisms, Part, sizing};
use crate::network::node::failing::Failing;
use crate::network::node::{self, Node};
use crate::parts::count::Group;
use crate::parts::ids::{Classes, PortId};
use crate::parts::plugin_parts::PartKind;
use crate::parts::streams;
use crate::paths::retry::{self, Retry};
use crate::paths::routing::ate::Weight;
use crate::paths::routing::shortest::shortest;
use crate::paths::routing::{FirstHop, Map, choose_alike};
use crate::paths::symmetry::ties::Symmetric;
use crate::paths::topology::{NodeSpec, PortSpec, Topology};
use crate::ports::core::{Core, Queueing};
use crate::ports::cut_through::{self, CutThrough};
use crate::ports::effects::Effects;
use crate::ports::nvlink::links::NvLinks;
use crate::ports::queueing::buffer::{Buffer, Params as BufferParams};
use crate::ports::queueing::port::{Port, Purpose, QueuePlan, QueueSpec, Turns};
use crate::ports::relay::Scheduler;
use crate::traffic::application::{Application, Applications, ControlLines};
use crate::traffic::workload::AllFlows;

/// Returns the counts of all components, given or not.
pub fn groups() -> impl Iterator<Item = Group> {
    let mechanisms = mechanisms::Vtable::registry().iter().map(|entry| entry.part.group);
    let transports = transport::Vtable::registry().iter().map(|entry| entry.part.group);
    let controls = congestion_control::Vtable::registry().iter().map(|entry| entry.part.group);
    own_groups().chain(mechanisms).chain(transports).chain(controls)
}

/// Returns the counts of xoff's components.
pub(crate) fn own_groups() -> impl Iterator<Item = Group> {
    let hosts = [endpoint::GROUP]
        .into_iter()
        .chain(transport::GROUPS.iter().chain(congestion_control::GROUPS).copied());
    mechanisms::GROUPS.iter().copied().chain([node::ORDER, node::FAULT]).chain(hosts)
}

/// The data queues of a node's ports.
struct DataQueues {
    data: Vec<QueueSpec>,
    turns: Turns,
}

impl DataQueues {
    /// Queues of classes. A switch with virtual output queues has one queue for each class and input; a
    /// relaying host has a second queue for relayed packets.
    fn new(settings: &Settings, node: &NodeSpec, ports: usize, has_hosts: bool) -> Self {
        let classes = settings.counted_classes();
        let relays = node.is_host && node.forwards;
        let inputs = if settings.queueing == Queueing::Voq && !node.is_host { ports } else { 1 };
        // Queues of an interface are served in turn.
        let turns =
            settings.turns.or((settings.mechanisms().interface_queues() > 1).then_some(Turns::Packets));
        let is_strict = |class: u8| turns.is_none() || settings.strict_classes.has(class);
        // Strict classes are served first, the highest class first of all. The other classes take turns.
        let level = |class: u8| {
            let from = if is_strict(class) { class + 1 } else { 0 };
            2 * number((from..classes).filter(|c| is_strict(*c)).count()) as u8 + 1
        };
        let relay_level =
            |class: u8| level(class) - u8::from(settings.relay.scheduler == Scheduler::RelayFirst);
        let own = |class: u8| {
            std::iter::repeat_n(QueueSpec { class, level: level(class), purpose: Purpose::Class }, inputs)
        };
        let mut data: Vec<QueueSpec> = (0..classes).flat_map(own).collect();
        if relays {
            data.extend((0..classes).map(|class| QueueSpec {
                class,
                level: relay_level(class),
                purpose: Purpose::Relayed,
            }));
        }
        if node.forwards && settings.mechanisms().any(|p| p.wants_congestion_queues) {
            data.extend((0..classes).map(|class| QueueSpec {
                class,
                level: level(class),
                purpose: Purpose::Congestion,
            }));
        }
        if node.forwards && !node.is_host && has_hosts {
            let queues = usize::from(settings.mechanisms().reorder_queues());
            let of = |class: u8| {
                std::iter::repeat_n(
                    QueueSpec { class, level: level(class), purpose: Purpose::Reorder },
                    queues,
                )
            };
            data.extend((0..classes).flat_map(of));
        }
        // Levels without a queue would be looked at with every packet.
        let mut used: Vec<u8> = data.iter().map(|d| d.level).collect();
        used.sort_unstable();
        used.dedup();
        for queue in &mut data {
            queue.level = used.partition_point(|l| *l < queue.level) as u8;
        }
        let otherwise = if relays && settings.relay.scheduler == Scheduler::PerFlow {
            Turns::Suppliers
        } else {
            Turns::Packets
        };
        Self { data, turns: turns.unwrap_or(otherwise) }
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
        let at = |control| rates.iter().map(|rate| Scheme::new(control, self.lines.of(*rate))).collect();
        let controls = stack.controls().into_iter().map(|(_, control)| at(control)).collect();
        let transport = Protocol::new(&stack.transport, self.lines.fastest(&rates));
        let whole = self.lines.whole(&rates);
        let on_answers =
            settings.mechanisms().parts().iter().any(|p| p.listens_to().is_some()).then_some(Echo::EVERY);
        let config = Arc::new(Config {
            framing: settings.framing,
            schemes: Schemes::new(controls, stack.control_of_classes(), on_answers),
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

    /// Returns the configurations of all stacks at a host with these ports, if there are several stacks. A
    /// receiver acts by the stack of the source.
    fn mixed(&mut self, ports: &[PortSpec], plan: &AllFlows, settings: &Settings) -> Option<Box<Mixed>> {
        let count = settings.stacks.list().len();
        let configs = || (0..count).map(|place| self.of(ports, place, plan, settings)).collect();
        (count > 1)
            .then(configs)
            .map(|configs| Box::new(Mixed { configs, places: settings.stacks.places().clone() }))
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
    /// The bits of mechanisms in the tag of packets.
    tags: Vec<(&'static str, TagField)>,
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
        let ends =
            |(number, port): (PortId, &PortSpec)| Ends { near: self.input(node, number), far: far(port) };
        PortId::each(&self.ports[index(node)]).map(ends).collect()
    }

    fn core(&self, node: u32, levels: &[Option<Levels>]) -> Core {
        let (spec, ports, settings) =
            (&self.topology.nodes[index(node)], &self.ports[index(node)], self.settings);
        let port_shape = PortShape { wiring: &self.map.wiring, relay: &settings.relay };
        let plans = DataQueues::new(settings, spec, ports.len(), !self.hosts(node).is_empty());
        let list = PortId::each(ports)
            .map(|(i, p)| {
                let planned = self.parts[0].iter().find_map(|part| part.queues(&port_shape, node, i));
                let queues =
                    QueuePlan { data: planned.unwrap_or_else(|| plans.data.clone()), turns: plans.turns };
                let peer_delay = self.delay(p.peer);
                Port::new(&queues, p.link.rate, p.link.delay + peer_delay, p.peer, peer_delay)
            })
            .collect();
        let queueing = if spec.is_host { Queueing::Oq } else { settings.queueing };
        let buffer =
            if spec.forwards { settings.buffer(node, levels, spec.is_host) } else { Buffer::Unlimited };
        let merges_classes = settings.mechanisms().interface_queues() > 1 && !spec.is_host;
        Core::new(node, list, Classes(settings.counted_classes()), queueing, buffer, merges_classes)
    }

    /// Returns the cut-through input of a port, if any.
    fn cut(&self, node: u32, number: PortId) -> Option<cut_through::Input> {
        let params = self.settings.cut_through(node, number, &self.topology.nodes[index(node)])?;
        let are_chosen = self.settings.mechanisms().any(|p| p.routes)
            || self.settings.failover.local_repair_delay.is_some();
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
        let is_leaf = |p: &PortSpec| {
            self.topology.nodes[index(p.peer)].is_host && !self.topology.nodes[index(p.peer)].forwards
        };
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
            tag: TagField::WHOLE,
        };
        let mut list = Vec::new();
        for part in &self.parts[0] {
            let tag = self
                .tags
                .iter()
                .find(|field| field.0 == part.name())
                .map_or(TagField::WHOLE, |field| field.1);
            let Some(mut mechanism) = part.install(&Site { tag, ..site }, &mut core) else { continue };
            for port in PortId::all(site.ports.len()) {
                let place = settings.locals.place(index(node), port);
                let own = self.parts[place].iter().filter(|p| place > 0 && p.name() == part.name());
                own.for_each(|p| p.install_at(port, &mut mechanism));
            }
            list.push(mechanism);
        }
        let mechanisms = Mechanisms::new(list);
        let shared = settings.symmetric.as_ref().filter(|of| of.is_alike);
        let draws_as = shared.map_or(node, |of| of.group.representative(node));
        let effects = Effects::new(
            settings.seed,
            draws_as,
            &plan.sources.keys,
            mechanisms.iter().map(mechanisms::Mechanism::name),
        );
        // A reroute may also reorder packets of a flow.
        let is_rerouted = settings.failover.is_given() && !settings.failures.is_empty();
        let reorders = settings.mechanisms().any(|p| p.routes || p.reorders)
            || settings.faults.overtake > 0
            || is_rerouted;
        Node::new(core, self.map.clone(), spec.forwards, mechanisms, effects, endpoint)
            .with(settings.wanted.clone(), reorders, settings.acks, settings.faults)
            .cutting_through(self.cut_through(node))
            .failing(self.failing(node))
            .taking_turns(settings.symmetric.as_ref(), &self.ports[index(node)])
    }

    /// Returns the faults of a node.
    fn failing(&self, node: u32) -> Option<Box<Failing>> {
        let (settings, spec, ports) =
            (self.settings, &self.topology.nodes[index(node)], &self.ports[index(node)]);
        // Bytes in flight at a pause of a neighbour have room at the interface; with credits, all bytes have
        // room.
        let control = u64::from(settings.framing.control);
        let largest = settings.framing.largest();
        let response = settings.mechanisms().response();
        let of = |p: &PortSpec| {
            let delay = response.and_then(|r| r.time(p.link.rate)).unwrap_or(Duration::ZERO);
            sizing::pfc_headroom(p.link.rate, p.link.delay, delay, largest, largest, control)
        };
        let headroom =
            ports.iter().map(|p| of(p).0 + of(p).1).max().unwrap_or(0) * u64::from(settings.classes);
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
        // A host with another port leaves a port that is down, at the latest when all nodes know of the
        // failure.
        let is_served = spec.is_host && !spec.forwards && ports.len() > 1;
        let local =
            settings.failover.local_repair_delay.or(settings.failover.convergence_time.filter(|_| is_served));
        let retries: Vec<(PortId, Retry)> =
            PortId::all(ports.len()).filter_map(|port| Some((port, self.retry(node, port)?))).collect();
        (!parts.is_empty() || !retries.is_empty()).then(|| {
            let mut failing = Failing::new(parts, settings.seed, node, ports);
            (failing.delay, failing.room, failing.local, failing.follows) =
                (self.delay(node), room, local, follows);
            failing.lossless = settings.mechanisms().lossless();
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
        let params =
            self.settings.retry.as_ref().filter(|retry| retry.is_for(name(node), name(spec.peer)))?;
        // Time until a frame arrived, was handled, and its acknowledgement came back.
        let answered =
            spec.link.delay * 2 + self.delay(spec.peer) + spec.link.rate.time(u64::from(framing.control));
        let sender = retry::Sender::new(params, framing.largest(), answered);
        Some(Retry { sender, receiver: retry::Receiver::new(params), sleeps: false, timer: Moment::NEVER })
    }

    /// Returns the links with their lookahead, by sending node and port.
    fn links(&self) -> Vec<LinkSpec> {
        let framing = &self.settings.framing;
        let own = self.parts[0].iter().filter_map(|p| p.properties().smallest_frame).min();
        let smallest = framing
            .minimum
            .min(u64::from(own.map_or(framing.control, |own| own.min(framing.control))))
            .max(1);
        let nodes = self.ports.iter().enumerate();
        let link = |n: usize, p: usize, port: &PortSpec| {
            let (delay, rate) = self.settings.failures.bounds(number(n), PortId::at(p), port);
            let (peer, peer_port) = (port.peer, port.peer_port);
            let header = self
                .settings
                .cut_through(peer, peer_port, &self.topology.nodes[index(peer)])
                .map(|cut| cut.header.0);
            let handled_after = header.map_or(smallest, |header| header.min(smallest));
            LinkSpec {
                from: (number(n), number(p)),
                to: (peer, u32::from(port.peer_port.0)),
                lookahead: delay + rate.time(handled_after),
            }
        };
        nodes.flat_map(|(n, list)| list.iter().enumerate().map(move |(p, port)| link(n, p, port))).collect()
    }
}

/// Runs the engine of a network: see [`Engine::run`]. The engine is generic, so its event loop is compiled where it is first
/// called. Called here, it is compiled together with the nodes that it runs.
pub fn run(
    engine: &mut Engine<Node>,
    on_checkpoint: &mut dyn FnMut(&mut Checkpoint<'_, Node>) -> ControlFlow<()>,
) -> Finish {
    engine.run(on_checkpoint)
}

/// Builds all nodes and the engine.
pub fn build(
    topology: &Topology,
    mut plan: AllFlows,
    settings: &Settings,
    engine: EnginePlan,
) -> Result<Engine<Node>, PlanError> {
    let ends = plan.ends(topology.nodes.len());
    let mut routes =
        shortest(topology, plan.paths.clone(), &settings.first_hop, settings.seed, |node| ends[node]);
    if let Some(Symmetric { group, is_folded, is_alike }) = &settings.symmetric {
        if *is_alike {
            choose_alike(&mut routes, settings.seed, |node| group.representative(node), group);
        }
        if *is_folded {
            plan.fold(group);
        }
    }
    let map = Arc::new(Map::new(routes, topology.wiring()));
    let parts = settings.locals.list().iter().map(|l| l.mechanisms.parts()).collect();
    let ports = topology.ports();
    let lines = Lines::new(topology, &ports, settings);
    let (round_trip, tags) = (lines.line.round_trip, settings.tags().unwrap_or_default());
    let builder = Builder { topology, ports, settings, map, round_trip, parts, tags };
    let mut starts = std::mem::take(&mut plan.starts).into_iter();
    let mut waiting = std::mem::take(&mut plan.waiting).into_iter();
    let folded = settings.symmetric.as_ref().filter(|of| of.is_folded).map(|of| &of.group);
    let mut connections = plan.take_connections(folded.map(|group| &**group));
    let mut nvlinks = NvLinks::new(&plan.nvlink, &builder.ports, folded.map(|group| &**group));
    let mut control = ControlLines::new(&builder.ports, std::mem::take(&mut nvlinks.next));
    let mut applications: HashMap<u32, Applications> = HashMap::new();
    for one in plan.applications.each_mut() {
        for (node, part) in one.take_parts(&mut control) {
            applications.entry(node).or_default().add(one.id(), part);
        }
    }
    let mut configs = Configs { known: Vec::new(), lines };
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    for (n, spec) in topology.nodes.iter().enumerate() {
        let id = number(n);
        let (starts, waiting) = (starts.next().unwrap_or_default(), waiting.next().unwrap_or_default());
        let endpoint = spec.is_host.then(|| {
            let weight = match &settings.first_hop {
                FirstHop::Asymmetric(ate) => {
                    let stream = Stream::new(settings.seed, u64::from(id), streams::FIRST_HOP);
                    let links = builder.ports[n].iter().map(|port| port.link);
                    Some(Weight::new(ate, links, settings.framing, stream))
                }
                FirstHop::Hash | FirstHop::Lowest | FirstHop::Highest => None,
            };
            let config = configs.of(&builder.ports[n], settings.stacks.place(n), &plan, settings);
            let mut endpoint = Endpoint::new(id, config, weight, starts, waiting);
            endpoint.mixed = configs.mixed(&builder.ports[n], &plan, settings);
            endpoint.arrivals = std::mem::take(&mut plan.arrivals[n]);
            (endpoint.connections, endpoint.incoming) = std::mem::take(&mut connections[n]);
            endpoint.folded = folded.cloned();
            endpoint.applications = applications.remove(&id).unwrap_or_default();
            endpoint.frees_slots = endpoint.applications.each().any(Application::counts_slots);
            endpoint.nvlink = nvlinks.nodes.remove(&id).map(Box::new);
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
    let links: Vec<LinkSpec> =
        builder.links().into_iter().chain(nvlinks.links).chain(control.links).collect();
    Engine::new(nodes, &groups, &links, engine)
}
