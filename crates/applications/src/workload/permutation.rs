//! A permutation: every host sends to one host and receives from one host, in one random cycle.
//!
//! With a single cycle no host sends to itself. Source: `docs/models/permutation.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::traffic::workload::{Host, Making, Problem, Traffic};
use xoff_units::Bytes;

/// `workload[…].permutation`: every host sends to another host, in one random cycle over all hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload of each.
    pub size: Bytes,
    /// Hosts that take part. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let mut members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        if members.len() < 2 {
            return Err((format!("{key}.hosts"), "a permutation needs two hosts or more".into()));
        }
        making.stream().shuffle(&mut members);
        for i in 0..members.len() {
            making.add(members[i], members[(i + 1) % members.len()], self.size, &key)?;
        }
        Ok(())
    }
}
