//! The document's types.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_applications::workload::Workload;
use xoff_models::faults::Fault;
use xoff_models::faults::injection::Faults;
use xoff_models::hosts::congestion_control::{CongestionControl, python};
use xoff_models::hosts::endpoint::Classify;
use xoff_models::hosts::stack::{Override as HostOverride, Stack};
use xoff_models::hosts::transport::Table as Transport;
use xoff_models::mechanisms::overrides::{Local, Override};
use xoff_models::mechanisms::{
    self, Admission, FlowControl, Routing, Stamping, Tables, ecn, telemetry, trimming,
};
use xoff_models::network::node::Acks;
use xoff_models::parts::plugin_parts::Given;
use xoff_models::paths::routing::FirstHop;
use xoff_models::paths::topology::Network;
use xoff_models::ports::core::Queueing;
use xoff_models::ports::queueing::buffer;
use xoff_models::ports::queueing::scheduler::Scheduler;
use xoff_models::ports::{cut_through, relay};
use xoff_models::records::delays::Traced;
use xoff_units::{Bytes, Duration, Moment};

/// A scenario: a network, switches, hosts and workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Shown in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description for readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of all random numbers.
    #[serde(default = "one")]
    pub seed: u64,
    /// Ends the run at this time, also with unfinished flows. Default: the last event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// Order of frames that reach a switch at the same moment. `relative`: by the distance from the sender to the
    /// destination, so that one server may stand for many (docs/folding.md). Default: by the port of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ties: Option<Ties>,
    /// Random draws of equal servers, with `ties`: hashes of ECMP, marks of RED, jitter. `shared`: equal servers share
    /// each draw, so that chance does not tell them apart. This changes the model: collisions of their flows vanish
    /// (docs/folding.md). Default: every flow and every switch draws for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<Draws>,
    /// Nodes and links.
    pub network: Network,
    /// Packet sizes.
    #[serde(default)]
    pub framing: Framing,
    /// All switches.
    #[serde(default)]
    pub switch: Switch,
    /// All hosts.
    #[serde(default)]
    pub host: HostSettings,
    /// Traffic.
    #[serde(default)]
    pub workload: Vec<Workload>,
    /// Faults of links, nodes and hosts, at given or drawn moments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fault: Vec<Fault>,
    /// Additional tables.
    #[serde(default)]
    pub probe: Probe,
    /// Reaction to a failed audit.
    #[serde(default)]
    pub audits: Audits,
}

fn one() -> u64 {
    1
}

/// `ties`: the order of frames that reach a switch at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ties {
    /// By the distance from the sender to the destination.
    Relative,
}

/// `draws`: the random draws of equal servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Draws {
    /// Equal flows and equal switches share each draw.
    Shared,
}

/// `framing`: how payload becomes frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Framing {
    /// Payload of a full packet.
    pub payload: Bytes,
    /// Headers of each packet.
    pub header: Bytes,
    /// Preamble and gap, added to every frame.
    pub preamble_and_ifg: Bytes,
    /// Size of ACKs and of all other control frames.
    pub control_frame_size: Bytes,
    /// No frame is smaller.
    pub min_frame_size: Bytes,
}

impl Default for Framing {
    fn default() -> Self {
        Self {
            payload: Bytes(1000),
            header: Bytes(48),
            preamble_and_ifg: Bytes(0),
            control_frame_size: Bytes(64),
            min_frame_size: Bytes(64),
        }
    }
}

impl Framing {
    /// Sizes on the wire: the gap belongs to every frame.
    pub fn on_wire(&self) -> xoff_models::frames::framing::Framing {
        xoff_models::frames::framing::Framing {
            payload: self.payload.0,
            header: self.header.0 + self.preamble_and_ifg.0,
            control: (self.control_frame_size.0.max(self.min_frame_size.0) + self.preamble_and_ifg.0) as u16,
            minimum: self.min_frame_size.0 + self.preamble_and_ifg.0,
        }
    }
}

/// `switch`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Switch {
    /// Fixed processing delay of forwarded packets.
    pub forwarding_latency: Duration,
    /// Handles a frame once the header has arrived, before the last bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_through: Option<cut_through::Params>,
    /// Place where packets wait.
    pub queueing: Queueing,
    /// Memory.
    pub buffer: buffer::Params,
    /// Priority classes of data, 1 to 8.
    pub classes: u8,
    /// Turns of classes. The queues of one class, such as the input queues of `voq`, share the turns of the
    /// class packet by packet.
    pub scheduler: Scheduler,
    /// For a scheduler with turns: this many of the highest classes are served strictly before all other
    /// classes.
    pub strict_priority_classes: u8,
    /// ECN marking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<ecn::Params>,
    /// In-band network telemetry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<telemetry::Params>,
    /// Packet trimming.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimming: Option<trimming::Params>,
    /// Flow control.
    pub flow_control: FlowControl,
    /// Choice among several ports on shortest paths, packet by packet. Default: a hash of the flow.
    #[serde(skip_serializing_if = "is_default")]
    pub routing: Routing,
    /// Mechanisms of plug-ins.
    #[serde(skip_serializing_if = "Given::is_empty")]
    pub plugins: Given<mechanisms::Vtable>,
    /// Different values for some switches, or for ports of some rate. For a port named by several entries the
    /// last entry counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<Override>,
    /// Broken on purpose, to see the audits notice.
    #[serde(skip_serializing_if = "is_default")]
    pub faults: Faults,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Switch {
    /// Returns all given mechanisms.
    pub fn mechanisms(&self) -> Tables {
        let stamping = Stamping { ecn: self.ecn.clone(), telemetry: self.telemetry.clone() };
        let admission = Admission { trimming: self.trimming.clone() };
        let (flow_control, routing) = (self.flow_control.clone(), self.routing.clone());
        Tables { stamping, admission, flow_control, routing, plugins: self.plugins.clone() }
    }

    /// Returns the settings of a port without overrides.
    pub fn local(&self) -> Local {
        Local { mechanisms: self.mechanisms(), buffer: self.buffer.clone(), cut_through: self.cut_through }
    }
}

