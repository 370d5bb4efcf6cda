//! Where packets travel: nodes and links, routes, detours after failures, and renamings under which a network stays the same.

pub mod failover;
pub mod line;
pub mod retry;
pub mod routing;
pub mod symmetry;
pub mod topology;
