//! Collectives: messages by which the ranks of a job reduce, gather or exchange data. A message may leave
//! once all its inputs have arrived whole at the sender. `docs/models/collective.md` defines the algorithms.
//! `channels` share the data and run in parallel; pieces of a `chunk` continue independently, in order
//! between two ranks. For indivisible data the first shares have one byte more. Simplifications: reducing
//! takes no time and no memory; all channels order ranks equally; no 16-byte padding or flag protocols of
//! NCCL; no trees of reducers; no other topologies inside a server. Invariants: ranks together send exactly
//! the bytes of the algorithm; no data is sent before its arrival.
//! Source: NVIDIA's NCCL (`all_reduce.h`, `reduce_scatter.h`, `all_gather.h`, `trees.cc`) for rings and
//! trees, and NCCL's tests for bandwidths; NVLS, `CollNet` and `SHArP` (Graham et al. 2016) for switches;
//! `LogGOPSim`'s `Schedgen` for the rest.

use xoff_units::{Bytes, Duration, index, number, wide};

pub use super::algorithm::{Algorithm, Operation};
use super::experts::{Copies, Experts};
use super::messages::Messages;
use super::piece::{Piece, Way};
use xoff_models::parts::param_error::ParamError;

/// Maximum number of listed messages of a collective: those of the first of its equal parts.
pub const MAX_MESSAGES: u64 = 1 << 25;
/// Maximum number of messages of all parts: their places are numbers of 32 bits.
pub const MAX_PLACES: u64 = u32::MAX as u64;
/// Maximum number of dependencies between messages of a collective, 16 bytes or more each: 1 GB.
const MAX_WAITS: u64 = 1 << 27;
/// Bytes of a message of a barrier.
const TOKEN: u64 = 8;

/// A collective for any ranks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Collective {
    /// Result at the ranks.
    pub operation: Operation,
    /// Algorithm.
    pub algorithm: Algorithm,
    /// Vector of each rank; for `all_gather` the result of each rank, for `all_to_all` all data of a rank for
    /// other ranks.
    pub size: Bytes,
    /// Channels that share the data and run in parallel.
    pub channels: u64,
    /// Largest piece of a message that continues independently; default: whole messages.
    pub chunk: Option<Bytes>,
    /// Number of consecutive ranks of a group, for `hierarchical`.
    pub group: Option<u64>,
    /// The routing of tokens, for an all-to-all of experts.
    pub experts: Option<Experts>,
    /// From the beginning of the operation at a rank to its first messages, besides the costs of the library.
    pub overhead: Duration,
}

/// Returns the bytes of the shares whose number leaves `rest` when divided by `by`, among `n` shares; the
/// first shares have one byte more.
const fn share(bytes: u64, n: usize, rest: usize, by: usize) -> u64 {
    let (n, rest, by) = (wide(n), wide(rest), wide(by));
    n / by * (bytes / n) + (bytes % n + by - 1 - rest) / by
}

/// Block that member `at` of a ring of `n` sends in a step of an all-reduce.
const fn block(at: usize, n: usize, step: usize) -> usize {
    (at + 2 * n - 1 - step) % n
}

/// Created messages by rank indices, each with the messages that must arrive before.
struct Sends {
    ranks: usize,
    list: Messages,
}

impl Sends {
    /// Adds a message of a line in a step, after the arrival of other messages; returns its index.
    fn send(
        &mut self,
        (line, step): (usize, usize),
        from: usize,
        to: usize,
        bytes: u64,
        after: Vec<usize>,
    ) -> usize {
        let piece = Piece {
            from: number(from),
            to: number(to),
            channel: line as u16,
            step: number(step),
            bytes,
            way: Way::Nic(number(from)),
        };
        self.list.push(piece, after)
    }
}

impl Collective {
    /// Returns a collective with the default algorithm, one channel, and whole messages.
    pub const fn new(operation: Operation, size: Bytes) -> Self {
        Self {
            operation,
            algorithm: operation.algorithms()[0],
            size,
            channels: 1,
            chunk: None,
            group: None,
            experts: None,
            overhead: Duration::ZERO,
        }
    }

