//! The places of ranks in a model's parallelism, and their groups.
//!
//! Ranks are numbered as in Megatron: tensor-parallel ranks are consecutive, then context, data and pipeline
//! follow. Experts are spread over ranks with otherwise equal parameters, which share sequences or are
//! replicas, as in Megatron-Core.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::ParamError;

use crate::language_model::Model;

/// `workload[…].training.parallel`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parallel {
    /// Ranks that share each matrix (TP).
    pub tensor: u64,
    /// Tensor-parallel ranks also share sequences: all-gathers and reduce-scatters replace all-reduces (SP).
    pub sequence: bool,
    /// Stages of the pipeline (PP).
    pub pipeline: u64,
    /// Pieces of the model per stage, around the pipeline (VPP).
    pub interleave: u64,
    /// Ranks that share a sequence (CP).
    pub context: u64,
    /// Replicas (DP).
    pub data: u64,
    /// Ranks over which experts are spread, among replicas and ranks that share a sequence (EP).
    pub expert: u64,
    /// State that replicas share: none (0), optimizer state (1), also gradients (2), also parameters (3).
    pub zero: u64,
}

impl Default for Parallel {
    fn default() -> Self {
        Self {
            tensor: 1,
            sequence: false,
            pipeline: 1,
            interleave: 1,
            context: 1,
            data: 1,
            expert: 1,
            zero: 1,
        }
    }
}

/// The place of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub tensor: u64,
    pub context: u64,
    pub data: u64,
    pub stage: u64,
}

/// Kinds of groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Axis {
    Tensor,
    Context,
    /// Replicas and ranks that share a sequence: all ranks with the same parameters.
    Data,
    Expert,
    /// Ranks with the same experts.
    ExpertData,
}

impl Axis {
    /// The name under which the time is counted.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tensor => "TP",
            Self::Context => "CP",
            Self::Data => "DP",
            Self::Expert => "EP",
            Self::ExpertData => "EDP",
        }
    }
}

impl Parallel {
    /// Ranks.
    pub const fn ranks(&self) -> u64 {
        self.tensor.saturating_mul(self.context).saturating_mul(self.data).saturating_mul(self.pipeline)
    }

    /// Returns the place of a rank.
    pub const fn place(&self, rank: u64) -> Place {
        let (rest, tensor) = (rank / self.tensor, rank % self.tensor);
        let (rest, context) = (rest / self.context, rest % self.context);
        Place { tensor, context, data: rest % self.data, stage: rest / self.data }
    }

    /// Returns the rank of a place.
    pub const fn rank(&self, p: Place) -> u64 {
        p.tensor + self.tensor * (p.context + self.context * (p.data + self.data * p.stage))
    }

    /// The ranks of a rank's group, in order.
    pub fn group(&self, axis: Axis, p: Place) -> Vec<u64> {
        let with = |p: Place| self.rank(p);
        match axis {
            Axis::Tensor => (0..self.tensor).map(|tensor| with(Place { tensor, ..p })).collect(),
            Axis::Context => (0..self.context).map(|context| with(Place { context, ..p })).collect(),
            Axis::Data => self.replicas(p, 0, 1, self.size(axis)),
            Axis::Expert => self.replicas(p, self.replica(p) / self.expert * self.expert, 1, self.size(axis)),
            Axis::ExpertData => self.replicas(p, self.replica(p) % self.expert, self.expert, self.size(axis)),
        }
    }

    /// The number of a rank among the ranks with the same parameters.
    const fn replica(&self, p: Place) -> u64 {
        p.context + self.context * p.data
    }

    /// Returns `count` replicas from `first` on, with a stride.
    fn replicas(&self, p: Place, first: u64, stride: u64, count: u64) -> Vec<u64> {
        let of = |replica| Place { context: replica % self.context, data: replica / self.context, ..p };
        (0..count).map(|i| self.rank(of(first + i * stride))).collect()
    }

    /// The number of ranks of such a group.
    pub const fn size(&self, axis: Axis) -> u64 {
        match axis {
            Axis::Tensor => self.tensor,
            Axis::Context => self.context,
            Axis::Data => self.data * self.context,
            Axis::Expert => self.expert,
            Axis::ExpertData => self.data * self.context / self.expert,
        }
    }

