//! A training job: iterations of a transformer that is shared out among ranks.
//!
//! Models: decoder-only transformers under tensor (TP, SP), pipeline (PP: 1F1B, interleaved), data (DP:
//! `ZeRO` 0 to 3), context (CP) and expert (EP) parallelism. A rank computes its layers (`language_model.rs`), waits
//! for the collectives between layers, and passes activations along the pipeline. Gradients are reduced
//! during or after the last backward pass. Source: Narayanan et al. (SC'21) and Megatron-LM for schedules and
//! the order of ranks; AICB's workload generator for sizes; Rajbhandari et al. (SC'20) for `ZeRO`; the Llama
//! 3 report for CP; `docs/models/training.md`. Simplifications: kernels take their operations at a share of
//! the peak, or a measured time of a layer; attention is alike in all layers; no recomputation, dropout, checks for
//! overflow or tied embeddings; tokens go evenly to experts. Invariants: all ranks of a group list the same
//! collectives in the same order; every send has a receive.

mod parallel;
mod params;
mod program;
mod schedule;

pub use self::params::{Collectives, Compute, Numbers, Params};
use xoff_models::parts::param_error::ParamError;
use xoff_models::traffic::workload::{Making, Problem, Traffic};

use super::library::MakesJobs;
use crate::job::graph::Flops;

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let below = |table: &'static str| {
            let key = &key;
            move |(name, why): ParamError| {
                (
                    format!(
                        "{key}.{table}{}{name}",
                        if table.is_empty() || name.is_empty() { "" } else { "." }
                    ),
                    why,
                )
            }
        };
        let model = self.model.model().map_err(below("model"))?;
        self.parallel.check(&model).map_err(below("parallel"))?;
        self.compute.check().map_err(below("compute"))?;
        let micro_batches = self.micro_batches().map_err(below(""))?;
        self.check(&model, micro_batches).map_err(below(""))?;
        let library = making.library(self.library, true);
        let ranks = self.parallel.ranks() as usize;
        let placed = making.ranks(library, Some(ranks), self.hosts.as_ref(), self.placement, &key)?;
        let draws = placed.draws(making.topology.servers.as_ref());
        let streams = draws.iter().map(|rank| making.stream_for(*rank, "compute")).collect();
        let mut builder = making.job_of(&placed, &key)?;
        let tokens = (self.global_batch(micro_batches) * model.sequence) as f64;
        builder.compute(Flops { iteration: tokens * model.flop(), peak: self.compute.peak });
        let graph =
            program::build(self, model, micro_batches, builder, streams).map_err(below("collectives"))?;
        making.add_job(graph)
    }

    fn has_messages(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
