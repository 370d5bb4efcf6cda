//! Budget: the limit of the cost of detection.
//!
//! Costs are words of state read, not seconds, and the decisions are the same on any machine. One word costs
//! a 17th of the share of an event: a run of a million events pays for 59,000 words, about 1 % of the CPU
//! time. The budget counts the expected events of the whole run, traffic still to be sent included, and most
//! of it is available at the start. Periods and busy periods have a budget of this size each. A scope with
//! spent budgets continues with the words earned by its own simulated events, times one factor that follows
//! the success so far.

/// Events that pay for one word: 1 % of the run, at six words read in the time of an event.
const EVENTS_PER_WORD: u64 = 17;
/// Events of a packet to be sent, for a rough estimate of the expected events.
const EVENTS_PER_PACKET: u64 = 6;
/// Words in the time of reading a node, an output or the progress of a flow. With 20: 1.01 times the
/// packet-hops are simulated (geometric mean of 60 scenarios, as all such ratios in this folder).
pub const WORDS_PER_ENTRY: u64 = 12;
/// Words for any run, some milliseconds. With 20,000: 1.6 times the packet-hops.
const FREE: u64 = 200_000;
/// Bounds of the factor of earned words, in quarters. The factor is 4 times the ratio of fast-forwarded to
/// simulated events. Without growth: 1.04 times the packet-hops.
const FACTOR: [u64; 2] = [1, 64];

/// The purpose of words.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// Detection of periods.
    Periods,
    /// Lookups of busy periods.
    BusyPeriods,
}

/// The budget of a run.
pub struct Budget {
    /// Words spent, by purpose.
    spent: [u64; 2],
    /// Words that the run pays for.
    share: u64,
    /// Words for independent components.
    free: u64,
    /// Quarters by which words earned by a scope are multiplied.
    factor: u64,
}

/// The words of one scope.
#[derive(Default)]
pub struct Account {
    spent: u64,
    /// Simulated events of the scope at the start of the account.
    since: u64,
}

impl Budget {
    /// Returns the budget at the start of a run.
    pub const fn new() -> Self {
        Self { spent: [0; 2], share: FREE, free: 0, factor: FACTOR[0] }
    }

    /// Raises the budget to the share of a run with this many events.
    pub fn expect(&mut self, events: u64) {
        self.share = self.share.max(events / EVENTS_PER_WORD);
    }

    /// Raises the budget to the share of a run with events so far, and packets to be sent.
    pub fn expect_packets(&mut self, events: u64, packets: u64) {
        self.expect(events + EVENTS_PER_PACKET * packets);
    }

    /// Adapts the budget to simulated and fast-forwarded events, and to the events left before a stall; 0
    /// without a stall.
    pub fn update(&mut self, simulated: u64, forwarded: u64, before_stall: u64) {
        self.factor = (16 * forwarded / simulated.max(1)).clamp(FACTOR[0], FACTOR[1]);
        self.expect(simulated + if before_stall > 0 { forwarded + before_stall } else { forwarded / 8 });
    }

    /// Grants words to independent components after this many simulated events.
    pub fn grant(&mut self, events: u64) {
        let ahead =
            self.spent[Purpose::Periods as usize].saturating_sub(events / EVENTS_PER_WORD).min(self.share);
        self.free = (ahead * self.factor.min(4) / 4).max(FREE);
    }

    /// Returns the events that pay for words.
    pub const fn events(words: u64) -> u64 {
        words * EVENTS_PER_WORD
    }

    /// Returns the events between searches for independent components.
    pub const fn interval(&self, words: u64) -> u64 {
        words * EVENTS_PER_WORD * if self.factor < 4 { 4 } else { 1 }
    }

    /// Spends words.
    pub const fn spend(&mut self, account: &mut Account, words: u64, purpose: Purpose) {
        account.spent += words;
        self.spent[purpose as usize] += words;
    }

    /// Returns words that have saved more than their cost.
    pub const fn refund(&mut self, account: &mut Account, words: u64, purpose: Purpose) {
        account.spent = account.spent.saturating_sub(words);
        self.spent[purpose as usize] = self.spent[purpose as usize].saturating_sub(words);
    }

    /// Returns the words missing for another `cost`: in the budget of the run, or among the words earned by a
    /// scope with this many simulated events.
    pub fn missing(&self, account: &Account, simulated: u64, cost: u64, purpose: Purpose) -> u64 {
        let free = if matches!(purpose, Purpose::Periods) { self.free } else { 0 };
        let of_run = (self.spent[purpose as usize] + cost).saturating_sub(self.share + free);
        of_run.min((account.spent + cost).saturating_sub(self.earned(account, simulated)))
    }

    /// Returns the words to be saved for a probe, and forgets a debt of more than two probes: a scope does
    /// not pay for words spent ahead of time.
    pub const fn settle(&self, account: &mut Account, simulated: u64, (cost, missing): (u64, u64)) -> u64 {
        if account.spent <= self.earned(account, simulated) + 2 * cost {
            return missing;
        }
        *account = Account::new(simulated);
        cost
    }

    /// Returns the words earned by a scope.
    const fn earned(&self, account: &Account, simulated: u64) -> u64 {
        self.factor * ((simulated - account.since) / EVENTS_PER_WORD) / 4
    }
}

impl Account {
    /// Returns the account of a scope with this many simulated events.
    pub const fn new(simulated: u64) -> Self {
        Self { spent: 0, since: simulated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_pays_for_a_word_per_17_events_but_for_200_000_at_least() {
        let missing = |events, spent| {
            let (mut budget, mut account) = (Budget::new(), Account::default());
            budget.expect(events);
            // Fewer events later take nothing back.
            budget.expect(17);
            budget.spend(&mut account, spent, Purpose::BusyPeriods);
            budget.missing(&account, 0, 1, Purpose::BusyPeriods)
        };
        assert_eq!([missing(0, 199_999), missing(0, 200_000)], [0, 1]);
        assert_eq!([missing(17_000_000, 999_999), missing(17_000_000, 1_000_000)], [0, 1]);
    }
}
