//! The arrivals at one node in one window, in order.

use xoff_units::Moment;

use crate::Message;
use crate::event_set::{Arrival, EventSet, NO_EVENT, key_of};

/// The order of arrival of the messages in an inbox. One such buffer serves all nodes of a partition in turn,
/// and stays in the cache.
pub(crate) struct Arrivals {
    /// A word for each message that arrives in the window. The lowest bits are the index of the message in
    /// the inbox. The higher bits are the key of the arrival, less the smallest key of the window. Sorting
    /// the words sorts by key, and by sending order for equal keys.
    order: Vec<u64>,
    places: u64,
    /// Number of messages taken so far, and the index of the next message in the inbox.
    taken: usize,
    next: usize,
    sorter: Sorter,
}

impl Arrivals {
    pub const fn new() -> Self {
        Self { order: Vec::new(), places: 0, taken: 0, next: 0, sorter: Sorter::new() }
    }

    /// Sorts the arrivals from `start` to `end`, exclusive, by key; arrivals with equal keys stay in sending
    /// order.
    #[inline]
    pub fn collect<M: Copy>(
        &mut self,
        inbox: &mut Vec<Arrival<M>>,
        event_set: &mut EventSet<M>,
        start: Moment,
        end: Moment,
    ) {
        let (least, end) = (key_of(start, 0), key_of(end, 0));
        self.taken = 0;
        self.order.clear();
        if event_set.first_far() < end {
            // Far messages come first in the inbox. For one in-link and moment, far messages were sent before
            // all messages in the inbox.
            inbox.splice(..0, std::iter::from_fn(|| event_set.pop_far(end)));
        }
        let place_bits = usize::BITS - inbox.len().leading_zeros();
        self.places = (1 << place_bits) - 1;
        if (end - least).leading_zeros() <= place_bits {
            self.sort_slowly(inbox, end);
        } else {
            let (mut last, mut is_sorted) = (0, true);
            for (place, arrival) in inbox.iter().enumerate() {
                if arrival.key < end {
                    let word = (arrival.key - least) << place_bits | place as u64;
                    is_sorted &= last <= word;
                    last = word;
                    self.order.push(word);
                }
            }
            if !is_sorted {
                self.sorter.sort(&mut self.order, (end - least) << place_bits);
            }
        }
        event_set.set_arrival(self.first(inbox));
    }

    /// Puts arrivals with equal keys in the order of their turns.
    #[cold]
    pub fn take_turns<M: Message>(&mut self, inbox: &[Arrival<M>], event_set: &mut EventSet<M>) {
        let places = self.places;
        let arrival = |word: &u64| &inbox[(word & places) as usize];
        for run in self.order.chunk_by_mut(|a, b| arrival(a).key == arrival(b).key) {
            run.sort_by_key(|word| arrival(word).message.turn());
        }
        event_set.set_arrival(self.first(inbox));
    }

    /// Sorts the arrivals of a long window with many messages, for which key and index do not fit into one
    /// word.
    #[cold]
    fn sort_slowly<M>(&mut self, inbox: &[Arrival<M>], end: u64) {
        self.order.extend((0..inbox.len() as u64).filter(|place| inbox[*place as usize].key < end));
        self.order.sort_by_key(|place| inbox[*place as usize].key);
    }

    /// Finds the next arrival, and returns its key.
    #[inline]
    fn first<M>(&mut self, inbox: &[Arrival<M>]) -> u64 {
        let Some(word) = self.order.get(self.taken) else { return NO_EVENT };
        self.next = (word & self.places) as usize;
        inbox[self.next].key
    }

    /// Takes the next arrival.
    #[inline]
    pub fn take<M: Copy>(&mut self, inbox: &[Arrival<M>], event_set: &mut EventSet<M>) -> M {
        let message = inbox[self.next].message;
        self.taken += 1;
        event_set.set_arrival(self.first(inbox));
        message
    }

    /// Removes the messages that arrived before `end` from the inbox. Arrivals from `near` on move to the
    /// event set: the engine reads the inbox in each window, and messages on long links would be read in vain
    /// many times. Returns the smallest key of all later arrivals.
    #[inline]
    pub fn finish<M: Copy>(
        &self,
        inbox: &mut Vec<Arrival<M>>,
        event_set: &mut EventSet<M>,
        end: Moment,
        near: Moment,
    ) -> u64 {
        let (end, near) = (key_of(end, 0), key_of(near, 0));
        if self.order.len() == inbox.len() {
            inbox.clear();
            return event_set.first_far();
        }
        let mut left = event_set.first_far();
        inbox.retain(|arrival| {
            if arrival.key < end {
                return false;
            }
            left = left.min(arrival.key);
            if arrival.key >= near {
                event_set.push_far(*arrival);
            }
            arrival.key < near
        });
        left
    }
}

