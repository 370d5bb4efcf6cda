//! Whole runs on small networks: determinism over threads, windows and partitions.

use xoff_engine::Plan;
use xoff_scenario::{from_toml, run};
use xoff_units::Duration;

const LEAF_SPINE: &str = r#"
[network.leaf_spine]
leaves = 8
spines = 16
hosts_per_leaf = 16
link = { rate = "100Gbps", delay = "1us" }
[switch.ecn.red]
kmin = "10KB"
kmax = "40KB"
[switch.flow_control.pfc]
xoff = "20KB"
[host.congestion_control.dcqcn]
[[workload]]
permutation = { size = "100KB" }
"#;

fn fingerprint(plan: Plan) -> String {
    let outcome = run(from_toml(LEAF_SPINE, &[]).unwrap(), |_| None, plan, &mut ()).unwrap();
    assert!(outcome.summary.audits.values().all(|v| v == "ok"), "{:?}", outcome.summary.audits);
    outcome.summary.fingerprint
}

#[test]
fn results_do_not_depend_on_threads_window_or_partition() {
    let base = fingerprint(Plan::default());
    for plan in [
        Plan::default(),
        Plan { threads: 2, ..Plan::default() },
        Plan { partitions: Some(3), ..Plan::default() },
        Plan { threads: 2, partitions: Some(3), solo_below: 0, ..Plan::default() },
        Plan { window: Some(Duration::ns(300)), ..Plan::default() },
        Plan { clusters: false, partitions: Some(2), window: Some(Duration::ns(77)), ..Plan::default() },
    ] {
        assert_eq!(fingerprint(plan.clone()), base, "{plan:?}");
    }
}
