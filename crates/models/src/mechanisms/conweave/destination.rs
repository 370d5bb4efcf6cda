//! The switch of a destination: holds early packets, answers, and reports marks.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment};

use super::counts::{EARLY, HELD, MESSAGES, PACKETS, UNHELD};
use super::params::Params;
use super::tag::{Flag, Tag};
use crate::frames::kinds::{Says, Weave};
use crate::frames::packet::Packet;
use crate::mechanisms::contract::Site;
use crate::parts::count::Tally;
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::Sources;
use crate::ports::core::{Core, Queues};
use crate::ports::effects::{Asker, Effect, Effects};
use crate::ports::queueing::port::Purpose;

/// Number of entries below which expired entries are kept.
const FEW: usize = 1024;
/// A flow without a packet for this time is forgotten.
const AGE: Duration = Duration::ms(2);

/// A flow to a host at this switch.
#[derive(Debug, Clone, Copy)]
struct Flow {
    epoch: u8,
    /// True when the TAIL of the epoch has come, or is not waited for.
    is_in_order: bool,
    /// Age and arrival of the epoch's last packet by the old path.
    seen: Option<(u16, Moment)>,
    active: Moment,
}

/// Hold of a flow.
#[derive(Debug, Clone)]
struct Hold {
    port: PortId,
    /// The reorder queue, and the queue of the class.
    queues: [QueueId; 2],
    epoch: u8,
    /// The age of the TAIL.
    tail: u16,
    /// End of the hold.
    due: Moment,
}

state!(Hold {
    value: port, queues, epoch, tail;
    moment: due;
});

/// The ordering part of `ConWeave`.
#[derive(Debug, Clone)]
pub struct Destination {
    expiry: Duration,
    flush_slack: Duration,
    flush_default: Duration,
    frame_bytes: u16,
    sources: Arc<Sources>,
    flows: FxHashMap<u32, Flow>,
    /// Number of entries at which expired entries are removed.
    room: usize,
    holds: FxHashMap<u32, Hold>,
    held: u64,
    packets: u64,
    early: u64,
    unheld: u64,
    messages: u64,
}

impl State for Destination {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            expiry: _,
            flush_slack: _,
            flush_default: _,
            frame_bytes: _,
            sources: _,
            flows,
            room: _,
            holds,
            held,
            packets,
            early,
            unheld,
            messages,
        } = self;
        for total in [held, packets, early, unheld, messages] {
            walk.total(total);
        }
        walk.keyed(flows.iter_mut(), |walk, _, Flow { epoch, is_in_order, seen, active }| {
            walk.value(u64::from(*epoch) << 1 | u64::from(*is_in_order));
            if let Some((age, at)) = seen {
                walk.value(u64::from(*age));
                walk.moment(at);
            }
            walk.moment(active);
        });
        walk.keyed(holds.iter_mut(), |walk, _, hold| hold.walk(walk));
    }
}

