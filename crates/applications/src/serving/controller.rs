//! The controller: the router and the schedulers of all pools, at the node of the first rank.
//!
//! Decisions depend on the messages of control lines alone. A request arrives, and the router
//! chooses a DP rank for prefill, and with `push` a DP rank for decode, which reserves memory first. Steps of
//! a unit (a DP rank, or an instance with spread experts) are in sequence: a step begins when all ranks
//! have reported the end of the step before. Simplification: pre-emption and eviction are left out; a request
//! reserves all tokens from the start.

use std::collections::VecDeque;
use std::sync::Arc;

use xoff_engine::random::Stream;
use xoff_models::ports::effects::{Effect, Effects};
use xoff_units::{Duration, Moment, index, number};

use super::batch::{Order, Part, Piece, lightest, take};
use super::control::{ARRIVAL, Begin, Control, Lines, OF_CONTROLLER};
use super::life::Life;
use super::plan::{FirstToken, Granularity, Handoff, NUMBER, Plan, Pool, Request, Role};
use super::router::Choice;
use super::rows::{Report, RequestRow, Rows, StepRow, TokenRow, part};

/// A DP rank.
#[derive(Debug, Clone, Default)]
struct Dp {
    /// Requests waiting for memory.
    reserving: VecDeque<u32>,
    /// Requests whose prompt is not computed.
    prompts: VecDeque<u32>,
    /// Requests with a KV cache, waiting for a step.
    ready: VecDeque<u32>,
    running: Vec<u32>,
    /// Early sequences, running from the start: tokens in the context, and tokens to make.
    early: Vec<(u64, u64)>,
    /// Reserved tokens.
    reserved: u64,
    step: u32,
    pieces: Vec<Piece>,
    /// Tokens, sequences and context of the step.
    counts: [u64; 3],
    slowest: Option<(Report, u32)>,
}

/// The router and the schedulers.
#[derive(Debug, Clone)]
pub struct Controller {
    plan: Arc<Plan>,
    /// Lines to the ranks.
    lines: Vec<Begin>,
    lives: Vec<Life>,
    dps: Vec<Dp>,
    /// For the first DP rank of each unit: ranks with an unfinished step.
    busy: Vec<u32>,
    /// Choices for prefill and decode.
    choices: [Choice; 2],
    own: u8,
    over: u32,
    /// Rows since the last checkpoint.
    pub rows: Rows,
}

impl Controller {
    /// Returns the controller of a workload, at a place among the controllers of the node.
    pub fn new(plan: Arc<Plan>, own: u8) -> Self {
        let dps = plan.dps();
        let choice = |role: Role, place: usize| {
            let Pool { first_dp, .. } = plan.pools[plan.pool_for(role)];
            let count = plan.pools[plan.pool_for(role)].dps();
            let stream = Stream::new(plan.seed, place as u64, "router");
            Choice::new(plan.policies[place], first_dp, count, stream)
        };
        let mut choices = [choice(Role::Prefill, 0), choice(Role::Decode, 1)];
        let mut known = vec![Dp::default(); index(dps)];
        for one in &plan.running {
            let of = &mut known[index(one.dp)];
            of.early.push((one.context, one.left));
            of.reserved += one.context + one.left;
            choices[usize::from(plan.is_disaggregated())].add(one.dp);
        }
        Self {
            choices,
            plan,
            lines: Vec::new(),
            lives: Vec::new(),
            dps: known,
            busy: vec![0; index(dps)],
            own,
            over: 0,
            rows: Rows::default(),
        }
    }

    /// Joins the controller with the next rank.
    pub fn join(&mut self, lines: &Lines) {
        self.lines.push(lines.to_rank.clone());
    }

    /// Returns the next arrival of a request.
    pub fn next_arrival(&self) -> Option<Moment> {
        self.plan.requests.get(self.lives.len()).map(|request| request.arrival)
    }

    /// Returns the start of early sequences, if any.
    pub fn starts_running(&self) -> Option<Moment> {
        (!self.plan.running.is_empty()).then_some(self.plan.start)
    }

    /// A timer: a request arrives, or early sequences begin.
    pub fn on_timer(&mut self, what: u32, effects: &mut Effects) {
        if what == ARRIVAL {
            return self.on_arrival(effects);
        }
        for dp in 0..self.plan.dps() {
            if !self.dps[index(dp)].early.is_empty() {
                self.start(dp, effects);
            }
        }
    }

    fn request(&self, number: u32) -> Request {
        self.plan.requests[index(number)]
    }

