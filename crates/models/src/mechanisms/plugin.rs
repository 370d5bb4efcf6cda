//! Mechanisms of plug-ins at a node.

use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state::State;

use crate::mechanism::Hooks;

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
    pub(super) fn new(name: &'static str, mechanism: impl AnyMechanism) -> Self {
        Self { name, mechanism: Box::new(mechanism) }
    }

    /// Returns the mechanism as its type.
    pub(super) fn get_mut<M: Any>(&mut self) -> Option<&mut M> {
        (&mut *self.mechanism as &mut dyn Any).downcast_mut()
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
