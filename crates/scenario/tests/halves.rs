//! The contract of plug-ins beyond xoff's own parts: a receiver's half, timers, limits, counts, names of flows, and what
//! is left of a flow.

use std::sync::Once;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::{Plan, state};
use xoff_models::frames::packet::Packet;
use xoff_models::hosts::congestion_control::contract::{
    Ack, Control, Count, Line, NewFlow, Notice, Outbox, Peer, Receiving, Sent, Tag, TagField, Tally,
};
use xoff_models::mechanisms::contract::{Departure, Enqueued, Hooks, Install, Properties, Site, Watches};
use xoff_models::network::plugins::{Entry, Plugin, install};
use xoff_models::ports::core::Core;
use xoff_models::ports::effects::{Effect, Effects};
use xoff_models::traffic::workload::{Made, Making, Problem, Traffic};
use xoff_scenario::{Outcome, Runner, from_toml};
use xoff_units::{Bytes, Duration, Moment, Rate};

static HALVES: Plugin = Plugin {
    congestion_controls: &[
        Entry::congestion_control::<Polite>("polite", "Waits for the receiver's word."),
        Entry::congestion_control::<Stamped>("stamped", "Writes five bits onto packets."),
        Entry::congestion_control::<Farsighted>("farsighted", "Halves the rate for the last megabyte."),
    ],
    mechanisms: &[
        Entry::mechanism::<Reader>("reader", "Reads five bits of packets."),
        Entry::mechanism::<Echoing>("echoing", "Sets a timer for each acknowledgement."),
    ],
    workloads: &[Entry::workload::<Calls>("calls", "Requests and replies.")],
    frames: &[&PLEASE, &GO],
    ..Plugin::new("halves", "1.0.0")
};

xoff_models::plugin_frames! {
    /// The source asks for more packets.
    PLEASE: Please = "halves.please" Flow Control {
        /// The packets that may be sent so far.
        so_far: u32 = 0,
    }
    /// The receiver allows more packets.
    GO: Go = "halves.go" Flow Control {
        /// The packets that may be sent.
        limit: u32 = 0,
    }
}

const ASKED: Count = Count::number("asked", "requests of sources");
const ALLOWED: Count = Count::number("allowed", "answers of receivers");
const LATE: Count = Count::number("near_the_end", "packets with less than 3 KB after them");

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct PoliteParams {}

/// A source asks every 10 us for five packets more. The receiver answers 2 us later.
#[derive(Debug, Clone)]
struct Polite {
    rate: Rate,
}

#[derive(Debug, Clone)]
struct Waiting {
    limit: u32,
    asks: Moment,
    asked: u64,
    late: u64,
}

state!(Waiting { value: limit; due: asks; total: asked, late; });

impl Control for Polite {
    type Params = PoliteParams;
    type State = Waiting;
    const LABEL: &'static str = "Polite";
    const COUNTS: &'static [Count] = &[ASKED, ALLOWED, LATE];

    fn new(_: &PoliteParams, line: Line) -> Self {
        Self { rate: line.rate }
    }

    fn looks_ahead(&self) -> u64 {
        3_000
    }

    fn start(&self, flow: &NewFlow) -> Waiting {
        assert!(flow.size.is_some_and(|size| size > 0));
        Waiting { limit: 5, asks: Moment::ZERO, asked: 0, late: 0 }
    }

    fn on_sent(&self, state: &mut Waiting, _: &mut Packet, sent: Sent) -> Duration {
        assert!(sent.left <= 3_000, "no more than the control declares");
        state.late += u64::from(sent.left < 3_000);
        self.rate.serializer().time(sent.bytes)
    }

    fn limit(&self, state: &Waiting) -> u32 {
        state.limit
    }

    fn timer(&self, state: &Waiting) -> Moment {
        state.asks
    }

    fn on_timer(&self, state: &mut Waiting, flow: u32, peer: Peer, outbox: &mut Outbox) {
        state.asked += 1;
        state.asks = outbox.now + Duration::us(10);
        outbox.send(Please { so_far: state.limit }, flow, peer, 0);
    }

    fn hears(notice: &Packet) -> bool {
        notice.payload::<Go>().is_some()
    }

    fn on_notice(&self, state: &mut Waiting, notice: &Notice<'_>) {
        if let Some(Go { limit }) = notice.frame.payload() {
            state.limit = state.limit.max(limit);
        }
    }

    fn receiving(&self, _: u32) -> Option<Box<dyn Receiving>> {
        Some(Box::new(Answers { waiting: Vec::new(), allowed: 0 }))
    }

