//! The search for the largest group of rotations under which nothing changes.

use std::sync::Arc;

use xoff_models::paths::routing::Routes;
use xoff_models::paths::symmetry::{Rotation, Symmetry, Turn};
use xoff_models::paths::topology::NodeSpec;
use xoff_units::number;

use super::network::{Beyond, Reason, Wires};
use super::routes;
use super::traffic::{self, Renamed, pinned};
use crate::runner::Runner;

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

/// A group of rotations under which nothing changes, with the routes of the run.
#[derive(Debug)]
pub struct Found {
    pub group: Arc<Symmetry>,
    pub routes: Vec<Arc<Routes>>,
}

/// Finds the largest group of rotations under which nothing changes, or returns the first difference.
pub fn find(runner: &Runner) -> Result<Found, Reason> {
    let Runner { topology, ports, plan, settings, .. } = runner;
    traffic::refuse(settings, plan)?;
    let mut nearest = Nearest { stage: (Stage::Neighbours, 0), reason: "no two hosts are alike".into() };
    let known = rotations(runner, &mut nearest);
    if known.is_empty() {
        return Err(nearest.reason);
    }
    let routes = routes::routes(runner);
    for chain in Rotation::chains(known.iter().map(|one| one.0).collect()) {
        let of = |rotation: &Rotation| known.iter().find(|one| one.0 == *rotation);
        let turns: Vec<Turn<'_>> = chain
            .iter()
            .filter_map(of)
            .map(|(_, wires, renamed)| Turn { nodes: &wires.nodes, flows: &renamed.flows })
            .collect();
        let flows = (&plan.sources.first[..], pinned(plan));
        let images = plan.applications.each().filter_map(|one| Some((one.id(), one.images()?))).collect();
        let found = Symmetry::new(chain.clone(), &turns, (topology, ports), flows, images);
        let found = found.and_then(|group| {
            routes::check(runner, &routes, &group)?;
            Ok(group)
        });
        match found {
            Ok(group) => return Ok(Found { group: Arc::new(group), routes }),
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
        let wires = |beyond| {
            let wires = Wires::of(topology, ports, &hosts, rotation, beyond)
                .map_err(|why| (Stage::Neighbours, why))?;
            wires.check(topology, ports, settings).map_err(|why| (Stage::Settings, why))?;
            Ok(wires)
        };
        let found = wires(Beyond::Turns).or_else(|_| wires(Beyond::Stays)).and_then(|wires| {
            traffic::maps_servers(plan, &wires).map_err(|why| (Stage::Neighbours, why))?;
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
