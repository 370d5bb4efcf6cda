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
use self::params::ExpertTraffic;
pub use self::params::{MAX_TIMES, Params, Pool as PoolParams, Row};
use super::library::{MakesJobs, Ranks};
use crate::job::experts::{Copies, Experts};
use crate::language_model::Model;
use crate::serving::{
    Choosing, Connects, Costs, Demand, Granularity, Handoff, Heads, Kernel, Kind, MAX_PLACES, MAX_RANKS,
    MAX_WORKLOADS, Nics, Plan, Pool, Processor, Request, Role, Routing, Servings, Shares, Spread, Times,
};
use std::sync::Arc;
use xoff_engine::random::Stream;
use xoff_models::parts::param_error::{ParamError, remove};
use xoff_models::traffic::application::Connection;
use xoff_models::traffic::workload::{Making, Problem, Traffic};
use xoff_units::{Duration, index, number, wide};

/// In the place of the size of a connection whose messages are unknown before the run.
const OPEN_BYTES: u64 = 1 << 40;

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
        let times = self.times(&model).map_err(wrong("compute"))?;
        let pools = self.pools(&model, processor, times.as_ref(), &requests, &key)?;
        let ranks = self.place(&pools, making, &key)?;
        for (table, class) in
            [("kv", self.kv.class), ("experts", self.experts.class), ("tensor", self.tensor.class)]
        {
            if let Some(class) = class {
                making.check_class(class, &format!("{key}.{table}.class"))?;
            }
        }
        let mut plan = self.plan(making, model, requests, pools, ranks).map_err(wrong(""))?;
        if self.kv.nics == Nics::Server {
            plan.take_all_nics();
        }
        Self::check_packets(&plan, making).map_err(wrong(""))?;
        check_times(&plan).map_err(wrong("compute"))?;
        let demand = self.demand(making, &plan);
        plan.loads = demand.map_or_else(Vec::new, |demand| warm::loads(&demand, &plan));
        let mut stream = making.stream_for(0, "running");
        plan.running = warm::running(self, &plan, demand, &mut stream).map_err(wrong(""))?;
        let class = |kind| match kind {
            Kind::Tensor => self.tensor.class,
            Kind::Dispatch | Kind::Combine => self.experts.class,
            Kind::Kv => self.kv.class,
        };
        add(making, plan, class)
    }
}

