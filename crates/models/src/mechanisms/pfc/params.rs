//! Parameters of PFC.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::{Bytes, Duration, Rate};

use super::watchdog;
use crate::mechanisms::contract::ValidationContext;
use crate::mechanisms::pause_response::{BITS_A_QUANTUM, Response};
use crate::parts::ids::ClassSet;
use crate::parts::param_error::{ParamError, remove};
use crate::ports::core::Queueing;
use crate::ports::queueing::buffer::{self, Accounting, Resume};

/// Action of hosts that relay, under PFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relays {
    /// A relay pauses its neighbours as a switch does, when its count of relayed bytes reaches XOFF.
    Native,
    /// A relay pauses all other neighbours while one neighbour pauses the relay, and has no count of its own.
    Forward,
}

/// `switch.flow_control.pfc`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Pause at this many bytes. Default: the class's share of the port's buffer less the computed headroom;
    /// 100 KB with unlimited memory; the dynamic threshold with a shared buffer. With a shared buffer and
    /// egress accounting `xoff` is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xoff: Option<Bytes>,
    /// Resume at this many bytes or fewer. Default: two packets below XOFF. With the dynamic threshold of a
    /// shared buffer: resume this far below the threshold; default 3 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xon: Option<Bytes>,
    /// With the dynamic threshold of a shared buffer: resume when the port and class holds this many bytes or
    /// fewer. With `xon`, too, at the larger of both levels; without `xon`, at `resume_at` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<Bytes>,
    /// The byte count that is compared with XOFF.
    #[serde(default)]
    pub accounting: Accounting,
    /// A pause expires after this many quanta of 512 bit times unless refreshed. The pausing node refreshes
    /// at half of the pause time, or as often as its link can. Default: a pause lasts until the resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quanta: Option<u16>,
    /// With `quanta`: pauses are refreshed. Without refresh a pause expires after its quanta, and the next
    /// packet that arrives while the count is above XON triggers a new pause. After an expiry the neighbour
    /// sends for a round trip, until the next pause arrives. The computed headroom covers one round trip.
    #[serde(default = "default_refresh", skip_serializing_if = "is_true")]
    pub refresh: bool,
    /// A node begins frames of a paused class until so long after the last bit of the pause: a time, or
    /// `"802.3"` for the limit of IEEE Std 802.3, 31B.3.7, at the rate of the link. A resume acts at once. The
    /// computed headroom counts the response. Default: a pause acts with its last bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
    /// Action of hosts that relay. Default: holding flows at their sources where `host.relay.per_flow` is in
    /// force (as in `network.rail`); elsewhere `native`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relays: Option<Relays>,
    /// Each host that relays a packet raises the packet by one class: PFC* of the `PortFC` paper.
    #[serde(default)]
    pub hop_classes: bool,
    /// Classes under PFC: classes of which pauses are sent and obeyed. Packets of other classes neither cause
    /// nor obey pauses, and are dropped without room. Default: all classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u8>>,
    /// Classes of which pauses are sent at a port with an override, in place of `classes`.
    #[serde(skip)]
    pub send: Option<Vec<u8>>,
    /// Classes of which pauses are obeyed at a port with an override, in place of `classes`.
    #[serde(skip)]
    pub obey: Option<Vec<u8>>,
    /// The action of switches on pauses that last too long. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watchdog: Option<watchdog::Params>,
}

pub(super) fn default_refresh() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_true(value: &bool) -> bool {
    *value
}

impl Default for Params {
    fn default() -> Self {
        Self {
            xoff: None,
            xon: None,
            resume_at: None,
            accounting: Accounting::default(),
            quanta: None,
            refresh: true,
            response: None,
            relays: None,
            hop_classes: false,
            classes: None,
            send: None,
            obey: None,
            watchdog: None,
        }
    }
}

impl Params {
    /// Returns the classes of which pauses are sent.
    pub(super) fn sends(&self) -> ClassSet {
        ClassSet::listed(self.send.as_ref().or(self.classes.as_ref()))
    }

    /// Returns the classes of which pauses are obeyed.
    pub(super) fn obeys(&self) -> ClassSet {
        ClassSet::listed(self.obey.as_ref().or(self.classes.as_ref()))
    }

