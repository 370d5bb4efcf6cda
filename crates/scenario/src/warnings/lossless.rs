//! Warnings about settings with which a lossless class loses packets.
//!
//! Each is checked against a closed form or another setting: headroom against what arrives after a pause, a class against the
//! classes of PFC, the classes that a port obeys against those of which its neighbour pauses it, and the watchdog against the
//! pause of an incast by all ports.

use std::collections::{BTreeMap, BTreeSet};

use xoff_models::frames::flow::Start;
use xoff_models::mechanisms::at;
use xoff_models::parts::ids::{ClassSet, PortId};
use xoff_models::ports::queueing::buffer;
use xoff_units::{Bytes, index, wide};

use super::ingress::{IngressPorts, Warning, table};
use crate::runner::Runner;

/// Returns the warnings. `ports` are the ingress ports with levels.
pub fn warnings(runner: &Runner, ports: &[IngressPorts]) -> Vec<Warning> {
    let mut list: Vec<Warning> = Vec::new();
    let mut add = |warning: Warning| {
        if !list.contains(&warning) {
            list.push(warning);
        }
    };
    ports.iter().filter_map(|port| small_headroom(runner, port)).for_each(&mut add);
    let sent = sent_classes(runner);
    classes_without_pfc(runner, &sent).into_iter().for_each(&mut add);
    if runner.scenario().switch.buffer != buffer::Params::Unlimited {
        let used = |class: u8| sent.iter().any(|(_, one)| *one == class);
        disobedient(runner, used).into_iter().for_each(&mut add);
        silent(runner, used).into_iter().for_each(&mut add);
    }
    ports.iter().filter_map(|port| hasty_watchdog(runner, port)).for_each(&mut add);
    list
}

/// Warns of a shared buffer with less headroom than arrives after a pause. A fixed XOFF has a warning of its own.
fn small_headroom(runner: &Runner, port: &IngressPorts) -> Option<Warning> {
    let levels = port.levels;
    let available = levels.available.filter(|available| levels.is_dynamic && *available < levels.headroom)?;
    let [available, needed] = [available, levels.headroom].map(Bytes);
    let why = format!(
        "{available} of headroom are less than the {needed} that arrive after a pause on a {} link of {}: packets may be lost; \
         give {needed}, or remove the key",
        port.rate, port.delay
    );
    Some(Warning::new(at(&table(runner, port.place, "switch.buffer.shared"), "headroom"), why).of_headroom())
}

/// The classes in which hosts send, by the index of the host's settings.
fn sent_classes(runner: &Runner) -> BTreeSet<(usize, u8)> {
    let plan = &runner.plan;
    let stack = |host: usize| runner.settings.stacks.place(host);
    let mut found = BTreeSet::new();
    for (host, starts) in plan.starts.iter().enumerate() {
        for start in starts {
            match start {
                Start::Drawn(flows) => found.extend([(stack(host), flows.destinations().0)]),
                Start::List(list) => found.extend(list.iter().map(|flow| (stack(host), flow.class))),
            }
        }
    }
    for (host, (waiting, connections)) in plan.waiting.iter().zip(&plan.connections).enumerate() {
        let classes =
            waiting.iter().map(|(_, flow)| flow.class).chain(connections.iter().map(|one| one.spec.class));
        found.extend(classes.map(|class| (stack(host), class)));
    }
    // Messages of serving are unknown before the run.
    for workload in runner.scenario().workload.iter().filter(|workload| workload.serving.is_some()) {
        found.insert((0, workload.class));
    }
    found
}

/// Warns of traffic whose transport retransmits all after a loss, in a class that PFC does not protect.
fn classes_without_pfc(runner: &Runner, sent: &BTreeSet<(usize, u8)>) -> Vec<Warning> {
    let scenario = runner.scenario();
    let lossless = scenario.switch.mechanisms().lossless();
    if lossless == ClassSet::NONE || scenario.switch.buffer == buffer::Params::Unlimited {
        return Vec::new();
    }
    let protocols = runner.settings.protocols();
    let goes_back = |stack: usize| protocols[stack].acknowledges() && !protocols[stack].bears_reordering();
    let exposed: BTreeMap<u8, usize> = sent
        .iter()
        .filter(|(stack, class)| goes_back(*stack) && !lossless.has(*class))
        .map(|(stack, class)| (*class, *stack))
        .collect();
    let warn = |path: String, class: u8, stack: usize| {
        let why = format!(
            "class {class} is not lossless, so a full switch drops its packets, and after a loss {} sends all later packets again; \
             use a class that switch.flow_control protects, protect this class, or use host.transport.selective or irn",
            protocols[stack].name()
        );
        Warning::new(path, why)
    };
    let mut list = Vec::new();
    for (class, stack) in exposed {
        let workloads: Vec<usize> = scenario
            .workload
            .iter()
            .enumerate()
            .filter(|(_, one)| one.class == class)
            .map(|(i, _)| i)
            .collect();
        // A rule for classes, or an operation of a job, may choose another class than the workload.
        if workloads.is_empty() {
            list.push(warn("host.classify".into(), class, stack));
        }
        list.extend(workloads.into_iter().map(|i| warn(format!("workload[{i}].class"), class, stack)));
    }
    list.sort_by(|a, b| a.path.cmp(&b.path));
    list
}

