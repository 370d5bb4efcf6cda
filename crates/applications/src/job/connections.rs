//! The connections of a job, with the sums of their messages.
//!
//! Collectives with equal messages are added up before groups are considered: the work grows with the
//! connections and with the kinds of collectives, and not with the number of collectives.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rustc_hash::FxHashMap;
use xoff_models::frames::framing::Framing;
use xoff_models::traffic::application::Connection;
use xoff_units::{index, number};

use super::graph::{CLASS, Graph, Lines};
use super::handover::QueueKey;
use super::operation::What;
use super::piece::{Way, further};
use super::rank::Rank;
use super::shape::Shape;

/// The sum of messages with equal ends.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    messages: u64,
    bytes: u64,
    packets: u64,
}

impl Sum {
    fn add(&mut self, other: Self, times: u64) {
        self.messages += other.messages * times;
        self.bytes += other.bytes * times;
        self.packets += other.packets * times;
    }
}

/// Sender, receiver, line and way of a message.
type Ends = (u32, u32, u64, Way);

/// The sums of the messages of one sender, in the order of the first messages. The map of one sender stays in the cache.
#[derive(Debug, Default)]
struct Sums {
    list: Vec<(Ends, Sum)>,
    /// The place in the list.
    places: FxHashMap<Ends, usize>,
}

impl Sums {
    fn clear(&mut self) {
        self.list.clear();
        self.places.clear();
    }

    fn add(&mut self, ends: Ends, sum: Sum, times: u64) {
        let at = *self.places.entry(ends).or_insert(self.list.len());
        if at == self.list.len() {
            self.list.push((ends, Sum::default()));
        }
        self.list[at].1.add(sum, times);
    }
}

/// What decides the messages of a collective of a group, and their connections: shape, class, and the turn
/// among the connections of a channel.
type Alike = (u32, Option<u8>, u32);

/// The collectives of a group: the number of one collective of each kind, and how many there are.
type Collectives = BTreeMap<Alike, (u32, u64)>;

impl Graph {
    /// Adds a collective to those of its group.
    fn count(&self, collectives: &mut Collectives, number: u32) {
        let shared = self.shared(number);
        let What::Collective { shape, .. } = shared.what else { return };
        let turn = match self.lines {
            Lines::Shared(spread) => number % u32::from(spread),
            Lines::Own => number,
        };
        collectives.entry((shape, shared.class, turn)).or_insert((number, 0)).1 += 1;
    }

    /// Returns the largest number of senders of the collectives of a group.
    fn senders(&self, collectives: &Collectives) -> u32 {
        let senders = collectives.keys().map(|(shape, ..)| self.shapes[index(*shape)].senders());
        senders.max().unwrap_or(0)
    }

    /// Returns the number of ranks of a part if the collectives of a group have equal parts, and the messages of the next part
    /// take the same lines.
    fn of_part(&self, collectives: &Collectives) -> Option<u32> {
        let mut parts = collectives.keys().map(|(shape, ..)| {
            let shape = &self.shapes[index(*shape)];
            (shape.senders(), shape.of_part(), self.stays_on_line(shape.listed()))
        });
        let first = parts.next()?;
        (first.0 > first.1 && first.2 && parts.all(|other| other == first)).then_some(first.1)
    }

    /// Adds up the messages of a sender in the collectives of any group, by places among the ranks of the group and
    /// lines among those of the group.
    fn add_up(&self, collectives: &Collectives, sender: u32, packets: &dyn Fn(u64) -> u64, sums: &mut Sums) {
        sums.clear();
        for ((shape, ..), (number, times)) in collectives {
            let shape = &self.shapes[index(*shape)];
            for place in if sender < shape.senders() { shape.sends(sender) } else { 0..0 } {
                let piece = shape.piece(place);
                let line = self.line(None, piece.channel, *number, place);
                let ends = (piece.from, piece.to, line, piece.way);
                let sum = Sum { messages: 1, bytes: piece.bytes, packets: packets(piece.bytes) };
                sums.add(ends, sum, *times);
            }
        }
    }

