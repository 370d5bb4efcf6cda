//! Transports of plug-ins.

use std::fmt::Debug;
use std::ops::Deref;

use dyn_clone::{DynClone, clone_trait_object};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use xoff_units::{Duration, Moment};

use crate::frames::framing::Framing;
use crate::frames::packet::Packet;
use crate::hosts::pulls::Rules;
use crate::hosts::transport::contract::{Arrival, News, Progress, Received, Replies, Transport};
use crate::parts::count::{Group, listened};
use crate::parts::param_error::ParamError;
use crate::parts::plugin_parts::{Entry, FlowState, Params, PartKind, Registry, running};
use crate::paths::line::Line;

static REGISTRY: Registry<Vtable> = Registry::new();

/// What the core does with a transport of a plug-in.
#[derive(Debug)]
pub struct Vtable {
    pub(crate) group: Group,
    pub(crate) listens_to: Option<(&'static str, &'static str)>,
    pub(crate) acknowledges: bool,
    pub(crate) bears_reordering: bool,
    pub(crate) windows_hold_lost: bool,
    wants_round_trip: fn(&dyn Params) -> bool,
    settled: fn(&dyn Params, Line) -> Box<dyn Params>,
    new: fn(&'static str, &dyn Params, &Framing) -> Box<dyn AnyTransport>,
    validate: fn(&dyn Params, &Framing) -> Result<(), ParamError>,
    warn: fn(&dyn Params, Line) -> Option<ParamError>,
}

impl PartKind for Vtable {
    const KIND: &'static str = "transport";

    fn registry() -> &'static Registry<Self> {
        &REGISTRY
    }
}

impl Entry<Vtable> {
    /// A transport with the key `host.transport.plugins.NAME`.
    pub const fn transport<T>(name: &'static str, about: &'static str) -> Self
    where
        T: Transport + Debug + Clone + Send + Sync + 'static,
        T::Params: Params + DeserializeOwned + JsonSchema,
        T::Sender: Clone + Send + Sync + 'static,
        T::Receiver: Clone + Send + Sync + 'static,
    {
        let part = Vtable {
            group: Group { name, label: T::LABEL, counts: T::COUNTS, listens_to: listened(T::LISTENS_TO) },
            listens_to: T::LISTENS_TO,
            acknowledges: T::ACKNOWLEDGES,
            bears_reordering: T::BEARS_REORDERING,
            windows_hold_lost: T::WINDOWS_HOLD_LOST,
            wants_round_trip: |params| T::wants_round_trip(params.get()),
            settled: |params, line| Box::new(T::settled(params.get(), line)),
            new: |part, params, framing| Box::new(Erased { part, transport: T::new(params.get(), framing) }),
            validate: |params, framing| T::validate(params.get(), framing),
            warn: |params, line| T::warn(params.get(), line),
        };
        Self::of::<T::Params>(name, about, part)
    }

    pub(crate) fn wants_round_trip(&self, params: &dyn Params) -> bool {
        (self.part.wants_round_trip)(params)
    }

    pub(crate) fn settled(&self, params: &dyn Params, line: Line) -> Box<dyn Params> {
        (self.part.settled)(params, line)
    }

    pub(crate) fn make(&'static self, params: &dyn Params, framing: &Framing) -> Foreign {
        Foreign { entry: self, transport: (self.part.new)(self.name, params, framing) }
    }

    pub(crate) fn warn(&self, params: &dyn Params, line: Line) -> Option<ParamError> {
        (self.part.warn)(params, line)
    }

    pub(crate) fn validate(&self, params: &dyn Params, framing: &Framing) -> Result<(), ParamError> {
        (self.part.validate)(params, framing)
    }
}

/// A transport of a plug-in.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// The part.
    pub entry: &'static Entry<Vtable>,
    transport: Box<dyn AnyTransport>,
}

impl Deref for Foreign {
    type Target = dyn AnyTransport;

