//! A rank: computes the ordered steps, and posts messages.
//!
//! A layer is attention; an all-reduce of tensor-parallel ranks; then the network with another all-reduce, or
//! dispatch, experts and combine, with an all-gather of tensor-parallel ranks. Shared experts compute during
//! the dispatch. One part computes at a time. In a dispatch or combine a rank sends each other rank of the
//! group exactly one message. Simplification: an all-reduce is a ring, and the parts are whole messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::random::Stream;
use xoff_units::{Duration, Moment, index};

use super::batch::{Order, Part};
use super::control::{Begin, Control, Lines};
use super::exchange::{Exchange, expert_bytes};
use super::plan::{
    Connects, Granularity, Handoff, Kind, Plan, Pool, Seat, Shares, job_of, place_in_operation, sender_of,
};
use super::rails::Rails;
use super::rows::{Exposed, Label, Report};
use crate::effects::{Effect, Effects};
use crate::message::{After, MessageId, Post};
use crate::streams::normal;
use crate::token;

/// Timers of a worker: a part was computed, shared experts were computed, the overhead of an exchange is
/// over, the overhead of a KV cache is over, and the scheduler has prepared a step.
const COMPUTED: u32 = 0;
const SHARED: u32 = 1;
const OVERHEAD: u32 = 2;
const KV: u32 = 3;
const SCHEDULED: u32 = 4;

/// The part of a step in which a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Attention,
    AttentionReduce,
    Network,
    NetworkReduce,
    Dispatch,
    Experts,
    Combine,
    Gather,
    Head,
}

/// Returns the end of the wait for other ranks, from the known end and a message: the posting of the last
/// message with experts, and of the first message in a ring, where later messages wait for the ring.
fn waits_until(kind: Kind, got: u32, known: Moment, posted: Moment) -> Moment {
    match kind {
        Kind::Tensor if got > 1 => known,
        Kind::Tensor => posted,
        _ => known.max(posted),
    }
}

/// A step of a rank.
#[derive(Debug, Clone)]
struct Run {
    order: Arc<Order>,
    layer: u32,
    stage: Stage,
    exchange: Option<Exchange>,
    /// Start of the present computation.
    since: Moment,
    /// Shared experts compute.
    is_shared: bool,
    /// The overhead of an exchange is not over.
    is_late: bool,
    report: Report,
}

/// A KV cache on the way to a rank.
#[derive(Debug, Clone, Copy)]
struct Receiving {
    bytes: u64,
    first: Moment,
}

/// A rank.
#[derive(Debug, Clone)]
pub struct Worker {
    plan: Arc<Plan>,
    /// Place among the workers of the host.
    own: u8,
    rank: u32,
    seat: Seat,
    line: Option<Begin>,
    /// Flows by connection, and queues of NVLink.
    ways: [Vec<(Connects, u32)>; 2],
    run: Option<Run>,
    /// The step in preparation by the scheduler.
    scheduled: Option<Arc<Order>>,
    /// Operations of each kind so far.
    numbers: [u32; 3],
    /// Messages ahead of an operation, by kind and number: how many, and the last posting.
    early: FxHashMap<(Kind, u32), (u32, Moment)>,
    /// KV caches waiting for the overhead, with the number of layers.
    leaving: VecDeque<(Part, u32)>,
    receiving: BTreeMap<u32, Receiving>,
    /// Pieces of KV caches sent so far.
    pieces: u32,
    /// Draws deviations of computing times.
    stream: Stream,
    /// The latest step.
    order: Arc<Order>,
    /// The group by servers, with copies for each server.
    rails: Option<Rails>,
    /// Results of the ranks of this server for a rank of another server, by operation and place: how many.
    gathered: FxHashMap<(u32, u32), u32>,
}

