//! Parts of completion times: records of nodes about packets that may complete a flow, joined at the end of
//! the flow.

use std::collections::BTreeMap;

use xoff_engine::Checkpoint;
use xoff_models::delays::{Contribution, Kind, Part, Passage};
use xoff_models::ids::PortId;
use xoff_models::node::{FAULT, Node};
use xoff_models::topology::PortSpec;
use xoff_units::{Duration, Moment, index};

/// A part of the completion time of a flow, with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The flow.
    pub flow: u32,
    /// For a connection: the message, as the number of the operation and the place in the operation.
    pub message: Option<(u32, u32)>,
    /// Link on the path; the link of the source is number 0.
    pub hop: u16,
    /// Sending node of the link.
    pub node: u32,
    /// Sending port of the link.
    pub port: PortId,
    /// Kind, cause and duration.
    pub part: Part,
}

/// A delivered flow or message: start, and arrival of the last byte.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    pub flow: u32,
    pub message: Option<(u32, u32)>,
    pub start: Moment,
    pub arrived: Moment,
    pub dst: u32,
}

/// Records of nodes about a flow.
#[derive(Debug, Default)]
struct Trail {
    /// Records of the source, in order: starts of packets, and posted messages.
    source: Vec<Passage>,
    /// Records of other nodes.
    hops: Vec<Passage>,
    /// For a connection with a completed message: the index in `source` of the first message of the next
    /// part.
    begun: Option<usize>,
}