/// Warns of ports that do not obey pauses which their neighbour sends.
fn disobedient(runner: &Runner, used: impl Fn(u8) -> bool) -> Vec<Warning> {
    let (locals, topology) = (&runner.settings.locals, &runner.topology);
    let mut list = Vec::new();
    for (node, spec) in topology.nodes.iter().enumerate().filter(|(_, spec)| spec.forwards && !spec.is_host) {
        for (port, link) in
            PortId::each(&runner.ports[node]).filter(|(_, link)| topology.nodes[index(link.peer)].forwards)
        {
            let own = locals.at(node, port).mechanisms.stopped()[1];
            let asked = locals.at(index(link.peer), link.peer_port).mechanisms.stopped()[0];
            let Some(class) = (0..8).find(|class| asked.without(own).has(*class) && used(*class)) else {
                continue;
            };
            let place = locals.place(node, port);
            let peer = &topology.nodes[index(link.peer)].name;
            let why = format!(
                "{} does not obey pauses of class {class} by {peer}, which sends them when it is full: {peer} loses packets; \
                 obey the class, or let {peer} not send its pauses",
                spec.name
            );
            // If no override decides what the port obeys, one decides what the neighbour sends.
            let pfc = "switch.flow_control.pfc";
            let (own, other) = (table(runner, place, pfc), locals.place(index(link.peer), link.peer_port));
            let path = if own == pfc { at(&table(runner, other, pfc), "send") } else { at(&own, "obey") };
            list.push(Warning::new(path, why));
        }
    }
    list
}

/// Warns of ports that do not pause their neighbour, where an override takes the pauses away from a class of the scenario.
fn silent(runner: &Runner, used: impl Fn(u8) -> bool) -> Vec<Warning> {
    let (locals, topology, scenario) = (&runner.settings.locals, &runner.topology, runner.scenario());
    let mut list = Vec::new();
    let elsewhere = scenario.switch.mechanisms().stopped()[0];
    for (node, spec) in topology.nodes.iter().enumerate().filter(|(_, spec)| spec.forwards && !spec.is_host) {
        for (port, link) in PortId::each(&runner.ports[node]) {
            let asks = locals.at(node, port).mechanisms.stopped()[0];
            let obeyed = locals.at(index(link.peer), link.peer_port).mechanisms.stopped()[1];
            let is_silent =
                |class: &u8| elsewhere.without(asks).has(*class) && obeyed.has(*class) && used(*class);
            let Some(class) = (0..8).find(is_silent) else { continue };
            let peer = &topology.nodes[index(link.peer)].name;
            let why = format!(
                "{name} does not pause class {class} of {peer}, as it does elsewhere: when its buffer is full, {name} loses packets \
                 that come from {peer}; send the pauses",
                name = spec.name
            );
            list.push(Warning::new(
                at(&table(runner, locals.place(node, port), "switch.flow_control.pfc"), "send"),
                why,
            ));
        }
    }
    list
}

/// Warns of a watchdog that takes the pause of an incast for a storm. A pause lasts at least until the bytes between XOFF with
/// headroom and XON have left. If all other ports of the switch send to the slowest output, the port has a share of its rate.
fn hasty_watchdog(runner: &Runner, port: &IngressPorts) -> Option<Warning> {
    let parts = runner.settings.locals.list()[port.place].mechanisms.parts();
    let (part, longest) = parts.iter().find_map(|part| Some((part, part.properties().ends_pauses?)))?;
    let levels = port.levels;
    let bytes = levels.headroom + levels.xoff.saturating_sub(levels.xon);
    let pause = port.slowest.time(bytes) * wide(port.others.max(1));
    (longest < pause).then(|| {
        let why = format!(
            "a pause of {longest} counts as a storm, and an ordinary one can last {pause}: if all other ports of a switch send \
             to one port, so long each waits for its share; the watchdog would then act on a working network; give more \
             (SONiC's default is 200 ms)"
        );
        Warning::new(at(part.path(), "watchdog.detection"), why)
    })
}
