//! DCQCN (Zhu et al., SIGCOMM 2015): the notification point and the reaction point.
//!
//! Models: the receiver notifies the sender of marked packets at most once per interval and flow, by a CNP or
//! on its ACKs. The sender cuts its rate and recovers by timer, and by byte counter where the preset has one.
//! In the `hpcc` family the first notification sets alpha to 1 and arms the decrease one decrease interval
//! later; in the `paper` family each notification cuts. `pacing` says whether a rising rate shortens a wait
//! that has begun. Source: the paper, the public ns-3 codes of HPCC, `ConWeave` and Microsoft, and NVIDIA's
//! manuals; `docs/models/dcqcn.md`. Simplifications: timers are evaluated when the flow sends or hears of
//! congestion, with equal results. Invariants: minimum rate ≤ rate ≤ line rate; alpha within 0..1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{StateVisitor, Word};
use xoff_units::{Bytes, Duration, Moment, Rate};

use super::contract::{Control, Echo, Form as Cnp, Hosts, Line, NewFlow, Notice, Sent};
use super::limiter::{Law, Limiter};
use crate::frames::Kind;
use crate::packet::Packet;
use crate::param_error::{ParamError, remove};

/// Named parameter sets. `docs/models/dcqcn.md` has the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// `ConWeave`'s run script: 1/4/300 us, increases 40 and 100 Mb/s at 100 Gb/s, scaled by rate.
    #[default]
    Conweave,
    /// HPCC's run script: 1/4/300 us, increases 20 and 200 Mb/s at 100 Gb/s, scaled by rate.
    Hpcc,
    /// HPCC's run script, the values of the paper: 50/50/55 us.
    HpccPaper,
    /// HPCC's configuration file: 1/4/900 us, 50 and 100 Mb/s.
    HpccConfig,
    /// The sample configuration of Microsoft's ns-3 code: classic reaction point.
    Microsoft,
    /// The SFC proxy document: 900 us, five steps of fast recovery.
    SfcProxy,
    /// Defaults of Mellanox adapters.
    Mellanox,
    /// The paper: classic reaction point with byte counter.
    Paper,
}

/// The effect of a new rate on a packet that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// No effect: the wait is fixed when the previous packet starts, by the rate of that moment, as in the
    /// ns-3 codes.
    #[default]
    Gap,
    /// The packet starts when the bits of the previous packet have passed at the rates since: the limiter of
    /// an adapter.
    Limiter,
}

/// `host.congestion_control.dcqcn`: a preset, and keys that override the preset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The source of missing values.
    pub preset: Preset,
    /// Gain of alpha, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<f64>,
    /// Alpha is updated this often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_interval: Option<Duration>,
    /// Least time between two cuts; the presets `paper` and `microsoft` cut with every notification, and take
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease_interval: Option<Duration>,
    /// The rate rises this often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase_interval: Option<Duration>,
    /// The rate also rises each time this much was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Bytes>,
    /// Steps of fast recovery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_recovery_steps: Option<u32>,
    /// Additive increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive_increase: Option<Rate>,
    /// Hyper increase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper_increase: Option<Rate>,
    /// No flow goes slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum_rate: Option<Rate>,
    /// The effect of a new rate on a packet that waits: `limiter` in the presets `paper` and `mellanox`,
    /// `gap` in the presets of ns-3 codes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Each cut also lowers the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp_target: Option<bool>,
    /// Least time between two notifications for a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Duration>,
    /// Packets, or a bit on ACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp: Option<Cnp>,
    /// Payload that a flow may have in flight. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
}

/// Parameters resolved for one line rate.
#[derive(Debug, Clone)]
pub struct Dcqcn {
    line: f64,
    g: f64,
    alpha_interval: Duration,
    decrease_interval: Duration,
    increase_interval: Duration,
    byte_counter: Option<u64>,
    steps: u32,
    additive: f64,
    hyper: f64,
    minimum: f64,
    pacing: Pacing,
    clamp_target: bool,
    /// Cut at each notification (paper) instead of at decrease intervals (HPCC).
    is_classic: bool,
    first_alpha: f64,
    echo: Echo,
    /// Payload under way.
    window: u64,
}

