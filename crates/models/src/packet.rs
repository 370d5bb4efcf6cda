//! What travels on links: data and control frames, 24 bytes each.

use xoff_engine::Message;
use xoff_engine::state::{State, Walk, Word};

use crate::frames::{Kind, Owner, Payload, Scope, walk_fields};
use crate::ids::PortId;
use crate::packet_metadata::{Metadata, Records};

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
    /// A packet's index in its flow; of an answer, that of the next packet that the receiver expects.
    pub seq set_seq: u32 = 0 at 0;
    /// The flow, numbered over the whole network.
    pub flow set_flow: u32 = 0 at 32;
    /// The tag of data and of its ACK, the packet that another answer answers, or the slot of a record beside it, which has those then.
    word set_word: u32 = 1 at 0;
    /// Bytes that it takes on the wire.
    pub bytes set_bytes: u16 = 2 at 0;
    port_in set_port_in: u16 = 2 at 16;
    /// While it is on a link that may fail: how often that had changed when it was sent.
    pub changes set_changes: u16 = 2 at 16;
    /// The pinned path it follows; 0 and 1 mean none.
    pub path set_path: u16 = 2 at 32;
}

/// The destination in the low 24 bits of the upper half of its word, hops done in the high 8; the kind in six bits, and above it ten
/// for the class, in three of them, and the flags.
const ROUTE: u32 = 32;
const HOPS: u32 = 56;
const KIND: u32 = 48;
const KINDS: u64 = 63;
const FLAGS: u32 = 54;
/// The flag with the low bit of the copy, and the flag with the high bit.
const COPY: [u32; 2] = [5, 8];

/// Nodes a network may have: 24 bits.
pub const MAX_NODES: usize = 1 << 24;

impl Packet {
    /// Congestion experienced (ECN).
    pub const CE: u16 = 1 << 3;
    /// An answer that echoes a mark.
    pub const ECHO: u16 = 1 << 4;
    /// A piece of a flow that wants to be answered at once; answers have [`Self::ECHO`] in its place.
    pub const ASKS: u16 = 1 << 4;
    /// A packet that was sent before, or its answer: any [copy](Self::copy) but the first.
    pub const RETRANSMITTED: u16 = 1 << COPY[0] | 1 << COPY[1];
    /// The last packet of its flow.
    pub const LAST: u16 = 1 << 6;
    /// A record travels beside it, in the slot that its word says.
    const SIDE: u16 = 1 << 7;
    /// The last packet of a message of a connection.
    pub const MESSAGE: u16 = 1 << 9;

    /// The [copy](Self::copy) of a packet that was sent three times or more again, and of an answer that belongs to no single copy.
    pub const COPY_UNKNOWN: u8 = 3;

    /// A frame to node `dst`.
    #[inline]
    pub const fn new(kind: Kind, flow: u32, seq: u32, dst: u32, bytes: u16, class: u8) -> Self {
        let what = bytes as u64 | (kind as u64) << KIND | (class as u64) << FLAGS;
        Self([(flow as u64) << 32 | seq as u64, (dst as u64) << ROUTE, what])
    }

    /// The port by which it came into the node where it is.
    #[inline]
    pub const fn in_port(&self) -> PortId {
        PortId(self.port_in())
    }

