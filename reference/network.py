"""The network of a scenario: hosts and switches, ports with a queue for each class, and the frames on the wire."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from reference.fault import Change, Outage, ps_per_byte
from reference.flow import Flow
from reference.scenario import quantity
from reference.turns import Classes, Turns


@dataclass(frozen=True)
class Frame:
    """A frame on the wire. `route` names every node from the first to the last; a PFC frame goes one hop."""

    kind: str
    bytes: int
    route: tuple[str, ...] = ()
    flow: Flow | None = None
    seq: int | None = None
    class_number: int = 0  # the class of a data packet, or the class that a PFC frame is about
    pause: bool = False
    is_marked: bool = False
    sent_ps: int = 0  # start of its transmission on the last link
    whole_ps: int = 0  # at a switch: arrival of the last bit, plus the switch's processing delay


@dataclass
class Queue:
    """A class of a port: what waits for the port, and what came by the port."""

    paused: bool = False  # by PFC frames received on this port
    pause_ps: int | None = None  # when a received pause begins to act
    data: deque[tuple[Frame, int]] = field(default_factory=deque)  # switches: the frame, and its ingress port
    queued_bytes: int = 0  # switches: bytes in `data`
    marked: int = 0  # switches: packets marked
    ring: deque[Flow] = field(default_factory=deque)  # hosts: the flows in order of their turns
    ingress_bytes: int = 0  # switches: bytes that arrived by this port and still wait in the switch
    pause_sent: bool = False  # switches: the peer was told to pause
    ingress_peak_bytes: int = 0


@dataclass
class Port:
    """An end of a link, with a queue for each class."""

    number: int
    peer: str
    peer_port: int
    ps_per_byte: int
    delay_ps: int
    classes: list[Queue]
    turns: Turns
    idle_from_ps: int = 0
    own: tuple[int, int] = (0, 0)  # its picoseconds per byte and its delay without faults
    changes: list[Change] = field(default_factory=list)  # the current changes of the link in this direction
    settling: int = 0  # how many waits for earlier frames, after its link got shorter, are pending
    arrived_ps: int = 0  # arrival of the last frame that was sent before the last change
    outages: list[Outage] = field(default_factory=list)  # the current outages of the link
    failed_ps: list[int] = field(default_factory=list)  # times at which the link went down
    control: deque[Frame] = field(default_factory=deque)  # never paused
    sending: Flow | None = None  # hosts: the flow that joins the back of its ring after the current frame

    def may_send(self, number: int) -> bool:
        """Whether a class has frames or flows, and is not paused."""
        queue = self.classes[number]
        return bool(queue.data or queue.ring) and not queue.paused

    def sizes(self, number: int) -> list[int]:
        """Returns the bytes of the first two frames of a class that may send."""
        data = self.classes[number].data
        return [data[place][0].bytes for place in range(min(2, len(data)))] if self.may_send(number) else []

    def settle_turns(self, number: int) -> None:
        """Lets a class join the turns of classes if it may send, and leave if not; all leave while the link is down."""
        if self.may_send(number) and not self.outages:
            self.turns.join(number)
        else:
            self.turns.leave(number)

    def queued_bytes(self) -> int:
        """Returns the bytes of all classes that wait for the port."""
        return sum(queue.queued_bytes for queue in self.classes)

    def is_flushed(self) -> bool:
        """Whether frames for the link are lost because it is down."""
        return any(outage.flushes for outage in self.outages)


@dataclass
class Node:
    """A host, which has one port, or a switch."""

    index: int
    name: str
    is_host: bool
    ports: list[Port] = field(default_factory=list)

    def port_to(self, peer: str) -> Port:
        """Returns the port whose link leads to the node named `peer`."""
        return next(port for port in self.ports if port.peer == peer)


def build_network(explicit: dict[str, Any], classes: Classes) -> dict[str, Node]:
    """Returns the nodes: hosts are numbered before switches, and the n-th link listed at a node is its port n."""
    nodes: dict[str, Node] = {}
    for entry in sorted(explicit["nodes"], key=lambda entry: entry["kind"] != "host"):
        nodes[entry["name"]] = Node(len(nodes), entry["name"], entry["kind"] == "host")
    for link in explicit["links"]:
        a, b = nodes[link["a"]], nodes[link["b"]]
        if any(port.peer == b.name for port in a.ports):
            raise ValueError("the reference does not model parallel links")
        own = (ps_per_byte(link["rate"]), quantity(link["delay"], "time"))
        a_number, b_number = len(a.ports), len(b.ports)
        for node, number, peer, peer_number in ((a, a_number, b, b_number), (b, b_number, a, a_number)):
            queues = [Queue() for _ in range(len(classes))]
            node.ports.append(Port(number, peer.name, peer_number, *own, queues, Turns(classes), own=own))
    if any(node.is_host and len(node.ports) != 1 for node in nodes.values()):
        raise ValueError("the reference models hosts with one port")
    return nodes
