//! BCN (Backward Congestion Notification), the congestion point: a switch output that sends signed feedback
//! to sources. Each output samples an arriving frame every `sample_base` bytes and a random part of `jitter`.
//! The feedback in pages of 64 bytes is Fb = Qoff − w·Qdelta, with Qoff = Qeq − q within ±Qeq, and Qdelta,
//! the change since the last sample, within ±2 Qeq.
//! Negative feedback goes to the source of the sampled frame. Positive feedback goes there only if the frame
//! names this point, and the queue is below `q_eq`. Above `q_sc` the message is BCN(0,0), above `max_above`
//! BCN(max). Simplifications: a message carries Fb; dropped frames are neither sampled nor counted.
//! Invariants: feedback is within ±(1 + 2w) Qeq; only BCN(0,0) has feedback zero.
//! Source: the BCN hot-spot document (802.1au contribution); `docs/models/bcn.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Bytes, Moment};

use super::congestion_point::{Points, check};
use crate::frames::{kinds, tag};
use crate::mechanisms::contract::{Enqueued, Hooks, Install, Properties, Site, ValidationContext, Watches};
use crate::parts::count::{Count, Tally};
use crate::parts::param_error::ParamError;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

const PAGE: u32 = 64;

/// `switch.flow_control.bcn`: congestion points; the rate limiters are `host.congestion_control.bcn`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Equilibrium queue (Qeq).
    pub q_eq: Bytes,
    /// Weight of the queue's change.
    pub w: u32,
    /// A frame is sampled after this many bytes and a random part of `jitter`.
    pub sample_base: Bytes,
    /// Bytes of which a random part is added to each sampling interval.
    pub jitter: Bytes,
    /// Above this queue the message is BCN(0,0), which stops the source. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_sc: Option<Bytes>,
    /// Above this queue the message is BCN(max), with the most negative feedback. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_above: Option<Bytes>,
    /// Switches with hosts have congestion points, too.
    pub edges: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            q_eq: Bytes(375 * 64),
            w: 2,
            sample_base: Bytes(150_000),
            jitter: Bytes(5_000),
            q_sc: None,
            max_above: None,
            edges: true,
        }
    }
}

/// An output: bytes to the next sample, and the queue at the last sample.
#[derive(Debug, Clone, Copy)]
struct Output {
    left: i64,
    pages: i64,
}

state!(Output {
    value: left, pages;
});

/// BCN at a switch.
#[derive(Debug, Clone)]
pub struct Bcn {
    q_eq: i64,
    w: i64,
    sample_base: i64,
    jitter: f64,
    q_sc: u32,
    max_above: u32,
    outputs: Vec<Output>,
    points: Points,
    samples: u64,
    negative: u64,
    positive: u64,
    stops: u64,
}

state!(Bcn {
    part: outputs;
    constant: q_eq, w, sample_base, jitter, q_sc, max_above, points;
    total: samples, negative, positive, stops;
});

const SAMPLES: Count = Count::number("samples", "frames sampled");
const NEGATIVE: Count = Count::number("negative", "messages with negative feedback");
const POSITIVE: Count = Count::number("positive", "messages with positive feedback");
const STOPS: Count = Count::number("stops", "stop messages");

impl Install for Bcn {
    type Params = Params;
    const LABEL: &'static str = "BCN";
    const COUNTS: &'static [Count] = &[SAMPLES, NEGATIVE, POSITIVE, STOPS];

    fn install(params: &Params, site: &Site<'_>, core: &mut Core) -> Option<Self> {
        Points::at(site, params.edges).map(|points| Self::new(params, points, core.ports.len()))
    }

    /// Frames name the congestion point that limits their source.
    fn properties(_: &Params) -> Properties {
        let why = "no host has rate limiters; set host.congestion_control.bcn";
        Properties { tag_bits: tag::BITS, tells_sources: Some(why), ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        check(context, params.q_eq, params.sample_base, params.w)?;
        let most = (1 + 2 * u64::from(params.w)).saturating_mul(params.q_eq.0 / u64::from(PAGE));
        if most > i32::MAX as u64 {
            return Err((
                "w",
                format!("feedback of up to {most}, (1 + 2 w) q_eq in pages, exceeds the maximum of 2^31 - 1"),
            ));
        }
        if params.jitter.0 >= 1 << 40 {
            return Err(("jitter", format!("{} is out of range; must be below 1TB", params.jitter)));
        }
        Ok(())
    }
}

impl Bcn {
    fn new(params: &Params, points: Points, ports: usize) -> Self {
        let above =
            |level: Option<Bytes>| level.map_or(u32::MAX, |bytes| bytes.0.min(u64::from(u32::MAX)) as u32);
        Self {
            q_eq: (params.q_eq.0 / u64::from(PAGE)) as i64,
            w: i64::from(params.w),
            sample_base: params.sample_base.0 as i64,
            jitter: params.jitter.real(),
            q_sc: above(params.q_sc),
            max_above: above(params.max_above),
            // The first sample comes after one interval without jitter.
            outputs: vec![Output { left: params.sample_base.0 as i64, pages: 0 }; ports],
            points,
            samples: 0,
            negative: 0,
            positive: 0,
            stops: 0,
        }
    }

    /// Returns the feedback for a queue, and records the queue.
    fn feedback(&self, output: &mut Output, queue: u32) -> i64 {
        let (pages, qeq) = (i64::from(queue / PAGE), self.q_eq);
        let off = (qeq - pages).clamp(-qeq, qeq);
        let delta = (pages - output.pages).clamp(-2 * qeq, 2 * qeq);
        output.pages = pages;
        off - self.w * delta
    }
}

impl Hooks for Bcn {
    fn watches(&self) -> Watches {
        Watches::ENQUEUE
    }

