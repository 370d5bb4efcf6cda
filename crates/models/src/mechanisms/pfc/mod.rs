//! Priority-based Flow Control (IEEE 802.1Qbb; IEEE Std 802.1Q, clause 36).
//! A forwarding node pauses a class of the upstream neighbour when a byte count reaches XOFF, and resumes the
//! class at XON. The count is that of the ingress port or of an egress queue (`accounting`).
//! PFC frames have the size of a control frame, go first, are never paused, and act at their last bit.
//! A host that relays does one of three things (`relays`): the host counts bytes and pauses neighbours, as a
//! switch does; or passes on the pauses that the host gets (the `PortFC` paper, figure 5); or pauses no
//! neighbour, and asks sources to hold flows with too many bytes at the host (`slots.rs`).
//! With `hop_classes` a relay raises the class of each packet (PFC*), so that no cyclic buffer dependency
//! closes. `classes` selects the classes under PFC; packets of other classes neither cause nor obey pauses.
//! With `response` a neighbour obeys a pause after its response time (`response.rs`).
//! Simplification: one class a frame. Invariants: pauses and
//! resumes of a port and class alternate; the computed headroom loses nothing.
//! Source: `docs/models/pfc.md`.

mod params;
mod response;
mod slots;
pub mod watchdog;

use xoff_engine::state;
use xoff_units::{Bytes, Duration, Moment, index, number, wide};

use crate::parts::ids::{ClassSet, Classes, PortId, QueueId};

pub use self::params::{Params, Relays};
use self::response::Delayed;
use self::slots::Slots;
use self::watchdog::{Found, Watchdog};
use crate::frames::kinds::{self, Kind};
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Admit, Crossing, Dequeued, Enqueued, Hooks, Ingress, Install, Levels, PauseFrames, Place, Properties,
    Site, ValidationContext, Verdict, Watches,
};
use crate::mechanisms::pause_response::BITS_A_QUANTUM;
use crate::mechanisms::sizing;
use crate::parts::count::{Count, LATE, PAUSED, Tally};
use crate::parts::param_error::ParamError;
use crate::ports::core::{Core, Queues};
use crate::ports::effects::{Asker, Because, Effect, Effects};
use crate::ports::queueing::buffer::{self, Accounting, Buffer};
use crate::ports::queueing::ring::Ring;

#[derive(Debug, Clone)]
enum Trigger {
    /// Hosts only obey.
    Never,
    /// The core reports crossings of ingress counts.
    Level,
    /// The shared buffer's threshold, judged with each packet; resume this many bytes below.
    Dynamic(buffer::Resume),
    /// Egress queues, judged with each packet: XOFF and XON of each port.
    Egress(Vec<(u32, u32)>),
}

/// PFC at a node.
#[derive(Debug, Clone)]
pub struct Pfc {
    trigger: Trigger,
    frame_bytes: u16,
    quanta: Option<u16>,
    refreshes: bool,
    lose_resumes: u32,
    classes: Classes,
    /// For each port: classes of which the neighbour is paused, and of which pauses by the neighbour are
    /// obeyed.
    sends: Vec<ClassSet>,
    obeys: Vec<ClassSet>,
    /// True at a host that relays and passes pauses on.
    passes_on: bool,
    /// True at a host that relays and raises classes.
    raises_classes: bool,
    /// For each ingress port and class: the number of reasons to pause the neighbour, which is paused above
    /// zero. A reason is a count above XOFF, a request of another mechanism, or a pause that is passed on.
    pausing: Vec<u16>,
    /// For each ingress port and class: the number of counts above XOFF among the reasons.
    over: Vec<u16>,
    /// For each output port: the class of the queue, and the ingress port and class paused by the queue
    /// (egress accounting).
    paused_by_output: Vec<Vec<(u8, PortId, u8)>>,
    /// For each port and class: whether the neighbour pauses us, where pauses are passed on.
    is_paused: Vec<bool>,
    /// For each port and class: when the neighbour's pause of us ends, with quanta.
    expires: Vec<Moment>,
    /// For each port and class, with quanta: the moment of our pause's next refresh or end.
    refresh: Vec<Moment>,
    /// For each port and class: the moment when the count reached a threshold.
    since: Vec<Moment>,
    /// Pauses that do not act yet.
    delayed: Delayed,
    watchdog: Option<Watchdog>,
    /// The bytes of each flow, at a host that relays and pauses no neighbour.
    slots: Option<Box<Slots>>,
    /// True at a host whose flows are held by relays.
    hears_of_slots: bool,
    /// For each port and class: frames.
    frames: Vec<PauseFrames>,
    /// Pauses begun, and the time from XOFF to XON.
    pauses: u64,
    above_xoff: Duration,
}