impl Worker {
    /// Returns a rank with the flows of connections and the queues of NVLink.
    pub fn new(plan: Arc<Plan>, rank: u32, own: u8, ways: [Vec<(Connects, u32)>; 2]) -> Self {
        let seat = plan.seat(rank);
        let stream = Stream::new(plan.seed, u64::from(rank), "jitter");
        let Shares { gpus, .. } = plan.pools[seat.pool].copies;
        let rails = (gpus > 0).then(|| Rails::new(plan.expert_group(seat.dp), gpus, rank));
        Self {
            plan,
            own,
            rank,
            seat,
            line: None,
            ways,
            run: None,
            scheduled: None,
            numbers: [0; 3],
            early: FxHashMap::default(),
            leaving: VecDeque::new(),
            receiving: BTreeMap::new(),
            pieces: 0,
            stream,
            order: Arc::default(),
            rails,
            gathered: FxHashMap::default(),
        }
    }

    /// Joins the rank with the controller.
    pub fn join(&mut self, lines: &Lines) {
        self.line = Some(lines.to_controller.clone());
    }

    /// True for this rank of a workload.
    pub fn is(&self, workload: u32, rank: u32) -> bool {
        (self.plan.number, self.rank) == (workload, rank)
    }

    /// True while the rank computes or waits for a timer.
    pub fn goes_on(&self) -> bool {
        let computes = |run: &Run| run.exchange.is_none() || run.is_shared || run.is_late;
        !self.leaving.is_empty() || self.scheduled.is_some() || self.run.as_ref().is_some_and(computes)
    }

    fn pool(&self) -> &Pool {
        &self.plan.pools[self.seat.pool]
    }

    fn report(&self, message: Control, effects: &mut Effects) {
        if let Some(line) = &self.line {
            line.send(message, effects);
        }
    }

    /// A message of the controller.
    pub(super) fn on_control(&mut self, message: Control, effects: &mut Effects) {
        match message {
            Control::Step(order) if self.plan.scheduling > Duration::ZERO => {
                self.scheduled = Some(order);
                effects.push(Effect::Call(
                    token::SERVING,
                    self.own,
                    effects.now + self.plan.scheduling,
                    SCHEDULED,
                ));
            }
            Control::Step(order) => self.begin(order, effects),
            Control::Send(part) => self.hand_off(part, self.plan.layers, effects),
            Control::Ended(_) | Control::Received(..) => {}
        }
    }

    fn begin(&mut self, order: Arc<Order>, effects: &mut Effects) {
        let now = effects.now;
        let report = Report {
            start: now,
            end: now,
            compute: Duration::ZERO,
            exposed: Exposed::default(),
            bubble: Duration::ZERO,
        };
        self.order = order.clone();
        self.run = Some(Run {
            order,
            layer: 0,
            stage: Stage::Attention,
            exchange: None,
            since: now,
            is_shared: false,
            is_late: false,
            report,
        });
        self.enter(Stage::Attention, effects);
    }

    /// A timer of this rank.
    pub fn on_timer(&mut self, what: u32, effects: &mut Effects) {
        if let (COMPUTED | SHARED, Some(run)) = (what, &mut self.run) {
            run.report.compute += effects.now.since(run.since);
        }
        match what {
            COMPUTED => self.leave(effects),
            SCHEDULED => {
                if let Some(order) = self.scheduled.take() {
                    self.begin(order, effects);
                }
            }
            SHARED => {
                if let Some(run) = &mut self.run {
                    run.is_shared = false;
                    if let Some(exchange) = &mut run.exchange {
                        exchange.since = effects.now;
                    }
                }
                self.go_on(effects);
            }
            OVERHEAD => {
                if let Some(run) = &mut self.run {
                    run.is_late = false;
                }
                self.send_to_experts(effects);
                self.go_on(effects);
            }
            _ => {
                if let Some((part, layers)) = self.leaving.pop_front() {
                    self.send_kv(part, layers, effects);
                }
            }
        }
    }

