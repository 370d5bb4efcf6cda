//! Settings of a network beside its topology and its traffic.

use xoff_units::{Duration, Rate, index, number};

use crate::faults;
use crate::faults::injection::Faults;
use crate::frames::framing::Framing;
use crate::frames::tag::{self, TagField, TagUse};
use crate::hosts::congestion_control::contract::Line;
use crate::hosts::endpoint::{self, Classify};
use crate::hosts::stack::{Stack, Stacks};
use crate::hosts::transport::Protocol;
use crate::mechanisms::Tables;
use crate::mechanisms::contract::{Ingress, Levels};
use crate::mechanisms::overrides::Locals;
use crate::network::node::{self, Acks};
use crate::parts::ids::{ClassSet, PortId};
use crate::paths::failover::Failover;
use crate::paths::retry;
use crate::paths::routing::FirstHop;
use crate::paths::symmetry::ties::Symmetric;
use crate::paths::topology::{NodeSpec, PortSpec};
use crate::ports::core::Queueing;
use crate::ports::queueing::buffer::{Accounting, Buffer, Params as BufferParams, Share, SharedBuffer};
use crate::ports::queueing::port::Turns;
use crate::ports::{cut_through, relay};
use crate::records::events::Wanted;

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
    /// With turns: classes that are served strictly first.
    pub strict_classes: ClassSet,
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
    pub failures: faults::plan::Plan,
    /// Reroutes after failures.
    pub failover: Failover,
    /// Links with link-level retry.
    pub retry: Option<retry::Params>,
    /// Records to write.
    pub wanted: Wanted,
    /// A group of renamings under which nothing changes, if the scenario has relative ties.
    pub symmetric: Option<Symmetric>,
}

impl Settings {
    /// Returns the mechanisms at ports without overrides.
    pub fn mechanisms(&self) -> &Tables {
        &self.locals.list()[0].mechanisms
    }

    /// Returns the transports for questions that do not depend on a line: the transport of most hosts, and
    /// transports of overrides.
    pub fn protocols(&self) -> Vec<Protocol> {
        self.stacks
            .list()
            .iter()
            .map(|stack| Protocol::new(&stack.transport, Line::nominal(self.framing)))
            .collect()
    }

    /// Returns the bits of each mechanism in the tag of packets; none if parts need more bits than a tag has.
    pub fn tags(&self) -> Option<Vec<(&'static str, TagField)>> {
        let line = Line::nominal(self.framing);
        let controls = self.stacks.list().iter().flat_map(Stack::controls);
        let uses: Vec<TagUse> = controls.map(|(_, control)| control.tag_use(line)).collect();
        tag::share(&uses, self.mechanisms().tag_bits())
    }

    /// Returns the given components, in the order of [`super::groups`].
    pub fn parts(&self) -> Vec<&'static str> {
        let mechanisms = self.mechanisms().parts();
        let mut names: Vec<&'static str> =
            mechanisms.iter().map(|p| p.name()).chain([endpoint::GROUP.name]).collect();
        for (stack, protocol) in self.stacks.list().iter().zip(self.protocols()) {
            let controls = stack.controls().into_iter().flat_map(|(_, control)| control.given());
            for name in controls.chain([protocol.name()]) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.extend((!self.failures.is_empty()).then_some(node::FAULT.name));
        names
    }

    /// Returns the memory of a forwarding node, with the share of a port.
    pub(super) fn memory(&self, node: u32, port: PortId, is_host: bool) -> &BufferParams {
        if is_host { &self.relay.buffer } else { &self.locals.at(index(node), port).buffer }
    }

    /// The memory of a node with this many ports.
    pub fn switch_memory(&self, node: u32, ports: usize, is_host: bool) -> &BufferParams {
        if is_host || ports > 0 {
            self.memory(node, PortId(0), is_host)
        } else {
            &self.locals.list()[0].buffer
        }
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
    pub fn ingress<'a>(
        &'a self,
        node: u32,
        number: PortId,
        ports: &'a [PortSpec],
        spec: &NodeSpec,
    ) -> Ingress<'a> {
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

    /// Returns the number of classes counted at an ingress port: classes of switches, or queues of an
    /// interface.
    pub fn counted_classes(&self) -> u8 {
        self.classes.max(self.mechanisms().interface_queues())
    }

    /// True if memory belongs to outputs: a lossy output-queued switch drops at the output.
    pub(super) fn counts_egress(&self) -> bool {
        self.queueing == Queueing::Oq
            && self.mechanisms().accounting().is_none_or(|a| a == Accounting::Egress)
    }

