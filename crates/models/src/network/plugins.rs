//! Plug-ins: parts of other crates, which are linked into the core beside xoff's parts.
//!
//! A plug-in is a [`Plugin`] in a crate of its own: a name, and a list of parts for each kind of part. The core
//! calls [`install`] once, before the first scenario is read. A part is then the key `plugins.NAME` in the table of its
//! kind: a mechanism in `switch`, a congestion control in `host.congestion_control`, a transport in `host.transport`, a
//! kind of traffic in `workload[]`. A plug-in's part implements the same traits as xoff's parts; the node reaches the
//! part by a pointer. Source: `docs/how-to/write-a-plugin.md`.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;

pub use crate::frames::kinds::Frame;
pub use crate::parts::plugin_parts::Entry;

use super::build::own_groups;
use crate::frames::kinds::{self, Kind, RANGES};
use crate::hosts::congestion_control;
use crate::hosts::transport;
use crate::mechanisms;
use crate::parts::count::Group;
use crate::parts::plugin_parts::PartKind;
use crate::traffic::workload;

/// A plug-in.
#[derive(Debug)]
pub struct Plugin {
    /// Name of the plug-in: small letters, digits and `_`.
    pub name: &'static str,
    /// Version of the plug-in's crate.
    pub version: &'static str,
    /// Mechanisms of switches and of network interfaces.
    pub mechanisms: &'static [Entry<mechanisms::Vtable>],
    /// Congestion controls of hosts.
    pub congestion_controls: &'static [Entry<congestion_control::Vtable>],
    /// Transports of hosts.
    pub transports: &'static [Entry<transport::Vtable>],
    /// Kinds of traffic.
    pub workloads: &'static [Entry<workload::Vtable>],
    /// Kinds of frames.
    pub frames: &'static [&'static Frame],
}

impl Plugin {
    /// A plug-in without parts.
    pub const fn new(name: &'static str, version: &'static str) -> Self {
        Self {
            name,
            version,
            mechanisms: &[],
            congestion_controls: &[],
            transports: &[],
            workloads: &[],
            frames: &[],
        }
    }

    /// Returns the groups of counts of the parts at switches and at hosts.
    fn groups(&self) -> impl Iterator<Item = Group> {
        let mechanisms = self.mechanisms.iter().map(|entry| entry.part.group);
        let transports = self.transports.iter().map(|entry| entry.part.group);
        let controls = self.congestion_controls.iter().map(|entry| entry.part.group);
        mechanisms.chain(transports).chain(controls)
    }

    /// Returns path in a scenario and documentation of each part.
    pub fn parts(&self) -> impl Iterator<Item = (String, &'static str)> {
        fn of<V>(table: &str, entries: &'static [Entry<V>]) -> impl Iterator<Item = (String, &'static str)> {
            entries.iter().map(move |entry| (format!("{table}.plugins.{}", entry.name), entry.about))
        }
        of("switch", self.mechanisms)
            .chain(of("host.congestion_control", self.congestion_controls))
            .chain(of("host.transport", self.transports))
            .chain(of("workload[]", self.workloads))
    }

    /// Returns the names of all parts.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let workloads = self.workloads.iter().map(|entry| entry.name);
        self.groups().map(|group| group.name).chain(workloads)
    }
}

static INSTALLED: OnceLock<Vec<&'static Plugin>> = OnceLock::new();

/// Returns all plug-ins of the core, by name.
pub fn installed() -> &'static [&'static Plugin] {
    INSTALLED.get().map_or(&[], Vec::as_slice)
}

/// Makes the parts of plug-ins known. The core calls this function once, before the first scenario is read.
///
/// # Errors
///
/// The message names the plug-in, the problem and the remedy: a name that is no name, a name that another part has,
/// too many kinds of frames, or a second call.
pub fn install(mut plugins: Vec<&'static Plugin>) -> Result<(), String> {
    plugins.sort_by_key(|plugin| plugin.name);
    let mut taken: Vec<(&str, &str)> = own_groups().map(|group| (group.name, "xoff")).collect();
    for (i, plugin) in plugins.iter().enumerate() {
        let wrong = |why: String| Err(format!("plug-in `{}`: {why}", plugin.name));
        if plugins[..i].iter().any(|other| other.name == plugin.name) {
            return wrong("the name is given twice; rename one of the two plug-ins".into());
        }
        for name in std::iter::once(plugin.name).chain(plugin.names()) {
            let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_letter) {
                return wrong(format!("`{name}` is no name; use small letters, digits and `_`"));
            }
            if let Some((_, owner)) = taken.iter().find(|(other, _)| *other == name) {
                return wrong(format!("{owner} has a part `{name}`; give the part another name"));
            }
        }
        taken.extend(plugin.names().map(|name| (name, plugin.name)));
    }
    let frames = numbered(&plugins)?;
    INSTALLED.set(plugins).map_err(|_| "plug-ins are installed already")?;
    mechanisms::Vtable::registry().fill(installed().iter().flat_map(|plugin| plugin.mechanisms));
    congestion_control::Vtable::registry()
        .fill(installed().iter().flat_map(|plugin| plugin.congestion_controls));
    transport::Vtable::registry().fill(installed().iter().flat_map(|plugin| plugin.transports));
    workload::Vtable::registry().fill(installed().iter().flat_map(|plugin| plugin.workloads));
    kinds::OF_PLUGINS.get_or_init(|| frames);
    Ok(())
}

