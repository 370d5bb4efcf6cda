//! Routes that change while a run runs (`Node::reroute`), between two windows.

use std::ops::ControlFlow;
use std::sync::Arc;

use xoff_engine::Plan;
use xoff_models::network::build;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::PortId;
use xoff_models::paths::routing::shortest::shortest_by;
use xoff_scenario::{Runner, from_toml};
use xoff_units::{Duration, Moment};

/// Two leaves (nodes 8 and 9) with four hosts each, and two spines (10 and 11); ports 4 and 5 of a leaf lead
/// to the spines. With this seed one flow takes the second spine, so that its link has no queue.
const NETWORK: &str = r#"
seed = 5
network.leaf_spine = { leaves = 2, spines = 2, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ flows = [
  { src = "host0", dst = "host4", size = "1MB" },
  { src = "host1", dst = "host5", size = "1MB" },
  { src = "host2", dst = "host6", size = "1MB" },
  { src = "host3", dst = "host7", size = "1MB" },
] }]
"#;

/// The second spine is unused from the first moment on, and used again from the second moment on.
const WITHOUT: (Moment, Moment) = (Moment::us(50), Moment::us(150));

/// The result after all flows have arrived: the fingerprint, and the moments of arrival.
fn run(
    text: &str,
    plan: Plan,
    changes: bool,
    mut look: impl FnMut(Moment, &[&Node]),
) -> (u64, Vec<(u32, Moment)>) {
    let runner = Runner::new(from_toml(&format!("{NETWORK}{text}"), &[]).unwrap(), |_| None).unwrap();
    let (topology, settings, paths) = (runner.topology.clone(), runner.settings, runner.plan.paths.clone());
    let mut engine = build(&runner.topology, runner.plan, &settings, plan).unwrap();
    let may_use = |node: u32, port: PortId| node != 11 && !(matches!(node, 8 | 9) && port == PortId(5));
    let one_spine =
        || shortest_by(&topology, paths.clone(), &settings.first_hop, settings.seed, |_| true, may_use);
    let both = engine.checkpoint(Moment::ZERO).node(0).core.routing.clone();
    let mut arrived = Vec::new();
    engine.run(|cp| {
        let before = cp.node(0).core.routing.clone();
        let now = match (changes, before.epoch) {
            (true, 0) if cp.now >= WITHOUT.0 => Some(Arc::new(before.changed(one_spine()))),
            (true, 1) if cp.now >= WITHOUT.1 => Some(Arc::new(before.changed(both.routes.clone()))),
            _ => None,
        };
        for id in 0..cp.nodes() {
            if let Some(routing) = &now {
                cp.node_mut(id).reroute(routing.clone());
            }
            let Some(endpoint) = &mut cp.node_mut(id).endpoint else { continue };
            arrived.append(&mut endpoint.arrived);
        }
        look(cp.now, &(0..cp.nodes()).map(|id| cp.node(id)).collect::<Vec<_>>());
        ControlFlow::Continue(())
    });
    let fingerprint = engine.fingerprint();
    for node in engine.into_nodes() {
        assert_eq!((node.counts.lost, node.core.routing.epoch), (0, if changes { 2 } else { 0 }));
        arrived.extend(node.endpoint.iter().flat_map(|e| e.arrived.clone()));
    }
    arrived.sort();
    (fingerprint, arrived)
}

#[test]
fn packets_go_by_the_routes_that_hold() {
    // Packets forwarded by the second spine, at each checkpoint.
    let mut seen = Vec::new();
    let (_, arrived) =
        run("", Plan::default(), true, |now, nodes| seen.push((now, nodes[11].counts.data_hops)));
    assert_eq!(arrived.len(), 4);
    let at = |at: Moment| seen.iter().rfind(|s| s.0 <= at).map(|s| s.1).unwrap();
    // Packets in flight to the second spine arrive within a link delay and a packet time, if the link has no
    // queue.
    let settled = WITHOUT.0 + Duration::us(10);
    assert!(at(WITHOUT.0) > 0 && at(settled) - at(WITHOUT.0) < 200);
    assert_eq!(at(WITHOUT.1), at(settled), "it is not used meanwhile");
    assert!(at(WITHOUT.1 + Duration::us(50)) > at(WITHOUT.1), "and then it is again");
}

#[test]
fn a_change_does_not_depend_on_threads_and_is_read_by_those_who_look_ahead() {
    let conweave = "switch = { ecn.step.threshold = '10KB', routing.conweave = { reply_slack = '200ns', flush_slack = '9us', queues = 2 } }";
    for text in ["", "switch.flow_control.pfc = { xoff = '20KB' }", "switch.cut_through = {}", conweave] {
        let usual = run(text, Plan::default(), true, |_, _| {});
        assert_eq!(usual.1.len(), 4, "{text}");
        assert_ne!(usual.0, run(text, Plan::default(), false, |_, _| {}).0, "{text}: nothing changed");
        for (threads, partitions, window) in
            [(2, Some(2), None), (1, Some(3), Some(Duration::ns(170))), (3, Some(4), None)]
        {
            let plan = Plan { threads, partitions, window, fast_forward: false, ..Plan::default() };
            assert_eq!(run(text, plan, true, |_, _| {}), usual, "{text}, {threads} threads");
        }
    }
}
