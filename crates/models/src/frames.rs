//! The kinds of frames, and what each carries: a line of [`frames!`] is a kind, its fields, how far it goes and who takes it in.
//!
//! A frame has 64 bits of its own; fields are packed and unpacked here and nowhere else. Pieces of flows and
//! answers to them are read with every packet and have accessors of the packet in the place of fields.

use xoff_engine::state::{Walk, Word};

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

/// What a kind of frame carries.
pub trait Payload: Copy {
    /// The kind.
    const KIND: Kind;
    /// As it is in a packet.
    fn pack(self) -> u64;
    /// From a packet of its kind.
    fn unpack(bits: u64) -> Self;
    /// Sees its fields, each as what it is.
    fn walk(&mut self, walk: &mut Walk<'_>);
}

/// What a field of a frame may be.
trait Field: Copy {
    /// Bits that it takes.
    const BITS: u32;
    /// As bits, of which the lowest count.
    fn pack(self) -> u64;
    /// From its bits, and whatever is above them.
    fn unpack(bits: u64) -> Self;
    /// Sees it.
    fn walk(&mut self, walk: &mut Walk<'_>);
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Field for $number {
            const BITS: u32 = <$number>::BITS;

            fn pack(self) -> u64 {
                u64::from(self)
            }

            fn unpack(bits: u64) -> Self {
                bits as Self
            }

            fn walk(&mut self, walk: &mut Walk<'_>) {
                walk.value(self.word());
            }
        })*
    };
}

numbers! { u8 u16 u32 }

impl Field for i32 {
    const BITS: u32 = 32;

    fn pack(self) -> u64 {
        u64::from(self.cast_unsigned())
    }

    fn unpack(bits: u64) -> Self {
        (bits as u32).cast_signed()
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(self.word());
    }
}

impl Field for bool {
    const BITS: u32 = 1;

    fn pack(self) -> u64 {
        u64::from(self)
    }

    fn unpack(bits: u64) -> Self {
        bits & 1 == 1
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(self.word());
    }
}

