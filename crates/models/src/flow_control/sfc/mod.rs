//! Source Flow Control (IEEE P802.1Qdw), host mode.
//!
//! Models: a congestion point sends an SFCM to the source of the flow whose packet finds the watched queue at the threshold, at
//! most one a flow and interval; the source holds that flow for the stated time and lets other flows go on. The watched queue is
//! the egress queue (`oq`), the queue of an input and output (`voq`), or the input FIFO (`iq`, which hits innocents). Source: the
//! SFC simulation document and mechanisms.md section 4.
//! Simplifications: the SFCM names the flow itself; it takes one minimum frame and the control queue; it is not lost.
//! Invariants: a flow is held until the latest moment that any SFCM asked for, unless a resume comes first.

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use crate::mechanism::{Core, Effect, Effects, Enqueued, Hooks, Queueing, Verdict, Watches};
use crate::packet::{Kind, Packet};

/// `switch.flow_control.sfc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Send messages while the watched queue holds this much or more.
    pub threshold: Bytes,
    /// How long the source holds the flow.
    pub pause: Time,
    /// Least time between two messages for one flow. Default: the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
}

/// SFC at one node: congestion point, source, or both.
#[derive(Debug)]
pub struct Sfc {
    point: Option<Point>,
}

#[derive(Debug)]
struct Point {
    threshold: u32,
    pause: Time,
    interval: Time,
    frame_bytes: u16,
    messages: u64,
    last: FxHashMap<u32, Time>,
    sources: std::sync::Arc<crate::routing::Sources>,
}

impl Sfc {
    /// A switch.
    pub fn forwarding(params: &Params, frame_bytes: u16, sources: std::sync::Arc<crate::routing::Sources>) -> Self {
        let interval = params.interval.unwrap_or(params.pause);
        let threshold = params.threshold.0 as u32;
        Self {
            point: Some(Point { threshold, pause: params.pause, interval, frame_bytes, messages: 0, last: FxHashMap::default(), sources }),
        }
    }

    /// A host.
    pub fn obeying() -> Self {
        Self { point: None }
    }
}

impl Hooks for Sfc {
    fn watches(&self) -> Watches {
        if self.point.is_some() { Watches::ENQUEUE } else { Watches::CONTROL }
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let Some(point) = &mut self.point else { return };
        let bytes = match core.queueing {
            Queueing::Iq => core.ingress[core.group(event.packet.in_port as usize, event.packet.class())].bytes(),
            Queueing::Oq | Queueing::Voq => core.ports[event.port].queues[event.queue].bytes.bytes(),
        };
        if bytes < point.threshold {
            return;
        }
        let (flow, now) = (event.packet.flow, effects.now);
        if point.last.get(&flow).is_some_and(|last| now < *last + point.interval) {
            return;
        }
        point.last.insert(flow, now);
        point.messages += 1;
        let mut sfcm = Packet::new(Kind::Sfcm, flow, 0, point.sources.of(flow), point.frame_bytes, 0);
        sfcm.info = (point.pause.ps().div_ceil(1_000)).min(u64::from(u32::MAX)) as u32;
        effects.push(Effect::Emit(sfcm));
    }

    fn on_control(&mut self, packet: &Packet, _port: usize, core: &Core, effects: &mut Effects) -> Verdict {
        if packet.kind != Kind::Sfcm || packet.dst() != core.id {
            return Verdict::Pass;
        }
        if packet.info == 0 {
            effects.push(Effect::ReleaseFlow(packet.flow));
        } else {
            effects.push(Effect::HoldFlow(packet.flow, effects.now + Time::ns(u64::from(packet.info))));
        }
        Verdict::Consume
    }

    fn counts(&self, _now: Time, add: &mut dyn FnMut(&'static str, u64)) {
        add("messages", self.point.as_ref().map_or(0, |p| p.messages));
    }
}
