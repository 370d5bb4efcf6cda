//! Warm start: flows that are under way when a workload begins, so that the network carries its load from the
//! start.
//!
//! Models: each source is an M/G/1 processor-sharing queue in equilibrium. At load rho a source has n flows
//! with probability (1 − rho)·rho^n for any distribution F of sizes, and each remainder is an independent
//! draw from the residual distribution, of density (1 − F(x)) / E\[S\]. Source: Kelly, "Reversibility and
//! Stochastic Networks" (1979), section 3.3; Kleinrock, "Queueing Systems II" (1976), section 4.4;
//! `docs/models/poisson.md`. Simplification: the queue is that of the source's own lines, at the load of
//! payload. With a bottleneck elsewhere more flows are under way; their mean number may be given instead.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use xoff_engine::random::Stream;

/// Largest mean number of flows under way at a source.
const MOST: f64 = 10_000.0;

/// The number of flows under way at each source.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Warm {
    /// None.
    #[default]
    No,
    /// rho / (1 − rho) on average.
    Equilibrium,
    /// This mean number, with a geometric distribution.
    Mean(f64),
}

impl Warm {
    /// Returns the mean number of flows under way at a load, or the problem.
    pub fn mean(self, load: f64) -> Result<f64, String> {
        match self {
            Self::No => Ok(0.0),
            Self::Equilibrium if load >= 1.0 => Err(format!(
                "at a load of {load} no equilibrium exists; give the mean number of flows, or a load below 1"
            )),
            Self::Equilibrium => Ok(load / (1.0 - load)),
            Self::Mean(mean) if mean > 0.0 && mean <= MOST => Ok(mean),
            Self::Mean(mean) => Err(format!(
                "{mean} is out of range; allowed are true, false, and numbers above 0 and up to {MOST}"
            )),
        }
    }

    /// Draws a number n with the mean `mean`: P(n) = (1 − rho)·rho^n with rho = mean / (1 + mean).
    pub fn draw(mean: f64, stream: &mut Stream) -> u64 {
        (libm::log(1.0 - stream.uniform()) / libm::log(mean / (1.0 + mean))) as u64
    }
}

impl Serialize for Warm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::No => serializer.serialize_bool(false),
            Self::Equilibrium => serializer.serialize_bool(true),
            Self::Mean(mean) => serializer.serialize_f64(*mean),
        }
    }
}

impl<'de> Deserialize<'de> for Warm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Warm;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("true, false, or the mean number of active flows of a source, such as 1.5")
            }
            fn visit_bool<E: de::Error>(self, is_warm: bool) -> Result<Warm, E> {
                Ok(if is_warm { Warm::Equilibrium } else { Warm::No })
            }
            fn visit_f64<E: de::Error>(self, mean: f64) -> Result<Warm, E> {
                Ok(Warm::Mean(mean))
            }
            fn visit_u64<E: de::Error>(self, mean: u64) -> Result<Warm, E> {
                Ok(Warm::Mean(mean as f64))
            }
            fn visit_i64<E: de::Error>(self, mean: i64) -> Result<Warm, E> {
                Ok(Warm::Mean(mean as f64))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Warm {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Warm".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "number"], "description": "true, false, or the mean number of active flows of a source" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_geometric() {
        // n draws at each load; four standard deviations of a mean and of a share.
        let n = 200_000;
        for rho in [0.1, 0.6, 0.9] {
            let mean = Warm::Equilibrium.mean(rho).unwrap();
            let mut stream = Stream::new(1, 0, "test");
            let draws: Vec<u64> = (0..n).map(|_| Warm::draw(mean, &mut stream)).collect();
            let near = |found: f64, wanted: f64, variance: f64| {
                assert!(
                    (found - wanted).abs() < 4.0 * (variance / f64::from(n)).sqrt(),
                    "{rho}: {found} against {wanted}"
                );
            };
            near(
                draws.iter().sum::<u64>() as f64 / f64::from(n),
                rho / (1.0 - rho),
                rho / ((1.0 - rho) * (1.0 - rho)),
            );
            let mut share = 1.0 - rho;
            for k in 0..5 {
                near(
                    draws.iter().filter(|d| **d == k).count() as f64 / f64::from(n),
                    share,
                    share * (1.0 - share),
                );
                share *= rho;
            }
        }
    }

    #[test]
    fn what_has_no_mean_is_refused() {
        assert!(Warm::Equilibrium.mean(1.0).unwrap_err().contains("no equilibrium"));
        assert_eq!((Warm::Mean(1.5).mean(1.2), Warm::No.mean(1.2)), (Ok(1.5), Ok(0.0)));
        for mean in [0.0, -1.0, f64::NAN, 1e9] {
            assert!(Warm::Mean(mean).mean(0.5).unwrap_err().contains("out of range"), "{mean}");
        }
    }
}
