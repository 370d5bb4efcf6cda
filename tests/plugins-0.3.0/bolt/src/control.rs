//! Bolt at a source: a window that signals of switches lower within less than a round trip.
//!
//! Models: an acknowledgement with the increase bit adds a packet to the window. One packet in each round
//! trip carries the additive bit, and its acknowledgement adds a packet. A signal takes a packet from the
//! window, at most once in `round trip of the signal / packets of the flow in the queue`. Packets of a flow
//! keep the distance of the line. The flow announces its end with the last window. Source: the authors' ns-3
//! code (`BoltL4Protocol::HandleAck`, `HandleBts`, `UpdateCwndAsBolt`).
//! Simplifications: no fallback for signals that are lost; a loss halves the window at most once in a round
//! trip. Invariants: the window is at least 15 bytes and at most `maximum_window`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::congestion_control::contract::{
    Ack, Control, Count, Hosts, Line, Loss, NOTIFICATIONS, NewFlow, Notice, Sent, Tag, TagField,
};
use xoff_models::packet::Packet;
use xoff_models::param_error::ParamError;
use xoff_models::state;
use xoff_units::{Bytes, Duration, Moment, Rate};

use crate::{Signal, bits};

/// `host.congestion_control.plugins.bolt`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The first window. Default: the product of the line rate and the longest round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Bytes>,
    /// The largest window. Default: 373760 bytes, as in the authors' code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_window: Option<Bytes>,
}

const MAXIMUM_WINDOW: Bytes = Bytes(373_760);
/// The smallest window, in bytes (`MinCwnd`).
const MINIMUM_WINDOW: f64 = 15.0;

/// Bolt on a line.
#[derive(Debug, Clone)]
pub struct Bolt {
    rate: Rate,
    initial: f64,
    maximum: f64,
    /// Payload and wire bytes of a full packet.
    payload: f64,
    largest: f64,
}

/// The window of a flow.
#[derive(Debug, Clone)]
pub struct State {
    window: f64,
    /// The last round trip; none before the first acknowledgement.
    round_trip: Option<Duration>,
    decreased: Moment,
    /// The next packet carries the additive bit.
    adds: bool,
    /// The oldest packet without acknowledgement, and the next packet.
    acknowledged: u32,
    next: u32,
    /// No packet starts before.
    resumes: Moment,
}

state!(State {
    value: window, round_trip, adds;
    packet: acknowledged, next;
    moment: decreased;
    due: resumes;
});

impl Bolt {
    fn set(&self, state: &mut State, window: f64) {
        state.window = window.clamp(MINIMUM_WINDOW, self.maximum);
    }

    /// Returns the wait for a packet that the window has some room for, but not in full.
    fn wait(&self, state: &State) -> Option<Duration> {
        let under_way = f64::from(state.next.saturating_sub(state.acknowledged)) * self.payload;
        let room = state.window - under_way;
        let round_trip = state.round_trip.filter(|_| room > 0.0 && room < self.payload)?;
        Some(Duration::of_real(round_trip.real() * self.payload / state.window))
    }
}

impl Control for Bolt {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "Bolt";
    const COUNTS: &'static [Count] = &[NOTIFICATIONS];
    const HEARS_ACKS: bool = true;
    const TAG: Tag = Tag::Echoed;
    const TAG_BITS: u8 = bits::COUNT;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some((
        "bolt",
        "Bolt adds one packet in each round trip alone, as no switch sends signals; set switch.plugins.bolt",
    ));

