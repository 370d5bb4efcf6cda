//! The rules of pulls: first window, size and time of a pull, and the source of the demand.

use xoff_units::Duration;

use super::share::Adaption;

/// The rules of pulls.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The part of the scenario that gives the rules.
    pub part: &'static str,
    /// Packets or bytes that a flow may send unasked.
    pub first: u64,
    /// Packets or quanta of a pull at most.
    pub batch: u32,
    /// The time between pulls, for each packet or quantum.
    pub time: Duration,
    /// The demand of flows.
    pub demand: Demand,
    /// The adaption of pulls to congestion on the path, if any.
    pub adaption: Option<Adaption>,
}

/// The unit of credit, and the source of the demand.
#[derive(Debug, Clone, Copy)]
pub enum Demand {
    /// Packets: each packet or header that arrives, and each timeout, is worth one more.
    Arrivals,
    /// Bytes on the wire: the tag of packets states the total demand of the flow in quanta.
    Targets(Targets),
}

/// The demand that flows state.
#[derive(Debug, Clone, Copy)]
pub struct Targets {
    /// Bytes of a quantum.
    pub quantum: u64,
    /// The largest credit and demand of a flow.
    pub most: u64,
    /// Bytes of the largest packet.
    pub largest: u64,
    /// Flows without demand get up to `most` unasked, while no flow has demand.
    pub slow: bool,
}

impl Rules {
    /// The number of a flow's last packets that its demand depends on.
    pub fn looks_ahead(&self, payload: u64) -> u32 {
        match &self.demand {
            Demand::Arrivals => 0,
            Demand::Targets(targets) => ((targets.most + targets.largest).div_ceil(payload) + 1) as u32,
        }
    }
}
