//! Offered load of links, layer by layer, before a run: the bytes a workload would send if no mechanism held
//! it back.
//!
//! Poisson arrivals count by expectation, listed flows by size. A flow without a pinned path spreads evenly
//! over its shortest paths, as ECMP does on average. Bytes are wire bytes of data. The load is the mean over
//! the time in which flows start. Flows that wait for other flows are left out, as their starts are unknown;
//! flows of a warm start are left out, as they stand for earlier arrivals.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;
use xoff_applications::serving::Servings;
use xoff_models::frames::flow::{FlowSpec, Offer, Start};
use xoff_models::paths::routing::Paths;
use xoff_models::traffic::workload::AllFlows;
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
    /// Number of flows left out because they wait for other flows.
    pub waiting_flows: u64,
    /// From hosts upward, and then the other way.
    pub layers: Vec<Layer>,
}

/// Links between two groups of nodes; a group shares a name without numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Layer {
    /// Both names.
    #[serde(rename = "layer")]
    pub name: String,
    /// Links in this direction.
    pub links: u64,
    /// Mean load of the links, as a share of capacity.
    pub mean: f64,
    /// Load of the most loaded link.
    pub highest: f64,
    /// The most loaded link: node, port and peer.
    pub link: String,
}

/// Offered bytes.
struct Demand {
    /// For each node where routes lead, from which nodes bytes come.
    between: BTreeMap<u32, BTreeMap<u32, f64>>,
    /// Bytes of each port of each node.
    links: Vec<Vec<f64>>,
    from: Moment,
    to: Moment,
}

/// Sources with shared destinations, and the bytes of each source.
struct Shared<'a> {
    destinations: &'a [u32],
    sources: Vec<(u32, f64)>,
}

/// Returns the offered load, or `None` for a workload without flows, with a single start time, or too large
/// to analyse.
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

/// Returns the data packets times links of a whole run without losses: the same spread over shortest paths, with packets
/// in the place of bytes. `None` for a run that is cut at `until`, for serving, whose messages are unknown before the
/// run, and for networks too large to analyse.
pub fn packet_hops(traffic: &Traffic<'_>, until: Option<Moment>) -> Option<u64> {
    let (plan, framing) = (traffic.plan, &traffic.settings.framing);
    if until.is_some() || Servings::of(&plan.applications).next().is_some() {
        return None;
    }
    let whole = Offer { from: Moment::ZERO, to: Moment(1), bytes: 0.0 };
    let mut offers = Vec::new();
    for (src, starts) in plan.starts.iter().enumerate() {
        for start in starts {
            if let Start::Drawn(flows) = start {
                // A flow ends in the middle of a packet on average, and has a packet at least.
                let (count, bytes) = (flows.count() as f64, flows.bytes() as f64);
                let packets = (bytes / framing.payload as f64 + count / 2.0).max(count);
                offers.push((number(src), Offer { bytes: packets, ..whole }, flows.destinations().1));
            }
        }
    }
    let links = traffic.ports.iter().map(|p| vec![0.0; p.len()]).collect();
    let mut demand = Demand { between: BTreeMap::new(), links, from: whole.from, to: whole.to };
    demand.draw(traffic, &offers)?;
    for (src, flow) in plan.starting() {
        demand.add(traffic, src, flow, framing.packets(flow.size) as f64);
    }
    for (src, (waiting, connections)) in (0..).zip(plan.waiting.iter().zip(&plan.connections)) {
        for (_, flow) in waiting {
            demand.add(traffic, src, flow, framing.packets(flow.size) as f64);
        }
        for connection in connections {
            let messages = u64::from(connection.to_come.max(1));
            let packets = framing.packets(connection.spec.size / messages) * messages;
            demand.add(traffic, src, &connection.spec, packets as f64);
        }
    }
    demand.route(traffic)?;
    Some(demand.links.iter().flatten().sum::<f64>().round() as u64)
}

