//! NVLink of the GPUs at a node: pipes that carry the messages of a library within a server.
//!
//! A GPU has a pipe in each direction. A pipe has a rate. Queues of slices, one for each connection, take
//! turns at the pipe that leaves a GPU, slice by slice. The first bit of a slice is at the other GPU after
//! the latency, and passes the pipe that enters that GPU in the order of arrival. A pipe is never paused and
//! loses nothing. Example: at 360 GB/s and a latency of 0.5 µs, a slice of 1 MiB alone takes 2.9 µs + 0.5 µs.
//! The switch of a server has two more pipes for each GPU: one for data that the switch reduces for the GPU,
//! and one for data of the GPU that the switch multicasts (NVLS).
//! Source: `docs/models/nccl.md`.

use std::collections::VecDeque;
use std::sync::Arc;

use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment, Rate, Serializer, index, number, wide};

use crate::frames::flow::{Few, MessageLog};
use crate::frames::kinds::Slice;
use crate::frames::message::{Message, Post};
use crate::frames::packet::Packet;
use crate::frames::token;
use crate::parts::ids::PortId;
use crate::ports::effects::{Effect, Effects};

/// Pipes of a GPU.
pub const PIPES: u32 = 4;

/// A pipe of a GPU, by its place among the pipes of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the GPU.
    Out,
    /// To the GPU.
    In,
    /// Reduced by the switch for the GPU.
    Reduce,
    /// Multicast by the switch for the GPU.
    Multicast,
}

/// A pipe.
#[derive(Debug, Clone)]
struct Pipe {
    serializer: Serializer,
    /// True while a slice leaves.
    is_busy: bool,
    /// Queues with slices, in the order of their turns.
    turns: VecDeque<u32>,
    /// End of the last slice that entered.
    free: Moment,
}

/// The other end of a queue.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// A GPU at this node, by the queue of arrivals.
    Here(u32),
    /// A GPU at another node: the output, the node, and the queue of arrivals there.
    There(u16, u32, u32),
}

/// Slices of a connection at the sending GPU.
#[derive(Debug, Clone)]
struct Departures {
    pipe: u32,
    end: End,
    log: Arc<MessageLog>,
    /// Bytes of the slices that wait.
    waiting: VecDeque<u64>,
    /// Slices sent.
    sent: u64,
}

/// Slices of a connection at the receiving GPU.
#[derive(Debug, Clone)]
struct Arrivals {
    pipe: u32,
    /// The job and the rank of the GPU.
    of: (u32, u32),
    /// In a folded run the element that gives slices their names here.
    element: u32,
    log: Arc<MessageLog>,
    /// Slices that enter the GPU.
    entering: u32,
}

/// NVLink of the GPUs at a node.
#[derive(Debug, Clone)]
pub struct NvLink {
    latency: Duration,
    pipes: Vec<Pipe>,
    departures: Vec<Departures>,
    arrivals: Vec<Arrivals>,
    /// True if somebody reads the rows of messages over NVLink. They are most of the messages of a job by NCCL.
    pub keeps_rows: bool,
}

impl State for NvLink {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { latency: _, pipes, departures, arrivals, keeps_rows: _ } = self;
        for Pipe { serializer: _, is_busy, turns, free } in pipes {
            walk.value(u64::from(*is_busy) << 32 | wide(turns.len()));
            for queue in turns.iter() {
                walk.value(u64::from(*queue));
            }
            walk.due(free);
        }
        for Departures { pipe: _, end: _, waiting, log, sent } in departures {
            walk.total(sent);
            walk.value(wide(waiting.len()));
            for bytes in waiting.iter() {
                walk.value(*bytes);
            }
            log.with(|list| {
                if !list.is_empty() {
                    walk.is_shared();
                }
                walk.value(wide(list.len()));
                for (_, message) in list.iter_mut() {
                    message.walk(walk);
                }
            });
        }
        for arrivals in arrivals {
            walk.value(u64::from(arrivals.entering));
        }
    }
}

impl NvLink {
    /// Returns the pipes of GPUs with these rates: of NVLink in a direction, and of NVLS of a GPU's share.
    pub fn new(gpus: u32, rate: Rate, nvls: Rate, latency: Duration) -> Self {
        let pipe = |rate: Rate| Pipe {
            serializer: rate.serializer(),
            is_busy: false,
            turns: VecDeque::new(),
            free: Moment::ZERO,
        };
        let of_gpu = |_| [pipe(rate), pipe(rate), pipe(nvls), pipe(nvls)];
        Self {
            latency,
            pipes: (0..gpus).flat_map(of_gpu).collect(),
            departures: Vec::new(),
            arrivals: Vec::new(),
            keeps_rows: false,
        }
    }

