//! NDP: a first window at line rate, and afterwards one packet for each pull of the receiver.
//!
//! Models: the receiver answers a packet with an ACK and a trimmed header (`switch.trimming`) with a NACK;
//! each is worth one pull. All flows that end at a host share one pacer (`pulls/`), which pulls at `rate` of
//! the line, flows in turn. A pull releases a lost packet first, then a new packet, or is kept for a later
//! loss. A header that returns from a full switch (`return_to_sender`) waits for a pull, unless no pull is to
//! come or a quarter of the last twelve answers were ACKs. Packets are tracked as in `selective`. Source:
//! Handley et al. (SIGCOMM 2017); htsim (`ndp.cpp`); `docs/models/ndp.md`.
//! Simplifications: each pull is a frame of its own; answers and pulls take one path; all flows are pulled
//! alike. Invariants: packets sent are those of the first window, of pulls, of free bounces and of timeouts;
//! pulls are at most packets and headers that arrived.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::Word;
use xoff_units::{Duration, Moment};

use super::contract::{
    Arrival, News, Progress, Received, Replies, Transport, check_timeout, default_timeout,
};
use super::selective::{self, Selective};
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::hosts::pulls::{Demand, PULLS, Rules};
use crate::parts::count::Count;
use crate::parts::param_error::ParamError;
use crate::paths::line::Line;

/// `host.transport.ndp`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Packets that a flow sends unasked. Default: as many packets as fill the longest round trip of the
    /// network, with the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Share of its line that a host pulls, above 0 and up to 1.
    pub rate: f64,
    /// A packet without an answer for this time since its start counts as lost. The timeout matters if
    /// headers are lost. Default: 20ms, or twice the longest round trip without load if longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Duration>,
}

/// The timeout where no path is longer.
const RTO: Duration = Duration::ms(20);

impl Default for Params {
    fn default() -> Self {
        Self { window: None, rate: 0.99, rto: None }
    }
}

/// NDP with resolved parameters.
#[derive(Debug, Clone)]
pub struct Ndp {
    packets: Selective,
    window: u32,
    rate: f64,
}

/// Number of answers that a sender remembers.
const REMEMBERED: usize = 12;
/// A bounce is the fault of its path if at most this many remembered answers come on each ACK.
const PER_ACK: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Ack,
    Nack,
    Bounce,
}

/// The sender's state beside the state of packets.
#[derive(Debug, Clone)]
pub struct Sender {
    packets: Box<selective::Sender>,
    /// ACKs and NACKs, each of which is worth a pull.
    answers: u32,
    /// Answers and bounces so far, up to the size of the first window.
    heard: u32,
    recent: VecDeque<Heard>,
}

impl Word for Heard {
    fn word(&self) -> u64 {
        *self as u64
    }
}

state!(Sender {
    part: packets;
    granted: answers;
    value: heard, recent;
});

impl Sender {
    fn hear(&mut self, heard: Heard, window: u32) {
        self.answers += u32::from(heard != Heard::Bounce);
        self.heard = (self.heard + 1).min(window);
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(heard);
    }

    fn is_path_bad(&self) -> bool {
        let acks = self.recent.iter().filter(|heard| **heard == Heard::Ack).count();
        acks > 0 && self.recent.len() / acks <= PER_ACK
    }
}

impl Transport for Ndp {
    type Params = Params;
    type Sender = Box<Sender>;
    type Receiver = selective::Receiver;
    const LABEL: &'static str = "NDP";
    const FOLDS: bool = true;
    const COUNTS: &'static [Count] = &[PULLS];
    const WINDOWS_HOLD_LOST: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> = Some((
        "trimming",
        "NDP learns of losses by timeouts alone, as no switch trims packets, and pulls are missing; set switch.trimming",
    ));

    fn settled(params: &Params, line: Line) -> Params {
        let filled = line.product(line.answered) / line.framing.largest() as f64;
        Params {
            window: Some(params.window.unwrap_or(filled.ceil().clamp(1.0, f64::from(u32::MAX)) as u32)),
            rto: Some(params.rto.unwrap_or_else(|| default_timeout(RTO, line))),
            ..params.clone()
        }
    }

