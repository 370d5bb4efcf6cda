//! Holds: mechanisms that keep flows from sending.

use xoff_units::Moment;

use super::Endpoint;

impl Endpoint {
    /// Holds a flow because of a mechanism; returns when to look again.
    pub fn hold(&mut self, flow: u32, until: Moment, cause: &'static str, now: Moment) -> Option<Moment> {
        let Some(slot) = self.slot(flow) else {
            *self.late_holds.entry(cause).or_default() += 1;
            return None;
        };
        let s = self.senders[slot].as_mut()?;
        let told = s.told.get_or_insert_default();
        told.holds += 1;
        if until <= told.held_until {
            return None;
        }
        told.held += until - told.held_until.max(now);
        told.held_until = until;
        Some(until)
    }

    /// Holds all present and future flows to a destination. A time in the past ends the hold. Returns the
    /// flows to check at the end of the hold.
    pub fn hold_destination(
        &mut self,
        dst: u32,
        until: Moment,
        cause: &'static str,
        now: Moment,
    ) -> Vec<u32> {
        self.held_destinations.retain(|_, held| *held > now);
        if until > now {
            let held = self.held_destinations.entry(dst).or_insert(until);
            *held = until.max(*held);
        } else {
            self.held_destinations.remove(&dst);
        }
        let mut flows: Vec<u32> =
            self.senders.iter().flatten().filter(|s| s.dst == dst).map(|s| s.flow).collect();
        if flows.is_empty() {
            *self.late_holds.entry(cause).or_default() += 1;
        }
        flows.retain(|flow| {
            if until > now {
                return self.hold(*flow, until, cause, now).is_some();
            }
            self.release(*flow, now);
            true
        });
        flows
    }

    /// Ends a hold.
    pub fn release(&mut self, flow: u32, now: Moment) {
        if let Some(slot) = self.slot(flow)
            && let Some(s) = &mut self.senders[slot]
            && let Some(told) = &mut s.told
            && told.held_until > now
        {
            told.held -= told.held_until - now;
            told.held_until = now;
        }
    }
}
