//! Collectives as NCCL runs them: channels, rings, trees, NVLS and pairs as messages of ranks.
//!
//! `tuner` has the number of channels, the choice of algorithm and protocol, and the sizes of chunks. A
//! message on the network is a slice. `docs/models/nccl.md` has the definitions and the limits.

mod experts;
mod nvls;
mod pairs;
mod pat;
mod ring;
mod team;
mod tree;
pub mod tuner;

use xoff_units::{Bytes, Duration, Rate, index};

use self::experts::Tokens;
use self::team::Draft;
pub use self::team::Team;
use super::collective::{self, Collective};
use super::experts::{Copies, Experts};
use super::messages::Messages;
use super::piece::{Costs, Piece, Way};
use crate::job::nccl::tuner::{
    Algorithm, Choice, Chunks, Operation, Protocol, SLOTS, Servers, Step, Tuning, net_overhead,
};
use xoff_models::parts::param_error::{Change, ParamError, remove};
use xoff_models::paths::topology;

/// Values that a scenario may give in the place of those of NCCL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Only this algorithm.
    pub algorithm: Option<Algorithm>,
    /// Only this protocol.
    pub protocol: Option<Protocol>,
    /// Channels that carry data.
    pub channels: Option<u32>,
    /// Data of a chunk.
    pub chunk: Option<u64>,
    /// Slots of a connection.
    pub slots: u16,
    /// Queue pairs of a connection.
    pub qps: u16,
    /// True if each message is cut into equal parts, one for each queue pair.
    pub splits: bool,
    /// True if a rank may send by the NIC of another rank of its server.
    pub pxn: bool,
    /// Once for an operation of a rank.
    pub launch: Option<Duration>,
    /// Each hand-over over NVLink, with the latency of NVLink itself.
    pub nvlink: Option<Duration>,
    /// Each hand-over over the network, with the time of the network itself.
    pub network: Option<Duration>,
    /// Time of the proxy for a message.
    pub proxy: Option<Duration>,
    /// Latency of NVLink itself.
    pub own_nvlink: Duration,
    /// Time of the network itself for the shortest message between neighbours.
    pub own: Duration,
    /// Rate of NVLS over the rate of NVLink of a GPU.
    pub nvls_over_nvlink: f64,
    /// Rate of a GPU's PCIe link, if its NICs are faster.
    pub pcie: Option<Rate>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: None,
            protocol: None,
            channels: None,
            chunk: None,
            slots: SLOTS as u16,
            qps: 1,
            splits: false,
            pxn: true,
            launch: None,
            nvlink: None,
            network: None,
            proxy: None,
            own_nvlink: Duration::ZERO,
            own: Duration::ZERO,
            nvls_over_nvlink: 0.0,
            pcie: None,
        }
    }
}

/// What all communicators of a job know.
#[derive(Debug, Clone)]
pub struct Communicators {
    /// The servers of the network.
    pub servers: topology::Servers,
    /// Rate of a NIC, in GB/s.
    pub nic: f64,
    /// The server and the GPU of each rank of the job.
    pub gpus: Vec<(u32, u32)>,
    /// Settings.
    pub options: Options,
    /// True for NCCL before 2.23.
    pub is_before_2_23: bool,
    /// Buffer of a connection with the protocol Simple, in bytes.
    pub buffer: u64,
    /// True if NVSwitches may reduce and multicast.
    pub has_nvls: bool,
    /// Fewest channels.
    pub min_ctas: u32,
    /// Most channels.
    pub max_ctas: u32,
}

impl Communicators {
    /// Returns the team of ranks of the job.
    pub fn team(&self, ranks: &[u32]) -> Result<Team, ParamError> {
        let places: Vec<(u32, u32)> = ranks
            .iter()
            .map(|rank| {
                let (server, gpu) = self.gpus[index(*rank)];
                (server, gpu / self.servers.gpus_of_host())
            })
            .collect();
        Team::new(&places).ok_or_else(|| {
            let why = "NCCL's channels need as many ranks and NICs in each server; give groups that fill \
                       servers evenly, or library = \"textbook\""
                .to_string();
            ("hosts", why)
        })
    }