    /// Begins a stage, and all further stages without time.
    fn enter(&mut self, mut stage: Stage, effects: &mut Effects) {
        loop {
            let Some(run) = &mut self.run else { return };
            run.stage = stage;
            if let Some(time) = self.computes(stage) {
                if time > Duration::ZERO {
                    return self.compute(time, COMPUTED, effects);
                }
            } else if !self.exchange(stage, effects) {
                return;
            }
            let Some(next) = self.next(stage, effects) else { return };
            stage = next;
        }
    }

    /// Computes for some time.
    fn compute(&mut self, time: Duration, what: u32, effects: &mut Effects) {
        if let Some(run) = &mut self.run {
            run.since = effects.now;
        }
        let time = self.jittered(time);
        effects.push(Effect::Compute(token::SERVING, self.own, effects.now + time, what));
    }

    /// Returns a computing time with the random deviation.
    fn jittered(&mut self, time: Duration) -> Duration {
        if self.plan.jitter == 0.0 {
            return time;
        }
        // No further than three deviations out, as in training.
        let factor = (1.0 + self.plan.jitter * normal(&mut self.stream).clamp(-3.0, 3.0)).max(0.0);
        Duration::of_real(time.real() * factor)
    }

    /// Returns the time of a stage in which the rank computes; `None` for an exchange.
    fn computes(&self, stage: Stage) -> Option<Duration> {
        let run = self.run.as_ref()?;
        let (order, pool) = (&run.order, self.pool());
        let costs = &pool.costs;
        match stage {
            Stage::Attention => Some(costs.attention(order.tokens, order.context, order.pairs)),
            Stage::Network if run.layer < self.plan.dense_layers => Some(costs.network(order.tokens)),
            Stage::Network => {
                let [shared, routed] = [costs.shared_experts(order.tokens), costs.experts(order.tokens)];
                Some(shared + routed)
            }
            Stage::Experts => Some(costs.experts(order.of_all)),
            Stage::Head => Some(costs.head(order.sequences)),
            Stage::AttentionReduce
            | Stage::NetworkReduce
            | Stage::Dispatch
            | Stage::Combine
            | Stage::Gather => None,
        }
    }

    /// Begins an exchange. True if the exchange is over at once.
    fn exchange(&mut self, stage: Stage, effects: &mut Effects) -> bool {
        let (plan, pool) = (&self.plan, self.pool());
        let Some(tokens) = self.run.as_ref().map(|run| run.order.tokens) else { return false };
        let others = self.plan.expert_group(self.seat.dp).len() as u32 - 1;
        let (kind, total, bytes) = match stage {
            Stage::Dispatch => (Kind::Dispatch, others, 0),
            // The results of a rank's tokens come back from each rank, or from each server.
            Stage::Combine => (Kind::Combine, self.answers().unwrap_or(others), 0),
            Stage::Gather => (Kind::Tensor, pool.tensor - 1, tokens * plan.activation),
            _ => (Kind::Tensor, 2 * (pool.tensor - 1), tokens * plan.activation),
        };
        let shared = pool.costs.shared_experts(tokens);
        let number = self.numbers[kind as usize];
        self.numbers[kind as usize] += 1;
        let (got, posted) = self.early.remove(&(kind, number)).unwrap_or((0, effects.now));
        let exchange = Exchange { kind, number, sent: 0, got, total, bytes, since: effects.now, posted };
        let (is_ring, overhead) = (kind == Kind::Tensor, self.plan.expert_overhead);
        let Some(run) = &mut self.run else { return false };
        run.exchange = Some(exchange);
        if stage == Stage::Dispatch && shared > Duration::ZERO {
            run.is_shared = true;
            self.compute(shared, SHARED, effects);
        }
        if is_ring {
            self.pass_ring(effects);
        } else if overhead > Duration::ZERO {
            if let Some(run) = &mut self.run {
                run.is_late = true;
            }
            effects.push(Effect::Call(token::SERVING, self.own, effects.now + overhead, OVERHEAD));
        } else {
            self.send_to_experts(effects);
        }
        self.ends_exchange(effects.now)
    }

