//! Applications of independent units, such as pairs of hosts that talk to each other.
//!
//! The members of a unit are at hosts, and send messages over the connections of the unit. A [`Unit`] says what connections
//! there are and makes the members; a [`Member`] starts, hears of arrived messages and of ended computations, and acts by its
//! [`Seat`]. All else follows: numbers of flows, rotations under which the units stay the same, and loops of equal rounds.
//! Example: `docs/how-to/write-an-application.md`.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use xoff_engine::random::fold;
use xoff_engine::state::{Counter, PeriodKind, Row, State, StateVisitor};
use xoff_units::{Duration, Moment, index, number, wide};

use super::loops::{Growth, Loops};
use super::plan::{Connection, ControlLines, NumberedBlock, Parts, Planned};
use super::results::{Names, Results};
use super::run::{Application, Cycle};
use crate::frames::framing::Framing;
use crate::frames::message::{After, MessageId, Post};
use crate::parts::ids::ApplicationId;
use crate::paths::symmetry::{MessageImages, STAY, Symmetry, View};
use crate::ports::effects::{Effect, Effects};
use crate::ports::nvlink::queues::Queues;
use crate::records::table::Table;

/// A unit: its parameters, the same for all members. Units with equal parameters are alike.
pub trait Unit: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// The name in the summary.
    const NAME: &'static str;

    /// A member of the unit at its host.
    type Member: Member;

    /// Returns when the unit starts.
    fn start(&self) -> Moment;

    /// Returns the member at a place.
    fn member(&self, seat: Seat) -> Self::Member;

    /// Returns the tables of rows, each with its unit, the host of its member and the member.
    fn tables(rows: &[(u32, u32, u32, RowOf<Self>)], names: &Names) -> Vec<Table>;

    /// Returns the entry of the summary.
    fn summary(rows: &[(u32, u32, u32, RowOf<Self>)]) -> Value;
}

/// The type of a member's rows.
pub type RowOf<U> = <<U as Unit>::Member as Member>::Row;

/// A member of a unit at its host. Its [`State`] is everything that decides later events; rounds done are a total.
pub trait Member: State + Clone + Debug + Send + 'static {
    /// What a member records.
    type Row: Row + Copy + Debug + Send + 'static;

    /// The unit starts.
    fn begin(&mut self, effects: &mut Effects);

    /// A computation has ended.
    fn computed(&mut self, effects: &mut Effects);

    /// A message has arrived by a connection, which was posted at a moment.
    fn arrived(&mut self, connection: u32, posted: Moment, effects: &mut Effects);

    /// True while something begins or ends here without an event from elsewhere.
    fn goes_on(&self) -> bool;

    /// Returns the rounds left, and the bytes of each message that the member sends in a round; all rounds are alike.
    fn rounds(&self) -> (u32, Vec<u64>);

    /// Takes the rows since the last call.
    fn take_rows(&mut self) -> Vec<Self::Row>;
}

/// The place of a member, and its hands.
#[derive(Debug, Clone)]
pub struct Seat {
    /// The unit.
    pub unit: u32,
    /// The member of the unit.
    pub member: u32,
    id: ApplicationId,
    owner: u8,
    flows: Arc<Vec<u32>>,
}

impl Seat {
    /// Sends a message by a connection of the unit.
    pub fn send(&self, connection: u32, bytes: u64, effects: &mut Effects) {
        let id = MessageId { job: self.id.in_job() | self.unit, number: connection, place: 0 };
        let flow = self.flows[index(connection)];
        effects.push(Effect::Post(Post { id, flow, bytes, after: After::Begun }));
    }

    /// Computes for a time.
    pub fn compute(&self, time: Duration, effects: &mut Effects) {
        effects.push(Effect::Compute(self.id, self.owner, effects.now + time, 0));
    }
}

/// A unit in the plan.
#[derive(Debug, Clone, PartialEq)]
struct Planted<U> {
    of: U,
    nodes: Vec<u32>,
    /// The sending and the receiving member, and the flow, of each connection.
    connections: Vec<(u32, u32, u32)>,
}

/// The plan of all units of an application.
#[derive(Debug, Clone)]
pub struct Units<U> {
    id: ApplicationId,
    list: Vec<Planted<U>>,
}

impl<U: Unit> Units<U> {
    /// Adds a unit with members at these nodes. Returns its number.
    pub fn add(&mut self, of: U, nodes: Vec<u32>) -> u32 {
        self.list.push(Planted { of, nodes, connections: Vec::new() });
        number(self.list.len() - 1)
    }

    /// Returns the units at each list of nodes, in order.
    fn by_nodes(&self) -> FxHashMap<Vec<u32>, Vec<u32>> {
        let mut found: FxHashMap<Vec<u32>, Vec<u32>> = FxHashMap::default();
        for (unit, one) in (0..).zip(&self.list) {
            found.entry(one.nodes.clone()).or_default().push(unit);
        }
        found
    }

