//! Declared state of components (`State::walk`): a digest is the same after a shift, and a shifted run
//! continues like a run that was not shifted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use xoff_engine::state::StateVisitor;
use xoff_engine::{Checkpoint, Plan};
use xoff_models::hosts::{congestion_control, transport};
use xoff_models::mechanisms;
use xoff_models::network::build;
use xoff_models::network::node::Node;
use xoff_scenario::{Runner, from_toml};
use xoff_units::{Duration, Moment};

/// Two leaves with two hosts each, and two spines.
const NETWORK: &str = r#"
network.leaf_spine = { leaves = 2, spines = 2, hosts_per_leaf = 2, link = { rate = "100Gbps", delay = "1us" } }
"#;

/// All other hosts send to one host, and three flows go elsewhere; all flows but the last are under way when
/// the state is read.
const FLOWS: &str = r#"
workload = [
  { incast = { senders = [1, 2, 3], receiver = 0, size = "SIZE" }, class = CLASS },
  { incast = { senders = [0], receiver = 3, size = "SIZE" }, class = CLASS },
  { incast = { senders = [1], receiver = 2, size = "SIZE" }, class = CLASS },
  { incast = { senders = [2], receiver = 1, size = "300KB" }, class = CLASS, start = "45us" },
]
"#;

/// A scenario for each mechanism, transport and congestion control, and for each kind of memory and queueing.
const SCENARIOS: &[(&str, &str)] = &[
    ("go_back_n", "switch.buffer.per_queue = '30KB'"),
    ("pfc", "switch.flow_control.pfc = { xoff = '20KB' }"),
    ("pfc", "switch = { queueing = 'voq', buffer.per_port = '200KB', flow_control.pfc = { xoff = '20KB', quanta = 100 } }"),
    ("pfc", "switch = { queueing = 'iq', buffer.per_port = '200KB', flow_control.pfc = { xoff = '20KB' } }"),
    ("pfc", "switch = { buffer.shared = { total = '1MB', alpha = 0.125, reserve = '0B' }, flow_control.pfc = {} }"),
    ("pfc", "switch = { cut_through = {}, flow_control.pfc = { xoff = '20KB' } }"),
    (
        "pfc",
        "switch = { classes = 2, buffer.per_port = '200KB', flow_control.pfc = { xoff = '20KB', classes = [1] },
            scheduler.queues = [{ type = 'dwrr', weight = 3 }, { type = 'dwrr' }] }",
    ),
    ("selective trimming", "switch = { cut_through = {}, trimming = { limit = '30KB' } }\nhost.transport.selective = {}"),
    (
        "ecn dcqcn",
        "switch = { ecn.red = { kmin = '5KB', kmax = '50KB', pmax = 0.5 }, flow_control.pfc = { xoff = '40KB' } }
        host.congestion_control.dcqcn = { cnp_interval = '4us', increase_interval = '6us', alpha_interval = '5us' }",
    ),
    ("dctcp", "switch.ecn.step.threshold = '30KB'\nhost.congestion_control.dctcp = {}"),
    ("telemetry hpcc", "switch.telemetry = {}\nhost.congestion_control.hpcc = {}"),
    ("telemetry hpcc_pint", "switch.telemetry.pint = {}\nhost.congestion_control.hpcc_pint = { probability = 0.5 }"),
    ("swift", "host.congestion_control.swift = { base_target = '9us' }"),
    ("timely", "host.congestion_control.timely = { t_low = '10us', t_high = '100us', min_rtt = '9us' }"),
    (
        "nscc trimming selective spray",
        "switch = { ecn.red = { kmin = '10KB', kmax = '40KB' }, trimming = { limit = '40KB' }, routing.spray = {} }
        host = { transport.selective = {}, congestion_control.nscc = {} }",
    ),
    (
        "ndp",
        "switch = { trimming = { limit = '30KB', headers = '640B', return_to_sender = true }, routing.spray = {} }\nhost.transport.ndp = {}",
    ),
    (
        "rccc",
        "switch = { ecn.red = { kmin = '10KB', kmax = '40KB' }, trimming = { limit = '40KB' } }
        host = { transport.selective = {}, congestion_control.rccc = { oversubscription = {} } }",
    ),
    ("reps", "switch = { trimming = { limit = '30KB' }, routing.reps = { freeze = '20us' } }\nhost.transport.selective = {}"),
    ("flowlet irn", "switch = { buffer.per_queue = '30KB', routing.flowlet = {} }\nhost.transport.irn = {}"),
    ("conweave", "switch = { ecn.step.threshold = '10KB', routing.conweave = { reply_slack = '200ns', flush_slack = '9us', queues = 2 } }"),
    ("drill", "switch.routing.drill = {}\nhost.transport.selective = {}"),
    ("adaptive", "switch.routing.adaptive = { load_update_interval = '1us' }\nhost.transport.selective = {}"),
    ("adaptive", "switch.routing.adaptive = { per = 'flowlet', timeout = '300ns' }"),
    ("raw", "host.transport.raw = {}"),
    ("sfc", "switch.flow_control = { sfc = { threshold = '10KB', pause = '9us' }, pfc = { xoff = '60KB' } }"),
    ("sfc", "switch = { flow_control = { sfc = { threshold = '10KB', target = '1KB', mode = 'proxy' }, pfc = { xoff = '60KB' } } }"),
    (
        "congestion_isolation",
        "switch = { classes = 2, flow_control = { congestion_isolation = { low = '5KB', high = '20KB', cim_threshold = '30KB', aging_time = '12us' },
        pfc = { xoff = '60KB' } } }",
    ),
    (
        "bcn",
        "switch.flow_control.bcn = { sample_base = '10KB', jitter = '1KB', q_sc = '60KB' }\nhost.congestion_control.bcn = { drift_interval = '7us', drift = '100Mbps', tmax = '20us' }",
    ),
    ("qcn", "switch.flow_control.qcn = { sample_base = '10KB' }\nhost.congestion_control.qcn = { increase_interval = '9us' }"),
    ("bfc", "switch.flow_control.bfc = { queues = 2, sticky = '30us' }"),
    ("pfc", "switch.flow_control.pfc = { xoff = '20KB', watchdog = { detection = '14us', poll = '7us', action = 'forward' } }"),
    ("credits", "switch.flow_control.credits = { scheme = 'cbfc', window = '30KB' }"),
    ("credits", "switch.flow_control.credits = { scheme = 'absolute', window = '20KB' }\nswitch.faults.lose_credit_updates = 3"),
    (
        "portfc",
        "network.ndc = { n = 4, link = { rate = '100Gbps', delay = '1us' } }
        switch.flow_control.portfc = { xoff = '20KB', xon = '10KB' }
        host.relay = {}",
    ),
];

