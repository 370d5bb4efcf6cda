//! A rank: computes the ordered steps, and posts messages.
//!
//! A layer is attention; an all-reduce of tensor-parallel ranks; then the network with another all-reduce, or
//! dispatch, experts and combine, with an all-gather of tensor-parallel ranks. Shared experts compute during
//! the dispatch. One part computes at a time. Simplification: an all-reduce is a ring, and the parts are whole
//! messages.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use xoff_engine::random::Stream;
use xoff_models::frames::message::Post;
use xoff_models::parts::streams::normal;
use xoff_models::ports::effects::{Effect, Effects};
use xoff_units::{Duration, Moment, index};

use super::batch::{Order, Part};
use super::control::{Begin, Control, Lines};
use super::exchange::Exchange;
use super::plan::{Connects, Granularity, Handoff, Kind, NUMBER, Plan, Pool, Seat, Shares};
use super::rails::Rails;
use super::rows::{Label, Report};
use super::step::{MicroBatch, Ready, Stage, Step};

/// Timers of a worker: a part was computed, shared experts were computed, the overhead of an exchange is
/// over, the overhead of a KV cache is over, and the scheduler has prepared a step. Above these bits is the number of
/// the micro-batch.
const COMPUTED: u32 = 0;
const SHARED: u32 = 1;
const OVERHEAD: u32 = 2;
pub(super) const KV: u32 = 3;
const SCHEDULED: u32 = 4;
const TIMER_BITS: u32 = 3;

const fn timer(what: u32, number: u32) -> u32 {
    number << TIMER_BITS | what
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

/// A KV cache on the way to a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiving {
    pub bytes: u64,
    pub first: Moment,
}

