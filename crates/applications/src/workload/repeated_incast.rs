//! Repeated incasts: time and again some hosts send to one host at the same moment.
//!
//! Receiver and senders of each incast are drawn uniformly among the hosts, so in the long run all hosts
//! receive equally often. Source: HPCC's traffic with incasts; `docs/models/repeated_incast.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_models::parts::streams;
use xoff_models::traffic::workload::{Host, Made, Making, Problem, Traffic, fits};
use xoff_units::{Bytes, Duration, wide};

/// Longest time from the start of a workload that is represented.
const LONGEST: u64 = 1 << 60;

/// `workload[…].repeated_incast`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Senders of each incast.
    pub senders: u64,
    /// Payload of each.
    pub size: Bytes,
    /// Mean time from one incast to the next. Give `period` or `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// Payload of all incasts as a share of the line rates of all `hosts`, above 0 and up to 1.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Number of incasts. Give `count` or `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Incasts start for this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Times from one incast to the next.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// Hosts among which the receiver and the senders of each incast are drawn; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

/// Times from one incast to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Every period; the first incast starts with the workload.
    #[default]
    Periodic,
    /// Exponentially distributed times, also before the first incast.
    Poisson,
}

/// Start times of incasts.
struct Starts {
    period_ps: f64,
    count: u64,
    /// No incast starts at this time or later.
    end: u64,
    arrivals: Arrivals,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let members = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        making.check_size(self.size, &key)?;
        self.check_senders(&key, members.len())?;
        let rates: u64 = members.iter().map(|host| making.rate(*host).0).sum();
        let starts = self.starts(&key, rates as f64)?;
        let mean = starts.period_ps * starts.count as f64;
        making.lasts(Duration::of_real(mean.min(starts.end.min(LONGEST) as f64)));
        let gaps = making.stream_for(0, streams::INCAST_GAPS);
        making.add_made(self.flows(&key, &members, &starts, making.stream(), gaps)?)
    }
}

impl Params {
    /// Refuses more senders than hosts beside the receiver, and none.
    fn check_senders(&self, key: &str, hosts: usize) -> Result<(), Problem> {
        if self.senders == 0 || self.senders >= wide(hosts) {
            let most = hosts.saturating_sub(1);
            let why = format!("{} is out of range; {hosts} hosts allow 1 to {most}", self.senders);
            return Err((format!("{key}.senders"), why));
        }
        Ok(())
    }

    /// Returns the start times for hosts whose line rates have this sum (bits per second).
    fn starts(&self, key: &str, rates: f64) -> Result<Starts, Problem> {
        let period_ps = match (self.period, self.load) {
            (Some(period), None) => period.0 as f64,
            (None, Some(load)) if load > 0.0 && load <= 1.5 => {
                8e12 * self.senders as f64 * self.size.0 as f64 / (load * rates)
            }
            (None, Some(load)) => {
                let why = format!("{load} is out of range; allowed are numbers above 0 and up to 1.5");
                return Err((format!("{key}.load"), why));
            }
            _ => return Err((key.to_string(), "give exactly one of period and load".into())),
        };
        let (count, end) = match (self.count, self.duration) {
            (Some(0), None) => return Err((format!("{key}.count"), "must be above zero".into())),
            (None, Some(Duration::ZERO)) => {
                return Err((format!("{key}.duration"), "must be above zero".into()));
            }
            (Some(count), None) => (count, u64::MAX),
            (None, Some(_)) if period_ps == 0.0 => {
                return Err((format!("{key}.period"), "must be above zero with duration; give count".into()));
            }
            (None, Some(duration)) => {
                let expected = duration.0 as f64 / period_ps * self.senders as f64;
                fits(key, expected as u64)?;
                (u64::MAX, duration.0)
            }
            _ => return Err((key.to_string(), "give exactly one of count and duration".into())),
        };
        Ok(Starts { period_ps, count, end, arrivals: self.arrivals })
    }

