//! Parameters of a training job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::ParamError;
use xoff_models::traffic::workload::Host;
use xoff_units::{Bytes, Duration};

use super::parallel::{Axis, Parallel};
use crate::job::collective::{Algorithm, Collective, Operation};
use crate::job::experts::{Copies, Experts};
use crate::language_model as model;
use crate::workload::nccl::Library;
use crate::workload::placement::Placement;

/// `workload[…].training.compute`: how long a rank computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// Floating-point operations of a processor in a second, at most: by default an A100's 312e12 with 16
    /// bits.
    pub peak: f64,
    /// Share of the peak that is reached.
    pub efficiency: f64,
    /// Measured time of a layer's forward pass on a rank, for a micro-batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<Duration>,
    /// Measured time of a layer's backward pass. Default: twice the forward time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward: Option<Duration>,
    /// Time of the optimizer.
    pub optimizer: Duration,
    /// Standard deviation of each time as a share of the time; drawn from the seed, per rank.
    pub jitter: f64,
}

impl Default for Compute {
    fn default() -> Self {
        Self {
            peak: 312e12,
            efficiency: 0.4,
            forward: None,
            backward: None,
            optimizer: Duration::ZERO,
            jitter: 0.0,
        }
    }
}

/// `workload[…].training.bytes`: of a number of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Numbers {
    /// Activations.
    pub activation: u64,
    /// Parameters in all-gathers.
    pub parameter: u64,
    /// Gradients in reductions.
    pub gradient: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { activation: 2, parameter: 2, gradient: 4 }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `workload[…].training.collectives`: the algorithms of groups.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Collectives {
    /// Of tensor-parallel ranks. Textbook: all-reduces, with `in_network` also reduce-scatters and
    /// all-gathers; default a ring. NCCL: all collectives; default `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<Algorithm>,
    /// Of replicas. Textbook: all-reduces without `ZeRO`, with `in_network` also reduce-scatters and
    /// all-gathers; default a ring. NCCL: all collectives but those of tensor-parallel ranks and experts;
    /// default `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Algorithm>,
    /// All-to-alls of experts. Textbook: default `direct`. NCCL: messages between pairs, without a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expert: Option<Algorithm>,
    /// How often a token crosses the network on its way to its experts.
    #[serde(skip_serializing_if = "is_default")]
    pub copies: Copies,
    /// Time before each exchange with the experts, besides the library's own.
    #[serde(skip_serializing_if = "is_default")]
    pub overhead: Duration,
    /// Channels of all collectives. Default: one; with NCCL as many as NCCL uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<u64>,
    /// Largest piece of a message that is passed on separately. Default: whole messages; with NCCL the chunk
    /// of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
}

impl Collectives {
    /// Returns the key for the algorithm of an operation of a group.
    pub(super) const fn key(axis: Axis, operation: Operation) -> &'static str {
        match (operation, axis) {
            (Operation::AllToAll, _) => "expert",
            (_, Axis::Tensor) => "tensor",
            _ => "data",
        }
    }

    pub(super) fn of(
        &self,
        axis: Axis,
        operation: Operation,
        bytes: u64,
        is_nccl: bool,
        experts: Option<Experts>,
    ) -> Collective {
        let plain = Collective::new(operation, Bytes(bytes));
        let overhead = if experts.is_some() { self.overhead } else { Duration::ZERO };
        let experts = experts.filter(|experts| experts.copies != Copies::Expert);
        let default = Collective { experts, overhead, ..plain };
        let (given, textbook) = match Self::key(axis, operation) {
            "tensor" => (self.tensor, Algorithm::Ring),
            "expert" => (self.expert, Algorithm::Direct),
            _ => (self.data, Algorithm::Ring),
        };
        if is_nccl {
            let algorithm = given.unwrap_or(Algorithm::Auto);
            return Collective {
                algorithm,
                channels: self.channels.unwrap_or(0),
                chunk: self.chunk,
                ..default
            };
        }
        let chosen = given.unwrap_or(textbook);
        let chooses = matches!(operation, Operation::AllReduce | Operation::AllToAll)
            || chosen == Algorithm::InNetwork && axis != Axis::Context && operation != Operation::Barrier;
        let algorithm = if chooses { chosen } else { default.algorithm };
        Collective { algorithm, channels: self.channels.unwrap_or(1), chunk: self.chunk, ..default }
    }
}

