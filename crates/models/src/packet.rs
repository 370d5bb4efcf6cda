//! What travels on links: data and control frames, 24 bytes each.

use xoff_engine::Message;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Kind {
    /// A piece of a flow; `seq` is the packet's index.
    #[default]
    Data,
    /// `seq` is the next packet that the receiver expects.
    Ack,
    /// A gap: `seq` is the packet that the receiver expects.
    Nack,
    /// DCQCN's congestion notification to the sender of `flow`.
    Cnp,
    /// Source Flow Control message to the sender of `flow`; `info` is the pause in nanoseconds, zero to resume.
    Sfcm,
    /// Priority-based flow control, between neighbours only; `seq` is a bit per class, `info` the quanta (zero: resume).
    Pfc,
    /// Congestion Isolation message (Ethernet type 0x89A2), between neighbours only; `seq` is 1 to isolate `flow`, 0 to take that
    /// back, and `info` the offending packet's index in its flow.
    Cim,
    /// `PortFC`, between neighbours only; `flow` is the congested switch, `seq` its output, `info` what of it pauses or resumes.
    PortFc,
    /// Backward Congestion Notification to the source of `flow`; `seq` is the feedback as a signed number (zero: stop), `info` the
    /// congestion point.
    Bcn,
    /// Congestion Notification Message (QCN) to the source of `flow`; `seq` is the quantised feedback, `info` the congestion point.
    Cnm,
}

impl Kind {
    /// MAC control: goes to the neighbour and bypasses its forwarding delay.
    #[inline]
    pub const fn is_link_local(self) -> bool {
        matches!(self, Self::Pfc | Self::Cim | Self::PortFc)
    }

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Cnp => "cnp",
            Self::Sfcm => "sfcm",
            Self::Pfc => "pfc",
            Self::Cim => "cim",
            Self::PortFc => "portfc",
            Self::Bcn => "bcn",
            Self::Cnm => "cnm",
        }
    }
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
    /// Payload of control frames, as [`Kind`] says; for data, what a mechanism tags: the congestion point that limits its source (BCN), or a
    /// queue of the interface.
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
    /// An ACK that carries a congestion notification.
    pub const CNP: u8 = 1 << 4;
    /// A packet that was sent before.
    pub const RETRANSMITTED: u8 = 1 << 5;
    /// The last packet of its flow.
    pub const LAST: u8 = 1 << 6;

    /// A frame to node `dst`.
    pub fn new(kind: Kind, flow: u32, seq: u32, dst: u32, bytes: u16, class: u8) -> Self {
        Self { flow, seq, route: dst, info: 0, bytes, in_port: 0, path: 0, kind, flags: class }
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
    #[inline]
    fn digest(&self) -> u64 {
        (u64::from(self.flow) << 32 | u64::from(self.seq)) ^ (u64::from(self.kind as u8) << 60) ^ (u64::from(self.flags) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_24_bytes_and_keeps_its_fields_apart() {
        assert_eq!(size_of::<Packet>(), 24);
        let mut p = Packet::new(Kind::Data, 7, 3, 0x00AB_CDEF, 1048, 5);
        p.hop();
        p.hop();
        p.set(Packet::CE);
        assert_eq!((p.dst(), p.hops(), p.class(), p.has(Packet::CE), p.has(Packet::CNP)), (0x00AB_CDEF, 2, 5, true, false));
    }
}
