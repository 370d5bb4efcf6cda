//! Transports: retransmission at senders, and answers of receivers. The registry of transports is in this
//! file.

pub mod contract;
pub(crate) mod plugin;
pub mod sack_bitmap;

use xoff_engine::state::{State, StateVisitor};
use xoff_units::{Duration, Moment};

use self::contract::{Arrival, News, Progress, Received, Replies, Transport};
use self::plugin::Foreign;
pub use self::plugin::Vtable;
use crate::frames::framing::Framing;
use crate::frames::packet::Packet;
use crate::hosts::pulls::Rules;
use crate::parts::count::{Group, listened};
use crate::parts::plugin_parts::{FlowState, Given};
use crate::paths::line::Line;

/// Makes the table `host.transport` and the enums of all transports. A line names a module, which is the key
/// in the table and holds `Params`, and the transport's type; the line's comment is the documentation of the
/// key. The first is the default.
macro_rules! registry {
    (($d:tt) $(#[doc = $about:literal])* table; $($(#[doc = $doc:literal])* $module:ident: $name:ident,)*) => {
        $(pub mod $module;)*

        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "Transport")]
        pub struct Table {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Params>,)*
            /// Transports of plug-ins.
            #[serde(default, skip_serializing_if = "Given::is_empty")]
            pub plugins: Given<Vtable>,
        }

        /// The transport of all flows.
        #[derive(Debug, Clone)]
        pub enum Protocol {
            $($(#[doc = $doc])* $name($module::$name),)*
            /// A transport of a plug-in.
            Plugin(Foreign),
        }

        /// A sender's state of a flow beside the progress of the flow.
        #[derive(Debug, Clone)]
        pub enum Sender {
            $($(#[doc = $doc])* $name(<$module::$name as Transport>::Sender),)*
            /// A transport of a plug-in.
            Plugin(Box<FlowState>),
        }

        /// A receiver's state of a flow beside the received packets.
        #[derive(Debug, Clone)]
        pub enum Receiver {
            $($(#[doc = $doc])* $name(<$module::$name as Transport>::Receiver),)*
            /// A transport of a plug-in.
            Plugin(Box<FlowState>),
        }


        /// Counts of each transport, given or not.
        pub const GROUPS: &[Group] =
            &[$(Group { name: stringify!($module), label: $module::$name::LABEL, counts: $module::$name::COUNTS, listens_to: listened($module::$name::LISTENS_TO) },)*];

        const NAMES: &[&str] = &[$(stringify!($module)),*];

        impl Table {
            fn given(&self) -> Vec<&'static str> {
                let mut list = Vec::new();
                $(list.extend(self.$module.as_ref().map(|_| stringify!($module)));)*
                list.extend(self.plugins.iter().map(|(entry, _)| entry.name));
                list
            }

            fn first(&self, framing: &Framing) -> Option<Protocol> {
                let foreign = || self.plugins.iter().next().map(|(entry, params)| entry.make(params, framing));
                None$(.or_else(|| self.$module.as_ref().map(|p| Protocol::$name(Transport::new(p, framing)))))*
                    .or_else(|| foreign().map(Protocol::Plugin))
            }

            fn default(line: Line) -> Protocol {
                let all = [$(|line: Line| {
                    let params = <$module::$name as Transport>::settled(&$module::Params::default(), line);
                    Protocol::$name(Transport::new(&params, &line.framing))
                }),*];
                all[0](line)
            }

            /// Returns the same table with defaults that follow from a line or from other parameters.
            #[must_use]
            pub fn settled(&self, line: Line) -> Self {
                Self {
                    $($module: self.$module.as_ref().map(|p| <$module::$name as Transport>::settled(p, line)),)*
                    plugins: self.plugins.map(|entry, params| entry.settled(params, line)),
                }
            }

            /// Warns of the given tables for a line: the key below `host.transport`, and problem with remedy.
            pub fn warn(&self, line: Line) -> Vec<(String, String)> {
                let mut list = Vec::new();
                $(if let Some((key, why)) = self.$module.as_ref().and_then(|params| <$module::$name as Transport>::warn(params, line)) {
                    list.push((format!("{}.{key}", stringify!($module)), why));
                })*
                for (entry, params) in self.plugins.iter() {
                    list.extend(entry.warn(params, line).map(|(key, why)| (format!("plugins.{}.{key}", entry.name), why)));
                }
                list
            }

            /// True when a default follows from the longest round trip of the network.
            pub fn wants_round_trip(&self) -> bool {
                false$(|| self.$module.as_ref().is_some_and(<$module::$name as Transport>::wants_round_trip))*
                    || self.plugins.iter().any(|(entry, params)| entry.wants_round_trip(params))
            }

            /// Returns the first invalid key, the problem and the remedy.
            pub fn validate(&self, framing: &Framing) -> Result<(), (String, String)> {
                let given = self.given();
                if given.len() > 1 {
                    let all = NAMES.join(", ");
                    return Err(("host.transport".into(), format!("{} are given; give at most one of {all}", given.join(" and "))));
                }
                $(if let Some(Err((key, why))) = self.$module.as_ref().map(|p| $module::$name::validate(p, framing)) {
                    return Err((format!("host.transport.{}.{key}", stringify!($module)), why));
                })*
                self.plugins.iter().try_for_each(|(entry, params)| {
                    let path = format!("host.transport.plugins.{}", entry.name);
                    entry.validate(params, framing).map_err(|(key, why)| (crate::mechanisms::at(&path, key), why))
                })
            }
        }

        impl State for Sender {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                match self {
                    $(Self::$name(state) => walk.within(stringify!($module), |walk| state.walk(walk)),)*
                    Self::Plugin(state) => walk.within("plugins", |walk| state.walk(walk)),
                }
            }
        }

        impl State for Receiver {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                match self {
                    $(Self::$name(state) => walk.within(stringify!($module), |walk| state.walk(walk)),)*
                    Self::Plugin(state) => walk.within("plugins", |walk| state.walk(walk)),
                }
            }
        }

        impl Protocol {
            /// The name in scenarios and summaries.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($module),)* Self::Plugin(t) => t.entry.name }
            }

            /// True when receivers answer and senders retransmit. Without answers a flow ends at the source
            /// with the last packet.
            #[inline]
            pub const fn acknowledges(&self) -> bool {
                match self { $(Self::$name(_) => $module::$name::ACKNOWLEDGES,)* Self::Plugin(t) => t.entry.part.acknowledges }
            }

            /// See [`Transport::FOLDS`].
            pub const fn folds(&self) -> bool {
                match self { $(Self::$name(_) => $module::$name::FOLDS,)* Self::Plugin(_) => false }
            }

            /// See [`Transport::BEARS_REORDERING`].
            pub const fn bears_reordering(&self) -> bool {
                match self { $(Self::$name(_) => $module::$name::BEARS_REORDERING,)* Self::Plugin(t) => t.entry.part.bears_reordering }
            }

            /// See [`Transport::WINDOWS_HOLD_LOST`].
            #[inline]
            pub const fn windows_hold_lost(&self) -> bool {
                match self { $(Self::$name(_) => $module::$name::WINDOWS_HOLD_LOST,)* Self::Plugin(t) => t.entry.part.windows_hold_lost }
            }

            /// See [`Transport::LISTENS_TO`].
            pub const fn listens_to(&self) -> Option<(&'static str, &'static str)> {
                match self { $(Self::$name(_) => $module::$name::LISTENS_TO,)* Self::Plugin(t) => t.entry.part.listens_to }
            }

            /// State of a flow that starts.
            pub fn sender(&self) -> Sender {
                match self { $(Self::$name(t) => Sender::$name(t.sender()),)* Self::Plugin(t) => Sender::Plugin(Box::new(t.sender())) }
            }

            /// State of a flow that begins to arrive.
            pub fn receiver(&self) -> Receiver {
                match self {
                    $(Self::$name(_) => Receiver::$name(Default::default()),)*
                    Self::Plugin(t) => Receiver::Plugin(Box::new(t.receiver())),
                }
            }
        }

        impl Protocol {
            /// See [`Transport::on_data`].
            #[inline]
            pub fn on_data(
                &self,
                received: &mut Received,
                receiver: &mut Receiver,
                packet: &Packet,
                replies: &mut Replies,
            ) -> Arrival {
                match (self, receiver) {
                    $((Self::$name(t), Receiver::$name(r)) => t.on_data(received, r, packet, replies),)*
                    (Self::Plugin(t), Receiver::Plugin(r)) => t.on_data(received, r, packet, replies),
                    _ => unreachable!("a flow keeps the state of one transport"),
                }
            }

            /// See [`Transport::on_header`].
            pub fn on_header(
                &self,
                received: &mut Received,
                receiver: &mut Receiver,
                header: &Packet,
                replies: &mut Replies,
            ) {
                match (self, receiver) {
                    $((Self::$name(t), Receiver::$name(r)) => t.on_header(received, r, header, replies),)*
                    (Self::Plugin(t), Receiver::Plugin(r)) => t.on_header(received, r, header, replies),
                    _ => unreachable!("a flow keeps the state of one transport"),
                }
            }
        }

        macro_rules! each {
            ($d self:expr, $d t:ident => $d call:expr) => {
                match $d self { $(Protocol::$name($d t) => $d call,)* Protocol::Plugin($d t) => $d call }
            };
            ($d self:expr, $d state:expr, $d kind:ident, ($d t:ident, $d s:ident) => $d call:expr) => {
                match ($d self, $d state) {
                    $((Protocol::$name($d t), $d kind::$name($d s)) => $d call,)*
                    (Protocol::Plugin($d t), $d kind::Plugin($d s)) => $d call,
                    _ => unreachable!("a flow keeps the state of one transport"),
                }
            };
        }
    };
}

