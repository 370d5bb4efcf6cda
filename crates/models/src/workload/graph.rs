//! A job as a graph of operations: computations, sends and receives of each rank, and their dependencies.
//!
//! An operation begins when all operations in `after` and the previous operation in its `stream` have ended,
//! all of the same rank. The i-th `send` of a rank to a peer with a tag matches the peer's i-th `recv` of
//! this rank and tag; a message may arrive early. The i-th collective that a rank lists for a group is the
//! same for the whole group, as on a communicator of NCCL. A computation takes its duration, or the longer of
//! its FLOP and memory times (roofline; Williams, Waterman and Patterson 2009). Simplifications: a send ends
//! when the last packet starts; a receiver has room for early messages. Source: `docs/models/graph.md`.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, index, number, wide};

use super::placement::Placement;
use super::{Host, Library, Making, Problem, Traffic};
use crate::job::collective::{Algorithm, Collective, Operation as Does};
use crate::job::experts::{Copies, Experts};
use crate::job::{Builder, Operation, Outside, Shared, What, Work};

/// Most operations of a job.
pub const MAX_OPERATIONS: u64 = 1 << 24;
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
    const fn collective(self) -> Option<Does> {
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

    const fn word(self) -> &'static str {
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
    /// The rank of the operation.
    pub rank: u64,
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
    /// The group of a collective.
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
    /// Returns the routing of tokens, if the row names copies other than one for each expert.
    fn routing(&self) -> Option<Experts> {
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
    /// The library of collectives. Default: `textbook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// Number of ranks. Default: up to the last rank with an operation or in a group.
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

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let ranks = self.ranks(&key)?;
        for (row, one) in self.operations.iter().enumerate() {
            if let Some(class) = one.class {
                making.check_class(class, "").map_err(|(_, why)| self.wrong(&key, row, "class", why))?;
            }
        }
        let library = making.library(self.library, false);
        let hosts = self.hosts.as_ref();
        let placed = making.ranks(library, Some(ranks as usize), hosts, self.placement, &key)?;
        let mut reading = Reading::new(self, &key, making.job_of(&placed, &key)?, ranks as u32);
        reading.list()?;
        reading.order()?;
        reading.match_messages()?;
        reading.match_collectives()?;
        let mut graph = reading.builder.build();
        for (rank, one) in graph.ranks.iter().enumerate() {
            if let Some(place) = one.circle() {
                let row = reading.places[rank][index(place)];
                return Err(self.wrong(
                    &key,
                    row,
                    "after",
                    "the operation would wait for itself; break the circle".into(),
                ));
            }
        }
        graph.wait_outside(reading.outside);
        making.add_job(graph)
    }

    fn has_messages(&self) -> bool {
        true
    }
}

impl Params {
    /// Returns the classes of operations that name a class.
    pub fn classes(&self) -> impl Iterator<Item = u8> + '_ {
        self.operations.iter().filter_map(|row| row.class)
    }

    fn ranks(&self, key: &str) -> Result<u64, Problem> {
        if self.operations.is_empty() {
            return Err((format!("{key}.operations"), "must have at least one operation".into()));
        }
        if wide(self.operations.len()) > MAX_OPERATIONS {
            let why = format!("{} operations exceed the maximum of {MAX_OPERATIONS}", self.operations.len());
            return Err((format!("{key}.operations"), why));
        }
        let known = self.operations.iter().map(|row| row.rank).chain(self.groups.values().flatten().copied());
        let needed = known.max().map_or(0, |last| last.saturating_add(1));
        let ranks = self.ranks.unwrap_or(needed);
        if ranks == 0 || ranks > MAX_RANKS {
            return Err((
                format!("{key}.ranks"),
                format!("{ranks} is out of range; allowed are 1 to {MAX_RANKS}"),
            ));
        }
        if let Some(row) = self.operations.iter().position(|row| row.rank >= ranks) {
            return Err(self.wrong(key, row, "rank", format!("ranks are numbered 0 to {}", ranks - 1)));
        }
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
        Ok(ranks)
    }

    /// Returns a problem of an operation with its key, its name and its line in a CSV file.
    fn wrong(&self, key: &str, row: usize, column: &str, why: String) -> Problem {
        let one = &self.operations[row];
        let of = self.operations[..row].iter().filter(|other| other.rank == one.rank).count();
        let name = one.name.clone().unwrap_or_else(|| of.to_string());
        let (list, line) = match self.operations_table {
            Some(_) => ("operations_table", format!(", line {} of the file", row + 2)),
            None => ("operations", String::new()),
        };
        (
            format!("{key}.{list}[{row}].{column}"),
            format!("`{name}` ({}) of rank {}{line}: {why}", one.kind.word(), one.rank),
        )
    }
}

