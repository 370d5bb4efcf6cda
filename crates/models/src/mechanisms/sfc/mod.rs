//! Source Flow Control (IEEE P802.1Qdw): a congested switch asks the source of a flow to hold the flow for a
//! stated time.
//! A congestion point (`point.rs`) sends an SFCM when a packet enters a watched queue at the threshold. The
//! source (`source.rs`) holds the flow, or the source's switch holds the flow on the source's behalf
//! (`proxy.rs`). The watched queue is the egress queue (`oq`), the queue of an input and output (`voq`), or
//! the input FIFO (`iq`, which accuses innocents).
//! Simplifications: an SFCM names the flow, its destination and its class, and takes one control frame.
//! Invariants: a hold lasts until the latest requested moment, unless a resume comes first; packets of a flow
//! keep their order.
//! Source: "SFC simulation" and "Improvements on SFC Proxy Mode" (P802.1Qdw contributions);
//! `docs/models/sfc.md`.

mod counts;
mod params;
mod point;
mod proxy;
mod source;

use serde_json::json;
use xoff_engine::state;
use xoff_units::{Bytes, Duration, Moment};

use self::counts::{ABOVE, ABOVE_AFTER_PAUSE, IDLE, ISOLATED, MESSAGES, PROXY_PAUSES, RESUMES};
pub use self::params::{Dynamic, Fallback, Hold, Mode, Params, ResumeEnds, Signals};
use self::point::Point;
use self::proxy::Proxy;
use self::source::Source;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::frames::tag;
use crate::mechanisms::contract::{
    Departure, Dequeued, Enqueued, Hooks, Ingress, Install, Levels, Properties, Site, ValidationContext,
    Verdict, Watches,
};
use crate::parts::count::{Count, LATE, PAUSED, Tally};
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError, remove};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::{Effect, Effects};

/// SFC at a node.
#[derive(Debug, Clone)]
pub struct Sfc {
    point: Option<Point>,
    proxy: Option<Proxy>,
    source: Option<Source>,
    /// At a host: the number of the interface's queues, and the choice when all are paused.
    interface_queues: Option<(u8, Fallback)>,
    /// At a switch: queues of interfaces are classes that end here.
    ends_classes: bool,
}

state!(Sfc {
    part: point, proxy, source;
    constant: interface_queues, ends_classes;
});

/// Refuses levels and times out of range.
fn check_ranges(params: &Params) -> Result<(), ParamError> {
    for (key, level) in
        [("threshold", params.threshold), ("target", params.target), ("resume", params.resume)]
    {
        if let Some(bytes) = level.filter(|b| b.0 == 0 && key == "threshold" || b.0 >= 1 << 32) {
            return Err((key, format!("{bytes} is out of range; must be above zero and below 4GiB")));
        }
    }
    for (key, time) in
        [("pause", params.pause), ("interval", params.interval), ("round_trip", params.round_trip)]
    {
        if let Some(time) =
            time.filter(|t| *t < Duration::ns(1) && key == "pause" || *t > Duration::ms(1_000))
        {
            return Err((key, format!("{time} is out of range; allowed are 1ns to 1s")));
        }
    }
    Ok(())
}

