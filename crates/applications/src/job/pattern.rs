//! A pattern: all ranks of a job run the same program (SPMD: single program, multiple data).
//!
//! The program is listed once. Its collectives are *slots*: a slot belongs to a *family* of groups, and each
//! rank is in one group of the family. A slot is a collective of each group. Numbers of collectives follow by
//! arithmetic: the families have consecutive numbers, within a family the groups, and within a group the
//! slots. Example: a family of 4 groups with 3 slots has the numbers 0 to 11, and slot 1 of group 2 has the
//! number 2 × 3 + 1 = 7. These are the numbers of the same job with the operations of each rank listed, group
//! after group. Memory grows with the operations of a rank and with the ranks, and not with their product.

use xoff_units::{index, number};

use super::operation::{Operation, Shared, What, Work};

/// A collective of each group of a family.
#[derive(Debug)]
pub(super) struct Slot {
    /// Index of the operation in the program.
    pub place: u32,
    /// Index of the shape, for each kind of groups.
    pub shapes: Vec<u32>,
    /// Index of the label in the labels of the graph.
    pub label: u16,
    /// Iteration of the operation.
    pub iteration: u16,
    /// Index of the name in the names of the graph.
    pub name: u32,
    /// Priority class of the packets; `None` for the class of the workload.
    pub class: Option<u8>,
    /// Place of the class among the classes of the family, and index among its slots of this class.
    turn: (u32, u32),
}

impl Slot {
    /// Returns the slot of an operation, from a collective of one of the groups.
    pub const fn new(place: u32, shapes: Vec<u32>, shared: Shared) -> Self {
        let Shared { label, iteration, name, class, .. } = shared;
        Self { place, shapes, label, iteration, name, class, turn: (0, 0) }
    }
}

/// Groups that divide the ranks: each rank is in one group.
#[derive(Debug)]
pub(super) struct Family {
    /// Index of the first group in the graph.
    pub group: u32,
    /// For each group its kind. Collectives of groups of a kind have equal shapes.
    pub kinds: Vec<u32>,
    /// For each rank the group among those of the family, and the place in the group.
    members: Vec<(u32, u32)>,
    /// The slots in the order of the program.
    slots: Vec<Slot>,
    /// Number of the first collective.
    first: u32,
    /// The first series, and the slots of each class in order. A series is a class of a group.
    series: u32,
    classes: Vec<(Option<u8>, Vec<u32>)>,
}

impl Family {
    /// Returns a family without slots, from its groups and their kinds. The groups divide the ranks.
    pub fn new(group: u32, groups: &[&[u32]], kinds: Vec<u32>) -> Self {
        let mut members = vec![(0, 0); groups.iter().map(|ranks| ranks.len()).sum()];
        for (at, ranks) in (0..).zip(groups) {
            for (place, rank) in (0..).zip(*ranks) {
                members[index(*rank)] = (at, place);
            }
        }
        Self { group, kinds, members, slots: Vec::new(), first: 0, series: 0, classes: Vec::new() }
    }

    /// Adds a slot. Returns its index.
    pub fn push(&mut self, mut slot: Slot) -> u32 {
        let class = self.classes.iter().position(|(class, _)| *class == slot.class);
        let class = class.unwrap_or_else(|| {
            self.classes.push((slot.class, Vec::new()));
            self.classes.len() - 1
        });
        let (at, of_class) = (number(self.slots.len()), &mut self.classes[class].1);
        slot.turn = (number(class), number(of_class.len()));
        of_class.push(at);
        self.slots.push(slot);
        at
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> u32 {
        number(self.kinds.len())
    }

    /// Returns the slots in order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Returns the number of the collective of a slot and a group.
    pub fn number(&self, group: u32, slot: u32) -> u32 {
        self.first + group * number(self.slots.len()) + slot
    }

    /// Returns the group and the slot of a number.
    fn split(&self, of: u32) -> (u32, u32) {
        let (beyond, slots) = (of - self.first, number(self.slots.len()));
        (beyond / slots, beyond % slots)
    }
}

/// The program of all ranks of a job.
#[derive(Debug, Default)]
pub struct Pattern {
    families: Vec<Family>,
    /// Number of collectives of all groups.
    count: u32,
    /// Number of series.
    series: u32,
}

impl Pattern {
    /// Returns a pattern of families, and numbers their collectives.
    pub(super) fn new(mut families: Vec<Family>) -> Self {
        let (mut count, mut series) = (0, 0);
        for family in &mut families {
            (family.first, family.series) = (count, series);
            count += family.groups() * number(family.slots.len());
            series += family.groups() * number(family.classes.len());
        }
        Self { families, count, series }
    }

    /// Returns the families in the order of their numbers.
    pub(super) fn families(&self) -> &[Family] {
        &self.families
    }

    /// Returns the number of collectives of all groups.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the number of series.
    pub const fn series(&self) -> u32 {
        self.series
    }

    /// Returns the work of a slot as the program lists the slot.
    pub(super) const fn listed(family: u32, slot: u32) -> Work {
        Work::Collective { number: slot, place: family }
    }

