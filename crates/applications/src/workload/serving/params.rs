//! Parameters of a serving workload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::{ParamError, remove};
use xoff_models::traffic::workload::Host;
use xoff_units::{Duration, Moment, wide};

use crate::job::experts::Copies;
use crate::language_model;
use crate::serving::{
    FirstToken, Granularity, Handoff, Kernel, Measured, Nics, Policy, Processor, Slo, Times,
};
use crate::workload::placement::Placement;

/// Most rows of measured times.
pub const MAX_TIMES: u64 = 1 << 16;

/// A GPU by name: dense FLOP/s and memory bandwidth that NVIDIA states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// NVIDIA H100 SXM: 989 TFLOP/s with 16 bits, 1,979 with 8, 3.35 TB/s.
    H100,
    /// NVIDIA H200 SXM: 989 and 1,979 TFLOP/s, 4.8 TB/s.
    H200,
    /// NVIDIA B200: 2,250 and 4,500 TFLOP/s, 8 TB/s.
    B200,
    /// NVIDIA H20: 148 and 296 TFLOP/s, 4 TB/s.
    H20,
    /// NVIDIA H800: taken as an H100.
    H800,
}

impl Device {
    /// Returns FLOP/s with 16 and with 8 bits, and bytes of memory in a second.
    const fn speed(self) -> (f64, f64, f64) {
        match self {
            Self::H100 | Self::H800 => (989e12, 1979e12, 3.35e12),
            Self::H200 => (989e12, 1979e12, 4.8e12),
            Self::B200 => (2250e12, 4500e12, 8e12),
            Self::H20 => (148e12, 296e12, 4e12),
        }
    }
}

/// `workload[…].serving.compute`: how long a rank computes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compute {
    /// The GPU. Weights of one byte take the FLOP/s of 8 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// Floating-point operations in a second, in the place of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f64>,
    /// Bytes of memory in a second, in the place of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Share of the peak that is reached.
    #[serde(default = "whole")]
    pub efficiency: f64,
    /// Share of the memory bandwidth that is reached.
    #[serde(default = "whole")]
    pub memory_efficiency: f64,
    /// Time of each part of a layer besides.
    #[serde(default)]
    pub kernel: Duration,
    /// Measured times in the place of the roofline, interpolated linearly. A part without rows needs a device, or peak
    /// and memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<Measured>,
    /// The same as a CSV or Parquet file with the columns part, tokens, `context_tokens` and time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times_table: Option<String>,
    /// Standard deviation of each computing time of a rank, as a share of the time; 0 to 0.5.
    #[serde(default)]
    pub jitter: f64,
}

const fn whole() -> f64 {
    1.0
}

/// `workload[…].serving.bytes`: of a number of each kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Numbers {
    /// Weights.
    pub weight: u64,
    /// Keys and values in the KV cache.
    pub kv: u64,
    /// Activations.
    pub activation: u64,
}

impl Default for Numbers {
    fn default() -> Self {
        Self { weight: 2, kv: 2, activation: 2 }
    }
}

/// `workload[…].serving.arrivals`: independent arrivals of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Requests in a second.
    pub rate: f64,
    /// Coefficient of variation of the gaps between requests: gaps of a Gamma distribution. 1: a Poisson
    /// process; 0: equal gaps.
    #[serde(default = "whole")]
    pub cv: f64,
    /// No request arrives later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
}

/// `workload[…].serving.lengths`: tokens of all requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lengths {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// A request: a row of `requests`, or of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Arrival, after the start of the workload.
    pub arrival: Duration,
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens of the prompt whose keys and values the prefill rank has.
    #[serde(default)]
    pub cached_tokens: u64,
}

