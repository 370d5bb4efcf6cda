//! Ideal FCT: the completion time of a flow alone in the network, on the path taken, and on the fastest of
//! the shortest paths. A flow with a choice of ports at its host uses all of them ([`stripes`]).

mod stripes;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_models::frames::framing::Framing;
use xoff_models::frames::packet::Packet;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::routing::{Map, Paths};
use xoff_models::paths::topology::PortSpec;
use xoff_models::ports::cut_through;
use xoff_units::{Duration, Rate, index, number};

use self::stripes::{Flow, Stripe, Way};
use crate::runner::Runner;

/// A link of a path, with the delay to the next link: propagation, plus the node delay except at the last
/// node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Hop {
    rate: Rate,
    delay: Duration,
    /// For a cut-through node: the bytes after which the route of a frame is known.
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
        self.rate == other.rate
            && self.delay <= other.delay
            && self.header.is_some_and(|own| other.header.is_none_or(|h| own <= h))
    }
}

/// Most known times; further times are computed again.
const MOST_TIMES: usize = 1 << 20;

/// Ways as a tree: a way is a shorter way with one more hop. Hops are few, for any number of pairs of hosts.
#[derive(Debug)]
struct Ways {
    /// For each way the way without the last hop, and the last hop; none for the way without a hop.
    list: Vec<Option<(Way, Hop)>>,
    longer: FxHashMap<(Way, Hop), Way>,
    /// True for pairs of ways of which the first is as good on every hop.
    beats: FxHashMap<(Way, Way), bool>,
}

impl Ways {
    /// The way without a hop.
    const START: Way = 0;

    fn new() -> Self {
        Self { list: vec![None], longer: FxHashMap::default(), beats: FxHashMap::default() }
    }

    /// Returns a way with one more hop.
    fn and(&mut self, way: Way, hop: Hop) -> Way {
        let next = number(self.list.len());
        let found = *self.longer.entry((way, hop)).or_insert(next);
        if found == next {
            self.list.push(Some((way, hop)));
        }
        found
    }

    fn last(&self, way: Way) -> Option<&Hop> {
        self.list[index(way)].as_ref().map(|(_, hop)| hop)
    }

    /// Returns the hops of a way.
    fn hops(&self, mut way: Way) -> Vec<Hop> {
        let mut found = Vec::new();
        while let Some((before, hop)) = self.list[index(way)] {
            found.push(hop);
            way = before;
        }
        found.reverse();
        found
    }

    /// True if a way is as good on every hop as another way with as many hops.
    fn beats(&mut self, one: Way, other: Way) -> bool {
        if one == other {
            return true;
        }
        if let Some(known) = self.beats.get(&(one, other)) {
            return *known;
        }
        let (ones, others) = (self.hops(one), self.hops(other));
        let found = ones.iter().zip(&others).all(|(one, other)| one.is_as_good_as(other));
        self.beats.insert((one, other), found);
        found
    }

    /// Adds a way unless another way is as good on every hop, and removes ways that are worse on every hop.
    fn add(&mut self, ways: &mut Vec<Way>, way: Way) {
        if !ways.iter().any(|known| self.beats(*known, way)) {
            ways.retain(|known| !self.beats(way, *known));
            ways.push(way);
        }
    }
}

/// Ideal FCTs.
#[derive(Debug)]
pub struct IdealFct {
    framing: Framing,
    switch_delay: Vec<Duration>,
    /// Header size of each cut-through input, by node and port; empty without cut-through.
    headers: Vec<Vec<Option<u64>>>,
    /// Routes at the start of the run. Reroutes do not change ideal times.
    pub routing: Arc<Map>,
    /// Packets of a flow may take all shortest ways at once, as a mechanism chooses for each.
    is_routed: bool,
    /// Packets of a flow may arrive out of order.
    overtake: bool,
    /// All links between forwarding nodes are equal, and shortest paths between two hosts have equal times.
    is_uniform: bool,
    ways: Ways,
    /// Times by way and payload.
    times: FxHashMap<(Way, u64), Duration>,
    /// For two roots of routes, and the only port if there is no choice, the number of the stripes.
    known: FxHashMap<(u32, u32, Option<PortId>), u32>,
    /// Lists of stripes with the shortest ways, without ways that are worse on every link than another way.
    sets: Vec<Arc<[Stripe]>>,
    numbers: FxHashMap<Arc<[Stripe]>, u32>,
}

