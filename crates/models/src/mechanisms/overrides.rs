//! Settings of some switches, or of ports of some rate or to some neighbours.
//!
//! The settings of a port are the `switch` table with every matching override applied, in order. Ports with
//! equal settings share one copy. A network without overrides therefore costs nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Rate, index};

use crate::mechanisms::{Tables, ecn};
use crate::parts::ids::PortId;
use crate::parts::names;
use crate::paths::topology::{PortSpec, Topology};
use crate::ports::cut_through;
use crate::ports::queueing::buffer::Params as BufferParams;

/// `[[switch.overrides]]`: different settings of some switches, or of their ports of some rate or to some
/// neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Override {
    /// Names of switches; `*` stands for any characters. `leaf* -> spine*` selects only ports to matching
    /// nodes, switches or hosts. Default: all switches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<Vec<String>>,
    /// Selects only ports of this rate. Default: all ports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Cut-through at these inputs, in place of `switch.cut_through`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_through: Option<cut_through::Params>,
    /// ECN marking at these outputs, in place of `switch.ecn`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<ecn::Params>,
    /// Thresholds and classes of `switch.flow_control.pfc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pfc: Option<Thresholds>,
    /// Shares of `switch.buffer.shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Shares>,
}

/// `switch.overrides.pfc`: missing keys keep the general value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thresholds {
    /// Pause at this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Resume at this many bytes or fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// Classes of which such ports pause their neighbours, in place of `classes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<Vec<u8>>,
    /// Classes of which such ports obey pauses by their neighbours, in place of `classes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obey: Option<Vec<u8>>,
}

/// `switch.overrides.buffer`: missing keys keep the general value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Memory of such a switch; for whole switches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Bytes>,
    /// The pool of headroom of such a switch; for whole switches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_pool: Option<Bytes>,
    /// Size of the cells of such a switch; for whole switches only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Bytes>,
    /// Memory reserved for each class of such an ingress port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// Factor of the dynamic threshold of a class of such an ingress port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Headroom of each class of such an ingress port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
}

/// Settings of a port of a switch.
#[derive(Debug, Clone, Default)]
pub struct Local {
    /// Mechanisms.
    pub mechanisms: Tables,
    /// Memory of the switch, with the share of the port.
    pub buffer: BufferParams,
    /// Cut-through at the input of the port; `None` for store and forward.
    pub cut_through: Option<cut_through::Params>,
}

impl Shares {
    /// Returns the keys that belong to a switch and not to a port, and true for given keys.
    fn of_switches(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("total", self.total.is_some()),
            ("headroom_pool", self.headroom_pool.is_some()),
            ("cell", self.cell.is_some()),
        ]
        .into_iter()
    }
}

impl Override {
    /// True if the override selects all ports of its switches.
    fn is_whole(&self) -> bool {
        self.rate.is_none() && self.switches.iter().flatten().all(|pattern| ends(pattern).1.is_none())
    }

    /// Applies the override to the settings. An error has the key below the override, and the problem.
    pub fn lay_over(&self, local: &mut Local) -> Result<(), (&'static str, String)> {
        let missing = |key: &str| format!("{key} is missing; give the value for all switches");
        local.cut_through = self.cut_through.or(local.cut_through);
        if let Some(ecn) = &self.ecn {
            let place =
                local.mechanisms.stamping.ecn.as_mut().ok_or_else(|| ("ecn", missing("switch.ecn")))?;
            *place = ecn.clone();
        }
        if let Some(thresholds) = &self.pfc {
            let pfc = local
                .mechanisms
                .flow_control
                .pfc
                .as_mut()
                .ok_or_else(|| ("pfc", missing("switch.flow_control.pfc")))?;
            let is_level = thresholds.xoff.is_some() || thresholds.xon.is_some();
            if is_level && pfc.xoff.is_none() && matches!(local.buffer, BufferParams::Shared(_)) {
                let why = "the thresholds of a shared buffer are dynamic; give switch.flow_control.pfc.xoff, or buffer.alpha here";
                return Err(("pfc", why.into()));
            }
            if thresholds.xoff.is_some() {
                // Values derived from another XOFF would be above this XOFF, or far below.
                (pfc.xoff, pfc.xon) = (thresholds.xoff, None);
            }
            pfc.xon = thresholds.xon.or(pfc.xon);
            pfc.send = thresholds.send.clone().or(pfc.send.take());
            pfc.obey = thresholds.obey.clone().or(pfc.obey.take());
        }
        if let Some(shares) = &self.buffer {
            let BufferParams::Shared(shared) = &mut local.buffer else {
                return Err(("buffer", missing("switch.buffer.shared")));
            };
            if let Some((key, _)) = shares.of_switches().find(|(_, is_given)| *is_given && !self.is_whole()) {
                let why =
                    format!("{key} is the memory of a switch; select whole switches, without rate and ->");
                return Err(("buffer", why));
            }
            shared.total = shares.total.unwrap_or(shared.total);
            shared.headroom_pool = shares.headroom_pool.or(shared.headroom_pool);
            shared.cell = shares.cell.or(shared.cell);
            shared.reserve = shares.reserve.unwrap_or(shared.reserve);
            shared.alpha = shares.alpha.unwrap_or(shared.alpha);
            shared.headroom = shares.headroom.or(shared.headroom);
        }
        Ok(())
    }

