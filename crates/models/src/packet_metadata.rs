//! What travels beside a frame that has no room for it in its 24 bytes, in a side record of the engine. A part that writes there has
//! a line of [`records!`] for what it writes. The ACK of a packet takes its record over.

use xoff_engine::{Slab, state};

use crate::telemetry::Hop;

/// Makes [`Metadata`]: a line is how a record is walked, a field and its type. Records are used again, and keep their memory.
macro_rules! records {
    ($($(#[doc = $about:literal])* $class:ident $field:ident: $type:ty;)*) => {
        /// The records beside one frame; those that no part has written are empty.
        #[derive(Debug, Clone, Default)]
        pub struct Metadata {
            $($(#[doc = $about])* pub $field: $type,)*
        }

        state!(Metadata {
            $($class: $field;)*
        });

        impl Metadata {
            /// Empties them.
            pub fn clear(&mut self) {
                $(Empty::empty(&mut self.$field);)*
            }
        }
    };
}

records! {
    /// What the packet was tagged with ([`crate::packet::Packet::tag`]); the slot takes the place of that in the frame.
    value tag: u32;
    /// The packet that an answer other than an ACK answers, from the one that is expected next; that is no more in the frame, either.
    value answered: i32;
    /// Other packets that an answer answers, counted so.
    value also: Vec<i32>;
    /// How each output was that the packet has passed, in order (INT).
    part hops: Vec<Hop>;
    /// How much the one of them is used that is used most (PINT).
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

/// The records beside packets that are here.
pub type Records = Slab<Metadata>;
