//! The source's switch, which obeys messages on behalf of hosts that do not understand them.
//!
//! Without isolation it pauses the host's class (or, under `nic_isolation`, the class of the interface's queue) with PFC, and
//! with it whatever else the host has in that class. With isolation it moves the flow into the congestion queue of the output
//! and blocks that queue alone. Order is kept: the congestion queue waits until the last packet of the flow that was queued
//! before has left, and the flow returns to its own queue when the congestion queue holds no packet of it any more.

use rustc_hash::FxHashMap;
use xoff_units::Time;

use super::{Mode, Params};
use crate::mechanism::{Core, Effect, Effects, Enqueued, Queues, Site};
use crate::packet::Packet;
use crate::queueing::isolation::Isolation;
use crate::queueing::port::Cause;

/// The congestion queue of an output and class.
#[derive(Debug, Default, Clone)]
struct Congestion {
    until: Time,
    is_blocked: bool,
}

/// SFC at a switch with hosts.
#[derive(Debug)]
pub struct Proxy {
    isolates: bool,
    caches: bool,
    classes: usize,
    /// Port of each host that hangs here.
    ports: FxHashMap<u32, usize>,
    /// For each port and class of a host: flows that pause it, and until when.
    pausing: Vec<Vec<(u32, Time)>>,
    /// Isolated flows, and until when each is paused.
    flows: Isolation<Time>,
    queues: Vec<Congestion>,
    /// Forget flows that came to nothing when there are this many.
    next_purge: usize,
    /// Until when destinations are paused.
    destinations: FxHashMap<u32, Time>,
    pauses: u64,
    isolated: u64,
}

/// Timers of congestion queues; the others are of hosts' classes.
const CONGESTION: u32 = 1 << 31;

