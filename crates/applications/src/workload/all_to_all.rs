//! All-to-all traffic: every host sends to every other host at the same moment. Source:
//! `docs/models/all_to_all.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::traffic::workload::{Host, Making, Problem, Traffic};
use xoff_units::{Bytes, wide};

/// `workload[…].all_to_all`: every host sends to every other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload of each pair.
    pub size: Bytes,
    /// Hosts that take part. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        if members.len() < 2 {
            return Err((format!("{key}.hosts"), "all-to-all traffic needs two hosts or more".into()));
        }
        making.check_room(wide(members.len()) * (wide(members.len()) - 1), &key)?;
        for (i, src) in members.iter().enumerate() {
            // Each starts with its successor, so that no host is everybody's first.
            for j in 1..members.len() {
                making.add(*src, members[(i + j) % members.len()], self.size, &key)?;
            }
        }
        Ok(())
    }
}
