//! Parts of completion times: records of nodes about packets that may complete a flow, joined at the end of
//! the flow.

mod contributions;
mod table;
mod trails;

use std::collections::BTreeMap;

use xoff_engine::Checkpoint;
use xoff_models::network::node::{FAULT, Node};
use xoff_models::paths::topology::PortSpec;
use xoff_models::records::delays::{Contribution, Kind, Part};
use xoff_models::records::events::Drop;
use xoff_units::Duration;

use self::table::Delay;
use self::trails::Trail;
use super::contract::{Collect, Shared};
use super::news::{Delivered, FlowEnd, MessageEnd};
use super::rows::row_set;
use crate::runner::Runner;
use crate::verdicts::Ledger;

row_set! { delays: Delay, contributions: Contribution }

/// Collects delays.
#[derive(Default)]
pub struct Delays {
    rows: Rows,
    /// Records of unfinished flows.
    trails: BTreeMap<u32, Trail>,
    /// Flows with lost packets or acknowledgements; true if faults caused all losses.
    lost: BTreeMap<u32, bool>,
    /// The first flow whose parts do not add up to the completion time, with that time.
    wrong: Option<(u32, Duration)>,
}

impl Collect for Delays {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self::default()
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, _: &mut Shared) {
        let known = self.rows.contributions.len();
        for id in 0..cp.nodes() {
            let node = cp.node_mut(id);
            let Some(recorder) = &mut node.delays else { continue };
            for passage in recorder.passages.drain(..) {
                self.trails.entry(passage.flow).or_default().add(passage);
            }
            self.rows.contributions.append(&mut recorder.contributions);
            let unheard = node.failing.as_mut().map(|failing| std::mem::take(&mut failing.unheard));
            for flow in unheard.into_iter().flatten() {
                self.lost.entry(flow).or_insert(true);
            }
        }
        self.rows.contributions[known..].sort_by_key(|c| c.at);
    }

    fn dropped(&mut self, drop: &Drop, shared: &mut Shared) {
        if shared.keeps.delays {
            *self.lost.entry(drop.flow).or_insert(true) &= drop.by == Some(FAULT.name);
        }
    }

    fn message(&mut self, end: &MessageEnd, shared: &mut Shared) {
        self.complete(&end.delivered, &shared.names.ports);
    }

    fn flow(&mut self, end: &FlowEnd, shared: &mut Shared) {
        if end.is_connection {
            self.trails.remove(&end.sent.flow);
        } else if let Some(arrived) = end.arrived {
            let (flow, start, dst) = (end.sent.flow, end.sent.start, end.sent.dst);
            self.complete(&Delivered { flow, message: None, start, arrived, dst }, &shared.names.ports);
        }
    }

    /// Cuts the completion times of delivered flows that wait for the last ACK, and adds the time at the source for
    /// undelivered flows.
    fn close(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let now = cp.now;
        let (plan, ends) = (&shared.plan, &shared.ends);
        let unfinished = |id| cp.node(id).endpoint.as_ref().map_or_else(Vec::new, |e| e.unfinished(now));
        for s in (0..cp.nodes())
            .flat_map(unfinished)
            .filter(|s| !plan.messages.contains_key(&plan.name_of(s.flow)) && !plan.is_open(s.flow))
        {
            if let Some(arrived) = ends.arrival(s.flow) {
                let delivered =
                    Delivered { flow: s.flow, message: None, start: s.start, arrived, dst: s.dst };
                self.complete(&delivered, &shared.names.ports);
            }
        }
        let is_done = |flow: u32| plan.is_open(flow) || ends.arrival(flow).is_some();
        for id in 0..cp.nodes() {
            let Some(recorder) = &mut cp.node_mut(id).delays else { continue };
            for (flow, port, parts) in recorder.unfinished(now) {
                if is_done(flow) {
                    continue;
                }
                let trail = self.trails.remove(&flow).unwrap_or_default();
                let first = self.rows.delays.len();
                let all = trail.source.iter().filter_map(|p| p.before.as_ref()).flatten().chain(&parts);
                let row = |part: &Part| Delay { flow, message: None, hop: 0, node: id, port, part: *part };
                self.rows.delays.extend(all.map(row));
                self.merge(first);
            }
        }
    }

    fn judge(&self, _: &Checkpoint<'_, Node>, _: &Shared, ledger: &mut Ledger) {
        ledger.uncut = self.wrong;
    }
}

impl Delays {
    /// Names faults as the cause of a part of waiting or retransmission, for a flow that lost packets or
    /// acknowledgements by faults alone.
    fn blame(&self, flow: u32, part: &Part) -> Part {
        let is_for_losses =
            matches!(part.kind, Kind::Retransmission | Kind::AwaitingAck) && part.cause.is_none();
        let by_fault = is_for_losses && self.lost.get(&flow).is_some_and(|by_faults| *by_faults);
        Part { cause: if by_fault { Some(FAULT.name) } else { part.cause }, ..*part }
    }

    /// Cuts the completion time of a recorded flow or message.
    fn complete(&mut self, flow: &Delivered, ports: &[Vec<PortSpec>]) {
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
        let first = self.rows.delays.len();
        self.rows.delays.extend(rows);
        self.merge(first);
    }

    /// Adds up rows with equal kind, place and origin, from a row on.
    fn merge(&mut self, first: usize) {
        let mut sums: BTreeMap<_, Delay> = BTreeMap::new();
        let rows: Vec<Delay> = self.rows.delays.drain(first..).collect();
        for row in rows.into_iter().map(|row| Delay { part: self.blame(row.flow, &row.part), ..row }) {
            let Part { kind, flow, cause, from, .. } = row.part;
            let sum = sums
                .entry((row.hop, kind, row.port, from, flow, cause))
                .or_insert(Delay { part: Part { time: Duration::ZERO, ..row.part }, ..row });
            sum.part.time += row.part.time;
        }
        self.rows.delays.extend(sums.into_values());
    }
}

#[cfg(test)]
mod tests {
    use xoff_models::parts::ids::PortId;
    use xoff_models::paths::topology::Link;
    use xoff_models::records::delays::Passage;
    use xoff_units::{Moment, Rate};

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
        let rows: Vec<_> = delays
            .rows
            .delays
            .iter()
            .map(|r| (r.hop, r.node, r.part.kind, r.part.time.ps() / 1000))
            .collect();
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
