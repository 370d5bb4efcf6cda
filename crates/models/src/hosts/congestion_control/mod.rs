//! Congestion control: the rate and the window of a flow. The registry of congestion controls is in this
//! file.

pub mod contract;
mod limiter;
pub(crate) mod plugin;

use xoff_engine::state::{self, StateVisitor};
use xoff_units::{Duration, Moment};

use self::contract::{
    Ack, Control, Echo, Hosts, Line, Loss, NewFlow, Notice, Outbox, Peer, Receiving, Sent, Tag, Tally,
};
use self::plugin::Foreign;
pub use self::plugin::Vtable;
use crate::frames::packet::Packet;
use crate::frames::tag::{self, TagUse};
use crate::hosts::pulls::Rules;
use crate::parts::count::{Group, listened};
use crate::parts::plugin_parts::{FlowState, Given};

/// Makes the table `host.congestion_control` and the enums of all congestion controls. A line names a module
/// and a type. The module is the key in the table and holds `Params`; the comment is the documentation of the
/// key.
macro_rules! registry {
    (($d:tt) $(#[doc = $about:literal])* table; $($(#[doc = $doc:literal])* $module:ident: $name:ident,)*) => {
        $(pub mod $module;)*

        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct CongestionControl {
            $($(#[doc = $doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $module: Option<$module::Params>,)*
            /// Congestion controls of plug-ins.
            #[serde(default, skip_serializing_if = "Given::is_empty")]
            pub plugins: Given<Vtable>,
        }

        /// A congestion control with parameters resolved for one line rate, shared by all flows of a port.
        #[derive(Debug, Clone)]
        pub enum Scheme {
            /// Line rate.
            None,
            $($(#[doc = $doc])* $name($module::$name),)*
            /// A congestion control of a plug-in.
            Plugin(Foreign),
        }

        /// A flow's state, boxed so that a flow without congestion control is small.
        #[derive(Debug, Clone)]
        pub enum State {
            /// Line rate.
            None,
            $($(#[doc = $doc])* $name(Box<<$module::$name as Control>::State>),)*
            /// A congestion control of a plug-in.
            Plugin(Box<FlowState>),
        }

        /// Counts of each congestion control, given or not.
        pub const GROUPS: &[Group] =
            &[$(Group { name: stringify!($module), label: $module::$name::LABEL, counts: $module::$name::COUNTS, listens_to: listened($module::$name::LISTENS_TO) },)*];

        const NAMES: &[&str] = &[$(stringify!($module)),*];
        /// Names of the congestion controls with pulls; empty names for the rest.
        const PULL: &[&str] = &[$(if $module::$name::PULLS { stringify!($module) } else { "" }),*];

        impl CongestionControl {
            /// The names of the given congestion controls.
            pub fn given(&self) -> Vec<&'static str> {
                let mut list = Vec::new();
                $(list.extend(self.$module.as_ref().map(|_| stringify!($module)));)*
                list.extend(self.plugins.iter().map(|(entry, _)| entry.name));
                list
            }

            /// Returns the first invalid key, the problem and the remedy.
            pub fn validate(&self, hosts: &Hosts<'_>) -> Result<(), (String, String)> {
                let given = self.given();
                let foreign = self.plugins.iter().filter(|(entry, _)| entry.part.pulls).count();
                let pulls = given.iter().filter(|name| PULL.contains(name)).count() + foreign;
                if pulls > 1 || given.len() > 1 + pulls {
                    let all: Vec<&str> = NAMES.iter().copied().filter(|name| pulls > 1 || !PULL.contains(name)).collect();
                    let why = format!("{} are given; give at most one of {}", given.join(" and "), all.join(", "));
                    return Err(("host.congestion_control".into(), why));
                }
                $(if let Some(params) = &self.$module {
                    let path = concat!("host.congestion_control.", stringify!($module));
                    $module::$name::validate(params, hosts).map_err(|(key, why)| (crate::mechanisms::at(path, key), why))?;
                })*
                self.plugins.iter().try_for_each(|(entry, params)| {
                    let path = format!("host.congestion_control.plugins.{}", entry.name);
                    entry.validate(params, hosts).map_err(|(key, why)| (crate::mechanisms::at(&path, key), why))
                })
            }

            /// Returns the same table with defaults that follow from a line or a preset.
            #[must_use]
            pub fn settled(&self, line: Line) -> Self {
                Self {
                    $($module: self.$module.as_ref().map(|p| <$module::$name as Control>::settled(p, line)),)*
                    plugins: self.plugins.map(|entry, params| entry.settled(params, line)),
                }
            }

            /// Warns of the given tables for a line: the key below `host.congestion_control`, and problem with remedy.
            pub fn warn(&self, line: Line) -> Vec<(String, String)> {
                let mut list = Vec::new();
                $(if let Some((key, why)) = self.$module.as_ref().and_then(|params| $module::$name::warn(params, line)) {
                    list.push((format!("{}.{key}", stringify!($module)), why));
                })*
                for (entry, params) in self.plugins.iter() {
                    list.extend(entry.warn(params, line).map(|(key, why)| (format!("plugins.{}.{key}", entry.name), why)));
                }
                list
            }

            /// The mechanism of switches that the given congestion control needs, and the warning for
            /// scenarios without the mechanism.
            pub fn listens_to(&self) -> Option<(&'static str, &'static str)> {
                None$(.or_else(|| $module::$name::listens_to(self.$module.as_ref()?)))*
                    .or_else(|| self.plugins.iter().find_map(|(entry, _)| entry.part.listens_to))
            }
        }

        impl state::State for State {
            fn walk(&mut self, walk: &mut StateVisitor<'_>) {
                match self {
                    Self::None => {}
                    $(Self::$name(s) => walk.within(stringify!($module), |walk| state::State::walk(s, walk)),)*
                    Self::Plugin(s) => walk.within("plugins", |walk| s.walk(walk)),
                }
            }
        }

        impl CongestionControl {
            /// Returns the first given control that does not fold ([`Control::FOLDS`]), if any.
            pub fn unfolded(&self) -> Option<&'static str> {
                let folds = [$((stringify!($module), $module::$name::FOLDS),)*];
                self.given().into_iter().find(|name| !folds.contains(&(*name, true)))
            }

            /// See [`Control::pulls`].
            pub fn pulls(&self, line: Line) -> Option<Rules> {
                None$(.or_else(|| $module::$name::pulls(self.$module.as_ref()?, line)))*
                    .or_else(|| self.plugins.iter().find_map(|(entry, params)| entry.rules(params, line)))
            }
        }

        impl Scheme {
            /// Returns the given congestion control for a line.
            pub fn new(table: &CongestionControl, line: Line) -> Self {
                $(if let Some(params) = &table.$module {
                    return Self::$name(Control::new(params, line));
                })*
                // A control with pulls stands beside another one, which sets the rate.
                let mut foreign: Vec<_> = table.plugins.iter().collect();
                foreign.sort_by_key(|(entry, _)| entry.part.pulls);
                foreign.first().map_or(Self::None, |(entry, params)| Self::Plugin(entry.make(*params, line)))
            }

            /// True when flows always go at line rate.
            #[inline]
            pub const fn is_none(&self) -> bool {
                matches!(self, Self::None)
            }

            /// The name in scenarios and summaries; none without congestion control.
            pub const fn name(&self) -> Option<&'static str> {
                match self {
                    Self::None => None,
                    $(Self::$name(_) => Some(stringify!($module)),)*
                    Self::Plugin(c) => Some(c.entry.name),
                }
            }

            /// State of a flow that starts.
            pub fn start(&self, flow: &NewFlow) -> State {
                match self {
                    Self::None => State::None,
                    $(Self::$name(c) => State::$name(Box::new(Control::start(c, flow))),)*
                    Self::Plugin(c) => State::Plugin(Box::new(c.start(flow))),
                }
            }

            /// True when the congestion control needs [`Control::on_ack`].
            #[inline]
            pub const fn hears_acks(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$name(_) => $module::$name::HEARS_ACKS,)*
                    Self::Plugin(c) => c.entry.part.hears_acks,
                }
            }

            /// See [`Control::RANKED`].
            pub const fn is_ranked(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$name(_) => $module::$name::RANKED,)*
                    Self::Plugin(c) => c.entry.part.ranked,
                }
            }

            /// See [`Control::TAG`].
            pub const fn tag(&self) -> Tag {
                match self {
                    Self::None => Tag::Unused,
                    $(Self::$name(_) => $module::$name::TAG,)*
                    Self::Plugin(c) => c.entry.part.tag,
                }
            }

            /// Bits in the tag of packets; see [`Control::TAG_BITS`].
            pub const fn tag_bits(&self) -> u8 {
                match (self.tag(), self) {
                    (Tag::Unused, _) | (_, Self::None) => 0,
                    $((_, Self::$name(_)) => $module::$name::TAG_BITS,)*
                    (_, Self::Plugin(c)) => c.entry.part.tag_bits,
                }
            }

            /// See [`Control::hears`].
            pub fn hears(&self, notice: &Packet) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$name(_) => $module::$name::hears(notice),)*
                    Self::Plugin(c) => (c.entry.part.hears)(notice),
                }
            }

            /// See [`Control::receiving`].
            pub fn receiving(&self, host: u32) -> Option<Box<dyn Receiving>> {
                match self {
                    Self::None => None,
                    $(Self::$name(c) => c.receiving(host),)*
                    Self::Plugin(c) => c.receiving(host),
                }
            }

            /// See [`Control::looks_ahead`].
            #[inline]
            pub fn looks_ahead(&self) -> u64 {
                match self {
                    Self::None => 0,
                    $(Self::$name(c) => c.looks_ahead(),)*
                    Self::Plugin(c) => c.looks_ahead(),
                }
            }

            /// See [`Control::echo`].
            #[inline]
            pub fn echo(&self) -> Option<Echo> {
                match self {
                    Self::None => None,
                    $(Self::$name(c) => c.echo(),)*
                    Self::Plugin(c) => c.echo(),
                }
            }
        }

        macro_rules! each {
            ($d self:expr, $d state:expr, ($d c:ident, $d s:ident) => $d call:expr, $d otherwise:expr) => {
                match ($d self, $d state) {
                    $((Scheme::$name($d c), State::$name($d s)) => $d call,)*
                    (Scheme::Plugin($d c), State::Plugin($d s)) => $d call,
                    _ => $d otherwise,
                }
            };
        }
    };
}