    /// Returns a barrier: each rank informs every other rank, in a logarithmic number of rounds.
    pub const fn barrier() -> Self {
        Self::new(Operation::Barrier, Bytes(TOKEN))
    }

    /// Returns the messages for a number of ranks; the index after the last rank is the reducer.
    pub fn messages(&self, n: usize) -> Result<Messages, ParamError> {
        let pieces = self.check(n, |_| 1)?;
        Ok(self.list(n, pieces, 1))
    }

    /// Returns the messages of the first of the equal parts of a number of ranks.
    pub fn of_first_part(&self, n: usize) -> Result<Messages, ParamError> {
        let pieces = self.check(n, |pieces| self.parts(n, pieces))?;
        Ok(self.list(n, pieces, self.parts(n, pieces)))
    }

    /// Returns the bytes that all channels share.
    fn shared_bytes(&self, n: usize) -> u64 {
        self.experts.map_or(self.size.0, |experts| experts.bytes(self.size.0, wide(n)))
    }

    /// Returns the number of equal parts of the ranks, see [`Messages`]. Shares of different sizes make ranks differ.
    fn parts(&self, n: usize, pieces: usize) -> usize {
        let is_divisible =
            self.shared_bytes(n).is_multiple_of(self.channels * wide(pieces).saturating_mul(wide(n)));
        match self.algorithm {
            Algorithm::Ring | Algorithm::Rounds if is_divisible => n,
            Algorithm::Direct if is_divisible || self.operation != Operation::AllToAll => n,
            Algorithm::Hierarchical if is_divisible => n / self.group_of(n),
            Algorithm::Dissemination => n,
            _ => 1,
        }
    }

    /// Returns the messages of the first of `parts` equal parts.
    fn list(&self, n: usize, pieces: usize, parts: usize) -> Messages {
        let channels = self.channels as usize;
        let mut sends = Sends { ranks: n, list: Messages::of_first_of(number(parts)) };
        let size = self.shared_bytes(n);
        let of_channel = |channel: usize| share(size, channels, channel, channels);
        match self.algorithm {
            Algorithm::DoubleTree | Algorithm::Chain | Algorithm::InNetwork => {
                for channel in 0..channels {
                    self.in_order(&mut sends, channel, of_channel(channel), pieces);
                }
            }
            Algorithm::Direct => {
                for channel in 0..channels {
                    self.at_once(&mut sends, channel, of_channel(channel), pieces);
                }
            }
            _ => {
                for channel in 0..channels {
                    self.in_steps(&mut sends, channel, of_channel(channel), pieces);
                }
            }
        }
        sends.list
    }

    /// Adds the messages of a channel of an algorithm with an order of the ranks, such as a tree.
    fn in_order(&self, sends: &mut Sends, channel: usize, bytes: u64, pieces: usize) {
        let n = sends.ranks;
        match self.algorithm {
            Algorithm::DoubleTree => {
                for tree in 0..2 {
                    let bytes = share(bytes, 2, tree, 2);
                    let parents = parents(n, tree);
                    (0..pieces).for_each(|p| {
                        in_tree(sends, 2 * channel + tree, &parents, share(bytes, pieces, p, pieces));
                    });
                }
            }
            Algorithm::Chain => {
                for piece in 0..pieces {
                    let bytes = share(bytes, pieces, piece, pieces);
                    let mut before = Vec::new();
                    for step in 0..n - 1 {
                        let is_back = self.operation == Operation::Reduce;
                        let (from, to) =
                            if is_back { (n - 1 - step, n - 2 - step) } else { (step, step + 1) };
                        before = vec![sends.send((channel, step), from, to, bytes, before)];
                    }
                }
            }
            _ => {
                (0..pieces).for_each(|p| {
                    in_network(sends, channel, self.operation, share(bytes, pieces, p, pieces));
                });
            }
        }
    }

