//! Transport and congestion control of hosts, with different settings for some hosts and classes (`host.overrides`).
//!
//! The settings of a host are the `host` table with every matching override applied, in order. A flow uses
//! the settings of its source at both ends: the receiver acts by the transport and congestion control of the
//! source. Hosts with equal settings share one copy.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hosts::congestion_control::CongestionControl;
use crate::hosts::transport;
use crate::parts::names;
use crate::paths::topology::Topology;

/// `[[host.overrides]]`: different settings of some hosts. A flow uses the settings of its source at both
/// ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "HostOverride")]
pub struct Override {
    /// Names of hosts; `*` stands for any characters.
    pub hosts: Vec<String>,
    /// Priority classes: flows of other classes keep the settings of the host. Such an override has a congestion control
    /// alone, and wins over overrides without classes. Default: all classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<u8>,
    /// Retransmission, in the place of all of `host.transport`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<transport::Table>,
    /// Rates, in the place of all of `host.congestion_control`; empty for line rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
}

/// The transport and the congestion control of a host.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// Retransmission.
    pub transport: transport::Table,
    /// Rates.
    pub congestion_control: CongestionControl,
    /// Numbers of the overrides of transport and congestion control; `None` for the general table.
    pub of: [Option<usize>; 2],
    /// Rates of flows of some classes, in the order of classes.
    pub of_classes: Vec<OfClass>,
}

/// The congestion control of a class.
#[derive(Debug, Clone, PartialEq)]
pub struct OfClass {
    /// The priority class.
    pub class: u8,
    /// Number of the override.
    pub of: usize,
    /// Rates.
    pub congestion_control: CongestionControl,
}

impl Stack {
    /// Returns the stack with an override of this number applied.
    #[must_use]
    pub fn with(&self, number: usize, change: &Override) -> Self {
        if let (false, Some(control)) = (change.classes.is_empty(), &change.congestion_control) {
            let mut found = self.clone();
            found.of_classes.retain(|other| !change.classes.contains(&other.class));
            let of = |class: &u8| OfClass { class: *class, of: number, congestion_control: control.clone() };
            found.of_classes.extend(change.classes.iter().map(of));
            found.of_classes.sort_by_key(|of| of.class);
            found.of_classes.dedup_by_key(|of| of.class);
            return found;
        }
        Self {
            transport: change.transport.as_ref().unwrap_or(&self.transport).clone(),
            congestion_control: change
                .congestion_control
                .as_ref()
                .unwrap_or(&self.congestion_control)
                .clone(),
            of: [
                change.transport.as_ref().map(|_| number).or(self.of[0]),
                change.congestion_control.as_ref().map(|_| number).or(self.of[1]),
            ],
            of_classes: self.of_classes.clone(),
        }
    }

    /// Returns the different congestion controls with the numbers of their overrides: first of all flows, then of classes.
    pub fn controls(&self) -> Vec<(Option<usize>, &CongestionControl)> {
        let mut found = vec![(self.of[1], &self.congestion_control)];
        for one in &self.of_classes {
            if !found.iter().any(|(of, _)| *of == Some(one.of)) {
                found.push((Some(one.of), &one.congestion_control));
            }
        }
        found
    }

    /// Returns the place among [`Self::controls`] of the congestion control of each class.
    pub fn control_of_classes(&self) -> [u8; 8] {
        let mut found = [0; 8];
        let controls = self.controls();
        for one in &self.of_classes {
            let place = controls.iter().skip(1).position(|(of, _)| *of == Some(one.of));
            found[usize::from(one.class)] = place.map_or(0, |place| place as u8 + 1);
        }
        found
    }

    /// Returns the path of a congestion control with the number of its override.
    pub fn control_path(of: Option<usize>) -> String {
        of.map_or("host.congestion_control".into(), |i| format!("host.overrides[{i}].congestion_control"))
    }

    /// The paths of both tables in the scenario.
    pub fn paths(&self) -> [String; 2] {
        let transport =
            self.of[0].map_or("host.transport".into(), |i| format!("host.overrides[{i}].transport"));
        [transport, Self::control_path(self.of[1])]
    }
}

