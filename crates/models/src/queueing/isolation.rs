//! Flows that are moved from their own queue into another queue of the same output, without losing their order.
//!
//! A flow's packets that were in its own queue leave before any packet of it in the other queue does: until then that queue is
//! blocked (its *gate* is closed). The way back is the mechanism's to choose, when the other queue holds no packet of the flow.

use rustc_hash::FxHashMap;

use crate::core::Core;
use crate::effects::{Effect, Effects};
use xoff_engine::state::{State, Walk, Word};

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

impl<T: State> State for Isolation<T> {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { flows, gates } = self;
        walk.keyed(flows.iter_mut(), |walk, _, Moved { place, before, inside, state }| {
            walk.value((*place, *before, *inside).word());
            state.walk(walk);
        });
        walk.keyed(gates.iter_mut(), |walk, _, packets| walk.value(u64::from(*packets)));
    }
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

    /// All that are moved, in no order, to be changed alike.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Moved<T>> {
        self.flows.values_mut()
    }

    /// A packet of a moved flow joins `queue`; `own` is the queue that it would have joined.
    pub fn enter(&mut self, flow: u32, port: usize, own: usize, queue: usize, core: &Core, effects: &mut Effects) {
        let Some(moved) = self.flows.get_mut(&flow) else { return };
        moved.inside += 1;
        if moved.place.is_some() {
            return;
        }
        moved.place = Some((port, queue));
        moved.before = core.ports[port].queues[own].packets.iter().filter(|p| p.flow() == flow).count() as u32;
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

#[cfg(test)]
mod tests {

    use super::*;
    use crate::packet::{Kind, Packet};

    /// Queue 1 is the flows' own, and queue 2 the other.
    const OWN: usize = 1;
    const OTHER: usize = 2;
    const NOTHING: [bool; 0] = [];

    /// A switch of one port, whose own queue holds packets of these flows.
    fn holding(flows: &[u32]) -> (Core, Isolation<()>, Effects) {
        let mut core = Core::for_tests(1, 2);
        for flow in flows {
            core.ports[0].push(OWN, Packet::new(Kind::Data, *flow, 0, 9, 1000, 0));
        }
        (core, Isolation::default(), Effects::for_tests(1))
    }

    /// Whether the gate was closed (true) or opened, in order.
    fn gates(effects: &mut Effects) -> Vec<bool> {
        let is_closing = |e: &(u8, Effect)| match e.1 {
            Effect::CloseGate(0, 2) => true,
            Effect::OpenGate(0, 2) => false,
            ref other => panic!("{other:?} is about no gate of queue 2"),
        };
        effects.take().iter().map(is_closing).collect()
    }

    #[test]
    fn the_gate_opens_with_the_last_of_the_packets_before() {
        // Three packets of flow 5 wait, between others of flow 6, which open nothing.
        let (core, mut isolation, mut effects) = holding(&[5, 6, 5, 5, 6]);
        isolation.entry(5);
        isolation.enter(5, 0, OWN, OTHER, &core, &mut effects);
        assert_eq!(gates(&mut effects), [true]);
        isolation.enter(5, 0, OWN, OTHER, &core, &mut effects);
        assert_eq!(gates(&mut effects), NOTHING, "a second packet finds it closed");
        for flow in [5, 6, 5] {
            assert!(!isolation.leave(flow, 0, OWN, &mut effects));
            assert_eq!(gates(&mut effects), NOTHING);
        }
        assert!(!isolation.leave(5, 0, OWN, &mut effects));
        assert_eq!(gates(&mut effects), [false]);
        // Two packets are in the other queue: the second one is the last.
        assert_eq!([(); 2].map(|()| isolation.leave(5, 0, OTHER, &mut effects)), [false, true]);
        assert_eq!(gates(&mut effects), NOTHING);
    }

    #[test]
    fn a_flow_with_nothing_before_needs_no_gate() {
        let (core, mut isolation, mut effects) = holding(&[6, 6]);
        isolation.entry(5);
        isolation.enter(5, 0, OWN, OTHER, &core, &mut effects);
        assert!(isolation.leave(5, 0, OTHER, &mut effects));
        // What is not moved is nobody's business.
        isolation.enter(7, 0, OWN, OTHER, &core, &mut effects);
        assert!(!isolation.leave(6, 0, OWN, &mut effects));
        assert_eq!((gates(&mut effects), isolation.len(), isolation.contains(7)), (vec![], 1, false));
    }

    #[test]
    fn two_flows_share_a_gate_that_the_later_one_opens() {
        let (core, mut isolation, mut effects) = holding(&[5, 6, 6]);
        for flow in [5, 6] {
            isolation.entry(flow);
            isolation.enter(flow, 0, OWN, OTHER, &core, &mut effects);
        }
        assert_eq!(gates(&mut effects), [true], "the second flow finds it closed");
        for flow in [5, 6] {
            isolation.leave(flow, 0, OWN, &mut effects);
            assert_eq!(gates(&mut effects), NOTHING, "one packet of flow 6 is left");
        }
        isolation.leave(6, 0, OWN, &mut effects);
        assert_eq!(gates(&mut effects), [false]);
    }

    #[test]
    fn a_flow_that_returns_early_gives_its_gate_up_once() {
        let (core, mut isolation, mut effects) = holding(&[5, 6]);
        for flow in [5, 6] {
            isolation.entry(flow);
            isolation.enter(flow, 0, OWN, OTHER, &core, &mut effects);
        }
        assert_eq!(gates(&mut effects), [true]);
        assert!(isolation.remove(5, &mut effects).is_some_and(|m| m.inside == 1 && m.place == Some((0, OTHER))));
        assert_eq!(gates(&mut effects), NOTHING, "flow 6 still waits");
        isolation.leave(5, 0, OWN, &mut effects);
        assert!(isolation.remove(5, &mut effects).is_none());
        assert_eq!(gates(&mut effects), NOTHING);
        isolation.remove(6, &mut effects);
        assert_eq!((gates(&mut effects), isolation.is_empty()), (vec![false], true));
    }

    #[test]
    fn only_flows_without_packets_here_are_forgotten() {
        let (core, mut isolation, mut effects) = holding(&[5]);
        for flow in [5, 6, 7] {
            isolation.entry(flow);
        }
        // Flow 5 has one before and one inside, flow 6 one inside, flow 7 none.
        isolation.enter(5, 0, OWN, OTHER, &core, &mut effects);
        isolation.enter(6, 0, OWN, OTHER, &core, &mut effects);
        let here = |isolation: &Isolation<()>| [5, 6, 7].map(|flow| isolation.contains(flow));
        isolation.purge(|()| false);
        assert_eq!(here(&isolation), [true; 3]);
        isolation.purge(|()| true);
        assert_eq!(here(&isolation), [true, true, false]);
        isolation.leave(5, 0, OTHER, &mut effects);
        isolation.leave(6, 0, OTHER, &mut effects);
        isolation.purge(|()| true);
        assert_eq!(here(&isolation), [true, false, false], "its packet before is still here");
        isolation.leave(5, 0, OWN, &mut effects);
        isolation.purge(|()| true);
        assert_eq!((here(&isolation), gates(&mut effects)), ([false; 3], vec![true, false]));
    }
}
