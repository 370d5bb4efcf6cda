//! Connections of applications before connections have flow numbers.
//!
//! A workload gives its connections as one list, since an all-to-all of 2,048 ranks has four million. The connections of a
//! rank are a *block* of the list, and the numbers of a block are consecutive.

use std::ops::Range;

use xoff_units::{Moment, index, number};

use crate::frames::flow::FlowSpec;
use crate::parts::ids::ApplicationId;
use crate::parts::streams::Keys;
use crate::traffic::application::{Connection, NumberedBlock};

/// The connections of an application's workload.
#[derive(Debug)]
pub(super) struct Connected {
    /// The application, and its own number for these connections.
    pub owner: (ApplicationId, u32),
    /// True if messages and bytes are unknown before the run.
    pub is_open: bool,
    /// The workload's place in the document.
    pub workload: u16,
    /// The number of flows that were listed before.
    pub position: usize,
    /// The base of the keys of the workload, and the number of earlier flows of the workload.
    pub keys: (u64, u64),
    pub start: Moment,
    /// The class of connections without a class of their own.
    pub class: u8,
    /// The node of each rank.
    pub nodes: Vec<u32>,
    pub list: Vec<Connection>,
}

impl Connected {
    /// Returns the key of a connection for hashes and draws.
    pub fn key(&self, place: u32) -> u32 {
        Keys::key(self.keys.0, self.keys.1 + u64::from(place))
    }

    /// Returns a connection as a flow.
    pub fn spec(&self, place: u32, flow: u32) -> FlowSpec {
        let one = &self.list[index(place)];
        let (dst, class) = (self.nodes[index(one.to)], one.class.unwrap_or(self.class));
        FlowSpec { flow, dst, size: one.bytes, start: self.start, path: 0, class }
    }
}

/// The connections of a rank.
#[derive(Debug)]
pub(super) struct Block {
    pub src: u32,
    /// The place of the list among the lists.
    pub of: usize,
    /// The places in the list.
    pub places: Range<u32>,
    /// The first number of a flow.
    pub first: u32,
}

impl Block {
    /// Returns the blocks of all lists, by source and in the order of the lists.
    pub fn all(lists: &[Connected]) -> Vec<Self> {
        let mut found = Vec::new();
        for (of, one) in lists.iter().enumerate() {
            let mut start = 0;
            for block in one.list.chunk_by(|a, b| a.from == b.from) {
                let end = start + number(block.len());
                let src = one.nodes[index(block[0].from)];
                found.push(Self { src, of, places: start..end, first: 0 });
                start = end;
            }
        }
        found.sort_by_key(|block| block.src);
        found
    }

    /// Returns the block for the application.
    pub fn numbered<'a>(&self, lists: &'a [Connected]) -> NumberedBlock<'a> {
        let Connected { owner: (_, of), list, .. } = &lists[self.of];
        let list = &list[index(self.places.start)..index(self.places.end)];
        NumberedBlock { of: *of, place: self.places.start, list, first: self.first }
    }

    /// Returns the places in the list, each with the number of the flow.
    pub fn flows(&self) -> impl Iterator<Item = (u32, u32)> {
        self.places.clone().zip(self.first..)
    }
}
