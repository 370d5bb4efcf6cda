"""The one fabric of the comparison, what is sent over it, and the scenario of a mechanism there.

128 hosts at eight leaves, as in the evaluations of BFC and ConWeave: 100 Gb/s and 1 us a link, and a buffer of 12 MB a
switch, with thresholds that move with what is free of it. With eight spines it is oversubscribed 2:1, as there, and
with sixteen 1:1. Frames are those of the code that HPCC, BFC and ConWeave share: 1000 B of payload and 48 B of
headers, and 42 B of telemetry under HPCC, 2 B under HPCC-PINT.

A load is a share of what leaves can send up: at 2:1 hosts offer half of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from xoff.experiments.field._mechanisms import ROWS, Mechanism
from xoff.reproduce import run_name

LEAVES, HOSTS_PER_LEAF, HOSTS = 8, 16, 128
PAYLOAD = 1000
SHORT, LONG = 10_000, 1_000_000
"""Flows below the one are short, and from the other on long."""
SENDERS, BURST = 60, 500_000
"""An incast, as in HPCC's evaluation."""
PERIOD_MS, FIRST_MS = 1.0, 0.25
AFTER_MS = 10.0
"""How long after the last arrival a run goes on at most: what is not over then counts with the time it has had."""
RANKS, JOBS = 32, 4
BACKGROUND, INCAST = "background", "incast"
NAMES = {"hadoop": "Hadoop", "websearch": "WebSearch"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What is sent, and over how many spines."""

    traffic: str = "arrivals"
    """``arrivals``; ``incast``, one alone; ``rings``, ``all_to_all`` or ``permutation``, each alone."""
    sizes: str = "hadoop"
    load: float = 0.5
    incast: bool = True
    oversubscription: int = 2
    ms: float = 2.0
    """How long flows arrive."""
    size: str = ""
    """Payload of each flow of a permutation, or vector of a collective."""
    seed: int = 1

    @property
    def name(self) -> str:
        """What a page calls the setting."""
        incast = " + incast" if self.incast else ""
        return f"{NAMES[self.sizes]} {100 * self.load:.0f} %{incast}, {self.oversubscription}:1"


MAIN = Setting()
"""What the table is sorted by."""


def scenario(setting: Setting, row: str) -> dict[str, Any]:
    """Return the scenario of a mechanism."""
    mechanism = ROWS[row]
    spines = HOSTS_PER_LEAF // setting.oversubscription
    ports = HOSTS_PER_LEAF + spines
    buffer: dict[str, Any] = {"shared": {"total": "12MB"}}
    if mechanism.memory == "ports":
        buffer = {"per_port": f"{12_000_000 // ports}B"}
    made: dict[str, Any] = {
        "name": f"{row}, {setting.name if setting.traffic == 'arrivals' else setting.traffic}",
        "seed": setting.seed,
        "network": {
            "leaf_spine": {
                "leaves": LEAVES,
                "spines": spines,
                "hosts_per_leaf": HOSTS_PER_LEAF,
                "link": {"rate": "100Gbps", "delay": "1us"},
            }
        },
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{header(mechanism)}B", "control": "64B"},
        "switch": {"buffer": buffer, **mechanism.switch},
        "host": dict(mechanism.host),
        "workload": [one | {"class": mechanism.queue} for one in _workload(setting)],
        "probe": {"size_classes": [f"{SHORT}B", f"{LONG}B"]},
        # Where a mechanism loses in a class under PFC, the table says so.
        "audits": {"loss": "record"},
    }
    if setting.traffic == "arrivals":
        made["until"] = f"{setting.ms + AFTER_MS:g}ms"
    return made


def header(mechanism: Mechanism) -> int:
    """Return the bytes of a packet's headers."""
    return 48 + mechanism.stamp


def scenarios_of(
    cases: Mapping[str, Setting], rows: Iterable[str], seeds: Mapping[str, int] | int
) -> dict[str, dict[str, Any]]:
    """Return the scenarios of rows in some settings, by case, row and seed, each case with so many seeds."""
    return {
        run_name(case, row, seed): scenario(replace(setting, seed=seed), row)
        for case, setting in cases.items()
        for row in rows
        for seed in range(1, 1 + (seeds if isinstance(seeds, int) else seeds[case]))
    }


def _workload(setting: Setting) -> list[dict[str, Any]]:
    if setting.traffic == "incast":
        return [_incasts(1)]
    if setting.traffic == "permutation":
        return [{"permutation": {"size": setting.size}}]
    if setting.traffic == "all_to_all":
        return [{"name": "all-to-all", "collective": {"operation": "all_to_all", "size": setting.size}}]
    if setting.traffic == "rings":
        # Each ring goes round the racks: the next rank is always behind another leaf.
        order = [place * HOSTS_PER_LEAF + host for host in range(HOSTS_PER_LEAF) for place in range(LEAVES)]
        return [
            {
                "name": f"ring {job}",
                "collective": {
                    "operation": "all_reduce",
                    "algorithm": "ring",
                    "size": setting.size,
                    "hosts": order[job * RANKS : (job + 1) * RANKS],
                },
            }
            for job in range(JOBS)
        ]
    arrivals = {
        "load": setting.load / setting.oversubscription,
        "sizes": setting.sizes,
        "duration": f"{setting.ms:g}ms",
    }
    made = [{"name": BACKGROUND, "poisson": arrivals}]
    if setting.incast:
        made.append(_incasts(max(1, int(setting.ms / PERIOD_MS))) | {"start": f"{FIRST_MS:g}ms"})
    return made


def _incasts(count: int) -> dict[str, Any]:
    incasts = {"senders": SENDERS, "size": f"{BURST}B", "period": f"{PERIOD_MS:g}ms", "count": count}
    return {"name": INCAST, "incasts": incasts}
