//! Elements of a group: sums of rotations.

use xoff_units::{index, number};

/// A rotation of hosts: within each block of `stride · size` hosts, each host becomes the host `stride` further, and
/// the last `stride` hosts become the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Number of hosts by which the rotation moves a host.
    pub stride: u32,
    /// Number of turns after which each host is itself again.
    pub size: u32,
}

/// Longest chain of rotations.
const MOST: usize = 3;

impl Rotation {
    /// True for several turns of another rotation: the same blocks, and a multiple of the stride.
    pub const fn is_power_of(self, other: Self) -> bool {
        self.stride * self.size == other.stride * other.size && self.stride.is_multiple_of(other.stride)
    }

    /// Returns all rotations of this number of hosts, by stride, the largest first.
    pub fn proposals(hosts: u32) -> Vec<Self> {
        let divides = |whole: u32| move |part: &u32| whole.is_multiple_of(*part);
        let of = |stride: u32| {
            let blocks = hosts / stride;
            (2..=blocks).rev().filter(divides(blocks)).map(move |size| Self { stride, size })
        };
        (1..=hosts / 2).filter(divides(hosts)).flat_map(of).collect()
    }

    /// Returns the image of a host, by index among the hosts.
    pub const fn of(self, host: u32) -> u32 {
        let digit = host / self.stride % self.size;
        let next = (digit + 1) % self.size;
        host - digit * self.stride + next * self.stride
    }

    /// Returns chains of independent rotations, the longest cycles first: each rotation of a chain moves blocks that
    /// hold whole blocks of the rotation before.
    pub fn chains(known: Vec<Self>) -> Vec<Vec<Self>> {
        let mut found: Vec<Vec<Self>> = Vec::new();
        let mut open: Vec<Vec<Self>> = known.iter().map(|one| vec![*one]).collect();
        while let Some(chain) = open.pop() {
            if let Some(last) = chain.last().filter(|_| chain.len() < MOST) {
                let block = last.stride * last.size;
                open.extend(known.iter().filter(|next| next.stride.is_multiple_of(block)).map(|next| {
                    let mut longer = chain.clone();
                    longer.push(*next);
                    longer
                }));
            }
            found.push(chain);
        }
        let count = |chain: &[Self]| chain.iter().map(|one| one.size).product::<u32>();
        found.sort_by_key(|chain| (std::cmp::Reverse(count(chain)), chain.len(), chain[0].stride));
        found
    }
}

/// Rotations that leave a node in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Still(u8);

impl Still {
    /// No rotation.
    pub const NONE: Self = Self(0);

    /// Returns the rotations with these indices in the chain.
    pub fn of(rotations: impl Iterator<Item = usize>) -> Self {
        Self(rotations.fold(0, |all, one| all | 1 << one))
    }

    const fn has(self, rotation: usize) -> bool {
        self.0 >> rotation & 1 != 0
    }

    /// True if the two sets share a rotation.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The elements of a product of rotations. An element is a number: the turns of the first rotation, plus the turns of
/// the second times the size of the first, and so on.
#[derive(Debug)]
pub(super) struct Elements {
    rotations: Vec<Rotation>,
    count: u32,
}

impl Elements {
    pub fn new(rotations: Vec<Rotation>) -> Self {
        let count = rotations.iter().map(|one| one.size).product();
        Self { rotations, count }
    }

    pub const fn count(&self) -> u32 {
        self.count
    }

    pub fn rotations(&self) -> &[Rotation] {
        &self.rotations
    }

    /// Returns the element that acts as one element after another.
    #[inline]
    pub fn sum(&self, a: u32, b: u32) -> u32 {
        if let [_] = self.rotations.as_slice() {
            let sum = a + b;
            return if sum >= self.count { sum - self.count } else { sum };
        }
        self.by_digit(a, |rotation, digit, place| (digit + b / place % rotation.size) % rotation.size)
    }

    /// Returns the element that undoes an element.
    pub fn inverse(&self, a: u32) -> u32 {
        self.by_digit(a, |rotation, digit, _| (rotation.size - digit) % rotation.size)
    }

