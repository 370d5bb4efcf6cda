//! The turns of frames at fixed switches, and the names of frames in a folded run.
//!
//! Frames that reach a fixed switch at the same moment are handled in the order of *turns*. The turn of a frame
//! is the port by which the frame would arrive if the representative of its destination were the destination.
//! The turn therefore says how far the sender is from the destination, and not which sender it is. Example:
//! frames of servers 3 and 6 reach a rail switch at one moment, both for server 5 of 8. Server 6 is one behind
//! server 5, and server 3 is six behind: renamed to server 0 as the destination, the ports are 1 and 6. The
//! frame of server 6 goes first.
//!
//! In a folded run a frame for another server leaves its server under the name that the frame of the image has
//! which is for this server: the fixed switch sends it back here, in the place of the frame from the image.

use std::sync::Arc;

use super::{STAY, Symmetry};
use crate::ids::PortId;
use crate::packet::Packet;
use crate::routing::Paths;

/// A group of renamings in a run.
#[derive(Debug, Clone)]
pub struct Symmetric {
    /// The group.
    pub group: Arc<Symmetry>,
    /// True if only representatives and fixed nodes are simulated.
    pub is_folded: bool,
    /// True if chance does not tell equal nodes apart: the run draws nothing, or equal nodes share each draw.
    pub is_alike: bool,
}

/// What a node does with frames for fixed switches.
#[derive(Debug, Clone)]
pub struct Ties {
    symmetric: Symmetric,
    /// For each port, the fixed node at the other end with its port.
    crossings: Vec<Option<(u32, PortId)>>,
}

impl Ties {
    /// Returns the ties of a node, from the neighbours and their ports; `None` without a fixed neighbour.
    pub fn new(symmetric: &Symmetric, peers: impl Iterator<Item = (u32, PortId)>) -> Option<Self> {
        let is_fixed = |peer: &(u32, PortId)| symmetric.group.is_fixed(peer.0);
        let crossings: Vec<_> = peers.map(|peer| Some(peer).filter(is_fixed)).collect();
        crossings.iter().any(Option::is_some).then(|| Self { symmetric: symmetric.clone(), crossings })
    }

    /// Returns the turn of a frame that leaves by a port, and names the frame; `None` if no rotation leaves the neighbour in
    /// place. The frame carries the port of arrival.
    pub fn cross(&self, port: PortId, frame: &mut Packet) -> Option<u16> {
        let (peer, peer_port) = self.crossings[port.index()]?;
        let Symmetric { group, is_folded, .. } = &self.symmetric;
        frame.set_in_port(peer_port);
        let back = group.inverse(group.at(peer, group.element(frame.dst())));
        if *is_folded && back != STAY {
            frame.set_flow(group.image_of_flow(back, frame.flow()));
            frame.set_dst(group.image(back, frame.dst()));
            if frame.path() >= Paths::FIRST {
                // Of each pair of paths the second leads back.
                frame.set_path(group.pinned(frame.flow()) + frame.path() % 2);
            }
        }
        Some(group.image_port(back, peer, peer_port).0)
    }
}
