//! Requests, steps and messages of serving.

use xoff_engine::{Checkpoint, Finish};
use xoff_models::frames::Kind;
use xoff_models::message::{Delivered, Post};
use xoff_models::node::Node;
use xoff_models::packet::Packet;
use xoff_models::serving as model;
use xoff_models::workload::AllFlows;
use xoff_units::{Moment, index, wide};

use super::Collector;
use super::jobs::cut;
use crate::audit::Verdicts;
use crate::document::Judgement;
use crate::serving;
use crate::tables::messages::Message;
use crate::verdicts::End;

impl Collector {
    /// Takes the rows of serving.
    pub(super) fn take_serving(&mut self, cp: &mut Checkpoint<'_, Node>) {
        if self.serving.is_empty() {
            return;
        }
        let (requests, steps, tokens) = serving::take(cp);
        for row in &requests {
            self.serving.add_request(row);
        }
        for row in &steps {
            self.serving.add_step(row);
        }
        for row in &tokens {
            self.serving.add_token(row);
        }
        let last = tokens.last().map_or(Moment::ZERO, |row| row.at);
        self.ends.end(wide(requests.len()), last);
        if self.keeps_flows {
            self.rows.requests.extend(requests);
            self.rows.steps.extend(steps);
        }
        if self.keeps_tokens {
            self.rows.tokens.extend(tokens);
        }
    }

    /// Adds unfinished requests.
    pub(super) fn censor(&mut self, cp: &Checkpoint<'_, Node>, now: Moment) {
        for row in serving::censored(cp) {
            self.serving.add_censored(&row, now);
            if self.keeps_flows {
                self.rows.requests.push(row);
            }
        }
    }

    /// Judges the books of serving.
    pub(super) fn judge_serving(&self, cp: &Checkpoint<'_, Node>, end: &End, verdicts: &mut Verdicts) {
        if !self.serving.is_empty() {
            // A message that is lost for good ends no request.
            let is_over = end.finish == Finish::Idle && end.abort.is_none() && !self.ends.open_lost();
            let wrong = serving::imbalance(cp).filter(|_| is_over);
            verdicts.enter("serving", Judgement::Fail, wrong);
        }
    }

    /// Adds a message of serving. A row is kept if delays are recorded, since a step has thousands of messages.
    pub(super) fn add_served(&mut self, plan: &AllFlows, one: &Delivered) {
        let (post, message) = (one.message.post, one.message);
        let served = &plan.serving[index(model::workload_of(post.id.job))].plan;
        let from = model::sender_of(post.id.job);
        let (src, is_slice) = (served.nodes[index(from)], post.flow == Post::NVLINK);
        if !is_slice {
            self.delays.complete(&cut(one), &self.names.ports);
        }
        if !self.keeps_messages {
            return;
        }
        let ideal = if is_slice {
            let Some(servers) = plan.nvlink.servers else { return };
            servers.latency + servers.nvlink.serializer().time(post.bytes)
        } else {
            let probe = Packet::new(Kind::Data, post.flow, 0, one.dst, 0, message.class);
            self.alone.own(&self.names.ports, src, message.port, probe, post.bytes)
        };
        let fct = (one.at - message.posted).ps();
        self.rows.messages.push(Message {
            flow: (!is_slice).then_some(post.flow),
            workload: served.workload,
            operation: post.id.number,
            place: post.id.place,
            from,
            to: model::receiver(post.id.place),
            step: model::place_in_operation(post.id.place),
            channel: 0,
            label: model::Kind::of(post.id.place).label().to_string(),
            src,
            dst: one.dst,
            size: post.bytes,
            posted: message.posted.ps(),
            after: post.after,
            left: message.left.ps(),
            fct,
            ideal: ideal.ps().max(1),
            slowdown: fct as f64 / ideal.real().max(1.0),
        });
    }
}
