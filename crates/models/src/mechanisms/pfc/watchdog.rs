//! The PFC watchdog of switches: a class of an output that is paused for too long ignores pauses until its
//! neighbour is quiet. A switch polls its outputs at multiples of `poll`. A class that was paused at all
//! polls of `detection`, without a resume between, is in a storm.
//! In a storm the output ignores pauses of the class. With `drop` the switch discards packets of the class:
//! the packets that wait at the output, the packets that are to leave by the output, and the packets that
//! arrive by the port. Other classes pass. A storm ends when the neighbour has not paused the class at all
//! polls of `restoration`.
//! Simplifications: a standing pause counts as arriving frames; polls keep their period whatever the number
//! of ports; no `alert`; hosts have no watchdog.
//! Invariants: storms begin and end at polls; a pause shorter than `detection` changes nothing.
//! Source: `SONiC`'s `pfcwd` and its script for Broadcom's switches (`docs/models/pfc.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment};

use crate::mechanisms::contract::ValidationContext;
use crate::parts::param_error::{Change, ParamError};
use crate::ports::core::Queueing;
use crate::ports::effects::{Effect, Effects};

/// Action of the watchdog on a class in a storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The switch discards packets of the class that wait at the output, are to leave by the output, or
    /// arrive by the port.
    #[default]
    Drop,
    /// The class sends on and ignores pauses.
    Forward,
}

/// `switch.flow_control.pfc.watchdog`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A class of an output that is paused for this long is in a storm. `SONiC`'s default is 200 ms, its
    /// range 100 ms to 5 s.
    pub detection: Duration,
    /// The storm ends when the neighbour has not paused the class for this long. Default: twice `detection`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restoration: Option<Duration>,
    /// Period of the polls, which fall on multiples of the period. Default: half of `detection`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<Duration>,
    /// Action on a class in a storm.
    pub action: Action,
}

impl Default for Params {
    fn default() -> Self {
        Self { detection: Duration::ms(200), restoration: None, poll: None, action: Action::Drop }
    }
}

impl Params {
    fn poll(&self) -> Duration {
        self.poll.unwrap_or(self.detection / 2)
    }

    fn restoration(&self) -> Duration {
        self.restoration.unwrap_or(self.detection * 2)
    }

    /// No pause lasts longer.
    pub(super) fn longest_pause(&self) -> Duration {
        Duration(self.detection.ps().next_multiple_of(self.poll().ps().max(1))) + self.poll()
    }

    pub(super) fn validate(&self, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        let times = [("watchdog.detection", self.detection), ("watchdog.restoration", self.restoration())];
        for (key, time) in times {
            if !(Duration::us(1)..=Duration::ms(60_000)).contains(&time) {
                return Err((key, format!("{time} is out of range; allowed are 1us to 60s")));
            }
            if self.poll() > time {
                return Err((
                    "watchdog.poll",
                    format!("{} is longer than {}, {time}", self.poll(), &key["watchdog.".len()..]),
                ));
            }
        }
        if self.poll() < Duration::ns(100) {
            return Err(("watchdog.poll", format!("{} is below the minimum of 100ns", self.poll())));
        }
        if self.action == Action::Drop && context.queueing == Queueing::Iq {
            let why = "drop needs queues at the outputs, and iq has none";
            return Err((
                "watchdog.action",
                Change::set("switch.flow_control.pfc.watchdog.action", "forward").after(why),
            ));
        }
        Ok(())
    }
}

/// A class of an output.
#[derive(Debug, Clone, Default)]
struct Watched {
    /// The start of the neighbour's pause, and the start of the time without pauses.
    paused: Option<Moment>,
    quiet: Moment,
    in_storm: bool,
    /// True while a timer for the class is set.
    is_timed: bool,
}

state!(Watched {
    moments: paused;
    moment: quiet;
    value: in_storm, is_timed;
});

/// Result of a poll of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A storm begins.
    Storm,
}

/// The watchdog of a switch.
#[derive(Debug, Clone)]
pub(super) struct Watchdog {
    poll: Duration,
    detection: Duration,
    restoration: Duration,
    drops: bool,
    /// By port and class.
    watched: Vec<Watched>,
    pub(super) dropped: u64,
}

impl State for Watchdog {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { poll, detection: _, restoration: _, drops: _, watched, dropped } = self;
        walk.total(dropped);
        walk.phase(*poll);
        watched.walk(walk);
    }
}

impl Watchdog {
    pub(super) fn new(params: &Params, groups: usize) -> Self {
        Self {
            poll: params.poll(),
            detection: params.detection,
            restoration: params.restoration(),
            drops: params.action == Action::Drop,
            watched: vec![Watched::default(); groups],
            dropped: 0,
        }
    }

    pub(super) const fn drops(&self) -> bool {
        self.drops
    }

    /// True while pauses of a class are ignored.
    pub(super) fn ignores(&self, group: usize) -> bool {
        self.watched[group].in_storm
    }

    /// Returns the poll at which a state that began at `since` has lasted for `lasts`, counted in whole polls
    /// from the first poll that sees the state.
    fn due(&self, since: Moment, lasts: Duration) -> Moment {
        let polls = |time: u64| time.div_ceil(self.poll.ps());
        Moment((polls(since.ps()) + polls(lasts.ps())) * self.poll.ps())
    }