    /// Sends the ready messages of a ring.
    fn pass_ring(&mut self, effects: &mut Effects) {
        let ranks = self.pool().tensor;
        let next = self.plan.ranks_of(self.seat.dp).start + (self.seat.tensor + 1) % ranks;
        while let Some(exchange) = self.run.as_mut().and_then(|run| run.exchange.as_mut())
            && exchange.ring_goes_on()
        {
            let (number, bytes) = (exchange.number, exchange.ring_bytes(ranks, self.seat.tensor));
            let of_ring = exchange.sent;
            exchange.sent += 1;
            self.post(Kind::Tensor, next, (number, of_ring), bytes, effects);
        }
    }

    /// Sends one message to each other rank of the group, or on each rail.
    fn send_to_experts(&mut self, effects: &mut Effects) {
        let Some(exchange) = self.run.as_ref().and_then(|run| run.exchange) else { return };
        let (kind, number) = (exchange.kind, exchange.number);
        if self.rails.is_some() {
            self.send_by_rails(kind, number, effects);
        } else {
            for to in self.plan.expert_group(self.seat.dp).filter(|to| *to != self.rank) {
                let bytes = self.bytes_for(kind, to, self.pool().copies.rank);
                self.post(kind, to, (number, 0), bytes, effects);
            }
        }
        if let Some(exchange) = self.run.as_mut().and_then(|run| run.exchange.as_mut()) {
            exchange.sent = exchange.total;
        }
    }

    /// Returns the bytes of a message to a rank, with this many copies of each token: tokens of this rank, or
    /// results for the tokens of the other rank.
    fn bytes_for(&self, kind: Kind, to: u32, copies: f64) -> u64 {
        let (of, size) = match kind {
            Kind::Dispatch => (self.rank, self.plan.dispatch),
            _ => (to, self.plan.combine),
        };
        expert_bytes(copies, self.tokens_of(of), size)
    }

    /// Returns the tokens of a rank in the latest step.
    fn tokens_of(&self, rank: u32) -> u64 {
        let seat = self.plan.seat(rank);
        let place = index(seat.dp - self.plan.unit_of(seat.dp).start);
        let tokens = self.order.of_each.get(place).copied().unwrap_or(0);
        Plan::share(tokens, self.pool().tensor, seat.tensor)
    }

    /// Posts a message of an operation, with the number of the operation and of the message.
    fn post(&self, kind: Kind, to: u32, of: (u32, u32), bytes: u64, effects: &mut Effects) {
        let key = Connects { from: self.rank, to, kind };
        let id =
            MessageId { job: job_of(self.plan.number, self.rank), number: of.0, place: kind.place(of.1, to) };
        let way = |ways: &[(Connects, u32)]| {
            ways.binary_search_by_key(&key, |one| one.0).ok().map(|place| ways[place].1)
        };
        if let Some(flow) = way(&self.ways[0]) {
            effects.push(Effect::Post(Post { id, flow, bytes, after: After::Begun }));
        } else if let Some(queue) = way(&self.ways[1]) {
            let post = Post { id, flow: Post::NVLINK, bytes, after: After::Begun };
            effects.push(Effect::SendSlice(queue, post));
        }
    }

