//! Queues, their counters and schedulers, buffers, and flows that change queues.

pub mod buffer;
pub mod counter;
pub mod isolation;
pub mod port;
pub mod ring;
