//! The proxy: the source's switch obeys messages on behalf of its hosts.
//! Without isolation the proxy pauses the host's class with PFC (under `nic_isolation` the class of the
//! interface's queue), and all flows of the class with it.
//! With isolation the proxy moves the flow into the congestion queue of the output, and blocks the congestion
//! queue alone.
//! A resume ends the pause of its flow. The queue goes on when no other flow pauses the queue, or at once
//! with `resume_ends = "queue"`.
//! Packets keep their order: the congestion queue waits for the flow's earlier packets in the old queue, and
//! the flow returns when the congestion queue holds none of its packets.
//! Source: "Improvements on SFC Proxy Mode" (P802.1Qdw contribution); `docs/models/sfc.md`.

use rustc_hash::FxHashMap;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, index, number};

use super::counts::{ISOLATED, PROXY_PAUSES};
use super::params::{Mode, Params, ResumeEnds};
use crate::frames::kinds::Sfcm;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::Enqueued;
use crate::mechanisms::isolation::Isolation;
use crate::parts::count::Tally;
use crate::parts::ids::{Classes, PortId, QueueId};
use crate::ports::core::{Core, Queues};
use crate::ports::effects::{Asker, Effect, Effects};

/// The congestion queue of an output and class.
#[derive(Debug, Default, Clone)]
struct Congestion {
    until: Moment,
    is_blocked: bool,
}

state!(Congestion {
    moment: until;
    value: is_blocked;
});

/// SFC at a switch with hosts.
#[derive(Debug, Clone)]
pub struct Proxy {
    isolates: bool,
    caches: bool,
    /// True when a resume ends the pause of a queue.
    ends_queues: bool,
    classes: Classes,
    /// Port of each host of this switch.
    ports: FxHashMap<u32, PortId>,
    /// For each port and class of a host: the flows that pause the class, and the ends of their pauses.
    pausing: Vec<Vec<(u32, Moment)>>,
    /// Isolated flows, and the ends of their pauses.
    flows: Isolation<Moment>,
    queues: Vec<Congestion>,
    /// Number of flows at which flows without packets and pauses are removed.
    next_purge: usize,
    /// Paused destinations, and the ends of their pauses.
    destinations: FxHashMap<u32, Moment>,
    pauses: u64,
    isolated: u64,
}

impl State for Proxy {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            isolates: _,
            caches: _,
            ends_queues: _,
            classes: _,
            ports,
            pausing,
            flows,
            queues,
            next_purge,
            destinations,
            pauses,
            isolated,
        } = self;
        walk.total(pauses);
        walk.total(isolated);
        walk.keyed(ports.iter_mut(), |walk, _, port| walk.value(u64::from(port.0)));
        for (flow, until) in pausing.iter_mut().flatten() {
            walk.value(u64::from(*flow));
            walk.moment(until);
        }
        flows.walk(walk);
        queues.walk(walk);
        walk.value(*next_purge as u64);
        walk.keyed(destinations.iter_mut(), |walk, _, until| walk.moment(until));
    }
}

/// Timers of congestion queues; all other timers are of hosts' classes.
const CONGESTION: u32 = 1 << 31;

impl Proxy {
    /// Makes the proxy of a switch from its hosts and their ports.
    pub fn new(params: &Params, hosts: &[(u32, PortId)], core: &Core) -> Self {
        let groups = core.ingress.len();
        Self {
            isolates: params.mode == Mode::ProxyIsolation,
            caches: params.cache,
            ends_queues: params.resume_ends == ResumeEnds::Queue,
            classes: core.classes,
            ports: hosts.iter().copied().collect(),
            pausing: vec![Vec::new(); groups],
            flows: Isolation::default(),
            queues: vec![Congestion::default(); groups],
            next_purge: 1024,
            destinations: FxHashMap::default(),
            pauses: 0,
            isolated: 0,
        }
    }

    pub const fn isolates(&self) -> bool {
        self.isolates
    }

