//! The contract of applications: what runs at hosts, posts messages, and hears of them.
//!
//! Jobs and inference serving are applications. An application implements some of these traits:
//!
//! - [`Planned`]: before the run it lists the connections and the queues over NVLink that it needs, and makes its part at each
//!   host.
//! - [`Application`]: during the run such a part asks for timers, computations and messages by
//!   [`Effects`](crate::ports::effects::Effects), and the host calls it when they are due.
//! - [`Results`]: takes what its parts record, and makes tables and an entry of the summary.
//! - [`Loops`]: says how its work recurs, if a run can be fast-forwarded.
//! - [`MessageImages`](crate::paths::symmetry::MessageImages): names the messages of equal hosts, if the run can be folded.
//!
//! Every application has an [`ApplicationId`](crate::parts::ids::ApplicationId), which its timers and the identities of its messages
//! carry, so the network names no application.
//!
//! Example: a part pushes [`Effect::Post`](crate::ports::effects::Effect::Post). When the message is whole at its receiver, the part
//! at that host hears of it by [`Application::deliver`].

mod loops;
pub mod period;
mod plan;
mod results;
mod run;
mod units;

pub use self::loops::{Growth, Loops};
pub use self::plan::{Connection, ControlLines, NumberedBlock, Parts, Planned, Plans, Waits};
pub use self::results::{Names, Results};
pub use self::run::{Application, Applications, Cycle};
pub use self::units::{Member, Members, RowOf, Seat, Unit, Units};
