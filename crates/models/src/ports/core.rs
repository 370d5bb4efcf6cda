//! The core of a node: ports, queues and counters, which mechanisms may read.

use std::collections::VecDeque;
use std::sync::Arc;

use xoff_engine::state::{State, StateVisitor};
use xoff_units::Duration;

use crate::frames::packet::Packet;
use crate::parts::ids::{Classes, MAX_CLASSES, PortId, QueueId};
use crate::paths::routing::Map;
use crate::ports::queueing::buffer::Buffer;
use crate::ports::queueing::counter::Counter;
use crate::ports::queueing::port::{Port, Purpose, Queue};

/// Place where packets wait in a switch.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// At the output, in order of arrival: the data path of a shared-memory switch.
    #[default]
    Oq,
    /// At the input, in one FIFO: a packet may wait behind packets for other outputs.
    Iq,
    /// At the input, in a queue for each output; outputs take turns over inputs (ideal matching).
    Voq,
}

/// Map from class and ingress port of a forwarded packet to the queue of the packet at an output. Read from
/// the list of queues of a port.
#[derive(Debug, Clone, Copy)]
pub struct QueueMap {
    /// For each class: the queue for packets of the first ingress port.
    first: [u16; MAX_CLASSES],
    /// True if a class has one queue for each ingress port, in the order of ports (VOQ).
    is_by_input: bool,
}

impl QueueMap {
    /// Reads the map from the queues of a port. With `merges_classes`, packets of all classes wait in the
    /// queues of class 0.
    pub fn read(queues: &[Queue], is_by_input: bool, merges_classes: bool) -> Self {
        let find = |class: u8, purpose: Purpose| {
            queues.iter().skip(1).position(|q| q.class() == class && q.purpose() == purpose)
        };
        let first = std::array::from_fn(|class| {
            let class = if merges_classes { 0 } else { class as u8 };
            // A relaying host has separate queues for relayed packets and for packets of the host's flows.
            find(class, Purpose::Relayed)
                .or_else(|| find(class, Purpose::Class))
                .map_or(1, |at| 1 + at as u16)
        });
        Self { first, is_by_input }
    }

    /// Returns the queue for a packet of this class from this ingress port.
    #[inline]
    pub fn queue(&self, class: u8, in_port: PortId) -> QueueId {
        let first = usize::from(self.first[usize::from(class) % MAX_CLASSES]);
        QueueId::at(if self.is_by_input { first + in_port.index() } else { first })
    }
}

/// A set of data queues of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// All data queues of a class.
    Class(u8),
    /// One data queue.
    One(QueueId),
}

impl Queues {
    /// True if the data queue with this number is in the set.
    #[inline]
    pub const fn has(self, number: QueueId, queue: &Queue) -> bool {
        match self {
            Self::Class(class) => queue.class() == class,
            Self::One(one) => one.0 == number.0,
        }
    }
}

/// The part of a node that mechanisms may read.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Core {
    /// Ports. In-link n of the engine and output n of the engine belong to port n.
    pub ports: Vec<Port>,
    /// Buffered bytes of each *group*: an ingress port and a class ([`Core::group`]).
    pub ingress: Vec<Counter>,
    /// Number of data classes.
    pub classes: Classes,
    /// Number of the node.
    pub id: u32,
    /// Map from forwarded packets to queues of an output.
    pub map: QueueMap,
    /// Present routes of all nodes.
    pub routing: Arc<Map>,
    /// Place where packets wait.
    pub queueing: Queueing,
    /// Buffer of the node, which admits or refuses packets.
    pub buffer: Buffer,
    /// FIFO of each group (`iq` only).
    pub inputs: Vec<VecDeque<Packet>>,
}

impl State for Core {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        // Constant fields are left out.
        let Self { ports, ingress, buffer, inputs, classes: _, id: _, map: _, routing: _, queueing: _ } =
            self;
        for (port, output) in (0..).zip(ports) {
            walk.at_link(port, true);
            output.walk(walk);
        }
        ingress.walk(walk);
        buffer.walk(walk);
        inputs.walk(walk);
    }
}

