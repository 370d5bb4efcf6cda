//! The queues of an output: one for each output of the next switch (IHFQ), and a direct queue (DDQ).

use xoff_units::index;

use crate::frames::packet::Packet;
use crate::mechanisms::contract::QueueAt;
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::Map;
use crate::paths::topology::{PortSpec, Wiring};

/// Returns the index of an output among the outputs of a switch without `own`.
fn rank(output: PortId, own: PortId) -> usize {
    output.index() - usize::from(output > own)
}

/// Meaning of the queues of an output of a node or switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outputs {
    /// A node's output to a switch: `kinds` × (outputs of the switch − 1) queues for own flows, and a queue
    /// for relayed packets.
    Node {
        /// The switch.
        switch: u32,
        /// The node's port there.
        own: PortId,
        /// Outputs of the switch other than ours.
        others: usize,
        /// Kinds of own flows, by the number of switches on the path: a port each.
        kinds: usize,
    },
    /// A switch's output to a node: a queue for each output of each switch behind the node, and the direct
    /// queue.
    ToNode {
        /// For each port of the node: the switch at the port, our index of the switch's first output, and the
        /// node's port at the switch.
        behind: Vec<Option<(u32, usize, PortId)>>,
        /// Number of inter-hop queues.
        count: usize,
    },
    /// A switch's output to another switch: a queue for each of that switch's outputs, without the output
    /// back to us.
    ToSwitch {
        /// The switch.
        switch: u32,
        /// Our port there.
        own: PortId,
        /// Other outputs of the switch.
        others: usize,
    },
}

impl Outputs {
    /// The queues of a port.
    pub fn new(wiring: &Wiring, node: u32, port: PortId) -> Self {
        let PortSpec { peer, peer_port, .. } = wiring.ports[index(node)][port];
        let (own, others) = (peer_port, wiring.ports[index(peer)].len() - 1);
        if wiring.is_host[index(node)] {
            return Self::Node { switch: peer, own, others, kinds: wiring.ports[index(node)].len() };
        }
        if !wiring.is_host[index(peer)] {
            return Self::ToSwitch { switch: peer, own, others };
        }
        let mut count = 0;
        let ports = if wiring.is_relay[index(peer)] { wiring.ports[index(peer)].as_slice() } else { &[] };
        let behind = ports
            .iter()
            .enumerate()
            .map(|(q, p)| {
                (PortId::at(q) != own).then(|| {
                    let first = count;
                    count += wiring.ports[index(p.peer)].len() - 1;
                    (p.peer, first, p.peer_port)
                })
            })
            .collect();
        Self::ToNode { behind, count }
    }

    /// Data queues.
    pub fn queues(&self) -> usize {
        match self {
            Self::Node { others, kinds, .. } => kinds * others + 1,
            Self::ToNode { count, .. } => count + 1,
            Self::ToSwitch { others, .. } => *others,
        }
    }

    /// Returns the queues that a frame holds or releases. The frame names an output of `switch`, and its
    /// direct queue or its inter-hop queues.
    pub(super) fn held_by(&self, switch: u32, output: PortId, is_direct: bool) -> Vec<QueueId> {
        match self {
            Self::Node { switch: ours, own, others, kinds } if *ours == switch && *own != output => {
                let kinds = if is_direct { kinds - 1..*kinds } else { 0..kinds - 1 };
                kinds.map(|kind| QueueId::at(1 + kind * others + rank(output, *own))).collect()
            }
            Self::ToNode { behind, .. } => {
                let found = behind.iter().flatten().find(|b| b.0 == switch && b.2 != output);
                found.map(|(_, first, own)| QueueId::at(1 + first + rank(output, *own))).into_iter().collect()
            }
            Self::ToSwitch { switch: ours, own, .. } if *ours == switch && *own != output => {
                vec![QueueId::at(1 + rank(output, *own))]
            }
            Self::Node { .. } | Self::ToSwitch { .. } => Vec::new(),
        }
    }
}

/// Returns the queue for a packet: at a switch's output, or at the first output of a node's own flow.
pub(super) fn queue(map: &Map, outputs: &Outputs, packet: &Packet, peer: u32) -> QueueId {
    QueueId::at(match outputs {
        Outputs::Node { switch, own, others, kinds } => {
            let mut at = *switch;
            let mut output = map.routes[index(at)].port_after(packet, 1);
            let i = rank(output, *own);
            let (mut switches, mut nodes) = (1, 1);
            while switches < *kinds && map.wiring.ports[index(at)][output].peer != packet.dst() {
                at = map.wiring.ports[index(at)][output].peer;
                nodes += 1;
                switches += usize::from(!map.wiring.is_host[index(at)]);
                output = map.routes[index(at)].port_after(packet, nodes);
            }
            1 + (kinds - switches) * others + i
        }
        Outputs::ToNode { count, .. } if peer == packet.dst() => 1 + count,
        Outputs::ToNode { behind, count } => {
            let port = map.routes[index(peer)].port_after(packet, 1);
            match behind.get(port.index()).copied().flatten() {
                Some((switch, first, own)) => {
                    1 + first + rank(map.routes[index(switch)].port_after(packet, 2), own)
                }
                None => 1 + count,
            }
        }
        Outputs::ToSwitch { switch, own, .. } => {
            1 + rank(map.routes[index(*switch)].port_after(packet, 1), *own)
        }
    })
}