    fn pool(&self, dp: u32) -> &Pool {
        &self.plan.pools[self.plan.pool_of(dp)]
    }

    /// The next request arrives.
    pub fn on_arrival(&mut self, effects: &mut Effects) {
        let number = number(self.lives.len());
        let prefill = self.choices[0].choose();
        let is_pull = self.plan.is_disaggregated() && self.plan.handoff == Handoff::Pull;
        let decode = if !self.plan.is_disaggregated() {
            Some(prefill)
        } else if is_pull {
            None
        } else {
            Some(self.choices[1].choose())
        };
        self.lives.push(Life::new(self.request(number), prefill, decode));
        match decode {
            Some(decode) => {
                self.dps[index(decode)].reserving.push_back(number);
                self.reserve(decode, effects);
            }
            None => self.wait_for_prefill(number, effects),
        }
        if let Some(at) = self.next_arrival() {
            effects.push(Effect::Call(NUMBER, OF_CONTROLLER | self.own, at, 0));
        }
    }

    /// Reserves memory of a DP rank for waiting requests, in order.
    fn reserve(&mut self, dp: u32, effects: &mut Effects) {
        while let Some(number) = self.dps[index(dp)].reserving.front().copied() {
            let Request { input, output, .. } = self.request(number);
            let needed = input + output;
            let of = &mut self.dps[index(dp)];
            if self.plan.pools[self.plan.pool_of(dp)]
                .kv_tokens
                .is_some_and(|most| of.reserved + needed > most)
            {
                return;
            }
            of.reserving.pop_front();
            of.reserved += needed;
            if self.plan.is_disaggregated() && self.plan.handoff == Handoff::Pull {
                self.ask(number, dp, effects);
            } else {
                self.lives[index(number)].account(part::RESERVE_QUEUE, effects.now);
                self.wait_for_prefill(number, effects);
            }
        }
    }

    fn wait_for_prefill(&mut self, number: u32, effects: &mut Effects) {
        let dp = self.lives[index(number)].prefill;
        self.dps[index(dp)].prompts.push_back(number);
        self.start(dp, effects);
    }

    /// Starts a step of the unit of a DP rank, if the unit is free and has work.
    fn start(&mut self, dp: u32, effects: &mut Effects) {
        let unit = self.plan.unit_of(dp);
        if self.busy[index(unit.start)] > 0 {
            return;
        }
        let mut batches: Vec<Vec<Order>> = unit.clone().map(|dp| self.batch(dp)).collect();
        let mut tokens = 0;
        for micro_batch in 0..index(self.pool(dp).micro_batches) {
            let of_each: Vec<u64> = batches.iter().map(|orders| orders[micro_batch].tokens).collect();
            let of_all = of_each.iter().sum();
            tokens += of_all;
            for orders in &mut batches {
                (orders[micro_batch].of_all, orders[micro_batch].of_each) = (of_all, of_each.clone());
            }
        }
        if tokens == 0 {
            return;
        }
        for (dp, orders) in unit.clone().zip(batches) {
            let mut all = Order::default();
            for order in &orders {
                all.add(order);
            }
            self.dps[index(dp)].counts = [all.tokens, all.sequences, all.context];
            let orders = Arc::new(orders);
            for rank in self.plan.ranks_of(dp) {
                self.busy[index(unit.start)] += 1;
                self.lines[index(rank)].send(Control::Step(orders.clone()), effects);
            }
        }
    }

    /// Chooses the sequences of the next step of a DP rank, by micro-batch.
    fn batch(&mut self, dp: u32) -> Vec<Order> {
        let mut all = Order::default();
        let pool = &self.plan.pools[self.plan.pool_of(dp)];
        let of = &mut self.dps[index(dp)];
        of.pieces.clear();
        of.slowest = None;
        while of.running.len() + of.early.len() < pool.max_sequences
            && let Some(number) = of.ready.pop_front()
        {
            of.running.push(number);
        }
        let mut orders = vec![Order::default(); index(pool.micro_batches)];
        for (context, _) in &of.early {
            lightest(&mut orders).add_sequence(*context);
        }
        for number in &of.running {
            let (request, life) = (self.plan.requests[index(*number)], &self.lives[index(*number)]);
            // The first token's keys and values are not there when the step begins.
            lightest(&mut orders).add_sequence(request.input + life.tokens.saturating_sub(1));
        }
        for order in &orders {
            all.add(order);
        }
        for number in &of.prompts {
            let request = self.plan.requests[index(*number)];
            let life = &self.lives[index(*number)];
            let has_begun = life.computed > request.cached;
            let holds = pool.role == Role::Prefill && !has_begun;
            if holds && pool.kv_tokens.is_some_and(|most| of.reserved + request.input > most) {
                break;
            }
            let left = request.input - life.computed;
            let Some(tokens) = take(pool, &all, left) else { break };
            of.reserved += if holds { request.input } else { 0 };
            let piece = Piece { request: *number, before: life.computed, tokens };
            all.add_piece(piece);
            let order = lightest(&mut orders);
            order.add_piece(piece);
            order.kv.extend(Self::to_send(&self.plan, piece, request, life.decode));
            of.pieces.push(piece);
            if tokens < left {
                break;
            }
        }
        orders
    }

