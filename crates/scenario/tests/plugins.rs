//! Parts of plug-ins: xoff's own parts, installed under other names, give the results of xoff's own parts. Two plug-ins
//! of one core keep their frames apart.

use std::sync::Once;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_applications::workload::{all_to_all, incast};
use xoff_engine::{Plan, state};
use xoff_models::frames::kinds::Payload;
use xoff_models::frames::packet::Packet;
use xoff_models::hosts::congestion_control::contract::{Control, Line, NewFlow, Notice, Sent};
use xoff_models::hosts::congestion_control::{dcqcn::Dcqcn, dctcp::Dctcp};
use xoff_models::hosts::transport::{irn::Irn, selective::Selective};
use xoff_models::mechanisms::congestion_point::Points;
use xoff_models::mechanisms::contract::{Enqueued, Hooks, Install, Site, Watches};
use xoff_models::mechanisms::{credits::Credits, ecn::Ecn, pfc::Pfc};
use xoff_models::network::plugins::{Entry, Plugin, install};
use xoff_models::parts::count::{Count, Tally};
use xoff_models::ports::core::Core;
use xoff_models::ports::effects::Effects;
use xoff_scenario::{Outcome, Runner, from_toml, groups, schema};
use xoff_units::{Duration, Moment, Rate};

/// xoff's parts under other names.
static TWINS: Plugin = Plugin {
    mechanisms: &[
        Entry::mechanism::<Pfc>("twin_pfc", "PFC."),
        Entry::mechanism::<Credits>("twin_credits", "Credits."),
        Entry::mechanism::<Ecn>("twin_ecn", "ECN."),
    ],
    congestion_controls: &[
        Entry::congestion_control::<Dctcp>("twin_dctcp", "DCTCP."),
        Entry::congestion_control::<Dcqcn>("twin_dcqcn", "DCQCN."),
    ],
    transports: &[
        Entry::transport::<Irn>("twin_irn", "IRN."),
        Entry::transport::<Selective>("twin_selective", "Selective repeat."),
    ],
    workloads: &[
        Entry::workload::<incast::Params>("twin_incast", "An incast."),
        Entry::workload::<all_to_all::Params>("twin_all_to_all", "Every pair."),
    ],
    ..Plugin::new("twins", "1.0.0")
};

xoff_models::plugin_frames! {
    /// Bytes that wait at a switch, to the source of a flow.
    WAITING: Waiting = "hints.waiting" Path Control {
        /// Bytes.
        bytes: u32 = 0,
        /// The packet that met the queue.
        packet: u32 = 32,
    }
}

// The frame of `docs/how-to/write-a-plugin.md`.
xoff_models::plugin_frames! {
    /// The switch asks the source to slow down.
    SLOW_DOWN: SlowDown = "early_warning.slow_down" Path Control {
        /// Bytes that wait.
        waiting: u32 = 0,
        /// The packet that met the queue.
        packet: u32 = 32,
    }
}

/// A switch tells sources how much waits, once a queue is longer than a limit.
static HINTS: Plugin = Plugin {
    mechanisms: &[Entry::mechanism::<Hint>("hint", "Hints of switches.")],
    congestion_controls: &[Entry::congestion_control::<Heed>("heed", "A host that heeds hints.")],
    frames: &[&WAITING],
    ..Plugin::new("hints", "1.0.0")
};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct HintParams {
    limit: u32,
}

#[derive(Debug, Clone)]
struct Hint {
    limit: u32,
    points: Points,
    sent: u64,
}

state!(Hint { constant: limit, points; total: sent; });

const SENT: Count = Count::number("hints", "hints");

impl Install for Hint {
    type Params = HintParams;
    const LABEL: &'static str = "Hint";
    const COUNTS: &'static [Count] = &[SENT];

    fn install(params: &HintParams, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        Points::at(site, true).map(|points| Self { limit: params.limit, points, sent: 0 })
    }
}