    /// Returns the flows among these hosts.
    fn flows(
        &self,
        key: &str,
        hosts: &[u32],
        starts: &Starts,
        mut stream: Stream,
        mut gaps: Stream,
    ) -> Result<Vec<Made>, Problem> {
        if self.count.is_some() {
            fits(key, starts.count.saturating_mul(self.senders))?;
        }
        let mut order = hosts.to_vec();
        let mut list = Vec::new();
        for start in starts.times(&mut gaps) {
            stream.shuffle(&mut order);
            let senders = &order[1..=self.senders as usize];
            fits(key, wide(list.len() + senders.len()))?;
            list.extend(senders.iter().map(|src| Made {
                src: *src,
                dst: order[0],
                size: self.size,
                start: Duration(start),
                after: Vec::new(),
                name: None,
            }));
        }
        Ok(list)
    }
}

impl Starts {
    /// Returns the start of each incast, in picoseconds after the start of the workload.
    fn times(&self, gaps: &mut Stream) -> impl Iterator<Item = u64> {
        let mut before = 0.0;
        let time = move |number: u64| match self.arrivals {
            Arrivals::Periodic => self.period_ps * number as f64,
            Arrivals::Poisson => {
                before -= libm::log(1.0 - gaps.uniform()) * self.period_ps;
                before
            }
        };
        let whole = |time: f64| (time as u64).min(LONGEST);
        (0..self.count).map(time).map(whole).take_while(|time| *time < self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_units::index;

    fn params(period: Option<Duration>, count: Option<u64>) -> Params {
        Params {
            senders: 3,
            size: Bytes(1000),
            period,
            load: None,
            count,
            duration: None,
            arrivals: Arrivals::Periodic,
            hosts: None,
        }
    }

    fn times(params: &Params) -> Vec<u64> {
        params.starts("", 8e11).unwrap().times(&mut Stream::new(1, 0, "gaps")).collect()
    }

    #[test]
    fn a_load_is_a_period_and_poisson_arrivals_have_its_mean() {
        // 3 x 1000 B x 8 at 2 % of 800 Gb/s: an incast each 1.5 us.
        let load = Params { load: Some(0.02), ..params(None, Some(4)) };
        assert_eq!(times(&load), times(&params(Some(Duration::ns(1500)), Some(4))));
        assert_eq!(times(&load), [0, 1_500_000, 3_000_000, 4_500_000]);
        // No incast starts at the end.
        let lasting = Params { load: Some(0.02), duration: Some(Duration::us(3)), ..params(None, None) };
        assert_eq!(times(&lasting), [0, 1_500_000]);
        // 10,000 exponential times: the mean within four standard deviations, 4 %; their squares have twice the
        // square of the mean, within 4 x sqrt(20 / 10,000) = 18 %.
        let poisson = Params { arrivals: Arrivals::Poisson, ..params(Some(Duration::us(20)), Some(10_000)) };
        let found = times(&poisson);
        let gap = |(from, to): (u64, &u64)| (to - from) as f64 / 2e7;
        let gaps: Vec<f64> = std::iter::once(0).chain(found.iter().copied()).zip(&found).map(gap).collect();
        let mean = |of: fn(f64) -> f64| gaps.iter().map(|gap| of(*gap)).sum::<f64>() / 1e4;
        assert!((mean(|gap| gap) - 1.0).abs() < 0.04, "{}", mean(|gap| gap));
        assert!((mean(|gap| gap * gap) / 2.0 - 1.0).abs() < 0.09, "{}", mean(|gap| gap * gap));
        assert!(found[0] > 0);
    }

    #[test]
    fn each_incast_draws_its_receiver_and_senders_anew() {
        let params = params(Some(Duration::us(20)), Some(8000));
        let starts = params.starts("", 8e11).unwrap();
        let hosts = [10, 11, 12, 13, 14, 15, 16, 17];
        let streams = ["test", "gaps"].map(|purpose| Stream::new(1, 0, purpose));
        let [draws, gaps] = streams;
        let flows = params.flows("repeated_incast", &hosts, &starts, draws, gaps).unwrap();
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
