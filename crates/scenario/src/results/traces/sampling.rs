//! Sampling of queue depths.

use xoff_document::Probe;
use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::records::events::Sample;
use xoff_units::{Duration, wide};

/// Maximum number of samples of a replay.
const REPLAY_ROWS: u64 = 100_000;

pub struct Sampling {
    pub interval: Option<Duration>,
    /// Samples are limited in number: old samples are thinned, and are kept until the end.
    pub is_replay: bool,
}

impl Sampling {
    pub fn new(probe: &Probe) -> Self {
        Self { interval: probe.interval(), is_replay: probe.replay }
    }

    /// Makes each node write the samples since its last event, as needed in a deadlock.
    pub fn catch_up(&mut self, cp: &mut Checkpoint<'_, Node>, samples: &mut Vec<Sample>) {
        // Events of this moment may have happened already.
        let before = cp.now.saturating_sub(Duration(1));
        let coming = (0..cp.nodes()).map(|id| cp.node(id).samples_until(before)).sum();
        self.thin(cp, samples, coming);
        for id in 0..cp.nodes() {
            cp.node_mut(id).sample(before);
        }
    }

    /// Doubles the interval of a replay until the samples, with coming samples, are few enough.
    pub fn thin(&mut self, cp: &mut Checkpoint<'_, Node>, samples: &mut Vec<Sample>, coming: u64) {
        let (Some(interval), true) = (&mut self.interval, self.is_replay) else { return };
        let first = *interval;
        while wide(samples.len()) + coming / (interval.ps() / first.ps()) > REPLAY_ROWS
            && interval.ps() <= cp.now.ps()
        {
            *interval += *interval;
            samples.retain(|s| s.at.ps() % interval.ps() == 0);
        }
        for id in (0..cp.nodes()).filter(|_| *interval > first) {
            cp.node_mut(id).sample_every(*interval);
        }
    }
}
