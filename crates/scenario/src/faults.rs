//! Faults of a run as seen by observers of all nodes: active faults, past faults, and the losses of each
//! fault.

use std::collections::BTreeMap;
use std::sync::Arc;

use xoff_engine::Checkpoint;
use xoff_models::faults::plan::{Plan, Unit, What};
use xoff_models::faults::schedule::{Outage, Schedule};
use xoff_models::network::Settings;
use xoff_models::network::node::Node;
use xoff_models::network::node::failing::{Lost, OutageId};
use xoff_models::parts::ids::PortId;
use xoff_models::paths::routing::failover::Basis;
use xoff_models::paths::routing::{Map, Paths};
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_units::{Duration, Moment, number};

/// An outage of a fault, with its losses.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The fault in the plan.
    pub unit: u32,
    /// Start and end.
    pub outage: Outage,
    /// Losses.
    pub lost: Lost,
}

/// Changes of all routes after links went down or came back.
pub struct Reroutes {
    basis: Basis,
    avoided: Avoided,
}

/// The links that routes avoid, from change to change.
pub struct Avoided {
    after: Duration,
    plan: Plan,
    /// Next change of each fault that takes links down.
    next: Vec<Known>,
    /// Links known to be down, from both ends, with the number of faults.
    links: BTreeMap<(u32, PortId), u32>,
}

/// Knowledge of a fault, with its time.
struct Known {
    unit: u32,
    /// Moment of the next known change; true for the beginning of an outage.
    change: Option<(Moment, bool)>,
    /// Later outages.
    outages: Spells,
}

type Spells = std::iter::Peekable<Schedule>;

impl Reroutes {
    /// Returns the reroutes of a scenario with faults, from the network, its pinned paths, the nodes at which
    /// flows start or end, and the routes.
    pub fn of(
        settings: &Settings,
        network: impl FnOnce() -> (Topology, Arc<Paths>, Vec<bool>, Arc<Map>),
    ) -> Option<Self> {
        let avoided = Avoided::of(settings)?;
        let (topology, paths, is_end, whole) = network();
        let (first_hop, seed) = (settings.first_hop.clone(), settings.seed);
        Some(Self { basis: Basis { topology, paths, first_hop, seed, is_end, whole }, avoided })
    }

    /// Changes the routes of all nodes if a change is due, and returns the moment of the next change.
    pub fn look(&mut self, cp: &mut Checkpoint<'_, Node>) -> Option<Moment> {
        if self.avoided.advance(cp.now, &self.basis.whole.wiring.ports) {
            let may_use = |node: u32, port: PortId| !self.avoided.has(node, port);
            let map = Arc::new(self.basis.changed(&cp.node(0).core.routing, may_use));
            (0..cp.nodes()).for_each(|id| cp.node_mut(id).reroute(map.clone()));
        }
        let next = self.avoided.next_change();
        cp.next = [cp.next, next].into_iter().flatten().min();
        next
    }
}

impl Avoided {
    /// Returns the avoided links of a scenario at its start; `None` if routes never change.
    pub fn of(settings: &Settings) -> Option<Self> {
        let plan = &settings.failures;
        let after = settings.failover.convergence_time.filter(|_| !plan.is_empty())?;
        let cuts = plan.units.iter().zip(0..).filter(|(unit, _)| matches!(unit.what, What::Down(_)));
        let known =
            |unit: u32, mut outages: Spells| Known { unit, change: known_down(&mut outages, after), outages };
        let next = cuts.map(|(unit, number)| known(number, unit.schedule.clone().peekable())).collect();
        Some(Self { after, plan: plan.clone(), next, links: BTreeMap::new() })
    }

    /// Makes the changes up to a moment. Returns true if there was one.
    pub fn advance(&mut self, now: Moment, ports: &[Vec<PortSpec>]) -> bool {
        let mut is_changed = false;
        for Known { unit, change, outages } in &mut self.next {
            while let Some((at, is_down)) = *change
                && at <= now
            {
                for end in self.plan.links(*unit, ports) {
                    let faults = self.links.entry(end).or_default();
                    *faults = if is_down { *faults + 1 } else { faults.saturating_sub(1) };
                }
                is_changed = true;
                *change =
                    if is_down { known_back(outages, self.after) } else { known_down(outages, self.after) };
            }
        }
        self.links.retain(|_, faults| *faults > 0);
        is_changed
    }

