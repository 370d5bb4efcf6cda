//! Offsets: the values of all counters that never stop growing, at one moment.
//!
//! Two states are compared relative to such counters: packets of a flow, bytes of an output, computations of a
//! program. A visitor subtracts the offsets from a state before it digests the state. When a state is shifted or
//! repeated, the visitor adds the growth of each counter instead. Example: a flow has sent 400 packets, and
//! expects packet 405. The digest contains 405 − 400 = 5. After a repetition with 120 packets, the flow
//! expects packet 525.

/// The kind of a period: what may end in the period. Kinds of one class are told apart by numbers of the model's own, and a
/// higher number may cross more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeriodKind {
    /// No computation ends in the period ([`Timer::Computation`](crate::Timer::Computation)).
    Within(u8),
    /// Computations end in the period.
    Across(u8),
    /// From one quiet moment to the next.
    Busy,
}

impl Default for PeriodKind {
    fn default() -> Self {
        Self::Within(0)
    }
}

/// A counter that never stops growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Finished packets, by flow: acknowledged, or sent if the receiver sends no acknowledgements.
    Packets(u32),
    /// Credit that the receiver has granted to a flow.
    Granted(u32),
    /// Credit that the packets of a flow have requested in total.
    Asked(u32),
    /// Bytes sent, by node and output.
    Bytes(u32, u16),
    /// A counter that both ends of a link keep for a traffic class, such as bytes sent under credits; by
    /// node, output and class.
    Class(u32, u16, u8),
    /// A counter that a component names itself: a kind, and up to three numbers. Example: the finished operations of a rank.
    Own(u8, [u32; 3]),
    /// What the lowest 32 bits of the token of a computation's timer count, by node and token.
    Timer(u32, u64),
    /// Members of a series of numbers that are done, by owner and series.
    Series(u32, u32),
}

/// The offsets at one moment, or the growth of each counter for a shift or a repetition.
pub trait Offsets {
    /// Returns the value or growth of a counter; 0 for an unknown counter.
    fn offset(&self, counter: Counter) -> u64;

    /// Returns the kind of the period.
    fn kind(&self) -> PeriodKind {
        PeriodKind::default()
    }

    /// Returns the largest value of a counter, which wraps around to 0. One less than a power of two.
    fn mask(&self, _counter: Counter) -> u32 {
        u32::MAX
    }

    /// Returns the series of an owner's number, and the index in the series.
    fn turn(&self, _owner: u32, number: u32) -> (u32, u32) {
        (0, number)
    }

    /// Returns the number at an index of a series; the inverse of [`Offsets::turn`].
    fn numbered(&self, _owner: u32, _series: u32, place: u32) -> u32 {
        place
    }

    /// Returns the number that follows `number` in its series, as many places later as members are done
    /// ([`Counter::Series`]). Example: 3, 7 and 11 form a series. After one member, 3 becomes 7.
    fn number(&self, owner: u32, number: u32) -> u32 {
        let (series, place) = self.turn(owner, number);
        self.numbered(owner, series, place + self.offset(Counter::Series(owner, series)) as u32)
    }

    /// Returns node and output at the other end of a link, from node and in-link.
    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        (node, link)
    }
}

/// Offsets of packets alone, from a function of the flow.
impl<F: Fn(u32) -> u32> Offsets for F {
    fn offset(&self, counter: Counter) -> u64 {
        if let Counter::Packets(flow) = counter { self(flow).into() } else { 0 }
    }
}

/// The growth in the first `nth` repetitions, if `origin` is the growth in all `of` repetitions.
pub(crate) struct Part<'a> {
    pub origin: &'a dyn Offsets,
    pub nth: u64,
    pub of: u64,
}

impl Part<'_> {
    pub const fn of(&self, all: u64) -> u64 {
        all / self.of * self.nth
    }
}

impl Offsets for Part<'_> {
    fn offset(&self, counter: Counter) -> u64 {
        self.of(self.origin.offset(counter))
    }

    fn kind(&self) -> PeriodKind {
        self.origin.kind()
    }

    fn mask(&self, counter: Counter) -> u32 {
        self.origin.mask(counter)
    }

    fn turn(&self, owner: u32, number: u32) -> (u32, u32) {
        self.origin.turn(owner, number)
    }

    fn numbered(&self, owner: u32, series: u32, place: u32) -> u32 {
        self.origin.numbered(owner, series, place)
    }

    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        self.origin.far(node, link)
    }
}
