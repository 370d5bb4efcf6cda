//! From a scenario to results: a folded run where symmetry allows one, otherwise a run of all nodes.

use xoff_document::{Input, InputError, Scenario};
use xoff_engine::{Checkpoint, Plan as EnginePlan};
use xoff_models::network::node::Node;

use crate::folding::{self, Folded};
use crate::observer::Observer;
use crate::results::unfold::Unfold;
use crate::runner::Runner;
use crate::simulation::{Outcome, simulate};

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
                let mut outcome = simulate(*runner, engine, unfold, observer, &mut look)?;
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
