//! The life of a request: the tokens, the KV cache, and the parts of the time.
//!
//! The parts follow one another without a gap, from the arrival to the last token. Time after the last token counts
//! nowhere.

use xoff_units::{Duration, Moment};

use super::plan::{Plan, Pool, Request};
use super::rows::{PARTS, Report, RequestRow};

/// A request from the arrival on.
#[derive(Debug, Clone)]
pub(super) struct Life {
    request: Request,
    /// DP ranks of prefill and decode.
    pub prefill: u32,
    pub decode: Option<u32>,
    /// Computed tokens of the prompt.
    pub computed: u64,
    /// Tokens of the answer.
    pub tokens: u64,
    first: Option<Moment>,
    /// The last token; before, the arrival.
    last: Moment,
    /// Longest time between two tokens.
    longest: Duration,
    /// End of the last counted part.
    pub mark: Moment,
    pub parts: [Duration; PARTS],
    /// Decode ranks with a whole part of the KV cache.
    received: u32,
    transfer: Option<(Moment, Moment)>,
    /// The first message of the KV cache left a rank, on the way to other NICs.
    began: Option<Moment>,
    pub is_over: bool,
}

impl Life {
    /// Returns a request that arrives.
    pub const fn new(request: Request, prefill: u32, decode: Option<u32>) -> Self {
        Self {
            request,
            prefill,
            decode,
            computed: request.cached,
            tokens: 0,
            first: None,
            last: request.arrival,
            longest: Duration::ZERO,
            mark: request.arrival,
            parts: [Duration::ZERO; PARTS],
            received: 0,
            transfer: None,
            began: None,
            is_over: false,
        }
    }

    /// Adds the time up to a moment to a part.
    pub fn account(&mut self, part: usize, until: Moment) {
        if self.tokens == self.request.output {
            return;
        }
        self.parts[part] += until.since(self.mark);
        self.mark = self.mark.max(until);
    }

    /// Adds a step: the wait in a queue, and the parts of the step, which follow the queue among the parts.
    pub fn spend(&mut self, report: Report, queue: usize) {
        self.account(queue, report.start);
        self.parts[queue + 1] += report.compute;
        self.parts[queue + 2] += report.exposed();
        self.parts[queue + 3] += report.bubble;
        self.mark = report.end;
    }

    /// Adds a token. Returns the time since the token before.
    pub fn add_token(&mut self, at: Moment) -> Option<Duration> {
        self.tokens += 1;
        let gap = self.first.map(|_| at.since(self.last));
        self.longest = self.longest.max(gap.unwrap_or_default());
        self.first = self.first.or(Some(at));
        self.last = at;
        gap
    }

    /// The first message of the KV cache leaves a rank.
    pub fn begin_transfer(&mut self, at: Moment) {
        self.began = Some(self.began.map_or(at, |known| known.min(at)));
    }

    /// A decode rank has a whole part of the KV cache: the posting of the first message, and the end of the last.
    pub fn receive(&mut self, first: Moment, last: Moment) {
        self.received += 1;
        let (known, end) = self.transfer.unwrap_or((first, last));
        self.transfer = Some((known.min(first), end.max(last)));
    }

    /// Returns the end of the transfer, if all of the ranks have the KV cache.
    pub fn transferred(&self, ranks: u32) -> Option<Moment> {
        self.transfer.filter(|_| self.received == ranks).map(|(_, last)| last)
    }

    /// True if the parts add up to the time from the arrival to the last token.
    pub fn adds_up(&self) -> bool {
        let sum = self.parts.iter().fold(Duration::ZERO, |sum, part| sum + *part);
        sum == self.last.since(self.request.arrival)
    }

    /// Returns the row of the request with this number.
    pub fn row(&self, number: u32, plan: &Plan) -> RequestRow {
        let request = self.request;
        let place = |dp: u32| {
            let Pool { first_dp, data, .. } = plan.pools[plan.pool_of(dp)];
            ((dp - first_dp) / data, (dp - first_dp) % data)
        };
        let since = |at: Moment| at.since(request.arrival);
        let ttft = self.first.map(since);
        let e2e = self.is_over.then(|| since(self.last));
        let gaps = request.output - 1;
        let itl = self
            .first
            .filter(|_| self.is_over && gaps > 0)
            .map(|first| (Duration(self.last.since(first).ps() / gaps), self.longest));
        let ranks = self.decode.map_or(0, |decode| plan.pools[plan.pool_of(decode)].tensor);
        let has_kv = self.received == ranks && ranks > 0;
        RequestRow {
            workload: plan.workload,
            request: number,
            arrival: request.arrival,
            tokens: [request.input, request.cached, request.output],
            prefill: place(self.prefill),
            decode: self.decode.map(place),
            parts: self.parts,
            kv_bytes: request.input * u64::from(plan.layers) * plan.kv_of_token(),
            kv_transfer: self
                .transfer
                .filter(|_| has_kv)
                .map(|(first, last)| last.since(self.began.map_or(first, |began| began.min(first)))),
            ttft,
            itl,
            e2e,
            meets: (plan.has_slo() && self.is_over).then(|| plan.slo.admits(ttft, itl, e2e)),
            has_kv,
            is_warmup: request.arrival < plan.warmup,
        }
    }
}
