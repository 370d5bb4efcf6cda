//! Congestion Isolation (IEEE 802.1Qcz): a switch moves congesting flows into a congested queue, and asks the
//! upstream neighbour to do the same (CIM) before PFC pauses the queue.
//! Two classes of the scenario are the two queues, and each switch decides about a packet's queue anew. A
//! packet is selected by the RED curve of the non-congested queue at enqueue, and is marked when placed into
//! the congested queue. A flow returns when it has no packet there and the queue is below `low`, or after
//! `aging_time`. Each output has a table of isolated flows. Simplifications: a CIM names flow and offending
//! packet; one CIM a flow until taken back.
//! Invariants: packets of a flow keep their order (`isolation.rs`) unless `preserve_order` is false; every
//! CIM is taken back; no table exceeds its size.
//! Source: "Simulation Analysis of Congestion Isolation" (802.1 contribution, 2018);
//! `docs/models/congestion_isolation.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Duration, Moment};

use crate::frames::kinds::{Cim, Index};
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Dequeued, Enqueued, Hooks, Install, Levels, Properties, Site, ValidationContext, Verdict, Watches,
};
use crate::mechanisms::isolation::{Isolation, Order};
use crate::mechanisms::red::{Above, Curve};
use crate::parts::count::{Count, Tally};
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::{Effect, Effects};

/// `switch.flow_control.congestion_isolation`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// With fewer bytes in the non-congested queue no flow is selected. With fewer bytes in the congested
    /// queue flows return.
    pub low: Bytes,
    /// Bytes in the non-congested queue at which the probability of selection is `pmax`.
    pub high: Bytes,
    /// Probability of selection at `high`; below `high` the probability falls linearly to 0 at `low`.
    pub pmax: f64,
    /// Probability of selection above `high`.
    pub above: Above,
    /// A CIM goes upstream when the congested queue holds this many bytes, or all congested queues together
    /// hold as many from the neighbour.
    pub cim_threshold: Bytes,
    /// Marked packets of an isolated flow.
    pub mark: Mark,
    /// Class of the non-congested queue.
    pub class: u8,
    /// Class of the congested queue.
    pub congested_class: u8,
    /// Size of an output's flow table. Further flows stay in the non-congested queue.
    pub max_flows: u32,
    /// A flow without packets in the congested queue for this time returns, however full the queue is.
    /// Default: a flow returns only when the queue is below `low`.
    pub aging_time: Option<Duration>,
    /// Packets of a flow in both queues keep their order. The document does not say whether they do.
    pub preserve_order: bool,
    /// Hosts have both queues and obey CIMs; with `false` hosts ignore CIMs.
    pub hosts: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            low: Bytes(10_000),
            high: Bytes(300_000),
            pmax: 0.01,
            above: Above::Certain,
            cim_threshold: Bytes(375_000),
            mark: Mark::Isolated,
            class: 1,
            congested_class: 0,
            max_flows: 1024,
            aging_time: None,
            preserve_order: true,
            hosts: true,
        }
    }
}

/// Packets that are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Every packet that is placed into the congested queue.
    #[default]
    Isolated,
    /// Only the packet that selected its flow.
    Selecting,
}

/// State of an isolated flow.
#[derive(Debug, Clone, Default)]
struct Flow {
    /// True while a CIM of the downstream neighbour stands.
    on_requested_checkpoint: bool,
    /// Port of the upstream neighbour that received a CIM of the flow.
    told: Option<PortId>,
    /// Output with the flow in its table.
    output: PortId,
    /// True while the flow is in `idle`.
    is_listed: bool,
    /// The moment when the flow's last packet left the congested queue.
    empty_since: Moment,
    /// True while an age timer is set.
    is_timed: bool,
}

state!(Flow {
    value: on_requested_checkpoint, told, output, is_listed, is_timed;
    moment: empty_since;
});

/// Congestion Isolation at a node.
#[derive(Debug, Clone)]
pub struct CongestionIsolation {
    curve: Curve,
    tell: u32,
    mark: Mark,
    class: u8,
    congested: u8,
    table: u32,
    age: Option<Duration>,
    is_switch: bool,
    /// True at a host that obeys CIMs.
    obeys: bool,
    frame_bytes: u16,
    flows: Isolation<Flow>,
    /// For each output: the number of flows in the table.
    held: Vec<u32>,
    /// For each output: isolated flows without a packet in the congested queue.
    idle: Vec<Vec<u32>>,
    isolated: u64,
    refused: u64,
    aged: u64,
    messages: u64,
}

