//! Building an engine from nodes and links, and what a run reports.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use xoff_units::Time;

use crate::calendar::MAX_PORTS;
use crate::context::fold;
use crate::crew;
use crate::partition::{Partition, Route};
use crate::{END_OF_TIME, Node};

/// A one-way link from an output of one node to an in-link of another.
#[derive(Debug, Clone, Copy)]
pub struct LinkSpec {
    /// The sending node and its output; the outputs of a node are numbered from zero without gaps.
    pub from: (u32, u32),
    /// The receiving node and its in-link, numbered likewise.
    pub to: (u32, u32),
    /// The least time between sending and arrival: propagation plus the smallest frame.
    pub lookahead: Time,
}

/// How to run; but for [`Plan::until`] nothing here may change a result.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Threads to use; never more than there are cores.
    pub threads: usize,
    /// Partitions of the nodes; one per thread when not given.
    pub partitions: Option<usize>,
    /// Window length; the smallest lookahead when not given, which is also the largest allowed.
    pub window: Option<Time>,
    /// Whether nodes joined by short links run windows of their own.
    pub clusters: bool,
    /// Simulated time between checkpoints.
    pub checkpoint: Time,
    /// The run ends here: events at this moment are the last. It is the one entry that says what to simulate, and not how.
    pub until: Time,
    /// Below this many events a window one thread runs and the others sleep.
    pub solo_below: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self { threads: 1, partitions: None, window: None, clusters: true, checkpoint: Time::us(10), until: Time::NEVER, solo_below: 100 }
    }
}

/// Why a network cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError(pub String);

impl std::fmt::Display for PlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

/// What the engine did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Windows run.
    pub windows: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// Nothing is pending.
    Idle,
    /// [`Plan::until`] has come.
    Ended,
    /// A checkpoint stopped it.
    Stopped,
}

/// All nodes at one moment between windows.
pub struct Checkpoint<'a, N: Node> {
    /// A multiple of the checkpoint interval, or the end of the run: every event before it is done.
    pub now: Time,
    /// Totals so far.
    pub statistics: Statistics,
    partitions: Vec<MutexGuard<'a, Partition<N>>>,
    places: &'a [(u16, u32)],
}

impl<N: Node> Checkpoint<'_, N> {
    /// The node with this number.
    pub fn node(&self, id: u32) -> &N {
        let (partition, seat) = self.places[id as usize];
        &self.partitions[partition as usize].seats[seat as usize].node
    }

    /// The node with this number, to drain what it recorded.
    pub fn node_mut(&mut self, id: u32) -> &mut N {
        let (partition, seat) = self.places[id as usize];
        &mut self.partitions[partition as usize].seats[seat as usize].node
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.places.len() as u32
    }
}

/// Nodes, links and a plan, ready to run.
pub struct Engine<N: Node> {
    pub(crate) partitions: Vec<Mutex<Partition<N>>>,
    places: Vec<(u16, u32)>,
    pub(crate) window: Time,
    pub(crate) plan: Plan,
    pub(crate) statistics: Statistics,
    started: bool,
}

