//! Trees: two binary trees between servers, and a chain of GPUs or NVLS within each server.
//!
//! Simplification: the links to both children are at the first GPU of the chain, as in NCCL's pattern TREE. In
//! the pattern `BALANCED_TREE` the link to the first child is at the second GPU, whose step to the first GPU is a
//! part of the model's latency of the network.
//! Channel c of the search has the first tree, its copy has the second tree. Data goes up reduced, chunk by
//! chunk, and down again, both at once. Source: NCCL 2.30.7, `graph/trees.cc` (`ncclGetBtree`,
//! `ncclGetDtree`), `graph/connect.cc` (`connectTrees`, `connectNvls`).

use super::super::piece::Way;
use super::team::{Draft, Team, part, pieces};
use crate::job::nccl::tuner::{Choice, Chunks, Tuning};

/// A tree between servers.
pub struct Servers {
    /// Servers with each parent before its children.
    order: Vec<u32>,
    parent: Vec<Option<u32>>,
    children: Vec<Vec<u32>>,
}

/// Returns the parent of a server in the first tree of `n` servers.
fn parent(server: u32, n: u32) -> Option<u32> {
    if server == 0 {
        return None;
    }
    let bit = 1 << server.trailing_zeros();
    let up = (server ^ bit) | (bit << 1);
    Some(if up >= n { server ^ bit } else { up })
}

impl Servers {
    /// Returns the first or the second tree of `n` servers.
    pub fn new(n: u32, which: u32) -> Self {
        let there = |server: u32| match which {
            0 => server,
            _ if n.is_multiple_of(2) => n - 1 - server,
            _ => (server + n - 1) % n,
        };
        let back = |server: u32| match which {
            0 => server,
            _ if n.is_multiple_of(2) => n - 1 - server,
            _ => (server + 1) % n,
        };
        let parent: Vec<Option<u32>> = (0..n).map(|server| parent(there(server), n).map(back)).collect();
        let mut children = vec![Vec::new(); n as usize];
        // The child on the lower side is the first child.
        for place in 0..n {
            let server = back(place);
            if let Some(parent) = parent[server as usize] {
                children[parent as usize].push(server);
            }
        }
        let mut order: Vec<u32> = (0..n).filter(|server| parent[*server as usize].is_none()).collect();
        let mut next = 0;
        while next < order.len() {
            let server = order[next];
            order.extend(children[server as usize].iter().copied());
            next += 1;
        }
        Self { order, parent, children }
    }

    fn parent(&self, server: u32) -> Option<u32> {
        self.parent[server as usize]
    }

    fn children(&self, server: u32) -> &[u32] {
        &self.children[server as usize]
    }
}

/// Returns the chain of a server's GPUs that begins beside a NIC.
fn chain(team: &Team, server: u32, nic: u32) -> Vec<u32> {
    let (first, gpus) = (team.beside(server, nic), team.gpus());
    (0..gpus).map(|i| team.rank(server, (first + i) % gpus)).collect()
}

/// Adds the messages of an all-reduce of `bytes` with trees.
pub fn add(draft: &mut Draft<'_>, tuning: &Tuning, choice: Choice, chunks: &Chunks, bytes: u64) {
    let team = draft.team;
    let searched = tuning.graphs().tree.channels.max(1);
    let trees = [0, 1].map(|which| Servers::new(team.servers(), which));
    for channel in 0..choice.channels {
        let tree = &trees[(channel / searched % 2) as usize];
        let nic = channel % searched % team.nics;
        let chains: Vec<Vec<u32>> = (0..team.servers()).map(|server| chain(team, server, nic)).collect();
        let one = Chain { tree, chains: &chains, nic, channel };
        for data in pieces(part(bytes, choice.channels, channel), chunks.chunk) {
            one.add(draft, chunks.wire(data));
        }
    }
}

/// The trees of a channel, with a chain in each server.
struct Chain<'a> {
    tree: &'a Servers,
    chains: &'a [Vec<u32>],
    nic: u32,
    channel: u32,
}

impl Chain<'_> {
    /// Adds the messages of a chunk: up the tree, and down again.
    fn add(&self, draft: &mut Draft<'_>, bytes: u64) {
        let Self { tree, chains, nic, channel } = self;
        let gpus = chains[0].len();
        // Messages that came to each GPU of a server on the way up.
        let mut up: Vec<Vec<Vec<usize>>> = vec![vec![Vec::new(); gpus]; chains.len()];
        for server in tree.order.iter().rev() {
            let chain = &chains[*server as usize];
            for at in (1..gpus).rev() {
                let after = std::mem::take(&mut up[*server as usize][at]);
                let step = (gpus - 1 - at) as u32;
                let sent = draft.send((*channel, step), (chain[at], chain[at - 1]), *nic, bytes, after);
                up[*server as usize][at - 1].push(sent);
            }
            if let Some(parent) = tree.parent(*server) {
                let after = std::mem::take(&mut up[*server as usize][0]);
                let ends = (chain[0], chains[parent as usize][0]);
                let sent = draft.send((*channel, gpus as u32), ends, *nic, bytes, after);
                up[parent as usize][0].push(sent);
            }
        }
        // The message with the sum at each GPU; all inputs at the root.
        let mut down: Vec<Vec<Vec<usize>>> = vec![vec![Vec::new(); gpus]; chains.len()];
        if let Some(root) = tree.order.first() {
            down[*root as usize][0] = std::mem::take(&mut up[*root as usize][0]);
        }
        for server in &tree.order {
            let chain = &chains[*server as usize];
            for at in 1..gpus {
                let after = down[*server as usize][at - 1].clone();
                let step = (gpus + at) as u32;
                let sent = draft.send((*channel, step), (chain[at - 1], chain[at]), *nic, bytes, after);
                down[*server as usize][at] = vec![sent];
            }
            for child in tree.children(*server) {
                let after = down[*server as usize][0].clone();
                let ends = (chain[0], chains[*child as usize][0]);
                let sent = draft.send((*channel, 2 * gpus as u32), ends, *nic, bytes, after);
                down[*child as usize][0] = vec![sent];
            }
        }
    }
}

