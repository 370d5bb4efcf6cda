//! `PortFC`: flow control by egress port in networks whose nodes relay.
//! A switch sorts the packets of an output by their output at the next switch (IHFQ), with a direct queue
//! (DDQ) for packets that end behind the output. At `X_OFF` of all IHFQs together, or of the DDQ, the switch
//! sends a pause to all other neighbours. A node relays pauses of direct queues.
//! Resolved where the paper is silent (`docs/models/portfc.md`): a pause flag for each output and kind of
//! queue; frames name switch and output; queue indices skip the receiver's own port; a packet is counted
//! before the test. Ours: an output toward another switch has a queue for each output there. Simplification:
//! frames are neither lost nor refreshed.
//! Invariant: a pause travels at most three hops between nodes that relay. Two relays on a path are refused.
//! Source: the `PortFC` paper, sections III-B to III-D, Algorithms 1 to 4.

use crate::ids::{PortId, QueueId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Moment, index};

use crate::core::{Core, Queueing, Queues};
use crate::count::{Count, PAUSED, Tally};
use crate::effects::{Asker, Because, Effect, Effects};
use crate::frames;
use crate::mechanism::{
    Dequeued, Enqueued, Hooks, Ingress, Install, Levels, PortShape, Properties, QueueAt, Site,
    ValidationContext, Verdict, Watches,
};
use crate::packet::Packet;
use crate::param_error::{Change, ParamError, remove};
use crate::queueing::port::{Purpose, QueueSpec};
use crate::relay::Scheduler;
use crate::routing::Map;
use crate::topology::{PortSpec, Wiring};

/// `switch.flow_control.portfc`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pause when the inter-hop queues of an output hold this many bytes together. Default: 6 products of the
    /// link's rate and delay, and at least 6 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Resume at this many bytes or fewer. Default: 4 products, and at least 4 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// `xoff` of the direct queue. Default: `xoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_xoff: Option<Bytes>,
    /// `xon` of the direct queue. Default: `xon`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct_xon: Option<Bytes>,
}

/// Returns the index of an output among the outputs of a switch without `own`.
fn rank(output: PortId, own: PortId) -> usize {
    output.index() - usize::from(output > own)
}

/// Meaning of the queues of an output of a node or switch.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Outputs {
    /// A node's output to a switch: `kinds` × (outputs of the switch − 1) queues for own flows, and a queue
    /// for relayed packets.
    Node {
        /// The switch.
        switch: u32,
        /// The node's port there.
        own: PortId,
        /// Outputs of the switch other than ours.
        others: usize,
        /// Kinds of own flows, by the number of switches on the path: a port each.
        kinds: usize,
    },
    /// A switch's output to a node: a queue for each output of each switch behind the node, and the direct
    /// queue.
    ToNode {
        /// For each port of the node: the switch at the port, our index of the switch's first output, and the
        /// node's port at the switch.
        behind: Vec<Option<(u32, usize, PortId)>>,
        /// Number of inter-hop queues.
        count: usize,
    },
    /// A switch's output to another switch: a queue for each of that switch's outputs, without the output
    /// back to us.
    ToSwitch {
        /// The switch.
        switch: u32,
        /// Our port there.
        own: PortId,
        /// Other outputs of the switch.
        others: usize,
    },
}

impl Outputs {
    /// The queues of a port.
    pub fn new(wiring: &Wiring, node: u32, port: PortId) -> Self {
        let PortSpec { peer, peer_port, .. } = wiring.ports[index(node)][port];
        let (own, others) = (peer_port, wiring.ports[index(peer)].len() - 1);
        if wiring.is_host[index(node)] {
            return Self::Node { switch: peer, own, others, kinds: wiring.ports[index(node)].len() };
        }
        if !wiring.is_host[index(peer)] {
            return Self::ToSwitch { switch: peer, own, others };
        }
        let mut count = 0;
        let ports = if wiring.is_relay[index(peer)] { wiring.ports[index(peer)].as_slice() } else { &[] };
        let behind = ports
            .iter()
            .enumerate()
            .map(|(q, p)| {
                (PortId::at(q) != own).then(|| {
                    let first = count;
                    count += wiring.ports[index(p.peer)].len() - 1;
                    (p.peer, first, p.peer_port)
                })
            })
            .collect();
        Self::ToNode { behind, count }
    }

    /// Data queues.
    pub fn queues(&self) -> usize {
        match self {
            Self::Node { others, kinds, .. } => kinds * others + 1,
            Self::ToNode { count, .. } => count + 1,
            Self::ToSwitch { others, .. } => *others,
        }
    }