    /// A message for this rank is whole.
    pub fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let kind = Kind::of(post.id.place);
        if kind == Kind::Kv {
            return self.receive_kv(post.id.number, post.bytes, posted, effects);
        }
        if self.passes_on(kind, post, effects) {
            return;
        }
        let key = (kind, post.id.number);
        match self.run.as_mut().and_then(|run| run.exchange.as_mut()) {
            Some(exchange) if (exchange.kind, exchange.number) == key => {
                exchange.got += 1;
                exchange.posted = waits_until(kind, exchange.got, exchange.posted, posted);
            }
            _ => {
                let early = self.early.entry(key).or_insert((0, posted));
                *early = (early.0 + 1, waits_until(kind, early.0 + 1, early.1, posted));
                return;
            }
        }
        if kind == Kind::Tensor {
            self.pass_ring(effects);
        }
        self.go_on(effects);
    }

    /// Ends the exchange if all messages are here, and counts the time. True if the exchange is over.
    fn ends_exchange(&mut self, now: Moment) -> bool {
        let Some(run) = &mut self.run else { return false };
        let Some(exchange) = run.exchange.filter(Exchange::is_over) else { return false };
        if run.is_shared || run.is_late {
            return false;
        }
        run.exchange = None;
        let bubble = exchange.posted.since(exchange.since).min(now.since(exchange.since));
        let label = match exchange.kind {
            Kind::Dispatch => Label::Dispatch,
            Kind::Combine => Label::Combine,
            Kind::Tensor | Kind::Kv => Label::Tensor,
        };
        run.report.bubble += bubble;
        run.report.exposed[label as usize] += now.since(exchange.since) - bubble;
        true
    }

    /// Goes on with the step if the present exchange is over.
    fn go_on(&mut self, effects: &mut Effects) {
        if self.ends_exchange(effects.now) {
            self.leave(effects);
        }
    }

    /// The present stage is over.
    fn leave(&mut self, effects: &mut Effects) {
        let Some(stage) = self.run.as_ref().map(|run| run.stage) else { return };
        if let Some(next) = self.next(stage, effects) {
            self.enter(next, effects);
        }
    }

    /// Returns the stage after a stage; `None` if the step is over.
    fn next(&mut self, stage: Stage, effects: &mut Effects) -> Option<Stage> {
        let shares = self.pool().tensor > 1;
        let exchanges = {
            let run = self.run.as_ref()?;
            self.plan.exchanges(self.pool(), run.layer)
        };
        let second = if exchanges { Stage::Dispatch } else { Stage::Network };
        match stage {
            Stage::Attention => {
                self.pass_on_layer(effects);
                Some(if shares { Stage::AttentionReduce } else { second })
            }
            Stage::AttentionReduce => Some(second),
            Stage::Network if shares => Some(Stage::NetworkReduce),
            Stage::Dispatch => Some(Stage::Experts),
            Stage::Experts => Some(Stage::Combine),
            Stage::Combine if shares => Some(Stage::Gather),
            Stage::Network | Stage::NetworkReduce | Stage::Combine | Stage::Gather => {
                let run = self.run.as_mut()?;
                run.layer += 1;
                Some(if run.layer < self.plan.layers { Stage::Attention } else { Stage::Head })
            }
            Stage::Head => {
                self.end(effects);
                None
            }
        }
    }

    /// The step is over.
    fn end(&mut self, effects: &mut Effects) {
        let Some(run) = self.run.take() else { return };
        if self.plan.handoff == Handoff::Push && self.plan.granularity != Granularity::Layer {
            for part in &run.order.kv {
                self.hand_off(*part, self.plan.layers, effects);
            }
        }
        self.report(Control::Ended(Report { end: effects.now, ..run.report }), effects);
    }

    /// Sends a layer of KV caches, with hand-off by layers.
    fn pass_on_layer(&mut self, effects: &mut Effects) {
        if self.plan.granularity != Granularity::Layer {
            return;
        }
        let parts = self.run.as_ref().map_or_else(Vec::new, |run| run.order.kv.clone());
        for part in parts {
            self.hand_off(part, 1, effects);
        }
    }

    /// Sends layers of a KV cache after the overhead.
    fn hand_off(&mut self, part: Part, layers: u32, effects: &mut Effects) {
        if self.plan.kv_overhead == Duration::ZERO {
            return self.send_kv(part, layers, effects);
        }
        self.leaving.push_back((part, layers));
        effects.push(Effect::Call(token::SERVING, self.own, effects.now + self.plan.kv_overhead, KV));
    }

    fn send_kv(&mut self, part: Part, layers: u32, effects: &mut Effects) {
        let piece = self.pieces;
        self.pieces += 1;
        let first = self.plan.ranks_of(part.to).start;
        for (to, bytes) in self.plan.heads.sent(self.seat.tensor) {
            let bytes = part.tokens * u64::from(layers) * bytes;
            self.post(Kind::Kv, first + to, (part.request, piece), bytes, effects);
        }
    }

    /// A message with a part of a KV cache is here.
    fn receive_kv(&mut self, request: u32, bytes: u64, posted: Moment, effects: &mut Effects) {
        let of_request = self.plan.requests[index(request)].input * u64::from(self.plan.layers);
        let all = of_request * self.plan.kv_bytes_of(self.seat.tensor);
        let known = self.receiving.entry(request).or_insert(Receiving { bytes: 0, first: posted });
        known.bytes += bytes;
        known.first = known.first.min(posted);
        if known.bytes >= all {
            let first = known.first;
            self.receiving.remove(&request);
            self.report(Control::Received(request, first, effects.now), effects);
        }
    }
}

