//! FNCC at a switch: the telemetry of the way there, onto acknowledgements of the way back.
//!
//! Models: an output keeps a record of its last data packet: the moment, the bytes sent before, and the bytes
//! left behind, as HPCC's outputs write onto data. The acknowledgement of a flow arrives by the port by which
//! the data of the flow departs, and takes the record of that port along. Source: abstract of the paper; the
//! fields of HPCC's public ns-3 code. Simplifications: full-width fields; the acknowledgement grows by no
//! bytes; data and acknowledgements of a flow take the same links, as in a network with one path or with
//! pinned paths. Invariant: a record is that of a data packet which has left.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::core::{Core, Queueing};
use xoff_models::effects::Effects;
use xoff_models::mechanism::{Departure, Hooks, Install, Properties, Site, ValidationContext, Watches};
use xoff_models::param_error::ParamError;
use xoff_models::state;
use xoff_models::telemetry::Hop;

/// `switch.plugins.fncc`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {}

/// FNCC at a switch: the last record of each output.
#[derive(Debug, Clone)]
pub struct Fncc {
    outputs: Vec<Option<Hop>>,
}

state!(Fncc {
    part: outputs;
});

impl Install for Fncc {
    type Params = Params;
    const LABEL: &'static str = "FNCC";

    fn install(_: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        (!site.is_host).then(|| Self { outputs: vec![None; site.ports.len()] })
    }

    fn properties(_: &Params) -> Properties {
        let tells =
            "no host reads the telemetry of acknowledgements; set host.congestion_control.plugins.fncc";
        Properties { writes_beside_data: true, tells_sources: Some(tells), ..Properties::default() }
    }

    fn validate(_: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if context.queueing == Queueing::Iq {
            return Err(("", "needs egress queues, and `iq` has none; use oq or voq".into()));
        }
        Ok(())
    }
}

impl Hooks for Fncc {
    fn watches(&self) -> Watches {
        Watches::DEPARTURE.and(Watches::ANSWER_DEPARTURE)
    }

    fn on_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        self.outputs[event.port.index()] = Some(event.hop(core, effects.now));
    }

    fn on_answer_departure(&mut self, event: &mut Departure<'_>, _: &Core, _: &mut Effects) {
        if let Some(hop) = self.outputs[event.packet.in_port().index()] {
            event.packet.record(event.records).hops.push(hop);
        }
    }
}
