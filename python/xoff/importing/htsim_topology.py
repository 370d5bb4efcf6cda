"""Topology files of htsim (``.topo``): a fat tree of two or three tiers, by radix, speed and latency of each tier.

Hosts are at the switches of tier 0. Each of these has links to all switches of tier 1 of its pod, or of the network if
there are two tiers. The a-th switch of tier 1 of each pod has links to every n-th switch of tier 2 from the a-th on,
where n is the number of switches of tier 1 of a pod. ``Bundle`` is the number of parallel links.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xoff.importing.document import Table, Value, rate, time
from xoff.importing.notes import Notes
from xoff.importing.source import Source, shown

_HEADER = ("nodes", "tiers", "podsize")
_TIER = (
    *("downlink_speed_gbps", "radix_up", "radix_down", "queue_up", "queue_down", "oversubscribed", "bundle"),
    *("switch_latency_ns", "downlink_latency_ns"),
)
_MAX_HOSTS = 2**20
_MAX_LINKS = 2**22
_MAX_GBPS = 10_000
# Default links without a topology.
_RATE = 100 * 10**9
_DELAY_PS = 10**6


@dataclass(slots=True)
class Fabric:
    """A network: a shape in the tables, or lists of nodes and links."""

    hosts: int
    tables: list[Table]
    nodes: list[tuple[str, str, int | None]] = field(default_factory=list)
    links: list[tuple[str, str, int, int]] = field(default_factory=list)


def default_fabric(hosts: int, source: Source, notes: Notes) -> Fabric:
    """Returns a fat tree of exactly `hosts` hosts, or a star for a number of hosts without a fat tree."""
    link = {"rate": rate(_RATE), "delay": time(_DELAY_PS)}
    k = next((k for k in range(2, 65, 2) if k**3 // 4 == hosts), 0)
    shape, size = ("fat_tree", {"k": k}) if k else ("star", {"hosts": hosts})
    notes.add(
        source, (), f"no topology was given: a {shape.replace('_', ' ')} of links of {link['rate']} and {link['delay']}"
    )
    return Fabric(hosts, [Table(f"network.{shape}", {**size}), Table(f"network.{shape}.link", {**link})])


def fabric(source: Source, notes: Notes) -> Fabric:
    """Returns the network of a topology. Raises `InputError` if its numbers do not make a network."""
    header, tiers = _read(source)
    sizes = _sizes(source, header, tiers)
    for tier in tiers:
        for key in ("queue_up", "queue_down"):
            if key in tier:
                notes.add(source, tier[key][1], f"{key}: not carried over; [switch] sets the queues")
    for key in ("radix_up", "oversubscribed"):
        if key in tiers[-1]:
            notes.add(source, tiers[-1][key][1], f"{key}: has no effect at the top tier", matters=False)
    speeds = [_value(source, tier, "downlink_speed_gbps") * 10**9 for tier in tiers]
    delays = [_value(source, tier, "downlink_latency_ns") * 1000 for tier in tiers]
    own = [_value(source, tier, "switch_latency_ns", 0) * 1000 for tier in tiers]
    links = [{"rate": rate(speed), "delay": time(delay)} for speed, delay in zip(speeds, delays, strict=True)]
    # A shape has one kind of link between switches, and one delay of switches.
    if len(set(own)) > 1 or (len(tiers) == 3 and links[1] != links[2]):
        return _explicit(sizes, speeds, delays, own)
    shape, values = _shape(sizes)
    tables = [Table(f"network.{shape}", values), Table(f"network.{shape}.link", {**links[0]})]
    if shape == "fat_tree" and links[1] != links[0]:
        shape, values = _clos(sizes)
        tables = [Table(f"network.{shape}", values), Table(f"network.{shape}.link", {**links[0]})]
    if links[1] != links[0]:
        tables.append(Table(f"network.{shape}.fabric_link", {**links[1]}))
    if own[0]:
        tables.append(Table("switch", {"forwarding_latency": time(own[0])}))
    return Fabric(sizes.hosts, tables)


@dataclass(slots=True)
class _Sizes:
    hosts: int
    pods: int
    tors: int
    """Per pod."""
    aggs: int
    cores: int
    bundles: list[int]
    """Links from tier 0 to 1, and from 1 to 2."""

    @property
    def per_tor(self) -> int:
        return self.hosts // (self.pods * self.tors)


def _read(source: Source) -> tuple[dict[str, tuple[int, int]], list[dict[str, tuple[int, int]]]]:
    """Returns the values with their lines: of the header, and of each tier."""
    header: dict[str, tuple[int, int]] = {}
    tiers: dict[int, dict[str, tuple[int, int]]] = {}
    into = header
    for line, words in source.lines():
        key = words[0].lower()
        if key not in (*_HEADER, *_TIER, "tier"):
            source.wrong(line, f"{shown(words[0])} is none of {', '.join((*_HEADER, 'tier', *_TIER))}")
        # The program reads one value; a remark may follow.
        if len(words) > 2 and not words[2].startswith("#"):
            source.wrong(line, f"{words[0]} has {len(words) - 1} values; give one")
        most = 2**53 if key.startswith("queue") else _MAX_GBPS if key == "downlink_speed_gbps" else _MAX_HOSTS
        value = source.whole(words[1] if len(words) > 1 else "", line, words[0], most)
        if key == "tier":
            if value > 2 or value in tiers:
                source.wrong(line, f"Tier {value}: " + ("duplicate" if value in tiers else "allowed are 0, 1 and 2"))
            into = tiers[value] = {}
            continue
        if (key in _HEADER) != (into is header):
            where = "before the first Tier" if key in _HEADER else "behind a Tier"
            source.wrong(line, f"{words[0]} is {where}")
        if key in into:
            source.wrong(line, f"{words[0]} is also given in line {into[key][1]}")
        into[key] = (value, line)
    count, line = header.get("tiers", (0, 1))
    if count not in {2, 3}:
        source.wrong(line, f"Tiers: {count}; 2 or 3 are possible")
    if above := [tier for tier in tiers if tier >= count]:
        source.wrong(line, f"Tiers: {count}, and Tier {above[0]} is in the file as well")
    missing = [tier for tier in range(count) if tier not in tiers]
    if missing:
        source.wrong(source.last, f"Tier {missing[0]} is missing")
    return header, [tiers[tier] for tier in range(count)]


def _value(source: Source, table: dict[str, tuple[int, int]], key: str, default: int | None = None) -> int:
    if key in table:
        value, line = table[key]
        if value == 0 and default != 0:
            source.wrong(line, f"{key}: must be above zero")
        return value
    if default is None:
        source.wrong(max((line for _, line in table.values()), default=1), f"{key} is missing")
    return default


def _sizes(source: Source, header: dict[str, tuple[int, int]], tiers: list[dict[str, tuple[int, int]]]) -> _Sizes:
    """Returns the numbers of switches. Raises `InputError` if numbers are not divisible."""

    def divided(value: int, by: int, what: str, table: dict[str, tuple[int, int]], key: str) -> int:
        if by == 0 or value % by or value == 0:
            source.wrong(table[key][1], f"{what}: {value} is not a multiple of {by}")
        return value // by

    hosts = _value(source, header, "nodes")
    pod = _value(source, header, "podsize")
    down = [_value(source, tier, "radix_down") for tier in tiers]
    up = [_value(source, tier, "radix_up") for tier in tiers[:-1]]
    bundle = [_value(source, tier, "bundle", 1) for tier in tiers]
    speed = [_value(source, tier, "downlink_speed_gbps") for tier in tiers]
    over = [_value(source, tier, "oversubscribed", 1) for tier in tiers]
    pods = divided(hosts, pod, "Nodes over Podsize", header, "podsize")
    if bundle[0] != 1:
        source.wrong(tiers[0]["bundle"][1], "Bundle of tier 0: hosts have one link")
    tors = divided(pod, down[0], "Podsize over Radix_Down", tiers[0], "radix_down")
    uplinks = divided(hosts * speed[0], speed[1] * over[0], "uplinks of tier 0", tiers[0], "radix_up")
    aggs = divided(uplinks, pods * down[1], "switches of tier 1", tiers[1], "radix_down")
    if down[0] // up[0] != over[0]:
        source.wrong(tiers[0]["radix_up"][1], f"Radix_Up: {down[0]} links down and {up[0]} up are not {over[0]} to 1")
    if aggs * bundle[1] != up[0]:
        source.wrong(
            tiers[0]["radix_up"][1], f"Radix_Up: {aggs} switches of tier 1 with {bundle[1]} links to each follow"
        )
    if len(tiers) == 2 and pods > 1:
        source.wrong(header["podsize"][1], "Podsize: with two tiers all hosts are in one pod")
    cores = 0
    if len(tiers) == 3:
        over_uplinks = divided(uplinks * speed[1], speed[2] * over[1], "uplinks of tier 1", tiers[1], "radix_up")
        cores = divided(over_uplinks, down[2], "switches of tier 2", tiers[2], "radix_down")
        each = divided(cores, aggs, "switches of tier 2 over those of tier 1 of a pod", tiers[2], "radix_down")
        if each * bundle[2] != up[1]:
            source.wrong(
                tiers[1]["radix_up"][1], f"Radix_Up: {each} switches of tier 2 with {bundle[2]} links to each follow"
            )
    found = _Sizes(hosts, pods, tors, aggs, cores, bundle[1:])
    if hosts + pods * tors * up[0] + pods * aggs * (up[1] if len(tiers) == 3 else 0) > _MAX_LINKS:
        source.wrong(header["nodes"][1], f"Nodes: the network would have more than {_MAX_LINKS} links")
    return found


def _shape(sizes: _Sizes) -> tuple[str, dict[str, Value]]:
    """Returns the shape of the network and its parameters."""
    if not sizes.cores:
        values: dict[str, Value] = {"leaves": sizes.tors, "spines": sizes.aggs, "hosts_per_leaf": sizes.per_tor}
        return "leaf_spine", values | ({"parallel": sizes.bundles[0]} if sizes.bundles[0] > 1 else {})
    half = sizes.per_tor
    is_fat = (sizes.pods, sizes.tors, sizes.aggs, sizes.cores) == (2 * half, half, half, half * half)
    if is_fat and sizes.bundles == [1, 1] and half <= 32:
        return "fat_tree", {"k": 2 * half}
    return _clos(sizes)


def _clos(sizes: _Sizes) -> tuple[str, dict[str, Value]]:
    values: dict[str, Value] = {
        "pods": sizes.pods,
        "access_per_pod": sizes.tors,
        "aggregation_per_pod": sizes.aggs,
        "cores": sizes.cores,
        "hosts_per_access": sizes.per_tor,
        "cores_per_aggregation": sizes.cores // sizes.aggs,
    }
    for key, links in zip(("access_uplinks", "core_uplinks"), sizes.bundles, strict=True):
        if links > 1:
            values[key] = links
    return "three_tier_clos", values


def _explicit(sizes: _Sizes, speeds: list[int], delays: list[int], own: list[int]) -> Fabric:
    """Returns the network as nodes and links, in the order in which htsim makes them."""
    counts = (("tor", sizes.pods * sizes.tors), ("agg", sizes.pods * sizes.aggs), ("core", sizes.cores))
    nodes: list[tuple[str, str, int | None]] = [(f"host{host}", "host", None) for host in range(sizes.hosts)]
    for (name, count), delay in zip(counts, [*own, 0], strict=False):
        nodes += [(f"{name}{index}", "switch", delay) for index in range(count)]
    links = [(f"host{host}", f"tor{host // sizes.per_tor}", speeds[0], delays[0]) for host in range(sizes.hosts)]
    for tor in range(sizes.pods * sizes.tors):
        pod = tor // sizes.tors
        for agg in range(pod * sizes.aggs, (pod + 1) * sizes.aggs):
            links += [(f"tor{tor}", f"agg{agg}", speeds[1], delays[1])] * sizes.bundles[0]
    for agg in range(sizes.pods * sizes.aggs if sizes.cores else 0):
        for core in range(agg % sizes.aggs, sizes.cores, sizes.aggs):
            links += [(f"agg{agg}", f"core{core}", speeds[2], delays[2])] * sizes.bundles[1]
    table = Table("network.explicit", {"nodes_table": "nodes.csv", "links_table": "links.csv"})
    return Fabric(sizes.hosts, [table], nodes, links)