macro_rules! of_the_flow {
    ($($(#[$about:meta])* $name:ident as $walk:ident;)*) => {
        $($(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl Field for $name {
            const BITS: u32 = 32;

            fn pack(self) -> u64 {
                u64::from(self.0)
            }

            fn unpack(bits: u64) -> Self {
                Self(bits as u32)
            }

            fn walk(&mut self, walk: &mut Walk<'_>) {
                walk.$walk(&mut self.0);
            }
        })*
    };
}

of_the_flow! {
    /// The index of a packet in the frame's flow.
    Index as packet;
    /// What the receiver of the frame's flow has granted since the flow began, or what the flow asks for.
    Granted as granted;
}

/// How many blocks of a class an output has sent, as it says itself; or how far it may go, as its neighbour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// The sender of blocks says it.
    pub is_own: bool,
    /// The class.
    pub class: u8,
    /// The counter.
    pub count: u32,
}

impl Field for Blocks {
    const BITS: u32 = 64;

    fn pack(self) -> u64 {
        u64::from(self.is_own) | u64::from(self.class) << 1 | u64::from(self.count) << 32
    }

    fn unpack(bits: u64) -> Self {
        Self { is_own: bits & 1 == 1, class: (bits >> 1) as u8, count: (bits >> 32) as u32 }
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value((self.is_own, self.class).word());
        walk.counter(self.is_own, self.class, &mut self.count);
    }
}

/// What `ConWeave`'s switch of a destination says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Says {
    /// The first packet of an epoch has come.
    Reply = 0,
    /// Its TAIL has.
    Clear = 1,
    /// A packet that came by a path was marked.
    Notify = 2,
}

impl Field for Says {
    const BITS: u32 = 2;

    fn pack(self) -> u64 {
        self as u64
    }

    fn unpack(bits: u64) -> Self {
        [Self::Reply, Self::Clear, Self::Notify, Self::Notify][bits as usize & 3]
    }

    fn walk(&mut self, walk: &mut Walk<'_>) {
        walk.value(Field::pack(*self));
    }
}

/// Whether fields, each its lowest bit and how many it takes, share none and fit.
const fn fit(fields: &[(u32, u32)]) -> bool {
    let (mut taken, mut i) = (0_u64, 0);
    while i < fields.len() {
        let (at, bits) = fields[i];
        let mask = (u64::MAX >> (64 - bits)) << at;
        if at + bits > 64 || taken & mask != 0 {
            return false;
        }
        taken |= mask;
        i += 1;
    }
    true
}

/// Makes [`Kind`], and a struct for what each kind carries. A line has the number (it is part of fingerprints: it never changes), the
/// name in tables, scope, owner, and fields with the lowest bit of each; tables of packets show bits 0 to 31 and 32 to 63.
macro_rules! frames {
    ($($(#[$attribute:meta])* $kind:ident = $number:literal $name:literal $scope:ident $owner:ident $({
        $($(#[$about:meta])* $field:ident: $type:ty = $at:literal,)*
    })?;)*) => {
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

            /// The kind of a number that a packet keeps.
            #[inline]
            pub(crate) const fn of(number: u8) -> Self {
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

        $($(
            #[doc = concat!("What a frame of kind `", $name, "` carries.")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $kind { $($(#[$about])* pub $field: $type,)* }

            impl Payload for $kind {
                const KIND: Kind = Kind::$kind;

                #[inline]
                fn pack(self) -> u64 {
                    const { assert!(fit(&[$(($at, <$type as Field>::BITS)),*])) }
                    0 $(| Field::pack(self.$field) << $at)*
                }

                #[inline]
                fn unpack(bits: u64) -> Self {
                    Self { $($field: Field::unpack(bits >> $at)),* }
                }

                fn walk(&mut self, walk: &mut Walk<'_>) {
                    $(Field::walk(&mut self.$field, walk);)*
                }
            }
        )?)*

        /// Sees the fields of a frame and returns them as they then are, if its kind has any.
        pub(crate) fn walk_fields(kind: Kind, bits: u64, walk: &mut Walk<'_>) -> Option<u64> {
            match kind {
                $($(Kind::$kind => {
                    $(let _ = stringify!($field);)*
                    let mut payload = $kind::unpack(bits);
                    payload.walk(walk);
                    Some(payload.pack())
                })?)*
                _ => None,
            }
        }
    };
}

frames! {
    /// A piece of a flow.
    #[default]
    Data = 0 "data" Flow Transport;
    /// What came before a packet is here.
    Ack = 1 "ack" Flow Transport;
    /// A loss, of the packet that the receiver expects, seen by another that came, or by its header.
    Nack = 2 "nack" Flow Transport;
    /// DCQCN's congestion notification to the sender of its flow.
    Cnp = 3 "cnp" Flow Control;
    /// Source Flow Control message to the sender of its flow.
    Sfcm = 4 "sfcm" Path Mechanism {
        /// The flow's destination.
        destination: u32 = 0,
        /// The pause in nanoseconds; zero to resume.
        pause: u32 = 32,
    };
    /// Priority-based flow control.
    Pfc = 5 "pfc" Link Mechanism {
        /// A bit for each class.
        classes: u8 = 0,
        /// Quanta of 512 bit times; zero to resume.
        quanta: u16 = 32,
    };
    /// Congestion Isolation message (Ethernet type 0x89A2) about its flow.
    Cim = 6 "cim" Link Mechanism {
        /// To isolate the flow, or to take that back.
        is_add: bool = 0,
        /// The offending packet.
        offending: Index = 32,
    };
    /// `PortFC`; its flow is the congested switch.
    PortFc = 7 "portfc" Link Mechanism {
        /// That switch's output.
        output: u32 = 0,
        /// What waits for it pauses, or resumes.
        is_pause: bool = 32,
        /// Of it that which ends at the switch behind the output, or all else.
        is_direct: bool = 33,
    };
    /// Backward Congestion Notification to the source of its flow.
    Bcn = 8 "bcn" Path Control {
        /// Feedback; zero to stop.
        feedback: i32 = 0,
        /// The congestion point.
        point: u32 = 32,
    };
    /// Congestion Notification Message (QCN) to the source of its flow.
    Cnm = 9 "cnm" Path Control {
        /// Quantised feedback.
        feedback: u32 = 0,
        /// The congestion point.
        point: u32 = 32,
    };
    /// What is left of a piece of a flow whose payload was cut off.
    Header = 10 "header" Flow Transport;
    /// Something came out of order, and nothing needs to be lost.
    Sack = 11 "sack" Flow Transport;
    /// Backpressure Flow Control.
    Bfc = 12 "bfc" Link Mechanism {
        /// A queue of the neighbour's output.
        queue: u16 = 0,
        /// To pause it, or to resume.
        is_pause: bool = 32,
    };
    /// Credits of a link.
    Credits = 13 "credits" Link Mechanism {
        /// The sender repeats its count, or a receiver grants.
        blocks: Blocks = 0,
    };
    /// Toward the source of a flow from its receiver, or the other way.
    Pull = 14 "pull" Flow Pulls {
        /// All that the receiver has granted, or all that the flow asks for.
        total: Granted = 0,
    };
    /// `ConWeave`, from the switch of a flow's destination to that of its source.
    Weave = 15 "weave" Path Mechanism {
        /// What has happened.
        says: Says = 0,
        /// Of which epoch, or path.
        of: u32 = 32,
    };
    /// The load of a port, from its node to a neighbour.
    Load = 16 "load" Link Mechanism {
        /// The port.
        port: u16 = 0,
        /// Whether its link is up.
        is_up: bool = 16,
        /// Nanoseconds until what waits there has left.
        wait: u32 = 32,
    };
    /// Link-level retry: frames come again, or a receiver asks for that.
    Retry = 17 "retry" Link Mechanism {
        /// What is kept comes again, the first of it now.
        is_start: bool = 0,
        /// The receiver keeps silent, since it has asked before.
        is_late: bool = 1,
        /// The frame that it waits for.
        number: u32 = 32,
    };
    /// A host that relays tells the source of a flow whether the flow has a free slot there.
    Slots = 18 "slots" Path Mechanism {
        /// No slot is free.
        are_full: bool = 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_share_bits_or_do_not_fit_are_refused() {
        assert!(fit(&[(0, 1), (1, 31), (32, 32)]) && fit(&[(0, 64)]));
        assert!(!fit(&[(0, 2), (1, 8)]) && !fit(&[(40, 32)]));
    }
}