registry! {
    ($)
    /// `host.transport`: at most one transport. Default: Go-Back-N with its defaults.
    table;
    /// Go-Back-N.
    go_back_n: GoBackN,
    /// IRN.
    irn: Irn,
    /// Packets in any order: headers of trimmed packets report losses, and gaps do not.
    selective: Selective,
    /// NDP: receivers pull packets beyond a first window.
    ndp: Ndp,
    /// Raw frames: no acknowledgements and no retransmissions.
    raw: Raw,
}

impl Protocol {
    /// Returns the configured transport for hosts at a line.
    pub fn new(table: &Table, line: Line) -> Self {
        table.settled(line).first(&line.framing).unwrap_or_else(|| Table::default(line))
    }

    /// See [`Transport::pulls`].
    pub fn pulls(&self, line: Line) -> Option<Rules> {
        each!(self, t => t.pulls(line))
    }

    /// See [`Transport::next`].
    #[inline]
    pub fn next(&self, progress: &Progress, sender: &Sender) -> Option<u32> {
        each!(self, sender, Sender, (t, s) => t.next(progress, s))
    }

    /// Records the start of packet `seq`.
    #[inline]
    pub fn on_sent(&self, progress: &mut Progress, sender: &mut Sender, seq: u32, now: Moment) {
        each!(self, sender, Sender, (t, s) => t.on_sent(progress, s, seq, now));
        progress.highest = progress.highest.max(seq + 1);
    }

