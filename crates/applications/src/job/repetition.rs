//! Loop regions: parts of a rank's program in which operations recur, such as layers or micro-batches.
//!
//! Two operations are alike if their work takes the same time or sends the same bytes to the same ranks by
//! the same connections, if both have the same number of predecessors, and if the successors of the second
//! are the successors of the first, one period later. A common successor lies beyond the region: the
//! optimizer waits for all layers. A *series* numbers shared operations: the collectives of a group, or the
//! messages from one rank to another.

use std::ops::Range;

use xoff_units::{index, number};

use super::graph::Graph;
use super::operation::{What, Work};

/// Most operations of a period.
const LONGEST: u32 = 16_384;

/// Operations of a rank from `start` to `end`. Each operation is like the operation `by` before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopRegion {
    /// The first operation.
    pub start: u32,
    /// Number of operations of a period.
    pub by: u32,
    /// The operation after the last.
    pub end: u32,
    /// Strides of the series with operations in the region.
    pub strides: Vec<SeriesStride>,
}

/// Growth of a series in each period of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesStride {
    /// The series.
    pub series: u32,
    /// Index of the first operation in the series.
    pub first: u32,
    /// Operations of the series in a period.
    pub by: u32,
}

impl LoopRegion {
    /// Returns the region of a program without recurring operations.
    pub const fn whole(operations: u32) -> Self {
        Self { start: 0, by: u32::MAX, end: operations, strides: Vec::new() }
    }

    /// Returns the first operation of the period of an operation.
    pub const fn begin(&self, place: u32) -> u32 {
        self.start + (place - self.start) / self.by * self.by
    }

    /// Returns the number of periods before the period of an operation.
    pub const fn periods(&self, place: u32) -> u32 {
        (place - self.start) / self.by
    }
}

impl Graph {
    /// Returns the series of a shared operation, and the index in the series.
    pub fn turn(&self, number: u32) -> (u32, u32) {
        match &self.pattern {
            Some(pattern) => pattern.turn(number),
            None => self.strides[index(number)],
        }
    }

    /// Returns the number of the shared operation at an index of a series.
    pub fn numbered(&self, series: u32, place: u32) -> Option<u32> {
        match &self.pattern {
            Some(pattern) => pattern.numbered(series, place),
            None => self.series[index(series)].get(index(place)).copied(),
        }
    }

    /// Returns the number of ranks that take part in a series.
    pub fn members(&self, series: u32) -> u32 {
        match self.numbered(series, 0).map(|first| self.shared(first).what) {
            Some(What::Collective { group, .. }) => {
                let group = &self.groups[index(group)];
                number(group.ranks.len()) + u32::from(group.reducer.is_some())
            }
            Some(What::Message { from, to, .. }) => 1 + u32::from(from != to),
            None => 0,
        }
    }

    /// Compares an operation of a rank with the operation `by` before. Returns the first common successor, or
    /// the largest number without a common successor; `None` for operations that are not alike.
    fn is_like(&self, rank: u32, place: u32, by: u32) -> Option<u32> {
        let rank = &self.ranks[index(rank)];
        let (a, b) = (rank.operation(place - by), rank.operation(place));
        let is_alike = match (a.work, b.work) {
            (Work::Compute(a), Work::Compute(b)) => a == b,
            (Work::Send(a), Work::Send(b)) | (Work::Receive(a), Work::Receive(b)) => self.are_like(a, b),
            (Work::Collective { number: a, place: at }, Work::Collective { number: b, place: too }) => {
                at == too && self.are_like(a, b)
            }
            _ => false,
        };
        let (before, then) = (rank.then(place - by), rank.then(place));
        let needs = rank.needs();
        if !is_alike
            || a.unit != b.unit
            || needs[index(place - by)] != needs[index(place)]
            || before.len() != then.len()
        {
            return None;
        }
        let mut end = u32::MAX;
        for (before, then) in before.iter().zip(then) {
            match then.checked_sub(*before) {
                Some(0) => end = end.min(*then),
                Some(further) if further == by => {}
                _ => return None,
            }
        }
        Some(end)
    }

    /// True if each of these operations of a rank is like the operation `by` before, without a common
    /// successor, and if each series advances by its stride.
    pub fn are_again(
        &self,
        rank: u32,
        mut places: Range<u32>,
        by: u32,
        strides: impl Fn(u32) -> u32,
    ) -> bool {
        let own = &self.ranks[index(rank)];
        let turn = |place: u32| Some(self.turn(own.operation(place).work.number()?));
        places.end <= own.count()
            && places.all(|place| {
                let goes_on = match (turn(place - by), turn(place)) {
                    (Some(before), Some(now)) => now == (before.0, before.1 + strides(before.0)),
                    (before, now) => before == now,
                };
                goes_on && self.is_like(rank, place, by) == Some(u32::MAX)
            })
    }

    /// True if an operation of a rank has as many predecessors as the operation `by` later.
    pub fn needs_as_many(&self, rank: u32, place: u32, by: u32) -> bool {
        let needs = self.ranks[index(rank)].needs();
        needs.get(index(place + by)) == Some(&needs[index(place)])
    }

    /// Returns the number of series.
    pub fn series(&self) -> u32 {
        self.pattern.as_ref().map_or(number(self.series.len()), |pattern| pattern.series())
    }

    /// Returns the number of operations of a series that its first member has finished. `over` returns the
    /// finished operations of a rank.
    pub fn behind(&self, series: u32, over: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let first = match self.shared(self.numbered(series, 0)?).what {
            What::Collective { group, .. } => *self.groups[index(group)].ranks.first()?,
            What::Message { from, .. } => from,
        };
        let (over, rank) = (over(first)?, &self.ranks[index(first)]);
        let is_over = |turn| {
            let place = self.numbered(series, turn).and_then(|number| rank.place_of(number));
            place.is_some_and(|place| place < over)
        };
        // The first operation that is not over lies between both.
        let (mut least, mut most) = (0, rank.count());
        while least < most {
            let middle = u32::midpoint(least, most);
            (least, most) = if is_over(middle) { (middle + 1, most) } else { (least, middle) };
        }
        Some(least)
    }

