//! `ConWeave`: the switch of a source moves a flow off a path whose answer is late, and the switch of its destination holds what came
//! by the new path until the rest has come by the old one, so that hosts see no packet overtake another.
//!
//! Models: a flow has *epochs*. The first packet of one asks for a REPLY; when that is not back within the round trip without queues
//! and `reply_slack`, the next packet is the TAIL of the old path, and those after it take a new one, in phase 1 (`source.rs`). The new
//! path is the first good one of two that are drawn: not the old one, and none of which the other switch told, by a NOTIFY for a marked packet,
//! within `path_pause`. Packets of phase 1 that come before the TAIL wait in a reorder queue of their own, until the TAIL comes or is
//! long overdue (`destination.rs`); a CLEAR tells the source's switch of either, and only then may the flow move again.
//! Source: Song et al., "Network Load Balancing with In-network Reordering Support for RDMA" (SIGCOMM 2023), and its public simulator
//! (peers.md 8.4). Times are that simulator's for leaves and spines.
//! Simplifications: what a packet carries takes no byte on the wire, and ages in it are in steps of 33 ns, up to 537 us; an epoch is a
//! number modulo 8. A path is which of the ports up the first two switches take, up to 64 each; a third chooses by ECMP. The round
//! trip without queues is that of a full packet there and a frame back, between the two switches; switches on the way are as slow as
//! the one that works it out. Reorder queues are memory of the port, with as many flows at a time as there are queues; what finds none
//! goes on out of order, and is counted.
//! Leaves out: flows within a rack, pinned paths and networks whose hosts relay, where there is nothing to choose for a rack's switch;
//! flows from and to hosts with several links, whose answers may come by another switch: they go by ECMP.
//! Invariants: every choice is on a shortest path. As long as no reorder queue is flushed before its TAIL, and none is missing, no packet
//! that is not lost overtakes another of its epoch; after a gap of `expiry` one may overtake those of before, as in the source. A flow
//! moves once an epoch.

mod destination;
mod source;

use crate::ids::{PortId, QueueId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment, index};

use self::destination::Destination;
use self::source::Source;
use crate::core::{Core, Queueing};
use crate::count::{Count, PAUSED, Tally};
use crate::effects::Effects;
use crate::frames::Kind;
use crate::mechanism::{Around, Hooks, Install, Properties, Site, Verdict, Watches};
use crate::packet::Packet;
use crate::wrong::Wrong;

/// `switch.routing.conweave`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A flow leaves its path when an answer takes longer than the round trip without queues and this.
    pub reply_slack: Duration,
    /// A path is not chosen for so long after word of a marked packet on it.
    pub path_pause: Duration,
    /// After a gap of more than this between two packets a flow begins anew, by any path: one that pauses held up so long may
    /// overtake what it sent before.
    pub expiry: Duration,
    /// Held packets go on so long after their TAIL was to come.
    pub flush_slack: Duration,
    /// When it was to come, after the first that is held, where no packet of the old path tells.
    pub flush_default: Duration,
    /// Reorder queues of each port and class, 1 to 64: flows that can be held there at a time.
    pub queues: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            reply_slack: Duration::us(4),
            path_pause: Duration::us(16),
            expiry: Duration::us(300),
            flush_slack: Duration::us(16),
            flush_default: Duration::us(200),
            queues: 16,
        }
    }
}

/// What a packet is to its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    Data = 1,
    /// The first: it asks for a REPLY.
    Init = 2,
    /// The last by the old path.
    Tail = 3,
}

/// What a packet carries from the one switch to the other, as its tag, which is zero without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    flag: Flag,
    /// By the new path.
    is_moved: bool,
    epoch: u8,
    path: u16,
    /// Since the epoch began: of the packet, or if it goes by the new path of the TAIL.
    age: u16,
}

impl Tag {
    /// Picoseconds of a step of an age: 2 to this power.
    const STEP: u32 = 15;
    const OLDEST: u64 = (1 << 14) - 1;

    fn age(time: Duration) -> u16 {
        (time.ps() >> Self::STEP).min(Self::OLDEST) as u16
    }

    /// The time from one age to another; none if it is earlier.
    fn span(from: u16, to: u16) -> Duration {
        Duration(u64::from(to.saturating_sub(from)) << Self::STEP)
    }

    fn word(self) -> u32 {
        self.flag as u32
            | u32::from(self.is_moved) << 2
            | u32::from(self.epoch) << 3
            | u32::from(self.path) << 6
            | u32::from(self.age) << 18
    }

    const fn read(word: u32) -> Option<Self> {
        let flag = match word & 3 {
            1 => Flag::Data,
            2 => Flag::Init,
            3 => Flag::Tail,
            _ => return None,
        };
        let (epoch, path, age) = ((word >> 3 & 7) as u8, (word >> 6 & 0xFFF) as u16, (word >> 18) as u16);
        Some(Self { flag, is_moved: word >> 2 & 1 == 1, epoch, path, age })
    }
}

/// Ports up that a path can name at each of two switches.
const FAN: usize = 64;

