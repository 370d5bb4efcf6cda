//! Models to train: parameters, and operations per token.
//!
//! Decoder-only transformers. A layer has attention with 2 (1 + kv / heads) h² parameters, and a network of
//! two matrices h × f, or three with a gate. With experts a layer has several networks behind a router, and a
//! token takes a few. Biases and norms are left out, as in AICB's sizes. A forward pass takes two operations
//! per parameter and token, and 4 s h for attention scores (Narayanan et al., SC'21, appendix); a backward
//! pass takes twice as many. Source of the presets: the models' papers and published configurations, named
//! beside each preset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param_error::ParamError;

/// A model by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// GPT-13B of `SimAI`'s shipped workload: 40 layers of 5120, sequences of 2048.
    #[serde(rename = "gpt_13b")]
    Gpt13b,
    /// GPT-175B (Brown et al. 2020).
    #[serde(rename = "gpt_175b")]
    Gpt175b,
    /// Llama 3 70B (Meta 2024).
    #[serde(rename = "llama3_70b")]
    Llama70b,
    /// Llama 3 405B (Meta 2024).
    #[serde(rename = "llama3_405b")]
    Llama405b,
    /// Mixtral 8x7B (Jiang et al. 2024).
    #[serde(rename = "mixtral_8x7b")]
    Mixtral8x7b,
    /// DeepSeek-V3 (DeepSeek-AI 2024), with full-rank attention instead of compressed attention.
    #[serde(rename = "deepseek_v3")]
    DeepSeekV3,
}

/// `workload[…].training.model`: a preset, numbers, or a preset with some numbers changed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A model by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u64>,
    /// Width of a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    /// Heads of attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<u64>,
    /// Heads of keys and values. Default: as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u64>,
    /// Width inside a layer's network, or inside one expert. Default: four times `hidden`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<u64>,
    /// Networks have a gate, and so a third matrix. Default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gated: Option<bool>,
    /// Tokens of a sequence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Number of different tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<u64>,
    /// Positions have learned vectors, as in GPT. Default: no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<bool>,
    /// Experts of a layer. Default: one network for all tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experts: Option<u64>,
    /// Experts per token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
}

/// A model in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    pub layers: u64,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub feed_forward: u64,
    pub gated: bool,
    pub sequence: u64,
    pub vocabulary: u64,
    pub positions: bool,
    pub experts: u64,
    pub top_k: u64,
}

impl Preset {
    const fn model(self) -> Model {
        let gpt = Model {
            layers: 40,
            hidden: 5120,
            heads: 40,
            kv_heads: 40,
            feed_forward: 4 * 5120,
            gated: false,
            sequence: 2048,
            vocabulary: 32_000,
            positions: true,
            experts: 1,
            top_k: 1,
        };
        let llama =
            Model { gated: true, positions: false, kv_heads: 8, vocabulary: 128_256, sequence: 8192, ..gpt };
        match self {
            // example/microAllReduce and workload files of SimAI; h, L, V and s as AICB's sizes have them.
            Self::Gpt13b => gpt,
            Self::Gpt175b => Model {
                layers: 96,
                hidden: 12_288,
                heads: 96,
                kv_heads: 96,
                feed_forward: 4 * 12_288,
                vocabulary: 51_200,
                ..gpt
            },
            Self::Llama70b => Model { layers: 80, hidden: 8192, heads: 64, feed_forward: 28_672, ..llama },
            Self::Llama405b => {
                Model { layers: 126, hidden: 16_384, heads: 128, feed_forward: 53_248, ..llama }
            }
            Self::Mixtral8x7b => Model {
                layers: 32,
                hidden: 4096,
                heads: 32,
                feed_forward: 14_336,
                vocabulary: 32_000,
                sequence: 4096,
                experts: 8,
                top_k: 2,
                ..llama
            },
            Self::DeepSeekV3 => Model {
                layers: 61,
                hidden: 7168,
                heads: 128,
                kv_heads: 128,
                feed_forward: 2048,
                vocabulary: 129_280,
                sequence: 4096,
                experts: 256,
                top_k: 8,
                ..llama
            },
        }
    }
}

