//! A congestion control in Python: an object of a user's class for each flow.
//!
//! Models: the object is told of answers, losses, notifications and starts of packets, and states a rate and a window,
//! which the host reads after each call. This crate knows no Python: a binding links a [`Session`] to the parameters
//! before a run, and the session makes an [`Object`] for each flow. A scenario without a session can be checked, and
//! cannot run. Source: `docs/models/python_control.md`. Simplifications: no half at receivers, no tag of packets.
//! Invariants: an object is called in the order of events of its flow; a copy of a flow has a copy of the object.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use dyn_clone::{DynClone, clone_trait_object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use xoff_engine::state;
use xoff_engine::state::StateVisitor;
use xoff_units::{Duration, Moment};

use super::contract::{Ack, Control, Echo, Form, Hosts, Line, Loss, NewFlow, Notice, Outbox, Peer, Sent};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;
use crate::parts::python_names::{check_arguments, is_reference};

/// Names of arguments that the class gets in any case.
const TAKEN: [&str; 3] = ["self", "line", "flow"];

/// `host.congestion_control.python`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PythonControl")]
pub struct Params {
    /// The class as `module:Class`, called as `Class(line, flow, **parameters)` for each flow. The module is looked up
    /// beside the file of the scenario, then among the installed modules.
    pub class: String,
    /// Further arguments of the class, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The declarations of the class, which xoff reads before a run. Results of runs have this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Declared>,
    /// The session of a run.
    #[serde(skip)]
    #[schemars(skip)]
    pub link: Option<Link>,
}

/// The declarations of a class: attributes and methods.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PythonDeclarations")]
pub struct Declared {
    /// A hash of the code: of the module of the class and of the imported modules of the same folder.
    pub code: String,
    /// The methods of the class.
    pub methods: Vec<Method>,
    /// The form in which receivers tell the sender of marked packets. Default: receivers ignore marks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub echo: Option<Form>,
    /// The least time between two notifications of marks for a flow.
    #[serde(default)]
    pub echo_interval: Duration,
    /// The mechanism of switches that the class needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listens_to: Option<Signal>,
}

/// A method of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// An answer arrived.
    OnAck,
    /// A packet is missing.
    OnLoss,
    /// A notification arrived.
    OnNotification,
    /// A packet started.
    OnSent,
    /// The timer expired.
    OnTimer,
}

/// A mechanism of switches with a signal for senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Marks.
    Ecn,
    /// In-band telemetry.
    Telemetry,
}

/// The session of a run, and the number of the class in the session.
#[derive(Debug, Clone)]
pub struct Link {
    /// Makes the objects.
    pub session: Arc<dyn Session>,
    /// Number of the class.
    pub number: u32,
}

impl PartialEq for Link {
    /// Equal classes with equal parameters have one number.
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// The classes of a run, in a binding.
pub trait Session: Debug + Send + Sync {
    /// Makes the object of a flow. An error ends the run by unwinding.
    fn start(&self, number: u32, line: &Line, flow: &NewFlow) -> (Box<dyn Object>, Limits);
}

/// The object of a flow, in a binding. A copy is a deep copy of the object.
pub trait Object: Debug + Send + Sync + DynClone {
    /// Calls the method for an event, and returns the attributes after the call. An error ends the run by unwinding.
    fn call(&mut self, event: &Event<'_>) -> Limits;
}

clone_trait_object!(Object);

/// An event of a flow.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// An answer arrived.
    Ack(&'a Ack<'a>),
    /// A packet is missing.
    Loss(Loss, Moment),
    /// A notification arrived.
    Notification(Moment),
    /// A packet started.
    Sent(&'a Sent),
    /// The timer expired.
    Timer(Moment),
}

/// The attributes of an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Bits per second; none for line rate. The binding checks that the rate is finite and at least 1 kb/s.
    pub rate: Option<f64>,
    /// Payload bytes that may be in flight, at least 1.
    pub window: u64,
    /// The next call of the timer.
    pub timer: Moment,
}

/// A class, for a line.
#[derive(Debug, Clone)]
pub struct Python {
    link: Option<Link>,
    line: Line,
    echo: Option<Echo>,
    methods: u8,
}

impl Python {
    const fn has(&self, method: Method) -> bool {
        self.methods & 1 << method as u8 != 0
    }
}

/// The object of a flow, and its attributes.
#[derive(Debug, Clone)]
pub struct State {
    object: Option<Box<dyn Object>>,
    limits: Limits,
}

impl State {
    fn call(&mut self, event: &Event<'_>) {
        if let Some(object) = &mut self.object {
            self.limits = object.call(event);
        }
    }
}

impl state::State for State {
    /// The state of an object is unknown: no period with the object is repeated.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { object: _, limits: _ } = self;
        walk.refuse();
    }
}