    /// See [`Transport::in_flight`].
    #[inline]
    pub fn in_flight(&self, progress: &Progress, sender: &Sender) -> u32 {
        each!(self, sender, Sender, (t, s) => t.in_flight(progress, s))
    }

    /// See [`Transport::delivered`].
    #[inline]
    pub fn delivered(&self, progress: &Progress, sender: &Sender) -> u32 {
        each!(self, sender, Sender, (t, s) => t.delivered(progress, s))
    }

    /// See [`Transport::deadline`].
    #[inline]
    pub fn deadline(&self, progress: &Progress, sender: &Sender, now: Moment) -> Moment {
        each!(self, sender, Sender, (t, s) => t.deadline(progress, s, now))
    }

    /// See [`Transport::timeouts`].
    pub fn timeouts(&self) -> (Duration, Duration) {
        each!(self, t => t.timeouts())
    }

    /// See [`Transport::on_answer`].
    #[inline]
    pub fn on_answer(&self, progress: &mut Progress, sender: &mut Sender, frame: &Packet) -> News {
        each!(self, sender, Sender, (t, s) => t.on_answer(progress, s, frame))
    }

    /// See [`Transport::on_also`].
    pub fn on_also(&self, progress: &mut Progress, sender: &mut Sender, seq: u32) -> bool {
        each!(self, sender, Sender, (t, s) => t.on_also(progress, s, seq))
    }

    /// See [`Transport::coalesces`].
    #[inline]
    pub fn coalesces(&self) -> bool {
        each!(self, t => t.coalesces())
    }

    /// See [`Transport::on_bounce`].
    pub fn on_bounce(&self, progress: &mut Progress, sender: &mut Sender, seq: u32, pulled: u32) -> bool {
        each!(self, sender, Sender, (t, s) => t.on_bounce(progress, s, seq, pulled))
    }

    /// See [`Transport::on_timeout`].
    pub fn on_timeout(&self, progress: &mut Progress, sender: &mut Sender, now: Moment) -> u32 {
        each!(self, sender, Sender, (t, s) => t.on_timeout(progress, s, now))
    }
}