    /// Returns the most bytes that each ingress port and class may hold of the memory of a port. A class
    /// without levels has its share, so that classes with levels find room above XOFF. Empty without such a
    /// class.
    fn caps(&self, levels: &[Option<Levels>], limit: u32) -> Vec<u32> {
        let classes = self.counted_classes();
        let has_levels = |l: &Option<Levels>, class: u8| l.is_none_or(|l| l.classes.has(class));
        if levels.iter().all(|l| (0..classes).all(|class| has_levels(l, class))) {
            return Vec::new();
        }
        let cap = |l, class| if has_levels(l, class) { limit } else { limit / u32::from(classes) };
        levels.iter().flat_map(|l| (0..classes).map(move |class| cap(l, class))).collect()
    }

    /// Returns the buffer of a forwarding node, with the levels of its ports.
    pub fn buffer(&self, node: u32, levels: &[Option<Levels>], is_host: bool) -> Buffer {
        let (ports, classes) = (levels.len(), usize::from(self.counted_classes()));
        match if is_host { &self.relay.buffer } else { &self.locals.list()[0].buffer } {
            BufferParams::Unlimited => Buffer::Unlimited,
            BufferParams::PerQueue(bytes) => {
                let limit = bytes.0 as u32;
                if self.counts_egress() {
                    Buffer::PerEgressQueue(limit)
                } else {
                    Buffer::PerIngressClass(limit)
                }
            }
            BufferParams::PerPort(bytes) => {
                let (limit, used) = (bytes.0 as u32, vec![0; ports]);
                let caps = self.caps(levels, limit);
                if self.counts_egress() {
                    Buffer::PerEgress { limit, used, caps }
                } else {
                    Buffer::PerIngress { limit, used, caps }
                }
            }
            BufferParams::Shared(_) => {
                // An override of the memory selects whole switches, so that all ports agree.
                let BufferParams::Shared(shared) = self.switch_memory(node, ports, is_host) else {
                    unreachable!("an override keeps the kind of buffer")
                };
                let groups = PortId::each(levels).flat_map(|(port, levels)| {
                    let BufferParams::Shared(here) = self.memory(node, port, is_host) else {
                        unreachable!("an override keeps the kind of buffer")
                    };
                    let lossless = self.locals.at(index(node), port).mechanisms.lossless();
                    let is_dynamic = levels.is_some_and(|levels| levels.is_dynamic);
                    // No headroom without a mechanism that pauses in time.
                    (0..number(classes) as u8).map(move |class| {
                        let (alpha, reserve, headroom) = here.of_class(class);
                        let members = here.counted_with(class);
                        if members[0] != class {
                            // The first class of the group has the share.
                            return Share { alpha, reserve: 0, headroom: 0, fills_pool: false };
                        }
                        let held = levels.filter(|l| members.iter().any(|class| l.classes.has(*class)));
                        let headroom = held.map_or(0, |l| headroom.map_or(l.headroom, |given| given.0));
                        // A lossless class pauses at the threshold, or at a level of its own.
                        let fills_pool = !is_dynamic && members.iter().all(|class| lossless.has(*class));
                        Share { alpha, reserve: reserve.0 as i64, headroom: headroom as i64, fills_pool }
                    })
                });
                Buffer::Shared(SharedBuffer::new(shared, classes, groups))
            }
        }
    }
}

#[cfg(test)]
impl Settings {
    /// Switches without limits or mechanisms, and hosts with Go-Back-N at line rate; a full packet takes 100
    /// ns at 100 Gb/s.
    pub(crate) fn for_tests() -> Self {
        let framing = Framing::for_tests();
        Self {
            seed: 1,
            framing,
            switch_delay: Duration::ZERO,
            queueing: Queueing::default(),
            locals: Locals::uniform(crate::mechanisms::overrides::Local::default()),
            classes: 1,
            turns: None,
            strict_classes: ClassSet::NONE,
            classify: Classify::default(),
            jitter: 0.0,
            stacks: Stacks::uniform(crate::hosts::stack::Stack::default()),
            relay: relay::Params::default(),
            first_hop: FirstHop::default(),
            acks: Acks::default(),
            faults: Faults::default(),
            failures: faults::plan::Plan::default(),
            failover: Failover::default(),
            retry: None,
            wanted: Wanted::default(),
            symmetric: None,
        }
    }
}