state!(Pfc {
    value: lose_resumes, pausing, over, paused_by_output, is_paused;
    dues: expires, refresh;
    part: delayed, watchdog, slots, frames;
    constant: trigger, frame_bytes, quanta, refreshes, classes, sends, obeys, passes_on, raises_classes, hears_of_slots;
    sinces: since;
    total: pauses, above_xoff;
});

const REFRESH: u32 = 1 << 24;
const EXPIRE: u32 = 2 << 24;
const WATCH: u32 = 4 << 24;
const RESPOND: u32 = 8 << 24;

impl Pfc {
    fn new(trigger: Trigger, frame_bytes: u16, core: &Core, quanta: Option<u16>) -> Self {
        let (groups, ports) = (core.ingress.len(), core.ports.len());
        Self {
            trigger,
            frame_bytes,
            quanta,
            refreshes: true,
            lose_resumes: 0,
            classes: core.classes,
            sends: vec![ClassSet::ALL; ports],
            obeys: vec![ClassSet::ALL; ports],
            passes_on: false,
            raises_classes: false,
            pausing: vec![0; groups],
            over: vec![0; groups],
            paused_by_output: Vec::new(),
            is_paused: vec![false; groups],
            expires: vec![Moment::ZERO; groups],
            refresh: vec![Moment::NEVER; groups],
            since: vec![Moment::ZERO; groups],
            delayed: Delayed::default(),
            watchdog: None,
            slots: None,
            hears_of_slots: false,
            frames: vec![PauseFrames::default(); groups],
            pauses: 0,
            above_xoff: Duration::ZERO,
        }
    }

    fn forwarding(params: &Params, sends: &[ClassSet], site: &Site<'_>, core: &mut Core) -> Self {
        let most = u64::from(u32::MAX);
        let levels =
            site.levels.iter().flatten().map(|l| (l.xoff.min(most) as u32, l.xon.min(most - 1) as u32));
        let levels: Vec<(u32, u32)> = levels.collect();
        let trigger = match (&core.buffer, params.accounting) {
            (Buffer::Shared(_), Accounting::Ingress) if params.xoff.is_none() => {
                Trigger::Dynamic(params.resume())
            }
            (_, Accounting::Egress) => Trigger::Egress(levels),
            _ => {
                for (port, (xoff, xon)) in PortId::each(&levels) {
                    for class in core.classes.each().filter(|class| sends[port].has(*class)) {
                        let group = core.group(port, class);
                        core.ingress[group].watch(*xoff, *xon);
                    }
                }
                Trigger::Level
            }
        };
        let mut pfc = Self::new(trigger, site.framing.control, core, params.quanta);
        pfc.lose_resumes = site.faults.lose_resumes;
        pfc.watchdog =
            params.watchdog.as_ref().filter(|_| !site.is_host).map(|w| Watchdog::new(w, core.ingress.len()));
        pfc.paused_by_output = core.ports.iter().map(|_| Vec::new()).collect();
        pfc
    }

    /// Returns the index of a port and class.
    fn group(&self, port: PortId, class: u8) -> usize {
        self.classes.group(port, class)
    }

