"""The three things to avoid, in cases 5 to 5.8 of Part 5: which of them is critical.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Parameter calculation process": (1)
buffer usage above the PFC threshold (SFC reacted too slowly), (2) the SFC threshold still exceeded after the pause
(it under-reacted), (3) bandwidth under-utilised (it over-reacted). "Among all three, only (3) is critical." The
simulator measures each as a time: above XOFF, above the SFC threshold after a pause has ended, and an egress idle
while a paused source holds data for it. Every run's page shows them beside the FCT; this claim is judged on the
sweep of the pause, which takes SFC from one extreme to the other.

A run is degraded if the FCT of its victims or of its incast is more than 15 % above that with the document's choice of
15 µs, as in claim 5.5-short.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.experiments.sfc._networks import ARCHITECTURES
from xoff.experiments.sfc._parameters import parameters
from xoff.experiments.sfc._runs import AVOID, Runs, judged
from xoff.experiments.sfc.pause import CASES, PAUSES_US, REFERENCE, degradation
from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Part, chosen
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, what to try to avoid"

_SLOW, _UNDER, _OVER = AVOID


def judge(runs: Runs) -> dict[str, Part]:
    """Judge: every degraded run over-reacted more than the reference; none that only reacted too little is degraded."""
    found = {case: runs(case, "pfc-sfc") for case in CASES}
    measured: dict[str, Any] = {
        AVOID[key]: {case: run.avoid_us.get(key) for case, run in found.items()} for key in AVOID
    }
    mean = {case: run.mean_us for case, run in found.items()}
    if any(len(run.avoid_us) < len(AVOID) for run in found.values()):
        return {"R": Part(False, measured)}
    reference = found[REFERENCE].avoid_us
    worse = {case: degradation(run, found[REFERENCE]) for case, run in found.items()}
    degraded = {case for case, value in worse.items() if value > ABOUT_THE_SAME}
    over = {case for case, run in found.items() if run.avoid_us[_OVER] > reference[_OVER]}
    too_little = {case for case, run in found.items() for key in (_SLOW, _UNDER) if run.avoid_us[key] > reference[key]}
    victim = {case: run.victims_us for case, run in found.items()}
    measured = {
        "victims or incast, worse than with 15 µs by": worse,
        "mean FCT over all flows (µs)": mean,
        "victim FCT (µs)": victim,
        **measured,
    }
    return {
        "R": Part(
            degraded <= over and not (too_little - over) & degraded,
            measured,
            void="" if degraded else "no pause of the sweep degrades anything",
        )
    }


_JUDGED = judged(
    statements={
        "R": "Of the three things to avoid (above the PFC threshold; above the SFC threshold after a pause; bandwidth "
        "unused while sources are paused) only the last is critical",
    },
    cases=CASES,
    variants=("pfc-sfc",),
    judge=judge,
    reasons={
        "R/oq-egress": (
            "Under-reaction is critical, too, where PFC sees the whole egress queue: pauses of 3 and 6 µs leave the "
            "link "
            "busy, PFC takes over, and the victim takes 3.6 and 2.1 times as long."
        ),
        "R/voq": (
            "A pause of 6 µs over-reacts nowhere and makes the victim take 2.6 times as long: PFC fires, and spine 0 "
            "pauses the victim's leaf."
        ),
    },
)
PARAMETERS = parameters(
    CASES,
    "Part 5, CASE 5; Part 4, what to avoid",
    [chosen("degraded", "victims or incast more than 15 % above 15 µs", "as in 5.5-short")],
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the three times, and the mean FCT, against the pause."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3.2), layout="constrained")
        row = drawing.subplots(1, len(ARCHITECTURES), sharey=True)
        for axes, architecture in zip(row, ARCHITECTURES, strict=True):
            found = {case: Runs(results, reading=architecture)(case, "pfc-sfc") for case in CASES}
            lines = {
                label: [run.avoid_us.get(key, float("nan")) for run in found.values()] for key, label in AVOID.items()
            }
            lines["mean FCT over all flows (µs)"] = [run.mean_us for run in found.values()]
            for index, (label, values) in enumerate(lines.items()):
                axes.plot(list(PAUSES_US.values()), values, "o-", markersize=3, color=COLOURS[index], label=label)
            axes.set_title(architecture, fontsize=8)
            axes.set_xlabel("pause (µs)")
        row[0].set_ylabel("time (µs)")
        drawing.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
