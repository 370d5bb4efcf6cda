//! Messages of connections, which jobs and serving post.

mod of_jobs;
mod of_serving;
mod table;

use xoff_applications::job;
use xoff_engine::Checkpoint;
use xoff_models::frames::kinds::Kind;
use xoff_models::frames::message::{Delivered, Post};
use xoff_models::frames::packet::Packet;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::ApplicationId;
use xoff_models::paths::symmetry::View;
use xoff_units::{Duration, Moment, index};

use self::table::Message;
pub use self::table::after;
use super::contract::{Collect, Shared};
use super::news::{self, MessageEnd, Over};
use super::rows::row_set;
use crate::runner::Runner;

row_set! { messages: Message }

/// Records of all nodes that a folded run holds at once. A loop of a ring of 1,024 GPUs delivers four million messages, which
/// are written as one stretch if fast-forward looks for repetitions.
const MOST_UNFOLDED: usize = 500_000;

/// Collects messages.
pub struct Messages {
    rows: Rows,
    /// Messages over NVLink so far.
    slices: u64,
    /// Records taken from each simulated node and not yet added.
    waiting: Vec<(u32, Vec<Delivered>)>,
}

impl Collect for Messages {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), slices: 0, waiting: Vec::new() }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        if shared.plan.applications.each().next().is_none() {
            return;
        }
        self.gather(cp, shared);
        let all = std::mem::take(&mut self.waiting);
        self.add(all, shared);
    }
}

impl Messages {
    /// Takes the earliest records, if a folded run multiplies them beyond [`MOST_UNFOLDED`]. Returns false if the rest can be
    /// taken at once.
    pub fn take_part(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) -> bool {
        let most = MOST_UNFOLDED / index(shared.unfold.times());
        if shared.unfold.times() == 1 || !shared.keeps.flows {
            return false;
        }
        self.gather(cp, shared);
        if self.waiting.iter().map(|(_, own)| own.len()).sum::<usize>() <= most {
            return false;
        }
        let mut times: Vec<Moment> = self.waiting.iter().flat_map(|(_, own)| own).map(|one| one.at).collect();
        let cut = *times.select_nth_unstable(most).1;
        let mut part = Vec::with_capacity(self.waiting.len());
        for (id, own) in &mut self.waiting {
            let (early, late) = std::mem::take(own).into_iter().partition(|one| one.at < cut);
            *own = late;
            part.push((*id, early));
        }
        let is_any = part.iter().any(|(_, early)| !early.is_empty());
        self.add(part, shared);
        is_any
    }

    /// Takes the records of the simulated nodes.
    fn gather(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let unfold = shared.unfold.clone();
        self.waiting.resize_with(unfold.simulated().count(), Default::default);
        for (id, waiting) in unfold.simulated().zip(&mut self.waiting) {
            waiting.0 = id;
            if let Some(endpoint) = &mut cp.node_mut(id).endpoint {
                waiting.1.append(&mut endpoint.delivered);
            }
        }
        let nvlinks = unfold.simulated().filter_map(|id| cp.node(id).endpoint.as_ref()?.nvlink.as_ref());
        let slices = nvlinks.map(|nvlink| nvlink.slices()).sum::<u64>();
        shared.ends.add_slices(slices - std::mem::replace(&mut self.slices, slices));
    }

    /// Adds records of simulated nodes.
    fn add(&mut self, records: Vec<(u32, Vec<Delivered>)>, shared: &mut Shared) {
        let unfold = shared.unfold.clone();
        let image =
            |view: &View, rows: &[Delivered]| rows.iter().map(|one| unfold.delivered(view, one)).collect();
        let mut delivered =
            unfold.images(records.into_iter(), if shared.keeps.flows { Some(&image) } else { None });
        delivered.sort_by_key(|one| one.at);
        for one in &delivered {
            if ApplicationId::of_job(one.message.post.id.job) == job::NUMBER {
                self.add_of_job(one, shared);
            } else {
                self.add_of_serving(one, shared);
            }
        }
    }

    fn add_of_job(&mut self, one: &Delivered, shared: &mut Shared) {
        let (post, message) = (one.message.post, one.message);
        if post.flow == Post::NVLINK {
            if shared.keeps.slices {
                self.rows.messages.extend(of_jobs::slice(&shared.plan, one));
            }
            return;
        }
        let (src, workload) = (shared.plan.sources.of(post.flow), shared.plan.name_of(post.flow));
        let ideal = ideal(one, src, shared);
        let over = Over::new((post.flow, workload), post.bytes, message.posted, Some(one.at), ideal);
        shared.ends.deliver(post.bytes);
        shared.news.messages.push(MessageEnd { delivered: cut(one), over: Some(over) });
        if shared.keeps.flows {
            let row = of_jobs::row(&shared.plan, one, Some(post.flow), (workload, src));
            let slowdown = over.slowdown.unwrap_or_default();
            self.rows.messages.push(Message { ideal: ideal.ps(), slowdown, ..row });
        }
    }

    fn add_of_serving(&mut self, one: &Delivered, shared: &mut Shared) {
        let is_slice = one.message.post.flow == Post::NVLINK;
        if !is_slice {
            shared.news.messages.push(MessageEnd { delivered: cut(one), over: None });
        }
        // A step has thousands of messages, so they have rows only if somebody asks for delays.
        if !(shared.keeps.flows && shared.keeps.delays) {
            return;
        }
        let ideal = if is_slice {
            let Some(servers) = shared.plan.nvlink.servers else { return };
            servers.latency + servers.nvlink.serializer().time(one.message.post.bytes)
        } else {
            ideal(one, of_serving::source(&shared.plan, one), shared)
        };
        self.rows.messages.push(of_serving::row(&shared.plan, one, ideal));
    }
}

/// Returns the ideal time of a message that left a node over the network.
fn ideal(one: &Delivered, src: u32, shared: &mut Shared) -> Duration {
    let (post, message) = (one.message.post, one.message);
    let probe = Packet::new(Kind::Data, post.flow, 0, one.dst, 0, message.class);
    shared.ideal.own(&shared.names.ports, src, message.port, probe, post.bytes)
}

/// Returns a delivered message, as delays are cut.
const fn cut(one: &Delivered) -> news::Delivered {
    let post = one.message.post;
    news::Delivered {
        flow: post.flow,
        message: Some((post.id.number, post.id.place)),
        start: one.message.posted,
        arrived: one.at,
        dst: one.dst,
    }
}
