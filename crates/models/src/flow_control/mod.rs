//! Flow control: who may send when a buffer fills.

pub mod pfc;
pub mod sfc;
pub mod sizing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `switch.flow_control`: each mechanism at most once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowControl {
    /// Priority-based Flow Control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<pfc::Params>,
    /// Source Flow Control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sfc: Option<sfc::Params>,
}
