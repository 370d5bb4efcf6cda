//! Collective operations: what the ranks of a job send one another to reduce, gather or exchange their data.
//!
//! Models: a message is a flow; it starts when those that its sender needs for it have arrived whole. Ring: all-reduce in 2 (n − 1)
//! steps, of which the first half is a reduce-scatter and the second an all-gather. Halving-doubling (Rabenseifner): step k exchanges
//! a 2^(k+1)th of the data with the rank whose number differs in bit k, and back in the opposite order. Double tree: two binary
//! trees with half of the data each, reduced up and sent down; no rank of an even number of them is inner in both. Hierarchical:
//! a reduce-scatter within each group, an all-reduce of each share among the ranks of equal place, an all-gather within each group.
//! All-to-all: every message at once, or in rounds, of which each waits for what came in the one before. `channels` share the data
//! and run beside one another; pieces of a `chunk` each go on as soon as they are there. Between two ranks the pieces of a channel
//! leave in order, one when the last packet of the one before has left. Data that does not divide gives its first shares a byte more.
//! Source: NVIDIA's NCCL (`all_reduce.h`, `reduce_scatter.h`, `all_gather.h`, `trees.cc`) for rings and trees, and the measures of its
//! tests for bandwidths; `LogGOPSim`'s `Schedgen` for halving-doubling.
//! Simplifications: reducing takes no time and hosts no memory, so that any number of pieces may be under way; all channels take
//! the ranks in one order, and NCCL's 16-byte padding and protocols with flags are not there.
//! Leaves out: reduction in switches, other topologies inside a server, and overlap with computing.
//! Invariants: ranks send together exactly what each algorithm says; nothing is sent before it is there.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, index};

use super::making::{fits, waits_fit};
use super::{Collective, Host, Made, Making, Problem, Traffic};

/// What the ranks have in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Each the sum of all vectors.
    AllReduce,
    /// Each its share of the sum of all vectors.
    ReduceScatter,
    /// Each the shares of all.
    AllGather,
    /// Each what the others have for it.
    AllToAll,
}

/// How they come to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Each sends to the next.
    Ring,
    /// Two binary trees with half of the data each.
    DoubleTree,
    /// With ranks of ever larger distance, and back; as many ranks as a power of two.
    HalvingDoubling,
    /// Rings within groups, and rings of the ranks of equal place in them.
    Hierarchical,
    /// Each to all others at once.
    Direct,
    /// Each to one at a time.
    Rounds,
}

/// `workload[…].collective`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What the ranks have in the end.
    pub operation: Operation,
    /// How they come to it. Default: a ring, or all at once for `all_to_all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<Algorithm>,
    /// The vector of each rank; of `all_gather` what each has in the end, of `all_to_all` all that it has for ranks.
    pub size: Bytes,
    /// The ranks, in order. Default: all hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<Host>>,
    /// Channels that share the data and run beside one another.
    #[serde(default = "one")]
    pub channels: u64,
    /// The largest piece of a message that goes on by itself. Default: whole messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Ranks of a group, those that follow one another, for `hierarchical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
}

fn one() -> u64 {
    1
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let hosts = making.hosts(self.hosts.as_ref(), &format!("{key}.hosts"))?;
        making.check_size(self.size, &key)?;
        let made = self.flows(&key, &hosts)?;
        let ranks = hosts.len() as f64;
        let rounds = if self.operation == Operation::AllReduce { 2.0 } else { 1.0 };
        making.measure(Collective {
            workload: making.index(),
            operation: self.operation.name(),
            algorithm: self.algorithm().name(),
            ranks: hosts.len() as u32,
            bytes: self.size.0,
            bus: rounds * (ranks - 1.0) / ranks,
            flows: made.len() as u64,
        });
        making.add_made(made)
    }
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllGather => "all_gather",
            Self::AllToAll => "all_to_all",
        }
    }

    /// The algorithms that there are for it, the default first.
    const fn algorithms(self) -> &'static [Algorithm] {
        match self {
            Self::AllReduce => &[Algorithm::Ring, Algorithm::DoubleTree, Algorithm::HalvingDoubling, Algorithm::Hierarchical],
            Self::ReduceScatter | Self::AllGather => &[Algorithm::Ring, Algorithm::HalvingDoubling],
            Self::AllToAll => &[Algorithm::Direct, Algorithm::Rounds],
        }
    }

    /// Which steps of the 2 `half` of an all-reduce it takes.
    const fn steps(self, half: usize) -> (usize, usize) {
        match self {
            Self::ReduceScatter => (0, half),
            Self::AllGather => (half, 2 * half),
            Self::AllReduce | Self::AllToAll => (0, 2 * half),
        }
    }
}