impl Default for Switch {
    fn default() -> Self {
        Self {
            forwarding_latency: Duration::ZERO,
            cut_through: None,
            queueing: Queueing::Oq,
            buffer: buffer::Params::Unlimited,
            classes: 1,
            scheduler: Scheduler::Strict,
            strict_priority_classes: 0,
            ecn: None,
            telemetry: None,
            trimming: None,
            flow_control: FlowControl::default(),
            routing: Routing::default(),
            plugins: Given::default(),
            overrides: Vec::new(),
            faults: Faults::default(),
        }
    }
}

/// `host`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostSettings {
    /// Retransmission.
    pub transport: Transport,
    /// Rates.
    pub congestion_control: CongestionControl,
    /// Queue of ACKs and NACKs.
    #[serde(skip_serializing_if = "is_default")]
    pub acks: Acks,
    /// Class of a flow that differs from the class of the workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classify: Option<Classify>,
    /// Random delay of packet starts, as a share of the packet time: each packet of a flow starts up to this
    /// share late, with an independent draw; 0 to 10. Jitter disables fast-forward.
    #[serde(skip_serializing_if = "is_default")]
    pub jitter: f64,
    /// Port by which a flow leaves a host with several ports. Default: `lowest` in `network.rail`, `hash`
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_hop: Option<FirstHop>,
    /// Hosts that relay packets.
    pub relay: relay::Params,
    /// Other transports and congestion controls for some hosts. For a host named by several entries the last
    /// entry counts, table by table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<HostOverride>,
}

impl HostSettings {
    /// The transport and the congestion control where no override is.
    pub fn stack(&self) -> Stack {
        Stack {
            transport: self.transport.clone(),
            congestion_control: self.congestion_control.clone(),
            of: [None; 2],
            of_classes: Vec::new(),
        }
    }

    /// Returns the paths of all classes in Python, and their tables.
    pub fn python_controls(&self) -> Vec<(String, &python::Params)> {
        let general = std::iter::once((None, Some(&self.congestion_control)));
        let overrides = self.overrides.iter().enumerate();
        general
            .chain(overrides.map(|(i, change)| (Some(i), change.congestion_control.as_ref())))
            .filter_map(|(of, table)| {
                Some((format!("{}.python", Stack::control_path(of)), table?.python.as_ref()?))
            })
            .collect()
    }

    /// Links all classes in Python to the session of a run. The number of a class is its place in
    /// [`Self::python_controls`].
    pub fn link_python(&mut self, session: &Arc<dyn python::Session>) {
        let overrides = self.overrides.iter_mut().filter_map(|change| change.congestion_control.as_mut());
        let tables = std::iter::once(&mut self.congestion_control).chain(overrides);
        for (number, python) in tables.filter_map(|table| table.python.as_mut()).enumerate() {
            python.link = Some(python::Link { session: session.clone(), number: xoff_units::number(number) });
        }
    }
}

/// `probe`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Probe {
    /// Writes each departure and arrival of a frame to the table `packets`.
    pub packets: bool,
    /// Writes queue lengths at this interval to the table `samples`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<Duration>,
    /// Cuts the completion times of these flows, or of `all`, into parts, in the table `delays`. The table
    /// `contributions` lists the bytes that made a switch pause its neighbours.
    #[serde(skip_serializing_if = "Traced::is_none")]
    pub delays: Traced,
    /// Writes queue lengths to the table `samples` for the replay on the page of a run (`xoff report`): every
    /// 100 ns at first. The interval doubles whenever more than 100,000 rows would result.
    pub replay: bool,
    /// Also reports completion times of each workload by size: flows below the first size, below the second
    /// size, and above.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_classes: Vec<Bytes>,
    /// Writes a row for each flow to the table `flows`.
    pub flows: bool,
    /// Writes a row for each message of a job over NVLink to the table `messages`. Most messages of a large job stay
    /// inside servers, so these rows can be 98 % of the table.
    #[serde(skip_serializing_if = "is_default")]
    pub slices: bool,
    /// Writes a row for each token of serving to the table `tokens`.
    #[serde(skip_serializing_if = "is_default")]
    pub tokens: bool,
}

impl Probe {
    /// Returns the initial sampling interval of queues.
    pub fn interval(&self) -> Option<Duration> {
        self.queues.or(self.replay.then_some(Self::FINEST))
    }

    /// Initial interval of `replay`.
    const FINEST: Duration = Duration::ns(100);
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            packets: false,
            queues: None,
            delays: Traced::None,
            replay: false,
            size_classes: Vec::new(),
            flows: true,
            slices: false,
            tokens: false,
        }
    }
}

/// Reaction to a violation: fail the run, or only record the violation, for scenarios that study violations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// The run fails.
    #[default]
    Fail,
    /// Adds the violation to the result.
    Record,
}

/// `audits`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Audits {
    /// A loss in a class under PFC.
    pub loss: Judgement,
    /// A ring of ports that wait for one another.
    pub deadlock: Judgement,
    /// A pause that never ends.
    pub pauses: Judgement,
    /// Flows that are undelivered after the last event.
    pub completion: Judgement,
}
