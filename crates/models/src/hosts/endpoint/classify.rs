//! The class of a flow.

use xoff_engine::random::mix;
use xoff_units::Bytes;

use crate::frames::flow::FlowSpec;

/// `host.classify`: a class for flows instead of the class of the workload. The first matching rule applies.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Classify {
    /// Flows below a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mice: Option<Mice>,
    /// Spread the remaining flows over this many classes from 0 on, by a hash of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_destination: Option<u8>,
}

/// `host.classify.mice`
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mice {
    /// Flows of less payload than this …
    pub below: Bytes,
    /// … are of this class.
    pub class: u8,
}

impl Classify {
    /// The class of a new flow.
    pub fn class(&self, spec: &FlowSpec) -> u8 {
        match (self.mice, self.by_destination) {
            (Some(mice), _) if spec.size < mice.below.0 => mice.class,
            (_, Some(classes)) => (mix(u64::from(spec.dst)) % u64::from(classes)) as u8,
            _ => spec.class,
        }
    }
}