/// `workload[…].serving.prefill`, `.decode` and `.aggregated`: a pool of equal instances of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pool {
    /// Copies of the model.
    pub instances: u64,
    /// Ranks that share each matrix (TP).
    pub tensor: u64,
    /// DP ranks of an instance, each with a batch of its own.
    pub data: u64,
    /// Ranks over which experts are spread (EP): 1, or all ranks of an instance.
    pub expert: u64,
    /// Parts of each batch, 1 to 4, that take turns: one communicates while another computes.
    pub microbatches: u64,
    /// Most running sequences of a DP rank.
    pub max_sequences: u64,
    /// Most tokens of a step of a DP rank. A longer prompt without `chunk` is computed alone.
    pub max_tokens: u64,
    /// Largest piece of a prompt in a step (chunked prefill). Default: whole prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u64>,
    /// Tokens whose keys and values a DP rank can hold. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_tokens: Option<u64>,
    /// Sequences that run at each DP rank of decode from the start: a number, or `true` for the equilibrium of
    /// arrivals and steps. Lengths are drawn by their share of time, and ages evenly. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
    /// The hosts of the ranks, in order. Default: by `placement`, after the hosts of the pool before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
}

/// `decode.warm`: sequences that run from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Warm {
    /// `true`: as many as at the equilibrium of arrivals and steps.
    Equilibrium(bool),
    /// This many at each DP rank.
    Sequences(u64),
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            instances: 1,
            tensor: 1,
            data: 1,
            expert: 1,
            microbatches: 1,
            max_sequences: 256,
            max_tokens: 8192,
            chunk: None,
            kv_tokens: None,
            warm: None,
            hosts: None,
        }
    }
}

/// `workload[…].serving.router`
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Router {
    /// Choice of a DP rank.
    pub policy: Policy,
    /// Choice for prefill. Default: `policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Policy>,
    /// Choice for decode. Default: `policy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode: Option<Policy>,
}

/// `workload[…].serving.kv`: the way of KV caches from prefill to decode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Kv {
    /// Who starts the transfer.
    pub handoff: Handoff,
    /// The pieces; `chunk` and `layer` need `push`.
    pub granularity: Granularity,
    /// The NICs that a KV cache takes.
    pub nics: Nics,
    /// Time before each piece leaves.
    pub overhead: Duration,
    /// Priority class. Default: the class of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
}

/// `experts.dispatch`: the numbers of a token on its way to experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// Two bytes a number.
    #[default]
    Bf16,
    /// A byte a number, a scale of four bytes for 128 numbers, and 16 bytes of a header, as `DeepEP` has.
    Fp8,
}

impl Dispatch {
    /// Returns the bytes of a token.
    pub const fn bytes(self, hidden: u64) -> u64 {
        match self {
            Self::Bf16 => 2 * hidden,
            Self::Fp8 => hidden + 4 * hidden.div_ceil(128) + 16,
        }
    }
}

/// `workload[…].serving.experts`: the way of tokens to experts and back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpertTraffic {
    /// Numbers of a token on the way to experts; results come back with two bytes a number.
    pub dispatch: Dispatch,
    /// How often a token crosses the network: `expert`, `rank` or `server`.
    pub copies: Copies,
    /// Exponent of Zipf's law for the popularity of the experts of a layer, 0 to 10; the order of the experts is
    /// drawn for each layer. 0: all experts are equal.
    pub skew: f64,
    /// Copies of experts beyond one of each expert, for the most popular experts of each layer.
    pub redundant: u64,
    /// Time before each dispatch and combine.
    pub overhead: Duration,
    /// Priority class. Default: the class of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
}

/// `workload[…].serving.tensor`: the collectives of tensor-parallel ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TensorTraffic {
    /// Priority class. Default: the class of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
}

/// `workload[…].serving.control`: the messages of routers and schedulers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControlTimes {
    /// Time of a message from a rank to a scheduler and on to a rank; half of the time each way.
    pub delay: Duration,
    /// Time of a scheduler before a step.
    pub step: Duration,
}

impl Default for ControlTimes {
    fn default() -> Self {
        Self { delay: Duration::us(5), step: Duration::ZERO }
    }
}

