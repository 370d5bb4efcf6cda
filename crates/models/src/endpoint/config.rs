//! Settings of an endpoint, with the stacks of flows from other hosts.

use super::classify::Classify;
use super::jitter::Jitter;
use super::slow::Bottlenecks;
use crate::congestion_control::Scheme;
use crate::congestion_control::contract::{Echo, Tag};
use crate::framing::Framing;
use crate::pulls::Rules;
use crate::routing::Sources;
use crate::transport::Protocol;
use std::sync::Arc;
use xoff_units::index;

/// Settings that all flows of a host share.
#[derive(Debug, Clone)]
pub struct Config {
    /// Packet sizes.
    pub framing: Framing,
    /// Retransmission.
    pub transport: Protocol,
    /// Rates, worked out for each port.
    pub schemes: Vec<Scheme>,
    /// The notification of senders about marks.
    pub echo: Option<Echo>,
    /// The rules of pulls, if receivers pull.
    pub pulls: Option<Rules>,
    /// True when frames that let flows continue may be lost, because the scenario has faults.
    pub loses_frames: bool,
    /// The class of a new flow.
    pub classify: Classify,
    /// The jitter of packets, if any.
    pub jitter: Option<Jitter>,
    /// The source node of each flow number.
    pub sources: Arc<Sources>,
    /// The slowest link on the path of a flow.
    pub bottlenecks: Bottlenecks,
}

impl Config {
    /// Answers bring back the tags of packets.
    #[inline]
    pub(super) fn echoes_tags(&self) -> bool {
        self.schemes.first().is_some_and(|scheme| scheme.tag() == Tag::Echoed)
    }
}

/// The stacks of arriving flows in networks whose hosts differ. A flow follows the stack of its source.
#[derive(Debug, Clone)]
pub struct Mixed {
    /// The settings of each stack.
    pub configs: Vec<Arc<Config>>,
    /// The stack of each node.
    pub places: Arc<[u16]>,
}

impl Mixed {
    #[cold]
    pub(super) fn of(&self, source: u32) -> &Config {
        &self.configs[usize::from(self.places[index(source)])]
    }
}

/// Returns the settings of a flow that ends at a host; `own` are the settings of flows that start there.
#[inline]
pub(super) fn arriving<'a>(own: &'a Config, mixed: Option<&'a Mixed>, flow: u32) -> &'a Config {
    mixed.map_or(own, |mixed| mixed.of(own.sources.of(flow)))
}
