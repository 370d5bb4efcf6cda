//! Language models: parameters, operations per token, and bytes of the KV cache.
//!
//! Decoder-only transformers. Attention with heads of width d has 2 h d (heads + kv) parameters. Attention on
//! a latent (MLA) has h q + q heads (d + r) + h (c + r) + c heads (d + v) + heads v h parameters, with the
//! ranks q and c of queries and of keys and values, the width r of rotary positions, and the width v of
//! values. A layer's network has two matrices h × f, or three with a gate. With experts a layer has several
//! networks behind a router; a token takes a few, and all shared experts. The first layers may have one
//! network in the place of experts. Biases and norms are left out, as in AICB's sizes. A forward pass takes
//! two operations per parameter and token, and `2 s heads (d_qk + d_v)` for attention scores (Narayanan et al.,
//! SC'21, appendix); a backward pass takes twice as many. Source of the presets: the models' papers and
//! published configurations, named beside each preset.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::ParamError;

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
    /// DeepSeek-V3 and R1 (DeepSeek-AI 2024): attention on a latent, three dense layers, a shared expert.
    #[serde(rename = "deepseek_v3")]
    DeepSeekV3,
    /// Qwen3-235B-A22B (Qwen team 2025).
    #[serde(rename = "qwen3_235b")]
    Qwen3,
}

/// A model: a preset, numbers, or a preset with some numbers changed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// A model by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Layers. Fewer layers than in the preset cut `dense_layers` in proportion, rounded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<u64>,
    /// First layers that have one network in the place of experts. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense_layers: Option<u64>,
    /// Width of a token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    /// Heads of attention.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<u64>,
    /// Heads of keys and values. Default: as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_heads: Option<u64>,
    /// Width of a head, without rotary positions of MLA. Default: `hidden` / `heads`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_dim: Option<u64>,
    /// MLA: width of the latent of keys and values. Default: no latent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_lora_rank: Option<u64>,
    /// MLA: width of the latent of queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q_lora_rank: Option<u64>,
    /// MLA: width of rotary positions beside the latent and in each head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qk_rope_head_dim: Option<u64>,
    /// MLA: width of a head's values. Default: `head_dim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub v_head_dim: Option<u64>,
    /// Width inside a layer's network, or inside one expert. Default: four times `hidden`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<u64>,
    /// Width inside the network of a dense layer of a model with experts. Default: `feed_forward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dense_feed_forward: Option<u64>,
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
    /// Experts that every token takes, at the token's own rank. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_experts: Option<u64>,
}

/// A model in numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// Layers.
    pub layers: u64,
    /// First layers with one network in the place of experts.
    pub dense_layers: u64,
    /// Width of a token.
    pub hidden: u64,
    /// Heads of attention.
    pub heads: u64,
    /// Heads of keys and values.
    pub kv_heads: u64,
    /// Width of a head.
    pub head_dim: u64,
    /// Widths of MLA, if the model has a latent.
    pub latent: Option<Latent>,
    /// Width inside a network or an expert.
    pub feed_forward: u64,
    /// Width inside the network of a dense layer.
    pub dense_feed_forward: u64,
    /// Networks have a third matrix.
    pub gated: bool,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Number of different tokens.
    pub vocabulary: u64,
    /// Positions have learned vectors.
    pub positions: bool,
    /// Experts of a layer; 1 for one network.
    pub experts: u64,
    /// Experts of a token.
    pub top_k: u64,
    /// Experts that every token takes.
    pub shared_experts: u64,
}

/// Widths of attention on a latent (MLA).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latent {
    /// Width of the latent of queries.
    pub queries: u64,
    /// Width of the latent of keys and values.
    pub keys_values: u64,
    /// Width of rotary positions.
    pub rope: u64,
    /// Width of a head's values.
    pub values: u64,
}

