//! Raw frames: Ethernet or UDP packets without a transport.
//!
//! Models: a source sends each packet once and finishes the flow with the last packet. The receiver sends no
//! answers. A flow is delivered when all its packets have arrived; a flow with a loss is never delivered.
//! Source: the traffic of the BCN document ("100 % UDP or raw Ethernet"); `docs/models/raw.md`.
//! Simplifications: no application above retransmits. Invariants: each packet is sent once; no packet is
//! answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Moment};

use super::contract::{Arrival, News, Progress, Received, Replies, Transport};
use crate::frames::framing::Framing;
use crate::frames::packet::Packet;

/// `host.transport.raw`: no settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Raw frames.
#[derive(Debug, Clone)]
pub struct Raw;

impl Transport for Raw {
    type Params = Params;
    type Sender = ();
    type Receiver = ();
    const LABEL: &'static str = "raw frames";
    const FOLDS: bool = true;
    const ACKNOWLEDGES: bool = false;

    fn new(_: &Params, _: &Framing) -> Self {
        Self
    }

    fn sender(&self) {}

    #[inline]
    fn next(&self, progress: &Progress, (): &()) -> Option<u32> {
        (progress.next < progress.packets).then_some(progress.next)
    }

    #[inline]
    fn on_sent(&self, progress: &mut Progress, (): &mut (), seq: u32, _: Moment) {
        progress.next = seq + 1;
        // Nothing is waited for.
        progress.unacknowledged = progress.next;
    }

    fn on_answer(&self, _: &mut Progress, (): &mut (), _: &Packet) -> News {
        News::default()
    }

    fn on_timeout(&self, _: &mut Progress, (): &mut (), _: Moment) -> u32 {
        0
    }

    fn deadline(&self, _: &Progress, (): &(), _: Moment) -> Moment {
        Moment::NEVER
    }

    fn timeouts(&self) -> (Duration, Duration) {
        (Duration::FOREVER, Duration::FOREVER)
    }

    /// Counts each packet, in any order.
    #[inline]
    fn on_data(&self, received: &mut Received, (): &mut (), _: &Packet, _: &mut Replies) -> Arrival {
        received.expected += 1;
        Arrival::New
    }
}
