//! Records of nodes about packets that may complete a flow.

use xoff_models::paths::topology::PortSpec;
use xoff_models::records::delays::{Kind, Part, Passage};
use xoff_units::{Moment, index};

use super::table::Delay;
use crate::results::news::Delivered;

/// Records of nodes about a flow.
#[derive(Debug, Default)]
pub struct Trail {
    /// Records of the source, in order: starts of packets, and posted messages.
    pub source: Vec<Passage>,
    /// Records of other nodes.
    hops: Vec<Passage>,
    /// For a connection with a completed message: the index in `source` of the first message of the next
    /// part.
    begun: Option<usize>,
}

impl Trail {
    pub fn add(&mut self, passage: Passage) {
        if passage.before.is_some() { self.source.push(passage) } else { self.hops.push(passage) }
    }

    /// Returns the passages of the packet that completed a flow, from the source on. At each node the moment
    /// identifies the previous passage.
    fn way(&self, flow: &Delivered, ports: &[Vec<PortSpec>]) -> Option<Vec<&Passage>> {
        let (mut at, mut node) = (flow.arrived, flow.dst);
        let mut way = Vec::new();
        loop {
            let leads_here = |p: &&Passage| {
                let next = if p.stays { p.node } else { ports[index(p.node)][p.port].peer };
                p.reaches == at && next == node
            };
            // The passage that completes a message is near the end.
            let passage = self.source.iter().rev().chain(self.hops.iter().rev()).find(leads_here)?;
            way.push(passage);
            if passage.before.is_some() {
                way.reverse();
                return Some(way);
            }
            (at, node) = (passage.arrived, passage.node);
        }
    }

    /// Returns the index in `source` at which the time of the next message begins.
    fn first(&self) -> usize {
        let is_message = |p: &Passage| p.reaches == Moment::NEVER;
        let Some(begun) = self.begun else { return 0 };
        self.source[begun..].iter().position(is_message).map_or(self.source.len(), |at| begun + at + 1)
    }

    /// The parts of a completion time.
    pub fn parts(&self, flow: &Delivered, ports: &[Vec<PortSpec>]) -> Option<Vec<Delay>> {
        let way = self.way(flow, ports)?;
        let row = |hop: usize, p: &Passage, part: &Part| Delay {
            flow: flow.flow,
            message: flow.message,
            hop: hop as u16,
            node: p.node,
            port: p.port,
            part: *part,
        };
        let (first, last) = (self.first(), self.source.iter().position(|p| std::ptr::eq(p, way[0]))?);
        if last < first {
            // The missing packet belongs to an earlier message, and was in flight when this message was
            // posted.
            let time = flow.arrived - flow.start;
            let waits =
                Part { kind: Kind::AwaitingAck, flow: None, cause: None, from: None, pause: None, time };
            return Some(vec![row(0, way[0], &waits)]);
        }
        // Before the start of the completing packet, passages of other packets are among the records of the
        // source.
        let before = self.source[first..=last].iter();
        let before = before.flat_map(|p| p.before.iter().flatten().map(move |part| row(0, p, part)));
        let after =
            way.iter().enumerate().flat_map(|(hop, p)| p.parts.iter().map(move |part| row(hop, p, part)));
        Some(before.chain(after).collect())
    }

    /// A message is over.
    pub fn forget(&mut self) {
        self.begun = Some(self.first());
    }
}
