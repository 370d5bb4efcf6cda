//! The part of an application at a host.

use std::any::Any;
use std::fmt::Debug;

use xoff_engine::state::{PeriodKind, State, StateVisitor};
use xoff_units::Moment;

use super::loops::Loops;
use crate::frames::framing::Framing;
use crate::frames::message::{MessageId, Post};
use crate::parts::ids::ApplicationId;
use crate::ports::effects::Effects;

/// A period of work that recurs, such as the operations of a layer.
#[derive(Debug, Clone, Copy)]
pub struct Cycle {
    /// The first operation.
    pub start: u32,
    /// Packets sent in a period.
    pub packets: u64,
    /// Packets of all begun operations.
    pub begun: u64,
    /// Number of periods left.
    pub left: u64,
}

/// The part of an application at a host.
///
/// A part may have several owners of timers, such as the ranks of several jobs at the host, and `owner` is the owner's number.
/// Fast-forward reads by [`State`] what decides later events. If the work of an application never recurs, its walk refuses, so
/// that fast-forward does not look for periods.
pub trait Application: State + Debug + Send + Any {
    /// Returns the calls of [`Application::begin`]: moment, owner, and what begins.
    fn starts(&self) -> Vec<(Moment, u8, u32)>;

    /// Something of [`Application::starts`] begins.
    fn begin(&mut self, owner: u8, what: u32, effects: &mut Effects);

    /// A computation ends ([`Effect::Compute`](crate::ports::effects::Effect::Compute)).
    fn compute(&mut self, owner: u8, what: u32, effects: &mut Effects);

    /// A timer is due ([`Effect::Call`](crate::ports::effects::Effect::Call)).
    fn on_timer(&mut self, _owner: u8, _what: u32, _effects: &mut Effects) {}

    /// A control message came by a line from another part.
    fn on_control(&mut self, _line: u32, _effects: &mut Effects) {}

    /// A message is whole here that was posted at a moment.
    fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects);

    /// A message for a rank, given with its job, came over NVLink. Returns true if it goes on by the NIC of the rank.
    fn relays(&mut self, _rank: (u32, u32), _post: &Post, _effects: &mut Effects) -> bool {
        false
    }

    /// The last packet of a message begins to leave.
    fn leave(&mut self, _id: MessageId, _effects: &mut Effects) {}

    /// True if the part wants to hear of acknowledged messages.
    fn counts_slots(&self) -> bool {
        false
    }

    /// A message of a connection is acknowledged.
    fn free_slot(&mut self, _flow: u32, _effects: &mut Effects) {}

    /// A flow is over, or an operation with this number has ended.
    fn release(&mut self, _number: u32, _effects: &mut Effects) {}

    /// True if something will begin or end here without an event from elsewhere.
    fn goes_on(&self, now: Moment) -> bool;

    /// True if no message waits between its data and NVLink or a NIC.
    fn is_handed_over(&self) -> bool {
        true
    }

    /// Finds what recurs. Returns the number of compared operations.
    fn follow(&mut self, _kind: PeriodKind) -> u64 {
        0
    }

    /// Returns the cycle of the present period.
    fn cycle(&self, _kind: PeriodKind, _framing: &Framing) -> Option<Cycle> {
        None
    }

    /// Returns an empty reading for [`Loops::read`](super::Loops::read), for an application whose work may recur.
    fn loops(&self) -> Option<Box<dyn Loops>> {
        None
    }

    /// Returns the messages still to be posted in each run of equal messages.
    fn messages_left(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Returns the packets that the NICs here send in a loop of messages; zero without a loop.
    fn packets_in_loop(&self, _framing: &Framing) -> u64 {
        0
    }

    /// Returns a copy.
    fn copy(&self) -> Box<dyn Application>;
}

/// The applications at a host, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Applications {
    parts: Vec<(ApplicationId, Box<dyn Application>)>,
}

impl Clone for Applications {
    fn clone(&self) -> Self {
        Self { parts: self.parts.iter().map(|(number, one)| (*number, one.copy())).collect() }
    }
}

impl State for Applications {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { parts } = self;
        for (_, part) in parts {
            part.walk(walk);
        }
    }
}

impl Applications {
    /// Adds the part of the application with a number, which is not there yet.
    pub fn add(&mut self, number: ApplicationId, one: Box<dyn Application>) {
        let place = self.parts.partition_point(|(other, _)| *other < number);
        self.parts.insert(place, (number, one));
    }

    /// Returns what begins: the application, moment, owner, and what.
    pub fn starts(&self) -> impl Iterator<Item = (ApplicationId, (Moment, u8, u32))> {
        self.parts.iter().flat_map(|(number, one)| one.starts().into_iter().map(|start| (*number, start)))
    }

    /// Returns the part of the application with a number.
    pub fn numbered(&mut self, number: ApplicationId) -> Option<&mut dyn Application> {
        self.parts.iter_mut().find(|(other, _)| *other == number).map(|(_, one)| &mut **one)
    }

    /// Returns all parts with the numbers of their applications.
    pub fn with_numbers(&self) -> impl Iterator<Item = (ApplicationId, &dyn Application)> {
        self.parts.iter().map(|(number, one)| (*number, &**one))
    }

    /// Returns all parts.
    pub fn each(&self) -> impl Iterator<Item = &dyn Application> {
        self.parts.iter().map(|(_, one)| &**one)
    }

    /// Returns all parts.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut dyn Application> {
        self.parts.iter_mut().map(|(_, one)| &mut **one)
    }

    /// Returns the part of an application.
    pub fn of<A: Application>(&self) -> Option<&A> {
        self.each().find_map(|one| (one as &dyn Any).downcast_ref())
    }

    /// Returns the part of an application.
    pub fn of_mut<A: Application>(&mut self) -> Option<&mut A> {
        self.each_mut().find_map(|one| (one as &mut dyn Any).downcast_mut())
    }
}
