//! `ConWeave`: the source's switch moves a flow off a path with late answers, and the destination's switch holds packets of the new path
//! until the old path has delivered.
//! The first packet of an *epoch* asks for a REPLY. When the REPLY is late, the next packet is the TAIL of the old path, and later packets
//! take a new path in phase 1 (`source.rs`): the first good path of two draws, without a NOTIFY within `path_pause`. Packets of phase 1
//! before the TAIL wait in a reorder queue until the TAIL comes or is overdue (`destination.rs`). A CLEAR lets the flow move again.
//! Simplifications: tags take no bytes on the wire; ages in steps of 33 ns; epochs modulo 8; paths of up to 64 ports at each of two
//! switches. Flows within a rack, pinned paths, and hosts with several links go by ECMP. Invariants: choices are on shortest paths; a flow
//! moves once an epoch; without early flushes no packet overtakes another packet of its epoch.
//! Source: Song et al., "Network Load Balancing with In-network Reordering Support for RDMA" (SIGCOMM 2023), and its public ns-3 code
//! (`docs/models/conweave.md`).

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
use crate::mechanism::{Hooks, Install, Properties, Site, ValidationContext, Verdict, Watches};
use crate::packet::Packet;
use crate::param_error::ParamError;

/// `switch.routing.conweave`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A flow leaves its path when a REPLY takes longer than the round trip without queues plus this time.
    pub reply_slack: Duration,
    /// A path is not chosen for this time after a NOTIFY of a marked packet on the path.
    pub path_pause: Duration,
    /// After a longer gap between two packets a flow begins anew by any path. A flow that pauses held back for this
    /// time may overtake its earlier packets.
    pub expiry: Duration,
    /// Held packets go on when their TAIL is overdue by this time.
    pub flush_slack: Duration,
    /// Time from the first held packet to the expected TAIL, where no packet of the old path arrived.
    pub flush_default: Duration,
    /// Reorder queues of each port and class, 1 to 64: the number of flows held at a time.
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

/// Role of a packet in its epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    Data = 1,
    /// The first packet, which asks for a REPLY.
    Init = 2,
    /// The last packet by the old path.
    Tail = 3,
}

/// Tag of a packet between the two switches; zero for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    flag: Flag,
    /// True by the new path.
    is_moved: bool,
    epoch: u8,
    path: u16,
    /// Age since the start of the epoch: of the packet by the old path, or of the TAIL by the new path.
    age: u16,
}

impl Tag {
    /// Picoseconds of a step of an age: 2 to this power.
    const STEP: u32 = 15;
    const OLDEST: u64 = (1 << 14) - 1;

    fn age(time: Duration) -> u16 {
        (time.ps() >> Self::STEP).min(Self::OLDEST) as u16
    }

    /// Returns the time from one age to another, zero for earlier ages.
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

/// Number of ports up that a path can name at each of two switches.
const FAN: usize = 64;

/// The choice among `choices` of a path at the first switch (0) or the second (1).
fn digit(path: u16, switch: u32, choices: &[PortId]) -> PortId {
    choices[(usize::from(path) >> (6 * switch)) % FAN % choices.len()]
}

const MOVED: Count = Count::number("moved", "flows moved to another path");
const HELD: Count = Count::number("held_flows", "flows held for the TAIL");
const PACKETS: Count = Count::number("held_packets", "packets held");
const EARLY: Count = Count::number("flushed_early", "flows released before the TAIL");
const UNHELD: Count = Count::number("reorder_queue_exhausted", "packets without a reorder queue");
const MESSAGES: Count = Count::number("messages", "frames between switches of racks");

/// The parts of a switch with hosts.
#[derive(Debug, Clone)]
struct Rack {
    source: Source,
    destination: Destination,
}

state!(Rack {
    part: source, destination;
});

/// `ConWeave` at a switch.
#[derive(Debug, Clone)]
pub struct ConWeave {
    /// The parts for hosts, at switches with hosts.
    rack: Option<Rack>,
    /// For each port: true for a host with one link.
    to_host: Vec<bool>,
}

state!(ConWeave {
    part: rack;
    constant: to_host;
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

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
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
        if let Some(other) = context.other(|o| o.counts_queues) {
            let why = format!(
                "ConWeave moves packets between the queues that {other} counts; remove one of the two, or set pfc.accounting = \"ingress\""
            );
            return Err(("", why));
        }
        if context.queueing != Queueing::Oq {
            return Err(("", "ConWeave needs one queue for each class and output; set switch.queueing to oq".into()));
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
