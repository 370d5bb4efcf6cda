//! The contract of a congestion control: the rate and the window of a flow.
//!
//! A congestion control lives at the source of a flow and reacts to packets sent, answers, losses and
//! messages of the network. A control may have a half at the destination ([`Receiving`]). This file knows no
//! congestion control; the registry in `congestion_control/mod.rs` lists all congestion controls.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_units::{Duration, Moment, Rate};

use crate::frames::framing::Framing;
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Metadata;
pub use crate::frames::tag::TagField;
use crate::hosts::pulls::Rules;
pub use crate::hosts::receiving::{Outbox, Peer, Receiving};
pub use crate::hosts::transport::contract::Loss;
pub use crate::parts::count::{Count, Tally};
use crate::parts::param_error::ParamError;
pub use crate::paths::line::{Line, check_round_trip};

/// Messages of the network to the sources of flows. Endpoints count the messages for every congestion
/// control.
pub const NOTIFICATIONS: Count = Count::number("notifications", "congestion notifications");

/// The way a receiver tells the sender of marked packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A separate packet (CNP).
    #[default]
    Packet,
    /// A bit on the ACK of the marked packet.
    Ack,
}

/// The notification of senders about marks: at most once per interval and flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Echo {
    /// The least time between two notifications for a flow.
    pub interval: Duration,
    /// The form of a notification.
    pub form: Form,
}

impl Echo {
    /// Every mark, on the answer to the marked packet.
    pub const EVERY: Self = Self { interval: Duration::ZERO, form: Form::Ack };
}

/// The use of the tag of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// The control does not use the tag.
    Unused,
    /// The tag is for the mechanism of switches that the control needs.
    ForSwitches,
    /// Each answer returns the tag of its packet. An ACK of several packets returns the tag of the packet
    /// that caused the ACK.
    Echoed,
}

/// A flow that starts.
#[derive(Debug, Clone, Copy)]
pub struct NewFlow {
    /// The key of the flow, which draws depend on ([`crate::parts::streams`]).
    pub key: u32,
    /// Payload of the flow; none for a connection, whose messages are posted later.
    pub size: Option<u64>,
    /// The priority class.
    pub class: u8,
    /// The destination node.
    pub destination: u32,
}

impl NewFlow {
    /// A flow of 1 MB.
    #[cfg(any(test, feature = "testing"))]
    pub const fn for_tests() -> Self {
        Self { key: 1, size: Some(1_000_000), class: 0, destination: 2 }
    }
}

/// A packet of a flow at its start on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// The key of the flow, which draws depend on ([`crate::parts::streams`]).
    pub key: u32,
    /// Bytes on the wire.
    pub bytes: u64,
    /// True when the flow has no further packet.
    pub is_queue_empty: bool,
    /// Payload that was never sent, after the packet; at most [`Control::looks_ahead`].
    pub left: u64,
    /// The time of the start.
    pub now: Moment,
}

/// An answer of the receiver.
#[derive(Debug, Clone, Copy)]
pub struct Ack<'a> {
    /// Payload of packets that the answer acknowledges for the first time.
    pub bytes: u64,
    /// Payload in flight after the answer.
    pub in_flight: u64,
    /// The oldest packet without ACK after the answer.
    pub acknowledged: u32,
    /// The next to be sent.
    pub next: u32,
    /// True when the answer echoes a mark.
    pub is_marked: bool,
    /// True when the answer reports a loss, which [`Control::on_loss`] handled.
    pub is_loss: bool,
    /// Time from the start of the answered packet until now, if the answered copy is known.
    pub rtt: Option<Duration>,
    /// Nodes that forwarded the answer; on shortest paths as many nodes as forwarded the packet.
    pub hops: u32,
    /// The side record of the answer: the records of switches beside the answered packet.
    pub beside: Option<&'a Metadata>,
    /// The tag of the answered packet, for controls with echoed tags ([`Control::TAG`]).
    pub tag: u32,
    /// The time of the arrival.
    pub now: Moment,
}

/// A message of the network or of the receiver to the source of a flow, or an ACK with an echoed mark.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// The frame.
    pub frame: &'a Packet,
    /// The start of the packet that the frame names with a field [`crate::frames::kinds::Index`]. The copy of the
    /// packet is that of the frame ([`Packet::set_copy`]). None for an answered packet, and for controls that
    /// need no [`Control::on_ack`].
    pub sent: Option<Moment>,
    /// The time of the arrival.
    pub now: Moment,
}

/// The host settings against which a table is checked.
#[derive(Debug, Clone, Copy)]
pub struct Hosts<'a> {
    /// Packet sizes.
    pub framing: &'a Framing,
    /// The transport's receivers answer.
    pub acknowledges: bool,
    /// True when a retransmission waits for the window like a new packet.
    pub holds_lost: bool,
}

impl Hosts<'_> {
    /// Refuses a control that needs answers where receivers send none; `missing` names the missing
    /// information.
    pub fn must_answer(&self, missing: &str) -> Result<(), ParamError> {
        if self.acknowledges {
            return Ok(());
        }
        Err(("", format!("host.transport.raw returns {missing}; use a transport with acknowledgements")))
    }
}

/// Judges a `minimum_rate` and a `round_trip`, which many have.
pub fn check_bounds(minimum_rate: Rate, round_trip: Option<Duration>) -> Result<(), ParamError> {
    if minimum_rate.0 < 1_000 {
        return Err(("minimum_rate", format!("{minimum_rate} is below the minimum of 1kbps")));
    }
    check_round_trip(round_trip)
}

