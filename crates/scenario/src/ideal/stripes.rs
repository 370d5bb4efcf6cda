//! A flow over several ports of its host: the least time at which all ports together have sent its packets.
//!
//! P packets, of which the last may be shorter, leave by n equal ports. With q = ⌊P / n⌋ and r = P mod n the busiest port
//! sends q full packets if r = 0, also the last packet if r = 1, and q + 1 full packets if r > 1. Example: 100 MB in packets
//! of 1,000 B over eight ports of 100 Gb/s take as long as 12,500 packets over one port. Ports with other rates or paths send
//! as many packets as fit into the time. Simplification: the ports share no link, except the links into the destination.

use std::sync::Arc;

use xoff_units::Duration;

use super::{IdealFct, Way};

/// Equal ports of a host, with the ways from each of them; a packet takes the fastest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Stripe {
    /// Number of ports.
    pub count: u64,
    pub ways: Arc<[Way]>,
}

/// Adds a port with its ways.
pub(super) fn add(stripes: &mut Vec<Stripe>, ways: Arc<[Way]>) {
    match stripes.iter_mut().find(|stripe| stripe.ways == ways) {
        Some(stripe) => stripe.count += 1,
        None => stripes.push(Stripe { count: 1, ways }),
    }
}

impl IdealFct {
    /// Returns the time of a flow over all ports, into `into` ports of the destination.
    pub(super) fn striped(&mut self, stripes: &[Stripe], into: u64, size: u64) -> Duration {
        let sent = match stripes {
            [equal] => {
                let part = self.busiest(equal.count, size);
                self.on_fastest(&equal.ways, part)
            }
            _ => self.over_unequal(stripes, size),
        };
        if into >= stripes.iter().map(|stripe| stripe.count).sum() {
            return sent;
        }
        let part = self.busiest(into, size);
        sent.max(stripes.iter().map(|stripe| self.on_fastest(&stripe.ways, part)).min().unwrap_or_default())
    }

    /// Returns the payload that the busiest of several equal ports sends.
    fn busiest(&self, ports: u64, size: u64) -> u64 {
        let (packets, payload) = (self.framing.packets(size), self.framing.payload);
        match (packets / ports, packets % ports) {
            _ if ports == 1 => size,
            (each, 0) => each * payload,
            (each, 1) => each * payload + self.last(size),
            (each, _) => (each + 1) * payload,
        }
    }

    /// Returns the payload of the last packet.
    fn last(&self, size: u64) -> u64 {
        size - (self.framing.packets(size) - 1) * self.framing.payload
    }

    /// Returns the time of a part of a flow on the fastest of several ways.
    fn on_fastest(&mut self, ways: &[Way], part: u64) -> Duration {
        ways.iter().map(|way| self.time_of(*way, part)).min().unwrap_or(Duration::FOREVER)
    }

    /// Returns the least time in which ports that differ carry all packets.
    fn over_unequal(&self, stripes: &[Stripe], size: u64) -> Duration {
        let times = |ways: &[Way], part: u64| {
            ways.iter().map(|way| self.time(&self.ways.hops(*way), part)).min().unwrap_or(Duration::FOREVER)
        };
        let one = stripes.iter().map(|stripe| times(&stripe.ways, size)).min().unwrap_or_default();
        let (full, last) = (self.framing.packets(size) - 1, self.last(size));
        // The number of full packets that a port carries within a time, before `rest`; none if `rest` takes longer.
        let carries = |ways: &[Way], rest: u64, within: Duration| {
            let fits = |packets: u64| {
                let part = packets * self.framing.payload + rest;
                part == 0 || times(ways, part) <= within
            };
            fits(0).then(|| most(full, fits))
        };
        let suffices = |within: Duration| {
            let alone = |stripe: &Stripe| carries(&stripe.ways, 0, within).unwrap_or_default();
            let all: u64 = stripes.iter().map(|stripe| stripe.count * alone(stripe)).sum();
            let with_last =
                |stripe: &Stripe| Some(all - alone(stripe) + carries(&stripe.ways, last, within)?);
            stripes.iter().filter_map(with_last).max().is_some_and(|carried| carried >= full)
        };
        Duration(one.ps() - most(one.ps(), |less| suffices(Duration(one.ps() - less))))
    }
}

/// Returns the largest number up to `limit` that fits, where every smaller number fits, too.
fn most(limit: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut fit, mut over) = (0, limit + 1);
    while over - fit > 1 {
        let middle = fit + (over - fit) / 2;
        if fits(middle) { fit = middle } else { over = middle }
    }
    fit
}
