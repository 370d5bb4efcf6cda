//! Flows moved from their own queue into another queue of the same output, in order of packets.
//! The packets of a flow in its own queue leave before the flow's packets in the other queue. The other queue
//! is blocked (its *gate* is closed) while its first packet belongs to a flow with packets in the own queue.
//! Flows behind the first packet wait with it, as in any queue.
//! A mechanism decides about the way back, when the other queue holds no packet of the flow.
//! [`Order::Free`] has no gates: packets may overtake one another.
//! Source: `docs/models/sfc.md` and `docs/models/congestion_isolation.md`.

use rustc_hash::FxHashMap;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_units::number;

use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};
use crate::ports::core::Core;
use crate::ports::effects::{Effect, Effects};

/// Order of a flow's packets in two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Packets of the flow's own queue leave first; the first packet of the other queue waits.
    #[default]
    Kept,
    /// Each queue goes on by itself, and receivers see packets out of order.
    Free,
}

/// A moved flow, with the mechanism's state.
#[derive(Debug, Clone, Default)]
pub struct Moved<T> {
    /// Output and queue, from the first packet on.
    pub place: Option<(PortId, QueueId)>,
    /// Packets in the flow's own queue, from before the move.
    before: u32,
    /// Packets in the other queue.
    pub inside: u32,
    /// The mechanism's.
    pub state: T,
}

/// The moved flows of a node.
#[derive(Debug, Clone, Default)]
pub struct Isolation<T> {
    flows: FxHashMap<u32, Moved<T>>,
    /// For each blocked output and queue: the flow of the first packet, whose earlier packets must leave
    /// first.
    gates: FxHashMap<(PortId, QueueId), u32>,
    order: Order,
}

impl<T: State> State for Isolation<T> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { flows, gates, order: _ } = self;
        walk.keyed(flows.iter_mut(), |walk, _, Moved { place, before, inside, state }| {
            walk.value((*place, *before, *inside).word());
            state.walk(walk);
        });
        walk.keyed(gates.iter_mut(), |walk, _, flow| walk.value(u64::from(*flow)));
    }
}

impl<T: Default> Isolation<T> {
    /// Returns the moved flows, in order.
    pub fn numbers(&self) -> Vec<u32> {
        let mut list: Vec<u32> = self.flows.keys().copied().collect();
        list.sort_unstable();
        list
    }

    /// True when no flow is moved.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Returns the number of moved flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// True when a flow is moved.
    pub fn contains(&self, flow: u32) -> bool {
        self.flows.contains_key(&flow)
    }

    /// A moved flow.
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut Moved<T>> {
        self.flows.get_mut(&flow)
    }

    /// Moves a flow, unless moved already. Its next packet goes to the other queue.
    pub fn entry(&mut self, flow: u32) -> &mut Moved<T> {
        self.flows.entry(flow).or_default()
    }