/// Copies for each server.
impl Worker {
    /// Returns the number of messages with results: from the ranks of the server, and from each other server.
    fn answers(&self) -> Option<u32> {
        let rails = self.rails.as_ref()?;
        Some(rails.local().count() as u32 + rails.rail().count() as u32)
    }

    fn send_by_rails(&mut self, kind: Kind, number: u32, effects: &mut Effects) {
        let Some(rails) = self.rails.clone() else { return };
        let (copies, own) = (self.pool().copies, rails.place(self.rank));
        if kind == Kind::Dispatch {
            for (to, copies) in
                rails.local().map(|to| (to, copies.rank)).chain(rails.rail().map(|to| (to, copies.server)))
            {
                self.post(kind, to, (number, own), self.bytes_for(kind, to, copies), effects);
            }
            return;
        }
        for to in rails.local() {
            self.post(kind, to, (number, rails.place(to)), self.bytes_for(kind, to, copies.rank), effects);
        }
        for to in rails.remote() {
            let gateway = rails.gateway(to);
            if gateway == self.rank {
                self.gather(number, rails.place(to), effects);
            } else {
                let bytes = self.bytes_for(kind, to, copies.rank);
                self.post(kind, gateway, (number, rails.place(to)), bytes, effects);
            }
        }
    }

    /// Passes the tokens of another server on, or gathers results for another server. True if the message is not
    /// for this rank.
    fn passes_on(&mut self, kind: Kind, post: &Post, effects: &mut Effects) -> bool {
        let Some(rails) = self.rails.clone().filter(|_| kind != Kind::Tensor) else { return false };
        let place = place_in_operation(post.id.place);
        if kind == Kind::Combine && place != rails.place(self.rank) {
            self.gather(post.id.number, place, effects);
            return true;
        }
        let from = sender_of(post.id.job);
        if kind == Kind::Dispatch && !rails.is_local(from) {
            let bytes = expert_bytes(self.pool().copies.rank, self.tokens_of(from), self.plan.dispatch);
            for to in rails.local() {
                self.post(kind, to, (post.id.number, place), bytes, effects);
            }
        }
        false
    }

    /// Adds the results of a rank of this server for a rank of another server; sends the sum of all.
    fn gather(&mut self, number: u32, place: u32, effects: &mut Effects) {
        let Some(rails) = &self.rails else { return };
        let (to, all) = (rails.rank(place), rails.gpus());
        let count = self.gathered.entry((number, place)).or_default();
        *count += 1;
        if *count == all {
            self.gathered.remove(&(number, place));
            let bytes = self.bytes_for(Kind::Combine, to, self.pool().copies.server);
            self.post(Kind::Combine, to, (number, place), bytes, effects);
        }
    }
}
