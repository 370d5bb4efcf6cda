//! The constant data of a serving workload: requests, pools, ranks, and the traffic between ranks.

use std::ops::Range;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::ids::ApplicationId;
use xoff_units::{Duration, Moment, index, number};

use super::costs::Costs;
use super::handoff::Heads;
use super::router::Policy;
use super::routing::Routing;

/// The number of the application.
pub const NUMBER: ApplicationId = ApplicationId::new(1);

/// Most serving workloads.
pub const MAX_WORKLOADS: u32 = 1 << 8;

/// Returns the number of a job for messages of a rank of a serving workload.
pub const fn job_of(workload: u32, from: u32) -> u32 {
    NUMBER.in_job() | (from << 8) | workload
}

/// Returns the number of the serving workload from the number of a job.
pub const fn workload_of(job: u32) -> u32 {
    job % MAX_WORKLOADS
}

/// Returns the sending rank from the number of a job.
pub const fn sender_of(job: u32) -> u32 {
    (job & !NUMBER.in_job()) >> 8
}

/// Most ranks of a serving workload.
pub const MAX_RANKS: u64 = 1 << 16;

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Arrival at the router.
    pub arrival: Moment,
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the prompt with cached keys and values at the prefill rank.
    pub cached: u64,
}

/// An early sequence, running from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// The DP rank.
    pub dp: u32,
    /// Tokens in the context.
    pub context: u64,
    /// Tokens to make.
    pub left: u64,
}

/// The work of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Computes prompts, and sends KV caches to decode.
    Prefill,
    /// Makes tokens.
    Decode,
    /// Both.
    Aggregated,
}

impl Role {
    /// The name of the pool.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Aggregated => "aggregated",
        }
    }
}

/// `kv.handoff`: the pool that starts the transfer of a KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handoff {
    /// Prefill sends, to memory reserved by decode before the prefill.
    #[default]
    Push,
    /// Decode asks after the prefill, and prefill sends.
    Pull,
}

/// `kv.granularity`: the pieces of a KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// All tokens and layers, after the prefill.
    #[default]
    Whole,
    /// All layers of a step's tokens, after each step.
    Chunk,
    /// A layer of a step's tokens, after the layer's attention.
    Layer,
}

/// `kv.nics`: the NICs that send and receive a KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nics {
    /// The NICs of the sending and the receiving rank.
    #[default]
    Own,
    /// All NICs of both servers, with parts of equal size over NVLink at both ends. Needs servers.
    Server,
}

/// `first_token`: the end of the time to the first token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstToken {
    /// The end of the prefill.
    Prefill,
    /// The arrival of the KV cache at decode, as in `SGLang`.
    #[default]
    Transfer,
    /// Decode's first step, which makes the token again, as in vLLM with NIXL.
    Decode,
}

/// A pool of equal instances of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    /// The work of the pool.
    pub role: Role,
    /// Copies of the model.
    pub instances: u32,
    /// Tensor-parallel ranks (TP).
    pub tensor: u32,
    /// DP ranks of an instance.
    pub data: u32,
    /// True if the experts of an instance are spread over all ranks of the instance.
    pub spreads_experts: bool,
    /// Most running sequences of a DP rank.
    pub max_sequences: usize,
    /// Most tokens of a step of a DP rank.
    pub max_tokens: u64,
    /// Largest piece of a prompt in a step.
    pub chunk: Option<u64>,
    /// Memory of a DP rank, in tokens.
    pub kv_tokens: Option<u64>,
    /// The first rank.
    pub first_rank: u32,
    /// The first DP rank.
    pub first_dp: u32,
    /// Times of the parts of a layer.
    pub costs: Costs,
    /// The copies of a token on the way to experts.
    pub copies: Shares,
    /// The routing of tokens, unless all experts are equal.
    pub routing: Option<Arc<Routing>>,
    /// Parts of a batch that take turns at the computation.
    pub micro_batches: u32,
}

impl Pool {
    /// Number of DP ranks.
    pub const fn dps(&self) -> u32 {
        self.instances * self.data
    }

