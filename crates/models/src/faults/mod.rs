//! Faults of a run: links, nodes and hosts that fail at given or drawn moments.
//! Each `[[fault]]` entry acts on every link, node or host that it names, at moments of its own
//! ([`schedule`]). [`plan`] finds the ports; `node/fault.rs` acts. Outages follow `reference/README.md`.
//! Simplifications: a link is down both ways at one moment, and both ends know at once; a frame in
//! transmission occupies its port to its end; a node that is down keeps its knowledge; headroom, thresholds,
//! windows and line rates of congestion controls stay under another rate or delay.
//! Invariants: a fault acts after arrivals and before transmissions of its moment, for any threads and
//! windows; no frame overtakes another on a link; each lost frame counts for one fault.
//! Source: public reports on failing links, and on pause storms of interfaces (Guo et al., "RDMA over
//! Commodity Ethernet at Scale", SIGCOMM 2016); `docs/models/faults.md`.

pub mod injection;
pub mod plan;
pub mod schedule;

use schedule::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Moment, Propagation, Rate};

use crate::parts::param_error::{ParamError, remove};

/// State of a failed link or node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// No frame passes.
    Down,
}

/// Action on frames for a link that is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queued {
    /// Frames are lost: waiting frames as the link goes down, and frames that come until the link is back.
    #[default]
    Flush,
    /// Frames wait until the link is back, except link control frames.
    Wait,
}

/// `fault`: target, moments, and effect of a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Start of the fault. With `time_between_failures`: no failure before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at: Moment,
    /// Duration of the fault. Default: for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Links, by the names of their ends: `leaf0-spine1` for both directions, `leaf0 -> spine1` for frames of
    /// leaf0; `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Nodes by name, with all their links; `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Hosts by name; `*` stands for any characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// State of the links or nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// With `state`: action on frames for a dead link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub queued: Queued,
    /// Rate of a link, in place of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay of a link, or the length of the cable, in place of its own.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Propagation::some_time")]
    #[schemars(with = "Option<Propagation>")]
    pub delay: Option<Duration>,
    /// Probability of damage of each bit of a link. A frame with a damaged bit is lost where the frame
    /// arrives. With 1 a link silently loses all frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_error_rate: Option<f64>,
    /// The host reads no frame, and its interface pauses all classes of the neighbour.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stall: bool,
    /// Factor of the host's computation times in jobs (a straggler), also for a computation in progress,
    /// while the fault lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute: Option<f64>,
    /// Repeated failures: the time from a repair, or `at`, until the next failure. Each link, node or host
    /// draws separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_between_failures: Option<Time>,
    /// With `time_between_failures`: the time from a failure until its repair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_repair: Option<Time>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(at: &Moment) -> bool {
    *at == Moment::ZERO
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The slowest rate, and the longest delay, of a fault.
const SLOWEST: Rate = Rate(1_000_000);
const LONGEST: Duration = Duration::ms(1_000);

