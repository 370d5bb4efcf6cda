//! Where packets wait: the ports of a node with queues and buffers, the links inside a server, and what a part asks of its
//! node.

pub mod core;
pub mod cut_through;
pub mod effects;
pub mod nvlink;
pub mod queueing;
pub mod relay;
