//! Cut-through: a switch handles a frame when its head is in, and the rest follows while the frame is on its way out.
//!
//! Models: a switch knows where a frame goes when its first `header` bytes are in, and handles it its own forwarding delay later;
//! from there on nothing is different. A frame that finds its output busy or paused waits, whole or not, and starts when it may
//! (virtual cut-through). Where the output is faster than the input, more has to be in: so much that the output, if it begins at
//! once, has the last bit to send when that comes. Nothing interrupts a frame, so that its last bit is never late.
//! What a frame takes of its input's memory, and of a shared pool, it takes whole, from when it is handled until it has started
//! *and* its last bit is through the pipeline; queues, marks and the memory of outputs count it until it starts, as always.
//! Source: peers.md 10, for the start rule, the latency of a hop, and what is counted until when.
//! Simplifications: frames that end at the neighbour, MAC control, and messages that nodes on their way may take in are handled at
//! their last bit. The switch knows the length of a frame from its header. Where a mechanism chooses among several outputs, the
//! fastest of them decides how much has to be in. What trimming leaves of a packet starts when the packet is in; a header that
//! trimming sends back to its source is the switch's own, and starts at once. A packet that is dropped takes nothing from then on.
//! Invariants: no output runs dry; frames of a link are handled in the order in which they were sent; of each input there is one
//! frame at most of which something is still to come, for the next is handled later than its last bit.
//! Leaves out: bit errors, and so the frames that a switch has passed on before it could see that they are damaged; hosts that
//! relay, which take in all of a frame.

use crate::ids::{PortId, QueueId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::state;
use xoff_engine::state::{State, Walk};
use xoff_units::{Bytes, Duration, Moment, Rate, Serializer, index};

use crate::packet::Packet;
use crate::routing::{Map, Paths};
use crate::topology::PortSpec;
use crate::wrong::Wrong;

/// `switch.cut_through`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bytes at the start of a frame after which a switch knows where it goes.
    pub header: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self { header: Bytes(64) }
    }
}

impl Params {
    /// Says what of it makes no sense.
    pub fn validate(&self) -> Result<(), Wrong> {
        if (1..=65_535).contains(&self.header.0) {
            return Ok(());
        }
        Err(("header", format!("{} is out of range; allowed are 1 to 65535 bytes", self.header)))
    }

    /// Bytes of a frame that are in at most when it is handled, at an input with this line and such outputs.
    pub fn counted_after(&self, bytes: u64, line: Rate, fastest: Rate) -> u64 {
        let kept_up = (u128::from(bytes) * u128::from(line.0) / u128::from(fastest.max(line).0)) as u64;
        self.header.0.max(bytes - kept_up).min(bytes)
    }
}

/// From the start of a frame on a line until as much of it is in as the switch needs that will send it by this output.
#[inline]
pub fn head(header: u64, bytes: u64, line: Serializer, output: Serializer) -> Duration {
    let whole = line.time(bytes);
    line.time(header).max(whole.saturating_sub(output.time(bytes))).min(whole)
}

/// An input of a switch that cuts through.
#[derive(Debug, Clone)]
pub struct Input {
    header: u64,
    line: Serializer,
    /// Where some output of the switch is faster than the line.
    outputs: Option<Outputs>,
}

/// The outputs of a switch.
#[derive(Debug, Clone)]
struct Outputs {
    node: u32,
    /// A mechanism may choose another than ECMP.
    are_chosen: bool,
}

impl Outputs {
    /// The fastest by which a frame may go that will have passed so many nodes more when it is there.
    fn fastest(&self, frame: &Packet, nodes: usize, routing: &Map) -> Rate {
        let (routes, ports) = (&routing.routes[index(self.node)], &routing.wiring.ports[index(self.node)]);
        let rate = |port: PortId| ports[port].link.rate;
        let choices = if self.are_chosen && frame.path() < Paths::FIRST { routes.choices(frame.dst()) } else { &[] };
        choices.iter().map(|port| rate(*port)).max().unwrap_or_else(|| rate(routes.port_after(frame, nodes)))
    }
}

