//! Servers as NCCL sees servers: GPUs, NICs, NVLink and PCIe, with the rates that NCCL assumes.
//!
//! Source: NCCL 2.30.7, `graph/topo.h` (NVLink), `graph/topo.cc` (PCIe, NICs).

use xoff_models::paths::topology::{Cpu, Generation, Gpu};

/// Most channels of a communicator.
pub(super) const MAX_CHANNELS: u32 = 64;

/// Buffer of a connection with the protocol Simple, in bytes (`NCCL_BUFFSIZE`).
pub(super) const BUFFER: u64 = 4 << 20;

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

/// Returns the rate of 16 PCIe lanes in one direction that NCCL plans with, in GB/s.
pub(super) const fn pcie(gpu: Gpu) -> f64 {
    match gpu {
        Gpu::V100 => 12.0,
        Gpu::A100 | Gpu::A800 => 24.0,
        Gpu::B300 => 96.0,
        Gpu::H100 | Gpu::H800 | Gpu::H200 | Gpu::H20 | Gpu::B200 | Gpu::Rtx5090 => 48.0,
    }
}

/// Returns the time that the proxy takes for a message, in µs (`graph/tuning.cc`: `getNetOverhead`).
pub const fn net_overhead(cpu: Cpu) -> f64 {
    match cpu {
        Cpu::Intel | Cpu::Arm => 1.0,
        Cpu::Amd => 2.0,
    }
}