    /// Returns a frame about a class of this node. A relay that raises classes names the class in which the
    /// neighbour sent: one class lower.
    fn frame(&self, class: u8, quanta: u16) -> Packet {
        let class = class - u8::from(self.raises_classes);
        Packet::with(kinds::Pfc { classes: 1 << class, quanta }, u32::MAX, 0, self.frame_bytes, 0)
    }

    /// Passes a neighbour's pause or resume on to all other neighbours. With `hop_classes`, relayed packets
    /// are never in class 0.
    fn pass_on(&mut self, from: PortId, class: u8, is_pause: bool, core: &Core, effects: &mut Effects) {
        if class < u8::from(self.raises_classes) {
            return;
        }
        for port in PortId::all(core.ports.len()).filter(|p| *p != from) {
            if is_pause {
                self.add_reason(port, class, core, effects);
            } else {
                self.take_reason(port, class, effects);
            }
        }
    }

    /// Adds a threshold to the reasons to pause the neighbour.
    fn pause(&mut self, port: PortId, class: u8, core: &Core, effects: &mut Effects) {
        if !self.sends[port].has(class) {
            return;
        }
        let group = self.group(port, class);
        self.over[group] += 1;
        if self.over[group] == 1 {
            self.since[group] = effects.now;
        }
        self.add_reason(port, class, core, effects);
    }

    fn resume(&mut self, port: PortId, class: u8, effects: &mut Effects) {
        if !self.sends[port].has(class) {
            return;
        }
        let group = self.group(port, class);
        self.over[group] -= 1;
        if self.over[group] == 0 {
            self.above_xoff += effects.now - self.since[group];
        }
        self.take_reason(port, class, effects);
    }

    fn add_reason(&mut self, port: PortId, class: u8, core: &Core, effects: &mut Effects) {
        let group = self.group(port, class);
        self.pausing[group] += 1;
        if self.pausing[group] == 1 {
            self.pauses += 1;
            effects.push(Effect::Pausing(Because::Input(port, class)));
            self.send_pause(port, class, core, effects);
        }
    }

    fn take_reason(&mut self, port: PortId, class: u8, effects: &mut Effects) {
        let group = self.group(port, class);
        self.pausing[group] -= 1;
        if self.pausing[group] > 0 {
            return;
        }
        if self.lose_resumes > 0 {
            self.lose_resumes -= 1;
            return;
        }
        self.frames[group].sent += 1;
        effects.push(Effect::Send(port, self.frame(class, 0)));
    }

    /// Obeys a pause or resume of the neighbour. In a storm pauses are ignored.
    fn hear(&mut self, port: PortId, class: u8, is_pause: bool, effects: &mut Effects) {
        let group = self.group(port, class);
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.hear(group, is_pause, WATCH | number(group), effects);
        }
        let is_ignored = self.watchdog.as_ref().is_some_and(|w| w.ignores(group));
        if !is_pause {
            self.delayed.take_back(group);
            effects.push(Effect::Unblock(port, Queues::Class(class)));
        } else if !is_ignored {
            effects.push(Effect::Block(port, Queues::Class(class), Asker::Neighbour));
        }
    }

    /// A storm may begin, or end.
    fn watch(&mut self, port: PortId, class: u8, core: &Core, effects: &mut Effects) {
        let group = self.group(port, class);
        let Some(watchdog) = &mut self.watchdog else { return };
        if watchdog.look(group, WATCH | number(group), effects) == Found::Nothing {
            return;
        }
        self.frames[group].storms += 1;
        if watchdog.drops() {
            let queues = core.queues_of(port, class).map(|q| &core.ports[port].queues[q].packets);
            watchdog.dropped += wide(queues.flat_map(Ring::iter).filter(|p| p.is_data()).count());
            effects.push(Effect::Discard(port, Queues::Class(class)));
        }
        effects.push(Effect::Unblock(port, Queues::Class(class)));
    }

    fn send_pause(&mut self, port: PortId, class: u8, core: &Core, effects: &mut Effects) {
        let quanta = self.quanta.unwrap_or(u16::MAX);
        let (group, frame) = (self.group(port, class), self.frame(class, quanta));
        // A pause of the class that still waits for the link says the same: the link may be slower than the
        // refresh.
        let said = frame.payload::<kinds::Pfc>().map(|said| said.classes);
        let mut waiting =
            core.ports[port].queues[0].packets.iter().rev().filter_map(Packet::payload::<kinds::Pfc>);
        if waiting.find(|other| Some(other.classes) == said).is_none_or(|other| other.quanta == 0) {
            self.frames[group].sent += 1;
            effects.push(Effect::Send(port, frame));
        }
        if let Some(quanta) = self.quanta {
            let length = core.ports[port].rate.time(u64::from(quanta) * BITS_A_QUANTUM / 8);
            self.refresh[group] = effects.now + if self.refreshes { length / 2 } else { length };
            if self.refreshes {
                effects.push(Effect::Timer(self.refresh[group], REFRESH | number(group)));
            }
        }
    }
}

