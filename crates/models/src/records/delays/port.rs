//! History of a port, back to the start of the longest waiting packet.

use std::collections::{BTreeMap, VecDeque};

use xoff_units::Moment;

use super::part::{Kind, Part};
use crate::parts::ids::QueueId;

/// A frame on the wire.
#[derive(Debug, Clone, Copy)]
struct Frame {
    from: Moment,
    to: Moment,
    /// None for control.
    flow: Option<u32>,
}

/// Time during which a cause blocked a queue; `NEVER` as the end of an active block.
#[derive(Debug, Clone, Copy)]
struct Block {
    queue: QueueId,
    /// Queue of the record of the pause.
    first: QueueId,
    cause: &'static str,
    from: Moment,
    to: Moment,
}

/// History of a port. Keeps the last frame and all frames since the earliest waiting packet, active blocks,
/// and earlier blocks back to the same moment.
#[derive(Debug, Clone, Default)]
pub struct PortLog {
    frames: VecDeque<Frame>,
    blocks: Vec<Block>,
    /// Start times of waiting packets and flows.
    waiting: BTreeMap<Moment, u32>,
}

impl PortLog {
    /// Adds a waiting packet or flow from a moment on.
    pub fn enter(&mut self, from: Moment) {
        *self.waiting.entry(from).or_default() += 1;
    }

    /// Removes a packet or flow that waited since a moment.
    pub fn leave(&mut self, from: Moment) {
        if let Some(count) = self.waiting.get_mut(&from) {
            *count -= 1;
            if *count == 0 {
                self.waiting.remove(&from);
            }
        }
    }

    fn earliest(&self, now: Moment) -> Moment {
        self.waiting.first_key_value().map_or(now, |first| now.min(*first.0))
    }

    /// A frame starts.
    pub fn send(&mut self, flow: Option<u32>, from: Moment, to: Moment) {
        let earliest = self.earliest(from);
        while self.frames.front().is_some_and(|f| f.to <= earliest) {
            self.frames.pop_front();
        }
        self.frames.push_back(Frame { from, to, flow });
    }

    /// A cause keeps a queue from sending.
    pub fn block(&mut self, queue: QueueId, first: QueueId, cause: &'static str, now: Moment) {
        self.blocks.push(Block { queue, first, cause, from: now, to: Moment::NEVER });
    }

    /// Ends a block.
    pub fn unblock(&mut self, queue: QueueId, cause: &'static str, now: Moment) {
        if let Some(block) =
            self.blocks.iter_mut().find(|b| (b.queue, b.cause, b.to) == (queue, cause, Moment::NEVER))
        {
            block.to = now;
        }
        let earliest = self.earliest(now);
        self.blocks.retain(|b| b.to > earliest);
    }

    /// Cuts the waiting time in a queue into parts, in order and without gaps. Time shared by a pause and a
    /// frame belongs to the pause. Time shared by two pauses belongs to the earlier pause.
    pub fn sweep(&self, queue: QueueId, from: Moment, to: Moment, part: &mut impl FnMut(Part)) {
        let mut at = from;
        for block in self.blocks.iter().filter(|b| b.queue == queue) {
            let (start, end) = (block.from.max(at), block.to.min(to));
            if start < end {
                self.sweep_frames(at, start, part);
                let pause = Some((block.first, block.from));
                part(Part {
                    cause: Some(block.cause),
                    from: Some(start),
                    pause,
                    ..Part::new(Kind::Paused, end - start)
                });
                at = end;
            }
        }
        self.sweep_frames(at, to, part);
    }

    fn sweep_frames(&self, from: Moment, to: Moment, part: &mut impl FnMut(Part)) {
        let mut at = from;
        // Frames are in order and do not overlap.
        let first = self.frames.partition_point(|f| f.to <= from);
        for frame in self.frames.range(first..).take_while(|f| f.from < to) {
            let start = frame.from.max(at);
            part(Part::new(Kind::HolBlocking, start - at));
            at = frame.to.min(to);
            let kind = if frame.flow.is_some() { Kind::Queueing } else { Kind::Control };
            part(Part { flow: frame.flow, ..Part::new(kind, at - start) });
        }
        part(Part::new(Kind::HolBlocking, to.since(at)));
    }
}
