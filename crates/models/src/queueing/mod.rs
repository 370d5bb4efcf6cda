//! Queues, their counters and schedulers, buffers, and ECN marking.

pub mod buffer;
pub mod counter;
pub mod ecn;
pub mod isolation;
pub mod port;
