//! Repeated incasts: in every period some hosts send to one host at the same moment.
//!
//! Receiver and senders of each incast are drawn uniformly among the hosts, so in the long run all hosts
//! receive equally often. Source: HPCC's traffic with incasts; `docs/models/repeated_incast.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{Bytes, Duration, wide};

use super::builder::fits;
use super::{Host, Made, Making, Problem, Traffic};

/// `workload[…].repeated_incast`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Senders of each incast.
    pub senders: u64,
    /// Payload of each.
    pub size: Bytes,
    /// Time from one incast to the next. The first incast starts with the workload.
    pub period: Duration,
    /// Number of incasts.
    pub count: u64,
    /// Hosts among which the receiver and the senders of each incast are drawn; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        making.check_size(self.size, &key)?;
        making.lasts(Duration(self.period.0.saturating_mul(self.count).min(1 << 60)));
        making.add_made(self.flows(&key, &members, making.stream())?)
    }
}

impl Params {
    /// Returns the flows among these hosts.
    pub fn flows(&self, key: &str, hosts: &[u32], mut stream: Stream) -> Result<Vec<Made>, Problem> {
        if self.senders == 0 || self.senders >= wide(hosts.len()) {
            let why = format!(
                "{} is out of range; {} hosts allow 1 to {}",
                self.senders,
                hosts.len(),
                hosts.len().saturating_sub(1)
            );
            return Err((format!("{key}.senders"), why));
        }
        if self.count == 0 {
            return Err((format!("{key}.count"), "must be above zero".into()));
        }
        fits(key, self.count.saturating_mul(self.senders))?;
        let mut order = hosts.to_vec();
        let mut list = Vec::new();
        for i in 0..self.count {
            stream.shuffle(&mut order);
            let start = Duration(self.period.0.saturating_mul(i).min(1 << 60));
            let senders = &order[1..=self.senders as usize];
            list.extend(senders.iter().map(|src| Made {
                src: *src,
                dst: order[0],
                size: self.size,
                start,
                after: Vec::new(),
            }));
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::index;

    #[test]
    fn each_incast_draws_its_receiver_and_senders_anew() {
        let params =
            Params { senders: 3, size: Bytes(1000), period: Duration::us(20), count: 8000, hosts: None };
        let flows = params
            .flows("repeated_incast", &[10, 11, 12, 13, 14, 15, 16, 17], Stream::new(1, 0, "test"))
            .unwrap();
        let (mut received, mut sent) = ([0_u32; 8], [0_u32; 8]);
        for (i, incast) in flows.chunks(3).enumerate() {
            let dst = incast[0].dst;
            assert!(
                incast.iter().all(|f| f.dst == dst && f.src != dst && f.start == Duration::us(20) * wide(i))
            );
            assert!(
                incast[0].src != incast[1].src
                    && incast[1].src != incast[2].src
                    && incast[2].src != incast[0].src
            );
            received[index(dst) - 10] += 1;
            for flow in incast {
                sent[index(flow.src) - 10] += 1;
            }
        }
        // One in eight receives and three send: four standard deviations of binomial counts of 8000 are 119
        // and 174.
        assert!(
            received.iter().all(|n| n.abs_diff(1000) < 119) && sent.iter().all(|n| n.abs_diff(3000) < 174),
            "{received:?} {sent:?}"
        );
        assert!(
            flows.chunks(3).zip(flows[3..].chunks(3)).filter(|(a, b)| a[0].dst == b[0].dst).count() < 1200
        );
    }
}
