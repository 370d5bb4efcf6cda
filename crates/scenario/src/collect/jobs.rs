//! Delivered messages, and finished operations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use xoff_engine::Checkpoint;
use xoff_models::frames::Kind;
use xoff_models::job::{Ended, Graph, What, Work};
use xoff_models::message::{Delivered, Post};
use xoff_models::node::Node;
use xoff_models::packet::Packet;
use xoff_models::serving::SERVING;
use xoff_models::symmetry::View;
use xoff_models::workload::AllFlows;
use xoff_units::{Moment, index, wide};

use super::Collector;
use crate::delays;
use crate::measures::Over;
use crate::tables::messages::Message;
use crate::tables::operations::Operation;

/// Maximum number of named operations.
const MOST: usize = 10;

impl Collector {
    /// Takes the messages and operations recorded by hosts.
    pub(super) fn take_messages(&mut self, cp: &mut Checkpoint<'_, Node>, plan: &AllFlows) {
        if plan.jobs.is_empty() && plan.serving.is_empty() {
            return;
        }
        let unfold = self.unfold.clone();
        let image = |view: &View, one: &Delivered| unfold.delivered(view, one);
        let mut delivered = unfold.take(
            cp,
            |node| node.endpoint.as_mut().map_or_else(Vec::new, |e| std::mem::take(&mut e.delivered)),
            self.keeps_flows.then_some(&image),
        );
        let mut ended = unfold.take(
            cp,
            |node| node.endpoint.as_mut().map_or_else(Vec::new, |e| e.programs.take_ended().collect()),
            Some(&|view: &View, one: &Ended| unfold.ended(view, one)),
        );
        delivered.sort_by_key(|d| d.at);
        ended.sort_by_key(|e| e.end);
        for one in &delivered {
            if one.message.post.id.job & SERVING == 0 {
                self.add_message(plan, one);
            } else {
                self.add_served(plan, one);
            }
        }
        for one in &ended {
            self.measures.end(one);
        }
        // A reducer has messages alone.
        ended.retain(|one| one.rank < plan.jobs[index(one.job)].processors);
        self.ends.end(wide(ended.len()), ended.last().map_or(Moment::ZERO, |one| one.end));
        if self.keeps_flows {
            self.rows.operations.extend(ended.iter().map(|one| operation(plan, one)));
        }
    }

    /// Describes operations that wait for one another without end.
    pub(super) fn stuck(cp: &Checkpoint<'_, Node>, jobs: &[Arc<Graph>]) -> Option<String> {
        // First waiting operation of each rank.
        let mut waiting: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for id in 0..cp.nodes() {
            let programs = cp.node(id).endpoint.iter().flat_map(|e| e.programs.waiting());
            for (job, rank, place) in programs.filter(|(job, rank, _)| *rank < jobs[index(*job)].processors) {
                waiting.entry((job, rank)).or_insert(place);
            }
        }
        let (first, _) = waiting.first_key_value()?;
        let (job, mut rank) = *first;
        let graph = &jobs[index(job)];
        let name = |rank: u32, place: u32| {
            let operation = graph.ranks[index(rank)].operation(place);
            format!("`{}` of rank {rank}", graph.names[index(operation.name)])
        };
        let (mut words, mut seen) = (Vec::new(), BTreeSet::new());
        while seen.insert(rank)
            && words.len() < MOST
            && let Some(place) = waiting.get(&(job, rank))
        {
            let number = graph.ranks[index(rank)].operation(*place).work.number()?;
            // A rank of the operation that waits for another operation, and has not begun its part.
            let others = match graph.shared(number).what {
                What::Message { from, .. } => vec![from],
                What::Collective { group, .. } => graph.groups[index(group)].ranks.clone(),
            };
            let is_behind = |other: &&u32| {
                let own = graph.ranks[index(**other)].place_of(number);
                **other != rank && waiting.get(&(job, **other)).is_some_and(|at| Some(*at) != own)
            };
            let Some(other) = others.iter().find(is_behind).copied() else {
                words
                    .push(format!("{} waits for a message or operation that never came", name(rank, *place)));
                break;
            };
            let part = graph.ranks[index(other)].place_of(number)?;
            words.push(format!("{} waits for {}", name(rank, *place), name(other, part)));
            rank = other;
        }
        Some(words.join("; "))
    }

