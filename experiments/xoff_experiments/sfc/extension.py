"""Beyond the document: pause and threshold that the switch sets itself, against the fixed ones on the same runs.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, "Thoughts": "Leverage more information from the
network for more accurate control (e.g., dynamically sets the pause time and/or the SFC threshold based on detected
incast severity and buffer occupancy along the path)", for future extension. The document has no numbers on it: the
statement judged is ours.

With N sources in the queue, the round trip R of the document's formulas (2.4 µs in the 2-layer network, 4.2 µs in
the 3-layer one) and the line rate C, the pause is (N - 1)·R and half the time that the queue takes to drain; the
threshold is (N - 1)·R·C below XOFF. Everything else is that of the document's case. "More accurate" is a lower mean
FCT over all flows in every case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from xoff import _core
from xoff.reproduce import Part, all_of, chosen, lower
from xoff.results import Result
from xoff_experiments.sfc._figures import groups
from xoff_experiments.sfc._networks import THREE_LAYER, TWO_LAYER, Case
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Run, Runs, judged, mean_us, pauses, victims_us

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Thoughts (future extension)"

_FIVE = replace(TWO_LAYER, incast=5)
_FIXED = {
    "1": TWO_LAYER,
    "3": _FIVE,
    "3.1a": replace(_FIVE, buffer_kb=800, pfc_kb=780, sfc_kb=400, pause_us=15),
    "1, 3-layer": THREE_LAYER,
    "2a, 3-layer": replace(THREE_LAYER, incast=5),
    "2b, 3-layer": replace(THREE_LAYER, incast=7),
}
_FIGURES: dict[str, Callable[[Run], float]] = {
    "mean FCT over all flows (µs)": mean_us,
    "victims' mean FCT (µs)": victims_us,
    "PFC pauses": pauses,
    "SFCMs": lambda run: run.sfcms,
}
_KINDS: dict[str, dict[str, bool]] = {
    "fixed": {},
    "dynamic pause": {"pause": True},
    "dynamic threshold": {"threshold": True},
    "dynamic": {"pause": True, "threshold": True},
}


def _case(case: Case, dynamic: dict[str, bool]) -> Case:
    if not dynamic:
        return case
    computed = [("pause", None), ("interval", None)] if "pause" in dynamic else []
    computed += [("threshold", None)] if "threshold" in dynamic else []
    round_trip = "2.4us" if case.layers == 2 else "4.2us"
    return replace(case, sfc=(*computed, ("dynamic", dynamic), ("round_trip", round_trip)))


_CASES = {f"{name}, {kind}": _case(case, dynamic) for name, case in _FIXED.items() for kind, dynamic in _KINDS.items()}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: dynamic pause and threshold together lower the mean FCT over all flows in every case."""
    measured: dict[str, Any] = {}
    decisions = []
    for name in _FIXED:
        by_kind = {kind: f"{name}, {kind}" for kind in _KINDS}
        decisions.append(lower(*(runs.drawn(by_kind[kind], "pfc-sfc", mean_us) for kind in ("dynamic", "fixed"))))
        for what, value in _FIGURES.items():
            measured[f"case {name}: {what}"] = {
                kind: runs.over(case, "pfc-sfc", value) for kind, case in by_kind.items()
            }
    return {"X": Part(all_of(*decisions), measured)}


JUDGED = judged(
    statements={
        "X": "Extension: a pause and a threshold set from occupancy and sources control more accurately than fixed "
        "ones: the mean FCT over all flows is lower in every case",
    },
    cases=_CASES,
    variants=("pfc-sfc",),
    judge=judge,
    varied=False,
    ours=("X",),
    reasons={
        "X": (
            "The dynamic threshold lies (N - 1) round trips below XOFF with N counted over the inputs of an output, "
            "though each input has that much of its own: SFC acts late, and PFC fires (248 pauses instead of 109 in "
            "case 1). The dynamic pause alone is better than the fixed one from 5-to-1 on, and like it at 3-to-1."
        ),
    },
)
# Runs of a core without these keys have no values to compare.
PARAMETERS = parameters(
    _FIXED,
    "the tables of Parts 4 and 5",
    [
        chosen(
            "dynamic pause",
            "(N - 1)·R and half the time the queue takes to drain",
            "N sources counted, R the formulas' round trip",
        ),
        chosen("dynamic threshold", "(N - 1)·R·C below XOFF", "the formulas"),
    ],
)
CLAIMS = JUDGED.listed if '"dynamic"' in _core.schema() else {}
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw, for each architecture, the mean FCT of each kind by case."""
    groups(results, path, {kind: [(f"{name}, {kind}", "pfc-sfc") for name in _FIXED] for kind in _KINDS}, list(_FIXED))
