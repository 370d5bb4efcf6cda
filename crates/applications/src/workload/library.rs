//! The library of a job's collectives: textbook algorithms, or NCCL on servers of GPUs.
//!
//! Textbook algorithms take every host as a rank. NCCL takes every GPU of `network.servers` as a rank.
//! Source: `docs/models/nccl.md`.

use std::collections::HashSet;

use xoff_models::parts::param_error::remove;
use xoff_models::paths::topology::{PortSpec, Servers};
use xoff_models::traffic::workload::{Connections, Host, Making, Problem};
use xoff_units::{Duration, Rate, index, number};

use super::nccl::{Library, Params as NcclParams};
use super::placement::{Placement, place};
use crate::job::nccl::tuner::nvls_rate;
use crate::job::nccl::{Communicators, Options};
use crate::job::{Builder, Graph, Jobs, Lines};
use crate::serving::Servings;

/// The ranks of a job.
pub struct Ranks {
    /// The node of each rank.
    pub nodes: Vec<u32>,
    /// With NCCL: the server and the GPU of each rank.
    pub gpus: Option<Vec<(u32, u32)>>,
}

impl Ranks {
    /// Returns the number by which a rank draws random numbers: the number of the GPU, or the node.
    pub fn draws(&self, servers: Option<&Servers>) -> Vec<u32> {
        match (&self.gpus, servers) {
            (Some(gpus), Some(servers)) => gpus.iter().map(|(s, gpu)| s * servers.gpus + gpu).collect(),
            _ => self.nodes.clone(),
        }
    }
}

/// What workloads with jobs need beyond [`Making`].
pub(super) trait MakesJobs {
    /// Returns the library of a workload: the given library, or NCCL where servers are known if `prefers`.
    fn library(&self, given: Option<Library>, prefers: bool) -> Library;

    /// Returns the ranks of a job: `count` ranks, or all by default.
    fn ranks(
        &self,
        library: Library,
        count: Option<usize>,
        hosts: Option<&Vec<Host>>,
        placement: Placement,
        key: &str,
    ) -> Result<Ranks, Problem>;

    /// Returns a builder for a job of ranks at these hosts, by textbook algorithms.
    fn job(&self, hosts: Vec<u32>) -> Builder;

    /// Returns a builder for a job of these ranks.
    fn job_of(&self, ranks: &Ranks, key: &str) -> Result<Builder, Problem>;

    /// Adds a job with its connections. Messages are made during the run.
    fn add_job(&mut self, graph: Graph) -> Result<(), Problem>;
}

/// Refuses two training jobs at the same host, since a processor runs one operation at a time. `trains` tells which workloads
/// train.
pub(super) fn check_alone(making: &Making<'_>, trains: &[bool]) -> Result<(), Problem> {
    let jobs = Jobs::of(making.plans());
    let Some(own) = jobs.last().filter(|job| job.workload == making.index()) else { return Ok(()) };
    let others = jobs.iter().filter(|job| job.workload != own.workload && trains[index(job.workload)]);
    for other in others {
        if let Some(host) = other.first_shared_host(own) {
            let name = &making.topology.nodes[index(host)].name;
            let why =
                format!("{name} is also a host of workload[{}]; give each job its own hosts", other.workload);
            return Err((format!("{}.hosts", making.key()), why));
        }
    }
    Ok(())
}

fn servers_of(making: &Making<'_>, key: &str) -> Result<Servers, Problem> {
    making
        .topology
        .servers
        .ok_or_else(|| (format!("{key}.library"), "`nccl` needs servers of GPUs; set network.servers".into()))
}

