//! Inference serving: requests arrive, prefill computes prompts, and decode makes tokens.
//!
//! Models: pools of instances under tensor (TP), data (DP) and expert (EP) parallelism; a router; continuous
//! batching and chunked prefill; transfers of KV caches by push and pull, whole, by chunk and by layer;
//! dispatch and combine. Sizes and times of a step follow from what the schedulers have heard when the step
//! begins. Source: `docs/models/serving.md`. Simplifications: a rank is a host; times are a roofline; no
//! pre-emption.

mod arrivals;
mod params;
mod warm;

pub use self::arrivals::MAX_REQUESTS;
pub use self::params::{Params, Pool as PoolParams, Row};
use super::library::Ranks;
use super::{Making, Problem, Traffic};
use crate::job::experts::{Copies, Experts};
use crate::language_model::Model;
use crate::param_error::ParamError;
use crate::serving::{
    Costs, Demand, Granularity, Handoff, Heads, Kind, MAX_PLACES, MAX_RANKS, Plan, Pool, Processor, Request,
    Role, Shares,
};
use xoff_units::{Duration, index, number};

/// Most ranks of a workload at a host.
const MOST_AT_HOST: usize = 16;

/// Returns a problem of a key below another.
fn below(key: &str, table: &str, (name, why): ParamError) -> Problem {
    let parts = [key, table, name];
    (parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("."), why)
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let wrong = |table: &'static str| {
            let key = &key;
            move |problem| below(key, table, problem)
        };
        let model = self.model.model().map_err(wrong("model"))?;
        let processor = self.compute.processor(self.bytes.weight).map_err(wrong("compute"))?;
        let start = making.workload.start;
        let requests = arrivals::requests(self, start, &mut making.stream()).map_err(wrong(""))?;
        self.check(&model).map_err(wrong(""))?;
        let pools = self.pools(&model, processor, &requests, &key)?;
        let ranks = self.place(&pools, making, &key)?;
        for (table, class) in
            [("kv", self.kv.class), ("experts", self.experts.class), ("tensor", self.tensor.class)]
        {
            if let Some(class) = class {
                making.check_class(class, &format!("{key}.{table}.class"))?;
            }
        }
        let mut plan = self.plan(making, model, requests, pools, ranks).map_err(wrong(""))?;
        Self::check_packets(&plan, making).map_err(wrong(""))?;
        let demand = self.demand(making, &plan);
        plan.loads = demand.map_or_else(Vec::new, |demand| warm::loads(&demand, &plan));
        let mut stream = making.stream_for(0, "running");
        plan.running = warm::running(self, &plan, demand, &mut stream).map_err(wrong(""))?;
        making.add_serving(plan, |kind| match kind {
            Kind::Tensor => self.tensor.class,
            Kind::Dispatch | Kind::Combine => self.experts.class,
            Kind::Kv => self.kv.class,
        })
    }
}

impl Params {
    fn check(&self, model: &Model) -> Result<(), ParamError> {
        let bytes = [
            ("bytes.weight", self.bytes.weight),
            ("bytes.kv", self.bytes.kv),
            ("bytes.activation", self.bytes.activation),
        ];
        if let Some((key, size)) = bytes.into_iter().find(|(_, size)| !(1..=16).contains(size)) {
            return Err((key, format!("{size} is out of range; a number has 1 to 16 bytes")));
        }
        let longest = Duration::ms(1000);
        for (key, time) in [
            ("control.step", self.control.step),
            ("kv.overhead", self.kv.overhead),
            ("experts.overhead", self.experts.overhead),
        ] {
            if time > longest {
                return Err((key, format!("{time} is above the maximum of {longest}")));
            }
        }
        if !(Duration::ns(200)..=longest).contains(&self.control.delay) {
            let why = format!("{} is out of range; allowed are 200ns to {longest}", self.control.delay);
            return Err(("control.delay", why));
        }
        if self.kv.handoff == Handoff::Pull && self.kv.granularity != Granularity::Whole {
            return Err((
                "kv.granularity",
                "needs kv.handoff = \"push\"; pull transfers a whole cache".into(),
            ));
        }
        if model.hidden > 1 << 20 {
            return Err((
                "model.hidden",
                format!("{} is out of range; allowed are 1 to {}", model.hidden, 1 << 20),
            ));
        }
        Ok(())
    }

