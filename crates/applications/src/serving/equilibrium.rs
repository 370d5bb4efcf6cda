//! The equilibrium of decode: the mean batch of a DP rank, from rate, tokens and the time of a step.
//!
//! A DP rank gets λ requests a second, each with O tokens. A step of b sequences lasts T(b), so b = λ O T(b). T is
//! the computing time of the step, the messages of the step alone in the network, and the control messages between
//! two steps. The load of a pool is λ O T(b) / b with the largest batch; a load above one has no equilibrium.

use xoff_units::Duration;

use super::plan::{Load, Plan, Pool};

/// What the equilibrium depends on besides the plan.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Requests in a second of the whole workload.
    pub rate: f64,
    /// Mean tokens: the computed part of a prompt, a whole prompt, and an answer.
    pub tokens: [f64; 3],
    /// Payload rate of a host in bits per second.
    pub host: f64,
    /// Rate of NVLink in bits per second, with the latency in seconds, if ranks of a tensor group share a server.
    pub nvlink: Option<(f64, f64)>,
}

impl Demand {
    /// Returns the time of the messages of a layer for n tokens of each DP rank, in seconds.
    fn messages(&self, plan: &Plan, pool: &Pool, layer: u32, n: f64) -> f64 {
        let t = f64::from(pool.tensor);
        let (rate, latency) = self.nvlink.unwrap_or((self.host, 0.0));
        let ring = 2.0 * (t - 1.0) * (n * plan.activation as f64 * 8.0 / t / rate + latency);
        if !plan.exchanges(pool, layer) {
            return 2.0 * ring;
        }
        let (size, experts) = (pool.data * pool.tensor, layer - plan.dense_layers);
        let places = 0..if pool.routing.is_some() { size } else { 1 };
        // The rank with the most popular experts gets the most tokens.
        let most = |of: &dyn Fn(u32) -> f64| places.clone().map(of).fold(0.0, f64::max);
        let copies = match size.checked_div(pool.copies.gpus) {
            Some(servers) => most(&|place| pool.to_server(experts, place)) * f64::from(servers - 1),
            None => most(&|place| pool.to_rank(experts, place)) * f64::from(size - 1),
        };
        ring * 1.5 + n / t * copies * (plan.dispatch + plan.combine) as f64 * 8.0 / self.host
    }

    /// Returns the time of a step: prompts of so many tokens, or sequences of decode, at each DP rank; in seconds.
    fn step(&self, plan: &Plan, pool: &Pool, batch: f64, is_prefill: bool) -> f64 {
        let [computed, input, output] = self.tokens;
        let (costs, data) = (&pool.costs, if pool.spreads_experts { f64::from(pool.data) } else { 1.0 });
        let (n, context, pairs) = if is_prefill {
            let seen = input - computed;
            (batch * computed, batch * input, [batch * computed * (seen + f64::midpoint(computed, 1.0)), 0.0])
        } else {
            let context = batch * (input + output / 2.0);
            (batch, context, [0.0, context])
        };
        let whole = |x: f64| x.ceil() as u64;
        // Micro-batches share the batch out, and each reads the weights.
        let micro_batches = f64::from(pool.micro_batches);
        let (n, batch) = (n / micro_batches, batch / micro_batches);
        let attention = costs.attention(
            whole(n),
            whole(context / micro_batches),
            pairs.map(|all| whole(all / micro_batches)),
        );
        let mut time = micro_batches * costs.head(whole(batch)).real() / 1e12;
        for layer in 0..plan.layers {
            let network = if layer < plan.dense_layers || pool.costs.model.experts == 1 {
                costs.network(whole(n))
            } else {
                let is_uneven = pool.spreads_experts && pool.routing.is_some();
                let places = if is_uneven { pool.data * pool.tensor } else { 1 };
                let of = |place| pool.experts(layer - plan.dense_layers, place, whole(n * data));
                costs.shared_experts(whole(n)) + (0..places).map(of).max().unwrap_or_default()
            };
            let (computes, messages) =
                ((attention + network).real() / 1e12, self.messages(plan, pool, layer, n));
            // While a micro-batch communicates, the others compute.
            time += (micro_batches * computes).max(computes + messages);
        }
        time + (plan.delay + plan.scheduling).real() / 1e12
    }

    /// Returns the load of a pool, with the batch at the equilibrium.
    pub fn load(&self, plan: &Plan, pool: &Pool, is_prefill: bool) -> Load {
        let [computed, input, output] = self.tokens;
        // The first token is that of prefill, or a token of decode besides.
        let made = output - if plan.makes_first() { 0.0 } else { 1.0 };
        let (needed, most) = if is_prefill {
            (1.0, (pool.max_tokens as f64 / computed).floor().max(1.0))
        } else {
            let memory = pool.kv_tokens.map_or(f64::INFINITY, |tokens| tokens as f64 / (input + output));
            (made, memory.min(pool.max_sequences as f64))
        };
        let asked = self.rate / f64::from(pool.dps()) * needed;
        let load = asked * self.step(plan, pool, most, is_prefill) / most;
        let mut batch = 0.0;
        // T grows with b no faster than linearly, so the batch grows up to the equilibrium.
        for _ in 0..10_000 {
            let next = (asked * self.step(plan, pool, batch, is_prefill)).min(most);
            if next - batch < 1e-6 * most {
                break;
            }
            batch = next;
        }
        // A step of prefill has a prompt at least.
        let batch = if is_prefill { batch.max(1.0) } else { batch };
        let step = Duration::of_real(self.step(plan, pool, batch, is_prefill) * 1e12);
        Load { pool: pool.role.name(), load, batch, step }
    }
}
