//! Source Flow Control (IEEE P802.1Qdw).
//!
//! Models: a congestion point ([`point`]) sends an SFCM to the source of the flow whose packet finds the watched queue at the
//! threshold; the flow is held for the stated time by its source ([`source`]) or, on its behalf, by the source's switch
//! ([`proxy`]). The watched queue is the egress queue (`oq`), the queue of an input and output (`voq`), or the input FIFO (`iq`,
//! which hits innocents). Sources: "SFC simulation" and "Improvements on SFC Proxy Mode" (P802.1Qdw contributions), with
//! mechanisms.md section 4 for what they leave open.
//! Simplifications: an SFCM names the flow, its destination and its class; it takes one minimum frame and the control queue; it
//! is not lost.
//! Invariants: a hold lasts until the latest moment that any SFCM asked for, unless a resume comes first; packets of a flow keep
//! their order.

mod point;
mod proxy;
mod source;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use crate::mechanism::{Around, Core, Dequeued, Effects, Enqueued, Hooks, Install, Site, Verdict, Watches};
use crate::packet::{Kind, Packet};

use point::Point;
use proxy::Proxy;
use source::Source;

/// `switch.flow_control.sfc`: the pause is one of `pause`, `target` and `dynamic.pause`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Send messages while the watched queue holds this much or more. May be left out with `dynamic.threshold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// How long the source holds the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Time>,
    /// Hold the flow for the time that the queue takes from where it is down to this. Where each input has a queue of its own
    /// (`voq`), the queues of the sources that share the output take their turns, and the pause is so much longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Bytes>,
    /// The time from a message to the first packet that it kept from coming: subtracted from a pause to the target, and what
    /// dynamic pauses and thresholds are computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Time>,
    /// Computed from the occupancy and the number of sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<Dynamic>,
    /// Tell held sources to go on when the queue has fallen to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Bytes>,
    /// Least time between two messages for one flow (or what `hold` names). Default: the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
    /// What a source holds.
    #[serde(default)]
    pub hold: Hold,
    /// Who holds it.
    #[serde(default)]
    pub mode: Mode,
    /// Queues of a network interface under `nic_isolation`.
    #[serde(default = "default_queues")]
    pub queues: u8,
    /// A source's switch remembers which destinations are paused, and holds new flows to them at once.
    #[serde(default)]
    pub cache: bool,
}

fn default_queues() -> u8 {
    4
}

/// `switch.flow_control.sfc.dynamic`: with N sources in the queue, round trip R, line rate C.
// With a queue for each input N counts the sources of an output; each of its queues then takes 1/N of what is computed, and
// drains N times slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dynamic {
    /// Pause for (N − 1)·R and half of the time that the queue takes to drain: the middle of the range that neither leaves the
    /// queue above the threshold nor lets it run dry.
    #[serde(default)]
    pub pause: bool,
    /// Put the threshold (N − 1)·R·C below XOFF: what comes in after the message just fits. `threshold` is its least value.
    #[serde(default)]
    pub threshold: bool,
}

/// What a source holds, and for what it gets one message an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The flow.
    #[default]
    Flow,
    /// Every flow to its destination.
    Destination,
    /// The queue of its class.
    Queue,
}

/// Who obeys a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The source.
    #[default]
    Host,
    /// The source's switch, which pauses the source's class with PFC.
    Proxy,
    /// The source's switch, which moves the flow into a congestion queue and pauses that.
    ProxyIsolation,
    /// The source's switch, which pauses that queue of the source's interface from which the flow comes; new flows choose a
    /// queue that is not paused.
    NicIsolation,
}

/// SFC at one node.
#[derive(Debug)]
pub struct Sfc {
    point: Option<Point>,
    proxy: Option<Proxy>,
    source: Option<Source>,
}