    /// Number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.dps() * self.tensor
    }

    /// Returns the mean copies of a token for a rank by its place among the ranks with common experts, in a layer
    /// with experts.
    pub fn to_rank(&self, layer: u32, place: u32) -> f64 {
        self.routing.as_ref().map_or(self.copies.rank, |routing| routing.to_rank(layer, place))
    }

    /// Returns the mean copies of a token for the server of a rank.
    pub fn to_server(&self, layer: u32, place: u32) -> f64 {
        self.routing.as_ref().map_or(self.copies.server, |routing| routing.to_server(layer, place))
    }

    /// Returns the time of the experts of a rank, in a layer with experts, for tokens of all ranks.
    pub fn experts(&self, layer: u32, place: u32, tokens: u64) -> Duration {
        self.costs.experts(self.load(layer, place, tokens))
    }

    /// Returns the pairs of a token and an expert at a rank, and the experts of the rank with a token.
    pub fn load(&self, layer: u32, place: u32, tokens: u64) -> (f64, f64) {
        let even = || self.costs.even_load(tokens);
        self.routing.as_ref().map_or_else(even, |all| all.load(layer, place, tokens))
    }
}

/// The place of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The pool.
    pub pool: usize,
    /// The DP rank, among all of the workload.
    pub dp: u32,
    /// The place among the tensor-parallel ranks.
    pub tensor: u32,
}

/// Kinds of messages between ranks; each kind has separate connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Collectives of tensor-parallel ranks.
    Tensor,
    /// Tokens to experts.
    Dispatch,
    /// Results of experts.
    Combine,
    /// KV caches.
    Kv,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Tensor, Self::Dispatch, Self::Combine, Self::Kv];

    /// Packs the kind and the receiving rank of a message, with the number among the messages of an operation
    /// from rank to rank, modulo the room.
    pub(super) const fn place(self, number: u32, to: u32) -> u32 {
        ((self as u32) << 30) | ((number % MAX_PLACES as u32) << 16) | to
    }

    /// Unpacks the kind of a message.
    pub const fn of(place: u32) -> Self {
        Self::ALL[(place >> 30) as usize]
    }

    /// The label of messages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tensor => "TP",
            Self::Dispatch => "EP_dispatch",
            Self::Combine => "EP_combine",
            Self::Kv => "KV",
        }
    }
}

/// The number of places of ranks in the number of a message.
pub const MAX_PLACES: usize = 1 << 14;

/// Returns the number of a message among the messages of an operation from rank to rank.
pub const fn place_in_operation(place: u32) -> u32 {
    (place >> 16) % MAX_PLACES as u32
}

/// Returns the receiving rank of a message.
pub const fn receiver(place: u32) -> u32 {
    place & 0xFFFF
}

/// The mean copies of a token.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Shares {
    /// For each rank of a group.
    pub rank: f64,
    /// For each server of a group; with `copies = "server"`.
    pub server: f64,
    /// Ranks of a group at each server, with `copies = "server"` and several servers; otherwise 0.
    pub gpus: u32,
}

/// A connection between two ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connects {
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Messages of the connection.
    pub kind: Kind,
}

/// Limits of service levels; a request meets the levels if all given times are within the limits.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Slo {
    /// Time to the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Duration>,
    /// Mean time of a token after the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpot: Option<Duration>,
    /// Longest time between two tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub itl: Option<Duration>,
    /// Time from the arrival to the last token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub e2e: Option<Duration>,
}

impl Slo {
    /// True if no time is above the limit of the level: TTFT, the mean and the longest time between two tokens, and
    /// the time to the last token.
    pub fn admits(
        &self,
        ttft: Option<Duration>,
        itl: Option<(Duration, Duration)>,
        e2e: Option<Duration>,
    ) -> bool {
        let times = [ttft, itl.map(|itl| itl.0), itl.map(|itl| itl.1), e2e];
        let limits = [self.ttft, self.tpot, self.itl, self.e2e];
        let is_within = |(limit, time): (Option<Duration>, Option<Duration>)| {
            limit.is_none_or(|limit| time.is_none_or(|time| time <= limit))
        };
        limits.into_iter().zip(times).all(is_within)
    }
}

/// The load of a pool.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Name of the pool.
    pub pool: &'static str,
    /// The demand as a share of the largest throughput.
    pub load: f64,
    /// Mean sequences of a step; of prefill the prompts of a step at the load.
    pub batch: f64,
    /// Time of a step with this batch.
    pub step: Duration,
}

