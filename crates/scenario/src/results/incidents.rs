//! What happened in a run, in time: faults, watchdogs that fired, pauses that a port did not obey, losses by reason and
//! place, and what audits found. Each incident says only what was counted.
//!
//! `xoff explain`, reports and the playground begin with the first of these lines, so at most one line tells of each
//! entry of `fault`, and one of all watchdogs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use xoff_engine::Checkpoint;
use xoff_models::faults::Queued;
use xoff_models::faults::plan::{Plan, Target, What};
use xoff_models::mechanisms::contract::Install;
use xoff_models::mechanisms::pfc::Pfc;
use xoff_models::network::node::{FAULT, Node};
use xoff_models::parts::ids::PortId;
use xoff_models::paths::topology::Link;
use xoff_models::records::events::Drop;
use xoff_units::{Duration, Moment, Rate, index};

use super::contract::{Collect, Shared};
use super::losses::Lossless;
use super::names::Names;
use super::words::{counted, listed, thousands};
use crate::audit::Verdicts;
use crate::faults;
use crate::runner::Runner;
use crate::summary::{Incident, Summary};

/// Reason of drops by the watchdog.
const WATCHDOG: &str = <Pfc as Install>::DROPS;

/// The number of incidents that readers see first. With more, faults come before their consequences.
const FIRST: usize = 5;

/// Losses of one reason in one class.
#[derive(Debug, Default)]
struct Loss {
    packets: u64,
    first: Moment,
    last: Moment,
    /// By node, ingress port and egress port.
    places: BTreeMap<(u32, PortId, PortId), u64>,
}

/// A sum of losses, with the place of most.
struct Most {
    packets: u64,
    at: (u32, PortId, PortId),
}

/// Collects incidents.
pub struct Incidents {
    rows: (),
    plan: Plan,
    lossless: Lossless,
    /// By reason, class, and whether the class is lossless at the ingress port.
    losses: BTreeMap<(&'static str, u8, bool), Loss>,
    list: Vec<Incident>,
}

impl Collect for Incidents {
    type Rows = ();

    fn new(runner: &Runner, _: &Shared) -> Self {
        Self {
            rows: (),
            plan: runner.settings.failures.clone(),
            lossless: Lossless::new(&runner.settings.locals),
            losses: BTreeMap::new(),
            list: Vec::new(),
        }
    }

    fn rows(&mut self) -> &mut () {
        &mut self.rows
    }

    fn dropped(&mut self, drop: &Drop, _: &mut Shared) {
        let is_lossless = drop.by.is_none() && self.lossless.has(drop);
        let loss = self.losses.entry((drop.by.unwrap_or(""), drop.class, is_lossless)).or_default();
        if loss.packets == 0 {
            loss.first = drop.at;
        }
        loss.last = drop.at;
        loss.packets += 1;
        *loss.places.entry((drop.node, drop.in_port, drop.port)).or_default() += 1;
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let list = self
            .faults(cp, &shared.names)
            .into_iter()
            .chain(self.disobedience(cp, shared))
            .chain(self.watchdogs(cp, shared))
            .chain(self.losses(&shared.names));
        self.list = list.collect();
    }

    fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
        let mut list = std::mem::take(&mut self.list);
        let mut rest = list.split_off(list.len().min(FIRST));
        for part in [&mut list, &mut rest] {
            part.sort_by_key(|incident| incident.start_ps);
        }
        list.append(&mut rest);
        summary.incidents = list;
    }
}

impl Incidents {
    /// Adds what audits found, unless an incident tells of it.
    pub fn judged(&mut self, verdicts: &Verdicts) {
        let is_explained = !self.list.is_empty();
        let told = |name: &str| name == "loss" || (name == "completion" && is_explained);
        for (name, verdict) in verdicts.0.iter().filter(|(name, _)| !told(name)) {
            if let Some(finding) = verdict.strip_prefix("failed: ").or(verdict.strip_prefix("recorded: ")) {
                let message = format!("the audit of {name} found: {finding}");
                self.list.push(Incident::new(name, None, (None, None), &message));
            }
        }
    }

