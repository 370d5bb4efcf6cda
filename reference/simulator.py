"""A slow, obviously correct packet simulator of star and two-tier networks.

It models hosts and output-queued switches, store and forward or cut-through, one fixed route per flow, PFC by ingress
accounting, classes, buffers that drop, shared memory, responses to pauses, Go-Back-N, marks and drops at a step, DCQCN
and links that fail. The trace is compared with that of xoff's fast core, packet by packet. The simulator shares no code
with the core, prefers plain code over speed, and refuses every scenario with another feature.

Time is integer picoseconds. All events of all nodes are in one heap, ordered by time, then node, then rank: delivered
or forwarded frames, then PFC frames, then timers, then send decisions; within a rank by port number (timers: by the
order in which they were set; frames at a switch: in the order of `symmetry.py`).
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from reference.dcqcn import Limiter, read_values
from reference.fault import Change, Outage, read_faults
from reference.flow import Flow
from reference.network import Frame, Node, Port, build_network
from reference.scenario import buffer_bytes, curves, marks_by_port, quantity, refuse_what_is_not_modelled
from reference.shared_memory import SharedMemory
from reference.symmetry import Symmetry
from reference.turns import read_classes

# The rank of an event among the events of one node at one instant.
RANK_FRAME = 0
RANK_PFC = 1
RANK_TIMER = 2
RANK_SEND = 3
RANK_LATE = 4


class Row(NamedTuple):
    """A line of the packet trace.

    A frame departs at the start of its transmission, at the sending node and port. It arrives when the receiving node
    handles it: a host at the frame's last bit, a switch one processing delay later. With cut-through this delay begins
    when the switch has the bits that it needs. PFC frames belong to no flow: their `flow` and `seq` are None.
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

    A switch drops a packet when it handles the packet, and the packets that wait for a link when the link fails. A
    packet on the link is lost at the time at which the other end would handle it.
    """

    time_ps: int
    node: str
    port: int
    flow: int
    seq: int


@dataclass
class Result:
    """The result of a run: trace and drops in a canonical order, the flows by index, and counts of switch ports.

    A count has the name of the switch, the number of the port, and the class.
    """

    trace: list[Row]
    drops: list[Drop]
    flows: list[Flow]
    ingress_peak_bytes: dict[tuple[str, int, int], int]
    marked: dict[tuple[str, int, int], int]


class Simulator:
    """A run of a scenario; the rotations (stride, size) of hosts describe the symmetry for relative ties."""

    def __init__(self, scenario: dict[str, Any], rotations: Sequence[tuple[int, int]] = ()) -> None:
        refuse_what_is_not_modelled(scenario)
        if rotations and "ties" not in scenario:
            raise ValueError("rotations need a scenario with relative ties")
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
        largest_bytes = max(self.payload_bytes + self.header_bytes, self.minimum_bytes) + self.gap_bytes
        self.classes = read_classes(switch, largest_bytes)
        self.paused_classes = set((pfc or {}).get("classes", range(len(self.classes)))) if pfc is not None else set()
        shared = None if isinstance(switch["buffer"], str) else switch["buffer"].get("shared")
        # In a shared memory without a fixed XOFF the dynamic threshold pauses.
        has_levels = pfc is not None and (shared is None or "xoff" in pfc)
        self.xoff_bytes = quantity(pfc["xoff"], "size") if pfc and has_levels else None
        self.xon_bytes = quantity(pfc["xon"], "size") if pfc and has_levels else None
        self.response_ps = quantity((pfc or {}).get("response", "0ps"), "time")
        self.buffer_bytes = buffer_bytes(switch)
        self.curves = curves(switch, len(self.classes))
        self.marks_by_port = marks_by_port(switch)
        self.rto_ps = quantity(go_back_n.get("rto", "4ms"), "time")
        self.nack_interval_ps = quantity(go_back_n.get("nack_interval", "4us"), "time")
        self.dcqcn = read_values(dcqcn) if dcqcn else None
        self.until_ps = quantity(scenario["until"], "time") if "until" in scenario else None

        self.heap: list[tuple[int, int, int, int, int, Callable[[], None]]] = []
        self.now_ps = 0
        self.events = 0
        self.trace: list[Row] = []
        self.drops: list[Drop] = []
        self.nodes = build_network(scenario["network"]["explicit"], self.classes)
        self.symmetry = Symmetry(self.nodes, rotations)
        self.memories = {
            node.name: SharedMemory(shared, pfc, len(node.ports), len(self.classes), self.paused_classes)
            for node in self.nodes.values()
            if shared is not None and not node.is_host
        }
        self.names = {node.index: node.name for node in self.nodes.values()}
        self.late: dict[str, list[tuple[int, int, bool]]] = {}
        self.flows: list[Flow] = []
        self.routes: list[tuple[str, ...]] = []
        for fault in read_faults(scenario.get("fault", [])):
            if isinstance(fault, Outage):
                self.add_outage(fault)
            else:
                self.add_change(fault)
        self.add_flows([(flow, one.get("class", 0)) for one in scenario["workload"] for flow in one["flows"]])

    def add_flows(self, entries: list[tuple[dict[str, Any], int]]) -> None:
        """Adds the flows with their classes, numbered by their source's node index, then by the order of listing."""
        for entry, number in sorted(entries, key=lambda entry: self.nodes[entry[0]["src"]].index):
            size_bytes = quantity(entry["size"], "size")
            packets = -(-size_bytes // self.payload_bytes)
            start_ps = quantity(entry.get("start", "0s"), "time")
            flow = Flow(len(self.flows), entry["src"], entry["dst"], size_bytes, start_ps, packets, number)
            if self.dcqcn is not None:
                line = 8e12 / self.nodes[flow.src].ports[0].ps_per_byte
                flow.limiter = Limiter(self.dcqcn, line)
            self.flows.append(flow)
            self.routes.append((flow.src, *entry["via"], flow.dst))
            self.set_timer(start_ps, flow, partial(self.list_flow, flow))

    def add_outage(self, outage: Outage) -> None:
        """Schedules an outage, as timers of both ends; timers of faults are set before all others."""
        ends = [(self.nodes[a], self.nodes[a].port_to(b)) for a, b in (outage.ends, outage.ends[::-1])]
        for node, port in ends:
            self.at(outage.start_ps, node, RANK_TIMER, 0, partial(self.fail, node, port, outage))
            if outage.end_ps is not None:
                self.at(outage.end_ps, node, RANK_TIMER, 0, partial(self.repair, node, port, outage))

    def add_change(self, change: Change) -> None:
        """Schedules a change of rate or delay, as timers of the sending end."""
        node = self.nodes[change.ends[0]]
        port = node.port_to(change.ends[1])
        self.at(change.start_ps, node, RANK_TIMER, 0, partial(self.change, node, port, change, lasts=True))
        if change.end_ps is not None:
            self.at(change.end_ps, node, RANK_TIMER, 0, partial(self.change, node, port, change, lasts=False))

    def at(self, time_ps: int, node: Node, rank: int, position: int, action: Callable[[], None]) -> None:
        """Schedules an action of `node` at `time_ps`; `position`, then the order of scheduling, sort equal ranks."""
        self.events += 1
        heapq.heappush(self.heap, (time_ps, node.index, rank, position, self.events, action))

    def set_timer(self, time_ps: int, flow: Flow, action: Callable[[], None]) -> None:
        """Schedules an action of a flow at its source."""
        self.at(time_ps, self.nodes[flow.src], RANK_TIMER, 0, action)

    def run(self) -> Result:
        """Runs until no event is left, or to the end that the scenario sets."""
        while self.heap:
            self.now_ps, number, _, _, _, action = heapq.heappop(self.heap)
            if self.until_ps is not None and self.now_ps > self.until_ps:
                break
            if (name := self.names[number]) in self.memories and name in self.symmetry.turning:
                self.memories[name].begin(self.now_ps)
            action()
        switches = [node for node in self.nodes.values() if not node.is_host]
        ports = [(node.name, port) for node in switches for port in node.ports]
        queues = [((name, port.number, n), queue) for name, port in ports for n, queue in enumerate(port.classes)]
        return Result(
            sorted(self.trace, key=canonical),
            sorted(self.drops),
            self.flows,
            {place: queue.ingress_peak_bytes for place, queue in queues},
            {place: queue.marked for place, queue in queues},
        )

    def log(self, node: Node, port: Port, event: str, frame: Frame) -> None:
        """Adds a line to the trace."""
        flow = None if frame.flow is None else frame.flow.index
        self.trace.append(Row(self.now_ps, node.name, port.number, event, frame.kind, flow, frame.seq, frame.bytes))

    # Ports.

    def wake(self, node: Node, port: Port) -> None:
        """Schedules a send decision at this instant, after all arrivals and timers of this instant."""
        self.at(self.now_ps, node, RANK_SEND, port.number, lambda: self.decide(node, port))

    def decide(self, node: Node, port: Port) -> None:
        """Starts the next frame, if the port is idle and has a frame that may be sent."""
        if port.idle_from_ps > self.now_ps:
            return
        if port.sending is not None:
            # The pace allowed this when the frame began; a flow whose pace no longer allows it leaves the ring at its
            # turn.
            self.add_to_ring(port, port.sending)
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
            turn = self.symmetry.turn(peer, peer_port, frame)
            self.at(arrival_ps, peer, RANK_FRAME, turn, lambda: self.forward(peer, peer_port, coming))

    def needed_ps(self, port: Port, switch: Node, frame: Frame) -> int:
        """Returns the time from the start of a frame until a switch has the needed bits."""
        all_ps = frame.bytes * port.ps_per_byte
        if self.cut_bytes is None:
            return all_ps
        out = switch.port_to(frame.route[frame.route.index(switch.name) + 1])
        # A faster output would run out of bits, unless its last bit arrives by the time it is sent.
        head_start_ps = all_ps - frame.bytes * out.ps_per_byte
        return min(all_ps, max(self.cut_bytes * port.ps_per_byte, head_start_ps))

    def next_frame(self, node: Node, port: Port) -> Frame | None:
        """Takes the next frame to send out of its queue: control first, then data of classes that are not paused."""
        if port.control:
            return port.control.popleft()
        if node.is_host:
            return self.next_of_host(port)
        number = port.turns.next_by_bytes(port.sizes)
        if number is None:
            return None
        queue = port.classes[number]
        frame, came_by = queue.data.popleft()
        port.settle_turns(number)
        self.release(node, node.ports[came_by], port, frame)
        if self.is_picked(port, frame, drops=False) and not frame.is_marked:
            # A packet counts where it is marked first.
            queue.marked += 1
            return replace(frame, is_marked=True)
        return frame

    def is_picked(self, port: Port, frame: Frame, *, drops: bool) -> bool:
        """Whether the class of a frame has a curve that marks, or that drops, and the queue is above the step."""
        curve = self.curves.get(frame.class_number)
        waiting_bytes = port.queued_bytes() if self.marks_by_port else port.classes[frame.class_number].queued_bytes
        return curve is not None and curve.drops == drops and waiting_bytes > curve.above_bytes

    def on_pfc(self, node: Node, port: Port, frame: Frame) -> None:
        """Pauses or resumes a class of this port for the peer; a frame in transmission continues."""
        if self.drop_after_failure(port, frame, self.now_ps):
            return
        self.log(node, port, "arrive", frame)
        queue = port.classes[frame.class_number]
        if not frame.pause:
            queue.pause_ps = None
        elif self.response_ps > 0:
            if queue.pause_ps is None:
                queue.pause_ps = begin_ps = self.now_ps + self.response_ps
                self.at(begin_ps, node, RANK_TIMER, 0, lambda: self.respond(node, port, frame.class_number, begin_ps))
            return
        queue.paused = frame.pause
        port.settle_turns(frame.class_number)
        self.wake(node, port)

    def respond(self, node: Node, port: Port, number: int, begin_ps: int) -> None:
        """Lets a pause act after the response time, unless a resume took the pause back."""
        queue = port.classes[number]
        if queue.pause_ps == begin_ps:
            queue.pause_ps, queue.paused = None, True
            port.settle_turns(number)
            self.wake(node, port)

    # Switches.

    def forward(self, node: Node, came_by: Port, frame: Frame) -> None:
        """Queues a frame towards the next node of the route; counts data, or drops data without room in the buffer."""
        if self.drop_after_failure(came_by, frame, self.now_ps - self.switch_delay_ps):
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
        queue, ingress = out.classes[frame.class_number], came_by.classes[frame.class_number]
        if self.is_picked(out, frame, drops=True) or not self.has_room(node, came_by, out, frame):
            self.drop(node, out, frame)
            return
        queue.data.append((frame, came_by.number))
        queue.queued_bytes += frame.bytes
        out.settle_turns(frame.class_number)
        ingress.ingress_bytes += frame.bytes
        ingress.ingress_peak_bytes = max(ingress.ingress_peak_bytes, ingress.ingress_bytes)
        if self.xoff_bytes is not None:
            if ingress.ingress_bytes >= self.xoff_bytes:
                self.change_pause(node, came_by, frame.class_number, pause=True)
        elif node.name in self.memories and self.memories[node.name].is_over(came_by.number, frame.class_number):
            self.change_pauses(node, came_by, frame.class_number, pause=True)
        self.wake(node, out)

    def change_pauses(self, node: Node, port: Port, number: int, *, pause: bool) -> None:
        """Pauses or resumes the classes that count together with a class."""
        for one in self.memories[node.name].classes_of[number]:
            self.change_pause(node, port, one, pause=pause)

    def change_pause(self, node: Node, port: Port, number: int, *, pause: bool) -> None:
        """Pauses or resumes a class of the peer of a port, if the class is under PFC and not in this state."""
        if number in self.paused_classes and port.classes[number].pause_sent != pause:
            port.classes[number].pause_sent = pause
            self.send_pfc(node, port, number, pause=pause)

    def has_room(self, node: Node, came_by: Port, out: Port, frame: Frame) -> bool:
        """Whether the memory of a port has room for a data packet; a shared memory takes the packet."""
        if node.name in self.memories:
            return self.memories[node.name].takes(came_by.number, out.number, frame.class_number, frame.bytes)
        if self.buffer_bytes is None:
            return True
        if self.xoff_bytes is None:
            return out.queued_bytes() + frame.bytes <= self.buffer_bytes
        if frame.class_number not in self.paused_classes:
            # A class without pauses has its share, so that the other classes keep theirs.
            share_bytes = self.buffer_bytes // len(self.classes)
            if came_by.classes[frame.class_number].ingress_bytes + frame.bytes > share_bytes:
                return False
        return sum(queue.ingress_bytes for queue in came_by.classes) + frame.bytes <= self.buffer_bytes

    def release(self, node: Node, came_by: Port, out: Port, frame: Frame) -> None:
        """Uncounts a data frame at the start of its transmission; the input counts the frame until complete."""
        out.classes[frame.class_number].queued_bytes -= frame.bytes
        if frame.whole_ps > self.now_ps:
            self.at(frame.whole_ps, node, RANK_TIMER, 0, lambda: self.release_input(node, came_by, out, frame))
        else:
            self.release_input(node, came_by, out, frame)

    def release_input(self, node: Node, came_by: Port, out: Port, frame: Frame) -> None:
        """Uncounts a data frame at its ingress port, and resumes the peer if the count is low enough."""
        ingress = came_by.classes[frame.class_number]
        ingress.ingress_bytes -= frame.bytes
        if node.name in self.memories:
            self.memories[node.name].gives_back(came_by.number, out.number, frame.class_number, frame.bytes)
        if self.xon_bytes is not None:
            if ingress.ingress_bytes <= self.xon_bytes:
                self.change_pause(node, came_by, frame.class_number, pause=False)
        elif node.name in self.memories and self.memories[node.name].is_under(came_by.number, frame.class_number):
            self.change_pauses(node, came_by, frame.class_number, pause=False)

    def send_pfc(self, node: Node, port: Port, number: int, *, pause: bool) -> None:
        """Sends a PFC frame about a class to the peer of `port`; from ports that take turns, after all else."""
        if node.name in self.symmetry.turning:
            # The order of ports within a moment decides nothing: the frame follows all other events of the moment.
            if node.name not in self.late:
                self.late[node.name] = []
                self.at(self.now_ps, node, RANK_LATE, 0, lambda: self.send_late(node))
            self.late[node.name].append((port.number, number, pause))
        else:
            self.queue_pfc(node, port, number, pause=pause)

    def send_late(self, node: Node) -> None:
        """Queues the PFC frames of a moment: by port and class, and those of a class in the order of the requests."""
        for port, number, pause in sorted(self.late.pop(node.name), key=lambda one: one[:2]):
            self.queue_pfc(node, node.ports[port], number, pause=pause)

    def queue_pfc(self, node: Node, port: Port, number: int, *, pause: bool) -> None:
        """Queues a PFC frame behind the control frames of a port, unless the link is down."""
        if port.outages:
            return
        port.control.append(Frame("pfc", self.control_bytes, class_number=number, pause=pause))
        self.wake(node, port)

    # Failing links.

    def drop(self, node: Node, port: Port, frame: Frame) -> None:
        """Records the loss of a data frame on its way to a port, or on the link behind it.

        Other frames are not recorded.
        """
        if frame.kind == "data":
            assert frame.flow is not None
            assert frame.seq is not None
            self.drops.append(Drop(self.now_ps, node.name, port.number, frame.flow.index, frame.seq))

    def drop_after_failure(self, port: Port, frame: Frame, in_ps: int) -> bool:
        """Drops a frame if the link failed before the needed bits arrived. Returns true for a dropped frame."""
        if not any(frame.sent_ps <= failed_ps < in_ps for failed_ps in port.failed_ps):
            return False
        peer = self.nodes[port.peer]
        self.drop(peer, peer.ports[port.peer_port], frame)
        return True

    def fail(self, node: Node, port: Port, outage: Outage) -> None:
        """Begins an outage at an end of a link: the port's pauses end, and waiting frames may be lost."""
        if not port.outages:
            port.failed_ps.append(self.now_ps)
            for queue in port.classes:
                queue.paused, queue.pause_ps = False, None
            for number in range(len(port.classes)):
                port.turns.leave(number)
            port.control = deque(frame for frame in port.control if frame.kind != "pfc")
        port.outages.append(outage)
        if outage.flushes:
            port.control.clear()
            for queue in port.classes:
                while queue.data:
                    frame, came_by = queue.data.popleft()
                    queue.queued_bytes -= frame.bytes
                    self.drop(node, port, frame)
                    self.release_input(node, node.ports[came_by], port, frame)

    def repair(self, node: Node, port: Port, outage: Outage) -> None:
        """Ends an outage at an end of a link: after the last outage, pending pauses are sent to the peer again."""
        port.outages.remove(outage)
        if port.outages:
            return
        for number, queue in enumerate(port.classes):
            port.settle_turns(number)
            if queue.pause_sent:
                self.send_pfc(node, port, number, pause=True)
        self.wake(node, port)

    def change(self, node: Node, port: Port, change: Change, *, lasts: bool) -> None:
        """Begins or ends a change of rate or delay; a frame in transmission keeps the earlier values."""
        port.arrived_ps = max(port.arrived_ps, port.idle_from_ps + port.delay_ps)
        if lasts:
            port.changes.append(change)
        else:
            port.changes.remove(change)
        port.ps_per_byte, port.delay_ps = port.own
        for one in sorted(port.changes, key=lambda one: one.place):
            port.ps_per_byte = port.ps_per_byte if one.ps_per_byte is None else one.ps_per_byte
            port.delay_ps = port.delay_ps if one.delay_ps is None else one.delay_ps
        # No frame overtakes another: the next one starts when all frames in flight would arrive before it.
        settled_ps = port.arrived_ps - port.delay_ps
        if settled_ps > self.now_ps:
            port.settling += 1
            self.at(settled_ps, node, RANK_TIMER, 0, partial(self.settle, node, port))

    def settle(self, node: Node, port: Port) -> None:
        """Lets a port start frames again, if no other wait is pending."""
        port.settling -= 1
        self.wake(node, port)

    # Sending hosts.

    def list_flow(self, flow: Flow) -> None:
        """Adds a flow with data to the back of the host's ring, if the pace allows."""
        host = self.nodes[flow.src]
        if flow.in_ring or host.ports[0].sending is flow or not flow.has_more():
            return
        if flow.may_send_ps > self.now_ps:
            self.wait_for_pace(flow)
            return
        self.add_to_ring(host.ports[0], flow)
        self.wake(host, host.ports[0])

    def add_to_ring(self, port: Port, flow: Flow) -> None:
        """Adds a flow to the back of the ring of its class."""
        flow.in_ring = True
        port.classes[flow.class_number].ring.append(flow)
        port.settle_turns(flow.class_number)

    def wait_for_pace(self, flow: Flow) -> None:
        """Adds a flow to the ring when the pace allows, with a single timer."""
        if flow.pace_timer_ps != flow.may_send_ps:
            flow.pace_timer_ps = flow.may_send_ps
            self.set_timer(flow.may_send_ps, flow, partial(self.list_flow, flow))

    def next_of_host(self, port: Port) -> Frame | None:
        """Returns the next packet of the first flow that may send, class by class; flows without data leave."""
        while (number := port.turns.next_by_frames(port.may_send)) is not None:
            flow = port.classes[number].ring.popleft()
            port.settle_turns(number)
            flow.in_ring = False
            if flow.has_more() and flow.may_send_ps > self.now_ps:
                self.wait_for_pace(flow)
            elif flow.has_more():
                return self.next_packet(port, flow)
        return None

    def next_packet(self, port: Port, flow: Flow) -> Frame:
        """Returns the next packet of a flow, which returns to the ring after the frame or when the pace allows."""
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
        return Frame("data", wire_bytes, self.routes[flow.index], flow, seq, flow.class_number)

    def restart_timeout(self, flow: Flow) -> None:
        """Restarts the timeout of a flow."""
        flow.timeouts_set += 1
        self.set_timer(self.now_ps + self.rto_ps, flow, partial(self.time_out, flow, flow.timeouts_set))

    def time_out(self, flow: Flow, number: int) -> None:
        """Makes a flow go back, unless its timeout was restarted since."""
        if number == flow.timeouts_set and not flow.is_over():
            flow.on_timeout()
            self.list_flow(flow)

    # Receiving hosts.

    def deliver(self, host: Node, port: Port, frame: Frame) -> None:
        """Receives a packet, or a receiver's answer."""
        if self.drop_after_failure(port, frame, self.now_ps):
            return
        self.log(host, port, "arrive", frame)
        assert host.name == frame.route[-1]
        if frame.kind == "data":
            self.on_data(host, port, frame)
        else:
            self.on_answer(frame)

    def on_data(self, host: Node, port: Port, frame: Frame) -> None:
        """Receives a packet and answers it."""
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
        """Queues a frame that returns on the route of a packet."""
        if port.is_flushed():
            return
        port.control.append(Frame(kind, self.control_bytes, packet.route[::-1], packet.flow, number))
        self.wake(host, port)

    def on_answer(self, frame: Frame) -> None:
        """Processes the answer of a flow's receiver."""
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


def simulate(scenario: dict[str, Any], rotations: Sequence[tuple[int, int]] = ()) -> Result:
    """Runs `scenario`, a dictionary in the form of a scenario file.

    rotations: with relative ties, the symmetry of the network, by (stride, size) of rotations of the numbers of hosts.

    Raises ValueError for features that the reference does not model.
    """
    return Simulator(scenario, rotations).run()


def canonical(row: Row) -> tuple[int, str, int, str, str, int, int, int]:
    """Returns the sort key of a row, which does not depend on the order of simulation."""
    flow = -1 if row.flow is None else row.flow
    seq = -1 if row.seq is None else row.seq
    return (row.time_ps, row.node, row.port, row.event, row.kind, flow, seq, row.bytes)