impl Algorithm {
    const fn name(self) -> &'static str {
        match self {
            Self::Ring => "ring",
            Self::DoubleTree => "double_tree",
            Self::HalvingDoubling => "halving_doubling",
            Self::Hierarchical => "hierarchical",
            Self::Direct => "direct",
            Self::Rounds => "rounds",
        }
    }
}

/// The bytes of those of `n` shares whose number leaves `rest` when divided by `by`; the first shares have a byte more.
const fn share(bytes: u64, n: usize, rest: usize, by: usize) -> u64 {
    let (n, rest, by) = (n as u64, rest as u64, by as u64);
    n / by * (bytes / n) + (bytes % n + by - 1 - rest) / by
}

/// Block of a ring of `n` that its member `at` sends in a step of an all-reduce.
const fn block(at: usize, n: usize, step: usize) -> usize {
    (at + 2 * n - 1 - step) % n
}

/// The messages that were made, and the last one of each line: those of a line from one rank to another leave in order.
struct Sends<'a> {
    hosts: &'a [u32],
    list: Vec<Made>,
    last: HashMap<(usize, usize, usize), usize>,
}

impl Sends<'_> {
    /// A message, when others have arrived; returns its place.
    fn send(&mut self, line: usize, from: usize, to: usize, bytes: u64, mut after: Vec<usize>) -> usize {
        let place = self.list.len();
        after.extend(self.last.insert((line, from, to), place));
        self.list.push(Made { src: self.hosts[from], dst: self.hosts[to], size: Bytes(bytes), start: Duration::ZERO, after });
        place
    }
}

impl Params {
    fn algorithm(&self) -> Algorithm {
        self.algorithm.unwrap_or(self.operation.algorithms()[0])
    }

    /// The messages among these hosts.
    pub fn flows(&self, key: &str, hosts: &[u32]) -> Result<Vec<Made>, Problem> {
        let pieces = self.check(key, hosts.len())?;
        let n = hosts.len();
        let channels = self.channels as usize;
        let mut sends = Sends { hosts, list: Vec::new(), last: HashMap::new() };
        for channel in 0..channels {
            let bytes = share(self.size.0, channels, channel, channels);
            match self.algorithm() {
                Algorithm::DoubleTree => {
                    for tree in 0..2 {
                        let bytes = share(bytes, 2, tree, 2);
                        let parents = parents(n, tree);
                        (0..pieces).for_each(|p| in_tree(&mut sends, 2 * channel + tree, &parents, share(bytes, pieces, p, pieces)));
                    }
                }
                Algorithm::Direct => {
                    for piece in 0..pieces {
                        let bytes = share(bytes, pieces, piece, pieces);
                        // Each starts with its successor, so that no rank is everybody's first.
                        for (rank, to) in (0..n).flat_map(|rank| (1..n).map(move |i| (rank, (rank + i) % n))) {
                            sends.send(channel, rank, to, share(bytes, n, to, n), Vec::new());
                        }
                    }
                }
                _ => self.in_steps(&mut sends, channel, bytes, pieces),
            }
        }
        Ok(sends.list)
    }