    /// Returns the servers of a team as NCCL sees the servers.
    pub fn seen(&self, team: &Team) -> Servers {
        let nics = team.nics * (self.servers.nics / self.servers.hosts).max(1);
        let seen = Servers::new(team.servers(), team.gpus(), nics, self.nic, self.servers.gpu);
        Servers {
            cpu: self.servers.cpu,
            has_nvls: seen.has_nvls && self.has_nvls,
            is_before_2_23: self.is_before_2_23,
            buffer: self.buffer,
            min_ctas: self.min_ctas,
            max_ctas: self.max_ctas,
            ..seen
        }
    }

    /// Returns the costs of a message between two ranks of a job.
    pub fn costs(&self, ranks: u32) -> Costs {
        let servers = Servers::new(ranks.max(2), 1, 1, self.nic, self.servers.gpu);
        let step = Tuning::new(servers).step(Algorithm::Ring, Protocol::Simple);
        let nvlink = Tuning::new(Servers { servers: 1, gpus: 2, ..servers });
        let nvlink = nvlink.step(Algorithm::Ring, Protocol::Simple).nvlink;
        self.options.costs(Step { nvlink, ..step }, &self.seen_cpu(servers), self.options.slots, None)
    }

    const fn seen_cpu(&self, servers: Servers) -> Servers {
        Servers { cpu: self.servers.cpu, ..servers }
    }

    /// Returns a collective of a team. `channels` of zero and the algorithm `auto` are NCCL's choice.
    pub fn plan(&self, team: &Team, collective: &Collective) -> Result<Plan, ParamError> {
        let algorithm = match collective.algorithm {
            collective::Algorithm::Auto => self.options.algorithm,
            given => Some(Algorithm::of(given).ok_or_else(|| {
                let why = format!(
                    "`{}` is of library = \"textbook\"; NCCL has auto, ring, tree, nvls, nvls_tree, pat",
                    given.name()
                );
                ("algorithm", why)
            })?),
        };
        if collective.group.is_some() {
            return Err(("group", remove("of library = \"textbook\"")));
        }
        if collective.channels > 64 {
            return Err((
                "channels",
                format!("{} is out of range; allowed are 1 to 64", collective.channels),
            ));
        }
        let options = Options {
            algorithm,
            channels: (collective.channels > 0).then_some(collective.channels as u32),
            chunk: collective.chunk.map(|chunk| chunk.0),
            ..self.options
        };
        if options.chunk.is_some_and(|chunk| chunk < 16) {
            return Err(("chunk", "must be at least 16B".into()));
        }
        if let Some(experts) = collective.experts {
            return Ok(to_experts(team, self.seen(team), collective.size.0, experts, &options));
        }
        let mut made = plan(team, self.seen(team), collective.operation, collective.size.0, &options)?;
        if options.splits && options.qps > 1 {
            made.messages = split(&made.messages, options.qps.into());
        }
        Ok(made)
    }
}

/// An operation as NCCL runs the operation.
#[derive(Debug)]
pub struct Plan {
    /// Messages.
    pub messages: Messages,
    /// Costs at the ranks.
    pub costs: Costs,
    /// Algorithm, if the operation has several.
    pub algorithm: collective::Algorithm,
    /// Protocol.
    pub protocol: Protocol,
    /// Channels that carry data.
    pub channels: u32,
    /// Data of a chunk.
    pub chunk: u64,
    /// The time that NCCL's own model predicts.
    pub predicted: Option<Duration>,
    /// Messages of a channel from rank to rank in a loop of the algorithm.
    pub in_loop: Option<usize>,
}

fn microseconds(time: f64) -> Duration {
    Duration::of_real(time * 1e6)
}

