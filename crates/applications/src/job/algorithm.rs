//! The operations of collectives, and the algorithms of each operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of the collective at the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Each rank has the sum of all vectors.
    AllReduce,
    /// Each rank has its share of the sum of all vectors.
    ReduceScatter,
    /// Each rank has the shares of all ranks.
    AllGather,
    /// Each rank has its part from every other rank.
    AllToAll,
    /// Each rank has the data of the first rank.
    Broadcast,
    /// The first rank has the sum of all vectors.
    Reduce,
    /// Each rank knows that all ranks have reached the barrier.
    Barrier,
    /// Each rank has the data of the previous rank.
    SendReceive,
}

/// Algorithm of the collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Each rank sends to the next rank.
    Ring,
    /// Two binary trees with half of the data each.
    DoubleTree,
    /// Each rank exchanges data with ranks at ever larger distances, and back. The number of ranks is a power of two.
    HalvingDoubling,
    /// Rings within groups, and rings across ranks of equal position in their groups.
    Hierarchical,
    /// Each rank sends to all other ranks at once.
    Direct,
    /// Each rank sends to one rank at a time.
    Rounds,
    /// Each rank sends to the next rank, from the first rank to the last, or back.
    Chain,
    /// Each rank sends to the ranks at distance 1, 2, 4, …
    Dissemination,
    /// All ranks send to a switch that reduces (`network.reducers`), and the switch sends to all ranks.
    InNetwork,
    /// Of `library = "nccl"`: two trees between servers, a chain in each server.
    Tree,
    /// Of `library = "nccl"`: the switch of a server reduces and multicasts.
    Nvls,
    /// Of `library = "nccl"`: NVLS in servers, two trees between servers.
    NvlsTree,
    /// Of `library = "nccl"`: a logarithmic number of rounds, for one GPU in each server.
    Pat,
    /// Of `library = "nccl"`, and its default: the algorithm with the least predicted time.
    Auto,
}

impl Operation {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllGather => "all_gather",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Barrier => "barrier",
            Self::SendReceive => "send_receive",
        }
    }

    /// Returns the algorithms of the operation, the default first.
    pub(super) const fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::AllReduce => &[
                Algorithm::Ring,
                Algorithm::DoubleTree,
                Algorithm::HalvingDoubling,
                Algorithm::Hierarchical,
                Algorithm::InNetwork,
            ],
            Self::ReduceScatter | Self::AllGather => {
                &[Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::InNetwork]
            }
            Self::AllToAll => &[Algorithm::Direct, Algorithm::Rounds],
            Self::SendReceive => &[Algorithm::Direct],
            Self::Broadcast | Self::Reduce => &[Algorithm::Chain, Algorithm::InNetwork],
            Self::Barrier => &[Algorithm::Dissemination, Algorithm::InNetwork],
        }
    }

    /// Returns the steps of the operation among the 2 `half` steps of an all-reduce.
    pub(super) const fn steps(self, half: usize) -> (usize, usize) {
        match self {
            Self::ReduceScatter => (0, half),
            Self::AllGather => (half, 2 * half),
            _ => (0, 2 * half),
        }
    }

    /// True if each rank has a share of the data, at the beginning or the end.
    pub(super) const fn is_shared(self) -> bool {
        matches!(self, Self::ReduceScatter | Self::AllGather)
    }

    /// Returns the load of a link for a byte of data, for any algorithm (NCCL's tests: bus bandwidth).
    pub fn bus(self, ranks: usize) -> f64 {
        let ranks = ranks as f64;
        match self {
            Self::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Self::ReduceScatter | Self::AllGather | Self::AllToAll => (ranks - 1.0) / ranks,
            Self::Broadcast | Self::Reduce | Self::Barrier | Self::SendReceive => 1.0,
        }
    }
}

impl Algorithm {
    /// Returns the name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::DoubleTree => "double_tree",
            Self::HalvingDoubling => "halving_doubling",
            Self::Hierarchical => "hierarchical",
            Self::Direct => "direct",
            Self::Rounds => "rounds",
            Self::Chain => "chain",
            Self::Dissemination => "dissemination",
            Self::InNetwork => "in_network",
            Self::Tree => "tree",
            Self::Nvls => "nvls",
            Self::NvlsTree => "nvls_tree",
            Self::Pat => "pat",
            Self::Auto => "auto",
        }
    }
}
