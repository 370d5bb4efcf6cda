"""The switches of a scenario with the settings of their ports: the general settings with overrides applied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xoff import formatting, running
from xoff._core import InputError


@dataclass(frozen=True, slots=True)
class ScenarioPort:
    """A port of a switch of a scenario, with the tables of its settings."""

    number: int
    peer: str
    rate_bps: int
    delay_ps: int
    classes: int
    """Classes of the scenario."""
    buffer: Mapping[str, Any]
    """``switch.buffer.shared``."""
    pfc: Mapping[str, Any] | None
    ecn: Mapping[str, Any] | None

    def counted_with(self, one: int) -> int | None:
        """Returns the first class that counts together with a class; None for a class that counts by itself."""
        groups = [group for group in self.buffer.get("groups") or () if group.get("together")]
        return next((min(group["classes"]) for group in groups if one in group["classes"]), None)


@dataclass(slots=True)
class ScenarioNetwork:
    """The switches of a scenario and their ports, in the order of port numbers."""

    document: dict[str, Any]
    hosts: list[str]
    switches: dict[str, list[ScenarioPort]]
    needed: dict[tuple[int, int], int] = field(default_factory=dict)
    """The computed headroom in bytes, by rate and delay."""

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.document["switch"]["classes"])

    @property
    def payload(self) -> int:
        """The payload of a full packet in bytes."""
        return quantity(self.document["framing"]["payload"])

    @property
    def header(self) -> int:
        """The headers of a packet in bytes."""
        return quantity(self.document["framing"]["header"])


def quantity(text: str) -> int:
    """Returns the value of a text of a resolved scenario, such as ``400KB``."""
    found = formatting.quantity(text)
    return 0 if found is None else found[0]


def load(file: Path) -> ScenarioNetwork:
    """Returns the switches of a scenario. Raises `InputError` for a scenario without a shared buffer."""
    prepared = running.prepare(file)
    document: dict[str, Any] = json.loads(prepared.resolved)
    shared = document["switch"]["buffer"]
    if not isinstance(shared, dict) or "shared" not in shared:
        raise InputError("switch.buffer: SONiC's profiles divide a shared buffer; give switch.buffer.shared")
    report = running.check(document, tables=prepared.tables)
    # The links do not depend on traffic; the tables of flows stay out.
    idle = {key: value for key, value in document.items() if key not in {"workload", "fault", "probe"}}
    tables = {key: table for key, table in prepared.tables.items() if key.startswith("network.")}
    links = running.run(idle | {"until": "1ps"}, tables=tables).links.to_pylist()
    names = list(dict.fromkeys(row["node"] for row in links))
    hosts = names[: report["network"]["hosts"]]
    found = ScenarioNetwork(document, hosts, {name: [] for name in names[len(hosts) :]})
    overrides = document["switch"].get("overrides") or []
    for row in links:
        if row["node"] in found.switches:
            found.switches[row["node"]].append(port_settings(document, overrides, row))
    for row in report["headroom"]:
        found.needed[quantity(row["rate"]), quantity(row["delay"])] = row["needed_bytes"]
    return found


def port_settings(
    document: Mapping[str, Any], overrides: Sequence[Mapping[str, Any]], row: Mapping[str, Any]
) -> ScenarioPort:
    """Returns the settings of the port at one end of a link, a row of the table of links."""
    switch = document["switch"]
    buffer = dict(switch["buffer"]["shared"])
    pfc = switch.get("flow_control", {}).get("pfc")
    pfc = None if pfc is None else dict(pfc)
    ecn = switch.get("ecn")
    for one in _matching(overrides, row["node"], row["peer"], row["rate_bps"]):
        buffer |= one.get("buffer") or {}
        if pfc is not None:
            pfc |= {key: value for key, value in (one.get("pfc") or {}).items() if value is not None}
        ecn = one.get("ecn") or ecn
    classes = int(switch["classes"])
    return ScenarioPort(row["port"], row["peer"], row["rate_bps"], row["delay_ps"], classes, buffer, pfc, ecn)


def _matching(overrides: Sequence[Mapping[str, Any]], switch: str, peer: str, rate: int) -> Iterator[Mapping[str, Any]]:
    """Yields the overrides that select a port, in order."""
    for one in overrides:
        if one.get("rate") is not None and quantity(one["rate"]) != rate:
            continue
        names = one.get("switches")
        if names is None or any(_selects(pattern, switch, peer) for pattern in names):
            yield one


def _selects(pattern: str, switch: str, peer: str) -> bool:
    of, arrow, to = (part.strip() for part in pattern.partition("->"))
    return _matches(of, switch) and (not arrow or _matches(to, peer))


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.S) is not None
