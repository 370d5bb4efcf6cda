//! Clocks of the machine: wall time and CPU time, under the same names for every target. No result depends on
//! a clock.
//!
//! WebAssembly has no clock of its own, and one thread. The program around the core gives a clock
//! (`set`), which then stands for wall time and for CPU time. Without a given clock no time passes.

#[cfg(not(target_family = "wasm"))]
pub use cpu_time::{ProcessTime, ThreadTime};
#[cfg(not(target_family = "wasm"))]
pub use std::time::Instant;

#[cfg(target_family = "wasm")]
pub use given::{Given as Instant, Given as ProcessTime, Given as ThreadTime, set};

#[cfg(target_family = "wasm")]
mod given {
    use std::sync::OnceLock;
    use std::time::Duration as WallTime;

    static CLOCK: OnceLock<fn() -> WallTime> = OnceLock::new();

    /// Sets the clock: a function that returns the time since a fixed moment. A second call has no effect.
    pub fn set(clock: fn() -> WallTime) {
        let _ = CLOCK.set(clock);
    }

    /// A moment of the given clock.
    #[derive(Debug, Clone, Copy)]
    pub struct Given(WallTime);

    impl Given {
        /// Returns the present moment.
        pub fn now() -> Self {
            Self(CLOCK.get().map_or(WallTime::ZERO, |clock| clock()))
        }

        /// Returns the time since this moment; zero if the clock was set back.
        pub fn elapsed(&self) -> WallTime {
            Self::now().0.saturating_sub(self.0)
        }
    }
}