    /// Returns the part of a KV cache to send after a piece of a prompt.
    fn to_send(plan: &Plan, piece: Piece, request: Request, decode: Option<u32>) -> Option<Part> {
        let to = decode.filter(|_| plan.is_disaggregated() && plan.handoff == Handoff::Push)?;
        let is_last = piece.before + piece.tokens == request.input;
        // Cached tokens leave with the first piece.
        let cached = if piece.before == request.cached { request.cached } else { 0 };
        let tokens = match plan.granularity {
            Granularity::Whole if is_last => request.input,
            Granularity::Whole => return None,
            Granularity::Chunk | Granularity::Layer => piece.tokens + cached,
        };
        Some(Part { request: piece.request, tokens, to })
    }

    /// A message of a rank.
    pub(super) fn on_control(&mut self, rank: u32, message: Control, effects: &mut Effects) {
        match message {
            Control::Ended(report) => self.end_step(rank, report, effects),
            Control::Began(request, at) => self.lives[index(request)].begin_transfer(at),
            Control::Received(request, first, last) => self.receive(request, (first, last), effects),
            Control::Step(_) | Control::Send(_) => {}
        }
    }

    /// A rank ended a step.
    fn end_step(&mut self, rank: u32, report: Report, effects: &mut Effects) {
        let dp = self.plan.seat(rank).dp;
        let slowest = &mut self.dps[index(dp)].slowest;
        if slowest.is_none_or(|(known, _)| report.end > known.end) {
            *slowest = Some((report, rank));
        }
        let unit = self.plan.unit_of(dp);
        let busy = &mut self.busy[index(unit.start)];
        if *busy > 1 {
            *busy -= 1;
            return;
        }
        // The unit is busy until all results are taken: none of them may start a step that lacks the others.
        for dp in unit.clone() {
            self.take_results(dp, effects);
        }
        self.busy[index(unit.start)] = 0;
        self.start(dp, effects);
    }

    /// Takes the results of a step of a DP rank.
    fn take_results(&mut self, dp: u32, effects: &mut Effects) {
        let Some((report, slowest)) = self.dps[index(dp)].slowest else { return };
        let (pool, of) = (self.plan.pool_of(dp), &mut self.dps[index(dp)]);
        let Pool { role, first_dp, data, .. } = self.plan.pools[pool];
        self.rows.steps.push(StepRow {
            workload: self.plan.workload,
            pool: role.name(),
            instance: (dp - first_dp) / data,
            dp: (dp - first_dp) % data,
            step: of.step,
            counts: of.counts,
            report,
            slowest,
        });
        let step = of.step;
        of.step += 1;
        let (running, pieces) = (of.running.clone(), std::mem::take(&mut of.pieces));
        self.go_on_early(dp, effects);
        for number in running {
            self.lives[index(number)].spend(report, part::DECODE_QUEUE);
            self.add_token(number, report.end, Some(step));
            if self.lives[index(number)].tokens == self.request(number).output {
                self.end_request(number, effects);
            }
        }
        for piece in pieces {
            self.end_piece(dp, piece, report, effects);
        }
    }

    /// Gives each early sequence a token, and ends sequences with all tokens.
    fn go_on_early(&mut self, dp: u32, effects: &mut Effects) {
        let of = &mut self.dps[index(dp)];
        let mut ended = 0;
        for (context, left) in &mut of.early {
            (*context, *left) = (*context + 1, *left - 1);
            if *left == 0 {
                of.reserved -= *context;
                ended += 1;
            }
        }
        of.early.retain(|(_, left)| *left > 0);
        for _ in 0..ended {
            self.choices[usize::from(self.plan.is_disaggregated())].end(dp);
        }
        if ended > 0 {
            self.reserve(dp, effects);
        }
    }