    /// Obeys a message for a host. Returns true when the host belongs to this switch, which ends the message.
    pub fn on_message(&mut self, message: &Packet, core: &Core, effects: &mut Effects) -> bool {
        let Some(port) = self.ports.get(&message.dst()).copied() else { return false };
        let Some(Sfcm { destination, pause }) = message.payload() else { return false };
        let until = effects.now + Duration::ns(u64::from(pause));
        if self.caches {
            if pause == 0 {
                self.destinations.remove(&destination);
            } else {
                let known = self.destinations.entry(destination).or_insert(until);
                *known = until.max(*known);
            }
        }
        if self.isolates {
            self.isolate(message.flow(), until, pause == 0, core, effects);
        } else {
            self.pause(self.group(port, message.class()), message.flow(), until, effects);
        }
        true
    }

    /// Returns the index of a port and class.
    fn group(&self, port: PortId, class: u8) -> usize {
        self.classes.group(port, class)
    }

    /// Lets a flow pause a host's class until a moment. A past moment ends the flow's pause.
    fn pause(&mut self, group: usize, flow: u32, until: Moment, effects: &mut Effects) {
        let list = &mut self.pausing[group];
        let was_paused = !list.is_empty();
        let known = list.iter().position(|p| p.0 == flow);
        match known {
            _ if until <= effects.now && self.ends_queues => list.clear(),
            Some(i) if until <= effects.now => drop(list.swap_remove(i)),
            Some(i) => list[i].1 = list[i].1.max(until),
            None if until <= effects.now => {}
            None => list.push((flow, until)),
        }
        let is_paused = !list.is_empty();
        if until > effects.now {
            effects.push(Effect::Timer(until, number(group)));
        }
        self.tell(group, was_paused, is_paused, effects);
    }

    fn tell(&mut self, group: usize, was_paused: bool, is_paused: bool, effects: &mut Effects) {
        let (port, class) = self.classes.of(group);
        if is_paused && !was_paused {
            self.pauses += 1;
            effects.push(Effect::PauseNeighbour(port, class, true));
        } else if was_paused && !is_paused {
            effects.push(Effect::PauseNeighbour(port, class, false));
        }
    }

    fn isolate(&mut self, flow: u32, until: Moment, is_resume: bool, core: &Core, effects: &mut Effects) {
        if is_resume {
            if let Some(known) = self.flows.get_mut(flow) {
                known.state = effects.now;
                if let Some((port, queue)) = known.place {
                    if self.ends_queues {
                        self.flows
                            .iter_mut()
                            .filter(|f| f.place == Some((port, queue)))
                            .for_each(|f| f.state = effects.now);
                    }
                    self.let_go(port, queue, core, effects);
                }
            }
            return;
        }
        if self.flows.len() >= self.next_purge {
            self.flows.purge(|until| *until <= effects.now);
            self.next_purge = (2 * self.flows.len()).max(1024);
        }
        self.isolated += u64::from(!self.flows.contains(flow));
        let known = self.flows.entry(flow);
        known.state = known.state.max(until);
        if let Some((port, queue)) = known.place {
            self.hold(port, core.ports[port].queues[queue].class(), until, core, effects);
        }
    }

    /// Blocks a congestion queue until a moment.
    fn hold(&mut self, port: PortId, class: u8, until: Moment, core: &Core, effects: &mut Effects) {
        let group = self.group(port, class);
        let queue = &mut self.queues[group];
        if until <= queue.until || until <= effects.now {
            return;
        }
        queue.until = until;
        if !queue.is_blocked {
            queue.is_blocked = true;
            if let Some(congested) = core.congestion_queue(port, class) {
                effects.push(Effect::Block(port, Queues::One(congested), Asker::Itself));
            }
        }
        effects.push(Effect::Timer(until, CONGESTION | number(group)));
    }

    /// Unblocks a congestion queue when none of its flows is paused.
    fn let_go(&mut self, port: PortId, queue: QueueId, core: &Core, effects: &mut Effects) {
        let here = self.flows.iter().filter(|f| f.place == Some((port, queue)));
        let until = here.map(|f| f.state).max().unwrap_or_default();
        let class = core.ports[port].queues[queue].class();
        let group = self.group(port, class);
        let congestion = &mut self.queues[group];
        congestion.until = until;
        if until <= effects.now && congestion.is_blocked {
            congestion.is_blocked = false;
            effects.push(Effect::Unblock(port, Queues::One(queue)));
        }
    }

