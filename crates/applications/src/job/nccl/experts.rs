//! Tokens to experts and back, once for each server: by rail over the network, and over NVLink within servers.
//!
//! A rank sends the tokens for another server in one stream to the rank at the same place of that server. That
//! rank passes the tokens on over NVLink to the ranks of their experts. On the way back the rank sums up what
//! the experts of its server return, and sends one copy over the network. Pieces of 128 KiB go on one by one.
//! Source: `DeepEP`'s normal kernels, by `docs/models/training.md`.

use super::team::{Draft, part, pieces};

/// Largest piece, in bytes.
const PIECE: u64 = 128 << 10;

/// Bytes of a rank's tokens: for another server, and for another rank.
#[derive(Debug, Clone, Copy)]
pub struct Tokens {
    /// For a server.
    pub server: u64,
    /// For a rank.
    pub rank: u64,
}

/// Adds the messages to experts, or back if `combines`, on `channels` channels.
pub fn add(draft: &mut Draft<'_>, tokens: Tokens, combines: bool, channels: u32) {
    let team = draft.team;
    let (servers, gpus) = (team.servers(), team.gpus());
    for from in 0..team.ranks() {
        let (server, gpu) = team.place(from);
        let nic = team.nic(from);
        for turn in 0..servers {
            let far = (server + turn) % servers;
            let channel = turn % channels;
            let relay = team.rank(far, gpu);
            let others: Vec<u32> =
                (0..gpus).map(|i| team.rank(far, (gpu + i) % gpus)).filter(|to| *to != relay).collect();
            let count = tokens.server.div_ceil(PIECE).max(1) as u32;
            for (place, data) in (0..).zip(pieces(tokens.server.max(1), PIECE)) {
                let inner = part(tokens.rank, count, place);
                if combines {
                    let came = others
                        .iter()
                        .map(|other| draft.send((channel, 0), (*other, relay), nic, inner, Vec::new()))
                        .collect();
                    if far != server {
                        draft.send((channel, 1), (relay, from), nic, data, came);
                    }
                } else {
                    let came = if far == server {
                        Vec::new()
                    } else {
                        vec![draft.send((channel, 0), (from, relay), nic, data, Vec::new())]
                    };
                    for other in &others {
                        draft.send((channel, 1), (relay, *other), nic, inner, came.clone());
                    }
                }
            }
        }
    }
}