    /// In each step a rank sends to one and hears from one; what it heard in the step before has to be there.
    fn in_steps(&self, sends: &mut Sends<'_>, channel: usize, bytes: u64, pieces: usize) {
        let n = sends.hosts.len();
        let (first, end) = self.steps(n);
        let mut heard: Vec<Vec<Option<usize>>> = vec![vec![None; n]; pieces];
        for step in first..end {
            for (piece, heard) in heard.iter_mut().enumerate() {
                let bytes = share(bytes, pieces, piece, pieces);
                let mut fresh = vec![None; n];
                for (rank, heard) in heard.iter().enumerate() {
                    let (to, bytes) = self.message(n, step, rank, bytes);
                    fresh[to] = Some(sends.send(channel, rank, to, bytes, heard.iter().copied().collect()));
                }
                *heard = fresh;
            }
        }
    }

    /// The first step that is taken, and the one after the last.
    fn steps(&self, n: usize) -> (usize, usize) {
        match self.algorithm() {
            Algorithm::HalvingDoubling => self.operation.steps(index(n.ilog2())),
            Algorithm::Hierarchical => {
                let group = self.group_of(n);
                (0, 2 * (group - 1) + 2 * (n / group - 1))
            }
            Algorithm::Rounds => (0, n - 1),
            _ => self.operation.steps(n - 1),
        }
    }

    fn group_of(&self, n: usize) -> usize {
        self.group.map_or(n, |g| g as usize)
    }

    /// To whom a rank sends in a step, and how much.
    fn message(&self, n: usize, step: usize, rank: usize, bytes: u64) -> (usize, u64) {
        match self.algorithm() {
            Algorithm::HalvingDoubling => {
                let half = index(n.ilog2());
                let bit = 1 << if step < half { step } else { 2 * half - 1 - step };
                // On the way there the shares of the other half, on the way back all that is known.
                let whose = if step < half { rank ^ bit } else { rank };
                (rank ^ bit, share(bytes, n, whose % (2 * bit), 2 * bit))
            }
            Algorithm::Hierarchical => {
                let group = self.group_of(n);
                let (servers, server, at) = (n / group, rank / group, rank % group);
                let among = 2 * (servers - 1);
                let within = |step| (server * group + (at + 1) % group, share(bytes, group, block(at, group, step), group));
                match step.checked_sub(group - 1) {
                    None => within(step),
                    Some(step) if step < among => {
                        let own = share(bytes, group, at, group);
                        ((server + 1) % servers * group + at, share(own, servers, block(server, servers, step), servers))
                    }
                    Some(_) => within(step - among),
                }
            }
            Algorithm::Rounds => {
                let to = (rank + step + 1) % n;
                (to, share(bytes, n, to, n))
            }
            _ => ((rank + 1) % n, share(bytes, n, block(rank, n, step), n)),
        }
    }

