//! `ConWeave`: the source's switch moves a flow off a path with late answers, and the destination's switch
//! holds packets of the new path until the old path has delivered.
//! The first packet of an *epoch* asks for a REPLY. When the REPLY is late, the next packet is the TAIL of
//! the old path, and later packets take a new path in phase 1 (`source.rs`): the first good path of two
//! draws, without a NOTIFY within `path_pause`. Packets of phase 1 before the TAIL wait in a reorder queue
//! until the TAIL comes or is overdue (`destination.rs`). A CLEAR lets the flow move again. Simplifications:
//! tags take no bytes on the wire; ages in steps of 33 ns; epochs modulo 8; paths of up to 64 ports at each
//! of two switches. Flows within a rack, pinned paths, and hosts with several links go by ECMP. Invariants:
//! choices are on shortest paths; a flow moves once an epoch; without early flushes no packet overtakes
//! another packet of its epoch.
//! Source: Song et al., "Network Load Balancing with In-network Reordering Support for RDMA" (SIGCOMM 2023),
//! and its public ns-3 code (`docs/models/conweave.md`).

mod counts;
mod destination;
mod params;
mod source;
mod tag;

use xoff_engine::state;
use xoff_units::{Duration, Moment, index};

use self::counts::{EARLY, HELD, MESSAGES, MOVED, PACKETS, UNHELD};
use self::destination::Destination;
pub use self::params::Params;
use self::source::Source;
use self::tag::{Tag, digit};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{Hooks, Install, Properties, Site, ValidationContext, Verdict, Watches};
use crate::parts::count::{Count, PAUSED, Tally};
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::Effects;

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
        Properties {
            routes: true,
            assigns_queues: true,
            tag_bits: crate::frames::tag::BITS,
            reorder_queues: params.queues,
            ..Properties::default()
        }
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
            return Err((
                "",
                Change::set("switch.queueing", "oq")
                    .after("ConWeave needs one queue for each class and output"),
            ));
        }
        Ok(())
    }
}

impl Hooks for ConWeave {
    fn watches(&self) -> Watches {
        if self.rack.is_some() {
            Watches::ROUTE.and(Watches::ASSIGN).and(Watches::CONTROL)
        } else {
            Watches::ROUTE
        }
    }

    fn route(
        &mut self,
        packet: &mut Packet,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        let is_known =
            |port: PortId| self.to_host[port] && core.routing.wiring.ports[index(packet.dst())].len() == 1;
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

    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
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
