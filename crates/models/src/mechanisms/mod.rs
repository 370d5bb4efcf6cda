//! Mechanisms at switches and network interfaces: marking, flow control, congestion points, routing; and
//! their registry.

pub mod congestion_point;
pub mod contract;
mod isolation;
pub mod overrides;
pub mod pause_response;
mod plugin;
pub mod red;
pub mod sizing;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use xoff_engine::state;
use xoff_engine::state::{State, StateVisitor};
use xoff_units::Moment;

use self::plugin::{AnyMechanism, Foreign};
use crate::frames::framing::Framing;
use crate::frames::packet::Packet;
use crate::frames::tag;
use crate::mechanisms::contract::{
    Admit, Crossing, Departure, Dequeued, Enqueued, Hooks, Ingress, Install, Levels, Other, PauseFrames,
    Place, PortShape, Properties, QueueAt, Site, ValidationContext, Verdict, Watches,
};
use crate::mechanisms::pause_response::Response;
use crate::parts::count::{Group, Tally, listened};
use crate::parts::ids::{ClassSet, PortId, QueueId};
use crate::parts::param_error::{ParamError, remove};
use crate::parts::plugin_parts::{Entry, Given as GivenOf, Params, PartKind, Registry};
use crate::paths::topology::Wiring;
use crate::ports::core::{Core, Queueing};
use crate::ports::effects::Effects;
use crate::ports::queueing::buffer::{self, Accounting};
use crate::ports::queueing::port::QueueSpec;