/// A rank.
#[derive(Debug, Clone)]
pub struct Worker {
    pub(super) plan: Arc<Plan>,
    /// Place among the workers of the host.
    pub(super) own: u8,
    pub(super) rank: u32,
    pub(super) seat: Seat,
    line: Option<Begin>,
    /// Flows by connection, and queues of NVLink.
    pub(super) ways: [Vec<(Connects, u32)>; 2],
    pub(super) step: Option<Step>,
    /// The step in preparation by the scheduler.
    scheduled: Option<Arc<Vec<Order>>>,
    /// Steps so far.
    steps: u32,
    /// Messages ahead of an operation, by kind and number: how many, and the last posting.
    early: FxHashMap<(Kind, u32), (u32, Moment)>,
    /// KV caches waiting for the overhead, with the number of layers.
    pub(super) leaving: VecDeque<(Part, u32)>,
    pub(super) receiving: BTreeMap<u32, Receiving>,
    /// Pieces of KV caches sent so far.
    pub(super) pieces: u32,
    /// Draws deviations of computing times.
    stream: Stream,
    /// The latest step, by micro-batch.
    pub(super) orders: Arc<Vec<Order>>,
    /// The group by servers, with copies for each server.
    pub(super) rails: Option<Rails>,
    /// Results of the ranks of this server for a rank of another server, by operation and place: how many.
    pub(super) gathered: FxHashMap<(u32, u32), u32>,
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
            step: None,
            scheduled: None,
            steps: 0,
            early: FxHashMap::default(),
            leaving: VecDeque::new(),
            receiving: BTreeMap::new(),
            pieces: 0,
            stream,
            orders: Arc::default(),
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
        let goes_on = self.step.as_ref().is_some_and(Step::goes_on);
        !self.leaving.is_empty() || self.scheduled.is_some() || goes_on
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.plan.pools[self.seat.pool]
    }

    pub(super) fn report(&self, message: Control, effects: &mut Effects) {
        if let Some(line) = &self.line {
            line.send(message, effects);
        }
    }

    /// A message of the controller.
    pub(super) fn on_control(&mut self, message: Control, effects: &mut Effects) {
        match message {
            Control::Step(orders) if self.plan.scheduling > Duration::ZERO => {
                self.scheduled = Some(orders);
                effects.push(Effect::Call(NUMBER, self.own, effects.now + self.plan.scheduling, SCHEDULED));
            }
            Control::Step(orders) => self.begin(orders, effects),
            Control::Send(part) => self.hand_off(part, self.plan.layers, effects),
            Control::Ended(_) | Control::Began(..) | Control::Received(..) => {}
        }
    }

    fn begin(&mut self, orders: Arc<Vec<Order>>, effects: &mut Effects) {
        self.orders = orders.clone();
        self.step = Some(Step::new(orders, effects.now));
        for number in 0..self.pool().micro_batches {
            if self.micro_batch(number).is_some_and(|micro_batch| !micro_batch.is_over) {
                self.enter(number, Stage::Attention, effects);
            }
        }
    }

    fn micro_batch(&mut self, number: u32) -> Option<&mut MicroBatch> {
        self.step.as_mut().map(|step| &mut step.micro_batches[index(number)])
    }

    /// Returns the present exchange of a micro-batch.
    pub(super) fn exchange_of(&mut self, number: u32) -> Option<&mut Exchange> {
        self.micro_batch(number)?.exchange.as_mut()
    }

    /// A timer of this rank.
    pub fn on_timer(&mut self, timer: u32, effects: &mut Effects) {
        let (what, number) = (timer % (1 << TIMER_BITS), timer >> TIMER_BITS);
        if let (COMPUTED | SHARED, Some(step)) = (what, &mut self.step) {
            step.end_computation(effects.now);
        }
        match what {
            COMPUTED => self.leave(number, effects),
            SCHEDULED => {
                if let Some(orders) = self.scheduled.take() {
                    self.begin(orders, effects);
                }
            }
            SHARED => {
                if let Some(micro_batch) = self.micro_batch(number) {
                    micro_batch.is_shared = false;
                }
                self.go_on(number, effects);
            }
            OVERHEAD => {
                if let Some(micro_batch) = self.micro_batch(number) {
                    micro_batch.is_late = false;
                }
                self.send_to_experts(number, effects);
                self.go_on(number, effects);
            }
            _ => {
                if let Some((part, layers)) = self.leaving.pop_front() {
                    self.send_kv(part, layers, effects);
                }
            }
        }
        self.compute_next(effects);
    }

    /// Begins a stage of a micro-batch, and all further stages without time.
    fn enter(&mut self, number: u32, mut stage: Stage, effects: &mut Effects) {
        loop {
            let Some(micro_batch) = self.micro_batch(number) else { return };
            micro_batch.stage = stage;
            if let Some(time) = self.computes(number, stage) {
                if time > Duration::ZERO {
                    return self.compute(Ready { micro_batch: number, time, what: COMPUTED }, effects);
                }
            } else if !self.exchange(number, stage, effects) {
                return;
            }
            let Some(next) = self.next(number, stage, effects) else { return };
            stage = next;
        }
    }

    /// Computes for some time, after the computations that are ready.
    fn compute(&mut self, ready: Ready, effects: &mut Effects) {
        let Some(step) = &mut self.step else { return };
        step.ready.push_back(ready);
        self.compute_next(effects);
    }

    /// Begins the next computation that is ready, if the rank computes nothing.
    fn compute_next(&mut self, effects: &mut Effects) {
        let Some(step) = self.step.as_mut().filter(|step| !step.computes) else { return };
        let Some(Ready { micro_batch, time, what }) = step.ready.pop_front() else { return };
        (step.computes, step.since) = (true, effects.now);
        let time = self.jittered(time);
        effects.push(Effect::Compute(NUMBER, self.own, effects.now + time, timer(what, micro_batch)));
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
    fn computes(&self, number: u32, stage: Stage) -> Option<Duration> {
        let step = self.step.as_ref()?;
        let (order, layer) = (&step.orders[index(number)], step.micro_batches[index(number)].layer);
        let (costs, dense) = (&self.pool().costs, self.plan.dense_layers);
        let experts = |tokens| self.pool().experts(layer - dense, self.place_of(self.rank), tokens);
        match stage {
            Stage::Attention => Some(costs.attention(order.tokens, order.context, order.pairs)),
            Stage::Network if layer < dense => Some(costs.network(order.tokens)),
            Stage::Network => {
                let [shared, routed] = [costs.shared_experts(order.tokens), experts(order.tokens)];
                Some(shared + routed)
            }
            Stage::Experts => Some(experts(order.of_all)),
            Stage::Head => Some(costs.head(order.sequences)),
            Stage::AttentionReduce
            | Stage::NetworkReduce
            | Stage::Dispatch
            | Stage::Combine
            | Stage::Gather => None,
        }
    }

    /// Returns the place of a rank among the ranks with common experts; 0 if experts are not spread.
    pub(super) fn place_of(&self, rank: u32) -> u32 {
        if self.pool().spreads_experts { rank - self.plan.expert_group(self.seat.dp).start } else { 0 }
    }

    /// Begins an exchange of a micro-batch. True if the exchange is over at once.
    fn exchange(&mut self, number: u32, stage: Stage, effects: &mut Effects) -> bool {
        let (plan, pool) = (&self.plan, self.pool());
        let Some(step) = &self.step else { return false };
        let (tokens, layer) = (step.orders[index(number)].tokens, step.micro_batches[index(number)].layer);
        let others = self.plan.expert_group(self.seat.dp).len() as u32 - 1;
        let (kind, total, bytes) = match stage {
            Stage::Dispatch => (Kind::Dispatch, others, 0),
            // The results of a rank's tokens come back from each rank, or from each server.
            Stage::Combine => (Kind::Combine, self.answers().unwrap_or(others), 0),
            Stage::Gather => (Kind::Tensor, pool.tensor - 1, tokens * plan.activation),
            _ => (Kind::Tensor, 2 * (pool.tensor - 1), tokens * plan.activation),
        };
        let shared = pool.costs.shared_experts(tokens);
        let of_layer = match kind {
            Kind::Tensor => {
                2 * (self.steps.wrapping_mul(plan.layers) + layer)
                    + u32::from(stage != Stage::AttentionReduce)
            }
            _ => self.steps.wrapping_mul(plan.exchanging_layers(pool)) + layer - plan.dense_layers,
        };
        let operation = of_layer.wrapping_mul(pool.micro_batches) + number;
        let (got, posted) = self.early.remove(&(kind, operation)).unwrap_or((0, effects.now));
        let exchange = Exchange { kind, number: operation, sent: 0, got, total, bytes, posted };
        let (is_ring, overhead) = (kind == Kind::Tensor, self.plan.expert_overhead);
        let Some(micro_batch) = self.micro_batch(number) else { return false };
        micro_batch.exchange = Some(exchange);
        micro_batch.is_shared = stage == Stage::Dispatch && shared > Duration::ZERO;
        micro_batch.is_late = !is_ring && overhead > Duration::ZERO;
        if micro_batch.is_shared {
            self.compute(Ready { micro_batch: number, time: shared, what: SHARED }, effects);
        }
        if is_ring {
            self.pass_ring(number, effects);
        } else if overhead > Duration::ZERO {
            let at = effects.now + overhead;
            effects.push(Effect::Call(NUMBER, self.own, at, timer(OVERHEAD, number)));
        } else {
            self.send_to_experts(number, effects);
        }
        self.end_exchange(number, effects.now)
    }

    /// A message for this rank is whole.
    pub fn deliver(&mut self, post: &Post, posted: Moment, effects: &mut Effects) {
        let kind = Kind::of(post.id.place);
        if kind == Kind::Kv {
            if self.pass_on_kv(post, effects) {
                return;
            }
            return self.receive_kv(post.id.number, post.bytes, posted, effects);
        }
        if self.pass_on(kind, post, effects) {
            return;
        }
        let (key, number) = ((kind, post.id.number), post.id.number % self.pool().micro_batches);
        match self.exchange_of(number) {
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
            self.pass_ring(number, effects);
        }
        self.go_on(number, effects);
    }

    /// Ends the exchange of a micro-batch if all messages are here, and counts the time. True if the exchange is over.
    fn end_exchange(&mut self, number: u32, now: Moment) -> bool {
        let Some(step) = &mut self.step else { return false };
        let micro_batch = &mut step.micro_batches[index(number)];
        let Some(exchange) = micro_batch.exchange.filter(Exchange::is_over) else { return false };
        if micro_batch.is_shared || micro_batch.is_late {
            return false;
        }
        micro_batch.exchange = None;
        let label = match exchange.kind {
            Kind::Dispatch => Label::Dispatch,
            Kind::Combine => Label::Combine,
            Kind::Tensor | Kind::Kv => Label::Tensor,
        };
        step.count_exchange(label, exchange.posted, now);
        true
    }

    /// Goes on with a micro-batch if its present exchange is over.
    fn go_on(&mut self, number: u32, effects: &mut Effects) {
        if self.end_exchange(number, effects.now) {
            self.leave(number, effects);
        }
    }

    /// The present stage of a micro-batch is over.
    fn leave(&mut self, number: u32, effects: &mut Effects) {
        let Some(stage) = self.micro_batch(number).map(|micro_batch| micro_batch.stage) else { return };
        if let Some(next) = self.next(number, stage, effects) {
            self.enter(number, next, effects);
        }
    }

    /// Returns the stage after a stage; `None` if the micro-batch is over.
    fn next(&mut self, number: u32, stage: Stage, effects: &mut Effects) -> Option<Stage> {
        let shares = self.pool().tensor > 1;
        let layer = self.micro_batch(number)?.layer;
        let second = if self.plan.exchanges(self.pool(), layer) { Stage::Dispatch } else { Stage::Network };
        match stage {
            Stage::Attention => {
                self.pass_on_layer(number, effects);
                Some(if shares { Stage::AttentionReduce } else { second })
            }
            Stage::AttentionReduce => Some(second),
            Stage::Network if shares => Some(Stage::NetworkReduce),
            Stage::Dispatch => Some(Stage::Experts),
            Stage::Experts => Some(Stage::Combine),
            Stage::Combine if shares => Some(Stage::Gather),
            Stage::Network | Stage::NetworkReduce | Stage::Combine | Stage::Gather => {
                let micro_batch = self.micro_batch(number)?;
                micro_batch.layer += 1;
                let layer = micro_batch.layer;
                Some(if layer < self.plan.layers { Stage::Attention } else { Stage::Head })
            }
            Stage::Head => {
                self.micro_batch(number)?.is_over = true;
                self.end(effects);
                None
            }
        }
    }

    /// Ends the step if all micro-batches are over.
    fn end(&mut self, effects: &mut Effects) {
        let Some(step) =
            self.step.take_if(|step| step.micro_batches.iter().all(|micro_batch| micro_batch.is_over))
        else {
            return;
        };
        self.steps += 1;
        if self.plan.handoff == Handoff::Push && self.plan.granularity != Granularity::Layer {
            for part in step.orders.iter().flat_map(|order| &order.kv) {
                self.hand_off(*part, self.plan.layers, effects);
            }
        }
        self.report(Control::Ended(Report { end: effects.now, ..step.report }), effects);
    }

    /// Sends a layer of KV caches, with hand-off by layers.
    fn pass_on_layer(&mut self, number: u32, effects: &mut Effects) {
        if self.plan.granularity != Granularity::Layer {
            return;
        }
        let parts = self.step.as_ref().map_or_else(Vec::new, |step| step.orders[index(number)].kv.clone());
        for part in parts {
            self.hand_off(part, 1, effects);
        }
    }
}
