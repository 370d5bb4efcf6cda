//! Audits of a run: invariants that hold for every mechanism.

use std::collections::{BTreeMap, BTreeSet};

use xoff_document::Judgement;
use xoff_engine::Checkpoint;
use xoff_models::mechanisms::contract::Hooks;
use xoff_models::network::node::{FAULT, Node};
use xoff_models::parts::ids::PortId;
use xoff_units::{Duration, Moment};

/// Verdicts by audit: `ok`, `recorded: …`, `failed: …`, or `cut: …` for a run that was ended before the audit
/// could judge.
#[derive(Debug, Clone, Default)]
pub struct Verdicts(pub BTreeMap<&'static str, String>);

impl Verdicts {
    /// Enters a verdict; `problem` describes a violation.
    pub fn enter(&mut self, name: &'static str, judgement: Judgement, problem: Option<String>) {
        let text = match (problem, judgement) {
            (None, _) => "ok".to_string(),
            (Some(problem), Judgement::Fail) => format!("failed: {problem}"),
            (Some(problem), Judgement::Record) => format!("recorded: {problem}"),
        };
        self.0.insert(name, text);
    }

    /// Adds to a passed audit the part that a run with an early end could not check.
    pub fn note(&mut self, name: &'static str, unseen: String) {
        self.0.insert(name, format!("cut: {unseen}"));
    }
}

/// An output of a node, with a class.
pub type Waiter = (u32, PortId, u8);

/// Time without transmission after which a paused port may belong to a deadlock.
pub const STILL: Duration = Duration::ms(1);

/// True if ports of these nodes may form a standing ring, now or at a moment since pauses were last taken:
/// each port was paused for `so_long` by a neighbour that was paused as well.
pub fn may_stand_still(
    cp: &Checkpoint<'_, Node>,
    nodes: impl Iterator<Item = u32>,
    so_long: Duration,
) -> bool {
    let mut waits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for node in nodes.map(|id| cp.node(id)) {
        let pauses = node.records.pauses.iter().chain(&node.open_pauses);
        for pause in pauses.filter(|pause| pause.end.unwrap_or(cp.now).since(pause.start) >= so_long) {
            waits.entry(node.core.id).or_default().push(node.core.ports[pause.port].peer);
        }
    }
    // A port that waits for a port outside the set is in no ring.
    loop {
        let waiting: BTreeSet<u32> = waits.keys().copied().collect();
        waits.retain(|_, peers| peers.iter().any(|peer| waiting.contains(peer)));
        if waits.len() == waiting.len() {
            return !waits.is_empty();
        }
    }
}

/// Searches some nodes for a ring of ports that wait for one another. A port of the ring is paused by a
/// neighbour that cannot drain: packets from the port wait there for the next port of the ring, or the
/// neighbour passes on the pause of the next port. Only ports without data sent since `still_since` count.
pub fn find_deadlock(
    cp: &Checkpoint<'_, Node>,
    still_since: Moment,
    among: impl Fn(u32) -> bool,
) -> Option<Vec<Waiter>> {
    let mut edges: BTreeMap<Waiter, Vec<Waiter>> = BTreeMap::new();
    for id in (0..cp.nodes()).filter(|id| among(*id)) {
        let node = cp.node(id);
        // A port with a link that is down waits for the link alone.
        for pause in node.open_pauses.iter().filter(|pause| pause.cause != FAULT.name) {
            let (port, class) = (pause.port, pause.class);
            let p = &node.core.ports[port];
            if p.last_data > still_since || pause.start > still_since || p.waiting == 0 {
                continue;
            }
            let peer = cp.node(p.peer);
            let next = peer.open_pauses.iter().filter(|o| {
                let out = o.port;
                // Classes may rise where packets are relayed.
                let is_same = o.class == class || peer.relays();
                let back = PortId::each(&peer.core.ports).find(|b| b.1.peer == id).map(|b| b.0);
                let is_passed_on = back.is_some_and(|back| {
                    peer.mechanisms.iter().any(|m| m.pauses_because(out, o.class, back, class))
                });
                peer.core.ports[out].last_data <= still_since
                    && (is_passed_on || is_same && holds_from(peer, out, o.class, id))
            });
            edges.insert((id, port, class), next.map(|o| (p.peer, o.port, o.class)).collect());
        }
    }
    // Depth-first search in a fixed order; a waiter is searched once.
    let mut searched: BTreeSet<Waiter> = BTreeSet::new();
    for start in edges.keys() {
        let mut path: Vec<(Waiter, usize)> = Vec::new();
        if searched.insert(*start) {
            path.push((*start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            let Some(to) = edges.get(at).and_then(|e| e.get(*next)).copied() else {
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(from) = path.iter().position(|p| p.0 == to) {
                return Some(path[from..].iter().map(|p| p.0).collect());
            }
            if searched.insert(to) {
                path.push((to, 0));
            }
        }
    }
    None
}

/// True if packets from `from` wait at the output.
fn holds_from(node: &Node, port: PortId, class: u8, from: u32) -> bool {
    let came_from = |in_port: PortId| node.core.ports[in_port].peer == from;
    let queued = node
        .core
        .queues_of(port, class)
        .any(|q| node.core.ports[port].queues[q].packets.iter().any(|p| came_from(p.in_port())));
    queued
        || node
            .core
            .inputs
            .iter()
            .flatten()
            .any(|p| p.class() == class && came_from(p.in_port()) && node.routes().port(p) == port)
}
