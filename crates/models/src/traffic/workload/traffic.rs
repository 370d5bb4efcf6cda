//! The contract of a kind of traffic, in xoff and in plug-ins.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::builder::{Making, Problem};
use crate::parts::plugin_parts::{Entry, Params, PartKind, Registry};

/// A kind of traffic, which makes flows from its table.
pub trait Traffic {
    /// Lists flows or adds drawn flows; returns the first invalid key, with the problem.
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem>;

    /// True for traffic of messages that may share connections.
    fn has_messages(&self) -> bool {
        false
    }
}

static REGISTRY: Registry<Vtable> = Registry::new();

/// What the core does with a kind of traffic of a plug-in.
#[derive(Debug)]
pub struct Vtable {
    traffic: for<'a> fn(&'a dyn Params) -> &'a dyn Traffic,
}

impl PartKind for Vtable {
    const KIND: &'static str = "workload";

    fn registry() -> &'static Registry<Self> {
        &REGISTRY
    }
}

impl Entry<Vtable> {
    /// A kind of traffic with the key `workload[].plugins.NAME`.
    pub const fn workload<T>(name: &'static str, about: &'static str) -> Self
    where
        T: Traffic + Params + DeserializeOwned + JsonSchema,
    {
        Self::of::<T>(name, about, Vtable { traffic: |params| params.get::<T>() })
    }

    /// Returns the traffic with given parameters.
    pub fn given<'a>(&self, params: &'a dyn Params) -> &'a dyn Traffic {
        (self.part.traffic)(params)
    }
}
