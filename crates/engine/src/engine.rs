//! The engine between windows: its partitions, the plan of a run, checkpoints, and statistics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use xoff_units::{Duration, Moment};

use crate::fingerprint::Fingerprint;
use crate::partition::{Kept, Partition};
use crate::random::fold;
use crate::state::{State, StateVisitor};
use crate::{Message, Node};

/// Plan of a run. No field except [`Plan::until`] may change a result. The terms window, cluster, partition
/// and checkpoint are defined at the top of this crate.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Threads; never more than cores.
    pub threads: usize,
    /// Partitions of the nodes; default: one for each thread.
    pub partitions: Option<usize>,
    /// Window length; the smallest lookahead when not given, which is also the largest allowed.
    pub window: Option<Duration>,
    /// Runs clusters through inner windows; without clusters, the shortest link of the network limits every
    /// window.
    pub clusters: bool,
    /// Interval of regular checkpoints. They lie at multiples of the interval, counted from [`Engine::align`] (the
    /// *grid*). A multiple is skipped if no event follows before the next multiple. Example: with 10 us and events
    /// at 12 us and 37 us, checkpoints follow at 10 us and 30 us.
    pub checkpoint: Duration,
    /// End of the run: events at this moment are the last. The only field that belongs to the simulated
    /// system.
    pub until: Moment,
    /// Allows fast-forward by code that knows the nodes; the engine itself skips nothing.
    pub fast_forward: bool,
    /// Allows folding by code that knows the nodes ([`Node::has_turns`]); the engine itself folds nothing.
    pub fold: bool,
    /// Events per window below which one thread runs, and the other threads sleep: with few events, the
    /// meeting of threads costs more than the threads gain. The engine compares the mean of the latest
    /// windows, and decides anew at each checkpoint. Example: with 100, windows of 60 events run on one
    /// thread. Windows of 300 events run on all threads, unless measured times show that one thread is
    /// faster. Zero disables both conditions: all threads always run.
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
            fold: true,
            solo_below: 100,
        }
    }
}

/// Statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Events handled while one thread ran alone. Depends on the wall clock, unlike the other statistics.
    pub events_alone: u64,
    /// Windows run.
    pub windows: u64,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// No event is pending.
    Idle,
    /// [`Plan::until`] has come.
    Ended,
    /// A checkpoint stopped the run.
    Stopped,
}

/// All nodes at one moment between windows. *Regular* checkpoints lie on the grid ([`Plan::checkpoint`]).
/// *Requested* checkpoints lie anywhere: [`crate::Context::mark`] and [`Checkpoint::call`] request them.
pub struct Checkpoint<'a, N: Node> {
    /// The moment of the checkpoint: a multiple of the checkpoint interval, a requested moment, or the end of
    /// the run. All events before this moment are done; at the end of the run, also the events at this
    /// moment.
    pub now: Moment,
    /// Set by the caller: a moment for an additional regular checkpoint, before the next multiple of the
    /// interval.
    pub next: Option<Moment>,
    /// Nodes that requested this checkpoint with [`crate::Context::mark`] one window ago, each with its
    /// reason. Empty if [`Checkpoint::call`] requested the checkpoint, or if a message reached a suspended
    /// node. `None` at regular checkpoints and at the end of the run.
    pub called: Option<Vec<(u32, u64)>>,
    /// Statistics of the run so far.
    pub statistics: Statistics,
    /// Moments passed to [`Checkpoint::call`] at this checkpoint.
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

    /// Returns the node of this number, for draining its records.
    pub fn node_mut(&mut self, id: u32) -> &mut N {
        let (partition, slot) = self.places[id as usize];
        &mut self.partitions[partition as usize].slots[slot as usize].node
    }

    /// True if no message is on a link.
    pub fn is_quiet(&self) -> bool {
        self.partitions.iter().all(|p| p.under_way().next().is_none())
    }

    /// True if no event is pending except reminders.
    pub fn is_at_rest(&self) -> bool {
        self.partitions.iter().all(|p| p.is_at_rest())
    }

    /// Returns the fingerprint of a node, for reading, or for adding repeated events.
    pub fn fingerprint_mut(&mut self, id: u32) -> &mut Fingerprint {
        let (partition, slot) = self.places[id as usize];
        &mut self.partitions[partition as usize].slots[slot as usize].fingerprint
    }

    /// Requests a checkpoint at `at`. The regular checkpoints stay the same. At the requested checkpoint no
    /// node has passed `at`, and no event before `at` is left, also at resumed nodes with an earlier clock.
    /// Example: at 500 us a node resumes at 490 us, and the caller requests 500 us again. The second
    /// checkpoint at 500 us follows once the node has reached 500 us, too.
    pub fn call(&mut self, at: Moment) {
        self.calls.push(at);
    }

    /// Suspends nodes: their events wait until [`Checkpoint::resume`]. All nodes of a cluster are suspended
    /// together. The caller must know that the nodes would send no message to running nodes meanwhile. When a
    /// message reaches a suspended node, a checkpoint follows at the end of the window, at which the caller
    /// must resume the node.
    pub fn suspend(&mut self, nodes: &[u32]) {
        for node in nodes {
            let (partition, slot) = self.places[*node as usize];
            self.partitions[partition as usize].suspend(slot);
        }
    }

    /// Returns the earliest arrival at these nodes among messages sent since the suspension.
    pub fn first_since_suspension(&self, nodes: &[u32]) -> Moment {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places
            .map(|(partition, slot)| self.partitions[partition as usize].first_since_suspension(slot))
            .fold(Moment::NEVER, Moment::min)
    }

    /// Resumes suspended nodes. If their events lie before `now`, the resumed nodes run alone until they have
    /// caught up with the other nodes. Example: nodes were suspended at 100 us. At a checkpoint at 500 us the
    /// caller moves their events 390 us ahead ([`StateVisitor::shift`]) and resumes the nodes, which then run
    /// alone from 490 us to 500 us.
    pub fn resume(&mut self, nodes: &[u32]) {
        for node in nodes {
            let (partition, slot) = self.places[*node as usize];
            self.partitions[partition as usize].resume(slot);
        }
    }

    /// True if no message is in flight to a node.
    pub fn is_quiet_at(&self, node: u32) -> bool {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].is_quiet(slot)
    }

    /// Returns the time of the next event of a node.
    pub fn first_at(&self, node: u32) -> Moment {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].first(slot)
    }

    /// Copies a node, with its pending events. No message may be in flight to the node.
    pub fn keep(&self, node: u32) -> Kept<N>
    where
        N: Clone,
    {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].keep(slot)
    }

    /// Replaces a node by a copy ([`Checkpoint::keep`]). No message may be in flight to the node, unless
    /// suspended.
    pub fn put(&mut self, node: u32, kept: Kept<N>) {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].put(slot, kept);
    }

    /// Returns the number of events handled by these nodes.
    pub fn events_of(&self, nodes: &[u32]) -> u64 {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places.map(|(partition, slot)| self.partitions[partition as usize].slots[slot as usize].events).sum()
    }

    /// Returns the cluster of a node, as the smallest number of its nodes. Nodes of a cluster are suspended
    /// together.
    pub fn cluster(&self, node: u32) -> u32 {
        self.clusters[node as usize]
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.places.len() as u32
    }
}

