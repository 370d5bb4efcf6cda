"""Simulations 1 to 3 again: the source ToR isolates the congested flow in a congestion queue of its own.

Source: "Improvements on SFC Proxy Mode", contribution to IEEE P802.1Qdw, slides "Proposal Inspired by CI (on STOR)" and
"Re-run Simulation 1" to "3". Traffic and configuration: see `_traffic.py`. "Stable" is judged by the ratio of the
highest to the lowest mean over the models, as in simulation 3. "Better performance in different traffic models" is
said against SFC proxy: no size class is slower by more than 15 % in any model, and each is faster in model 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from xoff.reproduce import Part, all_of, given
from xoff.results import Result
from xoff_experiments.sfc_proxy._figures import trend
from xoff_experiments.sfc_proxy._parameters import PARAMETERS as _SHARED
from xoff_experiments.sfc_proxy._runs import TABLES, Runs, judged
from xoff_experiments.sfc_proxy._traffic import MODELS

CITATION = "Improvements on SFC Proxy Mode, IEEE P802.1Qdw, Re-run Simulations 1 to 3"

_MECHANISMS = ("dcqcn", "proxy", "isolation")


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: like the proxy in model 0, better than both in model 3, stable, better than DCQCN in every model."""
    trend, ratios = runs.over_models(_MECHANISMS)
    return {
        "P.4-like": Part(
            runs.similar("model 0", "isolation", "proxy"),
            runs.compared("model 0", ("proxy", "isolation"), percentiles=False),
        ),
        "P.4-better": Part(runs.lower("model 3", "isolation", "dcqcn", "proxy"), runs.compared("model 3", _MECHANISMS)),
        "P.4-stable": Part(runs.more_stable("isolation", "proxy"), ratios),
        "P.4-models": Part(
            all_of(
                runs.lower("model 3", "isolation", "proxy"),
                *(runs.at_most(model, "isolation", "proxy") for model in runs.models),
            ),
            trend,
        ),
    }


JUDGED = judged(
    statements={
        "P.4": "Isolation at the source ToR: like SFC proxy on different hosts, better on the same ones, and stable",
        "P.4-like": "Model 0: SFC proxy with isolation has similar performance as SFC proxy",
        "P.4-better": "Model 3: SFC proxy with isolation performs better than DCQCN and SFC proxy",
        "P.4-stable": "SFC proxy with isolation performs stable in different traffic models compared with SFC proxy",
        "P.4-models": "SFC proxy with isolation has better performance than SFC proxy in different traffic models",
    },
    traffic=MODELS,
    mechanisms=_MECHANISMS,
    judge=judge,
    reasons={
        "P.4-like": (
            "In model 0 isolation takes 13.4 µs for small messages and the proxy 7.6 (27.8 and 20.2 for "
            "medium ones). The proxy silences whole incast hosts, which have no background there, and "
            "isolation lets the hosts' next incasts go. With starts within 0.3 ms both are similar."
        ),
        "P.4-models": (
            "In models 1 to 3 isolation is better in every class by far (small messages 19 to 20 µs instead "
            "of 515 to 542); in model 0 it is slower, see P.4-like."
        ),
    },
)
PARAMETERS = [
    *_SHARED,
    given(
        "background, incasts",
        "Google RPC at 50 %; 120-to-1 of 256 KB at 8 %; models 0 to 3",
        "Re-run Simulations 1 to 3",
    ),
]
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws FCT over the models."""
    trend(results, path, _MECHANISMS)
