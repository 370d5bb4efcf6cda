//! Symmetry: renamings of nodes under which a run stays the same.
//!
//! A *rotation* renames hosts. A rotation has a stride and a size: with stride 8 and size 256, host 0 becomes
//! host 8, and host 2,040 becomes host 0. Switches follow from the wiring. The *group* is the product of
//! independent rotations, and an *element* of the group says how far each rotation turns. A group moves each
//! host: the hosts that a host can become are the *orbit* of the host, and the first host of the orbit is the
//! *representative*. A
//! switch is moved like a host, or a rotation leaves the switch in place and permutes its ports: the switch is
//! *fixed*. Example: on rails a rotation of servers leaves each rail switch in place.
//!
//! - `xoff_scenario` finds the rotations that map every node, link, setting, flow and operation onto an equal one.
//! - [`Symmetry`] names the images of nodes, ports, flows and messages.
//! - [`ties`] orders frames that reach a fixed switch at the same moment, and renames frames in a folded run.
//!
//! Source: `docs/folding.md`.

mod elements;
mod messages;
pub mod ties;

use std::any::Any;

use xoff_units::{index, number};

pub use self::elements::Rotation;
use self::elements::{Elements, Still};
pub use self::messages::MessageImages;
use crate::frames::message::{After, MessageId, Post};
use crate::parts::ids::{ApplicationId, PortId};
use crate::paths::topology::{PortSpec, Topology};

/// The element that renames nothing.
pub const STAY: u32 = 0;

/// The place of a node: its orbit, and the element that takes the representative to the node. The element does not turn
/// by rotations that leave the node in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    orbit: u32,
    element: u32,
}

/// A group of renamings, with the images of nodes, ports and flows.
#[derive(Debug)]
pub struct Symmetry {
    elements: Elements,
    /// Places of nodes.
    places: Vec<Place>,
    /// For each node the rotations that leave the node in place.
    still: Vec<Still>,
    /// For each orbit the images of the representative, by element.
    orbits: Vec<Box<[u32]>>,
    /// For each fixed node, the places of its ports; `None` for a port that stays in place.
    ports: Vec<Vec<Option<Place>>>,
    /// For each fixed node and orbit of its ports, the images of the first port, by element.
    port_orbits: Vec<Vec<Box<[PortId]>>>,
    flows: FlowImages,
    /// The images of messages, by application.
    messages: Vec<(ApplicationId, Box<dyn MessageImages>)>,
}

/// Images of flows.
#[derive(Debug, Default)]
struct FlowImages {
    /// For each flow its place.
    places: Vec<(u32, u32)>,
    /// For each orbit of flows, the images of the first flow by element, one orbit after another.
    images: Vec<u32>,
    /// The pinned path of each flow; empty without pinned paths.
    pinned: Vec<u16>,
}

/// The images of all nodes and of all flows under one turn of a rotation.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    /// The image of each node.
    pub nodes: &'a [u32],
    /// The image of each flow.
    pub flows: &'a [u32],
}

