"""The mechanisms that are compared, each a row: what it puts at switches and at hosts of the one fabric.

A row is named by what has to be configured. Values are defaults and presets of the mechanisms; what has no default,
and what belongs to the fabric, stands here once:

- On a fabric that may lose, hosts have IRN (but in the one row that shows Go-Back-N); under PFC, BFC and credits they
  have Go-Back-N, which then never has to go back; where packets of a flow take several ways they have the transport
  that bears any order (`selective`). Under PFC its timeout is that of Go-Back-N, as what is silent there only waits.
- Marks for DCQCN are those of ConWeave's fabric of 100 Gb/s (100 KB, 400 KB, 0.2), for DCTCP those of HPCC's code (300
  KB), for NSCC a fifth to four fifths of the product at which queues are cut.
- The window beside DCQCN is that product, too: what IRN and ConWeave's fabric have (104 KB).
- SFC's threshold and pause are those of `examples/sweep-mechanisms.toml`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRODUCT = "104KB"
"""Line rate by the longest round trip without queues, in payload: 8.3 us."""
_PFC: dict[str, Any] = {"flow_control": {"pfc": {}}}
_RED = {"ecn": {"red": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}}
_STEP = {"ecn": {"step": {"threshold": "300KB"}}}
_PINT: dict[str, Any] = {"telemetry": {"pint": {}}}
_SFC = {"threshold": "200KB", "pause": "10us", "interval": "10us"}
_ONLY_CUT: dict[str, Any] = {"trimming": {"limit": PRODUCT}}
_CUT = _ONLY_CUT | {"ecn": {"red": {"kmin": "21KB", "kmax": "83KB", "pmax": 1.0}}}
_NDP = {"trimming": {"limit": "8384B", "headers": "16768B", "return_to_sender": True}}
"""Eight packets, and twice that of headers."""
_IRN: dict[str, Any] = {"transport": {"irn": {}}}
_ANY_ORDER: dict[str, Any] = {"transport": {"selective": {}}}
_PATIENT = {"transport": {"selective": {"rto": "4ms"}}}


def _control(**controls: Any) -> dict[str, Any]:
    return {"congestion_control": controls}


def _spread(scheme: str) -> dict[str, Any]:
    return {"routing": {scheme: {}}}


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A row: its family, and the tables `switch` and `host` of its scenario."""

    family: str
    switch: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, Any] = field(default_factory=dict)
    memory: str = "shared"
    """``ports``: each port has its share of the buffer, as credits promise room that others cannot take."""
    queue: int = 0
    """The class of all flows."""

    @property
    def stamp(self) -> int:
        """The bytes of telemetry in every frame: HPCC's, or those of PINT's default."""
        if "telemetry" not in self.switch:
            return 0
        return 2 if "pint" in self.switch["telemetry"] else 42


LOSSY, PAUSED, LINKS, CUT = "may lose", "PFC", "link by link", "trimming"

