//! Serving as an application: workers and controllers at a host.

use xoff_engine::state::{State, StateVisitor};
use xoff_models::frames::message::{MessageId, Post};
use xoff_models::ports::effects::Effects;
use xoff_models::traffic::application::Application;
use xoff_units::{Moment, index};

use super::control::{ARRIVAL, ControlEnd, OF_CONTROLLER, RUNNING, To};
use super::controller::Controller;
use super::plan::{receiver, workload_of};
use super::worker::Worker;

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
        let end = &self.lines[index(line)];
        let Some(message) = end.line.take() else { return };
        match end.to {
            To::Worker(place) => self.workers[usize::from(place)].on_control(message, effects),
            To::Controller(place, rank) => {
                self.controllers[usize::from(place)].on_control(rank, message, effects);
            }
        }
    }

    fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let MessageId { job, place, .. } = post.id;
        let to = receiver(place);
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