/// `workload[…].training`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The model.
    pub model: model::Params,
    /// The parallelism.
    #[serde(default)]
    pub parallel: Parallel,
    /// Sequences of a micro-batch.
    #[serde(default = "one")]
    pub micro_batch: u64,
    /// Sequences of an iteration, of all replicas together. Default: as many micro-batches for each replica
    /// as the pipeline has stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global_batch: Option<u64>,
    /// Iterations.
    #[serde(default = "one")]
    pub iterations: u64,
    /// Times of computations.
    #[serde(default)]
    pub compute: Compute,
    /// Sizes of numbers.
    #[serde(default)]
    pub bytes: Numbers,
    /// Reduces gradients during the backward pass, instead of after it.
    #[serde(default = "yes")]
    pub overlap: bool,
    /// Number of parts of the gradients, layer by layer, that are reduced during later computations.
    #[serde(default = "one")]
    pub buckets: u64,
    /// The algorithms of collectives.
    #[serde(default)]
    pub collectives: Collectives,
    /// The library of collectives. Default: `nccl` if `network.servers` is given, otherwise `textbook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// The hosts of the ranks, in order. Default: by `placement`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
    /// The order in which ranks are placed at hosts.
    #[serde(default)]
    pub placement: Placement,
}

pub(super) fn one() -> u64 {
    1
}

pub(super) fn yes() -> bool {
    true
}

/// Most operations of a job.
pub(super) const MAX_OPERATIONS: u64 = 1 << 26;

impl Params {
    pub(super) const fn global_batch(&self, micro_batches: u64) -> u64 {
        micro_batches * self.micro_batch * self.parallel.data
    }

    /// Micro-batches of a replica in an iteration.
    pub(super) fn micro_batches(&self) -> Result<u64, ParamError> {
        if self.micro_batch == 0 || self.micro_batch > 1 << 16 {
            return Err((
                "micro_batch",
                format!("{} is out of range; allowed are 1 to {}", self.micro_batch, 1 << 16),
            ));
        }
        let Parallel { pipeline, interleave, data, .. } = self.parallel;
        let Some(global) = self.global_batch else { return Ok(pipeline) };
        let of_all = self.micro_batch * data;
        if global == 0 || !global.is_multiple_of(of_all) {
            let why = format!(
                "{global} sequences are not whole micro-batches of {} for each of {data} replicas",
                self.micro_batch
            );
            return Err(("global_batch", why));
        }
        let micro_batches = global / of_all;
        if interleave > 1 && !micro_batches.is_multiple_of(pipeline) {
            let why = format!(
                "{micro_batches} micro-batches of a replica do not go around {pipeline} interleaved stages in whole groups"
            );
            return Err(("global_batch", why));
        }
        Ok(micro_batches)
    }

    pub(super) fn check(&self, model: &model::Model, micro_batches: u64) -> Result<(), ParamError> {
        for (key, value, most) in
            [("iterations", self.iterations, 1 << 12), ("buckets", self.buckets, 1 << 12)]
        {
            if value == 0 || value > most {
                return Err((key, format!("{value} is out of range; allowed are 1 to {most}")));
            }
        }
        let bytes = [
            ("activation", self.bytes.activation),
            ("parameter", self.bytes.parameter),
            ("gradient", self.bytes.gradient),
        ];
        if let Some((name, size)) = bytes.iter().find(|(_, size)| !(1..=16).contains(size)) {
            return Err(("bytes", format!("{size} is out of range for {name}; a number has 1 to 16 bytes")));
        }
        let layers = model.layers / self.parallel.pipeline;
        let of_rank = layers.saturating_mul(20).saturating_mul(micro_batches).saturating_mul(self.iterations);
        if of_rank.saturating_mul(self.parallel.ranks()) > MAX_OPERATIONS {
            let why = format!(
                "{of_rank} operations of each rank exceed the maximum of {MAX_OPERATIONS} of the job"
            );
            return Err(("iterations", why));
        }
        Ok(())
    }
}

impl Compute {
    pub(super) fn check(&self) -> Result<(), ParamError> {
        if !(self.peak >= 1e6 && self.peak <= 1e24) {
            return Err((
                "peak",
                format!("{} is out of range; allowed are 1e6 to 1e24 operations a second", self.peak),
            ));
        }
        if !(self.efficiency > 0.0 && self.efficiency <= 1.0) {
            return Err((
                "efficiency",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", self.efficiency),
            ));
        }
        if !(0.0..=0.5).contains(&self.jitter) {
            return Err(("jitter", format!("{} is out of range; allowed are 0 to 0.5", self.jitter)));
        }
        if self.backward.is_some() && self.forward.is_none() {
            return Err(("forward", "missing; backward is given".into()));
        }
        let longest = Duration::ms(1_000_000);
        if [self.forward, self.backward, Some(self.optimizer)]
            .into_iter()
            .flatten()
            .any(|time| time > longest)
        {
            return Err(("forward", format!("a time is above the maximum of {longest}")));
        }
        Ok(())
    }
}
