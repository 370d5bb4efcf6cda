//! Cut-through: a switch handles a frame when its head is in, and the rest follows while the frame leaves.
//! A switch handles a frame its forwarding latency after the first `header` bytes are in. Where the output is
//! faster than the input, more has to be in, so that the output has the last bit to send when that bit
//! arrives. A frame with a busy or paused output waits, whole or not, and starts when the output is free.
//! A frame takes its input's memory, and a shared pool, whole, until the frame has started and its last bit
//! is through the pipeline. Queues, marks and memory of outputs count the frame until its start.
//! Simplifications: frames that end at the neighbour, MAC control, and messages that nodes may take in are
//! handled at their last bit; so are all frames at relaying hosts. The fastest of several possible outputs
//! decides. A damaged frame is lost where it arrives. Invariants: no output runs dry; frames of a link are
//! handled in order; at most one frame of an input is still arriving. Source: `docs/models/cut_through.md`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Bytes, Duration, Moment, Rate, Serializer, index};

use crate::frames::packet::Packet;
use crate::parts::ids::{PortId, QueueId};
use crate::parts::param_error::ParamError;
use crate::paths::routing::{Map, Paths};
use crate::paths::topology::PortSpec;

/// `switch.cut_through`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bytes at the start of a frame after which a switch forwards the frame.
    pub header: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self { header: Bytes(64) }
    }
}

impl Params {
    /// Refuses values out of range.
    pub fn validate(&self) -> Result<(), ParamError> {
        if (1..=65_535).contains(&self.header.0) {
            return Ok(());
        }
        Err(("header", format!("{} is out of range; allowed are 1 to 65535 bytes", self.header)))
    }

    /// Returns the most bytes of a frame that are in when the frame is handled, for an input line and the
    /// fastest output.
    pub fn counted_after(&self, bytes: u64, line: Rate, fastest: Rate) -> u64 {
        let kept_up = (u128::from(bytes) * u128::from(line.0) / u128::from(fastest.max(line).0)) as u64;
        self.header.0.max(bytes - kept_up).min(bytes)
    }
}

/// Returns the time from the start of a frame on a line until the switch has enough bytes for this output.
#[inline]
pub fn head(header: u64, bytes: u64, line: Serializer, output: Serializer) -> Duration {
    let whole = line.time(bytes);
    line.time(header).max(whole.saturating_sub(output.time(bytes))).min(whole)
}

/// An input of a cut-through switch.
#[derive(Debug, Clone)]
pub struct Input {
    header: u64,
    line: Serializer,
    /// The outputs, where one is faster than the line.
    outputs: Option<Outputs>,
}

/// The outputs of a switch.
#[derive(Debug, Clone)]
struct Outputs {
    node: u32,
    /// True when a mechanism may choose another output than ECMP.
    are_chosen: bool,
}

impl Outputs {
    /// Returns the rate of the fastest possible output of a frame, for a frame that passes `nodes` nodes
    /// before it comes here.
    fn fastest(&self, frame: &Packet, nodes: usize, routing: &Map) -> Rate {
        let (routes, ports) = (&routing.routes[index(self.node)], &routing.wiring.ports[index(self.node)]);
        let rate = |port: PortId| ports[port].link.rate;
        let choices =
            if self.are_chosen && frame.path() < Paths::FIRST { routes.choices(frame.dst()) } else { &[] };
        choices.iter().map(|port| rate(*port)).max().unwrap_or_else(|| rate(routes.port_after(frame, nodes)))
    }
}

impl Input {
    /// Makes the input of a port.
    pub fn new(params: Params, ports: &[PortSpec], node: u32, port: PortId, are_chosen: bool) -> Self {
        let line = ports[port].link.rate;
        let outputs = || Outputs { node, are_chosen };
        let has_faster = ports.iter().any(|p| p.link.rate > line);
        Self { header: params.header.0, line: line.serializer(), outputs: has_faster.then(outputs) }
    }

    /// Returns the time from the start of a frame until the switch has enough bytes, for a frame that passes
    /// `nodes` nodes before it comes here.
    fn head(&self, frame: &Packet, nodes: usize, routing: &Map) -> Duration {
        let output = self
            .outputs
            .as_ref()
            .map_or(self.line, |outputs| outputs.fastest(frame, nodes, routing).serializer());
        head(self.header, u64::from(frame.bytes()), self.line, output)
    }

    /// Returns the time from the handling of a frame until all of the frame is in.
    fn tail(&self, frame: &Packet, routing: &Map) -> Duration {
        self.line.time(u64::from(frame.bytes())) - self.head(frame, 0, routing)
    }
}

