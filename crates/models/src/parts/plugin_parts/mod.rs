//! What parts of plug-ins of all kinds have in common: an entry of a registry, parameters, the table in a scenario, and
//! the state of a flow. The plug-in itself is [`crate::network::plugins::Plugin`].

mod entry;
mod flow_state;
mod given;
pub mod running;

pub use self::entry::{Entry, Params, PartKind, Registry};
pub use self::flow_state::{AnyState, FlowState};
pub use self::given::Given;
