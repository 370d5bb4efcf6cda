//! Random streams. The key of a stream is (seed, entity, purpose): a new component has a new stream, and does
//! not change the draws of other components.
//!
//! Each stream is a PCG XSL RR 128/64 generator (O'Neill 2014, HMC-CS-2014-0905). State and stream number
//! come from a `SplitMix64` mix of the key. Only +, −, × and bit operations are used: draws are equal on all
//! machines.

const MULTIPLIER: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;

/// One round of `SplitMix64` (Steele, Lea, Flood 2014): a good 64-bit mixer, also used for stable hashes.
#[inline]
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Mixes a word into a hash.
#[inline]
pub fn fold(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    state: u128,
    increment: u128,
}

impl Stream {
    /// Returns the stream of `entity` (a node, a workload) for `purpose` (a short constant text) under
    /// `seed`.
    pub fn new(seed: u64, entity: u64, purpose: &str) -> Self {
        let name = purpose
            .bytes()
            .fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3));
        let a = mix(seed ^ mix(entity) ^ mix(name).rotate_left(17));
        let b = mix(a ^ name);
        let c = mix(b ^ entity);
        let d = mix(c ^ seed);
        let mut stream = Self {
            state: (u128::from(a) << 64) | u128::from(b),
            increment: ((u128::from(c) << 64) | u128::from(d)) | 1,
        };
        stream.next_u64();
        stream
    }

    /// Returns a hash of the state, on which all later draws depend.
    pub(crate) const fn word(&self) -> u64 {
        mix((self.state >> 64) as u64 ^ mix(self.state as u64)) ^ self.increment as u64
    }

    /// Returns the next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
        let xored = ((self.state >> 64) as u64) ^ self.state as u64;
        xored.rotate_right((self.state >> 122) as u32)
    }

    /// Returns a number that is uniform in [0, 1), with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Returns a whole number that is uniform in 0..n, without bias (Lemire 2019). `n` must not be zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a draw from an empty range");
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if (wide as u64) >= n.wrapping_neg() % n {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Returns one of `n` indices with equal probability.
    pub fn place(&mut self, n: usize) -> usize {
        self.below(n as u64) as usize
    }

    /// Shuffles in place (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_every_part_of_the_key() {
        let first = |s, e, p| Stream::new(s, e, p).next_u64();
        let base = first(1, 2, "red");
        assert_eq!(base, first(1, 2, "red"));
        assert!(
            [first(2, 2, "red"), first(1, 3, "red"), first(1, 2, "ecmp"), first(2, 1, "red")]
                .iter()
                .all(|x| *x != base)
        );
    }

    #[test]
    fn uniform_has_the_right_mean_and_range() {
        let mut s = Stream::new(7, 0, "test");
        let n = 200_000;
        let mean = (0..n).map(|_| s.uniform()).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        assert!((0..1000).all(|_| s.below(7) < 7));
    }
}