impl Control for Python {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "Python";
    const HEARS_ACKS: bool = true;

    fn listens_to(params: &Params) -> Option<(&'static str, &'static str)> {
        Some(match params.declared.as_ref()?.listens_to? {
            Signal::Ecn => {
                ("ecn", "the class never hears of marks, as no switch marks packets; set switch.ecn")
            }
            Signal::Telemetry => (
                "telemetry",
                "the class gets no telemetry, as no switch writes records; set switch.telemetry",
            ),
        })
    }

    fn new(params: &Params, line: Line) -> Self {
        let declared = params.declared.as_ref();
        let methods =
            declared.map_or(0, |d| d.methods.iter().fold(0, |all, method| all | 1 << *method as u8));
        let echo = declared.and_then(|d| Some(Echo { interval: d.echo_interval, form: d.echo? }));
        Self { link: params.link.clone(), line, echo, methods }
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if !is_reference(&params.class) {
            let form = "is not of the form module:Class, such as laws:Window";
            return Err(("class", format!("`{}` {form}", params.class.escape_debug())));
        }
        check_arguments(&params.parameters, &TAKEN, "class").map_err(|(key, why)| {
            ("parameters", format!("{}: {why}", key.trim_start_matches("parameters.")))
        })?;
        let Some(declared) = &params.declared else { return Ok(()) };
        if declared.methods.contains(&Method::OnAck) {
            hosts.must_answer("no ACK")?;
        }
        if declared.echo == Some(Form::Ack) {
            hosts.must_answer("no mark")?;
        }
        Ok(())
    }