    /// Returns the image of a unit: the unit at the images of the nodes with the same parameters. Of several equal units at the
    /// same nodes, the first is the image of the first.
    fn image_of(
        &self,
        by_nodes: &FxHashMap<Vec<u32>, Vec<u32>>,
        rename: &dyn Fn(u32) -> u32,
        unit: u32,
    ) -> Option<u32> {
        let own = &self.list[index(unit)];
        let is_equal = |other: &&u32| self.list[index(**other)].of == own.of;
        let turn = by_nodes[&own.nodes].iter().filter(is_equal).position(|other| *other == unit)?;
        let nodes: Vec<u32> = own.nodes.iter().map(|node| rename(*node)).collect();
        by_nodes.get(&nodes)?.iter().filter(is_equal).nth(turn).copied()
    }

    /// Returns the image of each unit, or `None` if a unit has none.
    fn images_under(&self, rename: &dyn Fn(u32) -> u32) -> Option<Vec<u32>> {
        let by_nodes = self.by_nodes();
        let ends = |unit: u32| self.list[index(unit)].connections.iter().map(|one| (one.0, one.1));
        let image =
            |unit: u32| self.image_of(&by_nodes, rename, unit).filter(|image| ends(unit).eq(ends(*image)));
        (0..number(self.list.len())).map(image).collect()
    }
}

impl<U: Unit> Planned for Units<U> {
    fn new(free: Option<ApplicationId>) -> Option<Self> {
        free.map(|id| Self { id, list: Vec::new() })
    }

    fn id(&self) -> ApplicationId {
        self.id
    }

    fn number(&mut self, blocks: &[NumberedBlock<'_>], _nvlink: &mut Queues) {
        for block in blocks {
            let known = &mut self.list[index(block.of)].connections;
            let end = index(block.place) + block.list.len();
            known.resize(known.len().max(end), (0, 0, 0));
            for ((one, flow), place) in block.list.iter().zip(block.first..).zip(index(block.place)..) {
                let Connection { from, to, .. } = *one;
                known[place] = (from, to, flow);
            }
        }
    }

    fn take_parts(&mut self, _lines: &mut ControlLines<'_>) -> Parts {
        let mut found: BTreeMap<u32, Vec<Seated<U>>> = BTreeMap::new();
        for (unit, one) in (0..).zip(&self.list) {
            let flows = Arc::new(one.connections.iter().map(|one| one.2).collect());
            for (member, node) in (0..).zip(&one.nodes) {
                let here = found.entry(*node).or_default();
                let seat =
                    Seat { unit, member, id: self.id, owner: here.len() as u8, flows: Arc::clone(&flows) };
                let ends = one.connections.iter().map(|one| one.1).collect();
                here.push(Seated { start: one.of.start(), ends, member: one.of.member(seat.clone()), seat });
            }
        }
        found.into_iter().map(|(node, list)| (node, Box::new(Members::<U> { list }) as _)).collect()
    }

    fn without_parts(&self) -> Box<dyn Planned> {
        Box::new(self.clone())
    }

    fn is_at(&self, node: u32) -> bool {
        self.list.iter().any(|one| one.nodes.contains(&node))
    }

    fn folding(&self) -> Result<(), String> {
        Ok(())
    }

    fn compare(&self, rename: &dyn Fn(u32) -> u32, found: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
        let images = self.images_under(rename).ok_or_else(|| format!("the units of {}", U::NAME))?;
        for (one, image) in self.list.iter().zip(images) {
            let others = &self.list[index(image)].connections;
            one.connections.iter().zip(others).for_each(|(own, other)| found(own.2, other.2));
        }
        Ok(())
    }

    fn keeps_order(&self, rename: &dyn Fn(u32) -> u32) -> bool {
        let Some(images) = self.images_under(rename) else { return false };
        let mut at: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (unit, one) in (0..).zip(&self.list) {
            one.nodes.iter().for_each(|node| at.entry(*node).or_default().push(unit));
        }
        at.iter().all(|(node, units)| {
            at.get(&rename(*node))
                .is_some_and(|others| units.iter().map(|unit| &images[index(*unit)]).eq(others))
        })
    }

    fn images(&self) -> Option<Box<dyn MessageImages>> {
        Some(Box::new(UnitImages { by_nodes: self.by_nodes(), plan: self.clone() }))
    }

    fn results(&self) -> Option<Box<dyn Results>> {
        let nodes = self.list.iter().map(|one| one.nodes.clone()).collect();
        Some(Box::new(Records::<U> { nodes, rows: Vec::new() }))
    }
}

/// The images of the messages of units.
#[derive(Debug)]
struct UnitImages<U> {
    plan: Units<U>,
    by_nodes: FxHashMap<Vec<u32>, Vec<u32>>,
}

impl<U: Unit> UnitImages<U> {
    fn unit(&self, rename: &dyn Fn(u32) -> u32, unit: u32) -> u32 {
        self.plan.image_of(&self.by_nodes, rename, unit).unwrap_or(unit)
    }
}

impl<U: Unit> MessageImages for UnitImages<U> {
    fn sender(&self, id: MessageId) -> u32 {
        let one = &self.plan.list[index(id.job & !self.plan.id.in_job())];
        one.nodes[index(one.connections[index(id.number)].0)]
    }

