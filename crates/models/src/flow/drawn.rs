//! Flows of one host that are drawn one at a time, each when its time comes.

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state::State;
use xoff_units::Moment;

use super::spec::FlowSpec;

/// The expected offer of a source.
#[derive(Debug, Clone, Copy)]
pub struct Offer {
    /// Flows arrive from here on.
    pub from: Moment,
    /// Up to here.
    pub to: Moment,
    /// Bytes on the wire in this time, on average over all draws.
    pub bytes: f64,
}

/// Flows of one host that are drawn one at a time during the run. Their number is known before the run.
pub trait Drawn: std::fmt::Debug + Send + State + DynClone {
    /// The start of the next flow.
    fn peek(&self) -> Option<Moment>;

    /// Takes the next flow and draws the following flow.
    fn take(&mut self) -> Option<FlowSpec>;

    /// The class and the possible receivers except the host. Hosts of one workload share the list.
    fn destinations(&self) -> (u8, &[u32]);

    /// Flows in all.
    fn count(&self) -> u64;

    /// Payload in all.
    fn bytes(&self) -> u64;

    /// The offer expected before the draws.
    fn offer(&self) -> Offer;

    /// Numbers the flows from here.
    fn number_from(&mut self, flow: u32);
}

clone_trait_object!(Drawn);