    /// Refuses invalid parameters.
    pub(super) fn validate(&self, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        if let Some(xoff) = self.xoff.filter(|xoff| xoff.0 == 0 || xoff.0 >= 1 << 32) {
            return Err(("xoff", format!("{xoff} is out of range; must be above zero and below 4GiB")));
        }
        if let (Some(xoff), Some(xon)) = (self.xoff, self.xon)
            && xon >= xoff
        {
            return Err((
                "xon",
                format!("{xon} is not below xoff, {xoff}; lower it, or remove it to derive xon from xoff"),
            ));
        }
        if let (Some(xoff), buffer::Params::PerPort(limit) | buffer::Params::PerQueue(limit)) =
            (self.xoff, context.memory)
            && xoff > *limit
        {
            return Err(("xoff", format!("{xoff} is above switch.buffer, {limit}")));
        }
        if self.accounting == Accounting::Egress && context.queueing == Queueing::Iq {
            let why = "egress needs queues at the outputs, and `iq` has none; use oq, or ingress";
            return Err(("accounting", why.into()));
        }
        if self.resume_at.is_some()
            && (self.xoff.is_some() || !matches!(context.memory, buffer::Params::Shared(_)))
        {
            let why = "belongs to the dynamic threshold of switch.buffer.shared; give xon beside xoff";
            return Err(("resume_at", why.into()));
        }
        if !self.refresh && self.quanta.is_none() {
            return Err(("refresh", "without quanta pauses last until the resume; give quanta".into()));
        }
        if self.quanta == Some(0) {
            return Err(("quanta", "0 is a resume; allowed are 1 to 65535".into()));
        }
        self.watchdog.as_ref().map_or(Ok(()), |w| w.validate(context))?;
        self.validate_classes(context)?;
        if self.hop_classes && context.classes < 2 {
            return Err((
                "hop_classes",
                "packets rise by one class at each relay; set switch.classes to the number of relays plus one".into(),
            ));
        }
        Ok(())
    }

    /// Returns the response time at a rate; zero without a response time.
    pub(super) fn response_at(&self, rate: Rate) -> Duration {
        self.response.and_then(|response| response.time(rate)).unwrap_or(Duration::ZERO)
    }

    /// Refuses a rate without a response time, and quanta that end before a pause acts.
    pub(super) fn check_response(&self, rate: Rate) -> Result<(), ParamError> {
        let Some(response) = self.response else { return Ok(()) };
        let Some(time) = response.time(rate) else {
            let why = format!(
                "802.3 has no limit for {rate}; give a time, or one of the rates {}",
                Response::rates()
            );
            return Err(("response", why));
        };
        match self.quanta.map(|quanta| rate.time(u64::from(quanta) * BITS_A_QUANTUM / 8)) {
            Some(length) if length <= time => {
                let why = format!("{time} is not below the pause, {length} at {rate}; raise quanta");
                Err(("response", why))
            }
            _ => Ok(()),
        }
    }

    /// Refuses invalid lists of classes.
    fn validate_classes(&self, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        for (key, list) in [("classes", &self.classes), ("send", &self.send), ("obey", &self.obey)] {
            let Some(list) = list else { continue };
            if let Some(class) = list.iter().find(|class| **class >= context.classes) {
                let classes = context.classes;
                let why = format!("{class} is out of range; the switches have {classes} (switch.classes)");
                return Err((key, why));
            }
            if self.hop_classes {
                let why = "mutually exclusive with hop_classes, which needs all classes";
                return Err((key, remove(why)));
            }
            if let Some(other) = context.other(|p| p.interface_queues > 1) {
                let why = remove(format!("not allowed with {other}, whose interface queues replace classes"));
                return Err((key, why));
            }
        }
        if self.classes.as_ref().is_some_and(Vec::is_empty) {
            return Err((
                "classes",
                "the list is empty; remove switch.flow_control.pfc, or name a class".into(),
            ));
        }
        Ok(())
    }

    /// Returns the bytes below a dynamic threshold at which a pause ends.
    pub(super) fn offset_or_default(&self) -> u64 {
        self.xon.map_or(3 * 1024, |x| x.0)
    }

    /// Returns the level below a dynamic threshold at which a pause ends.
    pub(super) fn resume(&self) -> Resume {
        let at = self.resume_at.map(|level| level.0 as i64);
        let is_alone = at.is_some() && self.xon.is_none();
        Resume { offset: (!is_alone).then(|| self.offset_or_default() as i64), at }
    }
}
