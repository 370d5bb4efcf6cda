//! QCN (Quantized Congestion Notification, IEEE 802.1Qau-2010), the congestion point: a switch output that
//! reports congestion in six bits.
//! Each output samples arriving frames by bytes. With Qoff = q − Qeq and Qdelta, the change since the last
//! sample, the feedback is Fb = −(Qoff + w·Qdelta). Negative feedback goes to the source of the sampled frame
//! as min(63, |Fb|·63 / (Qeq (2w + 1))).
//! The interval to the next sample is 150, 75, 50, 37.5, 30, 25, 21.5 or 18.5 parts in 150 of `sample_base`,
//! by the highest three bits, within ±`jitter`.
//! Simplifications: a message carries the feedback alone; frames carry no CN-TAG, as a limiter holds one
//! flow. Invariant: messages carry 1 to 63.
//! Source: the IEEE8021-CN-MIB; `docs/models/qcn.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Moment, index};

use super::congestion_point::{Points, check};
use crate::frames::kinds::Cnm;
use crate::mechanisms::contract::{Enqueued, Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::count::{Count, Tally};
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// Intervals by the highest three bits of the feedback, as shares of `sample_base`.
const INTERVALS: [f64; 8] =
    [1.0, 75.0 / 150.0, 50.0 / 150.0, 37.5 / 150.0, 30.0 / 150.0, 25.0 / 150.0, 21.5 / 150.0, 18.5 / 150.0];

/// `switch.flow_control.qcn`: congestion points; the rate limiters are `host.congestion_control.qcn`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Equilibrium queue (Qeq).
    pub q_eq: Bytes,
    /// Weight of the queue's change.
    pub w: u32,
    /// Bytes between two samples without congestion.
    pub sample_base: Bytes,
    /// Share by which sampling intervals vary at random, to either side.
    pub jitter: f64,
    /// Switches with hosts have congestion points, too.
    pub edges: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { q_eq: Bytes(26_000), w: 2, sample_base: Bytes(150_000), jitter: 0.15, edges: true }
    }
}

/// An output: bytes to the next sample, and the queue at the last sample.
#[derive(Debug, Clone, Copy)]
struct Output {
    left: f64,
    queue: u32,
}

state!(Output {
    value: left, queue;
});

/// QCN at a switch.
#[derive(Debug, Clone)]
pub struct Qcn {
    params: Params,
    outputs: Vec<Output>,
    points: Points,
    samples: u64,
    messages: u64,
}

state!(Qcn {
    part: outputs;
    total: samples, messages;
    constant: params, points;
});

const SAMPLES: Count = Count::number("samples", "frames sampled");
const MESSAGES: Count = Count::number("messages", "QCN messages");

impl Install for Qcn {
    type Params = Params;
    const LABEL: &'static str = "QCN";
    const COUNTS: &'static [Count] = &[SAMPLES, MESSAGES];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        Points::at(site, params.edges).map(|points| Self::new(params, points, core.ports.len()))
    }

    fn properties(_: &Params) -> Properties {
        let why = "no host has rate limiters; set host.congestion_control.qcn";
        Properties { tells_sources: Some(why), ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        check(context, params.q_eq, params.sample_base, params.w)?;
        if !(0.0..1.0).contains(&params.jitter) {
            return Err((
                "jitter",
                format!("{} is out of range; allowed are numbers from 0 to below 1", params.jitter),
            ));
        }
        Ok(())
    }
}

impl Qcn {
    fn new(params: &Params, points: Points, ports: usize) -> Self {
        let outputs = vec![Output { left: params.sample_base.real(), queue: 0 }; ports];
        Self { params: params.clone(), outputs, points, samples: 0, messages: 0 }
    }

    /// Returns the quantised feedback for a queue that was `before` at the last sample; zero without
    /// congestion.
    fn quantised(&self, before: u32, queue: u32) -> u32 {
        let (qeq, w) = (self.params.q_eq.0 as i64, i64::from(self.params.w));
        let worse = i64::from(queue) - qeq + w * (i64::from(queue) - i64::from(before));
        (worse.max(0) * 63 / (qeq * (2 * w + 1))).min(63) as u32
    }
}

impl Hooks for Qcn {
    fn watches(&self) -> Watches {
        Watches::ENQUEUE
    }

    #[inline]
    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let mut output = self.outputs[event.port];
        output.left -= f64::from(event.packet.bytes());
        if output.left <= 0.0 {
            let queue = core.waiting_bytes(event.port);
            let value = self.quantised(output.queue, queue);
            let context = 1.0 + self.params.jitter * (2.0 * effects.stream().uniform() - 1.0);
            output = Output {
                left: self.params.sample_base.real() * INTERVALS[index(value) / 8] * context,
                queue,
            };
            self.samples += 1;
            if value > 0 {
                self.messages += 1;
                self.points.tell(event, Cnm { feedback: value, point: self.points.id(event.port) }, effects);
            }
        }
        self.outputs[event.port] = output;
    }

    fn counts(&self, _now: Moment, tally: &mut dyn Tally) {
        tally.add(SAMPLES, self.samples);
        tally.add(MESSAGES, self.messages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::routing::Sources;

    fn point() -> Qcn {
        Qcn::new(&Params::default(), Points::new(1, Sources { first: vec![0, 1], ..Sources::default() }), 1)
    }

    #[test]
    fn feedback_has_six_bits_and_is_never_positive() {
        let q = point();
        // Qeq (2w + 1) is 130 000: full scale, and beyond.
        assert_eq!(q.quantised(0, 60_667), 63);
        assert_eq!(q.quantised(0, 1_000_000), 63);
        assert_eq!(q.quantised(52_000, 52_000), 26_000 * 63 / 130_000);
        assert_eq!(
            (q.quantised(26_000, 26_000), q.quantised(60_000, 30_000), q.quantised(0, 8_000)),
            (0, 0, 0)
        );
    }

    #[test]
    fn the_worse_the_feedback_the_sooner_the_next_sample() {
        let of = |value: usize| (INTERVALS[value / 8] * 150_000.0).round() as u32;
        let values = [0, 8, 16, 24, 32, 40, 48, 56, 63].map(of);
        assert_eq!(values, [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500, 18_500]);
    }
}
