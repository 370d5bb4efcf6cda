//! Messages of connections, which jobs and serving post.

mod of_jobs;
mod of_serving;
mod table;

use xoff_engine::Checkpoint;
use xoff_models::application::Number;
use xoff_models::frames::Kind;
use xoff_models::job;
use xoff_models::message::{Delivered, Post};
use xoff_models::node::Node;
use xoff_models::packet::Packet;
use xoff_models::symmetry::View;
use xoff_units::Duration;

use self::table::Message;
pub use self::table::after;
use super::contract::{Collect, Shared};
use super::news::{self, MessageEnd, Over};
use super::rows::row_set;
use crate::runner::Runner;

row_set! { messages: Message }

/// Collects messages.
pub struct Messages {
    rows: Rows,
    /// Messages over NVLink so far.
    slices: u64,
}

impl Collect for Messages {
    type Rows = Rows;

    fn new(_: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), slices: 0 }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        if shared.plan.jobs.is_empty() && shared.plan.serving.is_empty() {
            return;
        }
        let (unfold, keeps) = (shared.unfold.clone(), shared.keeps);
        let image =
            |view: &View, rows: &[Delivered]| rows.iter().map(|one| unfold.delivered(view, one)).collect();
        let mut delivered = unfold.take(
            cp,
            |node| {
                let endpoint = node.endpoint.as_mut();
                endpoint.map_or_else(Vec::new, |endpoint| std::mem::take(&mut endpoint.delivered))
            },
            if keeps.flows { Some(&image) } else { None },
        );
        let nvlinks = unfold.simulated().filter_map(|id| cp.node(id).endpoint.as_ref()?.nvlink.as_ref());
        let slices = nvlinks.map(|nvlink| nvlink.slices()).sum::<u64>();
        shared.ends.add_slices(slices - std::mem::replace(&mut self.slices, slices));
        delivered.sort_by_key(|one| one.at);
        for one in &delivered {
            if Number::of_job(one.message.post.id.job) == job::NUMBER {
                self.add_of_job(one, shared);
            } else {
                self.add_of_serving(one, shared);
            }
        }
    }
}

impl Messages {
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
