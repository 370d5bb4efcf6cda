//! Effects of single failures: for each link and node, the pairs of hosts without a path after its failure.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use xoff_engine::Sets;
use xoff_models::hosts::transport::Protocol;
use xoff_models::network::Lines;
use xoff_models::paths::topology::Topology;
use xoff_units::{index, number, wide};

use crate::runner::Runner;

/// Maximum work: links and nodes, times the work for each.
const MOST: usize = 100_000_000;

/// Returns the sets of connected forwarding nodes without a link or a node.
fn left_without(t: &Topology, link: Option<usize>, node: Option<u32>) -> Sets {
    let mut left = Sets::new(t.nodes.len());
    let forwards = |n: u32| t.nodes[index(n)].forwards && Some(n) != node;
    for (_, l) in
        t.links.iter().enumerate().filter(|(i, l)| Some(*i) != link && forwards(l.a) && forwards(l.b))
    {
        left.join(l.a, l.b);
    }
    left
}

/// Returns the number of connected pairs of hosts without a link or a node. The pairs of a failed host do not
/// count.
fn joined(t: &Topology, link: Option<usize>, node: Option<u32>) -> u64 {
    let mut left = left_without(t, link, node);
    // Hosts by the sets of their switches; most hosts belong to one set.
    let mut on: Vec<Vec<u32>> = vec![Vec::new(); t.nodes.len()];
    for (_, l) in t
        .links
        .iter()
        .enumerate()
        .filter(|(i, l)| Some(*i) != link && ![l.a, l.b].into_iter().any(|n| Some(n) == node))
    {
        for (host, other) in [(l.a, l.b), (l.b, l.a)] {
            if t.nodes[index(host)].is_host && t.nodes[index(other)].forwards {
                on[index(host)].push(left.root(other));
            }
        }
    }
    let mut groups: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for host in t.hosts().into_iter().filter(|h| Some(*h) != node) {
        let mut list = std::mem::take(&mut on[index(host)]);
        list.sort_unstable();
        list.dedup();
        *groups.entry(list).or_default() += 1;
    }
    let all: Vec<(&Vec<u32>, u64)> = groups.iter().map(|g| (g.0, *g.1)).collect();
    let meet = |a: &[u32], b: &[u32]| a.iter().any(|set| b.contains(set));
    all.iter()
        .enumerate()
        .map(|(i, (list, hosts))| {
            let within = if list.is_empty() { 0 } else { hosts * (hosts - 1) / 2 };
            within
                + all[i + 1..]
                    .iter()
                    .filter(|other| meet(list, other.0))
                    .map(|other| hosts * other.1)
                    .sum::<u64>()
        })
        .sum()
}

/// Returns the kinds of single failures that disconnect hosts, the worst first; an empty list if the search
/// would take too long.
pub fn failures(runner: &Runner) -> Vec<Value> {
    let t = &runner.topology;
    let size = t.nodes.len() + t.links.len();
    if size.saturating_mul(size) > MOST {
        return Vec::new();
    }
    let name = |n: u32| t.nodes[index(n)].name.as_str();
    let whole = joined(t, None, None);
    let hosts = wide(t.hosts().len());
    let mut kinds: BTreeMap<(u64, &str), (String, u64)> = BTreeMap::new();
    for (i, l) in t.links.iter().enumerate() {
        let lost = whole.saturating_sub(joined(t, Some(i), None));
        kinds.entry((lost, "link")).or_insert_with(|| (format!("{}-{}", name(l.a), name(l.b)), 0)).1 += 1;
    }
    for n in (0..number(t.nodes.len())).filter(|n| !t.nodes[index(*n)].is_host) {
        let lost = whole.saturating_sub(joined(t, None, Some(n)));
        kinds.entry((lost, "switch")).or_insert_with(|| (name(n).into(), 0)).1 += 1;
    }
    let lines = Lines::new(t, &runner.ports, &runner.settings);
    let mut protocols: Vec<Protocol> =
        runner.settings.stacks.list().iter().map(|stack| lines.protocol(stack)).collect();
    protocols.dedup_by_key(|protocol| (protocol.name(), protocol.timeouts().0));
    let each = |say: &dyn Fn(&Protocol) -> String| protocols.iter().map(say).collect::<Vec<_>>().join(", ");
    let transport = each(&|protocol| protocol.name().into());
    let noticed = each(&|protocol| {
        if protocol.acknowledges() { protocol.timeouts().0.to_string() } else { "never".into() }
    });
    let row = |((pairs, kind), (such_as, count)): ((u64, &str), (String, u64))| {
        json!({ "fails": format!("a {kind}, such as {such_as}"), "count": count, "disconnected_pairs": pairs,
                "host_pairs": hosts * hosts.saturating_sub(1) / 2, "transport": transport,
                "detection_time": noticed })
    };
    kinds.into_iter().rev().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_document::from_toml;

    fn rows(network: &str) -> Vec<(String, u64, u64)> {
        let text = format!("network.{network}\nhost.transport.go_back_n.rto = \"1ms\"");
        let runner = Runner::new(from_toml(&text, &[]).unwrap(), |_| None).unwrap();
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let list = failures(&runner);
        assert!(list.iter().all(|row| row["detection_time"] == "1ms" && row["transport"] == "go_back_n"));
        list.iter()
            .map(|r| {
                (
                    r["fails"].as_str().unwrap().to_string(),
                    number(r, "count"),
                    number(r, "disconnected_pairs"),
                )
            })
            .collect()
    }

    #[test]
    fn in_a_clos_only_the_way_to_a_host_is_its_only_one() {
        let link = r#"link = { rate = "100Gbps", delay = "1us" }"#;
        let clos = rows(&format!("leaf_spine = {{ leaves = 2, spines = 2, hosts_per_leaf = 3, {link} }}"));
        // A leaf has 3 of 6 hosts: 9 pairs between leaves, and 3 pairs within a leaf.
        let expected = [
            ("a switch, such as leaf0", 2, 12),
            ("a link, such as host0-leaf0", 6, 5),
            ("a switch, such as spine0", 2, 0),
            ("a link, such as leaf0-spine0", 4, 0),
        ];
        assert_eq!(clos, expected.map(|(fails, count, pairs)| (fails.to_string(), count, pairs)));
        let line = rows(&format!("line = {{ switches = 3, {link} }}"));
        assert_eq!(line[0], ("a switch, such as switch1".to_string(), 1, 3));
        assert_eq!(line.iter().map(|row| row.1).sum::<u64>(), 8);
    }

    #[test]
    fn a_host_with_two_links_is_cut_off_by_neither() {
        let two = r#"explicit = { nodes = [{ name = "h0", kind = "host" }, { name = "h1", kind = "host" }, { name = "a", kind = "switch" }, { name = "b", kind = "switch" }],
            links = [{ a = "h0", b = "a", rate = "1Gbps", delay = "0ns" }, { a = "h0", b = "b", rate = "1Gbps", delay = "0ns" },
                     { a = "h1", b = "a", rate = "1Gbps", delay = "0ns" }, { a = "h1", b = "b", rate = "1Gbps", delay = "0ns" }] }"#;
        assert!(rows(two).iter().all(|row| row.2 == 0));
    }
}
