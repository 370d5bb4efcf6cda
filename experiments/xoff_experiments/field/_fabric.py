"""The fabric of the comparison, its traffic, and the scenario of a mechanism.

128 hosts at eight leaves, as in the evaluations of BFC and ConWeave: 100 Gb/s and 1 us a link, and a buffer of 12 MB a
switch with dynamic thresholds. Eight spines are oversubscribed 2:1, as in both evaluations, and sixteen spines 1:1.
Frame sizes are from the shared code of HPCC, BFC and ConWeave: 1000 B of payload and 48 B of headers, and 42 B of
telemetry under HPCC, 2 B under HPCC-PINT. A load is a share of the leaves' uplink capacity: at 2:1 hosts offer half of
the load. Incasts of 60 senders are 2 % of the capacity, for any rate and number of hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from xoff.reproduce import run_name
from xoff_experiments.field._links import WIRE, Link
from xoff_experiments.field._mechanisms import Mechanism, row_of

HOSTS_PER_LEAF, HOSTS = 16, 128
PAYLOAD = 1000
SHORT, LONG = 10_000, 1_000_000
"""Flows below the first size are short; flows from the second size on are long."""
SENDERS, BURST = 60, 500_000
"""An incast, as in HPCC's evaluation."""
PERIOD_MS, FIRST_MS = 1.0, 0.25
AFTER_MS = 10.0
"""The longest time from the last arrival to the end of a run. A flow unfinished at the end counts with its time so far.
"""
JOB_MS = 60.0
"""The longest time of an iteration, and of traffic that is alone in the fabric."""
RANKS, JOBS = 32, 4
BACKGROUND, INCAST, JOB = "background", "incast", "job"
NAMES = {"hadoop": "Hadoop", "websearch": "WebSearch"}
SPOILT = "host0"
"""The host with the fault. A faulty host link is the link from this host to its leaf."""
_COMPUTE = {"peak": 60e12, "efficiency": 0.4, "jitter": 0.02}
_SMALL = {"heads": 8, "sequence": 512, "vocabulary": 2000}
TRAINING: dict[str, dict[str, Any]] = {
    "dense": {
        "model": {"layers": 4, "hidden": 256, **_SMALL},
        "parallel": {"pipeline": 4, "data": 32},
        "global_batch": 128,
        "compute": _COMPUTE,
    },
    "experts": {
        "model": {"layers": 2, "hidden": 192, "experts": 16, "top_k": 2, **_SMALL},
        "parallel": {"pipeline": 2, "data": 64, "expert": 16},
        "global_batch": 128,
        "compute": _COMPUTE,
    },
}
"""A dense model in four stages and 32 replicas, and a mixture of 16 experts in two stages and 64: of 128 ranks each."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Traffic and fabric of a run."""

    traffic: str = "arrivals"
    """``arrivals``; ``incast``, one alone; ``rings``, ``all_to_all``, ``permutation`` or a job of `TRAINING`, each
    alone.
    """
    sizes: str = "hadoop"
    load: float = 0.5
    senders: int = SENDERS
    """Of an incast; none if zero."""
    oversubscription: int = 2
    gbps: int = 100
    buffer_mb: int = 12
    leaves: int = 8
    ms: float = 0.8
    """The duration of arrivals in ms."""
    size: str = ""
    """Payload of each flow of a permutation, or vector of a collective."""
    placement: str = "linear"
    fault: str = ""
    """One of `FAULTS`."""
    seed: int = 1

    @property
    def name(self) -> str:
        """The page's name of the setting."""
        incast = f" + incast of {self.senders}" if self.senders else ""
        more = [f"{self.gbps} Gbps"] * (self.gbps != 100) + [f"{self.buffer_mb} MB"] * (self.buffer_mb != 12)
        more += [f"{HOSTS_PER_LEAF * self.leaves} hosts"] * (self.leaves != 8)
        return ", ".join([f"{NAMES[self.sizes]} {100 * self.load:.0f} %{incast}", f"{self.oversubscription}:1", *more])

    @property
    def period_ms(self) -> float:
        """The time from an incast to the next. Incasts take the same share of a host's line at any rate."""
        return PERIOD_MS * 100 / self.gbps * 8 / self.leaves

    @property
    def first_ms(self) -> float:
        """The time of the first incast."""
        return min(FIRST_MS * 100 / self.gbps, self.ms / 4)


MAIN = Setting()
"""The table's rows are sorted by this setting."""


def _slow_link(gbps: int) -> dict[str, Any]:
    return {"fault": [{"link": "leaf0-spine0", "rate": f"{gbps // 10}Gbps"}]}


def _failed_link(_: int) -> dict[str, Any]:
    return {"fault": [{"link": "leaf0-spine0", "state": "down", "at": "100us"}]}


def _slow_host(gbps: int) -> dict[str, Any]:
    return {"fault": [{"link": f"leaf0-{SPOILT}", "rate": f"{gbps // 4}Gbps"}]}


