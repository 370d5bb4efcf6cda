//! A collective operation among hosts as a workload: the ranks begin together and run the operation once.
//!
//! `job/collective/mod.rs` has the messages. Messages use persistent connections, or each message is a flow. Such
//! a flow starts when the sender has received all messages that it needs and the previous message of the
//! channel to the same rank has left. Source: `docs/models/collective.md`.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::{ParamError, remove};
use xoff_models::paths::topology::Reach;
use xoff_models::traffic::workload::{Connections, Host, Made, Making, Over, Problem, Together, Traffic};
use xoff_units::{Bytes, Duration, index, number, wide};

use super::library::MakesJobs;
use super::{Library, Placement};
use crate::job::collective::{Algorithm, Collective, Operation};
use crate::job::nccl::tuner::Protocol;
use crate::job::{self, Builder, Shared, What, Work};

/// `workload[…].collective`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The operation: the data of each rank at the end.
    pub operation: Operation,
    /// The library. Default: `textbook`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<Library>,
    /// The algorithm. Default: a ring, or all messages at once for `all_to_all`; with NCCL the algorithm with
    /// the least predicted time (`auto`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// The vector of each rank; for `all_gather` the data of a rank at the end, for `all_to_all` the data of
    /// a rank for all ranks.
    pub size: Bytes,
    /// The hosts of the ranks, in order. Default: all hosts. With NCCL each GPU at a host is a rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
    /// Channels that share the data and run in parallel. Default: one; with NCCL as many as NCCL uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<u64>,
    /// Largest piece of a message that is passed on separately. Default: whole messages; with NCCL the chunk
    /// of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Consecutive ranks of a group, for `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        making.check_size(self.size, &key)?;
        let library = making.library(self.library, false);
        if library == Library::Nccl {
            return self.by_nccl(making, &key);
        }
        let hosts = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        let collective = self.collective();
        let mut together = Together {
            workload: making.index(),
            operation: self.operation.name(),
            algorithm: collective.algorithm.name(),
            ranks: number(hosts.len()),
            bytes: self.size.0,
            bus: self.operation.bus(hosts.len()),
            protocol: None,
            predicted: None,
            channels: collective.channels as u32,
            over: Over::Messages(0),
        };
        if making.workload.connections == Connections::Persistent {
            let mut builder = making.job(hosts);
            let messages = self.job(&collective, &mut builder).map_err(|wrong| below(&key, wrong))?;
            together.over = Over::Messages(messages);
            making.measure(together);
            return making.add_job(builder.build());
        }
        let mut places = hosts;
        if collective.algorithm == Algorithm::InNetwork {
            let (reaches, ranks) = (making.reach(&places), (0..number(places.len())).collect::<Vec<_>>());
            let closest = Reach::closest(reaches.iter(), &ranks).ok_or_else(|| below(&key, Reach::none()))?;
            places.push(reaches[closest].node);
        }
        let made = flows(&collective, &places, index(together.ranks)).map_err(|wrong| below(&key, wrong))?;
        together.over = Over::Messages(wide(made.len()));
        making.measure(together);
        making.add_made(made)
    }

    fn has_messages(&self) -> bool {
        true
    }
}

/// Adds the key of the table to a problem.
fn below(key: &str, (name, why): ParamError) -> Problem {
    (if name.is_empty() { key.into() } else { format!("{key}.{name}") }, why)
}

impl Params {
    fn collective(&self) -> Collective {
        let default = Collective::new(self.operation, self.size);
        let algorithm = self.algorithm.unwrap_or(default.algorithm);
        Collective {
            algorithm,
            channels: self.channels.unwrap_or(1),
            chunk: self.chunk,
            group: self.group,
            ..default
        }
    }

    /// Makes a job of one operation of NCCL.
    fn by_nccl(&self, making: &mut Making<'_>, key: &str) -> Result<(), Problem> {
        if making.workload.connections == Connections::PerMessage {
            let why = remove("NCCL has persistent connections");
            return Err((format!("{}.connections", making.at()), why));
        }
        let ranks = making.ranks(Library::Nccl, None, self.hosts.as_ref(), Placement::Linear, key)?;
        if ranks.nodes.len() < 2 {
            return Err((format!("{key}.hosts"), "a collective needs two GPUs or more".into()));
        }
        let mut builder = making.job_of(&ranks, key)?;
        let algorithm = self.algorithm.unwrap_or(Algorithm::Auto);
        let default = Collective::new(self.operation, self.size);
        let channels = self.channels.unwrap_or(0);
        let collective = Collective { algorithm, channels, chunk: self.chunk, group: self.group, ..default };
        self.job(&collective, &mut builder).map_err(|wrong| below(key, wrong))?;
        let graph = builder.build();
        let (count, shape) = (number(ranks.nodes.len()), &graph.shapes[0]);
        making.measure(Together {
            workload: making.index(),
            operation: self.operation.name(),
            algorithm: shape.of.algorithm.name(),
            ranks: count,
            bytes: self.size.0,
            bus: self.operation.bus(index(count)),
            protocol: shape.protocol.map(Protocol::name),
            predicted: shape.predicted,
            channels: shape.of.channels as u32,
            over: Over::Ranks(count),
        });
        making.add_job(graph)
    }

    /// Makes a job of one operation; returns the number of messages.
    fn job(&self, collective: &Collective, builder: &mut Builder) -> Result<u64, ParamError> {
        let ranks = builder.ranks();
        let (name, label) = (builder.name(self.operation.name()), builder.label("all"));
        let group = builder.group("all", (0..ranks).collect());
        let shape = builder.shape(collective, group)?;
        let number = builder.share(Shared {
            what: What::Collective { shape, group },
            label,
            iteration: 0,
            name,
            class: None,
        });
        for place in 0..ranks {
            builder.add(
                place,
                job::Operation { work: Work::Collective { number, place }, name, iteration: 0, unit: 0 },
                &[],
            );
        }
        Ok(builder.messages())
    }
}

/// Returns the messages among `ranks` ranks at these nodes as flows. Messages of a channel between two ranks
/// leave in order.
fn flows(collective: &Collective, nodes: &[u32], ranks: usize) -> Result<Vec<Made>, ParamError> {
    let mut last = HashMap::new();
    let messages = collective.messages(ranks)?;
    let made = messages.iter().enumerate().map(|(place, (piece, before))| {
        let mut after: Vec<usize> = before.iter().map(|one| index(*one)).collect();
        after.extend(last.insert((piece.channel, piece.from, piece.to), place));
        let [src, dst] = [piece.from, piece.to].map(|place| nodes[index(place)]);
        Made { src, dst, size: Bytes(piece.bytes), start: Duration::ZERO, after, name: None }
    });
    Ok(made.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_channel_leave_in_order() {
        let ring =
            Collective { chunk: Some(Bytes(100)), ..Collective::new(Operation::AllReduce, Bytes(1600)) };
        let list = flows(&ring, &[4, 5, 6, 7], 4).unwrap();
        for (place, f) in list.iter().enumerate() {
            for other in &f.after {
                let awaited = &list[*other];
                assert!(*other < place, "nothing waits in a circle");
                assert!(awaited.dst == f.src || (awaited.src, awaited.dst) == (f.src, f.dst));
            }
            let before = list[..place].iter().rposition(|other| (other.src, other.dst) == (f.src, f.dst));
            assert!(before.is_none_or(|before| f.after.contains(&before)));
        }
    }
}
