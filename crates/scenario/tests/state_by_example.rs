//! The parts of `docs/how-to/state-by-example.md`, and each part with one field in a wrong class.
//!
//! A run with fast-forward and a full run of a right part are equal. Each wrong part shows the effect that the page
//! states.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Once;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::Plan;
use xoff_engine::state::{State, StateVisitor};
use xoff_models::frames::packet::Packet;
use xoff_models::mechanisms::contract::{Dequeued, Hooks, Install, Site, Watches};
use xoff_models::network::plugins::{Entry, Plugin, install};
use xoff_models::parts::count::{Count, Tally};
use xoff_models::ports::core::Core;
use xoff_models::ports::effects::Effects;
use xoff_models::state;
use xoff_scenario::{Outcome, Runner, from_toml};
use xoff_units::{Duration, Moment};

/// A long queue has this many bytes.
const LONG: u32 = 20_000;
const MARKS: Count = Count::number("marks", "marks");

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    every: u32,
    pause: Duration,
    window: u32,
}

/// Marks every n-th packet of a long queue, and nothing for a time after a mark.
#[derive(Debug, Clone)]
struct Beacon {
    every: u32,
    pause: Duration,
    /// Packets of a long queue since the last mark.
    skipped: u32,
    silence: Silence,
    marks: u64,
    /// The longest queue of a marked packet, in bytes.
    longest: u32,
}

#[derive(Debug, Clone)]
struct Silence {
    /// No mark before this moment.
    until: Moment,
}

state!(Beacon {
    constant: every, pause;
    value: skipped;
    part: silence;
    total: marks;
    peak: longest;
});
state!(Silence { due: until; });

impl Beacon {
    fn marks_packet(&mut self, _: &Packet, bytes: u32, now: Moment) -> bool {
        self.skipped += 1;
        if self.skipped < self.every || now < self.silence.until {
            return false;
        }
        self.skipped = 0;
        self.silence.until = now + self.pause;
        self.marks += 1;
        self.longest = self.longest.max(bytes);
        true
    }
}

/// Marks a packet of a long queue as soon as enough time has passed since the last mark.
#[derive(Debug, Clone)]
struct Patient {
    pause: Duration,
    /// The last mark.
    last: Moment,
    marks: u64,
}

state!(Patient {
    constant: pause;
    moment: last;
    total: marks;
});

impl Patient {
    fn marks_packet(&mut self, _: &Packet, _: u32, now: Moment) -> bool {
        if now.since(self.last) <= self.pause {
            return false;
        }
        self.last = now;
        self.marks += 1;
        true
    }
}

/// Marks at most one packet of a flow in a window of packets.
#[derive(Debug, Clone)]
struct Fair {
    window: u32,
    flows: BTreeMap<u32, Marked>,
    marks: u64,
}

#[derive(Debug, Clone, Default)]
struct Marked {
    /// The first packet that may be marked.
    next: u32,
}

state!(Fair {
    constant: window;
    flows: flows;
    total: marks;
});
state!(Marked { ahead: next; });

impl Fair {
    fn marks_packet(&mut self, packet: &Packet, _: u32, _: Moment) -> bool {
        let marked = self.flows.entry(packet.flow()).or_default();
        if packet.seq() < marked.next {
            return false;
        }
        marked.next = packet.seq() + self.window;
        self.marks += 1;
        true
    }
}

impl From<&Params> for Beacon {
    fn from(params: &Params) -> Self {
        let silence = Silence { until: Moment::ZERO };
        Self { every: params.every, pause: params.pause, skipped: 0, silence, marks: 0, longest: 0 }
    }
}

impl From<&Params> for Patient {
    fn from(params: &Params) -> Self {
        Self { pause: params.pause, last: Moment::ZERO, marks: 0 }
    }
}

impl From<&Params> for Fair {
    fn from(params: &Params) -> Self {
        Self { window: params.window, flows: BTreeMap::new(), marks: 0 }
    }
}

/// Makes a mechanism around a part: with the classes of the part, or with other classes of its fields.
macro_rules! mechanism {
    ($name:ident of $part:ident) => {
        mechanism!(@hooks $name $part);

        impl State for $name {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                self.0.walk(walk);
            }
        }
    };
    ($name:ident of $part:ident { $($kind:ident: $field:ident;)* }) => {
        mechanism!(@hooks $name $part);

        impl State for $name {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                let $part { $($field,)* } = &mut self.0;
                $(state!(@$kind walk $field);)*
            }
        }
    };
    (@hooks $name:ident $part:ident) => {
        #[derive(Debug, Clone)]
        struct $name($part);

        impl Install for $name {
            type Params = Params;
            const LABEL: &'static str = stringify!($name);
            const COUNTS: &'static [Count] = &[MARKS];

            fn install(params: &Params, site: &Site<'_>, _: &mut Core) -> Option<Self> {
                site.forwards.then(|| Self(params.into()))
            }
        }

        impl Hooks for $name {
            fn watches(&self) -> Watches {
                Watches::DEQUEUE
            }

            fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
                let bytes = core.egress_bytes(event.port, event.queue);
                if bytes >= LONG && self.0.marks_packet(event.packet, bytes, effects.now) {
                    effects.mark();
                }
            }

            fn counts(&self, _: Moment, tally: &mut dyn Tally) {
                tally.add(MARKS, self.0.marks);
            }
        }
    };
}