impl Install for Sfc {
    type Params = Params;

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let has_proxy = params.mode != Mode::Host && site.forwards && !site.hosts.is_empty();
        Some(Self {
            point: site.forwards.then(|| Point::new(params, site, core)),
            proxy: has_proxy.then(|| Proxy::new(params, site, core)),
            source: (site.is_host && params.mode == Mode::Host).then(|| Source::new(params.hold)),
        })
    }

    fn validate(params: &Params, around: &Around<'_>) -> Result<(), (&'static str, String)> {
        let has_pfc = around.flow_control.pfc.is_some();
        for (key, level) in [("threshold", params.threshold), ("target", params.target), ("resume", params.resume)] {
            if let Some(bytes) = level.filter(|b| b.0 == 0 && key == "threshold" || b.0 >= 1 << 32) {
                return Err((key, format!("{bytes} is out of range; it must be above zero and below 4GiB")));
            }
        }
        for (key, time) in [("pause", params.pause), ("interval", params.interval), ("round_trip", params.round_trip)] {
            if let Some(time) = time.filter(|t| *t < Time::ns(1) && key == "pause" || *t > Time::ms(1_000)) {
                return Err((key, format!("{time} is out of range; allowed are 1ns to 1s")));
            }
        }
        let dynamic = params.dynamic.unwrap_or_default();
        let pauses = usize::from(params.pause.is_some()) + usize::from(params.target.is_some()) + usize::from(dynamic.pause);
        if pauses != 1 {
            return Err(("pause", "exactly one of pause, target and dynamic.pause is needed".into()));
        }
        if params.threshold.is_none() && !dynamic.threshold {
            return Err(("threshold", "it is needed unless dynamic.threshold computes it".into()));
        }
        if params.dynamic.is_some() && params.round_trip.is_none() {
            return Err(("round_trip", "it is needed to compute pauses or thresholds from the number of sources".into()));
        }
        if dynamic.threshold && !has_pfc {
            return Err(("dynamic", "a dynamic threshold lies below XOFF, so switch.flow_control.pfc is needed".into()));
        }
        for (key, level) in [("target", params.target), ("resume", params.resume)] {
            if let (Some(level), Some(threshold)) = (level, params.threshold)
                && level >= threshold
            {
                return Err((key, "it must be below the threshold".into()));
            }
        }
        if params.mode != Mode::Host && params.hold != Hold::Flow {
            return Err(("hold", "a source's switch holds the flow: hold is for mode = \"host\"".into()));
        }
        if matches!(params.mode, Mode::Proxy | Mode::NicIsolation) && !has_pfc {
            return Err(("mode", "the source's switch pauses hosts with PFC, so switch.flow_control.pfc is needed".into()));
        }
        if params.cache && !matches!(params.mode, Mode::Proxy | Mode::ProxyIsolation) {
            return Err(("cache", "only proxy and proxy_isolation can hold flows that no message named".into()));
        }
        if params.mode == Mode::NicIsolation && !(2..=8).contains(&params.queues) {
            return Err(("queues", "from 2 to 8 are possible".into()));
        }
        Ok(())
    }

    fn assigns_queues(params: &Params) -> bool {
        params.mode == Mode::ProxyIsolation
    }

    fn congestion_queues(params: &Params) -> usize {
        usize::from(params.mode == Mode::ProxyIsolation)
    }

    fn interface_queues(params: &Params) -> u8 {
        if params.mode == Mode::NicIsolation { params.queues } else { 1 }
    }
}

impl Sfc {
    /// A message on its way: to this node's own proxy, if its source hangs here, or into the network.
    fn send(&mut self, messages: &[Packet], core: &Core, effects: &mut Effects) {
        for message in messages {
            if !self.proxy.as_mut().is_some_and(|p| p.on_message(message, core, effects)) {
                effects.push(crate::mechanism::Effect::Emit(*message));
            }
        }
    }
}

impl Hooks for Sfc {
    fn watches(&self) -> Watches {
        let mut watches = Watches::NONE;
        if self.point.is_some() {
            watches = watches.and(Watches::ENQUEUE).and(Watches::DEQUEUE);
        }
        if self.source.is_some() {
            watches = watches.and(Watches::CONTROL);
        }
        match &self.proxy {
            Some(proxy) if proxy.isolates() => watches.and(Watches::CONTROL).and(Watches::ASSIGN),
            Some(_) => watches.and(Watches::CONTROL),
            None => watches,
        }
    }

    fn assign_queue(&mut self, packet: &mut Packet, port: usize, core: &Core, effects: &mut Effects) -> Option<usize> {
        self.proxy.as_mut()?.assign_queue(packet, port, core, effects)
    }

    fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
        if let Some(proxy) = &mut self.proxy {
            proxy.on_left(event.packet.flow, event.port, event.queue, effects);
        }
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        if let Some(proxy) = &mut self.proxy {
            proxy.on_enqueue(event, core, effects);
        }
        if let Some(point) = &mut self.point
            && let Some(message) = point.on_enqueue(event, core, effects.now)
        {
            self.send(&[message], core, effects);
        }
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if let Some(proxy) = &mut self.proxy {
            proxy.on_left(event.packet.flow, event.port, event.queue, effects);
        }
        if let Some(point) = &mut self.point {
            let messages = point.on_dequeue(event, core, effects.now);
            if !messages.is_empty() {
                self.send(&messages, core, effects);
            }
        }
    }

    fn on_control(&mut self, packet: &Packet, port: usize, core: &Core, effects: &mut Effects) -> Verdict {
        if packet.kind != Kind::Sfcm {
            return Verdict::Pass;
        }
        if let Some(source) = &mut self.source
            && packet.dst() == core.id
        {
            source.on_message(packet, port, effects);
            return Verdict::Consume;
        }
        let ends_here = self.proxy.as_mut().is_some_and(|p| p.on_message(packet, core, effects));
        if ends_here { Verdict::Consume } else { Verdict::Pass }
    }

    fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        if let Some(source) = &mut self.source {
            source.on_timer(token, effects);
        }
        if let Some(proxy) = &mut self.proxy {
            proxy.on_timer(token, core, effects);
        }
    }

    fn counts(&self, now: Time, add: &mut dyn FnMut(&'static str, u64)) {
        if let Some(point) = &self.point {
            point.counts(now, add);
        }
        if let Some(proxy) = &self.proxy {
            proxy.counts(add);
        }
    }
}
