//! Congestion Isolation (IEEE 802.1Qcz).
//!
//! Models: a switch moves congesting flows into a congested queue of the same traffic class, and tells its upstream neighbour to
//! do so too (CIM) before PFC would act on that queue. Two of the scenario's classes are the two queues; each has thresholds and
//! pauses of its own, and which of them a packet is in is decided anew at each switch. A flow is selected with the RED curve of
//! the non-congested queue at enqueue, marked when it is placed into the congested queue, and returns when it has no packet
//! there and the queue is below the curve. A host that is told moves the flow into the congested queue of its interface.
//! Sources: "Simulation Analysis of Congestion Isolation" (802.1 contribution, 2018); mechanisms.md section 5 for what it leaves
//! open (`[RES]`: the CIM's threshold, order, return).
//! Simplifications: the table of flows is not bounded; a CIM names the flow itself and is not lost; one CIM for a flow until it
//! is taken back.
//! Invariants: packets of a flow keep their order ([`Isolation`]); every flow that a neighbour was told of is taken back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use crate::mechanism::{Around, Core, Dequeued, Effect, Effects, Enqueued, Hooks, Install, Site, Verdict, Watches};
use crate::packet::{Kind, Packet};
use crate::queueing::isolation::Isolation;

/// `switch.flow_control.congestion_isolation`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Below this many bytes in the non-congested queue no flow is selected; a congested queue below it lets flows return.
    pub low: Bytes,
    /// Above this many bytes every flow is selected.
    pub high: Bytes,
    /// A packet is selected with this probability at `high`, and with one in proportion between.
    pub pmax: f64,
    /// The upstream neighbour is told when the congested queue holds this much.
    pub tell: Bytes,
    /// Which packets of an isolated flow are marked.
    pub mark: Mark,
    /// Class of the non-congested queue.
    pub class: u8,
    /// Class of the congested queue.
    pub congested_class: u8,
    /// Hosts have both queues and do what they are told; otherwise they ignore it.
    pub hosts: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            low: Bytes(10_000),
            high: Bytes(300_000),
            pmax: 0.01,
            tell: Bytes(375_000),
            mark: Mark::Isolated,
            class: 1,
            congested_class: 0,
            hosts: true,
        }
    }
}

/// Which packets are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Every packet that is placed into the congested queue.
    #[default]
    Isolated,
    /// Only the packet by which the flow was selected.
    Selecting,
}

/// What is kept of an isolated flow.
#[derive(Debug, Default)]
struct Flow {
    /// The neighbour downstream has told us of it.
    is_asked: bool,
    /// The port by which the neighbour upstream was told of it.
    told: Option<u16>,
}

/// Congestion Isolation at one node.
#[derive(Debug)]
pub struct CongestionIsolation {
    low: u32,
    high: u32,
    pmax: f64,
    tell: u32,
    mark: Mark,
    class: u8,
    congested: u8,
    is_switch: bool,
    frame_bytes: u16,
    flows: Isolation<Flow>,
    /// For each output: isolated flows that have no packet in its congested queue.
    idle: Vec<Vec<u32>>,
    isolated: u64,
    messages: u64,
}

const ADD: u32 = 1;
const REMOVE: u32 = 0;

impl Install for CongestionIsolation {
    type Params = Params;

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        (site.forwards || params.hosts).then(|| Self::new(params, site.forwards, site.settings.framing.control, core.ports.len()))
    }

    fn assigns_queues(_: &Params) -> bool {
        true
    }

    fn validate(params: &Params, around: &Around<'_>) -> Result<(), (&'static str, String)> {
        if params.class == params.congested_class {
            return Err(("congested_class", "it must be another class than that of the non-congested queue".into()));
        }
        for (key, class) in [("class", params.class), ("congested_class", params.congested_class)] {
            if class >= around.classes {
                return Err((key, format!("{class} is out of range; the switches have {} (switch.classes)", around.classes)));
            }
        }
        if params.low >= params.high || params.high.0 >= 1 << 32 {
            return Err(("high", format!("{} must be above low, {}, and below 4GiB", params.high, params.low)));
        }
        if params.tell.0 >= 1 << 32 {
            return Err(("tell", format!("{} is out of range; it must be below 4GiB", params.tell)));
        }
        if !(0.0..=1.0).contains(&params.pmax) {
            return Err(("pmax", format!("{} is out of range; allowed are numbers from 0 to 1", params.pmax)));
        }
        if around.has_input_fifos {
            return Err(("class", "with one FIFO an input no flow can be isolated; switch.queueing must be oq or voq".into()));
        }
        Ok(())
    }
}

impl CongestionIsolation {
    fn new(params: &Params, is_switch: bool, frame_bytes: u16, ports: usize) -> Self {
        Self {
            low: params.low.0 as u32,
            high: params.high.0 as u32,
            pmax: params.pmax,
            tell: params.tell.0 as u32,
            mark: params.mark,
            class: params.class,
            congested: params.congested_class,
            is_switch,
            frame_bytes,
            flows: Isolation::default(),
            idle: vec![Vec::new(); ports],
            isolated: 0,
            messages: 0,
        }
    }

