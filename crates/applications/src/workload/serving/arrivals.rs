//! Requests: drawn arrivals, or the rows of a table.

use xoff_engine::random::Stream;
use xoff_models::parts::param_error::{ParamError, remove};
use xoff_models::parts::streams::normal;
use xoff_models::traffic::workload::MAX_START;
use xoff_units::{Duration, Moment, wide};

use super::params::{Arrivals, Lengths, Params, Row};
use crate::serving::Request;

/// Most requests of a workload.
pub const MAX_REQUESTS: u64 = 1 << 22;
/// Most tokens of a prompt or an answer.
const MAX_TOKENS: u64 = 1 << 24;

/// Returns the requests in the order of arrivals.
pub fn requests(params: &Params, start: Moment, stream: &mut Stream) -> Result<Vec<Request>, ParamError> {
    let is_listed = !params.requests.is_empty();
    let both = "mutually exclusive with lengths, which the rows have";
    match (&params.arrivals, params.lengths) {
        (_, Some(_)) if is_listed => Err(("requests", remove(both))),
        (None, None) if is_listed => listed(&params.requests, start),
        (Some(arrivals), None) if is_listed => {
            // The rows have the lengths, and their arrivals do not count.
            let rows = listed(&params.requests, start)?;
            drawn(arrivals, start, stream, |stream| rows[stream.place(rows.len())])
        }
        (Some(arrivals), Some(lengths)) => {
            check(&lengths).map_err(|(_, why)| ("lengths", why))?;
            let Lengths { input, output } = lengths;
            drawn(arrivals, start, stream, |_| Request { arrival: start, input, output, cached: 0 })
        }
        (Some(_), None) => Err(("lengths", "missing; arrivals are given".into())),
        (None, Some(_)) => Err(("arrivals", "missing; lengths are given".into())),
        (None, None) => Err(("arrivals", "missing; give arrivals and lengths, or requests".into())),
    }
}

fn listed(rows: &[Row], start: Moment) -> Result<Vec<Request>, ParamError> {
    if wide(rows.len()) > MAX_REQUESTS {
        return Err(("requests", format!("{} requests exceed the maximum of {MAX_REQUESTS}", rows.len())));
    }
    let mut found = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        let Row { arrival, input_tokens, output_tokens, cached_tokens } = *row;
        check(&Lengths { input: input_tokens, output: output_tokens })
            .map_err(|(_, why)| ("requests", format!("row {number}: {why}")))?;
        if cached_tokens >= input_tokens {
            let why =
                format!("row {number}: {cached_tokens} cached tokens; at most {} can be", input_tokens - 1);
            return Err(("requests", why));
        }
        let arrival = at(start, arrival).ok_or(("requests", too_late(&format!("row {number}"))))?;
        found.push(Request { arrival, input: input_tokens, output: output_tokens, cached: cached_tokens });
    }
    found.sort_by_key(|request| request.arrival);
    Ok(found)
}

fn too_late(what: &str) -> String {
    format!("{what} arrives too late; a simulation ends before {MAX_START}")
}

fn at(start: Moment, after: Duration) -> Option<Moment> {
    Some(start + after).filter(|at| *at < MAX_START)
}

fn check(lengths: &Lengths) -> Result<(), ParamError> {
    for (key, tokens) in [("input", lengths.input), ("output", lengths.output)] {
        if !(1..=MAX_TOKENS).contains(&tokens) {
            return Err((
                key,
                format!("{tokens} tokens of the {key} are out of range; allowed are 1 to {MAX_TOKENS}"),
            ));
        }
    }
    Ok(())
}

fn drawn(
    arrivals: &Arrivals,
    start: Moment,
    stream: &mut Stream,
    lengths: impl Fn(&mut Stream) -> Request,
) -> Result<Vec<Request>, ParamError> {
    let Arrivals { rate, cv, duration, requests } = *arrivals;
    let wrong = |why: String| Err(("arrivals", why));
    if !(rate > 0.0 && rate <= 1e9) {
        return wrong(format!("a rate of {rate} is out of range; allowed are numbers above 0 and up to 1e9"));
    }
    if !(0.0..=100.0).contains(&cv) {
        return wrong(format!("a cv of {cv} is out of range; allowed are 0 to 100"));
    }
    let (end, most) = match (duration, requests) {
        (Some(duration), None) => (start + duration, MAX_REQUESTS),
        (None, Some(requests)) if (1..=MAX_REQUESTS).contains(&requests) => (MAX_START, requests),
        (None, Some(requests)) => {
            return wrong(format!("{requests} requests are out of range; allowed are 1 to {MAX_REQUESTS}"));
        }
        _ => return wrong("give exactly one of duration and requests".into()),
    };
    let mut found = Vec::new();
    let mut seconds = 0.0;
    while wide(found.len()) < most {
        seconds += gap(cv, stream) / rate;
        let arrival = at(start, Duration::of_real(seconds * 1e12));
        match (arrival, requests) {
            (Some(arrival), _) if arrival < end => {
                found.push(Request { arrival, ..lengths(stream) });
            }
            (None, Some(_)) => return wrong(too_late(&format!("request {}", found.len()))),
            _ => break,
        }
    }
    if duration.is_some() && wide(found.len()) == MAX_REQUESTS {
        return wrong(format!("more than {MAX_REQUESTS} requests; give a lower rate or a shorter duration"));
    }
    if found.is_empty() {
        return wrong("no request arrives within the duration; give a longer duration".into());
    }
    Ok(found)
}

/// Draws a gap with mean 1 of a Gamma distribution (Marsaglia and Tsang 2000).
fn gap(cv: f64, stream: &mut Stream) -> f64 {
    if cv == 0.0 {
        return 1.0;
    }
    if (cv - 1.0).abs() < f64::EPSILON {
        return -libm::log(1.0 - stream.uniform());
    }
    let shape = 1.0 / (cv * cv);
    // A shape below 1 is drawn one higher, and multiplied by a power of a uniform number.
    let (raised, factor) = if shape < 1.0 {
        (shape + 1.0, libm::pow(1.0 - stream.uniform(), 1.0 / shape))
    } else {
        (shape, 1.0)
    };
    let d = raised - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(stream);
        let v = libm::pow(1.0 + c * x, 3.0);
        if v > 0.0 && libm::log(1.0 - stream.uniform()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return d * v * factor / shape;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_the_given_mean_and_variation() {
        for cv in [0.3, 1.0, 2.0] {
            let mut stream = Stream::new(1, 2, "test");
            let gaps: Vec<f64> = (0..200_000).map(|_| gap(cv, &mut stream)).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!((mean - 1.0).abs() < 0.02, "{cv}: {mean}");
            assert!((variance.sqrt() / cv - 1.0).abs() < 0.03, "{cv}: {variance}");
        }
        assert!((gap(0.0, &mut Stream::new(1, 2, "test")) - 1.0).abs() < f64::EPSILON);
    }
}
