//! What tells two runs apart: a number for each node over all that arrived there, in order.
//!
//! A polynomial over the integers modulo the prime 2^61 - 1: each arrival makes H to H·r + v, where v is a sum of its time, its link, and
//! what the message says of itself, each with a factor of its own. Two runs that differ in one arrival differ in it; those that differ
//! in many agree with a chance of n/2^61 for n of them. As v is linear in the time, in the number of a packet and in that of a flow, a
//! stretch of arrivals that comes again, later and further into its flows, is a closed form in what the first one was: see the test.

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// The base of the polynomial, and the factor of the first word of a message: below 2^58, so that sums stay below 2^124. That of the
/// second word, of sixteen bits, is below 2^47, so that the product is a word.
const BASE: u64 = 0x02A5_B7C9_3E1D_4F6B;
const FACTORS: [u64; 2] = [0x01B8_3D2F_5947_C6E3, 0x6C91_E57A_F40D];

/// That of a node; a number modulo the prime that need not be the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Of a node that has seen nothing.
    pub const fn of_node(id: u32) -> Self {
        Self(id as u64 + 1)
    }

    /// A message arrived; `key` is sixteen bits of its link below the time.
    #[inline]
    pub const fn record(&mut self, key: u64, message: [u64; 2]) {
        let (hash, word) = (self.0 as u128 * BASE as u128, message[0] as u128 * FACTORS[0] as u128);
        let sum = hash + word + key as u128 + (message[1] * FACTORS[1]) as u128;
        // 2^61 is one modulo the prime: what lies above the lowest 61 bits is added to them.
        self.0 = (sum as u64 & PRIME) + (sum >> 61) as u64;
    }

    /// Reads it.
    #[inline]
    pub const fn touch(self) -> u64 {
        self.0
    }

    /// The smallest number that it stands for.
    pub const fn value(self) -> u64 {
        self.0 % PRIME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrival: time, link, flow, packet and kind.
    type Arrival = (u64, u64, u64, u64, u64);

    fn record(print: &mut Fingerprint, (time, link, flow, packet, kind): Arrival) {
        print.record(time << 16 | link, [flow << 32 | packet, kind]);
    }

    fn of(arrivals: &[Arrival]) -> u64 {
        let mut print = Fingerprint::of_node(3);
        for arrival in arrivals {
            record(&mut print, *arrival);
        }
        print.value()
    }

    const STRETCH: [Arrival; 4] = [(1_000, 1, 7, 40, 0), (1_080, 2, 7, 12, 1), (1_500, 1, 9, 8, 0), (1_500, 65_535, 9, 3, 11)];

    #[test]
    fn every_part_of_an_arrival_and_their_order_count() {
        let base = of(&STRETCH);
        for place in 0..STRETCH.len() {
            for change in [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1)] {
                let mut other = STRETCH;
                let (a, b) = (&mut other[place], change);
                *a = (a.0 + b.0, a.1 - b.1, a.2 + b.2, a.3 + b.3, a.4 + b.4);
                assert_ne!(of(&other), base, "{place} {change:?}");
            }
        }
        let mut swapped = STRETCH;
        swapped.swap(1, 2);
        assert_ne!(of(&swapped), base);
        assert_ne!(of(&STRETCH[..3]), base);
        assert_ne!(Fingerprint::of_node(4).value(), Fingerprint::of_node(3).value());
    }

    #[test]
    fn a_stretch_that_comes_again_is_a_closed_form() {
        // Each time 5000 ps later and 3 packets further: H becomes H·a + b + k·c, where c is what b grows by.
        let (later, further, times) = (5_000, 3, 1_000_u64);
        let shifted = |k: u64| STRETCH.map(|(time, link, flow, packet, kind)| (time + k * later, link, flow, packet + k * further, kind));
        let after = |start: u64, k: u64| {
            let mut print = Fingerprint(start);
            for arrival in shifted(k) {
                record(&mut print, arrival);
            }
            print.value()
        };
        let times_of = |x: u64, y: u64| (u128::from(x) * u128::from(y) % u128::from(PRIME)) as u64;
        let plus = |x: u64, y: u64| (x + y) % PRIME;
        let (a, b) = (plus(after(1, 0), PRIME - after(0, 0)), after(0, 0));
        let c = plus(after(0, 1), PRIME - b);
        // Doubling: the map of 2k stretches from that of k.
        let (mut start, mut begun) = (5_u64, 0_u64);
        let (mut power, mut sum, mut slope, mut length) = (a, b, c, 1_u64);
        let mut rest = times;
        while rest > 0 {
            if rest & 1 == 1 {
                start = plus(times_of(start, power), plus(sum, times_of(begun, slope)));
                begun += length;
            }
            // Those of the second half begin `length` stretches later.
            sum = plus(times_of(sum, power), plus(sum, times_of(length, slope)));
            slope = plus(times_of(slope, power), slope);
            (power, length, rest) = (times_of(power, power), 2 * length, rest >> 1);
        }
        let simulated = (0..times).fold(5, after);
        assert_eq!(start, simulated);
    }
}