impl Core {
    /// Returns the core of a node without packets. All ports have queues for the same purposes, unless a
    /// mechanism planned the queues.
    pub fn new(
        id: u32,
        ports: Vec<Port>,
        classes: Classes,
        queueing: Queueing,
        buffer: Buffer,
        merges_classes: bool,
    ) -> Self {
        let groups = classes.groups(ports.len());
        let map = QueueMap::read(
            ports.first().map_or(&[], |p| &p.queues),
            queueing == Queueing::Voq,
            merges_classes,
        );
        let inputs = if queueing == Queueing::Iq { vec![VecDeque::new(); groups] } else { Vec::new() };
        Self {
            id,
            ports,
            classes,
            queueing,
            ingress: vec![Counter::default(); groups],
            buffer,
            inputs,
            map,
            routing: Arc::default(),
        }
    }

    /// Returns a switch for tests of a mechanism: `ports` ports of 100 Gb/s, unlimited memory, and `classes`
    /// classes.
    pub fn for_tests(ports: usize, classes: u8) -> Self {
        use crate::ports::queueing::port::{QueuePlan, QueueSpec, Turns};

        let data = (0..classes).map(|class| QueueSpec { class, level: 0, purpose: Purpose::Class }).collect();
        let plan = QueuePlan { data, turns: Turns::Packets };
        let list = (0..ports)
            .map(|_| Port::new(&plan, xoff_units::Rate::gbps(100), Duration::ZERO, 1, Duration::ZERO))
            .collect();
        Self::new(0, list, Classes(classes), Queueing::Oq, Buffer::Unlimited, false)
    }

    /// Returns the index of a group: an ingress port and a class.
    #[inline]
    pub const fn group(&self, in_port: PortId, class: u8) -> usize {
        self.classes.group(in_port, class)
    }

    /// Returns the queue of a port for a packet of this class from this ingress port.
    #[inline]
    pub fn queue_for(&self, class: u8, in_port: PortId) -> QueueId {
        self.map.queue(class, in_port)
    }

    /// True if the buffer has room for `packet` in a queue of a port.
    pub fn has_room(&self, port: PortId, queue: QueueId, packet: &Packet) -> bool {
        let (in_port, group) = (packet.in_port(), self.group(packet.in_port(), packet.class()));
        let (in_group, in_queue) =
            (self.ingress[group].bytes(), self.ports[port].queues[queue].bytes.bytes());
        self.buffer.has_room(in_port, group, port, in_group, in_queue, packet.bytes())
    }

