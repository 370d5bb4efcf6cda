"""Random small networks and traffic with a known symmetry, for xoff and for the slow reference.

A unit is a host of a star, a leaf with its hosts, or a pod with its leaves. The symmetry permutes the units. Most cases
have units of several orbits. With a single orbit, frames of one moment never leave a fixed switch by the same port: a
frame that another frame would tie with is the image of a frame that came at that moment by the other frame's port.
"""

from dataclasses import dataclass
from itertools import product
from math import prod
from random import Random
from typing import Any

from tests.validation.random_cases import (
    DELAYS,
    PAYLOADS,
    RATES,
    STARTS,
    SWITCH_DELAYS,
    TIMEOUTS,
    plain_star,
    whole,
    with_cut_through,
    with_dcqcn,
    with_losses,
    with_marks,
)

Rotations = list[tuple[int, int]]


@dataclass(frozen=True)
class Shape:
    """A network: the names of hosts, switches and links, each link with its tier, and the hosts of a unit."""

    hosts: list[str]
    switches: list[str]
    links: list[tuple[int, str, str]]
    unit: int
    leaf_of: list[str]
    spines: int = 0  # leaf-spine: switches that join the leaves; pods: switches that join the leaves of a pod
    cores: int = 0  # pods: switches that join the pods, for each of these

    def via(self, src: int, dst: int, choice: int) -> list[str]:
        """Returns the switches on a path between two hosts; the choice picks one of the equal paths."""
        first, last = self.leaf_of[src], self.leaf_of[dst]
        if first == last:
            return [first]
        if self.spines == 0:
            return [first, last]
        if self.cores == 0:
            return [first, f"spine{choice % self.spines}", last]
        kind, core = choice % self.spines, choice // self.spines % self.cores
        up, down = (f"pod{host // self.unit}spine{kind}" for host in (src, dst))
        return [first, up, last] if up == down else [first, up, f"core{kind}-{core}", down, last]


def star(hosts: int) -> Shape:
    """Returns a star."""
    names = [f"host{i}" for i in range(hosts)]
    return Shape(names, ["s"], [(0, name, "s") for name in names], 1, ["s"] * hosts)


