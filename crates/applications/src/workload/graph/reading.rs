//! The rows of a graph: checked, put in order, and matched with the rows of other ranks.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;
use xoff_models::parts::param_error::ParamError;
use xoff_models::traffic::workload::Problem;
use xoff_units::{Duration, index, number, wide};

use super::params::{Kind, MAX_OPERATIONS, Params, Row};
use crate::job::collective::{Algorithm, Collective, Operation as Does};
use crate::job::experts::Copies;
use crate::job::{Builder, Graph, Operation, Outside, Shared, What, Work};

/// A graph during the reading of its rows.
pub(super) struct Reading<'a> {
    pub params: &'a Params,
    pub key: &'a str,
    pub builder: Builder,
    /// The rows of each rank; of rank 0 alone for a program of every rank.
    pub places: Vec<Vec<usize>>,
    /// The place of each row in its rank.
    pub place_of: Vec<u32>,
    /// The groups' places; for a family the places of its groups.
    pub groups: FxHashMap<&'a str, Range<u32>>,
    /// Operations that wait for other workloads.
    outside: Vec<Outside>,
}

/// No number.
const NONE: u32 = u32::MAX;

impl<'a> Reading<'a> {
    pub fn new(params: &'a Params, key: &'a str, mut builder: Builder, ranks: u32) -> Self {
        let mut places = vec![Vec::new(); if params.is_shared() { 1 } else { index(ranks) }];
        let place = |(row, one): (usize, &Row)| {
            let of: &mut Vec<usize> = &mut places[one.rank() as usize];
            of.push(row);
            number(of.len()) - 1
        };
        let place_of = params.operations.iter().enumerate().map(place).collect();
        let mut groups = FxHashMap::default();
        for (name, members) in params.all_groups(u64::from(ranks)) {
            let mut all = 0..0;
            for (name, ranks) in members {
                let place = builder.group(&name, ranks.iter().map(|rank| *rank as u32).collect());
                all = if all.is_empty() { place..place + 1 } else { all.start..place + 1 };
            }
            groups.insert(name, all);
        }
        if params.is_shared() {
            builder.share_program();
        }
        Self { params, key, builder, places, place_of, groups, outside: Vec::new() }
    }

    /// Returns the graph.
    pub fn build(mut self) -> Graph {
        self.builder.wait_outside(self.outside);
        self.builder.build()
    }

