//! NSCC, Network Signal-based Congestion Control of Ultra Ethernet: a window from marks, delays and trims.
//!
//! Models: each answer tells the delay above the smallest round trip, and the mark of its packet. Without a
//! mark the window grows: below the target by the distance, above by a fair share, and without delay for a
//! whole window by a quarter of the arrivals. A mark with a delay above the target cuts once per round trip,
//! by `gamma` of the excess of an average delay. A trimmed packet takes its size. Quick adaption: after a
//! trim, or a delay of four targets, the window falls to the recent arrivals if these are below an eighth of
//! the largest window. Source: the public simulator of Ultra Ethernet (`uec.cpp`), not the text of the
//! specification; `docs/models/nscc.md`. Simplifications: no penalty by receivers; the smallest round trip is
//! learned from the flow's own answers. Invariants: a packet ≤ window ≤ `maximum` products; k trimmed packets
//! take k packets, or less with quick adaption.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state::{self, StateVisitor, Word};
use xoff_units::{Duration, Moment};

use super::contract::{Ack, Control, Echo, Hosts, Line, Loss, NewFlow, Sent};
use crate::frames::packet::Packet;
use crate::parts::param_error::ParamError;

/// `host.congestion_control.nscc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The longest round trip without queues. A flow's smallest round trip begins with this value and only
    /// falls. Default: that of the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// Target delay. Default: three quarters of the round trip if switches trim packets, otherwise the round
    /// trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Duration>,
    /// Packets by which a window grows each round trip of 12us, for each 12us of distance to the target and
    /// 150KB of product.
    pub proportional_increase: f64,
    /// Packets by which a window above the target grows each window, for each 150KB of product.
    pub fair_increase: f64,
    /// Share of the arrivals by which a window without delay grows, for each 150KB of product.
    pub fast_increase: f64,
    /// Packets by which a window always grows each round trip, for each 150KB of product.
    pub additive_increase: f64,
    /// Share of the excess delay by which a window shrinks, 0 to 1.
    pub gamma: f64,
    /// After a trim or a long delay the window falls to the bytes that arrived.
    pub quick_adapt: bool,
    /// The largest window, and the first: products of the line's rate and a flow's round trip.
    pub maximum: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            round_trip: None,
            target: None,
            proportional_increase: 4.0,
            fair_increase: 5.0,
            fast_increase: 0.25,
            additive_increase: 0.15,
            gamma: 0.8,
            quick_adapt: true,
            maximum: 1.5,
        }
    }
}

/// The network for which the increases are stated: 100 Gb/s and 12 us.
const REFERENCE_ROUND_TRIP: f64 = 12e6;
const REFERENCE_PRODUCT: f64 = 150_000.0;
/// Weight of a sample in the average delay.
const WEIGHT: f64 = 0.0125;
/// A delay below this bound, 1 us, counts as none.
const NO_DELAY: f64 = 1e6;
/// Packets that arrive between two growths, unless a round trip passes.
const BATCH: f64 = 8.0;
/// Quick adaption: the delay in targets that triggers it, and the inverse share of the largest window above
/// which it does not act.
const LONG: f64 = 4.0;
const GATE: f64 = 8.0;

/// Parameters resolved for one line; times are picoseconds, windows bytes on the wire.
#[derive(Debug, Clone)]
pub struct Nscc {
    round_trip: f64,
    target: f64,
    /// Bytes of growth for each arriving byte and each picosecond of distance to the target.
    proportional: f64,
    fair: f64,
    fast: f64,
    additive: f64,
    gamma: f64,
    quick_adapt: bool,
    /// The largest window for each picosecond of round trip.
    maximum: f64,
    payload: u64,
    packet: f64,
}

/// A flow's window and the state behind the window.
#[derive(Debug, Clone)]
pub struct State {
    window: f64,
    /// The smallest round trip so far; initially that of the network.
    base: f64,
    /// The average delay.
    average: f64,
    /// Growth to come, times the window.
    growth: f64,
    /// Bytes that arrived since the last growth.
    received: f64,
    /// Bytes that arrived in a row without delay.
    undelayed: f64,
    is_fast: bool,
    last_cut: Option<Moment>,
    last_step: Moment,
    /// Bytes that arrived since the last decision of quick adaption, and the time of the next.
    achieved: f64,
    adapts_at: Option<Moment>,
    is_triggered: bool,
    /// After a quick adaption: bytes in flight at that time, and the bytes answered since.
    to_ignore: f64,
    ignored: f64,
}

