//! What an application plans before a run: connections, queues over NVLink, and its parts at hosts.

use std::any::Any;
use std::collections::HashMap;
use std::fmt::Debug;

use xoff_engine::LinkSpec;
use xoff_units::{Duration, index, number};

use super::results::Results;
use super::run::Application;
use crate::parts::ids::ApplicationId;
use crate::paths::symmetry::MessageImages;
use crate::paths::topology::PortSpec;
use crate::ports::nvlink::queues::Queues;

/// A connection that an application needs: a flow with state over many messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The sending rank, by index among the nodes of the application's workload.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// Tells several connections between two ranks apart.
    pub line: u64,
    /// Messages.
    pub messages: u32,
    /// Payload.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
    /// The class, if another than the class of the workload.
    pub class: Option<u8>,
}

/// Connections of one rank, which have consecutive flow numbers.
#[derive(Debug, Clone, Copy)]
pub struct NumberedBlock<'a> {
    /// The application's own number for the list, as given to [`crate::traffic::workload::Making::connect`].
    pub of: u32,
    /// The place of the first connection in the list.
    pub place: u32,
    /// The connections.
    pub list: &'a [Connection],
    /// The flow of the first connection.
    pub first: u32,
}

/// Something that waits for a flow that ends at a node, or for the end of another application's work there.
#[derive(Debug, Clone)]
pub struct Waits {
    /// The node.
    pub node: u32,
    /// The workload that waits.
    pub workload: u32,
    /// `WORKLOAD/NAME` of the flow or of the other work.
    pub name: String,
    /// The problem with its key, if nothing has this name.
    pub unknown: (String, String),
}

/// The parts of an application at hosts, each with its node.
pub type Parts = Vec<(u32, Box<dyn Application>)>;

/// The plan of an application.
///
/// Its workloads add to the plan before the run ([`crate::traffic::workload::Making::plan`]). Then the flows are numbered
/// ([`Planned::number`]), equal hosts are found ([`Planned::folding`] and the methods behind it), and the parts go to their hosts
/// ([`Planned::take_parts`]).
pub trait Planned: Any + Debug + Send + Sync {
    /// Returns an empty plan. An application of a plug-in takes the number `free`, and is not possible without one.
    fn new(free: Option<ApplicationId>) -> Option<Self>
    where
        Self: Sized;

    /// The number of the application.
    fn id(&self) -> ApplicationId;

    /// Takes the flow numbers of the connections, and adds queues over NVLink.
    fn number(&mut self, blocks: &[NumberedBlock<'_>], nvlink: &mut Queues);

    /// Returns the parts at hosts. Parts that speak to each other without a network take lines for that.
    fn take_parts(&mut self, lines: &mut ControlLines<'_>) -> Parts;

    /// Returns a copy for the time after the parts were taken.
    fn without_parts(&self) -> Box<dyn Planned>;

    /// True if the application has a part at a node.
    fn is_at(&self, node: u32) -> bool;

    /// Returns the number under which a flow waits for the end of `name` at a node, or `None` without such a name. A name that
    /// nobody has waited for yet gets the number `next`. `workload` says the name of each workload.
    fn awaited(&mut self, _workload: &[String], _node: u32, _name: &str, _next: u32) -> Option<u32> {
        None
    }

    /// Returns what waits for flows or for other applications.
    fn waits(&self) -> Vec<Waits> {
        Vec::new()
    }

    /// The thing at an index of [`Planned::waits`] waits for the flow or work with a number.
    fn wait(&mut self, _place: usize, _number: u32) {}

    /// Returns why the application cannot be folded, or nothing.
    fn folding(&self) -> Result<(), String> {
        Err("an application is not folded".into())
    }

    /// Refuses a renaming of nodes that takes the GPUs of a server to several servers.
    fn maps_servers(&self, _rename: &dyn Fn(u32) -> u32) -> Result<(), String> {
        Ok(())
    }

    /// Compares the work at each node with the work at the image of the node, and calls back with each connection and its
    /// image, by flow. An error is the first difference.
    fn compare(&self, _rename: &dyn Fn(u32) -> u32, _found: &mut dyn FnMut(u32, u32)) -> Result<(), String> {
        self.folding()
    }

    /// True if the parts at a node and at its image come in the same order.
    fn keeps_order(&self, _rename: &dyn Fn(u32) -> u32) -> bool {
        true
    }

    /// Drops the parts at nodes that a folded run does not simulate.
    fn fold(&mut self, _is_simulated: &dyn Fn(u32) -> bool) {}

    /// Returns the results of the parts, before the run; `None` for an application whose results are collected elsewhere.
    fn results(&self) -> Option<Box<dyn Results>> {
        None
    }

    /// Returns the images of messages, for an application that can be folded.
    fn images(&self) -> Option<Box<dyn MessageImages>> {
        None
    }
}

/// The plans of a scenario's applications, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Plans(Vec<Box<dyn Planned>>);

impl Plans {
    /// Returns the plan of an application; an empty plan is made at the first call. `None` if plug-ins have too many.
    pub fn entry<P: Planned>(&mut self) -> Option<&mut P> {
        if self.of::<P>().is_none() {
            let last = self.0.last().map_or(0, |one| one.id().get() + 1);
            let new = P::new(ApplicationId::free(last))?;
            let place = self.0.partition_point(|one| one.id() < new.id());
            self.0.insert(place, Box::new(new));
        }
        self.0.iter_mut().find_map(|one| (&mut **one as &mut dyn Any).downcast_mut())
    }

    /// Returns the plan of an application.
    pub fn of<P: Planned>(&self) -> Option<&P> {
        self.each().find_map(|one| (one as &dyn Any).downcast_ref())
    }

    /// Returns all plans.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = &dyn Planned> {
        self.0.iter().map(|one| &**one)
    }

    /// Returns all plans.
    pub fn each_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut dyn Planned> {
        self.0.iter_mut().map(|one| &mut **one)
    }

    /// Returns copies for the time after the parts were taken.
    #[must_use]
    pub fn without_parts(&self) -> Self {
        Self(self.0.iter().map(|one| one.without_parts()).collect())
    }
}

/// Gives out lines between the parts of an application at different nodes, which are links of the engine behind those of ports
/// and of NVLink.
#[derive(Debug)]
pub struct ControlLines<'a> {
    ports: &'a [Vec<PortSpec>],
    /// The next output and in-link of nodes behind those in use.
    used: HashMap<u32, (u32, u32)>,
    /// The links so far.
    pub links: Vec<LinkSpec>,
}

impl<'a> ControlLines<'a> {
    /// Nodes with these ports. `used` has the next output and in-link of nodes that use more than their ports.
    pub fn new(ports: &'a [Vec<PortSpec>], used: HashMap<u32, (u32, u32)>) -> Self {
        Self { ports, used, links: Vec::new() }
    }

    /// Adds a line with a delay. Returns the output of the sending node.
    pub fn add(&mut self, from: u32, to: u32, delay: Duration) -> u32 {
        let (output, input) = (self.next(from, true), self.next(to, false));
        self.links.push(LinkSpec { from: (from, output), to: (to, input), lookahead: delay });
        output
    }

    fn next(&mut self, node: u32, is_output: bool) -> u32 {
        let ports = number(self.ports[index(node)].len());
        let of = self.used.entry(node).or_insert((ports, ports));
        let place = if is_output { &mut of.0 } else { &mut of.1 };
        *place += 1;
        *place - 1
    }
}
