//! Settings of an endpoint, with the stacks of flows from other hosts.

use std::sync::Arc;

use xoff_units::index;

use super::classify::Classify;
use super::jitter::Jitter;
use super::slow::Bottlenecks;
use crate::frames::framing::Framing;
use crate::hosts::congestion_control::Scheme;
use crate::hosts::congestion_control::contract::{Echo, Tag};
use crate::hosts::pulls::{Pacer, Rules};
use crate::hosts::receiving::Receiving;
use crate::hosts::transport::Protocol;
use crate::parts::ids::PortId;
use crate::paths::routing::Sources;

/// Settings that all flows of a host share.
#[derive(Debug, Clone)]
pub struct Config {
    /// Packet sizes.
    pub framing: Framing,
    /// Retransmission.
    pub transport: Protocol,
    /// Rates, worked out for each port.
    pub schemes: Schemes,
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
    /// Returns the receiver's half of a host: the pacer of pulls, or the half of a congestion control.
    pub(super) fn receiving(&self, host: u32) -> Option<Box<dyn Receiving>> {
        match &self.pulls {
            Some(rules) => Some(Box::new(Pacer::new(rules, host, self.loses_frames))),
            None => self.schemes.list.iter().find_map(|scheme| scheme.receiving(host)),
        }
    }
}

/// The congestion controls of a host: of all flows, and of flows of some classes.
#[derive(Debug, Clone)]
pub struct Schemes {
    /// For each congestion control one of each port.
    list: Vec<Scheme>,
    ports: usize,
    /// The place of the congestion control of each class.
    of_class: [u8; 8],
    /// For each congestion control the notification of senders about marks.
    echoes: Vec<Option<Echo>>,
    /// True when the flows of a queue go by rank.
    pub(super) is_ranked: bool,
}

impl Schemes {
    /// Returns congestion controls, each with one of each port, and the place of the control of each class. Without a
    /// notification by the congestion control, senders hear of marks as in `otherwise`.
    pub fn new(controls: Vec<Vec<Scheme>>, of_class: [u8; 8], otherwise: Option<Echo>) -> Self {
        let echo = |ports: &Vec<Scheme>| ports.first().and_then(Scheme::echo).or(otherwise);
        let (ports, echoes) = (controls.first().map_or(0, Vec::len), controls.iter().map(echo).collect());
        let is_ranked = controls.iter().flatten().any(Scheme::is_ranked);
        Self { list: controls.into_iter().flatten().collect(), ports, of_class, echoes, is_ranked }
    }

    /// Returns the place of the congestion control of a class.
    #[inline]
    pub(super) const fn of_class(&self, class: u8) -> u8 {
        self.of_class[class as usize % 8]
    }

    /// Returns a congestion control at a port.
    #[inline]
    pub(super) fn at(&self, control: u8, port: PortId) -> &Scheme {
        &self.list[usize::from(control) * self.ports + usize::from(port.0)]
    }

    /// Returns the congestion control of flows of a class, at the first port.
    #[inline]
    pub(super) fn first(&self, class: u8) -> Option<&Scheme> {
        self.list.get(usize::from(self.of_class(class)) * self.ports)
    }

    /// Returns the notification of senders about marks, for a packet of a class.
    #[inline]
    pub(super) fn echo(&self, class: u8) -> Option<Echo> {
        self.echoes[usize::from(self.of_class(class))]
    }

    /// Returns the packets before the end of a flow's data up to which a flow acts by what is left.
    pub(super) fn looks_ahead(&self, payload: u64) -> u32 {
        let packets = self.list.iter().map(|scheme| scheme.looks_ahead().div_ceil(payload)).max();
        packets.unwrap_or(0).min(u64::from(u32::MAX)) as u32
    }

    /// True if answers bring back the tags of packets of a class.
    #[inline]
    pub(super) fn echoes_tags(&self, class: u8) -> bool {
        self.first(class).is_some_and(|scheme| scheme.tag() == Tag::Echoed)
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
