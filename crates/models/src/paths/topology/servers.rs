//! Servers: GPUs joined by NVLink, behind the NICs of a network.
//!
//! A host of the network is a NIC. Consecutive hosts belong to a server. GPUs that are nearest to the same NIC
//! are at the same host. Where a GPU has several NICs, the host is all NICs of the GPU, and the rate of the
//! host's links is the sum of their rates. Example: 8 GPUs and 4 NICs make 4 hosts for each server; GPUs 0 and
//! 1 are at the first host. NVLink is no part of the network: `nvlink/pipes.rs` has its pipes. Only
//! `library = "nccl"` uses servers. Source: `docs/models/nccl.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Rate};

use super::bounded::bounded;
use super::processors::{Cpu, Gpu};

/// The most GPUs of a server.
const MOST: u64 = 1 << 10;
/// From a GPU to another GPU of a server without load.
const LATENCY: Duration = Duration::ns(500);

/// `network.servers`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// GPUs of a server.
    pub gpus: u64,
    /// NICs of a server: a divisor or a multiple of the GPUs. Default: one for each GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nics: Option<u64>,
    /// Type of the GPUs.
    #[serde(default = "h100")]
    pub gpu: Gpu,
    /// Maker of the CPUs.
    #[serde(default)]
    pub cpu: Cpu,
    /// NVLink of a GPU. Default: the NVLinks of the GPU's type.
    #[serde(default, skip_serializing_if = "NvLink::is_default")]
    pub nvlink: NvLink,
}

fn h100() -> Gpu {
    Gpu::H100
}

/// `network.servers.nvlink`
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NvLink {
    /// Rate of a GPU in each direction. Default: the rate that NCCL assumes for the GPU's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// From GPU to GPU without load.
    pub latency: Duration,
}

impl Default for NvLink {
    fn default() -> Self {
        Self { rate: None, latency: LATENCY }
    }
}

impl NvLink {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The servers of a network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// Servers.
    pub count: u32,
    /// GPUs of a server.
    pub gpus: u32,
    /// NICs of a server.
    pub nics: u32,
    /// Hosts of a server.
    pub hosts: u32,
    /// Type of the GPUs.
    pub gpu: Gpu,
    /// Maker of the CPUs.
    pub cpu: Cpu,
    /// Rate of the NVLinks of a GPU in each direction.
    pub nvlink: Rate,
    /// From GPU to GPU without load.
    pub latency: Duration,
}

impl Params {
    /// Returns the servers of a network with `all` hosts.
    pub(super) fn of(&self, all: u64) -> Result<Servers, (String, String)> {
        let wrong = |key: &str, why: String| Err((key.to_string(), why));
        let gpus = bounded("gpus", self.gpus, MOST)?;
        let nics = bounded("nics", self.nics.unwrap_or(self.gpus), MOST)?;
        if !gpus.is_multiple_of(nics) && !nics.is_multiple_of(gpus) {
            return wrong(
                "nics",
                format!("{nics} NICs for {gpus} GPUs; give a divisor or a multiple of the GPUs"),
            );
        }
        let hosts = gpus.min(nics);
        if !all.is_multiple_of(u64::from(hosts)) {
            return wrong(
                "gpus",
                format!(
                    "a server has {hosts} hosts of the network, and {all} hosts are no whole number of servers"
                ),
            );
        }
        if self.nvlink.latency == Duration::ZERO || self.nvlink.latency > Duration::ms(1) {
            return wrong(
                "nvlink.latency",
                format!("{} is out of range; allowed are 1ps to 1ms", self.nvlink.latency),
            );
        }
        let nvlink = self.nvlink.rate.unwrap_or(Rate((self.gpu.nvlink() * 8e9) as u64));
        if nvlink < Rate(1_000_000_000) && gpus > 1 {
            return wrong("nvlink.rate", format!("{nvlink} is below the minimum of 1Gbps"));
        }
        Ok(Servers {
            count: (all / u64::from(hosts)) as u32,
            gpus,
            nics,
            hosts,
            gpu: self.gpu,
            cpu: self.cpu,
            nvlink: nvlink.max(Rate(1_000_000_000)),
            latency: self.nvlink.latency,
        })
    }
}

impl Servers {
    /// Returns the GPUs at a host.
    pub const fn gpus_of_host(&self) -> u32 {
        self.gpus / self.hosts
    }

    /// Returns the place of the host of a GPU among the hosts of the network.
    pub const fn host(&self, (server, gpu): (u32, u32)) -> u32 {
        server * self.hosts + gpu / self.gpus_of_host()
    }

    /// Returns the GPUs of a host, by its place among the hosts of the network.
    pub fn at(&self, host: u32) -> impl Iterator<Item = (u32, u32)> + use<> {
        let (server, first) = (host / self.hosts, host % self.hosts * self.gpus_of_host());
        (first..first + self.gpus_of_host()).map(move |gpu| (server, gpu))
    }
}