ROWS: dict[str, Mechanism] = {
    "Go-Back-N": Mechanism(LOSSY),
    "IRN": Mechanism(LOSSY, {}, _IRN),
    "IRN + DCQCN": Mechanism(LOSSY, _RED, _IRN | _control(dcqcn={})),
    "IRN + DCTCP": Mechanism(LOSSY, _STEP, _IRN | _control(dctcp={})),
    "IRN + HPCC": Mechanism(LOSSY, {"telemetry": {}}, _IRN | _control(hpcc={})),
    "IRN + HPCC-PINT": Mechanism(LOSSY, _PINT, _IRN | _control(hpcc_pint={})),
    "IRN + Swift": Mechanism(LOSSY, {}, _IRN | _control(swift={})),
    "PFC": Mechanism(PAUSED, _PFC),
    "PFC + DCQCN": Mechanism(PAUSED, _PFC | _RED, _control(dcqcn={})),
    "PFC + DCQCN + cut-through": Mechanism(PAUSED, _PFC | _RED | {"cut_through": {}}, _control(dcqcn={})),
    "PFC + DCQCN, window": Mechanism(PAUSED, _PFC | _RED, _control(dcqcn={"window": PRODUCT})),
    "PFC + DCTCP": Mechanism(PAUSED, _PFC | _STEP, _control(dctcp={})),
    "PFC + HPCC": Mechanism(PAUSED, _PFC | {"telemetry": {}}, _control(hpcc={})),
    "PFC + HPCC-PINT": Mechanism(PAUSED, _PFC | _PINT, _control(hpcc_pint={})),
    "PFC + Swift": Mechanism(PAUSED, _PFC, _control(swift={})),
    "PFC + TIMELY": Mechanism(PAUSED, _PFC, _control(timely={})),
    "PFC + TIMELY, window": Mechanism(PAUSED, _PFC, _control(timely={"window": True})),
    "PFC + QCN": Mechanism(PAUSED, {"flow_control": {"pfc": {}, "qcn": {}}}, _control(qcn={})),
    "PFC + BCN": Mechanism(PAUSED, {"flow_control": {"pfc": {}, "bcn": {}}}, _control(bcn={})),
    "PFC + SFC": Mechanism(PAUSED, {"flow_control": {"pfc": {}, "sfc": _SFC}}),
    "PFC + SFC + DCQCN": Mechanism(PAUSED, {"flow_control": {"pfc": {}, "sfc": _SFC}} | _RED, _control(dcqcn={})),
    "PFC + Congestion Isolation + DCQCN": Mechanism(
        PAUSED,
        {"flow_control": {"pfc": {}, "congestion_isolation": {}}, "classes": 2, "scheduler": {"drr": "1048B"}} | _RED,
        _control(dcqcn={}),
        queue=1,
    ),
    "PFC + DCQCN + flowlets": Mechanism(PAUSED, _PFC | _RED | _spread("flowlet"), _control(dcqcn={})),
    "PFC + DCQCN + ConWeave": Mechanism(PAUSED, _PFC | _RED | _spread("conweave"), _control(dcqcn={})),
    "PFC + DCQCN + DRILL": Mechanism(PAUSED, _PFC | _RED | _spread("drill"), _PATIENT | _control(dcqcn={})),
    "PFC + DCQCN + spray": Mechanism(PAUSED, _PFC | _RED | _spread("spray"), _PATIENT | _control(dcqcn={})),
    "PFC + DCQCN + REPS": Mechanism(PAUSED, _PFC | _RED | _spread("reps"), _PATIENT | _control(dcqcn={})),
    "BFC": Mechanism(LINKS, {"flow_control": {"bfc": {}}}),
    "credits (absolute)": Mechanism(LINKS, {"flow_control": {"credits": {}}}, memory="ports"),
    "credits (CBFC)": Mechanism(LINKS, {"flow_control": {"credits": {"scheme": "cbfc"}}}, memory="ports"),
    "credits (CBFC) + DCQCN": Mechanism(
        LINKS, {"flow_control": {"credits": {"scheme": "cbfc"}}} | _RED, _control(dcqcn={}), memory="ports"
    ),
    "trimming + NSCC": Mechanism(CUT, _CUT, _ANY_ORDER | _control(nscc={})),
    "trimming + NSCC + spray": Mechanism(CUT, _CUT | _spread("spray"), _ANY_ORDER | _control(nscc={})),
    "trimming + NSCC + REPS": Mechanism(CUT, _CUT | _spread("reps"), _ANY_ORDER | _control(nscc={})),
    "trimming + RCCC + spray": Mechanism(CUT, _ONLY_CUT | _spread("spray"), _ANY_ORDER | _control(rccc={})),
    "trimming + RCCC + NSCC + spray": Mechanism(CUT, _CUT | _spread("spray"), _ANY_ORDER | _control(rccc={}, nscc={})),
    "NDP + spray": Mechanism(CUT, _NDP | _spread("spray"), {"transport": {"ndp": {}}}),
}
"""By name, in the order of families."""
BUSY = "Go-Back-N"
"""Without PFC it repeats for tens of milliseconds what it lost, at line rate: it has the main setting alone."""
QUIETER = tuple(row for row in ROWS if row != BUSY)