impl Proxy {
    pub fn new(params: &Params, site: &Site<'_>, core: &Core) -> Self {
        let groups = core.ports.len() * core.classes;
        Self {
            isolates: params.mode == Mode::ProxyIsolation,
            caches: params.cache,
            classes: core.classes,
            ports: site.hosts.iter().copied().collect(),
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

    /// A message for a host; true when that hangs here, which ends the message.
    pub fn on_message(&mut self, message: &Packet, core: &Core, effects: &mut Effects) -> bool {
        let Some(port) = self.ports.get(&message.dst()).copied() else { return false };
        let until = effects.now + Time::ns(u64::from(message.info));
        if self.caches {
            if message.info == 0 {
                self.destinations.remove(&message.seq);
            } else {
                let known = self.destinations.entry(message.seq).or_insert(until);
                *known = until.max(*known);
            }
        }
        if self.isolates {
            self.isolate(message.flow, until, message.info == 0, core, effects);
        } else {
            self.pause(port * self.classes + message.class() as usize, message.flow, until, effects);
        }
        true
    }

    /// Lets a flow pause a host's class until then; a moment that has come takes that back.
    fn pause(&mut self, group: usize, flow: u32, until: Time, effects: &mut Effects) {
        let list = &mut self.pausing[group];
        let was_paused = !list.is_empty();
        let known = list.iter().position(|p| p.0 == flow);
        match known {
            Some(i) if until <= effects.now => drop(list.swap_remove(i)),
            Some(i) => list[i].1 = list[i].1.max(until),
            None if until <= effects.now => {}
            None => list.push((flow, until)),
        }
        let is_paused = !list.is_empty();
        if until > effects.now {
            effects.push(Effect::Timer(until, group as u32));
        }
        self.tell(group, was_paused, is_paused, effects);
    }

    fn tell(&mut self, group: usize, was_paused: bool, is_paused: bool, effects: &mut Effects) {
        let (port, class) = (group / self.classes, (group % self.classes) as u8);
        if is_paused && !was_paused {
            self.pauses += 1;
            effects.push(Effect::PauseNeighbour(port, class, true));
        } else if was_paused && !is_paused {
            effects.push(Effect::PauseNeighbour(port, class, false));
        }
    }

    fn isolate(&mut self, flow: u32, until: Time, is_resume: bool, core: &Core, effects: &mut Effects) {
        if is_resume {
            if let Some(known) = self.flows.get_mut(flow) {
                known.state = effects.now;
                if let Some((port, queue)) = known.place {
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

    /// Blocks a congestion queue until then.
    fn hold(&mut self, port: usize, class: u8, until: Time, core: &Core, effects: &mut Effects) {
        let group = port * self.classes + class as usize;
        let queue = &mut self.queues[group];
        if until <= queue.until || until <= effects.now {
            return;
        }
        queue.until = until;
        if !queue.is_blocked {
            queue.is_blocked = true;
            effects.push(Effect::Block(port, Queues::One(core.congestion_queue(class) as u16), Cause::Sfc));
        }
        effects.push(Effect::Timer(until, CONGESTION | group as u32));
    }

    /// Unblocks a congestion queue when none of its flows is paused any more.
    fn let_go(&mut self, port: usize, queue: usize, core: &Core, effects: &mut Effects) {
        let here = self.flows.iter().filter(|f| f.place == Some((port, queue)));
        let until = here.map(|f| f.state).max().unwrap_or_default();
        let class = core.ports[port].queues[queue].class();
        let congestion = &mut self.queues[port * self.classes + class as usize];
        congestion.until = until;
        if until <= effects.now && congestion.is_blocked {
            congestion.is_blocked = false;
            effects.push(Effect::Unblock(port, Queues::One(queue as u16), Cause::Sfc));
        }
    }

    /// The congestion queue for a packet of an isolated flow.
    pub fn assign_queue(&mut self, packet: &Packet, port: usize, core: &Core, effects: &mut Effects) -> Option<usize> {
        let (flow, class, now) = (packet.flow, packet.class(), effects.now);
        if self.caches && !self.flows.contains(flow) {
            let until = *self.destinations.get(&packet.dst())?;
            if until <= now {
                self.destinations.remove(&packet.dst());
                return None;
            }
            if !self.is_host_port(packet.in_port, core) {
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
        let queue = core.congestion_queue(class);
        self.flows.enter(flow, port, core.queue_for(class, packet.in_port as usize), queue, core, effects);
        self.hold(port, class, until, core, effects);
        Some(queue)
    }

    fn is_host_port(&self, port: u16, core: &Core) -> bool {
        self.ports.contains_key(&core.ports[port as usize].peer)
    }

    pub fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        if !self.caches || self.isolates || self.destinations.is_empty() || !self.is_host_port(event.packet.in_port, core) {
            return;
        }
        let Some(until) = self.destinations.get(&event.packet.dst()).copied() else { return };
        if until <= effects.now {
            self.destinations.remove(&event.packet.dst());
            return;
        }
        let group = core.group(event.packet.in_port as usize, event.packet.class());
        if !self.pausing[group].iter().any(|p| p.0 == event.packet.flow) {
            self.pause(group, event.packet.flow, until, effects);
        }
    }

    /// A packet left a queue, or found no room in it.
    pub fn on_left(&mut self, flow: u32, port: usize, queue: usize, effects: &mut Effects) {
        if self.flows.leave(flow, port, queue, effects) && self.flows.get_mut(flow).is_some_and(|f| f.state <= effects.now) {
            self.flows.remove(flow, effects);
        }
    }

    pub fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        let group = (token & !CONGESTION) as usize;
        let (port, class) = (group / self.classes, (group % self.classes) as u8);
        if token & CONGESTION != 0 {
            let queue = &mut self.queues[group];
            if queue.is_blocked && queue.until <= effects.now {
                queue.is_blocked = false;
                effects.push(Effect::Unblock(port, Queues::One(core.congestion_queue(class) as u16), Cause::Sfc));
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

    pub fn counts(&self, add: &mut dyn FnMut(&'static str, u64)) {
        add("proxy_pauses", self.pauses);
        add("isolated_flows", self.isolated);
    }
}
