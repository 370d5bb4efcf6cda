//! The pacer of a receiving host: the next flow to pull, and the time of the pull.
//!
//! Flows with demand take turns, one pull each. The next pull follows after the time that the granted packets
//! take on the host's line, so all flows together are pulled no faster than packets can arrive.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use xoff_engine::state;
use xoff_units::{Duration, Moment};

use super::rules::{Demand, Rules};
use super::share::Share;
use crate::frames::kinds::{self, Granted};
use crate::frames::packet::Packet;
use crate::hosts::receiving::{Outbox, Peer, Receiving};
use crate::parts::count::{Count, Tally};

/// Pulls sent by receivers.
pub const PULLS: Count = Count::number("pulls", "pulls");
/// Pulls of flows without demand.
pub const SLOW: Count = Count::number("slow_pulls", "pulls of flows without demand");

/// The pull state of a flow that ends at the host, in packets or quanta.
#[derive(Debug, Clone, Copy)]
struct Flow {
    wanted: u32,
    granted: u32,
    /// The destination of pulls.
    source: Peer,
    class: u8,
    /// The flow is in the list of flows with demand, or in the list of idle flows.
    is_wanting: bool,
    is_idle: bool,
}

state!(Flow {
    granted: wanted, granted;
    part: source;
    value: class, is_wanting, is_idle;
});

/// Pulls for all flows that end at a host.
#[derive(Debug, Clone)]
pub struct Pacer {
    rules: Rules,
    /// True when pulls may be lost, because the scenario has faults.
    loses_frames: bool,
    flows: FxHashMap<u32, Flow>,
    /// Flows with demand, in turn. A finished flow leaves at its turn.
    wanting: VecDeque<u32>,
    /// Flows that had demand before.
    idle: VecDeque<u32>,
    /// Not before then.
    next: Moment,
    share: Option<Share>,
    /// Pulls sent.
    pulls: u64,
    /// Pulls of flows without demand.
    slow: u64,
}

state!(Pacer {
    flows: flows;
    value: wanting, idle;
    due: next;
    part: share;
    total: pulls, slow;
    constant: rules, loses_frames;
});

impl Receiving for Pacer {
    /// Handles a packet or a header, or the request of a flow that lacks credit.
    fn on_packet(&mut self, packet: &Packet, source: Peer, outbox: &mut Outbox) {
        if let (Some(share), Some(adaption)) = (&mut self.share, &self.rules.adaption) {
            share.on_packet(adaption, packet, outbox.now);
        }
        let request = packet.payload().map(|kinds::Pull { total: Granted(total) }| total);
        if let Some(total) = request.filter(|_| self.loses_frames) {
            self.request_again(packet.flow(), total);
        }
        let class = packet.class();
        let new = Flow { wanted: 0, granted: 0, source, class, is_wanting: false, is_idle: false };
        let flow = self.flows.entry(packet.flow()).or_insert(new);
        let wanted = match self.rules.demand {
            Demand::Arrivals => flow.wanted.saturating_add(1),
            Demand::Targets(_) => request.unwrap_or_else(|| packet.tag()).max(flow.wanted),
        };
        let wants_more = wanted > flow.wanted;
        flow.wanted = wanted;
        if flow.wanted > flow.granted && !flow.is_wanting {
            flow.is_wanting = true;
            self.wanting.push_back(packet.flow());
        } else if wants_more && self.rules.gives_unasked(flow) && !flow.is_idle && !flow.is_wanting {
            flow.is_idle = true;
            self.idle.push_back(packet.flow());
        }
    }

    fn on_end(&mut self, packet: &Packet, _: Peer, _: &mut Outbox) {
        self.flows.remove(&packet.flow());
    }

    fn timer(&self) -> Moment {
        let is_at_rest = self.wanting.is_empty() && self.idle.is_empty();
        if is_at_rest { Moment::NEVER } else { self.next }
    }

