//! Packet trimming: a data packet without room loses its payload, and its header goes on before all data.
//! A packet that would take its queue beyond `limit`, or has no room in the buffer, is cut to `size`. The
//! header goes with the control frames, of which `turns` go before each packet of data. A trimmed packet is
//! in no table of drops. Simplifications: the arriving packet is cut (NDP cuts the arriving or the last
//! packet of the queue with equal chances); headers bear no mark and take no memory. With `headers` a header
//! without room is dropped, or goes back to its source (`return_to_sender`).
//! Invariants: a data queue never exceeds `limit`; packets are delivered, cut or dropped.
//! Source: NDP (Handley et al., SIGCOMM 2017, section 3.1); `docs/models/trimming.md`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Moment};

use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Admit, Hooks, Install, Place, Properties, Site, ValidationContext, Watches,
};
use crate::parts::count::{Count, Tally};
use crate::parts::param_error::{Change, ParamError, remove};
use crate::paths::routing::Sources;
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::{Effect, Effects};
use crate::ports::queueing::buffer;

/// `switch.trimming`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Largest data queue; with virtual output queues the queues of a class and output together. Default: the
    /// room of the buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
    /// Bytes of a header on the wire, with preamble and gap. Default: a control frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Control frames, headers included, that go before a waiting packet of data.
    pub turns: u8,
    /// Bound of the control frames that wait at an output, judged when a packet is cut; NDP has twice
    /// `limit`. A header beyond the bound is dropped. Default: no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Bytes>,
    /// Headers beyond the bound go back to their sources, which learn of the loss at once (NDP).
    pub return_to_sender: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { limit: None, size: None, turns: 10, headers: None, return_to_sender: false }
    }
}

/// Trimming at a switch.
#[derive(Debug, Clone)]
pub struct Trimming {
    limit: u64,
    size: u16,
    headers: u64,
    /// Sources of flows, where headers go back.
    sources: Option<Arc<Sources>>,
    trimmed: u64,
    bounced: u64,
}

state!(Trimming {
    total: trimmed, bounced;
    constant: limit, size, headers, sources;
});

const TRIMMED: Count = Count::number("trimmed", "packets trimmed to headers");
const BOUNCED: Count = Count::number("bounced", "headers returned to the sender");

impl Install for Trimming {
    type Params = Params;
    const LABEL: &'static str = "packet trimming";
    const COUNTS: &'static [Count] = &[TRIMMED, BOUNCED];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        if !site.forwards || site.is_host {
            return None;
        }
        for port in &mut core.ports {
            port.control_turns = params.turns;
        }
        let limit = params.limit.map_or(u64::MAX, |limit| limit.0);
        let size = params.size.map_or(site.framing.control, |size| size.0 as u16);
        let headers = params.headers.map_or(u64::MAX, |headers| headers.0);
        let sources = params.return_to_sender.then(|| site.sources.clone());
        Some(Self { limit, size, headers, sources, trimmed: 0, bounced: 0 })
    }

    /// A header that goes back leaves a switch by another output.
    fn properties(params: &Params) -> Properties {
        Properties { cuts_data: true, folds: !params.return_to_sender, ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if params.turns == 0 {
            return Err(("turns", "must be above zero, or headers would starve data".into()));
        }
        if let Some(size) = params.size.filter(|size| size.0 < context.framing.minimum || size.0 > 65_535) {
            let smallest = context.framing.minimum;
            return Err((
                "size",
                format!(
                    "{size} is out of range; allowed are the smallest frame of {smallest} B and up to 65535B"
                ),
            ));
        }
        if let Some(limit) = params.limit.filter(|limit| limit.0 < context.framing.largest()) {
            return Err((
                "limit",
                format!("{limit} is too low; must hold a packet of {} B", context.framing.largest()),
            ));
        }
        if params.return_to_sender && params.headers.is_none() {
            return Err(("return_to_sender", "needs a limit of headers; set headers".into()));
        }
        if params.limit.is_none() && *context.memory == buffer::Params::Unlimited {
            return Err(("limit", "missing; trimming needs this limit or a finite switch.buffer".into()));
        }
        if let Some(lossless) = context.other(|o| o.is_lossless) {
            return Err((
                "",
                remove(format!(
                    "mutually exclusive with {lossless}, which pauses neighbours before the limit"
                )),
            ));
        }
        if context.queueing == Queueing::Iq {
            return Err((
                "",
                Change::set("switch.queueing", "oq").after("needs egress queues, and iq has none"),
            ));
        }
        Ok(())
    }
}