/// Makes the tables of mechanisms, the enum of all mechanisms, and the list of given mechanisms. A line names
/// a module, which is the key in its table and holds `Params`, and the mechanism's type. The line's comment
/// documents the key.
macro_rules! registry {
    (($d:tt) $($(#[doc = $about:literal])* $table:ident at $path:literal in $field:ident {
        $($(#[doc = $doc:literal])* $module:ident: $name:ident,)*
    })*) => {
        $($(pub mod $module;)*)*

        $($(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $table {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Params>,)*
        })*

        /// The mechanisms of a scenario.
        #[derive(Debug, Clone, Default)]
        pub struct Tables {
            $($(#[doc = $about])*
            pub $field: $table,)*
            /// Mechanisms of plug-ins.
            pub plugins: GivenOf<Vtable>,
        }

        impl Tables {
            /// Returns the given mechanisms in the order of the registry, the order of their hooks' calls.
            pub fn parts(&self) -> Vec<Box<dyn Part + '_>> {
                let mut list: Vec<Box<dyn Part + '_>> = Vec::new();
                $($(if let Some(params) = &self.$field.$module {
                    let (name, path) = (stringify!($module), concat!($path, stringify!($module)).into());
                    let wrap = |_, mechanism| Mechanism::$name(mechanism);
                    let mine = |m: &mut Mechanism, f: &mut dyn FnMut(&mut $module::$name)| if let Mechanism::$name(m) = m { f(m) };
                    list.push(Box::new(Given::<$module::$name> { name, path, params, wrap, mine }));
                })*)*
                list.extend(self.plugins.iter().map(|(entry, params)| entry.given(params)));
                list
            }

            /// Returns the properties of the given mechanisms.
            fn properties(&self) -> impl Iterator<Item = Properties> {
                let own = [$($(self.$field.$module.as_ref().map($module::$name::properties),)*)*];
                own.into_iter().flatten().chain(self.plugins.iter().map(|(entry, params)| entry.properties(params)))
            }
        }

        /// Counts of all mechanisms, given or not.
        pub const GROUPS: &[Group] = &[
            $($(Group { name: stringify!($module), label: $module::$name::LABEL, counts: $module::$name::COUNTS, listens_to: listened($module::$name::LISTENS_TO) },)*)*
        ];

        /// All mechanisms.
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "a node holds a handful, and a mechanism on the path of each packet needs no pointer")]
        pub enum Mechanism {
            $($($(#[doc = $doc])* $name($module::$name),)*)*
            /// A mechanism of a plug-in.
            Plugin(Foreign),
        }

        impl Mechanism {
            /// Returns the name in scenarios and summaries.
            pub const fn name(&self) -> &'static str {
                match self { $($(Self::$name(_) => stringify!($module),)*)* Self::Plugin(plugin) => plugin.name }
            }

            /// Returns the reason of its drops. See [`Install::DROPS`].
            pub const fn drops_as(&self) -> &'static str {
                match self { $($(Self::$name(_) => $module::$name::DROPS,)*)* Self::Plugin(plugin) => plugin.name }
            }
        }

        macro_rules! each {
            ($d self:expr, $d m:ident => $d call:expr) => {
                match $d self { $($(Mechanism::$name($d m) => $d call,)*)* Mechanism::Plugin($d m) => $d call }
            };
        }
    };
}

registry! {
    ($)
    /// Marks and records that switches write onto packets.
    Stamping at "switch." in stamping {
        /// Explicit Congestion Notification, the marks.
        ecn: Ecn,
        /// In-band network telemetry.
        telemetry: Telemetry,
    }
    /// Action on packets without room in a switch. Default: drop.
    Admission at "switch." in admission {
        /// Packet trimming.
        trimming: Trimming,
    }
    /// `switch.flow_control`: each mechanism at most once.
    FlowControl at "switch.flow_control." in flow_control {
        /// Priority-based Flow Control.
        pfc: Pfc,
        /// Source Flow Control.
        sfc: Sfc,
        /// Congestion Isolation.
        congestion_isolation: CongestionIsolation,
        /// Flow control by egress port in networks with relays (`PortFC`).
        portfc: PortFc,
        /// Backward Congestion Notification, the congestion points.
        bcn: Bcn,
        /// Quantized Congestion Notification (IEEE 802.1Qau), the congestion points.
        qcn: Qcn,
        /// Backpressure Flow Control.
        bfc: Bfc,
        /// Credit-based flow control of links, in the place of PFC.
        credits: Credits,
    }
    /// `switch.routing`: choice among several ports on shortest paths. Default: ECMP by a hash of the flow.
    Routing at "switch.routing." in routing {
        /// Each packet takes a port by itself, whatever its flow.
        spray: Spray,
        /// Each packet takes a port by an entropy value of its host (REPS).
        reps: Reps,
        /// Each flowlet takes a port: a flow draws another port after a gap (`LetFlow`).
        flowlet: Flowlet,
        /// Each packet takes the shortest of a few drawn or remembered queues (DRILL).
        drill: Drill,
        /// Each packet, or flowlet, takes the least loaded good port (adaptive routing, DLB).
        adaptive: Adaptive,
        /// Flows leave late paths, and the last switch puts packets in order (`ConWeave`).
        conweave: ConWeave,
    }
}

impl State for Mechanism {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        walk.within(self.name(), |walk| each!(self, m => m.walk(walk)));
    }
}

