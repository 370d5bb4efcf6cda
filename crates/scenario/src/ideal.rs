//! How long a flow would take alone in the network: by the way that it took, and by the fastest of the shortest ways.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use xoff_models::cut_through;
use xoff_models::framing::Framing;
use xoff_models::ids::PortId;
use xoff_models::packet::Packet;
use xoff_models::routing::Map;
use xoff_models::topology::PortSpec;
use xoff_units::{Duration, Rate, index, number};

use crate::runner::Runner;

/// A link on a flow's way, and the delay to the next link: propagation, and that of the node there if it is not the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hop {
    rate: Rate,
    delay: Duration,
    /// The bytes after which that node knows where a frame goes, if it cuts through.
    header: Option<u64>,
    /// As many links of this rate as packets of the flow may take side by side.
    parallel: u64,
}

impl Hop {
    fn is_as_good_as(&self, other: &Self) -> bool {
        if self.parallel != other.parallel {
            return false;
        }
        if self.header.is_none() && other.header.is_none() {
            return self.rate >= other.rate && self.delay <= other.delay;
        }
        // A faster link may have to wait for more of a frame.
        self.rate == other.rate && self.delay <= other.delay && self.header.is_some_and(|own| other.header.is_none_or(|h| own <= h))
    }
}

type Way = Vec<Hop>;

/// Times of flows that are alone.
#[derive(Debug)]
pub struct IdealFct {
    framing: Framing,
    switch_delay: Vec<Duration>,
    /// The header of each input that cuts through, by node and port; empty where none does.
    headers: Vec<Vec<Option<u64>>>,
    /// The routes as the run began: what they changed to is no part of what a flow would take in the network as it should be.
    pub routing: Arc<Map>,
    /// Packets of a flow may take all shortest ways at once, as a mechanism chooses for each.
    is_routed: bool,
    /// Packets of a flow may overtake one another.
    overtake: bool,
    /// All links between nodes that forward are alike, so that shortest ways between two hosts are, too.
    is_uniform: bool,
    /// The ways between two nodes where routes begin and end, those left out that another beats on every link.
    known: HashMap<(u32, u32), Rc<Vec<Way>>>,
}

/// What a flow would take alone, and where it went.
#[derive(Debug)]
pub struct Ideal {
    /// By the way that it took.
    pub own: Duration,
    /// By the fastest of the shortest ways, or by its own if that is faster.
    pub fastest: Duration,
    /// The nodes between its ends.
    pub via: Vec<u32>,
}

impl IdealFct {
    pub fn new(runner: &Runner) -> Self {
        let nodes = &runner.topology.nodes;
        let switch_delay: Vec<Duration> = nodes.iter().map(|n| runner.settings.delay(n)).collect();
        let forwards = |n: u32| nodes[index(n)].forwards;
        let mut inner = runner.topology.links.iter().filter(|l| forwards(l.a) && forwards(l.b)).map(|l| (l.link.rate, l.link.delay));
        let mut delays = (0..nodes.len()).filter(|n| nodes[*n].forwards).map(|n| switch_delay[n]);
        let locals = runner.settings.locals.list();
        let cut = |n: usize, port: PortId| runner.settings.cut_through(number(n), port, &nodes[n]).map(|cut| cut.header.0);
        let headers = if locals.iter().any(|local| local.cut_through.is_some()) {
            runner.ports.iter().enumerate().map(|(n, ports)| PortId::all(ports.len()).map(|port| cut(n, port)).collect()).collect()
        } else {
            Vec::new()
        };
        let is_uniform = locals.iter().all(|local| local.cut_through == locals[0].cut_through)
            && inner.next().is_none_or(|first| inner.all(|other| other == first))
            && delays.next().is_none_or(|first| delays.all(|other| other == first))
            // A host with ports of its own choice may have several that differ.
            && runner.ports.iter().zip(nodes).all(|(ports, n)| n.forwards || ports.iter().all(|p| p.link == ports[0].link));
        let is_routed = runner.scenario().switch.mechanisms().any(|p| p.routes);
        let overtake = is_routed || runner.scenario().switch.mechanisms().any(|p| p.reorders);
        let framing = runner.settings.framing;
        Self { framing, switch_delay, headers, routing: Arc::default(), is_routed, overtake, is_uniform, known: HashMap::new() }
    }

