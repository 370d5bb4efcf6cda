//! Fingerprints of runs: a hash of the arrivals at each node, in order.
//!
//! The hash is a polynomial over the integers modulo the prime 2^61 − 1. Each arrival turns the hash H into
//! H·r + v. The value v is a sum of time, link and digest of the message, each multiplied by a separate
//! factor. If two runs differ in one arrival, their fingerprints differ. If two runs differ in n arrivals,
//! their fingerprints are equal with probability n/2^61.
//!
//! Fast-forward does not simulate repeated arrivals, and computes the hash in closed form. The value v is
//! linear in time, packet number and flow number. In each repetition of a period, v therefore grows by a
//! constant amount. See the tests.

/// 2^61 - 1.
const PRIME: u64 = (1 << 61) - 1;
/// Base r of the polynomial. The base and the factor of the first word of a message are below 2^58: sums stay
/// below 2^124. The factor of the second word, which has 16 bits, is below 2^47: the product fits into 64
/// bits.
const BASE: u64 = 0x02A5_B7C9_3E1D_4F6B;
/// Position of the lowest bit of the time in the key of an arrival.
const TIME: u32 = 16;
const FACTORS: [u64; 2] = [0x01B8_3D2F_5947_C6E3, 0x6C91_E57A_F40D];

/// Fingerprint of a node: a representative of the hash modulo the prime, and the number of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    hash: u64,
    arrivals: u64,
}

fn product(x: u64, y: u64) -> u64 {
    (u128::from(x) * u128::from(y) % u128::from(PRIME)) as u64
}

fn sum(x: u64, y: u64) -> u64 {
    ((u128::from(x) + u128::from(y)) % u128::from(PRIME)) as u64
}

fn difference(x: u64, y: u64) -> u64 {
    sum(x, PRIME - y % PRIME)
}

fn power(base: u64, exponent: u64) -> u64 {
    let (mut square, mut rest, mut result) = (base, exponent, 1);
    while rest > 0 {
        if rest & 1 == 1 {
            result = product(result, square);
        }
        (square, rest) = (product(square, square), rest >> 1);
    }
    result
}

/// Returns the multiplicative inverse modulo the prime.
fn inverse(x: u64) -> u64 {
    power(x % PRIME, PRIME - 2)
}

impl Fingerprint {
    /// Returns the fingerprint of a node without arrivals.
    pub(crate) const fn of_node(id: u32) -> Self {
        Self { hash: id as u64 + 1, arrivals: 0 }
    }

    /// Adds an arrival. `key` has the link in its lowest 16 bits, and the time above.
    #[inline]
    pub(crate) const fn record(&mut self, key: u64, message: [u64; 2]) {
        let (hash, word) = (self.hash as u128 * BASE as u128, message[0] as u128 * FACTORS[0] as u128);
        let sum = hash + word + key as u128 + (message[1] * FACTORS[1]) as u128;
        // 2^61 is 1 modulo the prime: the bits above the lowest 61 bits are added to them.
        self.hash = (sum as u64 & PRIME) + (sum >> 61) as u64;
        self.arrivals += 1;
    }

    /// Returns the fingerprint after `times` more repetitions of a period. The period ran from `first` to
    /// `last`, and again from `last` to `self`. Each repetition has the same arrivals, later and further into
    /// the flows by constant amounts. Returns `None` if the two periods have different numbers of arrivals.
    #[must_use]
    pub fn again(self, first: Self, last: Self, times: u64) -> Option<Self> {
        let arrivals = self.arrivals - last.arrivals;
        if arrivals != last.arrivals - first.arrivals {
            return None;
        }
        // A period turns H into H·a + b. In each repetition b grows by the same amount.
        let a = power(BASE % PRIME, arrivals);
        let added = |from: Self, to: Self| difference(to.hash, product(from.hash, a));
        let grows = difference(added(last, self), added(first, last));
        let mut map = Stretches { power: a, sum: sum(added(last, self), grows), slope: grows, length: 1 };
        let (mut hash, mut begun, mut rest) = (self.hash, 0, times);
        while rest > 0 {
            if rest & 1 == 1 {
                hash = map.after(hash, begun);
                begun += map.length;
            }
            map = map.doubled();
            rest >>= 1;
        }
        Some(Self { hash, arrivals: self.arrivals + times * arrivals })
    }

