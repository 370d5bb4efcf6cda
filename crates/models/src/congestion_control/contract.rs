//! What a congestion control is: how fast, and how far ahead, a flow may send.
//!
//! It lives at the source of a flow, and hears of what it sent, of what the receiver answered, of losses, and of what the network
//! told it. This file knows none of them; the registry in `congestion_control/mod.rs` lists them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use crate::beside::Beside;
pub use crate::count::Count;
use crate::framing::Framing;
pub use crate::line::{Line, check_round_trip};
use crate::packet::Packet;
use crate::pulls::Rules;
pub use crate::transport::contract::Loss;
use crate::wrong::Wrong;

/// What the network told the sources of flows; endpoints count it for every congestion control.
pub const NOTIFICATIONS: Count = Count::number("notifications", "congestion notifications");

/// How a receiver tells the sender of marked packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A packet of its own.
    #[default]
    Packet,
    /// A bit on the ACK of the marked packet.
    Ack,
}

/// How receivers tell senders of marks: at most once an interval and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The least time between two notifications for a flow.
    pub interval: Duration,
    /// How.
    pub form: Form,
}

impl Echo {
    /// Each mark, on the answer to its packet.
    pub const EVERY: Self = Self { interval: Duration::ZERO, form: Form::Ack };
}

/// What a control does with the tag of the packets that it sends; one part of a scenario may use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Nothing.
    Unused,
    /// It is for the mechanism that the control listens to.
    ForSwitches,
    /// Each answer brings that of its packet back: an ACK of several, that of the one which brought it about.
    Echoed,
}

/// A packet of a flow that starts on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The key of its flow, of which draws depend ([`crate::streams`]).
    pub key: u32,
    /// Bytes on the wire.
    pub bytes: u64,
    /// No packet of the flow is left behind it.
    pub is_queue_empty: bool,
    /// When.
    pub now: Moment,
}

/// An answer of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// Payload of packets that have arrived, as it says for the first time.
    pub bytes: u64,
    /// Payload that is under way after it.
    pub in_flight: u64,
    /// The oldest packet that is not acknowledged after it.
    pub acknowledged: u32,
    /// The next to be sent.
    pub next: u32,
    /// It echoes a mark.
    pub is_marked: bool,
    /// It reports a loss, of which [`Control::on_loss`] was told.
    pub is_loss: bool,
    /// From the start of the packet that it answers to now, if it is known which copy of that it answers.
    pub rtt: Option<Duration>,
    /// Nodes that forwarded it; on shortest paths as many as forwarded the packet that it answers.
    pub hops: u32,
    /// What travelled beside it, as what switches wrote beside the packet that it answers.
    pub beside: Option<&'a Beside>,
    /// The tag of that packet, of a control whose tags are echoed ([`Control::TAG`]).
    pub tag: u32,
    /// When it arrived.
    pub now: Moment,
}

/// What a congestion control's table is judged with.
#[derive(Debug, Clone, Copy)]
pub struct Hosts<'a> {
    /// Packet sizes.
    pub framing: &'a Framing,
    /// The transport's receivers answer.
    pub acknowledges: bool,
    /// What is sent again waits for a window like what is new.
    pub holds_lost: bool,
}

impl Hosts<'_> {
    /// Refuses a control that hears answers only, where there are none; `missing` says what never comes back.
    pub fn must_answer(&self, missing: &str) -> Result<(), Wrong> {
        if self.acknowledges {
            return Ok(());
        }
        Err(("", format!("raw frames are not acknowledged (host.transport.raw), so that {missing} comes back")))
    }
}

/// Judges a `minimum_rate` and a `round_trip`, which many have.
pub fn check_bounds(minimum_rate: Rate, round_trip: Option<Duration>) -> Result<(), Wrong> {
    if minimum_rate.0 < 1_000 {
        return Err(("minimum_rate", format!("{minimum_rate} is too low; it must be 1kbps or more")));
    }
    check_round_trip(round_trip)
}

/// The contract of a congestion control; its parameters are worked out for one line rate and shared by all flows of a port.
pub trait Control: Sized {
    /// Its table in the scenario.
    type Params: Clone;
    /// What it keeps of a flow.
    type State: std::fmt::Debug + state::State;
    /// What people call it.
    const LABEL: &'static str;
    /// What it counts.
    const COUNTS: &'static [Count] = &[NOTIFICATIONS];
    /// It wants [`Self::on_ack`].
    const HEARS_ACKS: bool = false;
    /// The mechanism at switches that tells it, and what follows if there is none.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// What it does with [`Packet::set_tag`] as a packet is sent.
    const TAG: Tag = Tag::Unused;
    /// Receivers pull what flows send ([`Self::pulls`]), and that is all it does: another may set rates or windows beside it.
    const PULLS: bool = false;
    /// How they do; `line` is that of a host.
    fn pulls(_params: &Self::Params, _line: Line) -> Option<Rules> {
        None
    }
    /// The parameters with what follows from a line, or from a preset, in the place of what is not given.
    fn settled(params: &Self::Params, _line: Line) -> Self::Params {
        params.clone()
    }
    /// For a line; what is not given is as [`Self::settled`] has it.
    fn new(params: &Self::Params, line: Line) -> Self;
    /// Says what of its table makes no sense.
    fn validate(_params: &Self::Params, _hosts: &Hosts<'_>) -> Result<(), Wrong> {
        Ok(())
    }
    /// A flow that starts.
    fn start(&self) -> Self::State;
    /// A packet starts on the wire, and may be tagged; returns how long after it the next may start.
    fn on_sent(&self, state: &mut Self::State, packet: &mut Packet, sent: Sent) -> Duration;
    /// An answer of the receiver arrived.
    fn on_ack(&self, _state: &mut Self::State, _ack: &Ack<'_>) {}
    /// A packet is missing.
    fn on_loss(&self, _state: &mut Self::State, _loss: Loss, _now: Moment) {}
    /// Whether a frame of the network, or an ACK that echoes a mark, is meant for it.
    fn hears(_notice: &Packet) -> bool {
        false
    }
    /// The network, or the receiver by a mark that it echoes, told the source something that it hears.
    fn on_notice(&self, _state: &mut Self::State, _notice: &Packet, _now: Moment) {}
    /// Bytes of payload that may be under way.
    fn window(&self, _state: &Self::State) -> u64 {
        u64::MAX
    }
    /// Something was heard: when the packet that waits may start, which was `due` until now. Without a rule a wait stays what it was when
    /// the packet before started, and a new rate holds from the next on.
    fn due(&self, _state: &Self::State, due: Moment) -> Moment {
        due
    }
    /// How receivers tell senders of marks.
    fn echo(&self) -> Option<Echo> {
        None
    }
}
