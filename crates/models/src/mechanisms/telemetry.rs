//! In-band network telemetry (INT): every output of a switch writes down how it is, beside each data packet that it sends.
//!
//! Models: as a data packet starts on the wire a switch adds the moment, the wire bytes that the port sent before it, the bytes of
//! data that it leaves behind, and the line rate; the receiver's ACK takes the record back to the source. Source: HPCC (Li et al.,
//! SIGCOMM 2019) and its ns-3 code (peers.md 1.3): dequeue, before the first bit; control frames are counted and not stamped.
//! Simplifications: full-width fields (the code's wrap after 16.8 ms and are rounded to 512 B and 320 B); any number of hops. The
//! bytes that records take on the wire are the framing's: HPCC's code has 42 B more in data and ACK, so that `framing.header` is 90B
//! and `framing.control` 88B there. Invariants: a record belongs to one packet, and is gone with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{Core, Queueing};
use crate::effects::Effects;
use crate::mechanism::{Around, Departure, Hooks, Install, Properties, Site, Watches, Wrong};
use crate::telemetry::Hop;
use xoff_engine::state;

/// `switch.telemetry`: it has no settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Telemetry at one switch.
#[derive(Debug)]
pub struct Telemetry;

state!(Telemetry);

impl Install for Telemetry {
    type Params = Params;
    const LABEL: &'static str = "in-band telemetry";

    /// Hosts write nothing.
    fn install(_: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        (!site.is_host).then_some(Self)
    }

    fn properties(_: &Params) -> Properties {
        Properties { tags_data: true, tells_sources: Some("no host reads it (host.congestion_control.hpcc)"), ..Properties::default() }
    }

    fn validate(_: &Params, around: &Around<'_>) -> Result<(), Wrong> {
        if around.queueing == Queueing::Iq {
            return Err(("", "it looks at egress queues, and `iq` has none; use oq or voq".into()));
        }
        Ok(())
    }
}

impl Hooks for Telemetry {
    fn watches(&self) -> Watches {
        Watches::DEPARTURE
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        let port = &core.ports[event.port];
        let hop = Hop {
            node: core.id,
            port: event.port as u16,
            at: effects.now,
            sent: port.data_bytes + port.control_bytes - u64::from(event.packet.bytes()),
            queued: core.waiting_bytes(event.port),
            rate: port.rate,
        };
        event.packet.record(event.records).hops.push(hop);
    }
}