registry! {
    ($)
    /// `host.congestion_control`: at most one congestion control (`rccc` may stand beside it). Default: line
    /// rate.
    table;
    /// DCQCN.
    dcqcn: Dcqcn,
    /// Rate limiters for Backward Congestion Notification.
    bcn: Bcn,
    /// Rate limiters for Quantized Congestion Notification (IEEE 802.1Qau).
    qcn: Qcn,
    /// HPCC, from in-band telemetry.
    hpcc: Hpcc,
    /// HPCC with one number per packet (PINT) instead of a record per output.
    hpcc_pint: HpccPint,
    /// DCTCP, from the share of marked packets.
    dctcp: Dctcp,
    /// Swift, from the delay of packets.
    swift: Swift,
    /// TIMELY, from how round trips change.
    timely: Timely,
    /// NSCC, Ultra Ethernet's, from marks, delays and trims.
    nscc: Nscc,
    /// A class in Python: a new idea at small scale.
    python: Python,
    /// RCCC, Ultra Ethernet's, from credit that receivers grant. One more congestion control may be given
    /// beside it.
    rccc: Rccc,
}

impl CongestionControl {
    /// Returns the use of the tag of packets by the given congestion controls.
    pub fn tag_use(&self, line: Line) -> TagUse {
        let bits = if self.pulls(line).is_some() { tag::BITS } else { Scheme::new(self, line).tag_bits() };
        TagUse { bits, listens_to: self.listens_to().map(|(name, _)| name) }
    }
}