    /// Returns the pools, with the numbers of ranks.
    fn pools(
        &self,
        model: &Model,
        processor: Processor,
        requests: &[Request],
        key: &str,
    ) -> Result<Vec<Pool>, Problem> {
        let given = match (&self.prefill, &self.decode, &self.aggregated) {
            (Some(prefill), Some(decode), None) => {
                vec![(Role::Prefill, prefill), (Role::Decode, decode)]
            }
            (None, None, Some(both)) => vec![(Role::Aggregated, both)],
            (None, None, None) => {
                return Err((key.into(), "no pool is given; give prefill and decode, or aggregated".into()));
            }
            (_, _, Some(_)) => {
                let why = "mutually exclusive with prefill and decode; remove one of them".into();
                return Err((format!("{key}.aggregated"), why));
            }
            (None, ..) => return Err((format!("{key}.prefill"), "missing; decode is given".into())),
            (_, None, _) => return Err((format!("{key}.decode"), "missing; prefill is given".into())),
        };
        let (mut pools, mut ranks, mut dps) = (Vec::new(), 0, 0);
        for (role, params) in given {
            params.check(role, model, requests).map_err(|wrong| below(key, role.name(), wrong))?;
            let pool = params.pool(role, (ranks, dps), self.costs(model, processor, params));
            ranks += pool.ranks();
            dps += pool.dps();
            pools.push(pool);
        }
        if u64::from(ranks) > MAX_RANKS {
            return Err((key.into(), format!("{ranks} ranks exceed the maximum of {MAX_RANKS}")));
        }
        Ok(pools)
    }

    fn costs(&self, model: &Model, processor: Processor, pool: &PoolParams) -> Costs {
        Costs {
            processor,
            model: *model,
            bytes: [self.bytes.weight, self.bytes.kv],
            tensor: pool.tensor as u32,
            expert: pool.expert as u32,
        }
    }

    /// Returns the ranks, pool by pool.
    fn place(&self, pools: &[Pool], making: &Making<'_>, key: &str) -> Result<Ranks, Problem> {
        let given: Vec<&PoolParams> =
            [&self.prefill, &self.decode, &self.aggregated].into_iter().flatten().collect();
        let library = making.library(None, true);
        let is_given = given.iter().any(|pool| pool.hosts.is_some());
        let mut found = if is_given {
            Ranks { nodes: Vec::new(), gpus: making.topology.servers.map(|_| Vec::new()) }
        } else {
            let all = pools.iter().map(Pool::ranks).sum::<u32>() as usize;
            making.ranks(library, Some(all), None, self.placement, key)?
        };
        for (pool, params) in pools.iter().zip(given).filter(|_| is_given) {
            let (key, count) = (format!("{key}.{}", pool.role.name()), pool.ranks() as usize);
            if params.hosts.is_none() {
                return Err((format!("{key}.hosts"), "missing; the other pool has hosts".into()));
            }
            let ranks = making.ranks(library, Some(count), params.hosts.as_ref(), self.placement, &key)?;
            found.nodes.extend(ranks.nodes);
            if let (Some(all), Some(gpus)) = (&mut found.gpus, ranks.gpus) {
                all.extend(gpus);
            }
        }
        let places = (0..)
            .zip(&found.nodes)
            .map(|(rank, node): (usize, _)| (*node, found.gpus.as_ref().map(|gpus| gpus[rank])));
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        if places.windows(2).any(|two| two[0] == two[1]) {
            return Err((format!("{key}.decode.hosts"), "a host is listed for two ranks".into()));
        }
        if places.chunk_by(|one, other| one.0 == other.0).any(|ranks| ranks.len() > MOST_AT_HOST) {
            let why = format!("a host has more than {MOST_AT_HOST} ranks; give more NICs");
            return Err((key.into(), why));
        }
        Ok(found)
    }