impl<N: Node> Engine<N> {
    /// Places `nodes` into partitions. `groups` names for each node the node it should lie beside in memory (its leaf, or itself).
    pub fn new(nodes: Vec<N>, groups: &[u32], links: &[LinkSpec], plan: Plan) -> Result<Self, PlanError> {
        assert_eq!(nodes.len(), groups.len(), "one group per node");
        let mut degree = vec![(0_usize, 0_usize); nodes.len()];
        for link in links {
            degree[link.from.0 as usize].0 += 1;
            degree[link.to.0 as usize].1 += 1;
            if link.lookahead == Time::ZERO {
                return Err(PlanError("a link has neither length nor a smallest frame, so nothing bounds when its frames arrive".into()));
            }
        }
        if let Some(widest) = degree.iter().map(|d| d.0.max(d.1)).max()
            && widest > MAX_PORTS
        {
            return Err(PlanError(format!("a node has {widest} ports; at most {MAX_PORTS} are possible")));
        }
        let threads = plan.threads.clamp(1, std::thread::available_parallelism().map_or(1, usize::from));
        let parts = plan.partitions.unwrap_or(threads).clamp(1, nodes.len().clamp(1, usize::from(u16::MAX)));

        let bound = if plan.clusters { cluster_bound(nodes.len(), links, parts) } else { Time::ZERO };
        let mut sets = Sets::new(nodes.len());
        for link in links.iter().filter(|l| l.lookahead < bound) {
            sets.join(link.from.0, link.to.0);
        }
        let cluster: Vec<u32> = (0..nodes.len() as u32).map(|n| sets.root(n)).collect();
        for (node, group) in groups.iter().enumerate() {
            sets.join(node as u32, *group);
        }
        let unit: Vec<u32> = (0..nodes.len() as u32).map(|n| sets.root(n)).collect();
        let partition_of = assign(&unit, &degree, parts);

        let mut outer = END_OF_TIME;
        let mut inner = vec![Time::NEVER; nodes.len()];
        for link in links {
            let (a, b) = (cluster[link.from.0 as usize], cluster[link.to.0 as usize]);
            if a == b && bound > Time::ZERO {
                inner[a as usize] = inner[a as usize].min(link.lookahead);
            } else {
                outer = outer.min(link.lookahead);
            }
        }
        // A window shorter than the lookahead is right as well; a longer one is not.
        let window = plan.window.map_or(outer, |w| w.clamp(Time(1), outer));
        let shorter = |l: Time| if l < window { plan.window.map_or(l, |w| l.min(w)) } else { Time::NEVER };

        let mut order: Vec<usize> = (0..nodes.len()).collect();
        // Hosts lie before the switch they hang on, since a lower number in a unit is a host's.
        order.sort_by_key(|&n| (partition_of[n], unit[n], cluster[n], groups[n], n));
        let mut partitions: Vec<Partition<N>> = (0..parts).map(|_| Partition::new(parts)).collect();
        let mut places = vec![(0_u16, 0_u32); nodes.len()];
        let mut waiting: Vec<Option<N>> = nodes.into_iter().map(Some).collect();
        // Nodes in clusters of their own share one range without inner windows.
        let range_of = |n: usize| if shorter(inner[cluster[n] as usize]) == Time::NEVER { u32::MAX } else { cluster[n] };
        for run in order.chunk_by(|a, b| partition_of[*a] == partition_of[*b] && range_of(*a) == range_of(*b)) {
            let partition = &mut partitions[partition_of[run[0]]];
            let first = partition.seats.len();
            for &n in run {
                let Some(node) = waiting[n].take() else { unreachable!("each node is placed once") };
                let seat = partition.add_node(n as u32, node, degree[n].1, degree[n].0);
                places[n] = (partition_of[n] as u16, seat);
            }
            partition.add_cluster(first..first + run.len(), shorter(inner[cluster[run[0]] as usize]));
        }

        // In-links by (node, slot) and outputs by (node, output), so that indices are the model's.
        let mut by_receiver: Vec<usize> = (0..links.len()).collect();
        by_receiver.sort_by_key(|&l| links[l].to);
        let mut index = vec![0; links.len()];
        for l in by_receiver {
            let (p, seat) = places[links[l].to.0 as usize];
            index[l] = partitions[p as usize].add_in_link(seat);
        }
        let mut by_sender: Vec<usize> = (0..links.len()).collect();
        by_sender.sort_by_key(|&l| links[l].from);
        for l in by_sender {
            let (from, to) = (links[l].from.0 as usize, links[l].to.0 as usize);
            let (p, seat) = places[from];
            let same_cluster = cluster[from] == cluster[to] && bound > Time::ZERO;
            let route = Route { link: index[l], partition: places[to].0, local: places[to].0 == p, same_cluster };
            partitions[p as usize].add_output(seat, route);
        }
        let plan = Plan { threads: threads.min(parts), ..plan };
        Ok(Self {
            partitions: partitions.into_iter().map(Mutex::new).collect(),
            places,
            window,
            plan,
            statistics: Statistics::default(),
            started: false,
        })
    }

    /// Runs until nothing is pending or `on_checkpoint` breaks. Checkpoints lie on the grid of [`Plan::checkpoint`]; those before
    /// which nothing happened are skipped.
    pub fn run(&mut self, mut on_checkpoint: impl FnMut(&mut Checkpoint<'_, N>) -> ControlFlow<()>) -> Finish {
        if !self.started {
            self.started = true;
            for partition in &mut self.partitions {
                partition.get_mut().unwrap_or_else(PoisonError::into_inner).start();
            }
        }
        crew::run(self, &mut on_checkpoint)
    }

    /// Everything between windows, at `now`.
    pub fn checkpoint(&self, now: Time) -> Checkpoint<'_, N> {
        self.checkpoint_of(&self.partitions, now)
    }

