//! Congestion controls of plug-ins.

use std::fmt::Debug;
use std::ops::Deref;

use dyn_clone::{DynClone, clone_trait_object};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use xoff_units::{Duration, Moment};

use crate::frames::packet::Packet;
use crate::hosts::congestion_control::contract::{
    Ack, Control, Echo, Hosts, Line, Loss, NewFlow, Notice, Outbox, Peer, Receiving, Sent, Tag, Tally,
};
use crate::hosts::pulls::Rules;
use crate::parts::count::{Group, listened};
use crate::parts::param_error::ParamError;
use crate::parts::plugin_parts::{Entry, FlowState, Params, PartKind, Registry, running};

static REGISTRY: Registry<Vtable> = Registry::new();

/// What the core does with a congestion control of a plug-in.
#[derive(Debug)]
pub struct Vtable {
    pub(crate) group: Group,
    pub(crate) listens_to: Option<(&'static str, &'static str)>,
    pub(crate) pulls: bool,
    pub(crate) hears_acks: bool,
    pub(crate) tag: Tag,
    pub(crate) tag_bits: u8,
    pub(crate) ranked: bool,
    pub(crate) hears: fn(&Packet) -> bool,
    rules: fn(&dyn Params, Line) -> Option<Rules>,
    settled: fn(&dyn Params, Line) -> Box<dyn Params>,
    new: fn(&'static str, &dyn Params, Line) -> Box<dyn AnyControl>,
    validate: fn(&dyn Params, &Hosts<'_>) -> Result<(), ParamError>,
    warn: fn(&dyn Params, Line) -> Option<ParamError>,
}

impl PartKind for Vtable {
    const KIND: &'static str = "congestion control";

    fn registry() -> &'static Registry<Self> {
        &REGISTRY
    }
}

impl Entry<Vtable> {
    /// A congestion control with the key `host.congestion_control.plugins.NAME`.
    pub const fn congestion_control<C>(name: &'static str, about: &'static str) -> Self
    where
        C: Control + Debug + Clone + Send + Sync + 'static,
        C::Params: Params + DeserializeOwned + JsonSchema,
        C::State: Clone + Send + Sync + 'static,
    {
        let part = Vtable {
            group: Group { name, label: C::LABEL, counts: C::COUNTS, listens_to: listened(C::LISTENS_TO) },
            listens_to: C::LISTENS_TO,
            pulls: C::PULLS,
            hears_acks: C::HEARS_ACKS,
            tag: C::TAG,
            tag_bits: C::TAG_BITS,
            ranked: C::RANKED,
            hears: C::hears,
            rules: |params, line| C::pulls(params.get(), line),
            settled: |params, line| Box::new(C::settled(params.get(), line)),
            new: |part, params, line| Box::new(Erased { part, control: C::new(params.get(), line) }),
            validate: |params, hosts| C::validate(params.get(), hosts),
            warn: |params, line| C::warn(params.get(), line),
        };
        Self::of::<C::Params>(name, about, part)
    }

    pub(crate) fn rules(&self, params: &dyn Params, line: Line) -> Option<Rules> {
        (self.part.rules)(params, line)
    }

    pub(crate) fn settled(&self, params: &dyn Params, line: Line) -> Box<dyn Params> {
        (self.part.settled)(params, line)
    }

    pub(crate) fn make(&'static self, params: &dyn Params, line: Line) -> Foreign {
        Foreign { entry: self, control: (self.part.new)(self.name, params, line) }
    }

    pub(crate) fn warn(&self, params: &dyn Params, line: Line) -> Option<ParamError> {
        (self.part.warn)(params, line)
    }

    pub(crate) fn validate(&self, params: &dyn Params, hosts: &Hosts<'_>) -> Result<(), ParamError> {
        (self.part.validate)(params, hosts)
    }
}

/// A congestion control of a plug-in, for a line.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// The part.
    pub entry: &'static Entry<Vtable>,
    control: Box<dyn AnyControl>,
}

