//! The kinds of frames and their fields. A line of `frames!` gives a kind, its fields, its scope and its
//! owner.
//!
//! A frame has 64 bits for fields. Fields are packed and unpacked only here. Data packets and their answers
//! are read with every packet, and have accessors of the packet instead of fields.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use xoff_engine::state::{StateVisitor, Word};

/// The distance that a frame travels, and the mechanisms that see the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// From one end of a flow to the other; mechanisms do not see the frame as control.
    Flow,
    /// From a switch to a host; mechanisms of nodes on the path see the frame and may end the frame there.
    Path,
    /// MAC control: to the neighbour only, without its forwarding delay.
    Link,
}

/// The part that handles a frame at its last node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The transport of the flow.
    Transport,
    /// The congestion control of the flow.
    Control,
    /// A mechanism, in the hook for control frames.
    Mechanism,
    /// The hosts at both ends of the flow; one pulls the other's packets.
    Pulls,
}

/// The fields of a kind of frame.
pub trait Payload: Copy {
    /// Returns the kind.
    fn kind() -> Kind;
    /// Packs the fields.
    fn pack(self) -> u64;
    /// Unpacks the fields of a packet of this kind.
    fn unpack(bits: u64) -> Self;
    /// Returns the packet of the frame's flow that a field of type [`Index`] names.
    fn named(&self) -> Option<u32>;
    /// Shows each field by its class of state.
    fn walk(&mut self, walk: &mut StateVisitor<'_>);
}

/// A kind of frame of a plug-in. [`crate::plugin_frames!`] makes one.
///
/// [`crate::network::plugins::install`] gives the kind a number. The fingerprint of a run has the name of the kind and not the
/// number: a second plug-in in the core changes no fingerprint.
#[derive(Debug)]
pub struct Frame {
    /// Name in tables: the plug-in, a dot, and the name in the plug-in.
    pub name: &'static str,
    /// The distance that a frame travels.
    pub scope: Scope,
    /// The part that handles a frame at its last node.
    pub owner: Owner,
    pub(crate) walk: fn(u64, &mut StateVisitor<'_>) -> u64,
    pub(crate) named: fn(u64) -> Option<u32>,
    pub(crate) number: AtomicU8,
}

impl Frame {
    /// A kind whose fields are those of `P`.
    pub const fn new<P: Payload>(name: &'static str, scope: Scope, owner: Owner) -> Self {
        let walk = |bits: u64, walk: &mut StateVisitor<'_>| {
            let mut payload = P::unpack(bits);
            payload.walk(walk);
            payload.pack()
        };
        let named = |bits| P::unpack(bits).named();
        // A number that no packet has.
        Self { name, scope, owner, walk, named, number: AtomicU8::new(Kind::END) }
    }

    /// Returns the kind in packets.
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::of(self.number.load(Ordering::Relaxed))
    }

    /// Returns the number in fingerprints: FNV-1a of the name.
    pub(crate) const fn id(&self) -> u32 {
        let (bytes, mut hash, mut i) = (self.name.as_bytes(), 0x811c_9dc5_u32, 0);
        while i < bytes.len() {
            hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
            i += 1;
        }
        hash
    }
}

/// Frames of all plug-ins, with numbers, which [`crate::network::plugins::install`] fills.
pub(crate) static OF_PLUGINS: OnceLock<Vec<&'static Frame>> = OnceLock::new();

/// Returns the plug-in's frame of a kind; `None` for kinds of xoff.
#[inline]
pub(crate) fn of_plugins(kind: Kind) -> Option<&'static Frame> {
    if kind.number() < Kind::OF_PLUGINS {
        return None;
    }
    OF_PLUGINS.get()?.iter().find(|frame| frame.kind() == kind).copied()
}

/// A field of a frame.
pub trait Field: Copy {
    /// Bits of the field.
    const BITS: u32;
    /// As bits, of which the lowest count.
    fn pack(self) -> u64;
    /// Unpacks the field from the lowest bits.
    fn unpack(bits: u64) -> Self;
    /// Returns the packet of the frame's flow, for a field that names a packet.
    fn named(&self) -> Option<u32> {
        None
    }
    /// Shows the field.
    fn walk(&mut self, walk: &mut StateVisitor<'_>);
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

            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
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

    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
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

    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(self.word());
    }
}