    fn add_token(&mut self, number: u32, at: Moment, step: Option<u32>) {
        let (workload, arrival) = (self.plan.workload, self.request(number).arrival);
        let life = &mut self.lives[index(number)];
        let gap = life.add_token(at);
        let token = life.tokens - 1;
        self.rows.tokens.push(TokenRow { workload, request: number, arrival, token, step, at, gap });
    }

    /// A piece of a prompt is computed.
    fn end_piece(&mut self, dp: u32, piece: Piece, report: Report, effects: &mut Effects) {
        let number = piece.request;
        let life = &mut self.lives[index(number)];
        life.computed += piece.tokens;
        let is_whole = life.computed == self.plan.requests[index(number)].input;
        self.lives[index(number)].spend(report, part::PREFILL_QUEUE);
        if !is_whole {
            return;
        }
        self.dps[index(dp)].prompts.retain(|other| *other != number);
        if self.plan.is_disaggregated() {
            self.choices[0].end(dp);
        }
        if !self.plan.is_disaggregated() {
            self.add_token(number, report.end, None);
            self.dps[index(dp)].running.push(number);
            if self.request(number).output == 1 {
                self.end_request(number, effects);
            }
            return;
        }
        if self.plan.first_token == FirstToken::Prefill {
            self.add_token(number, report.end, None);
        }
        if self.plan.handoff == Handoff::Pull {
            let decode = self.choices[1].choose();
            self.lives[index(number)].decode = Some(decode);
            self.dps[index(decode)].reserving.push_back(number);
            self.reserve(decode, effects);
        } else {
            self.admit(number, effects);
        }
    }

    /// Decode has memory for a request, and asks for the KV cache.
    fn ask(&mut self, number: u32, to: u32, effects: &mut Effects) {
        self.lives[index(number)].account(part::KV_QUEUE, effects.now + Duration(self.plan.delay.ps() / 2));
        let prefill = self.lives[index(number)].prefill;
        let tokens = self.request(number).input;
        for rank in self.plan.ranks_of(prefill) {
            let message = Control::Send(Part { request: number, tokens, to });
            self.lines[index(rank)].send(message, effects);
        }
    }

    /// A decode rank has a whole part of a KV cache.
    fn receive(&mut self, number: u32, (first, last): (Moment, Moment), effects: &mut Effects) {
        self.lives[index(number)].receive(first, last);
        self.admit(number, effects);
    }

    /// Admits a request to decode, when the prompt is computed and all decode ranks have the KV cache.
    fn admit(&mut self, number: u32, effects: &mut Effects) {
        let (request, life) = (self.request(number), &self.lives[index(number)]);
        let (Some(decode), prefill) = (life.decode, life.prefill) else { return };
        let ranks = self.pool(decode).tensor;
        let Some(last) = life.transferred(ranks) else { return };
        if life.computed < request.input {
            return;
        }
        self.lives[index(number)].account(part::KV_EXPOSED, last);
        self.dps[index(prefill)].reserved -= request.input;
        if self.plan.first_token == FirstToken::Transfer {
            let at = self.lives[index(number)].mark;
            self.add_token(number, at, None);
        }
        if self.lives[index(number)].tokens == request.output {
            self.end_request(number, effects);
        } else {
            self.dps[index(decode)].ready.push_back(number);
            self.start(decode, effects);
        }
        if self.pool(prefill).kv_tokens.is_some() {
            self.start(prefill, effects);
        }
    }

    /// A request ends with the last token.
    fn end_request(&mut self, number: u32, effects: &mut Effects) {
        self.over += 1;
        let request = self.request(number);
        self.lives[index(number)].is_over = true;
        let row = self.lives[index(number)].row(number, &self.plan);
        self.rows.requests.push(row);
        let Some(decode) = self.lives[index(number)].decode else { return };
        self.choices[usize::from(self.plan.is_disaggregated())].end(decode);
        let of = &mut self.dps[index(decode)];
        of.running.retain(|other| *other != number);
        of.reserved -= request.input + request.output;
        self.reserve(decode, effects);
    }

    /// Returns the rows of unfinished requests.
    pub fn censored(&self) -> Vec<RequestRow> {
        let open = |number: &u32| !self.lives[index(*number)].is_over;
        (0..number(self.lives.len()))
            .filter(open)
            .map(|number| self.lives[index(number)].row(number, &self.plan))
            .collect()
    }

