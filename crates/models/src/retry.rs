//! Link-level retry: a link sends again what was damaged on it.
//!
//! Models: the sender of a link keeps what it sent until that is acknowledged, `frames` and `buffer` bytes at most, and sends nothing else
//! while it keeps more. The receiver discards a damaged frame and all behind it, and tells the sender (a NACK), which sends all of
//! them again from the next frame boundary on (go back N). A frame that is damaged again is not told a second time: the sender notices after
//! `timeout`. After `attempts` it is lost, and the link goes on behind it. Source: Ultra Ethernet's LLR, as SAI describes it
//! (SAI-Link_Layer_Retry; peers.md 5.6): numbers in the preamble, so that frames do not grow; its examples are the defaults of `frames`,
//! `buffer` and `timeout`.
//! Simplifications: each frame is acknowledged by itself, without a byte on the wire, where LLR acknowledges each 2048 B with 8 of them; a
//! NACK waits for no frame, takes as long as a control frame, and is never damaged. A switch notices a damaged frame when it would
//! have handled it, so that its delay is in the loop. MAC control (PFC and the like) is not protected.
//! Leaves out: initialising a link, and flushing it when it fails: links with retry do not go down, and do not change.
//! Invariants: what a link delivers is in order and each frame once; without damage and with a buffer that a round trip of the link fits into
//! nothing happens otherwise than without it.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, Moment, Serializer, index, number};

use crate::names;
use crate::packet::Packet;
use crate::wrong::Wrong;

/// `network.link_retry`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Links, by the names of their ends: `leaf0-spine1`; `*` stands for any characters. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
    /// Frames that a sender may have under way.
    pub frames: u32,
    /// Their bytes.
    pub buffer: Bytes,
    /// So long after it was sent again a frame is sent once more that was damaged again.
    pub timeout: Duration,
    /// A frame that was damaged so often is lost.
    pub max_retries: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { links: None, frames: 100, buffer: Bytes(102_400), timeout: Duration::us(10), max_retries: 8 }
    }
}

impl Params {
    /// Says what of it makes no sense; frames have so many bytes at most.
    pub fn validate(&self, largest: u64) -> Result<(), Wrong> {
        if self.frames == 0 || self.frames > 1 << 20 {
            return Err(("frames", format!("{} is out of range; allowed are 1 to {}", self.frames, 1 << 20)));
        }
        if self.buffer.0 < largest || self.buffer.0 > 1 << 40 {
            return Err(("buffer", format!("{} is out of range; it must hold a frame of {largest} B, and be 1TiB or less", self.buffer)));
        }
        if !(Duration::ns(1)..=Duration::ms(1_000)).contains(&self.timeout) {
            return Err(("timeout", format!("{} is out of range; allowed are 1ns to 1s", self.timeout)));
        }
        if self.max_retries == 0 {
            return Err(("max_retries", "0 is out of range; each frame is sent once".into()));
        }
        Ok(())
    }

    /// Whether it is for the link between two nodes of these names.
    pub fn is_for(&self, a: &str, b: &str) -> bool {
        let is_called = |pattern: &String| names::matches(pattern, &format!("{a}-{b}")) || names::matches(pattern, &format!("{b}-{a}"));
        self.links.as_ref().is_none_or(|links| links.iter().any(is_called))
    }

    /// Refuses names of links that there are not, of those with these ends; an error has the key below `network.link_retry`.
    pub fn known(&self, links: &[(&str, &str)]) -> Result<(), (String, String)> {
        for (k, pattern) in self.links.iter().flatten().enumerate() {
            let one = Self { links: Some(vec![pattern.clone()]), ..self.clone() };
            if !links.iter().any(|(a, b)| one.is_for(a, b)) {
                let all = names::some(links.iter().map(|(a, b)| format!("{a}-{b}")));
                return Err((format!("links[{k}]"), format!("no link is called `{pattern}`; links are {all}")));
            }
        }
        Ok(())
    }
}

/// A frame that was sent.
#[derive(Debug, Clone, Copy)]
struct Kept {
    bytes: u16,
    /// When its last bit is on the wire.
    ends: Moment,
}

/// The sender of a link with retry.
#[derive(Debug, Clone)]
pub struct Sender {
    frames: usize,
    buffer: u64,
    timeout: Duration,
    /// Fits beside what is kept.
    largest: u64,
    /// From the end of a frame until its acknowledgement, or the NACK, is here.
    answered: Duration,
    /// What is not acknowledged, in order, its bytes, and the number of the first.
    kept: VecDeque<Kept>,
    kept_bytes: u64,
    first: u32,
    /// Until when it sends again.
    again_until: Option<Moment>,
    /// When it last began to send again, and when it will next, since the receiver waits for a frame and says nothing.
    again_since: Moment,
    due: Option<Moment>,
    /// It sends nothing new, since it keeps so much.
    is_full: bool,
}

/// What a sender does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It sends, or waits until it is called at the moment that is given.
    Sends(Option<Moment>),
    /// It sends nothing new.
    Waits(Option<Moment>),
}

