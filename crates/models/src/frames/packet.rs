//! Frames on links: data and control, 24 bytes each.

use xoff_engine::Message;
use xoff_engine::state::{State, StateVisitor, Word};

use crate::frames::kinds::{Kind, Owner, Payload, Scope, of_plugins, walk_fields};
use crate::frames::packet_metadata::{Metadata, Records};
use crate::frames::tag::TagField;
use crate::parts::ids::PortId;

/// One bit for each kind that leaves its flow, and for each link-local kind; tested for each packet.
const SEEN: u64 = LINK_LOCAL | with_scope(Scope::Path);
const LINK_LOCAL: u64 = with_scope(Scope::Link);
const ANSWERS: u64 = Kind::Ack.bit() | Kind::Nack.bit() | Kind::Sack.bit();
const _: () = assert!(Kind::Data.number() == 0 && Kind::ALL.len() <= Kind::OF_PLUGINS as usize);

const fn with_scope(scope: Scope) -> u64 {
    let (mut bits, mut number) = (0, 0);
    while number < Kind::END {
        let kind = Kind::of(number);
        let is_given = (number as usize) < Kind::ALL.len() || number >= Kind::OF_PLUGINS;
        if is_given && kind.scope() as u8 == scope as u8 {
            bits |= kind.bit();
        }
        number += 1;
    }
    bits
}

/// A frame of three words. Each hop moves a packet from memory to registers and back. With accesses of one
/// width a read need not wait for narrower writes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Packet([u64; 3]);

/// Defines the getter and setter of a field, from the word and the lowest bit.
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
    /// Index of a packet in its flow; for an acknowledgement, the index of the next expected packet.
    pub seq set_seq: u32 = 0 at 0;
    /// The flow, numbered over the whole network.
    pub flow set_flow: u32 = 0 at 32;
    /// Tag of data and of its ACK, or the packet that another acknowledgement answers, or the slot of a side
    /// record, which then holds these values.
    word set_word: u32 = 1 at 0;
    /// Bytes on the wire.
    pub bytes set_bytes: u16 = 2 at 0;
    port_in set_port_in: u16 = 2 at 16;
    /// On a link that may fail: the number of changes of the link at the start of the frame.
    pub changes set_changes: u16 = 2 at 16;
    /// Pinned path; 0 and 1 mean none.
    pub path set_path: u16 = 2 at 32;
}