    /// Refuses parallelism that does not fit the model.
    pub fn check(&self, model: &Model) -> Result<(), ParamError> {
        let degrees = [
            ("tensor", self.tensor),
            ("pipeline", self.pipeline),
            ("interleave", self.interleave),
            ("context", self.context),
            ("data", self.data),
            ("expert", self.expert),
        ];
        if let Some((key, degree)) = degrees.iter().find(|(_, degree)| *degree == 0 || *degree > 1 << 20) {
            return Err((*key, format!("{degree} is out of range; allowed are 1 to {}", 1 << 20)));
        }
        if self.ranks() > 1 << 20 {
            return Err(("data", format!("{} ranks exceed the maximum of {}", self.ranks(), 1 << 20)));
        }
        if self.zero > 3 {
            return Err(("zero", format!("{} is out of range; allowed are 0 to 3", self.zero)));
        }
        if self.interleave > 1 && self.pipeline == 1 {
            return Err(("interleave", "needs more than one stage; set pipeline, or remove it".into()));
        }
        let pieces = self.pipeline * self.interleave;
        if !model.layers.is_multiple_of(pieces) {
            let why = format!(
                "{} layers cannot be divided evenly among {pieces} pieces of the model",
                model.layers
            );
            return Err((if self.interleave > 1 { "interleave" } else { "pipeline" }, why));
        }
        if !model.sequence.is_multiple_of(self.context) {
            return Err((
                "context",
                format!(
                    "a sequence of {} tokens cannot be divided evenly among {} ranks",
                    model.sequence, self.context
                ),
            ));
        }
        if self.expert > 1 && (!model.experts.is_multiple_of(self.expert) || model.experts == 1) {
            return Err((
                "expert",
                format!("{} experts cannot be divided evenly among {} ranks", model.experts, self.expert),
            ));
        }
        let replicas = self.size(Axis::Data);
        if !replicas.is_multiple_of(self.expert) {
            return Err((
                "expert",
                format!("{replicas} ranks with the same parameters do not make groups of {}", self.expert),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_a_place_and_is_in_its_groups() {
        let p = Parallel { tensor: 2, context: 3, data: 4, pipeline: 2, expert: 6, ..Parallel::default() };
        for rank in 0..p.ranks() {
            let place = p.place(rank);
            assert_eq!(p.rank(place), rank);
            for axis in [Axis::Tensor, Axis::Context, Axis::Data, Axis::Expert, Axis::ExpertData] {
                let group = p.group(axis, place);
                assert!(group.contains(&rank), "{axis:?}");
                assert_eq!(group.len() as u64, p.size(axis));
                assert!(group.iter().all(|other| p.group(axis, p.place(*other)) == group));
            }
        }
    }

    #[test]
    fn groups_are_those_of_simai() {
        // TP: ranks that follow one another; DP: with a stride of TP; EP: the same place in tensor groups
        // that follow one another.
        let p = Parallel { tensor: 2, data: 8, expert: 4, ..Parallel::default() };
        let of = |axis, rank| p.group(axis, p.place(rank));
        assert_eq!(of(Axis::Tensor, 5), [4, 5]);
        assert_eq!(of(Axis::Data, 1), [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(of(Axis::Expert, 3), [1, 3, 5, 7]);
        assert_eq!(of(Axis::ExpertData, 3), [3, 11]);
    }

    #[test]
    fn experts_are_spread_over_those_that_share_sequences_too() {
        // Megatron-Core's groups for tensor 2, context 4, data 2 and experts on 4: order tp-cp-ep-dp-pp,
        // without cp for experts.
        let p = Parallel { tensor: 2, context: 4, data: 2, expert: 4, ..Parallel::default() };
        let of = |axis, rank| p.group(axis, p.place(rank));
        assert_eq!(of(Axis::Context, 3), [1, 3, 5, 7]);
        assert_eq!(of(Axis::Expert, 3), [1, 3, 5, 7]);
        assert_eq!(of(Axis::ExpertData, 3), [3, 11]);
        // More of them than replicas: both halves of the sequences.
        let p = Parallel { expert: 8, ..p };
        assert_eq!(p.group(Axis::Expert, p.place(3)), [1, 3, 5, 7, 9, 11, 13, 15]);
        assert_eq!(p.group(Axis::ExpertData, p.place(3)), [3]);
    }
}
