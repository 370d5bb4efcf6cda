//! NCCL's settings, by NCCL's words. Source: `docs/models/nccl.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

use crate::job::nccl::tuner::Protocol;

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
    /// Buffer of a connection with the protocol Simple, at least 64 KiB (`NCCL_BUFFSIZE`): 8 slots.
    pub buffer: Bytes,
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
            buffer: Bytes(4 << 20),
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

impl Params {
    /// Returns true for a version before 2.23.
    pub(super) fn is_before_2_23(&self) -> Result<bool, String> {
        let wrong = || format!("`{}` is no version of NCCL; give one such as 2.30", self.version);
        let mut numbers = self.version.split('.').map(str::parse::<u32>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) if major > 0 => Ok((major, minor) < (2, 23)),
            _ => Err(wrong()),
        }
    }
}