impl Hooks for Mechanism {
    fn watches(&self) -> Watches {
        each!(self, m => m.watches())
    }
    fn route(
        &mut self,
        packet: &mut Packet,
        choices: &[PortId],
        core: &Core,
        effects: &mut Effects,
    ) -> Option<PortId> {
        each!(self, m => m.route(packet, choices, core, effects))
    }
    fn place_flow(&mut self, packet: &mut Packet, port: PortId, core: &Core) -> Option<QueueId> {
        each!(self, m => m.place_flow(packet, port, core))
    }
    fn assign_queue(
        &mut self,
        packet: &mut Packet,
        port: PortId,
        core: &Core,
        effects: &mut Effects,
    ) -> Option<QueueId> {
        each!(self, m => m.assign_queue(packet, port, core, effects))
    }
    fn admit(&mut self, packet: &mut Packet, place: Place, core: &Core, effects: &mut Effects) -> Admit {
        each!(self, m => m.admit(packet, place, core, effects))
    }
    fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
        each!(self, m => m.on_drop(event, effects));
    }
    #[inline]
    fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_enqueue(event, core, effects));
    }
    #[inline]
    fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_dequeue(event, core, effects));
    }
    fn on_whole(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_whole(event, core, effects));
    }
    fn on_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_departure(event, core, effects));
    }
    fn on_answer_departure(&mut self, event: &mut Departure<'_>, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_answer_departure(event, core, effects));
    }
    fn on_delivered(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_delivered(packet, port, core, effects));
    }
    fn on_answer(&mut self, answer: &Packet, is_over: bool, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_answer(answer, is_over, core, effects));
    }
    fn on_silence(&mut self, flow: u32, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_silence(flow, core, effects));
    }
    fn on_level(&mut self, crossing: Crossing, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_level(crossing, core, effects));
    }
    fn on_control(&mut self, packet: &Packet, port: PortId, core: &Core, effects: &mut Effects) -> Verdict {
        each!(self, m => m.on_control(packet, port, core, effects))
    }
    fn on_pause_request(&mut self, port: PortId, class: u8, is_on: bool, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_pause_request(port, class, is_on, core, effects));
    }
    fn on_link(&mut self, port: PortId, is_up: bool, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_link(port, is_up, core, effects));
    }
    fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
        each!(self, m => m.on_timer(token, core, effects));
    }
    fn pauses_because(&self, from: PortId, class: u8, port: PortId, told: u8) -> bool {
        each!(self, m => m.pauses_because(from, class, port, told))
    }
    fn counters(&self, add: &mut dyn FnMut(PortId, u8, u32, u32)) {
        each!(self, m => m.counters(add));
    }

    fn pause_frames(&self, port: PortId, class: u8) -> PauseFrames {
        each!(self, m => m.pause_frames(port, class))
    }
    fn standing_pauses(&self, add: &mut dyn FnMut(PortId, u8)) {
        each!(self, m => m.standing_pauses(add));
    }
    fn counts(&self, now: Moment, tally: &mut dyn Tally) {
        each!(self, m => m.counts(now, tally));
    }
}

