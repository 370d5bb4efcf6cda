//! Connections: flows that carry messages, and the log of messages between the two ends.

use std::sync::{Arc, Mutex, PoisonError};

use super::few::Few;
use super::spec::FlowSpec;
use crate::frames::message::Message;

/// A connection to come, without a log.
#[derive(Debug, Clone, Copy)]
pub struct Planned {
    /// As a flow.
    pub spec: FlowSpec,
    /// The number of messages.
    pub to_come: u32,
}

/// A connection of a host; its size is the payload of all messages.
#[derive(Debug, Clone)]
pub struct Connection {
    /// As a flow.
    pub spec: FlowSpec,
    /// Messages that are still to be posted.
    pub to_come: u32,
    /// The log of messages for the other end.
    pub log: Arc<MessageLog>,
}

/// The log of a connection at its receiver.
#[derive(Debug, Clone, Default)]
pub struct Incoming {
    /// The log.
    pub log: Arc<MessageLog>,
    /// In a folded run, the element that renames the messages of the log: the log is that of the connection of
    /// another pair of ranks.
    pub element: u32,
}

/// The messages of a connection that the receiver has not yet taken, each with the number of the first packet
/// after the message.
///
/// The receiver learns from the log which packets belong to which message. Example: message A has packets 0
/// to 4, and its entry is (5, A). A work request tells a real receiver the same. The two sides may run on
/// different threads. A message enters the log before its packets leave, and the receiver reads the entry
/// after all packets have arrived. The read does not depend on the progress of the sender.
#[derive(Debug, Default)]
pub struct MessageLog(Mutex<Few<(u32, Message)>>);

impl MessageLog {
    /// Calls `f` with the entries: the first packet after a message, and the message.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Few<(u32, Message)>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the first message, if the message ends before this packet.
    pub fn take(&self, before: u32) -> Option<Message> {
        self.with(|list| {
            let is_whole = list.front().is_some_and(|one| one.0 <= before);
            if is_whole { list.pop_front().map(|one| one.1) } else { None }
        })
    }
}