impl Hooks for Hint {
    fn watches(&self) -> Watches {
        Watches::ENQUEUE
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        let bytes = core.waiting_bytes(event.port);
        if bytes > self.limit {
            self.sent += 1;
            self.points.tell(event, Waiting { bytes, packet: event.packet.seq() }, effects);
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(SENT, self.sent);
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct HeedParams {
    /// The rate falls to this share.
    share: f64,
}

#[derive(Debug, Clone)]
struct Heed {
    share: f64,
    line: Rate,
}

#[derive(Debug, Clone)]
struct Heeding {
    is_slow: bool,
}

state!(Heeding { value: is_slow; });

impl Control for Heed {
    type Params = HeedParams;
    type State = Heeding;
    const LABEL: &'static str = "Heed";

    fn new(params: &HeedParams, line: Line) -> Self {
        Self { share: params.share, line: line.rate }
    }

    fn start(&self, _: &NewFlow) -> Heeding {
        Heeding { is_slow: false }
    }

    fn on_sent(&self, state: &mut Heeding, _: &mut Packet, sent: Sent) -> Duration {
        let time = self.line.serializer().time(sent.bytes);
        if state.is_slow { Duration::of_real(time.real() / self.share) } else { time }
    }

    fn hears(notice: &Packet) -> bool {
        notice.payload::<Waiting>().is_some()
    }

    fn on_notice(&self, state: &mut Heeding, notice: &Notice<'_>) {
        state.is_slow |= notice.frame.payload::<Waiting>().is_some_and(|hint| hint.bytes > 0);
    }
}

#[test]
fn a_frame_keeps_its_fields() {
    let frame = SlowDown { waiting: 70_000, packet: 7 };
    assert_eq!(SlowDown::unpack(frame.pack()), frame);
    assert_eq!(SLOW_DOWN.name, "early_warning.slow_down");
}

fn installed() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| install(vec![&TWINS, &HINTS]).unwrap());
}

fn run(text: &str, plan: Plan) -> Outcome {
    installed();
    let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
    runner.run(plan, &mut ()).unwrap()
}

const NETWORK: &str = r#"
network.leaf_spine = { leaves = 2, spines = 2, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" } }
"#;

/// A scenario with xoff's parts, and the keys of the twins.
const PAIRS: &[(&str, &[(&str, &str)])] = &[
    (
        r#"
switch.flow_control.pfc = { xoff = "40KB" }
switch.ecn.step = { threshold = "20KB" }
host.congestion_control.dctcp = {}
workload = [{ name = "load", incast = { senders = [0, 1, 2, 4], receiver = 7, size = "300KB" } }]
"#,
        &[
            ("switch.flow_control.pfc", "switch.plugins.twin_pfc"),
            ("switch.ecn.step", "switch.plugins.twin_ecn.step"),
            ("host.congestion_control.dctcp", "host.congestion_control.plugins.twin_dctcp"),
            ("incast = ", "plugins.twin_incast = "),
        ],
    ),
    (
        r#"
switch.buffer.per_queue = "60KB"
switch.flow_control.credits = { scheme = "cbfc" }
host.transport.irn = {}
workload = [{ name = "load", all_to_all = { size = "30KB" } }]
"#,
        &[
            ("switch.flow_control.credits", "switch.plugins.twin_credits"),
            ("host.transport.irn", "host.transport.plugins.twin_irn"),
            ("all_to_all = ", "plugins.twin_all_to_all = "),
        ],
    ),
    (
        r#"
switch.buffer.per_port = "60KB"
switch.ecn.step = { threshold = "20KB" }
host.transport.selective = {}
host.congestion_control.dcqcn = {}
workload = [{ name = "load", incast = { senders = [0, 1, 2, 4], receiver = 7, size = "300KB" } }]
"#,
        &[
            ("host.transport.selective", "host.transport.plugins.twin_selective"),
            ("host.congestion_control.dcqcn", "host.congestion_control.plugins.twin_dcqcn"),
        ],
    ),
];

#[test]
fn a_part_gives_the_same_results_as_a_plug_in() {
    for (text, pairs) in PAIRS {
        let own = format!("{NETWORK}{text}");
        let replaced = |text: String, (from, to): &(&str, &str)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        };
        let fingerprint = run(&own, Plan::default()).summary.fingerprint;
        for pair in *pairs {
            let other = run(&replaced(own.clone(), pair), Plan::default());
            assert_eq!(other.summary.fingerprint, fingerprint, "{pair:?}");
        }
        let other = pairs.iter().fold(own.clone(), replaced);
        let [own, other] = [own, other].map(|text| run(&text, Plan::default()));
        for (group, counts) in own.summary.counts.iter().filter(|(group, _)| !group.starts_with("twin_")) {
            // The node counts marks of every component for ECN.
            let mut sum = other.summary.counts[group].clone();
            for (name, count) in
                other.summary.counts.get(format!("twin_{group}").as_str()).into_iter().flatten()
            {
                *sum.entry(name).or_default() += count;
            }
            assert_eq!(*counts, sum, "{group}");
        }
        let [own, other] = [own, other].map(|run| serde_json::to_value(run.summary.flows).unwrap());
        assert_eq!(own, other);
    }
}

const HINTED: &str = r#"
switch.plugins.hint = { limit = 20000 }
host.congestion_control.plugins.heed = { share = 0.25 }
probe.packets = true
workload = [{ name = "load", incast = { senders = [0, 1, 2, 4], receiver = 7, size = "300KB" } }]
"#;

#[test]
fn a_control_hears_frames_of_its_plug_in_on_any_number_of_threads() {
    let text = format!("{NETWORK}{HINTED}");
    let one = run(&text, Plan { threads: 1, ..Plan::default() });
    let two = run(&text, Plan { threads: 2, partitions: Some(2), ..Plan::default() });
    assert_eq!(one.summary.fingerprint, two.summary.fingerprint);
    let hints = one.summary.counts["hint"]["hints"];
    assert!(hints > 0);
    assert_eq!(one.summary.counts["heed"]["notifications"], hints);
    // Four flows at a quarter of the line fill the line of the receiver, and no longer queue up.
    let silent = run(&text.replace("switch.plugins.hint = { limit = 20000 }", ""), Plan::default());
    assert_eq!(silent.summary.counts["hint"]["hints"], 0);
    assert_ne!(silent.summary.fingerprint, one.summary.fingerprint);
}

#[test]
fn keys_of_plug_ins_are_in_the_schema_and_in_errors() {
    installed();
    let found = schema().to_string();
    assert!(
        found.contains("twin_dctcp")
            && found.contains("twin_irn")
            && found.contains("A host that heeds hints.")
    );
    assert!(groups().iter().any(|group| group.name == "twin_pfc"));
    for (more, words) in [
        ("switch.plugins.hint = { limt = 3 }", "switch.plugins.hint.limt: unknown key `limt`"),
        ("switch.plugins.hnt = {}", "switch.plugins.hnt: unknown mechanism; plug-ins have hint, twin_pfc"),
        ("host.transport.plugins.heed = {}", "host.transport.plugins.heed: unknown transport"),
        ("switch.plugins.hint.limit = \"x\"", "switch.plugins.hint.limit: "),
        (
            "switch.plugins.twin_pfc = { xoff = \"40KB\", xon = \"50KB\" }",
            "switch.plugins.twin_pfc.xon: 50KB is not below",
        ),
        (
            "host.congestion_control = { dctcp = {}, plugins.heed = { share = 0.5 } }",
            "dctcp and heed are given; give at most one",
        ),
    ] {
        let error = from_toml(&format!("{NETWORK}{more}"), &[]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}\nshould contain {words}");
    }
    // A document that was read is written with the defaults, and read again.
    let scenario =
        from_toml(&format!("{NETWORK}{HINTED}"), &[("switch.plugins.hint.limit".into(), "7".into())]);
    let written = serde_json::to_string(&scenario.unwrap()).unwrap();
    assert!(written.contains(r#""plugins":{"hint":{"limit":7}}"#), "{written}");
    assert!(xoff_scenario::from_json(&written, &[]).is_ok());
}

#[test]
fn plug_ins_that_cannot_stand_beside_one_another_are_refused() {
    static SECOND: Plugin = Plugin::new("twins", "2.0.0");
    static TAKEN: Plugin =
        Plugin { mechanisms: &[Entry::mechanism::<Pfc>("pfc", "PFC.")], ..Plugin::new("taken", "1.0.0") };
    static CAPITAL: Plugin = Plugin::new("Capital", "1.0.0");
    static LONG: Plugin = Plugin { frames: &[&WAITING], ..Plugin::new("long", "1.0.0") };
    for (plugins, words) in [
        (vec![&TWINS, &SECOND], "plug-in `twins`: the name is given twice"),
        (vec![&TAKEN], "plug-in `taken`: xoff has a part `pfc`"),
        (vec![&CAPITAL], "plug-in `Capital`: `Capital` is no name"),
        (vec![&LONG], "plug-in `long`: frame `hints.waiting`: the name has to be `long.NAME`"),
    ] {
        let error = install(plugins).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