    /// Returns an incident for each entry of `fault` that began.
    fn faults(&self, cp: &Checkpoint<'_, Node>, names: &Names) -> Vec<Incident> {
        let mut entries: BTreeMap<u32, Vec<faults::Fault>> = BTreeMap::new();
        for fault in faults::outages(&self.plan, cp, cp.now) {
            entries.entry(self.plan.units[index(fault.unit)].fault).or_default().push(fault);
        }
        let tell = |(entry, spells): (u32, Vec<faults::Fault>)| {
            let unit = &self.plan.units[index(spells[0].unit)];
            let mut targets: Vec<String> = Vec::new();
            for spell in &spells {
                let name = self.plan.name(spell.unit, &names.nodes);
                if !targets.contains(&name) {
                    targets.push(name);
                }
            }
            let units = spells.iter().map(|spell| &self.plan.units[index(spell.unit)]);
            let lines: Vec<Link> = units
                .clone()
                .filter_map(|unit| match unit.target {
                    Target::Link([(node, port), _], _) => Some(names.ports[index(node)][port].link),
                    Target::Node(_) | Target::Host(_) => None,
                })
                .collect();
            let has_paused =
                units.clone().any(|unit| matches!(unit.target, Target::Host(host) if pauses(cp.node(host))));
            let mut message = fault_in_words(unit.what, &lines, &listed(&targets), has_paused);
            if spells.len() > targets.len() {
                let _ = write!(message, ", {} times", thousands(spells.len() as u64));
            }
            let packets: u64 = spells.iter().map(|spell| spell.lost.packets).sum();
            let control: u64 = spells.iter().map(|spell| spell.lost.control).sum();
            if packets + control > 0 {
                let lost =
                    [(packets, "packet"), (control, "control frame")].into_iter().filter(|(n, _)| *n > 0);
                let lost: Vec<String> = lost.map(|(n, what)| counted(n, what)).collect();
                let _ = write!(message, "; {} lost", lost.join(" and "));
            }
            let ends = spells.iter().map(|spell| spell.outage.end).collect::<Option<Vec<Moment>>>();
            let start = spells.iter().map(|spell| spell.outage.start).min();
            let times = (start, ends.and_then(|ends| ends.into_iter().max()));
            Incident::new(unit.what.name(), Some(format!("fault[{entry}]")), times, &message)
        };
        entries.into_iter().map(tell).collect()
    }

    /// Returns an incident for each node with ports that ignored pauses.
    fn disobedience(&self, cp: &Checkpoint<'_, Node>, shared: &Shared) -> Vec<Incident> {
        let names = &shared.names;
        let mut list = Vec::new();
        for view in shared.unfold.views() {
            let node = cp.node(view.of);
            let ports = PortId::each(&names.ports[index(view.node)]);
            let ignored: Vec<(PortId, u8, u64)> = ports
                .flat_map(|(port, _)| node.core.classes.each().map(move |class| (port, class)))
                .map(|(port, class)| {
                    (port, class, node.pause_frames(shared.unfold.port(view, port), class).ignored)
                })
                .filter(|(_, _, frames)| *frames > 0)
                .collect();
            let Some((port, class, frames)) = ignored.iter().copied().max_by_key(|(_, _, frames)| *frames)
            else {
                continue;
            };
            let spec = &names.ports[index(view.node)][port];
            let mut message = format!(
                "{} did not obey {} of class {class} by {}",
                names.port(view.node, port),
                counted(frames, "pause"),
                names.nodes[index(spec.peer)]
            );
            let came = |loss: &&Loss| {
                loss.places.keys().any(|(at, from, _)| (*at, *from) == (spec.peer, spec.peer_port))
            };
            let of_class = self.losses.iter().filter(|((by, of, _), _)| by.is_empty() && *of == class);
            let loss = of_class.map(|(_, loss)| loss).find(came);
            if let Some(loss) = loss {
                let from = loss
                    .places
                    .iter()
                    .filter(|((at, from, _), _)| (*at, *from) == (spec.peer, spec.peer_port));
                let packets = from.map(|(_, packets)| packets).sum();
                let _ = write!(
                    message,
                    ", so {} had no room for {} from there",
                    names.nodes[index(spec.peer)],
                    counted(packets, "packet")
                );
            }
            if ignored.len() > 1 {
                let _ =
                    write!(message, " (and {} did not)", counted(ignored.len() as u64 - 1, "other queue"));
            }
            let times = (loss.map(|loss| loss.first), loss.map(|loss| loss.last));
            list.push(Incident::new("disobedience", None, times, &message));
        }
        list
    }