    fn message(&self, rename: &dyn Fn(u32) -> u32, id: MessageId) -> MessageId {
        let bits = self.plan.id.in_job();
        MessageId { job: bits | self.unit(rename, id.job & !bits), ..id }
    }
}

/// A member at its seat.
#[derive(Debug, Clone)]
struct Seated<U: Unit> {
    start: Moment,
    seat: Seat,
    /// The receiving member of each connection.
    ends: Vec<u32>,
    member: U::Member,
}

/// The members of units at a host.
#[derive(Debug, Clone)]
pub struct Members<U: Unit> {
    list: Vec<Seated<U>>,
}

impl<U: Unit> State for Members<U> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { list } = self;
        for Seated { start: _, seat: _, ends: _, member } in list {
            member.walk(walk);
        }
    }
}

impl<U: Unit> Application for Members<U> {
    fn starts(&self) -> Vec<(Moment, u8, u32)> {
        self.list.iter().map(|one| (one.start, one.seat.owner, 0)).collect()
    }

    fn begin(&mut self, owner: u8, _what: u32, effects: &mut Effects) {
        self.list[usize::from(owner)].member.begin(effects);
    }

    fn compute(&mut self, owner: u8, _what: u32, effects: &mut Effects) {
        self.list[usize::from(owner)].member.computed(effects);
    }

    fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let is_end = |one: &&mut Seated<U>| {
            one.seat.id.in_job() | one.seat.unit == post.id.job
                && one.ends.get(index(post.id.number)) == Some(&one.seat.member)
        };
        if let Some(one) = self.list.iter_mut().find(is_end) {
            one.member.arrived(post.id.number, posted, effects);
        }
    }

    fn goes_on(&self, now: Moment) -> bool {
        self.list.iter().any(|one| one.start >= now || one.member.goes_on())
    }

    fn cycle(&self, _kind: PeriodKind, framing: &Framing) -> Option<Cycle> {
        let (left, sizes) = self.list.first()?.member.rounds();
        let packets = sizes.iter().map(|bytes| framing.packets(*bytes)).sum();
        Some(Cycle { start: 0, packets, begun: 0, left: left.into() })
    }

    fn loops(&self) -> Option<Box<dyn Loops>> {
        Some(Box::new(UnitLoops::<U>::default()))
    }

    fn copy(&self) -> Box<dyn Application> {
        Box::new(self.clone())
    }
}

/// A reading of members. How often rounds can recur follows from the messages left on the connections.
#[derive(Debug)]
struct UnitLoops<U> {
    epoch: u64,
    left: u64,
    members: u64,
    of: std::marker::PhantomData<fn() -> U>,
}

impl<U> Default for UnitLoops<U> {
    fn default() -> Self {
        Self { epoch: 0, left: 0, members: 0, of: std::marker::PhantomData }
    }
}

impl<U: Unit> Loops for UnitLoops<U> {
    fn read(
        &mut self,
        _kind: PeriodKind,
        node: u32,
        part: &dyn Any,
        _undelivered: &mut dyn Iterator<Item = MessageId>,
        _count: &mut dyn FnMut(Counter, u64),
    ) {
        let Some(Members { list }) = part.downcast_ref::<Members<U>>() else { return };
        for one in list {
            let left = one.member.rounds().0;
            self.epoch = fold(self.epoch, u64::from(node) << 32 | u64::from(left > 0));
            self.left += u64::from(left);
        }
        self.members += wide(list.len());
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn fits(&self, _kind: PeriodKind, _before: &dyn Loops, _growth: &dyn Growth) -> Option<u64> {
        Some(u64::MAX)
    }

    fn recurs(&self, _ends: [&dyn Loops; 2], _growth: &dyn Growth) -> bool {
        true
    }

    fn left(&self) -> u64 {
        self.left
    }

    fn done(&self) -> (u64, u64) {
        (0, self.left)
    }

    fn entries(&self) -> u64 {
        self.members
    }
}

/// The rows of members.
struct Records<U: Unit> {
    /// The nodes of each unit.
    nodes: Vec<Vec<u32>>,
    rows: Vec<(u32, u32, u32, RowOf<U>)>,
}

impl<U: Unit> Results for Records<U> {
    fn name(&self) -> &'static str {
        U::NAME
    }

