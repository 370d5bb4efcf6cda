//! An engine between windows: what it is made of, how it is to run, and what it reports.

use std::sync::{Mutex, MutexGuard, PoisonError};

use xoff_units::{Duration, Moment};

use crate::fingerprint::Fingerprint;
use crate::partition::{Kept, Partition};
use crate::random::fold;
use crate::state::{State, Walk};
use crate::{Message, Node};

/// How to run; but for [`Plan::until`] nothing here may change a result.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Threads to use; never more than there are cores.
    pub threads: usize,
    /// Partitions of the nodes; one per thread when not given.
    pub partitions: Option<usize>,
    /// Window length; the smallest lookahead when not given, which is also the largest allowed.
    pub window: Option<Duration>,
    /// Whether nodes joined by short links run windows of their own.
    pub clusters: bool,
    /// Simulated time between checkpoints.
    pub checkpoint: Duration,
    /// The run ends here: events at this moment are the last. It is the one entry that says what to simulate, and not how.
    pub until: Moment,
    /// Whether what repeats itself may be skipped, by whoever knows the nodes; the engine itself skips nothing.
    pub fast_forward: bool,
    /// Below this many events a window one thread runs and the others sleep. If it is zero, all of them always run; otherwise
    /// also one alone where more would take longer.
    pub solo_below: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            threads: 1,
            partitions: None,
            window: None,
            clusters: true,
            checkpoint: Duration::us(10),
            until: Moment::NEVER,
            fast_forward: true,
            solo_below: 100,
        }
    }
}

/// What the engine did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Those that one thread handled alone. It depends on the clock, unlike the others.
    pub events_alone: u64,
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
    /// A multiple of the checkpoint interval, a moment that was asked for, or the end of the run: every event before it is done.
    pub now: Moment,
    /// When to look again, if that is to be before the next multiple of the interval.
    pub next: Option<Moment>,
    /// Where it was called for: the nodes that did a window ago, and what for ([`crate::Context::mark`]); none if somebody else did, or if
    /// something has come to a node that rests.
    pub called: Option<Vec<(u32, u64)>>,
    /// Totals so far.
    pub statistics: Statistics,
    /// When there are to be others, beside the multiples of the interval.
    pub(crate) calls: Vec<Moment>,
    partitions: Vec<MutexGuard<'a, Partition<N>>>,
    places: &'a [(u16, u32)],
    clusters: &'a [u32],
}

impl<N: Node> Checkpoint<'_, N> {
    /// The node with this number.
    pub fn node(&self, id: u32) -> &N {
        let (partition, slot) = self.places[id as usize];
        &self.partitions[partition as usize].slots[slot as usize].node
    }

    /// The node with this number, to drain what it recorded.
    pub fn node_mut(&mut self, id: u32) -> &mut N {
        let (partition, slot) = self.places[id as usize];
        &mut self.partitions[partition as usize].slots[slot as usize].node
    }

    /// Whether no message is on a link.
    pub fn is_quiet(&self) -> bool {
        self.partitions.iter().all(|p| p.under_way().next().is_none())
    }

    /// Whether nothing is to come anywhere but reminders.
    pub fn is_at_rest(&self) -> bool {
        self.partitions.iter().all(|p| p.is_at_rest())
    }

    /// The fingerprint of a node, to be kept or to be put further.
    pub fn print_mut(&mut self, id: u32) -> &mut Fingerprint {
        let (partition, slot) = self.places[id as usize];
        &mut self.partitions[partition as usize].slots[slot as usize].fingerprint
    }

    /// Asks for another one at a moment, which is none of those at which all nodes are looked at. It comes before every event at that moment
    /// or later; if nodes were woken that are behind, when they are there too.
    pub fn call(&mut self, at: Moment) {
        self.calls.push(at);
    }

    /// Lets nodes rest that nothing will leave: none of their events takes place until they are woken. Nodes of a cluster rest together.
    /// When something reaches one of them there is a checkpoint at which they have to be woken.
    pub fn rest(&mut self, nodes: &[u32]) {
        for node in nodes {
            let (partition, slot) = self.places[*node as usize];
            self.partitions[partition as usize].rest(slot);
        }
    }

    /// When the first arrives of what was sent to these nodes since they rest.
    pub fn first_since_rest(&self, nodes: &[u32]) -> Moment {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places.map(|(partition, slot)| self.partitions[partition as usize].first_since_rest(slot)).fold(Moment::NEVER, Moment::min)
    }

    /// Lets nodes go on that rest. They are behind the others as long as they rested, less what they were shifted by meanwhile, and go
    /// on alone until they are where the others are.
    pub fn wake(&mut self, nodes: &[u32]) {
        for node in nodes {
            let (partition, slot) = self.places[*node as usize];
            self.partitions[partition as usize].wake(slot);
        }
    }

    /// Whether nothing is on its way to a node.
    pub fn is_quiet_at(&self, node: u32) -> bool {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].is_quiet(slot)
    }

    /// When something happens at a node next.
    pub fn first_at(&self, node: u32) -> Moment {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].first(slot)
    }

    /// Copies a node to which nothing is on its way.
    pub fn keep(&self, node: u32) -> Kept<N>
    where
        N: Clone,
    {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].keep(slot)
    }

    /// Puts such a copy in the place of a node to which nothing is on its way either, or which rests.
    pub fn put(&mut self, node: u32, kept: Kept<N>) {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].put(slot, kept);
    }

    /// Events that these nodes have handled.
    pub fn events_of(&self, nodes: &[u32]) -> u64 {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places.map(|(partition, slot)| self.partitions[partition as usize].slots[slot as usize].events).sum()
    }

    /// Nodes of one number are joined by links so short that they run windows of their own: they rest together.
    pub fn cluster(&self, node: u32) -> u32 {
        self.clusters[node as usize]
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.places.len() as u32
    }
}

