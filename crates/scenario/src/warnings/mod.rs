//! Warnings about a scenario that can run, printed by `xoff check` and by every run.

mod ingress;
mod lossless;
mod rates;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use xoff_applications::job::{Graph, Jobs};
use xoff_models::hosts::congestion_control::CongestionControl;
use xoff_models::hosts::stack::Stack;
use xoff_models::hosts::transport::Protocol;
use xoff_models::mechanisms::{Part, at};
use xoff_models::network::Lines;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::topology::{PortSpec, Topology};
use xoff_models::ports::queueing::buffer::{self, Accounting};
use xoff_models::ports::queueing::scheduler;
use xoff_models::ports::relay::Scheduler;
use xoff_units::{Bytes, index};

use self::ingress::table;
pub use self::ingress::{IngressPorts, Warning, ingress_ports};
use crate::runner::Runner;

/// Returns all warnings without a search. Possible deadlocks are found by `xoff check`, and actual deadlocks
/// by the run.
pub fn warnings(runner: &Runner) -> Vec<Warning> {
    let s = runner.scenario();
    let ports = ingress_ports(runner);
    let mut list = level_warnings(runner, &ports);
    list.extend(lossless::warnings(runner, &ports));
    list.extend(rates::warnings(runner));
    if s.host.relay.scheduler == Scheduler::PerFlow && s.switch.scheduler != scheduler::Scheduler::Strict {
        let why = "switch.scheduler divides ports among classes; within a class, own and relayed flows of a relay take turns by packets";
        list.push(Warning::new("host.relay.scheduler", why));
    }
    list.extend(port_warnings(runner));
    list.extend(uncut(runner));
    list.extend(unheard(runner));
    list.extend(scattered(runner));
    let lines = Lines::new(&runner.topology, &runner.ports, &runner.settings);
    list.extend(hasty(runner, &lines));
    list.extend(small_windows(runner, &lines));
    list.extend(shared_hosts(runner));
    if !s.switch.mechanisms().any(|p| p.routes) {
        list.extend(unequal_choices(&runner.topology, &runner.ports));
    }
    if let (false, Some(i)) = (
        s.network.failover.is_given(),
        s.fault
            .iter()
            .position(|f| f.state.is_some() && f.duration.is_none() && f.time_between_failures.is_none()),
    ) {
        let why = "a permanent fault without reroutes: flows across it never end; set network.failover";
        list.push(Warning::new(format!("fault[{i}]"), why));
    }
    if s.network.failover.is_given() && !s.fault.is_empty() && !runner.plan.paths.is_empty() {
        let why = "flows with a pinned path (via) are not rerouted: packets into a link that is down are lost until the repair";
        list.push(Warning::new("network.failover", why));
    }
    if runner.plan.flows == 0 {
        list.push(Warning::new("workload", "the workload sends no packet"));
    }
    list
}

/// Returns the key of a warning about headroom.
pub fn small_headroom(warnings: &[Warning]) -> Option<String> {
    warnings.iter().find(|one| one.is_of_headroom).map(|warning| warning.path.clone())
}

/// Warns of hosts with ranks of two jobs, once for each job.
fn shared_hosts(runner: &Runner) -> Vec<Warning> {
    let jobs = Jobs::of(&runner.plan.applications);
    let warn = |(i, job): (usize, &Arc<Graph>)| {
        let (other, host) =
            jobs[..i].iter().find_map(|other| Some((other.workload, other.first_shared_host(job)?)))?;
        let name = &runner.topology.nodes[index(host)].name;
        let why = format!(
            "{name} also has ranks of workload[{other}], and each rank computes at full speed; give each job its own `hosts`"
        );
        Some(Warning::new(format!("workload[{}]", job.workload), why))
    };
    jobs.iter().enumerate().filter_map(warn).collect()
}

/// Warns of timeouts below the longest round trip.
fn hasty(runner: &Runner, lines: &Lines) -> Vec<Warning> {
    let longest = lines.longest_round_trip();
    let warn = |stack: &Stack| {
        let protocol = lines.protocol(stack);
        let shortest = protocol.timeouts().0;
        (protocol.acknowledges() && shortest < longest).then(|| {
            let why = format!(
                "the timeout of {shortest} is below the longest round trip without load, {longest}: packets are retransmitted too early; give a longer timeout, or remove it"
            );
            Warning::new(format!("{}.{}", stack.paths()[0], stack.transport.plugins.key(protocol.name())), why)
        })
    };
    runner.settings.stacks.list().iter().filter_map(warn).collect()
}