    /// Adds the messages of a channel from each rank to all its peers at once. Each rank starts with its successor, and no rank
    /// is the first target of all ranks.
    fn at_once(&self, sends: &mut Sends, channel: usize, bytes: u64, pieces: usize) {
        let (n, ranks) = (sends.ranks, sends.ranks / index(sends.list.parts()));
        let is_all = self.operation == Operation::AllToAll;
        let peers = if is_all { n } else { 2 };
        for piece in 0..pieces {
            let bytes = share(bytes, pieces, piece, pieces);
            for (rank, i) in (0..ranks).flat_map(|rank| (1..peers).map(move |i| (rank, i))) {
                let to = (rank + i) % n;
                let bytes = if is_all { share(bytes, n, to, n) } else { bytes };
                sends.send((channel, i - 1), rank, to, bytes, Vec::new());
            }
        }
    }

    /// Adds the messages of a channel in steps: in each step a rank sends one message and receives one message. The message of
    /// the previous step must have arrived; for a barrier, all received messages.
    fn in_steps(&self, sends: &mut Sends, channel: usize, bytes: u64, pieces: usize) {
        let (n, ranks) = (sends.ranks, sends.ranks / index(sends.list.parts()));
        let (first, end) = self.steps(n);
        let of_channel = (end - first) * pieces * ranks;
        let listed = of_channel * self.channels as usize;
        let place = |rank: usize, step: usize, piece: usize| {
            let of_part = channel * of_channel + ((step - first) * pieces + piece) * ranks + rank % ranks;
            rank / ranks * listed + of_part
        };
        let keeps = self.algorithm == Algorithm::Dissemination;
        for step in first..end {
            let heard = if keeps { first } else { step.saturating_sub(1).max(first) };
            for piece in 0..pieces {
                let bytes = share(bytes, pieces, piece, pieces);
                for rank in 0..ranks {
                    let (to, bytes) = self.message(n, step, rank, bytes);
                    let after =
                        (heard..step).map(|before| place(self.sender(n, before, rank), before, piece));
                    sends.send((channel, step - first), rank, to, bytes, after.collect());
                }
            }
        }
    }

    /// Returns the first step, and the step after the last step.
    fn steps(&self, n: usize) -> (usize, usize) {
        match self.algorithm {
            Algorithm::HalvingDoubling => self.operation.steps(index(n.ilog2())),
            Algorithm::Hierarchical => {
                let group = self.group_of(n);
                (0, 2 * (group - 1) + 2 * (n / group - 1))
            }
            Algorithm::Rounds => (0, n - 1),
            Algorithm::Dissemination => (0, index(n.next_power_of_two().ilog2())),
            _ => self.operation.steps(n - 1),
        }
    }

    fn group_of(&self, n: usize) -> usize {
        self.group.map_or(n, |g| g as usize)
    }

    /// Returns the receiver and the bytes of a message of a rank in a step.
    fn message(&self, n: usize, step: usize, rank: usize, bytes: u64) -> (usize, u64) {
        match self.algorithm {
            Algorithm::HalvingDoubling => {
                let half = index(n.ilog2());
                let bit = 1 << if step < half { step } else { 2 * half - 1 - step };
                // In the first half, the shares of the other half of the ranks; in the second half, all known
                // shares.
                let whose = if step < half { rank ^ bit } else { rank };
                (rank ^ bit, share(bytes, n, whose % (2 * bit), 2 * bit))
            }
            Algorithm::Hierarchical => {
                let group = self.group_of(n);
                let (servers, server, at) = (n / group, rank / group, rank % group);
                let among = 2 * (servers - 1);
                let within = |step| {
                    (server * group + (at + 1) % group, share(bytes, group, block(at, group, step), group))
                };
                match step.checked_sub(group - 1) {
                    None => within(step),
                    Some(step) if step < among => {
                        let own = share(bytes, group, at, group);
                        (
                            (server + 1) % servers * group + at,
                            share(own, servers, block(server, servers, step), servers),
                        )
                    }
                    Some(_) => within(step - among),
                }
            }
            Algorithm::Rounds => {
                let to = (rank + step + 1) % n;
                (to, share(bytes, n, to, n))
            }
            Algorithm::Dissemination => ((rank + (1 << step)) % n, bytes),
            _ => ((rank + 1) % n, share(bytes, n, block(rank, n, step), n)),
        }
    }