    /// The congestion queue for a packet of an isolated flow.
    pub fn assign_queue(
        &mut self,
        packet: &Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        let (flow, class, now) = (packet.flow(), packet.class(), effects.now);
        if self.caches && !self.flows.contains(flow) {
            let until = *self.destinations.get(&packet.dst())?;
            if until <= now {
                self.destinations.remove(&packet.dst());
                return None;
            }
            if !self.is_host_port(packet.in_port(), core) {
                return None;
            }
            self.isolate(flow, until, false, core, effects);
        }
        let known = self.flows.get_mut(flow)?;
        let until = known.state;
        if known.inside == 0 && until <= now {
            self.flows.remove(flow, effects);
            return None;
        }
        let queue = core.congestion_queue(port, class)?;
        self.flows.enter(flow, port, core.queue_for(class, packet.in_port()), queue, core, effects);
        self.hold(port, class, until, core, effects);
        Some(queue)
    }

    fn is_host_port(&self, port: PortId, core: &Core) -> bool {
        self.ports.contains_key(&core.ports[port].peer)
    }

    pub fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        if !self.caches
            || self.isolates
            || self.destinations.is_empty()
            || !self.is_host_port(event.packet.in_port(), core)
        {
            return;
        }
        let Some(until) = self.destinations.get(&event.packet.dst()).copied() else { return };
        if until <= effects.now {
            self.destinations.remove(&event.packet.dst());
            return;
        }
        let group = core.group(event.packet.in_port(), event.packet.class());
        if !self.pausing[group].iter().any(|p| p.0 == event.packet.flow()) {
            self.pause(group, event.packet.flow(), until, effects);
        }
    }

    /// A packet left a queue.
    pub fn on_left(&mut self, flow: u32, port: PortId, queue: QueueId, core: &Core, effects: &mut Effects) {
        if self.flows.leave(flow, port, queue, core, effects) {
            self.end(flow, effects);
        }
    }

    /// Removes a packet that found no room in a queue.
    pub fn on_drop(&mut self, flow: u32, port: PortId, queue: QueueId, effects: &mut Effects) {
        if self.flows.refuse(flow, port, queue, effects) {
            self.end(flow, effects);
        }
    }

    /// Returns a flow without packets in congestion queues to its own queue, unless its pause lasts.
    fn end(&mut self, flow: u32, effects: &mut Effects) {
        if self.flows.get_mut(flow).is_some_and(|f| f.state <= effects.now) {
            self.flows.remove(flow, effects);
        }
    }

    pub fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        let group = index(token & !CONGESTION);
        let (port, class) = self.classes.of(group);
        if token & CONGESTION != 0 {
            let queue = &mut self.queues[group];
            if queue.is_blocked && queue.until <= effects.now {
                queue.is_blocked = false;
                if let Some(congested) = core.congestion_queue(port, class) {
                    effects.push(Effect::Unblock(port, Queues::One(congested)));
                }
            }
            return;
        }
        let now = effects.now;
        let list = &mut self.pausing[group];
        let was_paused = !list.is_empty();
        list.retain(|p| p.1 > now);
        let is_paused = !list.is_empty();
        self.tell(group, was_paused, is_paused, effects);
    }

    pub fn counts(&self, tally: &mut dyn Tally) {
        tally.add(PROXY_PAUSES, self.pauses);
        tally.add(ISOLATED, self.isolated);
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Rate;

    use super::*;
    use crate::frames::kinds::Kind;
    use crate::ports::queueing::port::{Port, Purpose, QueuePlan, QueueSpec, Turns};

    /// Host 7 is at port 0 of a switch, whose output 1 has a queue of class 0 and a congestion queue.
    const HOST: u32 = 7;
    const CONGESTED: QueueId = QueueId(2);

    fn proxy(mode: Mode, resume_ends: ResumeEnds) -> (Proxy, Core, Effects) {
        let queue = |purpose| QueueSpec { class: 0, level: 0, purpose };
        let plan = QueuePlan {
            data: vec![queue(Purpose::Class), queue(Purpose::Congestion)],
            turns: Turns::Packets,
        };
        let mut core = Core::for_tests(2, 1);
        core.ports =
            (0..2).map(|_| Port::new(&plan, Rate::gbps(100), Duration::ZERO, 1, Duration::ZERO)).collect();
        let params = Params { mode, resume_ends, ..Params::default() };
        (Proxy::new(&params, &[(HOST, PortId(0))], &core), core, Effects::for_tests(1))
    }

    fn message(flow: u32, pause: Duration) -> Packet {
        Packet::with(Sfcm { destination: 0, pause: (pause.ps() / 1000) as u32 }, flow, HOST, 64, 0)
    }

    /// Returns the requests, without timers.
    fn asked(effects: &mut Effects) -> Vec<String> {
        let list = effects.take().into_iter().map(|e| e.1).filter(|e| !matches!(e, Effect::Timer(..)));
        list.map(|e| format!("{e:?}")).collect()
    }

    #[test]
    fn a_resume_ends_the_pause_of_its_flow_or_of_the_host() {
        let [on, off] =
            [true, false].map(|is_on| vec![format!("{:?}", Effect::PauseNeighbour(PortId(0), 0, is_on))]);
        for (ends, at_resume, at_end) in
            [(ResumeEnds::Flow, vec![], off.clone()), (ResumeEnds::Queue, off.clone(), vec![])]
        {
            let (mut proxy, core, mut effects) = proxy(Mode::Proxy, ends);
            proxy.on_message(&message(1, Duration::us(10)), &core, &mut effects);
            assert_eq!(asked(&mut effects), on);
            proxy.on_message(&message(2, Duration::us(100)), &core, &mut effects);
            assert_eq!(asked(&mut effects), Vec::<String>::new());
            effects.now = Moment::us(5);
            proxy.on_message(&message(1, Duration::ZERO), &core, &mut effects);
            assert_eq!(asked(&mut effects), at_resume, "{ends:?}");
            effects.now = Moment::us(100);
            proxy.on_timer(0, &core, &mut effects);
            assert_eq!(asked(&mut effects), at_end, "{ends:?}");
        }
    }

    #[test]
    fn a_resume_ends_the_pause_of_its_flow_or_of_the_congestion_queue() {
        let [block, unblock] = [
            Effect::Block(PortId(1), Queues::One(CONGESTED), Asker::Itself),
            Effect::Unblock(PortId(1), Queues::One(CONGESTED)),
        ]
        .map(|e| vec![format!("{e:?}")]);
        for (ends, at_resume, at_end) in
            [(ResumeEnds::Flow, vec![], unblock.clone()), (ResumeEnds::Queue, unblock.clone(), vec![])]
        {
            let (mut proxy, core, mut effects) = proxy(Mode::ProxyIsolation, ends);
            proxy.on_message(&message(1, Duration::us(10)), &core, &mut effects);
            proxy.on_message(&message(2, Duration::us(100)), &core, &mut effects);
            let packet = |flow| Packet::new(Kind::Data, flow, 0, 9, 1000, 0);
            for flow in [1, 2] {
                assert_eq!(
                    proxy.assign_queue(&packet(flow), PortId(1), &core, &mut effects),
                    Some(CONGESTED)
                );
            }
            assert_eq!(asked(&mut effects), block);
            effects.now = Moment::us(5);
            proxy.on_message(&message(1, Duration::ZERO), &core, &mut effects);
            assert_eq!(asked(&mut effects), at_resume, "{ends:?}");
            // What comes of the other flow neither pauses again nor overtakes.
            assert_eq!(proxy.assign_queue(&packet(2), PortId(1), &core, &mut effects), Some(CONGESTED));
            assert_eq!(asked(&mut effects), Vec::<String>::new());
            effects.now = Moment::us(100);
            proxy.on_timer(CONGESTION | 1, &core, &mut effects);
            assert_eq!(asked(&mut effects), at_end, "{ends:?}");
            // A new message pauses again.
            proxy.on_message(&message(2, Duration::us(10)), &core, &mut effects);
            assert_eq!(asked(&mut effects), block);
        }
    }
}
