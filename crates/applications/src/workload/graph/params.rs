//! The parameters of a graph: its operations, groups and families, and their bounds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::traffic::workload::{Host, Problem};
use xoff_units::{Bytes, Duration, wide};

use crate::job::collective::{Algorithm, Operation as Does};
use crate::job::experts::{Copies, Experts};
use crate::workload::Library;
use crate::workload::placement::Placement;

/// Most listed operations of a job.
pub const MAX_OPERATIONS: u64 = 1 << 24;
/// Most operations of all ranks together, of a job whose ranks share a program.
pub const MAX_SHARED: u64 = 1 << 31;
/// Most ranks of a job.
pub const MAX_RANKS: u64 = 1 << 20;

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A computation of the rank.
    Compute,
    /// Sends a message to `peer`.
    Send,
    /// Waits for a message of `peer`.
    Recv,
    /// An all-reduce of `group`.
    AllReduce,
    /// A reduce-scatter of `group`.
    ReduceScatter,
    /// An all-gather of `group`.
    AllGather,
    /// An all-to-all of `group`.
    AllToAll,
    /// A broadcast of `group`.
    Broadcast,
    /// A reduce of `group`.
    Reduce,
    /// A barrier of `group`.
    Barrier,
}

impl Kind {
    pub(super) const fn collective(self) -> Option<Does> {
        match self {
            Self::Compute | Self::Send | Self::Recv => None,
            Self::AllReduce => Some(Does::AllReduce),
            Self::ReduceScatter => Some(Does::ReduceScatter),
            Self::AllGather => Some(Does::AllGather),
            Self::AllToAll => Some(Does::AllToAll),
            Self::Broadcast => Some(Does::Broadcast),
            Self::Reduce => Some(Does::Reduce),
            Self::Barrier => Some(Does::Barrier),
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Send => "send",
            Self::Recv => "recv",
            _ => match self.collective() {
                Some(does) => does.name(),
                None => "",
            },
        }
    }
}

/// An operation of a rank: a row of `operations`, or of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The rank of the operation. Without ranks, all operations are those of every rank (SPMD: single program,
    /// multiple data).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u64>,
    /// The kind of the operation.
    pub kind: Kind,
    /// Name for `after`, unique in the rank. Default: the number of the operation in its rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Begins when all of these operations of the rank have ended. `WORKLOAD/NAME` is a flow with this id that ends at
    /// the host of the rank, or an operation of another job at the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// Begins when the previous operation in this stream of the rank has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// A processor or network interface of the rank, which runs one operation at a time, in the order in
    /// which operations could begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The iteration of the job.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub iteration: u64,
    /// Duration of a computation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Floating-point operations of a computation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flop: Option<f64>,
    /// Bytes that a computation reads and writes in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// The other rank of a send or receive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<u64>,
    /// Distinguishes messages between the same ranks. Messages of one tag are received in the order of
    /// sending.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tag: u64,
    /// Payload of a message; of a collective as `collective.size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// The group of a collective, or the family of groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The algorithm of a collective.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// Channels of a collective; for a message, the channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u64>,
    /// Largest piece of a collective's messages that is passed on separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Ranks of a server, for `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<u64>,
    /// For an all-to-all of experts: how often a token crosses the network. `size` counts one copy for each
    /// chosen expert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// For `copies`: experts of the layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<u64>,
    /// For `copies`: experts of a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    /// For `copies`: the way back from the experts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub combine: bool,
    /// Time from the beginning of a collective at a rank to its first messages, besides the library's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Duration>,
    /// Priority class of the packets of a send or collective. Default: the class of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Name under which the time is counted, such as `TP`. Default: the name of the group, or `p2p`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

impl Row {
    /// Returns the rank in whose program the operation is listed: rank 0 for an operation of every rank.
    pub(super) fn rank(&self) -> u64 {
        self.rank.unwrap_or(0)
    }

    /// Returns the routing of tokens, if the row names copies other than one for each expert.
    pub(super) fn routing(&self) -> Option<Experts> {
        let copies = self.copies.filter(|copies| *copies != Copies::Expert)?;
        let (experts, top_k) = (self.experts?, self.top_k?);
        Some(Experts { experts, top_k, copies, combines: self.combine })
    }
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// `workload[…].graph.processor`: the processor of operations with FLOP or memory traffic instead of a
/// duration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Floating-point operations in a second.
    pub flops: f64,
    /// Bytes per second that the memory reads or writes. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
}

/// `workload[…].graph.families`: groups of ranks a stride apart. Group i begins at rank
/// (i ÷ stride) × stride × count + i mod stride. Example: stride 2 and count 3 divide 12 ranks into the groups
/// 0 2 4, 1 3 5, 6 8 10 and 7 9 11.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Distance between neighbours of a group. Stride × count divides the ranks. Default: 1.
    #[serde(default = "one")]
    pub stride: u64,
    /// Ranks of a group.
    pub count: u64,
}

const fn one() -> u64 {
    1
}

impl Family {
    /// Returns the ranks of each group, in the order of their first ranks. `block`, stride × count, divides
    /// the ranks.
    pub(super) fn groups(self, ranks: u64) -> impl Iterator<Item = Vec<u64>> {
        let Self { stride, count } = self;
        let firsts =
            (0..ranks).step_by((stride * count) as usize).flat_map(move |block| block..block + stride);
        firsts.map(move |first| (0..count).map(|place| first + place * stride).collect())
    }

    /// Returns why the family does not divide the ranks; `None` if the family does.
    fn problem(self, ranks: u64) -> Option<String> {
        let Self { stride, count } = self;
        let divides = stride.checked_mul(count).is_some_and(|block| block > 0 && ranks.is_multiple_of(block));
        (!divides).then(|| {
            format!(
                "{count} ranks {stride} apart do not divide {ranks} ranks into groups; stride × count has to \
                     divide the ranks"
            )
        })
    }
}

