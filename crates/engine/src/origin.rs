//! How far a network is: what counts that never end are relative to, so that a situation can come again.

/// Across the ends of what a situation can come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Across {
    /// Packets: where messages end, they end, and nothing repeats itself across that.
    #[default]
    Packets,
    /// Messages: their ends are as far as the packets of their flows.
    Messages,
    /// Operations of programs, with all their messages.
    Operations,
    /// Operations, in the longer periods that hold stretches of such.
    Iterations,
    /// Operations, from a moment at which nothing is on its way to another: each program counts from where it is.
    Episodes,
}

/// How far the flows and links of a network are: what the counts of packets and bytes are relative to that somebody looks at while they
/// grow. Or, for a walk that shifts or repeats, how far they go on.
pub trait Origin {
    /// Packets of a flow.
    fn packets(&self, flow: u32) -> u32;

    /// Bytes that an output of a node has sent.
    fn bytes(&self, _node: u32, _output: u16) -> u64 {
        0
    }

    /// What a flow was granted by its receiver, as it knows itself.
    fn granted(&self, _flow: u32) -> u32 {
        0
    }

    /// The same of one whose packets say how much it wants in all; zero of others.
    fn asked(&self, _flow: u32) -> u32 {
        0
    }

    /// What a node has counted at an output that its neighbour counts too, one of several; and what both take it modulo, less one.
    fn counter(&self, _node: u32, _output: u16, _which: u8) -> (u64, u32) {
        (0, u32::MAX)
    }

    /// Across the ends of what it goes.
    fn across(&self) -> Across {
        Across::Packets
    }

    /// How many messages the sender of one has behind it: which is known by what several do together, by its number, and by the
    /// message's place in that.
    fn messages(&self, _job: u32, _number: u32, _place: u32) -> u32 {
        0
    }

    /// Operations that a rank has behind it.
    fn operations(&self, _job: u32, _rank: u32) -> u32 {
        0
    }

    /// The same of the program whose timer this is: the lowest 32 bits of its token are the operation's place.
    fn operations_of_timer(&self, _node: u32, _token: u64) -> u32 {
        0
    }

    /// What several do together, by its number: which series of such it is in, and its place there.
    fn turn(&self, _job: u32, number: u32) -> (u32, u32) {
        (0, number)
    }

    /// The number of what has a place in a series.
    fn numbered(&self, _job: u32, _series: u32, place: u32) -> u32 {
        place
    }

    /// How many of a series are behind.
    fn turns(&self, _job: u32, _series: u32) -> u32 {
        0
    }

    /// The number of what comes so much further on.
    fn number(&self, job: u32, number: u32) -> u32 {
        let (series, place) = self.turn(job, number);
        self.numbered(job, series, place + self.turns(job, series))
    }

    /// The other end of a link.
    fn far(&self, node: u32, link: u16) -> (u32, u16) {
        (node, link)
    }
}

impl<F: Fn(u32) -> u32> Origin for F {
    fn packets(&self, flow: u32) -> u32 {
        self(flow)
    }
}

/// How far some of several repetitions go on.
pub(crate) struct Part<'a> {
    pub origin: &'a dyn Origin,
    pub nth: u64,
    pub of: u64,
}

impl Part<'_> {
    pub fn of(&self, all: u64) -> u64 {
        all / self.of * self.nth
    }
}

impl Origin for Part<'_> {
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

    fn across(&self) -> Across {
        self.origin.across()
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
