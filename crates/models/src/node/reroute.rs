//! When routes change: which ports a node chooses from then on, and by which its own flows leave.
//!
//! A flow whose port leads nowhere any more is moved to another that its host may choose, and back to its own as soon as that leads there
//! again. Its window, pace and what it sent stay what they were. Flows of hosts that relay stay where they are, and so do those for which a mechanism
//! chooses queues, as it counts them by port.

use std::sync::Arc;

use xoff_units::index;

use super::{Cx, Node};
use crate::ids::PortId;
use crate::mechanism::Watches;
use crate::routing::{Map, Routes};

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

    /// The link of a port may have been down, or back, for so long that this node chooses others, or it again.
    pub(super) fn on_seen(&mut self, port: PortId, cx: &mut Cx<'_>) {
        if self.failing.as_mut().is_some_and(|failing| failing.sees(port, cx.now())) {
            self.choose_anew();
            self.move_flows(cx);
        }
    }

    /// The routes here are those of the network, less ports that are avoided.
    fn choose_anew(&mut self) {
        let routes = &self.core.routing.routes[index(self.core.id)];
        self.routes = match &self.failing {
            Some(failing) if failing.avoids_any() => Arc::new(routes.without(|port| failing.avoids(port))),
            _ => routes.clone(),
        };
        self.is_rerouted = !self.forwards && self.core.ports.len() > 1;
    }

    /// Moves flows to ports that lead to their destinations, if routes have changed since that was done.
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
        let Some((slot, from, queue)) = self.endpoint.as_mut().and_then(|endpoint| endpoint.set_port(flow, to)) else { return };
        if let Some(recorder) = &mut self.delays {
            recorder.change_port(flow, to, cx.now());
        }
        if self.core.ports[from].remove_supplier(slot, queue) {
            self.core.ports[to].push_supplier(queue, slot);
            self.kick(to, cx);
        }
    }
}