/// Destination in the low 24 bits of the upper half of the word, hops in the high 8 bits; kind in six bits,
/// then ten bits for the class (three bits) and flags.
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
    /// An acknowledgement that echoes a mark.
    pub const ECHO: u16 = 1 << 4;
    /// A data packet that asks for an immediate acknowledgement; acknowledgements have [`Self::ECHO`] in this
    /// bit.
    pub const ASKS: u16 = 1 << 4;
    /// A retransmission or its acknowledgement: any [copy](Self::copy) after the first.
    pub const RETRANSMITTED: u16 = 1 << COPY[0] | 1 << COPY[1];
    /// The last packet of its flow.
    pub const LAST: u16 = 1 << 6;
    /// The packet has a side record, in the slot stored in the word.
    const SIDE: u16 = 1 << 7;
    /// The last packet of a message of a connection.
    pub const MESSAGE: u16 = 1 << 9;

    /// The [copy](Self::copy) of a packet that was retransmitted three times or more, and of an
    /// acknowledgement without a single copy.
    pub const COPY_UNKNOWN: u8 = 3;

    /// A frame to node `dst`.
    #[inline]
    pub const fn new(kind: Kind, flow: u32, seq: u32, dst: u32, bytes: u16, class: u8) -> Self {
        let what = bytes as u64 | (kind.number() as u64) << KIND | (class as u64) << FLAGS;
        Self([(flow as u64) << 32 | seq as u64, (dst as u64) << ROUTE, what])
    }

    /// Returns the port by which the packet entered the present node.
    #[inline]
    pub const fn in_port(&self) -> PortId {
        PortId(self.port_in())
    }

    /// Sets the port by which the packet arrived.
    #[inline]
    pub const fn set_in_port(&mut self, port: PortId) {
        self.set_port_in(port.0);
    }

    /// Returns the kind of the frame.
    #[inline]
    pub const fn kind(&self) -> Kind {
        Kind::of((self.0[2] >> KIND & KINDS) as u8)
    }

    /// True for data; all other frames are control.
    #[inline]
    pub const fn is_data(&self) -> bool {
        self.0[2] & (KINDS << KIND) == 0
    }

    /// True for frames of a receiver to the sender of a flow about received packets.
    #[inline]
    pub const fn is_answer(&self) -> bool {
        self.is_among(ANSWERS)
    }

    /// True for frames that go to the neighbour and no further.
    #[inline]
    pub const fn is_link_local(&self) -> bool {
        self.is_among(LINK_LOCAL)
    }

    /// True for control frames that mechanisms see.
    #[inline]
    pub const fn is_seen(&self) -> bool {
        self.is_among(SEEN)
    }

    #[inline]
    const fn is_among(&self, kinds: u64) -> bool {
        kinds >> (self.0[2] >> KIND & KINDS) & 1 != 0
    }

    /// Sets the kind of the frame.
    pub const fn set_kind(&mut self, kind: Kind) {
        self.0[2] = self.0[2] & !(KINDS << KIND) | (kind.number() as u64) << KIND;
    }

    /// Returns a frame of a kind with fields.
    pub fn with<P: Payload>(payload: P, flow: u32, dst: u32, bytes: u16, class: u8) -> Self {
        let mut frame = Self::new(P::kind(), flow, 0, dst, bytes, class);
        frame.set_bits(payload.pack());
        frame
    }

    /// Returns the payload, if the frame has the kind of the payload.
    #[inline]
    pub fn payload<P: Payload>(&self) -> Option<P> {
        (self.kind() == P::kind()).then(|| P::unpack(self.bits()))
    }

    /// Returns the packet of the flow that a plug-in's frame names with a field [`crate::frames::kinds::Index`].
    pub fn named(&self) -> Option<u32> {
        of_plugins(self.kind()).and_then(|frame| (frame.named)(self.bits()))
    }

    #[inline]
    const fn bits(&self) -> u64 {
        self.seq() as u64 | (self.word() as u64) << 32
    }

    const fn set_bits(&mut self, bits: u64) {
        self.set_seq(bits as u32);
        self.set_word((bits >> 32) as u32);
    }

    /// Returns the side record. A packet without a record gets an empty record, which takes over the tag or
    /// the answered packet.
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

    /// Returns the packet without its side record; the caller frees the record.
    #[must_use]
    pub fn alone(mut self, record: &Metadata) -> Self {
        self.0[2] &= !(u64::from(Self::SIDE) << FLAGS);
        self.set_word(if self.reports() {
            self.seq().wrapping_add_signed(record.answered)
        } else {
            record.tag
        });
        self
    }

    /// Returns the tag written onto data, or returned by the ACK. With a side record the tag is in the
    /// record.
    #[inline]
    pub const fn tag(&self) -> u32 {
        self.word()
    }

    /// Writes the tag of data, for a part that has the whole tag (`Properties::tag_bits`). A part tags data
    /// before a record is attached: with a record the word of the tag holds the record's slot.
    ///
    /// # Panics
    ///
    /// Panics if a record is attached: the part that tags has not declared `tag_bits`, or tags too late.
    #[inline]
    pub const fn set_tag(&mut self, tag: u32) {
        assert!(
            !self.has(Self::SIDE),
            "a mechanism tags a packet with a record: declare `Properties::tag_bits`"
        );
        self.set_word(tag);
    }

    /// Returns a part's field of the tag.
    #[inline]
    pub const fn tag_of(&self, field: TagField) -> u32 {
        field.read(self.word())
    }

    /// Writes a part's field of the tag, as [`Self::set_tag`].
    ///
    /// # Panics
    ///
    /// Panics if a record is attached.
    #[inline]
    pub const fn set_tag_of(&mut self, field: TagField, value: u32) {
        self.set_tag(field.write(self.word(), value));
    }

    /// Brings a tag back.
    pub fn echo(&mut self, tag: u32, records: &mut Records) {
        if self.reports() || self.has(Self::SIDE) {
            self.record(records).tag = tag;
        } else {
            self.set_tag(tag);
        }
    }

    /// Returns the tag that an acknowledgement returns, if any: with [`Self::echo`], or from the side record.
    pub fn echoed(&self, beside: Option<&Metadata>) -> u32 {
        beside.map_or_else(|| if self.reports() { 0 } else { self.tag() }, |record| record.tag)
    }

    /// True for an acknowledgement that names the answered packet.
    const fn reports(&self) -> bool {
        matches!(self.kind(), Kind::Nack | Kind::Sack)
    }

    /// Returns the distance of a packet beyond the next expected packet.
    const fn beyond(&self, seq: u32) -> i32 {
        seq.wrapping_sub(self.seq()).cast_signed()
    }

    /// True if the other frame is the same packet of the flow, or a copy, and arrived by the same port.
    pub const fn is_like(&self, other: &Self) -> bool {
        self.0[0] == other.0[0] && self.port_in() == other.port_in()
    }

    /// The destination node.
    #[inline]
    pub const fn dst(&self) -> u32 {
        (self.0[1] >> ROUTE) as u32 & 0x00FF_FFFF
    }

    /// Sets the destination node.
    #[inline]
    pub const fn set_dst(&mut self, dst: u32) {
        self.0[1] = self.0[1] & !(0x00FF_FFFF << ROUTE) | (dst as u64) << ROUTE;
    }

    /// Returns the number of nodes that forwarded the packet, including the source.
    #[inline]
    pub const fn hops(&self) -> usize {
        (self.0[1] >> HOPS) as usize
    }

    /// Restarts the count of hops, which a packet on a pinned path needs to find its next hop.
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

    /// Sets the class.
    #[inline]
    pub const fn set_class(&mut self, class: u8) {
        self.0[2] = self.0[2] & !(7 << FLAGS) | (class as u64) << FLAGS;
    }

    /// Returns the packet that an acknowledgement answers: for an ACK, the packet before the next expected
    /// packet.
    pub const fn answers(&self) -> u32 {
        if self.reports() { self.word() } else { self.seq().wrapping_sub(1) }
    }

    /// Sets the answered packet.
    pub const fn set_answers(&mut self, seq: u32) {
        self.set_word(seq);
    }

    /// Adds other answered packets to an acknowledgement, each relative to the next expected packet.
    pub fn enclose(&mut self, also: &[u32], records: &mut Records) {
        let frame = *self;
        self.record(records).also.extend(also.iter().map(|seq| frame.beyond(*seq)));
    }

    /// Returns the second number of a frame besides `seq`; zero for frames without such a number. Tags and
    /// slots are not on the wire.
    pub const fn says(&self) -> u32 {
        if !self.has(Self::SIDE) && (self.is_seen() || self.reports()) { self.word() } else { 0 }
    }

    /// Returns the copy that a frame is or answers: 0 is the first, 1 and 2 are retransmissions. The round
    /// trip of [`Self::COPY_UNKNOWN`] is not measured (Karn, Partridge 1987).
    #[inline]
    pub const fn copy(&self) -> u8 {
        (self.0[2] >> (FLAGS + COPY[1]) & 1) as u8 * 2 + (self.0[2] >> (FLAGS + COPY[0]) & 1) as u8
    }

    /// Sets the copy that the frame is or answers.
    #[inline]
    pub const fn set_copy(&mut self, copy: u8) {
        let (low, high) = (copy as u64 & 1, copy as u64 >> 1);
        self.0[2] = self.0[2] & !((Self::RETRANSMITTED as u64) << FLAGS)
            | low << (FLAGS + COPY[0])
            | high << (FLAGS + COPY[1]);
    }

    /// True for a marked packet, and for an acknowledgement of a marked packet.
    pub const fn is_marked(&self) -> bool {
        self.has(if self.is_answer() { Self::ECHO } else { Self::CE })
    }

    /// True if a flag is set.
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