/// Ideal times of a flow, and its path.
#[derive(Debug)]
pub struct Ideal {
    /// On the path taken.
    pub own: Duration,
    /// On the fastest of the shortest paths, or on the path taken if faster.
    pub fastest: Duration,
    /// Nodes between source and destination.
    pub via: Vec<u32>,
}

impl IdealFct {
    pub fn new(runner: &Runner) -> Self {
        let nodes = &runner.topology.nodes;
        let switch_delay: Vec<Duration> = nodes.iter().map(|n| runner.settings.delay(n)).collect();
        let forwards = |n: u32| nodes[index(n)].forwards;
        let mut inner = runner
            .topology
            .links
            .iter()
            .filter(|l| forwards(l.a) && forwards(l.b))
            .map(|l| (l.link.rate, l.link.delay));
        let mut delays = (0..nodes.len()).filter(|n| nodes[*n].forwards).map(|n| switch_delay[n]);
        let locals = runner.settings.locals.list();
        let cut = |n: usize, port: PortId| {
            runner.settings.cut_through(number(n), port, &nodes[n]).map(|cut| cut.header.0)
        };
        let headers = if locals.iter().any(|local| local.cut_through.is_some()) {
            runner
                .ports
                .iter()
                .enumerate()
                .map(|(n, ports)| PortId::all(ports.len()).map(|port| cut(n, port)).collect())
                .collect()
        } else {
            Vec::new()
        };
        let is_uniform = locals.iter().all(|local| local.cut_through == locals[0].cut_through)
            && inner.next().is_none_or(|first| inner.all(|other| other == first))
            && delays.next().is_none_or(|first| delays.all(|other| other == first))
            // A host with several ports may have links that differ.
            && runner.ports.iter().zip(nodes).all(|(ports, n)| n.forwards || ports.iter().all(|p| p.link == ports[0].link));
        let is_routed = runner.scenario().switch.mechanisms().any(|p| p.routes);
        let overtake = is_routed || runner.scenario().switch.mechanisms().any(|p| p.reorders);
        let framing = runner.settings.framing;
        Self {
            framing,
            switch_delay,
            headers,
            routing: Arc::default(),
            is_routed,
            overtake,
            is_uniform,
            ways: Ways::new(),
            times: FxHashMap::default(),
            known: FxHashMap::default(),
            sets: Vec::new(),
            numbers: FxHashMap::default(),
        }
    }

    /// Returns the ideal times of a flow whose probe packet left `src` by a port toward its destination.
    pub fn of(&mut self, ports: &[Vec<PortSpec>], src: u32, port: PortId, probe: Packet, size: u64) -> Ideal {
        let mut via = Vec::new();
        let way = self.walk(ports, src, port, probe, Some(&mut via));
        let time = self.taken(ports, (src, port), probe, way, size);
        if self.is_uniform {
            return Ideal { own: time, fastest: time, via };
        }
        let fastest = self.fastest(ports, (src, port), probe, size).min(time);
        Ideal { own: if self.is_routed { fastest } else { time }, fastest, via }
    }

    /// Returns the ideal time of a flow on the path taken.
    pub fn own(
        &mut self,
        ports: &[Vec<PortSpec>],
        src: u32,
        port: PortId,
        probe: Packet,
        size: u64,
    ) -> Duration {
        let way = self.walk(ports, src, port, probe, None);
        let time = self.taken(ports, (src, port), probe, way, size);
        if self.is_routed && !self.is_uniform {
            return self.fastest(ports, (src, port), probe, size).min(time);
        }
        time
    }

    /// Returns the ports by which a flow may leave its source: several on shortest paths, or none if routing pins the flow
    /// to a port.
    fn choices(routing: &Map, src: u32, probe: Packet) -> &[PortId] {
        let choices = routing.routes[index(src)].choices(probe.dst());
        if probe.path() < Paths::FIRST && choices.len() > 1 { choices } else { &[] }
    }

    /// Returns the time on the path taken: from each port that the flow may use, the path that routing picks.
    fn taken(
        &mut self,
        ports: &[Vec<PortSpec>],
        (src, port): (u32, PortId),
        probe: Packet,
        own: Way,
        size: u64,
    ) -> Duration {
        let routing = self.routing.clone();
        let choices = Self::choices(&routing, src, probe);
        if choices.is_empty() {
            return self.time_of(own, size);
        }
        let mut stripes = Vec::new();
        for choice in choices {
            let way = if *choice == port { own } else { self.walk(ports, src, *choice, probe, None) };
            stripes::add(&mut stripes, [way].into());
        }
        let into = Self::ports_into(ports, &routing, src, probe.dst());
        self.striped(&stripes, into, size)
    }

