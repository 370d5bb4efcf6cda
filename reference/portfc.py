"""PortFC by the letter of the paper: queues of section III-B, Algorithms 1 to 4, in slots of one packet a link.

Source: P. Cao et al., "Revisiting Flow Control in Node-Centric Datacenter Networks". In each slot every output sends a
packet of a queue that is not paused; packets and frames arrive in the next slot. Nodes send relayed packets first.
The module shares no code with xoff. It is the check of two counter-examples to the paper's own sentences.

NDC(n, k): a node has k + 1 digits below n. The switch of a level joins the n nodes that differ in this digit alone, and
its port to a node has the number of the node's digit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias

Node: TypeAlias = tuple[int, ...]
Switch: TypeAlias = tuple[int, Node]
"""A level, and the digits of its nodes without that of the level."""
Queue: TypeAlias = tuple[str, *tuple[int, ...]]


class AtNode(NamedTuple):
    """The output of a node into the switch of a level."""

    node: Node
    level: int


class AtSwitch(NamedTuple):
    """The output of a switch to the node at a port."""

    switch: Switch
    port: int


class Frame(NamedTuple):
    """A pause or resume of a kind of queue; at nodes it comes from the switch, at switches a node has passed it on."""

    is_for_nodes: bool
    place: AtSwitch
    kind: str
    is_pause: bool


Place: TypeAlias = AtNode | AtSwitch


def switch_of(node: Node, level: int) -> Switch:
    """Returns the switch of a node at a level."""
    return level, node[:level] + node[level + 1 :]


def node_at(switch: Switch, port: int) -> Node:
    """Returns the node at a port of a switch."""
    level, rest = switch
    return (*rest[:level], port, *rest[level:])


def directions(n: int, k: int) -> set[int]:
    """Returns the numbers of directions of packets behind the next node, over all switch outputs.

    A direction is an output of a next switch (section III-F: each direction has a queue of its own).
    """
    found = set()
    for node in product(range(n), repeat=k + 1):
        for came_by in range(k + 1):
            behind = [level for level in range(k + 1) if level != came_by]
            found.add(sum(1 for level in behind for port in range(n) if port != node[level]))
    return found


@dataclass(frozen=True, slots=True)
class Flow:
    """Packets from a node over switches of these levels; the packets are there from a slot on."""

    name: str
    source: Node
    levels: tuple[int, ...]
    ports: tuple[int, ...]
    packets: int
    start: int = 0


@dataclass(slots=True)
class Packet:
    """A packet, with the number of the switches that it has passed."""

    flow: Flow
    passed: int = 0


class Network:
    """NDC(n, k) under PortFC.

    apart: a switch output has a queue for each output of *each* next switch, and not only for each port number.
    """

    def __init__(self, n: int, flows: Sequence[Flow], xoff: int, xon: int, *, apart: bool = False) -> None:
        self.n, self.flows, self.xoff, self.xon, self.apart = n, flows, xoff, xon, apart
        self.queues: dict[Place, dict[Queue, deque[Packet]]] = defaultdict(lambda: defaultdict(deque))
        self.paused: dict[Place, set[Queue]] = defaultdict(set)
        self.is_paused: set[tuple[Place, str]] = set()
        self.turn: dict[Place, int] = defaultdict(int)
        self.frames: list[Frame] = []
        self.slot = 0
        self.arrived: dict[str, int] = {}
        self.held: dict[tuple[int, Place], set[str]] = {}

    def queue_at_node(self, flow: Flow) -> Queue:
        """Section III-B.2: four-hop and two-hop traffic, by the egress port of the next-hop switch."""
        return ("a" if len(flow.levels) > 1 else "b", flow.ports[0])

    def queue_at_switch(self, packet: Packet) -> Queue:
        """Section III-B.1: by the egress port at the next-2-hop switch, or the queue of packets that end next."""
        flow, number = packet.flow, packet.passed
        if number + 1 == len(flow.levels):
            return ("direct",)
        port = flow.ports[number + 1]
        return ("inter-hop", flow.levels[number + 1], port) if self.apart else ("inter-hop", port)

    def run(self, slots: int) -> None:
        """Runs so many slots."""
        moving: list[tuple[Place, Packet]] = []
        for _ in range(slots):
            frames, self.frames = self.frames, []
            for frame in frames:
                self.hear(frame)
            for flow in self.flows:
                if flow.start == self.slot:
                    self.queues[AtNode(flow.source, flow.levels[0])][self.queue_at_node(flow)].extend(
                        Packet(flow) for _ in range(flow.packets)
                    )
            for left, packet in moving:
                self.arrive(left, packet)
            moving = [(place, sent) for place in list(self.queues) if (sent := self.send(place)) is not None]
            self.slot += 1

    def send(self, place: Place) -> Packet | None:
        """Takes the next packet of an output: relayed packets first, then the queues in turn."""
        queues = {queue: held for queue, held in sorted(self.queues[place].items(), key=str) if held}
        self.held[self.slot, place] = {
            one.flow.name for queue, held in queues.items() if queue in self.paused[place] for one in held
        }
        free = [queue for queue in queues if queue not in self.paused[place]]
        if not free:
            return None
        queue = ("c",) if ("c",) in free else free[self.turn[place] % len(free)]
        self.turn[place] += 1
        packet = self.queues[place][queue].popleft()
        if isinstance(place, AtSwitch):
            self.detect(place, queue, has_arrived=False)
        return packet

    def arrive(self, left: Place, packet: Packet) -> None:
        """A packet reaches the other end of a link: a switch behind a node, or a node behind a switch."""
        flow = packet.flow
        if isinstance(left, AtNode):
            place = AtSwitch(switch_of(left.node, left.level), flow.ports[packet.passed])
            queue = self.queue_at_switch(packet)
            self.queues[place][queue].append(packet)
            self.detect(place, queue, has_arrived=True)
            return
        node = node_at(left.switch, left.port)
        packet.passed += 1
        if packet.passed == len(flow.levels):
            self.arrived[flow.name] = self.slot
        else:
            self.queues[AtNode(node, flow.levels[packet.passed])][("c",)].append(packet)

    def detect(self, place: AtSwitch, queue: Queue, *, has_arrived: bool) -> None:
        """Algorithms 1 and 2: the inter-hop queues count together, and the direct queue alone."""
        kind = queue[0]
        length = sum(len(held) for one, held in self.queues[place].items() if one[0] == kind)
        flag = (place, kind)
        if has_arrived and flag not in self.is_paused and length >= self.xoff:
            self.is_paused.add(flag)
            self.frames.append(Frame(True, place, kind, True))
        elif not has_arrived and flag in self.is_paused and length <= self.xon:
            self.is_paused.discard(flag)
            self.frames.append(Frame(True, place, kind, False))

    def hear(self, frame: Frame) -> None:
        """Algorithms 3 and 4: nodes hold queues a or b of a port, and pass on frames of a direct queue to switches."""
        (switch, port), level = frame.place, frame.place.switch[0]
        for digit in range(self.n):
            if digit == port:
                continue
            node = node_at(switch, digit)
            if frame.is_for_nodes:
                self.set(AtNode(node, level), ("a" if frame.kind == "inter-hop" else "b", port), frame.is_pause)
                continue
            # A switch at another port of this node holds what goes on to the named output.
            queue: Queue = ("inter-hop", level, port) if self.apart else ("inter-hop", port)
            for other in range(len(node)):
                if other != level:
                    self.set(AtSwitch(switch_of(node, other), node[other]), queue, frame.is_pause)
        if frame.is_for_nodes and frame.kind == "direct":
            self.frames.append(frame._replace(is_for_nodes=False))

    def set(self, place: Place, queue: Queue, is_pause: bool) -> None:
        """Pauses or resumes a queue."""
        (self.paused[place].add if is_pause else self.paused[place].discard)(queue)


def path(flow: Flow) -> list[Place]:
    """Returns the outputs on a flow's way."""
    found: list[Place] = []
    node = flow.source
    for level, port in zip(flow.levels, flow.ports, strict=True):
        found += [AtNode(node, level), AtSwitch(switch_of(node, level), port)]
        node = (*node[:level], port, *node[level + 1 :])
    return found
