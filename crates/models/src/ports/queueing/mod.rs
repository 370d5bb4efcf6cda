//! Queues, counters, schedulers, and buffers.

pub mod buffer;
pub mod counter;
pub mod port;
pub mod ring;
pub mod scheduler;
