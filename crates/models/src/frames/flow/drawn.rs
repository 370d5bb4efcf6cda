//! Flows of one host that are drawn one at a time, each when its time comes.

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state::State;
use xoff_units::Moment;

use super::spec::FlowSpec;

/// The offered load of a host, as its settings state the load: a mean over all seeds.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// The first moment at which a flow may start.
    pub from: Moment,
    /// The moment after which no flow starts.
    pub to: Moment,
    /// Bytes on the wire in this time, on average over all draws.
    pub bytes: f64,
}

/// Flows of one host from a random stream, one flow at a time. The flows are not stored: a host with a
/// million flows holds one. The number of flows is known before the run, because every flow of the scenario
/// has a number.
pub trait Drawn: std::fmt::Debug + Send + State + DynClone {
    /// The start of the next flow.
    fn peek(&self) -> Option<Moment>;

    /// Takes the next flow and draws the following flow.
    fn take(&mut self) -> Option<FlowSpec>;

    /// Returns the class of the flows and the list of receivers. All hosts of a workload share the list. The
    /// list may contain the host, which never sends to itself.
    fn destinations(&self) -> (u8, &[u32]);

    /// Flows in all.
    fn count(&self) -> u64;

    /// Payload in all.
    fn bytes(&self) -> u64;

    /// The offered load. The bytes of this seed differ from the mean ([`Drawn::bytes`]).
    fn offer(&self) -> Offer;

    /// Numbers the flows from here.
    fn number_from(&mut self, flow: u32);
}

clone_trait_object!(Drawn);