    fn settled(params: &Params, line: Line) -> Params {
        let product = Bytes(line.product(line.answered) as u64);
        Params {
            initial_window: Some(params.initial_window.unwrap_or(product)),
            maximum_window: Some(params.maximum_window.unwrap_or(Bytes(MAXIMUM_WINDOW.0.max(product.0)))),
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = Self::settled(params, line);
        let maximum = params.maximum_window.unwrap_or(MAXIMUM_WINDOW).0 as f64;
        Self {
            rate: line.rate,
            initial: (params.initial_window.unwrap_or(MAXIMUM_WINDOW).0 as f64).min(maximum),
            maximum,
            payload: line.framing.payload as f64,
            largest: line.framing.largest() as f64,
        }
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        for (key, window) in
            [("initial_window", params.initial_window), ("maximum_window", params.maximum_window)]
        {
            if window.is_some_and(|window| window.0 < hosts.framing.payload) {
                return Err((
                    key,
                    format!("must be {} bytes or more, the payload of a packet", hosts.framing.payload),
                ));
            }
        }
        hosts.must_answer("no bits of switches")
    }

    /// The flow announces its end in the last window.
    fn looks_ahead(&self) -> u64 {
        (self.maximum + self.payload) as u64
    }

    fn start(&self, _: &NewFlow) -> State {
        State {
            window: self.initial,
            round_trip: None,
            decreased: Moment::ZERO,
            adds: true,
            acknowledged: 0,
            next: 0,
            resumes: Moment::ZERO,
        }
    }

    fn on_sent(&self, state: &mut State, packet: &mut Packet, sent: Sent) -> Duration {
        let left = sent.left as f64;
        let (is_first, is_last) = (state.round_trip.is_none(), left <= state.window);
        let mut tag = 0;
        if is_first {
            tag |= bits::FIRST;
        } else if !is_last {
            tag |= bits::INCREASE;
        }
        if is_last {
            tag |= bits::LAST;
        }
        if std::mem::take(&mut state.adds) {
            tag |= bits::ADDITIVE;
        }
        packet.set_tag_of(TagField::lowest(bits::COUNT), tag);
        state.next = packet.seq() + 1;
        let pace = self.wait(state).unwrap_or_else(|| self.rate.serializer().time(sent.bytes));
        state.resumes = sent.now + pace;
        pace
    }

    fn on_ack(&self, state: &mut State, ack: &Ack<'_>) {
        state.round_trip = ack.rtt.or(state.round_trip);
        let mut window = state.window;
        if ack.tag & bits::ADDITIVE != 0 {
            state.adds = true;
            window += self.payload;
        }
        if ack.tag & (bits::INCREASE | bits::DECREASE) == bits::INCREASE {
            window += self.payload;
        }
        self.set(state, window);
        state.acknowledged = ack.acknowledged;
        if state.resumes <= ack.now {
            state.resumes = ack.now + self.wait(state).unwrap_or_default();
        }
    }

    fn due(&self, state: &State, due: Moment) -> Moment {
        due.max(state.resumes)
    }

    fn on_loss(&self, state: &mut State, _: Loss, now: Moment) {
        if now >= state.decreased + state.round_trip.unwrap_or_default() {
            self.set(state, state.window * 0.5);
            (state.decreased, state.adds) = (now, true);
        }
    }

    fn hears(notice: &Packet) -> bool {
        notice.payload::<Signal>().is_some()
    }

    fn on_notice(&self, state: &mut State, notice: &Notice<'_>) {
        let (Some(signal), Some(sent)) = (notice.frame.payload::<Signal>(), notice.sent) else { return };
        if state.window <= self.payload {
            return self.set(state, state.window * 0.5);
        }
        // Bits a second, and the packets of the flow among the packets that wait.
        let rate = state.round_trip.map_or(self.rate.real(), |time| state.window * 8e12 / time.real());
        let share = f64::from(signal.drain) / 1e9 * rate / (self.largest * 8.0);
        let interval = Duration::of_real((notice.now - sent).real() / share);
        if notice.now >= state.decreased + interval {
            self.set(state, state.window - self.payload);
            state.decreased = notice.now;
        }
    }

    fn window(&self, state: &State) -> u64 {
        state.window as u64
    }
}

#[cfg(test)]
mod tests {
    use xoff_models::frames::Index;

    use super::*;

    #[test]
    fn a_signal_takes_a_packet_once_in_the_time_of_the_flows_share() {
        // Frames of a plug-in have numbers once the plug-in is installed.
        xoff_models::plugins::install(vec![&crate::PLUGIN]).unwrap();
        let line = Line::for_tests(Duration::us(8));
        let bolt = Bolt::new(&Params { initial_window: Some(Bytes(100_000)), maximum_window: None }, line);
        let mut state = bolt.start(&NewFlow::for_tests());
        state.round_trip = Some(Duration::us(8));
        // The flow has 100 Gb/s, and the queue takes 800 ns: of ten packets' time all are its own, if a packet
        // takes 80 ns. A signal after 4 us is good for 400 ns.
        let drain = (10.0 * bolt.largest * 8.0 / 100.0) as u32;
        let frame = Packet::with(Signal { packet: Index(3), drain }, 1, 0, 64, 0);
        let at = |ns: u64| Notice { frame: &frame, sent: Some(Moment::ns(ns - 4_000)), now: Moment::ns(ns) };
        for (ns, packets) in [(10_000, 1.0), (10_390, 1.0), (10_410, 2.0)] {
            bolt.on_notice(&mut state, &at(ns));
            assert!((state.window - (100_000.0 - packets * bolt.payload)).abs() < 1.0, "{ns}");
        }
    }

    #[test]
    fn bits_of_acknowledgements_raise_the_window() {
        let bolt = Bolt::new(&Params::default(), Line::for_tests(Duration::us(8)));
        let mut state = State { window: 20_000.0, ..bolt.start(&NewFlow::for_tests()) };
        let ack = |tag| Ack {
            bytes: 1000,
            in_flight: 0,
            acknowledged: 1,
            next: 2,
            is_marked: false,
            is_loss: false,
            rtt: Some(Duration::us(8)),
            hops: 1,
            beside: None,
            tag,
            now: Moment::us(9),
        };
        for (tag, packets) in [
            (0, 0.0),
            (bits::INCREASE, 1.0),
            (bits::INCREASE | bits::DECREASE, 1.0),
            (bits::ADDITIVE | bits::DECREASE, 2.0),
        ] {
            bolt.on_ack(&mut state, &ack(tag));
            assert!((state.window - (20_000.0 + packets * bolt.payload)).abs() < 1e-6);
        }
        let sent = Sent { key: 0, bytes: 1064, is_queue_empty: false, left: 1 << 30, now: Moment::us(10) };
        let mut packet = Packet::default();
        bolt.on_sent(&mut state, &mut packet, sent);
        assert_eq!(packet.tag(), bits::INCREASE | bits::ADDITIVE);
        bolt.on_sent(&mut state, &mut packet, Sent { left: 0, ..sent });
        assert_eq!(packet.tag(), bits::LAST);
    }
}
