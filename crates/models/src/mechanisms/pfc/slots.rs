//! Hosts that relay and pause no neighbour: the relay bounds the waiting bytes of each flow, and the source
//! holds a flow at the bound.
//! Models a proxy of NCCL: a connection has a buffer of eight slots in the relaying GPU, and the source
//! writes into free slots alone.
//! Example: with 8,000 B a flow, the relay sends the source a message when 8,000 B wait. Packets that the
//! source sent before the message arrived still come, and exceed the bound. Simplification: the message has
//! the size of a control frame.
//! Limits: a fault may take the message of a free slot. The flow then goes on at its next timeout; a flow
//! whose transport does not acknowledge never goes on.
//! Source: NCCL's `NCCL_STEPS` and `NCCL_BUFFSIZE`.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_engine::state;
use xoff_units::{Bytes, Moment};

use crate::frames::kinds;
use crate::frames::packet::Packet;
use crate::paths::routing::Sources;
use crate::ports::effects::{Effect, Effects};

/// Parts of a buffer.
const SLOTS: u64 = 8;

/// The flow buffers of a host that relays.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    bytes: u64,
    frame_bytes: u16,
    sources: Arc<Sources>,
    /// For each flow with bytes here: the bytes, and true when the source was told of full slots.
    waiting: BTreeMap<u32, (u64, bool)>,
}

state!(Slots {
    value: waiting;
    constant: bytes, frame_bytes, sources;
});

impl Slots {
    pub fn new(bytes: Bytes, frame_bytes: u16, sources: &Arc<Sources>) -> Self {
        Self { bytes: bytes.0, frame_bytes, sources: sources.clone(), waiting: BTreeMap::new() }
    }

    /// Tells the source of a flow whether a slot is free.
    fn tell(&self, packet: &Packet, are_full: bool, effects: &mut Effects) {
        let (flow, source) = (packet.flow(), self.sources.of(packet.flow()));
        effects.push(Effect::Emit(Packet::with(
            kinds::Slots { are_full },
            flow,
            source,
            self.frame_bytes,
            packet.class(),
        )));
    }

    /// Counts a packet to be relayed. The relay repeats the message for each further slot that arriving
    /// packets fill, because a fault may have lost the first message.
    pub fn on_enqueue(&mut self, packet: &Packet, effects: &mut Effects) {
        let (waits, is_told) = self.waiting.entry(packet.flow()).or_default();
        let slots = |bytes: u64| bytes * SLOTS / self.bytes;
        let before = *waits;
        *waits += u64::from(packet.bytes());
        if *waits >= self.bytes && (!*is_told || slots(*waits) > slots(before)) {
            *is_told = true;
            self.tell(packet, true, effects);
        }
    }

    /// A packet leaves.
    pub fn on_dequeue(&mut self, packet: &Packet, effects: &mut Effects) {
        let Some((waits, is_told)) = self.waiting.get_mut(&packet.flow()) else { return };
        *waits -= u64::from(packet.bytes());
        let is_over = *waits == 0;
        let is_free = *is_told && *waits <= self.bytes - self.bytes / SLOTS;
        if is_free {
            *is_told = false;
            self.tell(packet, false, effects);
        }
        if is_over {
            self.waiting.remove(&packet.flow());
        }
    }

    /// Holds or releases the flow at its source.
    pub fn on_message(packet: &Packet, effects: &mut Effects) {
        let Some(kinds::Slots { are_full }) = packet.payload() else { return };
        let flow = packet.flow();
        effects.push(if are_full {
            Effect::HoldFlow(flow, Moment::NEVER)
        } else {
            Effect::ReleaseFlow(flow)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::kinds::Kind;

    #[test]
    fn a_source_is_held_while_all_slots_are_full_and_goes_on_when_one_is_free() {
        let sources = Arc::new(Sources { first: vec![0, 2, 5], ..Sources::default() });
        let mut slots = Slots::new(Bytes(8000), 64, &sources);
        let mut effects = Effects::for_tests(1);
        let packet = |flow, seq| Packet::new(Kind::Data, flow, seq, 9, 1000, 0);
        let mut said = |slots: &mut Slots, flow, comes: bool| {
            if comes {
                slots.on_enqueue(&packet(flow, 0), &mut effects);
            } else {
                slots.on_dequeue(&packet(flow, 0), &mut effects);
            }
            let mut said = Vec::new();
            for (_, effect) in effects.take() {
                let Effect::Emit(frame) = effect else { unreachable!() };
                said.push((frame.flow(), frame.dst(), frame.payload::<kinds::Slots>().unwrap().are_full));
            }
            said
        };
        (0..7).for_each(|_| assert_eq!(said(&mut slots, 3, true), []));
        // Another flow has slots of its own. Flow 3 starts at node 1.
        assert_eq!(said(&mut slots, 0, true), []);
        assert_eq!(said(&mut slots, 3, true), [(3, 1, true)]);
        // What was on its way comes on top.
        assert_eq!(said(&mut slots, 3, true), [(3, 1, true)]);
        assert_eq!(said(&mut slots, 3, false), []);
        assert_eq!(said(&mut slots, 3, false), [(3, 1, false)]);
        (0..7).for_each(|_| assert_eq!(said(&mut slots, 3, false), []));
        assert_eq!(slots.waiting.len(), 1);
    }
}
