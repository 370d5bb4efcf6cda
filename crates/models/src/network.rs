//! From a topology, a plan of flows and settings to an engine that runs.

use std::sync::Arc;

use xoff_engine::random::Stream;
use xoff_engine::{Engine, LinkSpec, Plan as EnginePlan, PlanError};
use xoff_units::{Rate, Time};

use crate::congestion_control::{CongestionControl, Scheme};
use crate::endpoint::{Classify, Config, Endpoint, Framing};
use crate::mechanism::{Core, Effects, Mechanisms, Queueing, Site};
use crate::mechanisms::ecn;
use crate::mechanisms::pfc::Accounting;
use crate::mechanisms::{FlowControl, Mechanism};
use crate::node::{Faults, Node};
use crate::queueing::buffer::{Buffer, Params as BufferParams, SharedBuffer};
use crate::queueing::counter::Counter;
use crate::queueing::port::{Port, QueuePlan, Turns};
use crate::record::Wanted;
use crate::relay::{self, Scheduler};
use crate::routing::ate::Weight;
use crate::routing::{FirstHop, Map, shortest};
use crate::sizing;
use crate::topology::{NodeSpec, PortSpec, Topology};
use crate::transport::Protocol;
use crate::workload::AllFlows;

/// Everything a network is made of.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Seed of all random streams.
    pub seed: u64,
    /// Packet sizes.
    pub framing: Framing,
    /// Fixed processing delay of switches, for what they forward.
    pub switch_delay: Time,
    /// Where packets wait in switches.
    pub queueing: Queueing,
    /// Admission.
    pub buffer: BufferParams,
    /// Data classes.
    pub classes: u8,
    /// Whether classes are served strictly by number (class 0 last) or in turns.
    pub turns: Option<Turns>,
    /// With turns: so many of the highest classes are served strictly first.
    pub priority_classes: u8,
    /// Which class a new flow gets.
    pub classify: Classify,
    /// Marking.
    pub ecn: Option<ecn::Params>,
    /// Flow control.
    pub flow_control: FlowControl,
    /// Retransmission.
    pub transport: Protocol,
    /// Rates.
    pub congestion_control: CongestionControl,
    /// Hosts that pass packets on.
    pub relay: relay::Params,
    /// By which of several ports a flow leaves its host.
    pub first_hop: FirstHop,
    /// What switches do wrong.
    pub faults: Faults,
    /// What to write down.
    pub wanted: Wanted,
}

/// XOFF and XON of an ingress port, and the headroom above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Pause at this many bytes.
    pub xoff: u64,
    /// Resume at this many.
    pub xon: u64,
    /// What the computed headroom is.
    pub headroom: u64,
    /// What of the class's share of the port's buffer is above XOFF; none when the buffer is not bounded for a port.
    pub available: Option<u64>,
}

impl Settings {
    /// The memory of a node that forwards.
    const fn memory(&self, is_host: bool) -> &BufferParams {
        if is_host { &self.relay.buffer } else { &self.buffer }
    }

    /// The forwarding delay of a node.
    pub fn delay(&self, node: &NodeSpec) -> Time {
        node.delay.unwrap_or(match (node.forwards, node.is_host) {
            (false, _) => Time::ZERO,
            (true, false) => self.switch_delay,
            (true, true) => self.relay.delay,
        })
    }

    /// The thresholds of an ingress port at a node that forwards, and whose own delay is `delay`.
    pub fn thresholds(&self, port: &PortSpec, delay: Time, is_host: bool) -> Thresholds {
        let largest = self.framing.largest();
        let (round_trip, packets) = sizing::pfc_headroom(port.link.rate, port.link.delay, delay, largest, u64::from(self.framing.control));
        let headroom = round_trip + packets;
        let pfc = self.flow_control.pfc.clone().unwrap_or_default();
        // Classes share the port's memory, and each may fill up to its threshold and headroom.
        let limit = match self.memory(is_host) {
            BufferParams::PerPort(bytes) => Some(bytes.0 / u64::from(self.counted_classes())),
            BufferParams::PerQueue(bytes) => Some(bytes.0),
            _ => None,
        };
        let xoff = pfc.xoff.map_or_else(|| limit.map_or(100_000, |l| l.saturating_sub(headroom).max(largest)), |x| x.0);
        let xon = pfc.xon.map_or_else(|| xoff.saturating_sub(2 * largest), |x| x.0);
        Thresholds { xoff, xon, headroom, available: limit.map(|l| l.saturating_sub(xoff)) }
    }

    /// Whether a node that forwards has no XOFF of its own: that of its shared buffer moves.
    pub fn has_dynamic_xoff(&self, is_host: bool) -> bool {
        matches!(self.memory(is_host), BufferParams::Shared(_)) && self.flow_control.pfc.as_ref().is_some_and(|p| p.xoff.is_none())
    }