    /// Returns the number of ports by which packets of a source may reach a destination, as ports of the fastest rate.
    fn ports_into(ports: &[Vec<PortSpec>], routing: &Map, src: u32, dst: u32) -> u64 {
        let rates = || {
            let own = &ports[index(dst)];
            routing.routes[index(dst)].choices(src).iter().map(|port| own[*port].link.rate.0)
        };
        rates().max().map_or(1, |fastest| rates().sum::<u64>().div_ceil(fastest.max(1)))
    }

    /// Returns the time on the fastest of the shortest paths.
    fn fastest(
        &mut self,
        ports: &[Vec<PortSpec>],
        (src, port): (u32, PortId),
        probe: Packet,
        size: u64,
    ) -> Duration {
        let dst = probe.dst();
        // Hosts with one link share the paths between their switches.
        let root = |n: u32| if ports[index(n)].len() == 1 { ports[index(n)][0].peer } else { n };
        let (from, to) = (root(src), root(dst));
        let routing = self.routing.clone();
        let choices = Self::choices(&routing, src, probe);
        let only = (from == src && choices.is_empty()).then_some(port);
        let set = match self.known.get(&(from, to, only)) {
            Some(set) => *set,
            None => {
                let mut stripes = Vec::new();
                if from != src {
                    stripes::add(&mut stripes, self.between(ports, (from, Ways::START), to, probe));
                }
                for out in only.iter().chain(choices) {
                    let first = &ports[index(src)][*out];
                    let way = self.ways.and(Ways::START, self.leg(first, dst));
                    stripes::add(&mut stripes, self.between(ports, (first.peer, way), to, probe));
                }
                let stripes: Arc<[Stripe]> = stripes.into();
                let next = number(self.sets.len());
                let set = *self.numbers.entry(stripes.clone()).or_insert(next);
                if set == next {
                    self.sets.push(stripes);
                }
                self.known.insert((from, to, only), set);
                set
            }
        };
        let stripes = self.sets[index(set)].clone();
        let ends = (from != src).then(|| self.leg(&ports[index(src)][0], dst));
        let last = (to != dst).then(|| self.leg(&ports[index(to)][ports[index(dst)][0].peer_port], dst));
        if ends.is_none() && last.is_none() {
            return self.striped(&stripes, Self::ports_into(ports, &routing, src, dst), size);
        }
        let mut whole = Vec::with_capacity(stripes.len());
        for Stripe { count, ways } in stripes.iter() {
            let ways = ways.iter().map(|between| {
                let inner = self.ways.hops(*between);
                let hops = ends.into_iter().chain(inner).chain(last);
                hops.fold(Ways::START, |way, hop| self.ways.and(way, hop))
            });
            whole.push(Stripe { count: *count, ways: ways.collect() });
        }
        self.striped(&whole, Self::ports_into(ports, &routing, src, dst), size)
    }

    /// Returns the time of a flow over all ports of its host, into `into` ports of the destination.
    fn striped(&mut self, stripes: &[Stripe], into: u64, size: u64) -> Duration {
        let framing = self.framing;
        Flow { framing, size, time: |way, part| self.time_of(way, part) }.striped(stripes, into)
    }

    /// Returns the time of a flow on a way.
    fn time_of(&mut self, way: Way, size: u64) -> Duration {
        if let Some(time) = self.times.get(&(way, size)) {
            return *time;
        }
        let time = self.time(&self.ways.hops(way), size);
        if self.times.len() == MOST_TIMES {
            self.times.clear();
        }
        self.times.insert((way, size), time);
        time
    }

    fn leg(&self, port: &PortSpec, dst: u32) -> Hop {
        let behind = if port.peer == dst { Duration::ZERO } else { self.switch_delay[index(port.peer)] };
        let header = self.headers.get(index(port.peer)).and_then(|inputs| inputs[port.peer_port]);
        Hop { rate: port.link.rate, delay: port.link.delay + behind, header, parallel: 1 }
    }

