//! Bernoulli sources: open-loop traffic, with frames at random in the slots of a line.
//!
//! Models: a *slot* is the time of one full frame at the line rate of the source. In each slot a frame
//! arrives at the source with probability `load`, independent of the state of the network. Gaps between
//! frames are geometric, and are drawn one at a time. Frames wait in a queue of the source, in front of the
//! rate limiter. If the queue is full, the next frame is held until the queue has room, and all later frames
//! move by the same time: no frame is lost at a source. Held frames are counted. Example: at 10 Gb/s the slot
//! of a 1,500 B frame is 1.2 us. With a load of 0.5, a frame arrives every 2.4 us on average.
//!
//! Source: the BCN document ("Bernoulli temporal distribution", rate limiter queue of 150 KB);
//! `docs/models/bernoulli.md`.
//!
//! Our choice: the slots of a source begin at a random moment, so that sources do not send in step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_models::frames::flow::SourceQueue;
use xoff_models::frames::framing::Framing;
use xoff_models::traffic::workload::{Host, Making, Problem, Traffic};
use xoff_units::{Bytes, Duration, Moment, Rate, index};

/// `workload[…].bernoulli`: one flow from each source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Hosts that send.
    pub sources: Vec<Host>,
    /// Hosts that receive: one host for all sources, or one for each source.
    pub destinations: Vec<Host>,
    /// Share of its line rate that each source offers, headers included, above 0 and up to 1.
    pub load: f64,
    /// Frames come for this long.
    pub duration: Duration,
    /// Most bytes that wait at a source.
    #[serde(default = "queue")]
    pub queue: Bytes,
}

const fn queue() -> Bytes {
    Bytes(150_000)
}

/// Maximum number of frames of a source.
const MOST_FRAMES: f64 = 1e8;

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let sources = making.hosts(Some(&self.sources), &format!("{key}.sources"))?;
        let lines: Vec<Rate> = sources
            .iter()
            .map(|n| making.ports[index(*n)].iter().map(|p| p.link.rate).max().unwrap_or(Rate(1)))
            .collect();
        self.validate(&key, making.framing, lines.iter().copied().max().unwrap_or(Rate(1)))?;
        making.lasts(self.duration);
        for (i, (src, line)) in sources.iter().copied().zip(lines).enumerate() {
            let which = if self.destinations.len() == 1 { 0 } else { i };
            let dst = making.host(&self.destinations[which], &format!("{key}.destinations[{which}]"))?;
            making.check_ends(src, dst, &format!("{key}.sources[{i}]"))?;
            let arrivals = self.arrivals(line, making.framing, making.workload.start, making.stream_of(src));
            let Some((arrivals, first, count)) = arrivals else { continue };
            let size = u64::from(count) * making.framing.payload;
            making.add_arriving(src, dst, size, first, arrivals);
        }
        making.check_room(0, &key)
    }
}

impl Params {
    /// Returns the arrivals at a source, the moment of the first frame, and the number of frames; `None` if
    /// no frame arrives.
    pub fn arrivals(
        &self,
        rate: Rate,
        framing: &Framing,
        start: Moment,
        mut stream: Stream,
    ) -> Option<(SourceQueue, Moment, u32)> {
        let slot = rate.time(framing.largest());
        let phase = Duration::of_real(stream.uniform() * slot.real());
        let room = (self.queue.0 / framing.largest()).clamp(1, u64::from(u32::MAX)) as u32;
        // A frame arrives at the beginning of a slot. The first slot may have a frame, too.
        SourceQueue::in_slots(stream, slot, self.load, start + phase, start + self.duration, room)
    }

    /// Refuses invalid values: returns the first invalid key, with the problem.
    pub fn validate(&self, key: &str, framing: &Framing, fastest: Rate) -> Result<(), Problem> {
        if !(self.load > 0.0 && self.load <= 1.0) {
            return Err((
                format!("{key}.load"),
                format!("{} is out of range; allowed are numbers above 0 and up to 1", self.load),
            ));
        }
        if self.sources.is_empty() {
            return Err((format!("{key}.sources"), "the list is empty".into()));
        }
        if self.destinations.len() != 1 && self.destinations.len() != self.sources.len() {
            let (given, sources) = (self.destinations.len(), self.sources.len());
            return Err((
                format!("{key}.destinations"),
                format!(
                    "{given} were given; give one for all sources, or one for each of the {sources} sources"
                ),
            ));
        }
        if self.duration == Duration::ZERO || self.duration > Duration::ms(281_000) {
            return Err((
                format!("{key}.duration"),
                format!("{} is out of range; must be above zero and up to 281s", self.duration),
            ));
        }
        let frames = self.load * self.duration.real() / rate_time(fastest, framing);
        if frames > MOST_FRAMES {
            return Err((
                format!("{key}.duration"),
                format!("a source would offer about {frames:.1e} frames; the maximum is {MOST_FRAMES:.0e}"),
            ));
        }
        if self.queue.0 < framing.largest() {
            return Err((
                format!("{key}.queue"),
                format!("{} does not hold a frame of {} B", self.queue, framing.largest()),
            ));
        }
        Ok(())
    }
}

fn rate_time(rate: Rate, framing: &Framing) -> f64 {
    rate.time(framing.largest()).real()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(load: f64, queue: u64, seed: u64) -> (SourceQueue, Moment, u32) {
        let framing = Framing { payload: 1500, header: 0, control: 64, minimum: 64 };
        let params = Params {
            sources: vec![],
            destinations: vec![],
            load,
            duration: Duration::ms(120),
            queue: Bytes(queue),
        };
        params.arrivals(Rate::gbps(10), &framing, Moment::ms(5), Stream::new(seed, 1, "test")).unwrap()
    }

    #[test]
    fn frames_come_in_slots_at_the_load() {
        for load in [0.1, 0.5, 0.9] {
            let (mut arrivals, first, count) = source(load, 150_000, 3);
            // 100 000 slots of 1.2 us.
            let deviation = (f64::from(count) - 1e5 * load) / (1e5 * load * (1.0 - load)).sqrt();
            assert!(deviation.abs() < 4.0, "{load}: {count}");
            let mut sent = 0;
            while arrivals.arrived() < count {
                let at = arrivals.next();
                assert_eq!((at - first).ps() % 1_200_000, 0);
                assert_eq!(arrivals.advance(sent, at), 0);
                sent = arrivals.arrived();
            }
            assert_eq!(sent, count);
        }
        let (mut all, first, _) = source(1.0, 150_000, 3);
        all.advance(0, first);
        assert_eq!(all.next() - first, Duration::ns(1200));
    }

    #[test]
    fn a_full_queue_holds_its_source_back_and_loses_nothing() {
        let (mut arrivals, _, _) = source(0.5, 15_000, 4);
        let late = Duration::ms(60);
        assert_eq!((arrivals.advance(0, Moment::ZERO + late), arrivals.arrived()), (1, 10));
        assert_eq!((arrivals.advance(0, Moment::ms(61)), arrivals.arrived()), (0, 10));
        assert_eq!((arrivals.advance(1, Moment::ms(62)), arrivals.arrived()), (0, 11));
        assert!(arrivals.next() > Moment::ms(62) && arrivals.arrived() == 11);
    }
}