impl Trail {
    fn add(&mut self, passage: Passage) {
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
    fn parts(&self, flow: &Delivered, ports: &[Vec<PortSpec>]) -> Option<Vec<Row>> {
        let way = self.way(flow, ports)?;
        let row = |hop: usize, p: &Passage, part: &Part| Row {
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
    fn forget(&mut self) {
        self.begun = Some(self.first());
    }
}

/// Collected records of delays.
#[derive(Debug, Default)]
pub struct Delays {
    /// Records of unfinished flows.
    trails: BTreeMap<u32, Trail>,
    /// Flows with lost packets or acknowledgements; true if faults caused all losses.
    lost: BTreeMap<u32, bool>,
    /// Rows not yet taken.
    pub rows: Vec<Row>,
    /// Contributions to pauses, not yet taken.
    pub contributions: Vec<Contribution>,
    /// The first flow whose parts do not add up to the completion time, with that time.
    pub wrong: Option<(u32, Duration)>,
}

impl Delays {
    /// Takes the records of nodes since the last call.
    pub fn drain(&mut self, cp: &mut Checkpoint<'_, Node>) {
        let known = self.contributions.len();
        for id in 0..cp.nodes() {
            let Some(recorder) = &mut cp.node_mut(id).delays else { continue };
            for passage in recorder.passages.drain(..) {
                self.trails.entry(passage.flow).or_default().add(passage);
            }
            self.contributions.append(&mut recorder.contributions);
            let unheard =
                cp.node_mut(id).failing.as_mut().map(|failing| std::mem::take(&mut failing.unheard));
            for flow in unheard.into_iter().flatten() {
                self.lost.entry(flow).or_insert(true);
            }
            for drop in &cp.node(id).records.drops {
                *self.lost.entry(drop.flow).or_insert(true) &= drop.by == Some(FAULT.name);
            }
        }
        self.contributions[known..].sort_by_key(|c| c.at);
    }

    /// Names faults as the cause of a part of waiting or retransmission, for a flow that lost packets or
    /// acknowledgements by faults alone.
    fn blame(&self, flow: u32, part: &Part) -> Part {
        let is_for_losses =
            matches!(part.kind, Kind::Retransmission | Kind::AwaitingAck) && part.cause.is_none();
        let by_fault = is_for_losses && self.lost.get(&flow).is_some_and(|by_faults| *by_faults);
        Part { cause: if by_fault { Some(FAULT.name) } else { part.cause }, ..*part }
    }

    /// Cuts the completion time of a recorded flow or message.
    pub fn complete(&mut self, flow: &Delivered, ports: &[Vec<PortSpec>]) {
        let Some(trail) = self.trails.get_mut(&flow.flow) else { return };
        let expected = flow.arrived - flow.start;
        let rows = trail.parts(flow, ports).unwrap_or_default();
        if flow.message.is_some() {
            trail.forget();
        } else {
            self.trails.remove(&flow.flow);
        }
        let sum = rows.iter().fold(Duration::ZERO, |sum, row| sum + row.part.time);
        if sum != expected {
            self.wrong.get_or_insert((flow.flow, expected));
        }
        let first = self.rows.len();
        self.rows.extend(rows);
        self.merge(first);
    }

    /// Drops the records of a connection that has delivered all messages.
    pub fn forget(&mut self, flow: u32) {
        self.trails.remove(&flow);
    }

    /// Adds the time at the source for flows undelivered at the end of the run. Delivered flows that wait for
    /// the last ACK need no rows.
    pub fn close(&mut self, cp: &mut Checkpoint<'_, Node>, has_arrived: impl Fn(u32) -> bool) {
        let now = cp.now;
        for id in 0..cp.nodes() {
            let Some(recorder) = &mut cp.node_mut(id).delays else { continue };
            for (flow, port, parts) in
                recorder.unfinished(now).into_iter().filter(|(flow, ..)| !has_arrived(*flow))
            {
                let trail = self.trails.remove(&flow).unwrap_or_default();
                let first = self.rows.len();
                let all = trail.source.iter().filter_map(|p| p.before.as_ref()).flatten().chain(&parts);
                self.rows.extend(all.map(|part| Row {
                    flow,
                    message: None,
                    hop: 0,
                    node: id,
                    port,
                    part: *part,
                }));
                self.merge(first);
            }
        }
    }

    /// Adds up rows with equal kind, place and origin, from a row on.
    fn merge(&mut self, first: usize) {
        let mut sums: BTreeMap<_, Row> = BTreeMap::new();
        let rows: Vec<Row> = self.rows.drain(first..).collect();
        for row in rows.into_iter().map(|row| Row { part: self.blame(row.flow, &row.part), ..row }) {
            let Part { kind, flow, cause, from, .. } = row.part;
            let sum = sums
                .entry((row.hop, kind, row.port, from, flow, cause))
                .or_insert(Row { part: Part { time: Duration::ZERO, ..row.part }, ..row });
            sum.part.time += row.part.time;
        }
        self.rows.extend(sums.into_values());
    }
}

#[cfg(test)]
mod tests {
    use xoff_models::topology::Link;
    use xoff_units::Rate;

    use super::*;

    fn part(kind: Kind, ns: u64) -> Part {
        Part { kind, flow: None, cause: None, from: None, pause: None, time: Duration::ns(ns) }
    }

    /// Hosts 0 and 1 at switch 2.
    fn ports() -> Vec<Vec<PortSpec>> {
        let port = |peer| PortSpec {
            peer,
            peer_port: PortId(0),
            link: Link { rate: Rate::gbps(100), delay: Duration::ns(100) },
        };
        vec![vec![port(2)], vec![port(2)], vec![port(0), port(1)]]
    }

    /// A packet of flow 3 that leaves host 0 at 500 ns, and an earlier packet that was lost.
    fn passages(way: u64) -> Vec<Passage> {
        let at_source = |start: u64, before: Vec<Part>| Passage {
            flow: 3,
            node: 0,
            port: PortId(0),
            arrived: Moment::ns(start),
            reaches: Moment::ns(start + 200),
            stays: false,
            before: Some(before),
            parts: vec![part(Kind::Serialization, 100), part(Kind::Propagation, 100)],
        };
        vec![
            at_source(300, vec![part(Kind::Window, 300)]),
            at_source(500, vec![part(Kind::Transmission, 100), part(Kind::AwaitingAck, 100)]),
            at_source(900, vec![part(Kind::AwaitingAck, 400)]),
            Passage {
                flow: 3,
                node: 2,
                port: PortId(1),
                arrived: Moment::ns(700),
                reaches: Moment::ns(1000),
                stays: false,
                before: None,
                parts: vec![part(Kind::Queueing, way)],
            },
        ]
    }

    fn complete(passages: Vec<Passage>) -> Delays {
        let mut trail = Trail::default();
        for passage in passages {
            trail.add(passage);
        }
        let mut delays = Delays { trails: BTreeMap::from([(3, trail)]), ..Delays::default() };
        delays.complete(
            &Delivered { flow: 3, message: None, start: Moment::ZERO, arrived: Moment::ns(1000), dst: 1 },
            &ports(),
        );
        delays
    }

    #[test]
    fn a_completion_time_is_its_sources_until_the_packet_that_ends_it_starts() {
        let delays = complete(passages(300));
        assert_eq!(delays.wrong, None);
        let rows: Vec<_> =
            delays.rows.iter().map(|r| (r.hop, r.node, r.part.kind, r.part.time.ps() / 1000)).collect();
        let expected = [
            (0, 0, Kind::Transmission, 100),
            (0, 0, Kind::Window, 300),
            (0, 0, Kind::AwaitingAck, 100),
            (0, 0, Kind::Serialization, 100),
            (0, 0, Kind::Propagation, 100),
            (1, 2, Kind::Queueing, 300),
        ];
        assert_eq!(rows, expected, "what the source did later is in no row");
    }

    #[test]
    fn parts_that_do_not_add_up_and_ways_with_a_gap_are_noticed() {
        assert_eq!(complete(passages(299)).wrong, Some((3, Duration::ns(1000))));
        let mut broken = passages(300);
        broken.remove(1);
        assert_eq!(complete(broken).wrong, Some((3, Duration::ns(1000))));
        assert_eq!(complete(Vec::new()).wrong, Some((3, Duration::ns(1000))));
    }
}
