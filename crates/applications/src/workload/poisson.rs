//! Poisson arrivals: each source draws gaps, destinations and sizes from its own stream.
//!
//! The mean gap is 8·mean size / (load·C) with the source's line rate C, so `load` counts payload. The
//! destination is uniform among the other hosts. The number of flows is drawn beforehand from a copy of the
//! stream; the flows are drawn during the run. Source: the traffic generators of HPCC and `ConWeave`;
//! `docs/models/poisson.md`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_engine::state::{State, StateVisitor, Word};
use xoff_models::frames::flow::{Drawn, FlowSpec, Offer};
use xoff_models::parts::streams;
use xoff_models::traffic::workload::{Host, MAX_FLOWS, Making, Problem, Traffic};
use xoff_units::{Duration, Moment, wide};

use super::Warm;
use super::sizes::{Named, SizeTable};

/// `workload[…].poisson`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Payload as a share of each source's line rate, above 0 and up to 1.5.
    pub load: f64,
    /// A published distribution of flow sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Named>,
    /// A distribution of your own: pairs of bytes and cumulative percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Vec<(f64, f64)>>,
    /// A CSV or Parquet file with a distribution: columns bytes and percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf_file: Option<String>,
    /// Flows arrive for this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// This many flows arrive in all, shared evenly over sources. If there are fewer flows than sources, the
    /// sources are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Flows are under way at each source when the workload begins, so that the network carries its load from
    /// the start. `true`: as many as a processor-sharing queue of this load has in equilibrium, load / (1 −
    /// load) on average. A number: this mean number. These flows have the workload's name with ` warm`
    /// behind, and are no part of the run's completion times.
    #[serde(default)]
    pub warm_start: Warm,
    /// Hosts that send. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Host>>,
    /// Hosts that receive. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<Host>>,
}

/// The flows to come of one source.
#[derive(Debug, Clone)]
pub struct Arrivals {
    stream: Stream,
    mean_gap_ps: f64,
    sizes: Arc<SizeTable>,
    destinations: Arc<Vec<u32>>,
    node: u32,
    class: u8,
    end: Moment,
    next: Option<FlowSpec>,
    count: u64,
    left: u64,
    bytes: u64,
    offer: Offer,
}

impl State for Arrivals {
    fn walk(&mut self, walk: &mut StateVisitor<'_>) {
        let Self {
            stream,
            end,
            next,
            count,
            left,
            bytes,
            mean_gap_ps: _,
            sizes: _,
            destinations: _,
            node: _,
            class: _,
            offer: _,
        } = self;
        walk.value(stream.word());
        walk.moment(end);
        next.walk(walk);
        for total in [count, left, bytes] {
            walk.total(total);
        }
    }
}

/// The end of arrivals: a time, or a number of flows of all sources.
#[derive(Debug, Clone, Copy)]
enum End {
    At(Moment),
    After(u64),
}

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let sources = making.hosts(self.sources.as_ref(), &format!("{key}.sources"))?;
        let destinations =
            Arc::new(making.hosts(self.destinations.as_ref(), &format!("{key}.destinations"))?);
        let (start, class, most) = (making.workload.start, making.workload.class, making.room_to_draw());
        let sizes = self.sizes(&key)?;
        if sources.is_empty() {
            return Err((format!("{key}.sources"), "the list is empty".into()));
        }
        let end = self.end(&key, start, most)?;
        let mut gaps = Vec::with_capacity(sources.len());
        let mut expected = 0.0;
        for node in &sources {
            if !destinations.iter().any(|d| d != node) {
                return Err((
                    format!("{key}.destinations"),
                    "a source has no other host as a destination".into(),
                ));
            }
            let mean_gap_ps = 8e12 * sizes.mean() / (self.load * making.rate(*node).real());
            expected += if let End::At(end) = end { (end - start).real() / mean_gap_ps } else { 0.0 };
            gaps.push(mean_gap_ps);
        }
        // Known before anything is drawn, which would take long.
        if expected > most as f64 {
            return Err((format!("{key}.duration"), too_many(expected, most)));
        }
        let mean = self.warm_start.mean(self.load).map_err(|why| (format!("{key}.warm_start"), why))?;
        making.check_room((mean * sources.len() as f64) as u64, &format!("{key}.warm_start"))?;
        let count = wide(sources.len());
        let few = Self::few(end, sources.len(), making);
        for (i, (node, mean_gap_ps)) in sources.into_iter().zip(gaps).enumerate() {
            if self.warm_start != Warm::No {
                Self::list_flows_under_way(making, node, mean, &sizes, &destinations);
            }
            let (end, left) = match end {
                End::At(end) => (end, u64::MAX),
                End::After(_) if few.is_some() => {
                    (Moment::MAX, few.as_ref().map_or(0, |few| u64::from(few[i])))
                }
                End::After(flows) => (Moment::MAX, flows / count + u64::from(wide(i) < flows % count)),
            };
            let (sizes, destinations, stream) = (sizes.clone(), destinations.clone(), making.stream_of(node));
            let flows = if left == u64::MAX { (end - start).real() / mean_gap_ps } else { left as f64 };
            let to = start + Duration::of_real(flows * mean_gap_ps);
            let offer = Offer { from: start, to, bytes: flows * sizes.mean_on_wire(making.framing) };
            let mut arrivals = Arrivals {
                stream,
                mean_gap_ps,
                sizes,
                destinations,
                node,
                class,
                end,
                next: None,
                count: 0,
                left,
                bytes: 0,
                offer,
            };
            arrivals.begin(start);
            if left != u64::MAX && arrivals.count < left {
                return Err((
                    format!("{key}.flows"),
                    "not all flows arrive within 281s, the maximum of a run; raise load".into(),
                ));
            }
            making.add_drawn(node, arrivals);
        }
        making.check_room(0, &format!("{key}.warm_start"))
    }
}

