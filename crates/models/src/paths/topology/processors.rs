//! The processors of a server: GPUs and CPUs, with the rates of their links.
//!
//! Source: NCCL 2.30.7, `graph/topo.h` (NVLink); the PCI Express specification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Generation of a GPU, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// V100.
    Volta,
    /// A100.
    Ampere,
    /// H100.
    Hopper,
    /// B200.
    Blackwell,
}

impl Gpu {
    /// Returns the generation.
    pub const fn generation(self) -> Generation {
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

    /// Returns the rate of the GPU's PCIe link in one direction, in GB/s: 16 lanes of generation 3, 4, 5 or 6. No byte between
    /// a GPU and the network can be faster.
    pub const fn pcie_link(self) -> f64 {
        match self {
            Self::V100 => 15.75,
            Self::A100 | Self::A800 => 31.5,
            Self::B300 => 121.0,
            Self::H100 | Self::H800 | Self::H200 | Self::H20 | Self::B200 | Self::Rtx5090 => 63.0,
        }
    }

    /// True for an NVSwitch that reduces and multicasts (NVLS).
    pub fn has_nvls(self) -> bool {
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