/// A congestion control with states of any type; the methods are those of [`Control`].
pub trait AnyControl: Debug + Send + Sync + DynClone {
    #![allow(missing_docs, reason = "the methods are those of `Control`")]
    fn start(&self, flow: &NewFlow) -> FlowState;
    fn receiving(&self, host: u32) -> Option<Box<dyn Receiving>>;
    fn looks_ahead(&self) -> u64;
    fn on_sent(&self, state: &mut FlowState, packet: &mut Packet, sent: Sent) -> Duration;
    fn on_ack(&self, state: &mut FlowState, ack: &Ack<'_>);
    fn on_loss(&self, state: &mut FlowState, loss: Loss, now: Moment);
    fn on_notice(&self, state: &mut FlowState, notice: &Notice<'_>);
    fn window(&self, state: &FlowState) -> u64;
    fn limit(&self, state: &FlowState) -> u32;
    fn rank(&self, state: &FlowState, left: u64) -> u64;
    fn timer(&self, state: &FlowState) -> Moment;
    fn on_timer(&self, state: &mut FlowState, flow: u32, peer: Peer, outbox: &mut Outbox);
    fn counts(&self, state: &FlowState, tally: &mut dyn Tally);
    fn due(&self, state: &FlowState, due: Moment) -> Moment;
    fn echo(&self) -> Option<Echo>;
}

clone_trait_object!(AnyControl);

#[derive(Debug, Clone)]
struct Erased<C> {
    part: &'static str,
    control: C,
}

impl<C> Erased<C> {
    /// Returns the control whose hook is about to run.
    fn at(&self, hook: &'static str) -> &C {
        running::enter(self.part, hook);
        &self.control
    }
}

impl<C: Control + Debug + Clone + Send + Sync> AnyControl for Erased<C>
where
    C::State: Clone + Send + Sync + 'static,
{
    fn start(&self, flow: &NewFlow) -> FlowState {
        FlowState::new(self.at("start").start(flow))
    }

    fn receiving(&self, host: u32) -> Option<Box<dyn Receiving>> {
        self.at("receiving").receiving(host)
    }

    fn looks_ahead(&self) -> u64 {
        self.at("looks_ahead").looks_ahead()
    }

    fn on_sent(&self, state: &mut FlowState, packet: &mut Packet, sent: Sent) -> Duration {
        self.at("on_sent").on_sent(state.get_mut(), packet, sent)
    }

    fn on_ack(&self, state: &mut FlowState, ack: &Ack<'_>) {
        self.at("on_ack").on_ack(state.get_mut(), ack);
    }

    fn on_loss(&self, state: &mut FlowState, loss: Loss, now: Moment) {
        self.at("on_loss").on_loss(state.get_mut(), loss, now);
    }

    fn on_notice(&self, state: &mut FlowState, notice: &Notice<'_>) {
        self.at("on_notice").on_notice(state.get_mut(), notice);
    }

    fn window(&self, state: &FlowState) -> u64 {
        self.at("window").window(state.get())
    }

    fn limit(&self, state: &FlowState) -> u32 {
        self.at("limit").limit(state.get())
    }

    fn rank(&self, state: &FlowState, left: u64) -> u64 {
        self.at("rank").rank(state.get(), left)
    }

    fn timer(&self, state: &FlowState) -> Moment {
        self.at("timer").timer(state.get())
    }

    fn on_timer(&self, state: &mut FlowState, flow: u32, peer: Peer, outbox: &mut Outbox) {
        self.at("on_timer").on_timer(state.get_mut(), flow, peer, outbox);
    }

    fn counts(&self, state: &FlowState, tally: &mut dyn Tally) {
        self.at("counts").counts(state.get(), tally);
    }

    fn due(&self, state: &FlowState, due: Moment) -> Moment {
        self.at("due").due(state.get(), due)
    }

    fn echo(&self) -> Option<Echo> {
        self.at("echo").echo()
    }
}

impl Deref for Foreign {
    type Target = dyn AnyControl;

    fn deref(&self) -> &Self::Target {
        &*self.control
    }
}
