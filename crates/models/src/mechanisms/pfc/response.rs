//! Pauses that a node has heard, and obeys after its response time.
//! A resume acts at once, and ends a pause that does not act yet.
//! Source: `docs/models/pfc.md`.

use xoff_engine::state;
use xoff_units::{Duration, Moment};

use crate::mechanisms::pause_response::Response;
use crate::parts::ids::PortId;
use crate::ports::core::Core;
use crate::ports::effects::{Effect, Effects};

/// The pauses between their last bit and their effect.
#[derive(Debug, Clone, Default)]
pub struct Delayed {
    /// For each port: the response time. Empty without a response time.
    times: Vec<Duration>,
    /// For each port and class: the moment at which a pause begins to act; `NEVER` without a pause.
    begins: Vec<Moment>,
}

state!(Delayed {
    dues: begins;
    constant: times;
});

impl Delayed {
    /// Creates the state of a node.
    pub fn new(response: Option<Response>, core: &Core) -> Self {
        let Some(response) = response else { return Self::default() };
        // `check_port` refuses rates without a limit.
        let times = core.ports.iter().map(|port| response.time(port.rate).unwrap_or(Duration::ZERO));
        Self { times: times.collect(), begins: vec![Moment::NEVER; core.ingress.len()] }
    }

    /// Puts a pause off, with a timer; false if the pause acts at once. A pause that repeats a waiting pause
    /// moves nothing.
    pub fn put_off(&mut self, port: PortId, group: usize, token: u32, effects: &mut Effects) -> bool {
        let Some(time) = self.times.get(port.index()).filter(|time| time.0 > 0) else { return false };
        if self.begins[group] == Moment::NEVER {
            self.begins[group] = effects.now + *time;
            effects.push(Effect::Timer(self.begins[group], token));
        }
        true
    }

    /// Takes a waiting pause back.
    pub fn take_back(&mut self, group: usize) {
        if let Some(begins) = self.begins.get_mut(group) {
            *begins = Moment::NEVER;
        }
    }

    /// True if a pause begins to act now; the pause no longer waits.
    pub fn take_due(&mut self, group: usize, now: Moment) -> bool {
        let is_due = self.begins[group] == now;
        if is_due {
            self.begins[group] = Moment::NEVER;
        }
        is_due
    }
}