    fn is_selected(&self, bytes: u32, effects: &mut Effects) -> bool {
        bytes > self.high
            || bytes > self.low
                && effects.stream.uniform() < self.pmax * f64::from(bytes - self.low) / f64::from(self.high - self.low)
    }

    fn congested_bytes(&self, port: usize, core: &Core) -> u32 {
        core.queues_of(self.congested).map(|q| core.ports[port].queues[q].bytes.bytes()).sum()
    }

    fn message(&mut self, port: u16, flow: u32, what: u32, effects: &mut Effects) {
        self.messages += 1;
        effects.push(Effect::Send(port as usize, Packet::new(Kind::Cim, flow, what, 0, self.frame_bytes, 0)));
    }

    /// Lets flows without packets in a congested queue that has emptied return.
    fn let_return(&mut self, port: usize, core: &Core, effects: &mut Effects) {
        if self.idle[port].is_empty() || self.congested_bytes(port, core) >= self.low {
            return;
        }
        for flow in std::mem::take(&mut self.idle[port]) {
            let may_return = self.flows.get_mut(flow).is_some_and(|f| f.inside == 0 && !f.state.is_asked);
            if may_return
                && let Some(moved) = self.flows.remove(flow, effects)
                && let Some(upstream) = moved.state.told
            {
                self.message(upstream, flow, REMOVE, effects);
            }
        }
    }
}

impl Hooks for CongestionIsolation {
    fn watches(&self) -> Watches {
        if self.is_switch {
            Watches::ASSIGN.and(Watches::ENQUEUE).and(Watches::DEQUEUE).and(Watches::CONTROL)
        } else {
            Watches::CONTROL
        }
    }

    fn assign_queue(&mut self, packet: &mut Packet, port: usize, core: &Core, effects: &mut Effects) -> Option<usize> {
        let class = packet.class();
        if class != self.class && class != self.congested {
            return None;
        }
        let (flow, input) = (packet.flow, packet.in_port as usize);
        let own = core.queue_for(self.class, input);
        let mut is_selecting = false;
        if !self.flows.contains(flow) {
            let bytes: u32 = core.queues_of(self.class).map(|q| core.ports[port].queues[q].bytes.bytes()).sum();
            is_selecting = self.is_selected(bytes, effects);
            if !is_selecting {
                packet.set_class(self.class);
                return None;
            }
            self.isolated += 1;
            self.flows.entry(flow);
        }
        packet.set_class(self.congested);
        if self.mark == Mark::Isolated || is_selecting {
            packet.set(Packet::CE);
        }
        self.flows.enter(flow, port, own, core.queue_for(self.congested, input), core, effects);
        None
    }

    fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
        let flow = event.packet.flow;
        if self.flows.get_mut(flow).is_some_and(|f| f.place == Some((event.port, event.queue))) && self.flows.leave(flow, event.port, event.queue, effects) {
            self.idle[event.port].push(flow);
        }
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let packet = event.packet;
        if packet.class() != self.congested || self.congested_bytes(event.port, core) < self.tell {
            return;
        }
        if let Some(moved) = self.flows.get_mut(packet.flow)
            && moved.state.told.is_none()
        {
            moved.state.told = Some(packet.in_port);
            self.message(packet.in_port, packet.flow, ADD, effects);
        }
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if self.flows.is_empty() {
            return;
        }
        if self.flows.leave(event.packet.flow, event.port, event.queue, effects) {
            self.idle[event.port].push(event.packet.flow);
        }
        if event.packet.class() == self.congested {
            self.let_return(event.port, core, effects);
        }
    }

    fn on_control(&mut self, packet: &Packet, port: usize, core: &Core, effects: &mut Effects) -> Verdict {
        if packet.kind != Kind::Cim {
            return Verdict::Pass;
        }
        let is_add = packet.seq == ADD;
        if !self.is_switch {
            effects.push(Effect::ClassOfFlow(packet.flow, if is_add { self.congested } else { self.class }));
        } else if is_add {
            self.isolated += u64::from(!self.flows.contains(packet.flow));
            self.flows.entry(packet.flow).state.is_asked = true;
        } else if let Some(moved) = self.flows.get_mut(packet.flow) {
            moved.state.is_asked = false;
            if moved.inside == 0 {
                self.idle[port].push(packet.flow);
                self.let_return(port, core, effects);
            }
        }
        Verdict::Consume
    }

    fn counts(&self, _now: Time, add: &mut dyn FnMut(&'static str, u64)) {
        add("isolated_flows", self.isolated);
        add("messages", self.messages);
    }
}

#[cfg(test)]
mod tests {
    use xoff_engine::random::Stream;

    use super::*;

    #[test]
    fn a_queue_held_at_mid_range_selects_half_of_pmax() {
        let isolation = CongestionIsolation::new(&Params::default(), true, 64, 1);
        let mut effects = Effects::new(Stream::new(1, 1, "test"));
        let mut share = |bytes: u32| (0..200_000).filter(|_| isolation.is_selected(bytes, &mut effects)).count() as f64 / 200_000.0;
        assert!((share(155_000) - 0.005).abs() < 0.0005);
        assert!((share(300_000) - 0.01).abs() < 0.0008);
        assert!(share(10_000) == 0.0 && (share(300_001) - 1.0).abs() < f64::EPSILON);
    }
}