    /// Returns the rank from which a rank receives a message in a step.
    fn sender(&self, n: usize, step: usize, rank: usize) -> usize {
        match self.algorithm {
            Algorithm::HalvingDoubling => self.message(n, step, rank, 0).0,
            Algorithm::Hierarchical => {
                let group = self.group_of(n);
                let (servers, server, at) = (n / group, rank / group, rank % group);
                let is_among = (group - 1..group - 1 + 2 * (servers - 1)).contains(&step);
                if is_among {
                    (server + servers - 1) % servers * group + at
                } else {
                    server * group + (at + group - 1) % group
                }
            }
            Algorithm::Rounds => (rank + n - step - 1) % n,
            Algorithm::Dissemination => (rank + n - (1 << step)) % n,
            _ => (rank + n - 1) % n,
        }
    }

    /// Refuses a group that does not fit the algorithm or the number of ranks.
    fn check_group(&self, n: usize) -> Result<(), ParamError> {
        let wrong = |name: &'static str, why: String| Err((name, why));
        let algorithm = self.algorithm;
        match self.group {
            None if algorithm == Algorithm::Hierarchical => {
                wrong("group", "missing; hierarchical needs the number of ranks of a group".into())
            }
            Some(_) if algorithm != Algorithm::Hierarchical => wrong(
                "group",
                format!("`{}` has no groups; remove it, or use hierarchical", algorithm.name()),
            ),
            Some(group) if group < 2 || group >= wide(n) || !(wide(n)).is_multiple_of(group) => {
                let why = format!(
                    "{group} is out of range; {n} ranks need two or more groups of equal size, each with two or more ranks"
                );
                wrong("group", why)
            }
            _ => Ok(()),
        }
    }

    /// Refuses invalid parameters; returns the number of pieces of each message.
    /// Memory is needed for one of the equal parts, whose number `parts` returns for this number of pieces.
    fn check(&self, n: usize, parts: impl Fn(usize) -> usize) -> Result<usize, ParamError> {
        let wrong = |name: &'static str, why: String| Err((name, why));
        let (operation, algorithm) = (self.operation.name(), self.algorithm);
        if n < 2 {
            return wrong("hosts", "a collective needs two ranks or more".into());
        }
        let known = self.operation.algorithms();
        if !known.contains(&algorithm) {
            let names: Vec<_> = known.iter().map(|a| a.name()).collect();
            return wrong(
                "algorithm",
                format!(
                    "{operation} has no algorithm `{}`; allowed are {}",
                    algorithm.name(),
                    names.join(", ")
                ),
            );
        }
        if algorithm == Algorithm::HalvingDoubling && !n.is_power_of_two() {
            return wrong(
                "algorithm",
                format!("halving and doubling needs a power of two of ranks; {n} were given; use ring"),
            );
        }
        self.check_group(n)?;
        if self.experts.is_some_and(|experts| experts.copies == Copies::Server) {
            return wrong("copies", "`server` needs library = \"nccl\" and network.servers".into());
        }
        if self.channels == 0 || self.channels > 64 {
            return wrong("channels", format!("{} is out of range; allowed are 1 to 64", self.channels));
        }
        // Number of shares of a message of the whole data, and number of shares of the largest message.
        let (lines, shares, most) = match algorithm {
            Algorithm::DoubleTree => (2, 1, 1),
            Algorithm::InNetwork if !self.operation.is_shared() => (1, 1, 1),
            Algorithm::Chain | Algorithm::Dissemination => (1, 1, 1),
            Algorithm::Direct if self.operation == Operation::SendReceive => (1, 1, 1),
            Algorithm::HalvingDoubling => (1, wide(n), wide(n) / 2),
            Algorithm::Hierarchical => (1, wide(n), (n / self.group_of(n)) as u64),
            _ => (1, wide(n), 1),
        };
        let lines = lines * self.channels;
        let largest = (self.size.0.div_ceil(lines) * most).div_ceil(shares);
        let pieces = match self.chunk {
            Some(Bytes(0)) => return wrong("chunk", "0 is out of range; must be at least 1B".into()),
            Some(chunk) => largest.div_ceil(chunk.0).max(1),
            None => 1,
        };
        let messages = match algorithm {
            Algorithm::DoubleTree => 2 * (wide(n) - 1),
            Algorithm::Direct => (n * (n - 1)) as u64,
            Algorithm::Chain => wide(n) - 1,
            // Each message from the reducer waits for all its inputs.
            Algorithm::InNetwork => (n * n) as u64,
            _ => {
                let (first, end) = self.steps(n);
                (n * (end - first)) as u64
            }
        };
        let messages = messages.saturating_mul(lines).saturating_mul(pieces);
        let most = (MAX_MESSAGES.min(MAX_WAITS / 3) * wide(parts(pieces as usize))).min(MAX_PLACES);
        if messages > most {
            return wrong(
                "",
                format!(
                    "too many messages: {messages}; the maximum is {most}; give fewer channels or larger pieces"
                ),
            );
        }
        if self.size.0 < lines.saturating_mul(pieces).saturating_mul(shares) {
            let why = format!(
                "{} is too small; {lines} lines (channels, trees) of {pieces} pieces with {shares} shares need a byte for each share",
                self.size
            );
            return wrong("size", why);
        }
        Ok(pieces as usize)
    }
}