    /// Returns the fingerprint after one more repetition of a period that has happened twice, with other
    /// arrivals between. `from` has the fingerprints at the start and end of both periods. `later` has the
    /// delays of the second and of the new repetition after the first, in picoseconds. `further` has the
    /// progress of the new and of the second repetition, in a common unit. Returns `None` if the two periods
    /// have different numbers of arrivals.
    #[must_use]
    pub fn once_more(self, from: [[Self; 2]; 2], later: [u64; 2], further: [u32; 2]) -> Option<Self> {
        let arrivals = from.map(|[first, last]| last.arrivals - first.arrivals);
        if arrivals[0] != arrivals[1] || further[1] == 0 {
            return None;
        }
        // A period turns H into H·a + b. In a later repetition b grows by the delay times a sum of powers of
        // the base, and by a term linear in the progress of flows.
        let a = power(BASE % PRIME, arrivals[0]);
        let [first, second] = from.map(|[first, last]| difference(last.hash, product(first.hash, a)));
        let powers = product(difference(a, 1), inverse(BASE % PRIME - 1));
        let [then, now] = later.map(|later| product(product(later % PRIME, 1 << TIME), powers));
        let ratio = product(further[0].into(), inverse(further[1].into()));
        let packets = product(difference(difference(second, first), then), ratio);
        let hash = sum(product(self.hash, a), sum(sum(first, now), packets));
        Some(Self { hash, arrivals: self.arrivals + arrivals[0] })
    }

    /// Reads the memory of the fingerprint; returns a value that depends on the data read.
    #[inline]
    pub(crate) const fn touch(self) -> u64 {
        self.hash
    }

    /// Returns the hash as a number below the prime.
    pub(crate) const fn value(self) -> u64 {
        self.hash % PRIME
    }
}

/// Effect of `length` periods in sequence on a hash H, after n earlier periods: H·power + sum + n·slope.
#[derive(Clone, Copy)]
struct Stretches {
    power: u64,
    sum: u64,
    slope: u64,
    length: u64,
}

impl Stretches {
    fn after(self, hash: u64, before: u64) -> u64 {
        sum(product(hash, self.power), sum(self.sum, product(before % PRIME, self.slope)))
    }

    fn doubled(self) -> Self {
        // The periods of the second half have `length` more earlier periods.
        Self {
            power: product(self.power, self.power),
            sum: sum(product(self.sum, self.power), sum(self.sum, product(self.length % PRIME, self.slope))),
            slope: sum(product(self.slope, self.power), self.slope),
            length: self.length.wrapping_mul(2),
        }
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

    const STRETCH: [Arrival; 4] =
        [(1_000, 1, 7, 40, 0), (1_080, 2, 7, 12, 1), (1_500, 1, 9, 8, 0), (1_500, 65_535, 9, 3, 11)];

    #[test]
    fn every_part_of_an_arrival_and_their_order_count() {
        let base = of(&STRETCH);
        for place in 0..STRETCH.len() {
            for change in
                [(1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1)]
            {
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
        // Each time 5000 ps later and 3 packets further.
        let after = |from: Fingerprint, k: u64| {
            let mut print = from;
            for (time, link, flow, packet, kind) in STRETCH {
                record(&mut print, (time + k * 5_000, link, flow, packet + k * 3, kind));
            }
            print
        };
        let begun = Fingerprint::of_node(5);
        let once = after(begun, 0);
        let twice = after(once, 1);
        for times in [0, 1, 2, 3, 17, 1_000] {
            let simulated = (2..2 + times).fold(twice, after);
            let again = twice.again(begun, once, times).unwrap();
            assert_eq!(
                (again.value(), again.arrivals),
                (simulated.value(), simulated.arrivals),
                "{times} times"
            );
        }
        let mut more = twice;
        record(&mut more, STRETCH[0]);
        assert_eq!(more.again(begun, once, 1), None, "an arrival more is no repetition");
    }

    #[test]
    fn a_stretch_that_comes_again_later_and_elsewhere_is_a_closed_form() {
        // Two flows: one advances by 6 packets while the other advances by 4; other arrivals come between.
        let after = |from: Fingerprint, (later, times): (u64, u64)| {
            let mut print = from;
            for (time, link, flow, packet, kind) in STRETCH {
                record(
                    &mut print,
                    (time + later, link, flow, packet + times * if flow == 7 { 3 } else { 2 }, kind),
                );
            }
            print
        };
        let other = |mut print: Fingerprint| {
            record(&mut print, (77, 2, 1, 1, 4));
            print
        };
        let first = Fingerprint::of_node(5);
        let second = other(after(first, (0, 0)));
        for (times, further) in [(5, [5, 2]), (1, [1, 2]), (0, [0, 2]), (2, [1, 1])] {
            let seen = [[first, after(first, (0, 0))], [second, after(second, (9_000, 2))]];
            let third = other(seen[1][1]);
            let again = third.once_more(seen, [9_000, 31_007], further).unwrap();
            let simulated = after(third, (31_007, times));
            assert_eq!(
                (again.value(), again.arrivals),
                (simulated.value(), simulated.arrivals),
                "{times} times"
            );
        }
        let (seen, empty) = ([first, second], [first, first]);
        assert_eq!(second.once_more([seen, empty], [1, 2], [1, 1]), None, "an arrival more is no repetition");
        assert_eq!(second.once_more([empty, empty], [1, 2], [1, 1]), Some(second), "nothing came");
    }
}
