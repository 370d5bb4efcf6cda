//! Decides whether the packets of all flows meet simulated nodes in a folded run.
//!
//! A fixed switch of a folded run has one port for the ports of all equal servers, or of all equal switches beyond. A flow
//! must therefore leave a fixed switch by a port that a rotation moves. A port to another fixed switch would carry the packets
//! of one server in the folded run, and of all servers in the run of all nodes.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use xoff_models::frames::flow::FlowSpec;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::routing::shortest::shortest;
use xoff_models::paths::routing::{Images, Paths, Routes};
use xoff_models::paths::symmetry::{STAY, Symmetry};
use xoff_units::index;

use super::network::Reason;
use crate::runner::Runner;

/// Returns the routes of a run.
pub(super) fn routes(runner: &Runner) -> Vec<Arc<Routes>> {
    let Runner { topology, plan, settings, .. } = runner;
    let ends = plan.ends(topology.nodes.len());
    shortest(topology, plan.paths.clone(), &settings.first_hop, settings.seed, |node| ends[node])
}

/// Refuses a group under which a flow, or its acknowledgements, leaves a fixed switch by a link that equal servers share.
pub(super) fn check(runner: &Runner, routes: &[Arc<Routes>], group: &Symmetry) -> Result<(), Reason> {
    let mut walk = Walk { runner, routes, group, seen: FxHashSet::default() };
    let own = runner.plan.listed().filter(|(src, _)| group.is_representative(*src));
    for (src, flow) in own {
        if flow.path >= Paths::FIRST {
            walk.pinned(src, flow)?;
        } else {
            walk.ends(src, flow, (src, flow.dst))?;
            walk.ends(src, flow, (flow.dst, src))?;
        }
    }
    Ok(())
}

struct Walk<'a> {
    runner: &'a Runner,
    routes: &'a [Arc<Routes>],
    group: &'a Symmetry,
    /// Nodes and destinations that were checked.
    seen: FxHashSet<(u32, u32)>,
}

impl Walk<'_> {
    /// Follows all shortest paths from a host to another host, as a frame of a folded run would.
    fn ends(&mut self, src: u32, flow: &FlowSpec, (from, to): (u32, u32)) -> Result<(), Reason> {
        let group = self.group;
        let back = group.inverse(group.element(from));
        let mut open = vec![(group.image(back, from), group.image(back, to))];
        while let Some((at, to)) = open.pop() {
            if at == to || !self.seen.insert((at, to)) {
                continue;
            }
            let choices = match self.routes[index(at)].choices(to) {
                [] => &[self.routes[index(at)].choose(to, flow.flow)],
                choices => choices,
            };
            for port in choices {
                let (own, element) = self.leave(at, *port, (src, flow))?;
                let peer = self.runner.ports[index(at)][own].peer;
                let to = group.image(group.inverse(element), to);
                let back = group.inverse(group.at(peer, group.element(to)));
                open.push((peer, group.image(back, to)));
            }
            let keeps_order =
                |element: &u32| choices.iter().map(|port| group.image_port(*element, at, *port)).is_sorted();
            if group.is_fixed(at)
                && choices.len() > 1
                && !group.is_closed(at, choices)
                && !group.elements_at(at).iter().all(keeps_order)
            {
                let name = &self.runner.topology.nodes[index(at)].name;
                return Err(format!("the ports of {name} are in another order for some hosts"));
            }
        }
        Ok(())
    }

    /// Follows a pinned path, and the path back.
    fn pinned(&self, src: u32, flow: &FlowSpec) -> Result<(), Reason> {
        for (mut node, path) in [(src, flow.path), (flow.dst, flow.path + 1)] {
            for port in self.runner.plan.paths.ports(path) {
                self.leave(node, *port, (src, flow))?;
                node = self.runner.ports[index(node)][*port].peer;
            }
        }
        Ok(())
    }

    /// Returns the port of a folded run that stands for a port, and the element that leads from there to the port.
    fn leave(&self, node: u32, port: PortId, (src, flow): (u32, &FlowSpec)) -> Result<(PortId, u32), Reason> {
        let Self { group, runner, .. } = self;
        if !group.is_fixed(node) {
            return Ok((port, STAY));
        }
        let Some(element) = group.element_of_port(node, port) else {
            let peer = runner.ports[index(node)][port].peer;
            let [node, peer, src, dst] =
                [node, peer, src, flow.dst].map(|node| &runner.topology.nodes[index(node)].name);
            return Err(format!(
                "the flow from {src} to {dst} passes from {node} to {peer}, a link that equal servers share; with a \
                 number of switches like {peer} that is a multiple of {}, each server would have links of its own",
                group.count()
            ));
        };
        Ok((group.image_port(group.inverse(element), node, port), element))
    }
}