    /// Returns the hop of a port of a node with several possible next ports, for packets that arrived in
    /// parallel: at most the number of these packets, and at most the number of links into the destination.
    fn leg_among(
        &self,
        ports: &[Vec<PortSpec>],
        (node, out): (u32, PortId),
        choices: &[PortId],
        before: Option<&Hop>,
        dst: u32,
    ) -> Hop {
        let own = &ports[index(node)];
        let leg = self.leg(&own[out.index()], dst);
        if !self.is_routed {
            return leg;
        }
        let all: u64 = choices.iter().map(|choice| own[choice.index()].link.rate.0).sum();
        let parallel =
            all.div_ceil(leg.rate.0.max(1)).max(1).saturating_mul(before.map_or(1, |leg| leg.parallel));
        let into = if own[out.index()].peer == dst { ports[index(dst)].len() as u64 } else { u64::MAX };
        Hop { parallel: parallel.min(into), ..leg }
    }

    /// Returns the path of a flow, and adds the nodes between its ends to a list. The host chose the first port; from the
    /// next node on, routes decide.
    fn walk(
        &mut self,
        ports: &[Vec<PortSpec>],
        src: u32,
        port: PortId,
        mut probe: Packet,
        mut via: Option<&mut Vec<u32>>,
    ) -> Way {
        let routing = self.routing.clone();
        let (mut at, mut way, mut out, mut choices) = (src, Ways::START, port, &[][..]);
        for _ in 0..250 {
            let port = &ports[index(at)][out];
            let hop = self.leg_among(ports, (at, out), choices, self.ways.last(way), probe.dst());
            way = self.ways.and(way, hop);
            probe.hop();
            at = port.peer;
            if at == probe.dst() {
                break;
            }
            if let Some(via) = &mut via {
                via.push(at);
            }
            let routes = &routing.routes[index(at)];
            (out, choices) = (routes.port(&probe), routes.choices(probe.dst()));
        }
        way
    }

    /// The shortest ways from a node, which a way leads to, to another node, node by node.
    fn between(
        &mut self,
        ports: &[Vec<PortSpec>],
        (from, way): (u32, Way),
        to: u32,
        mut probe: Packet,
    ) -> Arc<[Way]> {
        probe.set_path(0);
        let routing = self.routing.clone();
        let mut front: BTreeMap<u32, Vec<Way>> = BTreeMap::from([(from, vec![way])]);
        for _ in 0..250 {
            if front.contains_key(&to) {
                break;
            }
            let mut next: BTreeMap<u32, Vec<Way>> = BTreeMap::new();
            for (at, ways) in front {
                let routes = &routing.routes[index(at)];
                let choices = routes.choices(probe.dst());
                let only = [if choices.is_empty() { routes.port(&probe) } else { PortId(0) }];
                for out in if choices.is_empty() { &only } else { choices } {
                    let port = &ports[index(at)][*out];
                    let there = next.entry(port.peer).or_default();
                    for way in &ways {
                        let hop =
                            self.leg_among(ports, (at, *out), choices, self.ways.last(*way), probe.dst());
                        let way = self.ways.and(*way, hop);
                        self.ways.add(there, way);
                    }
                }
            }
            front = next;
        }
        front.remove(&to).unwrap_or_default().into()
    }

    /// Returns the time of a flow alone in the network, to the last byte. Full packets follow one another at
    /// the rate of the slowest link so far. The last packet, which may be shorter, follows the full packets
    /// up to some link and continues alone; the link with the largest total decides. A packet is on the next
    /// link once its head has arrived, or the whole packet at a store-and-forward node.
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

/// Returns the time from the start of a frame on a link until its earliest start on the next link: arrival of
/// the head, or of the whole frame at the end.
fn head(way: &[Hop], n: usize, bytes: u64) -> u64 {
    match (way[n].header, way.get(n + 1)) {
        (Some(header), Some(next)) => {
            cut_through::head(header, bytes, way[n].rate.serializer(), next.rate.serializer()).ps()
        }
        _ => way[n].rate.time(bytes).ps(),
    }
}

/// Returns a lower bound, without latency, for several packets that may arrive out of order. The result is
/// the maximum of three bounds: the source sends the last packet after all others; full packets take turns at
/// each link or parallel links; and a link of all packets is busy with all packets from the first arrival on,
/// with any packet last.
fn least_of_overtaking(
    way: &[Hop],
    packets: u64,
    [full, last]: [u64; 2],
    [of_full, of_last]: [&[u64]; 2],
) -> u64 {
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
            let full_goes =
                of_first + (packets - 2) * time + leg.rate.time(last).ps() + of_full[n..].iter().sum::<u64>();
            longest = longest.max(last_goes.min(full_goes));
        }
        full_comes += of_full[n];
        last_comes += of_last[n];
    }
    longest
}