/// A flow's rate and the target of its recovery.
#[derive(Debug, Clone)]
pub struct State {
    /// Bits per second now.
    pub rate: f64,
    target: f64,
    alpha: f64,
    /// The first notification has come.
    is_active: bool,
    alpha_seen: bool,
    decrease_armed: bool,
    timer_stage: u32,
    byte_stage: u32,
    bytes: u64,
    next_alpha: Moment,
    next_decrease: Moment,
    next_increase: Moment,
    /// Notifications.
    heard: u32,
    limiter: Limiter,
}

impl state::State for State {
    /// At line rate, alpha and timers only matter for the next notification, which computes both. They count
    /// as constant until then. A stretch with a notification repeats only where alpha and timers are shown.
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            rate,
            target,
            alpha,
            is_active,
            alpha_seen,
            decrease_armed,
            timer_stage,
            byte_stage,
            bytes,
            next_alpha,
            next_decrease,
            next_increase,
            heard,
            limiter,
        } = self;
        let rests = *next_increase == Moment::NEVER && !*alpha_seen && !*decrease_armed;
        walk.value((*rate, *target, rests).word());
        walk.value((*timer_stage, *byte_stage, *bytes).word());
        if rests {
            walk.same((*heard).into());
        } else {
            walk.value((*alpha, *is_active, *alpha_seen).word());
            walk.value(decrease_armed.word());
            walk.moment(next_alpha);
            walk.moment(next_decrease);
            walk.moment(next_increase);
        }
        limiter.walk(walk);
    }
}

struct Column {
    g: f64,
    alpha_us: u64,
    decrease_us: u64,
    increase_us: u64,
    bytes: Option<u64>,
    steps: u32,
    /// Mb/s; scaled by line rate over 25 Gb/s when `is_scaled`.
    additive: f64,
    hyper: f64,
    is_scaled: bool,
    minimum: f64,
    pacing: Pacing,
    clamp: bool,
    is_classic: bool,
    cnp_us: u64,
    cnp: Cnp,
    first_alpha: f64,
}

impl Preset {
    /// True when each notification cuts the rate, without decrease intervals.
    fn cuts_at_once(self) -> bool {
        self.column().is_classic
    }

    fn column(self) -> Column {
        let hpcc = Column {
            g: 1.0 / 256.0,
            alpha_us: 1,
            decrease_us: 4,
            increase_us: 300,
            bytes: None,
            steps: 1,
            additive: 5.0,
            hyper: 50.0,
            is_scaled: true,
            minimum: 1000.0,
            pacing: Pacing::Gap,
            clamp: false,
            is_classic: false,
            cnp_us: 0,
            cnp: Cnp::Ack,
            first_alpha: 1.0,
        };
        // What presets of cards share, and of these those by the paper's algorithm.
        let told = Column { steps: 5, is_scaled: false, cnp: Cnp::Packet, ..hpcc };
        let classic = Column {
            alpha_us: 55,
            decrease_us: 50,
            clamp: true,
            is_classic: true,
            cnp_us: 50,
            additive: 40.0,
            ..told
        };
        match self {
            Self::Hpcc => hpcc,
            Self::Conweave => Column { additive: 10.0, hyper: 25.0, minimum: 100.0, ..hpcc },
            Self::HpccPaper => Column { alpha_us: 50, decrease_us: 50, increase_us: 55, ..hpcc },
            Self::HpccConfig => Column {
                increase_us: 900,
                additive: 50.0,
                hyper: 100.0,
                is_scaled: false,
                minimum: 100.0,
                ..hpcc
            },
            Self::SfcProxy => {
                Column { increase_us: 900, additive: 50.0, hyper: 100.0, minimum: 100.0, cnp_us: 4, ..told }
            }
            Self::Mellanox => Column {
                g: 5.0 / 1024.0,
                bytes: Some(32_767 * 64),
                additive: 5.0,
                hyper: 50.0,
                is_scaled: false,
                minimum: 1.0,
                pacing: Pacing::Limiter,
                cnp_us: 4,
                cnp: Cnp::Packet,
                ..hpcc
            },
            Self::Microsoft => Column {
                increase_us: 60,
                bytes: Some(300_000_000),
                hyper: 200.0,
                minimum: 100.0,
                first_alpha: 0.5,
                ..classic
            },
            Self::Paper => Column {
                increase_us: 55,
                bytes: Some(10_000_000),
                hyper: 40.0,
                minimum: 40.0,
                pacing: Pacing::Limiter,
                ..classic
            },
        }
    }
}