/// `workload[…].graph`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The operations. Streams, messages and collectives take the operations of a rank in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Row>,
    /// The same as a CSV or Parquet file, a column for each key of an operation; `after` separated by `;`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_table: Option<String>,
    /// The ranks of collectives, by the names of groups.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<u64>>,
    /// The same as a CSV or Parquet file with the columns group and rank, members of a group in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_table: Option<String>,
    /// Families of groups, for operations of every rank: `TP = { stride = 1, count = 2 }` divides the ranks into
    /// groups of `count` ranks that are `stride` apart (default: 1).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub families: BTreeMap<String, Family>,
    /// The library of collectives. Default: `textbook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// Number of ranks. Default: up to the last rank with an operation or in a group; required with families.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u64>,
    /// The hosts of the ranks, in order. Default: by `placement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
    /// The order in which ranks are placed at hosts.
    pub placement: Placement,
    /// The processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor: Option<Processor>,
}

impl Params {
    /// Returns the classes of operations that name a class.
    pub fn classes(&self) -> impl Iterator<Item = u8> + '_ {
        self.operations.iter().filter_map(|row| row.class)
    }

    /// True if the operations are those of every rank.
    pub(super) fn is_shared(&self) -> bool {
        self.operations.first().is_some_and(|row| row.rank.is_none())
    }

    pub(super) fn ranks(&self, key: &str) -> Result<u64, Problem> {
        if self.operations.is_empty() {
            return Err((format!("{key}.operations"), "must have at least one operation".into()));
        }
        let operations = wide(self.operations.len());
        if operations > MAX_OPERATIONS {
            let why = format!("{operations} operations exceed the maximum of {MAX_OPERATIONS}");
            return Err((format!("{key}.operations"), why));
        }
        self.check_mixture(key)?;
        let of_rows = self.operations.iter().filter_map(|row| row.rank);
        let known = of_rows.chain(self.groups.values().flatten().copied());
        let needed = known.max().map_or(0, |last| last.saturating_add(1));
        let ranks = self.ranks.unwrap_or(needed);
        if self.is_shared() && ranks == 0 && self.ranks.is_none() {
            let why = "missing; operations without a rank are those of every rank: give the number of ranks";
            return Err((format!("{key}.ranks"), why.into()));
        }
        if ranks == 0 || ranks > MAX_RANKS {
            return Err((
                format!("{key}.ranks"),
                format!("{ranks} is out of range; allowed are 1 to {MAX_RANKS}"),
            ));
        }
        if self.is_shared() && operations * ranks > MAX_SHARED {
            let why = format!(
                "{operations} operations of {ranks} ranks are {}, and exceed the maximum of {MAX_SHARED}",
                operations * ranks
            );
            return Err((format!("{key}.operations"), why));
        }
        if let Some(row) = self.operations.iter().position(|row| row.rank() >= ranks) {
            return Err(self.wrong(key, row, "rank", format!("ranks are numbered 0 to {}", ranks - 1)));
        }
        self.check_groups(key, ranks)?;
        self.check_families(key, ranks)?;
        Ok(ranks)
    }

    /// Refuses operations of which some have a rank and others have none.
    fn check_mixture(&self, key: &str) -> Result<(), Problem> {
        let lacks = |row: &Row| row.rank.is_none();
        match self.operations.iter().position(lacks) {
            Some(row) if !self.operations.iter().all(lacks) => {
                let why = "missing, and other operations have a rank; give each operation a rank, or none";
                Err(self.wrong(key, row, "rank", why.into()))
            }
            _ => Ok(()),
        }
    }

    fn check_groups(&self, key: &str, ranks: u64) -> Result<(), Problem> {
        for (name, members) in &self.groups {
            let wrong = |why: String| Err((format!("{key}.groups.{name}"), why));
            if let Some(rank) = members.iter().find(|rank| **rank >= ranks) {
                return wrong(format!(
                    "rank {rank} is none of the job's; ranks are numbered 0 to {}",
                    ranks - 1
                ));
            }
            let mut sorted = members.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if sorted.len() != members.len() {
                return wrong("a rank is listed twice".into());
            }
        }
        Ok(())
    }

    fn check_families(&self, key: &str, ranks: u64) -> Result<(), Problem> {
        for (name, family) in &self.families {
            let why = if !self.is_shared() {
                "families are for operations of every rank; remove the ranks of the operations, or give the ranks \
                 of each group in groups"
                    .into()
            } else if self.groups.contains_key(name) {
                "also the name of a group; give the family another name".into()
            } else if let Some(why) = family.problem(ranks) {
                why
            } else {
                continue;
            };
            return Err((format!("{key}.families.{name}"), why));
        }
        Ok(())
    }

    /// Returns a problem of an operation with its key, its name and its line in a CSV file.
    pub(super) fn wrong(&self, key: &str, row: usize, column: &str, why: String) -> Problem {
        let one = &self.operations[row];
        let of = self.operations[..row].iter().filter(|other| other.rank == one.rank).count();
        let name = one.name.clone().unwrap_or_else(|| of.to_string());
        let rank = one.rank.map_or_else(|| "every rank".into(), |rank| format!("rank {rank}"));
        let (list, line) = match self.operations_table {
            Some(_) => ("operations_table", format!(", line {} of the file", row + 2)),
            None => ("operations", String::new()),
        };
        (
            format!("{key}.{list}[{row}].{column}"),
            format!("`{name}` ({}) of {rank}{line}: {why}", one.kind.word()),
        )
    }
}
