//! Warnings about settings with which a lossless class loses packets.
//!
//! Each is checked against a closed form or another setting: headroom against what arrives after a pause, a class against the
//! classes of PFC, the classes that a port obeys against those of which its neighbour pauses it, and the watchdog against the
//! pause of an incast by all ports.

use xoff_models::ids::{ClassSet, PortId};
use xoff_models::mechanisms::at;
use xoff_models::queueing::buffer;
use xoff_models::workload::Workload;
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
    classes_without_pfc(runner).into_iter().for_each(&mut add);
    disobedient(runner).into_iter().for_each(&mut add);
    silent(runner).into_iter().for_each(&mut add);
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

/// Warns of workloads whose transport retransmits all after a loss, in a class that PFC does not protect.
fn classes_without_pfc(runner: &Runner) -> Vec<Warning> {
    let (scenario, settings) = (runner.scenario(), &runner.settings);
    let lossless = scenario.switch.mechanisms().lossless();
    let protocols = settings.protocols();
    let goes_back = protocols.iter().find(|one| one.acknowledges() && !one.bears_reordering());
    let Some(protocol) = goes_back.filter(|_| lossless != ClassSet::NONE) else { return Vec::new() };
    if scenario.switch.buffer == buffer::Params::Unlimited {
        return Vec::new();
    }
    let exposed = scenario.workload.iter().enumerate().filter(|(_, workload)| !lossless.has(workload.class));
    let warn = |(i, workload): (usize, &Workload)| {
        let why = format!(
            "class {} is not lossless, so a full switch drops its packets, and after a loss {} sends all later packets again; \
             use a class that switch.flow_control protects, protect this class, or use host.transport.selective or irn",
            workload.class,
            protocol.name()
        );
        Warning::new(format!("workload[{i}].class"), why)
    };
    exposed.map(warn).collect()
}

/// Warns of ports that do not obey pauses which their neighbour sends.
fn disobedient(runner: &Runner) -> Vec<Warning> {
    let (locals, topology) = (&runner.settings.locals, &runner.topology);
    let mut list = Vec::new();
    for (node, spec) in topology.nodes.iter().enumerate().filter(|(_, spec)| spec.forwards && !spec.is_host) {
        for (port, link) in
            PortId::each(&runner.ports[node]).filter(|(_, link)| topology.nodes[index(link.peer)].forwards)
        {
            let own = locals.at(node, port).mechanisms.stopped()[1];
            let asked = locals.at(index(link.peer), link.peer_port).mechanisms.stopped()[0];
            let Some(class) = asked.without(own).lowest() else { continue };
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
fn silent(runner: &Runner) -> Vec<Warning> {
    let (locals, topology, scenario) = (&runner.settings.locals, &runner.topology, runner.scenario());
    let mut list = Vec::new();
    if scenario.switch.buffer == buffer::Params::Unlimited {
        return list;
    }
    let elsewhere = scenario.switch.mechanisms().stopped()[0];
    for (node, spec) in topology.nodes.iter().enumerate().filter(|(_, spec)| spec.forwards && !spec.is_host) {
        for (port, link) in PortId::each(&runner.ports[node]) {
            let asks = locals.at(node, port).mechanisms.stopped()[0];
            let used = |class: &u8| scenario.workload.iter().any(|workload| workload.class == *class);
            let obeyed = locals.at(index(link.peer), link.peer_port).mechanisms.stopped()[1];
            let Some(class) =
                elsewhere.without(asks).lowest().filter(used).filter(|class| obeyed.has(*class))
            else {
                continue;
            };
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
             to one port, so long each waits for its share; packets of a working network are dropped; give more (SONiC's \
             default is 200 ms)"
        );
        Warning::new(at(part.path(), "watchdog.detection"), why)
    })
}
