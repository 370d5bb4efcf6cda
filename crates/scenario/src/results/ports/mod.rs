//! Ports at the end of a run: directions of links, queues, and pause frames.

mod links;
mod pause_frames;
mod queues;

use xoff_engine::Checkpoint;
use xoff_models::mechanisms::contract::PauseFrames;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::symmetry::View;
use xoff_models::paths::topology::NodeSpec;
use xoff_units::{Moment, index};

use self::links::Link;
use self::pause_frames::OfClass;
use self::queues::Queue;
use super::contract::{Collect, Shared};
use super::rows::row_set;
use crate::runner::Runner;

row_set! { queues: Queue, links: Link, pause_frames: OfClass }

/// Collects links and queues.
pub struct Ports {
    rows: Rows,
    /// Of each node.
    kinds: Vec<&'static str>,
}

impl Collect for Ports {
    type Rows = Rows;

    fn new(runner: &Runner, _: &Shared) -> Self {
        let kind = |node: &NodeSpec| match (node.is_host, node.forwards) {
            (true, true) => "relay",
            (true, false) => "host",
            (false, _) => "switch",
        };
        Self { rows: Rows::default(), kinds: runner.topology.nodes.iter().map(kind).collect() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        // The last acknowledgements leave after the last flow has arrived, unless the run was cut short before.
        let all_ports = || (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
        let end =
            if shared.was_cut { cp.now } else { all_ports().map(|p| p.busy_until).fold(cp.now, Moment::max) };
        let unfold = shared.unfold.clone();
        for view in unfold.views() {
            self.add(cp, view, end, shared);
        }
    }
}

impl Ports {
    /// Adds the ports of a node. Link time counts up to `end`.
    fn add(&mut self, cp: &Checkpoint<'_, Node>, view: &View, end: Moment, shared: &Shared) {
        let node = cp.node(view.of);
        let mut paused = node.paused.clone();
        for p in &node.open_pauses {
            paused[p.port] += cp.now.since(p.start);
        }
        for (i, spec) in PortId::each(&shared.names.ports[index(view.node)]) {
            let own = shared.unfold.port(view, i);
            let p = &node.core.ports[own];
            // For a frame in transmission at the end, only the sent part counts as link time.
            let busy_ps = node.sending_time(own).saturating_sub(p.busy_until.since(end)).ps().min(end.ps());
            self.rows.links.push(Link {
                node: view.node,
                kind: self.kinds[index(view.node)],
                port: i,
                peer: spec.peer,
                rate_bps: p.rate.0,
                delay_ps: spec.link.delay.ps(),
                data_bytes: p.data_bytes,
                control_bytes: p.control_bytes,
                busy_ps,
                paused_ps: paused[own].ps(),
                data_packets: p.data_packets,
                utilisation: busy_ps as f64 / end.ps().max(1) as f64,
            });
            let of_class = |class| (class, node.pause_frames(own, class));
            for (class, frames) in
                node.core.classes.each().map(of_class).filter(|of| of.1 != PauseFrames::default())
            {
                self.rows.pause_frames.push(OfClass {
                    node: view.node,
                    port: i,
                    peer: spec.peer,
                    class,
                    frames,
                });
            }
            let used = |queue: &&xoff_models::ports::queueing::port::Queue| {
                queue.sent > 0 || queue.dropped > 0 || queue.bytes.peak() > 0
            };
            for (k, queue) in p.queues.iter().enumerate().skip(1).filter(|(_, queue)| used(queue)) {
                self.rows.queues.push(Queue {
                    node: view.node,
                    port: i,
                    peer: spec.peer,
                    number: k as u16,
                    class: queue.class(),
                    max_bytes: queue.bytes.peak().into(),
                    packets: queue.sent,
                    bytes: queue.sent_bytes,
                    marked: queue.marked,
                    dropped: queue.dropped,
                });
            }
        }
    }
}