    /// Classes that ingress is counted by: those of switches, or the queues of an interface.
    pub fn counted_classes(&self) -> u8 {
        self.classes.max(self.flow_control.interface_queues())
    }

    /// Whether memory belongs to outputs.
    fn counts_egress(&self) -> bool {
        self.queueing == Queueing::Oq
            && match &self.flow_control.pfc {
                Some(pfc) => pfc.accounting == Accounting::Egress,
                // A lossy output-queued switch drops at the output.
                None => true,
            }
    }

    fn buffer(&self, ports: &[PortSpec], delay: Time, is_host: bool) -> Buffer {
        match self.memory(is_host) {
            BufferParams::Unlimited => Buffer::Unlimited,
            BufferParams::PerQueue(bytes) => {
                let limit = bytes.0 as u32;
                if self.counts_egress() { Buffer::PerEgressQueue(limit) } else { Buffer::PerIngressClass(limit) }
            }
            BufferParams::PerPort(bytes) => {
                let (limit, used) = (bytes.0 as u32, vec![0; ports.len()]);
                if self.counts_egress() { Buffer::PerEgress { limit, used } } else { Buffer::PerIngress { limit, used } }
            }
            BufferParams::Shared(shared) => {
                let headroom = ports
                    .iter()
                    .flat_map(|p| {
                        let bytes = match (&self.flow_control.pfc, shared.headroom) {
                            (None, _) => 0,
                            (_, Some(given)) => given.0,
                            _ => self.thresholds(p, delay, is_host).headroom,
                        };
                        std::iter::repeat_n(bytes as i64, self.counted_classes() as usize)
                    })
                    .collect();
                Buffer::Shared(SharedBuffer::new(shared.total.0, shared.alpha, shared.reserve.0, headroom))
            }
        }
    }
}

/// The data queues of a node's ports.
struct DataQueues {
    data: Vec<(u8, u8)>,
    turns: Turns,
    has_relay_queues: bool,
}

impl DataQueues {
    /// Those of classes: at a switch with virtual output queues one for each input, at a relaying host another for what it relays.
    fn new(settings: &Settings, node: &NodeSpec, ports: usize) -> Self {
        let classes = settings.counted_classes();
        let has_relay_queues = node.is_host && node.forwards;
        let inputs = if settings.queueing == Queueing::Voq && !node.is_host { ports } else { 1 };
        // Queues of an interface are served in turn.
        let turns = settings.turns.or((settings.flow_control.interface_queues() > 1).then_some(Turns::Packets));
        let strict = if turns.is_some() { settings.priority_classes.min(classes - 1) } else { classes };
        // The highest classes come strictly first, one after the other; the rest take turns.
        let level = |class: u8| 2 * (classes - 1 - class).min(strict) + 1;
        let relay_level = |class: u8| level(class) - u8::from(settings.relay.scheduler == Scheduler::RelayFirst);
        let mut data: Vec<(u8, u8)> = (0..classes).flat_map(|c| std::iter::repeat_n((c, level(c)), inputs)).collect();
        if has_relay_queues {
            data.extend((0..classes).map(|c| (c, relay_level(c))));
        }
        if settings.flow_control.congestion_queues() > 0 && node.forwards {
            data.extend((0..classes).map(|c| (c, level(c))));
        }
        // Levels without a queue would be looked at with every packet.
        let mut used: Vec<u8> = data.iter().map(|d| d.1).collect();
        used.sort_unstable();
        used.dedup();
        for (_, level) in &mut data {
            *level = used.partition_point(|l| l < level) as u8;
        }
        let otherwise = if has_relay_queues && settings.relay.scheduler == Scheduler::PerFlow { Turns::Suppliers } else { Turns::Packets };
        Self { data, turns: turns.unwrap_or(otherwise), has_relay_queues }
    }
}

