//! In-band network telemetry: each switch output writes its state beside each data packet (INT), or one
//! number for the whole way (PINT, `pint.rs`).
//! As a data packet starts on the wire, the output writes the moment, the wire bytes sent before the packet,
//! the bytes of data left behind, and the line rate. The ACK takes the record back to the source. Control
//! frames are counted and bear no record.
//! Simplifications: full-width fields and any number of hops. Bytes of records on the wire belong to the
//! framing. Invariant: a record belongs to one packet, and ends with the packet.
//! Source: HPCC (Li et al., SIGCOMM 2019) and its public ns-3 code (`docs/models/telemetry.md`).

pub mod pint;

use pint::Pint;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;

use crate::mechanisms::contract::{Departure, Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::param_error::{Change, ParamError};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::Effects;

/// `switch.telemetry`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// PINT: one number for the whole way, for HPCC-PINT. Without PINT outputs write INT, for HPCC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pint: Option<pint::Params>,
}

/// Telemetry at a switch.
#[derive(Debug, Clone)]
pub struct Telemetry {
    pint: Option<Pint>,
}

state!(Telemetry {
    part: pint;
});

impl Install for Telemetry {
    type Params = Params;
    const LABEL: &'static str = "in-band telemetry";

    /// Hosts write no records.
    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        (!site.is_host).then(|| Self { pint: params.pint.as_ref().map(|p| Pint::new(p, site)) })
    }

    fn properties(params: &Params) -> Properties {
        let all = Properties { writes_beside_data: true, ..Properties::default() };
        if params.pint.is_none() {
            return Properties {
                folds: true,
                tells_sources: Some("no host reads telemetry; set host.congestion_control.hpcc"),
                ..all
            };
        }
        let tells_sources = Some("no host reads PINT telemetry; set host.congestion_control.hpcc_pint");
        Properties { tells_sources, signals_as: Some("pint"), wants_round_trip: true, ..all }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if context.queueing == Queueing::Iq {
            return Err((
                "",
                Change::set("switch.queueing", "oq").after("needs egress queues, and iq has none"),
            ));
        }
        params.pint.as_ref().map_or(Ok(()), pint::Params::validate)
    }
}

impl Hooks for Telemetry {
    fn watches(&self) -> Watches {
        Watches::DEPARTURE
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        let hop = event.hop(core, effects.now);
        let record = event.packet.record(event.records);
        match &mut self.pint {
            None => record.hops.push(hop),
            Some(pint) => record.utilisation = record.utilisation.max(pint.see(&hop, effects.stream())),
        }
    }
}
