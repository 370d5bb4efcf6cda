//! The parts of a KV cache from each prefill rank to each decode rank.
//!
//! A rank of t tensor-parallel ranks holds `kv_heads / t` heads. With more ranks than heads, each head has
//! `t / kv_heads` holders. With equal degrees, each prefill rank sends all heads to the decode rank at the same
//! place. Otherwise a decode rank takes a head from the holder with the number of the place of the decode rank
//! modulo the holders (our choice). The latent of MLA is whole at each rank; a decode rank takes the latent
//! from the prefill rank at the place modulo the degree.

use xoff_models::parts::param_error::ParamError;
use xoff_units::index;

use crate::language_model::Model;

/// For each prefill rank of a tensor group: the decode ranks to which the rank sends, with the bytes of a
/// token and layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heads(Vec<Vec<(u32, u64)>>);

impl Heads {
    /// Returns the parts for tensor groups of prefill and decode, with this many bytes a number.
    pub fn new(model: &Model, bytes: u64, prefill: u32, decode: u32) -> Result<Self, ParamError> {
        let mut parts = vec![Vec::new(); index(prefill)];
        if model.latent.is_some() {
            for to in 0..decode {
                parts[index(to % prefill)].push((to, model.kv_width() * bytes));
            }
            return Ok(Self(parts));
        }
        let heads = model.kv_heads as u32;
        for ranks in [prefill, decode] {
            if !heads.is_multiple_of(ranks) && !ranks.is_multiple_of(heads) {
                let why = format!("{heads} KV heads cannot be shared out evenly among {ranks} ranks");
                return Err(("tensor", why));
            }
        }
        let of_head = 2 * model.head_dim * bytes;
        if prefill == decode {
            let held = u64::from(heads / prefill).max(1) * of_head;
            for place in 0..prefill {
                parts[index(place)].push((place, held));
            }
            return Ok(Self(parts));
        }
        let (holders, needed) = ((prefill / heads).max(1), (heads / decode).max(1));
        for to in 0..decode {
            let first = to * needed / (decode / heads).max(1);
            for head in first..first + needed {
                let from =
                    if prefill > heads { head * holders + to % holders } else { head / (heads / prefill) };
                let of: &mut Vec<(u32, u64)> = &mut parts[index(from)];
                match of.iter_mut().find(|part| part.0 == to) {
                    Some(part) => part.1 += of_head,
                    None => of.push((to, of_head)),
                }
            }
        }
        Ok(Self(parts))
    }

    /// Returns the decode ranks to which a prefill rank sends, with the bytes of a token and layer.
    pub fn sent(&self, tensor: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.0.get(index(tensor)).into_iter().flatten().copied()
    }

    /// Returns the bytes of a token and layer for a decode rank.
    pub fn received(&self, tensor: u32) -> u64 {
        self.0.iter().flatten().filter(|part| part.0 == tensor).map(|part| part.1).sum()
    }
}