    /// Returns the queues that a frame holds or releases. The frame names an output of `switch`, and its
    /// direct queue or its inter-hop queues.
    fn held_by(&self, switch: u32, output: PortId, is_direct: bool) -> Vec<QueueId> {
        match self {
            Self::Node { switch: ours, own, others, kinds } if *ours == switch && *own != output => {
                let kinds = if is_direct { kinds - 1..*kinds } else { 0..kinds - 1 };
                kinds.map(|kind| QueueId::at(1 + kind * others + rank(output, *own))).collect()
            }
            Self::ToNode { behind, .. } => {
                let found = behind.iter().flatten().find(|b| b.0 == switch && b.2 != output);
                found.map(|(_, first, own)| QueueId::at(1 + first + rank(output, *own))).into_iter().collect()
            }
            Self::ToSwitch { switch: ours, own, .. } if *ours == switch && *own != output => {
                vec![QueueId::at(1 + rank(output, *own))]
            }
            Self::Node { .. } | Self::ToSwitch { .. } => Vec::new(),
        }
    }
}

/// Returns the queue for a packet: at a switch's output, or at the first output of a node's own flow.
fn queue(map: &Map, outputs: &Outputs, packet: &Packet, peer: u32) -> QueueId {
    QueueId::at(match outputs {
        Outputs::Node { switch, own, others, kinds } => {
            let mut at = *switch;
            let mut output = map.routes[index(at)].port_after(packet, 1);
            let i = rank(output, *own);
            let (mut switches, mut nodes) = (1, 1);
            while switches < *kinds && map.wiring.ports[index(at)][output].peer != packet.dst() {
                at = map.wiring.ports[index(at)][output].peer;
                nodes += 1;
                switches += usize::from(!map.wiring.is_host[index(at)]);
                output = map.routes[index(at)].port_after(packet, nodes);
            }
            1 + (kinds - switches) * others + i
        }
        Outputs::ToNode { count, .. } if peer == packet.dst() => 1 + count,
        Outputs::ToNode { behind, count } => {
            let port = map.routes[index(peer)].port_after(packet, 1);
            match behind.get(port.index()).copied().flatten() {
                Some((switch, first, own)) => {
                    1 + first + rank(map.routes[index(switch)].port_after(packet, 2), own)
                }
                None => 1 + count,
            }
        }
        Outputs::ToSwitch { switch, own, .. } => {
            1 + rank(map.routes[index(*switch)].port_after(packet, 1), *own)
        }
    })
}

/// Returns the queue at a switch's output for packets that take output `next` at the node behind the output,
/// and `third` at the switch after the node. Outputs of nodes give none, as no queue waits for a node's
/// queues.
fn queue_toward(
    wiring: &Wiring,
    node: u32,
    port: PortId,
    next: PortId,
    third: Option<PortId>,
) -> Option<QueueId> {
    match Outputs::new(wiring, node, port) {
        Outputs::ToNode { behind, .. } => {
            let (_, first, own) = behind.get(next.index()).copied().flatten()?;
            third.filter(|t| *t != own).map(|t| QueueId::at(1 + first + rank(t, own)))
        }
        Outputs::ToSwitch { own, .. } if own != next => Some(QueueId::at(1 + rank(next, own))),
        Outputs::Node { .. } | Outputs::ToSwitch { .. } => None,
    }
}

/// Returns the queues for which a paused queue waits, as switch, output and queue: the edges of the
/// pause-dependency graph.
fn waits_for(wiring: &Wiring, node: u32, port: PortId, queue: QueueId) -> Vec<QueueAt> {
    let outputs = Outputs::new(wiring, node, port);
    let switches: Vec<u32> = match &outputs {
        Outputs::Node { switch, .. } | Outputs::ToSwitch { switch, .. } => vec![*switch],
        Outputs::ToNode { behind, .. } => behind.iter().flatten().map(|b| b.0).collect(),
    };
    let mut list = Vec::new();
    for switch in switches {
        for output in PortId::all(wiring.ports[index(switch)].len()) {
            let there = Outputs::new(wiring, switch, output);
            let direct = matches!(there, Outputs::ToNode { .. }).then(|| QueueId::at(there.queues()));
            // Only frames of direct queues pass a node.
            let passes_a_node = matches!(outputs, Outputs::ToNode { .. });
            if let Some(direct) = direct.filter(|_| outputs.held_by(switch, output, true).contains(&queue)) {
                list.push((switch, output, direct));
            }
            if !passes_a_node && outputs.held_by(switch, output, false).contains(&queue) {
                list.extend(
                    QueueId::all(1 + there.queues())
                        .skip(1)
                        .filter(|q| Some(*q) != direct)
                        .map(|q| (switch, output, q)),
                );
            }
        }
    }
    list
}

