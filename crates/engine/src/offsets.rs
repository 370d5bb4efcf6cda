//! Offsets: the value of each counter that grows for ever, at one moment.
//!
//! A state recurs only relative to such counters: packets of a flow, bytes of an output, operations of a
//! rank. A visitor subtracts the offsets of a digest, and adds the growth of a shift or a repetition.

/// The kind of a period: the boundary that a period crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum PeriodKind {
    /// Packets within messages. No message ends in a period.
    #[default]
    Packets,
    /// Steps of a collective: the end of a message is relative to the packets of the flow.
    Steps,
    /// Layers: operations of programs, with all their messages.
    Layers,
    /// Iterations: longer periods, with stretches of layers inside.
    Iterations,
    /// Busy periods, from one quiet moment to the next: each program counts from the current operation.
    BusyPeriods,
}

/// A counter that grows for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Packets of a flow.
    Packets(u32),
    /// The credit that the receiver has granted to a flow.
    Granted(u32),
    /// The credit that the packets of a flow ask for, in total.
    Asked(u32),
    /// Bytes that an output of a node has sent.
    Bytes(u32, u16),
    /// A count of a class that a node and a neighbour both keep for an output of the node.
    Class(u32, u16, u8),
    /// Messages that the sender of a message has posted, by job, collective and place of the message.
    Messages(u32, u32, u32),
    /// Operations that a rank of a job has completed.
    Operations(u32, u32),
    /// The same of the program with this timer at a node; the lowest 32 bits of the token are the operation.
    Timer(u32, u64),
    /// Completed collectives of a series of a job.
    Series(u32, u32),
}

/// The value of each counter that components compare while the counter grows; or the growth of each counter,
/// for a shift or a repetition.
pub trait Offsets {
    /// Returns the value of a counter; 0 of an unknown counter.
    fn offset(&self, counter: Counter) -> u64;

    /// Returns the kind of period.
    fn kind(&self) -> PeriodKind {
        PeriodKind::Packets
    }

    /// Returns the modulus of a counter, less one.
    fn mask(&self, _counter: Counter) -> u32 {
        u32::MAX
    }

    /// Returns the series of a collective, and the place of the collective in the series.
    fn turn(&self, _job: u32, number: u32) -> (u32, u32) {
        (0, number)
    }

    /// Returns the number of the collective at a place of a series.
    fn numbered(&self, _job: u32, _series: u32, place: u32) -> u32 {
        place
    }

    /// Returns the number of the collective as many places further in the series as collectives are
    /// completed.
    fn number(&self, job: u32, number: u32) -> u32 {
        let (series, place) = self.turn(job, number);
        self.numbered(job, series, place + self.offset(Counter::Series(job, series)) as u32)
    }

    /// Returns the other end of a link.
    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        (node, link)
    }
}

/// The packets of each flow alone.
impl<F: Fn(u32) -> u32> Offsets for F {
    fn offset(&self, counter: Counter) -> u64 {
        if let Counter::Packets(flow) = counter { self(flow).into() } else { 0 }
    }
}

/// The growth of the first `nth` of `of` repetitions.
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

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.origin.turn(job, number)
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.origin.numbered(job, series, place)
    }

    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        self.origin.far(node, link)
    }
}
