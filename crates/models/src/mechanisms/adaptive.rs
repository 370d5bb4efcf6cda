//! Adaptive routing: each packet, or each flowlet, takes the least loaded good port on a shortest path.
//! The load of a port is the time that a packet would wait there: the rest of the frame on the wire, and the
//! waiting data, at the present rate. Ports with a dead link are not chosen while another is left. With
//! `load_update_interval` nodes tell neighbours their loads, and a path is as loaded as the worse of its two
//! hops.
//! Simplifications: exact loads, where switches have bands and weigh recently sent bytes; updates are not
//! repeated; ports to hosts are not told.
//! Invariants: choices are on shortest paths; packets of equal size differ by one at most, by port, in the
//! wait they cause.
//! Source: SAI's `saiars.h`, Juniper's pages on DLB and GLB, and CONGA (Alizadeh et al., SIGCOMM 2014,
//! section 3.4); `docs/models/adaptive.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment, index};

use super::flowlet;
use crate::frames::kinds;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Dequeued, Enqueued, Hooks, Install, Properties, Site, ValidationContext, Verdict, Watches,
};
use crate::parts::count::{Count, Tally};
use crate::parts::ids::PortId;
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::{Effect, Effects};

/// Unit that chooses a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each packet.
    #[default]
    Packet,
    /// Each flowlet: packets of a flow without a gap longer than `timeout`.
    Flowlet,
}

/// `switch.routing.adaptive`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Unit that chooses a port.
    pub per: Per,
    /// With `flowlet`: a longer gap between two packets of a flow ends the flowlet.
    pub timeout: Duration,
    /// Least interval between two load updates of a port to the neighbours. Default: no updates; each node
    /// knows its own load alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_update_interval: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        // The inactivity interval of Juniper's examples is 16 us; that of LetFlow's comparison 100 us.
        Self { per: Per::Packet, timeout: Duration::us(16), load_update_interval: None }
    }
}

/// Load of a port: the wait of a packet, and true for a link that is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Load {
    is_up: bool,
    wait: Duration,
}

impl Load {
    const NONE: Self = Self { is_up: true, wait: Duration::ZERO };
}

impl state::Word for Load {
    fn word(&self) -> u64 {
        self.wait.ps() << 1 | u64::from(self.is_up)
    }
}

/// Load updates of a node to its neighbours.
#[derive(Debug, Clone)]
struct LoadUpdate {
    every: Duration,
    /// Ports to nodes that forward.
    neighbours: Vec<PortId>,
    /// For each port: the time of a full packet, the least reported change.
    steps: Vec<Duration>,
    /// For each port: the last reported load, and the earliest moment of the next report.
    told: Vec<Load>,
    next: Vec<Moment>,
    is_timed: Vec<bool>,
    /// Reported loads of neighbours, by the port to the neighbour and by the neighbour's port.
    heard: Vec<Vec<Load>>,
    frame_bytes: u16,
    frames: u64,
}

state!(LoadUpdate {
    value: told, is_timed, heard;
    dues: next;
    total: frames;
    constant: every, neighbours, steps, frame_bytes;
});

/// Adaptive routing at a node.
#[derive(Debug, Clone)]
pub struct Adaptive {
    /// For each port: true while the link is up.
    is_up: Vec<bool>,
    flowlets: Option<flowlet::Table>,
    load_update: Option<LoadUpdate>,
    /// Least loaded ports of a choice.
    best: Vec<PortId>,
    chosen: u64,
    stuck: u64,
}

state!(Adaptive {
    value: is_up;
    part: flowlets, load_update;
    total: chosen, stuck;
    constant: best;
});

const CHOSEN: Count = Count::number("chosen", "packets or flowlets with a chosen port");
const STUCK: Count = Count::number("no_good_port", "packets without a good port");
const TOLD: Count = Count::number("load_updates", "load updates sent");

