//! Reasons for which a flow does not send, over time.

use xoff_units::Moment;

use super::part::{Kind, Part, add};
use super::port::PortLog;
use crate::parts::ids::{PortId, QueueId};

/// Reason for waiting of a flow at its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The flow's turn in a queue.
    Turn(QueueId),
    /// The end of a hold by a mechanism.
    SourceHeld,
    /// The next sending time of the pacer.
    Pacing,
    /// Room in the window.
    Window,
    /// A pull of the receiver.
    Pull,
    /// Data of the application.
    AppLimited,
    /// An acknowledgement, or the retransmission timeout.
    Ack,
}

/// A sending flow.
#[derive(Debug, Clone)]
pub struct Source {
    pub port: PortId,
    pub wait: Wait,
    /// Start of the present reason; may be the end of an own frame on the wire.
    since: Moment,
    pub held_by: Option<&'static str>,
    /// Parts since the last passage.
    pub parts: Vec<Part>,
    /// Kind of the frame on the wire.
    pub sending: Kind,
}

impl Source {
    /// Returns a flow that has just joined the turns of a queue; the log of the port counts the flow as
    /// waiting.
    pub fn new(port: PortId, queue: QueueId, held_by: Option<&'static str>, now: Moment) -> Self {
        Self {
            port,
            wait: Wait::Turn(queue),
            since: now,
            held_by,
            parts: Vec::new(),
            sending: Kind::Transmission,
        }
    }

    /// Changes the reason for waiting, from now or from the end of the own frame on.
    pub fn turn_to(&mut self, wait: Wait, now: Moment, log: &mut PortLog) {
        let parts = &mut self.parts;
        let mut waited = |kind, cause| add(parts, Part { cause, ..Part::new(kind, now.since(self.since)) });
        match self.wait {
            Wait::Turn(queue) if now > self.since => {
                log.sweep(queue, self.since, now, &mut |part| add(parts, part));
            }
            Wait::Turn(_) => {}
            Wait::SourceHeld => waited(Kind::SourceHeld, self.held_by),
            Wait::Pacing => waited(Kind::Pacing, None),
            Wait::Window => waited(Kind::Window, None),
            Wait::Pull => waited(Kind::AwaitingPull, None),
            Wait::AppLimited => waited(Kind::AppLimited, None),
            Wait::Ack => waited(Kind::AwaitingAck, None),
        }
        self.leave(log);
        self.wait = wait;
        self.since = self.since.max(now);
        self.enter(log);
    }

    /// Takes the parts until now. The rest of an own frame on the wire follows later.
    pub fn cut(&mut self, now: Moment, log: &mut PortLog) -> Vec<Part> {
        let ahead = self.since.since(now);
        self.turn_to(self.wait, now, log);
        let mut parts = std::mem::take(&mut self.parts);
        if let Some(frame) =
            parts.iter_mut().rev().find(|part| part.kind == self.sending && part.time >= ahead)
        {
            frame.time -= ahead;
            add(&mut self.parts, Part::new(self.sending, ahead));
        }
        parts
    }

    /// Moves the flow to another port, which need not wait for an own frame on the wire of the old port.
    pub fn change_port(&mut self, to: PortId, now: Moment, logs: &mut [PortLog]) {
        self.turn_to(self.wait, now, &mut logs[self.port]);
        self.leave(&mut logs[self.port]);
        let ahead = self.since.since(now);
        if let Some(frame) =
            self.parts.iter_mut().rev().find(|part| part.kind == self.sending && part.time >= ahead)
        {
            frame.time -= ahead;
        }
        (self.port, self.since) = (to, now);
        self.enter(&mut logs[to]);
    }

    /// Starts the present reason at the end of the own frame.
    pub fn resume(&mut self, ends: Moment, log: &mut PortLog) {
        self.leave(log);
        self.since = ends;
        self.enter(log);
    }

    fn enter(&self, log: &mut PortLog) {
        if matches!(self.wait, Wait::Turn(_)) {
            log.enter(self.since);
        }
    }

    /// Removes the flow from the log of its port.
    pub fn leave(&self, log: &mut PortLog) {
        if matches!(self.wait, Wait::Turn(_)) {
            log.leave(self.since);
        }
    }
}