/// A sorter of evenly distributed words, in linear time: one bucket per word.
struct Sorter {
    counts: Vec<u32>,
    spare: Vec<u64>,
}

impl Sorter {
    /// Number of words below which an insertion sort is faster.
    const FEW: usize = 20;

    const fn new() -> Self {
        Self { counts: Vec::new(), spare: Vec::new() }
    }

    /// Sorts words below `bound`.
    fn sort(&mut self, words: &mut Vec<u64>, bound: u64) {
        if words.len() <= Self::FEW {
            words.sort_unstable();
            return;
        }
        // The words are distributed over buckets, with about one word each. Each bucket is then sorted.
        let shift =
            (u64::BITS - bound.leading_zeros()).saturating_sub(usize::BITS - words.len().leading_zeros());
        self.counts.clear();
        self.counts.resize((bound >> shift) as usize + 1, 0);
        for word in words.iter() {
            self.counts[(word >> shift) as usize] += 1;
        }
        let mut start = 0;
        for count in &mut self.counts {
            start += std::mem::replace(count, start);
        }
        self.spare.clear();
        self.spare.resize(words.len(), 0);
        for word in words.iter() {
            let place = &mut self.counts[(word >> shift) as usize];
            self.spare[*place as usize] = *word;
            *place += 1;
        }
        let mut start = 0;
        for end in &self.counts {
            self.spare[start..*end as usize].sort_unstable();
            start = *end as usize;
        }
        std::mem::swap(words, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    const MESSAGES: u32 = 1_500;

    /// Messages are numbered in sending order. Messages of one moment and link must arrive in this order for
    /// any windows.
    #[test]
    fn arrivals_are_in_order_of_time_link_and_sending_whatever_the_windows() {
        for (round, window) in [1, 3, 50, 2_000, 1 << 40].into_iter().cycle().take(60).enumerate() {
            let mut stream = Stream::new(7, round as u64, "arrivals");
            let spread = [1, 20, 3_000, 1 << 41][round % 4];
            let (mut inbox, mut event_set, mut arrivals) = (Vec::new(), EventSet::new(4, 1), Arrivals::new());
            let (mut sent, mut seen) = (Vec::new(), Vec::new());
            let mut start = 0;
            let mut number = 0_u32;
            loop {
                let end = Moment(start + window);
                arrivals.collect(&mut inbox, &mut event_set, Moment(start), end);
                while event_set.top() != NO_EVENT {
                    seen.push(arrivals.take(&inbox, &mut event_set));
                }
                let mut next = arrivals.finish(&mut inbox, &mut event_set, end, Moment(end.0 + 4 * window));
                assert!(next >= key_of(end, 0));
                if number < MESSAGES {
                    for _ in 0..stream.below(200) {
                        let at = Moment(end.0 + stream.below(spread));
                        let key = key_of(at, stream.below(4) as usize);
                        sent.push((key, number));
                        inbox.push(Arrival { key, message: number });
                        next = next.min(key);
                        number += 1;
                    }
                } else if next == NO_EVENT {
                    break;
                }
                start = if number < MESSAGES { (next >> 16).min(end.0 + 5 * window) } else { next >> 16 };
            }
            sent.sort_unstable();
            assert_eq!(
                seen,
                sent.iter().map(|s| s.1).collect::<Vec<_>>(),
                "window {window}, spread {spread}"
            );
        }
    }

    #[test]
    fn words_are_sorted_however_many_and_however_spread() {
        let mut stream = Stream::new(3, 0, "words");
        for n in [0, 1, 2, 19, 20, 21, 100, 5_000] {
            for bound in [1, 2, 1_000, 1 << 40, u64::MAX] {
                let mut words: Vec<u64> = (0..n).map(|_| stream.below(bound)).collect();
                let mut expected = words.clone();
                expected.sort_unstable();
                Sorter::new().sort(&mut words, bound);
                assert_eq!(words, expected);
            }
        }
    }
}
