"""Simulation 3: the trend from model 0 (different hosts) to model 3 (the same hosts).

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Simulation 3: Performance Trend in
Different Models" and "Simulation Results Observations". Traffic and configuration: see `_traffic.py`.

The impact of mixing on a mechanism is, for a size class, the ratio of its highest to its lowest mean over the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, all_of, given
from xoff.results import Result
from xoff_experiments.sfc_proxy._figures import trend
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Runs, judged, shorter
from xoff_experiments.sfc_proxy._traffic import CLASSES, MODELS

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Simulation 3"

_MECHANISMS = ("dcqcn", "proxy")


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: the proxy's mean is higher in model 3 than in model 0, and the ratio over the models above DCQCN's."""
    first, last = (runs.by_class(model, "proxy") for model in ("model 0", "model 3"))
    trend, ratios = runs.over_models(_MECHANISMS)
    return {
        "P.3-degrades": Part(all_of(*(shorter(first[name], last[name]) for name in CLASSES)), trend),
        "P.3-stable": Part(runs.more_stable("dcqcn", "proxy"), ratios),
    }


JUDGED = judged(
    statements={
        "P.3": "The degree of mixing of background and congested traffic has more impact on SFC proxy than on DCQCN",
        "P.3-degrades": "From model 0 to model 3 the performance of SFC proxy is degraded in every size class",
        "P.3-stable": "DCQCN performance is more stable in different models than that of SFC proxy",
    },
    traffic=MODELS,
    mechanisms=_MECHANISMS,
    judge=judge,
)
PARAMETERS = [
    *_SHARED,
    given("background, incasts", "Google RPC at 50 %; 120-to-1 of 256 KB at 8 %; models 0 to 3", "Simulation 3"),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT over the models."""
    trend(results, path, _MECHANISMS)
