//! Parameters of Source Flow Control.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration};

/// `switch.flow_control.sfc`: the pause is one of `pause`, `target` and `dynamic.pause`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Send messages while the watched queue holds this many bytes or more. Optional with
    /// `dynamic.threshold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Bytes>,
    /// Time for which the source holds the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Duration>,
    /// Hold the flow for the time that the queue takes to drain to this level. With a queue for each input
    /// (`voq`) the queues of an output take turns, and the pause is longer in proportion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Bytes>,
    /// Time from a message to its first effect at the queue. Subtracted from a pause to the target; an input
    /// of dynamic pauses and thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip: Option<Duration>,
    /// Pause and threshold from the occupancy and the number of sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<Dynamic>,
    /// Resume the held sources when the queue has fallen to this level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Bytes>,
    /// Least time between two messages for one flow (or the unit of `hold`). Default: the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Unit that a source holds.
    #[serde(default)]
    pub hold: Hold,
    /// Node that holds the flow.
    #[serde(default)]
    pub mode: Mode,
    /// Outputs of a switch that send messages.
    #[serde(default)]
    pub signals: Signals,
    /// Queues of a network interface under `nic_isolation`.
    #[serde(default = "default_queues")]
    pub queues: u8,
    /// Queue of a new flow when all queues of the interface are paused.
    #[serde(default)]
    pub fallback: Fallback,
    /// A source's switch remembers paused destinations, and holds new flows to these destinations at once.
    #[serde(default)]
    pub cache: bool,
    /// Effect of a resume on a queue paused by a source's switch.
    #[serde(default)]
    pub resume_ends: ResumeEnds,
}

pub(super) fn default_queues() -> u8 {
    4
}

/// `switch.flow_control.sfc.dynamic`: with N sources in the queue, round trip R, line rate C.
// With a queue for each input N counts the sources of an output; each of its queues then takes 1/N of what is
// computed, and drains N times slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dynamic {
    /// Pause for (N − 1)·R plus half of the queue's drain time. This is the middle of the range between a
    /// queue above the threshold and an empty queue.
    #[serde(default)]
    pub pause: bool,
    /// Put the threshold (N − 1)·R·C below XOFF, room for the bytes that arrive after the message.
    /// `threshold` is the least value.
    #[serde(default)]
    pub threshold: bool,
}

/// Outputs that are congestion points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Signals {
    /// All.
    #[default]
    All,
    /// Outputs to the destination itself. Links between switches send no messages.
    LastHop,
}

/// Unit that a source holds, with one message per interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// The flow.
    #[default]
    Flow,
    /// Every flow to its destination.
    Destination,
    /// The queue of its class.
    Queue,
}

/// Node that obeys a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The source.
    #[default]
    Host,
    /// The source's switch, which pauses the source's class with PFC.
    Proxy,
    /// The source's switch, which moves the flow into a congestion queue and pauses the congestion queue.
    ProxyIsolation,
    /// The source's switch, which pauses the flow's queue of the source's interface. New flows choose a queue
    /// without a pause.
    NicIsolation,
}

/// Queue of a new flow when all queues of a network interface are paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    /// The first.
    #[default]
    First,
    /// The queue of the fewest flows.
    Shortest,
}

/// Effect of a resume at a source's switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResumeEnds {
    /// The pause of the named flow. The queue goes on when no other flow pauses the queue.
    #[default]
    Flow,
    /// The pause of the queue, for all its flows: "until the pause time is up or receiving SFCM-resume" to
    /// the letter.
    Queue,
}