    /// Refuses what makes no sense; returns the pieces of each message.
    fn check(&self, key: &str, n: usize) -> Result<usize, Problem> {
        let wrong = |name: &str, why: String| Err((format!("{key}.{name}"), why));
        let (operation, algorithm) = (self.operation.name(), self.algorithm());
        if n < 2 {
            return wrong("hosts", "a collective needs two ranks or more".into());
        }
        let known = self.operation.algorithms();
        if !known.contains(&algorithm) {
            let names: Vec<_> = known.iter().map(|a| a.name()).collect();
            return wrong("algorithm", format!("{operation} is not done by `{}`; there are {}", algorithm.name(), names.join(", ")));
        }
        if algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
            return wrong("algorithm", format!("halving and doubling takes as many ranks as a power of two; there are {n}; use ring"));
        }
        match self.group {
            None if algorithm == Algorithm::Hierarchical => {
                return wrong("group", "it is missing: a hierarchy needs the number of ranks in a group".into());
            }
            Some(_) if algorithm != Algorithm::Hierarchical => {
                return wrong("group", format!("`{}` knows no groups; leave it out, or use hierarchical", algorithm.name()));
            }
            Some(group) if group < 2 || group >= n as u64 || !(n as u64).is_multiple_of(group) => {
                let why = format!("{group} is out of range; {n} ranks are in groups of two or more, all of a size, and in more than one");
                return wrong("group", why);
            }
            _ => {}
        }
        if self.channels == 0 || self.channels > 64 {
            return wrong("channels", format!("{} is out of range; allowed are 1 to 64", self.channels));
        }
        // Into how many shares a message of the whole data is cut, and how many of them the largest message has.
        let (lines, shares, most) = match algorithm {
            Algorithm::DoubleTree => (2, 1, 1),
            Algorithm::HalvingDoubling => (1, n as u64, n as u64 / 2),
            Algorithm::Hierarchical => (1, n as u64, (n / self.group_of(n)) as u64),
            _ => (1, n as u64, 1),
        };
        let lines = lines * self.channels;
        let largest = (self.size.0.div_ceil(lines) * most).div_ceil(shares);
        let pieces = match self.chunk {
            Some(Bytes(0)) => return wrong("chunk", "0 is out of range; a piece has at least one byte".into()),
            Some(chunk) => largest.div_ceil(chunk.0).max(1),
            None => 1,
        };
        let messages = match algorithm {
            Algorithm::DoubleTree => 2 * (n as u64 - 1),
            Algorithm::Direct => (n * (n - 1)) as u64,
            _ => {
                let (first, end) = self.steps(n);
                (n * (end - first)) as u64
            }
        };
        let messages = messages.saturating_mul(lines).saturating_mul(pieces);
        fits(key, messages)?;
        waits_fit(key, 3 * messages)?;
        if self.size.0 < lines.saturating_mul(pieces).saturating_mul(shares) {
            let why = format!(
                "{} is too little: {lines} lines (channels, trees) of {pieces} pieces with {shares} shares have a byte each at least",
                self.size
            );
            return wrong("size", why);
        }
        Ok(pieces as usize)
    }
}

/// Of each rank the one above it in the first or second of two binary trees.
fn parents(n: usize, tree: usize) -> Vec<Option<usize>> {
    let first = |place: usize| {
        let bit = place & place.wrapping_neg();
        let above = (place ^ bit) | (2 * bit);
        (place > 0).then_some(if above < n { above } else { place ^ bit })
    };
    // The second is the first seen from the other end, or one further on.
    let swap = |rank: usize| match tree {
        0 => rank,
        _ if n.is_multiple_of(2) => n - 1 - rank,
        _ => (rank + n - 1) % n,
    };
    let back = |place: usize| if tree == 1 && !n.is_multiple_of(2) { (place + 1) % n } else { swap(place) };
    (0..n).map(|rank| first(swap(rank)).map(back)).collect()
}

