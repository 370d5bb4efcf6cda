//! Folding by symmetry: one server stands for many.
//!
//! With `ties = "relative"` the run looks for renamings of hosts under which nothing changes
//! ([`xoff_models::symmetry`]). A folded run simulates the representatives and the fixed switches alone, and results
//! are those of the run of all nodes ([`unfold`]). The same group orders ties in the run of all nodes. Both runs
//! therefore have equal results, byte for byte. Chance is an obstacle, unless equal servers share their draws with
//! `draws = "shared"` ([`chance`]). Source: `docs/folding.md`.

mod chance;
mod network;
mod run;
#[cfg(test)]
mod tests;
mod traffic;
mod unfold;

use std::sync::Arc;

use xoff_models::delays::Traced;
use xoff_models::queueing::buffer;
use xoff_models::symmetry::ties::Symmetric;
use xoff_models::symmetry::{Rotation, Symmetry, Turn};
use xoff_models::topology::NodeSpec;
use xoff_units::number;

use self::network::{Reason, Wires};
pub use self::run::{Folded, run};
use self::traffic::{Renamed, pinned};
pub use self::unfold::Unfold;
use crate::document::{Draws, Scenario, Ties};
use crate::runner::Runner;
use crate::summary::Folding;

/// Prepares a run with relative ties: finds the group, and folds the run unless there is an obstacle, known or found. Returns
/// the summary of folding; `None` without relative ties.
fn prepare(runner: &mut Runner, known: Option<Reason>) -> Option<Folding> {
    if runner.scenario.ties != Some(Ties::Relative) {
        return None;
    }
    let draws = runner.scenario.draws;
    let group = match find(runner) {
        Ok(group) => group,
        Err(why) => return Some(Folding { times: 1, rotations: Vec::new(), draws, obstacle: Some(why) }),
    };
    let drawn = if draws == Some(Draws::Shared) { None } else { chance::tells_apart(runner, &group) };
    let is_alike = drawn.is_none();
    if is_alike {
        runner.plan.share_keys(&group);
    }
    let obstacle = known.or(drawn).or_else(|| obstacle(&runner.scenario, runner));
    let is_folded = obstacle.is_none();
    let times = if is_folded { group.count() } else { 1 };
    let rotations = group.rotations().iter().map(|one| [one.stride, one.size]).collect();
    runner.settings.symmetric = Some(Symmetric { group, is_folded, is_alike });
    Some(Folding { times, rotations, draws, obstacle })
}

/// Returns the reason that a symmetric run does not fold; `None` for a run that folds.
fn obstacle(scenario: &Scenario, runner: &Runner) -> Option<Reason> {
    let probe = &scenario.probe;
    let probes = [
        (probe.packets, "probe.packets records the frames of all nodes"),
        (probe.interval().is_some(), "probe.queues and probe.replay sample the queues of all nodes"),
        (probe.delays != Traced::None, "probe.delays follows packets through all nodes"),
    ];
    if let Some((_, why)) = probes.into_iter().find(|(is_given, _)| *is_given) {
        return Some(why.into());
    }
    let locals = runner.settings.locals.list();
    let has_limits = |buffer: &buffer::Params| matches!(buffer, buffer::Params::Shared(shared) if !shared.egress.is_empty());
    if locals.iter().any(|local| has_limits(&local.buffer)) {
        return Some("switch.buffer.shared limits outputs by the memory of all outputs".into());
    }
    None
}

/// How far a rotation got before the first difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Neighbours,
    Settings,
    Traffic,
    Group,
}

/// The difference of the rotation with the latest first difference; of equal rotations, of the rotation of the largest size.
struct Nearest {
    stage: (Stage, u32),
    reason: Reason,
}

impl Nearest {
    fn note(&mut self, stage: Stage, size: u32, reason: Reason) {
        if (stage, size) > self.stage {
            *self = Self { stage: (stage, size), reason };
        }
    }
}

/// A rotation with the images of nodes and flows.
type Known = (Rotation, Wires, Renamed);

/// Finds the largest group of rotations under which nothing changes, or returns the first difference.
pub fn find(runner: &Runner) -> Result<Arc<Symmetry>, Reason> {
    let Runner { topology, ports, plan, settings, .. } = runner;
    traffic::refuse(settings, plan)?;
    let mut nearest = Nearest { stage: (Stage::Neighbours, 0), reason: "no two hosts are alike".into() };
    let known = rotations(runner, &mut nearest);
    for chain in Rotation::chains(known.iter().map(|one| one.0).collect()) {
        let of = |rotation: &Rotation| known.iter().find(|one| one.0 == *rotation);
        let turns: Vec<Turn<'_>> = chain
            .iter()
            .filter_map(of)
            .map(|(_, wires, renamed)| Turn { nodes: &wires.nodes, flows: &renamed.flows })
            .collect();
        let flows = (&plan.sources.first[..], pinned(plan));
        let found = Symmetry::new(chain.clone(), &turns, (topology, ports), flows, &plan.jobs);
        let found = found.and_then(|group| {
            network::returns(topology, ports, &group)?;
            network::returns_pinned(ports, plan, &group)?;
            traffic::keeps_servers(plan, &group)?;
            Ok(group)
        });
        match found {
            Ok(group) => return Ok(Arc::new(group)),
            Err(why) => nearest.note(Stage::Group, chain.iter().map(|one| one.size).product(), why),
        }
    }
    Err(nearest.reason)
}

/// Returns the rotations under which network and traffic stay the same, each without its powers.
fn rotations(runner: &Runner, nearest: &mut Nearest) -> Vec<Known> {
    let Runner { topology, ports, plan, settings, .. } = runner;
    let is_end = |node: &NodeSpec| node.is_host && !node.reduces;
    let hosts: Vec<u32> =
        (0..).zip(&topology.nodes).filter(|(_, node)| is_end(node)).map(|(node, _)| node).collect();
    let mut known: Vec<Known> = Vec::new();
    for rotation in Rotation::proposals(number(hosts.len())) {
        if known.iter().any(|one| rotation.is_power_of(one.0)) {
            continue;
        }
        let found = Wires::of(topology, ports, &hosts, rotation).map_err(|why| (Stage::Neighbours, why));
        let found = found.and_then(|wires| {
            traffic::maps_servers(plan, &wires).map_err(|why| (Stage::Neighbours, why))?;
            wires.check(topology, ports, settings).map_err(|why| (Stage::Settings, why))?;
            let renamed = Renamed::of(topology, ports, plan, &wires).map_err(|why| (Stage::Traffic, why))?;
            Ok((rotation, wires, renamed))
        });
        match found {
            Ok(one) => known.push(one),
            Err((stage, why)) => nearest.note(stage, rotation.size, why),
        }
    }
    known
}
