//! Side records: data beside a frame without room in its 24 bytes. A component that writes a side record has
//! a line in `records!`. The ACK of a packet takes its record over.

use xoff_engine::{Slab, state};

use crate::frames::telemetry::Hop;

/// Defines [`Metadata`]. A line gives the kind of a field for state walks, the field and its type. Records
/// are reused with their memory.
macro_rules! records {
    ($($(#[doc = $about:literal])* $class:ident $field:ident: $type:ty;)*) => {
        /// Side record of a frame; unwritten fields are empty.
        #[derive(Debug, Clone, Default)]
        pub struct Metadata {
            $($(#[doc = $about])* pub $field: $type,)*
        }

        state!(Metadata {
            $($class: $field;)*
        });

        impl Metadata {
            /// Empties the record.
            pub fn clear(&mut self) {
                $(Empty::empty(&mut self.$field);)*
            }
        }
    };
}

records! {
    /// Tag of the packet ([`crate::frames::packet::Packet::tag`]), whose word in the frame holds the slot.
    value tag: u32;
    /// Packet that an acknowledgement other than an ACK answers, relative to the next expected packet.
    value answered: i32;
    /// Further answered packets, relative to the next expected packet.
    value also: Vec<i32>;
    /// Telemetry of each passed output, in order (INT).
    part hops: Vec<Hop>;
    /// Utilisation of the most utilised output on the path (PINT).
    value utilisation: f64;
}

trait Empty {
    fn empty(&mut self);
}

impl<T> Empty for Vec<T> {
    fn empty(&mut self) {
        self.clear();
    }
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Empty for $number {
            fn empty(&mut self) {
                *self = Self::default();
            }
        })*
    };
}

numbers! { u32 i32 f64 }

/// Side records of packets at the nodes of a partition.
pub type Records = Slab<Metadata>;