mechanism!(Right of Beacon);
mechanism!(SkippedTotal of Beacon { constant: every; constant: pause; total: skipped; part: silence; total: marks; peak: longest; });
mechanism!(SilenceConstant of Beacon { constant: every; constant: pause; value: skipped; constant: silence; total: marks; peak: longest; });
mechanism!(MarksConstant of Beacon { constant: every; constant: pause; value: skipped; part: silence; constant: marks; peak: longest; });
mechanism!(MarksValue of Beacon { constant: every; constant: pause; value: skipped; part: silence; value: marks; peak: longest; });
mechanism!(EveryValue of Beacon { value: every; constant: pause; value: skipped; part: silence; total: marks; peak: longest; });
mechanism!(RightPatient of Patient);
mechanism!(LastDue of Patient { constant: pause; due: last; total: marks; });
mechanism!(LastConstant of Patient { constant: pause; constant: last; total: marks; });
mechanism!(RightFair of Fair);
mechanism!(FlowsConstant of Fair { constant: window; constant: flows; total: marks; });
mechanism!(@hooks NextValue Fair);

impl State for NextValue {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Fair { window: _, flows, marks } = &mut self.0;
        walk.keyed(flows.iter_mut(), |walk, _, Marked { next }| walk.value(u64::from(*next)));
        walk.total(marks);
    }
}

static BEACONS: Plugin = Plugin {
    mechanisms: &[
        Entry::mechanism::<Right>("right", ""),
        Entry::mechanism::<SkippedTotal>("skipped_total", ""),
        Entry::mechanism::<SilenceConstant>("silence_constant", ""),
        Entry::mechanism::<MarksConstant>("marks_constant", ""),
        Entry::mechanism::<MarksValue>("marks_value", ""),
        Entry::mechanism::<EveryValue>("every_value", ""),
        Entry::mechanism::<RightPatient>("right_patient", ""),
        Entry::mechanism::<LastDue>("last_due", ""),
        Entry::mechanism::<LastConstant>("last_constant", ""),
        Entry::mechanism::<RightFair>("right_fair", ""),
        Entry::mechanism::<FlowsConstant>("flows_constant", ""),
        Entry::mechanism::<NextValue>("next_value", ""),
    ],
    ..Plugin::new("beacons", "1.0.0")
};

fn run(name: &str, parameters: &str, fast_forward: bool) -> Outcome {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| install(vec![&BEACONS]).unwrap());
    let text = format!(
        r#"
network.star = {{ hosts = 4, link = {{ rate = "100Gbps", delay = "1us" }} }}
switch = {{ flow_control.pfc = {{ xoff = "40KB" }}, plugins.{name} = {{ {parameters} }} }}
workload = [{{ incast = {{ senders = [1, 2, 3], receiver = 0, size = "20MB" }} }}]
"#
    );
    let runner = Runner::new(from_toml(&text, &[]).unwrap(), |_| None).unwrap();
    runner.run(Plan { fast_forward, ..Plan::default() }, &mut ()).unwrap()
}

const PAGE: &str = include_str!("../../../docs/how-to/state-by-example.md");

/// Runs a part in full and with fast-forward: the page has a row with marks of both, and with the share of packet-hops
/// that are not simulated. Returns true if both results are equal, and the share.
fn told(what: &str, name: &str, parameters: &str) -> (bool, f64) {
    let [full, fast] = [false, true].map(|fast_forward| run(name, parameters, fast_forward).summary);
    let hops = &fast.performance;
    let share = hops.fast_forward.packet_hops as f64 / hops.data_packet_hops as f64;
    let [all, found] = [&full, &fast].map(|summary| summary.counts[name]["marks"]);
    let row = format!("| {what} | `{parameters}` | {all} | {found} | {:.0} % |", 100.0 * share);
    assert!(PAGE.contains(&row), "the page has no row\n{row}");
    (full.fingerprint == fast.fingerprint && all == found, share)
}

#[test]
fn right_parts_are_fast_forwarded_exactly() {
    for (what, name, parameters) in [
        ("`Beacon`", "right", "every = 10"),
        ("`Beacon`", "right", "every = 100"),
        ("`Beacon`", "right", "pause = \"2100ns\""),
        ("`Patient`", "right_patient", "pause = \"5us\""),
        ("`Fair`", "right_fair", "window = 10"),
        ("`every` as `value`", "every_value", "every = 10"),
    ] {
        let (is_equal, share) = told(what, name, parameters);
        assert!(is_equal, "{what}");
        assert_eq!(share > 0.0, parameters != "every = 100", "{what}");
    }
}

#[test]
fn a_hidden_field_makes_results_differ() {
    for (what, name, parameters) in [
        ("`skipped` as `total`", "skipped_total", "every = 100"),
        ("`silence` as `constant`", "silence_constant", "pause = \"2100ns\""),
        ("`marks` as `constant`", "marks_constant", "every = 10"),
        ("`last` as `due`", "last_due", "pause = \"5us\""),
        ("`last` as `constant`", "last_constant", "pause = \"5us\""),
        ("`flows` as `constant`", "flows_constant", "window = 10"),
    ] {
        let (is_equal, share) = told(what, name, parameters);
        assert!(!is_equal && share > 0.0, "{what}");
    }
}

#[test]
fn a_field_that_only_grows_is_never_fast_forwarded() {
    for (what, name, parameters) in [
        ("`marks` as `value`", "marks_value", "every = 10"),
        ("`next` as `value`", "next_value", "window = 10"),
    ] {
        assert_eq!(told(what, name, parameters), (true, 0.0), "{what}");
    }
}