impl Install for Adaptive {
    type Params = Params;
    const LABEL: &'static str = "adaptive routing";
    const COUNTS: &'static [Count] = &[CHOSEN, STUCK, TOLD];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        let leads_on = |port: &PortId| !site.hosts.iter().any(|(_, to)| to == port);
        let ports = site.ports.len();
        let load_update = params.load_update_interval.map(|every| LoadUpdate {
            every,
            neighbours: PortId::all(ports).filter(leads_on).collect(),
            steps: site.ports.iter().map(|port| port.link.rate.time(site.framing.largest())).collect(),
            told: vec![Load::NONE; ports],
            next: vec![Moment::ZERO; ports],
            is_timed: vec![false; ports],
            heard: site
                .ports
                .iter()
                .map(|port| vec![Load::NONE; site.map.wiring.ports[index(port.peer)].len()])
                .collect(),
            frame_bytes: site.framing.control,
            frames: 0,
        });
        let flowlets = (params.per == Per::Flowlet).then(|| flowlet::Table::new(params.timeout));
        site.forwards.then(|| Self {
            is_up: vec![true; ports],
            flowlets,
            load_update,
            best: Vec::new(),
            chosen: 0,
            stuck: 0,
        })
    }

    fn properties(_: &Params) -> Properties {
        Properties { routes: true, ..Properties::default() }
    }

    fn validate(params: &Params, _: &ValidationContext<'_>) -> Result<(), ParamError> {
        if let Some(far) =
            params.load_update_interval.filter(|far| !(Duration::ns(100)..=Duration::ms(1)).contains(far))
        {
            return Err(("load_update_interval", format!("{far} is out of range; allowed are 100ns to 1ms")));
        }
        Ok(())
    }
}

/// Returns the wait of a packet that comes to a port now.
fn wait(core: &Core, port: PortId, now: Moment) -> Duration {
    let p = &core.ports[port];
    let wire = if p.busy_until > now { p.busy_until - now } else { Duration::ZERO };
    wire + p.serializer.time(u64::from(core.waiting_bytes(port)))
}

impl LoadUpdate {
    /// Returns the load of the best port of a neighbour toward a destination.
    fn heard(&self, core: &Core, port: PortId, destination: u32) -> Load {
        let routes = &core.routing.routes[index(core.ports[port].peer)];
        let loads = routes.choices(destination).iter().map(|far| self.heard[port][*far]);
        let best =
            loads.reduce(
                |best, load| if (!load.is_up, load.wait) < (!best.is_up, best.wait) { load } else { best },
            );
        best.unwrap_or(Load::NONE)
    }

    /// Reports the load of a port to a neighbour.
    fn tell(&mut self, to: PortId, of: PortId, effects: &mut Effects) {
        let Load { is_up, wait } = self.told[of];
        let wait = u32::try_from(wait.ps() / 1000).unwrap_or(u32::MAX);
        effects.push(Effect::Send(
            to,
            Packet::with(kinds::Load { port: of.0, is_up, wait }, u32::MAX, 0, self.frame_bytes, 0),
        ));
        self.frames += 1;
    }

    /// Reports a changed load to neighbours whose links are up, at once or at the end of the interval.
    fn see(&mut self, port: PortId, load: Load, is_up: &[bool], effects: &mut Effects) {
        let told = self.told[port];
        let is_over = load.wait == Duration::ZERO && told.wait > Duration::ZERO;
        let has_changed = is_over || load.wait.ps().abs_diff(told.wait.ps()) >= self.steps[port].ps();
        if load.is_up == told.is_up && !has_changed || !self.neighbours.contains(&port) {
            return;
        }
        if load.is_up == told.is_up && self.next[port] > effects.now {
            if !std::mem::replace(&mut self.is_timed[port], true) {
                effects.push(Effect::Timer(self.next[port], u32::from(port.0)));
            }
            return;
        }
        self.told[port] = load;
        self.next[port] = effects.now + self.every;
        let others: Vec<PortId> =
            self.neighbours.iter().copied().filter(|to| *to != port && is_up[*to]).collect();
        for to in others {
            self.tell(to, port, effects);
        }
    }
}

