"""Simulation 1: incast and background on different hosts (model 0).

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Simulation 1: Traffic model 1 (good
perf.)", and "Background" for the comparison of proxy and host. Traffic and configuration: see `_traffic.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, chosen, given
from xoff.results import Result
from xoff_experiments.sfc_proxy._figures import bars
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Runs, judged

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Simulation 1"

_MECHANISMS = ("dcqcn", "proxy", "host")
_MODEL = "model 0"


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: the proxy's mean is lower in every size class, and within 15 % of SFC at the hosts."""
    return {
        "P.1": Part(runs.lower(_MODEL, "proxy", "dcqcn"), runs.compared(_MODEL, ("dcqcn", "proxy"))),
        "P.8": Part(runs.similar(_MODEL, "proxy", "host"), runs.compared(_MODEL, ("host", "proxy"), percentiles=False)),
    }


JUDGED = judged(
    statements={
        "P.1": "Incast and background on different hosts (model 0): SFC proxy has better performance than DCQCN",
        "P.8": "SFC with ToR proxy shows similar performance compared with SFC (model 0)",
    },
    traffic=(_MODEL,),
    mechanisms=_MECHANISMS,
    judge=judge,
    choices={"hosts hold the destination": {"hold": "destination"}},
    reasons={
        "P.8": (
            "The background is faster with the proxy than with SFC at the hosts: small messages take 7.6 µs "
            "instead of 15.7, medium ones 20.2 instead of 30.5, large ones 0.84 ms instead of 1.01. The "
            "proxy also pauses a host's later incasts; SFC at the hosts must tell every message anew, after "
            "the message's first window. With starts within 0.3 ms both are similar."
        ),
    },
)
PARAMETERS = [
    *_SHARED,
    given("background, incasts", "Google RPC at 50 %; 120-to-1 of 256 KB at 8 %; different hosts", "Simulation 1"),
    chosen(
        "SFC at the hosts holds",
        "the flow that is named",
        '"SFCM is the signal to pause/resume the flow"',
        "all flows to its destination",
    ),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT by size class and mechanism."""
    bars(results, path, _MODEL, _MECHANISMS)
