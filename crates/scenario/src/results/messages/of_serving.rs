//! Rows of messages of serving.

use xoff_applications::serving::{self as model, Plan, Servings};
use xoff_models::frames::message::{Delivered, Post};
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{Duration, index};

use super::table::Message;

fn plan_of<'a>(plan: &'a AllFlows, one: &Delivered) -> &'a Plan {
    plan.applications
        .of::<Servings>()
        .expect("serving sent the message")
        .plan(model::workload_of(one.message.post.id.job))
}

/// Returns the node that sent a message.
pub fn source(plan: &AllFlows, one: &Delivered) -> u32 {
    plan_of(plan, one).nodes[index(model::sender_of(one.message.post.id.job))]
}

/// Returns the row of a message.
pub fn row(plan: &AllFlows, one: &Delivered, ideal: Duration) -> Message {
    let (post, message) = (one.message.post, one.message);
    let fct = (one.at - message.posted).ps();
    Message {
        flow: (post.flow != Post::NVLINK).then_some(post.flow),
        workload: plan_of(plan, one).workload,
        operation: post.id.number,
        place: post.id.place,
        from: model::sender_of(post.id.job),
        to: model::receiver(post.id.place),
        step: model::place_in_operation(post.id.place),
        channel: 0,
        label: model::Kind::of(post.id.place).label().to_string(),
        src: source(plan, one),
        dst: one.dst,
        size: post.bytes,
        posted: message.posted.ps(),
        after: post.after,
        left: message.left.ps(),
        fct,
        ideal: ideal.ps().max(1),
        slowdown: fct as f64 / ideal.real().max(1.0),
    }
}