/// `workload[…].serving`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The model.
    pub model: language_model::Params,
    /// Sizes of numbers.
    #[serde(default)]
    pub bytes: Numbers,
    /// Times of computations.
    pub compute: Compute,
    /// Arrivals at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Lengths of requests that arrive at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lengths: Option<Lengths>,
    /// Requests in the place of random arrivals. With `arrivals`: lengths that are drawn together, row by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Row>,
    /// The same as a CSV or Parquet file with the columns arrival, `input_tokens`, `output_tokens` and
    /// optionally `cached_tokens`, such as `xoff import requests` writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_table: Option<String>,
    /// The pool that computes prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<Pool>,
    /// The pool that makes tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode: Option<Pool>,
    /// One pool for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated: Option<Pool>,
    /// The choice of DP ranks.
    #[serde(default)]
    pub router: Router,
    /// The transfer of KV caches.
    #[serde(default)]
    pub kv: Kv,
    /// The traffic of experts.
    #[serde(default)]
    pub experts: ExpertTraffic,
    /// The traffic of tensor-parallel ranks.
    #[serde(default)]
    pub tensor: TensorTraffic,
    /// Who shows the first token.
    #[serde(default)]
    pub first_token: FirstToken,
    /// Messages of routers and schedulers.
    #[serde(default)]
    pub control: ControlTimes,
    /// Service levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// Requests that arrive earlier, after the start of the workload, are in the table and in no percentile.
    #[serde(default)]
    pub warmup: Duration,
    /// The order in which ranks are placed at hosts.
    #[serde(default)]
    pub placement: Placement,
}

impl Params {
    /// Returns the given classes of messages.
    pub fn classes(&self) -> impl Iterator<Item = u8> {
        [self.kv.class, self.experts.class, self.tensor.class].into_iter().flatten()
    }

    /// Returns the moment before which requests belong to the warm-up.
    pub(super) fn warmup_ends(&self, start: Moment) -> Moment {
        start + self.warmup
    }
}

impl Compute {
    /// Returns the processor, for weights of this many bytes.
    pub(super) fn processor(&self, weight: u64) -> Result<Processor, ParamError> {
        let (peak, memory) = match (self.device, self.peak, self.memory) {
            (Some(device), None, None) => {
                let (wide, narrow, memory) = device.speed();
                (if weight == 1 { narrow } else { wide }, memory)
            }
            (None, Some(peak), Some(memory)) => (peak, memory),
            (Some(_), ..) => {
                return Err(("device", remove("mutually exclusive with peak and memory")));
            }
            // All parts have measured times.
            (None, None, None) if !self.times.is_empty() => (1e24, 1e18),
            _ => return Err(("device", "missing; give a device, peak and memory, or times".into())),
        };
        for (key, value, most) in [("peak", peak, 1e24), ("memory", memory, 1e18)] {
            if !(1e6..=most).contains(&value) {
                return Err((key, format!("{value} is out of range; allowed are 1e6 to {most:e}")));
            }
        }
        for (key, share) in [("efficiency", self.efficiency), ("memory_efficiency", self.memory_efficiency)] {
            if !(share > 0.0 && share <= 1.0) {
                return Err((
                    key,
                    format!("{share} is out of range; allowed are numbers above 0 and up to 1"),
                ));
            }
        }
        if !(0.0..=0.5).contains(&self.jitter) {
            return Err(("jitter", format!("{} is out of range; allowed are 0 to 0.5", self.jitter)));
        }
        if self.kernel > Duration::ms(1000) {
            return Err(("kernel", format!("{} is above the maximum of 1s", self.kernel)));
        }
        let (flops, memory) = (peak * self.efficiency, memory * self.memory_efficiency);
        Ok(Processor { flops, memory, kernel: self.kernel })
    }
}

impl Compute {
    /// Returns the measured times, if any. A part that takes time has rows, a device, or peak and memory.
    pub(super) fn times(&self, needed: &[Kernel]) -> Result<Option<Times>, ParamError> {
        if self.times.is_empty() {
            return Ok(None);
        }
        if wide(self.times.len()) > MAX_TIMES {
            return Err(("times", format!("{} rows exceed the maximum of {MAX_TIMES}", self.times.len())));
        }
        let times = Times::new(&self.times)?;
        let has_roofline = self.device.is_some() || self.peak.is_some();
        match needed.iter().find(|part| !times.has(**part)) {
            Some(part) if !has_roofline => {
                Err(("times", format!("{} has no rows; add rows, or give a device", part.name())))
            }
            _ => Ok(Some(times)),
        }
    }
}
