"""The order of frames that arrive at a switch at one moment, for scenarios with `ties = "relative"`.

A group of renamings maps the network onto itself. Rotations describe the group. The digit of a host under a rotation of
a stride and a size is (number // stride) % size. The rotation adds 1 to the digit of every host, modulo the size. The
renamings of the group are the products of rotations.

The frames are ordered by port, after the renaming that turns all digits of the frame's destination to 0. Senders at
equal distances from destinations therefore have equal turns, and the order is the same under all renamings.
"""

from collections import deque
from collections.abc import Sequence

from reference.network import Frame, Node, Port


class Symmetry:
    """A group of renamings, by rotations (stride, size) of hosts; without rotations, the order by port."""

    def __init__(self, nodes: dict[str, Node], rotations: Sequence[tuple[int, int]]) -> None:
        self.nodes = nodes
        self.rotations = rotations
        self.hosts = [node.name for node in nodes.values() if node.is_host]
        if any(len(self.hosts) % (stride * size) != 0 for stride, size in rotations):
            raise ValueError(f"the rotations {[*rotations]} are no rotations of {len(self.hosts)} hosts")
        self.names_for = {destination: self.rename(self.digits(destination)) for destination in self.hosts}
        moved_once = [
            self.rename([int(one == turned) for one in range(len(rotations))]) for turned in range(len(rotations))
        ]
        self.turning = {name for names in moved_once for name, renamed in names.items() if name == renamed}
        """The switches that some rotation leaves in place: their ports take turns."""

    def turn(self, switch: Node, port: Port, frame: Frame) -> int:
        """Returns the place of a frame among the frames of a moment: by renamed port, then by port."""
        names = self.names_for[frame.route[-1]]
        renamed = self.nodes[names[switch.name]].port_to(names[port.peer])
        return renamed.number * len(switch.ports) + port.number

    def digits(self, host: str) -> list[int]:
        """Returns the digit of a host under each rotation."""
        return [self.nodes[host].index // stride % size for stride, size in self.rotations]

    def rename(self, amounts: Sequence[int]) -> dict[str, str]:
        """Returns the new name of each node under the renaming that takes these amounts from the digits of all hosts.

        A switch gets the name of the switch at the same port of the renamed neighbour.
        """
        names = {}
        for host in self.hosts:
            number = self.nodes[host].index
            for (stride, size), amount in zip(self.rotations, amounts, strict=True):
                digit = number // stride % size
                number += stride * ((digit - amount) % size - digit)
            names[host] = self.hosts[number]
        reached = deque(self.hosts)
        while reached:
            node = reached.popleft()
            for port, renamed in zip(self.nodes[node].ports, self.nodes[names[node]].ports, strict=False):
                if port.peer not in names:
                    names[port.peer] = renamed.peer
                    reached.append(port.peer)
        if links(self.nodes, {}) != links(self.nodes, names):
            raise ValueError(f"the rotations {[*self.rotations]} do not map the network onto itself")
        return names


def links(nodes: dict[str, Node], names: dict[str, str]) -> set[tuple[str, str, tuple[int, int]]]:
    """Returns the directed links with rates and delays; nodes without a new name keep theirs."""
    ports = [(name, port) for name, node in nodes.items() for port in node.ports]
    return {(names.get(name, name), names.get(port.peer, port.peer), port.own) for name, port in ports}