/// The choice among `choices` of a path at the first switch (0) or the second (1).
fn digit(path: u16, switch: u32, choices: &[PortId]) -> PortId {
    choices[(usize::from(path) >> (6 * switch)) % FAN % choices.len()]
}

const MOVED: Count = Count::number("moved", "flows moved to another path");
const HELD: Count = Count::number("held_flows", "flows held for their TAIL");
const PACKETS: Count = Count::number("held_packets", "packets held");
const EARLY: Count = Count::number("flushed_early", "flows let go before their TAIL");
const UNHELD: Count = Count::number("reorder_queue_exhausted", "packets that no queue was left for");
const MESSAGES: Count = Count::number("messages", "frames between switches of racks");

/// What it is to hosts.
#[derive(Debug, Clone)]
struct Rack {
    source: Source,
    destination: Destination,
}

state!(Rack {
    part: source, destination;
});

/// `ConWeave` at one switch.
#[derive(Debug, Clone)]
pub struct ConWeave {
    /// Where hosts hang.
    rack: Option<Rack>,
    /// For each port, whether a host with one link hangs there.
    to_host: Vec<bool>,
}

state!(ConWeave {
    part: rack;
    still: to_host;
});

impl Install for ConWeave {
    type Params = Params;
    const LABEL: &'static str = "ConWeave";
    const COUNTS: &'static [Count] = &[MOVED, HELD, PACKETS, EARLY, UNHELD, MESSAGES, PAUSED];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        let mut to_host = vec![false; site.ports.len()];
        let has_one_link = |host: u32| site.map.wiring.ports[index(host)].len() == 1;
        site.hosts.iter().filter(|host| has_one_link(host.0)).for_each(|host| to_host[host.1] = true);
        let rack = || Rack { source: Source::new(params, site), destination: Destination::new(params, site) };
        let rack = (!site.hosts.is_empty()).then(rack);
        (site.forwards && !site.is_host).then(|| Self { rack, to_host })
    }

    fn properties(params: &Params) -> Properties {
        Properties { routes: true, assigns_queues: true, tags_data: true, reorder_queues: params.queues, ..Properties::default() }
    }

    fn validate(params: &Params, around: &Around<'_>) -> Result<(), Wrong> {
        let times = [
            ("reply_slack", params.reply_slack),
            ("path_pause", params.path_pause),
            ("expiry", params.expiry),
            ("flush_slack", params.flush_slack),
            ("flush_default", params.flush_default),
        ];
        if let Some((key, time)) = times.into_iter().find(|t| t.1 > Duration::ms(1_000)) {
            return Err((key, format!("{time} is out of range; allowed are times up to 1s")));
        }
        if !(1..=64).contains(&params.queues) {
            return Err(("queues", format!("{} is out of range; allowed are 1 to 64", params.queues)));
        }
        if let Some(other) = around.other(|o| o.counts_queues) {
            let why = format!(
                "what it holds moves from queue to queue, where {other} counts what comes and goes; give one of them, or count PFC's inputs (pfc.accounting = \"ingress\")"
            );
            return Err(("", why));
        }
        if around.queueing != Queueing::Oq {
            return Err(("", "what is held goes on behind the rest of its class, in one queue; switch.queueing must be oq".into()));
        }
        Ok(())
    }
}

impl Hooks for ConWeave {
    fn watches(&self) -> Watches {
        if self.rack.is_some() { Watches::ROUTE.and(Watches::ASSIGN).and(Watches::CONTROL) } else { Watches::ROUTE }
    }

    fn route(&mut self, packet: &mut Packet, choices: &[PortId], core: &Core, effects: &mut Effects) -> Option<PortId> {
        let is_known = |port: PortId| self.to_host[port] && core.routing.wiring.ports[index(packet.dst())].len() == 1;
        if is_known(packet.in_port())
            && let Some(rack) = &mut self.rack
        {
            let tag = rack.source.tag(packet, choices, core, effects);
            packet.set_tag(tag.word());
            return Some(digit(tag.path, 0, choices));
        }
        let tag = Tag::read(packet.tag()).filter(|_| packet.hops() == 2)?;
        Some(digit(tag.path, 1, choices))
    }

    fn assign_queue(&mut self, packet: &mut Packet, port: PortId, core: &Core, effects: &mut Effects) -> Option<QueueId> {
        let (Some(rack), Some(tag)) = (&mut self.rack, Tag::read(packet.tag())) else { return None };
        if self.to_host[port] { rack.destination.receive(packet, tag, port, core, effects) } else { None }
    }

    fn on_control(&mut self, packet: &Packet, _: PortId, _: &Core, effects: &mut Effects) -> Verdict {
        match &mut self.rack {
            Some(rack) if packet.kind() == Kind::Weave && rack.source.serves(packet.dst()) => {
                rack.source.hear(packet, effects.now);
                Verdict::Consume
            }
            _ => Verdict::Pass,
        }
    }

    fn on_timer(&mut self, flow: u32, _: &Core, effects: &mut Effects) {
        if let Some(rack) = &mut self.rack {
            rack.destination.on_timer(flow, effects);
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        let Some(rack) = &self.rack else { return };
        tally.add(MOVED, rack.source.moved);
        rack.destination.counts(tally);
    }
}

#[cfg(test)]
mod tests;
