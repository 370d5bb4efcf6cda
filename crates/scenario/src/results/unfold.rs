//! Rows and records of all nodes, from those of the nodes that a folded run simulates.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_applications::job::{Ended, JobImages};
use xoff_engine::Checkpoint;
use xoff_models::frames::message::Delivered;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::routing::{Map, Paths, Sources};
use xoff_models::paths::symmetry::{Symmetry, View};
use xoff_models::paths::topology::Topology;
use xoff_models::ports::core::Core;
use xoff_models::records::events::{Drop, Pause};
use xoff_models::records::high_water::{self, Mark};
use xoff_units::{Moment, number, wide};

use crate::runner::Runner;

/// Returns the rows of a node, from those of the simulated node.
pub type Image<'a, R> = dyn Fn(&View, &[R]) -> Vec<R> + 'a;

/// All nodes, each with the simulated node that stands for it.
#[derive(Debug)]
pub struct Unfold {
    group: Option<Arc<Symmetry>>,
    views: Vec<View>,
}

impl Unfold {
    /// Returns the nodes of a run of all nodes: each stands for itself.
    pub fn identity(topology: &Topology) -> Self {
        let itself = |node| View { node, of: node, element: 0, is_fixed: false };
        Self { group: None, views: (0..number(topology.nodes.len())).map(itself).collect() }
    }

    /// Returns the nodes of a runner, which may be prepared for a folded run.
    pub fn of(runner: &Runner) -> Self {
        let folded = runner.settings.symmetric.as_ref().filter(|of| of.is_folded);
        folded.map_or_else(
            || Self::identity(&runner.topology),
            |of| Self { group: Some(of.group.clone()), views: of.group.views().collect() },
        )
    }

    /// Returns the group of a folded run.
    pub fn group(&self) -> Option<&Symmetry> {
        self.group.as_deref()
    }

    /// Returns all nodes in order.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// Returns the simulated nodes in order, without nodes for which another node stands.
    pub fn simulated(&self) -> impl Iterator<Item = u32> {
        self.views.iter().filter(|view| view.node == view.of).map(|view| view.node)
    }

    /// Returns the number of nodes for which a simulated node stands. Flows and bytes have the same number.
    pub fn times(&self) -> u32 {
        self.group.as_ref().map_or(1, |group| group.count())
    }

    /// Returns the flow that stands for a flow in sums: the flow of the representative source.
    pub fn first_flow(&self, flow: u32) -> u32 {
        self.group.as_ref().map_or(flow, |group| group.first_flow(flow))
    }

    /// Takes records from the simulated nodes, in node order. With `image`, returns the images of the records at all
    /// nodes, in node order.
    pub fn take<R: Copy>(
        &self,
        cp: &mut Checkpoint<'_, Node>,
        mut take: impl FnMut(&mut Node) -> Vec<R>,
        image: Option<&Image<'_, R>>,
    ) -> Vec<R> {
        self.images(self.simulated().map(|id| (id, take(cp.node_mut(id)))), image)
    }

    /// Returns the records of simulated nodes, or with `image` their images at all nodes, in node order.
    pub fn images<R: Copy>(
        &self,
        taken: impl Iterator<Item = (u32, Vec<R>)>,
        image: Option<&Image<'_, R>>,
    ) -> Vec<R> {
        let mut of_node: FxHashMap<u32, Vec<R>> = FxHashMap::default();
        let mut all = Vec::new();
        let is_unfolded = self.group.is_some() && image.is_some();
        for (id, mut own) in taken {
            if is_unfolded && !own.is_empty() {
                of_node.insert(id, own);
            } else {
                all.append(&mut own);
            }
        }
        if let Some(image) = image.filter(|_| !of_node.is_empty()) {
            for view in &self.views {
                if let Some(rows) = of_node.get(&view.of) {
                    all.extend(image(view, rows));
                }
            }
        }
        all
    }

    /// Returns a row about a finished flow at its source.
    pub fn sent(&self, view: &View, row: &Sent) -> Sent {
        self.group.as_ref().map_or(*row, |group| {
            let flow = group.image_of_flow(view.element, row.flow);
            let path = if row.path >= Paths::FIRST { group.pinned(flow) } else { row.path };
            Sent { flow, dst: group.image(view.element, row.dst), path, ..*row }
        })
    }

    /// Returns the flow and the node under which a flow of a simulated source arrives.
    pub fn arrival_of(&self, flow: u32, dst: u32) -> (u32, u32) {
        self.group.as_ref().map_or((flow, dst), |group| {
            let back = group.inverse(group.element(dst));
            (group.image_of_flow(back, flow), group.image(back, dst))
        })
    }