impl Adaptive {
    /// Reads the load of a port now.
    fn look(&mut self, port: PortId, core: &Core, effects: &mut Effects) {
        let load = Load { is_up: self.is_up[port], wait: wait(core, port, effects.now) };
        if let Some(load_update) = &mut self.load_update {
            load_update.see(port, load, &self.is_up, effects);
        }
    }

    /// Returns the least loaded good port, if any.
    fn best(
        &mut self,
        destination: u32,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        self.best.clear();
        let mut least = None;
        for port in choices.iter().copied().filter(|port| self.is_up[*port]) {
            let near = wait(core, port, effects.now);
            let far = self
                .load_update
                .as_ref()
                .map_or(Load::NONE, |load_update| load_update.heard(core, port, destination));
            let load = (!far.is_up, near.max(far.wait), near);
            if least.is_none_or(|least| load < least) {
                least = Some(load);
                self.best.clear();
            }
            if least == Some(load) {
                self.best.push(port);
            }
        }
        match self.best[..] {
            [] => None,
            [only] => Some(only),
            _ => Some(self.best[effects.stream().place(self.best.len())]),
        }
    }
}

impl Hooks for Adaptive {
    fn watches(&self) -> Watches {
        let watches = Watches::ROUTE.and(Watches::LINK);
        if self.load_update.is_some() {
            watches.and(Watches::ENQUEUE).and(Watches::DEQUEUE).and(Watches::CONTROL)
        } else {
            watches
        }
    }

