//! Link-level retry: a link sends damaged frames again.
//! The sender keeps frames until acknowledged, at most `frames` frames and `buffer` bytes. The receiver
//! discards a damaged frame and all frames behind, and sends a NACK; the sender sends them again from the
//! next frame boundary on. A frame damaged again is sent again after `timeout`. After `max_retries` damages
//! the frame is lost. Simplifications: each frame is acknowledged without a byte on the wire (LLR: 8 B for
//! each 2048 B); a NACK waits for no frame and is never damaged; the forwarding latency is in the loop; MAC
//! control is not protected; no initialisation and no flush.
//! Invariants: a link delivers in order, each frame once; without damage, and with a buffer of a round trip,
//! retry changes nothing.
//! Source: Ultra Ethernet's LLR as in `SAI-Link_Layer_Retry` of OCP SAI; `docs/models/link_retry.md`.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, Moment, Serializer, index, number};

use crate::frames::packet::Packet;
use crate::parts::names;
use crate::parts::param_error::ParamError;

/// `network.link_retry`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Links, by the names of their ends: `leaf0-spine1`; `*` stands for any characters. Default: all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
    /// Largest number of frames without acknowledgement.
    pub frames: u32,
    /// Largest number of bytes without acknowledgement.
    pub buffer: Bytes,
    /// A frame that was damaged again is sent again this long after its last start.
    pub timeout: Duration,
    /// A frame that was damaged this often is lost.
    pub max_retries: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { links: None, frames: 100, buffer: Bytes(102_400), timeout: Duration::us(10), max_retries: 8 }
    }
}

impl Params {
    /// Refuses values out of range; frames have at most `largest` bytes.
    pub fn validate(&self, largest: u64) -> Result<(), ParamError> {
        if self.frames == 0 || self.frames > 1 << 20 {
            return Err(("frames", format!("{} is out of range; allowed are 1 to {}", self.frames, 1 << 20)));
        }
        if self.buffer.0 < largest || self.buffer.0 > 1 << 40 {
            return Err((
                "buffer",
                format!(
                    "{} is out of range; must hold a frame of {largest} B, and be 1TiB or less",
                    self.buffer
                ),
            ));
        }
        if !(Duration::ns(1)..=Duration::ms(1_000)).contains(&self.timeout) {
            return Err(("timeout", format!("{} is out of range; allowed are 1ns to 1s", self.timeout)));
        }
        if self.max_retries == 0 {
            return Err(("max_retries", "0 is out of range; must be at least 1".into()));
        }
        Ok(())
    }

    /// True for the link between two nodes of these names.
    pub fn is_for(&self, a: &str, b: &str) -> bool {
        let is_called = |pattern: &String| {
            names::matches(pattern, &format!("{a}-{b}")) || names::matches(pattern, &format!("{b}-{a}"))
        };
        self.links.as_ref().is_none_or(|links| links.iter().any(is_called))
    }

    /// Refuses names that match no link with these ends; an error has the key below `network.link_retry`.
    pub fn known(&self, links: &[(&str, &str)]) -> Result<(), (String, String)> {
        for (k, pattern) in self.links.iter().flatten().enumerate() {
            let one = Self { links: Some(vec![pattern.clone()]), ..self.clone() };
            if !links.iter().any(|(a, b)| one.is_for(a, b)) {
                let all = names::some(links.iter().map(|(a, b)| format!("{a}-{b}")));
                return Err((
                    format!("links[{k}]"),
                    format!("no link is called `{pattern}`; links are {all}"),
                ));
            }
        }
        Ok(())
    }
}

/// A sent frame.
#[derive(Debug, Clone, Copy)]
struct Kept {
    bytes: u16,
    /// End of the frame on the wire.
    ends: Moment,
}

/// The sender of a link with retry.
#[derive(Debug, Clone)]
pub struct Sender {
    frames: usize,
    buffer: u64,
    timeout: Duration,
    /// Room for the next frame.
    largest: u64,
    /// Time from the end of a frame until its acknowledgement, or NACK, is here.
    answered: Duration,
    /// Frames without acknowledgement in order, their bytes, and the number of the first.
    kept: VecDeque<Kept>,
    kept_bytes: u64,
    first: u32,
    /// End of sending again.
    again_until: Option<Moment>,
    /// Last start of sending again, and its next start, as the receiver does not report a frame twice.
    again_since: Moment,
    due: Option<Moment>,
    /// True when the kept frames leave no room for a new frame.
    is_full: bool,
}

