//! The faults of a run, as those see them who look at all nodes: which last, which began, and what each lost.

use std::collections::BTreeMap;

use xoff_engine::Checkpoint;
use xoff_models::fault::plan::{Plan, Unit, What};
use xoff_models::fault::schedule::{Schedule, Spell};
use xoff_models::node::Node;
use xoff_models::node::fault::{Lost, SpellId};
use xoff_units::{Duration, Moment};

/// A spell of a fault, and what was lost by it.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The fault in the plan.
    pub unit: u32,
    /// When.
    pub spell: Spell,
    /// What was lost.
    pub lost: Lost,
}

/// The faults of a scenario, each at the spell that lasts or comes next.
pub struct Faults {
    /// What fails.
    pub plan: Plan,
    next: Vec<(Schedule, Option<Spell>)>,
}

impl Faults {
    /// Before the run.
    pub fn new(plan: Plan) -> Self {
        let first = |schedule: &Schedule| {
            let mut schedule = schedule.clone();
            let spell = schedule.next();
            (schedule, spell)
        };
        Self { next: plan.units.iter().map(|unit| first(&unit.schedule)).collect(), plan }
    }

    /// Whether an outage or a stall lasts at a moment that takes longer than this and will be over; moments may not go back.
    pub fn will_mend(&mut self, now: Moment, least: Duration) -> bool {
        for (schedule, spell) in &mut self.next {
            while spell.and_then(|spell| spell.end).is_some_and(|end| end <= now) {
                *spell = schedule.next();
            }
        }
        let stops = |unit: &Unit| matches!(unit.what, What::Down(_) | What::Stall);
        let lasts = |spell: Spell| spell.start <= now && spell.end.is_some_and(|end| end - spell.start >= least);
        self.plan.units.iter().zip(&self.next).any(|(unit, next)| stops(unit) && next.1.is_some_and(lasts))
    }

    /// All spells that began until the end of a run, in the order of their beginnings, with what nodes say was lost by them.
    pub fn rows(&self, cp: &Checkpoint<'_, Node>, end: Moment) -> Vec<Fault> {
        let mut lost: BTreeMap<SpellId, Lost> = BTreeMap::new();
        for (id, by) in (0..cp.nodes()).filter_map(|id| cp.node(id).failing.as_ref()).flat_map(|failing| &failing.lost) {
            let sum = lost.entry(*id).or_default();
            sum.packets += by.packets;
            sum.bytes += by.bytes;
            sum.control += by.control;
        }
        let mut rows = Vec::new();
        for (unit, of) in self.plan.units.iter().enumerate() {
            // What is sent again in vain may be lost after the end.
            let last = lost.range((unit as u32, 0)..=(unit as u32, u32::MAX)).next_back().map(|lost| lost.0.1);
            let spells = (0..).zip(of.schedule.clone());
            for (number, spell) in spells.take_while(|(number, spell)| last.is_some_and(|last| *number <= last) || spell.start <= end) {
                let lost = lost.get(&(unit as u32, number)).copied().unwrap_or_default();
                let spell = Spell { end: spell.end.filter(|until| *until <= end), ..spell };
                rows.push(Fault { unit: unit as u32, spell, lost });
            }
        }
        rows.sort_by_key(|row| (row.spell.start, row.unit));
        rows
    }
}