macro_rules! of_the_flow {
    ($($(#[$about:meta])* $name:ident as $walk:ident $(named $named:ident)?;)*) => {
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

            $(fn named(&self) -> Option<u32> {
                let $named = self.0;
                Some($named)
            })?

            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                walk.$walk(&mut self.0);
            }
        })*
    };
}

of_the_flow! {
    /// The index of a packet in the frame's flow.
    Index as packet named packet;
    /// The total grant of the receiver since the flow began, or the total demand of the flow.
    Granted as granted;
}

/// Blocks of a class that an output has sent, or the limit that the neighbour grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// True for the count of the sender of blocks.
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

    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value((self.is_own, self.class).word());
        walk.counter(self.is_own, self.class, &mut self.count);
    }
}

/// The message of `ConWeave`'s switch at the destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Says {
    /// The first packet of an epoch has come.
    Reply = 0,
    /// The TAIL of the epoch has arrived.
    Clear = 1,
    /// A packet of a path was marked.
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

    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.value(Field::pack(*self));
    }
}

/// True when fields, given as lowest bit and size, do not overlap and fit into 64 bits.
pub const fn fit(fields: &[(u32, u32)]) -> bool {
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

/// The kind of a frame, one of 64.
///
/// The numbers below [`Kind::OF_PLUGINS`] are kinds of xoff, with a line each in `frames!`. The numbers from there on
/// are kinds of plug-ins: a range of five numbers for each pair of scope and owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kind(u8);

/// Scope and owner of each range of kinds of plug-ins, in the order of numbers.
pub(crate) const RANGES: [(Scope, Owner); 4] = [
    (Scope::Flow, Owner::Control),
    (Scope::Path, Owner::Control),
    (Scope::Path, Owner::Mechanism),
    (Scope::Link, Owner::Mechanism),
];

impl Kind {
    /// The first number of a plug-in's kind.
    pub const OF_PLUGINS: u8 = 44;
    /// The kinds of all plug-ins with the same scope and owner.
    pub(crate) const IN_A_RANGE: u8 = 5;
    /// One past the highest number.
    pub(crate) const END: u8 = 64;

    /// Returns the kind of a number in a packet.
    #[inline]
    pub(crate) const fn of(number: u8) -> Self {
        Self(number)
    }

    /// Returns the number of the kind.
    #[inline]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns the bit of the kind in a set.
    #[inline]
    pub(crate) const fn bit(self) -> u64 {
        1 << self.0
    }

    /// Returns scope and owner of a kind of a plug-in.
    #[inline]
    const fn range(self) -> (Scope, Owner) {
        RANGES[(self.0.wrapping_sub(Self::OF_PLUGINS) / Self::IN_A_RANGE) as usize % RANGES.len()]
    }
}

/// Makes a struct for the fields of each kind, and the list of xoff's kinds. A line has the number, the name in
/// tables, scope, owner, and the fields with the lowest bit of each. The number is part of fingerprints and never
/// changes. Tables of packets show bits 0 to 31 and 32 to 63.
macro_rules! frames {
    ($($(#[$attribute:meta])* $kind:ident = $number:literal $name:literal $scope:ident $owner:ident $({
        $($(#[$about:meta])* $field:ident: $type:ty = $at:literal,)*
    })?;)*) => {
        #[allow(non_upper_case_globals, reason = "a kind has the name of the struct of its fields")]
        impl Kind {
            $($(#[$attribute])* pub const $kind: Self = Self($number);)*

            /// All kinds of xoff.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// The name in tables.
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* _ => of_plugins(self).map_or("unknown", |frame| frame.name) }
            }

            /// The scope of the kind.
            #[inline]
            pub const fn scope(self) -> Scope {
                match self { $(Self::$kind => Scope::$scope,)* _ => self.range().0 }
            }

            /// The owner of the kind.
            #[inline]
            pub const fn owner(self) -> Owner {
                match self { $(Self::$kind => Owner::$owner,)* _ => self.range().1 }
            }
        }

        $($(
            #[doc = concat!("What a frame of kind `", $name, "` carries.")]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $kind { $($(#[$about])* pub $field: $type,)* }

            impl Payload for $kind {
                #[inline]
                fn kind() -> Kind {
                    Kind::$kind
                }

                #[inline]
                fn pack(self) -> u64 {
                    const { assert!(fit(&[$(($at, <$type as Field>::BITS)),*])) }
                    0 $(| Field::pack(self.$field) << $at)*
                }

                #[inline]
                fn unpack(bits: u64) -> Self {
                    Self { $($field: Field::unpack(bits >> $at)),* }
                }

                fn named(&self) -> Option<u32> {
                    None$(.or_else(|| Field::named(&self.$field)))*
                }

                fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                    $(Field::walk(&mut self.$field, walk);)*
                }
            }
        )?)*

        /// Shows the fields of a frame and returns the fields afterwards, for kinds with fields.
        pub(crate) fn walk_fields(kind: Kind, bits: u64, walk: &mut StateVisitor<'_>) -> Option<u64> {
            if let Some(frame) = of_plugins(kind) {
                return Some((frame.walk)(bits, walk));
            }
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
    Data = 0 "data" Flow Transport;
    /// An acknowledgement of all packets before a packet.
    Ack = 1 "ack" Flow Transport;
    /// A loss of the expected packet, which a later packet or a trimmed header revealed.
    Nack = 2 "nack" Flow Transport;
    /// DCQCN's congestion notification to the sender of the flow.
    Cnp = 3 "cnp" Flow Control;
    /// Source Flow Control message to the sender of the flow.
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
    /// Congestion Isolation message (Ethernet type 0x89A2) about the flow.
    Cim = 6 "cim" Link Mechanism {
        /// Isolates the flow, or ends the isolation.
        is_add: bool = 0,
        /// The offending packet.
        offending: Index = 32,
    };
    /// `PortFC`; the flow field is the congested switch.
    PortFc = 7 "portfc" Link Mechanism {
        /// The output of the switch.
        output: u32 = 0,
        /// Pauses the packets for the output, or resumes.
        is_pause: bool = 32,
        /// True for packets that end at the switch behind the output, false for all other packets.
        is_direct: bool = 33,
    };
    /// Backward Congestion Notification to the source of the flow.
    Bcn = 8 "bcn" Path Control {
        /// Feedback; zero to stop.
        feedback: i32 = 0,
        /// The congestion point.
        point: u32 = 32,
    };
    /// Congestion Notification Message (QCN) to the source of the flow.
    Cnm = 9 "cnm" Path Control {
        /// Quantised feedback.
        feedback: u32 = 0,
        /// The congestion point.
        point: u32 = 32,
    };
    /// The header of a data packet whose payload was trimmed.
    Header = 10 "header" Flow Transport;
    /// A packet arrived out of order, without a loss.
    Sack = 11 "sack" Flow Transport;
    /// Backpressure Flow Control.
    Bfc = 12 "bfc" Link Mechanism {
        /// A queue of the neighbour's output.
        queue: u16 = 0,
        /// Pauses the queue, or resumes.
        is_pause: bool = 32,
    };
    /// Credits of a link.
    Credits = 13 "credits" Link Mechanism {
        /// The count of the sender, or the grant of a receiver.
        blocks: Blocks = 0,
    };
    /// A pull from the receiver to the source of a flow, or a request the other way.
    Pull = 14 "pull" Flow Pulls {
        /// The total grant of the receiver, or the total demand of the flow.
        total: Granted = 0,
    };
    /// `ConWeave`, from the switch of the flow's destination to the switch of the source.
    Weave = 15 "weave" Path Mechanism {
        /// The event.
        says: Says = 0,
        /// Of which epoch, or path.
        of: u32 = 32,
    };
    /// The load of a port, from the node to a neighbour.
    Load = 16 "load" Link Mechanism {
        /// The port.
        port: u16 = 0,
        /// True when the link is up.
        is_up: bool = 16,
        /// Nanoseconds until the waiting frames have left.
        wait: u32 = 32,
    };
    /// Link-level retry: the start of a repetition, or a request for a repetition.
    Retry = 17 "retry" Link Mechanism {
        /// The repetition of the kept frames starts.
        is_start: bool = 0,
        /// The receiver stays silent, because a request is under way.
        is_late: bool = 1,
        /// The frame that the receiver expects.
        number: u32 = 32,
    };
    /// A relaying host tells the source of a flow about free slots for the flow.
    Slots = 18 "slots" Path Mechanism {
        /// No slot is free.
        are_full: bool = 0,
    };
    /// The first bit of a slice over NVLink.
    Slice = 19 "slice" Link Mechanism {
        /// The queue of arrivals at the receiving node.
        queue: u32 = 0,
    };
    /// A control message of an application.
    Control = 20 "control" Link Mechanism {
        /// The number of the application.
        application: u8 = 32,
        /// The control line at the receiving node.
        line: u32 = 0,
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
