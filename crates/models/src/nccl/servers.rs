//! Servers as NCCL sees servers: GPUs, NICs, NVLink and PCIe, with the rates that NCCL assumes.
//!
//! Source: NCCL 2.30.7, `graph/topo.h` (NVLink), `graph/topo.cc` (PCIe, NICs).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most channels of a communicator.
pub(super) const MAX_CHANNELS: u32 = 64;

/// Buffer of a connection with the protocol Simple, in bytes (`NCCL_BUFFSIZE`).
pub(super) const BUFFER: u64 = 4 << 20;

/// Type of the GPUs of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gpu {
    /// NVIDIA V100 (Volta).
    V100,
    /// NVIDIA A100 (Ampere).
    A100,
    /// NVIDIA A800: an A100 with 8 NVLinks.
    A800,
    /// NVIDIA H100 (Hopper).
    H100,
    /// NVIDIA H800: an H100 with 8 NVLinks.
    H800,
    /// NVIDIA H200 (Hopper).
    H200,
    /// NVIDIA H20 (Hopper).
    H20,
    /// NVIDIA B200 (Blackwell).
    B200,
    /// NVIDIA B300 (Blackwell), with PCIe Gen 6.
    B300,
    /// NVIDIA RTX 5090 (Blackwell), without NVLink: one GPU per server.
    Rtx5090,
}

/// Generation of a GPU, which orders NCCL's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

impl Gpu {
    pub(super) const fn generation(self) -> Generation {
        match self {
            Self::V100 => Generation::Volta,
            Self::A100 | Self::A800 => Generation::Ampere,
            Self::H100 | Self::H800 | Self::H200 | Self::H20 => Generation::Hopper,
            Self::B200 | Self::B300 | Self::Rtx5090 => Generation::Blackwell,
        }
    }

    /// Returns the rate of all NVLinks of the GPU in one direction, in GB/s.
    pub const fn nvlink(self) -> f64 {
        let links = match self {
            Self::Rtx5090 => 0.0,
            Self::V100 => 6.0,
            Self::A100 => 12.0,
            Self::A800 | Self::H800 => 8.0,
            Self::H100 | Self::H200 | Self::H20 | Self::B200 | Self::B300 => 18.0,
        };
        let rate = match self.generation() {
            Generation::Volta | Generation::Ampere => 20.0,
            Generation::Hopper => 20.6,
            Generation::Blackwell => 40.1,
        };
        links * rate
    }

    /// Returns the rate of 16 PCIe lanes in one direction, in GB/s.
    pub const fn pcie(self) -> f64 {
        match self {
            Self::V100 => 12.0,
            Self::A100 | Self::A800 => 24.0,
            Self::B300 => 96.0,
            Self::H100 | Self::H800 | Self::H200 | Self::H20 | Self::B200 | Self::Rtx5090 => 48.0,
        }
    }

    /// Returns the rate of the GPU's PCIe link in one direction, in GB/s: 16 lanes of generation 3, 4, 5 or 6. NCCL plans with
    /// less ([`Gpu::pcie`]), but no byte between a GPU and the network can be faster.
    pub const fn pcie_link(self) -> f64 {
        match self {
            Self::V100 => 15.75,
            Self::A100 | Self::A800 => 31.5,
            Self::B300 => 121.0,
            Self::H100 | Self::H800 | Self::H200 | Self::H20 | Self::B200 | Self::Rtx5090 => 63.0,
        }
    }

    /// True for an NVSwitch that reduces and multicasts (NVLS).
    pub(super) fn has_nvls(self) -> bool {
        self.generation() >= Generation::Hopper && self.nvlink() > 0.0
    }
}

/// Maker of the CPUs of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cpu {
    /// Intel.
    #[default]
    Intel,
    /// AMD, with twice the overhead of the network.
    Amd,
    /// ARM, with the overhead of Intel.
    Arm,
}

impl Cpu {
    /// Returns the time that the proxy takes for a message, in µs (`graph/tuning.cc`: `getNetOverhead`).
    pub const fn net_overhead(self) -> f64 {
        match self {
            Self::Intel | Self::Arm => 1.0,
            Self::Amd => 2.0,
        }
    }
}

/// The farthest path between the ends of a ring in a server and the NIC of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// One PCIe switch.
    Pix,
    /// Several PCIe switches.
    Pxb,
    /// NVLink to another GPU, and the GPU's PCIe switch.
    Pxn,
    /// The root complex of the CPU.
    Phb,
    /// The link between CPUs.
    Sys,
}

/// Equal servers of a job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Servers {
    /// Servers.
    pub servers: u32,
    /// GPUs of a server, all of them ranks.
    pub gpus: u32,
    /// NICs of a server.
    pub nics: u32,
    /// Rate of a NIC, in GB/s.
    pub nic: f64,
    /// Type of the GPUs.
    pub gpu: Gpu,
    /// Maker of the CPUs.
    pub cpu: Cpu,
    /// Distance of the ring's ends from the NIC. Default: [`Servers::usual_distance`].
    pub distance: Distance,
    /// True with NVLS, which `NCCL_NVLS_ENABLE` turns off.
    pub has_nvls: bool,
    /// True for NCCL up to 2.22, which counts two more steps between servers for a ring of an all-reduce.
    pub is_before_2_23: bool,
    /// Latency that a NIC reports, in µs; zero for InfiniBand and RoCE.
    pub net_latency: f64,
    /// Fewest channels (`NCCL_MIN_CTAS`).
    pub min_ctas: u32,
    /// Most channels (`NCCL_MAX_CTAS`).
    pub max_ctas: u32,
    /// Buffer of a connection with the protocol Simple, in bytes (`NCCL_BUFFSIZE`).
    pub buffer: u64,
}

impl Servers {
    /// Returns servers with the defaults of NCCL, on Intel CPUs.
    pub fn new(servers: u32, gpus: u32, nics: u32, nic: f64, gpu: Gpu) -> Self {
        Self {
            servers,
            gpus,
            nics,
            nic,
            gpu,
            cpu: Cpu::Intel,
            distance: Self::usual_distance(gpus, nics, gpu),
            has_nvls: gpu.has_nvls() && gpus > 1,
            is_before_2_23: false,
            net_latency: 0.0,
            min_ctas: 0,
            max_ctas: MAX_CHANNELS,
            buffer: BUFFER,
        }
    }

    /// Returns the distance in a usual server. A ring whose last GPU has another NIC closes through the GPU
    /// of the ring's NIC (PXN, from Hopper on) or over PCIe (up to Ampere). GPUs that share a NIC are next to
    /// the NIC.
    pub fn usual_distance(gpus: u32, nics: u32, gpu: Gpu) -> Distance {
        if gpus == 1 || nics < gpus {
            Distance::Pix
        } else if gpu.generation() >= Generation::Hopper {
            Distance::Pxn
        } else {
            Distance::Pxb
        }
    }

    /// Returns the number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.servers * self.gpus
    }
}
