//! The receiver's half of a host with its timer, and the rule of timers of both halves.

use xoff_engine::state;
use xoff_units::Moment;

use crate::hosts::receiving::Receiving;
use crate::ports::effects::{Effect, Effects};

/// The receiver's half of a host, and the time of its timer, if a timer is set.
#[derive(Debug, Clone)]
pub(super) struct ReceiverHalf {
    pub half: Box<dyn Receiving>,
    pub timer: Option<Moment>,
}

state!(ReceiverHalf {
    part: half;
    moments: timer;
});

/// Sets a timer for `wanted`, unless a timer for the same time or before is set.
pub(super) fn arm(
    timer: &mut Option<Moment>,
    wanted: Moment,
    token: u64,
    subject: u32,
    effects: &mut Effects,
) {
    let at = wanted.max(effects.now);
    if wanted != Moment::NEVER && timer.is_none_or(|set| at < set) {
        *timer = Some(at);
        effects.push(Effect::Alarm(token, at, subject));
    }
}

/// Takes a timer that is due. A timer that was set again for a time before has no effect when it expires.
pub(super) fn expire(timer: &mut Option<Moment>, now: Moment) -> bool {
    timer.take_if(|at| *at <= now).is_some()
}