impl Install for Sfc {
    type Params = Params;
    const LABEL: &'static str = "SFC";
    const COUNTS: &'static [Count] =
        &[MESSAGES, RESUMES, LATE, ABOVE, ABOVE_AFTER_PAUSE, IDLE, PROXY_PAUSES, ISOLATED, PAUSED];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let has_proxy = params.mode != Mode::Host && site.forwards && !site.hosts.is_empty();
        Some(Self {
            point: site.forwards.then(|| Point::new(params, site, core)),
            proxy: has_proxy.then(|| Proxy::new(params, site.hosts, core)),
            source: (site.is_host && params.mode == Mode::Host).then(|| Source::new(params.hold)),
            interface_queues: (site.is_host && params.mode == Mode::NicIsolation)
                .then_some((params.queues, params.fallback)),
            ends_classes: !site.is_host && params.mode == Mode::NicIsolation,
        })
    }

    fn properties(params: &Params) -> Properties {
        let why = "a relay has no switch that acts as its proxy; use mode = \"host\"";
        Properties {
            counts_queues: true,
            assigns_queues: params.mode == Mode::ProxyIsolation,
            wants_congestion_queues: params.mode == Mode::ProxyIsolation,
            interface_queues: if params.mode == Mode::NicIsolation { params.queues } else { 1 },
            tag_bits: if params.mode == Mode::NicIsolation { tag::BITS } else { 0 },
            refuses_relayed_sources: (params.mode != Mode::Host).then_some(("mode", why)),
            ..Properties::default()
        }
    }

    fn warn(params: &Params, levels: &Levels) -> Option<ParamError> {
        let is_above = params.threshold.is_some_and(|t| t.0 > levels.xoff);
        is_above.then(|| {
            ("threshold", format!("the threshold is above XOFF, {}: PFC acts first", Bytes(levels.xoff)))
        })
    }

    fn check_port(params: &Params, _: &Ingress<'_>, levels: Option<&Levels>) -> Result<(), ParamError> {
        if params.dynamic.is_some_and(|d| d.threshold) && levels.is_some_and(|l| l.is_dynamic) {
            return Err((
                "dynamic.threshold",
                "needs a fixed XOFF, and XOFF moves in a shared buffer; give pfc.xoff".into(),
            ));
        }
        Ok(())
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        let has_pfc = context.other(|o| o.pauses_neighbours).is_some();
        check_ranges(params)?;
        let dynamic = params.dynamic.unwrap_or_default();
        let pauses = usize::from(params.pause.is_some())
            + usize::from(params.target.is_some())
            + usize::from(dynamic.pause);
        if pauses != 1 {
            return Err(("pause", "give exactly one of pause, target and dynamic.pause".into()));
        }
        if params.threshold.is_none() && !dynamic.threshold {
            return Err(("threshold", "missing; give a threshold, or set dynamic.threshold".into()));
        }
        if params.dynamic.is_some() && params.round_trip.is_none() {
            return Err(("round_trip", "missing; dynamic pauses and thresholds need the round trip".into()));
        }
        if dynamic.threshold && context.other(|o| o.has_levels).is_none() {
            return Err((
                "dynamic",
                Change::set("switch.flow_control.pfc", json!({}))
                    .after("a dynamic threshold lies below XOFF"),
            ));
        }
        for (key, level) in [("target", params.target), ("resume", params.resume)] {
            if let (Some(level), Some(threshold)) = (level, params.threshold)
                && level >= threshold
            {
                return Err((key, "must be below the threshold".into()));
            }
        }
        if params.signals == Signals::LastHop && context.queueing == Queueing::Iq {
            return Err((
                "signals",
                Change::set("switch.queueing", "oq")
                    .after("needs queues of one output, and the input FIFOs of iq hold packets for all"),
            ));
        }
        if params.mode != Mode::Host && params.hold != Hold::Flow {
            return Err(("hold", remove("has no effect outside mode = \"host\"")));
        }
        if matches!(params.mode, Mode::Proxy | Mode::NicIsolation) && !has_pfc {
            return Err((
                "mode",
                Change::set("switch.flow_control.pfc", json!({}))
                    .after("the switch of the source pauses hosts with PFC"),
            ));
        }
        if params.fallback != Fallback::default() && params.mode != Mode::NicIsolation {
            return Err(("fallback", remove("has no effect outside mode = \"nic_isolation\"")));
        }
        if params.cache && !matches!(params.mode, Mode::Proxy | Mode::ProxyIsolation) {
            return Err(("cache", remove("has no effect outside the modes proxy and proxy_isolation")));
        }
        if params.resume_ends == ResumeEnds::Queue && params.mode == Mode::Host {
            return Err(("resume_ends", remove("has no effect in mode = \"host\", where hold decides")));
        }
        if params.resume_ends == ResumeEnds::Queue && params.resume.is_none() {
            return Err(("resume_ends", "needs resume, the level at which a resume is sent".into()));
        }
        if params.mode == Mode::NicIsolation && !(2..=8).contains(&params.queues) {
            return Err(("queues", "allowed are 2 to 8".into()));
        }
        Ok(())
    }
}