impl Options {
    /// Returns the costs of hand-overs.
    fn costs(&self, step: Step, servers: &Servers, slots: u16, block: Option<f64>) -> Costs {
        let nvlink = self.nvlink.unwrap_or_else(|| microseconds(step.nvlink));
        // The proxy posts the parts of a message in one go.
        let proxy = self.proxy.unwrap_or_else(|| microseconds(net_overhead(servers.cpu)));
        let network = self.network.unwrap_or_else(|| microseconds(step.network));
        Costs {
            launch: self.launch.unwrap_or_else(|| microseconds(step.launch)),
            block: block.map(|rate| Rate((rate * 8e9) as u64)),
            streams: false,
            nvlink: nvlink.saturating_sub(self.own_nvlink),
            network: network.saturating_sub(self.own),
            proxy: proxy / if self.splits { u64::from(self.qps.max(1)) } else { 1 },
            pcie: self.pcie,
            slots: if self.splits { slots } else { slots.div_ceil(self.qps.max(1)) }.max(1),
        }
    }
}

/// Returns an operation among the ranks of a team, on servers that fit the team. An error names the option to
/// blame.
pub fn plan(
    team: &Team,
    servers: Servers,
    operation: collective::Operation,
    bytes: u64,
    options: &Options,
) -> Result<Plan, (&'static str, String)> {
    let tuning = Tuning::new(servers);
    let known = match operation {
        collective::Operation::AllReduce | collective::Operation::Barrier => Operation::AllReduce,
        collective::Operation::AllGather => Operation::AllGather,
        collective::Operation::ReduceScatter => Operation::ReduceScatter,
        collective::Operation::Broadcast => Operation::Broadcast,
        collective::Operation::Reduce => Operation::Reduce,
        collective::Operation::AllToAll | collective::Operation::SendReceive => {
            let draft = Draft { team, pxn: options.pxn, list: Messages::default() };
            return of_pairs(draft, &tuning, operation, bytes, options);
        }
    };
    let choice = tuning.choose(known, bytes, options.algorithm, options.protocol).ok_or_else(|| {
        let names = |p: Option<Protocol>| p.map_or("any", Protocol::name);
        let algorithm = options.algorithm.map_or("auto", Algorithm::name);
        let why = format!(
            "`{algorithm}` with protocol `{}` is not possible for {} on these servers; use auto",
            names(options.protocol),
            operation.name()
        );
        (if options.algorithm.is_some() { "algorithm" } else { "protocol" }, why)
    })?;
    let choice = Choice { channels: options.channels.unwrap_or(choice.channels), ..choice };
    let mut chunks = Chunks::new(&tuning, known, choice, bytes);
    if let Some(chunk) = options.chunk {
        let halves = chunks.chunk / chunks.slice;
        chunks.chunk = chunk.next_multiple_of(16 * halves);
        chunks.slice = chunks.chunk / halves;
    }
    let parts = match choice.algorithm {
        Algorithm::Ring => ring::parts(team, known, choice.channels, &chunks, bytes),
        _ => None,
    };
    check_count(&tuning, (known, operation.name()), (choice, parts), &chunks, (bytes, options))?;
    let (parts, listed) = parts.unwrap_or((1, 0));
    let draft = draft(team, &tuning, (known, bytes), (choice, &chunks), (parts, listed), options);
    let (ranks, slices) = (index(team.ranks()), (chunks.chunk / chunks.slice) as usize);
    let slots = u64::from(options.slots) * u64::from(chunks.slices) / u64::from(SLOTS);
    let block = tuning.block(choice.algorithm, choice.protocol);
    let step = tuning.step(choice.algorithm, choice.protocol);
    let costs = options.costs(step, &servers, slots as u16, block);
    // A warp forwards each line of 128 bytes as the line comes.
    let costs = Costs { streams: choice.protocol == Protocol::Ll128, ..costs };
    Ok(Plan {
        messages: draft.together(),
        costs,
        algorithm: choice.algorithm.of_collective(),
        protocol: choice.protocol,
        channels: choice.channels,
        chunk: chunks.chunk,
        predicted: Some(microseconds(choice.time)),
        in_loop: match (choice.algorithm, known) {
            (Algorithm::Ring, Operation::AllReduce) => Some(2 * (ranks - 1) * slices),
            (Algorithm::Ring, Operation::AllGather | Operation::ReduceScatter) => Some((ranks - 1) * slices),
            (Algorithm::Pat, _) => None,
            _ => Some(1),
        },
    })
}