impl MakesJobs for Making<'_> {
    fn library(&self, given: Option<Library>, prefers: bool) -> Library {
        let knows = prefers && self.topology.servers.is_some();
        given.unwrap_or(if knows { Library::Nccl } else { Library::Textbook })
    }

    fn ranks(
        &self,
        library: Library,
        count: Option<usize>,
        hosts: Option<&Vec<Host>>,
        placement: Placement,
        key: &str,
    ) -> Result<Ranks, Problem> {
        if library == Library::Textbook {
            let count = match count {
                Some(count) => count,
                None => self.hosts(hosts, &format!("{key}.hosts"))?.len(),
            };
            return Ok(Ranks { nodes: place(self, count, hosts, placement, key)?, gpus: None });
        }
        let servers = servers_of(self, key)?;
        let all = self.topology.hosts();
        let places: Vec<u32> = self
            .hosts(hosts, &format!("{key}.hosts"))?
            .iter()
            .map(|host| number(all.binary_search(host).unwrap_or(0)))
            .collect();
        let mut gpus: Vec<(u32, u32)> = places.iter().flat_map(|place| servers.at(*place)).collect();
        let is_whole = count.is_none();
        let count = count.unwrap_or(gpus.len());
        // A job without listed hosts takes GPUs that no earlier job has, as long as there are enough.
        if hosts.is_none() && !is_whole {
            let (jobs, serving) = (Jobs::of(self.plans()).iter(), Servings::of(self.plans()));
            let taken: HashSet<(u32, u32)> = jobs
                .flat_map(|job| job.library.iter().flat_map(|on| &on.gpus))
                .chain(serving.flat_map(|plan| &plan.gpus))
                .copied()
                .collect();
            let free: Vec<(u32, u32)> = gpus.iter().copied().filter(|gpu| !taken.contains(gpu)).collect();
            if free.len() >= count {
                gpus = free;
            }
        }
        if gpus.len() < count {
            let what = if hosts.is_some() { "are at the listed hosts" } else { "are in the network" };
            return Err((
                format!("{key}.hosts"),
                format!("{} GPUs {what}; the job has {count} ranks", gpus.len()),
            ));
        }
        if hosts.is_some() && placement != Placement::Linear {
            return Err((format!("{key}.placement"), remove("not allowed with hosts, whose order decides")));
        }
        match placement {
            Placement::Linear => {}
            Placement::Rail => gpus.sort_by_key(|(_, gpu)| *gpu),
            Placement::Random => {
                // Whole servers are drawn: the GPUs of a server stay together, in order.
                let mut order: Vec<u32> = (0..servers.count).collect();
                self.stream_for(0, "placement").shuffle(&mut order);
                gpus.sort_by_key(|(server, _)| order[index(*server)]);
            }
        }
        gpus.truncate(count);
        Ok(Ranks { nodes: gpus.iter().map(|gpu| all[index(servers.host(*gpu))]).collect(), gpus: Some(gpus) })
    }

    fn job(&self, hosts: Vec<u32>) -> Builder {
        let lines = match self.workload.connections {
            Connections::Persistent => Lines::Shared(self.workload.connections_per_channel),
            Connections::PerMessage => Lines::Own,
        };
        let reducers = self.reach(&hosts);
        Builder::new(self.index(), self.workload.start, hosts, lines, reducers)
    }

    fn job_of(&self, ranks: &Ranks, key: &str) -> Result<Builder, Problem> {
        let builder = self.job(ranks.nodes.clone());
        let Some(gpus) = &ranks.gpus else { return Ok(builder) };
        let communicators = communicators(self, gpus.clone(), key)?;
        if self.workload.connections_per_channel > 1 {
            let why = "NCCL has queue pairs in its place; give nccl.qps_per_connection".into();
            return Err((format!("{}.connections_per_channel", self.at()), why));
        }
        Ok(builder.on(communicators))
    }

    fn add_job(&mut self, graph: Graph) -> Result<(), Problem> {
        self.check_room(graph.least_connections(), &self.at())?;
        let connections = graph.connections(self.framing);
        let nodes: Vec<u32> = graph.ranks.iter().map(|rank| rank.node).collect();
        let number = self.plan::<Jobs>()?.add(graph);
        self.connect::<Jobs>(number, nodes, connections, false)
    }
}

/// Returns what the communicators of a job know of servers and settings.
fn communicators(making: &Making<'_>, gpus: Vec<(u32, u32)>, key: &str) -> Result<Communicators, Problem> {
    let servers = servers_of(making, key)?;
    let default = NcclParams::default();
    let params = making.workload.others.downcast_ref::<NcclParams>().unwrap_or(&default);
    let at = format!("{}.nccl", making.at());
    let wrong = |name: &str, why: String| Err((format!("{at}.{name}"), why));
    let is_before_2_23 = match params.is_before_2_23() {
        Ok(is_before) => is_before,
        Err(why) => return wrong("version", why),
    };
    for (name, value, most) in [
        ("steps", Some(params.steps), 1 << 10),
        ("qps_per_connection", Some(params.qps_per_connection), 64),
        ("min_ctas", params.min_ctas, 64),
        ("max_ctas", params.max_ctas, 64),
    ] {
        if let Some(value) = value
            && (value == 0 || value > most)
        {
            return wrong(name, format!("{value} is out of range; allowed are 1 to {most}"));
        }
    }
    if params.buffer.0 < 64 << 10 || params.buffer.0 > 1 << 30 {
        let why = format!("{} is out of range; allowed are 64KiB to 1GiB", params.buffer);
        return wrong("buffer", why);
    }
    if params.min_ctas > params.max_ctas && params.max_ctas.is_some() {
        return wrong("min_ctas", "greater than max_ctas; give at most max_ctas".into());
    }
    let nics_of_host = (servers.nics / servers.hosts).max(1);
    let rate = nic_ports(making, 0).map(|port| port.link.rate.0).sum::<u64>() as f64 / 8e9;
    Ok(Communicators {
        servers,
        nic: rate / f64::from(nics_of_host),
        gpus,
        options: Options {
            protocol: params.protocol,
            slots: params.steps as u16,
            qps: params.qps_per_connection as u16,
            splits: params.split_data_on_qps,
            pxn: params.pxn,
            launch: params.base_latency,
            nvlink: params.nvlink_latency,
            network: params.net_latency,
            proxy: params.net_overhead,
            own_nvlink: servers.latency,
            own: own_time(making),
            nvls_over_nvlink: nvls_rate(&servers).real() / servers.nvlink.real(),
            pcie: (servers.gpu.pcie_link() < rate).then(|| Rate((servers.gpu.pcie_link() * 8e9) as u64)),
            ..Options::default()
        },
        is_before_2_23,
        buffer: params.buffer.0,
        has_nvls: params.nvls,
        min_ctas: params.min_ctas.unwrap_or(0) as u32,
        max_ctas: params.max_ctas.unwrap_or(64) as u32,
    })
}

/// Returns the ports of a host that lead into the network, not into a server.
fn nic_ports<'a>(making: &'a Making<'_>, place: usize) -> impl Iterator<Item = &'a PortSpec> {
    let host = making.topology.hosts()[place];
    let inside = usize::from(making.topology.has_servers);
    making.ports[index(host)].iter().skip(inside)
}

/// Returns the network's own time for the shortest message between hosts at one switch.
fn own_time(making: &Making<'_>) -> Duration {
    let time = |port: &PortSpec| {
        (port.link.delay + port.link.rate.time(making.framing.minimum)) * 2 + making.switch_delay
    };
    nic_ports(making, 0).map(time).min().unwrap_or_default()
}
