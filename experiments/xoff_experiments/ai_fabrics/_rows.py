"""The compared rows: PFC alone, and rows with one change to another row, at the same XOFF.

Two kinds of traffic meet: *bulk* (checkpoint writes, KV caches) and *urgent* traffic (collectives of a job, tokens of
experts). All rows have PFC with the same XOFF in each class, and the same transport. Rows with two classes therefore
take twice the memory of rows with one class.

| row | change | to row |
|---|---|---|
| second class | bulk and urgent traffic in two classes that take turns | PFC |
| second class, priority | urgent traffic first | second class |
| SFC | congested switches send SFCMs, and sources hold flows for the document's fixed pause | PFC |
| SFC, dynamic pause | the pause follows from queue and sources: the document's extension | SFC |
| SFC, pause to a target | the pause is the time to drain the queue to a target, less R | SFC |
| SFC proxy | the ToR of the source obeys SFCMs, and pauses the source with PFC | SFC |
| SFC proxy, isolation | the ToR moves the flow into a congestion queue, and pauses this queue | SFC proxy |
| CI | Congestion Isolation with a congested queue, also at hosts | PFC |
| DCQCN | marks, CNPs and rates | PFC |
| DCQCN + SFC, dynamic pause | SFC with the dynamic pause | DCQCN |
| DCQCN + CI | Congestion Isolation | DCQCN |

Sizes are times of a line, so that rates change no ratio. SFC's threshold, pause and interval follow the document's
calculation for every setting: `Fabric.sfc_us`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from xoff import _core

PFC, TURNS, PRIORITY = "PFC", "second class", "second class, priority"
SFC, DYNAMIC, TARGET = "SFC", "SFC, dynamic pause", "SFC, pause to a target"
PROXY, ISOLATION = "SFC proxy", "SFC proxy, isolation"
CI, DCQCN, DCQCN_SFC, DCQCN_CI = "CI", "DCQCN", "DCQCN + SFC, dynamic pause", "DCQCN + CI"
ROWS = (PFC, TURNS, PRIORITY, SFC, DYNAMIC, TARGET, PROXY, ISOLATION, CI, DCQCN, DCQCN_SFC, DCQCN_CI)
SFC_ROWS, DYNAMIC_ROWS = (SFC, DYNAMIC, TARGET, PROXY, ISOLATION, DCQCN_SFC), (DYNAMIC, DCQCN_SFC)
CI_ROWS, DCQCN_ROWS = (CI, DCQCN_CI), (DCQCN, DCQCN_SFC, DCQCN_CI)
MODES = {PROXY: "proxy", ISOLATION: "proxy_isolation"}
LATENCY_NS = 300
"""Forwarding latency of a switch, from the document."""
LINKS = 3
"""Links from a source to the last congestion point of a leaf-spine fabric."""
PAYLOAD, HEADER, GAP = 4096, 62, 20
THRESHOLD_US, LEAST_THRESHOLD_US = 8.0, 2.0
"""SFC's threshold in the document: 200 KB at 200 Gb/s, and 50 KB where the headroom is short."""
SHARED_MB = 32