    fn route(
        &mut self,
        packet: &mut Packet,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        let (flow, now) = (packet.flow(), effects.now);
        let kept = self.flowlets.as_mut().and_then(|flowlets| flowlets.go_on(flow, now));
        // Routes may be others meanwhile.
        if let Some(port) = kept.filter(|port| self.is_up[*port] && choices.contains(port)) {
            return Some(port);
        }
        let Some(port) = self.best(packet.dst(), choices, core, effects) else {
            self.stuck += 1;
            return None;
        };
        self.chosen += 1;
        if let Some(flowlets) = &mut self.flowlets {
            flowlets.begin(flow, port, now);
        }
        Some(port)
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        self.look(event.port, core, effects);
    }

    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        self.look(event.port, core, effects);
    }

    fn on_control(&mut self, packet: &Packet, port: PortId, _: &Core, _: &mut Effects) -> Verdict {
        let (Some(load_update), Some(kinds::Load { port: far, is_up, wait })) =
            (&mut self.load_update, packet.payload())
        else {
            return Verdict::Pass;
        };
        if let Some(heard) = load_update.heard[port].get_mut(usize::from(far)) {
            *heard = Load { is_up, wait: Duration::ns(u64::from(wait)) };
        }
        Verdict::Consume
    }

    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        self.is_up[port] = is_up;
        self.look(port, core, effects);
        let Some(load_update) = &mut self.load_update else { return };
        if !load_update.neighbours.contains(&port) {
            return;
        }
        if is_up {
            let others: Vec<PortId> = load_update
                .neighbours
                .iter()
                .copied()
                .filter(|of| *of != port && load_update.told[*of] != Load::NONE)
                .collect();
            for of in others {
                load_update.tell(port, of, effects);
            }
        } else {
            load_update.heard[port].fill(Load::NONE);
        }
    }

    fn on_timer(&mut self, port: u32, core: &Core, effects: &mut Effects) {
        let port = PortId::at(index(port));
        if let Some(load_update) = &mut self.load_update {
            load_update.is_timed[port] = false;
        }
        self.look(port, core, effects);
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(CHOSEN, self.chosen);
        tally.add(STUCK, self.stuck);
        if let Some(load_update) = &self.load_update {
            tally.add(TOLD, load_update.frames);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::kinds::Kind;

    const WAYS: [PortId; 4] = [PortId(2), PortId(3), PortId(4), PortId(5)];

    fn adaptive(per: Per) -> Adaptive {
        let flowlets = (per == Per::Flowlet).then(|| flowlet::Table::new(Duration::us(16)));
        Adaptive { is_up: vec![true; 6], flowlets, load_update: None, best: Vec::new(), chosen: 0, stuck: 0 }
    }

    fn choose(adaptive: &mut Adaptive, core: &Core, effects: &mut Effects) -> Option<PortId> {
        adaptive.route(&mut Packet::new(Kind::Data, 3, 0, 9, 1000, 0), &WAYS, core, effects)
    }

    #[test]
    fn packets_of_one_size_differ_by_one_at_most() {
        let (mut adaptive, mut core, mut effects) =
            (adaptive(Per::Packet), Core::for_tests(6, 1), Effects::for_tests(1));
        for n in 0..4000 {
            let port = choose(&mut adaptive, &core, &mut effects).unwrap();
            core.ports[port].queues[1].bytes.add(1000);
            let waiting = WAYS.map(|port| core.waiting_bytes(port));
            assert!(
                waiting.iter().max().unwrap() - waiting.iter().min().unwrap() <= 1000,
                "{n}: {waiting:?}"
            );
        }
    }

    #[test]
    fn a_slow_port_or_a_long_frame_counts_as_the_time_that_it_takes() {
        let (mut adaptive, mut core, mut effects) =
            (adaptive(Per::Packet), Core::for_tests(6, 1), Effects::for_tests(1));
        // Behind 1000 B at 10 Gb/s, 800 ns; behind 9000 B at 100 Gb/s, 720 ns; behind frames on wires, 750 ns
        // and more.
        core.ports[2].serializer = xoff_units::Rate::gbps(10).serializer();
        core.ports[2].queues[1].bytes.add(1000);
        core.ports[3].queues[1].bytes.add(9000);
        core.ports[4].busy_until = effects.now + Duration::ns(750);
        core.ports[5].busy_until = effects.now + Duration::us(3);
        assert_eq!(choose(&mut adaptive, &core, &mut effects), Some(PortId(3)));
        effects.now += Duration::ns(40);
        assert_eq!(choose(&mut adaptive, &core, &mut effects), Some(PortId(4)));
    }

    #[test]
    fn dead_ports_are_never_taken_and_without_others_nobody_chooses() {
        for per in [Per::Packet, Per::Flowlet] {
            let (mut adaptive, core, mut effects) =
                (adaptive(per), Core::for_tests(6, 1), Effects::for_tests(1));
            let mut left = WAYS.to_vec();
            while !left.is_empty() {
                for _ in 0..100 {
                    let port = choose(&mut adaptive, &core, &mut effects).unwrap();
                    assert!(left.contains(&port), "{per:?}: {port:?} is dead");
                }
                let gone = choose(&mut adaptive, &core, &mut effects).unwrap();
                left.retain(|port| *port != gone);
                adaptive.on_link(gone, false, &core, &mut effects);
            }
            assert_eq!((choose(&mut adaptive, &core, &mut effects), adaptive.stuck), (None, 1));
            adaptive.on_link(PortId(4), true, &core, &mut effects);
            assert_eq!(choose(&mut adaptive, &core, &mut effects), Some(PortId(4)));
        }
    }

    #[test]
    fn a_flowlet_keeps_its_port_whatever_waits_there() {
        let (mut adaptive, mut core, mut effects) =
            (adaptive(Per::Flowlet), Core::for_tests(6, 1), Effects::for_tests(1));
        let first = choose(&mut adaptive, &core, &mut effects).unwrap();
        core.ports[first].queues[1].bytes.add(9000);
        for _ in 0..100 {
            effects.now += Duration::us(16);
            assert_eq!(choose(&mut adaptive, &core, &mut effects), Some(first));
        }
        effects.now += Duration::us(16) + Duration(1);
        assert_ne!(choose(&mut adaptive, &core, &mut effects), Some(first));
        assert_eq!(adaptive.chosen, 2);
    }
}
