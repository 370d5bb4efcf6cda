//! Mechanisms at switches and network interfaces: flow control, marking, congestion points. Their registry stands here.

mod congestion_point;
pub mod ecn;

use xoff_units::Time;

use self::ecn::Ecn;
use crate::mechanism::{Around, Core, Crossing, Dequeued, Effects, Enqueued, Hooks, Install, Queueing, Site, Verdict, Watches};
use crate::packet::Packet;

/// Makes the table `switch.flow_control` and the enum of all mechanisms. A line names a module, which is the table's key and
/// holds `Params`, and the mechanism's type; the line's comment is the documentation of the key.
macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident: $name:ident),* $(,)?) => {
        $(pub mod $module;)*

        /// `switch.flow_control`: each mechanism at most once.
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct FlowControl {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Params>,)*
        }

        impl FlowControl {
            /// Puts what is configured onto a node, in the order of the registry.
            pub fn install(&self, site: &Site<'_>, core: &mut Core, list: &mut Vec<Mechanism>) {
                $(list.extend(self.$module.as_ref().and_then(|p| $module::$name::install(p, site, core)).map(Mechanism::$name));)*
            }

            /// Says which key makes no sense, what is wrong, and what would be right.
            pub fn validate(&self, classes: u8, queueing: Queueing) -> Result<(), (String, String)> {
                let around = Around { flow_control: self, classes, queueing };
                $(if let Some(Err((key, why))) = self.$module.as_ref().map(|p| $module::$name::validate(p, &around)) {
                    return Err((format!("{}.{key}", stringify!($module)), why));
                })*
                let mut owner = None;
                $(if self.$module.as_ref().is_some_and($module::$name::assigns_queues) {
                    if let Some(other) = owner {
                        return Err((stringify!($module).into(), format!("it chooses queues for packets, and so does {other}; only one may")));
                    }
                    owner = Some(stringify!($module));
                })*
                let _ = owner;
                Ok(())
            }

            /// Whether nothing should be dropped.
            pub fn is_lossless(&self) -> bool {
                self.pfc.is_some() || self.portfc.is_some()
            }

            /// Congestion queues for each class.
            pub fn congestion_queues(&self) -> usize {
                0 $(+ self.$module.as_ref().map_or(0, $module::$name::congestion_queues))*
            }

            /// The data queues of a port, when a mechanism plans them.
            pub fn queues(&self, site: &Site<'_>, port: usize) -> Option<Vec<(u8, u8)>> {
                None$(.or_else(|| self.$module.as_ref().and_then(|p| $module::$name::queues(p, site, port))))*
            }

            /// Queues of a host's interface.
            pub fn interface_queues(&self) -> u8 {
                1 $(.max(self.$module.as_ref().map_or(1, $module::$name::interface_queues)))*
            }
        }

        /// Every mechanism there is.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant, reason = "a node holds a handful, and those on every packet's way want no pointer")]
        pub enum Mechanism {
            /// Marking, which `switch.ecn` configures.
            Ecn(Ecn),
            $($(#[doc = $doc])* $name($module::$name),)*
        }

        impl Mechanism {
            /// Its name in scenarios and summaries.
            pub const fn name(&self) -> &'static str {
                match self {
                    Self::Ecn(_) => "ecn",
                    $(Self::$name(_) => stringify!($module),)*
                }
            }
        }

        impl Hooks for Mechanism {
            fn watches(&self) -> Watches {
                match self { Self::Ecn(m) => m.watches(), $(Self::$name(m) => m.watches(),)* }
            }
            fn queue_of_flow(&mut self, packet: &Packet, port: usize, core: &Core) -> Option<usize> {
                match self {
                    Self::Ecn(m) => m.queue_of_flow(packet, port, core),
                    $(Self::$name(m) => m.queue_of_flow(packet, port, core),)*
                }
            }
            fn assign_queue(&mut self, packet: &mut Packet, port: usize, core: &Core, effects: &mut Effects) -> Option<usize> {
                match self {
                    Self::Ecn(m) => m.assign_queue(packet, port, core, effects),
                    $(Self::$name(m) => m.assign_queue(packet, port, core, effects),)*
                }
            }
            fn on_drop(&mut self, event: &Enqueued<'_>, effects: &mut Effects) {
                match self {
                    Self::Ecn(m) => m.on_drop(event, effects),
                    $(Self::$name(m) => m.on_drop(event, effects),)*
                }
            }
            #[inline]
            fn on_enqueue(&mut self, event: &Enqueued<'_>, core: &Core, effects: &mut Effects) {
                match self { Self::Ecn(m) => m.on_enqueue(event, core, effects), $(Self::$name(m) => m.on_enqueue(event, core, effects),)* }
            }
            #[inline]
            fn on_dequeue(&mut self, event: &Dequeued<'_>, core: &Core, effects: &mut Effects) {
                match self { Self::Ecn(m) => m.on_dequeue(event, core, effects), $(Self::$name(m) => m.on_dequeue(event, core, effects),)* }
            }
            fn on_level(&mut self, crossing: Crossing, core: &Core, effects: &mut Effects) {
                match self { Self::Ecn(m) => m.on_level(crossing, core, effects), $(Self::$name(m) => m.on_level(crossing, core, effects),)* }
            }
            fn on_control(&mut self, packet: &Packet, port: usize, core: &Core, effects: &mut Effects) -> Verdict {
                match self {
                    Self::Ecn(m) => m.on_control(packet, port, core, effects),
                    $(Self::$name(m) => m.on_control(packet, port, core, effects),)*
                }
            }
            fn on_pause_request(&mut self, port: usize, class: u8, is_on: bool, core: &Core, effects: &mut Effects) {
                match self {
                    Self::Ecn(m) => m.on_pause_request(port, class, is_on, core, effects),
                    $(Self::$name(m) => m.on_pause_request(port, class, is_on, core, effects),)*
                }
            }
            fn on_timer(&mut self, token: u32, core: &Core, effects: &mut Effects) {
                match self { Self::Ecn(m) => m.on_timer(token, core, effects), $(Self::$name(m) => m.on_timer(token, core, effects),)* }
            }
            fn pauses_because(&self, from: usize, class: u8, port: usize, told: u8) -> bool {
                match self {
                    Self::Ecn(m) => m.pauses_because(from, class, port, told),
                    $(Self::$name(m) => m.pauses_because(from, class, port, told),)*
                }
            }
            fn counts(&self, now: Time, add: &mut dyn FnMut(&'static str, u64)) {
                match self { Self::Ecn(m) => m.counts(now, add), $(Self::$name(m) => m.counts(now, add),)* }
            }
        }
    };
}

registry! {
    /// Priority-based Flow Control.
    pfc: Pfc,
    /// Source Flow Control.
    sfc: Sfc,
    /// Congestion Isolation.
    congestion_isolation: CongestionIsolation,
    /// Flow control by egress port where nodes relay (`PortFC`).
    portfc: PortFc,
    /// Backward Congestion Notification, the congestion points.
    bcn: Bcn,
    /// Quantized Congestion Notification (IEEE 802.1Qau), the congestion points.
    qcn: Qcn,
}