    /// For a flow whose probe packet is bound for its destination on its own path, and that left `src` by a port.
    pub fn of(&mut self, ports: &[Vec<PortSpec>], src: u32, port: PortId, probe: Packet, size: u64) -> Ideal {
        let (own, via) = self.walk(ports, src, port, probe);
        let time = self.time(&own, size);
        if self.is_uniform {
            return Ideal { own: time, fastest: time, via };
        }
        let dst = probe.dst();
        // Hosts with one link share the ways between their switches.
        let root = |n: u32| if ports[index(n)].len() == 1 { ports[index(n)][0].peer } else { n };
        let (from, to) = (root(src), root(dst));
        let ways = match self.known.get(&(from, to)) {
            Some(ways) => ways.clone(),
            None => {
                let ways = Rc::new(self.ways(ports, from, to, probe));
                self.known.insert((from, to), ways.clone());
                ways
            }
        };
        let fastest = ways.iter().map(|between| {
            let mut way = Vec::with_capacity(between.len() + 2);
            if from != src {
                way.push(self.leg(&ports[index(src)][0], dst));
            }
            way.extend_from_slice(between);
            if to != dst {
                let back = ports[index(dst)][0].peer_port;
                way.push(self.leg(&ports[index(to)][back], dst));
            }
            self.time(&way, size)
        });
        let fastest = fastest.fold(time, Duration::min);
        Ideal { own: if self.is_routed { fastest } else { time }, fastest, via }
    }

    fn leg(&self, port: &PortSpec, dst: u32) -> Hop {
        let behind = if port.peer == dst { Duration::ZERO } else { self.switch_delay[index(port.peer)] };
        let header = self.headers.get(index(port.peer)).and_then(|inputs| inputs[port.peer_port]);
        Hop { rate: port.link.rate, delay: port.link.delay + behind, header, parallel: 1 }
    }

    /// The same of a port of a node among others, by each of which packets may go on that came side by side: as many as that makes at
    /// most, and no more than there are links into the destination.
    fn leg_among(&self, ports: &[Vec<PortSpec>], (node, out): (u32, PortId), choices: &[PortId], before: Option<&Hop>, dst: u32) -> Hop {
        let own = &ports[index(node)];
        let leg = self.leg(&own[out.index()], dst);
        if !self.is_routed {
            return leg;
        }
        let all: u64 = choices.iter().map(|choice| own[choice.index()].link.rate.0).sum();
        let parallel = all.div_ceil(leg.rate.0.max(1)).max(1).saturating_mul(before.map_or(1, |leg| leg.parallel));
        let into = if own[out.index()].peer == dst { ports[index(dst)].len() as u64 } else { u64::MAX };
        Hop { parallel: parallel.min(into), ..leg }
    }

    /// The way that a flow took: by which port it left its source is the host's choice, and from there on routes decide.
    fn walk(&self, ports: &[Vec<PortSpec>], src: u32, port: PortId, mut probe: Packet) -> (Way, Vec<u32>) {
        let (mut at, mut way, mut via) = (src, Way::new(), Vec::new());
        loop {
            let routes = &self.routing.routes[index(at)];
            let (out, choices) = if way.is_empty() { (port, &[][..]) } else { (routes.port(&probe), routes.choices(probe.dst())) };
            let port = &ports[index(at)][out];
            way.push(self.leg_among(ports, (at, out), choices, way.last(), probe.dst()));
            probe.hop();
            at = port.peer;
            if at == probe.dst() || way.len() > 250 {
                return (way, via);
            }
            via.push(at);
        }
    }

    /// The shortest ways between two nodes, node by node.
    fn ways(&self, ports: &[Vec<PortSpec>], from: u32, to: u32, mut probe: Packet) -> Vec<Way> {
        probe.set_path(0);
        let mut front: BTreeMap<u32, Vec<Way>> = BTreeMap::from([(from, vec![Way::new()])]);
        for _ in 0..250 {
            if front.contains_key(&to) {
                break;
            }
            let mut next: BTreeMap<u32, Vec<Way>> = BTreeMap::new();
            for (at, ways) in front {
                let routes = &self.routing.routes[index(at)];
                let choices = routes.choices(probe.dst());
                let only = [if choices.is_empty() { routes.port(&probe) } else { PortId(0) }];
                for out in if choices.is_empty() { &only } else { choices } {
                    let port = &ports[index(at)][*out];
                    let there = next.entry(port.peer).or_default();
                    for way in &ways {
                        let leg = self.leg_among(ports, (at, *out), choices, way.last(), probe.dst());
                        add(there, way.iter().copied().chain([leg]).collect());
                    }
                }
            }
            front = next;
        }
        front.remove(&to).unwrap_or_default()
    }

