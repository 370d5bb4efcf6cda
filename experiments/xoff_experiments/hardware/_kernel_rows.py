"""Published times of dispatch and combine, and the scenario of each.

``kernels.csv`` has a row for each size of a table, with its source. The column ``role`` says what a row does: ``sets``
sets the overheads of its table, ``shown`` and ``held out`` judge, and ``no run`` has no run.

All ranks of a row begin a decode step at once, with the same number of tokens. The model has one layer, which has
experts, and the processor computes in no time. So the step is a dispatch and a combine, and one overhead for each table
and direction stands for all that kernels do beside the bytes. An overhead delays the start of a dispatch or combine,
and is added to the simulated time.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from typing import Any

from xoff.nccl import fabric

DISPATCH, COMBINE, BOTH = "dispatch", "combine", "dispatch and combine"
SETS, SHOWN, HELD_OUT = "sets", "shown", "held out"
LIMITS = {SHOWN: 0.10, HELD_OUT: 0.15}
"""The largest difference of a judged row, as a share."""
GPUS = 8
"""GPUs of a server, in all rows."""
HIDDEN, TOP_K = 7168, 8
PAYLOAD, HEADER = 4096, 48
"""Bytes of a packet."""
TOKEN = {DISPATCH: HIDDEN + 4 * HIDDEN // 128 + 16, COMBINE: 2 * HIDDEN}
"""Bytes of a token: FP8 with scales and a header, and BF16."""
NVLINK_GBPS = {"h800": 164.8, "h100": 370.8, "h200": 370.8, "b200": 721.8}
"""Bytes of NVLink, in 1e9 a second and direction: the numbers of NCCL, which are xoff's defaults."""


@dataclass(frozen=True, slots=True)
class Row:
    """A size of a table. Times are in µs, bandwidths in 1e9 bytes a second."""

    table: str
    gpu: str
    servers: int
    nics: int
    nic_gbps: int
    experts: int
    tokens: int
    copies: str
    role: str
    times: tuple[tuple[str, float], ...]
    """Direction and measured time."""
    source: str

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"{self.table}, {self.size}"

    @property
    def size(self) -> str:
        """The ranks; with the GPU where a table has several types."""
        return f"EP{self.ranks}" + (f" {self.gpu.upper()}" if self.copies == "server" else "")

    @property
    def ranks(self) -> int:
        """The ranks that share the experts."""
        return self.servers * GPUS

    @property
    def nic_bytes_per_us(self) -> float:
        """The payload rate of the NICs of a GPU."""
        return self.nics * self.nic_gbps / GPUS * 1e3 / 8 * PAYLOAD / (PAYLOAD + HEADER)

    @property
    def link(self) -> str:
        """The source in Markdown."""
        return f"[{self.source.removeprefix('https://')}]({self.source})"

    def line_us(self, direction: str, nvlink_gbps: float | None = None) -> float:
        """Returns the closed form without overhead: the bytes of a rank over NIC and over NVLink, the longer time."""
        if direction == BOTH:
            return self.line_us(DISPATCH, nvlink_gbps) + self.line_us(COMBINE, nvlink_gbps)
        size = self.tokens * TOKEN[direction]
        rate = 1e3 * (NVLINK_GBPS[self.gpu] if nvlink_gbps is None else nvlink_gbps)
        far = (self.servers - 1) / self.servers
        if self.copies == "server":
            return size * reached(self.experts, self.servers) * far / self.nic_bytes_per_us
        near = (GPUS - 1) / self.ranks
        return max(size * TOP_K * far / self.nic_bytes_per_us, size * TOP_K * near / rate)

    def scenario(self, overrides: dict[str, Any] | None = None) -> dict[str, Any]:
        """Returns the scenario of the row, with other settings by path."""
        document = fabric(self.servers, GPUS, self.nics, f"{self.nic_gbps}Gbps")
        document["network"]["servers"] = {"gpus": GPUS, "nics": self.nics, "gpu": self.gpu}
        document["switch"]["routing"] = {"spray": {}}
        # Buffers are unlimited: no packet is lost, and no timeout may act on a packet that waits.
        document["host"] = {"transport": {"selective": {"rto": "1s"}}}
        document["workload"] = [{"name": "experts", "serving": self._serving()}]
        for path, value in (overrides or {}).items():
            *keys, last = path.split(".")
            at = document
            for key in keys:
                at = at.setdefault(key, {})
            at[last] = value
        return document

    def _serving(self) -> dict[str, Any]:
        # The sequences of the start fill the first step. The request waits for a free place, and ends the run.
        pool = {"max_tokens": self.tokens, "max_sequences": self.tokens, "warm": self.tokens}
        return {
            "model": {"preset": "deepseek_v3", "layers": 1, "dense_layers": 0, "experts": self.experts},
            "compute": {"peak": 1e18, "memory": 1e18},
            "requests": [{"arrival": "0s", "input_tokens": 1, "output_tokens": 1}],
            "aggregated": {"data": self.ranks, "expert": self.ranks, **pool},
            "experts": {"dispatch": "fp8", "copies": self.copies},
            "control": {"delay": "200ns"},
        }


def reached(experts: int, parts: int) -> float:
    """Returns the expected parts with an expert of a token, of parts with equal shares of the experts."""
    return parts * (1 - comb(experts - experts // parts, TOP_K) / comb(experts, TOP_K))


@cache
def measured() -> tuple[Row, ...]:
    """Returns all rows with a run, in the order of the file."""
    found = []
    with (Path(__file__).parent / "kernels.csv").open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["role"] == "no run":
                continue
            servers, experts, tokens = (int(line[key]) for key in ("servers", "experts", "tokens"))
            times = tuple((one, float(line[f"{one}_us"])) for one in (DISPATCH, COMBINE) if line[f"{one}_us"])
            if not times:
                # The bandwidth counts the copies for all servers. xoff does not part the two exchanges: results leave
                # for the network while other tokens still pass on.
                copies = tokens * reached(experts, servers) / 1e3
                sizes = ((TOKEN[one], float(line[f"{one}_GBps"])) for one in (DISPATCH, COMBINE))
                times = ((BOTH, sum((copies * size / bandwidth for size, bandwidth in sizes), start=0.0)),)
            numbers = (servers, int(line["nics"]), int(line["nic_gbps"]), experts, tokens)
            found.append(Row(line["table"], line["gpu"], *numbers, line["copies"], line["role"], times, line["source"]))
    return tuple(found)


def overhead_us(table: str, direction: str, nvlink_gbps: float | None = None) -> float:
    """Returns the overhead of a table and direction: the time of the row that sets it, less the closed form."""
    (row,) = (row for row in measured() if row.table == table and row.role == SETS)
    return dict(row.times)[direction] - row.line_us(direction, nvlink_gbps)