impl Params {
    /// Works all parameters out for a line rate.
    fn resolve(&self, line: Rate) -> Dcqcn {
        let c = self.preset.column();
        let line_rate = line.real();
        let scale = if c.is_scaled { line_rate / 25e9 } else { 1.0 } * 1e6;
        let rate = |given: Option<Rate>, default: f64| given.map_or(default, Rate::real);
        Dcqcn {
            line: line_rate,
            g: self.g.unwrap_or(c.g),
            alpha_interval: self.alpha_interval.unwrap_or(Duration::us(c.alpha_us)).max(Duration(1)),
            decrease_interval: self.decrease_interval.unwrap_or(Duration::us(c.decrease_us)).max(Duration(1)),
            increase_interval: self.increase_interval.unwrap_or(Duration::us(c.increase_us)).max(Duration(1)),
            byte_counter: self.byte_counter.map(|b| b.0).or(c.bytes).map(|b| b.max(1)),
            steps: self.fast_recovery_steps.unwrap_or(c.steps),
            additive: rate(self.additive_increase, c.additive * scale),
            hyper: rate(self.hyper_increase, c.hyper * scale),
            minimum: rate(self.minimum_rate, c.minimum * 1e6).clamp(1e6, line_rate),
            pacing: self.pacing.unwrap_or(c.pacing),
            clamp_target: self.clamp_target.unwrap_or(c.clamp),
            is_classic: c.is_classic,
            first_alpha: c.first_alpha,
            echo: Echo {
                interval: self.cnp_interval.unwrap_or(Duration::us(c.cnp_us)),
                form: self.cnp.unwrap_or(c.cnp),
            },
            window: self.window.map_or(u64::MAX, |w| w.0),
        }
    }
}

impl Control for Dcqcn {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "DCQCN";
    const FOLDS: bool = true;
    const LISTENS_TO: Option<(&'static str, &'static str)> =
        Some(("ecn", "DCQCN never reacts, as no switch marks packets; set switch.ecn"));

    fn settled(params: &Params, line: Line) -> Params {
        let d = params.resolve(line.rate);
        let rate = |bps: f64| Some(Rate(bps as u64));
        Params {
            preset: params.preset,
            g: Some(d.g),
            alpha_interval: Some(d.alpha_interval),
            decrease_interval: (!d.is_classic).then_some(d.decrease_interval),
            increase_interval: Some(d.increase_interval),
            byte_counter: d.byte_counter.map(Bytes),
            fast_recovery_steps: Some(d.steps),
            additive_increase: rate(d.additive),
            hyper_increase: rate(d.hyper),
            minimum_rate: rate(d.minimum),
            pacing: Some(d.pacing),
            clamp_target: Some(d.clamp_target),
            cnp_interval: Some(d.echo.interval),
            cnp: Some(d.echo.form),
            window: params.window,
        }
    }

    fn new(params: &Params, line: Line) -> Self {
        params.resolve(line.rate)
    }

    fn warn(params: &Params, line: Line) -> Option<ParamError> {
        line.small_window("window", params.window.map(|window| window.0 as f64))
    }

    fn validate(params: &Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        if let Some(g) = params.g.filter(|g| !(*g > 0.0 && *g < 1.0)) {
            return Err(("g", format!("{g} is out of range; allowed are numbers between 0 and 1")));
        }
        for (key, value) in [
            ("alpha_interval", params.alpha_interval),
            ("decrease_interval", params.decrease_interval),
            ("increase_interval", params.increase_interval),
        ] {
            if value.is_some_and(|v| v < Duration::ns(10)) {
                return Err((key, "must be 10ns or longer".into()));
            }
        }
        if params.decrease_interval.is_some() && params.preset.cuts_at_once() {
            return Err((
                "decrease_interval",
                "not allowed with this preset, which cuts at each notification; remove it, or set cnp_interval".into(),
            ));
        }
        if params.window.is_some_and(|w| w.0 == 0) {
            return Err(("window", "must be above zero".into()));
        }
        if params.window.is_some() && !hosts.acknowledges {
            let why = "a window needs acknowledgements, and host.transport.raw sends none";
            return Err(("window", remove(why)));
        }
        Ok(())
    }

