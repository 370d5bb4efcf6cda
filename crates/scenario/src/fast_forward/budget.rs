//! What looking may cost: so many words as take a small part of the time of the events.

use xoff_engine::Checkpoint;
use xoff_models::node::Node;

use super::Common;
use super::search::Search;

/// As many words are looked at in the time of an event; a packet makes about so many events.
const WORDS_AN_EVENT: u64 = 6;
pub const EVENTS_A_PACKET: u64 = 6;
/// So much of a run may be spent on looking: one part in so many; and whatever it takes, so many words, which take a few milliseconds.
const SHARE: u64 = 100;
const FREE: u64 = 200_000;
/// What is earned is so many times less while no more than one part in so many of what was simulated was forwarded: it comes beside what was
/// spent ahead of time.
const IN_VAIN: u64 = 4;
const WORTH_IT: u64 = 16;
/// Each event that was forwarded is worth as much as so many that were simulated; up to a most for each of these.
const GAIN: u64 = 4;
const GAIN_AT_MOST: u64 = 15;
/// Where flows gain nothing it is known how long that may last, and that most of it will be gone through again and again: so much of it
/// may be spent.
const STUCK_SHARE: u64 = 20;
/// So many looks of a across in vain are given to an component; it has to earn those after them.
const GIVEN: u64 = 64;
/// So many at busy periods of all nodes are; each has to come twice before anything is gained.
const GIVEN_BUSY_PERIODS: u64 = 512;
/// One part in so many of what all may spend is left to layers.
const LEFT_TO_LAYERS: u64 = 4;
/// Who has to earn looks earns so many at once.
const AT_ONCE: u64 = 8;

/// Words that so many events pay for.
const fn words(events: u64) -> u64 {
    events * WORDS_AN_EVENT / SHARE
}

/// Events that pay for so many words.
const fn events(words: u64) -> u64 {
    words * SHARE / WORDS_AN_EVENT
}

/// What all searches may spend, on what was simulated and ahead of time on what will be.
pub struct Budget {
    /// Words looked at in all but for busy periods, those for busy periods, and those that may be.
    spent: u64,
    on_busy_periods: u64,
    pub allowed: u64,
    /// What may be beside that where there are components.
    free: u64,
    /// Enough was forwarded, and so many times as much is earned since it was so much.
    was_worth_it: bool,
    gain: u64,
}

impl Budget {
    pub const fn new() -> Self {
        Self { spent: 0, on_busy_periods: 0, allowed: FREE, free: 0, was_worth_it: false, gain: 1 }
    }

    /// A run of so many events pays for it.
    pub fn allow(&mut self, events: u64) {
        self.allowed = self.allowed.max(words(events));
    }

    /// Components begin to look after so many events: they are not to wait for what all together have spent ahead of time, in vain.
    pub fn begin_again(&mut self, events: u64) {
        self.free = (self.spent.saturating_sub(words(events)).min(self.allowed) / self.less()).max(FREE);
    }

    /// How many events pay for so many words, beside that.
    pub const fn every(&self, words: u64) -> u64 {
        events(words) * self.less()
    }

    /// By how much less may be spent beside what was spent ahead of time.
    const fn less(&self) -> u64 {
        if self.was_worth_it { 1 } else { IN_VAIN }
    }
}

/// What a look may spend of what all may, ahead of time.
#[derive(Clone, Copy)]
pub enum Part {
    /// All of it: for layers, which are worth most and take the fewest looks, and to find who references.
    All,
    /// What is not left to those.
    Most,
    /// As much again, which busy periods have for themselves: many looks find some, or none does.
    BusyPeriods,
    /// What these nodes have earned alone.
    Nothing,
}

/// What one search has spent, whatever on.
pub struct Account {
    /// Words of one look within messages, and of all looks.
    cost: u64,
    spent: u64,
    /// Events of its nodes before it began.
    events_before: u64,
    /// Events, forwarded ones among them, and packets of the reference when its flows were first looked at.
    since: (u64, u64),
    /// Looks had to be earned since flows began or ended.
    has_waited: bool,
}

impl Account {
    /// That of a search whose nodes have had so many events.
    pub const fn from(events: u64) -> Self {
        Self { cost: 0, spent: 0, events_before: events, since: (0, 0), has_waited: false }
    }

    /// A look takes no less than so many words.
    pub const fn cost_at_least(&mut self, words: u64) {
        if self.cost < words {
            self.cost = words;
        }
    }

    /// Another node references, after so many events and packets of its own.
    pub const fn led_from(&mut self, events: u64, packets: u64) {
        self.since = (events, packets);
    }

