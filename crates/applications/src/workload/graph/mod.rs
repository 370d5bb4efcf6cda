//! A job as a graph of operations: computations, sends and receives of each rank, and their dependencies.
//!
//! An operation begins when all operations in `after` and the previous operation in its `stream` have ended,
//! all of the same rank. The i-th `send` of a rank to a peer with a tag matches the peer's i-th `recv` of
//! this rank and tag; a message may arrive early. The i-th collective that a rank lists for a group is the
//! same for the whole group, as on a communicator of NCCL. Operations without a rank are the program of every
//! rank (SPMD), with families of groups in the place of groups. A computation takes its duration, or the longer of
//! its FLOP and memory times (roofline; Williams, Waterman and Patterson 2009). Simplifications: a send ends
//! when the last packet starts; a receiver has room for early messages. Source: `docs/models/graph.md`.

mod params;
mod reading;
mod spmd;

use xoff_units::index;

pub use self::params::{Family, Kind, MAX_OPERATIONS, MAX_RANKS, MAX_SHARED, Params, Processor, Row};
use self::reading::Reading;
use super::library::MakesJobs;
use xoff_models::traffic::workload::{Making, Problem, Traffic};

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let key = making.key();
        let ranks = self.ranks(&key)?;
        for (row, one) in self.operations.iter().enumerate() {
            if let Some(class) = one.class {
                making.check_class(class, "").map_err(|(_, why)| self.wrong(&key, row, "class", why))?;
            }
        }
        let library = making.library(self.library, false);
        let hosts = self.hosts.as_ref();
        let placed = making.ranks(library, Some(ranks as usize), hosts, self.placement, &key)?;
        let mut reading = Reading::new(self, &key, making.job_of(&placed, &key)?, ranks as u32);
        reading.list()?;
        reading.order()?;
        if self.is_shared() {
            reading.repeat_collectives()?;
        } else {
            reading.match_messages()?;
            reading.match_collectives()?;
        }
        let places = std::mem::take(&mut reading.places);
        let graph = reading.build();
        for (one, rows) in graph.ranks.iter().zip(places) {
            if let Some(place) = one.circle() {
                let row = rows[index(place)];
                return Err(self.wrong(
                    &key,
                    row,
                    "after",
                    "the operation would wait for itself; break the circle".into(),
                ));
            }
        }
        making.add_job(graph)
    }

    fn has_messages(&self) -> bool {
        true
    }
}
