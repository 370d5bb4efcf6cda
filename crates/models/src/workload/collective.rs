//! A collective operation among hosts, as traffic of its own: its ranks begin together, and do it once.
//!
//! What they send one another is in `job/collective.rs`. Its messages go over connections that keep their state, or each is a flow of
//! its own, which starts when those that its sender needs for it have arrived whole, and the one before it between the two on its
//! channel has left.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, index, number, wide};

use super::{Connections, Host, Made, Making, Problem, Together, Traffic};
use crate::job::collective::{Algorithm, Collective, Operation};
use crate::job::{self, Builder, Shared, What, Work};
use crate::topology::Reach;
use crate::wrong::Wrong;

/// `workload[…].collective`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What the ranks have in the end.
    pub operation: Operation,
    /// How they come to it. Default: a ring, or all at once for `all_to_all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// The vector of each rank; of `all_gather` what each has in the end, of `all_to_all` all that it has for ranks.
    pub size: Bytes,
    /// The ranks, in order. Default: all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
    /// Channels that share the data and run beside one another.
    #[serde(default = "one")]
    pub channels: u64,
    /// The largest piece of a message that goes on by itself. Default: whole messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Ranks of a group, those that follow one another, for `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
}

fn one() -> u64 {
    1
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let hosts = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        making.check_size(self.size, &key)?;
        let collective = self.collective();
        let mut together = Together {
            workload: making.index(),
            operation: self.operation.name(),
            algorithm: collective.algorithm.name(),
            ranks: number(hosts.len()),
            bytes: self.size.0,
            bus: self.operation.bus(hosts.len()),
            messages: 0,
        };
        if making.workload.connections() == Connections::Persistent {
            let mut builder = making.job(hosts);
            together.messages = self.job(&collective, &mut builder).map_err(|wrong| below(&key, wrong))?;
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
        together.messages = wide(made.len());
        making.measure(together);
        making.add_made(made)
    }

    fn has_messages(&self) -> bool {
        true
    }
}

/// What is wrong with a table, with its key.
fn below(key: &str, (name, why): Wrong) -> Problem {
    (if name.is_empty() { key.into() } else { format!("{key}.{name}") }, why)
}

impl Params {
    fn collective(&self) -> Collective {
        let default = Collective::new(self.operation, self.size);
        let algorithm = self.algorithm.unwrap_or(default.algorithm);
        Collective { algorithm, channels: self.channels, chunk: self.chunk, group: self.group, ..default }
    }

    /// A job of one operation; returns its messages.
    fn job(&self, collective: &Collective, builder: &mut Builder) -> Result<u64, Wrong> {
        let ranks = builder.ranks();
        let (name, label) = (builder.name(self.operation.name()), builder.label("all"));
        let group = builder.group("all", (0..ranks).collect());
        let shape = builder.shape(collective, group)?;
        let number = builder.share(Shared { what: What::Collective { shape, group }, label, iteration: 0, name });
        for place in 0..ranks {
            builder.add(place, job::Operation { work: Work::Collective { number, place }, name, iteration: 0, unit: 0 }, &[]);
        }
        Ok(builder.messages())
    }
}

/// The messages among so many ranks at these nodes as flows of their own: those of a channel from one rank to another leave in order.
fn flows(collective: &Collective, nodes: &[u32], ranks: usize) -> Result<Vec<Made>, Wrong> {
    let mut last = HashMap::new();
    let made = collective.messages(ranks)?.into_iter().enumerate().map(|(place, (piece, mut after))| {
        after.extend(last.insert((piece.channel, piece.from, piece.to), place));
        let [src, dst] = [piece.from, piece.to].map(|place| nodes[index(place)]);
        Made { src, dst, size: Bytes(piece.bytes), start: Duration::ZERO, after }
    });
    Ok(made.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_a_channel_leave_in_order() {
        let ring = Collective { chunk: Some(Bytes(100)), ..Collective::new(Operation::AllReduce, Bytes(1600)) };
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