    fn wants_round_trip(params: &Params) -> bool {
        params.window.is_none()
    }

    fn new(params: &Params, framing: &Framing) -> Self {
        let packets = Selective::new(
            &selective::Params { rto: params.rto.or(Some(RTO)), ..selective::Params::default() },
            framing,
        );
        Self { packets, window: params.window.unwrap_or(1), rate: params.rate }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        let packet = line.framing.largest() as f64;
        line.small_window("window", params.window.map(|packets| f64::from(packets) * packet))
    }

    fn validate(params: &Params, _: &Framing) -> Result<(), ParamError> {
        if params.window == Some(0) {
            return Err(("window", "must be above zero, as a pull answers a packet".into()));
        }
        if !(params.rate > 0.0 && params.rate <= 1.0) {
            return Err((
                "rate",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", params.rate),
            ));
        }
        check_timeout("rto", params.rto)?;
        Ok(())
    }

    fn pulls(&self, line: Line) -> Option<Rules> {
        let time = line.rate.time(line.framing.largest());
        let time = if self.rate < 1.0 { Duration::of_real(time.real() / self.rate) } else { time };
        Some(Rules {
            part: "ndp",
            first: u64::from(self.window),
            batch: 1,
            time,
            demand: Demand::Arrivals,
            adaption: None,
        })
    }

    fn sender(&self) -> Box<Sender> {
        Box::new(Sender { packets: self.packets.sender(), answers: 0, heard: 0, recent: VecDeque::new() })
    }

    fn next(&self, state: &Progress, sender: &Box<Sender>) -> Option<u32> {
        self.packets.next(state, &sender.packets)
    }

    fn on_sent(&self, state: &mut Progress, sender: &mut Box<Sender>, seq: u32, now: Moment) {
        self.packets.on_sent(state, &mut sender.packets, seq, now);
    }

    fn in_flight(&self, state: &Progress, sender: &Box<Sender>) -> u32 {
        self.packets.in_flight(state, &sender.packets)
    }

    fn delivered(&self, state: &Progress, sender: &Box<Sender>) -> u32 {
        self.packets.delivered(state, &sender.packets)
    }

    fn on_answer(&self, state: &mut Progress, sender: &mut Box<Sender>, frame: &Packet) -> News {
        sender.hear(if frame.kind() == Kind::Nack { Heard::Nack } else { Heard::Ack }, self.window);
        self.packets.on_answer(state, &mut sender.packets, frame)
    }

    /// Lets a packet leave at once if no packet of the flow can bring a pull, or if only the path was
    /// congested.
    fn on_bounce(&self, state: &mut Progress, sender: &mut Box<Sender>, seq: u32, pulled: u32) -> bool {
        self.packets.on_bounce(state, &mut sender.packets, seq, pulled);
        sender.hear(Heard::Bounce, self.window);
        let of_first_window = self.window.min(state.packets).saturating_sub(sender.heard);
        let awaits_pull = sender.answers > pulled;
        (!awaits_pull && of_first_window <= 1) || sender.is_path_bad()
    }

    fn on_timeout(&self, state: &mut Progress, sender: &mut Box<Sender>, now: Moment) -> u32 {
        self.packets.on_timeout(state, &mut sender.packets, now)
    }

    fn deadline(&self, state: &Progress, sender: &Box<Sender>, now: Moment) -> Moment {
        self.packets.deadline(state, &sender.packets, now)
    }

    fn timeouts(&self) -> (Duration, Duration) {
        self.packets.timeouts()
    }

    fn on_data(
        &self,
        received: &mut Received,
        kept: &mut selective::Receiver,
        packet: &Packet,
        replies: &mut Replies,
    ) -> Arrival {
        self.packets.on_data(received, kept, packet, replies)
    }

