//! Offsets: the value of each counter that grows for ever, at one moment.
//!
//! A state recurs only relative to such counters: packets of a flow, bytes of an output, operations of a rank. A
//! visitor subtracts the offsets of a digest, and adds the growth of a shift or a repetition.

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

/// The value of each counter that components compare while the counter grows; or the growth of each counter, for a
/// shift or a repetition.
pub trait Offsets {
    /// Returns the packets of a flow.
    fn packets(&self, flow: u32) -> u32;

    /// Returns the bytes that an output of a node has sent.
    fn bytes(&self, _node: u32, _output: u16) -> u64 {
        0
    }

    /// Returns the credit that a receiver has granted to a flow, as counted by the flow.
    fn granted(&self, _flow: u32) -> u32 {
        0
    }

    /// Returns the credit that the packets of a flow ask for, in total; 0 for flows that do not ask.
    fn asked(&self, _flow: u32) -> u32 {
        0
    }

    /// Returns a counter that a node and a neighbour both keep for an output, and the modulus of the counter less one.
    fn counter(&self, _node: u32, _output: u16, _which: u8) -> (u64, u32) {
        (0, u32::MAX)
    }

    /// Returns the kind of period.
    fn kind(&self) -> PeriodKind {
        PeriodKind::Packets
    }

    /// Returns the messages that the sender of a message has posted. A message is known by job, collective and place.
    fn messages(&self, _job: u32, _number: u32, _place: u32) -> u32 {
        0
    }

    /// Returns the operations that a rank has completed.
    fn operations(&self, _job: u32, _rank: u32) -> u32 {
        0
    }

    /// Returns the completed operations of the program with this timer; the lowest 32 bits of the token are the operation.
    fn operations_of_timer(&self, _node: u32, _token: u64) -> u32 {
        0
    }

    /// Returns the series of a collective, and the place of the collective in the series.
    fn turn(&self, _job: u32, number: u32) -> (u32, u32) {
        (0, number)
    }

    /// Returns the number of the collective at a place of a series.
    fn numbered(&self, _job: u32, _series: u32, place: u32) -> u32 {
        place
    }

    /// Returns the completed collectives of a series.
    fn turns(&self, _job: u32, _series: u32) -> u32 {
        0
    }

    /// Returns the number of the collective as many places further in the series as collectives are completed.
    fn number(&self, job: u32, number: u32) -> u32 {
        let (series, place) = self.turn(job, number);
        self.numbered(job, series, place + self.turns(job, series))
    }

    /// Returns the other end of a link.
    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        (node, link)
    }
}

impl<F: Fn(u32) -> u32> Offsets for F {
    fn packets(&self, flow: u32) -> u32 {
        self(flow)
    }
}

/// The growth of the first `nth` of `of` repetitions.
pub(crate) struct Part<'a> {
    pub origin: &'a dyn Offsets,
    pub nth: u64,
    pub of: u64,
}

impl Part<'_> {
    pub fn of(&self, all: u64) -> u64 {
        all / self.of * self.nth
    }
}

impl Offsets for Part<'_> {
    fn packets(&self, flow: u32) -> u32 {
        self.of(self.origin.packets(flow).into()) as u32
    }

    fn bytes(&self, node: u32, output: u16) -> u64 {
        self.of(self.origin.bytes(node, output))
    }

    fn granted(&self, flow: u32) -> u32 {
        self.of(self.origin.granted(flow).into()) as u32
    }

    fn asked(&self, flow: u32) -> u32 {
        self.of(self.origin.asked(flow).into()) as u32
    }

    fn counter(&self, node: u32, output: u16, which: u8) -> (u64, u32) {
        let (count, mask) = self.origin.counter(node, output, which);
        (self.of(count), mask)
    }

    fn kind(&self) -> PeriodKind {
        self.origin.kind()
    }

    fn operations(&self, job: u32, rank: u32) -> u32 {
        self.of(self.origin.operations(job, rank).into()) as u32
    }

    fn operations_of_timer(&self, node: u32, token: u64) -> u32 {
        self.of(self.origin.operations_of_timer(node, token).into()) as u32
    }

    fn turn(&self, job: u32, number: u32) -> (u32, u32) {
        self.origin.turn(job, number)
    }

    fn numbered(&self, job: u32, series: u32, place: u32) -> u32 {
        self.origin.numbered(job, series, place)
    }

    fn turns(&self, job: u32, series: u32) -> u32 {
        self.of(self.origin.turns(job, series).into()) as u32
    }

    fn messages(&self, job: u32, number: u32, place: u32) -> u32 {
        self.of(self.origin.messages(job, number, place).into()) as u32
    }

    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        self.origin.far(node, link)
    }
}
