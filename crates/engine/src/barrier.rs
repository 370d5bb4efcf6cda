//! Barriers between threads. A waiting thread spins for 50 us, and then sleeps.
//!
//! A spinning thread continues at once, but keeps a core busy. A sleeping thread frees the core, but
//! continues late: waking takes about 50 us. Spinning for as long as waking takes costs at most twice as much
//! as the better choice, for any waiting time (competitive spinning; Karlin et al. 1991). Examples:
//!
//! | wait | spin only | sleep only | spin, then sleep |
//! |---|---|---|---|
//! | 10 us | 10 us | 50 us | 10 us |
//! | 1,000 us | 1,000 us | 50 us | 50 us + 50 us |
//!
//! With more threads than free cores, a sleeping thread gives its core to the thread that the others wait
//! for.
//!
//! A sleeping thread waits for a condition under a lock. Threads change the condition while they hold the
//! lock, so no wake-up is missed. A spinning thread reads the condition from atomic variables, without the
//! lock.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration as WallTime;

use crate::clock::Instant;

/// Time of spinning before sleep: about the time that waking a thread takes.
const SPIN: WallTime = WallTime::from_micros(50);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Spins until the condition is true, for a limited time; returns the spinning time.
fn spin(is_over: impl Fn() -> bool) -> WallTime {
    let clock = Instant::now();
    loop {
        for _ in 0..32 {
            if is_over() {
                return clock.elapsed();
            }
            std::hint::spin_loop();
        }
        let spun = clock.elapsed();
        if spun >= SPIN {
            return spun;
        }
    }
}

/// Point where the threads that run windows (*workers*) wait for each other at the end of each window.
#[derive(Default)]
pub(crate) struct Barrier {
    arrived: AtomicUsize,
    /// Number of meetings so far; a change ends the wait.
    generation: AtomicU64,
    poisoned: AtomicBool,
    sleepers: Mutex<usize>,
    met: Condvar,
}

impl Barrier {
    /// Waits until all `workers` have arrived, and adds the spinning time to `spun`. Returns false if the
    /// barrier was poisoned.
    pub(crate) fn wait(&self, workers: usize, spun: &mut WallTime) -> bool {
        if workers == 1 {
            return true;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == workers {
            self.arrived.store(0, Ordering::Relaxed);
            self.tell(|| {
                self.generation.fetch_add(1, Ordering::Release);
            });
        } else {
            let is_over = || {
                self.generation.load(Ordering::Acquire) != generation || self.poisoned.load(Ordering::Acquire)
            };
            *spun += spin(is_over);
            if !is_over() {
                let mut sleepers = lock(&self.sleepers);
                while !is_over() {
                    *sleepers += 1;
                    sleepers = self.met.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
                    *sleepers -= 1;
                }
            }
        }
        !self.poisoned.load(Ordering::Acquire)
    }

    /// Ends this wait and all later waits: after a panic of a worker, the missing worker never arrives.
    pub(crate) fn poison(&self) {
        self.tell(|| self.poisoned.store(true, Ordering::Release));
    }

    fn tell(&self, change: impl FnOnce()) {
        let sleepers = lock(&self.sleepers);
        change();
        let is_any = *sleepers > 0;
        drop(sleepers);
        if is_any {
            self.met.notify_all();
        }
    }
}

/// Point where sleeping workers wait for orders of worker 0. An order is a value, such as the stretch of time
/// to run.
#[derive(Default)]
pub(crate) struct Gate<T> {
    /// Copy of [`Order::generation`] that spinning workers read.
    generation: AtomicU64,
    order: Mutex<Order<T>>,
    changed: Condvar,
}

#[derive(Default)]
struct Order<T> {
    /// Number of changes so far. A worker with an older number has an order to read.
    generation: u64,
    latest: T,
    closed: bool,
}

impl<T: Copy> Gate<T> {
    /// Gives an order to all workers.
    pub(crate) fn open(&self, new: T) {
        self.change(|order| order.latest = new);
    }

    /// Ends all waits: no order follows.
    pub(crate) fn close(&self) {
        self.change(|order| order.closed = true);
    }

    fn change(&self, change: impl FnOnce(&mut Order<T>)) {
        let mut order = lock(&self.order);
        change(&mut order);
        order.generation += 1;
        self.generation.store(order.generation, Ordering::Release);
        drop(order);
        self.changed.notify_all();
    }

    /// Waits for a change after the change number `seen`, and returns the latest order. A worker that was
    /// busy during several orders reads the last order alone. Returns `None` after the end of orders.
    pub(crate) fn next(&self, seen: &mut u64) -> Option<T> {
        spin(|| self.generation.load(Ordering::Acquire) != *seen);
        let mut order = lock(&self.order);
        while order.generation == *seen {
            order = self.changed.wait(order).unwrap_or_else(PoisonError::into_inner);
        }
        *seen = order.generation;
        (!order.closed).then_some(order.latest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Much longer than the spinning time.
    const LATE: WallTime = WallTime::from_millis(2);

    #[test]
    fn nobody_goes_on_before_all_are_there() {
        let (barrier, here) = (Barrier::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (barrier, here) = (&barrier, &here);
                scope.spawn(move || {
                    for meeting in 1..=200 {
                        // Each worker is late now and then, and the others sleep; in most meetings no worker
                        // is late.
                        if meeting % 20 == worker {
                            std::thread::sleep(LATE);
                        }
                        here.fetch_add(1, Ordering::AcqRel);
                        assert!(barrier.wait(3, &mut WallTime::default()));
                        assert!(here.load(Ordering::Acquire) >= 3 * meeting);
                    }
                });
            }
        });
        assert_eq!(here.into_inner(), 600);
    }

    #[test]
    fn poison_ends_meetings_before_and_after_it() {
        let barrier = Barrier::default();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| barrier.wait(3, &mut WallTime::default()));
            std::thread::sleep(LATE);
            barrier.poison();
            assert!(!sleeper.join().unwrap());
        });
        assert!(!barrier.wait(3, &mut WallTime::default()), "who comes late waits for nobody");
    }

    #[test]
    fn orders_reach_who_sleeps() {
        let gate = Gate::<u32>::default();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut seen = 0;
                std::iter::from_fn(|| gate.next(&mut seen)).inspect(|order| assert_eq!(*order, 7)).count()
            });
            std::thread::sleep(LATE);
            gate.open(7);
            std::thread::sleep(LATE);
            gate.close();
            assert!(worker.join().unwrap() <= 1, "an order that was closed before it was seen is none");
        });
    }
}
