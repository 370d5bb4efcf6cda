//! A folded run, or the reason to simulate all nodes.

use xoff_document::{Draws, InputError, Scenario, Ties};
use xoff_engine::Plan as EnginePlan;
use xoff_models::paths::symmetry::ties::Symmetric;
use xoff_models::ports::queueing::buffer;
use xoff_models::records::delays::Traced;

use super::chance;
use super::network::Reason;
use super::search::{Found, find};
use crate::observer::Observer;
use crate::results::unfold::Unfold;
use crate::runner::Runner;
use crate::simulation::{Look, Outcome, simulate};
use crate::summary::Folding;

/// The end of an attempt to fold a run.
pub enum Folded {
    /// The results, which are those of all nodes.
    Done(Box<Outcome>),
    /// The run has to simulate all nodes. With relative ties, the report says why.
    Obstacle(Box<Runner>, Option<Folding>),
}

/// Runs folded, or returns the runner of all nodes. An obstacle may appear at the end of the run: an audit has a finding, which
/// would name nodes. The run of all nodes then begins anew.
pub fn run(
    mut runner: Runner,
    engine: &EnginePlan,
    observer: &mut dyn Observer,
    look: &mut Look<'_>,
) -> Result<Folded, InputError> {
    let known = (!engine.fold).then(|| Reason::from("--no-fold"));
    let Some(report) = prepare(&mut runner, known) else {
        return Ok(Folded::Obstacle(Box::new(runner), None));
    };
    if report.obstacle.is_some() {
        return Ok(Folded::Obstacle(Box::new(runner), Some(report)));
    }
    let again = (runner.scenario.clone(), runner.began);
    match attempt(runner, engine.clone(), observer, look)? {
        Ok(mut outcome) => {
            outcome.summary.performance.folding = Some(report);
            Ok(Folded::Done(outcome))
        }
        Err(obstacle) => {
            observer.begin_again();
            let mut runner = Runner::filled(again.0, again.1)?;
            let report = prepare(&mut runner, Some(obstacle));
            Ok(Folded::Obstacle(Box::new(runner), report))
        }
    }
}

/// Returns whether a run folds; `None` without relative ties.
pub fn report(mut runner: Runner) -> Option<Folding> {
    prepare(&mut runner, None)
}

/// Prepares a run with relative ties: finds the group, and folds the run unless there is an obstacle, known or found. Returns
/// the summary of folding; `None` without relative ties.
fn prepare(runner: &mut Runner, known: Option<Reason>) -> Option<Folding> {
    if runner.scenario.ties != Some(Ties::Relative) {
        return None;
    }
    let draws = runner.scenario.draws;
    let Found { group, routes } = match find(runner) {
        Ok(found) => found,
        Err(why) => return Some(Folding { times: 1, rotations: Vec::new(), draws, obstacle: Some(why) }),
    };
    let drawn =
        if draws == Some(Draws::Shared) { None } else { chance::tells_apart(runner, &routes, &group) };
    let is_alike = drawn.is_none();
    if is_alike {
        runner.plan.share_keys(&group);
    }
    let obstacle = known.or(drawn).or_else(|| obstacle(&runner.scenario, runner));
    let is_folded = obstacle.is_none();
    let times = if is_folded { group.count() } else { 1 };
    let rotations = group.rotations().iter().map(|one| [one.stride, one.size]).collect();
    runner.settings.symmetric = Some(Symmetric { group, is_folded, is_alike });
    Some(Folding { times, rotations, draws, obstacle })
}

/// Returns the reason that a symmetric run does not fold; `None` for a run that folds.
fn obstacle(scenario: &Scenario, runner: &Runner) -> Option<Reason> {
    let probe = &scenario.probe;
    let probes = [
        (probe.packets, "probe.packets records the frames of all nodes"),
        (probe.interval().is_some(), "probe.queues and probe.replay sample the queues of all nodes"),
        (probe.delays != Traced::None, "probe.delays follows packets through all nodes"),
    ];
    if let Some((_, why)) = probes.into_iter().find(|(is_given, _)| *is_given) {
        return Some(why.into());
    }
    let locals = runner.settings.locals.list();
    let has_limits = |buffer: &buffer::Params| matches!(buffer, buffer::Params::Shared(shared) if !shared.egress.is_empty());
    if locals.iter().any(|local| has_limits(&local.buffer)) {
        return Some("switch.buffer.shared limits outputs by the memory of all outputs".into());
    }
    None
}

/// Simulates the representatives and the fixed switches of a prepared runner. Returns the results, or the obstacle.
fn attempt(
    runner: Runner,
    engine: EnginePlan,
    observer: &mut dyn Observer,
    look: &mut Look<'_>,
) -> Result<Result<Box<Outcome>, Reason>, InputError> {
    let unfold = Unfold::of(&runner);
    let times = unfold.times();
    let mut outcome = simulate(runner, engine, unfold, observer, look)?;
    if !outcome.summary.have_audits_passed() {
        return Ok(Err("an audit has a finding; the run began again with all nodes".into()));
    }
    outcome.summary.performance.repeat(u64::from(times));
    Ok(Ok(outcome))
}