    fn start(&self, _: &NewFlow) -> State {
        self.start()
    }

    #[inline]
    fn on_sent(&self, s: &mut State, _: &mut Packet, sent: Sent) -> Duration {
        if self.pacing == Pacing::Gap {
            let gap = self.gap(s, sent.bytes, sent.now);
            self.count_bytes(s, sent.bytes, sent.now);
            return gap;
        }
        self.advance(s, sent.now);
        self.count_bytes(s, sent.bytes, sent.now);
        s.limiter.send(sent.bytes, sent.now);
        s.limiter.due(s, self) - sent.now
    }

    /// True for a CNP and for an ACK with an echoed mark.
    fn hears(notice: &Packet) -> bool {
        notice.kind() == Kind::Cnp || notice.has(Packet::ECHO)
    }

    fn on_notice(&self, s: &mut State, notice: &Notice<'_>) {
        s.limiter = s.limiter.settle(s, self, notice.now);
        self.on_cnp(s, notice.now);
    }

    fn due(&self, s: &State, due: Moment) -> Moment {
        if self.pacing == Pacing::Gap { due } else { s.limiter.due(s, self) }
    }

    #[inline]
    fn window(&self, _: &State) -> u64 {
        self.window
    }

    #[inline]
    fn echo(&self) -> Option<Echo> {
        Some(self.echo)
    }
}

impl Law<State> for Dcqcn {
    fn rate(&self, s: &State) -> f64 {
        s.rate
    }

    fn next_change(&self, s: &State) -> Moment {
        if s.decrease_armed { s.next_decrease.min(s.next_increase) } else { s.next_increase }
    }

    fn advance(&self, s: &mut State, now: Moment) {
        self.advance(s, now);
    }
}

impl Dcqcn {
    /// A flow starts at line rate.
    fn start(&self) -> State {
        State {
            rate: self.line,
            target: self.line,
            alpha: 1.0,
            is_active: false,
            alpha_seen: false,
            decrease_armed: false,
            timer_stage: 0,
            byte_stage: 0,
            bytes: 0,
            next_alpha: Moment::NEVER,
            next_decrease: Moment::NEVER,
            next_increase: Moment::NEVER,
            heard: 0,
            limiter: Limiter::default(),
        }
    }

    /// Applies the timers up to `now` in their order. At one moment alpha comes first, then the cut.
    fn advance(&self, s: &mut State, now: Moment) {
        if !s.is_active {
            return;
        }
        loop {
            let next = s.next_alpha.min(s.next_decrease).min(s.next_increase);
            if next > now {
                return;
            }
            if s.next_alpha == next {
                s.next_alpha += self.alpha_interval;
                s.alpha *= 1.0 - self.g;
                if s.alpha_seen {
                    s.alpha += self.g;
                    s.alpha_seen = false;
                }
                // An alpha too small to matter needs no more timers until the next notification.
                if s.alpha < 1e-9 {
                    s.alpha = 0.0;
                    s.next_alpha = Moment::NEVER;
                }
            } else if s.next_decrease == next {
                if s.decrease_armed {
                    s.decrease_armed = false;
                    s.next_decrease += self.decrease_interval;
                    self.cut(s, next);
                } else {
                    // Nothing to cut: the timer's phase is kept when it is asked for again.
                    let missed = (now - next).0 / self.decrease_interval.0 + 1;
                    s.next_decrease += Duration(missed * self.decrease_interval.0);
                }
            } else {
                s.next_increase += self.increase_interval;
                s.timer_stage += 1;
                self.increase(s, if self.is_classic { None } else { Some(s.timer_stage - 1) });
                if s.rate >= self.line && s.target >= self.line {
                    s.next_increase = Moment::NEVER;
                }
            }
        }
    }

    fn cut(&self, s: &mut State, now: Moment) {
        if self.clamp_target || s.timer_stage > 0 || s.byte_stage > 0 || s.next_increase == Moment::NEVER {
            s.target = s.rate;
        }
        s.rate = (s.rate * (1.0 - s.alpha / 2.0)).max(self.minimum);
        s.timer_stage = 0;
        s.byte_stage = 0;
        s.bytes = 0;
        s.next_increase = now + self.increase_interval;
    }