    /// Says by which port it came.
    #[inline]
    pub const fn set_in_port(&mut self, port: PortId) {
        self.set_port_in(port.0);
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

    /// A frame of a kind that has fields.
    pub fn with<P: Payload>(payload: P, flow: u32, dst: u32, bytes: u16, class: u8) -> Self {
        let mut frame = Self::new(P::KIND, flow, 0, dst, bytes, class);
        frame.set_bits(payload.pack());
        frame
    }

    /// What it carries, if it is of that kind.
    #[inline]
    pub fn payload<P: Payload>(&self) -> Option<P> {
        (self.kind() == P::KIND).then(|| P::unpack(self.bits()))
    }

    #[inline]
    const fn bits(&self) -> u64 {
        self.seq() as u64 | (self.word() as u64) << 32
    }

    const fn set_bits(&mut self, bits: u64) {
        self.set_seq(bits as u32);
        self.set_word((bits >> 32) as u32);
    }

    /// The record beside it; it gets an empty one if it has none, which takes over what its slot takes the place of.
    pub fn record<'a>(&mut self, records: &'a mut Records) -> &'a mut Metadata {
        if let Some(slot) = self.side() {
            return records.get(slot);
        }
        let slot = records.take();
        let record = records.get(slot);
        record.clear();
        if self.reports() {
            record.answered = self.beyond(self.word());
        } else {
            record.tag = self.word();
        }
        *self = self.at_side(slot);
        record
    }

    /// The same without the record beside it, which is given back by whoever asks.
    #[must_use]
    pub fn alone(mut self, record: &Metadata) -> Self {
        self.0[2] &= !(u64::from(Self::SIDE) << FLAGS);
        self.set_word(if self.reports() { self.seq().wrapping_add_signed(record.answered) } else { record.tag });
        self
    }

    /// What the one part that may has written onto data, or the ACK brings back of that. Where a record travels beside it, it is there.
    #[inline]
    pub const fn tag(&self) -> u32 {
        self.word()
    }

    /// Writes the tag of data. At most one part of a scenario tags data (`Properties::tags_data`), and tags data before a record
    /// is attached: with a record the word of the tag holds the record's slot.
    ///
    /// # Panics
    ///
    /// Panics if a record is attached: the part that tags has not declared `tags_data`, or tags too late.
    #[inline]
    pub const fn set_tag(&mut self, tag: u32) {
        assert!(!self.has(Self::SIDE), "a mechanism tags a packet with a record: declare `Properties::tags_data`");
        self.set_word(tag);
    }

    /// Brings a tag back.
    pub fn echo(&mut self, tag: u32, records: &mut Records) {
        if self.reports() || self.has(Self::SIDE) {
            self.record(records).tag = tag;
        } else {
            self.set_tag(tag);
        }
    }

    /// The tag that an answer brings back, if any was: with [`Self::echo`], or in the record that it took over.
    pub fn echoed(&self, beside: Option<&Metadata>) -> u32 {
        beside.map_or_else(|| if self.reports() { 0 } else { self.tag() }, |record| record.tag)
    }

    /// Whether it is an answer that says which packet it answers.
    const fn reports(&self) -> bool {
        matches!(self.kind(), Kind::Nack | Kind::Sack)
    }

    /// How far a packet is beyond the one that is expected next.
    const fn beyond(&self, seq: u32) -> i32 {
        seq.wrapping_sub(self.seq()).cast_signed()
    }

    /// Whether another is the same packet of its flow, and came by the same port: a copy of it, if not it.
    pub const fn is_like(&self, other: &Self) -> bool {
        self.0[0] == other.0[0] && self.port_in() == other.port_in()
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
        if self.reports() { self.word() } else { self.seq().wrapping_sub(1) }
    }

    /// Says which packet it answers.
    pub const fn set_answers(&mut self, seq: u32) {
        self.set_word(seq);
    }

    /// Puts beside an answer what it says of other packets, each counted from the one that is expected next.
    pub fn enclose(&mut self, also: &[u32], records: &mut Records) {
        let frame = *self;
        self.record(records).also.extend(also.iter().map(|seq| frame.beyond(*seq)));
    }

    /// What a frame says beside `seq`; zero of those that say nothing more. Tags, and slots of records, are no part of what is sent.
    pub const fn says(&self) -> u32 {
        if !self.has(Self::SIDE) && (self.is_seen() || self.reports()) { self.word() } else { 0 }
    }

    /// Which copy of its packet a frame is, or answers: 0 is the first, 1 and 2 were sent again, and the round trip of
    /// [`Self::COPY_UNKNOWN`] is not measured (Karn, Partridge 1987).
    #[inline]
    pub const fn copy(&self) -> u8 {
        (self.0[2] >> (FLAGS + COPY[1]) & 1) as u8 * 2 + (self.0[2] >> (FLAGS + COPY[0]) & 1) as u8
    }

    /// Says which copy it is, or answers.
    #[inline]
    pub const fn set_copy(&mut self, copy: u8) {
        let (low, high) = (copy as u64 & 1, copy as u64 >> 1);
        self.0[2] = self.0[2] & !((Self::RETRANSMITTED as u64) << FLAGS) | low << (FLAGS + COPY[0]) | high << (FLAGS + COPY[1]);
    }

    /// Whether it is marked, or an answer that says so of its packet.
    pub const fn is_marked(&self) -> bool {
        self.has(if self.is_answer() { Self::ECHO } else { Self::CE })
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
        let [_, route_and_word, what] = self.0;
        walk.of_flow(self.flow());
        walk.value((u64::from(self.flow()), route_and_word >> ROUTE, what).word());
        if let Some(bits) = walk_fields(self.kind(), self.bits(), walk) {
            self.set_bits(bits);
            return;
        }
        let (mut seq, mut word) = (self.seq(), self.word());
        // An answer to what came although all was there acknowledges everything, and no packet.
        if self.kind().owner() == Owner::Transport && seq != u32::MAX {
            walk.packet(&mut seq);
        } else {
            walk.value(u64::from(seq));
        }
        match self.side() {
            Some(slot) => walk.side(slot),
            None if self.reports() => walk.packet(&mut word),
            None if matches!(self.kind(), Kind::Data | Kind::Header) => walk.asked(&mut word),
            None => walk.value(u64::from(word)),
        }
        self.set_seq(seq);
        self.set_word(word);
    }
}

