//! Pulls: receivers decide when senders send.
//!
//! A flow sends its first packets unasked, and each pull of the receiver is credit for more. All flows that
//! end at a host share one *pacer*, which pulls as fast as the host's line takes the packets, flows in turn.
//! A transport or a congestion control gives the [`Rules`]. Each pull carries the total granted since the
//! flow began. Invariants: credit granted is credit spent, lapsed and left; credit falls below zero by less
//! than a packet.

mod pacer;
mod rules;
mod share;

use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor, Word};

pub use self::pacer::{PULLS, Pacer, SLOW};
pub use self::rules::{Demand, Rules, Targets};
pub use self::share::{Adaption, Share};
use crate::parts::count::{Count, Tally};

/// Frames of flows without credit that request credit.
pub const REQUESTS: Count = Count::number("requests", "requests of flows without credit");
/// Credit of senders, including first windows.
pub const GRANTED: Count = Count::bytes("granted_bytes", "credit granted");
/// Credit that senders used for packets.
pub const SPENT: Count = Count::bytes("spent_bytes", "credit spent");
/// Credit that was taken back.
pub const LAPSED: Count = Count::bytes("lapsed_bytes", "credit that lapsed");

/// The credit of a host's flows: packets or bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct CreditCounters {
    /// Had.
    pub granted: u64,
    /// Used.
    pub spent: u64,
    /// Lost.
    pub lapsed: u64,
    /// Requests, in separate frames.
    pub requests: u64,
}

state!(CreditCounters {
    total: granted, spent, lapsed, requests;
});

/// The credit of a flow.
#[derive(Debug, Clone)]
pub struct Credit {
    left: i64,
    /// Of all pulls.
    pulled: u32,
    /// True until the first answer of the receiver.
    is_unheard: bool,
}

impl State for Credit {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { left, pulled, is_unheard } = self;
        walk.within("pulls", |walk| {
            walk.value((*left, *is_unheard).word());
            walk.granted(pulled);
        });
    }
}

impl Credit {
    /// Returns the credit of a flow with `packets` packets.
    pub fn new(rules: &Rules, packets: u32, counters: &mut CreditCounters) -> Self {
        let first = match rules.demand {
            Demand::Arrivals => rules.first.min(u64::from(packets)),
            Demand::Targets(_) => rules.first,
        };
        counters.granted += first;
        Self { left: first as i64, pulled: 0, is_unheard: true }
    }

    /// True when a packet may leave.
    pub const fn is_open(&self) -> bool {
        self.left > 0
    }

    /// Packets or quanta that were pulled.
    pub const fn pulled(&self) -> u32 {
        self.pulled
    }

    /// Pays for a packet.
    pub fn spend(&mut self, rules: &Rules, bytes: u16, counters: &mut CreditCounters) {
        let cost = match rules.demand {
            Demand::Arrivals => 1,
            Demand::Targets(_) => u64::from(bytes),
        };
        counters.spent += cost;
        self.left -= cost as i64;
    }

    /// Returns the total demand in quanta of a flow that has `waits` bytes to send and may send `allowed` of
    /// them.
    pub fn target(&self, targets: &Targets, waits: u64, allowed: u64) -> u32 {
        let wants = waits.min(allowed.saturating_add(targets.largest)).min(targets.most) as i64 - self.left;
        let least = if self.is_unheard && waits > 0 { targets.largest as i64 } else { 0 };
        self.pulled.saturating_add((wants.max(least) as u64).div_ceil(targets.quantum) as u32)
    }

    /// Records the first answer of the receiver: initial credit by targets lapses.
    pub fn hear(&mut self, rules: &Rules, counters: &mut CreditCounters) {
        if std::mem::take(&mut self.is_unheard) && matches!(rules.demand, Demand::Targets(_)) {
            self.lapse(0, counters);
        }
    }

    fn lapse(&mut self, to: u64, counters: &mut CreditCounters) {
        let over = (self.left - to as i64).max(0);
        self.left -= over;
        counters.lapsed += over as u64;
    }

    /// Handles a pull with the total granted so far.
    pub fn pull(&mut self, rules: &Rules, granted: u32, counters: &mut CreditCounters) {
        self.hear(rules, counters);
        let units = u64::from(granted.saturating_sub(self.pulled));
        self.pulled = self.pulled.max(granted);
        match rules.demand {
            Demand::Arrivals => self.add(units, counters),
            Demand::Targets(targets) => {
                self.add(units * targets.quantum, counters);
                self.lapse(targets.most, counters);
            }
        }
    }

    /// Handles new data of an idle flow. With demand by arrivals some packets go unasked, as at the start.
    pub fn open_again(&mut self, rules: &Rules, packets: u32, counters: &mut CreditCounters) {
        if matches!(rules.demand, Demand::Arrivals) {
            let lacks = rules.first.min(u64::from(packets)) as i64 - self.left;
            self.add(lacks.max(0) as u64, counters);
        }
    }

