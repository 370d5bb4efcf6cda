//! From a scenario to results: a folded run where symmetry allows one, otherwise a run of all nodes.

mod simulation;
mod watch;

use xoff_engine::{Checkpoint, Plan as EnginePlan};
use xoff_models::node::Node;

pub use self::simulation::{Simulated, simulate};
use crate::document::Scenario;
use crate::error::InputError;
use crate::folding::{self, Folded, Unfold};
use crate::observer::Observer;
use crate::runner::Runner;
use crate::summary::Summary;
use crate::table::{Input, Table};

/// Results.
#[derive(Debug)]
pub struct Outcome {
    /// Numbers of the whole run.
    pub summary: Summary,
    /// Tables, without rows already passed on.
    pub tables: Vec<Table>,
    /// The observer stopped the run.
    pub was_stopped: bool,
}

/// Looks at all nodes at a checkpoint, and may change them. Records stay with the nodes until it returns true.
pub type Look<'a> = dyn FnMut(&mut Checkpoint<'_, Node>) -> bool + 'a;

impl Runner {
    /// Runs to the end.
    pub fn run(self, engine: EnginePlan, observer: &mut dyn Observer) -> Result<Outcome, InputError> {
        self.run_with(engine, observer, |_| true)
    }

    /// Same as `run`, with a look at all nodes at each checkpoint.
    pub fn run_with(
        self,
        engine: EnginePlan,
        observer: &mut dyn Observer,
        mut look: impl FnMut(&mut Checkpoint<'_, Node>) -> bool,
    ) -> Result<Outcome, InputError> {
        linked(&self.scenario)?;
        match folding::run(self, &engine, observer, &mut look)? {
            Folded::Done(outcome) => Ok(*outcome),
            Folded::Obstacle(runner, report) => {
                let unfold = Unfold::identity(&runner.topology);
                let Simulated::Done(mut outcome) = simulate(*runner, engine, unfold, observer, &mut look)?
                else {
                    unreachable!("a run of all nodes is always valid")
                };
                outcome.summary.performance.folding = report;
                Ok(*outcome)
            }
        }
    }
}

/// Refuses a congestion control in Python without a session.
fn linked(scenario: &Scenario) -> Result<(), InputError> {
    let controls = scenario.host.python_controls();
    let Some((path, python)) = controls.into_iter().find(|(_, python)| python.link.is_none()) else {
        return Ok(());
    };
    let why = format!("`{}` is Python code; `xoff run --allow-python` runs the class", python.class);
    Err(InputError::new(path, why))
}

/// Checks, builds and runs a scenario.
pub fn run(
    scenario: Scenario,
    tables: impl FnMut(&str) -> Option<Input>,
    engine: EnginePlan,
    observer: &mut dyn Observer,
) -> Result<Outcome, InputError> {
    Runner::new(scenario, tables)?.run(engine, observer)
}
