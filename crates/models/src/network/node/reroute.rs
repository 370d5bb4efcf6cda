//! Changes of routes: the ports that a node chooses afterwards, and the ports of its own flows.
//!
//! A flow whose port has no route any more moves to another port allowed by its host, and back once the own
//! port has a route. Window, rate and sent packets stay unchanged. Flows of hosts that relay do not move, and
//! neither do flows with queues assigned by a mechanism, which counts flows by port.

use std::sync::Arc;

use xoff_units::index;

use super::{Cx, Node};
use crate::mechanisms::contract::Watches;
use crate::parts::ids::PortId;
use crate::paths::routing::{Map, Routes};

impl Node {
    /// Takes new routes, between two windows.
    pub fn reroute(&mut self, routing: Arc<Map>) {
        self.core.routing = routing;
        self.choose_anew();
    }

    /// The routes here.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Reacts to a link that was down or up for `local_repair_delay`: the node avoids the port, or uses the
    /// port again.
    pub(super) fn on_seen(&mut self, port: PortId, cx: &mut Cx<'_>) {
        if self.failing.as_mut().is_some_and(|failing| failing.sees(port, cx.now())) {
            self.choose_anew();
            self.move_flows(cx);
        }
    }

    /// Computes the routes of the node: the routes of the network without avoided ports.
    fn choose_anew(&mut self) {
        let routes = &self.core.routing.routes[index(self.core.id)];
        self.routes = match &self.failing {
            Some(failing) if failing.avoids_any() => Arc::new(routes.without(|port| failing.avoids(port))),
            _ => routes.clone(),
        };
        self.is_rerouted = !self.forwards && self.core.ports.len() > 1;
    }

    /// Moves flows to ports with routes to their destinations, after a change of routes.
    #[cold]
    pub(super) fn move_flows(&mut self, cx: &mut Cx<'_>) {
        if !std::mem::take(&mut self.is_rerouted) || self.mechanisms.want(Watches::PLACE) {
            return;
        }
        let Some(endpoint) = &mut self.endpoint else { return };
        for (flow, to) in endpoint.misplaced(&self.routes) {
            self.move_flow(flow, to, cx);
        }
    }

    fn move_flow(&mut self, flow: u32, to: PortId, cx: &mut Cx<'_>) {
        let Some((slot, from, queue)) =
            self.endpoint.as_mut().and_then(|endpoint| endpoint.set_port(flow, to))
        else {
            return;
        };
        if let Some(recorder) = &mut self.delays {
            recorder.change_port(flow, to, cx.now());
        }
        if self.core.ports[from].remove_supplier(slot, queue) {
            self.core.ports[to].push_supplier(queue, slot);
            self.kick(to, cx);
        }
    }
}
