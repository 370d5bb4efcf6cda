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
use crate::frames::{self, Granted};
use crate::packet::Packet;

/// The pull state of a flow that ends at the host, in packets or quanta.
#[derive(Debug, Clone, Copy)]
struct Flow {
    wanted: u32,
    granted: u32,
    /// The destination and path of pulls.
    source: u32,
    path: u16,
    class: u8,
    /// The flow is in the list of flows with demand, or in the list of idle flows.
    is_wanting: bool,
    is_idle: bool,
}

state!(Flow {
    granted: wanted, granted;
    value: source, path, class, is_wanting, is_idle;
});

/// Pulls for all flows that end at a host.
#[derive(Debug, Clone)]
pub struct Pacer {
    flows: FxHashMap<u32, Flow>,
    /// Flows with demand, in turn. A finished flow leaves at its turn.
    wanting: VecDeque<u32>,
    /// Flows that had demand before.
    idle: VecDeque<u32>,
    /// Not before then.
    next: Moment,
    is_timer_set: bool,
    share: Option<Share>,
    /// Pulls sent.
    pub pulls: u64,
    /// Pulls of flows without demand.
    pub slow: u64,
}

state!(Pacer {
    flows: flows;
    value: wanting, idle, is_timer_set;
    due: next;
    part: share;
    total: pulls, slow;
});

impl Pacer {
    /// Returns the pacer of a host.
    pub fn new(rules: &Rules, host: u32) -> Self {
        Self {
            flows: FxHashMap::default(),
            wanting: VecDeque::new(),
            idle: VecDeque::new(),
            next: Moment::ZERO,
            is_timer_set: false,
            share: rules.adaption.map(|adaption| Share::new(&adaption, host)),
            pulls: 0,
            slow: 0,
        }
    }

    /// Handles a packet, a header or a request of a flow from `source`; pulls go back by `path`. Returns the
    /// time of the timer to set.
    pub fn on_packet(
        &mut self,
        rules: &Rules,
        packet: &Packet,
        source: u32,
        path: u16,
        now: Moment,
    ) -> Option<Moment> {
        if let (Some(share), Some(adaption)) = (&mut self.share, &rules.adaption) {
            share.on_packet(adaption, packet, now);
        }
        let class = packet.class();
        let new = Flow { wanted: 0, granted: 0, source, path, class, is_wanting: false, is_idle: false };
        let flow = self.flows.entry(packet.flow()).or_insert(new);
        let wanted = match rules.demand {
            Demand::Arrivals => flow.wanted.saturating_add(1),
            Demand::Targets(_) => packet
                .payload()
                .map_or(packet.tag(), |frames::Pull { total: Granted(total) }| total)
                .max(flow.wanted),
        };
        let wants_more = wanted > flow.wanted;
        flow.wanted = wanted;
        if flow.wanted > flow.granted && !flow.is_wanting {
            flow.is_wanting = true;
            self.wanting.push_back(packet.flow());
        } else if wants_more && rules.gives_unasked(flow) && !flow.is_idle && !flow.is_wanting {
            flow.is_idle = true;
            self.idle.push_back(packet.flow());
        }
        self.timer(now)
    }

    /// Handles a request of a flow. If the total was granted already, the pulls were lost and are repeated.
    pub fn request_again(&mut self, flow: u32, total: u32) {
        if let Some(known) =
            self.flows.get_mut(&flow).filter(|known| total <= known.granted && !known.is_wanting)
        {
            known.is_wanting = true;
            self.wanting.push_back(flow);
        }
    }

    /// A flow is all here.
    pub fn forget(&mut self, flow: u32) {
        self.flows.remove(&flow);
    }

    /// Returns the time of the next look, unless a timer is set.
    fn timer(&mut self, now: Moment) -> Option<Moment> {
        let is_at_rest = self.wanting.is_empty() && self.idle.is_empty();
        let is_due = !is_at_rest && !self.is_timer_set;
        self.is_timer_set |= is_due;
        is_due.then(|| self.next.max(now))
    }

    /// The timer expired: a pull to send, made with the size of a control frame, and when to look again.
    pub fn on_timer(&mut self, rules: &Rules, bytes: u16, now: Moment) -> (Option<Packet>, Option<Moment>) {
        self.is_timer_set = false;
        let pulled = self.pull_wanting(rules).or_else(|| self.pull_idle(rules));
        let frame = pulled.map(|(number, units)| {
            let flow = self.flows[&number];
            let rate = self
                .share
                .as_mut()
                .zip(rules.adaption.as_ref())
                .map_or(1.0, |(share, adaption)| share.rate(adaption, now));
            let time = if rate < 1.0 { Duration::of_real(rules.time.real() / rate) } else { rules.time };
            self.next = now + time * u64::from(units);
            self.pulls += 1;
            let mut frame = Packet::with(
                frames::Pull { total: Granted(flow.granted) },
                number,
                flow.source,
                bytes,
                flow.class,
            );
            frame.set_path(flow.path);
            frame
        });
        (frame, self.timer(now))
    }