impl Fault {
    /// Refuses values without a meaning: the key below the entry, and the reason.
    pub fn validate(&self, end: Moment) -> Result<(), ParamError> {
        let given =
            |flags: &[(&'static str, bool)]| flags.iter().filter(|f| f.1).map(|f| f.0).collect::<Vec<_>>();
        let targets = given(&[
            ("link", self.link.is_some()),
            ("node", self.node.is_some()),
            ("host", self.host.is_some()),
        ]);
        let effects = given(&[
            ("state", self.state.is_some()),
            ("rate", self.rate.is_some()),
            ("delay", self.delay.is_some()),
            ("bit_error_rate", self.bit_error_rate.is_some()),
            ("stall", self.stall),
            ("compute", self.compute.is_some()),
        ]);
        let (target, allowed): (&str, &[&str]) = match targets[..] {
            ["link"] => ("link", &["state", "rate", "delay", "bit_error_rate"]),
            ["node"] => ("node", &["state"]),
            ["host"] => ("host", &["stall", "compute"]),
            _ => return Err(("", "give exactly one target: link, node or host".into())),
        };
        let [effect] = effects[..] else {
            return Err(("", format!("give exactly one of {} for a {target}", allowed.join(", "))));
        };
        if !allowed.contains(&effect) {
            return Err((effect, format!("not allowed for a {target}; give {}", allowed.join(" or "))));
        }
        if self.queued != Queued::Flush && self.state.is_none() {
            return Err(("queued", "has no effect without state; give state, or remove it".into()));
        }
        if self.state.is_some() && self.link.as_ref().is_some_and(|link| link.contains("->")) {
            let why = "a link is down in both directions; write `a-b`, or give bit_error_rate = 1 to lose all frames of one direction";
            return Err(("link", why.into()));
        }
        if let Some(rate) = self.rate.filter(|rate| *rate < SLOWEST) {
            return Err(("rate", format!("{rate} is below the minimum of {SLOWEST}")));
        }
        if let Some(delay) = self.delay.filter(|delay| *delay > LONGEST) {
            return Err(("delay", format!("{delay} is above the maximum of {LONGEST}")));
        }
        if let Some(p) = self.bit_error_rate.filter(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err((
                "bit_error_rate",
                format!("{p} is out of range; allowed are numbers above 0 and up to 1"),
            ));
        }
        if let Some(times) = self.compute.filter(|times| !(*times > 1.0 && *times <= 1e6)) {
            return Err((
                "compute",
                format!("{times} is out of range; allowed are numbers above 1 and up to 1000000"),
            ));
        }
        self.validate_times(end)
    }

    fn validate_times(&self, end: Moment) -> Result<(), ParamError> {
        if self.at > end {
            return Err(("at", format!("{} is too late; a simulation ends before {end}", self.at)));
        }
        if self.duration == Some(Duration::ZERO) {
            return Err(("duration", "must be above zero; remove it for a permanent fault".into()));
        }
        match (&self.time_between_failures, &self.time_to_repair) {
            (None, None) => Ok(()),
            (Some(between), Some(repair)) => {
                if self.duration.is_some() {
                    return Err((
                        "duration",
                        remove("not allowed with time_to_repair, which draws each duration"),
                    ));
                }
                between.validate().map_err(|why| ("time_between_failures", why))?;
                repair.validate().map_err(|why| ("time_to_repair", why))
            }
            (Some(_), None) => {
                Err(("time_to_repair", "missing; repeated failures need a time to repair".into()))
            }
            (None, Some(_)) => Err((
                "time_to_repair",
                "not allowed without time_between_failures; add time_between_failures, or use duration"
                    .into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_its_key() {
        for (text, key) in [
            ("{}", ""),
            (r#"{"link": "a-b"}"#, ""),
            (r#"{"link": "a-b", "node": "a", "state": "down"}"#, ""),
            (r#"{"link": "a-b", "state": "down", "rate": "1Gbps"}"#, ""),
            (r#"{"node": "a", "rate": "1Gbps"}"#, "rate"),
            (r#"{"host": "a", "state": "down"}"#, "state"),
            (r#"{"link": "a-b", "stall": true}"#, "stall"),
            (r#"{"link": "a -> b", "state": "down"}"#, "link"),
            (r#"{"link": "a-b", "rate": "1Gbps", "queued": "wait"}"#, "queued"),
            (r#"{"link": "a-b", "bit_error_rate": 1.5}"#, "bit_error_rate"),
            (r#"{"link": "a-b", "bit_error_rate": 0.0}"#, "bit_error_rate"),
            (r#"{"link": "a-b", "delay": "2s"}"#, "delay"),
            (r#"{"link": "a-b", "rate": "1Kbps"}"#, "rate"),
            (r#"{"link": "a-b", "compute": 2.0}"#, "compute"),
            (r#"{"host": "a", "compute": 0.5}"#, "compute"),
            (r#"{"link": "a-b", "state": "down", "at": "2s"}"#, "at"),
            (r#"{"link": "a-b", "state": "down", "duration": "0s"}"#, "duration"),
            (
                r#"{"link": "a-b", "state": "down", "time_between_failures": {"exponential": "1ms"}}"#,
                "time_to_repair",
            ),
            (
                r#"{"link": "a-b", "state": "down", "time_to_repair": {"exponential": "1ms"}}"#,
                "time_to_repair",
            ),
            (
                r#"{"link": "a-b", "state": "down", "duration": "1us", "time_between_failures": {"fixed": "1ms"}, "time_to_repair": {"fixed": "1ms"}}"#,
                "duration",
            ),
            (
                r#"{"link": "a-b", "state": "down", "time_between_failures": {"fixed": "0s"}, "time_to_repair": {"fixed": "1ms"}}"#,
                "time_between_failures",
            ),
            (
                r#"{"link": "a-b", "state": "down", "time_between_failures": {"fixed": "1ms"}, "time_to_repair": {"uniform": ["2ms", "1ms"]}}"#,
                "time_to_repair",
            ),
        ] {
            assert_eq!(fault(text).validate(Moment::ms(1000)).unwrap_err().0, key, "{text}");
        }
        for text in [
            r#"{"link": "a -> b", "bit_error_rate": 1.0}"#,
            r#"{"node": "a", "state": "down", "queued": "wait", "at": "5us", "duration": "1us"}"#,
            r#"{"host": "a*", "stall": true, "time_between_failures": {"exponential": "1ms"}, "time_to_repair": {"uniform": ["1ms", "2ms"]}}"#,
        ] {
            assert_eq!(fault(text).validate(Moment::ms(1000)), Ok(()), "{text}");
        }
    }
}