    /// Returns the number of slices sent so far.
    pub fn slices(&self) -> u64 {
        self.departures.iter().map(|departures| departures.sent).sum()
    }

    /// Adds a queue of slices from a GPU of this node; returns its number.
    pub fn leaving(&mut self, gpu: u32, direction: Direction, end: End, log: Arc<MessageLog>) -> u32 {
        let pipe = gpu * PIPES + direction as u32;
        self.departures.push(Departures { pipe, end, log, waiting: VecDeque::new(), sent: 0 });
        number(self.departures.len()) - 1
    }

    /// Adds a queue of slices to a GPU of this node, which has this rank of a job; returns its number. In a folded run an
    /// element gives slices their names here.
    pub fn entering(
        &mut self,
        gpu: u32,
        direction: Direction,
        (of, element): ((u32, u32), u32),
        log: Arc<MessageLog>,
    ) -> u32 {
        let pipe = gpu * PIPES + direction as u32;
        self.arrivals.push(Arrivals { pipe, of, element, log, entering: 0 });
        number(self.arrivals.len()) - 1
    }

    /// Returns the number of slices sent to other nodes, by queue with the node.
    pub fn sent(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.departures.iter().filter_map(|queue| match queue.end {
            End::Here(_) => None,
            End::There(_, node, _) => Some((node, queue.sent)),
        })
    }

    /// True if no slice is in a pipe.
    pub fn is_quiet(&self) -> bool {
        let waits = |pipe: &Pipe| pipe.is_busy || !pipe.turns.is_empty();
        !self.pipes.iter().any(waits) && self.departures.iter().all(|d| d.log.with(|list| list.is_empty()))
    }

    /// Adds a slice to its queue.
    pub fn push(&mut self, queue: u32, post: &Post, effects: &mut Effects) {
        let departures = &mut self.departures[index(queue)];
        let message =
            Message { post: *post, posted: effects.now, left: effects.now, port: PortId(0), class: 0 };
        departures.log.with(|list| list.push_back((0, message)));
        departures.waiting.push_back(post.bytes);
        let pipe = departures.pipe;
        if departures.waiting.len() == 1 {
            self.pipes[index(pipe)].turns.push_back(queue);
        }
        if !self.pipes[index(pipe)].is_busy {
            self.start(pipe, effects);
        }
    }

    /// Starts the next slice of a free pipe.
    pub fn start(&mut self, pipe: u32, effects: &mut Effects) {
        let p = &mut self.pipes[index(pipe)];
        p.is_busy = false;
        let Some(queue) = p.turns.pop_front() else { return };
        let departures = &mut self.departures[index(queue)];
        let Some(bytes) = departures.waiting.pop_front() else { return };
        if !departures.waiting.is_empty() {
            p.turns.push_back(queue);
        }
        p.is_busy = true;
        departures.sent += 1;
        let arrives = effects.now + self.latency;
        effects.push(match departures.end {
            End::Here(queue) => Effect::Alarm(token::HEAD, arrives, queue),
            End::There(output, node, queue) => {
                Effect::Leave(output, arrives, Packet::with(Slice { queue }, 0, node, 0, 0))
            }
        });
        effects.push(Effect::Alarm(token::PIPE, effects.now + p.serializer.time(bytes), pipe));
    }

    /// The first bit of a slice is at the GPU.
    pub fn enter(&mut self, queue: u32, effects: &mut Effects) {
        let arrivals = &mut self.arrivals[index(queue)];
        let place = index(arrivals.entering);
        let bytes = arrivals.log.with(|list| list.get(place).map_or(0, |one| one.1.post.bytes));
        arrivals.entering += 1;
        let pipe = &mut self.pipes[index(arrivals.pipe)];
        pipe.free = pipe.free.max(effects.now) + pipe.serializer.time(bytes);
        effects.push(Effect::Alarm(token::SLICE, pipe.free, queue));
    }

    /// Takes a slice that is whole at its GPU, with the job and the rank of the GPU, and the element that names the slice.
    pub fn take(&mut self, queue: u32) -> Option<((u32, u32), u32, Message)> {
        let arrivals = &mut self.arrivals[index(queue)];
        arrivals.entering -= 1;
        let message = arrivals.log.with(Few::pop_front)?.1;
        Some((arrivals.of, arrivals.element, message))
    }
}
