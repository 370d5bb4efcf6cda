//! Warnings about rates that look like typing errors: a link that differs from its peers by a factor of ten, and links between
//! switches that are slower than those of hosts, where hosts have ten times the rate together.

use std::collections::BTreeMap;

use xoff_models::parts::names;
use xoff_models::paths::topology::{LinkSpec, PortSpec};
use xoff_units::{Rate, index};

use super::ingress::Warning;
use crate::runner::Runner;

/// Links with peers of another rate are warned of if so many links have the same rate: three quarters.
const MOST: (usize, usize) = (3, 4);

/// No design has so many times more rate towards hosts than towards switches.
const OVERSUBSCRIBED: u64 = 10;

/// Returns the warnings.
pub fn warnings(runner: &Runner) -> Vec<Warning> {
    odd_links(runner).into_iter().chain(narrow_uplinks(runner)).collect()
}

/// Warns of links whose rate is that of most links between nodes of the same names, with another number of zeros.
fn odd_links(runner: &Runner) -> Vec<Warning> {
    let topology = &runner.topology;
    let name = |node: u32| topology.nodes[index(node)].name.as_str();
    let mut peers: BTreeMap<(&str, &str), Vec<(usize, &LinkSpec)>> = BTreeMap::new();
    for (number, link) in topology.links.iter().enumerate() {
        let [a, b] = [link.a, link.b].map(|node| name(node).trim_end_matches(|c: char| c.is_ascii_digit()));
        peers.entry((a.min(b), a.max(b))).or_default().push((number, link));
    }
    let mut list: Vec<Warning> = Vec::new();
    for links in peers.values().filter(|links| links.len() > 2) {
        let mut rates: BTreeMap<Rate, usize> = BTreeMap::new();
        for (_, link) in links {
            *rates.entry(link.link.rate).or_default() += 1;
        }
        let Some((usual, count)) = rates.into_iter().max_by_key(|(_, count)| *count) else { continue };
        if count * MOST.1 < links.len() * MOST.0 {
            continue;
        }
        for (number, link) in links.iter().filter(|(_, link)| is_mistyped(link.link.rate, usual)) {
            let between = format!("{}-{}", name(link.a), name(link.b));
            let why = format!(
                "{between} has {}, and its {count} peers have {usual}: a typing error? Give {usual}, or ignore the warning",
                link.link.rate
            );
            let warning = Warning::new(
                key(runner, *number, &between, &format!("{}-{}", name(link.b), name(link.a))),
                why,
            );
            if !list.iter().any(|one| one.path == warning.path) {
                list.push(warning);
            }
        }
    }
    list
}

/// True if a rate is another one with more or fewer zeros.
fn is_mistyped(rate: Rate, usual: Rate) -> bool {
    let (low, high) = (rate.0.min(usual.0), rate.0.max(usual.0));
    (1..=3).any(|zeros| low.checked_mul(10_u64.pow(zeros)) == Some(high))
}

/// Returns the key that gives the rate of a link.
fn key(runner: &Runner, number: usize, name: &str, back: &str) -> String {
    let network = &runner.scenario().network;
    let mut overrides = network.overrides.iter();
    let given = overrides.rposition(|one| {
        one.rate.is_some() && (names::matches(&one.link, name) || names::matches(&one.link, back))
    });
    match given {
        Some(i) => format!("network.overrides[{i}].rate"),
        None if network.explicit.is_some() => format!("network.explicit.links[{number}].rate"),
        None => "network".into(),
    }
}

/// Warns of a switch with hosts whose links to other switches have a small part of the rate of its links to hosts.
fn narrow_uplinks(runner: &Runner) -> Option<Warning> {
    let topology = &runner.topology;
    let forwards = |peer: u32| topology.nodes[index(peer)].forwards && !topology.nodes[index(peer)].is_host;
    topology.nodes.iter().zip(&runner.ports).filter(|(node, _)| node.forwards && !node.is_host).find_map(|(node, ports)| {
        let sum = |up: bool| ports.iter().filter(|port| forwards(port.peer) == up).map(|port| port.link.rate.0).sum::<u64>();
        let (down, up) = (sum(false), sum(true));
        let slower = |fast: &PortSpec| ports.iter().any(|port| forwards(port.peer) && port.link.rate < fast.link.rate);
        let host = ports.iter().filter(|port| !forwards(port.peer)).min_by_key(|port| port.link.rate)?;
        (up > 0 && down >= up.saturating_mul(OVERSUBSCRIBED) && slower(host)).then(|| {
            let why = format!(
                "{} has {} towards its hosts and {} towards other switches, {} times less, and links to switches are slower \
                 than links to hosts: a typing error?",
                node.name,
                Rate(down),
                Rate(up),
                down / up
            );
            Warning::new("network", why)
        })
    })
}
