//! Early sequences, and the loads of pools.

use xoff_engine::random::Stream;
use xoff_models::parts::param_error::ParamError;
use xoff_units::wide;

use super::params::{Params, Warm};
use crate::serving::{Demand, Load, Plan, Pool, Request, Role, Running};

/// Returns the demand of requests: rate and mean tokens. `None` if all requests arrive at once.
pub fn demand(params: &Params, plan: &Plan, host: f64, nvlink: Option<(f64, f64)>) -> Option<Demand> {
    let requests = &plan.requests;
    let (first, last) = (requests.first()?.arrival, requests.last()?.arrival);
    let count = requests.len() as f64;
    let rate = match &params.arrivals {
        Some(arrivals) => arrivals.rate,
        None if last > first => (count - 1.0) / (last.since(first).real() / 1e12),
        None => return None,
    };
    let mean = |of: fn(&Request) -> u64| requests.iter().map(|one| of(one) as f64).sum::<f64>() / count;
    let tokens = [mean(|one| one.input - one.cached), mean(|one| one.input), mean(|one| one.output)];
    Some(Demand { rate, tokens, host, nvlink })
}

/// Returns the load of each pool.
pub fn loads(demand: &Demand, plan: &Plan) -> Vec<Load> {
    let of = |pool: &Pool| {
        let kinds: &[bool] = match pool.role {
            Role::Prefill => &[true],
            Role::Decode => &[false],
            Role::Aggregated => &[true, false],
        };
        let parts: Vec<Load> = kinds.iter().map(|is_prefill| demand.load(plan, pool, *is_prefill)).collect();
        // Both kinds of work take their shares of the time of an aggregated pool.
        let load = parts.iter().map(|part| part.load).sum();
        parts.last().map(|part| Load { load, ..*part })
    };
    plan.pools.iter().filter_map(of).collect()
}

/// Returns the early sequences.
pub fn running(
    params: &Params,
    plan: &Plan,
    demand: Option<Demand>,
    stream: &mut Stream,
) -> Result<Vec<Running>, ParamError> {
    let place = plan.pool_for(Role::Decode);
    let pool = &plan.pools[place];
    let (key, given) = match (&params.decode, &params.aggregated) {
        (Some(decode), _) => ("decode.warm", decode.warm),
        (_, Some(both)) => ("aggregated.warm", both.warm),
        _ => return Ok(Vec::new()),
    };
    let mean = match given {
        None | Some(Warm::Equilibrium(false)) => return Ok(Vec::new()),
        Some(Warm::Sequences(count)) if count > wide(pool.max_sequences) => {
            let why = format!("{count} is above max_sequences, which is {}", pool.max_sequences);
            return Err((key, why));
        }
        Some(Warm::Sequences(count)) => count as f64,
        Some(Warm::Equilibrium(true)) => {
            let Some(demand) = demand else {
                return Err((key, "requests arrive at once; give a number of sequences".into()));
            };
            for load in loads(&demand, plan) {
                if load.load > 1.0 {
                    let why = format!(
                        "the load of {} is {:.2}, and there is no equilibrium above 1; lower the rate of requests \
                         or give more DP ranks",
                        load.pool, load.load
                    );
                    return Err((key, why));
                }
            }
            demand.load(plan, pool, false).batch
        }
    };
    // A longer answer runs for a longer time.
    let weights: Vec<u64> = plan.requests.iter().map(|request| request.output).collect();
    let all: u64 = weights.iter().sum();
    let mut found = Vec::new();
    for dp in pool.first_dp..pool.first_dp + pool.dps() {
        let count = mean.floor() as u64 + u64::from(stream.uniform() < mean.fract());
        let mut held = 0;
        for _ in 0..count {
            let drawn = stream.place(all as usize) as u64;
            let mut before = 0;
            let request = plan.requests.iter().find(|request| {
                before += request.output;
                drawn < before
            });
            let Some(Request { input, output, .. }) = request.copied() else { continue };
            held += input + output;
            if pool.kv_tokens.is_some_and(|most| held > most) {
                break;
            }
            let left = 1 + stream.place(output as usize) as u64;
            found.push(Running { dp, context: input + output - left, left });
        }
    }
    Ok(found)
}