impl<N: Node + State> Checkpoint<'_, N>
where
    N::Message: State,
    <N::Message as Message>::Side: State,
{
    /// Shows the state of all nodes, in their order, and of what is on its way to them.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        self.walk_some(0..self.nodes(), walk);
    }

    /// Shows the state of these nodes, in this order, and of what is on its way to them.
    pub fn walk_some(&mut self, nodes: impl IntoIterator<Item = u32>, walk: &mut Walk<'_>) {
        for node in nodes {
            let (partition, slot) = self.places[node as usize];
            walk.at_node(node);
            self.partitions[partition as usize].walk_seat(slot, walk);
        }
    }
}

/// Nodes, links and a plan, ready to run.
pub struct Engine<N: Node> {
    pub(crate) partitions: Vec<Mutex<Partition<N>>>,
    places: Vec<(u16, u32)>,
    clusters: Vec<u32>,
    pub(crate) window: Duration,
    pub(crate) plan: Plan,
    pub(crate) statistics: Statistics,
    started: bool,
}

impl<N: Node> Engine<N> {
    pub(crate) fn of(partitions: Vec<Partition<N>>, (places, clusters): (Vec<(u16, u32)>, Vec<u32>), window: Duration, plan: Plan) -> Self {
        let partitions = partitions.into_iter().map(Mutex::new).collect();
        Self { partitions, places, clusters, window, plan, statistics: Statistics::default(), started: false }
    }

    /// Lets all nodes say what they wait for, once.
    pub(crate) fn start(&mut self) {
        if !self.started {
            self.started = true;
            for partition in &mut self.partitions {
                partition.get_mut().unwrap_or_else(PoisonError::into_inner).start();
            }
        }
    }

    /// Everything between windows, at `now`.
    pub fn checkpoint(&self, now: Moment) -> Checkpoint<'_, N> {
        self.checkpoint_of(&self.partitions, now)
    }

    pub(crate) fn checkpoint_of<'a>(&'a self, partitions: &'a [Mutex<Partition<N>>], now: Moment) -> Checkpoint<'a, N> {
        let partitions = partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        Checkpoint {
            now,
            next: None,
            called: None,
            statistics: self.statistics,
            calls: Vec::new(),
            partitions,
            places: &self.places,
            clusters: &self.clusters,
        }
    }

    /// A hash over every node's events, combined in node order.
    pub fn fingerprint(&self) -> u64 {
        let all = self.checkpoint(Moment::ZERO);
        self.places.iter().fold(0, |hash, (p, s)| fold(hash, all.partitions[*p as usize].slots[*s as usize].fingerprint.value()))
    }

    /// Calls `f` for each message still on a link.
    pub fn for_each_under_way(&self, mut f: impl FnMut(&N::Message)) {
        for partition in &self.checkpoint(Moment::ZERO).partitions {
            partition.under_way().for_each(&mut f);
        }
    }

    /// Side records in use.
    pub fn sides(&self) -> usize {
        self.checkpoint(Moment::ZERO).partitions.iter().map(|p| p.channel.sides.len()).sum()
    }

    /// Totals so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The window length in use.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// The nodes in their order, when the run is over.
    pub fn into_nodes(self) -> Vec<N> {
        let mut slots: Vec<_> =
            self.partitions.into_iter().flat_map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner).slots).collect();
        slots.sort_by_key(|s| s.id);
        slots.into_iter().map(|s| s.node).collect()
    }
}