    fn counts(&self, state: &Waiting, tally: &mut dyn Tally) {
        tally.add(ASKED, state.asked);
        tally.add(LATE, state.late);
    }
}

/// The requests that wait for an answer.
#[derive(Debug, Clone)]
struct Answers {
    waiting: Vec<Answer>,
    allowed: u64,
}

#[derive(Debug, Clone)]
struct Answer {
    at: Moment,
    flow: u32,
    source: Peer,
    limit: u32,
}

state!(Answer { due: at; value: flow, limit; part: source; });
state!(Answers { part: waiting; total: allowed; });

impl Receiving for Answers {
    fn on_packet(&mut self, packet: &Packet, source: Peer, outbox: &mut Outbox) {
        if let Some(Please { so_far }) = packet.payload() {
            let at = outbox.now + Duration::us(2);
            self.waiting.push(Answer { at, flow: packet.flow(), source, limit: so_far + 5 });
        }
    }

    fn on_end(&mut self, packet: &Packet, _: Peer, _: &mut Outbox) {
        self.waiting.retain(|answer| answer.flow != packet.flow());
    }

    fn timer(&self) -> Moment {
        self.waiting.iter().map(|answer| answer.at).min().unwrap_or(Moment::NEVER)
    }

    fn on_timer(&mut self, outbox: &mut Outbox) {
        let now = outbox.now;
        for answer in self.waiting.extract_if(.., |answer| answer.at <= now) {
            self.allowed += 1;
            outbox.send(Go { limit: answer.limit }, answer.flow, answer.source, 0);
        }
    }

    fn counts(&self, tally: &mut dyn Tally) {
        tally.add(ALLOWED, self.allowed);
    }
}

/// A control that has the lowest five bits of the tag.
#[derive(Debug, Clone)]
struct Stamped {
    rate: Rate,
}

#[derive(Debug, Clone)]
struct Echoes {
    right: u64,
    wrong: u64,
}

state!(Echoes { total: right, wrong; });

const RIGHT: Count = Count::number("right", "answers with the five bits");
const WRONG: Count = Count::number("wrong", "answers with other bits");

impl Control for Stamped {
    type Params = PoliteParams;
    type State = Echoes;
    const LABEL: &'static str = "Stamped";
    const COUNTS: &'static [Count] = &[RIGHT, WRONG];
    const HEARS_ACKS: bool = true;
    const TAG: Tag = Tag::Echoed;
    const TAG_BITS: u8 = 5;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some(("reader", "nobody reads the bits"));

    fn new(_: &PoliteParams, line: Line) -> Self {
        Self { rate: line.rate }
    }

    fn start(&self, _: &NewFlow) -> Echoes {
        Echoes { right: 0, wrong: 0 }
    }

    fn on_sent(&self, _: &mut Echoes, packet: &mut Packet, sent: Sent) -> Duration {
        packet.set_tag_of(TagField::lowest(5), 21);
        self.rate.serializer().time(sent.bytes)
    }

    fn on_ack(&self, state: &mut Echoes, ack: &Ack<'_>) {
        *(if ack.tag == 21 { &mut state.right } else { &mut state.wrong }) += 1;
    }

    fn counts(&self, state: &Echoes, tally: &mut dyn Tally) {
        tally.add(RIGHT, state.right);
        tally.add(WRONG, state.wrong);
    }
}

/// A control whose last megabyte takes twice the time. The control looks ahead by 2^32 packets.
#[derive(Debug, Clone)]
struct Farsighted {
    rate: Rate,
}

impl Control for Farsighted {
    type Params = PoliteParams;
    type State = ();
    const LABEL: &'static str = "Farsighted";
    const COUNTS: &'static [Count] = &[];

    fn new(_: &PoliteParams, line: Line) -> Self {
        Self { rate: line.rate }
    }

    fn looks_ahead(&self) -> u64 {
        1000 << 32
    }

    fn start(&self, _: &NewFlow) {}

    fn on_sent(&self, (): &mut (), _: &mut Packet, sent: Sent) -> Duration {
        self.rate.serializer().time(sent.bytes) * if sent.left < 1_000_000 { 2 } else { 1 }
    }
}

/// Counts packets with the bits of [`Stamped`], and with other bits.
#[derive(Debug, Clone)]
struct Reader {
    tag: TagField,
    right: u64,
    wrong: u64,
}

state!(Reader { total: right, wrong; constant: tag; });

impl Install for Reader {
    type Params = PoliteParams;
    const LABEL: &'static str = "Reader";
    const COUNTS: &'static [Count] = &[RIGHT, WRONG];

