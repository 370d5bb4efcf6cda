//! Messages: units of data that a job posts to a connection between two ranks.
//!
//! A *connection* is a flow with state over many messages, and one flow to transport, congestion control and
//! routing. A *message* is a range of packets of a connection; the last packet may be shorter and is flagged.
//! A message is delivered when all bytes of the connection up to the end of the message have arrived.

use xoff_engine::state::{Counter, Offsets, Row, State, StateVisitor};
use xoff_units::{Duration, Moment};

use crate::parts::ids::PortId;

/// Identity of a message: the job, the number of the shared operation, and the index of the message in the
/// operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MessageId {
    /// The job.
    pub job: u32,
    /// Number of the shared operation.
    pub number: u32,
    /// Index among the messages of the operation.
    pub place: u32,
}

/// The kind of the counter of the messages that a sender has posted: by job, operation, and a message of the sender.
pub const POSTED: u8 = 0;

impl MessageId {
    /// Returns the counter of the messages that the sender of this message has posted.
    pub const fn posted(self) -> Counter {
        Counter::Own(POSTED, [self.job, self.number, self.place])
    }

    /// Visits the index of another message of the same operation.
    fn walk_place(self, place: &mut u32, walk: &mut StateVisitor<'_>) {
        walk.counted(Self { place: *place, ..self }.posted(), place);
    }
}

/// A message posted to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post {
    /// Identity of the message.
    pub id: MessageId,
    /// The connection.
    pub flow: u32,
    /// Payload.
    pub bytes: u64,
    /// Last condition for the start.
    pub after: After,
}

impl Post {
    /// In the place of the connection, for a message over NVLink.
    pub const NVLINK: u32 = u32::MAX;
}

/// The condition that was met last before a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum After {
    /// The start of the job.
    #[default]
    Start,
    /// The end of this operation of the rank, by index in the program.
    Operation(u32),
    /// The beginning of the operation of the message.
    Begun,
    /// This message of the same operation arrived.
    Message(u32),
    /// A flow arrived, or an operation of another workload ended.
    Elsewhere,
}

impl After {
    /// Returns the kind as a number.
    pub const fn kind(self) -> u64 {
        match self {
            Self::Start => 0,
            Self::Operation(_) => 1,
            Self::Begun => 2,
            Self::Message(_) => 3,
            Self::Elsewhere => 4,
        }
    }

    /// Visits the condition before a message or an operation with this message.
    pub fn walk(&mut self, id: MessageId, walk: &mut StateVisitor<'_>) {
        walk.value(self.kind());
        if let Self::Message(place) = self {
            id.walk_place(place, walk);
        }
    }
}

/// A message in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The posted message.
    pub post: Post,
    /// Time of posting.
    pub posted: Moment,
    /// First start of transmission of the last packet.
    pub left: Moment,
    /// Port of the departure.
    pub port: PortId,
    /// Class of the message.
    pub class: u8,
}

impl State for MessageId {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let id = *self;
        let Self { job, number, place } = self;
        walk.value(u64::from(*job));
        id.walk_place(place, walk);
        walk.number(*job, number);
    }
}

impl State for Message {
    /// Posting and departure times are written to tables, and are therefore part of the state.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { post: Post { id, flow: _, bytes, after }, posted, left, port, class } = self;
        after.walk(*id, walk);
        id.walk(walk);
        walk.value(*bytes);
        walk.moment(posted);
        walk.moment(left);
        walk.value(u64::from(port.0) << 8 | u64::from(*class));
    }
}

/// A delivered message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// The message.
    pub message: Message,
    /// Destination.
    pub dst: u32,
    /// Time of delivery.
    pub at: Moment,
}

impl Row for Delivered {
    fn shift(&mut self, by: Duration, on: &dyn Offsets) {
        let Self { message: Message { post: Post { id, after, .. }, posted, left, .. }, at, dst: _ } = self;
        if let After::Message(place) = after {
            *place += on.offset(MessageId { place: *place, ..*id }.posted()) as u32;
        }
        id.place += on.offset(id.posted()) as u32;
        id.number = on.number(id.job, id.number);
        for moment in [posted, left, at] {
            *moment += by;
        }
    }
}