impl state::State for State {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            window,
            base,
            average,
            growth,
            received,
            undelayed,
            is_fast,
            last_cut,
            last_step,
            achieved,
            adapts_at,
            is_triggered,
            to_ignore,
            ignored,
        } = self;
        for word in [window, average, growth, received, undelayed, achieved, to_ignore, ignored] {
            walk.value(word.word());
        }
        walk.value((*base, *is_fast, *is_triggered).word());
        // A round trip after a cut it does not matter any more when that was: the smallest round trip does
        // not grow.
        let recent = last_cut.as_mut().filter(|cut| walk.now().since(**cut).real() <= *base);
        walk.value(recent.is_some().into());
        if let Some(cut) = recent {
            walk.moment(cut);
        }
        walk.value(adapts_at.is_some().into());
        if let Some(at) = adapts_at {
            walk.due(at);
        }
        walk.moment(last_step);
    }
}

impl Nscc {
    fn largest(&self, s: &State) -> f64 {
        (self.maximum * s.base).max(self.packet)
    }

    /// Lets the window fall to the arrived bytes if quick adaption is due. True when the present answer is to
    /// be ignored.
    fn adapts(&self, s: &mut State, is_bad: bool, is_loss: bool, delay: f64, ack: &Ack<'_>) -> bool {
        if !self.quick_adapt {
            return false;
        }
        if is_bad && s.ignored < s.to_ignore {
            return true;
        }
        if s.adapts_at.is_some_and(|at| ack.now <= at) {
            return false;
        }
        let is_called_for = s.is_triggered || is_loss || delay > LONG * self.target;
        let acts = s.adapts_at.is_some() && is_called_for && s.achieved < self.largest(s) / GATE;
        if acts {
            s.window = s.window.min(s.achieved.max(self.packet));
            (s.to_ignore, s.ignored) = (self.on_wire(ack.in_flight), 0.0);
            s.is_triggered = false;
        }
        s.achieved = 0.0;
        s.adapts_at = Some(ack.now + Duration::of_real(s.base + self.target));
        acts
    }

    /// Returns the payload with headers.
    fn on_wire(&self, payload: u64) -> f64 {
        payload as f64 / self.payload as f64 * self.packet
    }

    fn average(s: &mut State, sample: f64) {
        s.average = (1.0 - WEIGHT) * s.average + WEIGHT * sample;
    }

    fn on_trim(&self, s: &mut State, ack: &Ack<'_>) {
        Self::ignore(s, self.packet);
        Self::average(s, self.round_trip);
        s.is_triggered = true;
        if self.adapts(s, true, true, self.round_trip, ack) {
            (s.growth, s.received) = (0.0, 0.0);
        } else {
            s.window -= self.packet;
        }
    }

    /// Handles an arrival. An arrival without a round trip is only counted.
    fn on_arrival(&self, s: &mut State, delay: Option<f64>, ack: &Ack<'_>) {
        let arrived = self.on_wire(ack.bytes);
        Self::ignore(s, arrived);
        // Nobody asks otherwise.
        if self.quick_adapt {
            s.achieved += arrived;
        }
        s.received += arrived;
        let Some(delay) = delay else { return };
        let sample = if !ack.is_marked && delay > self.target { s.base / 4.0 } else { delay };
        Self::average(s, sample);
        if self.adapts(s, ack.is_marked, false, delay, ack) {
            (s.growth, s.received) = (0.0, 0.0);
            return;
        }
        match (ack.is_marked, delay < self.target) {
            (false, false) => s.growth += self.fair * arrived,
            (false, true) => self.grow(s, delay, arrived),
            (true, false) => self.cut(s, ack.now),
            (true, true) => {}
        }
        let is_step = (ack.now - s.last_step).real() >= self.round_trip;
        if is_step || s.received > BATCH * self.packet {
            s.window += s.growth / s.window;
            (s.growth, s.received) = (0.0, 0.0);
        }
        if is_step {
            s.window += self.additive;
            s.last_step = ack.now;
        }
    }

    /// Counts bytes that may be ignored, up to the bytes to ignore.
    fn ignore(s: &mut State, arrived: f64) {
        if s.ignored < s.to_ignore {
            s.ignored += arrived;
        }
    }