    /// Returns the turns of an element by these rotations alone.
    #[inline]
    pub fn only(&self, element: u32, still: Still) -> u32 {
        if still == Still::NONE || element == 0 {
            return 0;
        }
        self.by_digit(element, |_, digit, place| if still.has(self.rotation_at(place)) { digit } else { 0 })
    }

    /// Returns the turns of an element by all rotations except these.
    #[inline]
    pub fn without(&self, element: u32, still: Still) -> u32 {
        if still == Still::NONE {
            return element;
        }
        self.by_digit(element, |_, digit, place| if still.has(self.rotation_at(place)) { 0 } else { digit })
    }

    /// Returns the rotation whose turns count `place` times in an element.
    fn rotation_at(&self, place: u32) -> usize {
        let mut product = 1;
        self.rotations
            .iter()
            .position(|rotation| {
                let is_here = product == place;
                product *= rotation.size;
                is_here
            })
            .unwrap_or_default()
    }

    fn by_digit(&self, a: u32, of: impl Fn(&Rotation, u32, u32) -> u32) -> u32 {
        let (mut place, mut result) = (1, 0);
        for rotation in &self.rotations {
            result += place * of(rotation, a / place % rotation.size, place);
            place *= rotation.size;
        }
        result
    }

    /// Returns the images of a thing by element; `turn` returns the image under one turn of a rotation.
    pub fn images(&self, of: u32, turn: impl Fn(usize, u32) -> u32) -> Vec<u32> {
        let mut images = Vec::with_capacity(index(self.count));
        images.push(of);
        let mut place = 1;
        for (digit, rotation) in self.rotations.iter().enumerate() {
            for at in place..place * index(rotation.size) {
                images.push(turn(digit, images[at - place]));
            }
            place *= index(rotation.size);
        }
        debug_assert_eq!(number(images.len()), self.count);
        images
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_moves_each_host_and_comes_round() {
        let rotation = Rotation { stride: 2, size: 3 };
        assert_eq!(
            (0..12).map(|host| rotation.of(host)).collect::<Vec<_>>(),
            [2, 3, 4, 5, 0, 1, 8, 9, 10, 11, 6, 7]
        );
        for one in Rotation::proposals(24) {
            for host in 0..24 {
                let images: Vec<u32> = std::iter::successors(Some(host), |at| Some(one.of(*at)))
                    .take(index(one.size) + 1)
                    .collect();
                assert_eq!(images.last(), Some(&host));
                assert!(images[1..index(one.size)].iter().all(|image| *image != host), "{one:?}");
            }
        }
        assert_eq!(Rotation::proposals(7), [Rotation { stride: 1, size: 7 }]);
        let [twice, once] = [(16, 128), (8, 256)].map(|(stride, size)| Rotation { stride, size });
        assert!(twice.is_power_of(once) && !once.is_power_of(twice));
        assert!((0..2_048).all(|host| once.of(once.of(host)) == twice.of(host)));
    }

    #[test]
    fn elements_add_up_digit_by_digit() {
        let rotations = vec![Rotation { stride: 1, size: 2 }, Rotation { stride: 4, size: 3 }];
        let elements = Elements::new(rotations.clone());
        assert_eq!(elements.count(), 6);
        let images = |host| elements.images(host, |digit, host| rotations[digit].of(host));
        assert_eq!(images(0), [0, 1, 4, 5, 8, 9]);
        for a in 0..6 {
            assert_eq!(elements.sum(a, elements.inverse(a)), 0);
            for b in 0..6 {
                let after = images(images(2)[index(a)])[index(b)];
                assert_eq!(images(2)[index(elements.sum(a, b))], after);
            }
        }
    }

    #[test]
    fn chains_are_of_independent_rotations_the_largest_first() {
        let [pair, ring, whole] = [(2, 2), (4, 4), (2, 8)].map(|(stride, size)| Rotation { stride, size });
        let chains = Rotation::chains(vec![pair, ring]);
        assert_eq!(chains, [vec![pair, ring], vec![ring], vec![pair]]);
        assert_eq!(Rotation::chains(vec![pair, ring, whole])[0], [whole]);
    }
}