    fn on_timer(&mut self, outbox: &mut Outbox) {
        if let Some((number, units)) = self.pull_wanting().or_else(|| self.pull_idle()) {
            let (flow, now) = (self.flows[&number], outbox.now);
            let rate = self
                .share
                .as_mut()
                .zip(self.rules.adaption.as_ref())
                .map_or(1.0, |(share, adaption)| share.rate(adaption, now));
            let time = self.rules.time;
            let time = if rate < 1.0 { Duration::of_real(time.real() / rate) } else { time };
            self.next = now + time * u64::from(units);
            self.pulls += 1;
            outbox.send(kinds::Pull { total: Granted(flow.granted) }, number, flow.source, flow.class);
        }
    }

    fn counts(&self, tally: &mut dyn Tally) {
        tally.add(PULLS, self.pulls);
        if matches!(self.rules.demand, Demand::Targets(_)) {
            tally.add(SLOW, self.slow);
        }
    }
}

impl Pacer {
    /// Returns the pacer of a host.
    pub fn new(rules: &Rules, host: u32, loses_frames: bool) -> Self {
        Self {
            loses_frames,
            flows: FxHashMap::default(),
            wanting: VecDeque::new(),
            idle: VecDeque::new(),
            next: Moment::ZERO,
            share: rules.adaption.map(|adaption| Share::new(&adaption, host)),
            pulls: 0,
            slow: 0,
            rules: rules.clone(),
        }
    }

    /// Handles the total demand of a request. If the total was granted already, the pulls were lost and are repeated.
    fn request_again(&mut self, flow: u32, total: u32) {
        if let Some(known) =
            self.flows.get_mut(&flow).filter(|known| total <= known.granted && !known.is_wanting)
        {
            known.is_wanting = true;
            self.wanting.push_back(flow);
        }
    }

    /// Returns the next flow with demand and its grant.
    fn pull_wanting(&mut self) -> Option<(u32, u32)> {
        loop {
            let number = self.wanting.pop_front()?;
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let units = self.rules.batch.min(flow.wanted - flow.granted);
            flow.granted += units;
            flow.is_wanting = flow.wanted > flow.granted;
            if flow.is_wanting {
                self.wanting.push_back(number);
            } else if self.rules.gives_unasked(flow) && !flow.is_idle {
                flow.is_idle = true;
                self.idle.push_back(number);
            }
            return Some((number, units));
        }
    }

    /// Returns the next flow without demand and its grant.
    fn pull_idle(&mut self) -> Option<(u32, u32)> {
        loop {
            let number = self.idle.pop_front()?;
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            if !self.rules.gives_unasked(flow) {
                flow.is_idle = false;
                continue;
            }
            flow.granted += self.rules.batch;
            flow.is_idle = self.rules.gives_unasked(flow);
            if flow.is_idle {
                self.idle.push_back(number);
            }
            self.slow += 1;
            return Some((number, self.rules.batch));
        }
    }
}