    /// True if the override selects a port of a switch to a neighbour.
    fn is_for(&self, switch: &str, port: &PortSpec, neighbour: &str) -> bool {
        let is_named = |pattern: &String| {
            let (of, to) = ends(pattern);
            names::matches(of, switch) && to.is_none_or(|to| names::matches(to, neighbour))
        };
        self.rate.is_none_or(|rate| rate == port.link.rate)
            && self.switches.as_ref().is_none_or(|list| list.iter().any(is_named))
    }
}

/// Returns the pattern of switches, and the pattern of neighbours if given.
fn ends(pattern: &str) -> (&str, Option<&str>) {
    pattern.split_once("->").map_or((pattern, None), |(of, to)| (of.trim(), Some(to.trim())))
}

/// Settings of all ports.
#[derive(Debug, Clone)]
pub struct Locals {
    list: Vec<Local>,
    /// For each entry of the list the overrides that apply.
    overrides: Vec<Vec<usize>>,
    /// For each node and port the index in the list; empty without overrides.
    places: Vec<Vec<u16>>,
}

impl Locals {
    /// The same everywhere.
    pub fn uniform(base: Local) -> Self {
        Self { list: vec![base], overrides: vec![Vec::new()], places: Vec::new() }
    }

    /// Applies overrides. An error has the path below `switch`, and the problem.
    pub fn new(
        base: Local,
        overrides: &[Override],
        topology: &Topology,
        ports: &[Vec<PortSpec>],
    ) -> Result<Self, (String, String)> {
        let mut made = Self::uniform(base);
        if overrides.is_empty() {
            return Ok(made);
        }
        known(overrides, topology)?;
        let sets = &mut made.overrides;
        for (node, ports) in topology.nodes.iter().zip(ports) {
            let mut places = Vec::with_capacity(ports.len());
            for port in ports {
                let neighbour = &topology.nodes[index(port.peer)].name;
                let is_meant = |i: &usize| !node.is_host && overrides[*i].is_for(&node.name, port, neighbour);
                let set: Vec<usize> = (0..overrides.len()).filter(is_meant).collect();
                let place = match sets.iter().position(|s| *s == set) {
                    Some(place) => place,
                    None => {
                        let mut local = made.list[0].clone();
                        for i in &set {
                            let at = |(key, why): (&str, String)| (format!("overrides[{i}].{key}"), why);
                            overrides[*i].lay_over(&mut local).map_err(at)?;
                        }
                        sets.push(set);
                        made.list.push(local);
                        sets.len() - 1
                    }
                };
                places.push(place as u16);
            }
            made.places.push(places);
        }
        Ok(made)
    }

    /// Returns all distinct settings; the first entry is for ports without overrides.
    pub fn list(&self) -> &[Local] {
        &self.list
    }

    /// Returns the overrides that apply to an entry of the list, in their order.
    pub fn overrides(&self, place: usize) -> &[usize] {
        &self.overrides[place]
    }

    /// Returns the index of the settings of a port.
    pub fn place(&self, node: usize, port: PortId) -> usize {
        self.places.get(node).map_or(0, |ports| usize::from(ports[port]))
    }

    /// Returns the settings of a port.
    pub fn at(&self, node: usize, port: PortId) -> &Local {
        &self.list[self.place(node, port)]
    }
}

/// Refuses unknown names of switches and links.
fn known(overrides: &[Override], topology: &Topology) -> Result<(), (String, String)> {
    let switches = || topology.nodes.iter().filter(|n| !n.is_host).map(|n| n.name.clone());
    let name = |node: u32| topology.nodes[index(node)].name.as_str();
    for (i, change) in overrides.iter().enumerate() {
        for (k, pattern) in change.switches.iter().flatten().enumerate() {
            let (of, to) = ends(pattern);
            let wrong = |why| Err((format!("overrides[{i}].switches[{k}]"), why));
            if !switches().any(|name| names::matches(of, &name)) {
                return wrong(format!(
                    "no switch is called `{of}`; switches are {}",
                    names::some(switches())
                ));
            }
            let leads = |a: u32, b: u32| {
                !topology.nodes[index(a)].is_host
                    && names::matches(of, name(a))
                    && to.is_none_or(|to| names::matches(to, name(b)))
            };
            if to.is_some() && !topology.links.iter().any(|l| leads(l.a, l.b) || leads(l.b, l.a)) {
                let links = topology.links.iter().map(|l| format!("{} -> {}", name(l.a), name(l.b)));
                return wrong(format!(
                    "no link leads from a switch `{of}` to a node `{}`; links are {}",
                    to.unwrap_or_default(),
                    names::some(links)
                ));
            }
        }
    }
    Ok(())
}