/// Frames that are sent again from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// From when, and until when.
    pub from: Moment,
    /// Until when.
    pub until: Moment,
    /// The first of them.
    pub first_bytes: u16,
    /// How many, less those that the time before did not come to.
    pub frames: i64,
    /// Their bytes.
    pub bytes: i64,
}

impl Sender {
    /// Of a link on which an answer is here so long after the end of a frame.
    pub fn new(params: &Params, largest: u64, answered: Duration) -> Self {
        Self {
            frames: index(params.frames),
            buffer: params.buffer.0,
            timeout: params.timeout,
            largest,
            answered,
            kept: VecDeque::new(),
            kept_bytes: 0,
            first: 0,
            again_until: None,
            again_since: Moment::ZERO,
            due: None,
            is_full: false,
        }
    }

    /// A frame was put onto the wire.
    pub fn sent(&mut self, bytes: u16, ends: Moment) {
        self.kept.push_back(Kept { bytes, ends });
        self.kept_bytes += u64::from(bytes);
    }

    fn forget(&mut self, is_to_go: impl Fn(&Self, &Kept) -> bool) {
        while let Some(front) = self.kept.front().copied().filter(|front| is_to_go(self, front)) {
            self.kept.pop_front();
            self.kept_bytes -= u64::from(front.bytes);
            self.first = self.first.wrapping_add(1);
        }
    }

    /// What it does next, and when it has to be asked again. What is answered now is acknowledged if that `is_settled`.
    pub fn next(&mut self, now: Moment, is_settled: bool) -> Next {
        if self.again_until.is_some_and(|until| until <= now) {
            self.again_until = None;
        }
        if self.due.is_none() {
            self.forget(|own, front| front.ends + own.answered < now || is_settled && front.ends + own.answered == now);
        }
        self.is_full = self.kept.len() >= self.frames || self.kept_bytes + self.largest > self.buffer;
        let acknowledged = self.kept.front().map(|front| front.ends + self.answered).filter(|_| self.is_full && self.due.is_none());
        let at = [self.again_until, self.due, acknowledged].into_iter().flatten().min();
        if self.is_full || self.again_until.is_some() { Next::Waits(at) } else { Next::Sends(at) }
    }

    /// The receiver has discarded a frame of this number, and waits for it; `is_late` where it was one that was sent again.
    pub fn told(&mut self, number: u32, is_late: bool, now: Moment) {
        let first = |own: &Self| own.first;
        self.forget(|own, _| first(own) != number);
        self.due = Some(if is_late { now.max(self.again_since + self.timeout) } else { now });
    }

    /// Whether it is time to go back.
    pub fn is_due(&self, now: Moment) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Sends all that it keeps again, from the next frame boundary on; the wire is busy until `busy_until` with what it sends first.
    pub fn go_back(&mut self, now: Moment, busy_until: Moment, wire: &Serializer) -> Option<Again> {
        let first_bytes = self.kept.front()?.bytes;
        // While it sends again, the end of the frame on the wire; those behind it were counted, and are not sent.
        let ends = |kept: &Kept| kept.ends;
        let from = match self.again_until {
            Some(_) => self.kept.iter().map(ends).filter(|end| *end >= now).min().unwrap_or(now),
            None => busy_until.max(now),
        };
        let counted = self.again_until.map_or(Moment::NEVER, |_| from);
        let unsent = |kept: &&Kept| kept.ends > counted;
        let frames = i64::from(number(self.kept.len())) - self.kept.iter().filter(unsent).count() as i64;
        let bytes = self.kept_bytes as i64 - self.kept.iter().filter(unsent).map(|kept| i64::from(kept.bytes)).sum::<i64>();
        let mut at = from;
        for kept in &mut self.kept {
            at += wire.time(u64::from(kept.bytes));
            kept.ends = at;
        }
        (self.due, self.again_since, self.again_until) = (None, from, Some(at));
        Some(Again { from, until: at, first_bytes, frames, bytes })
    }
}

/// The receiver of a link with retry.
#[derive(Debug, Clone)]
pub struct Receiver {
    /// A frame that is damaged so often is lost.
    pub attempts: u32,
    /// What was discarded, and will come again, in order.
    pub held: VecDeque<Packet>,
    /// The number of the next frame that is let in.
    pub number: u32,
    /// How often that was damaged.
    pub tries: u32,
    /// Which time it is that something comes again.
    pub epoch: u8,
}

impl Receiver {
    /// Of a link.
    pub const fn new(params: &Params) -> Self {
        Self { attempts: params.max_retries, held: VecDeque::new(), number: 0, tries: 0, epoch: 0 }
    }
}

/// Both ends of the link at a port.
#[derive(Debug, Clone)]
pub struct Retry {
    /// What it sends.
    pub sender: Sender,
    /// What comes.
    pub receiver: Receiver,
    /// Whether the port sends nothing because of it.
    pub sleeps: bool,
    /// When its timer expires.
    pub timer: Moment,
}