/// The constant data of a serving workload.
#[derive(Debug)]
pub struct Plan {
    /// The workload.
    pub workload: u32,
    /// Number among the serving workloads.
    pub number: u32,
    /// Requests in the order of arrivals.
    pub requests: Vec<Request>,
    /// Early sequences.
    pub running: Vec<Running>,
    /// The load of each pool, unless all requests arrive at once.
    pub loads: Vec<Load>,
    /// The start of the workload.
    pub start: Moment,
    /// Pools; ranks and DP ranks are numbered pool by pool.
    pub pools: Vec<Pool>,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// The server of each rank, and the GPU in the server; empty without servers.
    pub gpus: Vec<(u32, u32)>,
    /// Layers of the model.
    pub layers: u32,
    /// First layers without experts.
    pub dense_layers: u32,
    /// Bytes of a token's activations.
    pub activation: u64,
    /// Bytes of a token on the way to an expert.
    pub dispatch: u64,
    /// Bytes of a token on the way from an expert.
    pub combine: u64,
    /// The parts of a KV cache.
    pub heads: Heads,
    /// Who starts the transfer of a KV cache.
    pub handoff: Handoff,
    /// The pieces of a KV cache.
    pub granularity: Granularity,
    /// The end of the time to the first token.
    pub first_token: FirstToken,
    /// Choice of a DP rank for prefill, and for decode.
    pub policies: [Policy; 2],
    /// Time of a control message.
    pub delay: Duration,
    /// A scheduler's time before a step.
    pub scheduling: Duration,
    /// Standard deviation of computing times, as a share.
    pub jitter: f64,
    /// For each rank the ranks of the pool at the server, in order, with `kv.nics = "server"`; otherwise empty.
    pub peers: Vec<Vec<u32>>,
    /// Time before a KV cache or a piece leaves.
    pub kv_overhead: Duration,
    /// Time before each dispatch and combine.
    pub expert_overhead: Duration,
    /// Service levels.
    pub slo: Slo,
    /// Earlier requests are in no percentile.
    pub warmup: Moment,
    /// Key of random streams.
    pub seed: u64,
}

impl Plan {
    /// Returns the place of the pool of a DP rank.
    pub fn pool_of(&self, dp: u32) -> usize {
        self.pools.partition_point(|pool| pool.first_dp <= dp) - 1
    }

    /// Returns the place of a rank.
    pub fn seat(&self, rank: u32) -> Seat {
        let pool = self.pools.partition_point(|pool| pool.first_rank <= rank) - 1;
        let Pool { first_rank, first_dp, tensor, .. } = self.pools[pool];
        let place = rank - first_rank;
        Seat { pool, dp: first_dp + place / tensor, tensor: place % tensor }
    }

    /// Returns the ranks of a DP rank.
    pub fn ranks_of(&self, dp: u32) -> Range<u32> {
        let Pool { first_rank, first_dp, tensor, .. } = self.pools[self.pool_of(dp)];
        let first = first_rank + (dp - first_dp) * tensor;
        first..first + tensor
    }

    /// Returns the DP ranks that step together with a DP rank: the DP ranks of the instance if experts are spread.
    pub fn unit_of(&self, dp: u32) -> Range<u32> {
        let pool = &self.pools[self.pool_of(dp)];
        if !pool.spreads_experts {
            return dp..dp + 1;
        }
        let first = pool.first_dp + (dp - pool.first_dp) / pool.data * pool.data;
        first..first + pool.data
    }

    /// Returns the ranks over which the experts of a rank are spread.
    pub fn expert_group(&self, dp: u32) -> Range<u32> {
        let unit = self.unit_of(dp);
        self.ranks_of(unit.start).start..self.ranks_of(unit.end - 1).end
    }

    /// Returns the pools of a role or of both roles, by place.
    pub fn pool_for(&self, role: Role) -> usize {
        let has = |pool: &Pool| pool.role == role || pool.role == Role::Aggregated;
        self.pools.iter().position(has).unwrap_or(0)
    }

    /// True if prefill and decode have separate pools.
    pub fn is_disaggregated(&self) -> bool {
        self.pools.len() > 1
    }

    /// True for a layer with experts on several ranks.
    pub fn exchanges(&self, pool: &Pool, layer: u32) -> bool {
        pool.spreads_experts && layer >= self.dense_layers
    }