/// A given mechanism: [`Install`] with its table.
pub trait Part {
    /// Returns the key in the table.
    fn name(&self) -> &'static str;
    /// Returns the path of the table in the scenario.
    fn path(&self) -> &str;
    /// Returns the label in messages.
    fn label(&self) -> &'static str;
    /// See [`Install::LISTENS_TO`].
    fn listens_to(&self) -> Option<(&'static str, &'static str)>;
    /// See [`Install::properties`].
    fn properties(&self) -> Properties;
    /// See [`Install::validate`].
    fn validate(&self, context: &ValidationContext<'_>) -> Result<(), ParamError>;
    /// See [`Install::check_port`].
    fn check_port(&self, ingress: &Ingress<'_>, levels: Option<&Levels>) -> Result<(), ParamError>;
    /// See [`Install::levels`].
    fn levels(&self, ingress: &Ingress<'_>) -> Option<Levels>;
    /// See [`Install::warn`].
    fn warn(&self, levels: &Levels) -> Option<ParamError>;
    /// See [`Install::warn_port`].
    fn warn_port(&self, ingress: &Ingress<'_>) -> Option<ParamError>;
    /// See [`Install::queues`].
    fn queues(&self, port_shape: &PortShape<'_>, node: u32, port: PortId) -> Option<Vec<QueueSpec>>;
    /// See [`Install::most_relays`].
    fn most_relays(&self, above: u32) -> Option<(&'static str, u32, &'static str)>;
    /// See [`Install::queue_toward`].
    fn queue_toward(
        &self,
        wiring: &Wiring,
        node: u32,
        port: PortId,
        next: PortId,
        third: Option<PortId>,
    ) -> Option<QueueId>;
    /// See [`Install::waits_for`].
    fn waits_for(&self, wiring: &Wiring, queue: QueueAt) -> Vec<QueueAt>;
    /// See [`Install::install`].
    fn install(&self, site: &Site<'_>, core: &mut Core) -> Option<Mechanism>;
    /// See [`Install::install_at`]; `mechanism` was installed by the same part of another table.
    fn install_at(&self, port: PortId, mechanism: &mut Mechanism);
}

/// Calls a function with a mechanism of this type.
type Mine<M> = fn(&mut Mechanism, &mut dyn FnMut(&mut M));

/// A given mechanism, with the type.
struct Given<'a, M: Install> {
    name: &'static str,
    path: Cow<'static, str>,
    params: &'a M::Params,
    wrap: fn(&'static str, M) -> Mechanism,
    mine: Mine<M>,
}

impl<M: Install> Part for Given<'_, M> {
    fn name(&self) -> &'static str {
        self.name
    }
    fn path(&self) -> &str {
        &self.path
    }
    fn label(&self) -> &'static str {
        M::LABEL
    }
    fn listens_to(&self) -> Option<(&'static str, &'static str)> {
        M::LISTENS_TO
    }
    fn properties(&self) -> Properties {
        M::properties(self.params)
    }
    fn validate(&self, context: &ValidationContext<'_>) -> Result<(), ParamError> {
        M::validate(self.params, context)
    }
    fn check_port(&self, ingress: &Ingress<'_>, levels: Option<&Levels>) -> Result<(), ParamError> {
        M::check_port(self.params, ingress, levels)
    }
    fn levels(&self, ingress: &Ingress<'_>) -> Option<Levels> {
        M::levels(self.params, ingress)
    }
    fn warn(&self, levels: &Levels) -> Option<ParamError> {
        M::warn(self.params, levels)
    }
    fn warn_port(&self, ingress: &Ingress<'_>) -> Option<ParamError> {
        M::warn_port(self.params, ingress)
    }
    fn queues(&self, port_shape: &PortShape<'_>, node: u32, port: PortId) -> Option<Vec<QueueSpec>> {
        M::queues(self.params, port_shape, node, port)
    }
    fn most_relays(&self, above: u32) -> Option<(&'static str, u32, &'static str)> {
        M::most_relays(self.params, above)
    }
    fn queue_toward(
        &self,
        wiring: &Wiring,
        node: u32,
        port: PortId,
        next: PortId,
        third: Option<PortId>,
    ) -> Option<QueueId> {
        M::queue_toward(wiring, node, port, next, third)
    }
    fn waits_for(&self, wiring: &Wiring, queue: QueueAt) -> Vec<QueueAt> {
        M::waits_for(wiring, queue)
    }
    fn install(&self, site: &Site<'_>, core: &mut Core) -> Option<Mechanism> {
        M::install(self.params, site, core).map(|mechanism| (self.wrap)(self.name, mechanism))
    }
    fn install_at(&self, port: PortId, mechanism: &mut Mechanism) {
        (self.mine)(mechanism, &mut |m| m.install_at(port, self.params));
    }
}

static REGISTRY: Registry<Vtable> = Registry::new();

/// What the core does with a mechanism of a plug-in.
#[derive(Debug)]
pub struct Vtable {
    pub(crate) group: Group,
    part: for<'a> fn(&'static str, &'a dyn Params) -> Box<dyn Part + 'a>,
    properties: fn(&dyn Params) -> Properties,
}

impl PartKind for Vtable {
    const KIND: &'static str = "mechanism";

    fn registry() -> &'static Registry<Self> {
        &REGISTRY
    }
}

impl Entry<Vtable> {
    /// A mechanism with the key `switch.plugins.NAME`.
    pub const fn mechanism<M>(name: &'static str, about: &'static str) -> Self
    where
        M: Install + AnyMechanism + Clone,
        M::Params: Params + DeserializeOwned + JsonSchema,
    {
        let part = Vtable {
            group: Group { name, label: M::LABEL, counts: M::COUNTS, listens_to: listened(M::LISTENS_TO) },
            part: |name, params| {
                let wrap = |name, mechanism| Mechanism::Plugin(Foreign::new(name, mechanism));
                let mine = |mechanism: &mut Mechanism, call: &mut dyn FnMut(&mut M)| {
                    if let Mechanism::Plugin(foreign) = mechanism
                        && let Some(mechanism) = foreign.get_mut()
                    {
                        call(mechanism);
                    }
                };
                let path = format!("switch.plugins.{name}").into();
                Box::new(Given::<M> { name, path, params: params.get(), wrap, mine })
            },
            properties: |params| M::properties(params.get()),
        };
        Self::of::<M::Params>(name, about, part)
    }

    /// Returns the mechanism with given parameters.
    fn given<'a>(&self, params: &'a dyn Params) -> Box<dyn Part + 'a> {
        (self.part.part)(self.name, params)
    }

