//! The threads that run windows together, the *workers*.
//!
//! Worker `w` of `n` runs partitions w, w + n, w + 2n, …. The calling thread is worker 0. A *segment* is the
//! stretch of windows between two checkpoints. In a segment, all workers meet at a barrier at the end of each
//! window. At a checkpoint, only worker 0 runs. Worker 0 also runs a whole segment alone, while the other
//! workers sleep, if
//!
//! - the latest windows had few events ([`crate::Plan::solo_below`]), or
//! - several threads were slower than one, for example on a machine with busy cores ([`Speedup`]).
//!
//! Worker 0 alone runs the same code for all partitions: results do not depend on the number of workers.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration as WallTime;

use xoff_units::{Duration, Moment};

use crate::barrier::{Barrier, Gate, lock};
use crate::channel::Batch;
use crate::clock::{Instant, ThreadTime};
use crate::engine::{Checkpoint, Engine, Finish};
use crate::partition::Partition;
use crate::speedup::Speedup;
use crate::{END_OF_TIME, Node};

/// A number on a separate cache line, so that workers do not slow each other down.
#[repr(align(128))]
struct Padded(AtomicU64);

type Mail<M> = Vec<Vec<Mutex<Batch<M>>>>;

struct Pool<'a, N: Node> {
    partitions: &'a [Mutex<Partition<N>>],
    /// Messages between partitions, by parity of the window, sending and receiving partition. Written before
    /// the barrier, read after the barrier. The next window uses the other parity: a fast worker may write
    /// there while a slow worker still reads.
    mail: [Mail<N::Message>; 2],
    /// Moment of the earliest event, by parity of the window and partition.
    earliest: [Vec<Padded>; 2],
    /// By parity of the window: true if a node requested a checkpoint, or a message reached a suspended node.
    calls: [AtomicBool; 2],
    barrier: Barrier,
    window: Duration,
    windows: AtomicU64,
    /// CPU time of all workers in a segment, in nanoseconds, without the time of spinning.
    busy: AtomicU64,
}

#[derive(Clone, Copy, Default)]
struct Segment {
    start: Moment,
    until: Moment,
    workers: usize,
}

impl<N: Node> Pool<'_, N> {
    /// Returns the moment of the next event of all nodes, and the number of past events.
    fn next_event_and_events(&self) -> (Moment, u64) {
        let partitions = self.partitions.iter().map(|p| lock(p));
        partitions.fold((Moment::NEVER, 0), |(t, e), p| (t.min(p.next_event()), e + p.events))
    }

    /// Runs windows from the start of a segment until the earliest event is at the end of the segment or
    /// later, or until a checkpoint is requested. Returns false if another worker panicked.
    fn run_segment(&self, worker: usize, segment: &Segment) -> bool {
        let mut mine: Vec<(usize, MutexGuard<'_, Partition<N>>)> = (worker..self.partitions.len())
            .step_by(segment.workers)
            .map(|p| (p, lock(&self.partitions[p])))
            .collect();
        let mut start = segment.start;
        let mut parity = 0;
        let mut windows = 0;
        let clock = (segment.workers > 1).then(ThreadTime::now);
        let mut spun = WallTime::ZERO;
        while start < segment.until {
            let end = Moment(start.0 + self.window.0).min(segment.until);
            for (p, partition) in &mut mine {
                partition.run_window(end, self.window);
                self.earliest[parity][*p].0.store(partition.next_event().0, Ordering::Release);
                if partition.channel.calls() {
                    self.calls[parity].store(true, Ordering::Release);
                }
                for (to, outbox) in partition.channel.outbox.iter_mut().enumerate() {
                    if !outbox.is_empty() {
                        std::mem::swap(&mut *lock(&self.mail[parity][*p][to]), outbox);
                    }
                }
            }
            if !self.barrier.wait(segment.workers, &mut spun) {
                return false;
            }
            for (p, partition) in &mut mine {
                for from in &self.mail[parity] {
                    let mut batch = lock(&from[*p]);
                    if !batch.is_empty() {
                        partition.channel.receive(&mut batch);
                    }
                }
            }
            start = Moment(
                self.earliest[parity].iter().map(|e| e.0.load(Ordering::Acquire)).fold(u64::MAX, u64::min),
            );
            windows += 1;
            if self.calls[parity].load(Ordering::Acquire) {
                break;
            }
            parity ^= 1;
        }
        if worker == 0 {
            self.windows.fetch_add(windows, Ordering::Relaxed);
        }
        if let Some(clock) = clock {
            self.busy.fetch_add(clock.elapsed().saturating_sub(spun).as_nanos() as u64, Ordering::Relaxed);
        }
        true
    }

    /// Moves requests of checkpoints from the partitions to `calls`: requests of nodes, and requests to
    /// resume a suspended node.
    fn take_calls(&self, calls: &mut Calls) {
        if !self.calls.iter().fold(false, |any, calls| any | calls.swap(false, Ordering::Relaxed)) {
            return;
        }
        for mut partition in self.partitions.iter().map(lock) {
            call(calls, partition.channel.reached.take().as_slice());
            for (at, by) in partition.channel.marked.drain(..) {
                calls.entry(at + self.window).or_default().push(by);
            }
        }
    }
}

