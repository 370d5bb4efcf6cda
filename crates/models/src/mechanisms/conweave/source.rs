//! The switch of a source: epochs and paths of flows.

use rustc_hash::{FxHashMap, FxHashSet};
use xoff_engine::random::Stream;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, index, wide};

use super::params::Params;
use super::tag::{FAN, Flag, Tag};
use crate::frames::kinds::{Says, Weave};
use crate::frames::packet::Packet;
use crate::mechanisms::contract::Site;
use crate::parts::ids::PortId;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// Number of entries below which expired entries are kept.
const FEW: usize = 1024;
/// A flow without a packet for this time, and for its expiry, is forgotten.
const AGE: Duration = Duration::ms(2);

/// A flow of a host at this switch.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// Switch of the destination.
    to: u32,
    epoch: u8,
    path: u16,
    /// The TAIL was sent.
    is_moved: bool,
    /// True when the epoch is over, after a REPLY in time or a CLEAR.
    is_over: bool,
    /// The age of the TAIL.
    tail: u16,
    began: Moment,
    /// Latest moment of the REPLY.
    deadline: Moment,
    active: Moment,
}

state!(Flow {
    value: to, epoch, path, is_moved, is_over, tail;
    moment: began, deadline, active;
});

/// The choosing part of `ConWeave`.
#[derive(Debug, Clone)]
pub struct Source {
    reply_slack: Duration,
    path_pause: Duration,
    expiry: Duration,
    /// Forwarding latency of all switches, taken from this switch.
    delay: Duration,
    /// Bytes of a full packet that are in when a switch handles the packet, and bytes of a frame.
    bytes: [u64; 2],
    hosts: FxHashSet<u32>,
    flows: FxHashMap<u32, Flow>,
    /// Number of entries at which expired entries are removed.
    room: usize,
    /// Ends of the pauses of paths, by switch and path.
    paused: FxHashMap<(u32, u16), Moment>,
    pub(super) moved: u64,
}

impl State for Source {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            reply_slack: _,
            path_pause: _,
            expiry: _,
            delay: _,
            bytes: _,
            hosts: _,
            flows,
            room: _,
            paused,
            moved,
        } = self;
        walk.total(moved);
        walk.keyed(flows.iter_mut(), |walk, _, flow| flow.walk(walk));
        walk.keyed(paused.iter_mut(), |walk, _, until| walk.due(until));
    }
}

