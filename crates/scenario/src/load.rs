//! What links have to carry if nothing holds the workload back: its offered load, layer by layer, before anything is run.
//!
//! Poisson arrivals count as they are expected, listed flows as they are; a flow that is not pinned spreads evenly over its shortest
//! paths, as ECMP does on average. Bytes are those on the wire, of data alone. The load is the mean over the time in which flows
//! start. Left out are flows that wait for others, whose start nobody knows, and those that a warm start puts under way: they stand
//! for what came before.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use xoff_models::routing::Paths;
use xoff_models::workload::{AllFlows, FlowSpec, Offer, Start};
use xoff_units::{Moment, index, number, wide};

use crate::dependency::Traffic;

/// Links to look at for all destinations, and pairs of sources and destinations: seconds.
const MAX_WORK: u64 = 1 << 28;

/// The offered load of a workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Load {
    /// From here on flows start.
    pub from_ps: u64,
    /// Until here.
    pub to_ps: u64,
    /// Flows that are left out, since they wait for others.
    pub waiting_flows: u64,
    /// From hosts upward, and then the other way.
    pub layers: Vec<Layer>,
}

/// Links from nodes of one name to nodes of another, names without their numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layer {
    /// Both names.
    #[serde(rename = "layer")]
    pub name: String,
    /// Links in this direction.
    pub links: u64,
    /// Load of all of them, as a share of what they carry.
    pub mean: f64,
    /// Load of the link that has the most.
    pub highest: f64,
    /// Which that is: node, port and the node there.
    pub link: String,
}

/// Bytes that are to be carried.
struct Demand {
    /// For each node where routes lead, from which nodes bytes come.
    between: BTreeMap<u32, BTreeMap<u32, f64>>,
    /// For each port of each node, what it carries.
    links: Vec<Vec<f64>>,
    from: Moment,
    to: Moment,
}

/// Sources that share their destinations, and the bytes of each.
struct Shared<'a> {
    destinations: &'a [u32],
    sources: Vec<(u32, f64)>,
}

/// The offered load; none where nothing is sent, or all at one moment, or where it would take too long to tell.
pub fn load(traffic: &Traffic<'_>, until: Option<Moment>) -> Option<Load> {
    let plan = traffic.plan;
    let offers = || {
        plan.starts.iter().enumerate().flat_map(|(src, starts)| {
            starts.iter().filter_map(move |start| match start {
                Start::Drawn(flows) => Some((number(src), flows.offer(), flows.destinations().1)),
                Start::List(_) => None,
            })
        })
    };
    let from = offers().map(|o| o.1.from).chain(listed(plan).map(|f| f.1.start)).min()?;
    let last = offers().map(|o| o.1.to).chain(listed(plan).map(|f| f.1.start)).fold(plan.lasts, Moment::max);
    let to = until.map_or(last, |until| until.min(last));
    if to <= from {
        return None;
    }
    let links = traffic.ports.iter().map(|p| vec![0.0; p.len()]).collect();
    let mut demand = Demand { between: BTreeMap::new(), links, from, to };
    demand.draw(traffic, &offers().collect::<Vec<_>>())?;
    demand.list(traffic);
    demand.route(traffic)?;
    let waiting_flows = plan.waiting.iter().map(|w| wide(w.len())).sum();
    Some(Load { from_ps: from.ps(), to_ps: to.ps(), waiting_flows, layers: demand.layers(traffic) })
}

/// Sources and flows that are listed and counted.
fn listed(plan: &AllFlows) -> impl Iterator<Item = (u32, &FlowSpec)> {
    plan.starting().filter(|(_, flow)| !plan.is_warm(plan.name_of(flow.flow)))
}

impl Demand {
    /// Sends bytes from a host toward a host; hosts with one link begin and end at their switch, once the link is counted.
    fn enter(&mut self, traffic: &Traffic<'_>, src: u32, dst: u32, bytes: f64) {
        self.leave(traffic, src, bytes);
        self.arrive(traffic, dst, bytes);
        self.cross(traffic.roots[index(src)], traffic.roots[index(dst)], bytes);
    }

    fn leave(&mut self, traffic: &Traffic<'_>, src: u32, bytes: f64) {
        if traffic.roots[index(src)] != src {
            self.links[index(src)][0] += bytes;
        }
    }

    fn arrive(&mut self, traffic: &Traffic<'_>, dst: u32, bytes: f64) {
        let root = traffic.roots[index(dst)];
        if root != dst {
            self.links[index(root)][traffic.ports[index(dst)][0].peer_port] += bytes;
        }
    }

    fn cross(&mut self, from: u32, to: u32, bytes: f64) {
        if from != to {
            *self.between.entry(to).or_default().entry(from).or_default() += bytes;
        }
    }

