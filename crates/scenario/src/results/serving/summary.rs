//! The summary of service times.
//!
//! A percentile is the element at ⌈p·n⌉. A request that had not ended is *censored*: the times lie between the
//! time so far and infinity. A percentile that depends on where a censored time lies is null, and so is the
//! mean. A censored request meets no service level.

use std::collections::BTreeMap;

use serde::Serialize;
use xoff_applications::serving::{Controller, Label, Plan, RequestRow, Serving, Servings, StepRow, TokenRow};
use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::traffic::workload::AllFlows;
use xoff_units::{Duration, Moment};

use crate::results::statistics::rank;

/// Mean and percentiles of times in picoseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct ServiceTimes {
    /// Mean.
    pub mean: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 90th percentile.
    pub p90: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
}

impl ServiceTimes {
    /// Computes the statistics of times, and of censored times with the least values.
    fn of(mut times: Vec<u64>, censored: &[u64]) -> Self {
        times.sort_unstable();
        let mut least: Vec<u64> = times.iter().chain(censored).copied().collect();
        least.sort_unstable();
        let n = least.len();
        if n == 0 {
            return Self::default();
        }
        let at = |permille: usize| {
            let place = rank(permille, n);
            times.get(place).copied().filter(|time| *time == least[place])
        };
        let sum = times.iter().map(|time| u128::from(*time)).sum::<u128>();
        let mean = censored.is_empty().then(|| (sum / n as u128) as u64);
        Self { mean, p50: at(500), p90: at(900), p99: at(990) }
    }
}

/// Shares of the time of steps of a pool.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StepSummary {
    /// Steps of all DP ranks.
    pub steps: u64,
    /// New tokens.
    pub tokens: u64,
    /// Share of the time in which the slowest rank computed.
    pub compute: Option<f64>,
    /// Share in which messages were on the way to the rank, which computed nothing.
    pub exposed: Option<f64>,
    /// `exposed` by label: `TP`, `EP_dispatch`, `EP_combine`.
    pub exposed_by_label: BTreeMap<&'static str, f64>,
    /// Share in which the rank waited for other ranks.
    pub bubble: Option<f64>,
}

/// Requests and steps of a serving workload, without requests of the warm-up.
#[derive(Debug, Clone, Serialize)]
pub struct ServingSummary {
    /// Arrived requests.
    pub requests: u64,
    /// Ended requests.
    pub completed: u64,
    /// Unfinished requests at the end of the run.
    pub censored: u64,
    /// Time to the first token (TTFT).
    pub ttft_ps: ServiceTimes,
    /// Mean time of a token after the first token (TPOT), of each request.
    pub tpot_ps: ServiceTimes,
    /// Time between two tokens (ITL), of all tokens made.
    pub itl_ps: ServiceTimes,
    /// Time from the arrival to the last token.
    pub e2e_ps: ServiceTimes,
    /// Transfer of a KV cache, from the posting of the first message to the end of the last message.
    pub kv_transfer_ps: ServiceTimes,
    /// Output tokens in a second, from the end of the warm-up to the last token.
    pub output_tokens_per_second: Option<f64>,
    /// Share of the requests that met all service levels; null without service levels.
    pub slo_attainment: Option<f64>,
    /// Requests in a second that met all service levels; null without service levels.
    pub goodput: Option<f64>,
    /// Shares of the time of steps, by pool.
    pub steps: BTreeMap<&'static str, StepSummary>,
}

/// Sums of the steps of a pool.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    steps: u64,
    tokens: u64,
    time: Duration,
    compute: Duration,
    exposed: [Duration; 3],
    bubble: Duration,
}

/// Times of the requests of a workload.
#[derive(Debug, Clone, Default)]
struct Workload {
    name: String,
    number: u32,
    has_slo: bool,
    warmup: Moment,
    end: Moment,
    requests: u64,
    completed: u64,
    met: u64,
    tokens: u64,
    /// Times to the first token, per token, to the last token, and of the KV transfer; and censored times.
    known: [Vec<u64>; 4],
    censored: [Vec<u64>; 4],
    gaps: Vec<u64>,
    steps: BTreeMap<&'static str, Sums>,
}