    /// The time that a flow alone takes to its last byte. Full packets follow one another at the pace of the slowest link so far;
    /// the last one, which may be shorter, follows them at some link and goes on alone: the link where that takes longest decides.
    /// A packet is on the next link when its head is in, which at nodes that store it is all of it.
    fn time(&self, way: &[Hop], size: u64) -> Duration {
        let packets = self.framing.packets(size);
        let full = u64::from(self.framing.wire(size, 0));
        let last = u64::from(self.framing.wire(size, packets as u32 - 1));
        let latency: Duration = way.iter().fold(Duration::ZERO, |sum, leg| sum + leg.delay);
        let heads = |bytes: u64| -> Vec<u64> { (0..way.len()).map(|n| head(way, n, bytes)).collect() };
        let (of_full, of_last) = (heads(full), heads(last));
        if packets == 1 {
            return latency + Duration(of_last.iter().sum());
        }
        if self.overtake {
            return latency + Duration(least_of_overtaking(way, packets, [full, last], [&of_full, &of_last]));
        }
        let mut lasts: u64 = of_last.iter().sum();
        let (mut first, mut slowest, mut longest) = (0, 0, 0);
        for (n, leg) in way.iter().enumerate() {
            let time = leg.rate.time(full).ps();
            slowest = slowest.max(time);
            longest = longest.max(first + time + (packets - 2) * slowest + lasts);
            first += of_full[n];
            lasts -= of_last[n];
        }
        latency + Duration(longest)
    }
}

/// From the start of a frame on a link of a way until it may start on the next: its head is in, or, at its end, all of it.
fn head(way: &[Hop], n: usize, bytes: u64) -> u64 {
    match (way[n].header, way.get(n + 1)) {
        (Some(header), Some(next)) => cut_through::head(header, bytes, way[n].rate.serializer(), next.rate.serializer()).ps(),
        _ => way[n].rate.time(bytes).ps(),
    }
}

/// A lower bound on the time, without latency, of several packets that may overtake one another. Three bounds hold, and the greatest
/// is returned: the source sends the last packet after all others; the full packets take turns at each link, or at the links side by
/// side; and a link that all packets take is busy with all of them from the first to come, whichever of them is the last to go.
fn least_of_overtaking(way: &[Hop], packets: u64, [full, last]: [u64; 2], [of_full, of_last]: [&[u64]; 2]) -> u64 {
    let whole: u64 = of_full.iter().sum();
    let sent = (packets - 1) * way[0].rate.time(full).ps();
    let mut longest = sent + of_last.iter().sum::<u64>();
    let (mut full_comes, mut last_comes) = (0, sent);
    for (n, leg) in way.iter().enumerate() {
        let time = leg.rate.time(full).ps();
        let turns = (packets - 1).div_ceil(leg.parallel);
        longest = longest.max(whole + (turns - 1) * time);
        if n > 0 && leg.parallel == 1 {
            let of_first = full_comes.min(last_comes);
            let last_goes = of_first + (packets - 1) * time + of_last[n..].iter().sum::<u64>();
            let full_goes = of_first + (packets - 2) * time + leg.rate.time(last).ps() + of_full[n..].iter().sum::<u64>();
            longest = longest.max(last_goes.min(full_goes));
        }
        full_comes += of_full[n];
        last_comes += of_last[n];
    }
    longest
}

/// Adds a way, unless another is as good on every link; leaves out those that it beats.
fn add(ways: &mut Vec<Way>, way: Way) {
    let beats = |a: &Way, b: &Way| a.iter().zip(b).all(|(a, b)| a.is_as_good_as(b));
    if !ways.iter().any(|known| beats(known, &way)) {
        ways.retain(|known| !beats(&way, known));
        ways.push(way);
    }
}