    fn start(&self, flow: &NewFlow) -> State {
        let none = Limits { rate: None, window: u64::MAX, timer: Moment::NEVER };
        let Some(link) = &self.link else { return State { object: None, limits: none } };
        let (object, limits) = link.session.start(link.number, &self.line, flow);
        State { object: Some(object), limits }
    }

    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        if self.has(Method::OnSent) {
            s.call(&Event::Sent(&sent));
        }
        s.limits.rate.map_or(Duration::ZERO, |rate| Duration::of_real(sent.bytes as f64 * 8e12 / rate))
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        if self.has(Method::OnAck) {
            s.call(&Event::Ack(ack));
        }
    }

    fn on_loss(&self, s: &mut State, loss: Loss, now: Moment) {
        if self.has(Method::OnLoss) {
            s.call(&Event::Loss(loss, now));
        }
    }

    /// True for a notification (CNP), and for an ACK with an echoed mark, which [`Self::on_ack`] handles.
    fn hears(notice: &Packet) -> bool {
        notice.kind() == Kind::Cnp || notice.has(Packet::ECHO)
    }

    fn on_notice(&self, s: &mut State, notice: &Notice<'_>) {
        if self.has(Method::OnNotification) && notice.frame.kind() == Kind::Cnp {
            s.call(&Event::Notification(notice.now));
        }
    }

    fn window(&self, s: &State) -> u64 {
        s.limits.window
    }

    fn timer(&self, s: &State) -> Moment {
        if self.has(Method::OnTimer) { s.limits.timer } else { Moment::NEVER }
    }

    fn on_timer(&self, s: &mut State, _: u32, _: Peer, outbox: &mut Outbox) {
        s.call(&Event::Timer(outbox.now));
    }

    fn echo(&self) -> Option<Echo> {
        self.echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::framing::Framing;

    /// Counts calls, and halves the rate with each.
    #[derive(Debug, Clone)]
    struct Halving(f64);

    impl Object for Halving {
        fn call(&mut self, _: &Event<'_>) -> Limits {
            self.0 /= 2.0;
            Limits { rate: Some(self.0), window: 1000, timer: Moment::NEVER }
        }
    }

    #[derive(Debug)]
    struct Rates;

    impl Session for Rates {
        fn start(&self, number: u32, line: &Line, flow: &NewFlow) -> (Box<dyn Object>, Limits) {
            let rate = line.rate.real() / f64::from(number);
            let limits = Limits { rate: Some(rate), window: flow.size.unwrap_or(1), timer: Moment::NEVER };
            (Box::new(Halving(rate)), limits)
        }
    }

    fn params(methods: Vec<Method>) -> Params {
        let declared = Some(Declared { methods, echo: Some(Form::Ack), ..Declared::default() });
        let link = Some(Link { session: Arc::new(Rates), number: 2 });
        Params { class: "laws:Window".into(), declared, link, ..Params::default() }
    }

    #[test]
    fn only_methods_of_the_class_are_called_and_a_copy_goes_its_own_way() {
        let python = Python::new(&params(vec![Method::OnLoss]), Line::for_tests(Duration::us(12)));
        let mut state = python.start(&NewFlow::for_tests());
        assert_eq!(python.window(&state), 1_000_000);
        python.on_loss(&mut state, Loss::Reported, Moment::ZERO);
        let mut copy = state.clone();
        python.on_loss(&mut copy, Loss::Reported, Moment::ZERO);
        assert_eq!((state.limits.rate, copy.limits.rate), (Some(25e9), Some(12.5e9)));
        let sent = Sent { key: 1, bytes: 1250, is_queue_empty: false, left: 0, now: Moment::ZERO };
        let mut packet = Packet::new(Kind::Data, 1, 0, 2, 1250, 0);
        // 10,000 bits at 25 Gb/s.
        assert_eq!(python.on_sent(&mut state, &mut packet, sent), Duration::ns(400));
        assert_eq!(python.echo(), Some(Echo::EVERY));
    }

    #[test]
    fn a_class_that_hears_acks_needs_a_transport_with_acks() {
        let framing = Framing::for_tests();
        let check = |acknowledges, methods| {
            let hosts = Hosts { framing: &framing, acknowledges, holds_lost: false };
            let mut params = params(methods);
            params.declared.as_mut().unwrap().echo = None;
            Python::validate(&params, &hosts)
        };
        assert_eq!(check(true, vec![Method::OnAck]), Ok(()));
        assert_eq!(check(false, vec![Method::OnNotification]), Ok(()));
        assert!(check(false, vec![Method::OnAck]).is_err());
    }

    #[test]
    fn names_and_arguments_are_those_of_python() {
        let framing = Framing::for_tests();
        let hosts = Hosts { framing: &framing, acknowledges: true, holds_lost: false };
        let check = |class: &str, name: &str| {
            let parameters = BTreeMap::from([(name.to_string(), Value::Null)]);
            let params = Params { class: class.into(), parameters, ..Params::default() };
            Python::validate(&params, &hosts).map_err(|(key, _)| key)
        };
        assert_eq!(check("laws:Window", "gain"), Ok(()));
        assert_eq!(check("laws", "gain"), Err("class"));
        assert_eq!(check("laws:Window", "line"), Err("parameters"));
    }
}
