//! A warning, and what several warnings ask: the ingress ports, and the table that decides a setting.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_models::mechanisms::contract::Levels;
use xoff_models::mechanisms::overrides::Override;
use xoff_models::parts::ids::PortId;
use xoff_models::ports::queueing::buffer::Buffer;
use xoff_units::{Duration, Rate, number};

use crate::runner::Runner;

/// A warning, with the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// The path of the key.
    pub path: String,
    /// Problem and remedy.
    pub message: String,
    /// True if headroom is smaller than needed.
    #[serde(skip)]
    pub is_of_headroom: bool,
}

impl Warning {
    /// On a key.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), is_of_headroom: false }
    }

    /// True if two warnings differ in numbers alone.
    pub fn is_like(&self, other: &Self) -> bool {
        let words = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        self.path == other.path && words(&self.message) == words(&other.message)
    }

    /// Of headroom that is smaller than needed.
    #[must_use]
    pub fn of_headroom(self) -> Self {
        Self { is_of_headroom: true, ..self }
    }
}

/// Ingress ports of equal links, levels and settings.
pub struct IngressPorts {
    pub rate: Rate,
    pub delay: Duration,
    pub levels: Levels,
    /// Maximum bytes of the largest frame that have arrived when the frame is counted.
    pub counted_after: u64,
    /// Index of the settings in [`xoff_models::mechanisms::overrides::Locals::list`].
    pub place: usize,
    /// Number of other ports of a node with such a port, and the slowest rate of its ports.
    pub others: usize,
    pub slowest: Rate,
    /// Number of such ports.
    pub count: u64,
    /// The node is a host that relays.
    pub is_host: bool,
}

/// Returns all ingress ports with levels. Dynamic thresholds are computed for a port that uses the memory of
/// the switch alone.
pub fn ingress_ports(runner: &Runner) -> Vec<IngressPorts> {
    let mut found: BTreeMap<_, IngressPorts> = BTreeMap::new();
    for (n, node) in runner.topology.nodes.iter().enumerate().filter(|n| n.1.forwards) {
        let ports = || PortId::each(&runner.ports[n]);
        let levels: Vec<Option<Levels>> = ports()
            .map(|(number, _)| runner.settings.levels(n as u32, number, &runner.ports[n], node))
            .collect();
        let buffer = runner.settings.buffer(number(n), &levels, node.is_host);
        let classes = usize::from(runner.settings.counted_classes());
        for (number, p) in ports() {
            let Some(mut levels) = levels[number] else { continue };
            // A port without a class under PFC has no threshold.
            let Some(class) = levels.classes.lowest() else { continue };
            if let Buffer::Shared(shared) = &buffer {
                let (threshold, headroom) = shared.alone(number.index() * classes + usize::from(class));
                if levels.is_dynamic {
                    (levels.xoff, levels.xon) = (threshold, threshold.saturating_sub(levels.xon));
                }
                levels.available = Some((threshold + headroom).saturating_sub(levels.xoff));
            }
            let place = runner.settings.locals.place(n, number);
            let counted_after =
                runner.settings.ingress(n as u32, number, &runner.ports[n], node).counted_after;
            let key = (
                p.link.rate,
                p.link.delay,
                levels.headroom,
                levels.xoff,
                levels.xon,
                levels.available,
                place,
                node.is_host,
            );
            found
                .entry(key)
                .or_insert(IngressPorts {
                    rate: p.link.rate,
                    delay: p.link.delay,
                    levels,
                    counted_after,
                    place,
                    is_host: node.is_host,
                    others: runner.ports[n].len() - 1,
                    slowest: runner.ports[n].iter().map(|port| port.link.rate).min().unwrap_or(p.link.rate),
                    count: 0,
                })
                .count += 1;
        }
    }
    found.into_values().collect()
}

/// Returns the path of the table that decides a setting at ports with these settings: a table below `switch`, or the one of the
/// last override that gives it.
pub fn table(runner: &Runner, place: usize, path: &str) -> String {
    let overrides = &runner.scenario().switch.overrides;
    let (name, gives): (_, fn(&Override) -> bool) = match path {
        "switch.ecn" => ("ecn", |one| one.ecn.is_some()),
        "switch.flow_control.pfc" => ("pfc", |one| one.pfc.is_some()),
        "switch.buffer.shared" => ("buffer", |one| one.buffer.is_some()),
        _ => return path.into(),
    };
    let given = runner.settings.locals.overrides(place).iter().rfind(|i| gives(&overrides[**i]));
    given.map_or_else(|| path.into(), |i| format!("switch.overrides[{i}].{name}"))
}