/// Times of all serving workloads.
#[derive(Default)]
pub struct Times(Vec<Workload>);

impl Times {
    /// Before the first request.
    pub fn new(plan: &AllFlows) -> Self {
        let of = |plan: &Plan, names: &[String]| Workload {
            name: names[xoff_units::index(plan.workload)].clone(),
            number: plan.workload,
            has_slo: plan.has_slo(),
            warmup: plan.warmup,
            ..Workload::default()
        };
        Self(Servings::of(&plan.applications).map(|served| of(served, &plan.names)).collect())
    }

    /// True without serving workloads.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of(&mut self, workload: u32) -> Option<&mut Workload> {
        self.0.iter_mut().find(|times| times.number == workload)
    }

    /// Adds an ended request.
    pub fn add_request(&mut self, row: &RequestRow) {
        let Some(times) = self.of(row.workload).filter(|_| !row.is_warmup) else { return };
        times.requests += 1;
        times.completed += 1;
        times.met += u64::from(row.meets == Some(true));
        let list = [row.ttft, row.itl.map(|itl| itl.0), row.e2e, row.kv_transfer];
        for (known, time) in times.known.iter_mut().zip(list) {
            known.extend(time.map(Duration::ps));
        }
    }

    /// Adds an unfinished request.
    pub fn add_censored(&mut self, row: &RequestRow, now: Moment) {
        let Some(times) = self.of(row.workload).filter(|_| !row.is_warmup) else { return };
        times.requests += 1;
        let so_far = now.since(row.arrival).ps();
        match row.ttft {
            Some(ttft) => times.known[0].push(ttft.ps()),
            None => times.censored[0].push(so_far),
        }
        if row.tokens[2] > 1 {
            times.censored[1].push(0);
        }
        times.censored[2].push(so_far);
        if row.kv_bytes > 0 {
            match row.kv_transfer.filter(|_| row.has_kv) {
                Some(transfer) => times.known[3].push(transfer.ps()),
                None => times.censored[3].push(0),
            }
        }
    }

    /// Adds a token.
    pub fn add_token(&mut self, row: &TokenRow) {
        let Some(times) = self.of(row.workload).filter(|times| row.arrival >= times.warmup) else { return };
        times.tokens += 1;
        times.end = times.end.max(row.at);
        times.gaps.extend(row.gap.map(Duration::ps));
    }

    /// Adds a step.
    pub fn add_step(&mut self, row: &StepRow) {
        let Some(times) = self.of(row.workload) else { return };
        let sums = times.steps.entry(row.pool).or_default();
        sums.steps += 1;
        sums.tokens += row.counts[0];
        sums.time += row.report.end.since(row.report.start);
        sums.compute += row.report.compute;
        sums.bubble += row.report.bubble;
        for (sum, exposed) in sums.exposed.iter_mut().zip(row.report.exposed) {
            *sum += exposed;
        }
    }

    /// Returns the summaries by the names of workloads.
    pub fn summaries(self) -> BTreeMap<String, ServingSummary> {
        self.0.into_iter().map(|times| (times.name.clone(), times.summary())).collect()
    }
}

impl Sums {
    fn summary(&self) -> StepSummary {
        let share = |time: Duration| (self.time > Duration::ZERO).then(|| time.real() / self.time.real());
        let exposed = self.exposed.iter().fold(Duration::ZERO, |sum, time| sum + *time);
        let by_label = Label::ALL.into_iter().filter_map(|(label, name)| {
            let time = self.exposed[label as usize];
            Some((name, share(time)?)).filter(|_| time > Duration::ZERO)
        });
        StepSummary {
            steps: self.steps,
            tokens: self.tokens,
            compute: share(self.compute),
            exposed: share(exposed),
            exposed_by_label: by_label.collect(),
            bubble: share(self.bubble),
        }
    }
}

