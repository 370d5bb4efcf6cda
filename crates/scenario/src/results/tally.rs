//! Many numbers of which percentiles and sums are asked in the end, exactly.
//!
//! Numbers that often recur, as those of equal servers in a folded run, are kept once, each with its count. Other numbers are
//! kept in memory up to [`MOST`]; further ones go to a temporary file in sorted runs of 8 bytes a number, which are merged in
//! the end. Example: 30 million different completion times need 80 MB of memory and 240 MB of disk.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use xoff_units::wide;

/// Numbers between two looks for numbers that recur.
const BATCH: usize = 1 << 20;
/// Most numbers in memory.
const MOST: usize = 10_000_000;
/// Numbers of a run that are read at once.
const BLOCK: usize = 1 << 13;

/// A list of numbers.
#[derive(Debug, Default)]
pub struct Tally {
    recent: Vec<u64>,
    /// Length of `recent` at which the next look for recurring numbers is due.
    due: usize,
    /// Numbers that recur, in ascending order, with their counts.
    known: Vec<(u64, u64)>,
    file: Option<Spill>,
    count: u64,
    fault: Option<io::Error>,
}

/// A temporary file with sorted runs of numbers.
#[derive(Debug)]
struct Spill {
    file: File,
    /// The first number of each run, and the number after the last.
    runs: Vec<(u64, u64)>,
}

impl Tally {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.recent.push(number);
        if self.recent.len() >= self.due.max(BATCH) {
            // A browser has no files.
            self.settle(if cfg!(target_family = "wasm") { usize::MAX } else { MOST });
        }
    }

    /// Returns the number of numbers.
    pub const fn len(&self) -> u64 {
        self.count
    }

    /// Returns the reason for which numbers are missing, if the temporary file could not be written.
    pub fn fault(&self) -> Option<String> {
        let fault = self.fault.as_ref()?;
        let (place, mb) = (std::env::temp_dir(), (self.count * 8).div_ceil(1_000_000));
        Some(format!(
            "{}: {fault}; completion times beyond {MOST} need {mb} MB on disk so far; free space there, or set TMPDIR",
            place.display()
        ))
    }

    /// Counts numbers that recur, and writes the others to the file if there are `most` of them.
    fn settle(&mut self, most: usize) {
        self.recent.sort_unstable();
        let different = 1 + self.recent.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if 4 * different <= self.recent.len() {
            let recent = std::mem::take(&mut self.recent);
            let counted = recent.chunk_by(|a, b| a == b).map(|equal| (equal[0], wide(equal.len())));
            self.known = merged(std::mem::take(&mut self.known), counted);
            self.due = BATCH;
        } else if self.recent.len() >= most {
            if let Err(fault) = self.spill() {
                self.fault.get_or_insert(fault);
            }
            self.recent.clear();
            self.due = BATCH;
        } else {
            self.due = (2 * self.recent.len()).min(most);
        }
    }

    /// Writes the sorted recent numbers to the file.
    fn spill(&mut self) -> io::Result<()> {
        if self.fault.is_some() {
            return Ok(());
        }
        let spill = match &mut self.file {
            Some(spill) => spill,
            file => file.insert(Spill { file: temporary()?, runs: Vec::new() }),
        };
        let first = spill.runs.last().map_or(0, |run| run.1);
        spill.file.seek(SeekFrom::Start(8 * first))?;
        for block in self.recent.chunks(BLOCK) {
            let bytes: Vec<u8> = block.iter().flat_map(|number| number.to_le_bytes()).collect();
            spill.file.write_all(&bytes)?;
        }
        spill.runs.push((first, first + wide(self.recent.len())));
        Ok(())
    }

    /// Calls back with all numbers in ascending order, each with its count; a number may come several times.
    pub fn each(mut self, mut take: impl FnMut(u64, u64)) -> io::Result<()> {
        self.recent.sort_unstable();
        let recent = self.recent.chunk_by(|a, b| a == b).map(|equal| (equal[0], wide(equal.len())));
        let Some(Spill { mut file, runs }) = self.file.take() else {
            for (number, count) in merged(std::mem::take(&mut self.known), recent) {
                take(number, count);
            }
            return Ok(());
        };
        let mut sources: Vec<Source> =
            runs.into_iter().map(|(next, end)| Source { next, end, ..Source::default() }).collect();
        let memory = merged(std::mem::take(&mut self.known), recent);
        sources.push(Source { block: memory, ..Source::default() });
        let mut heads = BinaryHeap::new();
        for (place, source) in sources.iter_mut().enumerate() {
            heads.extend(source.pop(&mut file)?.map(|(number, count)| Reverse((number, place, count))));
        }
        while let Some(Reverse((number, place, count))) = heads.pop() {
            take(number, count);
            heads.extend(
                sources[place].pop(&mut file)?.map(|(number, count)| Reverse((number, place, count))),
            );
        }
        Ok(())
    }
}