    /// Returns the collectives of groups, with the groups that have such collectives.
    fn collectives(&self) -> Vec<(Collectives, Vec<u32>)> {
        let mut of_group: BTreeMap<u32, Collectives> = BTreeMap::new();
        // Groups with equal collectives, by their first group.
        let mut like: Vec<(u32, Vec<u32>)> = Vec::new();
        if let Some(pattern) = &self.pattern {
            for family in pattern.families() {
                // A turn of the group's first number decides the turns of the others.
                let mut known: FxHashMap<(u32, u32), usize> = FxHashMap::default();
                for (group, kind) in (0..).zip(&family.kinds) {
                    let first = family.number(group, 0);
                    let turn = match self.lines {
                        Lines::Shared(spread) => first % u32::from(spread),
                        Lines::Own => first,
                    };
                    let at = *known.entry((*kind, turn)).or_insert(like.len());
                    if at == like.len() {
                        like.push((family.group + group, Vec::new()));
                        let collectives = of_group.entry(family.group + group).or_default();
                        (0..number(family.slots().len()))
                            .for_each(|slot| self.count(collectives, family.number(group, slot)));
                    }
                    like[at].1.push(family.group + group);
                }
            }
        } else {
            for number in 0..self.count_shared() {
                if let What::Collective { group, .. } = self.shared(number).what {
                    self.count(of_group.entry(group).or_default(), number);
                }
            }
            let mut known: HashMap<Vec<(Alike, u64)>, usize> = HashMap::new();
            for (group, collectives) in &of_group {
                let kinds = collectives.iter().map(|(alike, (_, times))| (*alike, *times)).collect();
                let at = *known.entry(kinds).or_insert(like.len());
                if at == like.len() {
                    like.push((*group, Vec::new()));
                }
                like[at].1.push(*group);
            }
        }
        like.into_iter()
            .map(|(first, groups)| (of_group.remove(&first).unwrap_or_default(), groups))
            .collect()
    }

    /// Calls back with the messages that differ in sender, receiver, line or way by the ranks of the job.
    fn each_message(&self, packets: &dyn Fn(u64) -> u64, found: &mut dyn FnMut(Ends, Sum)) {
        for (number, one) in (0..).zip(&self.listed) {
            if let What::Message { from, to, channel, bytes } = one.what {
                let line = self.line(None, channel, number, 0);
                let sum = Sum { messages: 1, bytes, packets: packets(bytes) };
                found((from, to, line, self.way(from, to)), sum);
            }
        }
        for (collectives, groups) in self.collectives() {
            let ranks = self.senders(&collectives);
            let of_part = self.of_part(&collectives);
            let mut of_ranks: Vec<Sums> = Vec::new();
            for sender in 0..ranks {
                let listed = of_part.map_or(0, |of_part| index(sender % of_part));
                if listed == of_ranks.len() {
                    of_ranks.push(Sums::default());
                }
                let sums = &mut of_ranks[listed];
                if of_part.is_none_or(|of_part| sender < of_part) {
                    self.add_up(&collectives, sender, packets, sums);
                }
                let by = of_part.map_or(0, |of_part| sender / of_part * of_part);
                let on = |rank: u32| further(rank, by, ranks);
                for group in &groups {
                    let members = &self.groups[index(*group)];
                    for ((from, to, line, way), sum) in &sums.list {
                        let way = match way {
                            Way::Nic(via) => Way::Nic(members.at(on(*via))),
                            way => *way,
                        };
                        let line = line + self.lines_before(*group);
                        found((members.at(on(*from)), members.at(on(*to)), line, way), *sum);
                    }
                }
            }
        }
    }