    /// Returns the next flow with demand and its grant.
    fn pull_wanting(&mut self, rules: &Rules) -> Option<(u32, u32)> {
        loop {
            let number = self.wanting.pop_front()?;
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            let units = rules.batch.min(flow.wanted - flow.granted);
            flow.granted += units;
            flow.is_wanting = flow.wanted > flow.granted;
            if flow.is_wanting {
                self.wanting.push_back(number);
            } else if rules.gives_unasked(flow) && !flow.is_idle {
                flow.is_idle = true;
                self.idle.push_back(number);
            }
            return Some((number, units));
        }
    }

    /// Returns the next flow without demand and its grant.
    fn pull_idle(&mut self, rules: &Rules) -> Option<(u32, u32)> {
        loop {
            let number = self.idle.pop_front()?;
            let Some(flow) = self.flows.get_mut(&number) else { continue };
            if !rules.gives_unasked(flow) {
                flow.is_idle = false;
                continue;
            }
            flow.granted += rules.batch;
            flow.is_idle = rules.gives_unasked(flow);
            if flow.is_idle {
                self.idle.push_back(number);
            }
            self.slow += 1;
            return Some((number, rules.batch));
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
    use crate::frames::Kind;

    fn rules(demand: Demand, batch: u32) -> Rules {
        Rules { part: "test", first: 1, batch, time: Duration::ns(100), demand, adaption: None }
    }

    fn data(flow: u32, tag: u32) -> Packet {
        let mut packet = Packet::new(Kind::Data, flow, 0, 9, 1000, 2);
        packet.set_tag(tag);
        packet
    }

    /// Lets timers expire until none is set: flow, total grant, and time in nanoseconds.
    fn pulls(pacer: &mut Pacer, rules: &Rules, mut at: Option<Moment>) -> Vec<(u32, u32, u64)> {
        let mut list = Vec::new();
        while let Some(now) = at {
            let (frame, again) = pacer.on_timer(rules, 64, now);
            list.extend(frame.map(|f| (f.flow(), f.seq(), now.ps() / 1000)));
            at = again;
        }
        list
    }

    #[test]
    fn flows_take_turns_and_pulls_keep_their_distance() {
        let rules = rules(Demand::Arrivals, 1);
        let mut pacer = Pacer::new(&rules, 9);
        let mut at = None;
        for flow in [7, 7, 7, 8, 8, 8] {
            at = pacer.on_packet(&rules, &data(flow, 0), 3, 5, Moment::ns(1000)).or(at);
        }
        assert_eq!(at, Some(Moment::ns(1000)), "a pacer at rest pulls at once, by one timer");
        let expected = [(7, 1, 1000), (8, 1, 1100), (7, 2, 1200), (8, 2, 1300), (7, 3, 1400), (8, 3, 1500)];
        assert_eq!(pulls(&mut pacer, &rules, at), expected);
        // The last pull's time has not passed.
        let at = pacer.on_packet(&rules, &data(7, 0), 3, 5, Moment::ns(1550));
        assert_eq!(at, Some(Moment::ns(1600)));
        assert_eq!(pacer.on_packet(&rules, &data(8, 0), 3, 5, Moment::ns(1560)), None, "a timer is set");
        pacer.forget(7);
        assert_eq!(pulls(&mut pacer, &rules, at), [(8, 4, 1600)], "nobody pulls what is all here");
        let at = pacer.on_packet(&rules, &data(8, 0), 3, 5, Moment::ns(1900));
        let (Some(frame), None) = pacer.on_timer(&rules, 64, at.unwrap()) else { panic!("it pulls once") };
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
        let mut pacer = Pacer::new(&rules, 9);
        let at = pacer.on_packet(&rules, &data(7, 20), 3, 0, Moment::ZERO);
        pacer.on_packet(&rules, &data(8, 8), 4, 0, Moment::ZERO);
        pacer.on_packet(&rules, &data(7, 3), 3, 0, Moment::ZERO);
        // The pull before lasts as long as what it grants: 100 ns a quantum. Then both get more, up to twelve
        // beyond what they wanted.
        let asked = [(7, 8, 0), (8, 8, 800), (7, 16, 1600), (7, 20, 2400)];
        let unasked = [(8, 16, 2800), (7, 28, 3600), (8, 24, 4400), (7, 36, 5200)];
        assert_eq!(pulls(&mut pacer, &rules, at), [asked, unasked].concat());
        assert_eq!((pacer.pulls, pacer.slow), (8, 4));
        // What was given unasked is used before more is given.
        assert_eq!(pacer.on_packet(&rules, &data(8, 11), 4, 0, Moment::us(9)), None);
        let at = pacer.on_packet(&rules, &data(8, 14), 4, 0, Moment::us(9));
        assert_eq!(pulls(&mut pacer, &rules, at), [(8, 32, 9000)]);
    }
}
