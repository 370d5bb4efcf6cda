//! A slab: records in numbered slots. Each partition keeps the side records of messages in a slab, and a
//! message holds the slot of the side record.

/// Records in numbered slots. A freed record keeps memory, such as the capacity of a vector, for the next
/// use.
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

    /// Returns the record of a slot.
    pub fn get(&mut self, slot: u32) -> &mut S {
        &mut self.records[slot as usize]
    }

    /// Frees a slot.
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Moves a record into the slab, and returns the slot.
    pub(crate) fn insert(&mut self, record: S) -> u32 {
        let slot = self.take();
        *self.get(slot) = record;
        slot
    }

    /// Moves a record out of the slab, and frees the slot.
    pub(crate) fn remove(&mut self, slot: u32) -> S {
        self.give_back(slot);
        std::mem::take(self.get(slot))
    }

    /// Returns the number of slots in use.
    pub fn len(&self) -> usize {
        self.records.len() - self.free.len()
    }

    /// True if no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