    /// Returns an incident of all watchdogs that fired.
    fn watchdogs(&self, cp: &Checkpoint<'_, Node>, shared: &Shared) -> Option<Incident> {
        let names = &shared.names;
        let of_watchdog = || self.losses.iter().filter(|((by, ..), _)| *by == WATCHDOG);
        let losses: Vec<&Loss> = of_watchdog().map(|(_, loss)| loss).collect();
        let dropped = |node: u32, port: PortId, class: u8| -> u64 {
            let of_class = of_watchdog().filter(|((_, of, _), _)| *of == class);
            let places = of_class.flat_map(|(_, loss)| &loss.places);
            let here = places.filter(|((at, from, out), _)| *at == node && (*from == port || *out == port));
            here.map(|(_, packets)| packets).sum()
        };
        let (mut storms, mut ports) = (0, 0);
        let mut worst: Option<((u64, u64), u32, PortId, u8)> = None;
        for view in shared.unfold.views() {
            let node = cp.node(view.of);
            for (port, _) in PortId::each(&names.ports[index(view.node)]) {
                for class in node.core.classes.each() {
                    let found = node.pause_frames(shared.unfold.port(view, port), class).storms;
                    storms += found;
                    ports += u64::from(found > 0);
                    if found > 0 {
                        let much = (dropped(view.node, port, class), found);
                        if worst.is_none_or(|worst| much > worst.0) {
                            worst = Some((much, view.node, port, class));
                        }
                    }
                }
            }
        }
        let (_, node, port, class) = worst?;
        let packets: u64 = losses.iter().map(|loss| loss.packets).sum();
        let at = format!("{}, class {class}", names.port(node, port));
        let place = if ports == 1 { at } else { format!("{}, most at {at}", counted(ports, "queue")) };
        let often = if storms == 1 { "once".into() } else { counted(storms, "time") };
        let mut message = format!("the PFC watchdog fired {often} at {place}");
        if packets > 0 {
            let _ = write!(message, "; it dropped {}", counted(packets, "packet"));
        }
        let times = (losses.iter().map(|loss| loss.first).min(), losses.iter().map(|loss| loss.last).max());
        Some(Incident::new("watchdog", None, times, &message))
    }

