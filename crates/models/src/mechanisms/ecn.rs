//! ECN marking at an output: RED or a step, by the bytes that a departing data packet leaves behind.
//! The count is that of the packet's queue, or of all data queues of the output (`scope`). RED marks at dequeue
//! on the instantaneous length (`red.rs`). `classes` selects the classes that mark, as profiles of vendors' switches do, and `profiles` gives
//! classes their own curves. Packets of a class without ECT are dropped by the curve as they arrive.
//! Simplifications: no average of the queue; a class has ECT as a whole.
//! Source: RED as in the public ns-3 codes of HPCC and `ConWeave` (`docs/models/ecn.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::Bytes;

use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Admit, Dequeued, Hooks, Ingress, Install, Levels, Place, Properties, Site, ValidationContext, Watches,
};
use crate::mechanisms::red::{Above, Curve};
use crate::parts::count::Count;
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::{Change, ParamError};
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::Effects;

/// `switch.ecn`: one of `red` and `step`, or `profiles`.
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
    /// Own curves of some classes, in place of `red` and `step`. Default: all classes have the same curve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<Profile>,
}

/// `switch.ecn.profiles[]`: one of `red` and `step`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The classes with this curve.
    pub classes: Vec<u8>,
    /// Random early detection on the instantaneous queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// Mark each packet that leaves more than the threshold behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// Packets of these classes have ECT. Without ECT the curve drops packets that arrive at the queue, with the
    /// probability of a mark.
    #[serde(default = "has_ect", skip_serializing_if = "is_ect")]
    pub ect: bool,
}

const fn has_ect() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_ect(value: &bool) -> bool {
    *value
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
    /// The queue at which the probability is `pmax`.
    pub kmax: Bytes,
    /// Probability at `kmax`, 0 to 1.
    #[serde(default = "default_pmax")]
    pub pmax: f64,
    /// Probability above `kmax`.
    #[serde(default)]
    pub above: Above,
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
    /// For each output: the markers of classes with their own curve.
    own: Vec<Vec<Marker>>,
}

state!(Ecn {
    constant: markers, own;
});

/// The marker of an output, or of some classes of the output.
#[derive(Debug, Clone, Copy)]
struct Marker {
    curve: Curve,
    scope: Scope,
    /// A bit for each class of the marker.
    classes: u8,
    /// The marker drops packets.
    drops: bool,
}

/// Packets marked, by whichever mechanism, which the node counts. A packet counts where it is marked first.
pub const MARKED: Count = Count::number("marked", "packets marked");

impl Install for Ecn {
    type Params = Params;
    const LABEL: &'static str = "ECN";
    const DROPS: &'static str = "RED";
    const COUNTS: &'static [Count] = &[MARKED];

    fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        (site.forwards && (!site.is_host || site.relay.ecn)).then(|| Self {
            markers: vec![Marker::new(params); site.ports.len()],
            own: vec![Marker::own(params); site.ports.len()],
        })
    }

    fn install_at(&mut self, port: PortId, params: &Params) {
        self.markers[port] = Marker::new(params);
        self.own[port] = Marker::own(params);
    }

    fn properties(params: &Params) -> Properties {
        let marks_data = params.has_curve() || params.profiles.iter().any(|profile| profile.ect);
        let tells_sources = marks_data.then_some("no host reacts to marks; set host.congestion_control");
        let draws = Marker::all(params).any(|marker| marker.curve.draws());
        Properties { marks_data, tells_sources, draws, folds: true, ..Properties::default() }
    }

    fn validate(params: &Params, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if params.has_curve() || params.profiles.is_empty() {
            check_curve(params.red.as_ref(), params.step.as_ref())?;
        }
        if let Some(classes) = &params.classes {
            check_classes(classes, context.classes).map_err(|why| ("classes", why))?;
        }
        let mut known = 0_u8;
        for (at, profile) in params.profiles.iter().enumerate() {
            let wrong = |why| ("profiles", format!("entry {at}: {why}"));
            check_curve(profile.red.as_ref(), profile.step.as_ref())
                .map_err(|(key, why)| wrong(if key.is_empty() { why } else { format!("{key}: {why}") }))?;
            check_classes(&profile.classes, context.classes).map_err(wrong)?;
            if let Some(class) = profile.classes.iter().find(|class| known >> **class & 1 != 0) {
                return Err(wrong(format!(
                    "class {class} has another profile; remove it from one of the two"
                )));
            }
            known |= bits(&profile.classes);
        }
        if context.queueing == Queueing::Iq {
            return Err((
                "",
                Change::set("switch.queueing", "oq").after("marking needs egress queues, and iq has none"),
            ));
        }
        Ok(())
    }

    fn warn_port(params: &Params, ingress: &Ingress<'_>) -> Option<ParamError> {
        let largest = ingress.framing.largest();
        let key = match (&params.step, &params.red) {
            (Some(_), _) => "step.threshold",
            (_, Some(_)) => "red.kmin",
            _ => "profiles",
        };
        let kmin = Marker::all(params).filter(|m| !m.drops).map(|m| u64::from(m.curve.low)).min()?;
        let why = format!(
            "{} is less than two packets of {largest} B: flows may be marked and slow down without congestion; `xoff size ecn` gives a threshold that keeps the link busy",
            Bytes(kmin)
        );
        (kmin < 2 * largest).then_some((key, why))
    }

    fn warn(params: &Params, levels: &Levels) -> Option<ParamError> {
        let is_late = |marker: &Marker| {
            let marks = (0..8).any(|class| marker.classes >> class & 1 != 0 && levels.classes.has(class));
            marks && !marker.drops && u64::from(marker.curve.low) > levels.xoff
        };
        Marker::all(params)
            .any(|marker| is_late(&marker))
            .then(|| ("", format!("marking starts above XOFF, {}: PFC acts first", Bytes(levels.xoff))))
    }
}