/// Returns the messages of an operation, those of the first of `parts` equal parts; `listed` is their number.
fn draft<'a>(
    team: &'a Team,
    tuning: &Tuning,
    (known, bytes): (Operation, u64),
    (choice, chunks): (Choice, &Chunks),
    (parts, listed): (u32, u64),
    options: &Options,
) -> Draft<'a> {
    let mut draft = Draft { team, pxn: options.pxn, list: Messages::of_first_of(parts) };
    match choice.algorithm {
        Algorithm::Ring => ring::add(&mut draft, tuning, (known, bytes), choice, chunks, listed as usize),
        Algorithm::Tree => tree::add(&mut draft, tuning, choice, chunks, bytes),
        Algorithm::NvlsTree => {
            let heads = tuning.graphs().nvls.channels;
            let load = nvls::load(known, team.ranks(), heads, options.nvls_over_nvlink);
            tree::add_nvls(&mut draft, (heads, load), choice, chunks, bytes);
        }
        Algorithm::Nvls => {
            let load = nvls::load(known, team.ranks(), team.gpus(), options.nvls_over_nvlink);
            nvls::add(&mut draft, (known, load), choice, chunks, bytes);
        }
        Algorithm::Pat => pat::add(&mut draft, known, choice, chunks, bytes),
    }
    draft
}

/// Refuses an operation with too many messages before memory is allocated. Of equal parts of the ranks only one needs memory;
/// `parts` has their number and the messages of one. Larger buffers make fewer messages, until each pair of ranks of each channel has one.
fn check_count(
    tuning: &Tuning,
    (operation, name): (Operation, &str),
    (choice, parts): (Choice, Option<(u32, u64)>),
    chunks: &Chunks,
    (bytes, options): (u64, &Options),
) -> Result<(), (&'static str, String)> {
    let ranks = u64::from(tuning.servers().ranks());
    let per_byte = match (choice.algorithm, operation) {
        (Algorithm::Ring, Operation::AllReduce) | (Algorithm::Tree, _) => 2 * ranks,
        (Algorithm::NvlsTree, _) => 4 * u64::from(tuning.servers().servers),
        (Algorithm::Nvls, _) => 2,
        _ => ranks,
    };
    let least = u64::from(choice.channels) * ranks * ranks;
    let of_data = (bytes / chunks.slice).saturating_mul(per_byte);
    let split_by = if options.splits { u64::from(options.qps) } else { 1 };
    let (messages, parts) = match parts {
        Some((parts, listed)) => (listed.saturating_mul(parts.into()), u64::from(parts)),
        None => (of_data.saturating_add(least), 1),
    };
    let most = (collective::MAX_MESSAGES * parts).min(collective::MAX_PLACES / split_by);
    if messages <= most {
        return Ok(());
    }
    let size = Bytes(bytes);
    let why =
        format!("{name} of {size} among {ranks} ranks needs some {messages} messages; the maximum is {most}");
    let buffer = tuning.servers().buffer;
    let times = of_data.div_ceil(most.saturating_sub(least).max(1)).next_power_of_two();
    let change =
        if choice.protocol == Protocol::Simple && least < most && buffer.saturating_mul(times) <= 1 << 30 {
            Change::set(".nccl.buffer", Bytes(buffer * times).to_string())
        } else {
            Change::set(".nccl.max_ctas", 1)
        };
    Err(("", change.after(why)))
}

/// Returns messages with each message on the network cut into equal parts of multiples of 128 bytes, at most
/// one for each queue pair.
fn split(messages: &Messages, qps: u64) -> Messages {
    let parts = |piece: &Piece| {
        let largest = piece.bytes.div_ceil(qps).next_multiple_of(128);
        let is_whole = !matches!(piece.way, Way::Nic(_)) || piece.bytes <= largest;
        if is_whole { vec![piece.bytes] } else { team::pieces(piece.bytes, largest).collect() }
    };
    let listed = messages.len();
    let mut first = Vec::with_capacity(listed + 1);
    let mut count = 0;
    for piece in messages.pieces() {
        first.push(count);
        count += parts(piece).len();
    }
    first.push(count);
    let mut all = Messages::of_first_of(messages.parts());
    for (piece, before) in messages.iter() {
        for bytes in parts(piece) {
            let before = before.iter().flat_map(|one| {
                let (of, part) = (index(*one) % listed, index(*one) / listed);
                let further = part * count;
                further + first[of]..further + first[of + 1]
            });
            all.push(Piece { bytes, ..*piece }, before);
        }
    }
    all
}