    /// Returns the properties of the mechanism with given parameters.
    fn properties(&self, params: &dyn Params) -> Properties {
        (self.part.properties)(params)
    }
}

/// The path of a key of a table, or of the table.
pub fn at(path: &str, key: &str) -> String {
    if key.is_empty() { path.to_string() } else { format!("{path}.{key}") }
}

/// A predicate on properties.
type Holds = fn(&Properties) -> bool;

/// Actions that at most one mechanism may do, and their names in errors.
const EXCLUSIVE: [(Holds, &str); 2] =
    [(|p| p.assigns_queues, "chooses queues for packets"), (|p| p.routes, "chooses ports for packets")];

impl Tables {
    /// Returns the given mechanisms with their properties.
    pub fn others(&self) -> Vec<Other> {
        self.parts().iter().map(|p| Other { name: p.name(), properties: p.properties() }).collect()
    }

    /// True when `holds` is true of any given mechanism.
    pub fn any(&self, holds: impl Fn(&Properties) -> bool) -> bool {
        self.properties().any(|p| holds(&p))
    }

    /// Returns the time after which a neighbour obeys a pause.
    pub fn response(&self) -> Option<Response> {
        self.properties().find_map(|p| p.response)
    }

    /// Refuses keys without a meaning: the key, the problem, and the remedy.
    pub fn validate(
        &self,
        classes: u8,
        queueing: Queueing,
        memory: &buffer::Params,
        framing: &Framing,
    ) -> Result<(), (String, String)> {
        let all = self.others();
        let parts = self.parts();
        for part in &parts {
            let others: Vec<Other> = all.iter().copied().filter(|o| o.name != part.name()).collect();
            let context = ValidationContext { others: &others, classes, queueing, memory, framing };
            part.validate(&context).map_err(|(key, why)| (at(part.path(), key), why))?;
        }
        for (does, what) in EXCLUSIVE {
            let mut owners = parts.iter().filter(|p| does(&p.properties()));
            if let (Some(first), Some(second)) = (owners.next(), owners.next()) {
                return Err((second.path().into(), remove(format!("{what}, as does {}", first.name()))));
            }
        }
        self.validate_tags(&parts)?;
        if let (Some(routes), Some(foretells)) =
            (parts.iter().find(|p| p.properties().routes), all.iter().find(|o| o.properties.foretells_routes))
        {
            let why = remove(format!(
                "not allowed with {}, which relies on the ports chosen by ECMP",
                foretells.name
            ));
            return Err((routes.path().into(), why));
        }
        Ok(())
    }

