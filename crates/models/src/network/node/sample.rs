//! Waiting packets of a node: samples at an interval, and counts for audits.

use xoff_engine::Message as _;
use xoff_units::{Duration, Moment, wide};

use super::Node;
use crate::parts::ids::{PortId, QueueId};
use crate::records::events::Sample;

impl Node {
    /// Sets the sampling interval. Samples at multiples of the interval are kept.
    pub fn sample_every(&mut self, interval: Duration) {
        self.wanted.queues = interval;
        self.next_sample = Moment(self.next_sample.0.next_multiple_of(interval.0));
        self.records.samples.retain(|s| s.at.0.is_multiple_of(interval.0));
    }

    /// Returns the number of samples at this node up to a moment.
    pub fn samples_until(&self, now: Moment) -> u64 {
        let taken = wide(self.records.samples.len());
        if self.next_sample > now {
            return taken;
        }
        let queues = self
            .core
            .ports
            .iter()
            .flat_map(|p| p.queues.iter().skip(1))
            .filter(|q| q.bytes.bytes() > 0)
            .count();
        taken + wide(queues) * (1 + now.since(self.next_sample).0 / self.wanted.queues.0)
    }

    /// Writes samples of each interval up to a moment, from the state since the last event.
    #[cold]
    pub fn sample(&mut self, now: Moment) {
        while self.next_sample <= now {
            for (port, p) in PortId::each(&self.core.ports) {
                for (queue, q) in QueueId::each(&p.queues).skip(1) {
                    let bytes = q.bytes.bytes();
                    if bytes > 0 {
                        let node = self.core.id;
                        self.records.samples.push(Sample { at: self.next_sample, node, port, queue, bytes });
                    }
                }
            }
            // With empty queues no sample is written, and a long silence costs one check.
            self.next_sample += self.wanted.queues;
            if self.core.ports.iter().all(|p| p.waiting == 0) {
                let behind = (now.0.saturating_sub(self.next_sample.0)) / self.wanted.queues.0;
                self.next_sample += Duration(behind * self.wanted.queues.0);
            }
        }
    }

    /// Returns the number of side records of waiting frames.
    pub fn queued_records(&self) -> usize {
        let ports = self.core.ports.iter().flat_map(|p| &p.queues).flat_map(|q| q.packets.iter());
        let cut = self.cut_through.iter().flat_map(|cut| cut.waiting());
        let unread = self.failing.iter().flat_map(|failing| failing.waiting());
        ports
            .chain(self.core.inputs.iter().flatten())
            .chain(cut)
            .chain(unread)
            .filter(|p| p.side().is_some())
            .count()
    }

    /// Returns the wire bytes of waiting data.
    pub fn queued_bytes(&self) -> u64 {
        let ports =
            self.core.ports.iter().flat_map(|p| p.queues.iter().skip(1)).flat_map(|q| q.packets.iter());
        let unread = self.failing.iter().flat_map(|failing| failing.waiting());
        let all = ports.chain(self.core.inputs.iter().flatten()).chain(unread);
        all.filter(|p| p.is_data()).map(|p| u64::from(p.bytes())).sum()
    }
}