/// Warns of given windows of hosts, at the fastest line of each stack.
fn small_windows(runner: &Runner, lines: &Lines) -> Vec<Warning> {
    let hosts = runner.topology.nodes.iter().zip(&runner.ports).filter(|(node, _)| node.is_host);
    let Some(rate) = hosts.flat_map(|(_, ports)| ports.iter().map(|port| port.link.rate)).max() else {
        return Vec::new();
    };
    let line = lines.of(rate);
    let mut list: Vec<Warning> = Vec::new();
    for stack in runner.settings.stacks.list() {
        let of_controls = stack.controls().into_iter().flat_map(|(of, control)| {
            let path = Stack::control_path(of);
            control.warn(line).into_iter().map(move |(key, why)| Warning::new(format!("{path}.{key}"), why))
        });
        let of_transport = stack.transport.warn(line).into_iter();
        let of_transport =
            of_transport.map(|(key, why)| Warning::new(format!("{}.{key}", stack.paths()[0]), why));
        // An override that repeats a value of all hosts needs no warning of its own.
        for warning in of_controls.chain(of_transport).collect::<Vec<_>>() {
            if !list.iter().any(|one| one.message == warning.message) {
                list.push(warning);
            }
        }
    }
    list
}

/// Warns of cut-through headers as large as a packet.
fn uncut(runner: &Runner) -> Vec<Warning> {
    let (switch, largest) = (&runner.scenario().switch, runner.settings.framing.largest());
    let of_overrides =
        switch.overrides.iter().enumerate().map(|(i, o)| (format!("switch.overrides[{i}]"), o.cut_through));
    let all = std::iter::once(("switch".to_string(), switch.cut_through)).chain(of_overrides);
    let longer = all.filter_map(|(path, cut)| Some((path, cut?.header))).filter(|cut| cut.1.0 >= largest);
    let why = |header: Bytes| {
        format!("{header} is not below the size of a packet, {largest} B: cut-through has no effect")
    };
    longer.map(|(path, header)| Warning::new(format!("{path}.cut_through.header"), why(header))).collect()
}

/// Warns of a switch with ports of different rates on equally short paths: ECMP divides flows evenly.
fn unequal_choices(topology: &Topology, ports: &[Vec<PortSpec>]) -> Option<Warning> {
    let is_switch = |n: usize| topology.nodes[n].forwards && !topology.nodes[n].is_host;
    let uplinks = |n: usize| ports[n].iter().filter(|p| is_switch(index(p.peer)));
    let differ =
        |n: usize| uplinks(n).any(|p| uplinks(n).next().is_some_and(|first| first.link.rate != p.link.rate));
    let mixed: Vec<usize> = (0..ports.len()).filter(|n| is_switch(*n) && differ(*n)).collect();
    let leaves = (0..ports.len())
        .filter(|n| is_switch(*n) && ports[*n].iter().any(|p| topology.nodes[index(p.peer)].is_host));
    for leaf in leaves.take(if mixed.is_empty() { 0 } else { LEAVES }) {
        let mut distance = vec![u32::MAX; ports.len()];
        distance[leaf] = 0;
        let mut queue = VecDeque::from([leaf]);
        while let Some(at) = queue.pop_front() {
            for p in uplinks(at) {
                let peer = index(p.peer);
                if distance[peer] == u32::MAX {
                    distance[peer] = distance[at] + 1;
                    queue.push_back(peer);
                }
            }
        }
        for at in mixed.iter().copied().filter(|at| distance[*at] != u32::MAX) {
            let mut rates =
                uplinks(at).filter(|p| distance[index(p.peer)] < distance[at]).map(|p| p.link.rate);
            let Some(first) = rates.next() else { continue };
            if let Some(other) = rates.find(|r| *r != first) {
                let (at, leaf) = (&topology.nodes[at].name, &topology.nodes[leaf].name);
                let why = format!(
                    "{at} has ports of {first} and of {other} on equally short paths to {leaf}, and ECMP divides flows evenly: flows on the slower ports are slowed"
                );
                return Some(Warning::new("network", why));
            }
        }
    }
    None
}

/// Maximum number of examined switches with hosts; further switches are assumed to be similar.
const LEAVES: usize = 256;

/// Warns of doubtful levels and headroom.
fn level_warnings(runner: &Runner, ports: &[IngressPorts]) -> Vec<Warning> {
    let mut list = Vec::new();
    let classes = runner.scenario().switch.classes;
    for IngressPorts { rate, delay, levels, place, is_host, .. } in ports {
        for part in runner.settings.locals.list()[*place].mechanisms.parts() {
            let properties = part.properties();
            if let Some(available) = levels.available
                && properties.has_levels
                && !levels.is_dynamic
                && available < levels.headroom
                && properties.accounting == Some(Accounting::Ingress)
            {
                let shared = if classes > 1 {
                    format!("with the buffer shared by {classes} classes, ")
                } else {
                    String::new()
                };
                let (available, xoff, needed) =
                    (Bytes(available), Bytes(levels.xoff), Bytes(levels.headroom));
                let why = format!(
                    "{shared}{available} above XOFF {xoff} is below the {needed} of headroom for a {rate} link of {delay}: packets may be lost"
                );
                list.push(Warning::new(at(part.path(), "xoff"), why).of_headroom());
            }
            if !(*is_host && marks_at_switches_alone(runner, part.as_ref())) {
                let path = || table(runner, *place, part.path());
                let warning = part.warn(levels).map(|(key, why)| Warning::new(at(&path(), key), why));
                // Ports with other thresholds have the same problem.
                list.extend(warning.filter(|w| !list.iter().any(|one: &Warning| one.is_like(w))));
            }
        }
    }
    list
}

