//! Poisson arrivals: each source draws gaps, destinations and sizes of its own.
//!
//! Mean gap = 8·mean size / (load·C), C the source's line rate, so that `load` counts payload; the destination is uniform among
//! the others (HPCC's and `ConWeave`'s traffic generator). How many flows there are is drawn beforehand from a copy of the
//! stream; the flows themselves are drawn when their time comes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{Rate, Time};

use super::sizes::{Named, SizeTable};
use super::{FlowSpec, Host, MAX_FLOWS, Problem};

/// `workload[…].poisson`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Share of each source's line rate that its payload takes, above 0 and up to 1.5.
    pub load: f64,
    /// A published distribution of flow sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Named>,
    /// A distribution of your own: pairs of bytes and cumulative percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<(f64, f64)>>,
    /// A CSV or Parquet file with it: columns bytes and percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points_table: Option<String>,
    /// Flows arrive for this long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// This many flows arrive in all, shared evenly over sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Hosts that send; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Vec<Host>>,
    /// Hosts that receive; default all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destinations: Option<Vec<Host>>,
}

/// One source's flows to come.
#[derive(Debug, Clone)]
pub struct Source {
    stream: Stream,
    mean_gap_ps: f64,
    sizes: Arc<SizeTable>,
    destinations: Arc<Vec<u32>>,
    node: u32,
    class: u8,
    end: Time,
    next: Option<FlowSpec>,
    count: u64,
    left: u64,
    bytes: u64,
}

impl Params {
    /// A source for each host; refuses to draw more than about `most` flows.
    #[allow(clippy::too_many_arguments, reason = "what a workload knows of itself")]
    pub fn sources(
        &self,
        key: &str,
        sources: &[u32],
        destinations: &[u32],
        rate: impl Fn(u32) -> Rate,
        start: Time,
        class: u8,
        workload: u64,
        seed: u64,
        most: u64,
    ) -> Result<Vec<(u32, Source)>, Problem> {
        if !(self.load > 0.0 && self.load <= 1.5) {
            return Err((format!("{key}.load"), format!("{} is out of range; allowed are numbers above 0 and up to 1.5", self.load)));
        }
        let table = match (&self.sizes, &self.points) {
            (Some(named), None) => SizeTable::named(*named),
            (None, Some(points)) => SizeTable::new(points).map_err(|why| (format!("{key}.points"), why))?,
            _ => return Err((key.to_string(), "give exactly one of sizes, points and points_table".into())),
        };
        let table = Arc::new(table);
        if sources.is_empty() {
            return Err((format!("{key}.sources"), "the list is empty".into()));
        }
        let (end, total) = match (self.duration, self.flows) {
            (Some(Time::ZERO), None) => {
                return Err((format!("{key}.duration"), "no flow arrives in no time; it must be above zero".into()));
            }
            (None, Some(0)) => return Err((format!("{key}.flows"), "no flow is wanted; it must be above zero".into())),
            (Some(duration), None) => (start + duration, u64::MAX),
            (None, Some(flows)) if flows > most => return Err((format!("{key}.flows"), too_many(flows as f64, most))),
            (None, Some(flows)) => (Time::MAX, flows),
            _ => return Err((key.to_string(), "give exactly one of duration and flows".into())),
        };
        let destinations = Arc::new(destinations.to_vec());
        let mut gaps = Vec::with_capacity(sources.len());
        let mut expected = 0.0;
        for (i, node) in sources.iter().enumerate() {
            if !destinations.iter().any(|d| d != node) {
                return Err((format!("{key}.destinations"), "a source has no destination but itself".into()));
            }
            let share =
                if total == u64::MAX { total } else { total / sources.len() as u64 + u64::from((i as u64) < total % sources.len() as u64) };
            let mean_gap_ps = 8e12 * table.mean() / (self.load * rate(*node).0 as f64);
            expected += if total == u64::MAX { (end - start).0 as f64 / mean_gap_ps } else { 0.0 };
            gaps.push((*node, share, mean_gap_ps));
        }
        // Known before anything is drawn, which would take long.
        if expected > most as f64 {
            return Err((format!("{key}.duration"), too_many(expected, most)));
        }
        let mut list = Vec::with_capacity(gaps.len());
        for (node, share, mean_gap_ps) in gaps {
            let mut source = Source {
                stream: Stream::new(seed, (workload << 32) | u64::from(node), "poisson"),
                mean_gap_ps,
                sizes: table.clone(),
                destinations: destinations.clone(),
                node,
                class,
                end,
                next: None,
                count: 0,
                left: share,
                bytes: 0,
            };
            source.draw(start, 0);
            let mut dry = source.clone();
            while let Some(flow) = dry.take() {
                source.count += 1;
                source.bytes += flow.size;
            }
            if total != u64::MAX && source.count < share {
                return Err((format!("{key}.flows"), "they do not all arrive within the 281s that a run may take; raise load".into()));
            }
            list.push((node, source));
        }
        Ok(list)
    }
}

fn too_many(flows: f64, most: u64) -> String {
    format!("about {flows:.3e} flows are more than the {most} that are possible here; {MAX_FLOWS} may be in one scenario")
}

impl Source {
    fn draw(&mut self, after: Time, flow: u32) {
        self.next = None;
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let gap = -libm::log(1.0 - self.stream.uniform()) * self.mean_gap_ps;
        let start = Time(after.0.saturating_add(gap as u64));
        let dst = loop {
            let dst = self.destinations[self.stream.below(self.destinations.len() as u64) as usize];
            if dst != self.node {
                break dst;
            }
        };
        let size = self.sizes.draw(&mut self.stream);
        if start < self.end {
            self.next = Some(FlowSpec { flow, dst, size, start, path: 0, class: self.class });
        }
    }

    /// When the next flow starts.
    pub fn peek(&self) -> Option<Time> {
        self.next.map(|f| f.start)
    }

    /// Takes the next flow and draws the one after.
    pub fn take(&mut self) -> Option<FlowSpec> {
        let flow = self.next?;
        self.draw(flow.start, flow.flow + 1);
        Some(flow)
    }

    /// Its class, and who may receive.
    pub fn destinations(&self) -> (u8, &[u32]) {
        (self.class, &self.destinations)
    }

    /// Flows in all.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Payload in all.
    pub const fn total_bytes(&self) -> u64 {
        self.bytes
    }

    /// Numbers the flows from here.
    pub fn set_first_flow(&mut self, flow: u32) {
        if let Some(next) = &mut self.next {
            next.flow = flow;
        }
    }
}