    fn grow(&self, s: &mut State, delay: f64, arrived: f64) {
        if delay >= NO_DELAY {
            (s.is_fast, s.undelayed) = (false, 0.0);
        } else if !s.is_fast {
            s.undelayed += arrived;
            s.is_fast = s.undelayed > s.window;
        }
        if s.is_fast {
            s.window += self.fast * arrived;
        } else {
            s.growth += self.proportional * arrived * (self.target - delay);
        }
    }

    fn cut(&self, s: &mut State, now: Moment) {
        (s.is_fast, s.undelayed) = (false, 0.0);
        let is_over = s.last_cut.is_none_or(|last| (now - last).real() > s.base);
        if s.average > self.target && is_over {
            s.window *= (1.0 - self.gamma * (s.average - self.target) / s.average).max(0.5);
            s.last_cut = Some(now);
        }
    }
}

impl Control for Nscc {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "NSCC";
    const FOLDS: bool = true;
    const HEARS_ACKS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("ecn", "NSCC reacts to losses alone, as no switch marks packets; set switch.ecn"));

    fn settled(params: &Params, line: Line) -> Params {
        let round_trip = params.round_trip.unwrap_or(line.answered);
        let target = if line.trims { Duration(round_trip.ps() / 4 * 3) } else { round_trip };
        Params {
            round_trip: Some(round_trip),
            target: Some(params.target.unwrap_or(target)),
            ..params.clone()
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = &Self::settled(params, line);
        let round_trip = params.round_trip.unwrap_or_default();
        let scale = line.product(round_trip) / REFERENCE_PRODUCT;
        let round_trip = round_trip.ps().max(1) as f64;
        let (payload, packet) = (line.framing.payload, line.framing.largest() as f64);
        let packets = payload as f64 * scale;
        Self {
            round_trip,
            target: params.target.unwrap_or_default().real(),
            proportional: params.proportional_increase * packets / REFERENCE_ROUND_TRIP,
            fair: params.fair_increase * packets,
            fast: params.fast_increase * scale,
            additive: params.additive_increase * packets,
            gamma: params.gamma,
            quick_adapt: params.quick_adapt,
            maximum: params.maximum * line.rate.real() / 8e12,
            payload,
            packet,
        }
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.short_round_trip(params.round_trip)
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        for (key, time) in [("round_trip", params.round_trip), ("target", params.target)] {
            if time.is_some_and(|t| t < Duration::ns(10) || t > Duration::ms(1_000)) {
                return Err((key, "allowed are 10ns to 1s".into()));
            }
        }
        if !(params.gamma > 0.0 && params.gamma <= 1.0) {
            return Err((
                "gamma",
                format!("{} is out of range; allowed are numbers above 0 and up to 1", params.gamma),
            ));
        }
        let gains = [
            ("proportional_increase", params.proportional_increase),
            ("fair_increase", params.fair_increase),
            ("fast_increase", params.fast_increase),
            ("additive_increase", params.additive_increase),
        ];
        for (key, gain) in gains {
            if !(0.0..=1e3).contains(&gain) {
                return Err((key, format!("{gain} is out of range; allowed are 0 to 1000")));
            }
        }
        if !(0.1..=100.0).contains(&params.maximum) {
            return Err(("maximum", format!("{} is out of range; allowed are 0.1 to 100", params.maximum)));
        }
        hosts.must_answer("neither mark nor delay")
    }

    fn start(&self, _: &NewFlow) -> State {
        State {
            window: (self.maximum * self.round_trip).max(self.packet),
            base: self.round_trip,
            average: 0.0,
            growth: 0.0,
            received: 0.0,
            undelayed: 0.0,
            is_fast: false,
            last_cut: None,
            last_step: Moment::ZERO,
            achieved: 0.0,
            adapts_at: None,
            is_triggered: false,
            to_ignore: 0.0,
            ignored: 0.0,
        }
    }

    fn on_sent(&self, _: &mut State, _: &mut Packet, _: Sent) -> Duration {
        Duration::ZERO
    }

    fn on_ack(&self, s: &mut State, ack: &Ack<'_>) {
        let rtt = ack.rtt.map(Duration::real);
        if let Some(rtt) = rtt {
            s.base = s.base.min(rtt);
        }
        if ack.is_loss {
            self.on_trim(s, ack);
        } else {
            self.on_arrival(s, rtt.map(|rtt| rtt - s.base), ack);
        }
        s.window = s.window.min(self.largest(s)).max(self.packet);
    }

    /// Handles timeouts; [`Self::on_ack`] handles losses that an answer reports.
    fn on_loss(&self, s: &mut State, loss: Loss, _: Moment) {
        if loss == Loss::Timeout {
            s.window = (s.window - self.packet).max(self.packet);
        }
    }

    /// True for an ACK with an echoed mark; [`Self::on_ack`] handles the mark.
    fn hears(notice: &Packet) -> bool {
        notice.has(Packet::ECHO)
    }

    /// Whole packets.
    fn window(&self, s: &State) -> u64 {
        (s.window / self.packet) as u64 * self.payload
    }

    fn echo(&self) -> Option<Echo> {
        Some(Echo::EVERY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: f64 = 1e6;
    /// Bytes of a packet on the wire, of which 1000 are payload.
    const PACKET: f64 = 1250.0;

    fn nscc(quick_adapt: bool) -> Nscc {
        let line = Line::for_tests(Duration::us(12));
        Nscc::new(&Params { quick_adapt, ..Params::default() }, line)
    }

    /// A flow with a smallest round trip of 12 us and a last step at 100 us.
    fn flow(c: &Nscc, window: f64) -> State {
        State { window, base: 12.0 * US, last_step: Moment::us(100), ..c.start(&NewFlow::for_tests()) }
    }

    /// An answer at 100 us and `at_ns`, to a packet with a delay of `delay_ns`.
    fn answer(at_ns: u64, delay_ns: u64, is_marked: bool) -> Ack<'static> {
        Ack {
            bytes: 1000,
            in_flight: 50_000,
            acknowledged: 1,
            next: 2,
            is_marked,
            is_loss: false,
            rtt: Some(Duration::us(12) + Duration::ns(delay_ns)),
            hops: 3,
            beside: None,
            tag: 0,
            now: Moment::us(100) + Duration::ns(at_ns),
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-6 * b.abs()
    }

    #[test]
    fn a_flow_begins_with_one_and_a_half_products() {
        let c = nscc(true);
        assert!(near(c.start(&NewFlow::for_tests()).window, 225_000.0) && near(c.target, 9.0 * US));
        // 180 packets of 1250 bytes.
        assert_eq!(c.window(&c.start(&NewFlow::for_tests())), 180_000);
        // A smaller round trip bounds it further.
        let mut s = flow(&c, 225_000.0);
        c.on_ack(&mut s, &Ack { rtt: Some(Duration::us(6)), ..answer(0, 0, false) });
        assert!(near(s.window, 112_500.0));
    }

    #[test]
    fn below_the_target_a_window_grows_by_the_distance() {
        // Nine packets, 4 us below the target of 9 us: 4·1000/12·4 for each byte, over the window.
        let c = nscc(false);
        let mut s = flow(&c, 100_000.0);
        for k in 0..8 {
            c.on_ack(&mut s, &answer(k, 5000, false));
        }
        assert!(near(s.window, 100_000.0), "not before more than eight have arrived");
        c.on_ack(&mut s, &answer(8, 5000, false));
        assert!(near(s.window, 100_000.0 + 4000.0 / 12.0 * 4.0 * 9.0 * PACKET / 100_000.0), "{}", s.window);
    }

    #[test]
    fn above_the_target_it_grows_by_a_fair_share() {
        let c = nscc(false);
        let mut s = flow(&c, 100_000.0);
        for k in 0..9 {
            c.on_ack(&mut s, &answer(k, 9500, false));
        }
        assert!(near(s.window, 100_000.0 + 5000.0 * 9.0 * PACKET / 100_000.0), "{}", s.window);
    }

    #[test]
    fn each_round_trip_adds_a_step() {
        // With a mark and a short delay nothing else changes.
        let c = nscc(false);
        let mut s = flow(&c, 100_000.0);
        for us in [11, 12, 23, 24] {
            c.on_ack(&mut s, &answer(us * 1000, 100, true));
        }
        assert!(near(s.window, 100_000.0 + 2.0 * 150.0), "{}", s.window);
    }

    #[test]
    fn without_delay_for_a_window_it_grows_by_a_quarter_of_what_arrives() {
        let c = nscc(false);
        let mut s = flow(&c, 4.5 * PACKET);
        for k in 0..4 {
            c.on_ack(&mut s, &answer(k, 900, false));
        }
        assert!(near(s.window, 4.5 * PACKET));
        c.on_ack(&mut s, &answer(4, 900, false));
        assert!(near(s.window, 4.75 * PACKET));
        // A delay of a microsecond ends it.
        c.on_ack(&mut s, &answer(5, 1000, false));
        c.on_ack(&mut s, &answer(6, 900, false));
        assert!(near(s.window, 4.75 * PACKET) && !s.is_fast);
    }

    #[test]
    fn marks_cut_by_the_average_delay_once_a_round_trip() {
        let c = nscc(false);
        let mut s = State { average: 18.0 * US, ..flow(&c, 100_000.0) };
        // The sample is as long as the average: 1 − 0.8·(18 − 9)/18.
        c.on_ack(&mut s, &answer(1, 18_000, true));
        assert!(near(s.window, 60_000.0), "{}", s.window);
        c.on_ack(&mut s, &answer(12_001, 18_000, true));
        assert!(near(s.window, 60_000.0 + 150.0), "only the step of a round trip: {}", s.window);
        c.on_ack(&mut s, &answer(12_002, 18_000, true));
        assert!(near(s.window, 60_150.0 * 0.6));
        // An average below the target cuts nothing, and no cut takes more than a half.
        let mut s = State { average: 2.0 * US, ..flow(&c, 100_000.0) };
        c.on_ack(&mut s, &answer(1, 18_000, true));
        assert!(near(s.window, 100_000.0));
        let mut s = State { average: 900.0 * US, ..flow(&c, 100_000.0) };
        c.on_ack(&mut s, &answer(1, 18_000, true));
        assert!(near(s.window, 50_000.0));
    }

    #[test]
    fn delays_without_marks_hardly_move_the_average() {
        let c = nscc(false);
        let mut s = State { average: 8.0 * US, ..flow(&c, 100_000.0) };
        c.on_ack(&mut s, &answer(1, 20_000, false));
        assert!(near(s.average, 8.0 * US * 0.9875 + 3.0 * US * 0.0125), "a quarter of the round trip counts");
        c.on_ack(&mut s, &answer(2, 5000, false));
        assert!(near(s.average, (8.0 * 0.9875 + 3.0 * 0.0125) * 0.9875 * US + 5.0 * US * 0.0125));
    }

    #[test]
    fn trims_take_their_packets() {
        let c = nscc(false);
        let mut s = flow(&c, 100_000.0);
        let trim = |at| Ack { is_loss: true, bytes: 0, ..answer(at, 30_000, false) };
        for k in 0..7 {
            c.on_ack(&mut s, &trim(k));
        }
        assert!(near(s.window, 100_000.0 - 7.0 * PACKET));
        c.on_loss(&mut s, Loss::Timeout, Moment::us(200));
        assert!(near(s.window, 100_000.0 - 8.0 * PACKET));
        for k in 0..99 {
            c.on_ack(&mut s, &trim(100 + k));
        }
        assert_eq!((s.window, c.window(&s)), (PACKET, 1000));
    }

    #[test]
    fn quick_adaption_takes_a_window_to_what_arrived() {
        let c = nscc(true);
        let mut s = flow(&c, 200_000.0);
        let trim = |at| Ack { is_loss: true, bytes: 0, ..answer(at, 30_000, false) };
        // The first answer begins a span of 12 and 9 us; three packets arrive in it, and one is cut.
        c.on_ack(&mut s, &answer(0, 5000, true));
        for k in 1..=3 {
            c.on_ack(&mut s, &answer(k, 5000, true));
        }
        c.on_ack(&mut s, &trim(4));
        assert!(near(s.window, 200_000.0 - PACKET));
        c.on_ack(&mut s, &trim(21_001));
        assert!(near(s.window, 3.0 * PACKET), "{}", s.window);
        // What was under way then, 50 packets, is ignored where it was marked or cut.
        c.on_ack(&mut s, &trim(21_002));
        c.on_ack(&mut s, &answer(21_003, 40_000, true));
        assert!(near(s.window, 3.0 * PACKET));
        for k in 0..48 {
            c.on_ack(&mut s, &trim(21_004 + k));
        }
        assert!(near(s.window, 2.0 * PACKET), "the fiftieth counts: {}", s.window);
    }

    #[test]
    fn quick_adaption_leaves_a_flow_alone_that_gets_its_share() {
        // An eighth of the largest window is 28,125 bytes; 23 packets are more.
        let c = nscc(true);
        let mut s = State { average: 0.0, ..flow(&c, 200_000.0) };
        for k in 0..24 {
            c.on_ack(&mut s, &answer(k, 5000, true));
        }
        c.on_ack(&mut s, &Ack { is_loss: true, bytes: 0, ..answer(21_100, 30_000, false) });
        assert!(near(s.window, 200_000.0 - PACKET), "{}", s.window);
    }
}