impl Sfc {
    /// Sends messages: to this node's own proxy for hosts of this switch, otherwise into the network.
    fn send(&mut self, messages: &[Packet], core: &Core, effects: &mut Effects) {
        for message in messages {
            if !self.proxy.as_mut().is_some_and(|p| p.on_message(message, core, effects)) {
                effects.push(Effect::Emit(*message));
            }
        }
    }
}

impl Hooks for Sfc {
    fn watches(&self) -> Watches {
        let mut watches = Watches::NONE;
        if self.interface_queues.is_some() {
            watches = watches.and(Watches::PLACE);
        }
        if self.ends_classes {
            watches = watches.and(Watches::DEPARTURE);
        }
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

    /// Puts a flow into the first queue of the interface without a pause.
    fn place_flow(&mut self, packet: &mut Packet, port: PortId, core: &Core) -> Option<QueueId> {
        let (count, fallback) = self.interface_queues?;
        let of_class = |class: u8| &core.ports[port].queues[1 + usize::from(class)];
        let chosen = (0..count).find(|class| !of_class(*class).is_blocked()).or_else(|| match fallback {
            Fallback::First => None,
            Fallback::Shortest => (0..count).min_by_key(|class| of_class(*class).suppliers.len()),
        });
        packet.set_class(chosen.unwrap_or(0));
        None
    }

    /// Past the first switch the interface's queue is a tag.
    fn on_departure(&mut self, event: &mut Departure<'_>, _: &Core, _: &mut Effects) {
        if event.packet.class() > 0 {
            event.packet.set_tag(u32::from(event.packet.class()));
            event.packet.set_class(0);
        }
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        self.proxy.as_mut()?.assign_queue(packet, port, core, effects)
    }

    fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
        if let Some(proxy) = &mut self.proxy {
            proxy.on_drop(event.packet.flow(), event.port, event.queue, effects);
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
            proxy.on_left(event.packet.flow(), event.port, event.queue, core, effects);
        }
        if let Some(point) = &mut self.point {
            let messages = point.on_dequeue(event, core, effects.now);
            if !messages.is_empty() {
                self.send(&messages, core, effects);
            }
        }
    }

    fn on_whole(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if let Some(point) = &mut self.point {
            let messages = point.on_whole(event, core, effects.now);
            if !messages.is_empty() {
                self.send(&messages, core, effects);
            }
        }
    }

    fn on_control(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        if packet.kind() != Kind::Sfcm {
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

    fn counts(&self, now: Moment, tally: &mut dyn Tally) {
        if let Some(point) = &self.point {
            point.counts(now, tally);
        }
        if let Some(proxy) = &self.proxy {
            proxy.counts(tally);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::queueing::port::Cause;

    #[test]
    fn a_new_flow_takes_a_queue_that_is_not_paused_or_what_the_scenario_says() {
        let mut core = Core::for_tests(1, 3);
        for (queue, flows) in [(1, 3), (2, 1), (3, 2)] {
            for flow in 0..flows {
                core.ports[0].push_supplier(QueueId(queue), flow);
            }
        }
        let class = |fallback: Fallback, core: &Core| {
            let mut sfc = Sfc {
                point: None,
                proxy: None,
                source: None,
                interface_queues: Some((3, fallback)),
                ends_classes: false,
            };
            let mut packet = Packet::new(Kind::Data, 9, 0, 2, 1000, 0);
            assert_eq!(sfc.place_flow(&mut packet, PortId(0), core), None);
            packet.class()
        };
        let both = |core: &Core| [Fallback::First, Fallback::Shortest].map(|fallback| class(fallback, core));
        assert_eq!(both(&core), [0, 0], "the first that may send, however many wait there");
        for (queue, expected) in [(1, [1, 1]), (2, [2, 2]), (3, [0, 1])] {
            assert!(core.ports[0].block(QueueId(queue), Cause::mechanism(0)));
            assert_eq!(both(&core), expected, "{queue} and those before it are paused");
        }
    }
}