    /// True for equal shared operations of the same ranks by the same connections.
    fn are_like(&self, a: u32, b: u32) -> bool {
        self.shared(a).what == self.shared(b).what && self.are_on_one_line(a, b)
    }

    /// Returns the region from `start` with the shortest period among `periods`, and the number of compared
    /// operations. A region has at least two periods.
    pub fn region(&self, rank: u32, start: u32, periods: Range<u32>) -> (Option<LoopRegion>, u64) {
        let operations = self.ranks[index(rank)].count();
        let mut cost = 0;
        for by in periods.start.max(1)..periods.end.min(LONGEST).min((operations - start) / 2 + 1) {
            let (mut place, mut end) = (start + by, operations);
            while place < end
                && let Some(both) = self.is_like(rank, place, by)
            {
                end = end.min(both);
                place += 1;
            }
            cost += u64::from(place - start - by) + 1;
            let end = place.min(end);
            if end >= start + 2 * by
                && let Some((end, strides)) = self.turns_of(rank, start, by, end)
            {
                return (Some(LoopRegion { start, by, end, strides }), cost);
            }
        }
        (None, cost)
    }

    /// Returns the strides of all series in a region, and the end of the part with constant strides.
    fn turns_of(&self, rank: u32, start: u32, by: u32, end: u32) -> Option<(u32, Vec<SeriesStride>)> {
        let own = &self.ranks[index(rank)];
        let mut strides: Vec<SeriesStride> = Vec::new();
        let turn = |place: u32| Some(self.turn(own.operation(place).work.number()?));
        for place in start + by..end {
            let (Some((series, now)), Some((_, before))) = (turn(place), turn(place - by)) else { continue };
            let further = now.checked_sub(before)?;
            match strides.iter().find(|turn| turn.series == series) {
                None => strides.push(SeriesStride { series, first: before, by: further }),
                Some(turn) if turn.by == further => {}
                Some(_) => return (place >= start + 2 * by).then_some((place, strides)),
            }
        }
        Some((end, strides))
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::{Bytes, Duration, Moment};

    use super::super::collective::{Collective, Operation as Does};
    use super::super::{Builder, Lines, Operation, Shared};
    use super::*;

    const fn operation(work: Work) -> Operation {
        Operation { work, name: 0, iteration: 0, unit: 0 }
    }

    /// A model of eight layers, whose fifth takes longer if asked, twice; each layer computes and reduces,
    /// and an optimizer waits for all of them.
    fn job(slow: u64, lines: Lines) -> Graph {
        let mut builder = Builder::new(0, Moment::ZERO, vec![0, 1], lines, Vec::new());
        let group = builder.group("all", vec![0, 1]);
        let shape = builder.shape(&Collective::new(Does::AllReduce, Bytes(1000)), group).unwrap();
        let mut last = [None; 2];
        for iteration in 0..2 {
            let mut layers = [Vec::new(), Vec::new()];
            for layer in 0..8 {
                let what = What::Collective { shape, group };
                let number = builder.share(Shared { what, label: 0, iteration, name: 0, class: None });
                for rank in 0..2_u32 {
                    let of = rank as usize;
                    let time = Duration(1000 + if layer == 4 { slow } else { 0 });
                    let compute = builder.add(rank, operation(Work::Compute(time)), last[of].as_slice());
                    let reduce =
                        builder.add(rank, operation(Work::Collective { number, place: rank }), &[compute]);
                    last[of] = Some(reduce);
                    layers[of].push(reduce);
                }
            }
            for rank in 0..2 {
                last[rank] =
                    Some(builder.add(rank as u32, operation(Work::Compute(Duration(5000))), &layers[rank]));
            }
        }
        builder.build()
    }

    #[test]
    fn layers_are_like_one_another_up_to_the_optimizer() {
        let graph = job(0, Lines::Shared(1));
        let (region, _) = graph.region(1, 2, 1..u32::MAX);
        let series = graph.turn(3).0;
        // The first layer waits for nothing; the last lets the optimizer go alone.
        assert_eq!(
            region,
            Some(LoopRegion {
                start: 2,
                by: 2,
                end: 15,
                strides: vec![SeriesStride { series, first: 1, by: 1 }]
            })
        );
        let region = region.unwrap();
        assert_eq!((region.begin(2), region.begin(7), region.periods(7)), (2, 6, 2));
        assert_eq!(
            (graph.numbered(series, 3), graph.numbered(series, 16), graph.members(series)),
            (Some(3), None, 2)
        );
        // Iterations recur beyond the last layer.
        assert_eq!(graph.region(0, 16, 1..u32::MAX).0, None, "there is no third");
        assert_eq!(graph.region(0, 2, 1..2).0, None, "none is shorter");
        // With a connection for each message, no operation takes an earlier connection.
        assert_eq!(job(0, Lines::Own).region(1, 2, 1..u32::MAX).0, None);
        assert_eq!(job(0, Lines::Shared(2)).region(1, 2, 1..u32::MAX).0.map(|region| region.by), Some(4));
    }

    #[test]
    fn a_layer_that_takes_longer_ends_a_stretch() {
        let (region, _) = job(1, Lines::Shared(1)).region(0, 2, 1..u32::MAX);
        assert_eq!(region.map(|region| (region.by, region.end)), Some((2, 8)));
    }
}
