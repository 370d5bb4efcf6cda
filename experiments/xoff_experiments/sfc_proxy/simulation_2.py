"""Simulation 2: incast and background on the same hosts (model 3).

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Simulation 2: Traffic model 2 (bad
perf.)" and "Simulation Results Observations". Traffic and configuration: see `_traffic.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, given
from xoff.results import Result
from xoff_experiments.sfc_proxy._figures import bars
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Runs, judged

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Simulation 2"

_MECHANISMS = ("dcqcn", "proxy")
_MODEL = "model 3"


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: the proxy's mean is higher in every size class."""
    return {"P.2": Part(runs.lower(_MODEL, "dcqcn", "proxy"), runs.compared(_MODEL, ("dcqcn", "proxy")))}


JUDGED = judged(
    statements={
        "P.2": "Incast and background on the same hosts (model 3): SFC proxy has worse average than DCQCN latency in "
        "all cases, as it pauses queues that hold innocent flows",
    },
    traffic=(_MODEL,),
    mechanisms=_MECHANISMS,
    judge=judge,
)
PARAMETERS = [
    *_SHARED,
    given("background, incasts", "Google RPC at 50 %; 120-to-1 of 256 KB at 8 %; the same hosts", "Simulation 2"),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT by size class and mechanism."""
    bars(results, path, _MODEL, _MECHANISMS)