    /// Returns an operation of the program as an operation of a rank.
    pub(super) fn at(&self, rank: u32, operation: Operation) -> Operation {
        let Work::Collective { number: slot, place: family } = operation.work else { return operation };
        let family = &self.families[index(family)];
        let (group, place) = family.members[index(rank)];
        Operation { work: Work::Collective { number: family.number(group, slot), place }, ..operation }
    }

    /// Returns the family of a number. A family without slots has the first number of the next family.
    fn family_of(&self, number: u32) -> &Family {
        let after = self.families.partition_point(|family| family.first <= number);
        &self.families[after - 1]
    }

    /// Returns the index of a collective in the program of a rank, if the rank takes part.
    pub(super) fn place_of(&self, rank: u32, number: u32) -> Option<u32> {
        let family = self.family_of(number);
        let (group, slot) = family.split(number);
        (family.members[index(rank)].0 == group).then(|| family.slots[index(slot)].place)
    }

    /// Returns the collective with a number.
    pub(super) fn shared(&self, number: u32) -> Shared {
        let family = self.family_of(number);
        let (group, slot) = family.split(number);
        let Slot { ref shapes, label, iteration, name, class, .. } = family.slots[index(slot)];
        let shape = shapes[index(family.kinds[index(group)])];
        let what = What::Collective { shape, group: family.group + group };
        Shared { what, label, iteration, name, class }
    }

    /// Returns the series of a number, and the index in the series.
    pub(super) fn turn(&self, of: u32) -> (u32, u32) {
        let family = self.family_of(of);
        let (group, slot) = family.split(of);
        let (class, turn) = family.slots[index(slot)].turn;
        (family.series + group * number(family.classes.len()) + class, turn)
    }

    /// Returns the number at an index of a series.
    pub(super) fn numbered(&self, series: u32, turn: u32) -> Option<u32> {
        let after = self.families.partition_point(|family| family.series <= series);
        let family = &self.families[after.checked_sub(1)?];
        let (beyond, classes) = (series - family.series, number(family.classes.len()));
        let slot = family.classes.get(index(beyond % classes))?.1.get(index(turn))?;
        Some(family.number(beyond / classes, *slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two families of six ranks: three groups of two with three slots, and two groups of three with a slot.
    fn pattern() -> Pattern {
        let pairs: [&[u32]; 3] = [&[0, 1], &[2, 3], &[4, 5]];
        let mut families =
            [Family::new(0, &pairs, vec![0, 1, 0]), Family::new(3, &[&[0, 2, 4], &[5, 3, 1]], vec![0, 0])];
        for (place, class) in [(0, None), (2, Some(1)), (5, None)] {
            let what = What::Collective { shape: 0, group: 0 };
            let shared = Shared { what, label: 0, iteration: 0, name: place, class };
            families[0].push(Slot::new(place, vec![place, place + 10], shared));
        }
        let shared = Shared {
            what: What::Collective { shape: 0, group: 3 },
            label: 1,
            iteration: 2,
            name: 9,
            class: None,
        };
        families[1].push(Slot::new(3, vec![7], shared));
        Pattern::new(families.into())
    }

    #[test]
    fn numbers_follow_from_family_group_and_slot() {
        let pattern = pattern();
        assert_eq!((pattern.count(), pattern.series()), (3 * 3 + 2, 3 * 2 + 2));
        let listed =
            |family, slot| Operation { work: Pattern::listed(family, slot), name: 0, iteration: 0, unit: 0 };
        let at = |rank, family, slot| pattern.at(rank, listed(family, slot)).work;
        // Slot 1 of group 2.
        assert_eq!(at(5, 0, 1), Work::Collective { number: 2 * 3 + 1, place: 1 });
        assert_eq!(at(5, 1, 0), Work::Collective { number: 9 + 1, place: 0 });
        assert_eq!(
            (pattern.place_of(5, 7), pattern.place_of(3, 7), pattern.place_of(3, 4)),
            (Some(2), None, Some(2))
        );
        // The second group is of another kind.
        assert_eq!(pattern.shared(4).what, What::Collective { shape: 12, group: 1 });
        assert_eq!(pattern.shared(7).what, What::Collective { shape: 2, group: 2 });
        assert_eq!(pattern.shared(10).what, What::Collective { shape: 7, group: 4 });
    }

    #[test]
    fn a_series_has_the_slots_of_a_class_of_a_group() {
        let pattern = pattern();
        let series = |series| (0..).map_while(|turn| pattern.numbered(series, turn)).collect::<Vec<u32>>();
        let all: Vec<Vec<u32>> = (0..8).map(series).collect();
        assert_eq!(all, [vec![0, 2], vec![1], vec![3, 5], vec![4], vec![6, 8], vec![7], vec![9], vec![10]]);
        for (series, numbers) in (0..).zip(all) {
            for (turn, number) in (0..).zip(numbers) {
                assert_eq!(pattern.turn(number), (series, turn));
            }
        }
    }
}
