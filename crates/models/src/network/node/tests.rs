use std::ops::ControlFlow;

use xoff_engine::{Engine, LinkSpec, Plan};
use xoff_units::{Bytes, Duration, Moment, Rate, number};

use super::*;
use crate::hosts::stack::{Stack, Stacks};
use crate::hosts::transport::{Table, raw};
use crate::mechanisms::overrides::{Local, Locals};
use crate::network::{Settings, build};
use crate::paths::topology::{Link, Shape, star};
use crate::ports::core::Queueing;
use crate::ports::effects::Effect;
use crate::ports::queueing::buffer;
use crate::traffic::workload::{Common, Connections, Flow, Host, Making, Traffic, number_flows};

/// A node with a script in place of mechanisms: at a moment, a mechanism requests an effect.
#[derive(Debug)]
struct Scripted {
    node: Node,
    script: Vec<(Moment, u8, Effect)>,
    /// Index of a packet that is cut to 64 bytes at its first forwarding.
    cut: Option<u32>,
}

const SCRIPT: u64 = 99;

impl EngineNode for Scripted {
    type Message = Packet;

    fn on_start(&mut self, cx: &mut Cx<'_>) {
        self.node.on_start(cx);
        for (i, (at, ..)) in self.script.iter().enumerate() {
            cx.set_timer(*at, token::pack(SCRIPT, 0, number(i)));
        }
    }

    fn on_arrival(&mut self, port: usize, packet: Packet, cx: &mut Cx<'_>) {
        if packet.is_data() && self.node.forwards && self.cut.take_if(|cut| *cut == packet.seq()).is_some() {
            let out = self.node.routes.port(&packet);
            return self.node.trim(out, 64, packet, cx);
        }
        self.node.on_arrival(port, packet, cx);
    }

    fn on_timer(&mut self, raw: u64, cx: &mut Cx<'_>) {
        let (kind, _, line) = token::unpack(raw);
        if kind != SCRIPT {
            return self.node.on_timer(raw, cx);
        }
        let (_, owner, effect) = self.script[index(line)];
        (self.node.effects.owner, self.node.effects.now) = (owner, cx.now());
        self.node.effects.push(effect);
        self.node.apply(cx);
    }

    fn on_output(&mut self, port: usize, cx: &mut Cx<'_>) {
        self.node.on_output(port, cx);
    }
}

/// The switch of a star of three hosts, 0 to 2; port n leads to host n.
pub(super) const SWITCH: u32 = 3;

/// Runs flows (source, destination, payload, start) in a star of three hosts with links of 100 Gb/s and 1 us,
/// and a script of (node, moment, number of the mechanism, effect), to the end.
pub(super) fn run(
    settings: &Settings,
    flows: &[(u64, u64, u64, Duration)],
    script: &[(u32, Moment, u8, Effect)],
) -> Vec<Node> {
    run_and_cut(settings, flows, script, None)
}

fn run_and_cut(
    settings: &Settings,
    flows: &[(u64, u64, u64, Duration)],
    script: &[(u32, Moment, u8, Effect)],
    cut: Option<u32>,
) -> Vec<Node> {
    let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
    let topology = star::Params { hosts: 3, link }.build().unwrap();
    let flow = |&(src, dst, size, start): &(u64, u64, u64, Duration)| Flow {
        src: Host::Number(src),
        dst: Host::Number(dst),
        size: Bytes(size),
        start,
        id: None,
        after: Vec::new(),
        via: Vec::new(),
    };
    let listed: Vec<Flow> = flows.iter().map(flow).collect();
    let common = Common {
        name: None,
        start: Moment::ZERO,
        class: 0,
        connections: Connections::Persistent,
        others: &(),
        connections_per_channel: 1,
        is_table: false,
    };
    let (framing, classes) = (&settings.framing, settings.classes);
    let mut making = Making::new(common, &topology, framing, settings.seed, Duration::ZERO, classes);
    making.begin(0, common, "flows");
    listed.make(&mut making).unwrap();
    let commons = [common];
    let plan = number_flows(making, &commons, vec!["flows".into()]).unwrap();
    let nodes = build(&topology, plan, settings, Plan::default()).unwrap().into_nodes();
    let of = |node: u32| script.iter().filter(|s| s.0 == node).map(|s| (s.1, s.2, s.3)).collect();
    let scripted: Vec<Scripted> =
        nodes.into_iter().map(|node| Scripted { script: of(node.core.id), node, cut }).collect();
    let lookahead = link.delay + link.rate.time(125);
    let both = |l: u32| {
        [
            LinkSpec { from: (l, 0), to: (SWITCH, l), lookahead },
            LinkSpec { from: (SWITCH, l), to: (l, 0), lookahead },
        ]
    };
    let links: Vec<LinkSpec> = (0..3).flat_map(both).collect();
    let mut engine = Engine::new(scripted, &[0; 4], &links, Plan::default()).unwrap();
    engine.run(|_| ControlFlow::Continue(()));
    engine.into_nodes().into_iter().map(|s| s.node).collect()
}