    fn deref(&self) -> &Self::Target {
        &*self.transport
    }
}

#[derive(Debug, Clone)]
struct Erased<T> {
    part: &'static str,
    transport: T,
}

impl<T> Erased<T> {
    /// Returns the transport whose hook is about to run.
    fn at(&self, hook: &'static str) -> &T {
        running::enter(self.part, hook);
        &self.transport
    }
}

/// Makes the trait of transports with states of any type, and the calls: methods of the transport alone, methods that
/// read the state of a sender, and methods that change the state of a sender.
macro_rules! erased {
    (
        alone $(fn $alone:ident($($a:ident: $at:ty),*) -> $ar:ty;)*
        reads $(fn $reads:ident($($r:ident: $rt:ty),*) -> $rr:ty;)*
        changes $(fn $changes:ident($($c:ident: $ct:ty),*) -> $cr:ty;)*
    ) => {
        /// A transport with states of any type; the methods are those of [`Transport`].
        pub trait AnyTransport: Debug + Send + Sync + DynClone {
            #![allow(missing_docs, reason = "the methods are those of `Transport`")]
            fn sender(&self) -> FlowState;
            fn receiver(&self) -> FlowState;
            fn on_data(&self, received: &mut Received, receiver: &mut FlowState, packet: &Packet, replies: &mut Replies) -> Arrival;
            fn on_header(&self, received: &mut Received, receiver: &mut FlowState, header: &Packet, replies: &mut Replies);
            $(fn $alone(&self, $($a: $at),*) -> $ar;)*
            $(fn $reads(&self, progress: &Progress, sender: &FlowState $(, $r: $rt)*) -> $rr;)*
            $(fn $changes(&self, progress: &mut Progress, sender: &mut FlowState $(, $c: $ct)*) -> $cr;)*
        }

        impl<T: Transport + Debug + Clone + Send + Sync> AnyTransport for Erased<T>
        where
            T::Sender: Clone + Send + Sync + 'static,
            T::Receiver: Clone + Send + Sync + 'static,
        {
            fn sender(&self) -> FlowState {
                FlowState::new(self.at("sender").sender())
            }

            fn receiver(&self) -> FlowState {
                FlowState::new(T::Receiver::default())
            }

            fn on_data(&self, received: &mut Received, receiver: &mut FlowState, packet: &Packet, replies: &mut Replies) -> Arrival {
                self.at("on_data").on_data(received, receiver.get_mut(), packet, replies)
            }

            fn on_header(&self, received: &mut Received, receiver: &mut FlowState, header: &Packet, replies: &mut Replies) {
                self.at("on_header").on_header(received, receiver.get_mut(), header, replies);
            }

            $(fn $alone(&self, $($a: $at),*) -> $ar {
                self.at(stringify!($alone)).$alone($($a),*)
            })*
            $(fn $reads(&self, progress: &Progress, sender: &FlowState $(, $r: $rt)*) -> $rr {
                self.at(stringify!($reads)).$reads(progress, sender.get() $(, $r)*)
            })*
            $(fn $changes(&self, progress: &mut Progress, sender: &mut FlowState $(, $c: $ct)*) -> $cr {
                self.at(stringify!($changes)).$changes(progress, sender.get_mut() $(, $c)*)
            })*
        }
    };
}

erased! {
    alone
    fn pulls(line: Line) -> Option<Rules>;
    fn coalesces() -> bool;
    fn timeouts() -> (Duration, Duration);
    reads
    fn next() -> Option<u32>;
    fn in_flight() -> u32;
    fn delivered() -> u32;
    fn deadline(now: Moment) -> Moment;
    changes
    fn on_sent(seq: u32, now: Moment) -> ();
    fn on_answer(frame: &Packet) -> News;
    fn on_also(seq: u32) -> bool;
    fn on_bounce(seq: u32, pulled: u32) -> bool;
    fn on_timeout(now: Moment) -> u32;
}

clone_trait_object!(AnyTransport);
