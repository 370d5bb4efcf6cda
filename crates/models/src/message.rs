//! Messages: what a job hands to a connection between two of its ranks, and what the other end is told of it.
//!
//! A *connection* is a flow that keeps its state: one to transport, congestion control and routing. A *message* is a stretch of its
//! packets; its last packet is as short as the message leaves it, and marked. It is delivered when everything of the connection up to
//! its end is.

use xoff_engine::state::{Origin, Row, State, Walk};
use xoff_units::{Duration, Moment};

use crate::ids::PortId;

/// Which message: the job, the number of what its ranks do together, and the message's place in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct MessageId {
    /// The job.
    pub job: u32,
    /// What ranks do together.
    pub number: u32,
    /// Among the messages of that.
    pub place: u32,
}

/// A message that is handed to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Post {
    /// Which.
    pub id: MessageId,
    /// The connection.
    pub flow: u32,
    /// Payload.
    pub bytes: u64,
    /// What had to come before it.
    pub after: After,
}

/// What let something begin, the last of all that had to come before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum After {
    /// Nothing: the job began.
    #[default]
    Start,
    /// This operation of the rank ended, by its place in the rank's program.
    Operation(u32),
    /// Its own operation began.
    Begun,
    /// This message of the same operation arrived.
    Message(u32),
}

impl After {
    /// Which of these it is.
    pub(crate) const fn kind(self) -> u64 {
        match self {
            Self::Start => 0,
            Self::Operation(_) => 1,
            Self::Begun => 2,
            Self::Message(_) => 3,
        }
    }
}

/// A message on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// What was handed over.
    pub post: Post,
    /// When.
    pub posted: Moment,
    /// When its last packet began to leave for the first time.
    pub left: Moment,
    /// The port by which it left.
    pub port: PortId,
    /// Its class.
    pub class: u8,
}

impl State for MessageId {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { job, number, place } = self;
        walk.value(u64::from(*job));
        walk.message(*job, *number, place);
        walk.number(*job, number);
    }
}

impl State for Message {
    /// When it was handed over and left will be written down, so that it matters.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { post: Post { id, flow: _, bytes, after }, posted, left, port, class } = self;
        walk.value(after.kind());
        if let After::Message(place) = after {
            walk.message(id.job, id.number, place);
        }
        id.walk(walk);
        walk.value(*bytes);
        walk.moment(posted);
        walk.moment(left);
        walk.value(u64::from(port.0) << 8 | u64::from(*class));
    }
}

/// A message that was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// What is known of it.
    pub message: Message,
    /// Where.
    pub dst: u32,
    /// When.
    pub at: Moment,
}

impl Row for Delivered {
    fn shift(&mut self, by: Duration, on: &dyn Origin) {
        let Self { message: Message { post: Post { id, after, .. }, posted, left, .. }, at, dst: _ } = self;
        if let After::Message(place) = after {
            *place += on.messages(id.job, id.number, *place);
        }
        id.place += on.messages(id.job, id.number, id.place);
        id.number = on.number(id.job, id.number);
        for moment in [posted, left, at] {
            *moment += by;
        }
    }
}
