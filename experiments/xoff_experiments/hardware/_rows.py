"""Published measurements of collectives, and the scenario of each.

``measured.csv`` has a row for each measurement, with its source. ``judged`` is ``yes`` where GPUs and NICs are known
and NCCL is plain: no plug-in of a cloud, no other transport. An empty ``cpu`` or ``version`` is unknown.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from xoff.nccl import OPERATIONS, scenario

KIB, MIB = 1 << 10, 1 << 20
# The column `algorithm`, by the words of the sources; other words are NCCL's own choice.
_ALGORITHMS = {"Ring": "ring", "Tree": "tree", "NVLS": "nvls", "NVLSTree": "nvls_tree"}
# One NIC is near the GPU; the others are not used.
_NEAR = {"2 x 1 H100, 4 x 400G offered, one near the GPU": 1}
CLASSES = ("up to 256 B", "512 B to 128 MiB", "from 256 MiB")
"""Classes of sizes."""
LIMITS = dict(zip(CLASSES, (0.10, 0.30, 0.15), strict=True))
"""The largest difference of a judged row, as a share."""
MEAN_LIMIT = 0.05
"""From 256 MiB: the largest difference of the geometric mean of a system, as a share."""
QUICK = 64 * MIB
TICKS = {8: "8 B", KIB: "1 KiB", 64 * KIB: "64 KiB", MIB: "1 MiB", 64 * MIB: "64 MiB", 1024 * MIB: "1 GiB"}
"""Labelled sizes of figures."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement: sizes in bytes, times in µs."""

    system: str
    servers: int
    gpus: int
    nics: int
    nic_gbps: int
    gpu: str
    cpu: str
    version: str
    collective: str
    algorithm: str
    protocol: str
    bytes: int
    time_us: float
    judged: bool
    source: str
    turn: int = 0
    """The number of earlier rows of the same group and size."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"{self.group}, {self.bytes} B" + (f" ({self.turn})" if self.turn else "")

    @property
    def group(self) -> str:
        """The system, with the operation and the algorithm that was forced, if any."""
        forced = "" if self.algorithm == "auto" else f", {self.algorithm}"
        return f"{self.system}, {self.servers} x {self.gpus}, {self.collective}{forced}"

    @property
    def link(self) -> str:
        """The source in Markdown: a link, and a remark if there is one."""
        url, _, remark = self.source.partition(" ")
        return f"[{url.removeprefix('https://')}]({url})" + (f" {remark}" if remark else "")

    @property
    def size_class(self) -> str:
        """The class of the size."""
        return CLASSES[0 if self.bytes <= 256 else 1 if self.bytes <= 128 * MIB else 2]

    @property
    def bus_factor(self) -> float:
        """The factor between algorithm bandwidth and bus bandwidth."""
        ranks = self.servers * self.gpus
        share = (ranks - 1) / ranks
        return {"all_reduce": 2 * share, "all_gather": share, "reduce_scatter": share}.get(self.collective, 1.0)

    def scenario(self, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the scenario of the measurement."""
        nics = _NEAR.get(self.system, self.nics) or self.gpus
        algorithm = _ALGORITHMS.get(self.algorithm)
        nccl: dict[str, Any] = {"version": ".".join(self.version.split(".")[:2])} if self.version else {}
        if self.algorithm == "no NVLS":
            nccl["nvls"] = False
        document = scenario(
            self.collective,
            servers=self.servers,
            gpus_per_server=self.gpus,
            nics=nics,
            nic_rate=f"{self.nic_gbps or 400}Gbps",
            gpu=self.gpu,
            cpu=self.cpu or "intel",
            network=None,
            collective={"size": f"{self.bytes}B"} | ({"algorithm": algorithm} if algorithm else {}),
            nccl=nccl,
        )
        return _changed(document, overrides or {})


def size_name(size: int) -> str:
    """Returns a size in the largest unit that leaves a whole number."""
    for unit, name in ((1024 * MIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _changed(document: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Returns a scenario with settings by path; ``nccl.KEY`` and ``collective.KEY`` are those of the workload."""
    for path, value in overrides.items():
        *keys, last = path.split(".")
        at = document["workload"][0] if keys[0] in {"nccl", "collective"} else document
        for key in keys:
            at = at.setdefault(key, {})
        at[last] = value
    return document


@cache
def measured() -> tuple[Row, ...]:
    """Returns all measurements that xoff can run, in the order of the file."""
    found: list[Row] = []
    with (Path(__file__).parent / "measured.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["collective"] not in OPERATIONS or row["gpu"] not in _KNOWN_GPUS:
                continue
            one = Row(
                row["system"],
                int(row["servers"]),
                int(row["gpus_per_server"]),
                int(row["nics"]),
                int(row["nic_gbps"]),
                row["gpu"],
                row["cpu"],
                row["version"],
                row["collective"],
                row["algorithm"],
                row["protocol"],
                int(row["bytes"]),
                0.0,
                row["judged"] == "yes",
                row["source"],
            )
            time = float(row["time_us"] or 0) or one.bytes * one.bus_factor / float(row["busbw_GBps"]) / 1e3
            turn = sum((other.group, other.bytes) == (one.group, one.bytes) for other in found)
            found.append(replace(one, time_us=time, turn=turn))
    return tuple(found)


# Types of GPUs of xoff. GB10 is none: its memory and network interface are other.
_KNOWN_GPUS = ("v100", "a100", "a800", "h100", "h800", "h200", "h20", "b200", "b300")
