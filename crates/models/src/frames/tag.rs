//! The shares of the parts of a scenario in the tag of packets.
//!
//! A packet has a tag of 32 bits. The congestion control has the lowest bits, together with the mechanism that
//! the control listens to. Each other mechanism has bits of its own above, in the order of the registry. Parts
//! that need more than 32 bits together are refused.

/// Bits of a tag.
pub const BITS: u8 = 32;

/// The bits of a part in the tag of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagField {
    /// The lowest bit.
    pub shift: u8,
    /// The number of bits.
    pub bits: u8,
}

impl TagField {
    /// The whole tag.
    pub const WHOLE: Self = Self { shift: 0, bits: BITS };

    /// The bits of a congestion control, and of the mechanism that the control listens to.
    pub const fn lowest(bits: u8) -> Self {
        Self { shift: 0, bits }
    }

    /// The field in a tag.
    #[inline]
    pub const fn read(self, tag: u32) -> u32 {
        tag >> (self.shift % BITS) & self.most()
    }

    /// Returns a tag with another value of the field. Bits of the value beyond the field are lost.
    #[inline]
    pub const fn write(self, tag: u32, value: u32) -> u32 {
        let shift = self.shift % BITS;
        tag & !(self.most() << shift) | (value & self.most()) << shift
    }

    const fn most(self) -> u32 {
        if self.bits >= BITS { u32::MAX } else { (1 << self.bits) - 1 }
    }
}

/// The use of the tag by a congestion control: the bits, and the mechanism that the control listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagUse {
    /// Bits of the control.
    pub bits: u8,
    /// The name of the mechanism.
    pub listens_to: Option<&'static str>,
}

/// Returns the fields of mechanisms, given all congestion controls of a scenario, and name and bits of each
/// mechanism. None without enough bits, and for two mechanisms that would share the lowest bits.
pub fn share<'a>(
    controls: &[TagUse],
    mechanisms: impl IntoIterator<Item = (&'a str, u8)>,
) -> Option<Vec<(&'a str, TagField)>> {
    let mechanisms: Vec<_> = mechanisms.into_iter().filter(|(_, bits)| *bits > 0).collect();
    let is_heard = |name: &str| controls.iter().any(|control| control.listens_to == Some(name));
    let heard: Vec<u8> =
        mechanisms.iter().filter(|(name, _)| is_heard(name)).map(|(_, bits)| *bits).collect();
    let lowest = controls.iter().map(|control| control.bits).chain(heard.iter().copied()).max().unwrap_or(0);
    let mut shift = lowest;
    let mut fields = Vec::new();
    for (name, bits) in mechanisms {
        if is_heard(name) {
            fields.push((name, TagField::lowest(bits)));
        } else {
            fields.push((name, TagField { shift, bits }));
            shift = shift.checked_add(bits).filter(|end| *end <= BITS)?;
        }
    }
    (lowest <= BITS && heard.len() < 2).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_to_their_bits() {
        let (low, high) = (TagField::lowest(5), TagField { shift: 5, bits: 16 });
        let tag = high.write(low.write(u32::MAX, 0b01010), 0x1_2345);
        assert_eq!((low.read(tag), high.read(tag), tag >> 21), (0b01010, 0x2345, (1 << 11) - 1));
        assert_eq!(TagField::WHOLE.write(7, 0xDEAD_BEEF), 0xDEAD_BEEF);
        assert_eq!(TagField::WHOLE.read(0xDEAD_BEEF), 0xDEAD_BEEF);
    }

    #[test]
    fn the_mechanism_of_a_control_shares_the_bits_of_the_control() {
        let field = |shift, bits| TagField { shift, bits };
        let mechanisms = [("bolt", 5), ("reps", 16), ("none", 0)];
        let of = |bits, listens_to| TagUse { bits, listens_to };
        let both = Some(vec![("bolt", field(0, 5)), ("reps", field(5, 16))]);
        assert_eq!(share(&[of(5, Some("bolt"))], mechanisms), both);
        // A control without tags stands at other hosts.
        assert_eq!(share(&[of(0, Some("ecn")), of(5, Some("bolt"))], mechanisms), both);
        assert_eq!(share(&[], [("reps", 16)]), Some(vec![("reps", field(0, 16))]));
        assert_eq!(share(&[of(32, Some("bcn"))], [("bcn", 32)]), Some(vec![("bcn", field(0, 32))]));
        assert_eq!(share(&[of(32, Some("bcn"))], [("bcn", 32), ("reps", 16)]), None);
        assert_eq!(share(&[], [("bfc", 32), ("reps", 16)]), None);
        // Two controls whose mechanisms would write the same bits.
        assert_eq!(share(&[of(5, Some("bolt")), of(4, Some("other"))], [("bolt", 5), ("other", 4)]), None);
    }
}