    pub fn rows(&self) -> impl Iterator<Item = (usize, &'a Row)> + use<'a> {
        self.params.operations.iter().enumerate()
    }

    pub fn wrong<T>(&self, row: usize, column: &str, why: String) -> Result<T, Problem> {
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
        if is_message && one.rank.is_none() {
            let why = "a message has ranks, and every rank runs this program; give each operation its rank";
            return self.wrong(row, "kind", why.into());
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

    pub fn name(&mut self, row: usize) -> u32 {
        let one = &self.params.operations[row];
        match &one.name {
            Some(name) => self.builder.name(name),
            None => self.builder.name(one.kind.word()),
        }
    }

    /// Lists the operations. Sends, receives and collectives get their numbers later.
    pub fn list(&mut self) -> Result<(), Problem> {
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
            self.builder.add(one.rank() as u32, operation, &[]);
        }
        Ok(())
    }

    /// Adds the dependencies of `after` and of streams.
    pub fn order(&mut self) -> Result<(), Problem> {
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
                            self.wait_outside(rank, place, name, unknown)?;
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

    /// Lets an operation wait for another workload: at its rank, or at every rank.
    fn wait_outside(&mut self, rank: u32, place: u32, name: &str, unknown: Problem) -> Result<(), Problem> {
        let ranks = if self.params.is_shared() { 0..self.builder.ranks() } else { rank..rank + 1 };
        if wide(self.outside.len() + ranks.len()) > MAX_OPERATIONS >> 4 {
            let why =
                format!("more than {} operations of all ranks wait for other workloads", MAX_OPERATIONS >> 4);
            return Err((unknown.0, why));
        }
        let wait = |rank| Outside { rank, place, name: name.into(), unknown: unknown.clone() };
        self.outside.extend(ranks.map(wait));
        Ok(())
    }

    /// Matches sends and receives.
    pub fn match_messages(&mut self) -> Result<(), Problem> {
        // By sender, receiver and tag: rows that send, and rows that receive.
        let mut pairs: BTreeMap<(u64, u64, u64), [Vec<usize>; 2]> = BTreeMap::new();
        for (row, one) in self.rows() {
            let (Some(peer), Kind::Send | Kind::Recv) = (one.peer, one.kind) else { continue };
            if peer == one.rank() || peer >= wide(self.places.len()) {
                let why =
                    format!("{peer} is no other rank; ranks are numbered 0 to {}", self.places.len() - 1);
                return self.wrong(row, "peer", why);
            }
            let is_send = one.kind == Kind::Send;
            let (from, to) = if is_send { (one.rank(), peer) } else { (peer, one.rank()) };
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
        self.builder.set(self.params.operations[row].rank() as u32, self.place_of[row], work);
    }

    /// Joins the i-th collective of each rank of a group.
    pub fn match_collectives(&mut self) -> Result<(), Problem> {
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
            if !members.contains(&one.rank()) {
                return self.wrong(row, "rank", format!("the rank is not in the group `{group}`"));
            }
            rows.entry(group).or_default().entry(one.rank() as u32).or_default().push(row);
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
        let collective = |one: &Row| self.collective(one);
        let Some(first) = collective(&self.params.operations[rows[0]]) else { return Ok(()) };
        let class = |row: &usize| self.params.operations[*row].class;
        let differs = |row: &&usize| {
            collective(&self.params.operations[**row]).as_ref() != Some(&first)
                || class(row) != class(&rows[0])
        };
        if let Some(row) = rows.iter().find(differs) {
            let other = self.params.operations[rows[0]].rank();
            return self.wrong(
                *row,
                "kind",
                format!("rank {other} has a different collective of the group `{group}` at this position"),
            );
        }
        self.check_size(rows[0], &first)?;
        let place = self.groups[group].start;
        let shape = self.builder.shape(&first, place).map_err(|why| self.refused(rows[0], why))?;
        let what = What::Collective { shape, group: place };
        let number = self.add_shared(what, group, rows[0]);
        for (place, row) in (0..).zip(rows) {
            self.set(*row, Work::Collective { number, place });
        }
        Ok(())
    }

    /// Returns the collective of a row.
    pub fn collective(&self, one: &Row) -> Option<Collective> {
        let does = one.kind.collective()?;
        let default = if does == Does::Barrier {
            Collective::barrier()
        } else {
            Collective::new(does, one.size.unwrap_or_default())
        };
        let (usual, few) = if self.builder.is_nccl() { (Algorithm::Auto, 0) } else { (default.algorithm, 1) };
        let (algorithm, channels) = (one.algorithm.unwrap_or(usual), one.channels.unwrap_or(few));
        let overhead = one.overhead.unwrap_or_default();
        let experts = one.routing();
        let (chunk, group) = (one.chunk, one.server);
        Some(Collective { algorithm, channels, chunk, group, experts, overhead, ..default })
    }

    /// Refuses a collective without bytes.
    pub fn check_size(&self, row: usize, collective: &Collective) -> Result<(), Problem> {
        if collective.size.0 == 0 {
            return self.wrong(row, "size", "must be at least 1B".into());
        }
        Ok(())
    }

    /// Returns the problem of a collective that its group cannot run.
    pub fn refused(&self, row: usize, (name, why): ParamError) -> Problem {
        let column = match name {
            "hosts" => "group",
            "group" => "server",
            "" => "size",
            name => name,
        };
        self.params.wrong(self.key, row, column, why)
    }
}