/// A graph during the reading of its rows.
struct Reading<'a> {
    params: &'a Params,
    key: &'a str,
    builder: Builder,
    /// The rows of each rank.
    places: Vec<Vec<usize>>,
    /// The place of each row in its rank.
    place_of: Vec<u32>,
    /// The groups' places.
    groups: FxHashMap<&'a str, u32>,
    outside: Vec<Outside>,
}

/// No number.
const NONE: u32 = u32::MAX;

impl<'a> Reading<'a> {
    fn new(params: &'a Params, key: &'a str, mut builder: Builder, ranks: u32) -> Self {
        let mut places = vec![Vec::new(); index(ranks)];
        let place = |(row, one): (usize, &Row)| {
            let of: &mut Vec<usize> = &mut places[one.rank as usize];
            of.push(row);
            number(of.len()) - 1
        };
        let place_of = params.operations.iter().enumerate().map(place).collect();
        let add = |(name, members): (&'a String, &Vec<u64>)| {
            (name.as_str(), builder.group(name, members.iter().map(|rank| *rank as u32).collect()))
        };
        let groups = params.groups.iter().map(add).collect();
        Self { params, key, builder, places, place_of, groups, outside: Vec::new() }
    }

    fn rows(&self) -> impl Iterator<Item = (usize, &'a Row)> + use<'a> {
        self.params.operations.iter().enumerate()
    }

    fn wrong<T>(&self, row: usize, column: &str, why: String) -> Result<T, Problem> {
        Err(self.params.wrong(self.key, row, column, why))
    }

    /// Refuses columns that do not fit the kind of operation, and rows without a required column.
    fn check(&self, row: usize, one: &Row) -> Result<(), Problem> {
        let is_collective = one.kind.collective().is_some();
        let is_message = matches!(one.kind, Kind::Send | Kind::Recv);
        let given = [
            ("duration", one.duration.is_some(), one.kind == Kind::Compute),
            ("flop", one.flop.is_some(), one.kind == Kind::Compute),
            ("memory", one.memory.is_some(), one.kind == Kind::Compute),
            ("peer", one.peer.is_some(), is_message),
            ("tag", one.tag != 0, is_message),
            ("size", one.size.is_some(), is_message || is_collective && one.kind != Kind::Barrier),
            ("group", one.group.is_some(), is_collective),
            ("algorithm", one.algorithm.is_some(), is_collective),
            ("channels", one.channels.is_some(), is_collective || is_message),
            ("chunk", one.chunk.is_some(), is_collective),
            ("server", one.server.is_some(), is_collective),
            ("class", one.class.is_some(), is_collective || one.kind == Kind::Send),
        ];
        if let Some((column, ..)) = given.iter().find(|(_, is_given, is_meant)| *is_given && !*is_meant) {
            return self.wrong(row, column, format!("not allowed for `{}`; remove it", one.kind.word()));
        }
        if one.iteration > 1 << 15 {
            return self.wrong(
                row,
                "iteration",
                format!("{} is out of range; allowed are 0 to {}", one.iteration, 1 << 15),
            );
        }
        let lacks = |column: &str, what: &str| self.wrong(row, column, format!("missing; {what}"));
        match one.kind {
            Kind::Send | Kind::Recv if one.peer.is_none() => lacks("peer", "a message needs a peer"),
            Kind::Send if one.size.is_none() => lacks("size", "a message needs a size"),
            _ if is_collective && one.group.is_none() => lacks("group", "a collective needs a group"),
            _ if one.copies.is_some() && one.kind != Kind::AllToAll => {
                lacks("copies", "only an all-to-all has copies of tokens; remove it")
            }
            _ if one.copies.is_some_and(|copies| copies != Copies::Expert)
                && !one.experts.is_some_and(|all| one.top_k.is_some_and(|k| (1..=all).contains(&k))) =>
            {
                lacks("copies", "needs experts and top_k, of which top_k is at most experts")
            }
            _ if is_collective && one.kind != Kind::Barrier && one.size.is_none() => {
                lacks("size", "a collective needs a size")
            }
            _ => Ok(()),
        }
    }

    /// Returns the duration of a computation.
    fn time(&self, row: usize, one: &Row) -> Result<Duration, Problem> {
        match (one.duration, one.flop, one.memory) {
            (Some(time), None, None) if time > Duration::ms(1_000_000) => {
                self.wrong(row, "duration", format!("{time} is above the maximum of 1000s"))
            }
            (Some(time), None, None) => Ok(time),
            (Some(_), ..) => {
                self.wrong(row, "duration", "mutually exclusive with flop and memory; remove one".into())
            }
            (None, None, None) => self.wrong(row, "duration", "missing; give duration or flop".into()),
            (None, flop, memory) => {
                let Some(processor) = self.params.processor else {
                    return self.wrong(
                        row,
                        "flop",
                        format!("a processor speed is missing; set {}.processor.flops", self.key),
                    );
                };
                let flop = flop.unwrap_or(0.0);
                let of_memory =
                    processor.memory.map_or(0.0, |rate| memory.map_or(0.0, |bytes| bytes.real() / rate));
                let seconds = (flop / processor.flops).max(of_memory);
                if !(0.0..=1000.0).contains(&seconds) {
                    return self.wrong(
                        row,
                        "flop",
                        format!("{flop} takes {seconds} s; allowed are 0 to 1000 s"),
                    );
                }
                Ok(Duration::of_real(seconds * 1e12))
            }
        }
    }

    fn add_shared(&mut self, what: What, label: &str, row: usize) -> u32 {
        let one = &self.params.operations[row];
        let name = self.name(row);
        let label = self.builder.label(one.label.as_deref().unwrap_or(label));
        self.builder.share(Shared { what, label, iteration: one.iteration as u16, name, class: one.class })
    }

    fn name(&mut self, row: usize) -> u32 {
        let one = &self.params.operations[row];
        match &one.name {
            Some(name) => self.builder.name(name),
            None => self.builder.name(one.kind.word()),
        }
    }

    /// Lists the operations. Sends, receives and collectives get their numbers later.
    fn list(&mut self) -> Result<(), Problem> {
        let mut units: FxHashMap<&str, u16> = FxHashMap::default();
        for (row, one) in self.rows() {
            self.check(row, one)?;
            let known = units.len() as u16 + 1;
            let unit = one.unit.as_ref().map_or(0, |unit| *units.entry(unit).or_insert(known));
            if unit > 1 << 10 {
                return self.wrong(
                    row,
                    "unit",
                    format!("too many names of units; the maximum is {}", 1 << 10),
                );
            }
            let work = if one.kind == Kind::Compute {
                Work::Compute(self.time(row, one)?)
            } else {
                Work::Receive(NONE)
            };
            let operation = Operation { work, name: self.name(row), iteration: one.iteration as u16, unit };
            self.builder.add(one.rank as u32, operation, &[]);
        }
        Ok(())
    }

    /// Adds the dependencies of `after` and of streams.
    fn order(&mut self) -> Result<(), Problem> {
        for (rank, rows) in (0..).zip(std::mem::take(&mut self.places)) {
            let mut names: FxHashMap<String, u32> = FxHashMap::default();
            for (place, row) in (0..).zip(&rows) {
                let name = self.params.operations[*row].name.clone().unwrap_or_else(|| place.to_string());
                if names.insert(name, place).is_some() {
                    return self.wrong(*row, "name", "duplicate name of an operation of the rank".into());
                }
            }
            let mut streams: FxHashMap<&str, u32> = FxHashMap::default();
            for (place, row) in (0..).zip(&rows) {
                let one = &self.params.operations[*row];
                for name in &one.after {
                    match names.get(name) {
                        Some(before) => self.builder.wait(rank, place, *before),
                        None if name.contains('/') => {
                            let why = format!(
                                "no flow with this id ends at the host of the rank, and no operation of another job at \
                                 the host is called `{name}`"
                            );
                            let unknown = self.params.wrong(self.key, *row, "after", why);
                            self.outside.push(Outside { rank, place, name: name.clone(), unknown });
                        }
                        None => {
                            return self.wrong(*row, "after", format!("the rank has no operation `{name}`"));
                        }
                    }
                }
                if let Some(before) = one.stream.as_ref().and_then(|stream| streams.insert(stream, place)) {
                    self.builder.wait(rank, place, before);
                }
            }
            self.places.push(rows);
        }
        Ok(())
    }

    /// Matches sends and receives.
    fn match_messages(&mut self) -> Result<(), Problem> {
        // By sender, receiver and tag: rows that send, and rows that receive.
        let mut pairs: BTreeMap<(u64, u64, u64), [Vec<usize>; 2]> = BTreeMap::new();
        for (row, one) in self.rows() {
            let (Some(peer), Kind::Send | Kind::Recv) = (one.peer, one.kind) else { continue };
            if peer == one.rank || peer >= wide(self.places.len()) {
                let why =
                    format!("{peer} is no other rank; ranks are numbered 0 to {}", self.places.len() - 1);
                return self.wrong(row, "peer", why);
            }
            let is_send = one.kind == Kind::Send;
            let (from, to) = if is_send { (one.rank, peer) } else { (peer, one.rank) };
            pairs.entry((from, to, one.tag)).or_default()[usize::from(!is_send)].push(row);
        }
        for ((from, to, tag), [sends, receives]) in pairs {
            if let Some(row) = sends.get(receives.len()) {
                return self.wrong(
                    *row,
                    "peer",
                    format!("rank {to} has no matching recv (from {from}, tag {tag})"),
                );
            }
            if let Some(row) = receives.get(sends.len()) {
                return self.wrong(
                    *row,
                    "peer",
                    format!("rank {from} has no matching send (to {to}, tag {tag})"),
                );
            }
            for (send, receive) in sends.iter().zip(&receives) {
                let one = &self.params.operations[*send];
                let bytes = one.size.map_or(0, |size| size.0);
                if bytes == 0 {
                    return self.wrong(*send, "size", "must be at least 1B".into());
                }
                if self.params.operations[*receive].size.is_some_and(|size| size.0 != bytes) {
                    return self.wrong(*receive, "size", format!("the matching send has {bytes} B"));
                }
                let channel = one.channels.unwrap_or(0);
                if channel > 63 {
                    return self.wrong(
                        *send,
                        "channels",
                        format!("{channel} is out of range; a message takes channel 0 to 63"),
                    );
                }
                let what = What::Message { from: from as u32, to: to as u32, channel: channel as u16, bytes };
                let number = self.add_shared(what, "p2p", *send);
                for (row, work) in [(*send, Work::Send(number)), (*receive, Work::Receive(number))] {
                    self.set(row, work);
                }
            }
        }
        Ok(())
    }

    /// Sets the number of the message or collective of an operation.
    fn set(&mut self, row: usize, work: Work) {
        self.builder.set(self.params.operations[row].rank as u32, self.place_of[row], work);
    }

    /// Joins the i-th collective of each rank of a group.
    fn match_collectives(&mut self) -> Result<(), Problem> {
        // Of each group and rank the rows, in order.
        let mut rows: BTreeMap<&str, BTreeMap<u32, Vec<usize>>> = BTreeMap::new();
        for (row, one) in self.rows() {
            let Some(group) = one.group.as_deref().filter(|_| one.kind.collective().is_some()) else {
                continue;
            };
            let Some(members) = self.params.groups.get(group) else {
                let known: Vec<&str> = self.params.groups.keys().map(String::as_str).collect();
                return self.wrong(
                    row,
                    "group",
                    format!("unknown group `{group}`; groups are {}", known.join(", ")),
                );
            };
            if !members.contains(&one.rank) {
                return self.wrong(row, "rank", format!("the rank is not in the group `{group}`"));
            }
            rows.entry(group).or_default().entry(one.rank as u32).or_default().push(row);
        }
        for (group, of_rank) in rows {
            let members = &self.params.groups[group];
            let lists: Vec<&[usize]> = members
                .iter()
                .map(|rank| of_rank.get(&(*rank as u32)).map_or(&[][..], Vec::as_slice))
                .collect();
            let (most, fewest) = (lists.iter().map(|l| l.len()).max(), lists.iter().map(|l| l.len()).min());
            if let (Some(most), Some(fewest)) = (most, fewest)
                && most != fewest
            {
                let lacks = lists.iter().position(|l| l.len() == fewest).map_or(0, |place| members[place]);
                let row = lists.iter().find_map(|l| l.get(fewest)).copied().unwrap_or_default();
                let why =
                    format!("rank {lacks} of the group `{group}` takes part in only {fewest} collectives");
                return self.wrong(row, "group", why);
            }
            for i in 0..lists[0].len() {
                self.join(group, &lists.iter().map(|l| l[i]).collect::<Vec<_>>())?;
            }
        }
        Ok(())
    }

    /// Makes one collective from the rows of all ranks of a group.
    fn join(&mut self, group: &str, rows: &[usize]) -> Result<(), Problem> {
        let is_nccl = self.builder.is_nccl();
        let collective = |one: &Row| -> Option<Collective> {
            let does = one.kind.collective()?;
            let default = if does == Does::Barrier {
                Collective::barrier()
            } else {
                Collective::new(does, one.size.unwrap_or_default())
            };
            let (usual, few) = if is_nccl { (Algorithm::Auto, 0) } else { (default.algorithm, 1) };
            let (algorithm, channels) = (one.algorithm.unwrap_or(usual), one.channels.unwrap_or(few));
            let overhead = one.overhead.unwrap_or_default();
            let experts = one.routing();
            let (chunk, group) = (one.chunk, one.server);
            Some(Collective { algorithm, channels, chunk, group, experts, overhead, ..default })
        };
        let Some(first) = collective(&self.params.operations[rows[0]]) else { return Ok(()) };
        let class = |row: &usize| self.params.operations[*row].class;
        let differs = |row: &&usize| {
            collective(&self.params.operations[**row]).as_ref() != Some(&first)
                || class(row) != class(&rows[0])
        };
        if let Some(row) = rows.iter().find(differs) {
            let other = self.params.operations[rows[0]].rank;
            return self.wrong(
                *row,
                "kind",
                format!("rank {other} has a different collective of the group `{group}` at this position"),
            );
        }
        if first.size.0 == 0 {
            return self.wrong(rows[0], "size", "must be at least 1B".into());
        }
        let shape = match self.builder.shape(&first, self.groups[group]) {
            Ok(shape) => shape,
            Err((name, why)) => {
                let column = match name {
                    "hosts" => "group",
                    "group" => "server",
                    "" => "size",
                    name => name,
                };
                return self.wrong(rows[0], column, why);
            }
        };
        let what = What::Collective { shape, group: self.groups[group] };
        let number = self.add_shared(what, group, rows[0]);
        for (place, row) in (0..).zip(rows) {
            self.set(*row, Work::Collective { number, place });
        }
        Ok(())
    }
}
