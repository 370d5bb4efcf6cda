//! Plan of the longer levels: the marks of the next probes of steps, layers and iterations.

use xoff_engine::Checkpoint;
use xoff_models::hosts::endpoint::UnderWay;
use xoff_models::network::node::Node;
use xoff_models::traffic::application::{Application, Cycle};
use xoff_units::wide;

use super::level::{LAYERS, Level, STEPS};
use super::period::Stage;
use super::search::{CALM, Search};
use super::shared::Shared;

/// Fewest strides left for a probe of a longer level: three are simulated anyway.
const FEW: u64 = 4;

impl Search {
    /// Plans the next probes of the longer levels.
    pub(super) fn plan(&mut self, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        (LAYERS..self.levels.len()).for_each(|of| self.plan_layers(of, shared, cp));
        self.plan_steps(cp);
        self.arrange(true, cp);
    }

    /// Plans to probe when the reference node is at the same place of the next layer, if enough layers are
    /// left.
    pub(super) fn plan_layers(&mut self, of: usize, shared: &mut Shared, cp: &mut Checkpoint<'_, Node>) {
        let (started, missing) = (self.started(cp), self.missing(shared, 0, cp));
        let level = &mut self.levels[of];
        if !matches!(level.stage, Stage::Search) || level.mark > started || missing > 0 {
            return;
        }
        (level.mark, level.detector.stride) = (0, 0);
        let kind = level.kind;
        let Some(endpoint) = self.reference.node.and_then(|node| cp.node_mut(node).endpoint.as_mut()) else {
            return;
        };
        let (words, cycle) = (endpoint.follow(kind), endpoint.cycle(kind));
        self.spend(shared, words);
        let Some(Cycle { start, packets, begun, left }) = cycle.filter(|cycle| cycle.packets > 0) else {
            return;
        };
        let several = (2 * self.reference.lag + CALM).div_ceil(packets);
        let stride = several * packets;
        let is_planned = |other: &Level| other.mark > started && other.detector.stride == stride;
        if left / several < FEW
            || self.levels[of].done_region == Some(start)
            || self.levels[LAYERS..].iter().any(is_planned)
        {
            return;
        }
        // The time of an operation would depend on the moment of the operation.
        self.spend(shared, wide(self.scope.nodes.len()));
        if self
            .scope
            .nodes
            .iter()
            .any(|id| cp.node(*id).failing.as_ref().is_some_and(|failing| failing.slows()))
        {
            return;
        }
        let level = &mut self.levels[of];
        (level.region, level.is_done, level.cost) = (start, false, 0);
        (level.unit, level.detector.stride, level.mark) = (packets, stride, started + begun + CALM);
    }

    /// Plans to probe at the next message of the reference node, if enough messages are left.
    pub(super) fn plan_steps(&mut self, cp: &Checkpoint<'_, Node>) {
        let (started, steps) = (self.started(cp), &mut self.levels[STEPS]);
        if !matches!(steps.stage, Stage::Search) || self.shortest > STEPS {
            return;
        }
        let before = (steps.mark, steps.detector.stride);
        (steps.is_done, steps.cost, steps.mark, steps.detector.stride) = (false, 0, 0, 0);
        let Some(endpoint) = self.reference.node.and_then(|node| cp.node(node).endpoint.as_ref()) else {
            return;
        };
        // A loop of a library sends on all of its channels.
        let is_loop = endpoint.packets_in_loop() > 0;
        let left = endpoint.applications.each().flat_map(Application::messages_left);
        let left = if is_loop { left.sum() } else { left.max().unwrap_or(0) };
        let message = |flow: UnderWay| Some((flow.message?.0, (flow.alike + 1).saturating_sub(flow.sent)));
        let Some((packets, rest)) =
            endpoint.under_way().filter_map(message).max().filter(|message| message.0 > 0)
        else {
            return;
        };
        // The algorithms of a library repeat by loops, others by messages.
        let message = u64::from(packets);
        let packets = endpoint.packets_in_loop().max(message);
        let left = u64::from(left) * message / packets;
        // A probe is over before the next.
        let several = (2 * self.reference.lag + CALM).div_ceil(packets);
        if left / several <= FEW {
            return;
        }
        (steps.unit, steps.detector.stride) = (packets, several * packets);
        // With equal messages on several connections, probes keep their distance.
        let is_same = before.1 == several * packets && before.0 > started;
        steps.mark = if is_same { before.0 } else { started + u64::from(rest) + CALM };
    }
}
