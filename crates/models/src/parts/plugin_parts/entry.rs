//! A part of a plug-in in the registry of its kind. The type of the parameters is known to the plug-in alone.

use std::any::Any;
use std::fmt::{self, Debug};
use std::sync::OnceLock;

use dyn_clone::{DynClone, clone_trait_object};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parameters of any type.
pub trait Params: Any + Debug + Send + Sync + DynClone + erased_serde::Serialize {
    /// True for equal parameters of the same type.
    fn is_equal(&self, other: &dyn Params) -> bool;
}

clone_trait_object!(Params);

impl<P: Any + Debug + Clone + PartialEq + Serialize + Send + Sync> Params for P {
    fn is_equal(&self, other: &dyn Params) -> bool {
        (other as &dyn Any).downcast_ref::<P>() == Some(self)
    }
}

impl dyn Params {
    /// Returns the parameters as the type of the part that reads them.
    ///
    /// # Panics
    ///
    /// Panics for another type; the entry of a part reads and uses parameters of one type.
    pub(crate) fn get<P: Any>(&self) -> &P {
        (self as &dyn Any).downcast_ref().expect("an entry uses the type that the entry reads")
    }
}

type Read = fn(&mut dyn erased_serde::Deserializer<'_>) -> Result<Box<dyn Params>, erased_serde::Error>;

/// A part of a plug-in: name, documentation, parameters, and what the part does.
pub struct Entry<V> {
    /// Key of the part below `plugins`.
    pub name: &'static str,
    /// Documentation of the key.
    pub about: &'static str,
    pub(super) read: Read,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) part: V,
}

impl<V> Debug for Entry<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<V> Entry<V> {
    pub(crate) const fn of<P: Params + DeserializeOwned + JsonSchema>(
        name: &'static str,
        about: &'static str,
        part: V,
    ) -> Self {
        Self {
            name,
            about,
            read: |from| Ok(Box::new(erased_serde::deserialize::<P>(from)?)),
            schema: SchemaGenerator::subschema_for::<P>,
            part,
        }
    }
}

/// All parts of a kind, which [`crate::network::plugins::install`] fills.
#[derive(Debug)]
pub struct Registry<V: 'static>(OnceLock<Vec<&'static Entry<V>>>);

impl<V> Registry<V> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Sets the parts. Only the first call has an effect.
    pub(crate) fn fill(&self, entries: impl Iterator<Item = &'static Entry<V>>) {
        self.0.get_or_init(|| entries.collect());
    }

    /// Returns all parts.
    pub fn iter(&self) -> impl Iterator<Item = &'static Entry<V>> {
        self.0.get().map_or(&[][..], Vec::as_slice).iter().copied()
    }
}

/// A kind of part.
pub trait PartKind: Sized + 'static {
    /// The kind, for messages.
    const KIND: &'static str;
    /// Returns all parts of the kind.
    fn registry() -> &'static Registry<Self>;
}
