//! The contract of a receiver's half: the part of a transport or a congestion control at the destination.
//!
//! A host has one half for all flows that end at the host: the half can share the host's line among flows. The half sees data, trimmed headers, and frames of the sender's half. The half answers with frames
//! in an [`Outbox`], has a timer, and may write onto acknowledgements. Example: the [pacer of
//! pulls](crate::hosts::pulls).

use std::fmt::Debug;

use dyn_clone::{DynClone, clone_trait_object};
use xoff_engine::state;
use xoff_engine::state::State;
use xoff_units::Moment;

use crate::frames::kinds::Payload;
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Records;
use crate::parts::count::Tally;

/// The other end of a flow: where frames of a half go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The node.
    pub node: u32,
    /// The pinned path of frames to the node, or 0.
    pub path: u16,
}

state!(Peer {
    value: node, path;
});

/// The frames that a half sends in an event.
#[derive(Debug)]
pub struct Outbox {
    /// The moment of the event.
    pub now: Moment,
    control_bytes: u16,
    frames: Vec<Packet>,
}

impl Outbox {
    /// Returns an empty outbox; a frame takes `control_bytes` on the wire.
    pub const fn new(now: Moment, control_bytes: u16) -> Self {
        Self { now, control_bytes, frames: Vec::new() }
    }

    /// Sends a frame to the other end of a flow, in a class.
    pub fn send<P: Payload>(&mut self, payload: P, flow: u32, peer: Peer, class: u8) {
        let mut frame = Packet::with(payload, flow, peer.node, self.control_bytes, class);
        frame.set_path(peer.path);
        self.frames.push(frame);
    }

    /// Returns the frames.
    pub fn frames(self) -> Vec<Packet> {
        self.frames
    }
}

/// The receiver's half of a transport or a congestion control, at one host.
pub trait Receiving: State + Debug + Send + Sync + DynClone {
    /// Handles a data packet, a trimmed header, or a frame of the sender's half. The packet that completes a
    /// flow goes to [`Self::on_end`] alone.
    fn on_packet(&mut self, packet: &Packet, source: Peer, outbox: &mut Outbox);
    /// Handles the packet that completes a flow.
    fn on_end(&mut self, packet: &Packet, source: Peer, outbox: &mut Outbox);
    /// Returns the moment of the next call of [`Self::on_timer`]; read after each other call. A moment that has
    /// passed is now.
    fn timer(&self) -> Moment {
        Moment::NEVER
    }
    /// The timer expired.
    fn on_timer(&mut self, _outbox: &mut Outbox) {}
    /// Writes onto the acknowledgement of a data packet. Called before [`Self::on_packet`] and [`Self::on_end`].
    fn on_ack(&mut self, _ack: &mut Packet, _packet: &Packet, _records: &mut Records) {}
    /// Adds the counts that the part declares.
    fn counts(&self, _tally: &mut dyn Tally) {}
}

clone_trait_object!(Receiving);
