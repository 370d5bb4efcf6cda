//! State of a flow that a part of a plug-in keeps, of any type.

use std::any::Any;
use std::fmt::Debug;

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state::{State, StateVisitor};

/// State of any type.
pub trait AnyState: State + Debug + Send + Sync + DynClone + Any {}

impl<S: State + Debug + Send + Sync + Clone + Any> AnyState for S {}

clone_trait_object!(AnyState);

/// State of a flow. A flow keeps a pointer to this struct, which is as small as the pointers of xoff's parts.
#[derive(Debug, Clone)]
pub struct FlowState {
    state: Box<dyn AnyState>,
}

const OF_ONE_PART: &str = "a flow keeps the state of one part";

impl FlowState {
    pub(crate) fn new(state: impl AnyState) -> Self {
        Self { state: Box::new(state) }
    }

    pub(crate) fn get<S: Any>(&self) -> &S {
        (&*self.state as &dyn Any).downcast_ref().expect(OF_ONE_PART)
    }

    pub(crate) fn get_mut<S: Any>(&mut self) -> &mut S {
        (&mut *self.state as &mut dyn Any).downcast_mut().expect(OF_ONE_PART)
    }
}

impl State for FlowState {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self { state } = self;
        state.walk(walk);
    }
}