impl Params {
    /// True with a curve for the classes without a profile.
    const fn has_curve(&self) -> bool {
        self.red.is_some() || self.step.is_some()
    }
}

/// Refuses a curve without thresholds, with two kinds of thresholds, or with values out of range.
fn check_curve(red: Option<&Red>, step: Option<&Step>) -> Result<(), ParamError> {
    match (red, step) {
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
            return Err(("step.threshold", format!("{} is too large; must be below 4GiB", step.threshold)));
        }
        (None, Some(_)) => {}
        _ => return Err(("", "give exactly one of red and step".into())),
    }
    Ok(())
}

/// Refuses an empty list, and classes that the switches do not have.
fn check_classes(classes: &[u8], count: u8) -> Result<(), String> {
    if let Some(class) = classes.iter().find(|c| **c >= count) {
        return Err(format!("{class} is out of range; the switches have {count} (switch.classes)"));
    }
    if classes.is_empty() {
        return Err("the list is empty; remove switch.ecn, or name a class".into());
    }
    Ok(())
}

/// Returns a bit for each class.
fn bits(classes: &[u8]) -> u8 {
    classes.iter().fold(0, |bits, class| bits | 1 << class)
}

impl Marker {
    /// Returns the marker of classes without a profile; of no class without a curve.
    fn new(params: &Params) -> Self {
        let listed =
            if params.has_curve() { params.classes.as_ref().map_or(u8::MAX, |list| bits(list)) } else { 0 };
        let own = params.profiles.iter().fold(0, |all, profile| all | bits(&profile.classes));
        Self::with(params.red.as_ref(), params.step.as_ref(), params.scope, listed & !own, false)
    }

    /// Returns the markers of profiles.
    fn own(params: &Params) -> Vec<Self> {
        let of = |one: &Profile| {
            Self::with(one.red.as_ref(), one.step.as_ref(), params.scope, bits(&one.classes), !one.ect)
        };
        params.profiles.iter().map(of).collect()
    }

    /// Returns the markers of all classes with a curve.
    fn all(params: &Params) -> impl Iterator<Item = Self> {
        params.has_curve().then(|| Self::new(params)).into_iter().chain(Self::own(params))
    }

    fn with(red: Option<&Red>, step: Option<&Step>, scope: Scope, classes: u8, drops: bool) -> Self {
        let of_step = || {
            let threshold = step.map_or(0, |step| step.threshold.0 as u32);
            Curve { low: threshold, high: threshold, pmax: 1.0, above: Above::Certain }
        };
        let curve = red.map_or_else(of_step, |red| Curve {
            low: red.kmin.0 as u32,
            high: red.kmax.0 as u32,
            pmax: red.pmax,
            above: red.above,
        });
        Self { curve, scope, classes, drops }
    }

