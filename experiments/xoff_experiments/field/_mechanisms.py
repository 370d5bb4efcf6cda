"""Compared mechanisms: a grid of loss handling × congestion control × choice of paths, and rows outside the grid.

Two cells with one different part are equal in everything else. Values are defaults and presets of the mechanisms.
Values without a default, and values of the fabric, are set in this file and follow from the links (`_links.py`):

- Marks for DCQCN are the marks of ConWeave's fabric of 100 Gb/s (100 KB, 400 KB, 0.2: 8 and 32 us of a line), for DCTCP
  the marks of HPCC's code (300 KB: 24 us), for NSCC a fifth to four fifths of the BDP, at which queues are trimmed.
- The window beside DCQCN is one BDP, as in IRN and in ConWeave's fabric.
- Hosts use the transport that accepts any packet order (`selective`), so that rows differ by their paths alone. IRN and
  Go-Back-N on a lossy fabric have separate rows. On a fabric without buffer losses a silent path only waits, and the
  timeout is Go-Back-N's.
- SFC's threshold is 16 us of a line, and its pause is from `examples/sweep-mechanisms.toml`.

`WHY_NOT` lists cells that make no sense, with the reason. Combinations that xoff refuses are found by asking xoff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

from xoff import running
from xoff._core import InputError
from xoff_experiments.field._links import Line, Link, Products, derived, made

_RED = {"ecn": {"red": {"kmin": Line(8), "kmax": Line(32), "pmax": 0.2}}}
_STEP = {"ecn": {"step": {"threshold": Line(24)}}}
_FIFTHS = {"ecn": {"red": {"kmin": Products(0.2), "kmax": Products(0.8), "pmax": 1.0}}}
_TELEMETRY: dict[str, Any] = {"telemetry": {}}
_SFC = {"threshold": Line(16), "pause": "10us", "interval": "10us"}
_PATIENT = {"selective": {"rto": "4ms"}}

TRIMS, PAUSES, CREDITS, QUEUES = "trim", "pause (PFC)", "give credits", "have queues for flows"
MARKS, TELLS, SPREADS = "mark", "write telemetry", "spread packets"
ANY_ORDER = "adapters bear any order"


@dataclass(frozen=True, slots=True)
class Part:
    """One of the three parts of a cell: its tables, and required capabilities of switches and adapters."""

    switch: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    memory: str = "shared"
    """``ports``: each port has a fixed share of the buffer. Credits promise room, so other ports cannot use the share.
    """


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A row: its three parts, and the tables `switch` and `host` of its scenario, with sizes that follow from links."""

    loss: str
    control: str = ""
    path: str = ""
    switch: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    memory: str = "shared"
    queue: int = 0
    """The class of all flows."""

    @property
    def stamp(self) -> int:
        """The bytes of telemetry in every frame, for HPCC or for PINT's default."""
        if "telemetry" not in self.switch:
            return 0
        return 2 if "pint" in self.switch["telemetry"] else 42

    def tables(self, link: Link) -> dict[str, Any]:
        """Returns `switch` and `host` for a link."""
        return {"switch": made(self.switch, link), "host": made(self.host, link)}

    def derived(self, link: Link) -> list[tuple[str, str]]:
        """Returns path and value of each size that follows from a link."""
        return [*derived(self.switch, link, "switch"), *derived(self.host, link, "host")]


def _needs(*needs: str) -> frozenset[str]:
    return frozenset(needs)


GO_BACK_N, IRN, LOSSY, PFC, BY_PORT = "Go-Back-N", "IRN", "selective", "PFC", "PFC by port"
CREDITED, ABSOLUTE, BFC, CUT = "credits (CBFC)", "credits (absolute)", "BFC", "trimming"
LOSSES: dict[str, Part] = {
    GO_BACK_N: Part(host={"transport": {"go_back_n": {}}}),
    IRN: Part(host={"transport": {"irn": {}}}),
    LOSSY: Part(host={"transport": {"selective": {}}}),
    PFC: Part({"flow_control": {"pfc": {}}}, {"transport": _PATIENT}, _needs(PAUSES)),
    BY_PORT: Part({"flow_control": {"pfc": {}}}, {"transport": _PATIENT}, _needs(PAUSES), memory="ports"),
    CREDITED: Part(
        {"flow_control": {"credits": {"scheme": "cbfc"}}}, {"transport": _PATIENT}, _needs(CREDITS), memory="ports"
    ),
    ABSOLUTE: Part({"flow_control": {"credits": {}}}, {"transport": _PATIENT}, _needs(CREDITS), memory="ports"),
    BFC: Part({"flow_control": {"bfc": {}}}, {"transport": _PATIENT}, _needs(QUEUES)),
    CUT: Part({"trimming": {"limit": Products()}}, {"transport": {"selective": {}}}, _needs(TRIMS)),
}


