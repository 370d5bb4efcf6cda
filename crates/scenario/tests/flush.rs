//! Packets waiting for a link that goes down are lost. Effects requested by mechanisms at that moment are
//! carried out, as `Node` asserts.

use xoff_engine::Plan;
use xoff_scenario::{Runner, from_toml};

#[test]
fn credits_of_what_was_lost_are_given_back_at_once() {
    let text = r#"
network.leaf_spine = { leaves = 2, spines = 2, hosts_per_leaf = 2, link = { rate = "100Gbps", delay = "1us" } }
switch.flow_control.credits.scheme = "cbfc"
switch.buffer.per_queue = "50KB"
host.transport.selective = {}
workload = [{ incast = { senders = [0, 1, 2], receiver = 3, size = "200KB" } }]
fault = [{ link = "leaf*-spine*", state = "down", queued = "flush", time_between_failures = { fixed = "7us" }, time_to_repair = { exponential = "9us" } }]
until = "300us"
audits.completion = "record"
"#;
    let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
    let outcome = runner.run(Plan::default(), &mut ()).unwrap();
    assert!(outcome.summary.counts["fault"]["lost"] > 0);
}
