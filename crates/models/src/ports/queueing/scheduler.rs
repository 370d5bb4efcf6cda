//! Schedulers of the classes of a port: the key `switch.scheduler`, its check, and the turns at ports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Bytes;

use super::port::Turns;
use crate::parts::ids::{ClassSet, MAX_CLASSES};
use crate::parts::param_error::Change;

/// Turns of the classes of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
// Its public name in Python.
#[schemars(rename = "Turns")]
pub enum Scheduler {
    /// A higher class always goes first.
    #[default]
    Strict,
    /// Packet by packet.
    RoundRobin,
    /// Deficit round robin with this many bytes a round.
    Drr(Bytes),
    /// A scheduler for each class; entry n of the list is for class n. Strict classes go first, a higher
    /// class before a lower class. The other classes share the rest by weight, in bytes. Default of classes
    /// without an entry: `dwrr` with weight 1.
    Queues(Vec<ClassScheduler>),
}

/// `switch.scheduler.queues[]`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassScheduler {
    /// Scheduler of the class.
    #[serde(rename = "type")]
    pub kind: ClassTurns,
    /// With `dwrr`: frames of the largest size a round, 1 to 100. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
}

/// Turns of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClassTurns {
    /// Before all other classes, except higher strict classes.
    Strict,
    /// Deficit weighted round robin: by weight, in bytes.
    Dwrr,
}

impl Scheduler {
    /// Returns the turns of classes at a port, and the classes that go before all turns. Strict priority of all
    /// classes has no turns. `largest` is the size of the largest frame; except with `queues`, the `first`
    /// highest of the `classes` classes go strictly first.
    pub fn at_ports(&self, classes: u8, first: u8, largest: u32) -> (Option<Turns>, ClassSet) {
        let highest = ClassSet::of(classes - first..classes);
        match self {
            Self::Strict => (None, highest),
            Self::RoundRobin => (Some(Turns::Packets), highest),
            Self::Drr(quantum) => (Some(Turns::Bytes([quantum.0 as u32; MAX_CLASSES])), highest),
            Self::Queues(queues) => {
                let mut quanta = [largest; MAX_CLASSES];
                for (quantum, queue) in quanta.iter_mut().zip(queues) {
                    *quantum = largest * queue.weight.unwrap_or(1);
                }
                let strict = (0..classes).zip(queues).filter(|(_, queue)| queue.kind == ClassTurns::Strict);
                (Some(Turns::Bytes(quanta)), ClassSet::of(strict.map(|(class, _)| class)))
            }
        }
    }

    /// Returns the path of a wrong key and the reason: a value out of range, or a combination that cannot work.
    ///
    /// `first`: as for [`Scheduler::at_ports`]. `by_inputs`: whether inputs choose the next packet, one packet each.
    pub fn validate(&self, classes: u8, first: u8, by_inputs: bool) -> Result<(), (String, String)> {
        let wrong = |path: &str, why: String| Err((path.to_string(), why));
        let key = match self {
            Self::Strict | Self::RoundRobin => return Ok(()),
            Self::Drr(_) => "switch.scheduler.drr",
            Self::Queues(_) => "switch.scheduler.queues",
        };
        if let Self::Drr(quantum) = self
            && (quantum.0 < 64 || quantum.0 > 1 << 30)
        {
            return wrong(key, format!("{quantum} is out of range; allowed are 64B to 1GiB"));
        }
        if by_inputs {
            let why = "not allowed with switch.queueing = \"iq\", where inputs take turns by packets";
            return wrong(key, Change::set("switch.scheduler", "round_robin").after(why));
        }
        match self {
            Self::Queues(queues) => validate_queues(key, queues, classes, first),
            _ => Ok(()),
        }
    }
}

fn validate_queues(
    path: &str,
    queues: &[ClassScheduler],
    classes: u8,
    first: u8,
) -> Result<(), (String, String)> {
    let wrong = |path: &str, why: String| Err((path.to_string(), why));
    if first > 0 {
        let why =
            "mutually exclusive with switch.scheduler.queues, where strict classes have type = \"strict\"";
        let key = "switch.strict_priority_classes";
        return wrong(key, Change::remove(key).after(why));
    }
    if queues.is_empty() {
        return wrong(path, "the list is empty; give an entry for each class".into());
    }
    if queues.len() > usize::from(classes) {
        let count = queues.len();
        return wrong(
            path,
            format!("{count} entries are listed; the switches have {classes} (switch.classes)"),
        );
    }
    for (i, queue) in queues.iter().enumerate() {
        let Some(weight) = queue.weight else { continue };
        let key = format!("{path}[{i}].weight");
        if queue.kind == ClassTurns::Strict {
            return wrong(&key, Change::remove(&key).after("not allowed with type = \"strict\""));
        }
        if !(1..=100).contains(&weight) {
            return wrong(&key, format!("{weight} is out of range; allowed are 1 to 100"));
        }
    }
    Ok(())
}