def _control(needs: str, switch: Mapping[str, Any], **controls: Any) -> Part:
    return Part(switch, {"congestion_control": controls} if controls else {}, frozenset({needs} - {""}))


NDP, RCCC, BOTH = "NDP", "RCCC", "RCCC + NSCC"
_WINDOWED = "DCQCN, window"
CONTROLS: dict[str, Part] = {
    "": Part(),
    "DCQCN": _control(MARKS, _RED, dcqcn={}),
    _WINDOWED: _control(MARKS, _RED, dcqcn={"window": Products()}),
    "DCTCP": _control(MARKS, _STEP, dctcp={}),
    "HPCC": _control(TELLS, _TELEMETRY, hpcc={}),
    "HPCC-PINT": _control(TELLS, {"telemetry": {"pint": {}}}, hpcc_pint={}),
    "Swift": _control("", {}, swift={}),
    "TIMELY": _control("", {}, timely={}),
    "TIMELY, window": _control("", {}, timely={"window": True}),
    "NSCC": _control(MARKS, _FIFTHS, nscc={}),
    RCCC: _control("", {}, rccc={}),
    BOTH: _control(MARKS, _FIFTHS, rccc={}, nscc={}),
    # Queues of eight packets, and header queues of twice the size.
    NDP: Part(
        {"trimming": {"limit": "8384B", "headers": "16768B", "return_to_sender": True}}, {"transport": {"ndp": {}}}
    ),
}
_BY_PACKET = frozenset({"adaptive", "spray", "REPS"})
PATHS: dict[str, Part] = {
    "": Part(),
    "adaptive": Part({"routing": {"adaptive": {}}}, needs=_needs(SPREADS, ANY_ORDER)),
    "spray": Part({"routing": {"spray": {}}}, needs=_needs(SPREADS, ANY_ORDER)),
    "REPS": Part({"routing": {"reps": {}}}, needs=_needs(ANY_ORDER)),
}

_ONE_PATH = frozenset({"HPCC", "HPCC-PINT"})
_OF_TRIMMING = frozenset({RCCC, BOTH, NDP})
_VARIANTS = frozenset({"HPCC-PINT", "TIMELY", "TIMELY, window"})
_HOP_BY_HOP = frozenset({BY_PORT, CREDITED, ABSOLUTE})


def why_not(loss: str, control: str, path: str) -> str:
    """Returns the reason why a cell makes no sense; empty for a sensible cell. Refusals by xoff are not considered."""
    answers = {
        "a packet that overtakes counts as lost": loss in {GO_BACK_N, IRN} and path in _BY_PACKET,
        "telemetry is compared from packet to packet of one path": control in _ONE_PATH and path in _BY_PACKET,
        "nobody holds the sources back, and what they lose is lost again": loss in {LOSSY, CUT} and not control,
        "every header that arrives asks for the next packet: it is made for trimming": control in _OF_TRIMMING
        and loss != CUT,
        "repeats for tens of milliseconds what it lost: shown once": loss == GO_BACK_N and bool(control),
        "switches hold each flow back by itself, in the place of the sources": loss == BFC and bool(control),
        "a variant of a control, shown by flow under PFC or over IRN": control in _VARIANTS
        and (bool(path) or loss not in {PFC, IRN} or (loss == IRN and control != "HPCC-PINT")),
        "without a window: shown under PFC, where it is deployed": control == "DCQCN" and loss in {LOSSY, CUT},
        "IRN has a window of its own": loss == IRN and control == _WINDOWED,
        "links that promise room: compared with PFC of the same buffer a port, by flow and sprayed": loss in _HOP_BY_HOP
        and (control not in {"", "DCQCN", "DCTCP"} or path not in {"", "spray"}),
        "the other way to count credits, shown once": loss == ABSOLUTE and bool(control or path),
        "its loss handling is PFC, IRN or none, as published": control == "HPCC" and loss not in {PFC, IRN},
        "NSCC wants a transport that bears any order": control == "NSCC" and loss == IRN,
        "adapters and paths of Ultra Ethernet, shown under PFC, trimming and loss": path == "REPS"
        and loss not in {LOSSY, PFC, CUT},
        "chosen at each switch from queues of its own: shown where flows share them": path == "adaptive"
        and loss == BFC,
    }
    return next((reason for reason, applies in answers.items() if applies), "")


def _row(loss: str, control: str, path: str) -> Mechanism:
    parts = [LOSSES[loss], CONTROLS[control], PATHS[path]]
    switch: dict[str, Any] = {}
    host: dict[str, Any] = {}
    for part in parts:
        switch |= part.switch
        host |= part.host
    needs = frozenset[str]().union(*(part.needs for part in parts))
    return Mechanism(loss, control, path, switch, host, needs, parts[0].memory)


def name_of(loss: str, control: str = "", path: str = "") -> str:
    """Returns the name of a row."""
    return " + ".join(part for part in (loss, control, path) if part)