def _stalled_host(_: int) -> dict[str, Any]:
    return {"fault": [{"host": SPOILT, "stall": True, "at": "100us", "duration": "200us"}]}


def _straggler(_: int) -> dict[str, Any]:
    return {"fault": [{"host": SPOILT, "compute": 1.5}]}


FAULTS = {
    "slow link": _slow_link,
    "failed link": _failed_link,
    "slow host": _slow_host,
    "host that stalls": _stalled_host,
    "straggler": _straggler,
}
"""A link between a leaf and a spine at a tenth of its rate; a link that fails after 0.1 ms; a host with a quarter of
its link rate; a host that reads nothing for 0.2 ms; a host that needs 1.5 times as long to compute.
"""


def scenario(setting: Setting, row: str) -> dict[str, Any]:
    """Returns the scenario of a mechanism."""
    mechanism = row_of(row)
    spines = HOSTS_PER_LEAF // setting.oversubscription
    link = {"rate": f"{setting.gbps}Gbps", "delay": "1us"}
    ports = HOSTS_PER_LEAF + spines
    buffer: dict[str, Any] = {"shared": {"total": f"{setting.buffer_mb}MB"}}
    if mechanism.memory == "ports":
        buffer = {"per_port": f"{1_000_000 * setting.buffer_mb // ports}B"}
    shape = {"leaves": setting.leaves, "spines": spines, "hosts_per_leaf": HOSTS_PER_LEAF, "link": link}
    network: dict[str, Any] = {"leaf_spine": shape}
    tables = mechanism.tables(Link.of({"network": network}))
    made: dict[str, Any] = {
        "name": f"{row}, {setting.name if setting.traffic == 'arrivals' else setting.traffic}",
        "seed": setting.seed,
        "network": network,
        "framing": {"payload": f"{PAYLOAD}B", "header": f"{header(mechanism)}B", "control_frame_size": "64B"},
        **tables,
        "switch": {"buffer": buffer, **tables["switch"]},
        "workload": [one | {"class": mechanism.queue} for one in _workload(setting)],
        "probe": {"size_classes": [f"{SHORT}B", f"{LONG}B"]},
        # Under PFC some mechanisms lose packets in a class; the table reports the losses.
        "audits": {"loss": "record"},
    }
    if setting.traffic == "arrivals":
        made["until"] = f"{setting.ms + AFTER_MS:g}ms"
    elif setting.traffic in TRAINING:
        made["until"] = f"{JOB_MS:g}ms"
    if setting.fault:
        made |= FAULTS[setting.fault](setting.gbps)
        network["failover"] = {"local_repair_delay": "100us", "convergence_time": "500us"}
    return made


def header(mechanism: Mechanism) -> int:
    """Returns the bytes of a packet's headers."""
    return WIRE - PAYLOAD + mechanism.stamp


def derived(name: str, changed: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns path and value of each size that follows from the changed links of a run, by the run's name."""
    return row_of(name.split("/")[1]).derived(Link.of(changed))


def scenarios_of(
    cases: Mapping[str, Setting], rows: Iterable[str], seeds: Mapping[str, int] | int
) -> dict[str, dict[str, Any]]:
    """Returns the scenarios of rows in some settings, by case, row and seed, each case with so many seeds."""
    return {
        run_name(case, row, seed): scenario(replace(setting, seed=seed), row)
        for case, setting in cases.items()
        for row in rows
        for seed in range(1, 1 + (seeds if isinstance(seeds, int) else seeds[case]))
    }


def ring_hosts() -> list[int]:
    """Returns the order in which rings go round the racks: the next rank is always behind another leaf."""
    leaves = HOSTS // HOSTS_PER_LEAF
    return [place * HOSTS_PER_LEAF + host for host in range(HOSTS_PER_LEAF) for place in range(leaves)]


def _workload(setting: Setting) -> list[dict[str, Any]]:
    if setting.traffic == "incast":
        return [_incasts(setting, 1)]
    if setting.traffic == "permutation":
        return [{"permutation": {"size": setting.size}}]
    if setting.traffic == "all_to_all":
        return [{"name": "all-to-all", "collective": {"operation": "all_to_all", "size": setting.size}}]
    if setting.traffic in TRAINING:
        return [{"name": JOB, "training": TRAINING[setting.traffic] | {"placement": setting.placement}}]
    if setting.traffic == "rings":
        order = ring_hosts()
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
    if setting.senders:
        made.append(
            _incasts(setting, max(1, int(setting.ms / setting.period_ms))) | {"start": f"{setting.first_ms:g}ms"}
        )
    return made


def _incasts(setting: Setting, count: int) -> dict[str, Any]:
    incasts = {
        "senders": setting.senders,
        "size": f"{BURST}B",
        "period": f"{setting.period_ms:g}ms",
        "count": count,
    }
    return {"name": INCAST, "repeated_incast": incasts}
