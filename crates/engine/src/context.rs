//! The actions that a node may take during an event: send, set a timer, request a checkpoint.

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
    /// Earliest allowed arrival of a message to a node of the same cluster: the end of the inner window. To
    /// another cluster (`outer_horizon`): the end of the window.
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

    /// Sends a message on `output`. Messages of one link with the same arrival arrive in sending order.
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

    /// Sends a message on `output` that takes the turn of another in-link of the receiver: among arrivals of
    /// one moment the message comes where a message on `link` would come.
    pub fn send_in_turn(&mut self, output: usize, link: u16, arrival: Moment, message: M) {
        let route = Route { link, ..self.outputs[output] };
        self.check(route, arrival);
        if route.local {
            self.channel.deliver(route.node, link, arrival, message);
        } else {
            self.channel.post(route, Post { node: route.node, link, express: false, arrival, message });
        }
    }

    /// Sends a message on `output` that may overtake messages in flight on the link: a control frame without
    /// the processing delay of the receiver.
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

    /// Requests [`crate::Node::on_output`] for `output` at `at`. The number after the last port is an output
    /// without a link, which is called after all others of a moment. The node must not request an output again
    /// before the call.
    #[inline]
    pub fn wake_output(&mut self, output: usize, at: Moment) {
        debug_assert!(at >= self.now, "an output is woken in the past");
        if at == self.now {
            self.event_set.set_output_due(output, at);
        } else {
            self.event_set.set_output(output, at);
        }
    }

    /// Requests [`crate::Node::on_timer`] at `at`, which is now at the earliest. Timers of one moment expire
    /// in the order of the requests.
    pub fn set_timer(&mut self, at: Moment, token: u64) {
        assert!(at >= self.now, "a timer is set in the past");
        if at <= END_OF_TIME {
            self.event_set.push_timer(at, token);
        }
    }

    /// True if this node has no further arrival or timer at this moment, and no requested output with a lower
    /// number. The turn of `output` has then come, and `output` may act without [`crate::Node::on_output`].
    #[inline]
    pub fn settled(&self, output: usize) -> bool {
        self.event_set.settled(self.now, output)
    }

    /// Requests a checkpoint at the time of this event plus the length of a window, so that no thread has
    /// passed the checkpoint yet. `word` is the reason ([`crate::Checkpoint::called`]).
    #[cold]
    pub fn mark(&mut self, word: u64) {
        self.channel.marked.push((self.now, (self.node, word)));
    }

    /// Returns the side records of the messages in this partition.
    #[inline]
    pub fn sides(&mut self) -> &mut Slab<M::Side> {
        &mut self.channel.sides
    }
}