/// `X_OFF` and `X_ON` of an output, for its inter-hop queues and its direct queue, and the two pause flags.
#[derive(Debug, Clone)]
struct Output {
    levels: [(u32, u32); 2],
    is_paused: [bool; 2],
    /// The direct queue, or the number of queues where the output has none.
    direct: QueueId,
}

state!(Output {
    value: is_paused;
    constant: levels, direct;
});

impl Output {
    /// Returns the bytes of the direct queue, or of all inter-hop queues.
    fn bytes(&self, core: &Core, port: PortId, is_direct: bool) -> u32 {
        let queues = &core.ports[port].queues;
        if is_direct {
            queues[self.direct].bytes.bytes()
        } else {
            queues[1..self.direct.index()].iter().map(|q| q.bytes.bytes()).sum()
        }
    }
}

/// `PortFC` at a node.
#[derive(Debug, Clone)]
pub struct PortFc {
    id: u32,
    frame_bytes: u16,
    is_node: bool,
    outputs: Vec<Outputs>,
    /// Thresholds and pause flags of a switch's outputs.
    detection: Vec<Output>,
    /// For each port and queue: the number of frames that hold the queue.
    held: Vec<Vec<u8>>,
    pauses: u64,
    frames: u64,
    relayed: u64,
}

state!(PortFc {
    part: detection;
    value: held;
    total: pauses, frames, relayed;
    constant: id, frame_bytes, is_node, outputs;
});

impl PortFc {
    fn tell_others(
        &mut self,
        port: PortId,
        is_pause: bool,
        is_direct: bool,
        core: &Core,
        effects: &mut Effects,
    ) {
        let payload = frames::PortFc { output: u32::from(port.0), is_pause, is_direct };
        let frame = Packet::with(payload, self.id, 0, self.frame_bytes, 0);
        for other in PortId::all(core.ports.len()).filter(|p| *p != port) {
            self.frames += 1;
            effects.push(Effect::Send(other, frame));
        }
    }
}

/// Returns the thresholds: 6 and 4 products of rate and one-way delay (section V-A of the paper), with a
/// packet as the least product.
fn levels(params: &Params, port: &PortSpec, largest: u64) -> [(u32, u32); 2] {
    let product = (port.link.rate.real() / 8e12 * port.link.delay.real()) as u64;
    let product = product.max(largest);
    let xoff = params.xoff.map_or(6 * product, |x| x.0);
    let xon = params.xon.map_or_else(|| (4 * product).min(xoff), |x| x.0);
    let direct_xoff = params.direct_xoff.map_or(xoff, |x| x.0);
    let direct_xon = params.direct_xon.map_or_else(|| xon.min(direct_xoff), |x| x.0);
    [(xoff as u32, xon as u32), (direct_xoff as u32, direct_xon as u32)]
}

const PAUSES: Count = Count::number("pauses", "PortFC pauses");
const FRAMES: Count = Count::number("frames", "PortFC frames");
const RELAYED: Count = Count::number("relayed", "PortFC frames passed on");

