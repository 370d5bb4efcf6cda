//! Epochs: the routes of a run between two changes by faults and failover, as far as they differ.
//!
//! The routes of the network without faults are the first epoch. A link that is known to be down, or known to be back, begins
//! another ([`crate::faults::Avoided`]). A local repair begins none, since a node then chooses among fewer ports of the same
//! routes. Routes that return are one epoch, from their first start to their last end.

use std::collections::{BTreeMap, VecDeque};

use xoff_models::network::Settings;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::topology::PortSpec;
use xoff_units::{Moment, index};

use crate::faults::Avoided;

/// Links between forwarding nodes: for each node its ports, with the neighbours.
pub type Fabric = Vec<Vec<(PortId, u32)>>;

/// The links of an epoch.
#[derive(Debug, Clone)]
pub struct Epoch {
    /// First start of the epoch.
    pub from: Moment,
    /// Last end of the epoch.
    pub to: Moment,
    pub fabric: Fabric,
}

/// Largest number of changes of routes that are followed, and of epochs that differ.
const MAX_CHANGES: usize = 4_096;
const MAX_EPOCHS: usize = 64;

/// Returns the epochs that differ, before the end of a run; `None` if there are too many.
pub fn epochs(
    settings: &Settings,
    ports: &[Vec<PortSpec>],
    whole: &Fabric,
    until: Option<Moment>,
) -> Option<Vec<Epoch>> {
    let mut found = vec![Epoch { from: Moment::ZERO, to: Moment::NEVER, fabric: whole.clone() }];
    let Some(mut avoided) = Avoided::of(settings) else { return Some(found) };
    let mut known = BTreeMap::from([(Vec::new(), 0)]);
    let mut now = 0;
    for _ in 0..MAX_CHANGES {
        let Some(from) = avoided.next_change().filter(|at| until.is_none_or(|until| *at <= until)) else {
            return Some(found);
        };
        avoided.advance(from, ports);
        found[now].to = from;
        now = *known.entry(avoided.links().collect()).or_insert(found.len());
        if now == found.len() {
            let mut fabric = whole.clone();
            for (node, list) in (0..).zip(&mut fabric) {
                list.retain(|(port, _)| !avoided.has(node, *port));
            }
            found.push(Epoch { from, to: Moment::NEVER, fabric });
        }
        found[now].to = Moment::NEVER;
        if found.len() > MAX_EPOCHS {
            return None;
        }
    }
    None
}

/// Returns the number of links from each node to a destination, over nodes that forward; `u32::MAX` without a path.
pub fn distances(fabric: &Fabric, forwards: impl Fn(u32) -> bool, destination: u32, distance: &mut [u32]) {
    distance.fill(u32::MAX);
    distance[index(destination)] = 0;
    let mut queue = VecDeque::from([destination]);
    while let Some(at) = queue.pop_front() {
        if at != destination && !forwards(at) {
            continue;
        }
        for (_, peer) in &fabric[index(at)] {
            if distance[index(*peer)] == u32::MAX {
                distance[index(*peer)] = distance[index(at)] + 1;
                queue.push_back(*peer);
            }
        }
    }
}