impl Source {
    pub(super) fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            reply_slack: params.reply_slack,
            path_pause: params.path_pause,
            expiry: params.expiry,
            delay: site.ends.first().map_or(Duration::ZERO, |e| e.near.delay),
            bytes: [
                site.ends.iter().map(|e| e.near.counted_after).max().unwrap_or(site.framing.largest()),
                u64::from(site.framing.control),
            ],
            hosts: site.hosts.iter().map(|host| host.0).collect(),
            flows: FxHashMap::default(),
            room: FEW,
            paused: FxHashMap::default(),
            moved: 0,
        }
    }

    /// True for a host at this switch.
    pub(super) fn serves(&self, host: u32) -> bool {
        self.hosts.contains(&host)
    }

    /// Returns the tag of a packet, which names the path.
    pub(super) fn tag(
        &mut self,
        packet: &Packet,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Tag {
        let (now, dst) = (effects.now, packet.dst());
        let known = self.flows.get(&packet.flow()).copied();
        let is_new = known.is_none_or(|f| now - f.active > self.expiry);
        let mut flow = known.unwrap_or_else(|| {
            let to = core.routing.wiring.ports[index(dst)][0].peer;
            let path = Self::draw(dst, choices, core, effects.stream());
            Flow {
                to,
                epoch: 0,
                path,
                is_moved: false,
                is_over: false,
                tail: 0,
                began: now,
                deadline: now,
                active: now,
            }
        });
        flow.active = now;
        let mut flag = Flag::Data;
        let is_late = !is_new && !flow.is_over && flow.deadline < now;
        if is_new || flow.is_over {
            let deadline = now + self.round_trip(dst, choices, core) + self.reply_slack;
            flow = Flow {
                epoch: (flow.epoch + 1) % 8,
                is_moved: false,
                is_over: false,
                began: now,
                deadline,
                ..flow
            };
            flag = Flag::Init;
        }
        if is_new && let Some(path) = self.sample(&flow, None, dst, choices, core, effects) {
            flow.path = path;
        }
        let (path, is_moved, mut age) = (flow.path, flow.is_moved, Tag::age(now - flow.began));
        if is_moved {
            age = flow.tail;
        }
        // Where no path that is drawn is good it stays, and the next packet tries again.
        if is_late && let Some(other) = self.sample(&flow, Some(path), dst, choices, core, effects) {
            flag = Flag::Tail;
            flow = Flow { is_moved: true, tail: age, deadline: Moment::NEVER, path: other, ..flow };
            self.moved += 1;
        }
        self.make_room(now);
        self.flows.insert(packet.flow(), flow);
        Tag { flag, is_moved, epoch: flow.epoch, path, age }
    }

    /// Obeys a frame of the destination's switch.
    pub(super) fn hear(&mut self, frame: &Packet, now: Moment) {
        let (Some(flow), Some(Weave { says, of })) = (self.flows.get_mut(&frame.flow()), frame.payload())
        else {
            return;
        };
        let is_this = of == u32::from(flow.epoch);
        match says {
            Says::Notify => {
                self.paused.insert((flow.to, of as u16), now + self.path_pause);
            }
            Says::Clear => flow.is_over |= is_this && flow.is_moved,
            // One that is late changes nothing: the next packet finds that it is.
            Says::Reply if is_this && !flow.is_moved && now <= flow.deadline => {
                (flow.is_over, flow.deadline) = (true, Moment::NEVER);
            }
            Says::Reply => {}
        }
    }

    /// Draws two paths and returns the first good path, if any.
    fn sample(
        &self,
        flow: &Flow,
        current: Option<u16>,
        dst: u32,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<u16> {
        let drawn = [(); 2].map(|()| Self::draw(dst, choices, core, effects.stream()));
        let is_paused =
            |path: u16| self.paused.get(&(flow.to, path)).is_some_and(|until| *until > effects.now);
        drawn.into_iter().find(|path| Some(*path) != current && !is_paused(*path))
    }

    fn draw(dst: u32, choices: &[PortId], core: &Core, stream: &mut Stream) -> u16 {
        let mut below = |n: usize| stream.below(wide(n.clamp(1, FAN))) as u16;
        let first = below(choices.len());
        let next = core.ports[choices[usize::from(first)]].peer;
        first | below(core.routing.routes[index(next)].choices(dst).len()) << 6
    }

    /// Returns the time of a full packet to the switch of a host, and of a frame back, without queues by the
    /// shortest way.
    fn round_trip(&self, dst: u32, choices: &[PortId], core: &Core) -> Duration {
        let by = |first: &PortId| {
            let (mut at, mut port, mut time) = (core.id, *first, Duration::ZERO);
            loop {
                let link = &core.routing.wiring.ports[index(at)][port];
                if link.peer == dst {
                    return time;
                }
                let [packet, frame] = self.bytes.map(|bytes| link.link.rate.time(bytes));
                time = time + (link.link.delay + self.delay) * 2 + packet + frame;
                at = link.peer;
                port = core.routing.routes[index(at)].choose(dst, 0);
            }
        };
        choices.iter().map(by).min().unwrap_or_default()
    }

    /// Removes expired flows when the table has doubled.
    fn make_room(&mut self, now: Moment) {
        if self.flows.len() >= self.room {
            let age = AGE.max(self.expiry);
            self.flows.retain(|_, flow| now - flow.active <= age);
            self.room = FEW.max(2 * self.flows.len());
        }
    }
}
