//! What hosts do: endpoints with their transport and congestion control.

pub mod congestion_control;
pub mod endpoint;
pub mod pulls;
pub mod receiving;
pub mod stack;
pub mod transport;
