//! Which flows have ended, and how far a run has come with that.

use std::collections::BTreeSet;

use xoff_engine::Checkpoint;
use xoff_models::endpoint::Sent;
use xoff_models::node::Node;
use xoff_models::workload::AllFlows;
use xoff_units::{Moment, index};

use crate::observer::Progress;

pub struct Ends {
    /// When each flow's last byte arrived; never where it has not.
    arrived: Vec<Moment>,
    completed: u64,
    /// The last of these moments.
    pub last: Moment,
    /// Flows whose last packet has left, where nothing is heard of its arrival.
    left: Vec<Sent>,
    /// Flows that lost a packet which nobody sends again.
    lost: BTreeSet<u32>,
    /// What is lost is sent again.
    repeats: bool,
    bytes_completed: u64,
    flows: u64,
    bytes: u64,
}

impl Ends {
    pub fn new(plan: &AllFlows, repeats: bool) -> Self {
        Self {
            arrived: vec![Moment::NEVER; plan.flows as usize],
            completed: 0,
            last: Moment::ZERO,
            left: Vec::new(),
            lost: BTreeSet::new(),
            repeats,
            bytes_completed: 0,
            flows: plan.flows,
            bytes: plan.bytes,
        }
    }

    /// When a flow's last byte arrived.
    pub fn arrival(&self, flow: u32) -> Option<Moment> {
        Some(self.arrived[index(flow)]).filter(|at| *at != Moment::NEVER)
    }

    /// Takes what hosts have written down of arrivals, and returns flows that are over with that.
    pub fn arrivals(&mut self, cp: &mut Checkpoint<'_, Node>) -> Vec<Sent> {
        for id in 0..cp.nodes() {
            let Some(endpoint) = &mut cp.node_mut(id).endpoint else { continue };
            for (flow, at) in endpoint.arrived.drain(..) {
                self.arrived[index(flow)] = at;
                self.completed += 1;
                self.last = self.last.max(at);
            }
        }
        let is_settled = |s: &Sent| self.arrival(s.flow).is_some() || self.lost.contains(&s.flow);
        let (settled, left): (Vec<_>, Vec<_>) = self.left.iter().partition(|s| is_settled(s));
        self.left = left;
        self.bytes_completed += settled.iter().map(|s| s.size).sum::<u64>();
        settled
    }

    /// Takes what sources have written down of flows that they are done with, and returns those that are over.
    pub fn departures(&mut self, cp: &mut Checkpoint<'_, Node>) -> Vec<Sent> {
        let mut over = Vec::new();
        for id in 0..cp.nodes() {
            let Some(endpoint) = &mut cp.node_mut(id).endpoint else { continue };
            for s in endpoint.sent.drain(..) {
                if self.repeats || self.arrival(s.flow).is_some() {
                    self.bytes_completed += s.size;
                    over.push(s);
                } else {
                    self.left.push(s);
                }
            }
        }
        over
    }

    /// A flow lost a packet.
    pub fn lose(&mut self, flow: u32) {
        if !self.repeats {
            self.lost.insert(flow);
        }
    }

    /// Those of which nobody will know more.
    pub fn unsettled(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.left)
    }

    /// All flows, and those whose last byte arrived.
    pub const fn count(&self) -> (u64, u64) {
        (self.flows, self.completed)
    }

    /// Flows that should have ended; raw frames that were dropped are nobody's to bring.
    pub fn missing(&self) -> u64 {
        self.flows - self.completed - self.lost.len() as u64
    }

    pub fn progress(&self, now: Moment, until: Option<Moment>) -> Progress {
        let of_bytes = self.bytes_completed as f64 / self.bytes.max(1) as f64;
        Progress {
            share: until.map_or(of_bytes, |until| of_bytes.max(now.ps() as f64 / until.ps() as f64)).min(1.0),
            simulated_ps: now.ps(),
            flows_completed: self.completed,
            flows_total: self.flows,
            bytes_completed: self.bytes_completed,
            bytes_total: self.bytes,
        }
    }
}