impl Install for PortFc {
    type Params = Params;
    const LABEL: &'static str = "PortFC";
    const COUNTS: &'static [Count] = &[PAUSES, FRAMES, RELAYED, PAUSED];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let outputs: Vec<Outputs> =
            PortId::all(site.ports.len()).map(|p| Outputs::new(&site.map.wiring, site.id, p)).collect();
        let detection = if site.is_host { &[] } else { site.ports }
            .iter()
            .zip(&outputs)
            .map(|(port, outputs)| Output {
                levels: levels(params, port, site.framing.largest()),
                is_paused: [false; 2],
                direct: QueueId::at(
                    outputs.queues() + usize::from(matches!(outputs, Outputs::ToSwitch { .. })),
                ),
            })
            .collect();
        Some(Self {
            id: site.id,
            frame_bytes: site.framing.control,
            is_node: site.is_host,
            held: core.ports.iter().map(|p| vec![0; p.queues.len()]).collect(),
            outputs,
            detection,
            pauses: 0,
            frames: 0,
            relayed: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        Properties {
            is_lossless: true,
            can_deadlock: true,
            assigns_queues: true,
            plans_queues: true,
            foretells_routes: true,
            if_frames_are_lost: Some((
                false,
                "counts frames in flight and does not recover from losses; remove the fault or portfc",
            )),
            ..Properties::default()
        }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if let Some(lossless) = context.other(|o| o.is_lossless) {
            return Err(("", remove(format!("mutually exclusive with {lossless}"))));
        }
        if context.classes > 1 {
            return Err((
                "",
                Change::set("switch.classes", 1).after("PortFC has its own queues and one class"),
            ));
        }
        if context.queueing != Queueing::Oq {
            return Err(("", Change::set("switch.queueing", "oq").after("PortFC needs output queues")));
        }
        for (key, off, on) in [
            ("xon", params.xoff, params.xon),
            ("direct_xon", params.direct_xoff.or(params.xoff), params.direct_xon),
        ] {
            if let (Some(off), Some(on)) = (off, on)
                && on >= off
            {
                return Err((key, format!("{on} is not below X_OFF, {off}")));
            }
        }
        for (key, bytes) in [("xoff", params.xoff), ("direct_xoff", params.direct_xoff)] {
            if bytes.is_some_and(|b| b.0 == 0 || b.0 >= 1 << 32) {
                return Err((key, "must be above zero and below 4GiB".into()));
            }
        }
        Ok(())
    }

    /// Checks computed thresholds at switches.
    fn check_port(params: &Params, ingress: &Ingress<'_>, _: Option<&Levels>) -> Result<(), ParamError> {
        if ingress.is_host {
            return Ok(());
        }
        let (port, largest) = (ingress.port, ingress.framing.largest());
        for (key, (xoff, xon)) in ["xon", "direct_xon"].into_iter().zip(levels(params, port, largest)) {
            if xon > xoff {
                let (xon, xoff) = (Bytes(xon.into()), Bytes(xoff.into()));
                return Err((
                    key,
                    format!(
                        "{xon} is above X_OFF, {xoff} on links of {} and {}",
                        port.link.rate, port.link.delay
                    ),
                ));
            }
        }
        Ok(())
    }

    fn queues(_: &Params, port_shape: &PortShape<'_>, node: u32, port: PortId) -> Option<Vec<QueueSpec>> {
        let outputs = Outputs::new(port_shape.wiring, node, port);
        let mut list = vec![QueueSpec { class: 0, level: 0, purpose: Purpose::Planned }; outputs.queues()];
        if let (Outputs::Node { .. }, Some((_, own))) = (&outputs, list.split_last_mut())
            && port_shape.relay.scheduler == Scheduler::RelayFirst
        {
            for queue in own {
                queue.level = 1;
            }
        }
        Some(list)
    }

    fn most_relays(_: &Params, _: u32) -> Option<(&'static str, u32, &'static str)> {
        Some(("", 1, "PortFC pauses reach the first relay only, and packets would be lost; use k = 1"))
    }

    fn queue_toward(
        wiring: &Wiring,
        node: u32,
        port: PortId,
        next: PortId,
        third: Option<PortId>,
    ) -> Option<QueueId> {
        queue_toward(wiring, node, port, next, third)
    }

    fn waits_for(wiring: &Wiring, (node, port, queue): QueueAt) -> Vec<QueueAt> {
        waits_for(wiring, node, port, queue)
    }
}

impl Hooks for PortFc {
    fn watches(&self) -> Watches {
        let both = Watches::PLACE.and(Watches::ASSIGN).and(Watches::CONTROL);
        if self.is_node { both } else { both.and(Watches::ENQUEUE).and(Watches::DEQUEUE) }
    }

    fn place_flow(&mut self, packet: &mut Packet, port: PortId, core: &Core) -> Option<QueueId> {
        Some(queue(&core.routing, &self.outputs[port], packet, core.ports[port].peer))
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        _: &mut Effects,
    ) -> Option<QueueId> {
        let outputs = &self.outputs[port];
        Some(if self.is_node {
            QueueId::at(outputs.queues())
        } else {
            queue(&core.routing, outputs, packet, core.ports[port].peer)
        })
    }

    /// Algorithm 1.
    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let output = &mut self.detection[event.port];
        let is_direct = event.queue == output.direct;
        let kind = usize::from(is_direct);
        if !output.is_paused[kind] && output.bytes(core, event.port, is_direct) >= output.levels[kind].0 {
            output.is_paused[kind] = true;
            self.pauses += 1;
            effects.push(Effect::Pausing(Because::Output(event.port)));
            self.tell_others(event.port, true, is_direct, core, effects);
        }
    }