CELLS = {name_of(*cell): _row(*cell) for cell in product(LOSSES, CONTROLS, PATHS)}
"""All cells by name, sensible or not."""


def _refused(row: Mechanism) -> str:
    """Returns the reason why xoff refuses a row; empty for an accepted row."""
    link = Link(100_000_000_000, 1_000_000)
    star = {"leaf_spine": {"leaves": 2, "spines": 2, "hosts_per_leaf": 1, "link": {"rate": "100Gbps", "delay": "1us"}}}
    buffer: dict[str, Any] = {"per_port": "1MB"} if row.memory == "ports" else {"shared": {"total": "12MB"}}
    tables = row.tables(link)
    flows = [{"flows": [{"src": 0, "dst": 1, "size": "1KB"}]}]
    scenario = {"network": star, **tables, "switch": {"buffer": buffer} | tables["switch"], "workload": flows}
    try:
        running.check(scenario)
    except InputError as error:
        return str(error).partition("\n")[0]
    return ""


@cache
def grid() -> tuple[dict[str, Mechanism], Counter[str]]:
    """Returns the rows of sensible cells that xoff accepts, and the number of other cells by reason.

    Every cell is checked by xoff, in a tenth of a second altogether.
    """
    found: dict[str, Mechanism] = {}
    left: Counter[str] = Counter()
    for loss, control, path in product(LOSSES, CONTROLS, PATHS):
        row = CELLS[name_of(loss, control, path)]
        reason = why_not(loss, control, path) or _refused(row)
        if reason:
            left[reason] += 1
        else:
            found[name_of(loss, control, path)] = row
    return found, left


def _beside(
    name: str, switch: Mapping[str, Any], *needs: str, control: str = "", queue: int = 0, **host: Any
) -> Mechanism:
    """Returns a row made of a cell of the grid and an additional mechanism."""
    base = _row(PFC, control, "")
    flow_control = {**base.switch["flow_control"], **switch.get("flow_control", {})}
    every = {**base.switch, **switch, "flow_control": flow_control}
    return Mechanism(PFC, name, "", every, {**base.host, **host}, base.needs | set(needs), queue=queue)


_ISOLATION = {"flow_control": {"congestion_isolation": {}}, "classes": 2, "scheduler": {"drr": "1048B"}}
_GO_BACK_N: dict[str, Any] = {"go_back_n": {}}
BESIDE: dict[str, Mechanism] = {
    "PFC + QCN": _beside("QCN", {"flow_control": {"qcn": {}}}, "notify sources (QCN)", congestion_control={"qcn": {}}),
    "PFC + BCN": _beside("BCN", {"flow_control": {"bcn": {}}}, "notify sources (BCN)", congestion_control={"bcn": {}}),
    "PFC + SFC": _beside("SFC", {"flow_control": {"sfc": _SFC}}, "notify sources (SFC)"),
    "PFC + SFC + DCQCN": _beside(
        "SFC + DCQCN", {"flow_control": {"sfc": _SFC}}, "notify sources (SFC)", control="DCQCN"
    ),
    "PFC + Congestion Isolation + DCQCN": _beside(
        "Congestion Isolation + DCQCN", _ISOLATION, "isolate flows", control="DCQCN", queue=1
    ),
    "PFC + DCQCN + cut-through": _beside("DCQCN + cut-through", {"cut_through": {}}, "cut through", control="DCQCN"),
    "PFC + DCQCN + flowlets": _beside(
        "DCQCN + flowlets", {"routing": {"flowlet": {}}}, "see flowlets", control="DCQCN", transport=_GO_BACK_N
    ),
    "PFC + DCQCN + ConWeave": _beside(
        "DCQCN + ConWeave", {"routing": {"conweave": {}}}, "put packets in order", control="DCQCN", transport=_GO_BACK_N
    ),
    "PFC + DCQCN + DRILL": _beside("DCQCN + DRILL", {"routing": {"drill": {}}}, SPREADS, ANY_ORDER, control="DCQCN"),
}
"""Mechanisms outside the three parts, each added to a cell of the grid."""
PRESETS = ("conweave", "hpcc", "hpcc_paper", "hpcc_config", "microsoft", "sfc_proxy", "mellanox", "paper")
"""DCQCN's presets. A row with a preset is named by the row and the preset."""


def rows() -> dict[str, Mechanism]:
    """Returns all compared rows, by name."""
    return {**grid()[0], **BESIDE}


def row_of(name: str) -> Mechanism:
    """Returns a row by name. A name that ends in a preset in brackets is a row with that preset of DCQCN."""
    base, _, preset = name.partition(" [")
    row = BESIDE[base] if base in BESIDE else CELLS[base]
    if not preset:
        return row
    control = {**row.host["congestion_control"]["dcqcn"], "preset": preset.removesuffix("]")}
    return replace(row, host={**row.host, "congestion_control": {"dcqcn": control}})
