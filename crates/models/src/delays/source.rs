//! What keeps a flow from sending, from moment to moment.

use crate::ids::{PortId, QueueId};
use xoff_units::Moment;

use super::port::PortLog;
use super::{Kind, Part, add};

/// What a flow waits for at its source.
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

/// A flow that sends.
#[derive(Debug, Clone)]
pub struct Source {
    pub port: PortId,
    pub wait: Wait,
    /// Since when it waits for that; it may be the end of a frame of its own that is on the wire.
    since: Moment,
    pub held_by: Option<&'static str>,
    /// What went by since the last passage.
    pub parts: Vec<Part>,
    /// What its frame on the wire is counted as.
    pub sending: Kind,
}

impl Source {
    /// One that has just joined the round of a queue; the log of its port knows that somebody waits.
    pub fn new(port: PortId, queue: QueueId, held_by: Option<&'static str>, now: Moment) -> Self {
        Self { port, wait: Wait::Turn(queue), since: now, held_by, parts: Vec::new(), sending: Kind::Transmission }
    }

    /// From now on, or from the end of its frame on, it waits for something else.
    pub fn turn_to(&mut self, wait: Wait, now: Moment, log: &mut PortLog) {
        let parts = &mut self.parts;
        let mut waited = |kind, cause| add(parts, Part { cause, ..Part::new(kind, now.since(self.since)) });
        match self.wait {
            Wait::Turn(queue) if now > self.since => log.sweep(queue, self.since, now, &mut |part| add(parts, part)),
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

    /// Takes what went by until now. What is left of a frame of its own that is on the wire is yet to come.
    pub fn cut(&mut self, now: Moment, log: &mut PortLog) -> Vec<Part> {
        let ahead = self.since.since(now);
        self.turn_to(self.wait, now, log);
        let mut parts = std::mem::take(&mut self.parts);
        if let Some(frame) = parts.iter_mut().rev().find(|part| part.kind == self.sending && part.time >= ahead) {
            frame.time -= ahead;
            add(&mut self.parts, Part::new(self.sending, ahead));
        }
        parts
    }

    /// It leaves by another port from now on, which need not wait for a frame of its own that is on the wire.
    pub fn change_port(&mut self, to: PortId, now: Moment, logs: &mut [PortLog]) {
        self.turn_to(self.wait, now, &mut logs[self.port]);
        self.leave(&mut logs[self.port]);
        let ahead = self.since.since(now);
        if let Some(frame) = self.parts.iter_mut().rev().find(|part| part.kind == self.sending && part.time >= ahead) {
            frame.time -= ahead;
        }
        (self.port, self.since) = (to, now);
        self.enter(&mut logs[to]);
    }

    /// What it waits for begins with the end of its frame.
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

    /// It waits for its port no more.
    pub fn leave(&self, log: &mut PortLog) {
        if matches!(self.wait, Wait::Turn(_)) {
            log.leave(self.since);
        }
    }
}
