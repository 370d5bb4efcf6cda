"""A slow, obviously correct packet simulator of star and two-tier networks with PFC.

What it models: hosts and output-queued switches with unlimited buffers, store and forward, one fixed route per flow,
PFC by ingress accounting, one acknowledgement per packet, no congestion control and no loss.
It exists to be compared with xoff's fast core, packet by packet. It shares no code with it, prefers the plainest way
of saying a thing over speed, and refuses every scenario it does not model.

Time is integer picoseconds. All events of all nodes stand in one heap, ordered by time, then node, then rank: frames
that are delivered or forwarded, then PFC frames, then flow starts, then send decisions, and inside a rank by port
number (flow starts: by the order in which they were listed).
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

# The rank of an event among the events of one node at one instant.
RANK_FRAME = 0
RANK_PFC = 1
RANK_START = 2
RANK_SEND = 3

UNITS = {
    "time": {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12},
    "size": {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    "rate": {"bps": 1, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12},
}


class Row(NamedTuple):
    """One line of the packet trace.

    A frame departs when its transmission starts, at the sending node and port. It arrives when the receiving node
    handles it: at its last bit, and for a frame that a switch forwards, the switch's processing delay later.
    PFC frames belong to no flow: their `flow` and `seq` are None.
    """

    time_ps: int
    node: str
    port: int
    event: str  # "arrive" or "depart"
    kind: str  # "data", "ack" or "pfc"
    flow: int | None
    seq: int | None
    bytes: int


@dataclass
class Flow:
    """A transfer and what became of it. Times are None until they are known."""

    index: int
    src: str
    dst: str
    size_bytes: int
    start_ps: int
    packets: int
    sent: int = 0
    received: int = 0
    acked: int = 0
    fct_ps: int | None = None
    fct_acked_ps: int | None = None


@dataclass(frozen=True)
class Frame:
    """A frame on the wire. `route` names every node from the first to the last; a PFC frame goes one hop."""

    kind: str
    bytes: int
    route: tuple[str, ...] = ()
    flow: Flow | None = None
    seq: int | None = None
    pause: bool = False


@dataclass
class Port:
    """One end of a link, with the queues of what waits to be sent there."""

    number: int
    peer: str
    peer_port: int
    ps_per_byte: int
    delay_ps: int
    idle_from_ps: int = 0
    paused: bool = False  # by PFC frames received on this port
    control: deque[Frame] = field(default_factory=deque)  # PFC frames and acknowledgements: never paused
    data: deque[tuple[Frame, int]] = field(default_factory=deque)  # switches: the frame, and the port it came by
    ring: deque[Flow] = field(default_factory=deque)  # hosts: the flows with something left to send
    ingress_bytes: int = 0  # switches: what came by this port and still waits in the switch
    pause_sent: bool = False  # switches: the peer was told to pause
    ingress_peak_bytes: int = 0


@dataclass
class Node:
    """A host, which has one port, or a switch."""

    index: int
    name: str
    is_host: bool
    ports: list[Port] = field(default_factory=list)

    def port_to(self, peer: str) -> Port:
        """Return the port whose link leads to the node named `peer`."""
        return next(port for port in self.ports if port.peer == peer)


@dataclass
class Result:
    """What a run leaves: the trace in a canonical order, the flows by index, and the peaks of ingress accounting."""

    trace: list[Row]
    flows: list[Flow]
    ingress_peak_bytes: dict[tuple[str, int], int]


class Simulator:
    """One run of one scenario."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        refuse_what_is_not_modelled(scenario)
        framing = scenario["framing"]
        switch = scenario["switch"]
        pfc = switch.get("flow_control", {}).get("pfc")
        self.payload_bytes = quantity(framing["payload"], "size")
        self.header_bytes = quantity(framing["header"], "size")
        self.minimum_bytes = quantity(framing["minimum"], "size")
        self.gap_bytes = quantity(framing["gap"], "size")
        self.control_bytes = max(quantity(framing["control"], "size"), self.minimum_bytes) + self.gap_bytes
        self.switch_delay_ps = quantity(switch["delay"], "time")
        self.xoff_bytes = quantity(pfc["xoff"], "size") if pfc else None
        self.xon_bytes = quantity(pfc["xon"], "size") if pfc else None

        self.heap: list[tuple[int, int, int, int, int, Callable[[], None]]] = []
        self.now_ps = 0
        self.events = 0
        self.trace: list[Row] = []
        self.nodes = build_network(scenario["network"]["explicit"])
        self.flows: list[Flow] = []
        self.routes: list[tuple[str, ...]] = []
        self.add_flows(scenario["workload"][0]["flows"])

    def add_flows(self, entries: list[dict[str, Any]]) -> None:
        """Add the flows, numbered by their source's node index, then by the order of listing."""
        for entry in sorted(entries, key=lambda entry: self.nodes[entry["src"]].index):
            size_bytes = quantity(entry["size"], "size")
            packets = -(-size_bytes // self.payload_bytes)
            start_ps = quantity(entry.get("start", "0s"), "time")
            flow = Flow(len(self.flows), entry["src"], entry["dst"], size_bytes, start_ps, packets)
            self.flows.append(flow)
            self.routes.append((flow.src, *entry["via"], flow.dst))
            self.at(start_ps, self.nodes[flow.src], RANK_START, flow.index, partial(self.start, flow))

    def at(self, time_ps: int, node: Node, rank: int, position: int, action: Callable[[], None]) -> None:
        """Schedule what `node` does at `time_ps`; `position` orders equal ranks."""
        self.events += 1
        heapq.heappush(self.heap, (time_ps, node.index, rank, position, self.events, action))

    def run(self) -> Result:
        """Run until nothing is pending."""
        while self.heap:
            self.now_ps, _, _, _, _, action = heapq.heappop(self.heap)
            action()
        peaks = {
            (n.name, p.number): p.ingress_peak_bytes for n in self.nodes.values() if not n.is_host for p in n.ports
        }
        return Result(sorted(self.trace, key=canonical), self.flows, peaks)

    def log(self, node: Node, port: Port, event: str, frame: Frame) -> None:
        """Add a line to the trace."""
        flow = None if frame.flow is None else frame.flow.index
        self.trace.append(Row(self.now_ps, node.name, port.number, event, frame.kind, flow, frame.seq, frame.bytes))

    # What a port does.

    def wake(self, node: Node, port: Port) -> None:
        """Ask for a send decision at this instant, after all arrivals and flow starts of this instant."""
        self.at(self.now_ps, node, RANK_SEND, port.number, lambda: self.decide(node, port))

    def decide(self, node: Node, port: Port) -> None:
        """Start the next frame, if the port is idle and has one that may go."""
        if port.idle_from_ps > self.now_ps:
            return
        frame = self.next_frame(node, port)
        if frame is None:
            return
        self.log(node, port, "depart", frame)
        port.idle_from_ps = self.now_ps + frame.bytes * port.ps_per_byte
        self.at(port.idle_from_ps, node, RANK_SEND, port.number, lambda: self.decide(node, port))

        peer = self.nodes[port.peer]
        peer_port = peer.ports[port.peer_port]
        arrival_ps = port.idle_from_ps + port.delay_ps
        if frame.kind == "pfc":
            self.at(arrival_ps, peer, RANK_PFC, peer_port.number, lambda: self.on_pfc(peer, peer_port, frame))
        elif peer.is_host:
            self.at(arrival_ps, peer, RANK_FRAME, peer_port.number, lambda: self.deliver(peer, peer_port, frame))
        else:
            arrival_ps += self.switch_delay_ps
            self.at(arrival_ps, peer, RANK_FRAME, peer_port.number, lambda: self.forward(peer, peer_port, frame))

    def next_frame(self, node: Node, port: Port) -> Frame | None:
        """Take the frame to send now out of its queue: control first, then data unless paused."""
        if port.control:
            return port.control.popleft()
        if port.paused:
            return None
        if node.is_host and port.ring:
            return self.next_of_host(port)
        if port.data:
            frame, came_by = port.data.popleft()
            self.release(node, node.ports[came_by], frame)
            return frame
        return None

    def on_pfc(self, node: Node, port: Port, frame: Frame) -> None:
        """Pause or resume this port's data queue, as the peer asks; a frame in progress goes on."""
        self.log(node, port, "arrive", frame)
        port.paused = frame.pause
        self.wake(node, port)

    # What a switch does.

    def forward(self, node: Node, came_by: Port, frame: Frame) -> None:
        """Queue a frame towards the next node of its route, and count data at the port it came by."""
        self.log(node, came_by, "arrive", frame)
        out = node.port_to(frame.route[frame.route.index(node.name) + 1])
        if frame.kind == "ack":
            out.control.append(frame)
        else:
            out.data.append((frame, came_by.number))
            came_by.ingress_bytes += frame.bytes
            came_by.ingress_peak_bytes = max(came_by.ingress_peak_bytes, came_by.ingress_bytes)
            if self.xoff_bytes is not None and came_by.ingress_bytes >= self.xoff_bytes and not came_by.pause_sent:
                came_by.pause_sent = True
                self.send_pfc(node, came_by, pause=True)
        self.wake(node, out)

    def release(self, node: Node, came_by: Port, frame: Frame) -> None:
        """Uncount a data frame, which leaves the switch's buffer as its transmission starts."""
        came_by.ingress_bytes -= frame.bytes
        if came_by.pause_sent and self.xon_bytes is not None and came_by.ingress_bytes <= self.xon_bytes:
            came_by.pause_sent = False
            self.send_pfc(node, came_by, pause=False)

    def send_pfc(self, node: Node, port: Port, *, pause: bool) -> None:
        """Queue a PFC frame for the peer of `port`."""
        port.control.append(Frame("pfc", self.control_bytes, pause=pause))
        self.wake(node, port)

    # What a host does.

    def start(self, flow: Flow) -> None:
        """Append a flow to the back of its host's ring."""
        host = self.nodes[flow.src]
        host.ports[0].ring.append(flow)
        self.wake(host, host.ports[0])

    def next_of_host(self, port: Port) -> Frame:
        """Make the next packet of the flow at the front of the ring; with more to send, the flow goes to the back."""
        flow = port.ring.popleft()
        seq = flow.sent
        flow.sent += 1
        if flow.sent < flow.packets:
            port.ring.append(flow)
        payload_bytes = min(self.payload_bytes, flow.size_bytes - seq * self.payload_bytes)
        wire_bytes = max(payload_bytes + self.header_bytes, self.minimum_bytes) + self.gap_bytes
        return Frame("data", wire_bytes, self.routes[flow.index], flow, seq)

    def deliver(self, host: Node, port: Port, frame: Frame) -> None:
        """Receive a packet, which is acknowledged, or an acknowledgement."""
        self.log(host, port, "arrive", frame)
        flow = frame.flow
        assert flow is not None
        assert host.name == frame.route[-1]
        if frame.kind == "ack":
            flow.acked += 1
            assert frame.seq == flow.acked
            if flow.acked == flow.packets:
                flow.fct_acked_ps = self.now_ps - flow.start_ps
            return
        assert frame.seq == flow.received, "packets of a flow stay in order"
        flow.received += 1
        if flow.received == flow.packets:
            flow.fct_ps = self.now_ps - flow.start_ps
        port.control.append(Frame("ack", self.control_bytes, frame.route[::-1], flow, flow.received))
        self.wake(host, port)


def simulate(scenario: dict[str, Any]) -> Result:
    """Run `scenario`, a dictionary in the form of a scenario file.

    Raises ValueError for what the reference does not model.
    """
    return Simulator(scenario).run()


def canonical(row: Row) -> tuple[int, str, int, str, str, int, int, int]:
    """Give the place of a row in an order that does not depend on which node was simulated first."""
    flow = -1 if row.flow is None else row.flow
    seq = -1 if row.seq is None else row.seq
    return (row.time_ps, row.node, row.port, row.event, row.kind, flow, seq, row.bytes)


def build_network(explicit: dict[str, Any]) -> dict[str, Node]:
    """Build the nodes: hosts are numbered before switches, and the n-th link listed at a node is its port n."""
    nodes: dict[str, Node] = {}
    for entry in sorted(explicit["nodes"], key=lambda entry: entry["kind"] != "host"):
        nodes[entry["name"]] = Node(len(nodes), entry["name"], entry["kind"] == "host")
    for link in explicit["links"]:
        a, b = nodes[link["a"]], nodes[link["b"]]
        if any(port.peer == b.name for port in a.ports):
            raise ValueError("the reference does not model parallel links")
        rate_bps = quantity(link["rate"], "rate")
        if 8 * 10**12 % rate_bps != 0:
            raise ValueError(f"a byte at {link['rate']} is not a whole number of picoseconds")
        ps_per_byte = 8 * 10**12 // rate_bps
        delay_ps = quantity(link["delay"], "time")
        a_number, b_number = len(a.ports), len(b.ports)
        a.ports.append(Port(a_number, b.name, b_number, ps_per_byte, delay_ps))
        b.ports.append(Port(b_number, a.name, a_number, ps_per_byte, delay_ps))
    if any(node.is_host and len(node.ports) != 1 for node in nodes.values()):
        raise ValueError("the reference models hosts with one port")
    return nodes


def refuse_what_is_not_modelled(scenario: dict[str, Any]) -> None:
    """Raise ValueError unless everything that changes behaviour in `scenario` is modelled here."""
    modelled = {
        "": {"name", "description", "seed", "network", "framing", "switch", "host", "workload", "probe"},
        "network": {"explicit"},
        "framing": {"payload", "header", "gap", "control", "minimum"},
        "switch": {"delay", "queueing", "buffer", "flow_control"},
        "switch.flow_control": {"pfc"},
        "switch.flow_control.pfc": {"xoff", "xon"},
        "host": {"transport"},  # Nothing is lost here, so the transport's timers have nothing to do.
    }
    for path, keys in modelled.items():
        table = scenario
        for step in path.split(".") if path else []:
            table = table.get(step, {})
        if unknown := set(table) - keys:
            raise ValueError(f"the reference does not model {path or 'the scenario'}: {sorted(unknown)}")
    if scenario["switch"].get("queueing", "oq") != "oq" or scenario["switch"].get("buffer") != "unlimited":
        raise ValueError("the reference models output queues with unlimited buffers")
    if len(scenario["workload"]) != 1 or set(scenario["workload"][0]) - {"name", "flows"}:
        raise ValueError("the reference models one workload of explicit flows")
    if unknown := {key for f in scenario["workload"][0]["flows"] for key in f} - {"src", "dst", "size", "start", "via"}:
        raise ValueError(f"the reference does not model flows with {sorted(unknown)}")


def quantity(text: str, what: str) -> int:
    """Parse a number with a unit, such as "1.5us", into picoseconds, bytes or bits per second."""
    digits = len(text.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    number, unit = text[:digits], text[digits:]
    if unit not in UNITS[what]:
        raise ValueError(f"{text!r} has no unit of {what}: {sorted(UNITS[what])}")
    value = Decimal(number) * UNITS[what][unit]
    if value < 0 or value != int(value):
        raise ValueError(f"{text!r} is not a whole number of the smallest unit")
    return int(value)
