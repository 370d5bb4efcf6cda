//! A flow over several ports of its host: the least time at which all ports together have sent its packets.
//!
//! P packets, of which the last may be shorter, leave by n equal ports. With q = ⌊P / n⌋ and r = P mod n the busiest port
//! sends q full packets if r = 0, also the last packet if r = 1, and q + 1 full packets if r > 1. Example: 100 MB in packets
//! of 1,000 B over eight ports of 100 Gb/s take as long as 12,500 packets over one port. Ports with other rates or paths send
//! as many packets as fit into the time. Simplification: the ports share no link, except the links into the destination.

use std::sync::Arc;

use xoff_models::frames::framing::Framing;
use xoff_units::Duration;

/// The number of a way of packets.
pub type Way = u32;

/// Equal ports of a host, with the ways from each of them; a packet takes the fastest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Stripe {
    /// Number of ports.
    pub count: u64,
    pub ways: Arc<[Way]>,
}

/// Adds a port with its ways.
pub fn add(stripes: &mut Vec<Stripe>, ways: Arc<[Way]>) {
    match stripes.iter_mut().find(|stripe| stripe.ways == ways) {
        Some(stripe) => stripe.count += 1,
        None => stripes.push(Stripe { count: 1, ways }),
    }
}

/// A flow, with the time that a part of its payload takes alone on a way.
pub struct Flow<T> {
    pub framing: Framing,
    pub size: u64,
    pub time: T,
}

impl<T: FnMut(Way, u64) -> Duration> Flow<T> {
    /// Returns the time of the flow over all ports, into `into` ports of the destination.
    pub fn striped(&mut self, stripes: &[Stripe], into: u64) -> Duration {
        let sent = match stripes {
            [equal] => self.on_fastest(&equal.ways, self.busiest(equal.count)),
            _ => self.over_unequal(stripes),
        };
        if into >= stripes.iter().map(|stripe| stripe.count).sum() {
            return sent;
        }
        let part = self.busiest(into);
        let received = stripes.iter().map(|stripe| self.on_fastest(&stripe.ways, part)).min();
        sent.max(received.unwrap_or_default())
    }

    /// Returns the payload that the busiest of several equal ports sends.
    fn busiest(&self, ports: u64) -> u64 {
        let (packets, payload) = (self.framing.packets(self.size), self.framing.payload);
        match (packets / ports, packets % ports) {
            _ if ports == 1 => self.size,
            (each, 0) => each * payload,
            (each, 1) => each * payload + self.last(),
            (each, _) => (each + 1) * payload,
        }
    }

    /// Returns the payload of the last packet.
    fn last(&self) -> u64 {
        self.size - (self.framing.packets(self.size) - 1) * self.framing.payload
    }

    /// Returns the time of a part of the flow on the fastest of several ways.
    fn on_fastest(&mut self, ways: &[Way], part: u64) -> Duration {
        ways.iter().map(|way| (self.time)(*way, part)).min().unwrap_or(Duration::FOREVER)
    }

    /// Returns the least time in which ports that differ carry all packets.
    fn over_unequal(&mut self, stripes: &[Stripe]) -> Duration {
        let whole = self.size;
        let one = stripes.iter().map(|stripe| self.on_fastest(&stripe.ways, whole)).min().unwrap_or_default();
        Duration(one.ps() - most(one.ps(), |less| self.suffices(stripes, Duration(one.ps() - less))))
    }

    /// True if all ports together carry the flow within a time.
    fn suffices(&mut self, stripes: &[Stripe], within: Duration) -> bool {
        let (full, last) = (self.framing.packets(self.size) - 1, self.last());
        let mut all = 0;
        // By how much a port that also sends the last packet carries fewer full packets; none if the last does not fit.
        let mut least = None;
        for stripe in stripes {
            let alone = self.carries(&stripe.ways, 0, within).unwrap_or_default();
            all += stripe.count * alone;
            let fewer = self.carries(&stripe.ways, last, within).map(|carried| alone - carried);
            least = least.into_iter().chain(fewer).min();
        }
        least.is_some_and(|fewer| all - fewer >= full)
    }

    /// Returns the number of full packets that a port carries within a time, before `rest`; none if `rest` takes longer.
    fn carries(&mut self, ways: &[Way], rest: u64, within: Duration) -> Option<u64> {
        let (payload, limit) = (self.framing.payload, self.framing.packets(self.size) - 1);
        let mut fits = |packets: u64| {
            let part = packets * payload + rest;
            part == 0 || self.on_fastest(ways, part) <= within
        };
        fits(0).then(|| most(limit, fits))
    }
}

/// Returns the largest number up to `limit` that fits, where every smaller number fits, too.
fn most(limit: u64, mut fits: impl FnMut(u64) -> bool) -> u64 {
    let (mut fit, mut over) = (0, limit + 1);
    while over - fit > 1 {
        let middle = fit + (over - fit) / 2;
        if fits(middle) { fit = middle } else { over = middle }
    }
    fit
}