/// Returns messages between pairs of ranks.
fn of_pairs(
    mut draft: Draft<'_>,
    tuning: &Tuning,
    operation: collective::Operation,
    bytes: u64,
    options: &Options,
) -> Result<Plan, (&'static str, String)> {
    if let Some(algorithm) = options.algorithm {
        let why = remove(format!("{} has no algorithm `{}`", operation.name(), algorithm.name()));
        return Err(("algorithm", why));
    }
    if options.protocol.is_some_and(|protocol| protocol != Protocol::Simple) {
        return Err(("protocol", format!("{} has only the protocol `simple`", operation.name())));
    }
    let is_all = operation == collective::Operation::AllToAll;
    let ranks = u64::from(draft.team.ranks());
    let each = if is_all { bytes / ranks } else { bytes };
    if each == 0 {
        return Err(("size", format!("{ranks} ranks need at least {ranks}B")));
    }
    let pairs = ranks * if is_all { ranks - 1 } else { 1 };
    let messages = pairs * each.div_ceil(32 << 10).max(1);
    let most = collective::MAX_MESSAGES;
    if messages > most {
        let (name, size) = (operation.name(), Bytes(bytes));
        let why = format!(
            "{name} of {size} among {ranks} ranks needs some {messages} messages; the maximum is {most}"
        );
        return Err(("", format!("{why}; give fewer ranks or less data")));
    }
    pairs::add(&mut draft, tuning, each, is_all);
    // The messages of up to eight ranks of a server share a connection, and 16 slots.
    let sharing = if is_all && options.pxn { draft.team.gpus().min(8) } else { 1 };
    let slots = (16 / sharing).min(u32::from(options.slots)) * sharing;
    let costs =
        options.costs(tuning.step(Algorithm::Ring, Protocol::Simple), tuning.servers(), slots as u16, None);
    Ok(Plan {
        messages: draft.list,
        costs,
        algorithm: collective::Algorithm::Direct,
        protocol: Protocol::Simple,
        channels: tuning.graphs().in_use,
        chunk: each.min(128 << 10),
        predicted: None,
        in_loop: None,
    })
}

/// Returns the messages of tokens to experts or back, from the bytes of one copy for each expert.
fn to_experts(team: &Team, servers: Servers, bytes: u64, experts: Experts, options: &Options) -> Plan {
    let tuning = Tuning::new(servers);
    let (ranks, count) = (u64::from(team.ranks()), u64::from(team.servers()));
    let each = experts.bytes(bytes, ranks) / ranks;
    let mut draft = Draft { team, pxn: options.pxn, list: Messages::default() };
    let channels = options.channels.unwrap_or(tuning.graphs().in_use).max(1);
    let is_by_server = experts.copies == Copies::Server;
    if is_by_server {
        let tokens = Tokens { server: experts.bytes_of_server(bytes, count), rank: each };
        experts::add(&mut draft, tokens, experts.combines, channels);
    } else {
        pairs::add(&mut draft, &tuning, each.max(1), true);
    }
    let step = tuning.step(Algorithm::Ring, Protocol::Simple);
    Plan {
        messages: if is_by_server { draft.together() } else { draft.list },
        costs: options.costs(step, &servers, options.slots, None),
        algorithm: collective::Algorithm::Direct,
        protocol: Protocol::Simple,
        channels,
        chunk: each.min(128 << 10),
        predicted: None,
        in_loop: None,
    }
}

impl Plan {
    /// Returns the operation as a collective, for tables.
    pub const fn collective(&self, operation: collective::Operation, size: Bytes) -> Collective {
        Collective {
            operation,
            algorithm: self.algorithm,
            size,
            channels: self.channels as u64,
            chunk: Some(Bytes(self.chunk)),
            group: None,
            experts: None,
            overhead: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