/// Adds the messages of an all-reduce with NVLS in each server, and with trees between equal heads of servers.
pub fn add_nvls(
    draft: &mut Draft<'_>,
    (heads, load): (u32, f64),
    choice: Choice,
    chunks: &Chunks,
    bytes: u64,
) {
    let team = draft.team;
    let trees = [0, 1].map(|which| Servers::new(team.servers(), which));
    let ready = super::nvls::ready(draft, heads);
    let mut last: Vec<Vec<usize>> = vec![Vec::new(); team.ranks() as usize];
    for block in 0..choice.channels {
        let own = part(bytes, choice.channels, block);
        let tree = &trees[(block % 2) as usize];
        for head in 0..heads {
            let nic = if heads == team.nics { head } else { team.nic(team.rank(0, head)) };
            let gpu = |server: u32| {
                if heads == team.nics { team.beside(server, nic) } else { head }
            };
            for data in pieces(part(own, heads, head), chunks.chunk) {
                let charged = (data as f64 * load) as u64;
                let ranks: Vec<u32> = (0..team.servers()).map(|s| team.rank(s, gpu(s))).collect();
                let one = Heads { tree, ranks: &ranks, nic, block, ready: &ready };
                one.add(draft, chunks.wire(data), charged, &mut last);
            }
        }
    }
    super::nvls::done(draft, &last);
}

/// The trees of a head of each server.
struct Heads<'a> {
    tree: &'a Servers,
    ranks: &'a [u32],
    nic: u32,
    block: u32,
    ready: &'a [Vec<usize>],
}

impl Heads<'_> {
    fn add(&self, draft: &mut Draft<'_>, bytes: u64, charged: u64, last: &mut [Vec<usize>]) {
        let Self { tree, ranks, nic, block, ready } = self;
        let mut up: Vec<Vec<usize>> = vec![Vec::new(); ranks.len()];
        for server in tree.order.iter().rev() {
            let head = ranks[*server as usize];
            let after = ready[head as usize].clone();
            let reduced = draft.add((*block, 0), (head, head), Way::Reduce, charged, after);
            up[*server as usize].push(reduced);
            if let Some(parent) = tree.parent(*server) {
                let after = std::mem::take(&mut up[*server as usize]);
                let sent = draft.send((*block, 1), (head, ranks[parent as usize]), *nic, bytes, after);
                up[parent as usize].push(sent);
            }
        }
        let mut down: Vec<Vec<usize>> = vec![Vec::new(); ranks.len()];
        if let Some(root) = tree.order.first() {
            down[*root as usize] = std::mem::take(&mut up[*root as usize]);
        }
        for server in &tree.order {
            let head = ranks[*server as usize];
            let after = down[*server as usize].clone();
            let sent = draft.add((*block, 3), (head, head), Way::Multicast, charged, after);
            last[head as usize].push(sent);
            for child in tree.children(*server) {
                let after = down[*server as usize].clone();
                let sent = draft.send((*block, 2), (head, ranks[*child as usize]), *nic, bytes, after);
                down[*child as usize] = vec![sent];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_is_a_leaf_of_at_most_one_tree() {
        for n in 2..40 {
            let trees = [0, 1].map(|which| Servers::new(n, which));
            for tree in &trees {
                assert_eq!(tree.order.len(), n as usize, "{n} servers are one tree");
                assert!(tree.children.iter().all(|children| children.len() <= 2));
                for server in 0..n {
                    if let Some(parent) = tree.parent(server) {
                        assert!(tree.children(parent).contains(&server));
                    }
                }
            }
            if n > 2 && n % 2 == 0 {
                for server in 0..n {
                    let is_leaf = |tree: &Servers| tree.children(server).is_empty();
                    assert!(!trees.iter().all(is_leaf), "{server} of {n}");
                }
            }
        }
    }

    #[test]
    fn the_first_tree_is_that_of_nccl() {
        // The tree of 14 servers in the comment of `trees.cc`.
        let tree = Servers::new(14, 0);
        let parents: Vec<Option<u32>> = (0..14).map(|server| tree.parent(server)).collect();
        let of = |server: usize| parents[server];
        assert_eq!(of(0), None);
        assert_eq!(of(8), Some(0));
        assert_eq!((of(4), of(12)), (Some(8), Some(8)));
        assert_eq!((of(2), of(6), of(10), of(13)), (Some(4), Some(4), Some(12), Some(12)));
        assert_eq!(
            (of(1), of(3), of(5), of(7), of(9), of(11)),
            (Some(2), Some(2), Some(6), Some(6), Some(10), Some(10))
        );
    }
}