/// The last accepted data packet of an input.
#[derive(Debug, Clone, Copy, Default)]
struct Arriving {
    /// Arrival of the last bit.
    until: Moment,
    packet: Packet,
    /// Action at the last bit, if the packet has started, or was cut, before.
    rest: Option<Rest>,
}

/// Action put off until the last bit of a packet.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// The packet that has started and then leaves its input's memory; or the header of a cut packet, which
    /// then starts.
    pub packet: Packet,
    /// The output.
    pub port: PortId,
    /// Queue of the packet.
    pub queue: QueueId,
}

impl State for Rest {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { packet, port, queue } = self;
        packet.walk(walk);
        walk.value(u64::from(port.0) << 16 | u64::from(queue.0));
    }
}

impl State for Arriving {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { until, packet, rest } = self;
        let is_coming = *until > walk.now();
        walk.due(until);
        walk.value(u64::from(is_coming));
        if is_coming {
            packet.walk(walk);
        }
        rest.walk(walk);
    }
}

/// State of a node with cut-through at its inputs or at its neighbours' inputs.
#[derive(Debug, Clone)]
pub struct CutThrough {
    /// The inputs at the other ends of the node's links, by port.
    ahead: Vec<Option<Input>>,
    /// The node's own inputs, by port.
    inputs: Vec<Option<Input>>,
    arriving: Vec<Arriving>,
}

state!(CutThrough {
    part: arriving;
    constant: ahead, inputs;
});

impl CutThrough {
    /// Makes the state from the inputs at the other ends of the links and the own inputs; none without
    /// cut-through.
    pub fn new(ahead: Vec<Option<Input>>, inputs: Vec<Option<Input>>) -> Option<Box<Self>> {
        let cuts = ahead.iter().chain(&inputs).any(Option::is_some);
        cuts.then(|| Box::new(Self { arriving: vec![Arriving::default(); inputs.len()], ahead, inputs }))
    }

    /// Returns the time from the start of a frame by a port until the neighbour has enough bytes; none where
    /// the neighbour needs the last bit.
    pub fn head(&self, port: PortId, frame: &Packet, peer: u32, routing: &Map) -> Option<Duration> {
        let input = self.ahead[port].as_ref()?;
        (!frame.is_seen() && frame.dst() != peer).then(|| input.head(frame, 1, routing))
    }

    /// Returns the time from the start of an arrived frame until node `here` had enough bytes; none where the
    /// node needed the last bit.
    pub fn needed(&self, port: PortId, frame: &Packet, here: u32, routing: &Map) -> Option<Duration> {
        let input = self.inputs[port].as_ref()?;
        (!frame.is_seen() && frame.dst() != here).then(|| input.head(frame, 0, routing))
    }

    /// Notes an accepted data packet.
    pub fn enter(&mut self, packet: &Packet, routing: &Map, now: Moment) {
        let port = packet.in_port().index();
        if let Some(input) = &self.inputs[port] {
            debug_assert!(
                self.arriving[port].rest.is_none(),
                "a packet is handled before the end of the previous packet"
            );
            self.arriving[port] =
                Arriving { until: now + input.tail(packet, routing), packet: *packet, rest: None };
        }
    }

    /// Returns the arrival of the last bit of a packet that is the last of its input, still arrives, and has
    /// not started.
    pub fn until(&self, packet: &Packet, now: Moment) -> Option<Moment> {
        let arriving = &self.arriving[packet.in_port()];
        (arriving.until > now && arriving.rest.is_none() && packet.is_like(&arriving.packet))
            .then_some(arriving.until)
    }

    /// Puts an action off until the last bit of an input's packet.
    pub fn put_off(&mut self, in_port: PortId, rest: Rest) {
        self.arriving[in_port].rest = Some(rest);
    }

    /// Takes the action of an input's packet, at its last bit.
    pub fn rest(&mut self, in_port: PortId) -> Option<Rest> {
        self.arriving[in_port].rest.take()
    }

    /// Returns frames that are in no queue: headers of cut packets.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.arriving
            .iter()
            .filter_map(|a| a.rest.as_ref())
            .map(|rest| &rest.packet)
            .filter(|packet| !packet.is_data())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frames::kinds::Kind;
    use crate::paths::routing::FirstHop;
    use crate::paths::routing::shortest::shortest;
    use crate::paths::topology::{Link, Topology};