impl Params {
    /// In numbers.
    pub fn model(&self) -> Result<Model, ParamError> {
        let of = self.preset.map(Preset::model);
        let number = |key: &'static str, given: Option<u64>, preset: Option<u64>| match given.or(preset) {
            None => Err((key, "missing; give a preset, or all numbers of a model".into())),
            Some(0) => Err((key, "must be above zero".into())),
            Some(number) if number > 1 << 24 => {
                Err((key, format!("{number} is out of range; allowed are 1 to {}", 1 << 24)))
            }
            Some(number) => Ok(number),
        };
        let hidden = number("hidden", self.hidden, of.map(|m| m.hidden))?;
        let heads = number("heads", self.heads, of.map(|m| m.heads))?;
        let given_kv = self.kv_heads.or(self.heads.filter(|_| of.is_none()));
        let model = Model {
            layers: number("layers", self.layers, of.map(|m| m.layers))?,
            hidden,
            heads,
            kv_heads: number("kv_heads", given_kv, of.map(|m| m.kv_heads))?,
            feed_forward: number(
                "feed_forward",
                self.feed_forward,
                Some(of.map_or(4 * hidden, |m| m.feed_forward)),
            )?,
            gated: self.gated.unwrap_or(of.is_some_and(|m| m.gated)),
            sequence: number("sequence", self.sequence, of.map(|m| m.sequence))?,
            vocabulary: number("vocabulary", self.vocabulary, of.map(|m| m.vocabulary))?,
            positions: self.positions.unwrap_or(of.is_some_and(|m| m.positions)),
            experts: number("experts", self.experts, Some(of.map_or(1, |m| m.experts)))?,
            top_k: number("top_k", self.top_k, Some(of.map_or(1, |m| m.top_k)))?,
        };
        if model.layers > 4096 {
            return Err(("layers", format!("{} is out of range; allowed are 1 to 4096", model.layers)));
        }
        if model.kv_heads > model.heads {
            return Err(("kv_heads", format!("{} are more than the {} heads", model.kv_heads, model.heads)));
        }
        if model.top_k > model.experts {
            return Err((
                "top_k",
                format!("a token cannot take {} of {} experts", model.top_k, model.experts),
            ));
        }
        Ok(model)
    }
}

impl Model {
    /// Parameters of a layer's attention.
    pub const fn attention(&self) -> u64 {
        2 * self.hidden * self.hidden + 2 * self.hidden * self.hidden * self.kv_heads / self.heads
    }

    /// Parameters of a network, or of one expert.
    pub const fn network(&self) -> u64 {
        (if self.gated { 3 } else { 2 }) * self.hidden * self.feed_forward
    }

    /// Parameters of the router.
    pub const fn router(&self) -> u64 {
        if self.experts > 1 { self.hidden * self.experts } else { 0 }
    }

    /// Operations of a token in a layer's attention, forward.
    pub fn attention_flop(&self) -> f64 {
        2.0 * self.attention() as f64 + 4.0 * self.sequence as f64 * self.hidden as f64
    }

    /// Operations of a token in a layer's network or experts, forward.
    pub fn network_flop(&self) -> f64 {
        2.0 * (self.router() + self.network() * self.top_k) as f64
    }

    /// Operations of a token for the logits, forward.
    pub fn logits_flop(&self) -> f64 {
        2.0 * self.hidden as f64 * self.vocabulary as f64
    }

    /// Operations of a token, forward and backward.
    pub fn flop(&self) -> f64 {
        3.0 * (self.layers as f64 * (self.attention_flop() + self.network_flop()) + self.logits_flop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(preset: Preset) -> Model {
        Params { preset: Some(preset), ..Params::default() }.model().unwrap()
    }

    fn parameters(m: &Model) -> f64 {
        let layers = m.layers * (m.attention() + m.network() * m.experts + m.router());
        (layers + 2 * m.vocabulary * m.hidden) as f64
    }

    #[test]
    fn presets_have_as_many_parameters_as_their_names_say() {
        let named = [
            (Preset::Gpt13b, 13e9),
            (Preset::Gpt175b, 175e9),
            (Preset::Llama70b, 70.6e9),
            (Preset::Llama405b, 405e9),
            (Preset::Mixtral8x7b, 46.7e9),
        ];
        for (preset, parameters_of) in named {
            let found = parameters(&of(preset));
            assert!((found / parameters_of - 1.0).abs() < 0.02, "{preset:?}: {found}");
        }
        // All its layers have experts here, and attention of full rank: 671 billion in the paper.
        let found = parameters(&of(Preset::DeepSeekV3));
        assert!((found / 671e9 - 1.0).abs() < 0.06, "{found}");
    }

    #[test]
    fn a_token_costs_about_six_operations_a_parameter() {
        let m = of(Preset::Gpt175b);
        let expected = 6.0 * parameters(&m) * (1.0 + 2048.0 / (6.0 * 12_288.0));
        assert!((m.flop() / expected - 1.0).abs() < 0.01);
    }
}
