//! What travels on links: data and control frames, 24 bytes each.

use xoff_engine::Message;

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
        /// What a frame is; 16 kinds are possible.
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
    /// Toward the source of a flow: `seq` is all that its receiver has granted. From there: `seq` is all that the flow asks for.
    Pull = 13 "pull" Flow Pulls;
}

impl Kind {
    /// Whether it is a piece of a flow; all other frames are control.
    #[inline]
    pub const fn is_data(self) -> bool {
        self as u8 == Self::Data as u8
    }

    /// Whether it is what a receiver tells the sender of a flow about what came.
    #[inline]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Ack | Self::Nack)
    }

    /// Whether it goes to the neighbour and no further.
    #[inline]
    pub const fn is_link_local(self) -> bool {
        LINK_LOCAL >> self as u8 & 1 != 0
    }

    /// Whether mechanisms see it as control.
    #[inline]
    pub const fn is_seen(self) -> bool {
        SEEN >> self as u8 & 1 != 0
    }
}

/// A bit for each kind that does not stay in its flow, and for each that stays on its link: looked at with every packet.
const SEEN: u16 = LINK_LOCAL | with_scope(Scope::Path);
const LINK_LOCAL: u16 = with_scope(Scope::Link);

const fn with_scope(scope: Scope) -> u16 {
    let (mut bits, mut i) = (0, 0);
    while i < Kind::ALL.len() {
        if Kind::ALL[i].scope() as u8 == scope as u8 {
            bits |= 1 << Kind::ALL[i] as u8;
        }
        i += 1;
    }
    bits
}

/// A frame. Its size is what it takes on the wire.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Packet {
    /// The flow, numbered over the whole network.
    pub flow: u32,
    /// A packet's index in its flow, or what [`Kind`] says.
    pub seq: u32,
    /// Destination in the low 24 bits, hops done in the high 8.
    route: u32,
    /// Payload of control frames, as [`Kind`] says; for data, what the one mechanism that may writes, or the slot of a side record.
    pub info: u32,
    /// Bytes on the wire.
    pub bytes: u16,
    /// The port by which it came into the node where it is.
    pub in_port: u16,
    /// The pinned path it follows; 0 and 1 mean none.
    pub path: u16,
    /// What it is.
    pub kind: Kind,
    /// Class in the low three bits, and the flags below.
    flags: u8,
}

/// Nodes a network may have: 24 bits.
pub const MAX_NODES: usize = 1 << 24;

impl Packet {
    /// Congestion experienced (ECN).
    pub const CE: u8 = 1 << 3;
    /// An ACK that echoes a mark.
    pub const ECHO: u8 = 1 << 4;
    /// A packet that was sent before.
    pub const RETRANSMITTED: u8 = 1 << 5;
    /// The last packet of its flow.
    pub const LAST: u8 = 1 << 6;
    /// A record travels beside it, and `info` is its slot.
    const SIDE: u8 = 1 << 7;

    /// A frame to node `dst`.
    pub fn new(kind: Kind, flow: u32, seq: u32, dst: u32, bytes: u16, class: u8) -> Self {
        Self { flow, seq, route: dst, info: 0, bytes, in_port: 0, path: 0, kind, flags: class }
    }

    /// The record beside it; it gets an empty one if it has none.
    pub fn record<'a>(&mut self, records: &'a mut Records) -> &'a mut Telemetry {
        let slot = self.side().unwrap_or_else(|| {
            let slot = records.take();
            records.get(slot).hops.clear();
            *self = self.at_side(slot);
            slot
        });
        records.get(slot)
    }

    /// The destination node.
    #[inline]
    pub const fn dst(&self) -> u32 {
        self.route & 0x00FF_FFFF
    }

    /// Nodes that have forwarded it, the source included.
    #[inline]
    pub const fn hops(&self) -> usize {
        (self.route >> 24) as usize
    }

    /// Counts hops from here on; one on a pinned path needs them to find its way.
    pub const fn recount(&mut self) {
        self.route &= 0x00FF_FFFF;
    }

    /// Counts a hop.
    #[inline]
    pub fn hop(&mut self) {
        self.route = self.route.wrapping_add(1 << 24);
    }

    /// The priority class, 0 to 7.
    #[inline]
    pub const fn class(&self) -> u8 {
        self.flags & 7
    }

    /// Puts it into another class.
    #[inline]
    pub fn set_class(&mut self, class: u8) {
        self.flags = (self.flags & !7) | class;
    }

    /// The packet of its flow that an answer answers: an ACK the one before that which is expected next.
    pub const fn answers(&self) -> u32 {
        if matches!(self.kind, Kind::Nack | Kind::Sack) { self.info } else { self.seq.wrapping_sub(1) }
    }

    /// What a frame says beside `seq`; zero of those that say nothing more. The word of data, and the slot of a record, are no part
    /// of what is sent.
    pub const fn says(&self) -> u32 {
        if self.kind.is_seen() || matches!(self.kind, Kind::Nack | Kind::Sack) { self.info } else { 0 }
    }

    /// Whether a flag is set.
    #[inline]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sets a flag.
    #[inline]
    pub fn set(&mut self, flag: u8) {
        self.flags |= flag;
    }
}

impl Message for Packet {
    type Side = Telemetry;

    #[inline]
    fn side(&self) -> Option<u32> {
        self.has(Self::SIDE).then_some(self.info)
    }

    fn at_side(mut self, slot: u32) -> Self {
        self.set(Self::SIDE);
        self.info = slot;
        self
    }

    #[inline]
    fn digest(&self) -> u64 {
        (u64::from(self.flow) << 32 | u64::from(self.seq)) ^ (u64::from(self.kind as u8) << 60) ^ (u64::from(self.flags) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_numbers_and_names_of_their_own() {
        for (i, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i, "numbers are given in order, and fit into the four bits of a digest");
            assert!(Kind::ALL[..i].iter().all(|other| other.name() != kind.name()));
            assert!(kind.owner() != Owner::Mechanism || kind.is_seen(), "mechanisms take in what they see");
        }
        assert!(Kind::ALL.len() <= 16);
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