/// Returns the parent of each rank in the first or second of two binary trees.
fn parents(n: usize, tree: usize) -> Vec<Option<usize>> {
    let first = |place: usize| {
        let bit = place & place.wrapping_neg();
        let above = (place ^ bit) | (2 * bit);
        (place > 0).then_some(if above < n { above } else { place ^ bit })
    };
    // The second tree is the first tree in reverse order, or shifted by one.
    let swap = |rank: usize| match tree {
        0 => rank,
        _ if n.is_multiple_of(2) => n - 1 - rank,
        _ => (rank + n - 1) % n,
    };
    let back = |place: usize| if tree == 1 && !n.is_multiple_of(2) { (place + 1) % n } else { swap(place) };
    (0..n).map(|rank| first(swap(rank)).map(back)).collect()
}

/// Adds messages of a piece to the reducer, whose index follows the ranks, and of the result to its
/// receivers.
fn in_network(sends: &mut Sends, line: usize, operation: Operation, bytes: u64) {
    let n = sends.ranks;
    let shares = if operation.is_shared() { n } else { 1 };
    for part in 0..shares {
        let bytes = share(bytes, shares, part, shares);
        let from = match operation {
            Operation::AllGather => part..part + 1,
            Operation::Broadcast => 0..1,
            _ => 0..n,
        };
        let to = match operation {
            Operation::ReduceScatter => part..part + 1,
            Operation::Reduce => 0..1,
            _ => 0..n,
        };
        // Copies go to all ranks except the owner.
        let has = (from.len() == 1).then_some(from.start);
        let up: Vec<usize> = from.map(|rank| sends.send((line, 0), rank, n, bytes, Vec::new())).collect();
        for rank in to.filter(|rank| Some(*rank) != has) {
            sends.send((line, 1), n, rank, bytes, up.clone());
        }
    }
}

/// Reduces a piece up a tree and sends the result down.
fn in_tree(sends: &mut Sends, line: usize, parents: &[Option<usize>], bytes: u64) {
    let n = parents.len();
    let depth = |rank: usize| std::iter::successors(Some(rank), |at| parents[*at]).count();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|rank| depth(*rank));
    let depths = order.last().map_or(0, |rank| depth(*rank));
    // Inputs of a rank before the rank passes the piece on: from below, then from above.
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); n];
    for rank in order.iter().rev() {
        if let Some(above) = parents[*rank] {
            let after = std::mem::take(&mut needs[*rank]);
            let message = sends.send((line, depths - depth(*rank)), *rank, above, bytes, after);
            needs[above].push(message);
        }
    }
    for rank in order {
        if let Some(above) = parents[rank] {
            let after = needs[above].clone();
            needs[rank] = vec![sends.send((line, depths + depth(rank) - 3), above, rank, bytes, after)];
        }
    }
}

#[cfg(test)]
mod tests;