impl Rules {
    /// True when a flow without demand may get credit while no flow has demand.
    fn gives_unasked(&self, flow: &Flow) -> bool {
        match self.demand {
            Demand::Arrivals => false,
            Demand::Targets(targets) => {
                targets.slow
                    && u64::from(flow.granted - flow.wanted.min(flow.granted))
                        < targets.most / targets.quantum
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Targets;
    use super::*;
    use crate::frames::kinds::Kind;

    fn rules(demand: Demand, batch: u32) -> Rules {
        Rules { part: "test", first: 1, batch, time: Duration::ns(100), demand, adaption: None }
    }

    fn data(flow: u32, tag: u32) -> Packet {
        let mut packet = Packet::new(Kind::Data, flow, 0, 9, 1000, 2);
        packet.set_tag(tag);
        packet
    }

    /// Lets timers expire until none is set: flow, total grant, and time in nanoseconds.
    fn pulls(pacer: &mut Pacer, mut at: Option<Moment>) -> Vec<(u32, u32, u64)> {
        let mut list = Vec::new();
        while let Some(now) = at {
            let mut outbox = Outbox::new(now, 64);
            pacer.on_timer(&mut outbox);
            list.extend(outbox.frames().iter().map(|f| (f.flow(), f.seq(), now.ps() / 1000)));
            at = timer(pacer, now);
        }
        list
    }

    /// The time of the next call at `now`.
    fn timer(pacer: &Pacer, now: Moment) -> Option<Moment> {
        Some(pacer.timer()).filter(|at| *at != Moment::NEVER).map(|at| at.max(now))
    }

    /// A packet arrives; returns the time of the next call.
    fn arrive(pacer: &mut Pacer, packet: &Packet, [node, path]: [u16; 2], now: Moment) -> Option<Moment> {
        pacer.on_packet(packet, Peer { node: u32::from(node), path }, &mut Outbox::new(now, 64));
        timer(pacer, now)
    }

    #[test]
    fn flows_take_turns_and_pulls_keep_their_distance() {
        let rules = rules(Demand::Arrivals, 1);
        let mut pacer = Pacer::new(&rules, 9, false);
        let mut at = None;
        for flow in [7, 7, 7, 8, 8, 8] {
            at = arrive(&mut pacer, &data(flow, 0), [3, 5], Moment::ns(1000)).or(at);
        }
        assert_eq!(at, Some(Moment::ns(1000)), "a pacer at rest pulls at once");
        let expected = [(7, 1, 1000), (8, 1, 1100), (7, 2, 1200), (8, 2, 1300), (7, 3, 1400), (8, 3, 1500)];
        assert_eq!(pulls(&mut pacer, at), expected);
        // The last pull's time has not passed.
        let at = arrive(&mut pacer, &data(7, 0), [3, 5], Moment::ns(1550));
        assert_eq!(at, Some(Moment::ns(1600)));
        assert_eq!(arrive(&mut pacer, &data(8, 0), [3, 5], Moment::ns(1560)), at, "one timer serves both");
        pacer.on_end(&data(7, 0), Peer { node: 3, path: 5 }, &mut Outbox::new(Moment::ns(1570), 64));
        assert_eq!(pulls(&mut pacer, at), [(8, 4, 1600)], "nobody pulls what is all here");
        let at = arrive(&mut pacer, &data(8, 0), [3, 5], Moment::ns(1900));
        let mut outbox = Outbox::new(at.unwrap(), 64);
        pacer.on_timer(&mut outbox);
        let frame = outbox.frames()[0];
        assert_eq!(pacer.timer(), Moment::NEVER, "the pacer pulls once");
        assert_eq!(
            (frame.kind(), frame.dst(), frame.path(), frame.class(), frame.bytes()),
            (Kind::Pull, 3, 5, 2, 64)
        );
        assert_eq!((pacer.pulls, pacer.slow), (8, 0));
    }

    #[test]
    fn a_flow_gets_what_it_asks_for_and_more_while_nobody_wants_any() {
        let targets = Targets { quantum: 256, most: 12 * 256, largest: 1000, slow: true };
        let rules = rules(Demand::Targets(targets), 8);
        let mut pacer = Pacer::new(&rules, 9, false);
        let at = arrive(&mut pacer, &data(7, 20), [3, 0], Moment::ZERO);
        arrive(&mut pacer, &data(8, 8), [4, 0], Moment::ZERO);
        arrive(&mut pacer, &data(7, 3), [3, 0], Moment::ZERO);
        // The pull before lasts as long as what it grants: 100 ns a quantum. Then both get more, up to twelve
        // beyond what they wanted.
        let asked = [(7, 8, 0), (8, 8, 800), (7, 16, 1600), (7, 20, 2400)];
        let unasked = [(8, 16, 2800), (7, 28, 3600), (8, 24, 4400), (7, 36, 5200)];
        assert_eq!(pulls(&mut pacer, at), [asked, unasked].concat());
        assert_eq!((pacer.pulls, pacer.slow), (8, 4));
        // What was given unasked is used before more is given.
        assert_eq!(arrive(&mut pacer, &data(8, 11), [4, 0], Moment::us(9)), None);
        let at = arrive(&mut pacer, &data(8, 14), [4, 0], Moment::us(9));
        assert_eq!(pulls(&mut pacer, at), [(8, 32, 9000)]);
    }
}
