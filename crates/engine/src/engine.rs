//! An engine between windows: its parts, the plan of a run, and its statistics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use xoff_units::{Duration, Moment};

use crate::fingerprint::Fingerprint;
use crate::partition::{Kept, Partition};
use crate::random::fold;
use crate::state::{State, StateVisitor};
use crate::{Message, Node};

/// Plan of a run. No field except [`Plan::until`] may change a result.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Threads; never more than cores.
    pub threads: usize,
    /// Partitions of the nodes; default: one for each thread.
    pub partitions: Option<usize>,
    /// Window length; the smallest lookahead when not given, which is also the largest allowed.
    pub window: Option<Duration>,
    /// Nodes joined by short links run windows of their own.
    pub clusters: bool,
    /// Simulated time between checkpoints.
    pub checkpoint: Duration,
    /// End of the run: events at this moment are the last. The only field that belongs to the simulated
    /// system.
    pub until: Moment,
    /// Allows fast-forward by code that knows the nodes; the engine itself skips nothing.
    pub fast_forward: bool,
    /// Number of events in a window below which one thread runs and the other threads sleep. Zero: all
    /// threads always run. Otherwise one thread also runs alone if more threads would take longer.
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

/// Statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statistics {
    /// Events handled.
    pub events: u64,
    /// Events handled by one thread alone. Depends on the clock, unlike other statistics.
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

/// All nodes at one moment between windows.
pub struct Checkpoint<'a, N: Node> {
    /// A multiple of the checkpoint interval, a requested moment, or the end of the run. All earlier events
    /// are done.
    pub now: Moment,
    /// Next checkpoint, if before the next multiple of the interval.
    pub next: Option<Moment>,
    /// Nodes that requested the checkpoint one window ago, with their reasons ([`crate::Context::mark`]).
    /// `None` for other checkpoints, and after a message to a suspended node.
    pub called: Option<Vec<(u32, u64)>>,
    /// Totals so far.
    pub statistics: Statistics,
    /// Requested checkpoints, besides the multiples of the interval.
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

    /// The fingerprint of a node, to be kept or to be put further.
    pub fn fingerprint_mut(&mut self, id: u32) -> &mut Fingerprint {
        let (partition, slot) = self.places[id as usize];
        &mut self.partitions[partition as usize].slots[slot as usize].fingerprint
    }

    /// Requests another checkpoint, which is not a checkpoint of the grid. The checkpoint precedes every
    /// event at the moment or later, also for nodes woken with an earlier clock.
    pub fn call(&mut self, at: Moment) {
        self.calls.push(at);
    }

    /// Suspends nodes: no event takes place until they are woken. Nodes of a cluster are suspended together.
    /// When a message reaches a suspended node, a checkpoint follows at which the node must be woken.
    pub fn suspend(&mut self, nodes: &[u32]) {
        for node in nodes {
            let (partition, slot) = self.places[*node as usize];
            self.partitions[partition as usize].suspend(slot);
        }
    }

    /// Returns the first arrival of a message sent to these nodes since their suspension.
    pub fn first_since_suspension(&self, nodes: &[u32]) -> Moment {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places
            .map(|(partition, slot)| self.partitions[partition as usize].first_since_suspension(slot))
            .fold(Moment::NEVER, Moment::min)
    }

    /// Wakes suspended nodes. The nodes are behind other nodes by the time of the suspension, less their
    /// shifts, and run alone until they have caught up.
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

    /// Copies a node without messages in flight to the node.
    pub fn keep(&self, node: u32) -> Kept<N>
    where
        N: Clone,
    {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].keep(slot)
    }

    /// Replaces a node by such a copy; no message may be in flight to the node, unless suspended.
    pub fn put(&mut self, node: u32, kept: Kept<N>) {
        let (partition, slot) = self.places[node as usize];
        self.partitions[partition as usize].put(slot, kept);
    }

    /// Returns the number of events handled by these nodes.
    pub fn events_of(&self, nodes: &[u32]) -> u64 {
        let places = nodes.iter().map(|node| self.places[*node as usize]);
        places.map(|(partition, slot)| self.partitions[partition as usize].slots[slot as usize].events).sum()
    }

    /// Returns the cluster of a node: nodes joined by short links, with windows of their own. Nodes of a
    /// cluster are suspended together.
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
    /// Shows the state of all nodes, in order, and of messages in flight to them.
    pub fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        self.walk_some(0..self.nodes(), walk);
    }

    /// Shows the state of these nodes, in this order, and of messages in flight to them.
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
        Self { partitions, places, clusters, window, plan, statistics: Statistics::default(), started: false }
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

    /// A hash over every node's events, combined in node order.
    pub fn fingerprint(&self) -> u64 {
        let all = self.checkpoint(Moment::ZERO);
        self.places.iter().fold(0, |hash, (p, s)| {
            fold(hash, all.partitions[*p as usize].slots[*s as usize].fingerprint.value())
        })
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

    /// Returns the totals so far.
    pub fn statistics(&self) -> Statistics {
        self.statistics
    }

    /// The window length in use.
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