impl Input {
    /// That of a port.
    pub fn new(params: Params, ports: &[PortSpec], node: u32, port: PortId, are_chosen: bool) -> Self {
        let line = ports[port].link.rate;
        let outputs = || Outputs { node, are_chosen };
        let has_faster = ports.iter().any(|p| p.link.rate > line);
        Self { header: params.header.0, line: line.serializer(), outputs: has_faster.then(outputs) }
    }

    /// From the start of a frame until the switch needs no more of it, which will have passed so many nodes more when it is there.
    fn head(&self, frame: &Packet, nodes: usize, routing: &Map) -> Duration {
        let output = self.outputs.as_ref().map_or(self.line, |outputs| outputs.fastest(frame, nodes, routing).serializer());
        head(self.header, u64::from(frame.bytes()), self.line, output)
    }

    /// From the moment at which a frame is handled here until all of it is in.
    fn tail(&self, frame: &Packet, routing: &Map) -> Duration {
        self.line.time(u64::from(frame.bytes())) - self.head(frame, 0, routing)
    }
}

/// The last data packet that was let in of those of an input.
#[derive(Debug, Clone, Copy, Default)]
struct Arriving {
    /// When its last bit is in.
    until: Moment,
    packet: Packet,
    /// What happens then, if it has started, or was cut, before.
    rest: Option<Rest>,
}

/// What was put off until the last bit of a packet came.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    /// The packet, if it has started, and takes its input's memory no more; or what is left of one that was cut, and starts now.
    pub packet: Packet,
    /// The output.
    pub port: PortId,
    /// Its queue.
    pub queue: QueueId,
}

impl State for Rest {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { packet, port, queue } = self;
        packet.walk(walk);
        walk.value(u64::from(port.0) << 16 | u64::from(queue.0));
    }
}