/// Reduces a piece up a tree and sends it down again.
fn in_tree(sends: &mut Sends<'_>, line: usize, parents: &[Option<usize>], bytes: u64) {
    let n = parents.len();
    let depth = |rank: usize| std::iter::successors(Some(rank), |at| parents[*at]).count();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|rank| depth(*rank));
    // What a rank needs before it passes the piece on: from below, then from above.
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); n];
    for rank in order.iter().rev() {
        if let Some(above) = parents[*rank] {
            let after = std::mem::take(&mut needs[*rank]);
            let message = sends.send(line, *rank, above, bytes, after);
            needs[above].push(message);
        }
    }
    for rank in order {
        if let Some(above) = parents[rank] {
            let after = needs[above].clone();
            needs[rank] = vec![sends.send(line, above, rank, bytes, after)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(operation: Operation, algorithm: Algorithm, size: u64) -> Params {
        Params { operation, algorithm: Some(algorithm), size: Bytes(size), hosts: None, channels: 1, chunk: None, group: None }
    }

    fn flows(p: &Params, n: u32) -> Vec<Made> {
        p.flows("key", &(0..n).collect::<Vec<_>>()).unwrap()
    }

    fn all() -> Vec<(Params, u64)> {
        let group = |p: Params| Params { group: Some(4), ..p };
        let reduce = Operation::AllReduce;
        // With n = 8: what all ranks send together, in eighths of the data.
        vec![
            (params(reduce, Algorithm::Ring, 8_000_003), 14 * 8),
            (params(Operation::ReduceScatter, Algorithm::Ring, 8_000_003), 7 * 8),
            (params(Operation::AllGather, Algorithm::Ring, 8_000_003), 7 * 8),
            (params(reduce, Algorithm::HalvingDoubling, 8_000_003), 14 * 8),
            (params(Operation::ReduceScatter, Algorithm::HalvingDoubling, 8_000_003), 7 * 8),
            (params(Operation::AllGather, Algorithm::HalvingDoubling, 8_000_003), 7 * 8),
            // Each link of a tree once up and once down.
            (params(reduce, Algorithm::DoubleTree, 8_000_003), 14 * 8),
            // 2 · 3/4 within groups and 2 · 1/2 · 1/4 among them.
            (group(params(reduce, Algorithm::Hierarchical, 8_000_003)), 14 * 8),
            (params(Operation::AllToAll, Algorithm::Direct, 8_000_003), 7 * 8),
            (params(Operation::AllToAll, Algorithm::Rounds, 8_000_003), 7 * 8),
        ]
    }

    #[test]
    fn ranks_send_exactly_what_the_algorithm_says() {
        for (p, eighths) in all() {
            for (channels, chunk) in [(1, None), (3, None), (2, Some(Bytes(10_007)))] {
                let p = Params { channels, chunk, ..p.clone() };
                let list = flows(&p, 8);
                let sent: u64 = list.iter().map(|f| f.size.0).sum();
                // Not a byte more or less, but that all-to-all leaves to each rank its own share.
                let is_exact = p.operation != Operation::AllToAll;
                let expected = if is_exact { eighths / 8 * 8_000_003 } else { 7 * 8_000_003 };
                assert_eq!(sent, expected, "{p:?}");
                if let Some(chunk) = chunk {
                    assert!(list.iter().all(|f| f.size.0 <= chunk.0 + 8), "{p:?}");
                }
            }
        }
    }

    /// Which vectors are in what each rank has in the end, by share, when messages bring what their senders have.
    #[test]
    fn every_rank_has_the_sum_of_all_vectors() {
        for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Hierarchical] {
            let group = (algorithm == Algorithm::Hierarchical).then_some(4);
            let p = Params { group, ..params(Operation::AllReduce, algorithm, 64) };
            let n = 8;
            // A share is as large as its number tells: the sizes of messages say which shares they bring.
            let shares: Vec<Vec<usize>> = (0..n).map(|_| (0..n).collect()).collect();
            let mut has: Vec<Vec<u64>> = (0..n).map(|rank| vec![1 << rank; n]).collect();
            let (first, end) = p.steps(n);
            for step in first..end {
                let before = has.clone();
                for rank in 0..n {
                    let brought = shares[rank].iter().filter(|s| brings(&p, n, step, rank, **s));
                    let (to, _) = p.message(n, step, rank, 64);
                    for s in brought {
                        has[to][*s] |= before[rank][*s];
                    }
                }
            }
            assert!(has.iter().flatten().all(|sum| *sum == 255), "{algorithm:?}: {has:?}");
        }
    }

    /// Whether a message brings a share: it is larger by a byte if only that share is.
    fn brings(p: &Params, n: usize, step: usize, rank: usize, wanted: usize) -> bool {
        let larger = |count: u64| p.message(n, step, rank, 8 * n as u64 + count).1;
        // A hierarchy cuts shares within shares: the bytes beyond a multiple go to the first shares of the first cut.
        let order = |share: usize| match p.group {
            Some(g) => share % (n / g as usize) * g as usize + share / (n / g as usize),
            None => share,
        } as u64;
        larger(order(wanted) + 1) > larger(order(wanted))
    }

    #[test]
    fn a_piece_goes_on_when_it_is_there_and_pieces_leave_in_order() {
        for (p, _) in all() {
            let list = flows(&Params { chunk: Some(Bytes(100_000)), ..p.clone() }, 8);
            for (place, f) in list.iter().enumerate() {
                assert!(f.src != f.dst);
                for other in &f.after {
                    let awaited = &list[*other];
                    assert!(*other < place, "nothing waits in a circle");
                    assert!(awaited.dst == f.src || (awaited.src, awaited.dst) == (f.src, f.dst), "{p:?}");
                }
            }
        }
    }

    #[test]
    fn trees_are_low_and_no_rank_is_inner_in_both() {
        for n in 2..=200 {
            let trees = [parents(n, 0), parents(n, 1)];
            for tree in &trees {
                assert_eq!(tree.iter().filter(|p| p.is_none()).count(), 1);
                for rank in 0..n {
                    let way: Vec<_> = std::iter::successors(Some(rank), |at| tree[*at]).take(n + 1).collect();
                    assert!(way.len() - 1 <= index(n.next_power_of_two().ilog2()), "{n}: {way:?}");
                }
                for rank in 0..n {
                    assert!(tree.iter().filter(|p| **p == Some(rank)).count() <= 2);
                }
            }
            let is_inner = |tree: &[Option<usize>], rank| tree.contains(&Some(rank));
            assert!(n % 2 == 1 || (0..n).all(|rank| !(is_inner(&trees[0], rank) && is_inner(&trees[1], rank))), "{n}");
        }
        // NCCL's trees of eight: rank 0 above 4, that above 2 and 6, those above the odd ones.
        let expected = [None, Some(2), Some(4), Some(2), Some(0), Some(6), Some(4), Some(6)];
        assert_eq!(parents(8, 0), expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let reduce = |algorithm| params(Operation::AllReduce, algorithm, 1000);
        let refused = |p: Params, n: u32, what: &str| {
            let (key, why) = p.flows("key", &(0..n).collect::<Vec<_>>()).unwrap_err();
            assert!(format!("{key}: {why}").starts_with(what), "{key}: {why}");
        };
        refused(reduce(Algorithm::Ring), 1, "key.hosts: a collective needs two ranks");
        refused(reduce(Algorithm::HalvingDoubling), 6, "key.algorithm: halving and doubling takes as many ranks as a power of two");
        refused(params(Operation::AllGather, Algorithm::DoubleTree, 1000), 4, "key.algorithm: all_gather is not done by `double_tree`");
        refused(reduce(Algorithm::Direct), 4, "key.algorithm: all_reduce is not done by `direct`");
        refused(reduce(Algorithm::Hierarchical), 4, "key.group: it is missing");
        for group in [0, 1, 3, 4] {
            refused(Params { group: Some(group), ..reduce(Algorithm::Hierarchical) }, 4, "key.group: ");
        }
        refused(Params { group: Some(2), ..reduce(Algorithm::Ring) }, 4, "key.group: `ring` knows no groups");
        for channels in [0, 65] {
            refused(Params { channels, ..reduce(Algorithm::Ring) }, 4, "key.channels: ");
        }
        refused(Params { chunk: Some(Bytes(0)), ..reduce(Algorithm::Ring) }, 4, "key.chunk: 0 is out of range");
        refused(Params { size: Bytes(7), ..reduce(Algorithm::Ring) }, 8, "key.size: 7B is too little");
        refused(Params { size: Bytes(1 << 40), chunk: Some(Bytes(1)), ..reduce(Algorithm::Ring) }, 8, "key: these are more flows");
    }
}