    /// Returns an incident for losses of each reason and class. Lines on faults and watchdogs tell of theirs.
    fn losses(&self, names: &Names) -> Vec<Incident> {
        let told = |by: &str| by == WATCHDOG || by == FAULT.name;
        let tell = |((by, class, is_lossless), loss): (&(&'static str, u8, bool), &Loss)| {
            let by_output = loss.most(|(node, _, out)| (node, out));
            let by_input = loss.most(|(node, from, _)| (node, from));
            let (node, from, out) = if *is_lossless { by_input.at } else { by_output.at };
            let packets = counted(loss.packets, "packet");
            let (name, output) = (&names.nodes[index(node)], names.port(node, out));
            let message = if *is_lossless {
                let peer = &names.nodes[index(names.ports[index(node)][from].peer)];
                format!(
                    "{packets} of class {class}, which is lossless, found the buffer full, {} at {name} from {peer} (port {from})",
                    part(by_input.packets, loss.packets)
                )
            } else if by.is_empty() {
                format!(
                    "{packets} of class {class}, which is not lossless, found the buffer full, {} at {output}",
                    part(by_output.packets, loss.packets)
                )
            } else {
                format!(
                    "{by} dropped {packets} of class {class}, {} at {output}",
                    part(by_output.packets, loss.packets)
                )
            };
            let times = (Some(loss.first), Some(loss.last));
            (loss.packets, Incident::new("loss", None, times, &message))
        };
        let mut list: Vec<(u64, Incident)> =
            self.losses.iter().filter(|((by, ..), _)| !told(by)).map(tell).collect();
        list.sort_by_key(|(packets, _)| std::cmp::Reverse(*packets));
        list.into_iter().map(|(_, incident)| incident).collect()
    }
}

impl Loss {
    /// Returns the place of most losses, after adding those of places with the same key.
    fn most<K: Ord>(&self, key: impl Fn((u32, PortId, PortId)) -> K) -> Most {
        let mut sums: BTreeMap<K, Most> = BTreeMap::new();
        for (at, packets) in &self.places {
            sums.entry(key(*at)).or_insert(Most { packets: 0, at: *at }).packets += packets;
        }
        // The first of equal places.
        let most = sums.into_values().rev().max_by_key(|most| most.packets);
        most.unwrap_or(Most { packets: 0, at: (0, PortId(0), PortId(0)) })
    }
}

/// True if a host has paused its neighbour.
fn pauses(host: &Node) -> bool {
    let ports = PortId::all(host.core.ports.len());
    ports
        .flat_map(|port| host.core.classes.each().map(move |class| (port, class)))
        .any(|(port, class)| host.pause_frames(port, class).sent > 0)
}

/// Returns a fault in words, from the lines of its links before the fault, and whether a host that stalled sent pauses.
fn fault_in_words(what: What, lines: &[Link], targets: &str, has_paused: bool) -> String {
    let is_link = !lines.is_empty();
    match what {
        What::Down(Queued::Wait) if is_link => format!("link down, frames for it waited: {targets}"),
        What::Down(_) if is_link => format!("link down: {targets}"),
        What::Down(_) => format!("node down, with all its links: {targets}"),
        What::Rate(rate) => {
            let own: Vec<Rate> = lines.iter().map(|line| line.rate).collect();
            format!(
                "link {} than configured: {targets} at {rate}{}",
                compared(&own, &rate, ["slower", "faster"]),
                instead(&own)
            )
        }
        What::Delay(delay) => {
            let own: Vec<Duration> = lines.iter().map(|line| line.delay).collect();
            format!(
                "link {} than configured: {targets} with {delay}{}",
                compared(&own, &delay, ["shorter", "longer"]),
                instead(&own)
            )
        }
        What::Errors(rate) if rate >= 1.0 => format!("silent loss: {targets} lost every frame, and was up"),
        What::Errors(rate) => format!("bit errors: {targets} damaged each bit with a probability of {rate}"),
        What::Stall if has_paused => {
            format!("host stalled: {targets} read nothing, and sent pauses")
        }
        What::Stall => format!("host stalled: {targets} read nothing"),
        What::Compute(times) => format!("straggler: computations of {targets} took {times} times as long"),
    }
}

/// Says how a value of a fault compares with those of the links: below all, above all, or neither.
fn compared<T: Ord>(own: &[T], value: &T, [below, above]: [&'static str; 2]) -> &'static str {
    if own.iter().all(|one| value < one) {
        below
    } else if own.iter().all(|one| value > one) {
        above
    } else {
        "other"
    }
}

/// Names the value of all links; empty if they differ.
fn instead<T: PartialEq + std::fmt::Display>(own: &[T]) -> String {
    let first = own.first().filter(|first| own.iter().all(|one| one == *first));
    first.map_or_else(String::new, |first| format!(" instead of {first}"))
}

/// Returns a part of a whole in words.
fn part(part: u64, whole: u64) -> String {
    if part == whole { "all".into() } else { format!("{} of them", thousands(part)) }
}
