"""C.9: the thresholds, for congested and for non-congested flows.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Summary": "Threshold setting
seems critical for the congested flows, but not for the non-congested flows". The thresholds are the thresholds of C.4
and C.5. A flow is congested if its source got a CNP, as sources of all isolated flows do. In the set-up only sources of
isolated flows get CNPs. A flow with a CNP under one threshold
alone is in neither group, so that the effect of the threshold does not select the group. "Critical" is an effect on the
mean FCT of either sign, and "not for the non-congested" an effect of less than half of that share. C.9 repeats C.4 and
C.5, and is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, legend_below, write
from xoff.reproduce import Part, all_of, any_of, given, positive
from xoff.results import Result
from xoff_experiments.congestion_isolation._fabric import PLAIN_NAME, Case
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import CONTROL, Runs, gain_of, judged

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Summary (thresholds)"

_CHANGES = {
    "xoff": ("queues of 2 MB", "XOFF 1500 KB"),
    "high": ("queues of 2 MB", "high 600 KB"),
}
"""Usual and changed case, by the part of the statement."""
_GROUPS = ("congested flows", "non-congested flows")


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the effect of each threshold on flows that get CNPs with both values, and with neither."""
    measured: dict[str, Any] = {}
    decisions = []
    for usual, changed in _CHANGES.values():
        effects = {group: _effects(runs, usual, changed, group) for group in _GROUPS}
        by_seed = {group: [1 - fmean(one) / fmean(base) for one, base in seeds] for group, seeds in effects.items()}
        congested, others = (by_seed[group] for group in _GROUPS)
        # An effect of either sign counts.
        decisions.append(any_of(positive(congested), positive([-one for one in congested])))
        decisions.append(positive([abs(one) / 2 - abs(other) for one, other in zip(congested, others, strict=True)]))
        measured |= {
            f"{changed}, {group}: gain": f"{gain_of(seeds)}, of {sum(len(one) for one, _ in seeds)} flows"
            for group, seeds in effects.items()
        }
    return {"C.9": Part(all_of(*decisions), measured)}


def _effects(runs: Runs, usual: str, changed: str, group: str) -> list[tuple[list[float], list[float]]]:
    """Returns the completion times of a group's flows with the changed threshold and with the usual one, by seed."""
    is_congested = group == _GROUPS[0]
    seeds = []
    for one, base in zip(runs.of(changed, "ci"), runs.of(usual, "ci"), strict=True):
        pairs = [
            (flow.fct_us, other.fct_us)
            for flow, other in zip(one.flows, base.flows, strict=True)
            if flow.is_notified == other.is_notified == is_congested
        ]
        if pairs:
            seeds.append(([pair[0] for pair in pairs], [pair[1] for pair in pairs]))
    return seeds


JUDGED = judged(
    statements={
        "C.9": "Threshold setting seems critical for the congested flows, but not for the non-congested flows: each of "
        "both thresholds (C.4, C.5) changes the mean FCT of congested flows, and that of others less than half as much",
    },
    cases={
        "queues of 2 MB": Case(queue_mb=2),
        "XOFF 1500 KB": Case(queue_mb=2, xoff_kb=1500),
        "high 600 KB": Case(queue_mb=2, high_kb=600),
    },
    judge=judge,
    choices=(CONTROL, PLAIN_NAME),
    ours=("C.9",),
)
PARAMETERS = [*_SHARED, given("XOFF; high of CI", "750 and 1500 KB; 300 and 600 KB", "Memory Sensitivity")]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the gain by each higher threshold for congested flows and for non-congested flows."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(5, 2.8), layout="constrained")
        axes: Any = drawing.subplots()
        for place, (usual, changed) in enumerate(_CHANGES.values()):
            for index, group in enumerate(_GROUPS):
                found = gain_of(_effects(runs, usual, changed, group))
                axes.errorbar(
                    place + 0.2 * index - 0.1,
                    100 * found.share,
                    yerr=100 * (found.half or 0),
                    fmt="o",
                    markersize=4,
                    color=COLOURS[index],
                    label=group if place == 0 else None,
                )
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xticks(range(len(_CHANGES)), [changed for _, changed in _CHANGES.values()])
        axes.set_xlim(-0.5, len(_CHANGES) - 0.5)
        axes.set_ylabel("gain of the mean FCT (%), 95 % interval")
        legend_below(drawing, 2)
        write(drawing, path)