impl Workload {
    fn summary(self) -> ServingSummary {
        let seconds = self.end.since(self.warmup).real() / 1e12;
        let in_a_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
        let [ttft, tpot, e2e, kv] = self.known;
        let [ttft_left, tpot_left, e2e_left, kv_left] = self.censored;
        let has_slo = self.has_slo && self.requests > 0;
        ServingSummary {
            requests: self.requests,
            completed: self.completed,
            censored: self.requests - self.completed,
            ttft_ps: ServiceTimes::of(ttft, &ttft_left),
            tpot_ps: ServiceTimes::of(tpot, &tpot_left),
            itl_ps: ServiceTimes::of(self.gaps, &[]),
            e2e_ps: ServiceTimes::of(e2e, &e2e_left),
            kv_transfer_ps: ServiceTimes::of(kv, &kv_left),
            output_tokens_per_second: in_a_second(self.tokens),
            slo_attainment: has_slo.then(|| self.met as f64 / self.requests as f64),
            goodput: in_a_second(self.met).filter(|_| has_slo),
            steps: self.steps.iter().map(|(pool, sums)| (*pool, sums.summary())).collect(),
        }
    }
}

/// Takes the rows of controllers since the last call, in order of time.
pub fn take(cp: &mut Checkpoint<'_, Node>) -> (Vec<RequestRow>, Vec<StepRow>, Vec<TokenRow>) {
    let (mut requests, mut steps, mut tokens) = (Vec::new(), Vec::new(), Vec::new());
    for id in 0..cp.nodes() {
        let endpoint = cp.node_mut(id).endpoint.as_mut();
        let serving = endpoint.and_then(|endpoint| endpoint.applications.of_mut::<Serving>());
        for controller in serving.into_iter().flat_map(|serving| &mut serving.controllers) {
            requests.append(&mut controller.rows.requests);
            steps.append(&mut controller.rows.steps);
            tokens.append(&mut controller.rows.tokens);
        }
    }
    requests.sort_by_key(|row| row.e2e.map(|e2e| row.arrival + e2e));
    steps.sort_by_key(|row| row.report.end);
    tokens.sort_by_key(|row| row.at);
    (requests, steps, tokens)
}

/// Returns the unfinished requests.
pub fn censored(cp: &Checkpoint<'_, Node>) -> Vec<RequestRow> {
    controllers(cp).flat_map(Controller::censored).collect()
}

/// Returns the first imbalance of the books, if any: requests, tokens, bytes of KV caches and memory.
pub fn imbalance(cp: &Checkpoint<'_, Node>) -> Option<String> {
    controllers(cp).find_map(Controller::imbalance)
}

fn controllers<'a>(cp: &'a Checkpoint<'_, Node>) -> impl Iterator<Item = &'a Controller> {
    let serving =
        (0..cp.nodes()).filter_map(|id| cp.node(id).endpoint.as_ref()?.applications.of::<Serving>());
    serving.flat_map(|serving| &serving.controllers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_null_if_a_censored_time_could_move_it() {
        let times: Vec<u64> = (1..=10).collect();
        let all = ServiceTimes::of(times.clone(), &[]);
        assert_eq!((all.mean, all.p50, all.p90, all.p99), (Some(5), Some(5), Some(9), Some(10)));
        // The times of these two requests are 20 or more: half of twelve times are at most 6 in any case.
        let two = ServiceTimes::of(times.clone(), &[20, 20]);
        assert_eq!((two.mean, two.p50, two.p90, two.p99), (None, Some(6), None, None));
        // A time of 3 or more may be the fourth or the last.
        let early = ServiceTimes::of(times, &[3]);
        assert_eq!((early.p50, early.p99), (None, None));
        assert_eq!(ServiceTimes::of(Vec::new(), &[]).p50, None);
    }
}