    pub(crate) fn checkpoint_of<'a>(&'a self, partitions: &'a [Mutex<Partition<N>>], now: Time) -> Checkpoint<'a, N> {
        let partitions = partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        Checkpoint { now, statistics: self.statistics, partitions, places: &self.places }
    }

    /// A hash over every node's events, combined in node order.
    pub fn fingerprint(&self) -> u64 {
        let all = self.checkpoint(Time::ZERO);
        self.places.iter().fold(0, |hash, (p, s)| fold(hash, all.partitions[*p as usize].seats[*s as usize].fingerprint))
    }

    /// Calls `f` for each message still on a link.
    pub fn for_each_under_way(&self, mut f: impl FnMut(&N::Message)) {
        for partition in &self.checkpoint(Time::ZERO).partitions {
            partition.under_way().for_each(&mut f);
        }
    }

    /// Totals so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The window length in use.
    pub fn window(&self) -> Time {
        self.window
    }

    /// The nodes in their order, when the run is over.
    pub fn into_nodes(self) -> Vec<N> {
        let mut seats: Vec<_> =
            self.partitions.into_iter().flat_map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner).seats).collect();
        seats.sort_by_key(|s| s.id);
        seats.into_iter().map(|s| s.node).collect()
    }
}

/// The lookahead below which links join their ends into a cluster: the widest gap, of at least 2, between link lengths that
/// leaves four clusters a partition. Zero when there is none.
fn cluster_bound(nodes: usize, links: &[LinkSpec], parts: usize) -> Time {
    let mut lengths: Vec<Time> = links.iter().map(|l| l.lookahead).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut best = (2.0, Time::ZERO);
    for pair in lengths.windows(2) {
        let ratio = pair[1].0 as f64 / pair[0].0 as f64;
        if ratio < best.0 {
            continue;
        }
        let mut sets = Sets::new(nodes);
        let joined = links.iter().filter(|l| l.lookahead < pair[1]).filter(|l| sets.join(l.from.0, l.to.0)).count();
        if nodes - joined >= 4 * parts {
            best = (ratio, pair[1]);
        }
    }
    best.1
}

/// Whole units to partitions: units of one weight are cut into contiguous runs, so that leaves and spines are each shared evenly.
fn assign(unit: &[u32], degree: &[(usize, usize)], parts: usize) -> Vec<usize> {
    let mut weight = vec![0_usize; unit.len()];
    for (n, u) in unit.iter().enumerate() {
        weight[*u as usize] += degree[n].0;
    }
    let mut units: Vec<u32> = unit.to_vec();
    units.sort_unstable();
    units.dedup();
    units.sort_by_key(|u| (std::cmp::Reverse(weight[*u as usize]), *u));
    let mut of_unit = vec![0_usize; unit.len()];
    let mut load = vec![0_usize; parts];
    for run in units.chunk_by(|a, b| weight[*a as usize] == weight[*b as usize]) {
        let mut chunks: Vec<&[u32]> = (0..parts).map(|p| &run[run.len() * p / parts..run.len() * (p + 1) / parts]).collect();
        chunks.sort_by_key(|c| std::cmp::Reverse(c.len()));
        let mut lightest: Vec<usize> = (0..parts).collect();
        lightest.sort_by_key(|p| (load[*p], *p));
        for (chunk, p) in chunks.into_iter().zip(lightest) {
            for u in chunk {
                of_unit[*u as usize] = p;
                load[p] += weight[*u as usize];
            }
        }
    }
    unit.iter().map(|u| of_unit[*u as usize]).collect()
}

/// Disjoint sets; the root is the smallest member, so that results do not depend on the order of joining.
struct Sets(Vec<u32>);

impl Sets {
    fn new(n: usize) -> Self {
        Self((0..n as u32).collect())
    }

    fn root(&mut self, mut n: u32) -> u32 {
        while self.0[n as usize] != n {
            self.0[n as usize] = self.0[self.0[n as usize] as usize];
            n = self.0[n as usize];
        }
        n
    }

    fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a != b
    }
}