    /// Refuses KV caches with more packets than a connection can number, if all caches take the same connection.
    fn check_packets(plan: &Plan, making: &Making<'_>) -> Result<(), ParamError> {
        let Some(decode) = plan.pools.get(1) else { return Ok(()) };
        let most = (0..decode.tensor).map(|tensor| u128::from(plan.kv_bytes_of(tensor))).max().unwrap_or(0);
        let tokens: u128 = plan.requests.iter().map(|request| u128::from(request.input)).sum();
        // A piece of a layer has a packet at least.
        let bytes = tokens * u128::from(plan.layers) * most;
        let chunks = plan.pools[0].chunk.map_or(0, |chunk| tokens / u128::from(chunk));
        let pieces = (chunks + plan.requests.len() as u128) * u128::from(plan.layers);
        let packets = bytes / u128::from(making.framing.payload.max(1)) + pieces;
        if packets >= u128::from(u32::MAX) {
            let why = format!(
                "the KV caches of {} requests have up to {packets} packets; less than 2^32 are possible on a \
                 connection; give fewer requests, fewer layers or a larger framing.payload",
                plan.requests.len()
            );
            return Err(("requests", why));
        }
        Ok(())
    }

    /// Returns the demand on the pools; `None` if all requests arrive at once.
    fn demand(&self, making: &Making<'_>, plan: &Plan) -> Option<Demand> {
        let host = making.ports[index(plan.nodes[0])].first()?.link.rate.0 as f64;
        let nvlink = making.topology.servers.filter(|_| !plan.gpus.is_empty());
        let nvlink = nvlink.map(|servers| (servers.nvlink.0 as f64, servers.latency.real() / 1e12));
        warm::demand(self, plan, host, nvlink)
    }

    fn plan(
        &self,
        making: &Making<'_>,
        model: Model,
        requests: Vec<Request>,
        mut pools: Vec<Pool>,
        ranks: Ranks,
    ) -> Result<Plan, ParamError> {
        let heads = match pools.as_slice() {
            [prefill, decode] => Heads::new(&model, self.bytes.kv, prefill.tensor, decode.tensor)?,
            _ => Heads::default(),
        };
        for pool in pools.iter_mut().filter(|pool| pool.spreads_experts) {
            pool.copies = self.shares(&model, pool, &ranks)?;
        }
        let policy = |given: Option<_>| given.unwrap_or(self.router.policy);
        Ok(Plan {
            workload: making.index(),
            number: making.servings(),
            requests,
            running: Vec::new(),
            loads: Vec::new(),
            start: making.workload.start,
            pools,
            nodes: ranks.nodes,
            gpus: ranks.gpus.unwrap_or_default(),
            layers: number(model.layers as usize),
            dense_layers: number((model.layers - model.expert_layers()) as usize),
            activation: model.hidden * self.bytes.activation,
            dispatch: self.experts.dispatch.bytes(model.hidden),
            combine: 2 * model.hidden,
            heads,
            handoff: self.kv.handoff,
            granularity: self.kv.granularity,
            first_token: self.first_token,
            policies: [policy(self.router.prefill), policy(self.router.decode)],
            delay: self.control.delay,
            scheduling: self.control.step,
            jitter: self.compute.jitter,
            kv_overhead: self.kv.overhead,
            expert_overhead: self.experts.overhead,
            slo: self.slo.unwrap_or_default(),
            warmup: self.warmup_ends(making.workload.start),
            seed: making.stream_for(0, "router").next_u64(),
        })
    }

    /// Returns the copies of a token in a pool.
    fn shares(&self, model: &Model, pool: &Pool, ranks: &Ranks) -> Result<Shares, ParamError> {
        let (experts, top_k, copies) = (model.experts, model.top_k, self.experts.copies);
        let size = pool.data * pool.tensor;
        let of = |parts: u32| {
            let reached = Experts { experts, top_k, copies, combines: false }.reached(u64::from(parts));
            reached / f64::from(parts)
        };
        if copies == Copies::Expert {
            return Ok(Shares { rank: top_k as f64 / f64::from(size), ..Shares::default() });
        }
        let gpus = if copies == Copies::Server { Self::of_server(pool, ranks)? } else { size };
        let has_rails = gpus < size;
        let server = if has_rails { of(size / gpus) } else { 0.0 };
        Ok(Shares { rank: of(size), server, gpus: if has_rails { gpus } else { 0 } })
    }

