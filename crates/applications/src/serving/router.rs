//! The router: the choice of a DP rank for a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_engine::random::Stream;
use xoff_units::{index, number};

/// `router.policy`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// One DP rank after another.
    #[default]
    RoundRobin,
    /// A DP rank at random.
    Random,
    /// The DP rank with the fewest unfinished requests; the lowest number of several.
    LeastLoaded,
    /// The less loaded of two DP ranks drawn at random.
    PowerOfTwo,
}

/// The choice among the DP ranks of a pool.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    policy: Policy,
    first: u32,
    next: u32,
    /// Requests sent to each DP rank and not ended.
    load: Vec<u32>,
    stream: Stream,
}

impl Choice {
    /// Returns the choice among `count` DP ranks.
    pub fn new(policy: Policy, first: u32, count: u32, stream: Stream) -> Self {
        Self { policy, first, next: 0, load: vec![0; index(count)], stream }
    }

    /// Chooses a DP rank, which gets the request.
    pub fn choose(&mut self) -> u32 {
        let count = self.load.len();
        let lowest = |places: &mut dyn Iterator<Item = usize>| {
            places.min_by_key(|place| (self.load[*place], *place)).unwrap_or(0)
        };
        let place = match self.policy {
            Policy::RoundRobin => {
                self.next = (self.next + 1) % number(count);
                index((self.next + number(count) - 1) % number(count))
            }
            Policy::Random => self.stream.place(count),
            Policy::LeastLoaded => lowest(&mut (0..count)),
            Policy::PowerOfTwo => {
                let drawn = [self.stream.place(count), self.stream.place(count)];
                drawn.into_iter().min_by_key(|place| (self.load[*place], *place)).unwrap_or(0)
            }
        };
        self.load[place] += 1;
        self.first + number(place)
    }

    /// A DP rank has a sequence from the start.
    pub fn add(&mut self, dp: u32) {
        self.load[index(dp - self.first)] += 1;
    }

    /// A request of a DP rank ended.
    pub fn end(&mut self, dp: u32) {
        self.load[index(dp - self.first)] -= 1;
    }
}