    /// Returns the first imbalance of the books after the last request, if any.
    pub fn imbalance(&self) -> Option<String> {
        let (over, all) = (self.over, number(self.plan.requests.len()));
        if over < all {
            return Some(format!("{} of {all} requests did not end", all - over));
        }
        let reserved: u64 = self.dps.iter().map(|dp| dp.reserved).sum();
        if reserved > 0 {
            return Some(format!("{reserved} tokens are reserved after the last request"));
        }
        let made: u64 = self.lives.iter().map(|life| life.tokens).sum();
        let asked: u64 = self.plan.requests.iter().map(|request| request.output).sum();
        if made != asked {
            return Some(format!("{made} tokens were made, and {asked} were asked for"));
        }
        let wrong = self.lives.iter().position(|life| !life.adds_up())?;
        Some(format!("the parts of the time of request {wrong} do not add up to the time of the request"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::{Costs, Processor};
    use super::super::handoff::Heads;
    use super::super::plan::{Shares, Slo};
    use super::super::router::Policy;
    use super::*;

    /// The controller of a GPU after a request of three tokens.
    fn after_one_request() -> Controller {
        let text = r#"{ "preset": "llama3_70b" }"#;
        let model = serde_json::from_str::<crate::language_model::Params>(text).unwrap().model().unwrap();
        let processor = Processor { flops: 1e12, memory: 1e12, kernel: Duration::ZERO };
        let pool = Pool {
            role: Role::Aggregated,
            instances: 1,
            tensor: 1,
            data: 1,
            spreads_experts: false,
            max_sequences: 1,
            max_tokens: 8,
            chunk: None,
            kv_tokens: None,
            first_rank: 0,
            first_dp: 0,
            costs: Costs { processor, model, bytes: [2; 2], tensor: 1, expert: 1, times: None },
            copies: Shares::default(),
            routing: None,
            micro_batches: 1,
        };
        let plan = Plan {
            workload: 0,
            number: 0,
            running: Vec::new(),
            loads: Vec::new(),
            start: Moment::ZERO,
            requests: vec![Request { arrival: Moment::us(1), input: 8, output: 3, cached: 0 }],
            pools: vec![pool],
            nodes: vec![0],
            gpus: Vec::new(),
            layers: 1,
            dense_layers: 0,
            activation: 1,
            dispatch: 1,
            combine: 1,
            heads: Heads::default(),
            handoff: Handoff::Push,
            granularity: Granularity::Whole,
            first_token: FirstToken::Transfer,
            policies: [Policy::RoundRobin; 2],
            delay: Duration::us(2),
            scheduling: Duration::ZERO,
            jitter: 0.0,
            peers: Vec::new(),
            kv_overhead: Duration::ZERO,
            expert_overhead: Duration::ZERO,
            slo: Slo::default(),
            warmup: Moment::ZERO,
            seed: 1,
        };
        let plan = Arc::new(plan);
        let mut controller = Controller::new(plan, 0);
        controller.join(&Lines::new((0, 0, 0), [0, 1], [None, None], Duration::us(1)));
        let mut effects = Effects::for_tests(1);
        effects.now = Moment::us(1);
        controller.on_arrival(&mut effects);
        for end in [10, 20, 30] {
            let report = Report {
                start: Moment::us(end - 5),
                end: Moment::us(end),
                compute: Duration::us(5),
                exposed: [Duration::ZERO; 3],
                bubble: Duration::ZERO,
            };
            effects.now = Moment::us(end + 1);
            controller.on_control(0, Control::Ended(report), &mut effects);
        }
        controller
    }

    #[test]
    fn books_of_a_request_balance() {
        let controller = after_one_request();
        assert_eq!(controller.imbalance(), None);
        let row = &controller.rows.requests[0];
        assert_eq!(row.e2e, Some(Duration::us(29)));
        assert_eq!(row.itl, Some((Duration::us(10), Duration::us(10))));
    }

    #[test]
    fn books_that_do_not_balance_are_found() {
        let wrong = |change: fn(&mut Controller)| {
            let mut controller = after_one_request();
            change(&mut controller);
            controller.imbalance().unwrap()
        };
        assert!(wrong(|c| c.over = 0).contains("1 of 1 requests did not end"));
        assert!(wrong(|c| c.dps[0].reserved = 7).contains("7 tokens are reserved"));
        assert!(wrong(|c| c.lives[0].tokens = 2).contains("2 tokens were made, and 3 were asked for"));
        let longer = |c: &mut Controller| c.lives[0].parts[part::DECODE_COMPUTE] += Duration(1);
        assert!(wrong(longer).contains("request 0 do not add up"));
    }
}
