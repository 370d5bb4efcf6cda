//! NCCL: channels, choice of algorithm and protocol, and chunks, as functions of servers and of an operation.
//!
//! NCCL 2.30.7 (commit 5067397) is the source; `docs/models/nccl.md` has the equations. Servers are alike.
//! The GPUs of a server share an NVSwitch. Each NIC is equally far from the GPUs that are nearest to the NIC.
//! Not supported: `CollNet`, multi-node NVLink, registered user buffers, symmetric kernels, and the search in
//! servers without an NVSwitch.

mod chunks;
mod search;
mod servers;
mod tuning;

pub use self::chunks::{Chunks, SLOTS};
pub use self::search::{Graph, Graphs};
pub use self::servers::{Distance, Servers, net_overhead};
pub use self::tuning::{Algorithm, Choice, Operation, Protocol, Step, Tuning, nvls_rate};

#[cfg(test)]
mod tests;
