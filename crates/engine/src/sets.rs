//! Disjoint sets of numbers, with joining (union-find).

/// Disjoint sets of numbers. The root of a set is its smallest member: results do not depend on the order of
/// joins.
#[derive(Debug)]
pub struct Sets(Vec<u32>);

impl Sets {
    /// Returns `n` sets of one member each.
    pub fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    /// Returns the smallest member of the set of `n`.
    pub fn root(&mut self, mut n: u32) -> u32 {
        while self.0[n as usize] != n {
            self.0[n as usize] = self.0[self.0[n as usize] as usize];
            n = self.0[n as usize];
        }
        n
    }

    /// Joins the sets of two members. Returns false if both are in one set already.
    pub fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }
}
