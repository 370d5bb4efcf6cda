//! Properties of a network that the lines of all hosts share.

use xoff_units::{Duration, Rate, Serializer, index};

use super::settings::Settings;
use crate::hosts::congestion_control::contract::Line;
use crate::hosts::congestion_control::{CongestionControl, Scheme};
use crate::hosts::endpoint::Bottlenecks;
use crate::hosts::stack::Stack;
use crate::hosts::transport::{self, Protocol};
use crate::parts::ids::PortId;
use crate::paths::routing::{MAX_SWITCHES, longest_round_trip};
use crate::paths::topology::{PortSpec, Topology};
use crate::ports::cut_through;

/// Properties of a network shared by the lines of all hosts.
#[derive(Debug, Clone)]
pub struct Lines {
    pub(super) line: Line,
    pub(super) bottlenecks: Bottlenecks,
}

impl Lines {
    /// Computes the properties from a network.
    pub fn new(topology: &Topology, ports: &[Vec<PortSpec>], settings: &Settings) -> Self {
        let nominal = Line::nominal(settings.framing);
        // A key that warns for a long round trip depends on the round trip.
        // Only users of acknowledgements or pulls, and components that declare the need, require the round
        // trip.
        let slow = Line { round_trip: Duration::ms(1_000), answered: Duration::ms(1_000), ..nominal };
        let may_warn = |stack: &Stack| {
            let mut controls = stack.controls().into_iter().map(|(_, control)| control.warn(slow));
            controls.any(|list| !list.is_empty()) || !stack.transport.warn(slow).is_empty()
        };
        let asks = |stack: &Stack| {
            let mut controls = stack.controls().into_iter().map(|(_, control)| control);
            controls
                .any(|control| Scheme::new(control, nominal).hears_acks() || control.pulls(nominal).is_some())
                || stack.transport.wants_round_trip()
                || may_warn(stack)
        };
        let shortest = settings.protocols().iter().filter(|p| p.acknowledges()).map(|p| p.timeouts().0).min();
        let needs_it = settings.stacks.list().iter().any(asks)
            || settings.mechanisms().any(|p| p.wants_round_trip)
            || shortest.is_some_and(|timeout| timeout < Self::bound(topology, settings) * 2);
        let delay = |n: u32| settings.delay(&topology.nodes[index(n)]);
        let largest = settings.framing.largest();
        let tail_of = |n: u32, port: PortId, [input, output]: [Serializer; 2]| {
            let cut = settings.cut_through(n, port, &topology.nodes[index(n)]);
            cut.map_or(Duration::ZERO, |cut| {
                input.time(largest) - cut_through::head(cut.header.0, largest, input, output)
            })
        };
        let longest = |answer: u64| {
            if needs_it {
                longest_round_trip(topology, ports, delay, tail_of, largest, answer)
            } else {
                Duration::ZERO
            }
        };
        let (round_trip, answered) = (longest(0), longest(u64::from(settings.framing.control)));
        let trims = settings.mechanisms().any(|p| p.cuts_data);
        Self {
            line: Line { seed: settings.seed, round_trip, answered, trims, ..nominal },
            bottlenecks: Bottlenecks::new(topology, ports),
        }
    }

    /// Returns an upper bound of a round trip without load: the longest link and slowest node at each of the
    /// maximum number of hops.
    pub(super) fn bound(topology: &Topology, settings: &Settings) -> Duration {
        let frames = settings.framing.largest() + u64::from(settings.framing.control);
        let link = topology
            .links
            .iter()
            .map(|l| l.link.delay * 2 + l.link.rate.time(frames))
            .max()
            .unwrap_or_default();
        let node = topology.nodes.iter().map(|node| settings.delay(node) * 2).max().unwrap_or_default();
        (link + node) * (MAX_SWITCHES as u64 + 1).min(topology.links.len() as u64)
    }

    /// Returns the longest round trip without load; zero if no value depends on the round trip.
    pub const fn longest_round_trip(&self) -> Duration {
        self.line.answered
    }

    /// Returns the transport of a stack with derived defaults.
    pub fn protocol(&self, stack: &Stack) -> Protocol {
        Protocol::new(&stack.transport, self.line)
    }

    /// Returns the transport of hosts with ports of these rates, and each of [`Stack::controls`] at each rate, with
    /// derived defaults and values of presets.
    pub fn settled(
        &self,
        rates: &[Rate],
        stack: &Stack,
    ) -> (transport::Table, Vec<Vec<(Rate, CongestionControl)>>) {
        let mut distinct = rates.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let at = |control: &CongestionControl| {
            distinct.iter().map(|rate| (*rate, control.settled(self.of(*rate)))).collect()
        };
        let controls = stack.controls().into_iter().map(|(_, control)| at(control)).collect();
        (stack.transport.settled(self.fastest(rates)), controls)
    }

    /// The line of a port.
    pub fn of(&self, rate: Rate) -> Line {
        Line { rate, ..self.line }
    }

    /// Returns the fastest line of a host, as flows may leave by any port.
    pub(super) fn fastest(&self, rates: &[Rate]) -> Line {
        self.of(rates.iter().copied().max().unwrap_or(self.line.rate))
    }

    /// Returns the lines of a host as one line.
    pub(super) fn whole(&self, rates: &[Rate]) -> Line {
        self.of(Rate(rates.iter().map(|rate| rate.0).sum()))
    }
}