    /// Returns the needed connections, by the rank of the sending NIC, receiving rank and line.
    pub fn connections(&self, framing: &Framing) -> Vec<Connection> {
        let mut found: Vec<Connection> = Vec::new();
        self.each_message(&|bytes| framing.packets(bytes), &mut |(_, to, line, way), sum| {
            if let Way::Nic(from) = way {
                let class = ((line >> CLASS) as u8).checked_sub(1);
                // A connection has at least as many packets as messages, and too many packets are refused.
                let messages = u32::try_from(sum.messages).unwrap_or(u32::MAX);
                found.push(Connection {
                    from,
                    to,
                    line,
                    messages,
                    bytes: sum.bytes,
                    packets: sum.packets,
                    class,
                });
            }
        });
        // The connections of a rank are mostly a few ascending lists, which a stable sort merges.
        if found.is_sorted_by_key(|one| one.from) {
            for of_rank in found.chunk_by_mut(|a, b| a.from == b.from) {
                of_rank.sort_by_key(|one| (one.to, one.line));
            }
        } else {
            found.sort_unstable_by_key(|one| (one.from, one.to, one.line));
        }
        found.dedup_by(|next, one| {
            let is_same = (next.from, next.to, next.line) == (one.from, one.to, one.line);
            if is_same {
                one.messages = one.messages.saturating_add(next.messages);
                one.bytes += next.bytes;
                one.packets += next.packets;
            }
            is_same
        });
        found
    }

    /// Returns a lower bound of the number of connections, before connections are made: the messages over the
    /// network if each message has a connection, and otherwise 0.
    pub fn least_connections(&self) -> u64 {
        if self.lines != Lines::Own {
            return 0;
        }
        let of_shapes: Vec<u64> = self.shapes.iter().map(Shape::over_network).collect();
        let of = |number| match self.shared(number).what {
            What::Message { from, to, .. } => u64::from(matches!(self.way(from, to), Way::Nic(_))),
            What::Collective { shape, .. } => of_shapes[index(shape)],
        };
        (0..self.count_shared()).map(of).sum()
    }

    /// Returns the queues of slices over NVLink with their senders, for a job with a library: by sender, by receiver, and by
    /// the group's first use in the program of the sender. Ranks that do equal work for different groups thus have their
    /// queues in the same order. Also returns the number of slices.
    pub fn queues(&self) -> (Vec<(u32, QueueKey)>, u64) {
        let (keys, slices) = self.queue_keys();
        let mut queues: Vec<(u32, QueueKey)> = keys.into_iter().collect();
        for own in queues.chunk_by_mut(|a, b| a.0 == b.0) {
            let used = self.by_first_use(own);
            own.sort_by_key(|(_, (end, line, kind))| {
                let of_group =
                    self.group_of_line(*line).and_then(|group| used.iter().position(|one| *one == group));
                (*end, line >> CLASS, of_group, *line, *kind)
            });
        }
        (queues, slices)
    }

    /// Returns the groups of a sender's queues in the order of their first use.
    fn by_first_use(&self, queues: &[(u32, QueueKey)]) -> Vec<u32> {
        let groups: BTreeSet<u32> =
            queues.iter().filter_map(|(_, (_, line, _))| self.group_of_line(*line)).collect();
        let mut found = Vec::with_capacity(groups.len());
        let rank = queues.first().map(|one| &self.ranks[index(one.0)]);
        for operation in rank.into_iter().flat_map(Rank::operations) {
            if found.len() == groups.len() {
                break;
            }
            let what = operation.work.number().map(|number| self.shared(number).what);
            if let Some(What::Collective { group, .. }) = what
                && groups.contains(&group)
                && !found.contains(&group)
            {
                found.push(group);
            }
        }
        found
    }

    fn queue_keys(&self) -> (BTreeSet<(u32, QueueKey)>, u64) {
        let (mut found, mut slices) = (BTreeSet::new(), 0);
        self.each_message(&|_| 0, &mut |(from, to, line, way), sum| {
            let end = match way {
                Way::Nic(via) if via == from => return,
                Way::Nic(via) => via,
                Way::NvLink | Way::Reduce | Way::Multicast => to,
            };
            slices += sum.messages;
            found.insert((from, (end, line, way.kind())));
        });
        (found, slices)
    }
}
