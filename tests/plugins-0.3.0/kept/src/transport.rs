//! Kept: retransmissions and their triggers, in one sentence.
//!
//! Models: (the receiver's replies, and the sender's reactions). Source: (document and section).
//! Simplifications: (omissions).
//! Invariants: each packet is delivered once; a flow completes on any finite loss pattern.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Duration, Moment};

use xoff_models::transport::contract::{Arrival, News, Progress, Received, Replies, Transport};
use xoff_models::framing::Framing;
use xoff_models::packet::Packet;
use xoff_models::param_error::ParamError;

/// `host.transport.plugins.kept`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Retransmission timeout, restarted by each packet sent and each ACK that makes progress.
    pub rto: Duration,
}

impl Default for Params {
    /// (Reasons for these values.)
    fn default() -> Self {
        Self { rto: Duration::ms(4) }
    }
}

/// Kept with its parameters.
#[derive(Debug, Clone)]
pub struct Kept {
    rto: Duration,
}

impl Transport for Kept {
    type Params = Params;
    type Sender = ();
    type Receiver = ();
    const LABEL: &'static str = "Kept";

    fn new(params: &Params, _: &Framing) -> Self {
        Self { rto: params.rto }
    }

    fn validate(params: &Params, _: &Framing) -> Result<(), ParamError> {
        if params.rto < Duration::ns(100) {
            return Err(("rto", "must be 100ns or longer".into()));
        }
        Ok(())
    }

    fn sender(&self) {}

    fn next(&self, progress: &Progress, (): &()) -> Option<u32> {
        (progress.next < progress.packets).then_some(progress.next)
    }

    fn on_sent(&self, progress: &mut Progress, (): &mut (), seq: u32, _: Moment) {
        progress.next = seq + 1;
    }

    /// An acknowledgement confirms every packet before the named packet.
    fn on_answer(&self, progress: &mut Progress, (): &mut (), frame: &Packet) -> News {
        let is_news = frame.seq() > progress.unacknowledged;
        progress.unacknowledged = progress.unacknowledged.max(frame.seq().min(progress.packets));
        progress.next = progress.next.max(progress.unacknowledged);
        News { is_news, loss: None }
    }

    /// All unacknowledged packets are retransmitted; a congestion control gets one loss.
    fn on_timeout(&self, progress: &mut Progress, (): &mut (), _: Moment) -> u32 {
        progress.next = progress.unacknowledged;
        1
    }

    fn deadline(&self, _: &Progress, (): &(), now: Moment) -> Moment {
        now + self.rto
    }

    fn timeouts(&self) -> (Duration, Duration) {
        (self.rto, self.rto)
    }

    fn on_data(&self, received: &mut Received, (): &mut (), packet: &Packet, replies: &mut Replies) -> Arrival {
        let arrival = match packet.seq().cmp(&received.expected) {
            std::cmp::Ordering::Less => Arrival::Again,
            std::cmp::Ordering::Equal => Arrival::New,
            std::cmp::Ordering::Greater => Arrival::Discarded,
        };
        received.expected += u32::from(arrival == Arrival::New);
        replies.acknowledge(received.expected);
        arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xoff_models::frames::Kind;

    #[test]
    fn a_lost_packet_is_sent_again_and_delivered_once() {
        let transport = Kept { rto: Duration::us(100) };
        let mut received = Received::default();
        let mut sender = Progress { packets: 3, next: 3, ..Progress::default() };
        let mut arrive = |seq: u32| {
            let mut replies = Replies::new(Moment::us(1), 0);
            let packet = Packet::new(Kind::Data, 0, seq, 1, 1000, 0);
            (transport.on_data(&mut received, &mut (), &packet, &mut replies), replies.reply.map(|r| r.seq))
        };
        assert_eq!(arrive(0), (Arrival::New, Some(1)));
        assert_eq!(arrive(2), (Arrival::Discarded, Some(1)));
        let ack = Packet::new(Kind::Ack, 0, 1, 0, 64, 0);
        assert!(transport.on_answer(&mut sender, &mut (), &ack).is_news);
        assert!(!transport.on_answer(&mut sender, &mut (), &ack).is_news);
        transport.on_timeout(&mut sender, &mut (), Moment::us(100));
        assert_eq!(sender.next, 1);
        assert_eq!(arrive(1), (Arrival::New, Some(2)));
    }
}
