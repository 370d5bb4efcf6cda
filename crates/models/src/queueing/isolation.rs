//! Flows that are moved from their own queue into another queue of the same output, without losing their order.
//!
//! A flow's packets that were in its own queue leave before any packet of it in the other queue does: until then that queue is
//! blocked (its *gate* is closed). The way back is the mechanism's to choose, when the other queue holds no packet of the flow.

use rustc_hash::FxHashMap;

use crate::core::Core;
use crate::effects::{Effect, Effects};

/// A flow that was moved, with what the mechanism keeps of it.
#[derive(Debug, Default)]
pub struct Moved<T> {
    /// Output and queue, once a packet of it came.
    pub place: Option<(usize, usize)>,
    /// Its packets in its own queue that came before.
    before: u32,
    /// Its packets in the other queue.
    pub inside: u32,
    /// The mechanism's.
    pub state: T,
}

/// The moved flows of a node.
#[derive(Debug, Default)]
pub struct Isolation<T> {
    flows: FxHashMap<u32, Moved<T>>,
    /// For an output and queue: flows whose earlier packets must leave first.
    gates: FxHashMap<(usize, usize), u32>,
}

impl<T: Default> Isolation<T> {
    /// Whether no flow is moved.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// How many are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether a flow is moved.
    pub fn contains(&self, flow: u32) -> bool {
        self.flows.contains_key(&flow)
    }

    /// A moved flow.
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut Moved<T>> {
        self.flows.get_mut(&flow)
    }

    /// Moves a flow, if it is not moved yet: its next packet goes to the other queue.
    pub fn entry(&mut self, flow: u32) -> &mut Moved<T> {
        self.flows.entry(flow).or_default()
    }

    /// All that are moved, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Moved<T>> {
        self.flows.values()
    }

    /// A packet of a moved flow joins `queue`; `own` is the queue that it would have joined.
    pub fn enter(&mut self, flow: u32, port: usize, own: usize, queue: usize, core: &Core, effects: &mut Effects) {
        let Some(moved) = self.flows.get_mut(&flow) else { return };
        moved.inside += 1;
        if moved.place.is_some() {
            return;
        }
        moved.place = Some((port, queue));
        moved.before = core.ports[port].queues[own].packets.iter().filter(|p| p.flow == flow).count() as u32;
        if moved.before > 0 {
            let gates = self.gates.entry((port, queue)).or_default();
            *gates += 1;
            if *gates == 1 {
                effects.push(Effect::CloseGate(port, queue as u16));
            }
        }
    }

    /// A packet left `queue`, or was dropped before it. True when it was the last one that a moved flow had in the other queue.
    pub fn leave(&mut self, flow: u32, port: usize, queue: usize, effects: &mut Effects) -> bool {
        let Some(moved) = self.flows.get_mut(&flow) else { return false };
        if moved.place == Some((port, queue)) {
            moved.inside -= 1;
            return moved.inside == 0;
        }
        if moved.before > 0 {
            // Packets of its own queue leave in order, so that those that came before do first.
            moved.before -= 1;
            if moved.before == 0
                && let Some(place) = moved.place
            {
                self.open(place, effects);
            }
        }
        false
    }

    /// Lets a flow return to its own queue.
    pub fn remove(&mut self, flow: u32, effects: &mut Effects) -> Option<Moved<T>> {
        let moved = self.flows.remove(&flow)?;
        if let (1.., Some(place)) = (moved.before, moved.place) {
            self.open(place, effects);
        }
        Some(moved)
    }

    /// Forgets flows without packets here that `is_over` holds for.
    pub fn purge(&mut self, mut is_over: impl FnMut(&T) -> bool) {
        self.flows.retain(|_, m| m.inside > 0 || m.before > 0 || !is_over(&m.state));
    }

    fn open(&mut self, place: (usize, usize), effects: &mut Effects) {
        if let Some(gates) = self.gates.get_mut(&place) {
            *gates -= 1;
            if *gates == 0 {
                self.gates.remove(&place);
                effects.push(Effect::OpenGate(place.0, place.1 as u16));
            }
        }
    }
}