impl Packet {
    /// Returns the digest of a plug-in's frame: the name of the kind stands in the place of the number, which depends
    /// on the other plug-ins of the core. The name is added to the progress of the flow: a digest grows with progress.
    #[cold]
    fn by_name(&self, what: u64) -> [u64; 2] {
        let name = of_plugins(self.kind()).map_or(0, |frame| u64::from(frame.id()));
        [self.0[0].wrapping_add(name), what & !KINDS | u64::from(Kind::OF_PLUGINS)]
    }
}

impl State for Packet {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let [_, route_and_word, what] = self.0;
        walk.of_flow(self.flow());
        walk.value((u64::from(self.flow()), route_and_word >> ROUTE, what).word());
        if let Some(bits) = walk_fields(self.kind(), self.bits(), walk) {
            self.set_bits(bits);
            return;
        }
        let (mut seq, mut word) = (self.seq(), self.word());
        // An acknowledgement of a packet after the last expected packet acknowledges all packets, and names
        // none.
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

    /// At a fixed switch frames carry the port of arrival.
    #[inline]
    fn turn(&self) -> u64 {
        u64::from(self.port_in())
    }

    fn at_side(mut self, slot: u32) -> Self {
        self.set(Self::SIDE);
        self.set_word(slot);
        self
    }