    /// Returns the number of layers with experts on several ranks.
    pub const fn exchanging_layers(&self, pool: &Pool) -> u32 {
        if pool.spreads_experts { self.layers - self.dense_layers } else { 0 }
    }

    /// True if decode makes the first token.
    pub fn makes_first(&self) -> bool {
        self.first_token == FirstToken::Decode && self.is_disaggregated()
    }

    /// True if service levels are given.
    pub fn has_slo(&self) -> bool {
        self.slo != Slo::default()
    }

    /// Returns the bytes of a token and layer for all ranks of a DP rank of decode.
    pub fn kv_of_token(&self) -> u64 {
        let Some(pool) = self.pools.get(1) else { return 0 };
        (0..pool.tensor).map(|tensor| self.kv_bytes_of(tensor)).sum()
    }

    /// Number of DP ranks.
    pub fn dps(&self) -> u32 {
        self.pools.iter().map(Pool::dps).sum()
    }

    /// True if messages between two ranks take NVLink.
    pub fn share_server(&self, one: &Connects) -> bool {
        self.server(one.from).is_some() && self.server(one.from) == self.server(one.to)
    }

    /// Returns the server of a rank; `None` without servers.
    pub(super) fn server(&self, rank: u32) -> Option<u32> {
        self.gpus.get(index(rank)).map(|gpu| gpu.0)
    }

    /// Returns the connections of ranks over the network, in order.
    pub fn connections(&self) -> Vec<Connects> {
        let mut found = self.pairs();
        found.retain(|one| !self.share_server(one));
        found
    }

    /// Returns the queues of ranks over NVLink, in order.
    pub fn queues(&self) -> Vec<Connects> {
        let mut found = self.pairs();
        found.retain(|one| self.share_server(one));
        found
    }

    /// Returns the pairs of ranks with messages, in order.
    fn pairs(&self) -> Vec<Connects> {
        let mut found = Vec::new();
        for rank in 0..number(self.nodes.len()) {
            let Seat { pool, dp, tensor } = self.seat(rank);
            let pool = &self.pools[pool];
            let ranks = self.ranks_of(dp);
            if pool.tensor > 1 {
                let to = ranks.start + (tensor + 1) % pool.tensor;
                found.push(Connects { from: rank, to, kind: Kind::Tensor });
            }
            if pool.spreads_experts && self.dense_layers < self.layers {
                let Shares { gpus, .. } = pool.copies;
                let group = self.expert_group(dp);
                let (start, place) = (group.start, rank - group.start);
                // With copies for each server, ranks on other rails get their tokens over NVLink.
                let meets = |to: &u32| {
                    gpus == 0 || (to - start) / gpus == place / gpus || (to - start) % gpus == place % gpus
                };
                for to in group.filter(|to| *to != rank && meets(to)) {
                    found.extend([Kind::Dispatch, Kind::Combine].map(|kind| Connects {
                        from: rank,
                        to,
                        kind,
                    }));
                }
            }
            if pool.role == Role::Prefill {
                let decode = &self.pools[self.pool_for(Role::Decode)];
                for other in decode.first_dp..decode.first_dp + decode.dps() {
                    let first = self.ranks_of(other).start;
                    for (to, _) in self.heads.sent(tensor) {
                        let to = first + to;
                        let all = self.takes_all_nics(rank, to);
                        let hops = if all { self.hops(rank, to) } else { vec![(rank, to)] };
                        found.extend(hops.into_iter().map(|(from, to)| Connects {
                            from,
                            to,
                            kind: Kind::Kv,
                        }));
                    }
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the bytes of a token and layer for a decode rank.
    pub fn kv_bytes_of(&self, tensor: u32) -> u64 {
        self.heads.received(tensor)
    }

    /// Returns the tokens of a rank, if the ranks of a DP rank share the tokens out.
    pub fn share(tokens: u64, ranks: u32, place: u32) -> u64 {
        let (ranks, place) = (u64::from(ranks), u64::from(place));
        tokens / ranks + u64::from(place < tokens % ranks)
    }

    /// Returns the node of the controller: the node of the first rank.
    pub fn controller(&self) -> u32 {
        self.nodes[index(0)]
    }
}
