//! The images of an application's messages in a folded run.

use std::any::Any;
use std::fmt::Debug;

use crate::frames::message::MessageId;

/// Names the image of each message for a renaming of nodes.
///
/// A folded run simulates one of several equal hosts, and therefore renames the messages of the others. Example: if a
/// rotation takes host 0 to host 8, then message 5 of the rank at host 0 becomes message 5 of the rank at host 8.
pub trait MessageImages: Any + Debug + Send + Sync {
    /// Returns the host that sends a message.
    fn sender(&self, id: MessageId) -> u32;

    /// Returns the image of a message.
    fn message(&self, rename: &dyn Fn(u32) -> u32, id: MessageId) -> MessageId;
}