    /// Raises the rate by one step. The `hpcc` family has one stage count, before the step; the classic
    /// family has two, after the step.
    fn increase(&self, s: &mut State, stage: Option<u32>) {
        let step = match stage {
            Some(stage) if stage < self.steps => 0.0,
            Some(stage) if stage == self.steps => self.additive,
            Some(_) => self.hyper,
            None => {
                let (low, high) = (s.timer_stage.min(s.byte_stage), s.timer_stage.max(s.byte_stage));
                if high < self.steps {
                    0.0
                } else if low < self.steps {
                    self.additive
                } else {
                    f64::from(low - self.steps + 1) * self.hyper
                }
            }
        };
        s.target = (s.target + step).min(self.line);
        s.rate = f64::midpoint(s.rate, s.target).min(self.line);
        if self.line - s.rate < 1.0 {
            s.rate = self.line;
        }
    }

    /// A notification arrived.
    fn on_cnp(&self, s: &mut State, now: Moment) {
        s.heard += 1;
        self.advance(s, now);
        if !s.is_active {
            s.is_active = true;
            s.alpha = self.first_alpha;
            s.next_alpha = now + self.alpha_interval;
            s.decrease_armed = true;
            s.next_decrease = now + self.decrease_interval;
            if self.is_classic {
                self.react(s, now);
            }
            return;
        }
        if s.next_alpha == Moment::NEVER {
            s.next_alpha = now + self.alpha_interval;
        }
        if self.is_classic {
            self.react(s, now);
        } else {
            s.alpha_seen = true;
            s.decrease_armed = true;
        }
    }

    fn react(&self, s: &mut State, now: Moment) {
        s.decrease_armed = false;
        s.next_decrease = Moment::NEVER;
        self.cut(s, now);
        s.alpha = (1.0 - self.g) * s.alpha + self.g;
        s.next_alpha = now + self.alpha_interval;
    }

    /// Counts the bytes of a sent packet for the byte counter, if any.
    #[inline]
    fn count_bytes(&self, s: &mut State, bytes: u64, now: Moment) {
        let Some(limit) = self.byte_counter else { return };
        if s.is_active && s.rate < self.line {
            s.bytes += bytes;
            if s.bytes >= limit {
                self.advance(s, now);
                s.bytes -= limit.min(s.bytes);
                s.byte_stage += 1;
                let stage = (!self.is_classic).then(|| s.timer_stage.max(s.byte_stage) - 1);
                self.increase(s, stage);
            }
        }
    }

