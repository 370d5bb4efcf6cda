//! Kept: sources, destinations and start times, in one sentence.
//!
//! Models: (the traffic, and its application). Source: (document and section).
//! Simplifications: (omissions).
//! Invariants: the flows depend on the parameters, the hosts and the seed alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Bytes;

use xoff_models::workload::{Host, Making, Problem, Traffic};

/// `workload[0].plugins.kept`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload of each flow.
    pub size: Bytes,
    /// The hosts; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        for (src, dst, size) in self.flows(&members) {
            making.add(src, dst, size, &key)?;
        }
        Ok(())
    }
}

impl Params {
    /// Returns source, destination and size of each flow among these hosts.
    pub fn flows(&self, members: &[u32]) -> Vec<(u32, u32, Bytes)> {
        let next = members.iter().cycle().skip(1);
        members.iter().zip(next).filter(|(src, dst)| src != dst).map(|(src, dst)| (*src, *dst, self.size)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_sends_to_its_successor() {
        let params = Params { size: Bytes(1000), hosts: None };
        assert_eq!(params.flows(&[4, 5, 6]), [(4, 5, Bytes(1000)), (5, 6, Bytes(1000)), (6, 4, Bytes(1000))]);
        assert!(params.flows(&[4]).is_empty());
    }
}
