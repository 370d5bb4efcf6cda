//! The work of a run: how much is done of how much there is, for the progress and for estimates.
//!
//! The unit is the CPU time of a data packet over one link, so packets, slices over NVLink and ends of flows add up. The
//! weights come from jobs of 64 to 2,048 GPUs. They decide no result, and need to be right only within a factor of two.
//!
//! Serving takes steps all the time, so its share is one of time: now over the expected end. The last request arrives at a
//! known time, and then takes as long as requests took so far, for its first token and for each further token.

use xoff_applications::job::Jobs;
use xoff_applications::serving::{Servings, TokenRow};
use xoff_models::traffic::workload::AllFlows;
use xoff_units::Moment;

/// Links that a packet passes, on most fabrics between 2 and 4.
const HOPS_OF_A_PACKET: f64 = 3.0;
/// An all-to-all of 2,048 GPUs has 3.7 packet-hops a connection and takes 27 CPU-seconds for 15.7 M packet-hops; at the speed
/// of long flows it would take 4.
const HOPS_OF_A_FLOW: f64 = 20.0;
/// A slice takes four events and the bookkeeping of the job: 0.54 µs in one server of 8 GPUs, where a packet-hop takes 0.25 µs.
/// With 4 the estimates of three jobs on 256, 512 and 1,024 GPUs are 0.93, 0.94 and 1.01 of the measured CPU time; with 10 they
/// were 0.90, 0.71 and 0.86.
const HOPS_OF_A_SLICE: f64 = 4.0;
/// The rows of 8 million messages and operations took 11 CPU-seconds, where a packet-hop takes 0.25 µs. In a folded run a simulated packet-hop stands for many, and a row for one.
const HOPS_OF_A_ROW: f64 = 4.0;

/// The work of a run.
#[derive(Debug, Default)]
pub struct Work {
    /// Work besides packets.
    done: f64,
    total: f64,
    /// Packet-hops of a byte of payload, and of a row.
    of_a_byte: f64,
    of_a_row: f64,
    serving: Option<Pace>,
}

/// How fast requests of serving are answered.
#[derive(Debug, Default)]
struct Pace {
    last_arrival: Moment,
    /// Mean number of tokens after the first.
    further_tokens: f64,
    /// Sum and number of the times to a first token, and of the times to a further token, in picoseconds.
    first: (f64, f64),
    further: (f64, f64),
}

impl Pace {
    fn of(plan: &AllFlows) -> Option<Self> {
        let requests = || Servings::of(&plan.applications).flat_map(|served| &served.requests);
        let tokens: u64 = requests().map(|request| request.output.saturating_sub(1)).sum();
        let last_arrival = requests().map(|request| request.arrival).max()?;
        Some(Self {
            last_arrival,
            further_tokens: tokens as f64 / requests().count() as f64,
            ..Self::default()
        })
    }

    fn share(&self, now: Moment) -> f64 {
        if self.first.1 == 0.0 {
            return 0.0;
        }
        let mean = |(sum, count): (f64, f64)| sum / count.max(1.0);
        let answered = mean(self.first) + self.further_tokens * mean(self.further);
        now.ps() as f64 / (self.last_arrival.ps() as f64 + answered)
    }
}

/// Returns the number of rows of messages over the network and of operations.
pub fn rows(plan: &AllFlows) -> u64 {
    let operations: u64 = Jobs::of(&plan.applications).iter().map(|job| job.operations()).sum();
    plan.messages.values().sum::<u64>() + operations
}

impl Work {
    /// Returns the work of a plan, with packets of this payload. In a folded run a packet stands for `times`.
    pub fn new(plan: &AllFlows, payload: u64, times: u32, keeps_rows: bool) -> Self {
        let of_a_byte = HOPS_OF_A_PACKET / payload.max(1) as f64;
        let of_a_row = if keeps_rows { HOPS_OF_A_ROW * f64::from(times) } else { 0.0 };
        let rows = rows(plan);
        let slices = HOPS_OF_A_SLICE * plan.nvlink.slices as f64;
        let total = slices + HOPS_OF_A_FLOW * plan.flows as f64 + of_a_row * rows as f64;
        Self { done: 0.0, total, of_a_byte, of_a_row, serving: Pace::of(plan) }
    }

    /// Rows were made of messages or operations.
    pub fn add_rows(&mut self, rows: u64) {
        self.done += self.of_a_row * rows as f64;
    }

    /// Slices were delivered over NVLink.
    pub fn add_slices(&mut self, slices: u64) {
        self.done += HOPS_OF_A_SLICE * slices as f64;
    }

    /// A token of serving was made.
    pub fn add_token(&mut self, row: &TokenRow) {
        let Some(pace) = &mut self.serving else { return };
        let (times, time) = match row.gap {
            Some(gap) => (&mut pace.further, gap),
            None => (&mut pace.first, row.at - row.arrival),
        };
        *times = (times.0 + time.ps() as f64, times.1 + 1.0);
    }

    /// Returns the work besides packets that is done, and that of the run, after this many ends of flows.
    pub fn besides_packets(&self, flows: u64) -> (f64, f64) {
        ((self.done + HOPS_OF_A_FLOW * flows as f64).min(self.total), self.total)
    }

    /// Returns the share that is done, after these bytes of payload; `None` without payload and serving.
    pub fn share(&self, now: Moment, (bytes, of): (u64, u64), flows: u64) -> Option<f64> {
        if let Some(pace) = &self.serving {
            return Some(pace.share(now));
        }
        let (done, total) = self.besides_packets(flows);
        let work = |bytes: u64, rest: f64| bytes as f64 * self.of_a_byte + rest;
        (of > 0).then(|| work(bytes, done) / work(of, total))
    }
}
