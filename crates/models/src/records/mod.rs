//! What nodes record for results: events, the causes of delays, and high-water marks.

pub mod delays;
pub mod events;
pub mod high_water;
pub mod table;