/// Builds all nodes and the engine.
pub fn build(topology: &Topology, mut plan: AllFlows, settings: &Settings, engine: EnginePlan) -> Result<Engine<Node>, PlanError> {
    let ports = topology.ports();
    let routes = shortest(topology, plan.paths.clone(), &settings.first_hop, settings.seed);
    let map = Arc::new(Map { routes: routes.clone(), wiring: topology.wiring() });
    let delay_of = |n: u32| settings.delay(&topology.nodes[n as usize]);
    let interface_queues = settings.flow_control.interface_queues();
    let classes = settings.counted_classes() as usize;
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    let mut starts = std::mem::take(&mut plan.starts).into_iter();
    let mut waiting = std::mem::take(&mut plan.waiting).into_iter();
    let mut configs: Vec<(Vec<Rate>, Arc<Config>)> = Vec::new();
    for (n, spec) in topology.nodes.iter().enumerate() {
        let id = n as u32;
        let is_leaf_host = |p: &PortSpec| topology.nodes[p.peer as usize].is_host && !topology.nodes[p.peer as usize].forwards;
        let hosts: Vec<(u32, usize)> = ports[n].iter().enumerate().filter(|p| is_leaf_host(p.1)).map(|(i, p)| (p.peer, i)).collect();
        let delay = delay_of(id);
        let site = Site {
            id,
            forwards: spec.forwards,
            is_host: spec.is_host,
            delay,
            ports: &ports[n],
            hosts: &hosts,
            map: &map,
            settings,
            sources: &plan.sources,
        };
        let queueing = if spec.is_host { Queueing::Oq } else { settings.queueing };
        let plans = DataQueues::new(settings, spec, ports[n].len());
        let list = ports[n]
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let data = settings.flow_control.queues(&site, i).unwrap_or_else(|| plans.data.clone());
                let peer_delay = delay_of(p.peer);
                let queues = QueuePlan { data, turns: plans.turns };
                Port::new(&queues, p.link.rate, p.link.delay + peer_delay, p.peer, peer_delay)
            })
            .collect();
        let mut core = Core {
            id,
            ports: list,
            classes,
            queueing,
            ingress: vec![Counter::default(); ports[n].len() * classes],
            buffer: if spec.forwards { settings.buffer(&ports[n], delay, spec.is_host) } else { Buffer::Unlimited },
            inputs: Vec::new(),
            has_relay_queues: plans.has_relay_queues,
            has_congestion_queues: settings.flow_control.congestion_queues() > 0 && spec.forwards,
            interface_queues: if spec.is_host { interface_queues } else { 1 },
            merges_classes: interface_queues > 1 && !spec.is_host,
        };
        if queueing == Queueing::Iq {
            core.inputs.resize_with(ports[n].len() * classes, Default::default);
        }
        let mut mechanisms: Vec<Mechanism> = Vec::new();
        if let (Some(ecn), true) = (&settings.ecn, spec.forwards && !spec.is_host) {
            mechanisms.push(Mechanism::Ecn(ecn::Ecn::new(ecn)));
        }
        settings.flow_control.install(&site, &mut core, &mut mechanisms);
        let (starts, waiting) = (starts.next().unwrap_or_default(), waiting.next().unwrap_or_default());
        let endpoint = spec.is_host.then(|| {
            let rates: Vec<Rate> = ports[n].iter().map(|p| p.link.rate).collect();
            let config = match configs.iter().find(|c| c.0 == rates) {
                Some(known) => known.1.clone(),
                None => {
                    let config = Arc::new(Config {
                        framing: settings.framing,
                        transport: settings.transport.clone(),
                        schemes: rates.iter().map(|r| Scheme::new(&settings.congestion_control, *r, settings.seed)).collect(),
                        window: settings.congestion_control.dcqcn.as_ref().and_then(|d| d.window).map_or(u64::MAX, |w| w.0),
                        classify: settings.classify.clone(),
                        instead_of: settings.flow_control.congestion_isolation.as_ref().map(|ci| (ci.congested_class, ci.class)),
                        sources: plan.sources.clone(),
                    });
                    configs.push((rates, config.clone()));
                    config
                }
            };
            let weight = match &settings.first_hop {
                FirstHop::Asymmetric(ate) => Some(Weight::new(ate, Stream::new(settings.seed, u64::from(id), "first hop"))),
                FirstHop::Hash | FirstHop::Highest => None,
            };
            let mut endpoint = Endpoint::new(id, config, weight, starts, waiting);
            endpoint.arrivals = std::mem::take(&mut plan.arrivals[n]);
            Box::new(endpoint)
        });
        let effects = Effects::new(Stream::new(settings.seed, u64::from(id), "mechanisms"));
        nodes.push(Node::new(core, routes[n].clone(), spec.forwards, Mechanisms::new(mechanisms), effects, endpoint, settings));
    }
    // A host lies in memory beside the switch it hangs on.
    let groups: Vec<u32> = (0..topology.nodes.len())
        .map(|n| match ports[n].as_slice() {
            [only] if topology.nodes[n].is_host => only.peer,
            _ => n as u32,
        })
        .collect();
    let smallest = settings.framing.minimum.min(u64::from(settings.framing.control)).max(1);
    let links: Vec<LinkSpec> = ports
        .iter()
        .enumerate()
        .flat_map(|(n, list)| {
            list.iter().enumerate().map(move |(p, port)| LinkSpec {
                from: (n as u32, p as u32),
                to: (port.peer, u32::from(port.peer_port)),
                lookahead: port.link.delay + port.link.rate.time(smallest),
            })
        })
        .collect();
    Engine::new(nodes, &groups, &links, engine)
}