/// Stacks of all hosts.
#[derive(Debug, Clone)]
pub struct Stacks {
    list: Vec<Stack>,
    /// For each node the index in the list; empty without overrides.
    places: Arc<[u16]>,
}

impl Stacks {
    /// The same everywhere.
    pub fn uniform(base: Stack) -> Self {
        Self { list: vec![base], places: Arc::default() }
    }

    /// Applies overrides. An error has the path below `host`, and the problem.
    pub fn new(base: Stack, overrides: &[Override], topology: &Topology) -> Result<Self, (String, String)> {
        if overrides.is_empty() {
            return Ok(Self::uniform(base));
        }
        let hosts = || topology.nodes.iter().filter(|n| n.is_host).map(|n| n.name.clone());
        for (i, change) in overrides.iter().enumerate() {
            for (k, pattern) in change.hosts.iter().enumerate() {
                if !hosts().any(|name| names::matches(pattern, &name)) {
                    let why = format!("no host is called `{pattern}`; hosts are {}", names::some(hosts()));
                    return Err((format!("overrides[{i}].hosts[{k}]"), why));
                }
            }
        }
        let mut list = vec![base];
        let mut places = Vec::with_capacity(topology.nodes.len());
        for node in &topology.nodes {
            let is_meant = |change: &Override| {
                node.is_host && change.hosts.iter().any(|pattern| names::matches(pattern, &node.name))
            };
            let stack = overrides
                .iter()
                .enumerate()
                .filter(|(_, o)| is_meant(o))
                .fold(list[0].clone(), |stack, (i, change)| stack.with(i, change));
            let place = list.iter().position(|other| *other == stack).unwrap_or_else(|| {
                list.push(stack);
                list.len() - 1
            });
            places.push(place as u16);
        }
        Ok(Self { list, places: places.into() })
    }

    /// Returns all distinct stacks; the first entry is for hosts without overrides.
    pub fn list(&self) -> &[Stack] {
        &self.list
    }

    /// Returns the stack of hosts without overrides.
    pub fn base(&self) -> &Stack {
        &self.list[0]
    }

    /// Returns the index of the stack of each node; empty without overrides.
    pub const fn places(&self) -> &Arc<[u16]> {
        &self.places
    }

    /// Returns the index of the stack of a node.
    pub fn place(&self, node: usize) -> usize {
        self.places.get(node).map_or(0, |place| usize::from(*place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::topology::{Link, Shape, star};
    use xoff_units::{Duration, Rate};

    fn change(hosts: &[&str], transport: Option<&str>, control: Option<&str>) -> Override {
        Override {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            classes: Vec::new(),
            transport: transport.map(|text| serde_json::from_str(text).unwrap()),
            congestion_control: control.map(|text| serde_json::from_str(text).unwrap()),
        }
    }

    fn stacks(overrides: &[Override]) -> Result<Stacks, (String, String)> {
        let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
        Stacks::new(Stack::default(), overrides, &star::Params { hosts: 12, link }.build().unwrap())
    }

    #[test]
    fn the_last_override_of_a_table_holds_and_equal_hosts_share_one() {
        let irn = Some(r#"{"irn": {}}"#);
        let made = stacks(&[
            change(&["host1*"], irn, None),
            change(&["host2", "host11"], None, Some(r#"{"dctcp": {}}"#)),
            change(&["host11"], Some(r#"{"selective": {}}"#), None),
        ])
        .unwrap();
        // Hosts 1 and 10; 2; 11; all other nodes, including the switch, have the general stack.
        assert_eq!(&made.places()[..], [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0]);
        assert_eq!(
            made.list()[3].paths(),
            ["host.overrides[2].transport", "host.overrides[1].congestion_control"]
        );
        assert_eq!(made.list()[1].paths(), ["host.overrides[0].transport", "host.congestion_control"]);
        assert!(made.list()[3].transport.selective.is_some() && made.list()[3].transport.irn.is_none());
    }

    #[test]
    fn names_that_no_host_has_are_refused() {
        assert_eq!(
            stacks(&[change(&["host3", "leaf*"], None, None)]).unwrap_err().0,
            "overrides[0].hosts[1]"
        );
    }
}
