//! What collectors tell one another.

use xoff_applications::job::Ended;
use xoff_models::hosts::endpoint::Sent;
use xoff_models::records::events::Drop;
use xoff_units::{Duration, Moment};

use crate::ideal::Ideal;

/// What collectors tell one another, in the order in which they hear it.
#[derive(Default)]
pub struct News {
    pub drops: Vec<Drop>,
    pub messages: Vec<MessageEnd>,
    pub operations: Vec<Ended>,
    pub flows: Vec<FlowEnd>,
}

/// A message that came over the network.
pub struct MessageEnd {
    /// For delays.
    pub delivered: Delivered,
    /// For measures; none for a message of serving, whose requests are measured.
    pub over: Option<Over>,
}

/// The end of a flow, or the state of an unfinished flow at the end of the run.
pub struct FlowEnd {
    pub sent: Sent,
    pub src: u32,
    pub workload: u32,
    pub arrived: Option<Moment>,
    /// A connection has idle times, and its messages are measured instead.
    pub is_connection: bool,
    /// A connection that stays open waits for its next message.
    pub is_open: bool,
    pub partial: Option<Partial>,
    /// Of a connection only if the flow has a row.
    pub ideal: Option<Ideal>,
    /// For measures; none for a connection.
    pub over: Option<Over>,
}

/// A flow that has not arrived whole.
#[derive(Debug, Clone, Copy)]
pub struct Partial {
    /// Payload that arrived in order.
    pub delivered: u64,
    /// End of the run.
    pub end: Moment,
    /// The flow sends, or waits for an answer.
    pub is_active: bool,
}

/// A delivered flow or message: start, and arrival of the last byte.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    pub flow: u32,
    pub message: Option<(u32, u32)>,
    pub start: Moment,
    pub arrived: Moment,
    pub dst: u32,
}

/// A flow or message at its end, or at the end of the run. Times are in picoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Over {
    /// The flow, or the connection of the message.
    pub flow: u32,
    /// Workload of the flow.
    pub workload: u32,
    /// Payload of the flow.
    pub size: u64,
    /// Start of the flow.
    pub start: u64,
    /// Arrival of the last byte.
    pub arrived: Option<u64>,
    /// Ideal FCT.
    pub ideal: Duration,
    /// Completion time divided by the ideal FCT.
    pub slowdown: Option<f64>,
}

impl Over {
    /// Returns the measured end of a flow of a workload.
    pub fn new(
        (flow, workload): (u32, u32),
        size: u64,
        start: Moment,
        arrived: Option<Moment>,
        ideal: Duration,
    ) -> Self {
        let slowdown = arrived.map(|at| (at - start).ps() as f64 / ideal.real());
        Self { flow, workload, size, start: start.ps(), arrived: arrived.map(Moment::ps), ideal, slowdown }
    }

    /// Returns the flow with its completion time and its ideal FCT if it was faster than the ideal.
    pub fn took_less_than_ideal(&self) -> Option<(u32, [Duration; 2])> {
        let took = Duration(self.arrived? - self.start);
        (took < self.ideal).then_some((self.flow, [took, self.ideal]))
    }
}