    /// Adds credit.
    pub fn add(&mut self, credit: u64, counters: &mut CreditCounters) {
        counters.granted += credit;
        self.left += credit as i64;
    }

    /// Handles timeouts. With demand by arrivals no pull would come for these packets, so credit is added.
    pub fn time_out(&mut self, rules: &Rules, lost: u32, counters: &mut CreditCounters) {
        if matches!(rules.demand, Demand::Arrivals) {
            self.add(u64::from(lost), counters);
        }
    }
}

/// Adds up the counts of a host's flows.
pub fn count(rules: &Rules, counters: &CreditCounters, tally: &mut dyn Tally) {
    if matches!(rules.demand, Demand::Targets(_)) {
        tally.add(REQUESTS, counters.requests);
        tally.add(GRANTED, counters.granted);
        tally.add(SPENT, counters.spent);
        tally.add(LAPSED, counters.lapsed);
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Duration;

    use xoff_engine::random::Stream;

    use super::*;

    fn rules(demand: Demand) -> Rules {
        Rules { part: "test", first: 3000, batch: 4, time: Duration::ns(20), demand, adaption: None }
    }

    const TARGETS: Targets = Targets { quantum: 256, most: 3000, largest: 1000, slow: true };

    #[test]
    fn credit_is_spent_lapsed_or_left_whatever_happens() {
        for demand in [Demand::Arrivals, Demand::Targets(TARGETS)] {
            let (rules, mut stream) = (rules(demand), Stream::new(1, 1, "test"));
            let mut counters = CreditCounters::default();
            let mut credit = Credit::new(&rules, 5000, &mut counters);
            for _ in 0..10_000 {
                match stream.below(6) {
                    0 => credit.pull(&rules, credit.pulled + stream.below(20) as u32, &mut counters),
                    1 => credit.hear(&rules, &mut counters),
                    2 => credit.time_out(&rules, stream.below(5) as u32, &mut counters),
                    _ if credit.is_open() => {
                        credit.spend(&rules, 1 + stream.below(1000) as u16, &mut counters);
                    }
                    _ => {}
                }
                assert_eq!(counters.granted as i64, (counters.spent + counters.lapsed) as i64 + credit.left);
                assert!(credit.left > -1000);
            }
            assert!(counters.spent > 100_000 || matches!(demand, Demand::Arrivals));
        }
    }

    #[test]
    fn a_flow_wants_what_it_has_no_credit_for() {
        let (rules, mut counters) = (rules(Demand::Targets(TARGETS)), CreditCounters::default());
        let mut credit = Credit::new(&rules, 9, &mut counters);
        let wanted = |credit: &Credit, waits, allowed| credit.target(&TARGETS, waits, allowed);
        // Of 3000 bytes it has used 1000: a packet's worth, 4 quanta, as long as nothing was heard; then 8
        // for 2000.
        credit.spend(&rules, 1000, &mut counters);
        assert_eq!(wanted(&credit, 8000, u64::MAX), 4);
        credit.spend(&rules, 1000, &mut counters);
        assert_eq!(wanted(&credit, 7000, u64::MAX), 8);
        // What it had on trust is gone with the first answer, and 20 quanta came.
        credit.pull(&rules, 3, &mut counters);
        assert_eq!((credit.left, counters.lapsed), (768, 1000));
        assert_eq!(wanted(&credit, 7000, u64::MAX), 3 + 9);
        assert_eq!(wanted(&credit, 1000, u64::MAX), 3 + 1);
        assert_eq!(wanted(&credit, 7000, 500), 3 + 3, "a window of 500 bytes, and a packet");
        assert_eq!(wanted(&credit, 700, u64::MAX), 3);
        credit.pull(&rules, 2, &mut counters);
        assert_eq!(credit.left, 768, "an old pull says nothing");
        credit.pull(&rules, 23, &mut counters);
        assert_eq!((credit.left, counters.lapsed), (3000, 1000 + 768 + 5120 - 3000));
    }

    #[test]
    fn packets_that_nobody_pulls_go_after_a_timeout() {
        let (rules, mut counters) =
            (Rules { first: 3, ..rules(Demand::Arrivals) }, CreditCounters::default());
        let mut credit = Credit::new(&rules, 2, &mut counters);
        credit.spend(&rules, 1500, &mut counters);
        credit.spend(&rules, 1500, &mut counters);
        assert!(!credit.is_open(), "two packets are all that there are");
        credit.time_out(&rules, 1, &mut counters);
        assert_eq!((credit.left, counters.granted), (1, 3));
    }
}