state!(CongestionIsolation {
    part: flows;
    value: held, idle;
    constant: curve, tell, mark, class, congested, table, age, is_switch, obeys, frame_bytes;
    total: isolated, refused, aged, messages;
});

const ISOLATED: Count = Count::number("isolated_flows", "flows isolated");
const REFUSED: Count = Count::number("flow_table_full", "flows refused by a full table");
const AGED: Count = Count::number("aged_flows", "flows aged");
const MESSAGES: Count = Count::number("messages", "CI messages");

impl Install for CongestionIsolation {
    type Params = Params;
    const LABEL: &'static str = "Congestion Isolation";
    const COUNTS: &'static [Count] = &[ISOLATED, REFUSED, AGED, MESSAGES];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        Some(Self::new(params, site.forwards, site.framing.control, core.ports.len()))
    }

    fn properties(params: &Params) -> Properties {
        let why = "flows that start at a relay are not isolated, and PFC could not hold congesting flows; remove congestion_isolation";
        Properties {
            assigns_queues: true,
            reorders: !params.preserve_order,
            refuses_relayed_sources: Some(("", why)),
            signals_as: Some("ecn"),
            ..Properties::default()
        }
    }

    fn warn(params: &Params, levels: &Levels) -> Option<ParamError> {
        let why =
            "PFC pauses the congested class of a neighbour before the first CIM, and packets may be lost";
        let xoff = Bytes(levels.xoff);
        let late = if levels.is_dynamic {
            format!("XOFF is at most {xoff}, and falls as the buffer fills")
        } else if params.cim_threshold.0 >= levels.xoff {
            format!("the threshold is not below XOFF, {xoff}")
        } else {
            return None;
        };
        Some(("cim_threshold", format!("{late}: {why}")))
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if params.class == params.congested_class {
            return Err((
                "congested_class",
                "must differ from class, the class of the non-congested queue".into(),
            ));
        }
        for (key, class) in [("class", params.class), ("congested_class", params.congested_class)] {
            if class >= context.classes {
                return Err((
                    key,
                    format!(
                        "{class} is out of range; the switches have {} (switch.classes)",
                        context.classes
                    ),
                ));
            }
        }
        if params.max_flows == 0 {
            return Err(("max_flows", "0 is out of range; must be at least 1".into()));
        }
        if params.aging_time == Some(Duration::ZERO) {
            return Err(("aging_time", "must be above 0; remove it to switch ageing off".into()));
        }
        if params.high.0 >= 1 << 32 {
            return Err(("high", format!("{} is too large; must be below 4GiB", params.high)));
        }
        if params.low >= params.high {
            return Err(("high", format!("{} must be above low, {}", params.high, params.low)));
        }
        if params.cim_threshold.0 >= 1 << 32 {
            return Err((
                "cim_threshold",
                format!("{} is out of range; must be below 4GiB", params.cim_threshold),
            ));
        }
        if !(0.0..=1.0).contains(&params.pmax) {
            return Err((
                "pmax",
                format!("{} is out of range; allowed are numbers from 0 to 1", params.pmax),
            ));
        }
        if context.queueing == Queueing::Iq {
            return Err((
                "class",
                Change::set("switch.queueing", "oq")
                    .after("isolation needs a queue for each class, and iq has none"),
            ));
        }
        Ok(())
    }
}

impl CongestionIsolation {
    fn new(params: &Params, is_switch: bool, frame_bytes: u16, ports: usize) -> Self {
        Self {
            curve: Curve {
                low: params.low.0 as u32,
                high: params.high.0 as u32,
                pmax: params.pmax,
                above: params.above,
            },
            tell: params.cim_threshold.0 as u32,
            mark: params.mark,
            class: params.class,
            congested: params.congested_class,
            table: params.max_flows,
            age: params.aging_time,
            is_switch,
            obeys: params.hosts,
            frame_bytes,
            flows: Isolation::new(if params.preserve_order { Order::Kept } else { Order::Free }),
            held: vec![0; ports],
            idle: vec![Vec::new(); ports],
            isolated: 0,
            refused: 0,
            aged: 0,
            messages: 0,
        }
    }

    fn congested_bytes(&self, port: PortId, core: &Core) -> u32 {
        core.queues_of(port, self.congested).map(|q| core.ports[port].queues[q].bytes.bytes()).sum()
    }

    /// Takes a flow into the table of an output. Returns false for a full table.
    fn isolate(&mut self, flow: u32, output: PortId) -> bool {
        if self.flows.contains(flow) {
            return true;
        }
        if self.held[output] == self.table {
            self.refused += 1;
            return false;
        }
        self.held[output] += 1;
        self.isolated += 1;
        self.flows.entry(flow).state.output = output;
        true
    }