impl Scheme {
    /// See [`Control::on_sent`].
    #[inline]
    pub fn on_sent(&self, state: &mut State, packet: &mut Packet, sent: Sent) -> Duration {
        each!(self, state, (c, s) => c.on_sent(s, packet, sent), Duration::ZERO)
    }

    /// See [`Control::on_ack`].
    pub fn on_ack(&self, state: &mut State, ack: &Ack<'_>) {
        each!(self, state, (c, s) => c.on_ack(s, ack), ());
    }

    /// See [`Control::on_loss`].
    pub fn on_loss(&self, state: &mut State, loss: Loss, now: Moment) {
        each!(self, state, (c, s) => c.on_loss(s, loss, now), ());
    }

    /// See [`Control::on_notice`].
    pub fn on_notice(&self, state: &mut State, notice: &Notice<'_>) {
        each!(self, state, (c, s) => c.on_notice(s, notice), ());
    }

    /// See [`Control::window`].
    #[inline]
    pub fn window(&self, state: &State) -> u64 {
        each!(self, state, (c, s) => c.window(s), u64::MAX)
    }

    /// True when the window and the limit allow a packet with `in_flight` bytes of payload under way.
    #[inline]
    pub fn allows(&self, state: &State, seq: u32, in_flight: u64) -> bool {
        each!(self, state, (c, s) => in_flight < c.window(s) && seq < c.limit(s), true)
    }

    /// See [`Control::limit`].
    pub fn limit(&self, state: &State) -> u32 {
        each!(self, state, (c, s) => c.limit(s), u32::MAX)
    }

    /// See [`Control::rank`].
    pub fn rank(&self, state: &State, left: u64) -> u64 {
        each!(self, state, (c, s) => c.rank(s, left), 0)
    }

    /// See [`Control::timer`].
    #[inline]
    pub fn timer(&self, state: &State) -> Moment {
        each!(self, state, (c, s) => c.timer(s), Moment::NEVER)
    }

    /// See [`Control::on_timer`].
    pub fn on_timer(&self, state: &mut State, flow: u32, peer: Peer, outbox: &mut Outbox) {
        each!(self, state, (c, s) => c.on_timer(s, flow, peer, outbox), ());
    }

    /// See [`Control::counts`].
    pub fn counts(&self, state: &State, tally: &mut dyn Tally) {
        each!(self, state, (c, s) => c.counts(s, tally), ());
    }

    /// See [`Control::due`].
    #[inline]
    pub fn due(&self, state: &State, due: Moment) -> Moment {
        each!(self, state, (c, s) => c.due(s, due), due)
    }
}
