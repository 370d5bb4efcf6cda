//! The library of a job's collectives: textbook algorithms, or NCCL on servers of GPUs.
//!
//! Textbook algorithms take every host as a rank. NCCL takes every GPU of `network.servers` as a rank.
//! Source: `docs/models/nccl.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, index, number};

use super::builder::{Making, Problem};
use super::host::Host;
use super::placement::Placement;
use crate::job::Builder;
use crate::job::nccl::{Communicators, Options};
use crate::nccl::Protocol;
use crate::topology::{PortSpec, Servers};

/// The library of collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Library {
    /// Textbook algorithms: each host is a rank, and a step costs nothing.
    Textbook,
    /// NCCL: each GPU of `network.servers` is a rank.
    Nccl,
}

/// `workload[…].nccl`: NCCL's settings, by NCCL's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Only this protocol (`NCCL_PROTO`). Default: the protocol with the least predicted time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Version, such as `2.30`. Versions before 2.23 count two more steps between servers in the choice.
    pub version: String,
    /// A rank may send by the NIC of another rank of its server, over NVLink.
    pub pxn: bool,
    /// NVSwitches reduce and multicast (`NCCL_NVLS_ENABLE`).
    pub nvls: bool,
    /// Slots of a connection (`NCCL_STEPS`).
    pub steps: u64,
    /// Queue pairs of a connection, over which messages take turns (`NCCL_IB_QPS_PER_CONNECTION`).
    pub qps_per_connection: u64,
    /// Cuts each message into equal parts, one for each queue pair (`NCCL_IB_SPLIT_DATA_ON_QPS`).
    pub split_data_on_qps: bool,
    /// Fewest channels (`NCCL_MIN_CTAS`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ctas: Option<u64>,
    /// Most channels (`NCCL_MAX_CTAS`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ctas: Option<u64>,
    /// Time of the proxy for a message on the network. Default: 1 µs, with CPUs of AMD 2 µs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_overhead: Option<Duration>,
    /// Latency of an operation without a step. Default: NCCL's base latency of the algorithm and protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_latency: Option<Duration>,
    /// Latency of a hand-over over NVLink, including the latency of NVLink itself. Default: NCCL's hardware latency of the algorithm and protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvlink_latency: Option<Duration>,
    /// Latency of a hand-over over the network, including the network's own time between neighbours. Default:
    /// NCCL's hardware latency of the algorithm and protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net_latency: Option<Duration>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            protocol: None,
            version: "2.30".into(),
            pxn: true,
            nvls: true,
            steps: 8,
            qps_per_connection: 1,
            split_data_on_qps: false,
            min_ctas: None,
            max_ctas: None,
            net_overhead: None,
            base_latency: None,
            nvlink_latency: None,
            net_latency: None,
        }
    }
}

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

impl Params {
    /// Returns true for a version before 2.23.
    fn is_before_2_23(&self) -> Result<bool, String> {
        let wrong = || format!("`{}` is no version of NCCL; give one such as 2.30", self.version);
        let mut numbers = self.version.split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if major > 0 => Ok((major, minor) < (2, 23)),
            _ => Err(wrong()),
        }
    }
}

impl Making<'_> {
    /// Returns the library of a workload: the given library, or NCCL where servers are known if `prefers`.
    pub(super) fn library(&self, given: Option<Library>, prefers: bool) -> Library {
        let knows = prefers && self.topology.servers.is_some();
        given.unwrap_or(if knows { Library::Nccl } else { Library::Textbook })
    }

    fn servers(&self, key: &str) -> Result<Servers, Problem> {
        self.topology.servers.ok_or_else(|| {
            (format!("{key}.library"), "`nccl` needs servers of GPUs; set network.servers".into())
        })
    }

    /// Returns the ranks of a job: `count` ranks, or all by default.
    pub(super) fn ranks(
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
            return Ok(Ranks { nodes: self.place(count, hosts, placement, key)?, gpus: None });
        }
        let servers = self.servers(key)?;
        let all = self.topology.hosts();
        let places: Vec<u32> = self
            .hosts(hosts, &format!("{key}.hosts"))?
            .iter()
            .map(|host| number(all.binary_search(host).unwrap_or(0)))
            .collect();
        let mut gpus: Vec<(u32, u32)> = places.iter().flat_map(|place| servers.at(*place)).collect();
        let count = count.unwrap_or(gpus.len());
        if gpus.len() < count {
            let what = if hosts.is_some() { "are at the listed hosts" } else { "are in the network" };
            return Err((
                format!("{key}.hosts"),
                format!("{} GPUs {what}; the job has {count} ranks", gpus.len()),
            ));
        }
        if hosts.is_some() && placement != Placement::Linear {
            return Err((
                format!("{key}.placement"),
                "not allowed with hosts, whose order decides; remove one of the two".into(),
            ));
        }
        match placement {
            Placement::Linear => {}
            Placement::Rail => gpus.sort_by_key(|(_, gpu)| *gpu),
            Placement::Random => self.stream_for(0, "placement").shuffle(&mut gpus),
        }
        gpus.truncate(count);
        Ok(Ranks { nodes: gpus.iter().map(|gpu| all[index(servers.host(*gpu))]).collect(), gpus: Some(gpus) })
    }

    /// Returns a builder for a job of these ranks.
    pub(super) fn job_of(&self, ranks: &Ranks, key: &str) -> Result<Builder, Problem> {
        let builder = self.job(ranks.nodes.clone());
        let Some(gpus) = &ranks.gpus else { return Ok(builder) };
        let communicators = self.communicators(gpus.clone(), key)?;
        if self.workload.connections_per_channel > 1 {
            let why = "NCCL has queue pairs in its place; give nccl.qps_per_connection".into();
            return Err((format!("{}.connections_per_channel", self.at()), why));
        }
        Ok(builder.on(communicators))
    }

    /// Returns what the communicators of a job know of servers and settings.
    fn communicators(&self, gpus: Vec<(u32, u32)>, key: &str) -> Result<Communicators, Problem> {
        let servers = self.servers(key)?;
        let params = self.workload.nccl;
        let at = format!("{}.nccl", self.at());
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
        if params.min_ctas > params.max_ctas && params.max_ctas.is_some() {
            return wrong("min_ctas", "greater than max_ctas; give at most max_ctas".into());
        }
        let nics_of_host = (servers.nics / servers.hosts).max(1);
        let rate = self.nic_ports(0).map(|port| port.link.rate.0).sum::<u64>() as f64 / 8e9;
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
                own: self.own_time(),
                ..Options::default()
            },
            is_before_2_23,
            has_nvls: params.nvls,
            min_ctas: params.min_ctas.unwrap_or(0) as u32,
            max_ctas: params.max_ctas.unwrap_or(64) as u32,
        })
    }

    /// Returns the ports of a host that lead into the network, not into a server.
    fn nic_ports(&self, place: usize) -> impl Iterator<Item = &PortSpec> {
        let host = self.topology.hosts()[place];
        let inside = usize::from(self.topology.has_servers);
        self.ports[index(host)].iter().skip(inside)
    }

    /// Returns the network's own time for the shortest message between hosts at one switch.
    fn own_time(&self) -> Duration {
        let time = |port: &PortSpec| {
            (port.link.delay + port.link.rate.time(self.framing.minimum)) * 2 + self.switch_delay
        };
        self.nic_ports(0).map(time).min().unwrap_or_default()
    }
}