    /// Sends a CIM about a flow and its offending packet to the neighbour at a port, or takes a CIM back.
    fn message(&mut self, port: PortId, flow: u32, is_add: bool, offending: u32, effects: &mut Effects) {
        self.messages += 1;
        let payload = Cim { is_add, offending: Index(offending) };
        effects.push(Effect::Send(port, Packet::with(payload, flow, 0, self.frame_bytes, 0)));
    }

    /// Notes that the last packet of an isolated flow has left the congested queue.
    fn empty(&mut self, flow: u32, effects: &mut Effects) {
        let Some(moved) = self.flows.get_mut(flow) else { return };
        let state = &mut moved.state;
        state.empty_since = effects.now;
        if !std::mem::replace(&mut state.is_listed, true) {
            self.idle[state.output].push(flow);
        }
        if let Some(age) = self.age
            && !std::mem::replace(&mut state.is_timed, true)
        {
            effects.push(Effect::Timer(effects.now + age, flow));
        }
    }

    /// Returns flows without packets in a congested queue, when the queue is below `low`.
    fn let_return(&mut self, port: PortId, core: &Core, effects: &mut Effects) {
        if self.idle[port].is_empty() || self.congested_bytes(port, core) >= self.curve.low {
            return;
        }
        for flow in std::mem::take(&mut self.idle[port]) {
            if let Some(moved) = self.flows.get_mut(flow) {
                moved.state.is_listed = false;
                if moved.inside == 0 && !moved.state.on_requested_checkpoint {
                    self.return_flow(flow, effects);
                }
            }
        }
    }

    fn return_flow(&mut self, flow: u32, effects: &mut Effects) {
        let Some(moved) = self.flows.remove(flow, effects) else { return };
        self.held[moved.state.output] -= 1;
        if let Some(upstream) = moved.state.told {
            self.message(upstream, flow, false, 0, effects);
        }
    }
}

impl Hooks for CongestionIsolation {
    fn watches(&self) -> Watches {
        match (self.is_switch, self.obeys) {
            (true, _) => {
                [Watches::ASSIGN, Watches::ENQUEUE, Watches::DEQUEUE, Watches::CONTROL, Watches::LINK]
                    .into_iter()
                    .fold(Watches::PLACE, Watches::and)
            }
            (false, true) => Watches::CONTROL.and(Watches::PLACE),
            (false, false) => Watches::PLACE,
        }
    }

    /// No flow starts in the congested class.
    fn place_flow(&mut self, packet: &mut Packet, _: PortId, _: &Core) -> Option<QueueId> {
        if packet.class() == self.congested {
            packet.set_class(self.class);
        }
        None
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        let class = packet.class();
        if class != self.class && class != self.congested {
            return None;
        }
        let (flow, input) = (packet.flow(), packet.in_port());
        let own = core.queue_for(self.class, input);
        let mut is_selecting = false;
        if !self.flows.contains(flow) {
            let bytes: u32 =
                core.queues_of(port, self.class).map(|q| core.ports[port].queues[q].bytes.bytes()).sum();
            is_selecting = self.curve.picks(packet, bytes, effects);
            if !is_selecting {
                packet.set_class(self.class);
                return None;
            }
            if !self.isolate(flow, port) {
                packet.set_class(self.class);
                return None;
            }
        }
        packet.set_class(self.congested);
        if self.mark == Mark::Isolated || is_selecting {
            packet.set(Packet::CE);
        }
        self.flows.enter(flow, port, own, core.queue_for(self.congested, input), core, effects);
        None
    }

    fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
        let flow = event.packet.flow();
        if self.flows.refuse(flow, event.port, event.queue, effects) {
            self.empty(flow, effects);
        }
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let packet = event.packet;
        if packet.class() != self.congested {
            return;
        }
        let from_there = core.ingress[core.group(packet.in_port(), self.congested)].bytes();
        if self.congested_bytes(event.port, core).max(from_there) < self.tell {
            return;
        }
        if let Some(moved) = self.flows.get_mut(packet.flow())
            && moved.state.told.is_none()
        {
            moved.state.told = Some(packet.in_port());
            self.message(packet.in_port(), packet.flow(), true, packet.seq(), effects);
        }
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if self.flows.is_empty() {
            return;
        }
        if self.flows.leave(event.packet.flow(), event.port, event.queue, core, effects) {
            self.empty(event.packet.flow(), effects);
        }
        if event.packet.class() == self.congested {
            self.let_return(event.port, core, effects);
        }
    }

    fn on_control(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        let Some(Cim { is_add, .. }) = packet.payload() else { return Verdict::Pass };
        if !self.is_switch {
            effects
                .push(Effect::ClassOfFlow(packet.flow(), if is_add { self.congested } else { self.class }));
        } else if is_add {
            // Downstream is not told if there is no room: it takes back in any case what it asked for.
            if self.isolate(packet.flow(), port) {
                self.flows.entry(packet.flow()).state.on_requested_checkpoint = true;
            }
        } else if let Some(moved) = self.flows.get_mut(packet.flow()) {
            moved.state.on_requested_checkpoint = false;
            if moved.inside == 0 {
                self.empty(packet.flow(), effects);
                self.let_return(port, core, effects);
            }
        }
        Verdict::Consume
    }

    /// Voids the CIMs of a neighbour whose link goes down, and repeats our CIMs when the link comes back. A
    /// host keeps its flows as they are.
    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        for flow in self.flows.numbers() {
            let Some(moved) = self.flows.get_mut(flow) else { continue };
            if is_up && moved.state.told == Some(port) {
                self.message(port, flow, true, 0, effects);
            } else if !is_up
                && moved.state.output == port
                && std::mem::take(&mut moved.state.on_requested_checkpoint)
                && moved.inside == 0
            {
                self.empty(flow, effects);
            }
        }
        if !is_up {
            self.let_return(port, core, effects);
        }
    }

    fn on_timer(&mut self, flow: u32, _core: &Core, effects: &mut Effects) {
        let (Some(moved), Some(age)) = (self.flows.get_mut(flow), self.age) else { return };
        moved.state.is_timed = false;
        if moved.inside > 0 || moved.state.on_requested_checkpoint {
            return;
        }
        let due = moved.state.empty_since + age;
        if due > effects.now {
            moved.state.is_timed = true;
            effects.push(Effect::Timer(due, flow));
        } else {
            self.aged += 1;
            self.return_flow(flow, effects);
        }
    }

    fn counts(&self, _now: Moment, tally: &mut dyn Tally) {
        tally.add(ISOLATED, self.isolated);
        tally.add(REFUSED, self.refused);
        tally.add(AGED, self.aged);
        tally.add(MESSAGES, self.messages);
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    /// A switch of two ports; output 0 holds `bytes` in its non-congested queue.
    fn holding(bytes: u32) -> Core {
        let mut core = Core::for_tests(2, 2);
        let queue = core.queue_for(1, PortId(0));
        for part in 0..bytes.div_ceil(1000) {
            core.ports[0].queues[queue].bytes.add((bytes - part * 1000).min(1000) as u16);
        }
        core
    }

    fn packet(flow: u32) -> Packet {
        let mut packet = Packet::new(Kind::Data, flow, 7, 9, 1500, 1);
        packet.set_in_port(PortId(1));
        packet
    }

    fn switch(params: &Params) -> (CongestionIsolation, Effects) {
        (CongestionIsolation::new(params, true, 64, 2), Effects::for_tests(1))
    }

    /// Returns the share of one-packet flows that are isolated and marked at a queue of `bytes`.
    fn share_isolated(bytes: u32, above: Above) -> f64 {
        let (core, flows) = (holding(bytes), 200_000);
        let (mut isolation, mut effects) = switch(&Params { max_flows: flows, above, ..Params::default() });
        let mut count = 0;
        for flow in 0..flows {
            let mut packet = packet(flow);
            isolation.assign_queue(&mut packet, PortId(0), &core, &mut effects);
            assert_eq!(packet.class() == 0, packet.has(Packet::CE));
            count += u32::from(packet.class() == 0);
        }
        f64::from(count) / f64::from(flows)
    }

    #[test]
    fn a_queue_held_at_mid_range_selects_half_of_pmax() {
        for above in [Above::Certain, Above::Pmax] {
            assert!((share_isolated(155_000, above) - 0.005).abs() < 0.0005);
            assert!((share_isolated(300_000, above) - 0.01).abs() < 0.0008);
            assert!(share_isolated(10_000, above) == 0.0);
        }
        assert!((share_isolated(300_001, Above::Certain) - 1.0).abs() < f64::EPSILON);
        assert!((share_isolated(300_001, Above::Pmax) - 0.01).abs() < 0.0008);
    }

    #[test]
    fn a_flow_that_finds_its_table_full_stays_and_is_counted() {
        let core = holding(400_000);
        let (mut isolation, mut effects) = switch(&Params { max_flows: 3, ..Params::default() });
        let mut classes = Vec::new();
        for flow in [0, 1, 2, 3, 4, 0] {
            let mut packet = packet(flow);
            isolation.assign_queue(&mut packet, PortId(0), &core, &mut effects);
            classes.push((packet.class(), packet.has(Packet::CE)));
        }
        assert_eq!(classes, [(0, true), (0, true), (0, true), (1, false), (1, false), (0, true)]);
        // The table of the other output has room, and none is needed for a neighbour's wish that finds its
        // flow there.
        let ask = |flow| Packet::with(Cim { is_add: true, offending: Index(0) }, flow, 0, 64, 0);
        for (flow, port) in [(8, 1), (0, 0), (9, 0)] {
            isolation.on_control(&ask(flow), PortId(port), &core, &mut effects);
        }
        let mut counts = Vec::new();
        isolation.counts(Moment::ZERO, &mut |count: Count, n| counts.push((count.name, n)));
        assert_eq!(
            counts,
            [("isolated_flows", 4), ("flow_table_full", 3), ("aged_flows", 0), ("messages", 0)]
        );
    }

    #[test]
    fn a_neighbour_is_told_when_its_flows_fill_several_congested_queues_together() {
        let (mut core, tell) = (holding(400_000), Params::default().cim_threshold.0);
        let (mut isolation, mut effects) = switch(&Params::default());
        let mut first = packet(5);
        isolation.assign_queue(&mut first, PortId(0), &core, &mut effects);
        let (congested, group) = (core.queue_for(0, PortId(1)), core.group(PortId(1), 0));
        let mut told = |core: &Core| {
            isolation.on_enqueue(
                &Enqueued { packet: &first, port: PortId(0), queue: congested },
                core,
                &mut effects,
            );
            effects.take().len()
        };
        for _ in 0..tell / 1000 - 1 {
            core.ingress[group].add(1000);
        }
        assert_eq!(told(&core), 0);
        core.ingress[group].add(1000);
        assert_eq!((told(&core), told(&core)), (1, 0));
    }

    #[test]
    fn a_flow_returns_when_it_has_aged_and_its_place_is_free() {
        let mut core = holding(400_000);
        let congested = core.queue_for(0, PortId(0));
        for _ in 0..20 {
            core.ports[0].queues[congested].bytes.add(1000);
        }
        let age = Duration::us(10);
        let (mut isolation, mut effects) = switch(&Params {
            max_flows: 1,
            aging_time: Some(age),
            cim_threshold: Bytes(1),
            ..Params::default()
        });
        let mut first = packet(5);
        isolation.assign_queue(&mut first, PortId(0), &core, &mut effects);
        isolation.on_enqueue(
            &Enqueued { packet: &first, port: PortId(0), queue: congested },
            &core,
            &mut effects,
        );
        isolation.on_dequeue(
            &Dequeued { packet: &first, port: PortId(0), queue: congested, is_whole: true },
            &core,
            &mut effects,
        );
        let sent = |effects: &mut Effects| -> Vec<(u32, u32, u32)> {
            effects
                .take()
                .iter()
                .filter_map(|e| {
                    if let Effect::Send(PortId(1), f) = e.1 {
                        Some((f.flow(), f.seq(), f.says()))
                    } else {
                        None
                    }
                })
                .collect()
        };
        assert_eq!(sent(&mut effects), [(5, 1, 7)]);
        // The queue is above `low` all the time. A packet of 4 us later makes the flow young again.
        effects.now = Moment::us(4);
        let mut second = packet(5);
        isolation.assign_queue(&mut second, PortId(0), &core, &mut effects);
        isolation.on_dequeue(
            &Dequeued { packet: &second, port: PortId(0), queue: congested, is_whole: true },
            &core,
            &mut effects,
        );
        effects.now = Moment::ZERO + age;
        isolation.on_timer(5, &core, &mut effects);
        let timers: Vec<Moment> = effects
            .take()
            .iter()
            .filter_map(|e| if let Effect::Timer(at, 5) = e.1 { Some(at) } else { None })
            .collect();
        assert_eq!((timers, isolation.flows.contains(5)), (vec![Moment::us(14)], true));
        effects.now = Moment::us(14);
        isolation.on_timer(5, &core, &mut effects);
        assert_eq!(sent(&mut effects), [(5, 0, 0)]);
        assert!(isolation.isolate(6, PortId(0)) && isolation.refused == 0 && isolation.aged == 1);
    }
}
