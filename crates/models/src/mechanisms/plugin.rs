//! Mechanisms of plug-ins at a node.

use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

use crate::frames::packet::Packet;
use crate::mechanisms::contract::{
    Admit, Crossing, Departure, Dequeued, Enqueued, Hooks, PauseFrames, Place, Verdict, Watches,
};
use crate::parts::count::Tally;
use crate::parts::ids::{PortId, QueueId};
use crate::parts::plugin_parts::running;
use crate::ports::core::Core;
use crate::ports::effects::Effects;

/// A mechanism of any type.
pub trait AnyMechanism: Hooks + State + Debug + Send + Sync + DynClone + Any {}

impl<M: Hooks + State + Debug + Send + Sync + Clone + Any> AnyMechanism for M {}

clone_trait_object!(AnyMechanism);

/// A mechanism of a plug-in at a node.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// Name of the part.
    pub name: &'static str,
    mechanism: Box<dyn AnyMechanism>,
}

impl Foreign {
    pub(super) fn new(name: &'static str, mechanism: impl AnyMechanism + Clone) -> Self {
        Self { name, mechanism: Box::new(Noted { part: name, mechanism }) }
    }

    /// Returns the mechanism as its type.
    pub(super) fn get_mut<M: Any>(&mut self) -> Option<&mut M> {
        (&mut *self.mechanism as &mut dyn Any).downcast_mut::<Noted<M>>().map(|noted| &mut noted.mechanism)
    }
}

impl Deref for Foreign {
    type Target = dyn AnyMechanism;

    fn deref(&self) -> &Self::Target {
        &*self.mechanism
    }
}

impl DerefMut for Foreign {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.mechanism
    }
}

/// A mechanism that notes each hook before the hook runs.
#[derive(Debug, Clone)]
struct Noted<M> {
    part: &'static str,
    mechanism: M,
}

impl<M: State> State for Noted<M> {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { part: _, mechanism } = self;
        mechanism.walk(walk);
    }
}

/// Passes each hook on, of hooks that change the mechanism and of hooks that read it.
macro_rules! hooks {
    (
        changes $(fn $changes:ident($($c:ident: $ct:ty),*) -> $cr:ty;)*
        reads $(fn $reads:ident($($r:ident: $rt:ty),*) -> $rr:ty;)*
    ) => {
        impl<M: Hooks> Hooks for Noted<M> {
            $(fn $changes(&mut self, $($c: $ct),*) -> $cr {
                running::enter(self.part, stringify!($changes));
                self.mechanism.$changes($($c),*)
            })*

            $(fn $reads(&self, $($r: $rt),*) -> $rr {
                running::enter(self.part, stringify!($reads));
                self.mechanism.$reads($($r),*)
            })*
        }
    };
}

hooks! {
    changes
    fn route(packet: &mut Packet, choices: &[PortId], core: &Core, effects: &mut Effects) -> Option<PortId>;
    fn place_flow(packet: &mut Packet, port: PortId, core: &Core) -> Option<QueueId>;
    fn assign_queue(packet: &mut Packet, port: PortId, core: &Core, effects: &mut Effects) -> Option<QueueId>;
    fn admit(packet: &mut Packet, place: Place, core: &Core, effects: &mut Effects) -> Admit;
    fn on_drop(event: &Enqueued<'_>, effects: &mut Effects) -> ();
    fn on_enqueue(event: &Enqueued<'_>, core: &Core, effects: &mut Effects) -> ();
    fn on_dequeue(event: &Dequeued<'_>, core: &Core, effects: &mut Effects) -> ();
    fn on_whole(event: &Dequeued<'_>, core: &Core, effects: &mut Effects) -> ();
    fn on_departure(event: &mut Departure<'_>, core: &Core, effects: &mut Effects) -> ();
    fn on_answer_departure(event: &mut Departure<'_>, core: &Core, effects: &mut Effects) -> ();
    fn on_delivered(packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> ();
    fn on_answer(answer: &Packet, is_over: bool, core: &Core, effects: &mut Effects) -> ();
    fn on_silence(flow: u32, core: &Core, effects: &mut Effects) -> ();
    fn on_level(crossing: Crossing, core: &Core, effects: &mut Effects) -> ();
    fn on_control(packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict;
    fn on_pause_request(port: PortId, class: u8, is_on: bool, core: &Core, effects: &mut Effects) -> ();
    fn on_link(port: PortId, is_up: bool, core: &Core, effects: &mut Effects) -> ();
    fn on_timer(token: u32, core: &Core, effects: &mut Effects) -> ();
    reads
    fn watches() -> Watches;
    fn pauses_because(from: PortId, class: u8, port: PortId, told: u8) -> bool;
    fn pause_frames(port: PortId, class: u8) -> PauseFrames;
    fn standing_pauses(add: &mut dyn FnMut(PortId, u8)) -> ();
    fn counters(add: &mut dyn FnMut(PortId, u8, u32, u32)) -> ();
    fn counts(now: Moment, tally: &mut dyn Tally) -> ();
}