impl FromIterator<u64> for Tally {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut tally = Self::default();
        numbers.into_iter().for_each(|number| tally.add(number));
        tally
    }
}

/// A sorted list of which a block is in memory.
#[derive(Debug, Default)]
struct Source {
    next: u64,
    end: u64,
    block: Vec<(u64, u64)>,
    at: usize,
}

impl Source {
    fn pop(&mut self, file: &mut File) -> io::Result<Option<(u64, u64)>> {
        if self.at == self.block.len() && self.next < self.end {
            let count = (self.end - self.next).min(wide(BLOCK));
            let mut bytes = vec![0; 8 * count as usize];
            file.seek(SeekFrom::Start(8 * self.next))?;
            file.read_exact(&mut bytes)?;
            let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            self.block = bytes.chunks(8).map(|bytes| (number(bytes), 1)).collect();
            (self.next, self.at) = (self.next + count, 0);
        }
        self.at += 1;
        Ok(self.block.get(self.at - 1).copied())
    }
}

/// Merges two ascending lists of numbers with counts.
fn merged(known: Vec<(u64, u64)>, more: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut known = known.into_iter().peekable();
    let mut all = Vec::with_capacity(known.len());
    for (number, count) in more {
        while let Some(before) = known.next_if(|one| one.0 < number) {
            all.push(before);
        }
        let same = known.next_if(|one| one.0 == number).map_or(0, |one| one.1);
        all.push((number, count + same));
    }
    all.extend(known);
    all
}

/// Opens a temporary file that disappears with the process.
fn temporary() -> io::Result<File> {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("xoff-{}-{number}.times", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    // The open file stays readable. Where an open file cannot be removed, it stays behind.
    let _ = std::fs::remove_file(&path);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use xoff_engine::random::Stream;

    use super::*;

    /// Returns the numbers of a list with a limit of its own, in order.
    fn sorted(numbers: &[u64], most: usize) -> (Vec<u64>, Tally) {
        let (mut tally, mut all) = (Tally::default(), Vec::new());
        for (place, number) in numbers.iter().enumerate() {
            tally.add(*number);
            if place % most == most - 1 {
                tally.settle(most);
            }
        }
        let shape = Tally { known: tally.known.clone(), due: tally.due, ..Tally::default() };
        tally.each(|number, count| all.extend((0..count).map(|_| number))).unwrap();
        (all, shape)
    }

    #[test]
    fn numbers_come_in_order_from_memory_counts_and_file() {
        let mut random = Stream::new(1, 1, "tally");
        for (most, range) in [(1_000, 50), (1_000, 1 << 40), (64, 1 << 40), (1 << 20, 1 << 40)] {
            let numbers: Vec<u64> = (0..20_000).map(|_| random.below(range)).collect();
            let mut expected = numbers.clone();
            expected.sort_unstable();
            let (all, shape) = sorted(&numbers, most);
            assert!(all == expected, "{most} {range}");
            assert_eq!(shape.known.is_empty(), range > 50, "only numbers that recur are counted");
        }
    }
}