    fn on_header(
        &self,
        received: &mut Received,
        kept: &mut selective::Receiver,
        header: &Packet,
        replies: &mut Replies,
    ) {
        self.packets.on_header(received, kept, header, replies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of a hundred packets of which the first window has been sent.
    fn begun() -> (Ndp, Progress, Box<Sender>) {
        let ndp = Ndp::new(&Params { window: Some(15), ..Params::default() }, &Framing::for_tests());
        let (mut state, mut sender) = (Progress { packets: 100, ..Progress::default() }, ndp.sender());
        for seq in 0..15 {
            assert_eq!(ndp.next(&state, &sender), Some(seq));
            ndp.on_sent(&mut state, &mut sender, seq, Moment::ZERO);
        }
        (ndp, state, sender)
    }

    fn answer(kind: Kind, seq: u32, answers: u32) -> Packet {
        let mut frame = Packet::new(kind, 0, seq, 0, 64, 0);
        frame.set_answers(answers);
        frame
    }

    #[test]
    fn what_comes_back_waits_for_a_pull_unless_none_is_to_come() {
        let (ndp, mut state, mut sender) = begun();
        // Fourteen others are under way, each of which may bring a pull; then none is.
        for seq in 0..15 {
            assert_eq!(ndp.on_bounce(&mut state, &mut sender, seq, 0), seq >= 13, "{seq}");
        }
        assert_eq!(ndp.next(&state, &sender), Some(0));
        // The receiver has heard of it now, and will pull.
        ndp.on_sent(&mut state, &mut sender, 0, Moment::ZERO);
        ndp.on_answer(&mut state, &mut sender, &answer(Kind::Nack, 0, 0));
        ndp.on_sent(&mut state, &mut sender, 1, Moment::ZERO);
        assert!(!ndp.on_bounce(&mut state, &mut sender, 1, 0));
        ndp.on_sent(&mut state, &mut sender, 1, Moment::ZERO);
        assert!(ndp.on_bounce(&mut state, &mut sender, 1, 1));
    }

    #[test]
    fn where_packets_arrive_a_path_alone_was_bad() {
        for (acks, is_bad) in [(2, false), (3, true)] {
            let (ndp, mut state, mut sender) = begun();
            for seq in 0..acks {
                ndp.on_answer(&mut state, &mut sender, &answer(Kind::Ack, seq + 1, 0));
            }
            // Seven NACKs and a header that came back.
            for seq in acks..acks + 7 {
                ndp.on_answer(&mut state, &mut sender, &answer(Kind::Nack, acks, seq));
            }
            assert_eq!(ndp.on_bounce(&mut state, &mut sender, 14, 0), is_bad, "{acks} of {}", acks + 8);
        }
    }

    #[test]
    fn only_the_last_twelve_answers_count() {
        let (_, _, mut sender) = begun();
        sender.hear(Heard::Ack, 15);
        for _ in 0..2 {
            sender.hear(Heard::Nack, 15);
        }
        assert!(sender.is_path_bad());
        for _ in 0..REMEMBERED {
            sender.hear(Heard::Bounce, 15);
        }
        assert!(!sender.is_path_bad());
        assert_eq!((sender.answers, sender.heard), (3, 15));
    }

    #[test]
    fn pulls_are_a_packet_apart() {
        // 9000 B and 64 B of headers at 10 Gb/s: 7.2512 us; at nine tenths of that 8.0568 us. In 12 us two of
        // them begin.
        let framing = Framing { payload: 9000, header: 64, control: 64, minimum: 64 };
        let line = Line { rate: xoff_units::Rate::gbps(10), framing, ..Line::for_tests(Duration::us(12)) };
        for (rate, spacing) in [(1.0, 7_251_200), (0.9, 8_056_888)] {
            let params = Ndp::settled(&Params { rate, ..Params::default() }, line);
            let rules = Ndp::new(&params, &framing).pulls(line).unwrap();
            assert_eq!((rules.time, rules.first, rules.batch), (Duration(spacing), 2, 1));
        }
    }
}