    fn install(_: &PoliteParams, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then_some(Self { tag: site.tag, right: 0, wrong: 0 })
    }

    fn properties(_: &PoliteParams) -> Properties {
        Properties { tag_bits: 5, ..Properties::default() }
    }
}

impl Hooks for Reader {
    fn watches(&self) -> Watches {
        Watches::ENQUEUE
    }

    fn on_enqueue(&mut self, event: &Enqueued<'_>, _: &Core, _: &mut Effects) {
        match event.packet.tag_of(self.tag) {
            21 => self.right += 1,
            0 => {}
            _ => self.wrong += 1,
        }
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(RIGHT, self.right);
        tally.add(WRONG, self.wrong);
    }
}

/// Sets a timer of 100 ns for each acknowledgement that departs, and counts timers in time and late.
#[derive(Debug, Clone)]
struct Echoing {
    due: Vec<Moment>,
    right: u64,
    wrong: u64,
}

state!(Echoing { dues: due; total: right, wrong; });

impl Install for Echoing {
    type Params = PoliteParams;
    const LABEL: &'static str = "Echoing";
    const COUNTS: &'static [Count] = &[RIGHT, WRONG];

    fn install(_: &PoliteParams, site: &Site<'_>, _: &mut Core) -> Option<Self> {
        site.forwards.then(|| Self { due: Vec::new(), right: 0, wrong: 0 })
    }
}

impl Hooks for Echoing {
    fn watches(&self) -> Watches {
        Watches::ANSWER_DEPARTURE
    }

    fn on_answer_departure(&mut self, _: &mut Departure<'_>, _: &Core, effects: &mut Effects) {
        let at = effects.now + Duration::ns(100);
        self.due.push(at);
        effects.push(Effect::Timer(at, 0));
    }

    fn on_timer(&mut self, _: u32, _: &Core, effects: &mut Effects) {
        let at = self.due.remove(0);
        *(if at == effects.now { &mut self.right } else { &mut self.wrong }) += 1;
    }

    fn counts(&self, _: Moment, tally: &mut dyn Tally) {
        tally.add(RIGHT, self.right);
        tally.add(WRONG, self.wrong + self.due.len() as u64);
    }
}

/// Requests of host 1 to host 0, each with a reply that waits for the request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Calls {
    count: u32,
    size: Bytes,
}

impl Traffic for Calls {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let hosts = making.hosts(None, &making.key())?;
        let mut made = Vec::new();
        for call in 0..self.count {
            let start = Duration::us(100) * u64::from(call);
            let name = Some(format!("call {call}"));
            made.push(Made { src: hosts[1], dst: hosts[0], size: Bytes(100), start, after: vec![], name });
            let (after, name) = (vec![made.len() - 1], Some(format!("reply {call}")));
            made.push(Made { src: hosts[0], dst: hosts[1], size: self.size, start, after, name });
        }
        making.add_made(made)
    }
}

fn run(text: &str, plan: Plan) -> Outcome {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| install(vec![&HALVES]).unwrap());
    let runner = Runner::new(from_toml(text, &[]).unwrap(), |_| None).unwrap();
    runner.run(plan, &mut ()).unwrap()
}

const NETWORK: &str = r#"
network.star = { hosts = 4, link = { rate = "100Gbps", delay = "1us" } }
host.congestion_control.plugins.polite = {}
"#;

#[test]
fn both_halves_of_a_control_speak_by_frames_and_timers() {
    // 22 packets of 1000 bytes. The source has five packets at once, and asks at 0, 10, 20, 30 and 40 us. An answer takes
    // 2 us to the receiver, 2 us there, and 2 us back. The last two packets leave after the fourth answer, at 36 us, and
    // the receiver has the whole flow before the fifth request comes.
    let text = format!("{NETWORK}workload = [{{ flows = [{{ src = 1, dst = 0, size = \"22KB\" }}] }}]");
    let one = run(&text, Plan { threads: 1, ..Plan::default() });
    let counts = &one.summary.counts["polite"];
    assert_eq!((counts["asked"], counts["allowed"], counts["near_the_end"]), (5, 4, 3));
    let fct = one.summary.fct_ps.max.unwrap();
    assert!((36_000_000..39_000_000).contains(&fct), "{fct}");
    let two = run(&text, Plan { threads: 2, partitions: Some(2), ..Plan::default() });
    assert_eq!(one.summary.fingerprint, two.summary.fingerprint);
}