/// Gives each frame of the plug-ins a number, and returns all frames.
fn numbered(plugins: &[&'static Plugin]) -> Result<Vec<&'static Frame>, String> {
    let mut given = [0; RANGES.len()];
    let mut numbered: Vec<&'static Frame> = Vec::new();
    for plugin in plugins {
        let wrong = |why: String| Err(format!("plug-in `{}`: {why}", plugin.name));
        for frame in plugin.frames {
            if frame.name.split_once('.').is_none_or(|(owner, name)| owner != plugin.name || name.is_empty())
            {
                return wrong(format!("frame `{}`: the name has to be `{}.NAME`", frame.name, plugin.name));
            }
            if let Some(other) = numbered.iter().find(|other| other.id() == frame.id()) {
                return wrong(format!(
                    "frame `{}`: `{}` has the same number; rename one",
                    frame.name, other.name
                ));
            }
            numbered.push(frame);
            let Some(range) = RANGES.iter().position(|range| *range == (frame.scope, frame.owner)) else {
                let (scope, owner) = (frame.scope, frame.owner);
                return wrong(format!("frame `{}`: {scope:?} with {owner:?} is not allowed", frame.name));
            };
            if given[range] == Kind::IN_A_RANGE {
                let most = Kind::IN_A_RANGE;
                return wrong(format!("frame `{}`: plug-ins have at most {most} of this scope", frame.name));
            }
            let number = Kind::OF_PLUGINS + range as u8 * Kind::IN_A_RANGE + given[range];
            frame.number.store(number, Ordering::Relaxed);
            given[range] += 1;
        }
    }
    Ok(numbered)
}

/// Makes kinds of frames of a plug-in: a struct with the fields, and a static of the kind. A line has the static, the
/// struct, the name in tables, scope, owner, and the fields with the lowest bit of each.
///
/// ```
/// xoff_models::plugin_frames! {
///     /// The switch asks the source to slow down.
///     SLOW_DOWN: SlowDown = "example.slow_down" Path Control {
///         /// Bytes that wait.
///         waiting: u32 = 0,
///         /// Nanoseconds at which the packet left the source.
///         sent: u32 = 32,
///     }
/// }
/// let frame = xoff_models::packet::Packet::with(SlowDown { waiting: 5, sent: 7 }, 1, 2, 64, 0);
/// ```
#[macro_export]
macro_rules! plugin_frames {
    ($($(#[$attribute:meta])* $static:ident: $frame:ident = $name:literal $scope:ident $owner:ident {
        $($(#[$about:meta])* $field:ident: $type:ty = $at:literal,)*
    })*) => {
        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $frame { $($(#[$about])* pub $field: $type,)* }

            #[doc = concat!("The kind of frames `", $name, "`.")]
            pub static $static: $crate::network::plugins::Frame = $crate::network::plugins::Frame::new::<$frame>(
                $name,
                $crate::frames::kinds::Scope::$scope,
                $crate::frames::kinds::Owner::$owner,
            );

            impl $crate::frames::kinds::Payload for $frame {
                #[inline]
                fn kind() -> $crate::frames::kinds::Kind {
                    $static.kind()
                }

                #[inline]
                fn pack(self) -> u64 {
                    const { assert!($crate::frames::kinds::fit(&[$(($at, <$type as $crate::frames::kinds::Field>::BITS)),*])) }
                    0 $(| $crate::frames::kinds::Field::pack(self.$field) << $at)*
                }

                #[inline]
                fn unpack(bits: u64) -> Self {
                    Self { $($field: $crate::frames::kinds::Field::unpack(bits >> $at)),* }
                }

                fn named(&self) -> Option<u32> {
                    None$(.or_else(|| $crate::frames::kinds::Field::named(&self.$field)))*
                }

                fn walk(&mut self, walk: &mut $crate::state::StateVisitor<'_>) {
                    $($crate::frames::kinds::Field::walk(&mut self.$field, walk);)*
                }
            }
        )*
    };
}