/// Workloads that draw flows, or flows that wait for other flows.
const DRAWN: &[&str] = &[
    "poisson = { load = 0.7, duration = '100us', sizes = 'websearch' }",
    "collective = { operation = 'all_reduce', algorithm = 'ring', size = '1MB' }",
    "bernoulli = { sources = [0, 1], destinations = [2, 3], load = 0.6, duration = '200us' }",
];

/// The end of a flow: its arrival and its acknowledgement.
type Ends = BTreeMap<u32, (Moment, Option<Moment>)>;

/// Returns the scenario with its network and its flows, each of `size` bytes of payload.
fn whole(text: &str, size: u64) -> String {
    let network = if text.contains("network.") { "" } else { NETWORK };
    let class = if text.contains("classes = 2") { "1" } else { "0" };
    format!("{text}\n{network}{}", FLOWS.replace("SIZE", &format!("{size}B")).replace("CLASS", class))
}

fn run(text: &str, plan: Plan, mut look: impl FnMut(&mut Checkpoint<'_, Node>) -> ControlFlow<()>) -> Ends {
    let runner = Runner::new(from_toml(text, &[]).map_err(|e| format!("{text}: {e:?}")).unwrap(), |_| None);
    let runner = runner.map_err(|e| format!("{text}: {e:?}")).unwrap();
    let mut engine = build(&runner.topology, runner.plan, &runner.settings, plan).unwrap();
    let mut ends = Ends::new();
    engine.run(|cp| {
        let answer = look(cp);
        for id in 0..cp.nodes() {
            let Some(endpoint) = &mut cp.node_mut(id).endpoint else { continue };
            ends.extend(endpoint.arrived.drain(..).map(|(flow, at)| (flow, (at, None))));
        }
        answer
    });
    for node in engine.into_nodes() {
        let Some(endpoint) = node.endpoint else { continue };
        ends.extend(endpoint.arrived.iter().map(|(flow, at)| (*flow, (*at, None))));
        for sent in endpoint.sent {
            if let Some(end) = ends.get_mut(&sent.flow) {
                end.1 = sent.acknowledged;
            }
        }
    }
    ends
}

/// Acknowledged packets of the flows under way.
fn acknowledged(cp: &Checkpoint<'_, Node>) -> BTreeMap<u32, u32> {
    (0..cp.nodes())
        .filter_map(|id| cp.node(id).endpoint.as_ref())
        .flat_map(|e| e.under_way().map(|u| (u.flow, u.passed)).collect::<Vec<_>>())
        .collect()
}

/// The digest at a moment, relative to the acknowledged packets of the flows.
fn digest(cp: &mut Checkpoint<'_, Node>, now: Moment) -> u64 {
    let passed = acknowledged(cp);
    let packets = |flow: u32| passed.get(&flow).copied().unwrap_or(0);
    let mut walk = StateVisitor::digest(now, &packets);
    cp.walk(&mut walk);
    walk.result()
}

/// Components with draws by packet number, in their own code or in another component of the scenario.
const DRAWS_BY_PACKET: [&str; 7] = ["ndp", "ecn", "nscc", "reps", "flowlet", "spray", "congestion_isolation"];

/// The moments of the shifts.
const MOMENTS: [Moment; 3] = [Moment::us(20), Moment::us(30), Moment::us(40)];
const LATER: Duration = Duration(7_000_000);
const PACKETS: u32 = 9;
const PAYLOAD: u64 = 1_000;
/// Flows of this size have still not requested all of their data from the receiver at the shift.
const SIZE: u64 = 700 * PAYLOAD;

fn plan() -> Plan {
    Plan { checkpoint: Duration::us(10), fast_forward: false, ..Plan::default() }
}

/// Runs the second text with a shift, and compares the run with a run of the first text without a shift.
fn compare(name: &str, usual: &str, shifted: &str, packets: u32) {
    let usual = run(usual, plan(), |_| ControlFlow::Continue(()));
    for at in MOMENTS {
        compare_at(at, name, &usual, shifted, packets);
    }
}

fn compare_at(at: Moment, name: &str, usual: &Ends, shifted: &str, packets: u32) {
    let mut is_shifted = false;
    let shifted = run(shifted, plan(), |cp| {
        if cp.now >= at && !is_shifted {
            is_shifted = true;
            let (now, before) = (cp.now, digest(cp, cp.now));
            cp.walk(&mut StateVisitor::shift(now, LATER, &|_| packets));
            assert_eq!(digest(cp, now + LATER), before, "{name}");
        }
        ControlFlow::Continue(())
    });
    let moved = |end: Moment| if end < at { end } else { end + LATER };
    let expected: Ends =
        usual.iter().map(|(flow, (end, ack))| (*flow, (moved(*end), ack.map(moved)))).collect();
    assert!(is_shifted && usual.values().any(|end| end.0.since(at) > at - Moment::ZERO), "{name}: {usual:?}");
    assert_eq!(shifted, expected, "{name}, at {at}");
}

#[test]
fn a_run_that_was_shifted_goes_on_as_one_that_was_not() {
    for (name, text) in SCENARIOS {
        // Flows longer by `packets` packets end with the original flows, if the shift skips `packets`
        // packets. Draws belong to packets: a component that draws is shifted in time alone.
        let packets = if name.split(' ').any(|part| DRAWS_BY_PACKET.contains(&part)) { 0 } else { PACKETS };
        compare(name, &whole(text, SIZE), &whole(text, SIZE + u64::from(packets) * PAYLOAD), packets);
    }
    for workload in DRAWN {
        let text =
            format!("{NETWORK}workload = [{{ {workload} }}]\nswitch.flow_control.pfc = {{ xoff = '20KB' }}");
        compare(workload, &text, &text, 0);
    }
}

#[test]
fn every_part_is_shifted_somewhere() {
    let names: BTreeSet<&str> = SCENARIOS.iter().flat_map(|s| s.0.split(' ')).collect();
    let all =
        mechanisms::GROUPS.iter().chain(transport::GROUPS).chain(congestion_control::GROUPS).map(|g| g.name);
    // The objects of `python` are outside, and no run with them is fast-forwarded.
    let missing: Vec<_> = all.filter(|name| *name != "python" && !names.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "parts without a scenario here");
}

#[test]
fn a_digest_does_not_depend_on_how_a_run_is_run() {
    for (name, text) in SCENARIOS {
        let digests = |plan: Plan| {
            let mut list = Vec::new();
            run(&whole(text, SIZE), plan, |cp| {
                let now = cp.now;
                list.push(digest(cp, now));
                if now < MOMENTS[1] { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            list
        };
        let usual = digests(plan());
        assert!(
            usual.len() > 2 && usual.iter().collect::<BTreeSet<_>>().len() == usual.len(),
            "{name}: situations differ"
        );
        assert_eq!(digests(Plan { threads: 2, partitions: Some(3), ..plan() }), usual, "{name}");
        assert_eq!(digests(Plan { window: Some(Duration::ns(170)), ..plan() }), usual, "{name}");
    }
}

#[test]
fn a_flow_alone_repeats_itself_packet_by_packet() {
    let text = r#"
network.star = { hosts = 2, link = { rate = "100Gbps", delay = "1us" } }
workload = [{ flows = [{ src = "host0", dst = "host1", size = "2MB" }] }]
"#;
    // A packet takes 1048 B of 80 ps each.
    let packet = Duration(1_048 * 80);
    let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
    let mut engine = build(
        &runner.topology,
        runner.plan,
        &runner.settings,
        Plan { checkpoint: packet, ..Plan::default() },
    )
    .unwrap();
    let mut digests = Vec::new();
    engine.run(|cp| {
        let now = cp.now;
        digests.push(digest(cp, now));
        if now < Moment::ZERO + packet * 1_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    // Until the first acknowledgement returns the state is new with each packet; then the state recurs with
    // each packet.
    let first = digests.iter().position(|d| d == digests.last().unwrap()).unwrap();
    assert!((40..60).contains(&first), "{first}");
    assert!(digests[first..].iter().all(|d| *d == digests[first]));
    assert_eq!(digests[..first].iter().collect::<BTreeSet<_>>().len(), first);
}
