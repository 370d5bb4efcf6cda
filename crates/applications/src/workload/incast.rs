//! An incast: several hosts send to one host at the same moment. Source: `docs/models/incast.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::traffic::workload::{Host, Making, Problem, Traffic};
use xoff_units::Bytes;

/// `workload[…].incast`: several senders and one receiver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Hosts that send.
    pub senders: Vec<Host>,
    /// The host that receives.
    pub receiver: Host,
    /// Payload of each sender.
    pub size: Bytes,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let receiver = making.host(&self.receiver, &format!("{key}.receiver"))?;
        making.check_size(self.size, &key)?;
        if self.senders.is_empty() {
            return Err((format!("{key}.senders"), "the list is empty".into()));
        }
        for (i, sender) in self.senders.iter().enumerate() {
            let key = format!("{key}.senders[{i}]");
            let src = making.host(sender, &key)?;
            making.add(src, receiver, self.size, &key)?;
        }
        Ok(())
    }
}
