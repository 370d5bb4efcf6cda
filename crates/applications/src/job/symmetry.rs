//! Decides whether a job stays the same under a renaming of ranks. A *group* is here a group of ranks, such as the ranks of
//! an all-reduce.

use rustc_hash::{FxHashMap, FxHashSet};
use xoff_units::{index, number};

use super::graph::{Graph, Lines};
use super::operation::{Operation, What, Work};
use super::piece::{Way, further};
use super::program::Program;

/// The programs of a job under a renaming.
pub struct Renaming<'a> {
    graph: &'a Graph,
    /// The program of each rank.
    programs: Vec<&'a Program>,
    /// The image of each rank.
    ranks: Vec<u32>,
    /// For each group met so far: the image of the group, and the number of its order.
    groups: FxHashMap<u32, (u32, u32)>,
    /// Orders: for each place in a group, the place in the image of the group.
    orders: Vec<Vec<u32>>,
    known_orders: FxHashMap<Vec<u32>, u32>,
    /// Images of shared operations, by number.
    numbers: FxHashMap<u32, u32>,
    /// Equal shapes: shape, shape of the image, order.
    shapes: FxHashSet<(u32, u32, u32)>,
}

impl<'a> Renaming<'a> {
    /// Prepares the comparison of a job with its image. `ranks` has the image of each rank.
    pub fn new(graph: &'a Graph, programs: Vec<&'a Program>, ranks: Vec<u32>) -> Self {
        Self {
            graph,
            programs,
            ranks,
            groups: FxHashMap::default(),
            orders: Vec::new(),
            known_orders: FxHashMap::default(),
            numbers: FxHashMap::default(),
            shapes: FxHashSet::default(),
        }
    }

    /// Compares each rank with its image, and calls back with each connection and its image. An error is the
    /// first difference.
    pub fn compare(mut self, found: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
        if self.graph.ranks.len() != index(self.graph.processors) {
            return Err("a switch reduces for a job".into());
        }
        if !self.graph.outside.is_empty() || self.programs.iter().any(|one| one.depends_on_others()) {
            return Err("operations of a job wait for another workload".into());
        }
        for rank in 0..self.graph.processors {
            let image = self.ranks[index(rank)];
            self.operations(rank, image).map_err(|what| {
                let [a, b] = [rank, image];
                format!("ranks {a} and {b} of a job differ: {what}")
            })?;
        }
        for rank in 0..self.graph.processors {
            self.connections(rank, found)?;
        }
        Ok(())
    }

    fn operations(&mut self, rank: u32, image: u32) -> Result<(), String> {
        let graph = self.graph;
        let (own, other) = (&graph.ranks[index(rank)], &graph.ranks[index(image)]);
        if own.count() != other.count() {
            return Err(format!("{} and {} operations", own.count(), other.count()));
        }
        if own.needs() != other.needs() || (0..own.count()).any(|place| own.then(place) != other.then(place))
        {
            return Err("the order of operations".into());
        }
        for (a, b) in own.operations().zip(other.operations()) {
            let name = || graph.names[index(a.name)].clone();
            if (a.name, a.iteration, a.unit) != (b.name, b.iteration, b.unit) {
                return Err(format!("operation `{}`", name()));
            }
            if !self.work(a, b) {
                return Err(format!("the work of operation `{}`", name()));
            }
        }
        Ok(())
    }

    /// True if the work of an operation maps onto the work of its image.
    fn work(&mut self, a: Operation, b: Operation) -> bool {
        match (a.work, b.work) {
            (Work::Compute(a), Work::Compute(b)) => a == b,
            (Work::Send(a), Work::Send(b)) | (Work::Receive(a), Work::Receive(b)) => self.shared(a, b),
            (Work::Collective { number: a, place }, Work::Collective { number: b, place: image }) => {
                let What::Collective { group, .. } = self.graph.shared(a).what else { return false };
                self.shared(a, b)
                    && self.groups.get(&group).is_some_and(|(_, order)| {
                        self.orders[index(*order)].get(index(place)) == Some(&image)
                    })
            }
            _ => false,
        }
    }

    /// True if one shared operation maps onto another.
    fn shared(&mut self, a: u32, b: u32) -> bool {
        if let Some(known) = self.numbers.get(&a) {
            return *known == b;
        }
        let (one, other) = (self.graph.shared(a), self.graph.shared(b));
        let is_alike = (one.label, one.iteration, one.name, one.class)
            == (other.label, other.iteration, other.name, other.class)
            && match (one.what, other.what) {
                (
                    What::Message { from, to, channel, bytes },
                    What::Message { from: from_b, to: to_b, channel: channel_b, bytes: bytes_b },
                ) => {
                    let image = |rank: u32| self.ranks[index(rank)];
                    (image(from), image(to), channel, bytes) == (from_b, to_b, channel_b, bytes_b)
                }
                (What::Collective { shape, group }, What::Collective { shape: shape_b, group: group_b }) => {
                    self.group(group, group_b).is_some_and(|order| self.shape(shape, shape_b, order))
                }
                _ => false,
            };
        self.numbers.insert(a, b);
        is_alike
    }