impl Preset {
    const fn model(self) -> Model {
        let gpt = Model {
            layers: 40,
            dense_layers: 0,
            hidden: 5120,
            heads: 40,
            kv_heads: 40,
            head_dim: 128,
            latent: None,
            feed_forward: 4 * 5120,
            dense_feed_forward: 4 * 5120,
            gated: false,
            sequence: 2048,
            vocabulary: 32_000,
            positions: true,
            experts: 1,
            top_k: 1,
            shared_experts: 0,
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
            // config.json of deepseek-ai/DeepSeek-V3; the paper, section 4.2.
            Self::DeepSeekV3 => Model {
                layers: 61,
                dense_layers: 3,
                hidden: 7168,
                heads: 128,
                kv_heads: 128,
                latent: Some(Latent { queries: 1536, keys_values: 512, rope: 64, values: 128 }),
                feed_forward: 2048,
                dense_feed_forward: 18_432,
                vocabulary: 129_280,
                sequence: 4096,
                experts: 256,
                top_k: 8,
                shared_experts: 1,
                ..llama
            },
            // config.json of Qwen/Qwen3-235B-A22B.
            Self::Qwen3 => Model {
                layers: 94,
                hidden: 4096,
                heads: 64,
                kv_heads: 4,
                feed_forward: 1536,
                vocabulary: 151_936,
                sequence: 4096,
                experts: 128,
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
        let hidden = number("hidden", self.hidden, of.map(|m| m.hidden))?;
        let heads = number("heads", self.heads, of.map(|m| m.heads))?;
        let given_kv = self.kv_heads.or(self.heads.filter(|_| of.is_none()));
        let layers = number("layers", self.layers, of.map(|m| m.layers))?;
        let feed_forward =
            number("feed_forward", self.feed_forward, Some(of.map_or(4 * hidden, |m| m.feed_forward)))?;
        let dense_width = of.filter(|m| m.experts > 1).map_or(feed_forward, |m| m.dense_feed_forward);
        let dense = of.map_or(0, |m| (m.dense_layers * layers + m.layers / 2) / m.layers);
        let model = Model {
            layers,
            dense_layers: self.dense_layers.unwrap_or(dense),
            hidden,
            heads,
            kv_heads: number("kv_heads", given_kv, of.map(|m| m.kv_heads))?,
            head_dim: self.head_dim(of.as_ref(), hidden, heads)?,
            latent: None,
            feed_forward,
            dense_feed_forward: number("dense_feed_forward", self.dense_feed_forward, Some(dense_width))?,
            gated: self.gated.unwrap_or(of.is_some_and(|m| m.gated)),
            sequence: number("sequence", self.sequence, of.map(|m| m.sequence))?,
            vocabulary: number("vocabulary", self.vocabulary, of.map(|m| m.vocabulary))?,
            positions: self.positions.unwrap_or(of.is_some_and(|m| m.positions)),
            experts: number("experts", self.experts, Some(of.map_or(1, |m| m.experts)))?,
            top_k: number("top_k", self.top_k, Some(of.map_or(1, |m| m.top_k)))?,
            shared_experts: self.shared_experts.unwrap_or(of.map_or(0, |m| m.shared_experts)),
        };
        let latent = self.latent(of.and_then(|m| m.latent), model.head_dim)?;
        let model = Model { latent, ..model };
        self.check(&model)?;
        Ok(model)
    }

    /// Returns the width of a head: the given width, that of the preset, or an equal share of `hidden`.
    fn head_dim(&self, of: Option<&Model>, hidden: u64, heads: u64) -> Result<u64, ParamError> {
        let is_changed = self.hidden.or(self.heads).is_some();
        let of_preset = of.filter(|m| !is_changed || m.latent.is_some()).map(|m| m.head_dim);
        if self.head_dim.or(of_preset).is_none() && !hidden.is_multiple_of(heads) {
            let why = format!("missing; {hidden} (hidden) cannot be divided evenly among {heads} heads");
            return Err(("head_dim", why));
        }
        number("head_dim", self.head_dim, of_preset.or(Some(hidden / heads)))
    }

    /// Returns the widths of MLA, if the model has a latent.
    fn latent(&self, of: Option<Latent>, head_dim: u64) -> Result<Option<Latent>, ParamError> {
        let Some(keys_values) = self.kv_lora_rank.or(of.map(|l| l.keys_values)) else {
            for (key, given) in [
                ("q_lora_rank", self.q_lora_rank),
                ("qk_rope_head_dim", self.qk_rope_head_dim),
                ("v_head_dim", self.v_head_dim),
            ] {
                if given.is_some() {
                    return Err((key, "of attention on a latent; give kv_lora_rank, or remove it".into()));
                }
            }
            return Ok(None);
        };
        Ok(Some(Latent {
            keys_values: number("kv_lora_rank", Some(keys_values), None)?,
            queries: number("q_lora_rank", self.q_lora_rank, of.map(|l| l.queries))?,
            rope: number("qk_rope_head_dim", self.qk_rope_head_dim, of.map(|l| l.rope))?,
            values: number("v_head_dim", self.v_head_dim, Some(of.map_or(head_dim, |l| l.values)))?,
        }))
    }

    fn check(&self, model: &Model) -> Result<(), ParamError> {
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
        if model.dense_layers > model.layers {
            let why = format!("{} are more than the {} layers", model.dense_layers, model.layers);
            return Err(("dense_layers", why));
        }
        if model.experts == 1 {
            for (key, given) in [
                ("dense_layers", self.dense_layers),
                ("dense_feed_forward", self.dense_feed_forward),
                ("shared_experts", self.shared_experts),
            ] {
                if given.is_some_and(|given| given > 0) {
                    return Err((key, "of a model with experts; give experts, or remove it".into()));
                }
            }
        }
        if model.shared_experts > 1 << 10 {
            let why = format!("{} is out of range; allowed are 0 to {}", model.shared_experts, 1 << 10);
            return Err(("shared_experts", why));
        }
        Ok(())
    }
}

/// Returns a number of a model: the given number, or the default.
fn number(key: &'static str, given: Option<u64>, default: Option<u64>) -> Result<u64, ParamError> {
    match given.or(default) {
        None => Err((key, "missing; give a preset, or all numbers of a model".into())),
        Some(0) => Err((key, "must be above zero".into())),
        Some(number) if number > 1 << 24 => {
            Err((key, format!("{number} is out of range; allowed are 1 to {}", 1 << 24)))
        }
        Some(number) => Ok(number),
    }
}

impl Model {
    /// Parameters of a layer's attention.
    pub const fn attention(&self) -> u64 {
        let Self { hidden, heads, kv_heads, head_dim, .. } = *self;
        match self.latent {
            None => 2 * hidden * head_dim * (heads + kv_heads),
            Some(Latent { queries, keys_values, rope, values }) => {
                let down = hidden * (queries + keys_values + rope);
                let up = queries * heads * (head_dim + rope) + keys_values * heads * (head_dim + values);
                down + up + heads * values * hidden
            }
        }
    }

    /// Numbers that the KV cache keeps of a token in a layer.
    pub const fn kv_width(&self) -> u64 {
        match self.latent {
            None => 2 * self.kv_heads * self.head_dim,
            Some(Latent { keys_values, rope, .. }) => keys_values + rope,
        }
    }

    /// Returns the widths of queries and values in attention scores, of a head: in prefill, and in decode.
    /// Decode with MLA works on the latent.
    pub const fn score_widths(&self) -> [u64; 2] {
        match self.latent {
            None => [2 * self.head_dim; 2],
            Some(Latent { keys_values, rope, values, .. }) => {
                [self.head_dim + rope + values, 2 * keys_values + rope]
            }
        }
    }

    /// True for a layer with one network for all tokens.
    pub const fn is_dense(&self, layer: u64) -> bool {
        self.experts == 1 || layer < self.dense_layers
    }

    /// Number of layers with experts.
    pub const fn expert_layers(&self) -> u64 {
        if self.experts == 1 { 0 } else { self.layers - self.dense_layers }
    }

    const fn matrices(&self) -> u64 {
        (if self.gated { 3 } else { 2 }) * self.hidden
    }

    /// Parameters of one expert.
    pub const fn expert(&self) -> u64 {
        self.matrices() * self.feed_forward
    }

    /// Parameters of the network of a dense layer.
    pub const fn network(&self) -> u64 {
        self.matrices() * if self.experts == 1 { self.feed_forward } else { self.dense_feed_forward }
    }

    /// Parameters of the router and of the shared experts of a layer with experts.
    pub const fn beside_experts(&self) -> u64 {
        self.hidden * self.experts + self.shared_experts * self.expert()
    }

    /// Operations of a token in a layer's attention, forward.
    pub fn attention_flop(&self) -> f64 {
        let [widths, _] = self.score_widths();
        2.0 * self.attention() as f64 + 2.0 * self.sequence as f64 * (self.heads * widths) as f64
    }

    /// Operations of a token in a layer's network or experts, forward.
    pub fn network_flop(&self, layer: u64) -> f64 {
        let parameters = if self.is_dense(layer) {
            self.network()
        } else {
            self.beside_experts() + self.expert() * self.top_k
        };
        2.0 * parameters as f64
    }

    /// Operations of a token for the logits, forward.
    pub fn logits_flop(&self) -> f64 {
        2.0 * self.hidden as f64 * self.vocabulary as f64
    }

    /// Operations of a token, forward and backward.
    pub fn flop(&self) -> f64 {
        let (dense, experts) = (self.layers - self.expert_layers(), self.expert_layers());
        let mut networks = experts as f64 * self.network_flop(self.layers - 1);
        if dense > 0 {
            networks += dense as f64 * self.network_flop(0);
        }
        3.0 * (self.layers as f64 * self.attention_flop() + networks + self.logits_flop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(preset: Preset) -> Model {
        Params { preset: Some(preset), ..Params::default() }.model().unwrap()
    }

    /// Returns all parameters, and those of a token with the output head.
    fn parameters(m: &Model) -> [u64; 2] {
        let dense = (m.layers - m.expert_layers()) * m.network();
        let common = m.layers * m.attention() + dense + m.vocabulary * m.hidden;
        let of_experts = |experts| m.expert_layers() * (m.beside_experts() + experts * m.expert());
        [common + m.vocabulary * m.hidden + of_experts(m.experts), common + of_experts(m.top_k)]
    }

    #[test]
    fn presets_have_the_published_parameters_and_kv_bytes() {
        // Published totals; active parameters of models with experts; KV bytes of a token with 16 bits.
        let named = [
            (Preset::Gpt13b, 12.91e9, None, 819_200),
            (Preset::Gpt175b, 175.2e9, None, 4_718_592),
            (Preset::Llama70b, 70.55e9, None, 327_680),
            (Preset::Llama405b, 405.8e9, None, 516_096),
            (Preset::Mixtral8x7b, 46.7e9, Some(12.75e9), 131_072),
            (Preset::DeepSeekV3, 671.03e9, Some(36.62e9), 70_272),
            (Preset::Qwen3, 235.1e9, Some(21.57e9), 192_512),
        ];
        for (preset, all, active, kv) in named {
            let model = of(preset);
            let found = parameters(&model);
            assert!((found[0] as f64 / all - 1.0).abs() < 0.001, "{preset:?}: {found:?}");
            if let Some(active) = active {
                assert!((found[1] as f64 / active - 1.0).abs() < 0.003, "{preset:?}: {found:?}");
            }
            assert_eq!(model.layers * model.kv_width() * 2, kv, "{preset:?}");
        }
        // The sum of the matrices of DeepSeek-V3, written out.
        let attention = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168;
        let experts = 58 * (257 * 3 * 7168 * 2048 + 7168 * 256);
        let sum = 61 * attention + 3 * 3 * 7168 * 18_432 + experts + 2 * 129_280 * 7168;
        assert_eq!(parameters(&of(Preset::DeepSeekV3))[0], sum);
    }

    #[test]
    fn fewer_layers_cut_dense_layers_in_proportion() {
        let dense = |layers, dense_layers| {
            let preset = Some(Preset::DeepSeekV3);
            Params { preset, layers, dense_layers, ..Params::default() }.model().unwrap().dense_layers
        };
        assert_eq!([None, Some(8), Some(20), Some(31)].map(|layers| dense(layers, None)), [3, 0, 1, 2]);
        assert_eq!(dense(Some(8), Some(1)), 1);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        let given = || Params { layers: Some(2), hidden: Some(100), heads: Some(3), ..Params::default() };
        let more = || Params { sequence: Some(8), vocabulary: Some(8), ..given() };
        let wrong = |params: Params| params.model().unwrap_err().0;
        assert_eq!(wrong(more()), "head_dim");
        let whole = || Params { head_dim: Some(32), ..more() };
        assert!(whole().model().is_ok());
        assert_eq!(wrong(Params { v_head_dim: Some(32), ..whole() }), "v_head_dim");
        assert_eq!(wrong(Params { kv_lora_rank: Some(32), ..whole() }), "q_lora_rank");
        assert_eq!(wrong(Params { dense_layers: Some(1), ..whole() }), "dense_layers");
        let experts = || Params { experts: Some(8), ..whole() };
        assert_eq!(wrong(Params { dense_layers: Some(3), ..experts() }), "dense_layers");
        assert_eq!(wrong(Params { shared_experts: Some(2000), ..experts() }), "shared_experts");
    }

    #[test]
    fn a_token_costs_about_six_operations_a_parameter() {
        let m = of(Preset::Gpt175b);
        let expected = 6.0 * parameters(&m)[0] as f64 * (1.0 + 2048.0 / (6.0 * 12_288.0));
        assert!((m.flop() / expected - 1.0).abs() < 0.01);
    }
}
