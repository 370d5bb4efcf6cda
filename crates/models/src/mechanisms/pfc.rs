//! Priority-based Flow Control (IEEE 802.1Qbb, 802.1Q clause 36).
//!
//! Models: a forwarding node pauses the upstream neighbour, per class, when the bytes that came by a port reach XOFF (`ingress`
//! accounting), or when an egress queue that the port feeds reaches XOFF (`egress` accounting); it resumes it at XON. Frames of
//! one minimum size, sent before all others, never paused, acting on the neighbour's queues when the last bit is in. Hosts obey
//! and do not originate. Hosts that relay do either as switches do, or they pass pauses on: while a neighbour pauses them, they
//! pause all others (the `PortFC` paper's figure 5). With `hop_classes` packets rise a class with every node that relays them, and
//! what a relay asks of its neighbours is a class lower (the paper's PFC*, after Tagger, Hu et al. 2017: no circle of classes can
//! close, as a class waits for higher ones alone). Source: mechanisms.md section 1, 7.3 and 7.4 (15) (semantics of HPCC: on until an explicit resume), `[RES]` there for
//! quanta with refresh.
//! Simplifications: the neighbour's response time is a frame in progress and nothing more; no lost frames; one class a frame.
//! Invariants: pauses and resumes of a port and class alternate; with the computed headroom nothing is dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Time};

use crate::mechanism::{Around, Core, Crossing, Dequeued, Effect, Effects, Enqueued, Hooks, Install, Queues, Site, Verdict, Watches};
use crate::packet::{Kind, Packet};
use crate::queueing::buffer::Buffer;
use crate::queueing::port::Cause;

/// What XOFF is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// The bytes that came by an ingress port and wait anywhere in the node.
    #[default]
    Ingress,
    /// The bytes in an egress queue, whichever port they came by.
    Egress,
}

/// What hosts that relay do under PFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relays {
    /// They pause their neighbours as switches do, when what they relay fills.
    #[default]
    Native,
    /// They pause all other neighbours while one pauses them, and look at nothing else.
    Forward,
}

/// `switch.flow_control.pfc`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pause at this many bytes. Default: the class's share of the port's buffer less the computed headroom; with a shared buffer,
    /// its dynamic threshold (and by egress queue none, so that one is needed); with unlimited memory 100 KB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Resume at this many bytes or fewer. Default: two packets below XOFF. With the dynamic threshold of a shared buffer: resume
    /// this far below it; default 3 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// What XOFF is compared with.
    #[serde(default)]
    pub accounting: Accounting,
    /// Pauses end by themselves after this many quanta of 512 bit times unless refreshed, which the pausing node does at half of
    /// it, or as often as its link can. Default: pauses last until the resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quanta: Option<u16>,
    /// What hosts that relay do.
    #[serde(default)]
    pub relays: Relays,
    /// Each node that relays a packet puts it into the next higher class: PFC* of the `PortFC` paper.
    #[serde(default)]
    pub hop_classes: bool,
    /// Broken on purpose, to study what follows: this many of a node's resumes are never sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swallow_resumes: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[derive(Debug, Clone)]
enum Trigger {
    /// Hosts only obey.
    Never,
    /// The core reports crossings of ingress counts.
    Level,
    /// The shared buffer's threshold, judged with each packet; resume this many bytes below.
    Dynamic(i64),
    /// Egress queues, judged with each packet: XOFF and XON of each port.
    Egress(Vec<(u32, u32)>),
}

/// PFC at one node.
#[derive(Debug)]
pub struct Pfc {
    trigger: Trigger,
    frame_bytes: u16,
    quanta: Option<u16>,
    swallow_resumes: u32,
    classes: usize,
    /// A host that relays and passes pauses on.
    passes_on: bool,
    /// A host that relays and raises classes.
    raises_classes: bool,
    /// For each ingress port and class: how many reasons there are to pause the neighbour, and how many of them are thresholds.
    pausing: Vec<u16>,
    over: Vec<u16>,
    /// For each output port: class of the queue, and ingress port and class that it pauses (egress accounting).
    paused_by_output: Vec<Vec<(u8, usize, u8)>>,
    /// For each port and class: whether the neighbour pauses us, where pauses are passed on.
    is_paused: Vec<bool>,
    /// For each port and class: when the neighbour's pause of us ends, with quanta.
    expires: Vec<Time>,
    /// For each port and class: when our pause is next refreshed, with quanta.
    refresh: Vec<Time>,
    /// For each port and class: since when it is over a threshold.
    since: Vec<Time>,
    /// Pauses begun, frames sent, and the time from XOFF to XON.
    pauses: u64,
    frames: u64,
    above_xoff: Time,
}

const REFRESH: u32 = 1 << 24;
const EXPIRE: u32 = 2 << 24;
const BITS_A_QUANTUM: u64 = 512;

