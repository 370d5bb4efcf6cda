"""A slow, obviously correct packet simulator of star and two-tier networks.

What it models: hosts and output-queued switches, store and forward or cut-through, one fixed route per flow, PFC by
ingress accounting, buffers that drop, Go-Back-N, marks at a step, DCQCN and links that fail.
It exists to be compared with xoff's fast core, packet by packet. It shares no code with it, prefers the plainest way
of saying a thing over speed, and refuses every scenario it does not model.

Time is integer picoseconds. All events of all nodes stand in one heap, ordered by time, then node, then rank: frames
that are delivered or forwarded, then PFC frames, then timers, then send decisions, and inside a rank by port number
(timers: by the order in which they were set).
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from reference.dcqcn import Limiter, read_values
from reference.fault import Change, Outage, ps_per_byte, read_faults
from reference.flow import Flow
from reference.scenario import buffer_bytes, mark_above_bytes, quantity, refuse_what_is_not_modelled

# The rank of an event among the events of one node at one instant.
RANK_FRAME = 0
RANK_PFC = 1
RANK_TIMER = 2
RANK_SEND = 3


class Row(NamedTuple):
    """One line of the packet trace.

    A frame departs when its transmission starts, at the sending node and port. It arrives when the receiving node
    handles it: at its last bit, and for a frame that a switch forwards, the switch's processing delay later; with
    cut-through that delay after the bits that the switch needs.
    PFC frames belong to no flow: their `flow` and `seq` are None.
    """

    time_ps: int
    node: str
    port: int
    event: str  # "arrive" or "depart"
    kind: str  # "data", "ack", "nack", "cnp" or "pfc"
    flow: int | None
    seq: int | None
    bytes: int


class Drop(NamedTuple):
    """A data packet that was dropped on its way to a port of a switch, or lost on the link behind that port.

    A switch drops at its handling, and what waits for a link as that fails; what is on the link is lost when the other
    end would handle it.
    """

    time_ps: int
    node: str
    port: int
    flow: int
    seq: int


@dataclass(frozen=True)
class Frame:
    """A frame on the wire. `route` names every node from the first to the last; a PFC frame goes one hop."""

    kind: str
    bytes: int
    route: tuple[str, ...] = ()
    flow: Flow | None = None
    seq: int | None = None
    pause: bool = False
    is_marked: bool = False
    sent_ps: int = 0  # when it started on the link that it came by
    whole_ps: int = 0  # at a switch: when its last bit is in, and the switch's processing delay is over


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
    own: tuple[int, int] = (0, 0)  # its picoseconds a byte and its delay, while no fault changes them
    changes: list[Change] = field(default_factory=list)  # those of its link's way from here that last
    settling: int = 0  # how often it starts nothing since its link has become shorter
    arrived_ps: int = 0  # when all has arrived that it started before its delay last changed
    outages: list[Outage] = field(default_factory=list)  # those of its link that last
    failed_ps: list[int] = field(default_factory=list)  # when its link went down
    control: deque[Frame] = field(default_factory=deque)  # never paused
    data: deque[tuple[Frame, int]] = field(default_factory=deque)  # switches: the frame, and the port it came by
    queued_bytes: int = 0  # switches: what waits in `data`
    marked: int = 0  # switches: packets marked
    ring: deque[Flow] = field(default_factory=deque)  # hosts: the flows whose turn comes
    sending: Flow | None = None  # hosts: the flow that goes to the back of the ring when the frame has ended
    ingress_bytes: int = 0  # switches: what came by this port and still waits in the switch
    pause_sent: bool = False  # switches: the peer was told to pause
    ingress_peak_bytes: int = 0

    def is_flushed(self) -> bool:
        """Whether its link is down, so that what comes for it is lost."""
        return any(outage.flushes for outage in self.outages)


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
    """What a run leaves: trace and drops in a canonical order, the flows by index, and counts of switch ports."""

    trace: list[Row]
    drops: list[Drop]
    flows: list[Flow]
    ingress_peak_bytes: dict[tuple[str, int], int]
    marked: dict[tuple[str, int], int]


class Simulator:
    """One run of one scenario."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        refuse_what_is_not_modelled(scenario)
        framing = scenario["framing"]
        switch = scenario["switch"]
        host = scenario.get("host", {})
        pfc = switch.get("flow_control", {}).get("pfc")
        go_back_n = host.get("transport", {}).get("go_back_n", {})
        dcqcn = host.get("congestion_control", {}).get("dcqcn")
        self.payload_bytes = quantity(framing["payload"], "size")
        self.header_bytes = quantity(framing["header"], "size")
        self.minimum_bytes = quantity(framing["min_frame_size"], "size")
        self.gap_bytes = quantity(framing["preamble_and_ifg"], "size")
        self.control_bytes = max(quantity(framing["control_frame_size"], "size"), self.minimum_bytes) + self.gap_bytes
        self.switch_delay_ps = quantity(switch["forwarding_latency"], "time")
        cut_through = switch.get("cut_through")
        self.cut_bytes = None if cut_through is None else quantity(cut_through.get("header", "64B"), "size")
        self.xoff_bytes = quantity(pfc["xoff"], "size") if pfc else None
        self.xon_bytes = quantity(pfc["xon"], "size") if pfc else None
        self.buffer_bytes = buffer_bytes(switch)
        self.mark_above_bytes = mark_above_bytes(switch)
        self.rto_ps = quantity(go_back_n.get("rto", "4ms"), "time")
        self.nack_interval_ps = quantity(go_back_n.get("nack_interval", "4us"), "time")
        self.dcqcn = read_values(dcqcn) if dcqcn else None
        self.until_ps = quantity(scenario["until"], "time") if "until" in scenario else None

        self.heap: list[tuple[int, int, int, int, int, Callable[[], None]]] = []
        self.now_ps = 0
        self.events = 0
        self.trace: list[Row] = []
        self.drops: list[Drop] = []
        self.nodes = build_network(scenario["network"]["explicit"])
        self.flows: list[Flow] = []
        self.routes: list[tuple[str, ...]] = []
        for fault in read_faults(scenario.get("fault", [])):
            if isinstance(fault, Outage):
                self.add_outage(fault)
            else:
                self.add_change(fault)
        self.add_flows(scenario["workload"][0]["flows"])

    def add_flows(self, entries: list[dict[str, Any]]) -> None:
        """Add the flows, numbered by their source's node index, then by the order of listing."""
        for entry in sorted(entries, key=lambda entry: self.nodes[entry["src"]].index):
            size_bytes = quantity(entry["size"], "size")
            packets = -(-size_bytes // self.payload_bytes)
            start_ps = quantity(entry.get("start", "0s"), "time")
            flow = Flow(len(self.flows), entry["src"], entry["dst"], size_bytes, start_ps, packets)
            if self.dcqcn is not None:
                line = 8e12 / self.nodes[flow.src].ports[0].ps_per_byte
                flow.limiter = Limiter(self.dcqcn, line)
            self.flows.append(flow)
            self.routes.append((flow.src, *entry["via"], flow.dst))
            self.set_timer(start_ps, flow, partial(self.list_flow, flow))

    def add_outage(self, outage: Outage) -> None:
        """Let a link go down and come back, as a timer of either end; those of faults are set before all others."""
        ends = [(self.nodes[a], self.nodes[a].port_to(b)) for a, b in (outage.ends, outage.ends[::-1])]
        for node, port in ends:
            self.at(outage.start_ps, node, RANK_TIMER, 0, partial(self.fail, node, port, outage))
            if outage.end_ps is not None:
                self.at(outage.end_ps, node, RANK_TIMER, 0, partial(self.repair, node, port, outage))

    def add_change(self, change: Change) -> None:
        """Let a link have another rate or delay for a time, as timers of the end that sends."""
        node = self.nodes[change.ends[0]]
        port = node.port_to(change.ends[1])
        self.at(change.start_ps, node, RANK_TIMER, 0, partial(self.change, node, port, change, lasts=True))
        if change.end_ps is not None:
            self.at(change.end_ps, node, RANK_TIMER, 0, partial(self.change, node, port, change, lasts=False))

    def at(self, time_ps: int, node: Node, rank: int, position: int, action: Callable[[], None]) -> None:
        """Schedule what `node` does at `time_ps`; `position` orders equal ranks, and then the order of scheduling."""
        self.events += 1
        heapq.heappush(self.heap, (time_ps, node.index, rank, position, self.events, action))

    def set_timer(self, time_ps: int, flow: Flow, action: Callable[[], None]) -> None:
        """Schedule something for a flow at its source."""
        self.at(time_ps, self.nodes[flow.src], RANK_TIMER, 0, action)

    def run(self) -> Result:
        """Run until nothing is pending, or to the end that the scenario sets."""
        while self.heap:
            self.now_ps, _, _, _, _, action = heapq.heappop(self.heap)
            if self.until_ps is not None and self.now_ps > self.until_ps:
                break
            action()
        ports = [(node.name, port) for node in self.nodes.values() if not node.is_host for port in node.ports]
        return Result(
            sorted(self.trace, key=canonical),
            sorted(self.drops),
            self.flows,
            {(name, port.number): port.ingress_peak_bytes for name, port in ports},
            {(name, port.number): port.marked for name, port in ports},
        )

    def log(self, node: Node, port: Port, event: str, frame: Frame) -> None:
        """Add a line to the trace."""
        flow = None if frame.flow is None else frame.flow.index
        self.trace.append(Row(self.now_ps, node.name, port.number, event, frame.kind, flow, frame.seq, frame.bytes))

    # What a port does.

    def wake(self, node: Node, port: Port) -> None:
        """Ask for a send decision at this instant, after all arrivals and timers of this instant."""
        self.at(self.now_ps, node, RANK_SEND, port.number, lambda: self.decide(node, port))

    def decide(self, node: Node, port: Port) -> None:
        """Start the next frame, if the port is idle and has one that may go."""
        if port.idle_from_ps > self.now_ps:
            return
        if port.sending is not None:
            # Its pace allowed that as the frame began; if it does not any more, it leaves when its turn comes.
            port.sending.in_ring = True
            port.ring.append(port.sending)
            port.sending = None
        if port.outages or port.settling:
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
        frame = replace(frame, sent_ps=self.now_ps)
        if frame.kind == "pfc":
            self.at(arrival_ps, peer, RANK_PFC, peer_port.number, lambda: self.on_pfc(peer, peer_port, frame))
        elif peer.is_host:
            self.at(arrival_ps, peer, RANK_FRAME, peer_port.number, lambda: self.deliver(peer, peer_port, frame))
        else:
            coming = replace(frame, whole_ps=arrival_ps + self.switch_delay_ps)
            needed_ps = self.needed_ps(port, peer, frame)
            arrival_ps = self.now_ps + needed_ps + port.delay_ps + self.switch_delay_ps
            self.at(arrival_ps, peer, RANK_FRAME, peer_port.number, lambda: self.forward(peer, peer_port, coming))

    def needed_ps(self, port: Port, switch: Node, frame: Frame) -> int:
        """Return how long it takes from the start of a frame until as much of it is in as a switch needs."""
        all_ps = frame.bytes * port.ps_per_byte
        if self.cut_bytes is None:
            return all_ps
        out = switch.port_to(frame.route[frame.route.index(switch.name) + 1])
        # A faster output would run dry, unless it has its last bit to send when that comes.
        head_start_ps = all_ps - frame.bytes * out.ps_per_byte
        return min(all_ps, max(self.cut_bytes * port.ps_per_byte, head_start_ps))

    def next_frame(self, node: Node, port: Port) -> Frame | None:
        """Take the frame to send now out of its queue: control first, then data unless paused."""
        if port.control:
            return port.control.popleft()
        if port.paused:
            return None
        if node.is_host:
            return self.next_of_host(port)
        if port.data:
            frame, came_by = port.data.popleft()
            self.release(node, node.ports[came_by], port, frame)
            if self.mark_above_bytes is not None and port.queued_bytes > self.mark_above_bytes:
                port.marked += 1
                return replace(frame, is_marked=True)
            return frame
        return None

    def on_pfc(self, node: Node, port: Port, frame: Frame) -> None:
        """Pause or resume this port's data queue, as the peer asks; a frame in progress goes on."""
        if self.is_lost(port, frame, self.now_ps):
            return
        self.log(node, port, "arrive", frame)
        port.paused = frame.pause
        self.wake(node, port)

    # What a switch does.

    def forward(self, node: Node, came_by: Port, frame: Frame) -> None:
        """Queue a frame towards the next node of its route; count data, or drop it if there is no room."""
        if self.is_lost(came_by, frame, self.now_ps - self.switch_delay_ps):
            return
        self.log(node, came_by, "arrive", frame)
        out = node.port_to(frame.route[frame.route.index(node.name) + 1])
        if out.is_flushed():
            self.drop(node, out, frame)
            return
        if frame.kind != "data":
            out.control.append(frame)
            self.wake(node, out)
            return
        has_pfc = self.xoff_bytes is not None
        counted_bytes = came_by.ingress_bytes if has_pfc else out.queued_bytes
        if self.buffer_bytes is not None and counted_bytes + frame.bytes > self.buffer_bytes:
            self.drop(node, out, frame)
            return
        out.data.append((frame, came_by.number))
        out.queued_bytes += frame.bytes
        came_by.ingress_bytes += frame.bytes
        came_by.ingress_peak_bytes = max(came_by.ingress_peak_bytes, came_by.ingress_bytes)
        if self.xoff_bytes is not None and came_by.ingress_bytes >= self.xoff_bytes and not came_by.pause_sent:
            came_by.pause_sent = True
            self.send_pfc(node, came_by, pause=True)
        self.wake(node, out)

    def release(self, node: Node, came_by: Port, out: Port, frame: Frame) -> None:
        """Uncount a data frame as its transmission starts; its input counts it until its last bit is in, too."""
        out.queued_bytes -= frame.bytes
        if frame.whole_ps > self.now_ps:
            self.at(frame.whole_ps, node, RANK_TIMER, 0, lambda: self.release_input(node, came_by, frame))
        else:
            self.release_input(node, came_by, frame)

    def release_input(self, node: Node, came_by: Port, frame: Frame) -> None:
        """Uncount a data frame at the port by which it came, and resume the peer there if that is enough."""
        came_by.ingress_bytes -= frame.bytes
        if came_by.pause_sent and self.xon_bytes is not None and came_by.ingress_bytes <= self.xon_bytes:
            came_by.pause_sent = False
            self.send_pfc(node, came_by, pause=False)

    def send_pfc(self, node: Node, port: Port, *, pause: bool) -> None:
        """Queue a PFC frame for the peer of `port`, unless nobody hears it there."""
        if port.outages:
            return
        port.control.append(Frame("pfc", self.control_bytes, pause=pause))
        self.wake(node, port)

    # What happens when a link fails.

    def drop(self, node: Node, port: Port, frame: Frame) -> None:
        """Lose a frame on its way to a port, or on the link behind it; nobody counts those that are no data."""
        if frame.kind == "data":
            assert frame.flow is not None
            assert frame.seq is not None
            self.drops.append(Drop(self.now_ps, node.name, port.number, frame.flow.index, frame.seq))

    def is_lost(self, port: Port, frame: Frame, in_ps: int) -> bool:
        """Tell whether the link failed from the start of a frame until as much of it was in as is needed."""
        if not any(frame.sent_ps <= failed_ps < in_ps for failed_ps in port.failed_ps):
            return False
        peer = self.nodes[port.peer]
        self.drop(peer, peer.ports[port.peer_port], frame)
        return True

    def fail(self, node: Node, port: Port, outage: Outage) -> None:
        """Let an outage begin at one end of a link: no pause stands there any more, and what waits may be lost."""
        if not port.outages:
            port.failed_ps.append(self.now_ps)
            port.paused = False
            port.control = deque(frame for frame in port.control if frame.kind != "pfc")
        port.outages.append(outage)
        if outage.flushes:
            port.control.clear()
            while port.data:
                frame, came_by = port.data.popleft()
                port.queued_bytes -= frame.bytes
                self.drop(node, port, frame)
                self.release_input(node, node.ports[came_by], frame)

    def repair(self, node: Node, port: Port, outage: Outage) -> None:
        """Let an outage end at one end of a link: if it was the last, the peer is told anew that it is to pause."""
        port.outages.remove(outage)
        if port.outages:
            return
        if port.pause_sent:
            self.send_pfc(node, port, pause=True)
        self.wake(node, port)

    def change(self, node: Node, port: Port, change: Change, *, lasts: bool) -> None:
        """Let a link have another rate or delay from here, or no more; a frame that has started keeps those it had."""
        port.arrived_ps = max(port.arrived_ps, port.idle_from_ps + port.delay_ps)
        if lasts:
            port.changes.append(change)
        else:
            port.changes.remove(change)
        port.ps_per_byte, port.delay_ps = port.own
        for one in sorted(port.changes, key=lambda one: one.place):
            port.ps_per_byte = port.ps_per_byte if one.ps_per_byte is None else one.ps_per_byte
            port.delay_ps = port.delay_ps if one.delay_ps is None else one.delay_ps
        # No frame overtakes another: the next one starts when all that is under way would arrive before it does.
        settled_ps = port.arrived_ps - port.delay_ps
        if settled_ps > self.now_ps:
            port.settling += 1
            self.at(settled_ps, node, RANK_TIMER, 0, partial(self.settle, node, port))

    def settle(self, node: Node, port: Port) -> None:
        """Let a port start frames again, if it waits for nothing else."""
        port.settling -= 1
        self.wake(node, port)

    # What a host does to send.

    def list_flow(self, flow: Flow) -> None:
        """Let a flow with something to send join the back of its host's ring, if its pace allows."""
        host = self.nodes[flow.src]
        if flow.in_ring or host.ports[0].sending is flow or not flow.has_more():
            return
        if flow.may_send_ps > self.now_ps:
            self.wait_for_pace(flow)
            return
        flow.in_ring = True
        host.ports[0].ring.append(flow)
        self.wake(host, host.ports[0])

    def wait_for_pace(self, flow: Flow) -> None:
        """Let a flow join the ring when its pace allows; one timer for that is enough."""
        if flow.pace_timer_ps != flow.may_send_ps:
            flow.pace_timer_ps = flow.may_send_ps
            self.set_timer(flow.may_send_ps, flow, partial(self.list_flow, flow))

    def next_of_host(self, port: Port) -> Frame | None:
        """Make the next packet of the first flow in the ring that has one; flows without leave."""
        while port.ring:
            flow = port.ring.popleft()
            flow.in_ring = False
            if flow.has_more() and flow.may_send_ps > self.now_ps:
                self.wait_for_pace(flow)
            elif flow.has_more():
                return self.next_packet(port, flow)
        return None

    def next_packet(self, port: Port, flow: Flow) -> Frame:
        """Make the next packet of a flow, which returns to the ring after its frame or when its pace allows."""
        seq = flow.take_next()
        payload_bytes = min(self.payload_bytes, flow.size_bytes - seq * self.payload_bytes)
        wire_bytes = max(payload_bytes + self.header_bytes, self.minimum_bytes) + self.gap_bytes
        self.restart_timeout(flow)
        if flow.limiter is not None:
            flow.limiter.on_sent(wire_bytes, self.now_ps)
            flow.may_send_ps = flow.limiter.due_ps()
        if flow.has_more():
            if flow.may_send_ps <= self.now_ps + wire_bytes * port.ps_per_byte:
                port.sending = flow
            else:
                self.wait_for_pace(flow)
        return Frame("data", wire_bytes, self.routes[flow.index], flow, seq)

    def restart_timeout(self, flow: Flow) -> None:
        """Set the timeout of a flow anew."""
        flow.timeouts_set += 1
        self.set_timer(self.now_ps + self.rto_ps, flow, partial(self.time_out, flow, flow.timeouts_set))

    def time_out(self, flow: Flow, number: int) -> None:
        """Let a flow go back, unless its timeout was set anew since."""
        if number == flow.timeouts_set and not flow.is_over():
            flow.on_timeout()
            self.list_flow(flow)

    # What a host does when a frame arrives.

    def deliver(self, host: Node, port: Port, frame: Frame) -> None:
        """Receive a packet, or what a receiver said of one."""
        if self.is_lost(port, frame, self.now_ps):
            return
        self.log(host, port, "arrive", frame)
        assert host.name == frame.route[-1]
        if frame.kind == "data":
            self.on_data(host, port, frame)
        else:
            self.on_answer(frame)

    def on_data(self, host: Node, port: Port, frame: Frame) -> None:
        """Receive a packet and answer it."""
        flow, seq = frame.flow, frame.seq
        assert flow is not None
        assert seq is not None
        was_complete = flow.received == flow.packets
        answer = flow.on_data(seq, self.now_ps, self.nack_interval_ps)
        if answer is not None:
            kind, number = answer
            self.answer(host, port, kind, frame, number)
        if was_complete:
            return
        if frame.is_marked and self.dcqcn is not None:
            last_ps = flow.notified_ps
            if last_ps is None or self.now_ps >= last_ps + self.dcqcn.cnp_interval_ps:
                flow.notified_ps = self.now_ps
                self.answer(host, port, "cnp", frame, 0)
        if flow.received == flow.packets:
            flow.fct_ps = self.now_ps - flow.start_ps

    def answer(self, host: Node, port: Port, kind: str, packet: Frame, number: int) -> None:
        """Queue a frame that goes back the way that a packet came."""
        if port.is_flushed():
            return
        port.control.append(Frame(kind, self.control_bytes, packet.route[::-1], packet.flow, number))
        self.wake(host, port)

    def on_answer(self, frame: Frame) -> None:
        """Hear of a flow from its receiver."""
        flow, number = frame.flow, frame.seq
        assert flow is not None
        assert number is not None
        if flow.is_over():
            return
        if frame.kind == "cnp":
            flow.notified += 1
            if flow.limiter is not None:
                flow.limiter.on_notification(self.now_ps)
                flow.may_send_ps = flow.limiter.due_ps()
                self.list_flow(flow)
            return
        if frame.kind == "nack":
            flow.on_nack(number)
            self.restart_timeout(flow)
        elif flow.on_ack(number):
            self.restart_timeout(flow)
        if flow.is_over():
            flow.fct_acked_ps = self.now_ps - flow.start_ps
        self.list_flow(flow)


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
        own = (ps_per_byte(link["rate"]), quantity(link["delay"], "time"))
        a_number, b_number = len(a.ports), len(b.ports)
        a.ports.append(Port(a_number, b.name, b_number, *own, own=own))
        b.ports.append(Port(b_number, a.name, a_number, *own, own=own))
    if any(node.is_host and len(node.ports) != 1 for node in nodes.values()):
        raise ValueError("the reference models hosts with one port")
    return nodes
