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

mod queues;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Moment, index};

use self::queues::{Outputs, queue, queue_toward, waits_for};
use crate::frames::kinds;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Dequeued, Enqueued, Hooks, Ingress, Install, Levels, PortShape, Properties, QueueAt, Site,
    ValidationContext, Verdict, Watches,
};
use crate::parts::count::{Count, PAUSED, Tally};
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError, remove};
use crate::paths::topology::{PortSpec, Wiring};
use crate::ports::core::{Core, Queueing, Queues};
use crate::ports::effects::{Asker, Because, Effect, Effects};
use crate::ports::queueing::port::{Purpose, QueueSpec};
use crate::ports::relay::Scheduler;

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
        let payload = kinds::PortFc { output: u32::from(port.0), is_pause, is_direct };
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
        let Some(kinds::PortFc { output, is_pause, is_direct }) = packet.payload() else {
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