impl Message for Packet {
    type Side = Metadata;

    #[inline]
    fn side(&self) -> Option<u32> {
        self.has(Self::SIDE).then(|| self.word())
    }

    fn at_side(mut self, slot: u32) -> Self {
        self.set(Self::SIDE);
        self.set_word(slot);
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
    use crate::frames::{Bcn, Bfc, Blocks, Cim, Cnm, Credits, Granted, Index, Pfc, PortFc, Pull, Says, Sfcm, Weave};

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
        // The next kind, the fortieth and the last, as bits: beside them class and flags are what they were, and masks tell them apart.
        for number in [Kind::ALL.len() as u64, 39, KINDS] {
            let mut p = Packet::new(Kind::Pfc, 7, 3, 9, 64, 5);
            p.set(Packet::ASKS);
            p.set(Packet::MESSAGE);
            p.0[2] = p.0[2] & !(KINDS << KIND) | number << KIND;
            assert!((0..64).all(|other| p.is_among(1 << other) == (other == number)), "{number}");
            assert!(!p.is_data() && !p.is_link_local() && !p.is_answer());
            assert_eq!((p.class(), p.bytes(), p.path()), (5, 64, 0));
            assert!(p.has(Packet::ASKS) && p.has(Packet::MESSAGE) && !p.has(Packet::CE) && p.side().is_none());
            p.set_kind(Kind::Data);
            assert!(p.is_data() && p.class() == 5 && p.has(Packet::ASKS));
        }
    }