    #[inline]
    fn digest(&self) -> [u64; 2] {
        let what = self.0[2] >> KIND;
        if what & KINDS < u64::from(Kind::OF_PLUGINS) { [self.0[0], what] } else { self.by_name(what) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::kinds::{
        Bcn, Bfc, Blocks, Cim, Cnm, Credits, Granted, Index, Pfc, PortFc, Pull, Says, Sfcm, Weave,
    };

    #[test]
    fn kinds_have_numbers_and_names_of_their_own() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(usize::from(kind.number()), i, "numbers are given in order");
            assert!(Kind::ALL[..i].iter().all(|other| other.name() != kind.name()));
            let frame = Packet::new(*kind, 0, 0, 0, 64, 0);
            assert!(frame.kind() == *kind && frame.is_data() == (*kind == Kind::Data));
            assert!(kind.owner() != Owner::Mechanism || frame.is_seen(), "mechanisms take in what they see");
        }
    }

    #[test]
    fn there_is_room_for_kinds_and_flags_to_come() {
        // The next kind, the fortieth and the last, as bits: class and flags are unchanged beside them, and
        // masks separate them.
        for number in [Kind::ALL.len() as u64, 39, KINDS] {
            let mut p = Packet::new(Kind::Pfc, 7, 3, 9, 64, 5);
            p.set(Packet::ASKS);
            p.set(Packet::MESSAGE);
            p.0[2] = p.0[2] & !(KINDS << KIND) | number << KIND;
            assert!((0..64).all(|other| p.is_among(1 << other) == (other == number)), "{number}");
            assert!(!p.is_data() && !p.is_answer());
            assert_eq!(p.is_link_local(), number == KINDS, "the last range of plug-ins is of links");
            assert_eq!((p.class(), p.bytes(), p.path()), (5, 64, 0));
            assert!(
                p.has(Packet::ASKS) && p.has(Packet::MESSAGE) && !p.has(Packet::CE) && p.side().is_none()
            );
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
        assert_eq!(
            (data.record(&mut records).tag, data.side()),
            (55, Some(slot)),
            "one record, however often it is asked for"
        );
        assert_eq!(data.alone(records.get(slot)).tag(), 55);

        // The ACK takes the record over and returns another tag in the record. An ACK without a record has
        // room for the tag.
        let mut ack = Packet::new(Kind::Ack, 7, 4, 0, 64, 0).at_side(slot);
        ack.echo(66, &mut records);
        assert_eq!(
            (ack.side(), ack.alone(records.get(slot)).tag(), records.get(slot).utilisation),
            (Some(slot), 66, 0.5)
        );
        let mut ack = Packet::new(Kind::Ack, 7, 4, 0, 64, 0);
        ack.echo(77, &mut records);
        assert_eq!((ack.side(), ack.tag(), ack.answers()), (None, 77, 3));

        // An acknowledgement that names the answered packet has no tag.
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
            assert_eq!(
                (p.copy(), p.has(Packet::RETRANSMITTED), p.class(), p.has(Packet::CE)),
                (copy, copy > 0, 5, false)
            );
        }
    }