    /// Returns the time of `bytes` at the present rate.
    #[inline]
    fn gap(&self, s: &mut State, bytes: u64, now: Moment) -> Duration {
        self.advance(s, now);
        Duration::of_real(bytes as f64 * 8e12 / s.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: f64 = 100e9;

    fn dcqcn(preset: Preset) -> Dcqcn {
        Params { preset, ..Params::default() }.resolve(Rate::gbps(100))
    }

    #[test]
    fn one_isolated_notification_with_the_hpcc_preset() {
        let d = dcqcn(Preset::Hpcc);
        let mut s = d.start();
        d.on_cnp(&mut s, Moment::us(10));
        d.advance(&mut s, Moment(Duration::us(14).0 - 1));
        assert!((s.rate - C).abs() < 1.0);
        d.advance(&mut s, Moment::us(14));
        let expected = C * (1.0 - 0.5 * (255.0_f64 / 256.0).powi(4));
        assert!((s.rate - expected).abs() < 1.0 && (s.rate / C - 0.5078).abs() < 1e-4, "{}", s.rate / C);
        // The gap to the line halves with each timer: within 1 % after six.
        d.advance(&mut s, Moment::us(14 + 6 * 300));
        assert!(s.rate > 0.99 * C && s.rate <= C);
    }

    #[test]
    fn notifications_on_every_ack_halve_the_rate_each_interval_down_to_the_minimum() {
        let d = dcqcn(Preset::Hpcc);
        let mut s = d.start();
        let mut t = Duration::us(1);
        while t < Duration::us(61) {
            d.on_cnp(&mut s, Moment::ZERO + t);
            t += Duration::ns(100);
        }
        assert!((s.rate - 1e9).abs() < 1.0, "{}", s.rate);
        assert!(s.alpha > 0.99);
    }

    #[test]
    fn evaluating_more_often_changes_nothing() {
        let d = dcqcn(Preset::Conweave);
        let (mut a, mut b) = (d.start(), d.start());
        for k in 0..200_u64 {
            let t = Duration(k * k * 7_919_000);
            d.on_cnp(&mut a, Moment::ZERO + t);
            for step in 0..5 {
                d.advance(&mut b, Moment(t.0.saturating_sub((5 - step) * 1_000_000)));
            }
            d.on_cnp(&mut b, Moment::ZERO + t);
            assert!((a.rate - b.rate).abs() == 0.0 && (a.alpha - b.alpha).abs() == 0.0);
        }
    }

    /// The wait after a packet of 1048 B that starts at 1 ms, with rate and target at the minimum after a
    /// cut.
    fn longest_gap(params: &Params) -> Duration {
        let d = params.resolve(Rate::gbps(100));
        let now = Moment::ms(1);
        let mut s = State {
            rate: d.minimum,
            target: d.minimum,
            is_active: true,
            next_increase: now + d.increase_interval,
            ..d.start()
        };
        let mut packet = Packet::new(Kind::Data, 0, 0, 0, 1048, 0);
        d.on_sent(&mut s, &mut packet, Sent { key: 0, bytes: 1048, is_queue_empty: false, left: 0, now })
    }

    #[test]
    fn the_longest_gap_without_notifications_follows_from_the_increases() {
        // 8384 bits: 300 at 1 Mb/s, 300 more after fast recovery, 1050 at 3.5, and the rest at 29.75 Mb/s.
        let mellanox = Params { preset: Preset::Mellanox, ..Params::default() };
        assert_eq!(longest_gap(&mellanox), Duration::of_real(900e6 + 6734e6 / 29.75));
        // A gap that is settled as the packet before starts is that of the minimum rate: 8.384 ms.
        assert_eq!(longest_gap(&Params { pacing: Some(Pacing::Gap), ..mellanox }), Duration(8_384_000_000));
        // The codes of ns-3: 8384 bits at 100 Mb/s and at 1 Gb/s.
        assert_eq!(
            longest_gap(&Params { preset: Preset::Conweave, ..Params::default() }),
            Duration(83_840_000)
        );
        assert_eq!(longest_gap(&Params { preset: Preset::Hpcc, ..Params::default() }), Duration(8_384_000));
        // The paper: five steps of fast recovery at 40 Mb/s, 55 us each, are more than a packet takes.
        assert_eq!(
            longest_gap(&Params { preset: Preset::Paper, ..Params::default() }),
            Duration(209_600_000)
        );
    }

    #[test]
    fn a_limiter_obeys_a_notification_while_a_packet_waits() {
        // Line rate, a packet at 0, and a notification at 20 ns.
        let d = Params { preset: Preset::Paper, ..Params::default() }.resolve(Rate::gbps(100));
        let mut s = d.start();
        let mut packet = Packet::new(Kind::Data, 0, 0, 0, 1250, 0);
        let sent = Sent { key: 0, bytes: 1250, is_queue_empty: false, left: 0, now: Moment::ZERO };
        assert_eq!(d.on_sent(&mut s, &mut packet, sent), Duration::ns(100));
        let cnp = Packet::new(Kind::Cnp, 0, 0, 0, 64, 0);
        d.on_notice(&mut s, &Notice { frame: &cnp, sent: None, now: Moment::ns(20) });
        // The paper cuts at once, by half: what is left of the packet, 80 ns at 100 Gb/s, takes twice as
        // long.
        assert_eq!(d.due(&s, Moment::ns(100)), Moment::ns(180));
    }

    #[test]
    fn every_preset_recovers_and_stays_within_bounds() {
        use Preset::*;
        for preset in [Conweave, Hpcc, HpccPaper, HpccConfig, Microsoft, SfcProxy, Mellanox, Paper] {
            let d = dcqcn(preset);
            let mut s = d.start();
            for k in 0..500 {
                d.on_cnp(&mut s, Moment::us(k * 13));
                assert!(s.rate >= d.minimum && s.rate <= C, "{preset:?}");
            }
            assert!(s.rate < 0.6 * C, "{preset:?}: {}", s.rate);
            d.advance(&mut s, Moment::ms(10_000));
            assert!(s.rate > 0.95 * C, "{preset:?}: {}", s.rate);
        }
    }
}