impl Pfc {
    fn new(trigger: Trigger, frame_bytes: u16, core: &Core, quanta: Option<u16>) -> Self {
        let groups = core.ports.len() * core.classes;
        Self {
            trigger,
            frame_bytes,
            quanta,
            swallow_resumes: 0,
            classes: core.classes,
            passes_on: false,
            raises_classes: false,
            pausing: vec![0; groups],
            over: vec![0; groups],
            paused_by_output: Vec::new(),
            is_paused: vec![false; groups],
            expires: vec![Time::ZERO; groups],
            refresh: vec![Time::NEVER; groups],
            since: vec![Time::ZERO; groups],
            pauses: 0,
            frames: 0,
            above_xoff: Time::ZERO,
        }
    }

    fn forwarding(params: &Params, site: &Site<'_>, core: &mut Core) -> Self {
        let levels = site.ports.iter().map(|p| site.settings.thresholds(p, site.delay, site.is_host));
        let levels: Vec<(u32, u32)> =
            levels.map(|t| (t.xoff.min(u64::from(u32::MAX)) as u32, t.xon.min(u64::from(u32::MAX - 1)) as u32)).collect();
        let trigger = match (&core.buffer, params.accounting) {
            (Buffer::Shared(_), Accounting::Ingress) if params.xoff.is_none() => {
                Trigger::Dynamic(params.xon.map_or(3 * 1024, |x| x.0 as i64))
            }
            (_, Accounting::Egress) => Trigger::Egress(levels),
            _ => {
                for (port, (xoff, xon)) in levels.iter().enumerate() {
                    for class in 0..core.classes {
                        core.ingress[port * core.classes + class].watch(*xoff, *xon);
                    }
                }
                Trigger::Level
            }
        };
        let mut pfc = Self::new(trigger, site.settings.framing.control, core, params.quanta);
        pfc.swallow_resumes = params.swallow_resumes;
        pfc.paused_by_output = core.ports.iter().map(|_| Vec::new()).collect();
        pfc
    }

    /// Pauses that stand, by ingress port and class.
    pub fn outstanding(&self) -> impl Iterator<Item = (usize, u8)> {
        self.pausing.iter().enumerate().filter(|p| *p.1 > 0).map(|(g, _)| (g / self.classes, (g % self.classes) as u8))
    }

    /// A frame about a class of ours, which may be another for the neighbour.
    fn frame(&self, class: u8, quanta: u32) -> Packet {
        let class = class - u8::from(self.raises_classes);
        let mut frame = Packet::new(Kind::Pfc, u32::MAX, 1 << class, 0, self.frame_bytes, 0);
        frame.info = quanta;
        frame
    }

    /// A neighbour paused a class, or let it go on: all others hear of it. Nothing that comes to be relayed is of the lowest
    /// class when classes rise.
    fn pass_on(&mut self, from: usize, class: u8, is_pause: bool, core: &Core, effects: &mut Effects) {
        if class < u8::from(self.raises_classes) {
            return;
        }
        for port in (0..core.ports.len()).filter(|p| *p != from) {
            if is_pause {
                self.add_reason(port, class, core, effects);
            } else {
                self.take_reason(port, class, effects);
            }
        }
    }

    /// One more reason to pause the neighbour: a threshold was reached.
    fn pause(&mut self, port: usize, class: u8, core: &Core, effects: &mut Effects) {
        let group = port * self.classes + class as usize;
        self.over[group] += 1;
        if self.over[group] == 1 {
            self.since[group] = effects.now;
        }
        self.add_reason(port, class, core, effects);
    }

    fn resume(&mut self, port: usize, class: u8, effects: &mut Effects) {
        let group = port * self.classes + class as usize;
        self.over[group] -= 1;
        if self.over[group] == 0 {
            self.above_xoff += effects.now - self.since[group];
        }
        self.take_reason(port, class, effects);
    }

    fn add_reason(&mut self, port: usize, class: u8, core: &Core, effects: &mut Effects) {
        let group = port * self.classes + class as usize;
        self.pausing[group] += 1;
        if self.pausing[group] == 1 {
            self.pauses += 1;
            self.send_pause(port, class, core, effects);
        }
    }

    fn take_reason(&mut self, port: usize, class: u8, effects: &mut Effects) {
        let group = port * self.classes + class as usize;
        self.pausing[group] -= 1;
        if self.pausing[group] > 0 {
            return;
        }
        if self.swallow_resumes > 0 {
            self.swallow_resumes -= 1;
            return;
        }
        self.frames += 1;
        effects.push(Effect::Send(port, self.frame(class, 0)));
    }

    fn send_pause(&mut self, port: usize, class: u8, core: &Core, effects: &mut Effects) {
        let frame = self.frame(class, u32::from(self.quanta.unwrap_or(u16::MAX)));
        // A pause of the class that still waits for the link says the same: the link may be slower than the refresh.
        let waiting = core.ports[port].queues[0].packets.iter().rev().find(|f| f.kind == Kind::Pfc && f.seq == frame.seq);
        if waiting.is_none_or(|f| f.info == 0) {
            self.frames += 1;
            effects.push(Effect::Send(port, frame));
        }
        if let Some(quanta) = self.quanta {
            let group = port * self.classes + class as usize;
            let at = effects.now + core.ports[port].rate.time(u64::from(quanta) * BITS_A_QUANTUM / 8) / 2;
            self.refresh[group] = at;
            effects.push(Effect::Timer(at, REFRESH | group as u32));
        }
    }
}