    /// Returns the next poll that may begin or end a storm, if no pause or resume arrives before.
    fn next(&self, group: usize) -> Option<Moment> {
        let watched = &self.watched[group];
        match (watched.in_storm, watched.paused) {
            (false, Some(since)) => Some(self.due(since, self.detection)),
            (true, None) => Some(self.due(watched.quiet, self.restoration)),
            _ => None,
        }
    }

    /// Sets a timer for the next poll of interest, unless a timer is set.
    fn time(&mut self, group: usize, token: u32, effects: &mut Effects) {
        if let Some(at) = self.next(group).filter(|_| !self.watched[group].is_timed) {
            self.watched[group].is_timed = true;
            effects.push(Effect::Timer(at, token));
        }
    }

    /// Records a pause or resume of the neighbour.
    pub(super) fn hear(&mut self, group: usize, is_pause: bool, token: u32, effects: &mut Effects) {
        let watched = &mut self.watched[group];
        if is_pause {
            watched.paused.get_or_insert(effects.now);
        } else if watched.paused.take().is_some() {
            watched.quiet = effects.now;
        }
        self.time(group, token, effects);
    }

    /// The timer of a class.
    pub(super) fn look(&mut self, group: usize, token: u32, effects: &mut Effects) -> Found {
        self.watched[group].is_timed = false;
        let is_due = self.next(group).is_some_and(|at| at <= effects.now);
        let begins = is_due && !self.watched[group].in_storm;
        self.watched[group].in_storm ^= is_due;
        self.time(group, token, effects);
        if begins { Found::Storm } else { Found::Nothing }
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    const TOKEN: u32 = 7;

    /// A watchdog with polls of 100 us, detection of 200 us and restoration of 300 us.
    struct Class {
        watchdog: Watchdog,
        storms: u64,
        effects: Effects,
    }

    impl Class {
        fn new() -> Self {
            let us = |n| Some(Duration::us(n));
            let params = Params {
                detection: Duration::us(200),
                restoration: us(300),
                poll: us(100),
                action: Action::Drop,
            };
            Self { watchdog: Watchdog::new(&params, 1), storms: 0, effects: Effects::for_tests(1) }
        }

        /// Returns the time of the requested timer, in microseconds.
        fn timer(&mut self) -> Option<u64> {
            let timer = |e: (u8, Effect)| {
                if let Effect::Timer(at, TOKEN) = e.1 { at.ps() / 1_000_000 } else { panic!("{e:?}") }
            };
            self.effects.take().into_iter().map(timer).next()
        }

        fn hear(&mut self, us: u64, is_pause: bool) -> Option<u64> {
            self.effects.now = Moment::us(us);
            self.watchdog.hear(0, is_pause, TOKEN, &mut self.effects);
            self.timer()
        }

        /// Polls, and returns the storm state and the next timer.
        fn look(&mut self, us: u64) -> (bool, Option<u64>) {
            self.effects.now = Moment::us(us);
            let found = self.watchdog.look(0, TOKEN, &mut self.effects);
            self.storms += u64::from(found == Found::Storm);
            (self.watchdog.ignores(0), self.timer())
        }
    }

    #[test]
    fn a_storm_begins_and_ends_at_polls() {
        // Paused at 130 us: polls at 200, 300 and 400 us see it.
        let mut c = Class::new();
        assert_eq!(c.hear(130, true), Some(400));
        assert_eq!(c.hear(250, true), None, "a pause that is refreshed is the same");
        assert_eq!(c.look(400), (true, None));
        // Quiet from 520 us on: polls at 600 to 900 us.
        assert_eq!(c.hear(520, false), Some(900));
        assert_eq!(c.look(900), (false, None));
        assert_eq!(c.hear(900, true), Some(1100), "a poll at its moment sees a pause");
        assert_eq!(c.look(1100), (true, None));
        assert_eq!(c.storms, 2);
    }

    #[test]
    fn what_changes_between_polls_begins_anew() {
        let mut c = Class::new();
        assert_eq!(c.hear(130, true), Some(400));
        assert_eq!(c.hear(399, false), None);
        assert_eq!(c.hear(399, true), None);
        assert_eq!(c.look(400), (false, Some(600)));
        assert_eq!(c.hear(500, false), None);
        assert_eq!(c.look(600), (false, None));
        // In a storm each pause puts off its end.
        assert_eq!(c.hear(700, true), Some(900));
        assert_eq!(c.look(900), (true, None));
        assert_eq!(c.hear(950, false), Some(1300));
        assert_eq!(c.hear(1200, true), None);
        assert_eq!(c.hear(1250, false), None);
        assert_eq!(c.look(1300), (true, Some(1600)));
        assert_eq!(c.look(1600), (false, None));
    }

    #[test]
    fn times_that_are_no_multiples_take_as_many_polls() {
        let mut c = Class::new();
        c.watchdog.detection = Duration::us(201);
        assert_eq!(c.hear(100, true), Some(400));
        let params =
            Params { detection: Duration::us(201), poll: Some(Duration::us(100)), ..Params::default() };
        assert_eq!((params.longest_pause(), params.restoration()), (Duration::us(400), Duration::us(402)));
        assert_eq!(Params::default().poll(), Duration::ms(100));
    }
}