    fn add_message(&mut self, plan: &AllFlows, one: &Delivered) {
        let (post, message) = (one.message.post, one.message);
        if post.flow == Post::NVLINK {
            return self.add_slice(plan, one);
        }
        let (src, workload) = (plan.sources.of(post.flow), plan.name_of(post.flow));
        self.delays.complete(&cut(one), &self.names.ports);
        let probe = Packet::new(Kind::Data, post.flow, 0, one.dst, 0, message.class);
        let ideal = self.alone.own(&self.names.ports, src, message.port, probe, post.bytes);
        let fct = (one.at - message.posted).ps();
        let slowdown = self.slowdown(post.flow, fct, ideal);
        let (start, arrived) = (message.posted.ps(), one.at.ps());
        self.ends.deliver(post.bytes);
        self.measure(
            plan,
            &Over { workload, size: post.bytes, start, arrived: Some(arrived), slowdown: Some(slowdown) },
        );
        if self.keeps_flows {
            let row = row(plan, one, Some(post.flow), (workload, src));
            self.rows.messages.push(Message { ideal: ideal.ps(), slowdown, ..row });
        }
    }

    /// Adds a message that came over NVLink.
    fn add_slice(&mut self, plan: &AllFlows, one: &Delivered) {
        let Some(servers) = plan.nvlink.servers.filter(|_| self.keeps_flows) else { return };
        let job = &plan.jobs[index(one.message.post.id.job)];
        let row = row(plan, one, None, (job.workload, one.dst));
        let node = job.ranks[index(row.from)].node;
        let ideal = (servers.latency + servers.nvlink.serializer().time(row.size)).ps().max(1);
        let slowdown = row.fct as f64 / ideal as f64;
        self.rows.messages.push(Message { src: node, ideal, slowdown, ..row });
    }
}

/// Returns a delivered message, as delays are cut.
pub(super) const fn cut(one: &Delivered) -> delays::Delivered {
    let post = one.message.post;
    delays::Delivered {
        flow: post.flow,
        message: Some((post.id.number, post.id.place)),
        start: one.message.posted,
        arrived: one.at,
        dst: one.dst,
    }
}

/// Returns the row of a delivered message, without its ideal.
fn row(plan: &AllFlows, one: &Delivered, flow: Option<u32>, (workload, src): (u32, u32)) -> Message {
    let (post, message) = (one.message.post, one.message);
    let job = &plan.jobs[index(post.id.job)];
    let shared = job.shared(post.id.number);
    let (from, to, step, channel) = match shared.what {
        What::Message { from, to, channel, .. } => (from, to, 0, channel),
        What::Collective { shape, group } => {
            let piece = job.shapes[index(shape)].piece(post.id.place);
            let members = &job.groups[index(group)];
            (members.at(piece.from), members.at(piece.to), piece.step, piece.channel)
        }
    };
    Message {
        flow,
        workload,
        operation: post.id.number,
        place: post.id.place,
        from,
        to,
        step,
        channel,
        label: job.labels[usize::from(shared.label)].clone(),
        src,
        dst: one.dst,
        size: post.bytes,
        posted: message.posted.ps(),
        after: post.after,
        left: message.left.ps(),
        fct: (one.at - message.posted).ps(),
        ideal: 0,
        slowdown: 0.0,
    }
}

fn operation(plan: &AllFlows, one: &Ended) -> Operation {
    let job = &plan.jobs[index(one.job)];
    let rank = &job.ranks[index(one.rank)];
    let what = rank.operation(one.place);
    let number = what.work.number();
    let shared = number.map(|number| job.shared(number));
    Operation {
        workload: job.workload,
        iteration: what.iteration,
        rank: one.rank,
        node: rank.node,
        place: one.place,
        number,
        kind: match what.work {
            Work::Compute(_) => "compute",
            Work::Send(_) => "send",
            Work::Receive(_) => "recv",
            Work::Collective { .. } => match shared.map(|shared| shared.what) {
                Some(What::Collective { shape, .. }) => job.shapes[index(shape)].of.operation.name(),
                _ => "",
            },
        },
        name: job.names[index(what.name)].clone(),
        label: shared.map(|shared| job.labels[usize::from(shared.label)].clone()),
        start: one.start.ps(),
        after: one.after,
        end: one.end.ps(),
        by: one.by,
        then: rank.then(one.place).to_vec(),
    }
}