    /// Flows began or ended, after so many events and packets of the reference; whether looks at those before had to be earned.
    pub const fn begin(&mut self, events: u64, packets: u64) -> bool {
        self.led_from(events, packets);
        std::mem::replace(&mut self.has_waited, false)
    }
}

impl Search {
    /// So many words were looked at.
    pub const fn pay(&mut self, common: &mut Common, words: u64) {
        self.account.spent += words;
        common.budget.spent += words;
    }

    /// So many words were looked at for busy periods.
    pub const fn pay_busy_period(&mut self, common: &mut Common, words: u64) {
        self.account.spent += words;
        common.budget.on_busy_periods += words;
    }

    /// Words that were looked at for busy periods save more than they took.
    pub const fn refund(&mut self, common: &mut Common, words: u64) {
        self.account.spent = self.account.spent.saturating_sub(words);
        common.budget.on_busy_periods = common.budget.on_busy_periods.saturating_sub(words);
    }

    /// So many words were looked at, as the next look will take.
    pub const fn pay_look(&mut self, common: &mut Common, words: u64) {
        self.account.cost = words;
        self.pay(common, words);
    }

    /// How many words lack for another look that takes so many: of such a part of those that all may spend, ahead of time, or of those that
    /// these nodes have earned, which nobody else can spend.
    pub fn lacks(&self, common: &mut Common, cost: u64, part: Part, cp: &Checkpoint<'_, Node>) -> u64 {
        let (simulated, forwarded) = (cp.statistics.events, common.forwarded.events);
        common.budget.was_worth_it = forwarded > simulated / WORTH_IT;
        common.budget.gain = 1 + (GAIN * forwarded / simulated.max(1)).min(GAIN_AT_MOST);
        common.budget.allow(simulated + forwarded / 8);
        if let Some(stall_deadline) = common.stall_deadline {
            common.budget.allow((simulated + forwarded + stall_deadline.left(cp.now, simulated + forwarded)) * SHARE / STUCK_SHARE);
        }
        let Budget { spent, allowed, free, on_busy_periods, .. } = common.budget;
        let all = allowed + free;
        let own = (self.account.spent + cost).saturating_sub(self.earned(common, cp));
        match part {
            Part::All => own.min((spent + cost).saturating_sub(all)),
            Part::Most => own.min((spent + cost).saturating_sub(all - all / LEFT_TO_LAYERS)),
            Part::BusyPeriods => own.min((on_busy_periods + cost).saturating_sub(allowed)),
            Part::Nothing => own,
        }
    }

    /// This part of what all may spend, unless these nodes are an component, and so many looks were in vain.
    pub const fn given(&self, part: Part, misses: u64) -> Part {
        let given = match part {
            Part::BusyPeriods if self.is_whole => GIVEN_BUSY_PERIODS,
            _ if self.is_whole => u64::MAX,
            _ => GIVEN,
        };
        if misses < given { part } else { Part::Nothing }
    }

    /// So many words lack: what was spent ahead of time is not earned later, as who knows how much of it comes, if something is forwarded.
    pub fn earn(&mut self, common: &Common, (cost, lacks): (u64, u64), cp: &Checkpoint<'_, Node>) -> u64 {
        if self.account.spent <= self.earned(common, cp) + 2 * cost {
            return lacks;
        }
        let Account { cost: of_look, since, has_waited, .. } = self.account;
        self.account = Account { cost: of_look, since, has_waited, ..Account::from(self.simulated(cp)) };
        cost
    }

    /// Words that these nodes have earned.
    fn earned(&self, common: &Common, cp: &Checkpoint<'_, Node>) -> u64 {
        common.budget.gain * words(self.simulated(cp) - self.account.events_before) / common.budget.less()
    }

    /// So many packets the reference goes on while a look is earned that is to be earned before.
    pub fn waits(&mut self, common: &mut Common, cp: &Checkpoint<'_, Node>) -> Option<u64> {
        let Account { cost, since, .. } = self.account;
        let lacks = self.lacks(common, cost, self.given(Part::Most, self.misses), cp);
        if lacks == 0 {
            return None;
        }
        let lacks = self.earn(common, (cost, lacks), cp);
        let packets = (self.mark - since.1).max(1);
        let made = (cp.statistics.events + common.forwarded.events - since.0).max(packets);
        self.account.has_waited = true;
        // What it is to find takes several looks at the same flows.
        Some(events(lacks + AT_ONCE * cost) * packets / made)
    }
}