impl<N: Node> Engine<N> {
    /// Runs until no event is pending, `on_checkpoint` breaks, or [`crate::Plan::until`] has come. Calls
    /// `on_checkpoint` at each regular checkpoint ([`crate::Plan::checkpoint`]), at each requested
    /// checkpoint, and at `until` if events are left.
    pub fn run(
        &mut self,
        mut on_checkpoint: impl FnMut(&mut Checkpoint<'_, N>) -> ControlFlow<()>,
    ) -> Finish {
        self.start();
        run(self, &mut on_checkpoint)
    }
}

fn run<N: Node>(
    engine: &mut Engine<N>,
    on_checkpoint: &mut dyn FnMut(&mut Checkpoint<'_, N>) -> ControlFlow<()>,
) -> Finish {
    let count = engine.partitions.len();
    let workers = engine.plan.threads;
    let mailbox = || (0..count).map(|_| (0..count).map(|_| Mutex::new(Batch::new())).collect()).collect();
    let minima = || (0..count).map(|_| Padded(AtomicU64::new(u64::MAX))).collect();
    // The workers borrow only the partitions, so that checkpoints can read the rest of the engine.
    let partitions = std::mem::take(&mut engine.partitions);
    let pool = Pool {
        partitions: &partitions,
        mail: [mailbox(), mailbox()],
        earliest: [minima(), minima()],
        calls: Default::default(),
        barrier: Barrier::default(),
        window: engine.window,
        windows: AtomicU64::new(0),
        busy: AtomicU64::new(0),
    };
    let gate = Gate::<Segment>::default();
    let trouble = Mutex::new(None);
    let done = Barrier::default();
    let outcome = std::thread::scope(|scope| {
        for worker in 1..workers {
            let (pool, gate, done, trouble) = (&pool, &gate, &done, &trouble);
            scope.spawn(move || {
                let mut seen = 0;
                while let Some(segment) = gate.next(&mut seen) {
                    if worker < segment.workers {
                        let result = catch_unwind(AssertUnwindSafe(|| pool.run_segment(worker, &segment)));
                        if let Err(panic) = result {
                            *lock(trouble) = Some(panic);
                            pool.barrier.poison();
                            done.poison();
                            return;
                        }
                        if !done.wait(segment.workers, &mut WallTime::default()) {
                            return;
                        }
                    }
                }
            });
        }
        let result =
            catch_unwind(AssertUnwindSafe(|| lead(engine, &pool, &gate, &done, workers, on_checkpoint)));
        if result.is_err() {
            pool.barrier.poison();
            done.poison();
        }
        gate.close();
        result
    });
    let panic = lock(&trouble).take();
    drop(pool);
    engine.partitions = partitions;
    match (panic, outcome) {
        (Some(panic), _) | (None, Err(panic)) => resume_unwind(panic),
        (None, Ok(finish)) => finish,
    }
}

/// Requested checkpoints: for each moment the nodes that requested the checkpoint, with their reasons.
type Calls = BTreeMap<Moment, Vec<(u32, u64)>>;

fn lead<N: Node>(
    engine: &mut Engine<N>,
    pool: &Pool<'_, N>,
    gate: &Gate<Segment>,
    done: &Barrier,
    workers: usize,
    on_checkpoint: &mut dyn FnMut(&mut Checkpoint<'_, N>) -> ControlFlow<()>,
) -> Finish {
    let mut next_checkpoint = Moment::ZERO;
    let mut asked: Option<Moment> = None;
    let mut calls = Calls::new();
    let mut events_a_window = u64::MAX;
    let mut speedup = Speedup::default();
    let mut alone = true;
    loop {
        let (start, events) = pool.next_event_and_events();
        let windows = pool.windows.load(Ordering::Relaxed);
        if windows > engine.statistics.windows {
            events_a_window = (events - engine.statistics.events) / (windows - engine.statistics.windows);
        }
        engine.statistics.events_alone += if alone { events - engine.statistics.events } else { 0 };
        engine.statistics.events = events;
        engine.statistics.windows = windows;
        let first_call = calls.keys().next().copied().filter(|at| *at <= engine.plan.until);
        let next = first_call.map_or(start, |at| at.min(start));
        if next > END_OF_TIME {
            return Finish::Idle;
        }
        if next > engine.plan.until {
            let _ = on_checkpoint(&mut engine.checkpoint_of(pool.partitions, engine.plan.until));
            return Finish::Ended;
        }
        // A regular checkpoint precedes an event (`start`). A request is no event, and adds no regular
        // checkpoint.
        let on_grid = (start >= next_checkpoint).then(|| asked.unwrap_or(engine.around(start)[0]));
        if let Some(now) = first_call.filter(|at| *at <= on_grid.unwrap_or(start)) {
            let mut checkpoint = engine.checkpoint_of(pool.partitions, now);
            checkpoint.called = calls.remove(&now);
            if on_checkpoint(&mut checkpoint).is_break() {
                return Finish::Stopped;
            }
            call(&mut calls, &checkpoint.calls);
            continue;
        }
        if let Some(now) = on_grid {
            let mut checkpoint = engine.checkpoint_of(pool.partitions, now);
            if on_checkpoint(&mut checkpoint).is_break() {
                return Finish::Stopped;
            }
            call(&mut calls, &checkpoint.calls);
            let [_, next] = engine.around(now);
            asked = checkpoint.next.filter(|at| (now..next).contains(at) && *at > now);
            next_checkpoint = asked.unwrap_or(next);
            continue;
        }
        let is_forced = engine.plan.solo_below == 0;
        alone = workers == 1 || events_a_window < engine.plan.solo_below || !(is_forced || speedup.pays());
        let until = next_checkpoint
            .min(Moment(engine.plan.until.0.saturating_add(1)))
            .min(first_call.unwrap_or(Moment::NEVER));
        let segment = Segment { start, until, workers: if alone { 1 } else { workers } };
        let clock = Instant::now();
        if alone {
            pool.run_segment(0, &segment);
            speedup.ran_alone(clock.elapsed());
        } else {
            pool.busy.store(0, Ordering::Relaxed);
            gate.open(segment);
            if !pool.run_segment(0, &segment) || !done.wait(workers, &mut WallTime::default()) {
                return Finish::Stopped;
            }
            speedup.ran_together(clock.elapsed(), WallTime::from_nanos(pool.busy.load(Ordering::Relaxed)));
        }
        pool.take_calls(&mut calls);
    }
}

fn call(calls: &mut Calls, at: &[Moment]) {
    for at in at {
        calls.entry(*at).or_default();
    }
}