const PAUSES: Count = Count::number("pauses", "PFC pauses");
const FRAMES: Count = Count::number("frames", "PFC frames");
const ABOVE: Count = Count::time("above_xoff_ps", "above XOFF");
const STORMS: Count = Count::number("storms", "PFC storms");
const DROPPED: Count = Count::number("dropped_in_storms", "dropped in PFC storms");

impl Install for Pfc {
    type Params = Params;
    const LABEL: &'static str = "PFC";
    const DROPS: &'static str = "PFC watchdog";
    const COUNTS: &'static [Count] = &[PAUSES, FRAMES, ABOVE, STORMS, DROPPED, LATE, PAUSED];

    /// Hosts obey pauses and ask for none.
    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let is_relay = site.forwards && site.is_host;
        let sends: Vec<ClassSet> =
            site.levels.iter().map(|l| l.map_or(params.sends(), |levels| levels.classes)).collect();
        let passes_on = is_relay && params.relays == Some(Relays::Forward);
        let per_flow = site.relay.per_flow.filter(|_| site.is_host && params.relays.is_none());
        let mut pfc = if site.forwards && !site.ports.is_empty() && !passes_on && per_flow.is_none() {
            Self::forwarding(params, &sends, site, core)
        } else {
            Self::new(Trigger::Never, site.framing.control, core, params.quanta)
        };
        (pfc.sends, pfc.obeys) = (sends, vec![params.obeys(); site.ports.len()]);
        pfc.refreshes = params.refresh;
        pfc.delayed = Delayed::new(params.response, core);
        pfc.passes_on = passes_on;
        pfc.hears_of_slots = per_flow.is_some();
        pfc.slots = per_flow
            .filter(|_| is_relay)
            .map(|bytes| Box::new(Slots::new(bytes, site.framing.control, site.sources)));
        pfc.raises_classes = is_relay && params.hop_classes;
        Some(pfc)
    }

    fn install_at(&mut self, port: PortId, params: &Params) {
        self.obeys[port] = params.obeys();
    }

    fn properties(params: &Params) -> Properties {
        Properties {
            is_lossless: true,
            pausing: Some(params.sends()),
            obeying: Some(params.obeys()),
            can_deadlock: true,
            pauses_neighbours: true,
            folds: true,
            has_levels: true,
            accounting: Some(params.accounting),
            counts_queues: params.accounting == Accounting::Egress,
            assigns_queues: params.hop_classes,
            raises_classes: params.hop_classes,
            passes_pauses_on: params.relays == Some(Relays::Forward),
            holds_at_relays: params.relays.is_none(),
            response: params.response,
            ends_pauses: params.watchdog.as_ref().map(watchdog::Params::longest_pause),
            if_frames_are_lost: params.quanta.is_none().then_some((
                true,
                "without quanta never ends a pause whose resume is lost; give switch.flow_control.pfc.quanta",
            )),
            ..Properties::default()
        }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        params.validate(context)
    }

    fn check_port(params: &Params, ingress: &Ingress<'_>, levels: Option<&Levels>) -> Result<(), ParamError> {
        if params.accounting == Accounting::Egress && levels.is_some_and(|l| l.is_dynamic) {
            let why = "missing; egress accounting has no dynamic threshold of a shared buffer; give xoff";
            return Err(("xoff", why.into()));
        }
        params.check_response(ingress.port.link.rate)?;
        let (Some(xon), Some(levels)) =
            (params.xon.filter(|_| params.xoff.is_none()), levels.filter(|l| !l.is_dynamic))
        else {
            return Ok(());
        };
        if xon.0 >= levels.xoff {
            let (xoff, link) = (Bytes(levels.xoff), ingress.port.link);
            return Err((
                "xon",
                format!(
                    "{xon} is not below XOFF, which is {xoff} for a {} link of {}",
                    link.rate, link.delay
                ),
            ));
        }
        Ok(())
    }

    fn levels(params: &Params, ingress: &Ingress<'_>) -> Option<Levels> {
        let (link, largest) = (ingress.port.link, ingress.framing.largest());
        let control = u64::from(ingress.framing.control);
        let (round_trip, packets) = sizing::pfc_headroom(
            link.rate,
            link.delay,
            ingress.delay + params.response_at(link.rate),
            largest,
            ingress.counted_after,
            control,
        );
        let headroom = round_trip + packets;
        // Classes share the port's memory, and each may fill up to its threshold and headroom.
        let limit = match ingress.memory {
            buffer::Params::PerPort(bytes) => Some(bytes.0 / u64::from(ingress.classes)),
            buffer::Params::PerQueue(bytes) => Some(bytes.0),
            buffer::Params::Unlimited | buffer::Params::Shared(_) => None,
        };
        let xoff = params
            .xoff
            .map_or_else(|| limit.map_or(100_000, |l| l.saturating_sub(headroom).max(largest)), |x| x.0);
        let is_dynamic = params.xoff.is_none() && matches!(ingress.memory, buffer::Params::Shared(_));
        let below = || if is_dynamic { params.offset_or_default() } else { xoff.saturating_sub(2 * largest) };
        let xon = params.xon.map_or_else(below, |x| x.0);
        Some(Levels {
            xoff,
            xon,
            headroom,
            available: limit.map(|l| l.saturating_sub(xoff)),
            is_dynamic,
            classes: params.sends(),
        })
    }

    fn most_relays(params: &Params, above: u32) -> Option<(&'static str, u32, &'static str)> {
        let why = "each relay needs a class above the class of the flow; raise switch.classes";
        params.hop_classes.then_some(("hop_classes", above, why))
    }
}

