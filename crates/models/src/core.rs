//! What of a node a mechanism may see: ports, queues and counters.

use std::collections::VecDeque;

use xoff_units::Time;

use crate::packet::Packet;
use crate::queueing::buffer::Buffer;
use crate::queueing::counter::Counter;
use crate::queueing::port::{Port, Purpose, Queue};

/// Where packets wait in a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// At the output, in order of arrival: the data path of a shared-memory switch.
    #[default]
    Oq,
    /// At the input, in one FIFO: a packet waits behind those for other outputs.
    Iq,
    /// At the input, in a queue for each output; outputs take turns over inputs (ideal matching).
    Voq,
}

/// Data classes that a node may have.
pub const MAX_CLASSES: usize = 8;

/// Which queue of a port what is forwarded joins, by class and input; read from the queues themselves.
#[derive(Debug, Clone, Copy)]
pub struct QueueMap {
    /// Of each class the queue for the first input.
    first: [u16; MAX_CLASSES],
    /// The inputs have queues of their own, one after the other.
    is_by_input: bool,
}

impl QueueMap {
    /// Reads it from the queues of a port. With `merges_classes` all classes join the queues of the lowest.
    pub fn read(queues: &[Queue], is_by_input: bool, merges_classes: bool) -> Self {
        let find = |class: u8, purpose: Purpose| queues.iter().skip(1).position(|q| q.class() == class && q.purpose() == purpose);
        let first = std::array::from_fn(|class| {
            let class = if merges_classes { 0 } else { class as u8 };
            // Where hosts relay, what they relay has queues of its own beside those of their flows.
            find(class, Purpose::Relayed).or_else(|| find(class, Purpose::Class)).map_or(1, |at| 1 + at as u16)
        });
        Self { first, is_by_input }
    }

    /// The queue of a packet of this class from this ingress port.
    #[inline]
    pub fn queue(&self, class: u8, in_port: usize) -> usize {
        let first = self.first[class as usize % MAX_CLASSES] as usize;
        if self.is_by_input { first + in_port } else { first }
    }
}

/// Some queues of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// All that serve a class.
    Class(u8),
    /// One.
    One(u16),
}

impl Queues {
    /// Whether a data queue of this number is among them.
    #[inline]
    pub const fn has(self, number: usize, queue: &Queue) -> bool {
        match self {
            Self::Class(class) => queue.class() == class,
            Self::One(one) => one as usize == number,
        }
    }
}

/// What of a node a mechanism may see.
#[derive(Debug)]
pub struct Core {
    /// The node's number.
    pub id: u32,
    /// Output ports; in-link n belongs to port n.
    pub ports: Vec<Port>,
    /// Data classes.
    pub classes: usize,
    /// Where packets wait.
    pub queueing: Queueing,
    /// Bytes of each ingress port and class (port × classes + class).
    pub ingress: Vec<Counter>,
    /// Admission.
    pub buffer: Buffer,
    /// FIFOs of each ingress port and class (`iq` only).
    pub inputs: Vec<VecDeque<Packet>>,
    /// The queues of what is forwarded.
    pub map: QueueMap,
}

impl Core {
    /// A node at rest; all ports have queues for the same purposes, unless a mechanism planned them.
    pub fn new(id: u32, ports: Vec<Port>, classes: usize, queueing: Queueing, buffer: Buffer, merges_classes: bool) -> Self {
        let groups = ports.len() * classes;
        let map = QueueMap::read(ports.first().map_or(&[], |p| &p.queues), queueing == Queueing::Voq, merges_classes);
        let inputs = if queueing == Queueing::Iq { vec![VecDeque::new(); groups] } else { Vec::new() };
        Self { id, ports, classes, queueing, ingress: vec![Counter::default(); groups], buffer, inputs, map }
    }

    /// A switch with `ports` ports of 100 Gb/s, unlimited memory and `classes` classes, to try a mechanism on.
    pub fn for_tests(ports: usize, classes: u8) -> Self {
        use crate::queueing::port::{QueuePlan, QueueSpec, Turns};

        let data = (0..classes).map(|class| QueueSpec { class, level: 0, purpose: Purpose::Class }).collect();
        let plan = QueuePlan { data, turns: Turns::Packets };
        let list = (0..ports).map(|_| Port::new(&plan, xoff_units::Rate::gbps(100), Time::ZERO, 1, Time::ZERO)).collect();
        Self::new(0, list, classes as usize, Queueing::Oq, Buffer::Unlimited, false)
    }

    /// The index of an ingress port and class.
    #[inline]
    pub fn group(&self, in_port: usize, class: u8) -> usize {
        in_port * self.classes + class as usize
    }

    /// The queue of a port that a packet of this class from this ingress port joins.
    #[inline]
    pub fn queue_for(&self, class: u8, in_port: usize) -> usize {
        self.map.queue(class, in_port)
    }

    /// The queues of a port that serve a class.
    pub fn queues_of(&self, port: usize, class: u8) -> impl Iterator<Item = usize> + '_ {
        let queues = &self.ports[port].queues;
        (1..queues.len()).filter(move |q| queues[*q].class() == class)
    }

    /// The congestion queue of a class, if a mechanism wanted one.
    pub fn congestion_queue(&self, port: usize, class: u8) -> Option<usize> {
        let queues = &self.ports[port].queues;
        self.queues_of(port, class).find(|q| queues[*q].purpose() == Purpose::Congestion)
    }

    /// Bytes that wait for an output in a queue's class; under `iq` what waits at the inputs is not known by output.
    #[inline]
    pub fn egress_bytes(&self, port: usize, queue: usize) -> u32 {
        let queues = &self.ports[port].queues;
        match self.queueing {
            Queueing::Voq if queues[queue].purpose() != Purpose::Congestion => {
                self.queues_of(port, queues[queue].class()).fold(0, |sum: u32, q| sum.saturating_add(queues[q].bytes.bytes()))
            }
            _ => queues[queue].bytes.bytes(),
        }
    }

    /// Bytes of data that wait for an output.
    pub fn waiting_bytes(&self, port: usize) -> u32 {
        self.ports[port].queues[1..].iter().fold(0, |sum: u32, q| sum.saturating_add(q.bytes.bytes()))
    }
}