    /// Algorithm 2.
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let output = &mut self.detection[event.port];
        let is_direct = event.queue == output.direct;
        let kind = usize::from(is_direct);
        if output.is_paused[kind] && output.bytes(core, event.port, is_direct) <= output.levels[kind].1 {
            output.is_paused[kind] = false;
            self.tell_others(event.port, false, is_direct, core, effects);
        }
    }

    /// Algorithms 3 (at a node) and 4 (at a switch).
    fn on_control(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        let Some(frames::PortFc { output, is_pause, is_direct }) = packet.payload() else {
            return Verdict::Pass;
        };
        let output = PortId::at(index(output));
        for queue in self.outputs[port].held_by(packet.flow(), output, is_direct) {
            let held = &mut self.held[port][queue];
            let queues = Queues::One(queue);
            if is_pause {
                *held += 1;
                effects.push(Effect::Block(port, queues, Asker::Output(packet.flow(), output)));
            } else {
                *held -= 1;
                if *held == 0 {
                    effects.push(Effect::Unblock(port, queues));
                }
            }
        }
        if self.is_node && is_direct {
            for other in PortId::all(core.ports.len()).filter(|p| *p != port) {
                self.relayed += 1;
                effects.push(Effect::Send(other, *packet));
            }
        }
        Verdict::Consume
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(PAUSES, self.pauses);
        tally.add(FRAMES, self.frames);
        tally.add(RELAYED, self.relayed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use xoff_units::{Duration, Rate};

    use super::*;
    use crate::frames::Kind;
    use crate::routing::shortest::shortest;
    use crate::routing::{FirstHop, Paths};
    use crate::topology::{Link, Shape, Topology, ndc, rail};

    fn map(t: &Topology) -> Map {
        Map::new(shortest(t, Arc::new(Paths::new()), &FirstHop::Highest, 1, |_| true), t.wiring())
    }

    fn link() -> Link {
        Link { rate: Rate::gbps(100), delay: Duration::us(1) }
    }

    fn net(n: u64, k: u64) -> Map {
        map(&ndc::Params { n, k, link: link(), levels: Vec::new() }.build().unwrap())
    }

    /// Returns the queue index at `node` toward `peer` for a packet of `node` to `dst`, counted from 0 as in
    /// the paper.
    fn own(m: &Map, node: u32, peer: u32, dst: u32) -> usize {
        let port = m.wiring.ports[index(node)].iter().position(|p| p.peer == peer).unwrap();
        queue(
            m,
            &Outputs::new(&m.wiring, node, PortId::at(port)),
            &Packet::new(Kind::Data, 0, 0, dst, 1048, 0),
            peer,
        )
        .index()
            - 1
    }

    #[test]
    fn queues_are_those_of_figure_6() {
        // Paths leave by level 0 first, as the figure's do.
        let t = ndc::Params { n: 4, k: 1, link: link(), levels: Vec::new() }.build().unwrap();
        let mut m = map(&t);
        m.routes = shortest(&t, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true);
        // Node 15 to switch 19: four-hop flows F1 to F4 by way of nodes 12, 13, 14 and 12, two-hop flows F6
        // to F8 to those nodes.
        for (dst, queue) in [(0, 0), (1, 1), (2, 2), (8, 0), (12, 3), (13, 4), (14, 5)] {
            assert_eq!(own(&m, 15, 19, dst), queue, "to {dst}");
        }
        // Switch 23 to node 15: F12 to F15 go on to nodes 12, 13, 14 and 14; F11 and F16 end at node 15.
        for (dst, queue) in [(12, 0), (13, 1), (14, 2), (15, 3)] {
            let packet = Packet::new(Kind::Data, 0, 0, dst, 1048, 0);
            assert_eq!(
                super::queue(&m, &Outputs::new(&m.wiring, 23, PortId(3)), &packet, 15).index() - 1,
                queue,
                "to {dst}"
            );
        }
        // Relayed flows F9 and F10 have queue 2n − 2, the last.
        assert_eq!(Outputs::new(&m.wiring, 15, PortId(0)).queues() - 1, 6);
    }

    #[test]
    fn queue_counts_follow_the_formulas() {
        for n in 2..=16 {
            let m = net(n, 1);
            let hosts = m.wiring.is_host.iter().filter(|h| **h).count();
            // With the high-priority queue: n + 1 and (k + 1)(n − 1) + 2.
            assert_eq!(Outputs::new(&m.wiring, hosts as u32, PortId(0)).queues() as u64 + 1, n + 1);
            assert_eq!(Outputs::new(&m.wiring, 0, PortId(1)).queues() as u64 + 1, 2 * (n - 1) + 2);
        }
        for (n, k) in [(2, 2), (3, 2), (2, 3), (4, 2)] {
            let m = net(n, k);
            let hosts = m.wiring.is_host.iter().filter(|h| **h).count();
            assert_eq!(Outputs::new(&m.wiring, 0, PortId(0)).queues() as u64 + 1, (k + 1) * (n - 1) + 2);
            // The paper's n + 1 names outputs of one next switch; with k levels behind a node there are k of
            // them.
            assert_eq!(Outputs::new(&m.wiring, hosts as u32, PortId(0)).queues() as u64 + 1, k * (n - 1) + 2);
        }
    }

    /// Returns the queues of packets between all pairs of hosts.
    fn used(m: &Map) -> BTreeSet<QueueAt> {
        let mut used = BTreeSet::new();
        let hosts = (0..m.wiring.is_host.len() as u32).filter(|n| m.wiring.is_host[index(*n)]);
        for (src, dst) in
            hosts.clone().flat_map(|a| hosts.clone().filter(move |b| *b != a).map(move |b| (a, b)))
        {
            let mut packet = Packet::new(Kind::Data, 0, 0, dst, 1048, 0);
            let mut at = src;
            while at != dst {
                let port = m.routes[index(at)].port(&packet);
                let (outputs, peer) =
                    (Outputs::new(&m.wiring, at, port), m.wiring.ports[index(at)][port].peer);
                let is_relayed = at != src && m.wiring.is_host[index(at)];
                used.insert((
                    at,
                    port,
                    if is_relayed {
                        QueueId::at(outputs.queues())
                    } else {
                        queue(m, &outputs, &packet, peer)
                    },
                ));
                packet.hop();
                at = peer;
            }
        }
        used
    }

    /// Returns the longest chain of waiting queues, or none for a cycle.
    fn longest_chain(m: &Map, of: &BTreeSet<QueueAt>) -> Option<usize> {
        fn depth(
            m: &Map,
            of: &BTreeSet<QueueAt>,
            at: QueueAt,
            on_path: &mut BTreeSet<QueueAt>,
            known: &mut BTreeMap<QueueAt, usize>,
        ) -> Option<usize> {
            if let Some(d) = known.get(&at) {
                return Some(*d);
            }
            if !on_path.insert(at) {
                return None;
            }
            let mut most = 0;
            for next in waits_for(&m.wiring, at.0, at.1, at.2).into_iter().filter(|q| of.contains(q)) {
                most = most.max(1 + depth(m, of, next, on_path, known)?);
            }
            on_path.remove(&at);
            known.insert(at, most);
            Some(most)
        }
        let mut known = BTreeMap::new();
        of.iter().try_fold(0, |most, queue| {
            Some(most.max(depth(m, of, *queue, &mut BTreeSet::new(), &mut known)?))
        })
    }

    fn all_queues(m: &Map) -> BTreeSet<QueueAt> {
        let ports = (0..m.wiring.ports.len() as u32)
            .flat_map(|n| PortId::all(m.wiring.ports[index(n)].len()).map(move |p| (n, p)));
        ports
            .flat_map(|(n, p)| {
                QueueId::all(1 + Outputs::new(&m.wiring, n, p).queues()).skip(1).map(move |q| (n, p, q))
            })
            .collect()
    }

    #[test]
    fn no_circle_of_pauses_in_any_ndc_up_to_16() {
        // Queues a wait for A, A for B, and B for nobody (equations 1 and 2), whoever sends to whom.
        for n in 2..=16 {
            let m = net(n, 1);
            assert_eq!(longest_chain(&m, &all_queues(&m)), Some(2), "n {n}");
        }
    }

    #[test]
    fn no_circle_of_pauses_between_rails() {
        let of = |aggregation| {
            let t = rail::Params {
                servers: 3,
                gpus_per_server: 3,
                scale_up: Some(link()),
                rail: link(),
                aggregation,
            }
            .build()
            .unwrap();
            let m = map(&t);
            longest_chain(&m, &used(&m))
        };
        assert_eq!(of(None), Some(2));
        // From a node by a rail, an aggregation and another rail switch, and to the direct queue behind whom
        // that one feeds.
        assert_eq!(of(Some(rail::Aggregation { switches: 2, link: link(), segments: 2 })), Some(4));
    }
}