/// Returns the arrivals of flows at a host, by number.
pub(super) fn arrived(nodes: &[Node], host: usize) -> Vec<(u32, Moment)> {
    nodes[host].endpoint.as_ref().map(|e| e.arrived.clone()).unwrap_or_default()
}

fn raw_frames() -> Settings {
    let settings = Settings::for_tests();
    let table = Table { raw: Some(raw::Params {}), ..Table::default() };
    Settings { stacks: Stacks::uniform(Stack { transport: table, ..Stack::default() }), ..settings }
}

#[test]
fn a_packet_and_its_answer_take_the_time_of_links_and_switch() {
    // Stored and forwarded: 100 ns and 1 us on each link and 300 ns in the switch; the ACK takes 10 ns on
    // each.
    let settings = Settings { switch_delay: Duration::ns(300), ..Settings::for_tests() };
    let nodes = run(&settings, &[(0, 2, 1000, Duration::us(1))], &[]);
    assert_eq!(arrived(&nodes, 2), [(0, Moment::ns(1000 + 2500))]);
    let sent = &nodes[0].endpoint.as_ref().unwrap().sent;
    assert_eq!((sent.len(), sent[0].acknowledged), (1, Some(Moment::ns(1000 + 2500 + 2320))));
    assert_eq!((nodes[0].counts.data_hops, nodes[3].counts.data_hops), (1, 1));
    assert_eq!((nodes[3].core.ports[2].data_bytes, nodes[3].core.ports[0].control_bytes), (1250, 125));
}

#[test]
fn what_finds_no_room_at_an_output_is_dropped_and_written_down() {
    // Two senders of four packets fill an output of 2500 bytes: each 100 ns one packet leaves and two packets
    // arrive, the second by port 1. The first pair finds room.
    let local = Local { buffer: buffer::Params::PerPort(Bytes(2500)), ..Local::default() };
    let settings = Settings { locals: Locals::uniform(local), ..raw_frames() };
    let nodes = run(&settings, &[(0, 2, 4000, Duration::ZERO), (1, 2, 4000, Duration::ZERO)], &[]);
    let switch = &nodes[index(SWITCH)];
    let drops: Vec<_> =
        switch.records.drops.iter().map(|d| (d.at, d.port, d.in_port, d.flow, d.seq, d.bytes)).collect();
    assert_eq!(
        drops,
        [1, 2, 3].map(|seq| (Moment::ns(1100 + 100 * u64::from(seq)), PortId(2), PortId(1), 1, seq, 1250))
    );
    let queue = &switch.core.ports[2].queues[1];
    assert_eq!(
        (switch.counts.dropped, switch.counts.dropped_bytes, queue.dropped, queue.sent),
        (3, 3750, 3, 5)
    );
    // Packets of port 0 wait behind a packet of port 1. Two packets of port 0 wait at once, and never two of
    // port 1.
    let mut peaks: Vec<_> = switch.core.ingress[..2].iter().map(|c| (c.peak(), c.bytes())).collect();
    peaks.push((queue.bytes.peak(), queue.bytes.bytes()));
    assert_eq!(peaks, [(2500, 0), (1250, 0), (2500, 0)]);
    // The first packet is on the wire at 1.1 us; five packets follow.
    assert_eq!(arrived(&nodes, 2), [(0, Moment::ns(1100 + 500 + 1000))]);
}