impl<N: Node + State> Checkpoint<'_, N>
where
    N::Message: State,
    <N::Message as Message>::Side: State,
{
    /// Visits the state of all nodes, in order of node numbers, and the messages in flight to each node. A
    /// *walk* is such a visit ([`State::walk`]): `walk` digests, shifts, notes or repeats the visited state.
    pub fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        self.walk_some(0..self.nodes(), walk);
    }

    /// Visits the state of these nodes, in this order, and the messages in flight to each node.
    pub fn walk_some(&mut self, nodes: impl IntoIterator<Item = u32>, walk: &mut StateVisitor<'_>) {
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
    /// A moment of the grid.
    aligned: Moment,
    started: bool,
}

impl<N: Node> Engine<N> {
    pub(crate) fn of(
        partitions: Vec<Partition<N>>,
        (places, clusters): (Vec<(u16, u32)>, Vec<u32>),
        window: Duration,
        plan: Plan,
    ) -> Self {
        let partitions = partitions.into_iter().map(Mutex::new).collect();
        Self {
            partitions,
            places,
            clusters,
            window,
            plan,
            statistics: Statistics::default(),
            aligned: Moment::ZERO,
            started: false,
        }
    }

    /// Aligns the grid of regular checkpoints with a moment. If the caller gives up a run at a checkpoint, a run whose
    /// traffic starts later by any time then ends later by the same time.
    pub fn align(&mut self, moment: Moment) {
        self.aligned = moment;
    }

    /// Returns the last moment of the grid at or before `at`, and the first after `at`. The start of the run belongs to the
    /// grid.
    pub(crate) fn around(&self, at: Moment) -> [Moment; 2] {
        let grid = self.plan.checkpoint.max(Duration(1));
        let first = Moment::ZERO + self.aligned % grid;
        if at < first {
            return [Moment::ZERO, first];
        }
        let last = at - (at - first) % grid;
        [last, Moment(last.0.saturating_add(grid.0))]
    }

    /// Starts all nodes.
    pub(crate) fn start(&mut self) {
        if !self.started {
            self.started = true;
            for partition in &mut self.partitions {
                partition.get_mut().unwrap_or_else(PoisonError::into_inner).start();
            }
        }
    }

    /// Returns the checkpoint at `now`.
    pub fn checkpoint(&self, now: Moment) -> Checkpoint<'_, N> {
        self.checkpoint_of(&self.partitions, now)
    }

    pub(crate) fn checkpoint_of<'a>(
        &'a self,
        partitions: &'a [Mutex<Partition<N>>],
        now: Moment,
    ) -> Checkpoint<'a, N> {
        let partitions =
            partitions.iter().map(|p| p.lock().unwrap_or_else(PoisonError::into_inner)).collect();
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

    /// Returns a hash of the arrivals of all nodes, combined in node order.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint_of(0..self.places.len() as u32)
    }

    /// Returns a hash of the arrivals at these nodes, combined in the given order.
    pub fn fingerprint_of(&self, nodes: impl IntoIterator<Item = u32>) -> u64 {
        let all = self.checkpoint(Moment::ZERO);
        nodes.into_iter().fold(0, |hash, node| {
            let (p, s) = self.places[node as usize];
            fold(hash, all.partitions[p as usize].slots[s as usize].fingerprint.value())
        })
    }

    /// Calls `f` for each message still on a link.
    pub fn for_each_under_way(&self, mut f: impl FnMut(&N::Message)) {
        for partition in &self.checkpoint(Moment::ZERO).partitions {
            partition.under_way().for_each(&mut f);
        }
    }

    /// Returns the number of side records in use.
    pub fn sides(&self) -> usize {
        self.checkpoint(Moment::ZERO).partitions.iter().map(|p| p.channel.sides.len()).sum()
    }

    /// Returns the totals so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// Returns the largest length of a window.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Returns the nodes in order, after the run.
    pub fn into_nodes(self) -> Vec<N> {
        let mut slots: Vec<_> = self
            .partitions
            .into_iter()
            .flat_map(|p| p.into_inner().unwrap_or_else(PoisonError::into_inner).slots)
            .collect();
        slots.sort_by_key(|s| s.id);
        slots.into_iter().map(|s| s.node).collect()
    }
}
