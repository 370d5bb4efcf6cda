//! Connections: flows that carry messages posted during the run.
//!
//! A connection begins with the first message, is idle without data, and ends when the last message is
//! acknowledged. Congestion control and transport keep their state, also while the connection is idle, as
//! adapters do. A rate that rises by time alone, such as DCQCN's, rises meanwhile. Messages leave in the
//! order of posting. A message is delivered after all messages before, as on a reliable RDMA connection. An
//! idle connection sets no timer. With NDP the first packets after an idle time go unasked. Source:
//! `docs/models/jobs.md`.

use std::cell::Cell;

use xoff_units::Moment;

use super::message_queue::Messages;
use super::sender::Sender;
use super::{Config, Endpoint};
use crate::frames::flow::{Few, FlowSpec, Incoming};
use crate::frames::message::{Delivered, Message, MessageId, Post};
use crate::parts::ids::ApplicationId;
use crate::paths::symmetry::STAY;
use crate::ports::effects::{Effect, Effects};

impl Sender {
    /// Updates the packet count to all posted messages, which may have moved.
    pub(super) fn follow_messages(&mut self) {
        if let Some(messages) = &self.messages {
            self.progress.packets = messages.packets().max(self.progress.unacknowledged);
        }
    }

    /// Returns the message that a packet ends, when the packet leaves for the first time.
    #[cold]
    pub(super) fn end_message(&self, seq: u32, now: Moment) -> Option<MessageId> {
        let messages = self.messages.as_ref()?;
        let id = messages.ending(seq)?.id;
        messages.log.with(|list| {
            let place = list.partition_point(|one| one.0 <= seq);
            if let Some((_, message)) = list.get_mut(place) {
                *message = Message { left: now, port: self.port, class: self.class, ..*message };
            }
        });
        Some(id)
    }

    /// True when the connection is idle until the next message.
    pub(super) fn is_idle(&self, config: &Config) -> bool {
        self.messages.as_ref().is_some_and(|messages| !messages.is_closed)
            && self.progress.unacknowledged >= self.progress.packets
            && config.transport.next(&self.progress, &self.transport).is_none()
    }
}

impl Endpoint {
    /// Posts a message to its connection. Returns the connection if the message starts the connection;
    /// otherwise the connection may be able to send.
    pub fn post(&mut self, post: &Post, effects: &mut Effects) -> Option<FlowSpec> {
        let place = self.connections.binary_search_by_key(&post.flow, |c| c.spec.flow).ok()?;
        let connection = &mut self.connections[place];
        connection.to_come -= 1;
        self.latest.begun_at = effects.now;
        let is_last = connection.to_come == 0;
        let (framing, now) = (&self.config.framing, effects.now);
        if let Some(slot) = self.slot(post.flow) {
            let s = self.senders[slot].as_mut()?;
            let was_idle = s.is_idle(&self.config);
            let messages = s.messages.as_mut()?;
            let before = s.progress.packets;
            s.progress.packets = messages.hand(post, before, is_last, framing, now);
            if was_idle && let (Some(credit), Some(rules)) = (&mut s.credit, &self.config.pulls) {
                credit.open_again(rules, s.progress.packets - before, &mut self.counters);
                if let Some(frame) = self.request(slot) {
                    effects.push(Effect::Answer(frame));
                }
            }
            return None;
        }
        let spec = self.connections[place].spec;
        let log = self.connections[place].log.clone();
        let mut messages =
            Messages { endings: Few::default(), log, within: Cell::default(), bytes: 0, is_closed: false };
        messages.hand(post, 0, is_last, framing, now);
        self.opening = Some(Box::new(messages));
        Some(spec)
    }

    /// In a folded run gives an arrived message the name that it has at this node.
    pub(super) fn name_here(&self, element: u32, message: &mut Message) {
        if let Some(group) = self.folded.as_ref().filter(|_| element != STAY) {
            message.post = group.image_of_post(element, &message.post);
        }
    }

    /// Delivers the messages that end before `before`, and returns their number.
    #[cold]
    pub(super) fn deliver(&mut self, flow: u32, before: u32, effects: &mut Effects) -> u32 {
        let Some(Incoming { log, element }) = self.incoming.get(&flow).cloned() else { return 0 };
        let mut count = 0;
        while let Some(mut message) = log.take(before) {
            count += 1;
            self.name_here(element, &mut message);
            self.delivered.push(Delivered { message, dst: self.node, at: effects.now });
            self.hand_up(&message, effects);
        }
        count
    }

    /// Hands a whole message to its application.
    pub(super) fn hand_up(&mut self, message: &Message, effects: &mut Effects) {
        if let Some(one) = self.applications.numbered(ApplicationId::of_job(message.post.id.job)) {
            one.deliver(&message.post, message.posted, effects);
        }
    }
}