#[test]
fn a_packet_waits_behind_those_for_other_outputs_in_one_fifo_alone() {
    // The output to host 1 is closed from 0.5 to 5 us. The second packet of host 0 comes to the switch at 1.2
    // us, for host 2.
    let close = [
        (SWITCH, Moment::ns(500), 0, Effect::HoldQueue(PortId(1), QueueId(1))),
        (SWITCH, Moment::us(5), 0, Effect::ReleaseQueue(PortId(1), QueueId(1))),
    ];
    for (queueing, at) in [(Queueing::Oq, 2300), (Queueing::Voq, 2300), (Queueing::Iq, 6100)] {
        // With virtual output queues, the queue of input 0 is the first of three.
        let settings = Settings { queueing, ..raw_frames() };
        let nodes = run(&settings, &[(0, 1, 1000, Duration::ZERO), (0, 2, 1000, Duration::ZERO)], &close);
        assert_eq!(
            (arrived(&nodes, 1), arrived(&nodes, 2)),
            (vec![(0, Moment::ns(6100))], vec![(1, Moment::ns(at))]),
            "{queueing:?}"
        );
        assert_eq!(nodes[3].queued_bytes(), 0);
    }
}

#[test]
fn samples_show_what_waits_at_each_interval() {
    // Three packets are in the queue at 1.4 us and leave from 2 us on: three wait at 2 us, two at 2.1 us, one
    // at 2.2 us.
    let close = [
        (SWITCH, Moment::ZERO, 0, Effect::HoldQueue(PortId(2), QueueId(1))),
        (SWITCH, Moment::ns(2050), 0, Effect::ReleaseQueue(PortId(2), QueueId(1))),
    ];
    let wanted = Wanted { queues: Duration::ns(100), ..Wanted::default() };
    let nodes = run(&Settings { wanted, ..raw_frames() }, &[(0, 2, 3000, Duration::ZERO)], &close);
    let samples = &nodes[index(SWITCH)].records.samples;
    let seen: Vec<_> =
        samples.iter().filter(|s| s.at >= Moment::us(2)).map(|s| (s.at, s.port, s.queue, s.bytes)).collect();
    // The packets start at 2.05, 2.15 and 2.25 us.
    assert_eq!(
        seen,
        [(2000, 3750), (2100, 2500), (2200, 1250)].map(|(at, bytes)| (
            Moment::ns(at),
            PortId(2),
            QueueId(1),
            bytes
        ))
    );
}

#[test]
fn what_is_left_of_a_packet_tells_its_receiver_of_the_loss() {
    // The third of ten packets is cut at the switch. The receiver asks for the packet a round trip later, and
    // not after a timeout.
    let settings = Settings::for_tests();
    let size = 10 * settings.framing.payload;
    let nodes = run_and_cut(&settings, &[(0, 1, size, Duration::ZERO)], &[], Some(2));
    let (source, switch) = (nodes[0].endpoint.as_ref().unwrap(), &nodes[index(SWITCH)]);
    assert_eq!((switch.counts.dropped, switch.counts.dropped_bytes), (0, settings.framing.largest()));
    let [sent] = source.sent[..] else { panic!("the flow is acknowledged") };
    assert!(sent.retransmitted > 0 && sent.acknowledged.unwrap() < Moment::us(20));
    // Bytes balance although the header arrives, as a header is no data.
    let arrived = nodes[1].endpoint.as_ref().unwrap().delivered_bytes;
    assert_eq!(source.injected_bytes, arrived + switch.counts.dropped_bytes);
}