    /// Returns the moment of the next change.
    pub fn next_change(&self) -> Option<Moment> {
        self.next.iter().filter_map(|known| known.change).map(|change| change.0).min()
    }

    /// True if routes avoid the link of a port.
    pub fn has(&self, node: u32, port: PortId) -> bool {
        self.links.contains_key(&(node, port))
    }

    /// Returns the avoided links, from both ends.
    pub fn links(&self) -> impl Iterator<Item = (u32, PortId)> + '_ {
        self.links.keys().copied()
    }
}

/// Returns the moment at which the next outage longer than `after` becomes known.
fn known_down(outages: &mut Spells, after: Duration) -> Option<(Moment, bool)> {
    let is_short = |outage: &Outage| outage.end.is_some_and(|end| end - outage.start <= after);
    for _ in 0..MANY {
        let outage = outages.peek()?;
        if !is_short(outage) {
            return Some((outage.start + after, true));
        }
        outages.next();
    }
    None
}

/// Returns the moment at which the end of an outage becomes known: `after` without another failure.
fn known_back(outages: &mut Spells, after: Duration) -> Option<(Moment, bool)> {
    for _ in 0..MANY {
        let end = outages.next()?.end?;
        if outages.peek().is_none_or(|next| next.start > end + after) {
            return Some((end + after, false));
        }
    }
    None
}

/// Number of unnoticed failures treated as an endless sequence.
const MANY: usize = 1_000_000;

/// Faults of a scenario, each at the present or next outage.
pub struct Faults {
    /// Failing parts.
    pub plan: Plan,
    next: Vec<(Schedule, Option<Outage>)>,
    /// Last end of an outage or stall, among those passed by [`Self::will_mend`].
    pub mended: Moment,
}

impl Faults {
    /// Before the run.
    pub fn new(plan: Plan) -> Self {
        let first = |schedule: &Schedule| {
            let mut schedule = schedule.clone();
            let outage = schedule.next();
            (schedule, outage)
        };
        Self {
            next: plan.units.iter().map(|unit| first(&unit.schedule)).collect(),
            plan,
            mended: Moment::ZERO,
        }
    }

    /// True if an outage or stall longer than `least` is active now and will end. Moments may not decrease
    /// between calls.
    pub fn will_mend(&mut self, now: Moment, least: Duration) -> bool {
        let stops = |unit: &Unit| matches!(unit.what, What::Down(_) | What::Stall);
        for (unit, (schedule, outage)) in self.plan.units.iter().zip(&mut self.next) {
            while let Some((start, end)) =
                outage.and_then(|outage| Some((outage.start, outage.end?))).filter(|ends| ends.1 <= now)
            {
                // Repeated short outages delay a flow without being waited for.
                if stops(unit) && end - start >= least {
                    self.mended = self.mended.max(end);
                }
                *outage = schedule.next();
            }
        }
        let lasts =
            |outage: Outage| outage.start <= now && outage.end.is_some_and(|end| end - outage.start >= least);
        self.plan.units.iter().zip(&self.next).any(|(unit, next)| stops(unit) && next.1.is_some_and(lasts))
    }
}

/// Returns all outages up to the end of a run, in order of their starts, with the losses counted by nodes.
pub fn outages(plan: &Plan, cp: &Checkpoint<'_, Node>, end: Moment) -> Vec<Fault> {
    let mut lost: BTreeMap<OutageId, Lost> = BTreeMap::new();
    for (id, by) in
        (0..cp.nodes()).filter_map(|id| cp.node(id).failing.as_ref()).flat_map(|failing| &failing.lost)
    {
        let sum = lost.entry(*id).or_default();
        sum.packets += by.packets;
        sum.bytes += by.bytes;
        sum.control += by.control;
    }
    let mut rows = Vec::new();
    for (unit, of) in plan.units.iter().enumerate() {
        // A retransmission may be lost after the end of the outage.
        let last = lost.range((number(unit), 0)..=(number(unit), u32::MAX)).next_back().map(|lost| lost.0.1);
        let outages = (0..).zip(of.schedule.clone());
        for (number, outage) in outages
            .take_while(|(number, outage)| last.is_some_and(|last| *number <= last) || outage.start <= end)
        {
            let lost = lost.get(&(unit as u32, number)).copied().unwrap_or_default();
            let outage = Outage { end: outage.end.filter(|until| *until <= end), ..outage };
            rows.push(Fault { unit: unit as u32, outage, lost });
        }
    }
    rows.sort_by_key(|row| (row.outage.start, row.unit));
    rows
}
