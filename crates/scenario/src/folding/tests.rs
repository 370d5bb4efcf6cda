use std::sync::Arc;

use xoff_document::from_toml;
use xoff_engine::Plan;
use xoff_models::paths::symmetry::ties::Symmetric;
use xoff_models::paths::symmetry::{Rotation, Symmetry};

use super::search::find;
use crate::results::unfold::Unfold;
use crate::runner::Runner;
use crate::simulation::simulate;

/// Four servers of two GPUs, on rails. All GPUs exchange messages, and each GPU sends a flow to its image.
const SYMMETRIC: &str = r#"
    ties = "relative"
    switch.classes = 2
    [network.rail]
    servers = 4
    gpus_per_server = 2
    scale_up = { rate = "400Gbps", delay = "25ns" }
    rail = { rate = "100Gbps", delay = "500ns" }
    [[workload]]
    collective = { operation = "all_to_all", size = "64KB" }
    [[workload]]
    flows = [
        { src = 0, dst = 2, size = "20KB", start = "2us" },
        { src = 2, dst = 4, size = "20KB", start = "2us" },
        { src = 4, dst = 6, size = "20KB", start = "2us" },
        { src = 6, dst = 0, size = "20KB", start = "2us" },
    ]
"#;

/// Changes after which server 2 is no image of another server: the changed text, the new text, and the reason.
const MUTATIONS: &[(&str, &str, &str)] = &[
    (
        "[[workload]]\n    flows",
        "[[network.overrides]]\n    link = \"host4-rail0\"\n    rate = \"50Gbps\"\n[[workload]]\n    flows",
        "rate",
    ),
    (
        "[[workload]]\n    flows",
        "[[network.overrides]]\n    link = \"host4-server2\"\n    delay = \"1us\"\n[[workload]]\n    flows",
        "delay",
    ),
    ("dst = 6, size = \"20KB\"", "dst = 6, size = \"21KB\"", "flows"),
    ("dst = 6, size = \"20KB\", start = \"2us\"", "dst = 6, size = \"20KB\", start = \"3us\"", "flows"),
    ("dst = 6, size", "dst = 0, size", "flows"),
    ("size = \"64KB\"", "size = \"64001B\"", "ranks"),
    ("size = \"64KB\" }", "size = \"64KB\", hosts = [0, 1, 2, 3, 5, 4, 6, 7] }", "ranks"),
];

fn runner(text: &str) -> Runner {
    Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap()
}

/// Returns everything that a run of a group says, except performance.
fn run(text: &str, group: &Arc<Symmetry>, is_folded: bool) -> String {
    let mut runner = runner(&text.replace("ties = \"relative\"", ""));
    runner.plan.share_keys(group);
    runner.settings.symmetric = Some(Symmetric { group: group.clone(), is_folded, is_alike: true });
    let plan = Plan { fast_forward: false, ..Plan::default() };
    // Without the search for obstacles, which a wrong group would meet.
    let unfold = Unfold::of(&runner);
    let outcome = simulate(runner, plan, unfold, &mut (), &mut |_| true).unwrap();
    let mut summary = serde_json::to_value(&outcome.summary).unwrap();
    summary["performance"].take();
    format!("{summary} {:?}", outcome.tables)
}

#[test]
fn one_server_stands_for_four() {
    let group = find(&runner(SYMMETRIC)).unwrap().group;
    assert_eq!(group.rotations(), [Rotation { stride: 2, size: 4 }]);
    assert_eq!(run(SYMMETRIC, &group, true), run(SYMMETRIC, &group, false));
}

/// Each mutation is found, and needs to be found: folded with the group of the scenario without the mutation, the results
/// would be wrong.
#[test]
fn a_wrong_group_is_refused_and_would_give_other_results() {
    let group = find(&runner(SYMMETRIC)).unwrap().group;
    for (old, new, why) in MUTATIONS {
        let mutant = SYMMETRIC.replacen(old, new, 1);
        assert_ne!(mutant, SYMMETRIC, "{old}");
        match find(&runner(&mutant)) {
            Ok(found) => assert!(found.group.count() < group.count(), "{new}"),
            Err(reason) => assert!(reason.contains(why), "{new}: {reason}"),
        }
        assert_ne!(run(&mutant, &group, true), run(&mutant, &group, false), "{new}");
    }
}

#[test]
fn a_flow_less_is_found() {
    let text = SYMMETRIC.replace("{ src = 4, dst = 6, size = \"20KB\", start = \"2us\" },", "");
    assert!(find(&runner(&text)).unwrap_err().contains("differ: the flows"));
}

#[test]
fn half_of_the_servers_may_be_like_the_other_half() {
    // Servers 0 and 2 are alike, and so are servers 1 and 3.
    let text = SYMMETRIC.replace("{ src = 2, dst = 4, size = \"20KB\"", "{ src = 2, dst = 4, size = \"9KB\"");
    let text = text.replace("{ src = 6, dst = 0, size = \"20KB\"", "{ src = 6, dst = 0, size = \"9KB\"");
    let group = find(&runner(&text)).unwrap().group;
    assert_eq!(group.rotations(), [Rotation { stride: 4, size: 2 }]);
    assert_eq!(run(&text, &group, true), run(&text, &group, false));
}

/// Chance and faults leave no group, with a reason.
#[test]
fn what_no_renaming_leaves_alone_is_named() {
    let with = |text: &str| find(&runner(&format!("{SYMMETRIC}\n{text}"))).unwrap_err();
    let fault = with("[[fault]]\nlink = \"host4-rail0\"\nstate = \"down\"\nat = \"1us\"\nduration = \"8us\"");
    assert_eq!(fault, "a fault strikes some nodes and not others");
    let drawn = with("[[workload]]\npoisson = { load = 0.2, sizes = \"google_rpc\", duration = \"5us\" }");
    assert_eq!(drawn, "a host draws flows at random");
}