@dataclass(frozen=True, slots=True)
class Fabric:
    """Links, buffers and parameters of mechanisms."""

    gbps: int = 400
    link_ns: int = 150
    incast: int = 8
    """Writers to one receiver: N of the document's formulas."""
    xoff_us: float = 32.0
    """XOFF as a time of a line. Zero: dynamic thresholds of a shared buffer."""
    queueing: str = "oq"
    sprayed: bool = False
    sfc: Mapping[str, Any] = field(default_factory=dict)
    """Keys of SFC that replace the calculated values; a value of None removes a key."""
    marks_us: tuple[float, float] = (8.0, 32.0)
    dcqcn: str = "conweave"
    ci: Mapping[str, Any] = field(default_factory=dict)
    """Keys of Congestion Isolation that replace the document's values."""

    @property
    def _room_us(self) -> float:
        """XOFF; with dynamic thresholds the XOFF of the main setting."""
        return self.xoff_us or Fabric().xoff_us

    def size(self, time_us: float) -> str:
        """Returns the bytes of a line in a time."""
        return f"{round(time_us * self.gbps * 125)}B"

    @property
    def round_trip_us(self) -> float:
        """R of the document's formulas: from a source to the last congestion point and back."""
        return (2 * LINKS * self.link_ns + (2 * LINKS - 1) * LATENCY_NS) / 1e3

    @property
    def headroom_us(self) -> float:
        """The document's SFC headroom (N - 1) R, as a time of a line."""
        request = {
            "incast": self.incast,
            "links": LINKS,
            "link_delay": f"{self.link_ns}ns",
            "switch_delay": f"{LATENCY_NS}ns",
            "rate": f"{self.gbps}Gbps",
            # The threshold of PFC is no part of the needed headroom.
            "pfc_threshold": self.size(2 * THRESHOLD_US),
            "sfc_threshold": self.size(THRESHOLD_US),
            "architecture": "oq",
        }
        return float(json.loads(_core.size_sfc(json.dumps(request)))["pause_min_ps"]) / 1e6

    @property
    def sfc_us(self) -> tuple[float, float]:
        """Threshold and pause of SFC, as times.

        The threshold leaves the document's headroom below XOFF where XOFF permits. The pause is the middle of the
        document's range, from (N - 1) R to (N - 1) R + X / C.
        """
        threshold = min(THRESHOLD_US, max(LEAST_THRESHOLD_US, self._room_us - self.headroom_us))
        return threshold, self.headroom_us + threshold / 2

    def _of_sfc(self, row: str) -> dict[str, Any]:
        threshold, pause = self.sfc_us
        keys: dict[str, Any] = {
            "threshold": self.size(threshold),
            "pause": f"{pause:.3f}us",
            "interval": f"{pause:.3f}us",
            "mode": MODES.get(row, "host"),
        }
        if row in DYNAMIC_ROWS:
            keys |= {"pause": None, "interval": None, "dynamic": {"pause": True}}
            keys["round_trip"] = f"{self.round_trip_us:.3f}us"
        if row == TARGET:
            keys |= {"pause": None, "interval": None, "target": self.size(threshold / 4)}
            keys["round_trip"] = f"{self.round_trip_us:.3f}us"
        return {key: value for key, value in {**keys, **self.sfc}.items() if value is not None}

    def _of_ci(self) -> dict[str, Any]:
        """Returns the curve of the document on Congestion Isolation: 10 KB to 300 KB and 1 % at 100 Gb/s."""
        room = self._room_us
        keys = {"low": self.size(0.8), "high": self.size(min(24.0, 0.75 * room)), "pmax": 0.01}
        return {**keys, "cim_threshold": self.size(room / 2), "mark": "selecting", **self.ci}

    def _marks(self) -> dict[str, Any]:
        low, high = self.marks_us
        return {
            "kmin": self.size(min(low, self._room_us / 4)),
            "kmax": self.size(min(high, self._room_us)),
            "pmax": 0.2,
        }


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a row: `switch` and `host`, and the classes of both kinds of traffic."""

    switch: dict[str, Any]
    host: dict[str, Any]
    bulk: int = 0
    urgent: int = 0


def tables(row: str, fabric: Fabric) -> Tables:
    """Returns the tables of a row."""
    pfc = {"xoff": fabric.size(fabric.xoff_us)} if fabric.xoff_us else {}
    flow_control: dict[str, Any] = {"pfc": pfc}
    switch: dict[str, Any] = {"forwarding_latency": f"{LATENCY_NS}ns", "flow_control": flow_control}
    host: dict[str, Any] = {}
    bulk = urgent = 0
    if not fabric.xoff_us:
        switch["buffer"] = {"shared": {"total": f"{SHARED_MB}MB"}}
    if fabric.queueing != "oq":
        switch["queueing"] = fabric.queueing
    if fabric.sprayed:
        switch["routing"] = {"spray": {}}
        host["transport"] = {"selective": {"rto": "4ms"}}
    if row in {TURNS, PRIORITY, *CI_ROWS}:
        urgent = 1
        bulk = 1 if row in CI_ROWS else 0
        switch |= {"classes": 2, "scheduler": "strict" if row == PRIORITY else {"drr": f"{PAYLOAD + HEADER + GAP}B"}}
    if row in SFC_ROWS:
        flow_control["sfc"] = fabric._of_sfc(row)
    if row in CI_ROWS:
        flow_control["congestion_isolation"] = fabric._of_ci()
    if row in DCQCN_ROWS:
        switch["ecn"] = {"red": fabric._marks()}
        host["congestion_control"] = {"dcqcn": {"preset": fabric.dcqcn}}
    return Tables(switch, host, bulk, urgent)


def link(fabric: Fabric) -> dict[str, str]:
    """Returns a link of the fabric."""
    return {"rate": f"{fabric.gbps}Gbps", "delay": f"{fabric.link_ns}ns"}


FRAMING = {"payload": f"{PAYLOAD}B", "header": f"{HEADER}B", "preamble_and_ifg": f"{GAP}B"}
