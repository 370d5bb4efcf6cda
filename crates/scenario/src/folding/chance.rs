//! Decides whether chance tells equal nodes apart: draws that flows of an orbit make each for itself.
//!
//! Folding simulates one flow for all flows of an orbit, so all of them must do the same. A flow with its own hash takes
//! another path than its images, and a packet with its own draw of RED is marked while its image is not. Such a run is not
//! folded, because a folded run would hide these differences. `draws = "shared"` removes the draws instead.

use std::sync::Arc;

use xoff_models::paths::routing::{MAX_SWITCHES, Paths, Routes};
use xoff_models::paths::symmetry::Symmetry;
use xoff_models::paths::topology::PortSpec;
use xoff_units::index;

use super::network::Reason;
use crate::runner::Runner;

/// Returns the first draw of a run by which equal nodes may differ; `None` for a run that draws nothing.
pub(super) fn tells_apart(runner: &Runner, routes: &[Arc<Routes>], group: &Symmetry) -> Option<Reason> {
    let settings = &runner.settings;
    let mut parts = settings.locals.list().iter().flat_map(|local| local.mechanisms.parts());
    let drawn = if settings.jitter > 0.0 {
        Some("host.jitter draws a delay for every packet".into())
    } else if let Some(part) = parts.find(|part| part.properties().draws) {
        Some(format!("the mechanism `{}` draws for every packet", part.name()))
    } else {
        hashed(runner, routes, group)
    };
    drawn.map(|what| format!("{what}; with draws = \"shared\" equal servers share each draw"))
}

/// Returns the first flow with a choice of paths, of the flows of representatives.
fn hashed(runner: &Runner, routes: &[Arc<Routes>], group: &Symmetry) -> Option<Reason> {
    let Runner { topology, ports, plan, .. } = runner;
    let unpinned =
        plan.listed().filter(|(src, flow)| group.is_representative(*src) && flow.path < Paths::FIRST);
    for (src, flow) in unpinned {
        for (from, to) in [(src, flow.dst), (flow.dst, src)] {
            let mut at = from;
            for _ in 0..=MAX_SWITCHES {
                let choices = routes[index(at)].choices(to).len();
                if choices > 1 {
                    let [node, from, to] = [at, from, to].map(|node| &topology.nodes[index(node)].name);
                    return Some(format!("{node} hashes flows from {from} to {to} onto {choices} ports"));
                }
                let out: &PortSpec = &ports[index(at)][routes[index(at)].choose(to, flow.flow)];
                at = out.peer;
                if at == to {
                    break;
                }
            }
        }
    }
    None
}