/// True if a component marks packets at switches and not at hosts that relay.
fn marks_at_switches_alone(runner: &Runner, part: &dyn Part) -> bool {
    part.properties().marks_data && !runner.scenario().host.relay.ecn
}

/// Warns of doubtful ports, once for equal ports.
fn port_warnings(runner: &Runner) -> Vec<Warning> {
    let mut list: Vec<Warning> = Vec::new();
    let parts = runner.settings.mechanisms().parts();
    for (n, node) in runner.topology.nodes.iter().enumerate().filter(|n| n.1.forwards) {
        for number in PortId::all(runner.ports[n].len()) {
            let ingress = runner.settings.ingress(n as u32, number, &runner.ports[n], node);
            for part in
                parts.iter().filter(|part| !(node.is_host && marks_at_switches_alone(runner, part.as_ref())))
            {
                let warning =
                    part.warn_port(&ingress).map(|(key, why)| Warning::new(at(part.path(), key), why));
                list.extend(warning.filter(|w| !list.contains(w)));
            }
        }
    }
    list
}

/// Warns of packets on several paths to receivers that drop out-of-order packets.
fn scattered(runner: &Runner) -> Option<Warning> {
    let stacks = runner.settings.stacks.list();
    let (stack, protocol) =
        stacks.iter().zip(runner.settings.protocols()).find(|one| !one.1.bears_reordering())?;
    let parts = runner.settings.mechanisms().parts();
    let part = parts.iter().find(|p| p.properties().scatters)?;
    let why = format!(
        "packets of a flow take several paths, and {}.{} drops and retransmits out-of-order packets; use host.transport.selective or irn",
        stack.paths()[0],
        protocol.name()
    );
    Some(Warning::new(part.path(), why))
}

/// Returns the warning of a signal that no host reads, from a problem and a remedy. Hosts that have a congestion control of
/// another kind do not need one; the signal is then of no use.
fn deaf(why: &str, runner: &Runner) -> String {
    let stacks = runner.settings.stacks.list();
    let controls = stacks.iter().flat_map(Stack::controls).flat_map(|(_, control)| control.given());
    let controls: BTreeSet<&str> = controls.collect();
    match why.split_once("; ") {
        Some((problem, _)) if !controls.is_empty() => {
            let names: Vec<&str> = controls.into_iter().collect();
            format!(
                "{problem}: host.congestion_control is {}, which does without; remove it",
                names.join(" and ")
            )
        }
        _ => why.into(),
    }
}

/// Warns of mechanisms without a reacting host, and of congestion controls without a signalling switch.
fn unheard(runner: &Runner) -> Vec<Warning> {
    let s = runner.scenario();
    let parts = runner.settings.mechanisms().parts();
    let lossless = s.switch.mechanisms().lossless();
    let may_drop = s.switch.buffer != buffer::Params::Unlimited
        && !(0..s.switch.classes).all(|class| lossless.has(class));
    let of_stack = |(stack, protocol): (&Stack, Protocol)| {
        let [transport, _] = stack.paths();
        let of_control = |(of, control): (Option<usize>, &CongestionControl)| {
            let name = *control.given().first()?;
            Some((
                format!("{}.{}", Stack::control_path(of), control.plugins.key(name)),
                control.listens_to()?,
            ))
        };
        let of_transport = protocol
            .listens_to()
            .filter(|_| may_drop)
            .map(|l| (format!("{transport}.{}", stack.transport.plugins.key(protocol.name())), l));
        stack.controls().into_iter().filter_map(of_control).chain(of_transport).collect::<Vec<_>>()
    };
    let of_hosts = runner.settings.stacks.list().iter().zip(runner.settings.protocols()).flat_map(of_stack);
    let of_parts = parts.iter().filter_map(|p| Some((p.path().to_string(), p.listens_to()?)));
    let listeners: Vec<_> = of_hosts.chain(of_parts).collect();
    let signal = |part: &dyn Part| part.properties().signals_as.unwrap_or(part.name());
    let mut list = Vec::new();
    for (path, (mechanism, why)) in &listeners {
        if !parts.iter().any(|p| signal(p.as_ref()) == *mechanism) {
            list.push(Warning::new(path, *why));
        }
    }
    for part in &parts {
        if let Some(why) = part.properties().tells_sources
            && listeners.iter().all(|l| l.1.0 != signal(part.as_ref()))
        {
            list.push(Warning::new(part.path(), deaf(why, runner)));
        }
    }
    list
}
