//! Homa at a source: unscheduled packets at once, further packets by grants, messages with the fewest bytes
//! left first.
//!
//! Models: a message sends `rtt_bytes` unasked, with a priority by the bytes that are left. A grant allows
//! further packets and names their priority. Of the messages of a host, the message with the fewest bytes
//! left sends next. Source: the authors' OMNeT++ simulation (`HomaTransport.cc`: `SendController`,
//! `OutboundMessage`; `PriorityResolver.cc`, `STATIC_CBF_GRADUATED`). Simplifications: whole packets, so
//! `rtt_bytes` is rounded up; no message is resent (the network drops no packet, or the transport repeats);
//! a message is a flow, and its size is below 4 GiB. Invariant: a packet beyond the unscheduled packets has
//! a grant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::congestion_control::contract::{
    Control, Count, Hosts, Line, NOTIFICATIONS, NewFlow, Notice, Receiving, Sent, Tag,
};
use xoff_models::packet::Packet;
use xoff_models::param_error::ParamError;
use xoff_models::state;
use xoff_units::{Bytes, Duration};

use crate::Grant;
use crate::law::{CLASSES, Homa};
use crate::receiver::{GRANTS, Receiver};

/// `host.congestion_control.plugins.homa`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Bytes on the wire that a message may have under way, unscheduled or granted. Default: the product of
    /// the line rate and the longest round trip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_bytes: Option<Bytes>,
    /// Messages of different sources that a receiver grants at once, and classes of granted packets, 1 to 7.
    pub overcommitment: u8,
    /// Bounds of the classes of unscheduled packets: a packet with at most this many bytes left before it has
    /// the class of the first bound that is not below; ascending, at most `7 - overcommitment` bounds. Default:
    /// one class.
    pub cutoffs: Vec<Bytes>,
}

impl Default for Params {
    /// Four granted messages, as for the workload W3 of the paper.
    fn default() -> Self {
        Self { rtt_bytes: None, overcommitment: 4, cutoffs: Vec::new() }
    }
}

/// A message at its source.
#[derive(Debug, Clone)]
pub struct State {
    size: u64,
    unscheduled: u32,
    /// The packet after the last that may be sent.
    end: u32,
    /// The class of granted packets.
    class: u8,
}

state!(State {
    packet: end;
    value: class;
    constant: size, unscheduled;
});

impl Control for Homa {
    type Params = Params;
    type State = State;
    const LABEL: &'static str = "Homa";
    const COUNTS: &'static [Count] = &[NOTIFICATIONS, GRANTS];
    const TAG: Tag = Tag::ForSwitches;
    const RANKED: bool = true;

    fn settled(params: &Params, line: Line) -> Params {
        let product = Bytes(line.product(line.answered) as u64);
        Params { rtt_bytes: Some(params.rtt_bytes.unwrap_or(product)), ..params.clone() }
    }

    fn new(params: &Params, line: Line) -> Self {
        let params = Self::settled(params, line);
        Self {
            rate: line.rate,
            framing: line.framing,
            under_way: params.rtt_bytes.unwrap_or_default().0.max(line.framing.largest()),
            overcommitment: params.overcommitment,
            cutoffs: params.cutoffs.iter().map(|cutoff| cutoff.0).collect(),
        }
    }

    fn validate(params: &Params, _: &Hosts<'_>) -> Result<(), ParamError> {
        if !(1..CLASSES).contains(&params.overcommitment) {
            return Err((
                "overcommitment",
                format!("{} is out of range; allowed are 1 to 7", params.overcommitment),
            ));
        }
        if !params.cutoffs.is_sorted() {
            return Err(("cutoffs", "must ascend".into()));
        }
        let most = usize::from(CLASSES - 1 - params.overcommitment);
        if params.cutoffs.len() > most {
            let classes = params.overcommitment;
            return Err((
                "cutoffs",
                format!("at most {most} bounds: {classes} of 8 classes are for granted packets"),
            ));
        }
        Ok(())
    }

    fn start(&self, flow: &NewFlow) -> State {
        let size = flow.size.unwrap_or(u64::from(u32::MAX));
        let unscheduled = self.unscheduled(size);
        State { size, unscheduled, end: unscheduled, class: 0 }
    }

    fn on_sent(&self, state: &mut State, packet: &mut Packet, sent: Sent) -> Duration {
        let seq = packet.seq();
        let is_granted = seq >= state.unscheduled;
        packet.set_class(if is_granted { state.class } else { self.class(self.left(state.size, seq)) });
        packet.set_tag(state.size.min(u64::from(u32::MAX)) as u32);
        self.rate.serializer().time(sent.bytes)
    }

    fn limit(&self, state: &State) -> u32 {
        state.end
    }

    fn hears(notice: &Packet) -> bool {
        notice.payload::<Grant>().is_some()
    }

    fn on_notice(&self, state: &mut State, notice: &Notice<'_>) {
        if let Some(Grant { end, class }) = notice.frame.payload() {
            (state.end, state.class) = (state.end.max(end.0), class);
        }
    }

    fn receiving(&self, _: u32) -> Option<Box<dyn Receiving>> {
        Some(Box::new(Receiver::new(self)))
    }
}

#[cfg(test)]
mod tests {
    use xoff_units::Moment;

    use super::*;

    pub(crate) fn homa(cutoffs: &[u64]) -> Homa {
        let params = Params {
            rtt_bytes: Some(Bytes(5_000)),
            cutoffs: cutoffs.iter().map(|bytes| Bytes(*bytes)).collect(),
            ..Params::default()
        };
        Homa::new(&params, Line::for_tests(Duration::us(8)))
    }

    #[test]
    fn a_message_sends_unasked_what_a_round_trip_holds() {
        let homa = homa(&[]);
        let flow = |size| NewFlow { size: Some(size), ..NewFlow::for_tests() };
        assert_eq!(homa.limit(&homa.start(&flow(1))), 1);
        let most = 5_000_u64.div_ceil(homa.framing.largest()) as u32;
        assert_eq!(homa.limit(&homa.start(&flow(1 << 20))), most);
    }

    #[test]
    fn a_message_climbs_in_class_as_the_message_shrinks() {
        let homa = homa(&[500, 2_000, 3_000]);
        assert_eq!([1, 500, 501, 2_000, 2_001, 1 << 30].map(|left| homa.class(left)), [7, 7, 6, 6, 5, 4]);
        let mut state = homa.start(&NewFlow { size: Some(2_500), ..NewFlow::for_tests() });
        let sent = Sent { key: 0, bytes: 1064, is_queue_empty: false, left: 0, now: Moment::ZERO };
        let classes = [0, 1, 2].map(|seq| {
            let mut packet = Packet::new(xoff_models::frames::Kind::Data, 1, seq, 2, 1064, 0);
            homa.on_sent(&mut state, &mut packet, sent);
            (packet.class(), packet.tag())
        });
        let payload = homa.framing.payload;
        let expected = [2_500, 2_500 - payload, 2_500 - 2 * payload].map(|left| (homa.class(left), 2_500));
        assert_eq!(classes, expected);
    }
}