    #[test]
    fn a_tag_and_what_an_answer_answers_survive_a_record() {
        let mut records = Records::default();
        let mut data = Packet::new(Kind::Data, 7, 3, 9, 1048, 0);
        data.set_tag(55);
        data.record(&mut records).utilisation = 0.5;
        let slot = data.side().unwrap();
        assert_eq!((data.record(&mut records).tag, data.side()), (55, Some(slot)), "one record, however often it is asked for");
        assert_eq!(data.alone(records.get(slot)).tag(), 55);

        // Its ACK takes the record over, and brings another tag back in it; one without a record has room for the tag.
        let mut ack = Packet::new(Kind::Ack, 7, 4, 0, 64, 0).at_side(slot);
        ack.echo(66, &mut records);
        assert_eq!((ack.side(), ack.alone(records.get(slot)).tag(), records.get(slot).utilisation), (Some(slot), 66, 0.5));
        let mut ack = Packet::new(Kind::Ack, 7, 4, 0, 64, 0);
        ack.echo(77, &mut records);
        assert_eq!((ack.side(), ack.tag(), ack.answers()), (None, 77, 3));

        // An answer that says what it answers has none.
        for (expected, answers) in [(5, 9), (9, 5)] {
            let mut nack = Packet::new(Kind::Nack, 7, expected, 0, 64, 0);
            nack.set_answers(answers);
            nack.enclose(&[expected + 2], &mut records);
            nack.echo(88, &mut records);
            let record = records.get(nack.side().unwrap());
            assert_eq!((record.tag, &record.also[..], record.utilisation), (88, &[2][..], 0.0));
            assert_eq!(nack.alone(record).answers(), answers);
            assert_eq!((nack.alone(record).echoed(Some(record)), nack.alone(record).echoed(None)), (88, 0));
        }
    }

    #[test]
    fn a_packet_knows_which_copy_it_is() {
        let mut p = Packet::new(Kind::Data, 7, 3, 9, 64, 5);
        for copy in [0, 1, 2, Packet::COPY_UNKNOWN, 1, 0] {
            p.set_copy(copy);
            assert_eq!((p.copy(), p.has(Packet::RETRANSMITTED), p.class(), p.has(Packet::CE)), (copy, copy > 0, 5, false));
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

    fn kept<P: Payload + PartialEq + std::fmt::Debug>(payloads: &[P], words: &[(u32, u32)]) {
        for (payload, words) in payloads.iter().zip(words) {
            let mut frame = Packet::with(*payload, 7, 9, 64, 3);
            frame.set_path(2);
            assert_eq!((frame.payload(), frame.kind()), (Some(*payload), P::KIND));
            assert_eq!((frame.seq(), frame.says()), *words, "{payload:?}");
            assert_eq!((frame.flow(), frame.dst(), frame.bytes(), frame.class(), frame.path()), (7, 9, 64, 3, 2));
        }
        assert_eq!(Packet::new(Kind::Data, 0, 0, 0, 64, 0).payload::<P>(), None);
    }

    #[test]
    fn what_frames_carry_is_read_as_it_was_written() {
        kept(&[Sfcm { destination: u32::MAX, pause: 0 }, Sfcm { destination: 1, pause: u32::MAX }], &[(u32::MAX, 0), (1, u32::MAX)]);
        kept(&[Pfc { classes: 0x81, quanta: u16::MAX }], &[(0x81, 0xFFFF)]);
        kept(&[Cim { is_add: true, offending: Index(u32::MAX) }, Cim { is_add: false, offending: Index(4) }], &[(1, u32::MAX), (0, 4)]);
        kept(
            &[PortFc { output: 5, is_pause: true, is_direct: false }, PortFc { output: 5, is_pause: false, is_direct: true }],
            &[(5, 1), (5, 2)],
        );
        kept(&[Bcn { feedback: -9, point: 3 }, Bcn { feedback: 0, point: u32::MAX }], &[(u32::MAX - 8, 3), (0, u32::MAX)]);
        kept(&[Cnm { feedback: 63, point: 3 }], &[(63, 3)]);
        kept(&[Bfc { queue: u16::MAX, is_pause: true }], &[(0xFFFF, 1)]);
        kept(&[Credits { blocks: Blocks { is_own: true, class: 7, count: 4096 } }], &[(15, 4096)]);
        kept(&[Pull { total: Granted(u32::MAX) }], &[(u32::MAX, 0)]);
        kept(&[Says::Reply, Says::Clear, Says::Notify].map(|says| Weave { says, of: 6 }), &[(0, 6), (1, 6), (2, 6)]);
    }
}