def leaf_spine(per_leaf: int, leaves: int, spines: int) -> Shape:
    """Returns leaves that are joined by spines."""
    hosts = [f"host{i}" for i in range(per_leaf * leaves)]
    names = [f"leaf{i}" for i in range(leaves)]
    tops = [f"spine{i}" for i in range(spines)]
    leaf_of = [names[i // per_leaf] for i in range(len(hosts))]
    links = [(0, host, leaf) for host, leaf in zip(hosts, leaf_of, strict=True)]
    links += [(1, leaf, top) for leaf in names for top in tops]
    return Shape(hosts, names + tops, links, per_leaf, leaf_of, spines)


def trunk(hosts: int) -> Shape:
    """Returns two switches with hosts, joined by a link."""
    leaf_of = ["a"] * hosts + ["b"] * hosts
    names = [f"host{i}" for i in range(2 * hosts)]
    return Shape(
        names, ["a", "b"], [*((0, *ends) for ends in zip(names, leaf_of, strict=True)), (1, "a", "b")], hosts, leaf_of
    )


def pods(per_leaf: int, leaves: int, count: int, spines: int, cores: int) -> Shape:
    """Returns pods of leaves and spines; spine n of each pod is joined to the same cores."""
    hosts = [f"host{i}" for i in range(per_leaf * leaves * count)]
    leaf_of = [f"leaf{i // per_leaf}" for i in range(len(hosts))]
    links = [(0, host, leaf) for host, leaf in zip(hosts, leaf_of, strict=True)]
    tops = [(pod, spine) for pod in range(count) for spine in range(spines)]
    links += [(1, f"leaf{pod * leaves + leaf}", f"pod{pod}spine{top}") for leaf in range(leaves) for pod, top in tops]
    links += [(2, f"pod{pod}spine{top}", f"core{top}-{core}") for pod, top in tops for core in range(cores)]
    switches = [*dict.fromkeys(leaf_of), *dict.fromkeys(name for tier, _, name in links if tier > 0)]
    return Shape(hosts, switches, links, per_leaf * leaves, leaf_of, spines, cores)


def image(host: int, rotations: Rotations, amounts: tuple[int, ...]) -> int:
    """Returns the host that a host becomes when each rotation turns by an amount."""
    for (stride, size), amount in zip(rotations, amounts, strict=True):
        digit = host // stride % size
        host += stride * ((digit + amount) % size - digit)
    return host


def representative(host: int, rotations: Rotations) -> int:
    """Returns the host with the digits 0 that becomes this host."""
    return host - sum(host // stride % size * stride for stride, size in rotations)


def random_symmetric(rng: Random) -> tuple[dict[str, Any], Rotations]:
    """Draws a scenario with relative ties, and the rotations of its symmetry."""
    radices = rng.choice([[4], [2, 2], [2, 3], [3, 2], [3, 2], [2, 2, 2], [4, 2], [3, 3]])
    units = prod(radices)
    match rng.choice(["star", "leaf-spine", "leaf-spine", "pods"]):
        case "star":
            shape = star(units)
        case "leaf-spine":
            shape = leaf_spine(rng.randint(1, 2), units, rng.randint(1, 2))
        case _:
            radices = rng.choice([[2], [2, 2]])
            shape = pods(1, 2, prod(radices), rng.randint(1, 2), rng.randint(1, 2))
    rotations = [(shape.unit * prod(radices[:place]), size) for place, size in enumerate(radices)]
    if len(rotations) > 1 and rng.random() < 0.8:
        # Without the lowest rotation, orbits interleave.
        rotations = rotations[1:] if rng.random() < 0.7 else rotations[:-1]
    scenario = draw_scenario(rng, shape, rotations)
    if rng.random() < 0.3:
        with_cut_through(rng, scenario)
    if rng.random() < 0.5:
        with_marks(rng, scenario)
        with_dcqcn(rng, scenario)
    else:
        # Without paces: a pace and a timeout of a host may fall due at one picosecond, in an order that is not defined.
        scenario["host"]["transport"]["go_back_n"]["rto"] = rng.choice(["1s", "1s", *TIMEOUTS])
    return scenario, rotations


def draw_scenario(rng: Random, shape: Shape, rotations: Rotations) -> dict[str, Any]:
    """Draws rates, delays, framing and symmetric traffic; most events coincide with events of other units."""
    payload_bytes = rng.choice(PAYLOADS)
    classes = rng.choice([1, 1, 2, 3])
    switch: dict[str, Any] = {"forwarding_latency": rng.choice(SWITCH_DELAYS), "queueing": "oq", "buffer": "unlimited"}
    switch |= {"classes": classes, "scheduler": rng.choice(["strict", draw_scheduler(rng, classes)])}
    return {
        "ties": "relative",
        "network": network(rng, shape),
        "framing": {
            "payload": f"{payload_bytes}B",
            "header": rng.choice(["0B", "48B"]),
            "preamble_and_ifg": rng.choice(["0B", "20B"]),
            "control_frame_size": rng.choice(["64B", "84B"]),
            "min_frame_size": "64B",
        },
        "switch": switch,
        "host": {"transport": {"go_back_n": {"rto": "1s"}}},
        "workload": [
            {"class": rng.randrange(classes), "flows": draw_flows(rng, shape, rotations, payload_bytes)}
            for _ in range(rng.randint(1, 3))
        ],
    }


def draw_scheduler(rng: Random, classes: int) -> dict[str, Any]:
    """Draws strict classes and classes that take turns."""
    return {"queues": [rng.choice([{"type": "strict"}, {"type": "dwrr", "weight": 2}]) for _ in range(classes)]}


def network(rng: Random, shape: Shape) -> dict[str, Any]:
    """Draws rates and delays of tiers, and the order of ports at the highest switches."""
    rates = [rng.choice(RATES)] * 3 if rng.random() < 0.8 else rng.sample(RATES, 3)
    delays = [rng.choice(DELAYS)] * 3 if rng.random() < 0.7 else rng.sample(DELAYS, 3)
    links = list(shape.links)
    if rng.random() < 0.5:
        # Only at the highest switches, which keep their names: switches of an orbit have the same ports.
        top = max(tier for tier, _, _ in links)
        places = {name: rng.random() if tier == top else 0 for tier, name, _ in links}
        links.sort(key=lambda link: (link[0], places[link[1]] if link[0] == top else 0))
    return explicit(shape, [(a, b, rates[tier], delays[tier]) for tier, a, b in links])


def explicit(shape: Shape, links: list[tuple[str, str, str, str]]) -> dict[str, Any]:
    """Returns a network in the form of a scenario; a link is (end, end, rate, delay)."""
    nodes = [{"name": name, "kind": "host"} for name in shape.hosts]
    nodes += [{"name": name, "kind": "switch"} for name in shape.switches]
    keys = ("a", "b", "rate", "delay")
    return {"explicit": {"nodes": nodes, "links": [dict(zip(keys, link, strict=True)) for link in links]}}


def draw_flows(rng: Random, shape: Shape, rotations: Rotations, payload_bytes: int) -> list[dict[str, Any]]:
    """Draws the flows of the hosts with digits 0, and returns these flows with all images."""
    hosts = range(len(shape.hosts))
    sizes = [1, payload_bytes, rng.randint(1, 6) * payload_bytes, rng.randint(1, 6 * payload_bytes)]
    pattern = rng.choice(["all-to-all", "shift", "hot", "hot", "hot", "some"])
    size, start, shift = rng.choice(sizes), rng.choice(STARTS), rng.randrange(1, len(hosts))
    hot, spread = [representative(rng.choice(hosts), rotations) for _ in range(3)], rng.random() < 0.5
    drawn = []
    for src in sorted({representative(host, rotations) for host in hosts}):
        others = [(src + i) % len(hosts) for i in hosts[1:]]
        match pattern:
            case "all-to-all":
                to = [(dst, size, start) for dst in others]
            case "shift":
                to = [((src + shift) % len(hosts), rng.choice(sizes), start)]
            case "hot":
                # Hosts of one or two orbits receive from all orbits, at different distances.
                amounts = [tuple(rng.randrange(count) for _, count in rotations) for _ in hot]
                to = [(image(dst, rotations, by), size, start) for dst, by in zip(hot, amounts, strict=True)]
                to = [one for one in to if one[0] != src] or [(others[0], size, start)]
            case _:
                to = [(rng.choice(others), rng.choice(sizes), rng.choice(STARTS)) for _ in range(rng.randint(1, 4))]
        drawn += [(src, *one, rng.randrange(12) if spread else 0) for one in to]
    return [
        flow(shape, image(src, rotations, amounts), image(dst, rotations, amounts), size, start, choice)
        for amounts in product(*(range(count) for _, count in rotations))
        for src, dst, size, start, choice in drawn
    ]


def flow(shape: Shape, src: int, dst: int, size_bytes: int, start: str = "0ns", choice: int = 0) -> dict[str, Any]:
    """Returns a flow in the form of a scenario."""
    ends = {"src": shape.hosts[src], "dst": shape.hosts[dst]}
    return ends | {"size": f"{size_bytes}B", "start": start, "via": shape.via(src, dst, choice)}


def with_drops(rng: Random, scenario: dict[str, Any]) -> dict[str, Any]:
    """Gives the switches of a scenario small buffers, and its flows short timeouts and no paces."""
    scenario["host"].pop("congestion_control", None)
    return with_losses(rng, scenario)


def with_pauses(rng: Random, scenario: dict[str, Any]) -> dict[str, Any]:
    """Gives a scenario PFC with thresholds of a few packets."""
    framing = scenario["framing"]
    xoff_bytes = rng.randint(1, 3 * (whole(framing["payload"]) + whole(framing["header"])))
    pfc = {"xoff": f"{xoff_bytes}B", "xon": f"{rng.randint(0, xoff_bytes - 1)}B"}
    scenario["switch"]["flow_control"] = {"pfc": pfc}
    return scenario


def permutation(shape: Shape, shift: int) -> dict[str, Any]:
    """Makes equal links without delays, and a flow of four packets from each host to a host further on."""
    hosts = range(len(shape.hosts))
    flows = [flow(shape, host, (host + shift) % len(hosts), 4 * 952) for host in hosts]
    return equal_links(shape, flows)


def equal_links(shape: Shape, flows: list[dict[str, Any]]) -> dict[str, Any]:
    """Makes a scenario with relative ties, equal links without delays, and packets of 80 ns."""
    links = [(a, b, "100Gbps", "0ns") for _, a, b in shape.links]
    workload = [{"flows": flows}]
    return plain_star(2, []) | {"ties": "relative", "network": explicit(shape, links), "workload": workload}