    /// Returns the ranks of an instance at each server.
    fn of_server(pool: &Pool, ranks: &Ranks) -> Result<u32, ParamError> {
        let wrong = |why: &str| Err(("experts.copies", format!("`server` {why}")));
        let Some(all) = &ranks.gpus else {
            return wrong("needs servers of GPUs; set network.servers");
        };
        let own = &all[index(pool.first_rank)..index(pool.first_rank + pool.ranks())];
        let size = index(pool.data * pool.tensor);
        let groups: Vec<usize> = own
            .chunks(size)
            .flat_map(|instance| instance.chunk_by(|one, other| one.0 == other.0).map(<[_]>::len))
            .collect();
        match groups.as_slice() {
            [first, ..] if groups.iter().all(|group| group == first) && size.is_multiple_of(*first) => {
                if size > MAX_PLACES {
                    return wrong(&format!("has room for {MAX_PLACES} ranks of an instance"));
                }
                Ok(number(*first))
            }
            _ => wrong("needs as many ranks of an instance at each server; choose other hosts or placement"),
        }
    }
}

impl PoolParams {
    fn check(&self, role: Role, model: &Model, requests: &[Request]) -> Result<(), ParamError> {
        let Self { instances, tensor, data, expert, max_sequences, max_tokens, chunk, kv_tokens, .. } = *self;
        for (key, value, most) in [
            ("instances", instances, MAX_RANKS),
            ("tensor", tensor, MAX_RANKS),
            ("data", data, MAX_RANKS),
            ("expert", expert, MAX_RANKS),
            ("max_sequences", max_sequences, 1 << 20),
            ("max_tokens", max_tokens, 1 << 24),
            ("chunk", chunk.unwrap_or(1), 1 << 24),
        ] {
            if value == 0 || value > most {
                return Err((key, format!("{value} is out of range; allowed are 1 to {most}")));
            }
        }
        if role == Role::Prefill && self.warm.is_some() {
            return Err(("warm", "prefill has no running sequences; give decode.warm".into()));
        }
        if instances * tensor * data > MAX_RANKS {
            let ranks = instances * tensor * data;
            return Err(("instances", format!("{ranks} ranks exceed the maximum of {MAX_RANKS}")));
        }
        if !model.heads.is_multiple_of(tensor) {
            let why = format!("{} heads cannot be divided evenly among {tensor} ranks", model.heads);
            return Err(("tensor", why));
        }
        let kv = model.kv_heads;
        if model.latent.is_none() && !kv.is_multiple_of(tensor) && !tensor.is_multiple_of(kv) {
            return Err((
                "tensor",
                format!("{kv} KV heads cannot be shared out evenly among {tensor} ranks"),
            ));
        }
        if expert > 1 {
            if model.experts == 1 {
                return Err(("expert", "the model has no experts; remove it".into()));
            }
            if expert != tensor * data {
                let why = format!("must be 1 or tensor times data, which is {}", tensor * data);
                return Err(("expert", why));
            }
            if !model.experts.is_multiple_of(expert) {
                let why = format!("{} experts cannot be divided evenly among {expert} ranks", model.experts);
                return Err(("expert", why));
            }
        }
        let needed = |request: &Request| match role {
            Role::Prefill => request.input,
            Role::Decode | Role::Aggregated => request.input + request.output,
        };
        let most = requests.iter().map(needed).max().unwrap_or(0);
        if let Some(kv_tokens) = kv_tokens.filter(|kv_tokens| *kv_tokens < most) {
            let why = format!("{kv_tokens} is below the {most} tokens of a request; give {most} or more");
            return Err(("kv_tokens", why));
        }
        Ok(())
    }

    fn pool(&self, role: Role, (first_rank, first_dp): (u32, u32), costs: Costs) -> Pool {
        Pool {
            role,
            instances: self.instances as u32,
            tensor: self.tensor as u32,
            data: self.data as u32,
            spreads_experts: self.expert > 1,
            max_sequences: self.max_sequences as usize,
            max_tokens: self.max_tokens,
            chunk: self.chunk,
            kv_tokens: self.kv_tokens,
            first_rank,
            first_dp,
            costs,
            copies: Shares::default(),
        }
    }
}