    /// Takes in what is expected of sources that draw their flows, each with the destinations that it shares out evenly.
    fn draw(&mut self, traffic: &Traffic<'_>, offers: &[(u32, Offer, &[u32])]) -> Option<()> {
        // Sources of one workload share their list of destinations, which is looked through once.
        let mut place = HashMap::new();
        let mut workloads: Vec<Shared<'_>> = Vec::new();
        for (src, offer, destinations) in offers {
            let within = offer.to.min(self.to).since(offer.from.max(self.from));
            let bytes = offer.bytes * within.real() / offer.to.since(offer.from).ps().max(1) as f64;
            let workload = *place.entry(destinations.as_ptr()).or_insert(workloads.len());
            if workload == workloads.len() {
                workloads.push(Shared { destinations, sources: Vec::new() });
            }
            workloads[workload].sources.push((*src, bytes));
        }
        for Shared { destinations, sources } in workloads {
            let known: BTreeSet<u32> = destinations.iter().copied().collect();
            let mut at: BTreeMap<u32, f64> = BTreeMap::new();
            for dst in destinations {
                *at.entry(traffic.roots[index(*dst)]).or_default() += 1.0;
            }
            if wide(sources.len()) * wide(at.len()) > MAX_WORK {
                return None;
            }
            let mut all = 0.0;
            for (src, bytes) in sources {
                let is_known = known.contains(&src);
                let each = bytes / (destinations.len() - usize::from(is_known)) as f64;
                let root = traffic.roots[index(src)];
                self.leave(traffic, src, bytes);
                for (to, hosts) in &at {
                    self.cross(root, *to, each * hosts);
                }
                all += each;
                if is_known {
                    self.arrive(traffic, src, -each);
                }
            }
            for dst in destinations {
                self.arrive(traffic, *dst, all);
            }
        }
        Some(())
    }

    /// Takes in listed flows that start by themselves, and in time.
    fn list(&mut self, traffic: &Traffic<'_>) {
        let to = self.to;
        for (src, flow) in listed(traffic.plan).filter(|f| f.1.start <= to) {
            let bytes = traffic.settings.framing.whole(flow.size) as f64;
            if flow.path < Paths::FIRST {
                self.enter(traffic, src, flow.dst, bytes);
                continue;
            }
            let mut at = index(src);
            for port in traffic.plan.paths.ports(flow.path) {
                self.links[at][*port] += bytes;
                at = index(traffic.ports[at][*port].peer);
            }
        }
    }

    /// Spreads what crosses the fabric evenly over shortest paths.
    fn route(&mut self, traffic: &Traffic<'_>) -> Option<()> {
        let nodes = traffic.topology.nodes.len();
        let links: u64 = traffic.ports.iter().map(|p| wide(p.len())).sum();
        if wide(self.between.len()) * (links + wide(nodes)) > MAX_WORK {
            return None;
        }
        let (mut distance, mut here) = (vec![u32::MAX; nodes], vec![0.0; nodes]);
        for (to, sources) in std::mem::take(&mut self.between) {
            traffic.distances(to, &mut distance);
            let mut order: Vec<u32> = (0..nodes as u32).filter(|n| distance[index(*n)] < u32::MAX && *n != to).collect();
            order.sort_by_key(|n| std::cmp::Reverse(distance[index(*n)]));
            here.fill(0.0);
            for (from, bytes) in sources {
                here[index(from)] += bytes;
            }
            for node in order {
                let bytes = std::mem::take(&mut here[index(node)]);
                if bytes > 0.0 {
                    let ways = traffic.next(node, to, &distance);
                    for (port, peer) in &ways {
                        let share = bytes / ways.len() as f64;
                        self.links[index(node)][*port] += share;
                        here[index(*peer)] += share;
                    }
                }
            }
        }
        Some(())
    }

    /// Links by the names of their ends: upward in the order in which they are listed, and then downward the other way round.
    fn layers(&self, traffic: &Traffic<'_>) -> Vec<Layer> {
        let name = |node: u32| traffic.topology.nodes[index(node)].name.as_str();
        let stem = |node: u32| name(node).trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['_', '-', '.']);
        let seconds = self.to.since(self.from).real() / 1e12;
        let mut order: Vec<(&str, &str)> = Vec::new();
        let mut known = BTreeSet::new();
        for link in &traffic.topology.links {
            let pair = (stem(link.a), stem(link.b));
            if known.insert(pair) {
                order.push(pair);
            }
        }
        for (a, b) in order.clone().into_iter().rev() {
            if known.insert((b, a)) {
                order.push((b, a));
            }
        }
        let mut found: BTreeMap<(&str, &str), (Layer, f64, f64)> = BTreeMap::new();
        for (n, ports) in traffic.ports.iter().enumerate() {
            for (p, port) in ports.iter().enumerate() {
                let (bytes, capacity) = (self.links[n][p].max(0.0), port.link.rate.real() / 8.0 * seconds);
                let pair = (stem(number(n)), stem(port.peer));
                let entry = found.entry(pair).or_insert_with(|| {
                    let name = format!("{} → {}", pair.0, pair.1);
                    (Layer { name, links: 0, mean: 0.0, highest: -1.0, link: String::new() }, 0.0, 0.0)
                });
                entry.0.links += 1;
                entry.1 += bytes;
                entry.2 += capacity;
                // Of sums that are equal but for their order the first link's is named.
                if bytes / capacity > entry.0.highest + 1e-9 {
                    entry.0.link = format!("{} port {p} (to {})", name(number(n)), name(port.peer));
                }
                entry.0.highest = entry.0.highest.max(bytes / capacity);
            }
        }
        order.into_iter().filter_map(|pair| found.remove(&pair)).map(|(l, bytes, capacity)| Layer { mean: bytes / capacity, ..l }).collect()
    }
}