    #[test]
    fn a_packet_is_24_bytes_and_keeps_its_fields_apart() {
        assert_eq!(size_of::<Packet>(), 24);
        let mut p = Packet::new(Kind::Data, 7, 3, 0x00AB_CDEF, 1048, 5);
        p.hop();
        p.hop();
        p.set(Packet::CE);
        assert_eq!(
            (p.dst(), p.hops(), p.class(), p.has(Packet::CE), p.has(Packet::ECHO)),
            (0x00AB_CDEF, 2, 5, true, false)
        );
    }

    fn kept<P: Payload + PartialEq + std::fmt::Debug>(payloads: &[P], words: &[(u32, u32)]) {
        for (payload, words) in payloads.iter().zip(words) {
            let mut frame = Packet::with(*payload, 7, 9, 64, 3);
            frame.set_path(2);
            assert_eq!((frame.payload(), frame.kind()), (Some(*payload), P::kind()));
            assert_eq!((frame.seq(), frame.says()), *words, "{payload:?}");
            assert_eq!(
                (frame.flow(), frame.dst(), frame.bytes(), frame.class(), frame.path()),
                (7, 9, 64, 3, 2)
            );
        }
        assert_eq!(Packet::new(Kind::Data, 0, 0, 0, 64, 0).payload::<P>(), None);
    }

    #[test]
    fn what_frames_carry_is_read_as_it_was_written() {
        kept(
            &[Sfcm { destination: u32::MAX, pause: 0 }, Sfcm { destination: 1, pause: u32::MAX }],
            &[(u32::MAX, 0), (1, u32::MAX)],
        );
        kept(&[Pfc { classes: 0x81, quanta: u16::MAX }], &[(0x81, 0xFFFF)]);
        kept(
            &[Cim { is_add: true, offending: Index(u32::MAX) }, Cim { is_add: false, offending: Index(4) }],
            &[(1, u32::MAX), (0, 4)],
        );
        kept(
            &[
                PortFc { output: 5, is_pause: true, is_direct: false },
                PortFc { output: 5, is_pause: false, is_direct: true },
            ],
            &[(5, 1), (5, 2)],
        );
        kept(
            &[Bcn { feedback: -9, point: 3 }, Bcn { feedback: 0, point: u32::MAX }],
            &[(u32::MAX - 8, 3), (0, u32::MAX)],
        );
        kept(&[Cnm { feedback: 63, point: 3 }], &[(63, 3)]);
        kept(&[Bfc { queue: u16::MAX, is_pause: true }], &[(0xFFFF, 1)]);
        kept(&[Credits { blocks: Blocks { is_own: true, class: 7, count: 4096 } }], &[(15, 4096)]);
        kept(&[Pull { total: Granted(u32::MAX) }], &[(u32::MAX, 0)]);
        kept(
            &[Says::Reply, Says::Clear, Says::Notify].map(|says| Weave { says, of: 6 }),
            &[(0, 6), (1, 6), (2, 6)],
        );
    }
}