const SPRAYED: &str = r#"
network.leaf_spine = { leaves = 2, spines = 4, hosts_per_leaf = 4, link = { rate = "100Gbps", delay = "1us" } }
switch.ecn.step = { threshold = "20KB" }
host.transport.selective = {}
host.congestion_control.plugins.stamped = {}
workload = [{ permutation = { size = "300KB" } }]
"#;

#[test]
fn parts_that_tag_packets_stand_beside_one_another_while_bits_are_left() {
    // REPS has 16 bits above the five of the control.
    let outcome = run(&format!("{SPRAYED}switch.routing.reps = {{}}"), Plan::default());
    let counts = &outcome.summary.counts["stamped"];
    assert!(counts["right"] > 2_000 && counts["wrong"] == 0, "{counts:?}");
    assert!(outcome.summary.counts["reps"]["recycled"] > 0);
    // BFC needs all bits.
    let error = from_toml(&format!("{SPRAYED}switch.flow_control.bfc = {{}}"), &[]).unwrap_err().to_string();
    assert!(
        error.contains(
            "plugins.stamped: tags packets, as does bfc; remove host.congestion_control.plugins.stamped"
        ),
        "{error}"
    );
}

#[test]
fn a_mechanism_of_one_override_shares_the_bits_of_the_control_there() {
    // DCTCP of the other hosts listens to ECN. The counts are those of the control of the override.
    let text = SPRAYED.replace(
        "host.congestion_control.plugins.stamped = {}",
        "host.congestion_control.dctcp = {}\n\
         host.overrides = [{ hosts = [\"host0\", \"host1\"], congestion_control = { plugins.stamped = {} } }]",
    );
    let outcome = run(&format!("{text}switch.plugins.reader = {{}}"), Plan::default());
    let counts = &outcome.summary.counts;
    assert!(counts["reader"]["right"] > 0 && counts["reader"]["wrong"] == 0, "{:?}", counts["reader"]);
    assert!(counts["stamped"]["right"] >= 600 && counts["stamped"]["wrong"] == 0, "{:?}", counts["stamped"]);
    assert!(!counts["dctcp"].contains_key("right"), "{:?}", counts["dctcp"]);
}

#[test]
fn fast_forward_ends_before_a_control_acts_by_what_is_left() {
    let text = NETWORK.replace("polite", "farsighted");
    let text = format!("{text}workload = [{{ flows = [{{ src = 1, dst = 0, size = \"20MB\" }}] }}]");
    let [skipped, full] =
        [true, false].map(|fast_forward| run(&text, Plan { fast_forward, ..Plan::default() }).summary);
    assert_eq!(skipped.fingerprint, full.fingerprint);
    // 19 MB at 100 Gb/s and 1 MB at 50 Gb/s, with 48 bytes of headers for 1000: 1.76 ms.
    assert!((1_750_000_000..1_800_000_000).contains(&full.fct_ps.max.unwrap()), "{:?}", full.fct_ps.max);
}

#[test]
fn an_effect_of_an_acknowledgement_that_departs_has_the_time_of_the_departure() {
    let text = format!("{NETWORK}switch.plugins.echoing = {{}}\n").replace("plugins.polite", "dctcp");
    let text = format!("{text}workload = [{{ flows = [{{ src = 1, dst = 0, size = \"22KB\" }}] }}]");
    let counts = &run(&text, Plan::default()).summary.counts["echoing"];
    assert_eq!((counts["right"], counts["wrong"]), (22, 0));
}

#[test]
fn a_flow_at_its_limit_waits_for_the_receiver() {
    let text = format!("{NETWORK}probe.delays = \"all\"\n");
    let text = format!("{text}workload = [{{ flows = [{{ src = 1, dst = 0, size = \"22KB\" }}] }}]");
    let delays = format!("{:?}", run(&text, Plan::default()).tables);
    assert!(
        delays.contains("awaiting_pull") && !delays.contains("\"window\""),
        "the receiver allows packets"
    );
}

#[test]
fn flows_of_a_plug_in_have_names() {
    let text = format!("{NETWORK}workload = [{{ plugins.calls = {{ count = 3, size = \"2KB\" }} }}]");
    let outcome = run(&text, Plan::default());
    let flows = outcome.tables.iter().find(|table| table.name == "flows").unwrap();
    let label = flows.columns.iter().find(|column| column.name == "label").unwrap();
    let labels = format!("{:?}", label.data);
    for name in ["call 0", "call 1", "call 2", "reply 0", "reply 1", "reply 2"] {
        assert_eq!(labels.matches(&format!("\"{name}\"")).count(), 1, "{labels}");
    }
}
