//! Connections: flows that carry messages, and the log of messages between the two ends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use super::spec::FlowSpec;
use crate::message::Message;

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

/// The messages of a connection as the receiving end sees them: the end and the identity of each, as a work request and its memory address
/// tell a real receiver.
///
/// The ends may run on different threads. A message enters the log before its packets leave, and is read after all packets have arrived.
/// The read does not depend on the progress of the sending end.
#[derive(Debug, Default)]
pub struct MessageLog(Mutex<VecDeque<(u32, Message)>>);

impl MessageLog {
    /// Calls `f` with the messages and their ends, each the packet after the last.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut VecDeque<(u32, Message)>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the messages that end before this packet.
    pub fn take(&self, before: u32) -> Vec<Message> {
        self.with(|list| {
            let whole = list.partition_point(|one| one.0 <= before);
            list.drain(..whole).map(|one| one.1).collect()
        })
    }
}
