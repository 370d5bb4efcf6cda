//! Inference serving: requests, schedulers and ranks, with messages made during the run.
//!
//! A [`Plan`] is common to all parts and constant. A [`Controller`] at the host of the first rank routes
//! requests and schedules steps. A [`Worker`] at the host of each rank computes the steps and posts messages.
//! Controller and workers speak over [`ControlLine`]s alone, so no result depends on threads. Source:
//! `docs/models/serving.md`.

mod application;
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
mod servings;
mod step;
#[cfg(test)]
mod tests;
mod times;
mod traffic;
mod worker;

pub use self::application::Serving;
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
pub use self::servings::Servings;
pub use self::times::{Kernel, Measured, Times};
pub use self::worker::Worker;
