//! Side records: data beside messages, kept once for each partition and reused.

/// Records in numbered slots. A freed record keeps its memory for the next use.
#[derive(Debug)]
pub struct Slab<S> {
    records: Vec<S>,
    free: Vec<u32>,
}

impl<S> Default for Slab<S> {
    fn default() -> Self {
        Self { records: Vec::new(), free: Vec::new() }
    }
}

impl<S: Default> Slab<S> {
    /// Returns a slot with a new record, or with a freed record in its last state.
    pub fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.records.push(S::default());
            self.records.len() as u32 - 1
        })
    }

    /// The record of a slot.
    pub fn get(&mut self, slot: u32) -> &mut S {
        &mut self.records[slot as usize]
    }

    /// Gives a slot back.
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Moves a record in; returns its slot.
    pub(crate) fn insert(&mut self, record: S) -> u32 {
        let slot = self.take();
        *self.get(slot) = record;
        slot
    }

    /// Moves a record out, and frees its slot.
    pub(crate) fn remove(&mut self, slot: u32) -> S {
        self.give_back(slot);
        std::mem::take(self.get(slot))
    }

    /// Slots in use.
    pub fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// True if no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
