//! How far an application has come in work that recurs.
//!
//! Fast-forward takes a reading of all parts in a scope at each probe. If two probes see the same state, it asks the second
//! reading how often the work between both can recur before something differs, such as the last round of a loop. Counters
//! that never stop growing, such as the operations of a rank, enter the state relative to the reading.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use xoff_engine::state::{Counter, PeriodKind};

use crate::frames::message::MessageId;
use crate::paths::symmetry::Symmetry;

/// The growth of all counters between two readings.
pub trait Growth {
    /// Returns the growth of a counter; 0 for an unknown counter.
    fn of(&self, counter: Counter) -> u32;

    /// Calls back with each counter and its growth.
    fn each(&self, call: &mut dyn FnMut(Counter, u64));
}

/// A reading of the parts of an application in a scope.
pub trait Loops: Any + Debug + Send + Sync {
    /// Reads the part at a node, which has the type of the application's parts. Calls back with the part's counters and their
    /// values; if a counter comes several times, its first value is used. `undelivered` are messages that have left the node
    /// and have not arrived.
    fn read(
        &mut self,
        kind: PeriodKind,
        node: u32,
        part: &dyn Any,
        undelivered: &mut dyn Iterator<Item = MessageId>,
        count: &mut dyn FnMut(Counter, u64),
    );

    /// All parts are read. `folded` is the group of a folded run. Calls back with counters that need several parts.
    fn close(
        &mut self,
        _kind: PeriodKind,
        _folded: Option<&Arc<Symmetry>>,
        _count: &mut dyn FnMut(Counter, u64),
    ) {
    }

    /// Returns a hash of the loops. Periods recur between readings with equal hashes alone.
    fn epoch(&self) -> u64;

    /// Returns the known counter that grows as a counter does; `None` if it does not grow.
    fn counter(&self, counter: Counter) -> Option<Counter> {
        Some(counter)
    }

    /// Returns how often the work since an earlier reading can recur; `None` if it does not.
    fn fits(&self, kind: PeriodKind, before: &dyn Loops, growth: &dyn Growth) -> Option<u64>;

    /// True if a busy period that went from one reading to another recurs from here.
    fn recurs(&self, _ends: [&dyn Loops; 2], _growth: &dyn Growth) -> bool {
        false
    }

    /// See [`Offsets::turn`](xoff_engine::state::Offsets::turn).
    fn turn(&self, _job: u32, number: u32) -> (u32, u32) {
        (0, number)
    }

    /// See [`Offsets::numbered`](xoff_engine::state::Offsets::numbered).
    fn numbered(&self, _job: u32, _series: u32, place: u32) -> u32 {
        place
    }

    /// Returns the periods left in all loops.
    fn left(&self) -> u64;

    /// Returns the work done and all work, in operations.
    fn done(&self) -> (u64, u64);

    /// Returns the number of entries, which says how long a reading takes.
    fn entries(&self) -> u64;
}