/// Returns sources and flows that are listed and counted.
fn listed(plan: &AllFlows) -> impl Iterator<Item = (u32, &FlowSpec)> {
    plan.starting().filter(|(_, flow)| !plan.is_warm(plan.name_of(flow.flow)))
}

impl Demand {
    /// Adds bytes from one host to another. Hosts with one link begin and end at their switch, after the link
    /// is counted.
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

    /// Adds the expected bytes of sources that draw flows, each with evenly shared destinations.
    fn draw(&mut self, traffic: &Traffic<'_>, offers: &[(u32, Offer, &[u32])]) -> Option<()> {
        // Sources of one workload share a list of destinations, which is searched once.
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
            // Hosts of one switch send alike: their bytes are added before they are spread.
            let mut sent: BTreeMap<u32, f64> = BTreeMap::new();
            let mut all = 0.0;
            for (src, bytes) in sources {
                let is_known = known.contains(&src);
                let each = bytes / (destinations.len() - usize::from(is_known)) as f64;
                self.leave(traffic, src, bytes);
                *sent.entry(traffic.roots[index(src)]).or_default() += each;
                all += each;
                if is_known {
                    self.arrive(traffic, src, -each);
                }
            }
            if wide(sent.len()) * wide(at.len()) > MAX_WORK {
                return None;
            }
            for (to, hosts) in &at {
                for (root, each) in &sent {
                    self.cross(*root, *to, each * hosts);
                }
            }
            for dst in destinations {
                self.arrive(traffic, *dst, all);
            }
        }
        Some(())
    }

    /// Adds listed flows that start independently, before the end of the run.
    fn list(&mut self, traffic: &Traffic<'_>) {
        let to = self.to;
        for (src, flow) in listed(traffic.plan).filter(|f| f.1.start <= to) {
            self.add(traffic, src, flow, traffic.settings.framing.whole(flow.size) as f64);
        }
    }

    /// Adds a flow on its pinned path, or on the shortest paths.
    fn add(&mut self, traffic: &Traffic<'_>, src: u32, flow: &FlowSpec, bytes: f64) {
        if flow.path < Paths::FIRST {
            return self.enter(traffic, src, flow.dst, bytes);
        }
        let mut at = index(src);
        for port in traffic.plan.paths.ports(flow.path) {
            self.links[at][*port] += bytes;
            at = index(traffic.ports[at][*port].peer);
        }
    }

    /// Spreads bytes across the fabric evenly over shortest paths.
    fn route(&mut self, traffic: &Traffic<'_>) -> Option<()> {
        let nodes = traffic.topology.nodes.len();
        let links: u64 = traffic.ports.iter().map(|p| wide(p.len())).sum();
        if wide(self.between.len()) * (links + wide(nodes)) > MAX_WORK {
            return None;
        }
        let (mut distance, mut here) = (vec![u32::MAX; nodes], vec![0.0; nodes]);
        for (to, sources) in std::mem::take(&mut self.between) {
            traffic.distances(to, &mut distance);
            let mut order: Vec<u32> =
                (0..nodes as u32).filter(|n| distance[index(*n)] < u32::MAX && *n != to).collect();
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

    /// Returns links by the names of their ends: upward in the order of the list, then downward in reverse
    /// order.
    fn layers(&self, traffic: &Traffic<'_>) -> Vec<Layer> {
        let name = |node: u32| traffic.topology.nodes[index(node)].name.as_str();
        let stem = |node: u32| {
            name(node).trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['_', '-', '.'])
        };
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
                // For sums equal up to rounding the first link is named.
                if bytes / capacity > entry.0.highest + 1e-9 {
                    entry.0.link = format!("{} port {p} (to {})", name(number(n)), name(port.peer));
                }
                entry.0.highest = entry.0.highest.max(bytes / capacity);
            }
        }
        order
            .into_iter()
            .filter_map(|pair| found.remove(&pair))
            .map(|(l, bytes, capacity)| Layer { mean: bytes / capacity, ..l })
            .collect()
    }
}