    /// Refuses mechanisms that write onto packets and leave no room for one another: a record beside the packet takes the
    /// place of the tag.
    fn validate_tags(&self, parts: &[Box<dyn Part + '_>]) -> Result<(), (String, String)> {
        let properties: Vec<Properties> = parts.iter().map(|part| part.properties()).collect();
        let has_record = properties.iter().any(|p| p.writes_beside_data);
        let has_room = tag::share(&[], self.tag_bits()).is_some();
        let is_writer = |p: &Properties| p.tag_bits > 0 || p.writes_beside_data;
        let mut writers = parts.iter().zip(&properties).filter(|(_, p)| is_writer(p)).map(|(part, _)| part);
        if let (true, Some(first), Some(second)) =
            (has_record || !has_room, writers.next(), writers.next_back())
        {
            let why = remove(format!("writes onto packets, as does {}", first.name()));
            return Err((second.path().into(), why));
        }
        Ok(())
    }

    /// Returns the bits of each mechanism in the tag of packets.
    pub fn tag_bits(&self) -> Vec<(&'static str, u8)> {
        self.parts().iter().map(|part| (part.name(), part.properties().tag_bits)).collect()
    }

    /// Returns the levels of an ingress port of a forwarding node.
    pub fn levels(&self, ingress: &Ingress<'_>) -> Option<Levels> {
        self.parts().iter().find_map(|p| p.levels(ingress))
    }

    /// Returns the classes without drops at an ingress port with these mechanisms.
    pub fn lossless(&self) -> ClassSet {
        self.classes(|p| p.is_lossless, |p| p.pausing)
    }

    /// Returns the classes of which the neighbour of a port may be stopped, and of which the neighbour may
    /// stop the port.
    pub fn stopped(&self) -> [ClassSet; 2] {
        [self.classes(|p| p.can_deadlock, |p| p.pausing), self.classes(|p| p.can_deadlock, |p| p.obeying)]
    }

    fn classes(
        &self,
        holds: impl Fn(&Properties) -> bool,
        of: impl Fn(&Properties) -> Option<ClassSet>,
    ) -> ClassSet {
        let all = self.properties().filter(holds).map(|p| of(&p).unwrap_or(ClassSet::ALL));
        all.fold(ClassSet::NONE, ClassSet::or)
    }

    /// Returns the owner of memory, if a mechanism decides.
    pub fn accounting(&self) -> Option<Accounting> {
        self.properties().find_map(|p| p.accounting)
    }

    /// Reorder queues of each class at a port of a switch with hosts.
    pub fn reorder_queues(&self) -> u8 {
        self.properties().map(|p| p.reorder_queues).fold(0, u8::max)
    }

    /// Returns the number of queues of a host's interface.
    pub fn interface_queues(&self) -> u8 {
        self.properties().map(|p| p.interface_queues).fold(1, u8::max)
    }
}

/// The mechanisms of a node, and the hooks that they watch.
#[derive(Debug, Clone)]
pub struct Mechanisms {
    list: Box<[Mechanism]>,
    /// For each hook, by the number of its bit: a bit for each watching mechanism.
    wanting: [u16; Watches::HOOKS],
    all: Watches,
}

state!(Mechanisms {
    part: list;
    constant: wanting, all;
});

impl Mechanisms {
    /// Makes the list, in the order of hook calls.
    pub fn new(list: Vec<Mechanism>) -> Self {
        let watches: Vec<_> = list.iter().map(Mechanism::watches).collect();
        let among =
            |hook| watches.iter().enumerate().fold(0, |bits, (i, w)| bits | u16::from(w.has(hook)) << i);
        let all = watches.iter().fold(Watches::NONE, |all, w| all.and(*w));
        Self {
            wanting: std::array::from_fn(|number| among(Watches::numbered(number))),
            all,
            list: list.into(),
        }
    }

    /// True when any mechanism watches a hook.
    #[inline]
    pub const fn want(&self, hook: Watches) -> bool {
        self.all.has(hook)
    }

    /// Calls `f` for each mechanism that watches `hook`.
    #[inline]
    pub fn each(
        &mut self,
        hook: Watches,
        core: &Core,
        effects: &mut Effects,
        mut f: impl FnMut(&mut Mechanism, &Core, &mut Effects),
    ) {
        let mut wanting = self.wanting[hook.number()];
        while wanting != 0 {
            let owner = wanting.trailing_zeros() as u8;
            wanting &= wanting - 1;
            effects.owner = owner;
            f(&mut self.list[usize::from(owner)], core, effects);
        }
    }

    /// Calls `f` for the mechanism of this number.
    pub fn one(
        &mut self,
        owner: u8,
        core: &Core,
        effects: &mut Effects,
        f: impl FnOnce(&mut Mechanism, &Core, &mut Effects),
    ) {
        effects.owner = owner;
        f(&mut self.list[usize::from(owner)], core, effects);
    }

    /// Returns the name of the mechanism of this number.
    pub fn name(&self, owner: u8) -> &'static str {
        self.list[usize::from(owner)].name()
    }

    /// Returns the reason of drops by the mechanism of this number.
    pub fn drops_as(&self, owner: u8) -> &'static str {
        self.list[usize::from(owner)].drops_as()
    }

    /// Returns all mechanisms.
    pub fn iter(&self) -> impl Iterator<Item = &Mechanism> {
        self.list.iter()
    }
}