    /// Hosts 0 to 2 with lines of 100, 400 and 100 Gb/s at switch 3, of which port n leads to host n.
    fn inputs() -> (Vec<Option<Input>>, Map) {
        let mut topology = Topology::default();
        topology.add_hosts(3);
        topology.add_switches("switch", 1);
        for (host, rate) in [(0, 100), (1, 400), (2, 100)] {
            topology.join(host, 3, Link { rate: Rate::gbps(rate), delay: Duration::ZERO });
        }
        let routes = shortest(&topology, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true);
        let map = Map::new(routes, topology.wiring());
        (
            (0..3)
                .map(|port| Some(Input::new(Params::default(), &map.wiring.ports[3], 3, PortId(port), false)))
                .collect(),
            map,
        )
    }

    /// A packet of 1000 B from a port, for a host.
    fn packet(seq: u32, dst: u32, in_port: PortId) -> Packet {
        let mut packet = Packet::new(Kind::Data, 7, seq, dst, 1000, 0);
        packet.set_in_port(in_port);
        packet
    }

    #[test]
    fn a_head_is_the_header_or_what_a_faster_output_would_lack() {
        let [slow, fast] = [100, 400].map(|rate| Rate::gbps(rate).serializer());
        // 1000 B take 80 ns on one line and 20 ns on the other; 64 B take 5.12 ns and 1.28 ns.
        assert_eq!(
            [head(64, 1000, slow, slow), head(64, 1000, fast, slow)],
            [Duration(5120), Duration(1280)]
        );
        assert_eq!(
            [head(64, 1000, slow, fast), head(64, 80, slow, fast)],
            [Duration::ns(60), Duration(5120)]
        );
        assert_eq!(
            [head(64, 50, slow, slow), head(2000, 1000, slow, fast)],
            [Duration::ns(4), Duration::ns(80)]
        );
    }

    #[test]
    fn what_is_in_when_a_frame_is_counted_depends_on_the_fastest_output() {
        let params = Params::default();
        let [slow, fast] = [100, 400].map(Rate::gbps);
        assert_eq!(
            [params.counted_after(1000, slow, slow), params.counted_after(1000, fast, slow)],
            [64, 64]
        );
        assert_eq!([params.counted_after(1000, slow, fast), params.counted_after(40, slow, slow)], [750, 40]);
    }

    #[test]
    fn the_output_of_a_frame_decides() {
        let (inputs, map) = inputs();
        let heads: Vec<Duration> =
            inputs.iter().flatten().map(|input| input.head(&packet(0, 2, PortId(0)), 0, &map)).collect();
        assert_eq!(heads, [Duration(5120), Duration(1280), Duration(5120)]);
        let to_fast = inputs[0].as_ref().map(|input| {
            (input.head(&packet(0, 1, PortId(0)), 0, &map), input.tail(&packet(0, 1, PortId(0)), &map))
        });
        assert_eq!(to_fast, Some((Duration::ns(60), Duration::ns(20))));
    }

    #[test]
    fn only_the_last_packet_of_an_input_is_still_coming() {
        let (inputs, map) = inputs();
        let mut cut = CutThrough::new(vec![None; 3], inputs).unwrap();
        let (first, second) = (packet(1, 2, PortId(0)), packet(2, 2, PortId(0)));
        cut.enter(&first, &map, Moment::ZERO);
        assert_eq!(
            [cut.until(&first, Moment::ZERO), cut.until(&second, Moment::ZERO)],
            [Some(Moment(74_880)), None]
        );
        assert_eq!(
            cut.until(&packet(1, 2, PortId(2)), Moment::ZERO),
            None,
            "a copy that came by another port"
        );
        assert_eq!(cut.until(&first, Moment(74_880)), None, "all of it is in");
        cut.enter(&second, &map, Moment::ns(80));
        assert_eq!(
            [cut.until(&first, Moment::ns(81)), cut.until(&second, Moment::ns(81))],
            [None, Some(Moment(154_880))]
        );
        // A deferred action is kept once, and the header of a cut packet waits here meanwhile.
        let header = Packet::new(Kind::Header, 7, 2, 2, 84, 0);
        cut.put_off(PortId(0), Rest { packet: header, port: PortId(2), queue: QueueId(0) });
        assert_eq!((cut.until(&second, Moment::ns(82)), cut.waiting().count()), (None, 1));
        assert_eq!(cut.rest(PortId(0)).map(|rest| (rest.packet.bytes(), rest.port)), Some((84, PortId(2))));
        assert!(cut.rest(PortId(0)).is_none() && cut.waiting().count() == 0);
    }

    #[test]
    fn a_node_far_from_inputs_that_cut_through_knows_nothing() {
        assert!(CutThrough::new(vec![None; 2], vec![None; 2]).is_none());
    }
}