    /// Returns all moved flows, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Moved<T>> {
        self.flows.values()
    }

    /// Returns all moved flows, in no order, for equal changes.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Moved<T>> {
        self.flows.values_mut()
    }

    /// None yet, in an order.
    pub fn new(order: Order) -> Self {
        Self { order, ..Self::default() }
    }

    /// Counts a packet of a moved flow that joins `queue`; `own` is the flow's own queue.
    pub fn enter(
        &mut self,
        flow: u32,
        port: PortId,
        own: QueueId,
        queue: QueueId,
        core: &Core,
        effects: &mut Effects,
    ) {
        let Some(moved) = self.flows.get_mut(&flow) else { return };
        moved.inside += 1;
        let queues = &core.ports[port].queues;
        if moved.place.is_none() {
            moved.place = Some((port, queue));
            if self.order == Order::Kept {
                moved.before =
                    number(queues[own].packets.iter().filter(|p| p.is_data() && p.flow() == flow).count());
            }
        }
        // Behind others it waits anyway; and where packets are sprayed, others of its flow go by other ports.
        if moved.before > 0 && moved.place == Some((port, queue)) && queues[queue].packets.is_empty() {
            self.close((port, queue), flow, effects);
        }
    }

    /// Counts a packet that left `queue`. True for the last packet of a moved flow in the other queue.
    pub fn leave(
        &mut self,
        flow: u32,
        port: PortId,
        queue: QueueId,
        core: &Core,
        effects: &mut Effects,
    ) -> bool {
        let Some(moved) = self.flows.get_mut(&flow) else { return false };
        if moved.place == Some((port, queue)) {
            moved.inside -= 1;
            let was_last = moved.inside == 0;
            let next =
                core.ports[port].queues[queue].packets.front().filter(|p| p.is_data()).map(Packet::flow);
            match next.filter(|next| {
                self.flows.get(next).is_some_and(|m| m.before > 0 && m.place == Some((port, queue)))
            }) {
                Some(next) => self.close((port, queue), next, effects),
                None => self.open((port, queue), None, effects),
            }
            return was_last;
        }
        if moved.before > 0 {
            // Packets of its own queue leave in order, so that those that came before do first.
            moved.before -= 1;
            if moved.before == 0
                && let Some(place) = moved.place
            {
                self.open(place, Some(flow), effects);
            }
        }
        false
    }

    /// Takes back a packet that joined the other queue and was dropped. True when no packet of the flow is in
    /// the other queue.
    pub fn refuse(&mut self, flow: u32, port: PortId, queue: QueueId, effects: &mut Effects) -> bool {
        let Some(moved) = self.flows.get_mut(&flow).filter(|m| m.place == Some((port, queue))) else {
            return false;
        };
        moved.inside -= 1;
        let was_last = moved.inside == 0;
        if was_last {
            // It was to be the first.
            self.open((port, queue), Some(flow), effects);
        }
        was_last
    }

    /// Returns a flow to its own queue.
    pub fn remove(&mut self, flow: u32, effects: &mut Effects) -> Option<Moved<T>> {
        let moved = self.flows.remove(&flow)?;
        if let Some(place) = moved.place {
            self.open(place, Some(flow), effects);
        }
        Some(moved)
    }

    /// Forgets flows without packets here for which `is_over` is true.
    pub fn purge(&mut self, mut is_over: impl FnMut(&T) -> bool) {
        self.flows.retain(|_, m| m.inside > 0 || m.before > 0 || !is_over(&m.state));
    }

    /// Closes the gate of a queue, for the flow of its first packet.
    fn close(&mut self, place: (PortId, QueueId), flow: u32, effects: &mut Effects) {
        if self.gates.insert(place, flow).is_none() {
            effects.push(Effect::HoldQueue(place.0, place.1));
        }
    }

    /// Opens the gate of a queue, if closed. With `flow`, only a gate closed for the flow opens.
    fn open(&mut self, place: (PortId, QueueId), flow: Option<u32>, effects: &mut Effects) {
        if self.gates.get(&place).is_some_and(|of| flow.is_none_or(|flow| flow == *of)) {
            self.gates.remove(&place);
            effects.push(Effect::ReleaseQueue(place.0, place.1));
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    /// Queue 1 is the flows' own, and queue 2 the other.
    const OWN: QueueId = QueueId(1);
    const OTHER: QueueId = QueueId(2);
    const NOTHING: [bool; 0] = [];

    /// A switch of one port, whose own queue holds packets of the flows.
    fn holding(flows: &[u32]) -> (Core, Isolation<()>, Effects) {
        let mut core = Core::for_tests(1, 2);
        for flow in flows {
            core.ports[0].push(OWN, Packet::new(Kind::Data, *flow, 0, 9, 1000, 0));
        }
        (core, Isolation::default(), Effects::for_tests(1))
    }

    /// Returns the gate's changes in order: true for closed.
    fn gates(effects: &mut Effects) -> Vec<bool> {
        let is_closing = |e: &(u8, Effect)| match e.1 {
            Effect::HoldQueue(PortId(0), QueueId(2)) => true,
            Effect::ReleaseQueue(PortId(0), QueueId(2)) => false,
            ref other => panic!("{other:?} is about no gate of queue 2"),
        };
        effects.take().iter().map(is_closing).collect()
    }

    /// A packet of a moved flow joins the other queue.
    fn join(isolation: &mut Isolation<()>, flow: u32, core: &mut Core, effects: &mut Effects) {
        isolation.enter(flow, PortId(0), OWN, OTHER, core, effects);
        core.ports[0].push(OTHER, Packet::new(Kind::Data, flow, 0, 9, 1000, 0));
    }

    /// Takes the first packet of a queue. True for the last packet of a flow in the other queue.
    fn pop(isolation: &mut Isolation<()>, queue: QueueId, core: &mut Core, effects: &mut Effects) -> bool {
        let packet = core.ports[0].pop(queue).expect("a packet waits");
        isolation.leave(packet.flow(), PortId(0), queue, core, effects)
    }

    #[test]
    fn the_gate_opens_with_the_last_of_the_packets_before() {
        // Three packets of flow 5 wait, between others of flow 6, which open nothing.
        let (mut core, mut isolation, mut effects) = holding(&[5, 6, 5, 5, 6]);
        isolation.entry(5);
        join(&mut isolation, 5, &mut core, &mut effects);
        assert_eq!(gates(&mut effects), [true]);
        join(&mut isolation, 5, &mut core, &mut effects);
        assert_eq!(gates(&mut effects), NOTHING, "a second packet finds it closed");
        for _ in 0..3 {
            assert!(!pop(&mut isolation, OWN, &mut core, &mut effects));
            assert_eq!(gates(&mut effects), NOTHING);
        }
        assert!(!pop(&mut isolation, OWN, &mut core, &mut effects));
        assert_eq!(gates(&mut effects), [false]);
        // Two packets are in the other queue: the second one is the last.
        assert_eq!([(); 2].map(|()| pop(&mut isolation, OTHER, &mut core, &mut effects)), [false, true]);
        assert_eq!(gates(&mut effects), NOTHING);
    }

    #[test]
    fn nobody_waits_for_a_flow_further_back() {
        // Flow 6 has nothing before, and is first in the other queue; flow 5 behind it closes the gate when
        // it comes first.
        let (mut core, mut isolation, mut effects) = holding(&[5, 5]);
        for flow in [6, 5] {
            isolation.entry(flow);
            join(&mut isolation, flow, &mut core, &mut effects);
        }
        assert_eq!(gates(&mut effects), NOTHING);
        assert!(pop(&mut isolation, OTHER, &mut core, &mut effects));
        assert_eq!(gates(&mut effects), [true]);
        pop(&mut isolation, OWN, &mut core, &mut effects);
        assert_eq!(gates(&mut effects), NOTHING);
        pop(&mut isolation, OWN, &mut core, &mut effects);
        assert_eq!(gates(&mut effects), [false]);
    }

    #[test]
    fn a_gate_passes_from_one_first_packet_to_the_next() {
        let (mut core, mut isolation, mut effects) = holding(&[5, 6, 6]);
        for flow in [5, 6] {
            isolation.entry(flow);
            join(&mut isolation, flow, &mut core, &mut effects);
        }
        assert_eq!(gates(&mut effects), [true]);
        pop(&mut isolation, OWN, &mut core, &mut effects);
        assert_eq!(gates(&mut effects), [false], "flow 5 may go, which is first");
        assert!(pop(&mut isolation, OTHER, &mut core, &mut effects));
        assert_eq!(gates(&mut effects), [true], "flow 6 may not");
        for _ in 0..2 {
            pop(&mut isolation, OWN, &mut core, &mut effects);
        }
        assert_eq!(gates(&mut effects), [false]);
    }

    #[test]
    fn a_first_packet_that_is_dropped_opens_the_gate_again() {
        let (core, mut isolation, mut effects) = holding(&[5]);
        isolation.entry(5);
        isolation.enter(5, PortId(0), OWN, OTHER, &core, &mut effects);
        assert!(isolation.refuse(5, PortId(0), OTHER, &mut effects));
        assert_eq!(gates(&mut effects), [true, false]);
        isolation.enter(5, PortId(0), OWN, OTHER, &core, &mut effects);
        assert_eq!(gates(&mut effects), [true], "its packet before is still here");
    }

    #[test]
    fn a_packet_that_goes_by_another_port_closes_nothing() {
        let mut core = Core::for_tests(2, 2);
        core.ports[0].push(OWN, Packet::new(Kind::Data, 5, 0, 9, 1000, 0));
        let (mut isolation, mut effects) = (Isolation::<()>::default(), Effects::for_tests(1));
        isolation.entry(5);
        join(&mut isolation, 5, &mut core, &mut effects);
        isolation.enter(5, PortId(1), OWN, OTHER, &core, &mut effects);
        assert_eq!(gates(&mut effects), [true], "that of the first port");
    }

    #[test]
    fn without_order_there_is_no_gate() {
        let (mut core, _, mut effects) = holding(&[5, 5]);
        let mut isolation = Isolation::new(Order::Free);
        isolation.entry(5);
        join(&mut isolation, 5, &mut core, &mut effects);
        pop(&mut isolation, OWN, &mut core, &mut effects);
        assert!(pop(&mut isolation, OTHER, &mut core, &mut effects));
        assert_eq!(gates(&mut effects), NOTHING);
    }

    #[test]
    fn a_flow_with_nothing_before_needs_no_gate() {
        let (mut core, mut isolation, mut effects) = holding(&[6, 6]);
        isolation.entry(5);
        join(&mut isolation, 5, &mut core, &mut effects);
        assert!(pop(&mut isolation, OTHER, &mut core, &mut effects));
        // What is not moved is nobody's business.
        isolation.enter(7, PortId(0), OWN, OTHER, &core, &mut effects);
        assert!(!pop(&mut isolation, OWN, &mut core, &mut effects));
        assert_eq!((gates(&mut effects), isolation.len(), isolation.contains(7)), (vec![], 1, false));
    }

    #[test]
    fn a_flow_that_returns_early_gives_its_gate_up_once() {
        let (mut core, mut isolation, mut effects) = holding(&[5, 6]);
        for flow in [5, 6] {
            isolation.entry(flow);
            join(&mut isolation, flow, &mut core, &mut effects);
        }
        assert_eq!(gates(&mut effects), [true]);
        assert!(
            isolation
                .remove(5, &mut effects)
                .is_some_and(|m| m.inside == 1 && m.place == Some((PortId(0), OTHER)))
        );
        assert_eq!(gates(&mut effects), [false]);
        pop(&mut isolation, OWN, &mut core, &mut effects);
        assert!(isolation.remove(5, &mut effects).is_none());
        isolation.remove(6, &mut effects);
        assert_eq!((gates(&mut effects), isolation.is_empty()), (vec![], true));
    }

    #[test]
    fn only_flows_without_packets_here_are_forgotten() {
        let (mut core, mut isolation, mut effects) = holding(&[5]);
        for flow in [5, 6, 7] {
            isolation.entry(flow);
        }
        // Flow 5 has one before and one inside, flow 6 one inside, flow 7 none.
        join(&mut isolation, 5, &mut core, &mut effects);
        join(&mut isolation, 6, &mut core, &mut effects);
        let here = |isolation: &Isolation<()>| [5, 6, 7].map(|flow| isolation.contains(flow));
        isolation.purge(|()| false);
        assert_eq!(here(&isolation), [true; 3]);
        isolation.purge(|()| true);
        assert_eq!(here(&isolation), [true, true, false]);
        for _ in 0..2 {
            pop(&mut isolation, OTHER, &mut core, &mut effects);
        }
        isolation.purge(|()| true);
        assert_eq!(here(&isolation), [true, false, false], "its packet before is still here");
        pop(&mut isolation, OWN, &mut core, &mut effects);
        isolation.purge(|()| true);
        assert_eq!((here(&isolation), gates(&mut effects)), ([false; 3], vec![true, false]));
    }
}
