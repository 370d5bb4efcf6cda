//! The parameters: presets with their sources, and keys that override a preset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, Rate};

use super::reaction::{Dcqcn, Pacing};
use crate::hosts::congestion_control::contract::{Echo, Form as Cnp};

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
    pub(super) fn cuts_at_once(self) -> bool {
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
    pub(super) fn resolve(&self, line: Rate) -> Dcqcn {
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
