//! The turns of frames at fixed switches, and the names of frames in a folded run.
//!
//! Frames that reach a fixed switch at the same moment are handled in the order of *turns*. The turn of a frame
//! is the port by which the frame would arrive if the representative of its destination were the destination.
//! The turn therefore says how far the sender is from the destination, and not which sender it is. Example:
//! frames of servers 3 and 6 reach a rail switch at one moment, both for server 5 of 8. Server 6 is one behind
//! server 5, and server 3 is six behind: renamed to server 0 as the destination, the ports are 1 and 6. The
//! frame of server 6 goes first.
//!
//! A folded run renames a frame in two places, so that it always meets simulated nodes:
//!
//! - On the way to a fixed switch the frame gets the name of the image whose destination is a representative. Example: a
//!   frame for another server takes the name of the frame from an equal server to this server. The fixed switch sends it back
//!   to this server, instead of the frame of the equal server.
//! - At a fixed switch that sends the frame to a moved neighbour, the frame gets the name of the image that leaves for the
//!   representative of this neighbour. Example: of 16 equal aggregation switches one is simulated, and gets all frames for
//!   the 16, each under the name of the image for this one.

use std::sync::Arc;

use super::{STAY, Symmetry};
use crate::frames::packet::Packet;
use crate::parts::ids::PortId;
use crate::paths::routing::{Images, Paths};

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
    /// The node, if it is a fixed node of a folded run.
    fixed: Option<u32>,
}

impl Ties {
    /// Returns the ties of a node, from the neighbours and their ports; `None` if the node does nothing with frames.
    pub fn new(symmetric: &Symmetric, node: u32, peers: impl Iterator<Item = (u32, PortId)>) -> Option<Self> {
        let is_fixed = |peer: &(u32, PortId)| symmetric.group.is_fixed(peer.0);
        let crossings: Vec<_> = peers.map(|peer| Some(peer).filter(is_fixed)).collect();
        let fixed = Some(node).filter(|node| symmetric.is_folded && symmetric.group.is_fixed(*node));
        let acts = fixed.is_some() || crossings.iter().any(Option::is_some);
        acts.then(|| Self { symmetric: symmetric.clone(), crossings, fixed })
    }

    /// Returns the port of a folded run that stands for the port of a frame, and names the frame as the image that leaves by
    /// this port.
    #[inline]
    pub fn leave(&self, out: PortId, frame: &mut Packet) -> PortId {
        let Some(node) = self.fixed else { return out };
        let group = &self.symmetric.group;
        match group.element_of_port(node, out) {
            Some(element) if element != STAY => {
                let back = group.inverse(element);
                self.rename(back, frame);
                group.image_port(back, node, out)
            }
            _ => out,
        }
    }

    /// Gives a frame the name of its image under an element.
    fn rename(&self, element: u32, frame: &mut Packet) {
        let group = &self.symmetric.group;
        frame.set_flow(group.image_of_flow(element, frame.flow()));
        frame.set_dst(group.image(element, frame.dst()));
        if frame.path() >= Paths::FIRST {
            // Of each pair of paths the second leads back.
            frame.set_path(group.pinned(frame.flow()) + frame.path() % 2);
        }
    }

    /// Returns the turn of a frame that leaves by a port, and names the frame; `None` if no rotation leaves the neighbour in
    /// place. The frame carries the port of arrival.
    pub fn cross(&self, port: PortId, frame: &mut Packet) -> Option<u16> {
        let (peer, peer_port) = self.crossings[port.index()]?;
        let Symmetric { group, is_folded, .. } = &self.symmetric;
        frame.set_in_port(peer_port);
        let back = group.inverse(group.at(peer, group.element(frame.dst())));
        if *is_folded && back != STAY {
            self.rename(back, frame);
        }
        Some(group.image_port(back, peer, peer_port).0)
    }
}

impl Images for Symmetry {
    fn image(&self, node: u32, port: PortId, flow: u32) -> PortId {
        self.image_port(self.element_of_flow(flow), node, port)
    }

    fn is_closed(&self, node: u32, ports: &[PortId]) -> bool {
        let is_own =
            |element: &u32| ports.iter().all(|port| ports.contains(&self.image_port(*element, node, *port)));
        self.is_fixed(node) && self.elements_at(node).iter().all(is_own)
    }
}
