//! Actions of a node during an event.

use xoff_units::Moment;

use crate::channel::{Channel, Post, Route};
use crate::event_set::EventSet;
use crate::fingerprint::Fingerprint;
use crate::slab::Slab;
use crate::{END_OF_TIME, Message};

/// Handed to a node with each event.
pub struct Context<'a, M: Message> {
    pub(crate) now: Moment,
    pub(crate) node: u32,
    /// Earliest allowed arrival of a sent message, by cluster membership of the receiver.
    pub(crate) horizon: Moment,
    pub(crate) outer_horizon: Moment,
    pub(crate) event_set: &'a mut EventSet<M>,
    pub(crate) outputs: &'a [Route],
    pub(crate) channel: &'a mut Channel<M>,
    pub(crate) fingerprint: Fingerprint,
}

impl<M: Message> Context<'_, M> {
    /// The moment of this event.
    #[inline]
    pub fn now(&self) -> Moment {
        self.now
    }

    /// Sends on `output`. Messages of one link and moment arrive in sending order.
    #[inline(always)]
    pub fn send(&mut self, output: usize, arrival: Moment, message: M) {
        let route = self.outputs[output];
        self.check(route, arrival);
        if route.local {
            self.channel.deliver(route.node, route.link, arrival, message);
        } else {
            self.channel
                .post(route, Post { node: route.node, link: route.link, express: false, arrival, message });
        }
    }

    /// Sends on `output`, ahead of all messages in flight there: control frames that bypass the processing of
    /// the receiver.
    pub fn send_express(&mut self, output: usize, arrival: Moment, message: M) {
        let route = self.outputs[output];
        self.check(route, arrival);
        if route.local {
            self.channel.deliver_express(route.node, route.link, arrival, message);
        } else {
            self.channel
                .post(route, Post { node: route.node, link: route.link, express: true, arrival, message });
        }
    }

    #[inline]
    fn check(&self, route: Route, arrival: Moment) {
        let horizon = if route.same_cluster { self.horizon } else { self.outer_horizon };
        assert!(
            arrival >= horizon && arrival <= END_OF_TIME,
            "a message arrives within its own window, or after the end of time"
        );
    }

    /// Asks for [`crate::Node::on_output`] at `at`, at most once at a time.
    #[inline]
    pub fn wake_output(&mut self, output: usize, at: Moment) {
        debug_assert!(at >= self.now, "an output is woken in the past");
        if at == self.now {
            self.event_set.set_output_due(output, at);
        } else {
            self.event_set.set_output(output, at);
        }
    }

    /// Asks for [`crate::Node::on_timer`] at `at`, now at the earliest. Timers of one moment expire in the
    /// order of their setting.
    pub fn set_timer(&mut self, at: Moment, token: u64) {
        assert!(at >= self.now, "a timer is set in the past");
        if at <= END_OF_TIME {
            self.event_set.push_timer(at, token);
        }
    }

    /// True if no arrival, timer or lower output of this moment is left at this node: `output` may act at
    /// once, in its turn.
    #[inline]
    pub fn settled(&self, output: usize) -> bool {
        self.event_set.settled(self.now, output)
    }

    /// Asks for a checkpoint one window from now; the delay is the same for each such request. The word is
    /// the reason.
    #[cold]
    pub fn mark(&mut self, word: u64) {
        self.channel.marked.push((self.now, (self.node, word)));
    }

    /// Returns the side records of messages at nodes of this partition.
    #[inline]
    pub fn sides(&mut self) -> &mut Slab<M::Side> {
        &mut self.channel.sides
    }
}
