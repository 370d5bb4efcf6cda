//! NVLink, the links inside a server: the queues of slices that applications need, the pipes of the GPUs at a node, and the
//! links of the engine between the nodes of a server.

pub mod links;
pub mod pipes;
pub mod queues;