    /// Returns the data queues of a port that serve a class.
    pub fn queues_of(&self, port: PortId, class: u8) -> impl Iterator<Item = QueueId> + '_ {
        let queues = &self.ports[port].queues;
        QueueId::all(queues.len()).skip(1).filter(move |q| queues[*q].class() == class)
    }

    /// Returns the congestion queue of a class, if a mechanism planned such a queue.
    pub fn congestion_queue(&self, port: PortId, class: u8) -> Option<QueueId> {
        let queues = &self.ports[port].queues;
        self.queues_of(port, class).find(|q| queues[*q].purpose() == Purpose::Congestion)
    }

    /// Returns the bytes that wait for an output in the class of a queue. Under `iq`, packets wait at inputs,
    /// and the result does not include packets in the input FIFOs.
    #[inline]
    pub fn egress_bytes(&self, port: PortId, queue: QueueId) -> u32 {
        let queues = &self.ports[port].queues;
        match self.queueing {
            Queueing::Voq if queues[queue].purpose() != Purpose::Congestion => self
                .queues_of(port, queues[queue].class())
                .fold(0, |sum: u32, q| sum.saturating_add(queues[q].bytes.bytes())),
            _ => queues[queue].bytes.bytes(),
        }
    }

    /// Returns the bytes of control frames that wait for an output. The result is a sum over the frames, as
    /// no counter includes control frames.
    pub fn control_bytes(&self, port: PortId) -> u64 {
        self.ports[port].queues[0].packets.iter().map(|p| u64::from(p.bytes())).sum()
    }

    /// Returns the bytes of data that wait for an output.
    pub fn waiting_bytes(&self, port: PortId) -> u32 {
        self.ports[port].queues[1..].iter().fold(0, |sum: u32, q| sum.saturating_add(q.bytes.bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the queues of a port: the control queue, then data queues with these classes and purposes.
    fn queues(data: &[(u8, Purpose)]) -> Box<[Queue]> {
        use crate::ports::queueing::port::{QueuePlan, QueueSpec, Turns};

        let data = data.iter().map(|&(class, purpose)| QueueSpec { class, level: 0, purpose }).collect();
        Port::new(
            &QueuePlan { data, turns: Turns::Packets },
            xoff_units::Rate::gbps(100),
            Duration::ZERO,
            1,
            Duration::ZERO,
        )
        .queues
    }

    #[test]
    fn a_class_has_a_queue_or_one_for_each_input() {
        // Queue 0 is the control queue. A shared queue takes packets from all ingress ports.
        let plain = QueueMap::read(
            &queues(&[(0, Purpose::Class), (1, Purpose::Class), (2, Purpose::Class)]),
            false,
            false,
        );
        assert_eq!(
            [(0, 0), (1, 0), (2, 0), (2, 7)].map(|(class, input)| plain.queue(class, PortId(input))),
            [1, 2, 3, 3].map(QueueId)
        );
        // Two classes and three ingress ports: class 0 has queues 1 to 3, class 1 has queues 4 to 6.
        let by_input: Vec<(u8, Purpose)> = (0..6).map(|q| (q / 3, Purpose::Class)).collect();
        let voq = QueueMap::read(&queues(&by_input), true, false);
        assert_eq!(
            [(0, 0), (0, 2), (1, 0), (1, 2)].map(|(class, input)| voq.queue(class, PortId(input))),
            [1, 3, 4, 6].map(QueueId)
        );
    }

    #[test]
    fn what_is_relayed_does_not_join_the_flows_of_the_host() {
        let own_and_relayed =
            [(0, Purpose::Class), (1, Purpose::Class), (0, Purpose::Relayed), (1, Purpose::Relayed)];
        let map = QueueMap::read(&queues(&own_and_relayed), false, false);
        assert_eq!([map.queue(0, PortId(0)), map.queue(1, PortId(0))], [QueueId(3), QueueId(4)]);
    }

    #[test]
    fn merged_classes_join_the_queue_of_the_lowest() {
        let data = [(0, Purpose::Class), (1, Purpose::Class), (2, Purpose::Class)];
        let map = QueueMap::read(&queues(&data), false, true);
        assert_eq!([0, 1, 2].map(|class| map.queue(class, PortId(5))), [QueueId(1); 3]);
    }

    #[test]
    fn nobody_joins_a_congestion_queue_by_class() {
        let data =
            [(0, Purpose::Class), (1, Purpose::Class), (0, Purpose::Congestion), (1, Purpose::Congestion)];
        let mut core = Core::for_tests(1, 2);
        assert_eq!(core.congestion_queue(PortId(0), 1), None);
        core.ports[0].queues = queues(&data);
        let map = QueueMap::read(&core.ports[0].queues, false, false);
        assert_eq!([map.queue(0, PortId(0)), map.queue(1, PortId(0))], [QueueId(1), QueueId(2)]);
        assert_eq!(
            [core.congestion_queue(PortId(0), 0), core.congestion_queue(PortId(0), 1)],
            [Some(QueueId(3)), Some(QueueId(4))]
        );
        assert_eq!(core.queues_of(PortId(0), 1).collect::<Vec<_>>(), [QueueId(2), QueueId(4)]);
    }

    #[test]
    fn an_output_counts_its_class_over_inputs_and_never_control() {
        let mut core = Core::for_tests(1, 2);
        core.ports[0].queues = queues(&[
            (0, Purpose::Class),
            (0, Purpose::Class),
            (1, Purpose::Class),
            (0, Purpose::Congestion),
        ]);
        for (queue, bytes) in [(0, 7), (1, 100), (2, 20), (3, 3000), (4, 1)] {
            core.ports[0].queues[queue].bytes.add(bytes);
        }
        assert_eq!((core.egress_bytes(PortId(0), QueueId(1)), core.waiting_bytes(PortId(0))), (100, 3121));
        core.queueing = Queueing::Voq;
        // Queues 1, 2 and 4 serve class 0. Queue 3, the congestion queue, is counted alone.
        assert_eq!(
            [1, 2, 3, 4].map(|queue| core.egress_bytes(PortId(0), QueueId(queue))),
            [121, 121, 3000, 1]
        );
    }

    #[test]
    fn a_class_or_one_queue_is_named() {
        let list = queues(&[(0, Purpose::Class), (1, Purpose::Class), (1, Purpose::Congestion)]);
        let named = |which: Queues| {
            (1..list.len()).filter(|q| which.has(QueueId::at(*q), &list[*q])).collect::<Vec<_>>()
        };
        assert_eq!(
            [named(Queues::Class(1)), named(Queues::One(QueueId(3))), named(Queues::Class(2))],
            [vec![2, 3], vec![3], vec![]]
        );
    }
}