/// The contract of a congestion control. Parameters are resolved for one line rate and shared by all flows of
/// a port.
pub trait Control: Sized {
    /// The table in the scenario.
    type Params: Clone;
    /// A flow's state.
    type State: std::fmt::Debug + state::State;
    /// The name for people.
    const LABEL: &'static str;
    /// Counts of the congestion control.
    const COUNTS: &'static [Count] = &[NOTIFICATIONS];
    /// True when the control needs [`Self::on_ack`].
    const HEARS_ACKS: bool = false;
    /// The mechanism of switches that the control needs, and the warning for scenarios without the mechanism.
    const LISTENS_TO: Option<(&'static str, &'static str)> = None;
    /// Returns the mechanism and the warning of [`Self::LISTENS_TO`] for these parameters.
    fn listens_to(_params: &Self::Params) -> Option<(&'static str, &'static str)> {
        Self::LISTENS_TO
    }
    /// The control's use of [`Packet::set_tag`] when a packet is sent.
    const TAG: Tag = Tag::Unused;
    /// Bits that the control and the mechanism that the control listens to have in the tag of packets: the lowest
    /// ([`TagField::lowest`]).
    const TAG_BITS: u8 = crate::frames::tag::BITS;
    /// True when receivers pull the packets of flows ([`Self::pulls`]). Such a control sets no rate and no
    /// window, so a second control may be given.
    const PULLS: bool = false;
    /// True when the flows of a queue of the host go by [`Self::rank`], and not in turn.
    const RANKED: bool = false;
    /// True when a host may stand for equal hosts (docs/folding.md): the control acts at senders alone, and random
    /// numbers are draws by flow or packet.
    const FOLDS: bool = false;
    /// Returns the rules of pulls; `line` belongs to a host.
    fn pulls(_params: &Self::Params, _line: Line) -> Option<Rules> {
        None
    }
    /// Returns the parameters with defaults that follow from a line or a preset.
    fn settled(params: &Self::Params, _line: Line) -> Self::Params {
        params.clone()
    }
    /// Makes the control for a line. Missing parameters are those of [`Self::settled`].
    fn new(params: &Self::Params, line: Line) -> Self;
    /// Returns the first invalid key of the table, with the problem.
    fn validate(_params: &Self::Params, _hosts: &Hosts<'_>) -> Result<(), ParamError> {
        Ok(())
    }
    /// Warns of a parameter that was given, for a line: the key, and problem with remedy.
    fn warn(_params: &Self::Params, _line: Line) -> Option<ParamError> {
        None
    }
    /// Returns the receiver's half of a host, for a control that needs a half at the destination. Such a
    /// control stands alone: no part of the scenario pulls.
    fn receiving(&self, _host: u32) -> Option<Box<dyn Receiving>> {
        None
    }
    /// Returns the payload before the end of the posted data up to which a flow acts by what is left
    /// ([`Sent::left`]). Fast-forward ends that far before the end.
    fn looks_ahead(&self) -> u64 {
        0
    }
    /// State of a flow that starts.
    fn start(&self, flow: &NewFlow) -> Self::State;
    /// Records the start of a packet on the wire and may tag the packet. Returns the time until the next
    /// packet may start.
    fn on_sent(&self, state: &mut Self::State, packet: &mut Packet, sent: Sent) -> Duration;
    /// An answer of the receiver arrived.
    fn on_ack(&self, _state: &mut Self::State, _ack: &Ack<'_>) {}
    /// A packet is missing.
    fn on_loss(&self, _state: &mut Self::State, _loss: Loss, _now: Moment) {}
    /// True when a frame of the network, or an ACK with an echoed mark, is meant for the control.
    fn hears(_notice: &Packet) -> bool {
        false
    }
    /// Handles a message of the network or of the receiver's half, or a mark that the receiver echoes.
    fn on_notice(&self, _state: &mut Self::State, _notice: &Notice<'_>) {}
    /// Returns the payload bytes that may be in flight.
    fn window(&self, _state: &Self::State) -> u64 {
        u64::MAX
    }
    /// Returns the number of packets, from the first of the flow, that may be sent.
    fn limit(&self, _state: &Self::State) -> u32 {
        u32::MAX
    }
    /// Returns the rank of a flow with `left` bytes of payload that were never sent: the flow of the lowest rank
    /// sends next ([`Self::RANKED`]).
    fn rank(&self, _state: &Self::State, left: u64) -> u64 {
        left
    }
    /// Returns the moment of the next call of [`Self::on_timer`]; read after each other call.
    fn timer(&self, _state: &Self::State) -> Moment {
        Moment::NEVER
    }
    /// The timer of the flow expired. `peer` is the destination of frames to the receiver's half.
    fn on_timer(&self, _state: &mut Self::State, _flow: u32, _peer: Peer, _outbox: &mut Outbox) {}
    /// Adds the counts of a flow to [`Self::COUNTS`], except [`NOTIFICATIONS`]. Called at the end of the flow,
    /// and for flows under way at the end of the run.
    fn counts(&self, _state: &Self::State, _tally: &mut dyn Tally) {}
    /// Returns the start of the waiting packet after a notification; `due` is the start so far. By default
    /// the wait stays, and a new rate applies from the next packet on.
    fn due(&self, _state: &Self::State, due: Moment) -> Moment {
        due
    }
    /// Returns the notification of senders about marks.
    fn echo(&self) -> Option<Echo> {
        None
    }
}