    /// Returns the number of the order by which one group maps onto another.
    fn group(&mut self, a: u32, b: u32) -> Option<u32> {
        if let Some((image, order)) = self.groups.get(&a) {
            return (*image == b).then_some(*order);
        }
        let (own, other) = (&self.graph.groups[index(a)].ranks, &self.graph.groups[index(b)].ranks);
        if own.len() != other.len() {
            return None;
        }
        let places: FxHashMap<u32, u32> = other.iter().copied().zip(0..).collect();
        let order: Option<Vec<u32>> =
            own.iter().map(|rank| places.get(&self.ranks[index(*rank)]).copied()).collect();
        let order = order?;
        let next = number(self.orders.len());
        let known = *self.known_orders.entry(order.clone()).or_insert(next);
        if known == next {
            self.orders.push(order);
        }
        self.groups.insert(a, (b, known));
        Some(known)
    }

    /// True if each message of a shape maps onto a message of another shape, for an order of the ranks.
    fn shape(&mut self, a: u32, b: u32, order: u32) -> bool {
        if self.shapes.contains(&(a, b, order)) {
            return true;
        }
        let (one, other) = (&self.graph.shapes[index(a)], &self.graph.shapes[index(b)]);
        let order_of = &self.orders[index(order)];
        let image = |place: u32| order_of[index(place)];
        if one.costs != other.costs || one.of.overhead != other.of.overhead {
            return false;
        }
        let message = |place: u32| {
            let sender = one.piece(place).from;
            other.sends(image(sender)).start + (place - one.sends(sender).start)
        };
        let way = |way: Way| match way {
            Way::Nic(via) => Way::Nic(image(via)),
            way => way,
        };
        // If the order maps each part onto a part, ranks of the first part decide for all.
        let (ranks, of_part) = (number(order_of.len()), one.of_part());
        let next = |rank: u32| further(rank, of_part, ranks);
        let keeps_parts = (one.senders(), other.senders(), other.of_part()) == (ranks, ranks, of_part)
            && (0..ranks).all(|rank| image(next(rank)) == next(image(rank)));
        let some = if keeps_parts { of_part } else { ranks };
        let are_like = |p: u32, q: u32| {
            let (piece, with) = (one.piece(p), other.piece(q));
            (image(piece.to), piece.channel, piece.step, piece.bytes, way(piece.way))
                == (with.to, with.channel, with.step, with.bytes, with.way)
                && one.needs(p) == other.needs(q)
                && one.then(p).map(message).eq(other.then(q))
        };
        let sends = |rank: u32| (one.sends(rank), other.sends(image(rank)));
        // The first message of each rank tells most orders apart, long before the last message of the first rank.
        let begin_alike = |rank: u32| {
            let (sends, others) = sends(rank);
            sends.len() == others.len()
                && one.receives(rank) == other.receives(image(rank))
                && (sends.is_empty() || are_like(sends.start, others.start))
        };
        let are_all_alike = |rank: u32| {
            let (sends, others) = sends(rank);
            sends.zip(others).all(|(p, q)| are_like(p, q))
        };
        let is_alike = (0..some).all(begin_alike) && (0..some).all(are_all_alike);
        if is_alike {
            self.shapes.insert((a, b, order));
        }
        is_alike
    }

    /// Returns the image of a line: the line at the same place in the image of the group.
    fn line(&self, line: u64) -> Option<u64> {
        let Some(group) = self.graph.group_of_line(line) else { return Some(line) };
        let (image, _) = self.groups.get(&group)?;
        Some(line - self.graph.lines_before(group) + self.graph.lines_before(*image))
    }

    /// True if the queues of a rank over NVLink map onto the queues of the image with the same numbers.
    fn have_like_queues(&self, rank: u32) -> bool {
        let [own, other] = [rank, self.ranks[index(rank)]].map(|rank| self.programs[index(rank)]);
        own.queues().len() == other.queues().len()
            && own.queues().iter().all(|((end, line, kind), number)| {
                let image = self.line(*line).map(|line| (self.ranks[index(*end)], line, *kind));
                image.and_then(|image| other.queue(image)) == Some(*number)
            })
    }

    /// Calls back with each connection of a rank and its image.
    fn connections(&self, rank: u32, found: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
        if !matches!(self.graph.lines, Lines::Shared(1)) {
            return Err("messages of a channel take turns over connections, or each has a connection".into());
        }
        let other = self.programs[index(self.ranks[index(rank)])];
        if !self.have_like_queues(rank) {
            return Err(format!(
                "ranks {rank} and {} have other queues over NVLink",
                self.ranks[index(rank)]
            ));
        }
        // Connections of neighbours in the list are mostly neighbours among the images.
        let mut next = 0;
        for ((to, line), flow) in self.programs[index(rank)].connections() {
            let image = self.line(*line).and_then(|line| {
                let key = (self.ranks[index(*to)], line);
                if other.connections().get(next).is_none_or(|one| one.0 != key) {
                    next = other.connection(key.0, key.1)?;
                }
                next += 1;
                Some(other.connections()[next - 1].1)
            });
            let Some(image) = image else {
                return Err(format!("ranks {rank} and {} have other connections", self.ranks[index(rank)]));
            };
            found(*flow, image);
        }
        Ok(())
    }
}
