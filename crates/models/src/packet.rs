//! What travels on links: data and control frames, 24 bytes each.

use xoff_engine::Message;
use xoff_engine::state::{State, Walk, Word};

use crate::telemetry::{Records, Telemetry};

/// How far a frame goes, and who sees it on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// From one end of a flow to the other; no mechanism looks at it as control.
    Flow,
    /// From a switch to a host; mechanisms at nodes on its way see it, and may end it.
    Path,
    /// MAC control: to the neighbour and no further, past its forwarding delay.
    Link,
}

/// Who takes a frame in at the node where it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The transport of its flow.
    Transport,
    /// The congestion control of its flow.
    Control,
    /// A mechanism, in its hook for control frames.
    Mechanism,
    /// The hosts at both ends of its flow, of which one pulls what the other sends.
    Pulls,
}

/// Makes [`Kind`]: a line for each kind of frame, with its number (which is part of fingerprints: it never changes), its name in
/// tables, its scope and its owner.
macro_rules! frames {
    ($($(#[$attribute:meta])* $kind:ident = $number:literal $name:literal $scope:ident $owner:ident;)*) => {
        /// What a frame is; 64 kinds are possible.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$attribute])* $kind = $number,)*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The name in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// The kind of a number that [`Packet`] keeps.
            #[inline]
            const fn of(number: u8) -> Self {
                match number { $($number => Self::$kind,)* _ => Self::Data }
            }

            /// How far it goes.
            #[inline]
            pub const fn scope(self) -> Scope {
                match self { $(Self::$kind => Scope::$scope,)* }
            }

            /// Who takes it in.
            #[inline]
            pub const fn owner(self) -> Owner {
                match self { $(Self::$kind => Owner::$owner,)* }
            }
        }
    };
}

frames! {
    /// A piece of a flow; `seq` is the packet's index.
    #[default]
    Data = 0 "data" Flow Transport;
    /// `seq` is the next packet that the receiver expects.
    Ack = 1 "ack" Flow Transport;
    /// A loss: `seq` is the packet that the receiver expects, `info` the one that it got, or whose header.
    Nack = 2 "nack" Flow Transport;
    /// DCQCN's congestion notification to the sender of `flow`.
    Cnp = 3 "cnp" Flow Control;
    /// Source Flow Control message to the sender of `flow`; `info` is the pause in nanoseconds, zero to resume.
    Sfcm = 4 "sfcm" Path Mechanism;
    /// Priority-based flow control; `seq` is a bit per class, `info` the quanta (zero: resume).
    Pfc = 5 "pfc" Link Mechanism;
    /// Congestion Isolation message (Ethernet type 0x89A2); `seq` is 1 to isolate `flow`, 0 to take that back, and `info` the
    /// offending packet's index in its flow.
    Cim = 6 "cim" Link Mechanism;
    /// `PortFC`; `flow` is the congested switch, `seq` its output, `info` what of it pauses or resumes.
    PortFc = 7 "portfc" Link Mechanism;
    /// Backward Congestion Notification to the source of `flow`; `seq` is the feedback as a signed number (zero: stop), `info` the
    /// congestion point.
    Bcn = 8 "bcn" Path Control;
    /// Congestion Notification Message (QCN) to the source of `flow`; `seq` is the quantised feedback, `info` the congestion point.
    Cnm = 9 "cnm" Path Control;
    /// What is left of a piece of a flow whose payload was cut off; `seq` is the packet's index.
    Header = 10 "header" Flow Transport;
    /// Something came out of order, and nothing needs to be lost: `seq` and `info` as of a NACK.
    Sack = 11 "sack" Flow Transport;
    /// Backpressure Flow Control; `seq` is a queue of the neighbour's output, `info` 1 to pause it, and 0 to resume.
    Bfc = 12 "bfc" Link Mechanism;
    /// Credits of a link; `seq` is twice the class, and one more where a sender repeats its count, `info` the counter.
    Credits = 13 "credits" Link Mechanism;
    /// Toward the source of a flow: `seq` is all that its receiver has granted. From there: `seq` is all that the flow asks for.
    Pull = 14 "pull" Flow Pulls;
    /// `ConWeave`, from the switch of a flow's destination to that of its source: `seq` is what it says, `info` of which epoch or path.
    Weave = 15 "weave" Path Mechanism;
}

/// A bit for each kind that does not stay in its flow, and for each that stays on its link: looked at with every packet.
const SEEN: u64 = LINK_LOCAL | with_scope(Scope::Path);
const LINK_LOCAL: u64 = with_scope(Scope::Link);
const ANSWERS: u64 = 1 << Kind::Ack as u8 | 1 << Kind::Nack as u8 | 1 << Kind::Sack as u8;
const _: () = assert!(Kind::Data as u8 == 0 && Kind::ALL.len() <= KINDS as usize + 1);

const fn with_scope(scope: Scope) -> u64 {
    let (mut bits, mut i) = (0, 0);
    while i < Kind::ALL.len() {
        if Kind::ALL[i].scope() as u8 == scope as u8 {
            bits |= 1 << Kind::ALL[i] as u8;
        }
        i += 1;
    }
    bits
}

/// A frame, in three words. A packet goes from memory to registers and back at every hop: read and written in words of one width,
/// a read does not have to wait until narrower writes before it are done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet([u64; 3]);

/// Makes what reads and what writes a field: the word it is in, and its lowest bit there.
macro_rules! fields {
    ($($(#[doc = $about:literal])* $view:vis $get:ident $set:ident: $type:ty = $word:literal at $bit:literal;)*) => {
        impl Packet {
            $($(#[doc = $about])*
            #[inline]
            $view const fn $get(&self) -> $type {
                (self.0[$word] >> $bit) as $type
            }

            #[doc = concat!("Writes what [`Self::", stringify!($get), "`] reads.")]
            #[inline]
            $view const fn $set(&mut self, value: $type) {
                self.0[$word] = self.0[$word] & !((<$type>::MAX as u64) << $bit) | (value as u64) << $bit;
            })*
        }
    };
}

fields! {
    /// A packet's index in its flow, or what [`Kind`] says.
    pub seq set_seq: u32 = 0 at 0;
    /// The flow, numbered over the whole network.
    pub flow set_flow: u32 = 0 at 32;
    /// Payload of control frames, as [`Kind`] says; for data, what the one mechanism that may writes, or the slot of a side record.
    pub info set_info: u32 = 1 at 0;
    /// Bytes that it takes on the wire.
    pub bytes set_bytes: u16 = 2 at 0;
    /// The port by which it came into the node where it is.
    pub in_port set_in_port: u16 = 2 at 16;
    /// The pinned path it follows; 0 and 1 mean none.
    pub path set_path: u16 = 2 at 32;
}

/// The destination in the low 24 bits of the upper half of its word, hops done in the high 8; the kind in six bits, and above it ten
/// for the class, in three of them, and the flags, of which one is free.
const ROUTE: u32 = 32;
const HOPS: u32 = 56;
const KIND: u32 = 48;
const KINDS: u64 = 63;
const FLAGS: u32 = 54;

/// Nodes a network may have: 24 bits.
pub const MAX_NODES: usize = 1 << 24;

impl Packet {
    /// Congestion experienced (ECN).
    pub const CE: u16 = 1 << 3;
    /// An ACK that echoes a mark.
    pub const ECHO: u16 = 1 << 4;
    /// A packet that was sent before, or its answer.
    pub const RETRANSMITTED: u16 = 1 << 5;
    /// The last packet of its flow.
    pub const LAST: u16 = 1 << 6;
    /// A record travels beside it, and `info` is its slot.
    const SIDE: u16 = 1 << 7;
    /// A piece of a flow that wants to be answered at once.
    pub const ASKS: u16 = 1 << 8;

    /// A frame to node `dst`.
    #[inline]
    pub const fn new(kind: Kind, flow: u32, seq: u32, dst: u32, bytes: u16, class: u8) -> Self {
        let what = bytes as u64 | (kind as u64) << KIND | (class as u64) << FLAGS;
        Self([(flow as u64) << 32 | seq as u64, (dst as u64) << ROUTE, what])
    }

    /// What it is.
    #[inline]
    pub const fn kind(&self) -> Kind {
        Kind::of((self.0[2] >> KIND & KINDS) as u8)
    }

    /// Whether it is a piece of a flow; all other frames are control.
    #[inline]
    pub const fn is_data(&self) -> bool {
        self.0[2] & (KINDS << KIND) == 0
    }

    /// Whether it is what a receiver tells the sender of a flow about what came.
    #[inline]
    pub const fn is_answer(&self) -> bool {
        self.is_among(ANSWERS)
    }

    /// Whether it goes to the neighbour and no further.
    #[inline]
    pub const fn is_link_local(&self) -> bool {
        self.is_among(LINK_LOCAL)
    }

    /// Whether mechanisms see it as control.
    #[inline]
    pub const fn is_seen(&self) -> bool {
        self.is_among(SEEN)
    }

    #[inline]
    const fn is_among(&self, kinds: u64) -> bool {
        kinds >> (self.0[2] >> KIND & KINDS) & 1 != 0
    }

    /// Makes it another kind of frame.
    pub const fn set_kind(&mut self, kind: Kind) {
        self.0[2] = self.0[2] & !(KINDS << KIND) | (kind as u64) << KIND;
    }

    /// The record beside it; it gets an empty one if it has none.
    pub fn record<'a>(&mut self, records: &'a mut Records) -> &'a mut Telemetry {
        let slot = self.side().unwrap_or_else(|| {
            let slot = records.take();
            records.get(slot).clear();
            *self = self.at_side(slot);
            slot
        });
        records.get(slot)
    }

    /// Whether another is the same packet of its flow, and came by the same port: a copy of it, if not it.
    pub const fn is_like(&self, other: &Self) -> bool {
        self.0[0] == other.0[0] && self.in_port() == other.in_port()
    }

    /// The destination node.
    #[inline]
    pub const fn dst(&self) -> u32 {
        (self.0[1] >> ROUTE) as u32 & 0x00FF_FFFF
    }

    /// Nodes that have forwarded it, the source included.
    #[inline]
    pub const fn hops(&self) -> usize {
        (self.0[1] >> HOPS) as usize
    }

    /// Counts hops from here on; one on a pinned path needs them to find its way.
    pub const fn recount(&mut self) {
        self.0[1] &= !(0xFF << HOPS);
    }

    /// Counts a hop.
    #[inline]
    pub const fn hop(&mut self) {
        self.0[1] = self.0[1].wrapping_add(1 << HOPS);
    }

    /// The priority class, 0 to 7.
    #[inline]
    pub const fn class(&self) -> u8 {
        (self.0[2] >> FLAGS) as u8 & 7
    }

    /// Puts it into another class.
    #[inline]
    pub const fn set_class(&mut self, class: u8) {
        self.0[2] = self.0[2] & !(7 << FLAGS) | (class as u64) << FLAGS;
    }

    /// The packet of its flow that an answer answers: an ACK the one before that which is expected next.
    pub const fn answers(&self) -> u32 {
        if matches!(self.kind(), Kind::Nack | Kind::Sack) { self.info() } else { self.seq().wrapping_sub(1) }
    }

    /// Puts beside an answer what it says of other packets, each counted from the one that is expected next.
    pub fn enclose(&mut self, also: &[u32], records: &mut Records) {
        let (expected, came) = (self.seq(), self.answers());
        let from_there = |seq: u32| seq.wrapping_sub(expected).cast_signed();
        let record = self.record(records);
        record.came = from_there(came);
        record.also.extend(also.iter().map(|seq| from_there(*seq)));
    }

    /// The answer without what was put beside it.
    #[must_use]
    pub fn disclosed(mut self, record: &Telemetry) -> Self {
        self.0[2] &= !((Self::SIDE as u64) << FLAGS);
        self.set_info(self.seq().wrapping_add_signed(record.came));
        self
    }

    /// What a frame says beside `seq`; zero of those that say nothing more. The word of data, and the slot of a record, are no part
    /// of what is sent.
    pub const fn says(&self) -> u32 {
        if self.has(Self::SIDE) {
            return 0;
        }
        if self.is_seen() || matches!(self.kind(), Kind::Nack | Kind::Sack) { self.info() } else { 0 }
    }

    /// Whether a flag is set.
    #[inline]
    pub const fn has(&self, flag: u16) -> bool {
        self.0[2] & (flag as u64) << FLAGS != 0
    }

    /// Sets a flag.
    #[inline]
    pub const fn set(&mut self, flag: u16) {
        self.0[2] |= (flag as u64) << FLAGS;
    }
}

impl State for Packet {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let [_, route_and_info, what] = self.0;
        walk.of_flow(self.flow());
        walk.value((u64::from(self.flow()), route_and_info >> ROUTE, what).word());
        let (mut seq, mut info) = (self.seq(), self.info());
        // An answer to what came although all was there acknowledges everything, and no packet.
        if self.kind().owner() == Owner::Transport && seq != u32::MAX {
            walk.packet(&mut seq);
        } else {
            walk.value(u64::from(seq));
        }
        match self.side() {
            Some(slot) => walk.side(slot),
            None if matches!(self.kind(), Kind::Nack | Kind::Sack | Kind::Cim) => walk.packet(&mut info),
            None => walk.value(u64::from(info)),
        }
        self.set_seq(seq);
        self.set_info(info);
    }
}

impl Message for Packet {
    type Side = Telemetry;

    #[inline]
    fn side(&self) -> Option<u32> {
        self.has(Self::SIDE).then(|| self.info())
    }

    fn at_side(mut self, slot: u32) -> Self {
        self.set(Self::SIDE);
        self.set_info(slot);
        self
    }

    #[inline]
    fn digest(&self) -> [u64; 2] {
        [self.0[0], self.0[2] >> KIND]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_numbers_and_names_of_their_own() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i, "numbers are given in order");
            assert!(Kind::ALL[..i].iter().all(|other| other.name() != kind.name()));
            let frame = Packet::new(*kind, 0, 0, 0, 64, 0);
            assert!(frame.kind() == *kind && frame.is_data() == (*kind == Kind::Data));
            assert!(kind.owner() != Owner::Mechanism || frame.is_seen(), "mechanisms take in what they see");
        }
    }

    #[test]
    fn there_is_room_for_kinds_and_flags_to_come() {
        // The seventeenth and the fortieth kind, as bits: beside them class and flags are what they were, and masks tell them apart.
        for number in [16, 39, KINDS] {
            let mut p = Packet::new(Kind::Pfc, 7, 3, 9, 64, 5);
            p.set(Packet::ASKS);
            p.set(1 << 9);
            p.0[2] = p.0[2] & !(KINDS << KIND) | number << KIND;
            assert!((0..64).all(|other| p.is_among(1 << other) == (other == number)), "{number}");
            assert!(!p.is_data() && !p.is_link_local() && !p.is_answer());
            assert_eq!((p.class(), p.bytes(), p.path()), (5, 64, 0));
            assert!(p.has(Packet::ASKS) && p.has(1 << 9) && !p.has(Packet::CE) && p.side().is_none());
            p.set_kind(Kind::Data);
            assert!(p.is_data() && p.class() == 5 && p.has(Packet::ASKS));
        }
    }

    #[test]
    fn a_packet_is_24_bytes_and_keeps_its_fields_apart() {
        assert_eq!(size_of::<Packet>(), 24);
        let mut p = Packet::new(Kind::Data, 7, 3, 0x00AB_CDEF, 1048, 5);
        p.hop();
        p.hop();
        p.set(Packet::CE);
        assert_eq!((p.dst(), p.hops(), p.class(), p.has(Packet::CE), p.has(Packet::ECHO)), (0x00AB_CDEF, 2, 5, true, false));
    }
}
