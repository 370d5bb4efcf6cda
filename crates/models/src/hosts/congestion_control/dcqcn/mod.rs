//! DCQCN (Zhu et al., SIGCOMM 2015): the notification point and the reaction point.
//!
//! Models: the receiver notifies the sender of marked packets at most once per interval and flow, by a CNP or
//! on its ACKs. The sender cuts its rate and recovers by timer, and by byte counter where the preset has one.
//! In the `hpcc` family the first notification sets alpha to 1 and arms the decrease one decrease interval
//! later; in the `paper` family each notification cuts. `pacing` says whether a rising rate shortens a wait
//! that has begun. Source: the paper, the public ns-3 codes of HPCC, `ConWeave` and Microsoft, and NVIDIA's
//! manuals; `docs/models/dcqcn.md`. Simplifications: timers are evaluated when the flow sends or hears of
//! congestion, with equal results. Invariants: minimum rate ≤ rate ≤ line rate; alpha within 0..1.

mod params;
mod reaction;

use xoff_units::{Bytes, Duration, Moment, Rate};

pub use self::params::{Params, Preset};
pub use self::reaction::{Dcqcn, Pacing, State};
use super::contract::{Control, Echo, Hosts, Line, NewFlow, Notice, Sent};
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::parts::param_error::{ParamError, remove};

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

#[cfg(test)]
mod tests;