/// Returns the queue at a switch's output for packets that take output `next` at the node behind the output,
/// and `third` at the switch after the node. Outputs of nodes give none, as no queue waits for a node's
/// queues.
pub(super) fn queue_toward(
    wiring: &Wiring,
    node: u32,
    port: PortId,
    next: PortId,
    third: Option<PortId>,
) -> Option<QueueId> {
    match Outputs::new(wiring, node, port) {
        Outputs::ToNode { behind, .. } => {
            let (_, first, own) = behind.get(next.index()).copied().flatten()?;
            third.filter(|t| *t != own).map(|t| QueueId::at(1 + first + rank(t, own)))
        }
        Outputs::ToSwitch { own, .. } if own != next => Some(QueueId::at(1 + rank(next, own))),
        Outputs::Node { .. } | Outputs::ToSwitch { .. } => None,
    }
}

/// Returns the queues for which a paused queue waits, as switch, output and queue: the edges of the
/// pause-dependency graph.
pub(super) fn waits_for(wiring: &Wiring, node: u32, port: PortId, queue: QueueId) -> Vec<QueueAt> {
    let outputs = Outputs::new(wiring, node, port);
    let switches: Vec<u32> = match &outputs {
        Outputs::Node { switch, .. } | Outputs::ToSwitch { switch, .. } => vec![*switch],
        Outputs::ToNode { behind, .. } => behind.iter().flatten().map(|b| b.0).collect(),
    };
    let mut list = Vec::new();
    for switch in switches {
        for output in PortId::all(wiring.ports[index(switch)].len()) {
            let there = Outputs::new(wiring, switch, output);
            let direct = matches!(there, Outputs::ToNode { .. }).then(|| QueueId::at(there.queues()));
            // Only frames of direct queues pass a node.
            let passes_a_node = matches!(outputs, Outputs::ToNode { .. });
            if let Some(direct) = direct.filter(|_| outputs.held_by(switch, output, true).contains(&queue)) {
                list.push((switch, output, direct));
            }
            if !passes_a_node && outputs.held_by(switch, output, false).contains(&queue) {
                list.extend(
                    QueueId::all(1 + there.queues())
                        .skip(1)
                        .filter(|q| Some(*q) != direct)
                        .map(|q| (switch, output, q)),
                );
            }
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use xoff_units::{Duration, Rate};

    use super::*;
    use crate::frames::kinds::Kind;
    use crate::paths::routing::shortest::shortest;
    use crate::paths::routing::{FirstHop, Paths};
    use crate::paths::topology::{Link, Shape, Topology, ndc, rail};

    fn map(t: &Topology) -> Map {
        Map::new(shortest(t, Arc::new(Paths::new()), &FirstHop::Highest, 1, |_| true), t.wiring())
    }

    fn link() -> Link {
        Link { rate: Rate::gbps(100), delay: Duration::us(1) }
    }

    fn net(n: u64, k: u64) -> Map {
        map(&ndc::Params { n, k, link: link(), levels: Vec::new() }.build().unwrap())
    }

    /// Returns the queue index at `node` toward `peer` for a packet of `node` to `dst`, counted from 0 as in
    /// the paper.
    fn own(m: &Map, node: u32, peer: u32, dst: u32) -> usize {
        let port = m.wiring.ports[index(node)].iter().position(|p| p.peer == peer).unwrap();
        queue(
            m,
            &Outputs::new(&m.wiring, node, PortId::at(port)),
            &Packet::new(Kind::Data, 0, 0, dst, 1048, 0),
            peer,
        )
        .index()
            - 1
    }

    #[test]
    fn queues_are_those_of_figure_6() {
        // Paths leave by level 0 first, as the figure's do.
        let t = ndc::Params { n: 4, k: 1, link: link(), levels: Vec::new() }.build().unwrap();
        let mut m = map(&t);
        m.routes = shortest(&t, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true);
        // Node 15 to switch 19: four-hop flows F1 to F4 by way of nodes 12, 13, 14 and 12, two-hop flows F6
        // to F8 to those nodes.
        for (dst, queue) in [(0, 0), (1, 1), (2, 2), (8, 0), (12, 3), (13, 4), (14, 5)] {
            assert_eq!(own(&m, 15, 19, dst), queue, "to {dst}");
        }
        // Switch 23 to node 15: F12 to F15 go on to nodes 12, 13, 14 and 14; F11 and F16 end at node 15.
        for (dst, queue) in [(12, 0), (13, 1), (14, 2), (15, 3)] {
            let packet = Packet::new(Kind::Data, 0, 0, dst, 1048, 0);
            assert_eq!(
                super::queue(&m, &Outputs::new(&m.wiring, 23, PortId(3)), &packet, 15).index() - 1,
                queue,
                "to {dst}"
            );
        }
        // Relayed flows F9 and F10 have queue 2n − 2, the last.
        assert_eq!(Outputs::new(&m.wiring, 15, PortId(0)).queues() - 1, 6);
    }

    #[test]
    fn queue_counts_follow_the_formulas() {
        for n in 2..=16 {
            let m = net(n, 1);
            let hosts = m.wiring.is_host.iter().filter(|h| **h).count();
            // With the high-priority queue: n + 1 and (k + 1)(n − 1) + 2.
            assert_eq!(Outputs::new(&m.wiring, hosts as u32, PortId(0)).queues() as u64 + 1, n + 1);
            assert_eq!(Outputs::new(&m.wiring, 0, PortId(1)).queues() as u64 + 1, 2 * (n - 1) + 2);
        }
        for (n, k) in [(2, 2), (3, 2), (2, 3), (4, 2)] {
            let m = net(n, k);
            let hosts = m.wiring.is_host.iter().filter(|h| **h).count();
            assert_eq!(Outputs::new(&m.wiring, 0, PortId(0)).queues() as u64 + 1, (k + 1) * (n - 1) + 2);
            // The paper's n + 1 names outputs of one next switch; with k levels behind a node there are k of
            // them.
            assert_eq!(Outputs::new(&m.wiring, hosts as u32, PortId(0)).queues() as u64 + 1, k * (n - 1) + 2);
        }
    }

    /// Returns the queues of packets between all pairs of hosts.
    fn used(m: &Map) -> BTreeSet<QueueAt> {
        let mut used = BTreeSet::new();
        let hosts = (0..m.wiring.is_host.len() as u32).filter(|n| m.wiring.is_host[index(*n)]);
        for (src, dst) in
            hosts.clone().flat_map(|a| hosts.clone().filter(move |b| *b != a).map(move |b| (a, b)))
        {
            let mut packet = Packet::new(Kind::Data, 0, 0, dst, 1048, 0);
            let mut at = src;
            while at != dst {
                let port = m.routes[index(at)].port(&packet);
                let (outputs, peer) =
                    (Outputs::new(&m.wiring, at, port), m.wiring.ports[index(at)][port].peer);
                let is_relayed = at != src && m.wiring.is_host[index(at)];
                used.insert((
                    at,
                    port,
                    if is_relayed {
                        QueueId::at(outputs.queues())
                    } else {
                        queue(m, &outputs, &packet, peer)
                    },
                ));
                packet.hop();
                at = peer;
            }
        }
        used
    }

    /// Returns the longest chain of waiting queues, or none for a cycle.
    fn longest_chain(m: &Map, of: &BTreeSet<QueueAt>) -> Option<usize> {
        fn depth(
            m: &Map,
            of: &BTreeSet<QueueAt>,
            at: QueueAt,
            on_path: &mut BTreeSet<QueueAt>,
            known: &mut BTreeMap<QueueAt, usize>,
        ) -> Option<usize> {
            if let Some(d) = known.get(&at) {
                return Some(*d);
            }
            if !on_path.insert(at) {
                return None;
            }
            let mut most = 0;
            for next in waits_for(&m.wiring, at.0, at.1, at.2).into_iter().filter(|q| of.contains(q)) {
                most = most.max(1 + depth(m, of, next, on_path, known)?);
            }
            on_path.remove(&at);
            known.insert(at, most);
            Some(most)
        }
        let mut known = BTreeMap::new();
        of.iter().try_fold(0, |most, queue| {
            Some(most.max(depth(m, of, *queue, &mut BTreeSet::new(), &mut known)?))
        })
    }

    fn all_queues(m: &Map) -> BTreeSet<QueueAt> {
        let ports = (0..m.wiring.ports.len() as u32)
            .flat_map(|n| PortId::all(m.wiring.ports[index(n)].len()).map(move |p| (n, p)));
        ports
            .flat_map(|(n, p)| {
                QueueId::all(1 + Outputs::new(&m.wiring, n, p).queues()).skip(1).map(move |q| (n, p, q))
            })
            .collect()
    }

    #[test]
    fn no_circle_of_pauses_in_any_ndc_up_to_16() {
        // Queues a wait for A, A for B, and B for nobody (equations 1 and 2), whoever sends to whom.
        for n in 2..=16 {
            let m = net(n, 1);
            assert_eq!(longest_chain(&m, &all_queues(&m)), Some(2), "n {n}");
        }
    }

    #[test]
    fn no_circle_of_pauses_between_rails() {
        let of = |aggregation| {
            let t = rail::Params {
                servers: 3,
                gpus_per_server: 3,
                scale_up: Some(link()),
                rail: link(),
                aggregation,
            }
            .build()
            .unwrap();
            let m = map(&t);
            longest_chain(&m, &used(&m))
        };
        assert_eq!(of(None), Some(2));
        // From a node by a rail, an aggregation and another rail switch, and to the direct queue behind whom
        // that one feeds.
        assert_eq!(of(Some(rail::Aggregation { switches: 2, link: link(), segments: 2 })), Some(4));
    }
}