impl Hooks for Trimming {
    fn watches(&self) -> Watches {
        Watches::ADMIT
    }

    fn admit(&mut self, packet: &mut Packet, place: Place, core: &Core, effects: &mut Effects) -> Admit {
        let Place { port, queue } = place;
        let waits = u64::from(core.egress_bytes(port, queue)) + u64::from(packet.bytes());
        if waits <= self.limit && core.has_room(port, queue, packet) {
            return Admit::Accept(queue);
        }
        let size = self.size.min(packet.bytes());
        if self.headers == u64::MAX || core.control_bytes(port) + u64::from(size) <= self.headers {
            self.trimmed += 1;
            return Admit::Trim(size);
        }
        let Some(sources) = &self.sources else { return Admit::Drop };
        self.trimmed += 1;
        self.bounced += 1;
        effects.push(Effect::Emit(Packet::new(
            Kind::Header,
            packet.flow(),
            packet.seq(),
            sources.of(packet.flow()),
            size,
            packet.class(),
        )));
        Admit::Trim(0)
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(TRIMMED, self.trimmed);
        tally.add(BOUNCED, self.bounced);
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::parts::ids::{PortId, QueueId};
    use crate::ports::queueing::buffer::Buffer;

    /// Returns the verdict on a packet of 1500 B behind `waits` bytes of its queue.
    fn admitted(limit: u64, waits: u16, buffer: Buffer) -> Admit {
        let mut trimming =
            Trimming { limit, size: 64, headers: u64::MAX, sources: None, trimmed: 0, bounced: 0 };
        let mut core = Core::for_tests(2, 2);
        core.buffer = buffer;
        core.ports[1].queues[2].bytes.add(waits);
        let mut packet = Packet::new(Kind::Data, 3, 0, 9, 1500, 1);
        let mut effects = Effects::for_tests(1);
        let admit =
            trimming.admit(&mut packet, Place { port: PortId(1), queue: QueueId(2) }, &core, &mut effects);
        assert_eq!(trimming.trimmed == 1, admit == Admit::Trim(64));
        admit
    }

    #[test]
    fn a_packet_is_cut_that_its_queue_or_the_buffer_has_no_room_for() {
        assert_eq!(admitted(12_000, 10_500, Buffer::Unlimited), Admit::Accept(QueueId(2)));
        assert_eq!(admitted(12_000, 10_501, Buffer::Unlimited), Admit::Trim(64));
        assert_eq!(admitted(u64::MAX, 10_500, Buffer::PerEgressQueue(12_000)), Admit::Accept(QueueId(2)));
        assert_eq!(admitted(u64::MAX, 10_501, Buffer::PerEgressQueue(12_000)), Admit::Trim(64));
        assert_eq!(
            admitted(u64::MAX, 0, Buffer::PerEgress { limit: 4000, used: vec![0, 2501], caps: Vec::new() }),
            Admit::Trim(64)
        );
    }

    #[test]
    fn a_header_without_room_is_dropped_or_goes_back() {
        let (mut core, mut effects) = (Core::for_tests(2, 2), Effects::for_tests(1));
        let mut packet = Packet::new(Kind::Data, 3, 5, 9, 1500, 1);
        let sources = Some(Arc::new(Sources { first: vec![0, 2, 8], ..Sources::default() }));
        let mut back = Trimming { limit: 0, size: 64, headers: 200, sources, trimmed: 0, bounced: 0 };
        let mut gone = Trimming { limit: 0, size: 64, headers: 200, sources: None, trimmed: 0, bounced: 0 };
        let place = Place { port: PortId(1), queue: QueueId(2) };
        for waits in 0..4 {
            let (first, second) = (
                back.admit(&mut packet, place, &core, &mut effects),
                gone.admit(&mut packet, place, &core, &mut effects),
            );
            let expected =
                if waits < 3 { (Admit::Trim(64), Admit::Trim(64)) } else { (Admit::Trim(0), Admit::Drop) };
            assert_eq!((first, second), expected);
            core.ports[1].push(QueueId(0), Packet::new(Kind::Header, 3, 5, 9, 64, 1));
        }
        assert_eq!((back.trimmed, back.bounced, gone.trimmed, gone.bounced), (4, 1, 3, 0));
        let list = effects.take();
        let [(_, Effect::Emit(frame))] = list[..] else { panic!("one header goes back") };
        assert_eq!(
            (frame.kind(), frame.flow(), frame.seq(), frame.dst(), frame.bytes()),
            (Kind::Header, 3, 5, 1, 64)
        );
    }
}
