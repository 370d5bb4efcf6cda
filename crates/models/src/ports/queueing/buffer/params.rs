//! Parameters of the memory of a node: `switch.buffer`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_units::Bytes;

/// `switch.buffer`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Params {
    /// Accepts every packet.
    #[default]
    Unlimited,
    /// A buffer of this size for each port: for its ingress traffic (`iq`, `voq`, `oq` with ingress
    /// accounting) or for its egress queues (`oq` with egress accounting).
    PerPort(Bytes),
    /// A buffer of this size for each ingress port and class where `per_port` counts ingress, and for each
    /// egress queue otherwise.
    PerQueue(Bytes),
    /// A buffer for the whole switch, with dynamic thresholds.
    Shared(Shared),
}

/// Bytes that are compared with thresholds, and owner of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// Bytes in the node that came by an ingress port.
    #[default]
    Ingress,
    /// Bytes in an egress queue, from all ports.
    Egress,
}

/// `switch.buffer.shared`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Memory of the switch.
    pub total: Bytes,
    /// Share of the pool's free bytes that a port and class may use (Choudhury, Hahne 1998).
    #[serde(default = "default_alpha")]
    pub alpha: f64,
    /// Memory reserved for each ingress port and class.
    #[serde(default = "default_reserve")]
    pub reserve: Bytes,
    /// Headroom of each ingress port and class. Default: computed from the port's link. With `headroom_pool` the
    /// most that a port and class takes of the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// A pool of headroom for all ports and classes, in place of separate headroom. Default: no pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom_pool: Option<Bytes>,
    /// A frame takes whole cells of this size in this memory. Default: a frame takes its bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Bytes>,
    /// Other shares for some classes. Default: all classes have the values above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Group>,
    /// Pools that limit the queues of some classes at the outputs, beside the limits at the inputs. Default: no
    /// pool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<Egress>,
}

/// `switch.buffer.shared.groups[]`: missing keys keep the general value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The classes with these values.
    pub classes: Vec<u8>,
    /// Share of the pool's free bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Memory reserved for each ingress port and class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Bytes>,
    /// Headroom of each ingress port and class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headroom: Option<Bytes>,
    /// The classes count together, with one threshold, reserve and headroom at each ingress port, as the traffic
    /// classes of a priority group do. Default: each class counts by itself.
    #[serde(default, skip_serializing_if = "is_apart")]
    pub together: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_apart(value: &bool) -> bool {
    !*value
}

/// `switch.buffer.shared.egress[]`: a packet without room here is dropped, also in a lossless class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Egress {
    /// The classes of the pool. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<u8>>,
    /// Most bytes of all queues of the pool together.
    pub total: Bytes,
    /// Most bytes of a queue. Default: the total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Bytes>,
    /// Share of the pool's free bytes that a queue may use. Default: no share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

impl Shared {
    /// Returns the memory that reserves and headroom leave to the pool of all groups; negative if they exceed
    /// the total. `reserves` and `headroom` are sums over ports and classes.
    pub fn pool(&self, reserves: i64, headroom: i64) -> i64 {
        self.total.0 as i64 - reserves - self.headroom_pool.map_or(headroom, |pool| pool.0 as i64)
    }

    /// Returns the values of a class.
    pub fn of_class(&self, class: u8) -> (f64, Bytes, Option<Bytes>) {
        let own = self.groups.iter().find(|group| group.classes.contains(&class));
        let value = |own: Option<Bytes>, general| own.unwrap_or(general);
        (
            own.and_then(|g| g.alpha).unwrap_or(self.alpha),
            value(own.and_then(|g| g.reserve), self.reserve),
            own.and_then(|g| g.headroom).or(self.headroom),
        )
    }

    /// Returns the classes that count with a class, in order, beginning with the class that has the count; the
    /// class alone without `together`.
    pub fn counted_with(&self, class: u8) -> Vec<u8> {
        let group = self.groups.iter().find(|group| group.together && group.classes.contains(&class));
        let mut classes = group.map_or_else(|| vec![class], |group| group.classes.clone());
        classes.sort_unstable();
        classes
    }

    /// Returns the index of the pool of outputs of a class.
    pub(super) fn output_of(&self, class: u8) -> Option<u8> {
        let has = |pool: &Egress| pool.classes.as_ref().is_none_or(|list| list.contains(&class));
        self.egress.iter().position(has).map(|at| at as u8)
    }
}

#[cfg(any(test, feature = "testing"))]
impl Shared {
    /// A memory without reserve, with alpha 1.
    pub fn for_tests(total: u64) -> Self {
        Self {
            total: Bytes(total),
            alpha: 1.0,
            reserve: Bytes(0),
            headroom: None,
            headroom_pool: None,
            cell: None,
            groups: Vec::new(),
            egress: Vec::new(),
        }
    }
}

fn default_alpha() -> f64 {
    0.125
}

fn default_reserve() -> Bytes {
    Bytes(4096)
}
