//! Barriers between threads. A thread spins for about the time of waking a thread, and then sleeps.
//!
//! A waiting thread thereby loses at most twice the cost of the best choice for a known waiting time, and
//! gives its core to the awaited thread on a busy machine. The condition of a sleeping thread changes under
//! the lock alone, and no wake-up is missed. Atomic copies serve spinning.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration as WallTime, Instant};

/// Spinning time.
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

/// All workers of a segment meet here, again and again.
#[derive(Default)]
pub(crate) struct Barrier {
    arrived: AtomicUsize,
    /// Counts meetings.
    generation: AtomicU64,
    poisoned: AtomicBool,
    sleepers: Mutex<usize>,
    met: Condvar,
}

impl Barrier {
    /// Waits for the other workers, and adds the spinning time to `spun`. False if the barrier was poisoned.
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

    /// Ends this meeting and all later meetings.
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

/// Place where workers wait for an order.
#[derive(Default)]
pub(crate) struct Gate<T> {
    /// The order's, to spin on.
    generation: AtomicU64,
    order: Mutex<Order<T>>,
    changed: Condvar,
}

#[derive(Default)]
struct Order<T> {
    /// Counts changes.
    generation: u64,
    latest: T,
    closed: bool,
}

impl<T: Copy> Gate<T> {
    /// Gives an order to all.
    pub(crate) fn open(&self, new: T) {
        self.change(|order| order.latest = new);
    }

    /// Ends the orders.
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

    /// Returns the order after the order `seen`; `None` after the last order.
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

    /// Much longer than anyone spins.
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