impl Params {
    /// Returns for each source whether it sends a flow, if there are fewer flows than sources: the sources are drawn. The
    /// first ones would be neighbours, and would all send through the same switches.
    fn few(end: End, sources: usize, making: &Making<'_>) -> Option<Vec<bool>> {
        let End::After(flows) = end else { return None };
        let flows = usize::try_from(flows).ok().filter(|flows| *flows < sources)?;
        let mut order: Vec<usize> = (0..sources).collect();
        making.stream().shuffle(&mut order);
        let mut sends = vec![false; sources];
        order.into_iter().take(flows).for_each(|source| sends[source] = true);
        Some(sends)
    }

    /// Lists the remainders of a host's flows that began before the workload. They have their own stream, so
    /// that later flows stay the same.
    fn list_flows_under_way(
        making: &mut Making<'_>,
        node: u32,
        mean: f64,
        sizes: &SizeTable,
        destinations: &[u32],
    ) {
        let mut stream = making.stream_for(node, streams::WARM);
        for _ in 0..Warm::draw(mean, &mut stream) {
            let dst = other_than(node, destinations, &mut stream);
            let size = sizes.draw_residual(&mut stream);
            making.add_warm(node, dst, size);
        }
    }

    fn sizes(&self, key: &str) -> Result<Arc<SizeTable>, Problem> {
        if !(self.load > 0.0 && self.load <= 1.5) {
            return Err((
                format!("{key}.load"),
                format!("{} is out of range; allowed are numbers above 0 and up to 1.5", self.load),
            ));
        }
        let table = match (&self.sizes, &self.cdf) {
            (Some(named), None) => SizeTable::named(*named),
            (None, Some(points)) => SizeTable::new(points).map_err(|why| (format!("{key}.cdf"), why))?,
            _ => return Err((key.to_string(), "give exactly one of sizes, cdf and cdf_file".into())),
        };
        Ok(Arc::new(table))
    }

    fn end(&self, key: &str, start: Moment, most: u64) -> Result<End, Problem> {
        match (self.duration, self.flows) {
            (Some(Duration::ZERO), None) => Err((format!("{key}.duration"), "must be above zero".into())),
            (None, Some(0)) => Err((format!("{key}.flows"), "must be above zero".into())),
            (Some(duration), None) => Ok(End::At(start + duration)),
            (None, Some(flows)) if flows > most => {
                Err((format!("{key}.flows"), too_many(flows as f64, most)))
            }
            (None, Some(flows)) => Ok(End::After(flows)),
            _ => Err((key.to_string(), "give exactly one of duration and flows".into())),
        }
    }
}

fn too_many(flows: f64, most: u64) -> String {
    format!("about {flows:.3e} flows exceed the {most} left; the maximum of a scenario is {MAX_FLOWS}")
}

impl Arrivals {
    /// Draws the first flow, and counts all flows on a copy.
    fn begin(&mut self, start: Moment) {
        self.draw(start, 0);
        let mut dry = self.clone();
        while let Some(flow) = dry.take() {
            self.count += 1;
            self.bytes += flow.size;
        }
    }

    fn draw(&mut self, after: Moment, flow: u32) {
        self.next = None;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let gap = -libm::log(1.0 - self.stream.uniform()) * self.mean_gap_ps;
        let start = Moment(after.0.saturating_add(gap as u64));
        let dst = other_than(self.node, &self.destinations, &mut self.stream);
        let size = self.sizes.draw(&mut self.stream);
        if start < self.end {
            self.next = Some(FlowSpec { flow, dst, size, start, path: 0, class: self.class });
        }
    }
}

/// Draws a destination other than the node.
fn other_than(node: u32, destinations: &[u32], stream: &mut Stream) -> u32 {
    loop {
        let dst = destinations[stream.place(destinations.len())];
        if dst != node {
            return dst;
        }
    }
}

impl Drawn for Arrivals {
    fn peek(&self) -> Option<Moment> {
        self.next.map(|f| f.start)
    }

    fn take(&mut self) -> Option<FlowSpec> {
        let flow = self.next?;
        self.draw(flow.start, flow.flow + 1);
        Some(flow)
    }

    fn destinations(&self) -> (u8, &[u32]) {
        (self.class, &self.destinations)
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn offer(&self) -> Offer {
        self.offer
    }

    fn number_from(&mut self, flow: u32) {
        if let Some(next) = &mut self.next {
            next.flow = flow;
        }
    }
}
