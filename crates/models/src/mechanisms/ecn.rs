//! ECN marking at an output: RED or a step, by the bytes that a departing data packet leaves behind.
//! The count is that of the packet's queue, or of all data queues of the output (`scope`). RED marks nothing
//! up to `kmin`, linearly to `pmax` at `kmax`, and every packet above, at dequeue on the instantaneous
//! length. `classes` selects the classes that mark, as profiles of vendors' switches do.
//! Simplification: no average of the queue.
//! Source: RED as in the public ns-3 codes of HPCC and `ConWeave` (`docs/models/ecn.md`).

use crate::ids::PortId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::Bytes;

use crate::core::{Core, Queueing};
use crate::count::Count;
use crate::effects::Effects;
use crate::mechanism::{
    Dequeued, Hooks, Ingress, Install, Levels, Properties, Site, ValidationContext, Watches,
};
use crate::param_error::ParamError;

/// `switch.ecn`: one of `red` and `step`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Random early detection on the instantaneous queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// Mark each packet that leaves more than the threshold behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Bytes that are compared with the thresholds.
    #[serde(default)]
    pub scope: Scope,
    /// Classes with marked packets. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u8>>,
}

/// Bytes that are compared with the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The queue of the packet; with virtual output queues (`voq`) all queues of the packet's class and
    /// output.
    #[default]
    Queue,
    /// All data queues of the output, of all classes.
    Port,
}

/// `switch.ecn.red`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// No packet is marked up to this queue.
    pub kmin: Bytes,
    /// Every packet is marked above this queue.
    pub kmax: Bytes,
    /// Probability at `kmax`, 0 to 1.
    #[serde(default = "default_pmax")]
    pub pmax: f64,
}

/// `switch.ecn.step`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The queue above which packets are marked.
    pub threshold: Bytes,
}

fn default_pmax() -> f64 {
    0.2
}

/// The markers of a node's outputs.
#[derive(Debug, Clone)]
pub struct Ecn {
    markers: Vec<Marker>,
}

state!(Ecn {
    constant: markers;
});

/// The marker of an output.
#[derive(Debug, Clone, Copy)]
struct Marker {
    kmin: u32,
    kmax: u32,
    pmax: f64,
    scope: Scope,
    /// A bit for each marking class.
    classes: u8,
}

/// Packets marked, by whichever mechanism, which the node counts.
pub const MARKED: Count = Count::number("marked", "packets marked");

impl Install for Ecn {
    type Params = Params;
    const LABEL: &'static str = "ECN";
    const COUNTS: &'static [Count] = &[MARKED];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        let marker = Marker::new(params);
        (site.forwards && (!site.is_host || site.relay.ecn))
            .then(|| Self { markers: vec![marker; site.ports.len()] })
    }

    fn install_at(&mut self, port: PortId, params: &Params) {
        self.markers[port] = Marker::new(params);
    }

    fn properties(_: &Params) -> Properties {
        let tells_sources = Some("no host reacts to marks; set host.congestion_control");
        Properties { tells_sources, marks_data: true, ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        match (&params.red, &params.step) {
            (Some(red), None) => {
                if red.kmax.0 >= 1 << 32 {
                    return Err(("red.kmax", format!("{} is too large; must be below 4GiB", red.kmax)));
                }
                if red.kmin > red.kmax {
                    return Err(("red.kmin", format!("{} is above kmax, {}", red.kmin, red.kmax)));
                }
                if !(0.0..=1.0).contains(&red.pmax) {
                    return Err(("red.pmax", format!("{} is out of range; allowed are 0 to 1", red.pmax)));
                }
            }
            (None, Some(step)) if step.threshold.0 >= 1 << 32 => {
                return Err((
                    "step.threshold",
                    format!("{} is too large; must be below 4GiB", step.threshold),
                ));
            }
            (None, Some(_)) => {}
            _ => return Err(("", "give exactly one of red and step".into())),
        }
        if let Some(classes) = &params.classes {
            if let Some(class) = classes.iter().find(|c| **c >= context.classes) {
                let why = format!(
                    "{class} is out of range; the switches have {} (switch.classes)",
                    context.classes
                );
                return Err(("classes", why));
            }
            if classes.is_empty() {
                return Err(("classes", "the list is empty; remove switch.ecn, or name a class".into()));
            }
        }
        if context.queueing == Queueing::Iq {
            return Err(("", "marking needs egress queues, and `iq` has none; use oq or voq".into()));
        }
        Ok(())
    }

    fn warn_port(params: &Params, ingress: &Ingress<'_>) -> Option<ParamError> {
        let (kmin, largest) = (u64::from(Marker::new(params).kmin), ingress.framing.largest());
        let key = if params.step.is_some() { "step.threshold" } else { "red.kmin" };
        let why = format!(
            "{} is less than two packets of {largest} B: flows may be marked and slow down without congestion; `xoff size ecn` gives a threshold that keeps the link busy",
            Bytes(kmin)
        );
        (kmin < 2 * largest).then_some((key, why))
    }

    fn warn(params: &Params, levels: &Levels) -> Option<ParamError> {
        let marker = Marker::new(params);
        let marks = (0..8).any(|class| marker.classes >> class & 1 != 0 && levels.classes.has(class));
        (marks && u64::from(marker.kmin) > levels.xoff)
            .then(|| ("", format!("marking starts above XOFF, {}: PFC acts first", Bytes(levels.xoff))))
    }
}

