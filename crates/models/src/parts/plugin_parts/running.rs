//! The hook of a plug-in that ran last on a thread. If the core panics because it cannot use what the hook returned, such as
//! a queue that does not exist, this hook is to blame: the functions on the stack are then those of the core.

use std::cell::Cell;

/// A hook of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hook {
    /// Name of the part.
    pub part: &'static str,
    /// Name of the method.
    pub name: &'static str,
}

thread_local! {
    static LAST: Cell<Option<Hook>> = const { Cell::new(None) };
}

/// Notes that a hook of a part runs.
#[inline]
pub fn enter(part: &'static str, name: &'static str) {
    LAST.set(Some(Hook { part, name }));
}

/// Returns the hook that ran last on this thread, if any.
pub fn last() -> Option<Hook> {
    LAST.get()
}

/// Forgets the hook that ran last on this thread.
pub fn forget() {
    LAST.set(None);
}