impl Symmetry {
    /// Returns the group of rotations, with the images under one turn of each. `first` has the first flow of each node,
    /// and a final entry. `pinned` has the pinned path of each flow, or nothing. An error names the obstacle to folding.
    pub fn new(
        rotations: Vec<Rotation>,
        turns: &[Turn<'_>],
        (topology, ports): (&Topology, &[Vec<PortSpec>]),
        (first, pinned): (&[u32], Vec<u16>),
        messages: Vec<(ApplicationId, Box<dyn MessageImages>)>,
    ) -> Result<Self, String> {
        let elements = Elements::new(rotations);
        let unknown = Place { orbit: u32::MAX, element: STAY };
        let (mut places, mut orbits) = (vec![unknown; topology.nodes.len()], Vec::new());
        let mut still = vec![Still::NONE; topology.nodes.len()];
        for node in 0..number(topology.nodes.len()) {
            if places[index(node)] != unknown {
                continue;
            }
            let stays = |digit: &usize| turns[*digit].nodes[index(node)] == node;
            let own = Still::of((0..turns.len()).filter(stays));
            let images = elements.images(node, |digit, node| turns[digit].nodes[index(node)]);
            for (element, image) in (0..).zip(&images) {
                let element = elements.without(element, own);
                let place = Place { orbit: number(orbits.len()), element };
                if places[index(*image)] != unknown && places[index(*image)] != place {
                    let name = &topology.nodes[index(node)].name;
                    return Err(format!("two renamings take {name} to the same node"));
                }
                (places[index(*image)], still[index(*image)]) = (place, own);
            }
            orbits.push(images.into_boxed_slice());
        }
        let mut symmetry = Self {
            elements,
            places,
            still,
            orbits,
            ports: vec![Vec::new(); ports.len()],
            port_orbits: vec![Vec::new(); ports.len()],
            flows: FlowImages::default(),
            messages,
        };
        for (node, list) in (0..).zip(ports) {
            symmetry.join(topology, ports, node, list)?;
        }
        symmetry.flows = FlowImages { pinned, ..FlowImages::new(&symmetry, turns, first) };
        Ok(symmetry)
    }

    /// Finds the images of the ports of a node that some rotations leave in place.
    fn join(
        &mut self,
        topology: &Topology,
        ports: &[Vec<PortSpec>],
        node: u32,
        list: &[PortSpec],
    ) -> Result<(), String> {
        let still = self.still[index(node)];
        let name = |node: u32| &topology.nodes[index(node)].name;
        let mut places = vec![None; list.len()];
        let mut orbits: Vec<Box<[PortId]>> = Vec::new();
        // A link to a node that the same rotations leave in place stays in place.
        let is_moved = |port: &&PortSpec| !still.meets(self.still[index(port.peer)]);
        for port in list.iter().filter(|_| still != Still::NONE) {
            if !is_moved(&port) || self.elements.only(self.element(port.peer), still) != STAY {
                continue;
            }
            let image = |element| {
                let peer = self.image(self.elements.only(element, still), port.peer);
                ports[index(peer)][port.peer_port].peer_port
            };
            let images: Box<[PortId]> = (0..self.elements.count()).map(image).collect();
            for (element, image) in (0..).zip(&images) {
                let element = self.elements.only(element, still);
                places[image.index()] = Some(Place { orbit: number(orbits.len()), element });
            }
            orbits.push(images);
        }
        // Neighbours of a simulated node are simulated, unless a rotation leaves the node in place and moves the neighbour.
        if self.is_representative(node) {
            let strays = |port: &&PortSpec| self.elements.without(self.element(port.peer), still) != STAY;
            if let Some(port) = list.iter().find(strays) {
                let [node, peer] = [node, port.peer].map(name);
                return Err(format!("a link joins {node} and {peer}, which stand for different renamings"));
            }
        }
        (self.ports[index(node)], self.port_orbits[index(node)]) = (places, orbits);
        Ok(())
    }

    /// Returns the number of elements: the number of nodes for which one node stands.
    pub const fn count(&self) -> u32 {
        self.elements.count()
    }

    /// Returns the rotations.
    pub fn rotations(&self) -> &[Rotation] {
        self.elements.rotations()
    }

    /// Returns the element that takes the representative to a node.
    #[inline]
    pub fn element(&self, node: u32) -> u32 {
        self.places[index(node)].element
    }

    /// True for a representative: a node that a folded run simulates.
    pub fn is_representative(&self, node: u32) -> bool {
        self.element(node) == STAY
    }

    /// True for a node that some rotation leaves in place.
    pub fn is_fixed(&self, node: u32) -> bool {
        self.still[index(node)] != Still::NONE
    }

    /// Returns the node whose number enters hashes and draws of a node: the representative.
    pub fn representative(&self, node: u32) -> u32 {
        self.orbits[index(self.places[index(node)].orbit)][0]
    }

    /// Returns the image of a node under an element.
    #[inline]
    pub fn image(&self, element: u32, node: u32) -> u32 {
        let place = self.places[index(node)];
        self.orbits[index(place.orbit)][index(self.elements.sum(place.element, element))]
    }

    /// Returns the part of an element that leaves a node in place.
    #[inline]
    pub fn at(&self, node: u32, element: u32) -> u32 {
        self.elements.only(element, self.still[index(node)])
    }

    /// Returns the elements that leave a node in place.
    pub fn elements_at(&self, node: u32) -> Vec<u32> {
        (0..self.count()).filter(|element| self.at(node, *element) == *element).collect()
    }

    /// Returns the element that acts as one element after another.
    pub fn sum(&self, a: u32, b: u32) -> u32 {
        self.elements.sum(a, b)
    }

    /// Returns the image of a port of a node under an element. A node keeps the numbers of its ports unless the element
    /// leaves the node in place.
    #[inline]
    pub fn image_port(&self, element: u32, node: u32, port: PortId) -> PortId {
        self.ports[index(node)].get(port.index()).copied().flatten().map_or(port, |place| {
            self.port_orbits[index(node)][index(place.orbit)]
                [index(self.elements.sum(place.element, self.at(node, element)))]
        })
    }

    /// Returns the element that leads from the port of a representative to a port of a fixed node; `None` for a port that
    /// stays in place.
    pub fn element_of_port(&self, node: u32, port: PortId) -> Option<u32> {
        self.ports[index(node)].get(port.index()).copied().flatten().map(|place| place.element)
    }

    /// Returns the element that undoes an element.
    pub fn inverse(&self, element: u32) -> u32 {
        self.elements.inverse(element)
    }

    /// Returns the image of a flow under an element.
    #[inline]
    pub fn image_of_flow(&self, element: u32, flow: u32) -> u32 {
        // A message over NVLink and a frame without a flow have no number of a flow.
        let Some((orbit, own)) = self.flows.places.get(index(flow)).copied() else { return flow };
        self.flows.images[index(orbit) * index(self.count()) + index(self.elements.sum(own, element))]
    }

    /// Returns the element that takes the representative of the source of a flow to the source.
    pub fn element_of_flow(&self, flow: u32) -> u32 {
        self.flows.places.get(index(flow)).map_or(STAY, |place| place.1)
    }

    /// Returns the pinned path of a flow, or 0.
    pub fn pinned(&self, flow: u32) -> u16 {
        self.flows.pinned.get(index(flow)).copied().unwrap_or_default()
    }

    /// Returns the images of the messages of an application.
    fn of_message(&self, id: MessageId) -> Option<&dyn MessageImages> {
        let application = ApplicationId::of_job(id.job);
        self.messages.iter().find(|(one, _)| *one == application).map(|(_, images)| &**images)
    }

    /// Returns the images of an application's messages, by the type of the images.
    pub fn messages_of<I: MessageImages>(&self) -> Option<&I> {
        self.messages.iter().find_map(|(_, images)| (&**images as &dyn Any).downcast_ref())
    }

    /// Returns the image of a message under an element.
    pub fn image_of_message(&self, element: u32, id: MessageId) -> MessageId {
        self.of_message(id).map_or(id, |images| images.message(&|node| self.image(element, node), id))
    }

    /// Returns the message that stands for a message: the image whose sender is a representative.
    pub fn first_message(&self, id: MessageId) -> MessageId {
        let sender = self.of_message(id).map(|images| images.sender(id));
        sender.map_or(id, |sender| self.image_of_message(self.inverse(self.element(sender)), id))
    }

    /// Returns the image of the condition that was met last before a message or an operation with this message.
    pub fn image_of_condition(&self, element: u32, id: MessageId, after: After) -> After {
        match after {
            After::Message(place) => {
                After::Message(self.image_of_message(element, MessageId { place, ..id }).place)
            }
            After::Start | After::Operation(_) | After::Begun | After::Elsewhere => after,
        }
    }

    /// Returns the image of a posted message under an element.
    pub fn image_of_post(&self, element: u32, post: &Post) -> Post {
        Post {
            id: self.image_of_message(element, post.id),
            flow: self.image_of_flow(element, post.flow),
            bytes: post.bytes,
            after: self.image_of_condition(element, post.id, post.after),
        }
    }

    /// Returns all nodes in order, each with the node that stands for it in a folded run, and the element from that node
    /// to this node.
    pub fn views(&self) -> impl Iterator<Item = View> {
        (0..number(self.places.len())).map(|node| View {
            node,
            of: self.representative(node),
            element: self.element(node),
            is_fixed: self.is_fixed(node),
        })
    }

    /// Returns the first flow of the orbit of a flow; a frame without a flow keeps its number.
    pub fn first_flow(&self, flow: u32) -> u32 {
        let place = self.flows.places.get(index(flow));
        place.map_or(flow, |(orbit, _)| self.flows.images[index(*orbit) * index(self.count())])
    }

    /// Returns for each flow the first flow of its orbit, whose source is a representative.
    pub fn first_flows(&self) -> impl Iterator<Item = u32> {
        self.flows.places.iter().map(|(orbit, _)| self.flows.images[index(*orbit) * index(self.count())])
    }
}

/// A node as an unfolded run has it.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// The node.
    pub node: u32,
    /// The simulated node.
    pub of: u32,
    /// The element from the simulated node to the node.
    pub element: u32,
    /// True for a node that some rotation leaves in place.
    pub is_fixed: bool,
}

impl FlowImages {
    fn new(symmetry: &Symmetry, turns: &[Turn<'_>], first: &[u32]) -> Self {
        let (count, total) = (index(symmetry.count()), index(first.last().copied().unwrap_or_default()));
        let (mut places, mut images) = (vec![(0, 0); total], Vec::with_capacity(total));
        for (src, range) in (0..).zip(first.windows(2)) {
            if !symmetry.is_representative(src) || range[0] == range[1] {
                continue;
            }
            for flow in range[0]..range[1] {
                let orbit = number(images.len() / count);
                let own = symmetry.elements.images(flow, |digit, flow| turns[digit].flows[index(flow)]);
                for (element, image) in (0..).zip(&own) {
                    places[index(*image)] = (orbit, element);
                }
                images.extend(own);
            }
        }
        debug_assert_eq!(images.len(), total);
        Self { places, images, pinned: Vec::new() }
    }
}