impl Marker {
    fn new(params: &Params) -> Self {
        let step = params.step.as_ref().map_or(0, |step| step.threshold.0);
        let (kmin, kmax, pmax) =
            params.red.as_ref().map_or((step, step, 1.0), |red| (red.kmin.0, red.kmax.0, red.pmax));
        let classes = params
            .classes
            .as_ref()
            .map_or(u8::MAX, |list| list.iter().fold(0, |bits, class| bits | 1 << class));
        Self { kmin: kmin as u32, kmax: kmax as u32, pmax, scope: params.scope, classes }
    }

    fn probability(&self, queue_bytes: u32) -> f64 {
        if queue_bytes <= self.kmin {
            0.0
        } else if queue_bytes > self.kmax {
            1.0
        } else {
            self.pmax * f64::from(queue_bytes - self.kmin) / f64::from(self.kmax - self.kmin)
        }
    }
}

impl Hooks for Ecn {
    fn watches(&self) -> Watches {
        Watches::DEQUEUE
    }

    #[inline]
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let marker = &self.markers[event.port];
        if marker.classes != u8::MAX
            && marker.classes >> core.ports[event.port].queues[event.queue].class() & 1 == 0
        {
            return;
        }
        let queue = match marker.scope {
            Scope::Queue => core.egress_bytes(event.port, event.queue),
            Scope::Port => core.waiting_bytes(event.port),
        };
        if queue > marker.kmin
            && (queue > marker.kmax || effects.draw_share(event.packet, marker.probability(queue)))
        {
            effects.mark();
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::Kind;
    use crate::ids::QueueId;
    use crate::packet::Packet;

    fn step(threshold: u64) -> Params {
        Params { step: Some(Step { threshold: Bytes(threshold) }), ..Params::default() }
    }

    /// Returns the data queues of an output that mark departing packets, for these bytes in the queues.
    fn marking(params: &Params, bytes: [u16; 3], queueing: Queueing) -> [bool; 3] {
        let mut core = Core::for_tests(1, 3);
        core.queueing = queueing;
        for (queue, bytes) in bytes.into_iter().enumerate() {
            core.ports[0].queues[1 + queue].bytes.add(bytes);
        }
        let (mut ecn, mut effects) = (Ecn { markers: vec![Marker::new(params)] }, Effects::for_tests(1));
        [0, 1, 2].map(|class| {
            let packet = Packet::new(Kind::Data, 0, 0, 1, 1500, class);
            ecn.on_dequeue(
                &Dequeued {
                    packet: &packet,
                    port: PortId(0),
                    queue: QueueId::at(usize::from(1 + class)),
                    is_whole: true,
                },
                &core,
                &mut effects,
            );
            effects.take_mark()
        })
    }

    #[test]
    fn thresholds_are_compared_with_a_queue_or_with_all_of_the_port() {
        let (queue, port) = (step(1000), Params { scope: Scope::Port, ..step(1000) });
        for queueing in [Queueing::Oq, Queueing::Voq] {
            assert_eq!(marking(&queue, [1000, 1001, 0], queueing), [false, true, false]);
            assert_eq!(marking(&port, [1000, 1, 0], queueing), [true; 3]);
            assert_eq!(marking(&port, [999, 1, 0], queueing), [false; 3]);
        }
    }

    #[test]
    fn only_classes_that_are_named_mark() {
        let some = |scope| Params { scope, classes: Some(vec![0, 2]), ..step(1000) };
        assert_eq!(marking(&some(Scope::Queue), [1001, 1001, 1000], Queueing::Oq), [true, false, false]);
        // What another class leaves waits for the same output all the same.
        assert_eq!(marking(&some(Scope::Port), [0, 1001, 0], Queueing::Oq), [true, false, true]);
    }

    #[test]
    fn red_is_linear_between_its_thresholds() {
        let red = Red { kmin: Bytes(100_000), kmax: Bytes(400_000), pmax: 0.2 };
        let red = Marker::new(&Params { red: Some(red), ..Params::default() });
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(red.probability(100_000), 0.0));
        assert!(near(red.probability(250_000), 0.1));
        assert!(near(red.probability(400_000), 0.2));
        assert!(near(red.probability(400_001), 1.0));
        let step = Marker::new(&step(200_000));
        assert!(near(step.probability(200_000), 0.0));
        assert!(near(step.probability(200_001), 1.0));
    }
}