    /// Returns a delivered message at its receiver.
    pub fn delivered(&self, view: &View, row: &Delivered) -> Delivered {
        self.group.as_ref().map_or(*row, |group| {
            let mut row = Delivered { dst: view.node, ..*row };
            row.message.post = group.image_of_post(view.element, &row.message.post);
            row
        })
    }

    /// Returns a finished operation.
    pub fn ended(&self, view: &View, row: &Ended) -> Ended {
        self.group.as_ref().map_or(*row, |group| {
            let images = group.messages_of::<JobImages>();
            images.map_or(*row, |images| images.operation(group, view.element, row))
        })
    }

    /// Returns the port of the simulated node that stands for a port.
    pub fn port(&self, view: &View, port: PortId) -> PortId {
        match &self.group {
            Some(group) if view.is_fixed => {
                let element = group.element_of_port(view.node, port).unwrap_or_default();
                group.image_port(group.inverse(element), view.node, port)
            }
            _ => port,
        }
    }

    /// Returns the high-water marks of a node. The marks of a fixed node are those of each port of its orbits.
    pub fn marks(&self, view: &View, core: &Core) -> Vec<Mark> {
        let node = view.node;
        let Some(group) = self.group.as_ref().filter(|_| view.is_fixed) else {
            return high_water::marks(core).collect();
        };
        let here = group.elements_at(node);
        let image = |mark: Mark, element: u32| {
            let port = mark.port.map(|port| group.image_port(element, node, port));
            let copies = if mark.kind == high_water::Kind::Pool { wide(here.len()) } else { 1 };
            Mark { port, bytes: mark.bytes * copies, ..mark }
        };
        let mut all: Vec<Mark> = Vec::new();
        for mark in high_water::marks(core) {
            let elements = if mark.port.is_some() { &here[..] } else { &here[..1] };
            all.extend(elements.iter().map(|element| image(mark, *element)));
        }
        // The order of marks: ingress ports by port and class, then the memory, then queues by port.
        let place = |kind: high_water::Kind| match kind {
            high_water::Kind::Ingress | high_water::Kind::Headroom => 0,
            high_water::Kind::Pool => 1,
            high_water::Kind::Queue => 2,
        };
        all.sort_by_key(|mark| {
            let class = if place(mark.kind) == 0 { mark.class } else { None };
            (place(mark.kind), mark.port, class)
        });
        all
    }

    /// Returns the drops at a node, from those of the simulated node.
    pub fn drops(&self, view: &View, rows: &[Drop], map: &Map, sources: &Sources) -> Vec<Drop> {
        let image = |group: &Symmetry, element: u32, row: &Drop| {
            let flow = group.image_of_flow(element, row.flow);
            let dst = group.image(element, row.dst);
            let port = group.image_port(element, view.node, row.port);
            // A fixed switch notes the port of a simulated neighbour.
            let path = group.pinned(flow);
            let in_port =
                if view.is_fixed { map.entry(sources.of(flow), (flow, dst, path), view.node) } else { None };
            Drop { node: view.node, flow, dst, port, in_port: in_port.unwrap_or(row.in_port), ..*row }
        };
        // Frames of one moment and turn come in the order of their ports.
        self.rows(view, rows, |row| (row.at, PortId(0)), |row| row.in_port, &image)
    }

    /// Returns the pauses at a node, from those of the simulated node.
    pub fn pauses(&self, view: &View, rows: &[Pause]) -> Vec<Pause> {
        let image = |group: &Symmetry, element: u32, row: &Pause| Pause {
            node: view.node,
            port: group.image_port(element, view.node, row.port),
            asker: row
                .asker
                .renamed(|node, port| (group.image(element, node), group.image_port(element, node, port))),
            ..*row
        };
        let end = |row: &Pause| (row.end.unwrap_or(Moment::NEVER), PortId(0));
        self.rows(view, rows, end, |row| row.port, &image)
    }

    /// Returns the rows of a node: of a moved node the images of the rows, of a fixed node the images of each row under all
    /// elements, by port within a moment.
    fn rows<R: Copy>(
        &self,
        view: &View,
        rows: &[R],
        at: impl Fn(&R) -> (Moment, PortId),
        port: impl Fn(&R) -> PortId,
        image: &dyn Fn(&Symmetry, u32, &R) -> R,
    ) -> Vec<R> {
        let Some(group) = &self.group else { return rows.to_vec() };
        if !view.is_fixed {
            return rows.iter().map(|row| image(group, view.element, row)).collect();
        }
        let here = group.elements_at(view.node);
        let mut found = Vec::with_capacity(rows.len() * here.len());
        for row in rows {
            let first = found.len();
            found.extend(here.iter().map(|element| image(group, group.sum(view.element, *element), row)));
            found[first..].sort_by_key(|row| (at(row), port(row)));
        }
        found
    }
}
