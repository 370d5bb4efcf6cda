//! Control lines: messages between the controller and ranks, on links of the engine behind the links of ports.
//!
//! A message takes half of `control.delay`, and messages of a line arrive in order. The sender puts a message
//! into the log of the line before the frame leaves, and the receiver takes the message after the frame has
//! arrived, as with [`xoff_models::frames::flow::MessageLog`].

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use xoff_models::frames::kinds::Control as Frame;
use xoff_models::frames::packet::Packet;
use xoff_models::ports::effects::{Effect, Effects};
use xoff_units::Moment;

use super::batch::{Order, Part};
use super::plan::NUMBER;
use super::rows::Report;

/// In a timer of serving, marks a controller.
pub(super) const OF_CONTROLLER: u8 = 0x80;

/// Timers of a controller: a request arrives, and early sequences begin.
pub(super) const ARRIVAL: u32 = 0;
pub(super) const RUNNING: u32 = 1;

/// A message between the controller and a rank.
#[derive(Debug, Clone)]
pub(super) enum Control {
    /// A step begins, with the batch of each micro-batch.
    Step(Arc<Vec<Order>>),
    /// Send a KV cache.
    Send(Part),
    /// A step ended.
    Ended(Report),
    /// The first message of a KV cache leaves, with `kv.nics = "server"`.
    Began(u32, Moment),
    /// A rank has a whole part of the KV cache of a request: the request, the posting of the first message, and
    /// the end of the last message.
    Received(u32, Moment, Moment),
}

/// The messages under way on a line.
#[derive(Debug, Clone, Default)]
pub struct ControlLine(Arc<Mutex<VecDeque<Control>>>);

impl ControlLine {
    fn with<T>(&self, f: impl FnOnce(&mut VecDeque<Control>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the next message.
    pub(super) fn take(&self) -> Option<Control> {
        self.with(VecDeque::pop_front)
    }

    /// True if no message is under way.
    pub fn is_empty(&self) -> bool {
        self.with(|list| list.is_empty())
    }
}

/// The receiver of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum To {
    /// A worker of the node.
    Worker(u8),
    /// A controller of the node, with the sending rank.
    Controller(u8, u32),
}

/// The end of a line at the receiving node.
#[derive(Debug, Clone)]
pub struct ControlEnd {
    pub(super) line: ControlLine,
    pub(super) to: To,
}

/// The beginning of a line at the sending node.
#[derive(Debug, Clone)]
pub(super) struct Begin {
    line: ControlLine,
    /// Number of the end at the receiving node.
    end: u32,
    /// Output and node of the receiver; `None` at the same node.
    over: Option<(u16, u32)>,
    delay: xoff_units::Duration,
}

impl Begin {
    /// Sends a message.
    pub fn send(&self, message: Control, effects: &mut Effects) {
        self.line.with(|list| list.push_back(message));
        let at = effects.now + self.delay;
        effects.push(match self.over {
            None => Effect::Control(NUMBER, at, self.end),
            Some((output, node)) => Effect::Leave(output, at, {
                let frame = Frame { application: NUMBER.get(), line: self.end };
                Packet::with(frame, 0, node, 0, 0)
            }),
        });
    }
}

/// The lines between the controller and a rank, in both directions.
#[derive(Debug)]
pub struct Lines {
    pub(super) to_rank: Begin,
    pub(super) to_controller: Begin,
    pub(super) ends: [ControlEnd; 2],
}

impl Lines {
    /// Returns the lines of a rank: worker and controller by places at nodes, the numbers of the
    /// ends at the nodes of the rank and of the controller, and outputs with nodes if the nodes differ.
    pub fn new(
        (worker, controller, rank): (u8, u8, u32),
        ends: [u32; 2],
        over: [Option<(u16, u32)>; 2],
        delay: xoff_units::Duration,
    ) -> Self {
        let lines = [ControlLine::default(), ControlLine::default()];
        let begin =
            |place: usize| Begin { line: lines[place].clone(), end: ends[place], over: over[place], delay };
        Self {
            to_rank: begin(0),
            to_controller: begin(1),
            ends: [
                ControlEnd { line: lines[0].clone(), to: To::Worker(worker) },
                ControlEnd { line: lines[1].clone(), to: To::Controller(controller, rank) },
            ],
        }
    }

    /// Takes the ends: at the node of the rank, and at the node of the controller.
    pub fn ends(&self) -> [ControlEnd; 2] {
        self.ends.clone()
    }
}
