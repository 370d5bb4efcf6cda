"""SFC without PFC, under every transport: the 3-to-1 incast in the two-layer CLOS with 400 KB of buffer that overflow.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, "Thoughts": "SFC can work with both lossless and lossy
(best effort) networks. Every transport can use SFC." The document shows no such run: we take cases 1 and 3 of Part 5,
with PFC off. "Can use" is judged by the purpose of SFC: wherever packets are lost without SFC, SFC lowers the losses
and the mean FCT over all flows, with each transport, and with DCQCN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from xoff.reproduce import Decision, Part, RunFailed, Spread, all_of, chosen, lower
from xoff.results import Result
from xoff_experiments.sfc._figures import groups
from xoff_experiments.sfc._networks import TWO_LAYER
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Run, Runs, judged, mean_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Thoughts (lossy networks, every transport)"

_TRANSPORTS = {"go_back_n": "Go-Back-N", "irn": "IRN"}
_CASES = {
    f"{incast}-to-1, {label}": replace(TWO_LAYER, incast=incast, pfc=False, transport=transport)
    for incast in (3, 5)
    for transport, label in _TRANSPORTS.items()
}
_PAIRS = {"alone": ("lossy", "lossy-sfc"), "with DCQCN": ("lossy-dcqcn", "lossy-dcqcn-sfc")}
_VARIANTS = tuple(variant for pair in _PAIRS.values() for variant in pair)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges losses and the mean FCT, with SFC against without, for each transport and incast.

    A run without SFC that never completes does not count against SFC, and is left out of the comparison.
    """
    parts = {}
    for short, label in zip(("T-alone", "T-dcqcn"), _PAIRS, strict=True):
        without, with_sfc = _PAIRS[label]
        decisions: list[Decision] = []
        lost: dict[str, Any] = {}
        mean: dict[str, Any] = {}
        for case in _CASES:
            sfc_lost, sfc_mean = (runs.drawn(case, with_sfc, value) for value in (_drops, mean_us))
            lost[f"{case}, with"], mean[f"{case}, with"] = Spread.of(sfc_lost), Spread.of(sfc_mean)
            try:
                plain_lost, plain_mean = (runs.drawn(case, without, value) for value in (_drops, mean_us))
            except RunFailed:
                lost[f"{case}, without"] = "never completes"
                continue
            lost[f"{case}, without"], mean[f"{case}, without"] = Spread.of(plain_lost), Spread.of(plain_mean)
            if any(plain_lost):
                decisions += [lower(sfc_lost, plain_lost), lower(sfc_mean, plain_mean)]
        parts[short] = Part(
            all_of(*decisions),
            {"lost packets, without and with SFC": lost, "mean FCT over all flows (µs), without and with SFC": mean},
            void="" if decisions else "nothing is lost without SFC either, or nothing completes",
        )
    return parts


def _drops(run: Run) -> float:
    return run.drops


JUDGED = judged(
    statements={
        "T": "SFC can work with lossy networks, and every transport can use it",
        "T-alone": "Without PFC, and without congestion control, SFC lowers losses and the mean FCT with Go-Back-N "
        "and IRN",
        "T-dcqcn": "Beside DCQCN it does, too",
    },
    cases=_CASES,
    variants=_VARIANTS,
    judge=judge,
    reasons={
        "T-alone": (
            "Virtual output queues split the 400 KB among inputs: without SFC Go-Back-N never completes, so that "
            "there is nothing to compare its 664 µs with, and IRN, whose window is the path's product, loses nothing. "
            "On a switch with a queue for each output Go-Back-N loses 1153 packets at 3-to-1 instead of 3503 and takes "
            "634 µs instead of 2367; IRN loses nothing there either, so that it holds by Go-Back-N alone."
        ),
        "T-dcqcn": "Beside DCQCN nothing is lost, with SFC or without.",
    },
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, basic settings; Thoughts",
    [chosen("PFC", "off", "a lossy network"), chosen("transports", "Go-Back-N, IRN", "those of the public simulators")],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT over all flows of each case, without and with SFC."""
    labels = {
        "lossy": "no PFC",
        "lossy-sfc": "SFC",
        "lossy-dcqcn": "DCQCN",
        "lossy-dcqcn-sfc": "DCQCN + SFC",
    }
    groups(
        results, path, {label: [(case, variant) for case in _CASES] for variant, label in labels.items()}, list(_CASES)
    )