    #[inline]
    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let mut output = self.outputs[event.port];
        output.left -= i64::from(event.packet.bytes());
        if output.left <= 0 {
            let queue = core.waiting_bytes(event.port);
            let fb = self.feedback(&mut output, queue);
            output.left = self.sample_base + (effects.stream().uniform() * self.jitter) as i64;
            self.samples += 1;
            let value = if queue > self.q_sc {
                self.stops += 1;
                Some(0)
            } else if queue > self.max_above || fb < 0 {
                self.negative += 1;
                Some(if queue > self.max_above { -(1 + 2 * self.w) * self.q_eq } else { fb })
            } else if fb > 0
                && event.packet.tag() == self.points.id(event.port)
                && i64::from(queue / PAGE) < self.q_eq
            {
                self.positive += 1;
                Some(fb)
            } else {
                None
            };
            if let Some(value) = value {
                let point = self.points.id(event.port);
                self.points.tell(event, kinds::Bcn { feedback: value as i32, point }, effects);
            }
        }
        self.outputs[event.port] = output;
    }

    fn counts(&self, _now: Moment, tally: &mut dyn Tally) {
        tally.add(SAMPLES, self.samples);
        tally.add(NEGATIVE, self.negative);
        tally.add(POSITIVE, self.positive);
        tally.add(STOPS, self.stops);
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;
    use crate::frames::packet::Packet;
    use crate::parts::ids::{PortId, QueueId};
    use crate::paths::routing::Sources;
    use crate::ports::effects::Effect;

    fn point(params: &Params) -> (Bcn, Effects) {
        (
            Bcn::new(params, Points::new(5, Sources { first: vec![0, 0, 0, 10], ..Sources::default() }), 1),
            Effects::for_tests(1),
        )
    }

    /// Lets a sampled frame arrive at a queue of `queue` bytes; returns the feedback of the message.
    fn sample(bcn: &mut Bcn, effects: &mut Effects, core: &mut Core, queue: u32, tag: u32) -> Option<i32> {
        let counter = &mut core.ports[0].queues[1].bytes;
        while counter.bytes() < queue {
            counter.add((queue - counter.bytes()).min(1500) as u16);
        }
        while counter.bytes() > queue {
            counter.sub((counter.bytes() - queue).min(1500) as u16);
        }
        bcn.outputs[0].left = 1;
        let mut packet = Packet::new(Kind::Data, 4, 0, 1, 1500, 0);
        packet.set_tag(tag);
        bcn.on_enqueue(&Enqueued { packet: &packet, port: PortId(0), queue: QueueId(1) }, core, effects);
        effects.take().first().map(|(_, effect)| match effect {
            Effect::Emit(frame) => {
                let kinds::Bcn { feedback, point } = frame.payload().unwrap();
                assert_eq!((frame.flow(), frame.dst(), point, frame.bytes()), (4, 2, 5, 64));
                feedback
            }
            _ => panic!("something else was asked for"),
        })
    }

    #[test]
    fn feedback_is_offset_less_twice_the_change_within_its_clamps() {
        let (mut bcn, mut effects) = point(&Params::default());
        let mut core = Core::for_tests(1, 1);
        let mut at = |pages: u32, tag: u32| sample(&mut bcn, &mut effects, &mut core, pages * 64, tag);
        // From an empty queue to 1172 pages: both clamps act.
        assert_eq!(at(1172, 0), Some(-1875));
        // Unchanged: the offset alone, at its clamp.
        assert_eq!(at(1172, 0), Some(-375));
        // 172 pages fewer, still above.
        assert_eq!(at(1000, 0), Some(-375 + 2 * 172));
        // Half of that again and below: raises only what is tagged with this point, and below Qeq.
        assert_eq!(at(400, 5), None);
        assert_eq!(at(300, 0), None);
        assert_eq!(at(200, 4), None);
        assert_eq!(at(100, 5), Some(275 + 2 * 100));
        assert_eq!(at(0, 5), Some(375 + 2 * 100));
        // At rest at Qeq there is nothing to say.
        at(375, 5);
        assert_eq!(at(375, 5), None);
        assert_eq!((bcn.samples, bcn.negative, bcn.positive), (10, 4, 2));
    }

    #[test]
    fn the_variants_act_above_their_levels() {
        let levels =
            Params { q_sc: Some(Bytes(200_000)), max_above: Some(Bytes(100_000)), ..Params::default() };
        let (mut bcn, mut effects) = point(&levels);
        let mut core = Core::for_tests(1, 1);
        let mut at = |queue: u32| sample(&mut bcn, &mut effects, &mut core, queue, 0);
        assert_eq!((at(96_000), at(96_000)), (Some(-1875), Some(-375)));
        assert_eq!((at(100_064), at(100_064), at(210_000)), (Some(-1875), Some(-1875), Some(0)));
    }

    #[test]
    fn samples_are_an_interval_and_a_random_part_of_the_jitter_apart() {
        let (mut bcn, mut effects) = point(&Params::default());
        let core = Core::for_tests(1, 1);
        let packet = Packet::new(Kind::Data, 4, 0, 1, 1500, 0);
        let mut at = Vec::new();
        for k in 0..100_000_u32 {
            let before = bcn.samples;
            bcn.on_enqueue(
                &Enqueued { packet: &packet, port: PortId(0), queue: QueueId(1) },
                &core,
                &mut effects,
            );
            effects.take();
            if bcn.samples > before {
                at.push(k);
            }
        }
        let gaps: Vec<u32> = at.windows(2).map(|w| w[1] - w[0]).collect();
        assert_eq!(at[0], 99);
        assert!(gaps.iter().all(|g| (101..=104).contains(g)) && gaps.contains(&101) && gaps.contains(&104));
    }
}
