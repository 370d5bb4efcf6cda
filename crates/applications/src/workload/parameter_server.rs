//! A parameter server: all workers push to the server, and after the last push the server sends to each
//! worker.
//!
//! A worker begins the next round when its part of the broadcast has arrived. Source: the `PortFC` paper,
//! section V-D; `docs/models/parameter_server.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::traffic::workload::{Host, Made, Making, Problem, Traffic, fits, waits_fit};
use xoff_units::{Bytes, Duration, wide};

/// `workload[…].parameter_server`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The server.
    pub server: Host,
    /// Hosts that push. Default: all other hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Vec<Host>>,
    /// Payload of each push and of each part of the broadcast.
    pub size: Bytes,
    /// Pushes and broadcasts.
    #[serde(default = "one")]
    pub rounds: u64,
}

fn one() -> u64 {
    1
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let workers = making.hosts(self.workers.as_ref(), &format!("{key}.workers"))?;
        making.check_size(self.size, &key)?;
        let server = making.host(&self.server, &format!("{key}.server"))?;
        making.add_made(self.flows(&key, server, &workers)?)
    }
}

impl Params {
    /// Returns the flows. The server is left out of the workers.
    pub fn flows(&self, key: &str, server: u32, workers: &[u32]) -> Result<Vec<Made>, Problem> {
        let workers: Vec<u32> = workers.iter().copied().filter(|w| *w != server).collect();
        if workers.is_empty() {
            return Err((format!("{key}.workers"), "the list has no host besides the server".into()));
        }
        if self.rounds == 0 {
            return Err((format!("{key}.rounds"), "must be above zero".into()));
        }
        fits(key, self.rounds.saturating_mul(2 * wide(workers.len())))?;
        waits_fit(key, self.rounds.saturating_mul((wide(workers.len()) + 1) * wide(workers.len())))?;
        let mut list: Vec<Made> = Vec::new();
        let flow =
            |src, dst, after| Made { src, dst, size: self.size, start: Duration::ZERO, after, name: None };
        for round in 0..self.rounds {
            let pushes = list.len();
            for (i, worker) in workers.iter().enumerate() {
                // The broadcast of the round before ends where this one's pushes begin.
                let after = if round == 0 { Vec::new() } else { vec![pushes - workers.len() + i] };
                list.push(flow(*worker, server, after));
            }
            let all: Vec<usize> = (pushes..list.len()).collect();
            list.extend(workers.iter().map(|worker| flow(server, *worker, all.clone())));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broadcast_waits_for_all_pushes_and_a_push_for_its_part() {
        let p = Params { server: Host::Number(0), workers: None, size: Bytes(1), rounds: 2 };
        let flows = p.flows("", 0, &[0, 1, 2]).unwrap();
        let shape: Vec<_> = flows.iter().map(|f| (f.src, f.dst, f.after.clone())).collect();
        let (pushes, parts) = (vec![0, 1], vec![4, 5]);
        assert_eq!(shape[..4], [(1, 0, vec![]), (2, 0, vec![]), (0, 1, pushes.clone()), (0, 2, pushes)]);
        assert_eq!(shape[4..], [(1, 0, vec![2]), (2, 0, vec![3]), (0, 1, parts.clone()), (0, 2, parts)]);
    }
}