impl Hooks for Pfc {
    fn watches(&self) -> Watches {
        let raises = if self.raises_classes { Watches::ASSIGN } else { Watches::NONE };
        let renews = if self.refreshes || matches!(self.trigger, Trigger::Never) {
            Watches::NONE
        } else {
            Watches::ENQUEUE
        };
        let drops = self.watchdog.as_ref().is_some_and(Watchdog::drops);
        let slots = if self.slots.is_some() { Watches::ENQUEUE.and(Watches::DEQUEUE) } else { Watches::NONE };
        let silence = if self.hears_of_slots { Watches::ANSWER } else { Watches::NONE };
        raises
            .and(renews)
            .and(slots)
            .and(silence)
            .and(Watches::LINK)
            .and(if drops { Watches::ADMIT } else { Watches::NONE })
            .and(match self.trigger {
                Trigger::Never => Watches::CONTROL.and(Watches::REQUEST),
                Trigger::Level => Watches::CONTROL.and(Watches::REQUEST).and(Watches::LEVEL),
                Trigger::Dynamic(_) | Trigger::Egress(_) => {
                    Watches::CONTROL.and(Watches::REQUEST).and(Watches::ENQUEUE).and(Watches::DEQUEUE)
                }
            })
    }

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        _: PortId,
        core: &Core,
        _: &mut Effects,
    ) -> Option<QueueId> {
        packet.set_class((packet.class() + 1).min(core.classes.0 - 1));
        None
    }

    /// In a storm no packet enters the class or comes from its port.
    fn admit(&mut self, packet: &mut Packet, place: Place, core: &Core, _: &mut Effects) -> Admit {
        let class = packet.class();
        let Some(watchdog) = &mut self.watchdog else { return Admit::Accept(place.queue) };
        if [place.port, packet.in_port()].into_iter().any(|port| watchdog.ignores(core.group(port, class))) {
            watchdog.dropped += 1;
            return Admit::Drop;
        }
        Admit::Accept(place.queue)
    }

    fn pauses_because(&self, from: PortId, class: u8, port: PortId, told: u8) -> bool {
        self.passes_on && from != port && class == told + u8::from(self.raises_classes)
    }

    fn on_level(&mut self, crossing: Crossing, core: &Core, effects: &mut Effects) {
        if crossing.is_up {
            self.pause(crossing.port, crossing.class, core, effects);
        } else {
            self.resume(crossing.port, crossing.class, effects);
        }
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        if let Some(slots) = &mut self.slots {
            return slots.on_enqueue(event.packet, effects);
        }
        let (port, class) = (event.packet.in_port(), event.packet.class());
        let group = core.group(port, class);
        if !self.refreshes && self.pausing[group] > 0 && self.refresh[group] <= effects.now {
            self.pauses += 1;
            self.send_pause(port, class, core, effects);
        }
        match self.trigger {
            Trigger::Dynamic(_) => {
                if let Buffer::Shared(shared) = &core.buffer
                    && self.over[group] == 0
                    && shared.is_over(group)
                {
                    for class in shared.together(group) {
                        if self.over[core.group(port, class)] == 0 {
                            self.pause(port, class, core, effects);
                        }
                    }
                }
            }
            Trigger::Egress(ref levels) => {
                let xoff = levels[event.port].0;
                // A packet that joins a queue at XOFF or above pauses the ingress port of the packet, once.
                let paused = &mut self.paused_by_output[event.port];
                let entry = (core.ports[event.port].queues[event.queue].class(), port, class);
                if core.egress_bytes(event.port, event.queue) >= xoff && !paused.contains(&entry) {
                    paused.push(entry);
                    self.pause(port, class, core, effects);
                }
            }
            Trigger::Never | Trigger::Level => {}
        }
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        if let Some(slots) = &mut self.slots {
            return slots.on_dequeue(event.packet, effects);
        }
        match self.trigger {
            Trigger::Dynamic(_) => self.on_whole(event, core, effects),
            Trigger::Egress(ref levels) => {
                let xon = levels[event.port].1;
                let class = core.ports[event.port].queues[event.queue].class();
                let has_paused = self.paused_by_output[event.port].iter().any(|p| p.0 == class);
                if has_paused && core.egress_bytes(event.port, event.queue) <= xon {
                    let mut paused = std::mem::take(&mut self.paused_by_output[event.port]);
                    paused.retain(|(of, port, paused)| {
                        if *of == class {
                            self.resume(*port, *paused, effects);
                        }
                        *of != class
                    });
                    self.paused_by_output[event.port] = paused;
                }
            }
            Trigger::Never | Trigger::Level => {}
        }
    }

    /// Compares the count with the dynamic threshold after a packet has left whole and the shared buffer has
    /// taken back the bytes of the packet.
    fn on_whole(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let (port, class) = (event.packet.in_port(), event.packet.class());
        let group = core.group(port, class);
        if let (Trigger::Dynamic(resume), Buffer::Shared(shared)) = (&self.trigger, &core.buffer)
            && (self.over[group] > 0 || shared.counts_together())
            && shared.is_under(group, *resume)
        {
            for class in shared.together(group) {
                if self.over[core.group(port, class)] > 0 {
                    self.resume(port, class, effects);
                }
            }
        }
    }

    fn on_control(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        let Some(kinds::Pfc { classes, quanta }) = packet.payload() else {
            if packet.kind() == Kind::Slots && packet.dst() == core.id {
                Slots::on_message(packet, effects);
                return Verdict::Consume;
            }
            return Verdict::Pass;
        };
        let (class, is_pause) = (classes.trailing_zeros() as u8, quanta > 0);
        let group = self.group(port, class);
        self.frames[group].received += 1;
        if !self.obeys[port].has(class) {
            self.frames[group].ignored += u64::from(is_pause);
            return Verdict::Consume;
        }
        if !is_pause || !self.delayed.put_off(port, group, RESPOND | number(group), effects) {
            self.hear(port, class, is_pause, effects);
        }
        if self.passes_on && std::mem::replace(&mut self.is_paused[group], is_pause) != is_pause {
            self.pass_on(port, class, is_pause, core, effects);
        }
        if is_pause && self.quanta.is_some() {
            let end = effects.now + core.ports[port].rate.time(u64::from(quanta) * BITS_A_QUANTUM / 8);
            self.expires[group] = end;
            effects.push(Effect::Timer(end, EXPIRE | number(group)));
        }
        Verdict::Consume
    }

    /// Releases the flow, as the message of a free slot may be lost.
    fn on_silence(&mut self, flow: u32, _: &Core, effects: &mut Effects) {
        if self.hears_of_slots {
            effects.push(Effect::ReleaseFlow(flow));
        }
    }

    fn on_pause_request(&mut self, port: PortId, class: u8, is_on: bool, core: &Core, effects: &mut Effects) {
        match (self.sends[port].has(class), is_on) {
            (false, _) => {}
            (true, true) => self.add_reason(port, class, core, effects),
            (true, false) => self.take_reason(port, class, effects),
        }
    }

    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        for class in self.classes.each() {
            let group = self.group(port, class);
            if is_up && self.pausing[group] > 0 {
                self.send_pause(port, class, core, effects);
            } else if !is_up {
                self.hear(port, class, false, effects);
                if std::mem::take(&mut self.is_paused[group]) {
                    self.pass_on(port, class, false, core, effects);
                }
            }
        }
    }

    fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        let group = index(token & 0x00FF_FFFF);
        let (port, class) = self.classes.of(group);
        if token & WATCH != 0 {
            self.watch(port, class, core, effects);
        } else if token & RESPOND != 0 {
            if self.delayed.take_due(group, effects.now) {
                self.hear(port, class, true, effects);
            }
        } else if token & EXPIRE != 0 {
            if self.expires[group] <= effects.now {
                self.hear(port, class, false, effects);
                if std::mem::take(&mut self.is_paused[group]) {
                    self.pass_on(port, class, false, core, effects);
                }
            }
        } else if self.pausing[group] > 0 && self.refresh[group] == effects.now {
            self.send_pause(port, class, core, effects);
        }
    }

    fn pause_frames(&self, port: PortId, class: u8) -> PauseFrames {
        self.frames[self.group(port, class)]
    }

    fn standing_pauses(&self, add: &mut dyn FnMut(PortId, u8)) {
        for group in (0..self.pausing.len()).filter(|g| self.pausing[*g] > 0) {
            let (port, class) = self.classes.of(group);
            add(port, class);
        }
    }

    fn counts(&self, now: Moment, tally: &mut dyn Tally) {
        let standing = self.over.iter().zip(&self.since).filter(|p| *p.0 > 0).map(|p| now.since(*p.1));
        tally.add(PAUSES, self.pauses);
        tally.add(FRAMES, self.frames.iter().map(|frames| frames.sent).sum());
        tally.add(STORMS, self.frames.iter().map(|frames| frames.storms).sum());
        tally.add(DROPPED, self.watchdog.as_ref().map_or(0, |w| w.dropped));
        tally.add(ABOVE, standing.fold(self.above_xoff, |a, b| a + b).ps());
    }
}

#[cfg(test)]
mod tests;