impl Install for Pfc {
    type Params = Params;

    /// Hosts obey pauses and ask for none.
    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        let is_relay = site.forwards && site.is_host;
        let passes_on = is_relay && params.relays == Relays::Forward;
        let mut pfc = if site.forwards && !site.ports.is_empty() && !passes_on {
            Self::forwarding(params, site, core)
        } else {
            Self::new(Trigger::Never, site.settings.framing.control, core, params.quanta)
        };
        pfc.passes_on = passes_on;
        pfc.raises_classes = is_relay && params.hop_classes;
        Some(pfc)
    }

    fn validate(params: &Params, around: &Around<'_>) -> Result<(), (&'static str, String)> {
        if params.hop_classes && around.classes < 2 {
            return Err((
                "hop_classes",
                "packets rise a class with every relay; set switch.classes to one more than there are relays".into(),
            ));
        }
        Ok(())
    }

    fn assigns_queues(params: &Params) -> bool {
        params.hop_classes
    }
}

impl Hooks for Pfc {
    fn watches(&self) -> Watches {
        let raises = if self.raises_classes { Watches::ASSIGN } else { Watches::NONE };
        raises.and(match self.trigger {
            Trigger::Never => Watches::CONTROL,
            Trigger::Level => Watches::CONTROL.and(Watches::REQUEST).and(Watches::LEVEL),
            Trigger::Dynamic(_) | Trigger::Egress(_) => Watches::CONTROL.and(Watches::REQUEST).and(Watches::ENQUEUE).and(Watches::DEQUEUE),
        })
    }

    fn assign_queue(&mut self, packet: &mut Packet, _: usize, core: &Core, _: &mut Effects) -> Option<usize> {
        packet.set_class((packet.class() + 1).min(core.classes as u8 - 1));
        None
    }

    fn pauses_because(&self, from: usize, class: u8, port: usize, told: u8) -> bool {
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
        let (port, class) = (event.packet.in_port as usize, event.packet.class());
        let group = core.group(port, class);
        match self.trigger {
            Trigger::Dynamic(_) => {
                if let Buffer::Shared(shared) = &core.buffer
                    && self.over[group] == 0
                    && shared.is_over(group)
                {
                    self.pause(port, class, core, effects);
                }
            }
            Trigger::Egress(ref levels) => {
                let xoff = levels[event.port].0;
                // Every port that feeds the queue while it is at XOFF is paused, with its first packet there.
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
        match self.trigger {
            Trigger::Dynamic(offset) => {
                let (port, class) = (event.packet.in_port as usize, event.packet.class());
                let group = core.group(port, class);
                if let Buffer::Shared(shared) = &core.buffer
                    && self.over[group] > 0
                    && shared.is_under(group, offset)
                {
                    self.resume(port, class, effects);
                }
            }
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

    fn on_control(&mut self, packet: &Packet, port: usize, core: &Core, effects: &mut Effects) -> Verdict {
        if packet.kind != Kind::Pfc {
            return Verdict::Pass;
        }
        let class = packet.seq.trailing_zeros() as u8;
        let group = port * self.classes + class as usize;
        if packet.info == 0 {
            effects.push(Effect::Unblock(port, Queues::Class(class), Cause::Pfc));
        } else {
            effects.push(Effect::Block(port, Queues::Class(class), Cause::Pfc));
        }
        if self.passes_on && std::mem::replace(&mut self.is_paused[group], packet.info > 0) != (packet.info > 0) {
            self.pass_on(port, class, packet.info > 0, core, effects);
        }
        if packet.info > 0 && self.quanta.is_some() {
            let end = effects.now + core.ports[port].rate.time(u64::from(packet.info) * BITS_A_QUANTUM / 8);
            self.expires[group] = end;
            effects.push(Effect::Timer(end, EXPIRE | group as u32));
        }
        Verdict::Consume
    }

    fn on_pause_request(&mut self, port: usize, class: u8, is_on: bool, core: &Core, effects: &mut Effects) {
        if is_on {
            self.add_reason(port, class, core, effects);
        } else {
            self.take_reason(port, class, effects);
        }
    }

    fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        let group = (token & 0x00FF_FFFF) as usize;
        let (port, class) = (group / self.classes, (group % self.classes) as u8);
        if token & EXPIRE != 0 {
            if self.expires[group] <= effects.now {
                effects.push(Effect::Unblock(port, Queues::Class(class), Cause::Pfc));
                if std::mem::take(&mut self.is_paused[group]) {
                    self.pass_on(port, class, false, core, effects);
                }
            }
        } else if self.pausing[group] > 0 && self.refresh[group] == effects.now {
            self.send_pause(port, class, core, effects);
        }
    }

    fn counts(&self, now: Time, add: &mut dyn FnMut(&'static str, u64)) {
        let standing = self.over.iter().zip(&self.since).filter(|p| *p.0 > 0).map(|p| now.since(*p.1));
        add("pauses", self.pauses);
        add("frames", self.frames);
        add("above_xoff_ps", standing.fold(self.above_xoff, |a, b| a + b).ps());
    }
}