/// Next action of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Sends new frames; asks again at the moment, if any.
    Sends(Option<Moment>),
    /// Sends no new frame; asks again at the moment, if any.
    Waits(Option<Moment>),
}

/// Frames sent again from a moment on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// Start.
    pub from: Moment,
    /// End.
    pub until: Moment,
    /// Bytes of the first frame.
    pub first_bytes: u16,
    /// Number of frames, less the frames that the time before did not reach.
    pub frames: i64,
    /// Bytes of these frames.
    pub bytes: i64,
}

impl Sender {
    /// Makes the sender of a link on which answers arrive `answered` after the end of a frame.
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

    /// Keeps a frame that was put onto the wire.
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

    /// Returns the next action. Frames whose answer is due now are acknowledged if `is_settled`.
    pub fn next(&mut self, now: Moment, is_settled: bool) -> Next {
        if self.again_until.is_some_and(|until| until <= now) {
            self.again_until = None;
        }
        if self.due.is_none() {
            self.forget(|own, front| {
                front.ends + own.answered < now || is_settled && front.ends + own.answered == now
            });
        }
        self.is_full = self.kept.len() >= self.frames || self.kept_bytes + self.largest > self.buffer;
        let acknowledged = self
            .kept
            .front()
            .map(|front| front.ends + self.answered)
            .filter(|_| self.is_full && self.due.is_none());
        let at = [self.again_until, self.due, acknowledged].into_iter().flatten().min();
        if self.is_full || self.again_until.is_some() { Next::Waits(at) } else { Next::Sends(at) }
    }

    /// Notes a NACK of a frame's number; `is_late` for a frame that was sent again.
    pub fn told(&mut self, number: u32, is_late: bool, now: Moment) {
        let first = |own: &Self| own.first;
        self.forget(|own, _| first(own) != number);
        self.due = Some(if is_late { now.max(self.again_since + self.timeout) } else { now });
    }

    /// True when the sender should go back now.
    pub fn is_due(&self, now: Moment) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    /// Sends all kept frames again, from the next frame boundary on. The wire is busy until `busy_until`.
    pub fn go_back(&mut self, now: Moment, busy_until: Moment, wire: &Serializer) -> Option<Again> {
        let first_bytes = self.kept.front()?.bytes;
        // During a retransmission, the end of the frame on the wire; later frames were counted, and are not
        // sent.
        let ends = |kept: &Kept| kept.ends;
        let from = match self.again_until {
            Some(_) => self.kept.iter().map(ends).filter(|end| *end >= now).min().unwrap_or(now),
            None => busy_until.max(now),
        };
        let counted = self.again_until.map_or(Moment::NEVER, |_| from);
        let unsent = |kept: &&Kept| kept.ends > counted;
        let frames = i64::from(number(self.kept.len())) - self.kept.iter().filter(unsent).count() as i64;
        let bytes = self.kept_bytes as i64
            - self.kept.iter().filter(unsent).map(|kept| i64::from(kept.bytes)).sum::<i64>();
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
    /// A frame damaged this often is lost.
    pub attempts: u32,
    /// Discarded frames, in order.
    pub held: VecDeque<Packet>,
    /// Number of the next accepted frame.
    pub number: u32,
    /// Number of damages of the next frame.
    pub tries: u32,
    /// Number of the present repetition.
    pub epoch: u8,
}

impl Receiver {
    /// Makes the receiver of a link.
    pub const fn new(params: &Params) -> Self {
        Self { attempts: params.max_retries, held: VecDeque::new(), number: 0, tries: 0, epoch: 0 }
    }
}

/// Both ends of the link at a port.
#[derive(Debug, Clone)]
pub struct Retry {
    /// Sending end.
    pub sender: Sender,
    /// Receiving end.
    pub receiver: Receiver,
    /// True while retry lets the port send nothing.
    pub sleeps: bool,
    /// Expiry of the timer.
    pub timer: Moment,
}