impl State for Arriving {
    fn walk(&mut self, walk: &mut Walk<'_>) {
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

/// What a node beside inputs that cut through knows of them.
#[derive(Debug, Clone)]
pub struct CutThrough {
    /// At the other end of the link of each port.
    ahead: Vec<Option<Input>>,
    /// Its own, by port.
    inputs: Vec<Option<Input>>,
    arriving: Vec<Arriving>,
}

state!(CutThrough {
    part: arriving;
    still: ahead, inputs;
});

impl CutThrough {
    /// With the inputs at the other ends of a node's links and its own, if any of them cuts through.
    pub fn new(ahead: Vec<Option<Input>>, inputs: Vec<Option<Input>>) -> Option<Box<Self>> {
        let cuts = ahead.iter().chain(&inputs).any(Option::is_some);
        cuts.then(|| Box::new(Self { arriving: vec![Arriving::default(); inputs.len()], ahead, inputs }))
    }

    /// From the start of a frame by a port until the neighbour needs no more of it; none where it needs the last bit.
    pub fn head(&self, port: PortId, frame: &Packet, peer: u32, routing: &Map) -> Option<Duration> {
        let input = self.ahead[port].as_ref()?;
        (!frame.is_seen() && frame.dst() != peer).then(|| input.head(frame, 1, routing))
    }

    /// From the start of a frame that came by a port until node `here`, which has handled it, needed no more of it; none where it needed
    /// the last bit.
    pub fn needed(&self, port: PortId, frame: &Packet, here: u32, routing: &Map) -> Option<Duration> {
        let input = self.inputs[port].as_ref()?;
        (!frame.is_seen() && frame.dst() != here).then(|| input.head(frame, 0, routing))
    }

    /// A data packet is let in here.
    pub fn enter(&mut self, packet: &Packet, routing: &Map, now: Moment) {
        let port = packet.in_port().index();
        if let Some(input) = &self.inputs[port] {
            debug_assert!(self.arriving[port].rest.is_none(), "a packet is handled before the one before it is in");
            self.arriving[port] = Arriving { until: now + input.tail(packet, routing), packet: *packet, rest: None };
        }
    }

    /// When the last bit is in of a packet like this one, if that was the last of its input, still comes, and has not started.
    pub fn until(&self, packet: &Packet, now: Moment) -> Option<Moment> {
        let arriving = &self.arriving[packet.in_port()];
        (arriving.until > now && arriving.rest.is_none() && packet.is_like(&arriving.packet)).then_some(arriving.until)
    }

    /// Keeps what is put off until the last bit of an input's packet is in.
    pub fn put_off(&mut self, in_port: PortId, rest: Rest) {
        self.arriving[in_port].rest = Some(rest);
    }

    /// What was put off until now, at which the last bit of an input's packet is in.
    pub fn rest(&mut self, in_port: PortId) -> Option<Rest> {
        self.arriving[in_port].rest.take()
    }

    /// Frames that are here although they are in no queue: what is left of packets that were cut.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        self.arriving.iter().filter_map(|a| a.rest.as_ref()).map(|rest| &rest.packet).filter(|packet| !packet.is_data())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::frames::Kind;
    use crate::routing::{FirstHop, shortest};
    use crate::topology::{Link, Topology};

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
        ((0..3).map(|port| Some(Input::new(Params::default(), &map.wiring.ports[3], 3, PortId(port), false))).collect(), map)
    }

    /// A packet of 1000 B that came by a port, for a host.
    fn packet(seq: u32, dst: u32, in_port: PortId) -> Packet {
        let mut packet = Packet::new(Kind::Data, 7, seq, dst, 1000, 0);
        packet.set_in_port(in_port);
        packet
    }

    #[test]
    fn a_head_is_the_header_or_what_a_faster_output_would_lack() {
        let [slow, fast] = [100, 400].map(|rate| Rate::gbps(rate).serializer());
        // 1000 B take 80 ns on one line and 20 ns on the other; 64 B take 5.12 ns and 1.28 ns.
        assert_eq!([head(64, 1000, slow, slow), head(64, 1000, fast, slow)], [Duration(5120), Duration(1280)]);
        assert_eq!([head(64, 1000, slow, fast), head(64, 80, slow, fast)], [Duration::ns(60), Duration(5120)]);
        assert_eq!([head(64, 50, slow, slow), head(2000, 1000, slow, fast)], [Duration::ns(4), Duration::ns(80)]);
    }

    #[test]
    fn what_is_in_when_a_frame_is_counted_depends_on_the_fastest_output() {
        let params = Params::default();
        let [slow, fast] = [100, 400].map(Rate::gbps);
        assert_eq!([params.counted_after(1000, slow, slow), params.counted_after(1000, fast, slow)], [64, 64]);
        assert_eq!([params.counted_after(1000, slow, fast), params.counted_after(40, slow, slow)], [750, 40]);
    }

    #[test]
    fn the_output_of_a_frame_decides() {
        let (inputs, map) = inputs();
        let heads: Vec<Duration> = inputs.iter().flatten().map(|input| input.head(&packet(0, 2, PortId(0)), 0, &map)).collect();
        assert_eq!(heads, [Duration(5120), Duration(1280), Duration(5120)]);
        let to_fast =
            inputs[0].as_ref().map(|input| (input.head(&packet(0, 1, PortId(0)), 0, &map), input.tail(&packet(0, 1, PortId(0)), &map)));
        assert_eq!(to_fast, Some((Duration::ns(60), Duration::ns(20))));
    }

    #[test]
    fn only_the_last_packet_of_an_input_is_still_coming() {
        let (inputs, map) = inputs();
        let mut cut = CutThrough::new(vec![None; 3], inputs).unwrap();
        let (first, second) = (packet(1, 2, PortId(0)), packet(2, 2, PortId(0)));
        cut.enter(&first, &map, Moment::ZERO);
        assert_eq!([cut.until(&first, Moment::ZERO), cut.until(&second, Moment::ZERO)], [Some(Moment(74_880)), None]);
        assert_eq!(cut.until(&packet(1, 2, PortId(2)), Moment::ZERO), None, "a copy that came by another port");
        assert_eq!(cut.until(&first, Moment(74_880)), None, "all of it is in");
        cut.enter(&second, &map, Moment::ns(80));
        assert_eq!([cut.until(&first, Moment::ns(81)), cut.until(&second, Moment::ns(81))], [None, Some(Moment(154_880))]);
        // What was put off is kept once, and what is left of a cut packet is here meanwhile.
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