/// Adds a serving workload with its connections, and the class of each kind of messages.
fn add(making: &mut Making<'_>, plan: Plan, class: impl Fn(Kind) -> Option<u8>) -> Result<(), Problem> {
    let (number, nodes) = (plan.number, plan.nodes.clone());
    if number >= MAX_WORKLOADS {
        return Err((making.key(), format!("more than {MAX_WORKLOADS} serving workloads")));
    }
    // Messages and bytes are unknown before the run.
    let open = |one: Connects| Connection {
        from: one.from,
        to: one.to,
        line: 0,
        messages: u32::MAX,
        bytes: OPEN_BYTES,
        packets: 0,
        class: class(one.kind),
    };
    let connections = plan.connections().into_iter().map(open).collect();
    making.plan::<Servings>()?.add(plan);
    making.connect::<Servings>(number, nodes, connections, true)
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
        self.check_experts(model)?;
        if model.hidden > 1 << 20 {
            return Err((
                "model.hidden",
                format!("{} is out of range; allowed are 1 to {}", model.hidden, 1 << 20),
            ));
        }
        Ok(())
    }

    fn check_experts(&self, model: &Model) -> Result<(), ParamError> {
        let ExpertTraffic { skew, redundant, .. } = self.experts;
        if !(0.0..=10.0).contains(&skew) {
            return Err(("experts.skew", format!("{skew} is out of range; allowed are 0 to 10")));
        }
        for (key, is_given) in [("experts.skew", skew > 0.0), ("experts.redundant", redundant > 0)] {
            if is_given && model.experts == 1 {
                return Err((key, remove("the model has no experts")));
            }
        }
        let pools = [&self.prefill, &self.decode, &self.aggregated];
        let spread = pools.into_iter().flatten().map(|pool| pool.expert).filter(|ranks| *ranks > 1);
        if redundant > 0 {
            let Some(least) = spread.min() else {
                return Err(("experts.redundant", "no pool spreads experts; set expert of a pool".into()));
            };
            let most = model.experts * (least - 1);
            if redundant > most {
                let why = format!("{redundant} is above {most}: an expert has at most a copy at each rank");
                return Err(("experts.redundant", why));
            }
        }
        Ok(())
    }

    /// Returns the pools, with the numbers of ranks.
    fn pools(
        &self,
        model: &Model,
        processor: Processor,
        times: Option<&Arc<Times>>,
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
                let why = remove("mutually exclusive with prefill and decode");
                return Err((format!("{key}.aggregated"), why));
            }
            (None, ..) => return Err((format!("{key}.prefill"), "missing; decode is given".into())),
            (_, None, _) => return Err((format!("{key}.decode"), "missing; prefill is given".into())),
        };
        let (mut pools, mut ranks, mut dps) = (Vec::new(), 0, 0);
        for (role, params) in given {
            params
                .check(role, model, self.experts.redundant, requests)
                .map_err(|wrong| below(key, role.name(), wrong))?;
            let pool = params.pool(role, (ranks, dps), self.costs(model, processor, times, params));
            ranks += pool.ranks();
            dps += pool.dps();
            pools.push(pool);
        }
        if u64::from(ranks) > MAX_RANKS {
            return Err((key.into(), format!("{ranks} ranks exceed the maximum of {MAX_RANKS}")));
        }
        Ok(pools)
    }

    /// Returns the measured times of all parts that the model has.
    fn times(&self, model: &Model) -> Result<Option<Arc<Times>>, ParamError> {
        let mut needed = vec![Kernel::Attention, Kernel::Head];
        let parts = [
            (model.expert_layers() < model.layers, Kernel::Network),
            (model.expert_layers() > 0, Kernel::Experts),
            (model.expert_layers() > 0 && model.shared_experts > 0, Kernel::SharedExperts),
        ];
        needed.extend(parts.iter().filter(|part| part.0).map(|part| part.1));
        Ok(self.compute.times(&needed)?.map(Arc::new))
    }

    fn costs(
        &self,
        model: &Model,
        processor: Processor,
        times: Option<&Arc<Times>>,
        pool: &PoolParams,
    ) -> Costs {
        Costs {
            processor,
            model: *model,
            bytes: [self.bytes.weight, self.bytes.kv],
            tensor: pool.tensor as u32,
            expert: pool.expert as u32,
            times: times.cloned(),
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
        if self.kv.nics == Nics::Server {
            if ranks.gpus.is_none() {
                return Err(("kv.nics", "`server` needs servers of GPUs; set network.servers".into()));
            }
            if ranks.nodes.len() > MAX_PLACES {
                return Err(("kv.nics", format!("`server` has room for {MAX_PLACES} ranks")));
            }
        }
        for (place, pool) in (0..).zip(&mut pools) {
            let mut stream = making.stream_for(place, "routing");
            pool.routing = self.routing(&model, pool, &mut stream);
        }
        let policy = |given: Option<_>| given.unwrap_or(self.router.policy);
        Ok(Plan {
            workload: making.index(),
            number: number(Servings::of(making.plans()).count()),
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
            peers: Vec::new(),
            kv_overhead: self.kv.overhead,
            expert_overhead: self.experts.overhead,
            slo: self.slo.unwrap_or_default(),
            warmup: self.warmup_ends(making.workload.start),
            seed: making.stream_for(0, "router").next_u64(),
        })
    }

    /// Returns the routing of tokens in a pool, unless all experts are equal.
    fn routing(&self, model: &Model, pool: &Pool, stream: &mut Stream) -> Option<Arc<Routing>> {
        let ExpertTraffic { skew, redundant, copies, .. } = self.experts;
        let size = if pool.spreads_experts { pool.data * pool.tensor } else { 1 };
        let redundant = if size > 1 { redundant } else { 0 };
        if model.experts == 1 || (skew == 0.0 && redundant == 0) {
            return None;
        }
        let choosing = Choosing { experts: model.experts, top_k: model.top_k, skew, redundant, copies };
        let spread =
            Spread { ranks: size, of_server: if pool.copies.gpus > 0 { pool.copies.gpus } else { size } };
        Some(Arc::new(Routing::new(&choosing, spread, number(model.expert_layers() as usize), stream)))
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

/// Refuses steps with more tokens than the last row of measured times has.
fn check_times(plan: &Plan) -> Result<(), ParamError> {
    for pool in &plan.pools {
        let Some(times) = &pool.costs.times else { continue };
        let of = |tokens: fn(&Request) -> u64| plan.requests.iter().map(tokens).max().unwrap_or(0);
        let (input, all) = (of(|request| request.input), of(|request| request.input + request.output));
        let sequences = wide(pool.max_sequences);
        let prompts = if pool.chunk.is_some() { pool.max_tokens } else { pool.max_tokens.max(input) };
        let (tokens, context) = match pool.role {
            Role::Prefill if pool.chunk.is_none() => (prompts, prompts),
            Role::Prefill => (prompts, sequences.saturating_mul(input)),
            Role::Decode => (sequences, sequences.saturating_mul(all)),
            Role::Aggregated => (prompts.max(sequences), sequences.saturating_mul(all)),
        };
        let context = pool.kv_tokens.map_or(context, |most| context.min(most));
        times.check(Kernel::Attention, tokens, context)?;
        times.check(Kernel::Network, tokens, 0)?;
        times.check(Kernel::SharedExperts, tokens, 0)?;
        times.check(Kernel::Head, sequences.min(tokens), 0)?;
        let (ranks, of_all) = if pool.spreads_experts {
            (pool.data * pool.tensor, tokens * u64::from(pool.data))
        } else {
            (1, tokens)
        };
        let layers = plan.layers - plan.dense_layers;
        let places = (0..layers).flat_map(|layer| (0..ranks).map(move |place| (layer, place)));
        let load = |(layer, place)| pool.load(layer, place, of_all).0.ceil() as u64;
        times.check(Kernel::Experts, places.map(load).max().unwrap_or(0), 0)?;
    }
    Ok(())
}

impl PoolParams {
    fn check(
        &self,
        role: Role,
        model: &Model,
        redundant: u64,
        requests: &[Request],
    ) -> Result<(), ParamError> {
        let Self { instances, tensor, data, expert, max_sequences, max_tokens, chunk, kv_tokens, .. } = *self;
        for (key, value, most) in [
            ("instances", instances, MAX_RANKS),
            ("tensor", tensor, MAX_RANKS),
            ("data", data, MAX_RANKS),
            ("expert", expert, MAX_RANKS),
            ("microbatches", self.microbatches, 4),
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
                return Err(("expert", remove("the model has no experts")));
            }
            if expert != tensor * data {
                let why = format!("must be 1 or tensor times data, which is {}", tensor * data);
                return Err(("expert", why));
            }
            if !(model.experts + redundant).is_multiple_of(expert) {
                let with = if redundant > 0 { " with the redundant experts" } else { "" };
                let all = model.experts + redundant;
                let why = format!("{all} experts{with} cannot be divided evenly among {expert} ranks");
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
            routing: None,
            micro_batches: self.microbatches as u32,
        }
    }
}
