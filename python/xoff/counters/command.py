"""``xoff explain --counters``: who paused whom in a network of which only counters are known."""

from __future__ import annotations

import json
from pathlib import Path

from xoff import formatting, running
from xoff._core import InputError
from xoff.counters.diagnosis import Diagnosis, Tree, diagnose, place
from xoff.counters.reading import Counters, Place, hosts, read

_TREES = 5
_FINDINGS = 3


def command(counters: Path, scenario: Path, *, everything: bool, as_json: bool) -> None:
    """Explains a file of counters. Raises `InputError` if it does not belong to the scenario."""
    found, lossless = of_scenario(counters, scenario)
    diagnosis = diagnose(found, lossless)
    if as_json:
        print(json.dumps(diagnosis.to_dict()))
        return
    for line in lines(found, diagnosis, everything=everything):
        print(formatting.plain(line))


def of_scenario(counters: Path, scenario: Path) -> tuple[Counters, frozenset[int]]:
    """Reads counters against a scenario, and returns them with the classes that PFC protects."""
    document = running.resolve(scenario)
    network = running.run(scenario, overrides={"workload": [], "fault": [], "until": "1ps"})
    rows = network.links.to_pylist()
    back: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        back.setdefault((row["node"], row["peer"]), []).append(row["port"])
    # Parallel links have the same order at both nodes.
    links: dict[Place, Place] = {}
    for (node, peer), ports in back.items():
        links |= {(node, port): (peer, other) for port, other in zip(ports, back[peer, node], strict=True)}
    switch = document.get("switch") or {}
    classes = int(switch.get("classes") or 1)
    pfc = (switch.get("flow_control") or {}).get("pfc")
    if pfc is None:
        raise InputError(f"--scenario: {scenario}: has no switch.flow_control.pfc, so no pause has a cause")
    given = pfc.get("classes")
    lossless = frozenset(range(classes) if given is None else given)
    return read(counters, links, hosts(rows), classes), lossless


def lines(counters: Counters, diagnosis: Diagnosis, *, everything: bool) -> list[str]:
    """Returns the diagnosis in words: contradictions and losses, then roots that are hosts, storms, and other roots."""
    shown = diagnosis.trees if everything else diagnosis.trees[:_TREES]
    at_hosts = [_root(counters, tree) for tree in shown if tree.is_host]
    others = [_root(counters, tree) for tree in shown if not tree.is_host]
    if len(shown) < len(diagnosis.trees):
        others.append(f"… and {len(diagnosis.trees) - len(shown):,} more roots (--all or --json lists all)")
    found = diagnosis.findings
    told = [*found[:_FINDINGS], *at_hosts, *diagnosis.storms, *others, *found[_FINDINGS:]]
    if not told:
        told = ["No pauses, no drops and no contradictions in these counters."]
    return [*told, *(f"gap: {gap}" for gap in diagnosis.gaps)]


def _root(counters: Counters, tree: Tree) -> str:
    deepest = max(depth for _, _, depth in tree.paused)
    time = formatting.time(round(tree.paused_us * 10**6))
    back = f", up to {deepest} links back" if deepest > 1 else ""
    ports = f"{len(tree.paused):,} port{'s' if len(tree.paused) > 1 else ''}"
    reach = f"{ports} paused for {time} together{back}"
    if tree.is_host:
        peer = next(counters.links[at][0] for at in counters.links if at[0] == tree.node)
        what = f"{formatting.plain(tree.node)} paused its neighbour, {formatting.plain(peer)}"
        why = "its card stalled, or is slower than its link"
        return f"pauses of class {tree.class_} begin at a host: {what}: {why}; {reach}"
    if tree.ring:
        ports = " → ".join(place(counters, at) for at in tree.ring)
        return f"pauses of class {tree.class_} lead in a ring, so a deadlock is possible: {ports}; {reach}"
    at = formatting.plain(tree.node) if tree.output is None else place(counters, (tree.node, tree.output))
    if tree.node in counters.silent:
        return f"pauses of class {tree.class_} come from {at}, of which no counters are known; {reach}"
    return f"pauses of class {tree.class_} begin at a switch: {at} is too full; {reach}"
