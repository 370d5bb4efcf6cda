"""The network of a topology file of the HPCC family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field


@dataclass(slots=True)
class Network:
    """The kinds of nodes, and the links as listed: two nodes, bits per second, picoseconds."""

    is_switch: list[bool]
    links: list[tuple[int, int, int, int]] = field(default_factory=list)
    errors: dict[tuple[int, int], float] = field(default_factory=dict)
    """The share of packets that a link loses at random, by its two nodes, the lower first; only rates above zero."""

    def name(self, node: int) -> str:
        """Returns the name of a node in the scenario."""
        return f"{'s' if self.is_switch[node] else 'h'}{node}"

    def places(self) -> list[int]:
        """Returns the hosts at the ends of the longest round trips, from which to search.

        Of the hosts with one link, the farthest for each neighbour and rate: other hosts there have the same paths
        behind their link. Of the hosts with several links, one for each set of equal links.
        """
        links: dict[int, dict[int, tuple[int, int]]] = {}
        for a, b, bps, delay in self.links:
            for end, other in ((a, b), (b, a)):
                if not self.is_switch[end]:
                    links.setdefault(end, {})[other] = (bps, delay // 1000)
        farthest: dict[tuple[int, int], tuple[int, int]] = {}
        several: dict[tuple[tuple[int, tuple[int, int]], ...], int] = {}
        for host, is_switch in enumerate(self.is_switch):
            if is_switch:
                continue
            found = links.get(host, {})
            if len(found) == 1:
                ((other, (bps, delay)),) = found.items()
                if delay > farthest.get((other, bps), (-1, 0))[0]:
                    farthest[other, bps] = delay, host
            else:
                several.setdefault(tuple(found.items()), host)
        return sorted([*several.values(), *(host for _, host in farthest.values())])

    def switch_rates(self) -> Counter[int]:
        """Returns the number of switch ports with each rate."""
        ends = ((end, bps) for a, b, bps, _ in self.links for end in (a, b))
        return Counter(bps for end, bps in ends if self.is_switch[end])

    def main_rate(self) -> int:
        """Returns the most frequent rate of switch ports; of several the fastest, and 0 without switches."""
        rates = self.switch_rates()
        return max(rates, key=lambda bps: (rates[bps], bps), default=0)

    def host_rate(self) -> int:
        """Returns the rate of the first port of the first host."""
        first = self.is_switch.index(False) if False in self.is_switch else -1
        return next((bps for a, b, bps, _ in self.links if first in (a, b)), 0)

    def joined_switches(self, without: Container[int] = ()) -> Callable[[int], int]:
        """Returns a function of a node: one switch of each group of switches that links join; others by themselves.

        without: switches whose links join nothing.
        """
        first = list(range(len(self.is_switch)))

        def found(node: int) -> int:
            while first[node] != node:
                first[node] = first[first[node]]
                node = first[node]
            return node

        for a, b, _, _ in self.links:
            if self.is_switch[a] and self.is_switch[b] and a not in without and b not in without:
                first[found(a)] = found(b)
        return found

    def meets(self) -> Callable[[int, int], bool]:
        """Returns a predicate of two hosts: true if a path without other hosts joins the hosts."""
        found = self.joined_switches()
        # For each host, the hosts at its links, and one switch of each connected group of switches at its links.
        hosts: dict[int, set[int]] = {}
        switches: dict[int, set[int]] = {}
        for a, b, _, _ in self.links:
            for end, other in ((a, b), (b, a)):
                if not self.is_switch[end]:
                    groups = switches if self.is_switch[other] else hosts
                    groups.setdefault(end, set()).add(found(other))
        none: set[int] = set()
        return lambda a, b: b in hosts.get(a, none) or not switches.get(a, none).isdisjoint(switches.get(b, none))

    def joined_hosts(self) -> set[int]:
        """Returns the hosts that have several links."""
        counts = Counter(end for a, b, _, _ in self.links for end in (a, b))
        return {node for node, count in counts.items() if count > 1 and not self.is_switch[node]}
