//! Rows of messages of jobs.

use xoff_applications::job::{Jobs, What};
use xoff_models::frames::message::Delivered;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::index;

use super::table::Message;

/// Returns the row of a delivered message, without its ideal.
pub fn row(plan: &AllFlows, one: &Delivered, flow: Option<u32>, (workload, src): (u32, u32)) -> Message {
    let (post, message) = (one.message.post, one.message);
    let job = &Jobs::of(&plan.applications)[index(post.id.job)];
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

/// Returns the row of a message that came over NVLink.
pub fn slice(plan: &AllFlows, one: &Delivered) -> Option<Message> {
    let servers = plan.nvlink.servers?;
    let job = &Jobs::of(&plan.applications)[index(one.message.post.id.job)];
    let row = row(plan, one, None, (job.workload, one.dst));
    let src = job.ranks[index(row.from)].node;
    let ideal = (servers.latency + servers.nvlink.serializer().time(row.size)).ps().max(1);
    let slowdown = row.fct as f64 / ideal as f64;
    Some(Message { src, ideal, slowdown, ..row })
}