    /// Returns the bytes that are compared with the thresholds.
    fn bytes(&self, port: PortId, queue: QueueId, core: &Core) -> u32 {
        match self.scope {
            Scope::Queue => core.egress_bytes(port, queue),
            Scope::Port => core.waiting_bytes(port),
        }
    }
}

impl Ecn {
    /// Returns the marker of a queue.
    #[inline]
    fn marker(&self, port: PortId, queue: QueueId, core: &Core) -> Option<&Marker> {
        let general = &self.markers[port];
        if general.classes == u8::MAX {
            return Some(general);
        }
        let class = core.ports[port].queues[queue].class();
        let has = |marker: &&Marker| marker.classes >> class & 1 != 0;
        Some(general).filter(has).or_else(|| self.own[port].iter().find(has))
    }
}

impl Hooks for Ecn {
    fn watches(&self) -> Watches {
        let drops = self.own.iter().flatten().any(|marker| marker.drops);
        Watches::DEQUEUE.and(if drops { Watches::ADMIT } else { Watches::NONE })
    }

    /// Drops packets without ECT by the curve of the class.
    fn admit(&mut self, packet: &mut Packet, place: Place, core: &Core, effects: &mut Effects) -> Admit {
        if let Some(marker) = self.marker(place.port, place.queue, core).filter(|marker| marker.drops)
            && packet.is_data()
            && marker.curve.picks(packet, marker.bytes(place.port, place.queue, core), effects)
        {
            return Admit::Drop;
        }
        Admit::Accept(place.queue)
    }

    #[inline]
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        let Some(marker) = self.marker(event.port, event.queue, core).filter(|marker| !marker.drops) else {
            return;
        };
        if marker.curve.picks(event.packet, marker.bytes(event.port, event.queue, core), effects) {
            effects.mark();
        }
    }
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::frames::kinds::Kind;

    fn step(threshold: u64) -> Params {
        Params { step: Some(Step { threshold: Bytes(threshold) }), ..Params::default() }
    }

    fn of(params: &Params) -> Ecn {
        Ecn { markers: vec![Marker::new(params)], own: vec![Marker::own(params)] }
    }

    /// Returns the data queues of an output that mark departing packets, for these bytes in the queues.
    fn marking(params: &Params, bytes: [u16; 3], queueing: Queueing) -> [bool; 3] {
        let mut core = Core::for_tests(1, 3);
        core.queueing = queueing;
        for (queue, bytes) in bytes.into_iter().enumerate() {
            core.ports[0].queues[1 + queue].bytes.add(bytes);
        }
        let (mut ecn, mut effects) = (of(params), Effects::for_tests(1));
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

    fn profile(classes: &[u8], threshold: u64, ect: bool) -> Profile {
        Profile { classes: classes.into(), red: None, step: Some(Step { threshold: Bytes(threshold) }), ect }
    }

    #[test]
    fn a_class_has_its_own_curve() {
        let own = Params { profiles: vec![profile(&[1], 500, true)], ..step(1000) };
        for (bytes, marks) in
            [([1001; 3], [true; 3]), ([1000; 3], [false, true, false]), ([500; 3], [false; 3])]
        {
            assert_eq!(marking(&own, bytes, Queueing::Oq), marks);
        }
        // Without a general curve the other classes mark nothing.
        let alone = Params { profiles: vec![profile(&[1], 500, true)], ..Params::default() };
        assert_eq!(marking(&alone, [9999; 3], Queueing::Oq), [false, true, false]);
    }

    #[test]
    fn packets_without_ect_are_dropped_by_the_curve() {
        let params = Params { profiles: vec![profile(&[1], 500, false)], ..step(1000) };
        let (mut ecn, mut effects, mut core) = (of(&params), Effects::for_tests(1), Core::for_tests(1, 3));
        assert_eq!(marking(&params, [1001; 3], Queueing::Oq), [true, false, true]);
        for (bytes, dropped) in [(500, false), (501, true)] {
            for class in [0, 1, 2] {
                let (queue, place) = (QueueId::at(usize::from(1 + class)), PortId(0));
                core.ports[0].queues[queue].bytes.add(bytes);
                let mut packet = Packet::new(Kind::Data, 0, 0, 1, 1500, class);
                let found = ecn.admit(&mut packet, Place { port: place, queue }, &core, &mut effects);
                assert_eq!(matches!(found, Admit::Drop), dropped && class == 1, "{bytes} {class}");
                core.ports[0].queues[queue].bytes.sub(bytes);
            }
        }
    }
}
