//! Inference serving: requests, schedulers and ranks, with messages made during the run.
//!
//! A [`Plan`] is common to all parts and constant. A [`Controller`] at the host of the first rank routes
//! requests and schedules steps. A [`Worker`] at the host of each rank computes the steps and posts messages.
//! Controller and workers speak over [`ControlLine`]s alone, so no result depends on threads. Source:
//! `docs/models/serving.md`.

mod batch;
mod control;
mod controller;
mod costs;
mod equilibrium;
mod exchange;
mod handoff;
mod life;
mod nics;
mod plan;
mod rails;
mod router;
mod routing;
mod rows;
mod step;
#[cfg(test)]
mod tests;
mod times;
mod traffic;
mod worker;

pub use self::batch::{Order, Part};
pub use self::control::{ControlEnd, ControlLine, Lines};
pub use self::controller::Controller;
pub use self::costs::{Costs, Processor};
pub use self::equilibrium::Demand;
pub use self::handoff::Heads;
pub use self::plan::{
    Connects, FirstToken, Granularity, Handoff, Kind, Load, MAX_PLACES, MAX_RANKS, MAX_WORKLOADS, NUMBER,
    Nics, Plan, Pool, Request, Role, Running, Seat, Shares, Slo, job_of, place_in_operation, receiver,
    sender_of, workload_of,
};
pub use self::router::Policy;
pub use self::routing::{Choosing, Routing, Spread};
pub use self::rows::{Exposed, Label, PARTS, Report, RequestRow, Rows, StepRow, TokenRow, part};
pub use self::times::{Kernel, Measured, Times};
pub use self::worker::Worker;

use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

use self::control::{ARRIVAL, OF_CONTROLLER, RUNNING};
use crate::application::Application;
use crate::effects::Effects;
use crate::message::{MessageId, Post};

/// The parts of serving at a host.
#[derive(Debug, Clone, Default)]
pub struct Serving {
    /// Workers of ranks here.
    pub workers: Vec<Worker>,
    /// Controllers here.
    pub controllers: Vec<Controller>,
    /// Ends of control lines at the host, by the number in a frame or timer.
    pub lines: Vec<ControlEnd>,
}

impl State for Serving {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { workers: _, controllers: _, lines: _ } = self;
        walk.refuse();
    }
}

impl Application for Serving {
    fn starts(&self) -> Vec<(Moment, u8, u32)> {
        let of = |(n, controller): (usize, &Controller)| {
            let owner = OF_CONTROLLER | n as u8;
            let arrival = controller.next_arrival().map(|at| (at, owner, ARRIVAL));
            let running = controller.starts_running().map(|at| (at, owner, RUNNING));
            arrival.into_iter().chain(running)
        };
        self.controllers.iter().enumerate().flat_map(of).collect()
    }

    fn begin(&mut self, owner: u8, what: u32, effects: &mut Effects) {
        self.on_timer(owner, what, effects);
    }

    fn compute(&mut self, owner: u8, what: u32, effects: &mut Effects) {
        self.on_timer(owner, what, effects);
    }

    fn on_timer(&mut self, owner: u8, what: u32, effects: &mut Effects) {
        let place = usize::from(owner & !OF_CONTROLLER);
        if owner & OF_CONTROLLER == 0 {
            self.workers[place].on_timer(what, effects);
        } else {
            self.controllers[place].on_timer(what, effects);
        }
    }

    fn on_control(&mut self, line: u32, effects: &mut Effects) {
        let end = &self.lines[xoff_units::index(line)];
        let Some(message) = end.line.take() else { return };
        match end.to {
            control::To::Worker(place) => self.workers[usize::from(place)].on_control(message, effects),
            control::To::Controller(place, rank) => {
                self.controllers[usize::from(place)].on_control(rank, message, effects);
            }
        }
    }

    fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let MessageId { job, place, .. } = post.id;
        let to = plan::receiver(place);
        let of = |worker: &&mut Worker| worker.is(workload_of(job), to);
        if let Some(worker) = self.workers.iter_mut().find(of) {
            worker.deliver(post, posted, effects);
        }
    }

    fn goes_on(&self, _now: Moment) -> bool {
        // A step computes, a request will arrive, or a control message is under way.
        self.workers.iter().any(Worker::goes_on)
            || self.controllers.iter().any(|controller| controller.next_arrival().is_some())
            || self.lines.iter().any(|end| !end.line.is_empty())
    }

    fn copy(&self) -> Box<dyn Application> {
        Box::new(self.clone())
    }
}