    fn take(&mut self, part: &mut dyn Any, views: &[View], group: Option<&Symmetry>) {
        let Some(Members { list }) = part.downcast_mut::<Members<U>>() else { return };
        for one in list {
            let rows = one.member.take_rows();
            let Seat { unit, member, .. } = one.seat;
            for view in views {
                let images = group.filter(|_| view.element != STAY);
                let image = images.and_then(|group| {
                    let of = group.messages_of::<UnitImages<U>>()?;
                    Some(of.unit(&|node| group.image(view.element, node), unit))
                });
                let unit = image.unwrap_or(unit);
                let node = self.nodes[index(unit)][index(member)];
                self.rows.extend(rows.iter().map(|row| (unit, node, member, *row)));
            }
        }
    }

    fn tables(&mut self, names: &Names) -> Vec<Table> {
        // Each member has recorded its rows in time.
        self.rows.sort_by_key(|(unit, _, member, _)| (*unit, *member));
        U::tables(&self.rows, names)
    }

    fn summary(&mut self, _names: &Names) -> Value {
        self.rows.sort_by_key(|(unit, _, member, _)| (*unit, *member));
        U::summary(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_engine::state::Offsets;

    #[derive(Debug, Clone, PartialEq)]
    struct Silent(u32);

    #[derive(Debug, Clone)]
    struct Nobody;

    xoff_engine::state!(Nobody);

    #[derive(Debug, Clone, Copy)]
    struct Nothing;

    impl Row for Nothing {
        fn shift(&mut self, _: Duration, _: &dyn Offsets) {}
    }

    impl Unit for Silent {
        const NAME: &'static str = "silent";
        type Member = Nobody;

        fn start(&self) -> Moment {
            Moment::ZERO
        }

        fn member(&self, _: Seat) -> Nobody {
            Nobody
        }

        fn tables(_: &[(u32, u32, u32, Nothing)], _: &Names) -> Vec<Table> {
            Vec::new()
        }

        fn summary(_: &[(u32, u32, u32, Nothing)]) -> Value {
            Value::Null
        }
    }

    impl Member for Nobody {
        type Row = Nothing;

        fn begin(&mut self, _: &mut Effects) {}

        fn computed(&mut self, _: &mut Effects) {}

        fn arrived(&mut self, _: u32, _: Moment, _: &mut Effects) {}

        fn goes_on(&self) -> bool {
            false
        }

        fn rounds(&self) -> (u32, Vec<u64>) {
            (0, Vec::new())
        }

        fn take_rows(&mut self) -> Vec<Nothing> {
            Vec::new()
        }
    }

    fn plan(units: &[(u32, [u32; 2])]) -> Units<Silent> {
        let mut plan = Units::<Silent>::new(ApplicationId::free(2)).unwrap();
        for (of, nodes) in units {
            plan.add(Silent(*of), nodes.to_vec());
        }
        plan
    }

    #[test]
    fn equal_units_at_the_same_hosts_have_different_images() {
        let swap = |node: u32| (node + 2) % 4;
        let twins = plan(&[(5, [0, 1]), (5, [0, 1]), (6, [2, 3]), (5, [2, 3]), (6, [0, 1]), (5, [2, 3])]);
        assert_eq!(twins.images_under(&swap), Some(vec![3, 5, 4, 0, 2, 1]));
        assert!(twins.keeps_order(&|node| node));
        // At host 0 the units of kind 5 come first, at host 2 the unit of kind 6.
        assert!(!twins.keeps_order(&swap));
        assert!(plan(&[(5, [0, 1]), (5, [0, 1]), (5, [2, 3]), (5, [2, 3])]).keeps_order(&swap));
    }

    #[test]
    fn units_without_an_equal_unit_at_the_image_have_none() {
        let swap = |node: u32| (node + 2) % 4;
        assert_eq!(plan(&[(5, [0, 1]), (6, [2, 3])]).images_under(&swap), None);
        assert_eq!(plan(&[(5, [0, 1]), (5, [0, 1]), (5, [2, 3])]).images_under(&swap), None);
        assert_eq!(plan(&[(5, [0, 1]), (5, [3, 2])]).images_under(&swap), None);
    }

    #[test]
    fn plug_ins_have_six_numbers_and_xoff_two_of_its_own() {
        let all: Vec<_> = (0..9).map(ApplicationId::free).map(|id| id.map(ApplicationId::get)).collect();
        assert_eq!(all, [Some(2), Some(2), Some(2), Some(3), Some(4), Some(5), Some(6), Some(7), None]);
    }
}