impl Destination {
    pub(super) fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            expiry: params.expiry,
            flush_slack: params.flush_slack,
            flush_default: params.flush_default,
            frame_bytes: site.framing.control,
            sources: site.sources.clone(),
            flows: FxHashMap::default(),
            room: FEW,
            holds: FxHashMap::default(),
            held: 0,
            packets: 0,
            early: 0,
            unheld: 0,
            messages: 0,
        }
    }

    /// Takes a packet for a host at a port. Returns the reorder queue of a held packet.
    pub(super) fn receive(
        &mut self,
        packet: &Packet,
        tag: Tag,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        let (id, now) = (packet.flow(), effects.now);
        if packet.has(Packet::CE) {
            self.tell(id, Says::Notify, u32::from(tag.path), effects);
        }
        match tag.flag {
            Flag::Init => self.tell(id, Says::Reply, u32::from(tag.epoch), effects),
            Flag::Tail => self.tell(id, Says::Clear, u32::from(tag.epoch), effects),
            Flag::Data => {}
        }
        self.make_room(now);
        let fresh = Flow { epoch: tag.epoch, is_in_order: false, seen: None, active: now };
        let flow = self.flows.entry(id).or_insert(fresh);
        let is_stale = now - flow.active > self.expiry;
        flow.active = now;
        let hold = self.holds.get_mut(&id);
        // After a silence the source may have forgotten the flow, and counts its epochs from the first again.
        // Without one the first packet of an epoch is only late: those that were moved came before it.
        let begins_anew = tag.flag == Flag::Init && is_stale && hold.is_none();
        match (tag.epoch + 8 - flow.epoch) % 8 {
            0 if !begins_anew => {}
            // The source has gone on, and nothing of the epoch before is waited for; or it had forgotten the
            // flow.
            distance if begins_anew || distance <= 4 => {
                *flow = fresh;
                if let Some(hold) = hold {
                    hold.due = now;
                    effects.push(Effect::Timer(now, id));
                    return Some(hold.queues[0]);
                }
            }
            _ => return None,
        }
        if !tag.is_moved {
            flow.seen = Some((tag.age, now));
            flow.is_in_order |= tag.flag == Flag::Tail;
            if let Some(hold) = hold {
                // What is held goes on at this very moment, behind the TAIL: timers come after arrivals.
                hold.due = if flow.is_in_order {
                    now
                } else {
                    now + Tag::span(tag.age, hold.tail) + self.flush_slack
                };
                effects.push(Effect::Timer(hold.due, id));
            }
            return None;
        }
        if let Some(hold) = hold {
            self.packets += 1;
            return Some(hold.queues[0]);
        }
        if flow.is_in_order {
            return None;
        }
        let is_free = |queue: &QueueId| {
            let is_taken = self.holds.values().any(|h| (h.port, h.queues[0]) == (port, *queue));
            core.ports[port].queues[*queue].purpose() == Purpose::Reorder && !is_taken
        };
        let Some(queue) = core.queues_of(port, packet.class()).find(is_free) else {
            self.unheld += 1;
            return None;
        };
        let expected = flow.seen.map_or(now + self.flush_default, |(age, at)| at + Tag::span(age, tag.age));
        let due = now.max(expected + self.flush_slack);
        let own = core.queue_for(packet.class(), packet.in_port());
        self.holds.insert(id, Hold { port, queues: [queue, own], epoch: tag.epoch, tail: tag.age, due });
        (self.held, self.packets) = (self.held + 1, self.packets + 1);
        effects.push(Effect::Block(port, Queues::One(queue), Asker::Itself));
        effects.push(Effect::Timer(due, id));
        Some(queue)
    }

    /// Ends a hold that is due.
    pub(super) fn on_timer(&mut self, id: u32, effects: &mut Effects) {
        if self.holds.get(&id).is_none_or(|hold| hold.due > effects.now) {
            return;
        }
        let (Some(hold), Some(flow)) = (self.holds.remove(&id), self.flows.get_mut(&id)) else { return };
        let is_early = hold.epoch != flow.epoch || !flow.is_in_order;
        self.early += u64::from(is_early);
        flow.is_in_order |= hold.epoch == flow.epoch;
        if is_early && hold.epoch == flow.epoch {
            // Its TAIL is not waited for, and may be lost: the flow is free to move again.
            self.tell(id, Says::Clear, u32::from(hold.epoch), effects);
        }
        let [queue, own] = hold.queues;
        effects.push(Effect::MoveQueue(hold.port, queue, own));
        effects.push(Effect::Unblock(hold.port, Queues::One(queue)));
    }

    /// Sends a frame to the switch of the flow's source.
    fn tell(&mut self, flow: u32, says: Says, of: u32, effects: &mut Effects) {
        self.messages += 1;
        effects.push(Effect::Emit(Packet::with(
            Weave { says, of },
            flow,
            self.sources.of(flow),
            self.frame_bytes,
            0,
        )));
    }

    /// Removes expired flows when the table has doubled.
    fn make_room(&mut self, now: Moment) {
        if self.flows.len() >= self.room {
            let holds = &self.holds;
            self.flows.retain(|id, flow| now - flow.active <= AGE || holds.contains_key(id));
            self.room = FEW.max(2 * self.flows.len());
        }
    }

    pub(super) fn counts(&self, tally: &mut dyn Tally) {
        tally.add(HELD, self.held);
        tally.add(PACKETS, self.packets);
        tally.add(EARLY, self.early);
        tally.add(UNHELD, self.unheld);
        tally.add(MESSAGES, self.messages);
    }
}
