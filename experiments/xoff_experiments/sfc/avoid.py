"""The three things to avoid, in cases 5 to 5.8 of Part 5: which is critical.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, Part 4, slide "Parameter calculation process": (1)
buffer usage above the PFC threshold (SFC reacted too slowly), (2) the SFC threshold still exceeded after the pause (it
under-reacted), (3) bandwidth under-utilised (it over-reacted). "Among all three, only (3) is critical."

The simulator measures each as a time: above XOFF, above the SFC threshold after a pause has ended, and an egress idle
while a paused source holds data for the egress. Every run's page shows the three times beside the FCT. The claim is
judged on the sweep of the pause, which takes SFC from one extreme to the other. A run is degraded if the FCT of its
victims or of its incast is more than 15 % above the FCT with the document's choice of 15 µs, as in claim 5.5-short; in
the reading against PFC only, more than 15 % above the FCT without SFC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Part, all_of, any_of, chosen, higher, opposite
from xoff.results import Result
from xoff_experiments.sfc._figures import switches
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import AVOID, Run, Runs, judged, mean_us, shown, victims_us
from xoff_experiments.sfc.pause import CASES, PAUSES_US, READINGS, REFERENCE, degradations, is_degraded

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Part 4, what to try to avoid"

_SLOW, _UNDER, _OVER = AVOID


def judge(runs: Runs) -> dict[str, Part]:
    """Judges that every degraded case has over-reacted more than the reference."""
    times = {key: {case: runs.drawn(case, "pfc-sfc", _time(key)) for case in CASES} for key in AVOID}
    worse = {case: degradations(runs, case) for case in CASES}
    others = [case for case in CASES if case != REFERENCE]
    degraded = {case: is_degraded(worse[case]) for case in others}
    over = {case: higher(times[_OVER][case], times[_OVER][REFERENCE]) for case in others}
    too_little = {
        case: any_of(*(higher(times[key][case], times[key][REFERENCE]) for key in (_SLOW, _UNDER))) for case in others
    }
    measured: dict[str, Any] = {
        f"victims or incast worse by, {runs.reading}": shown(worse),
        "mean FCT over all flows (µs)": {case: runs.over(case, "pfc-sfc", mean_us) for case in CASES},
        "victim FCT (µs)": {case: runs.over(case, "pfc-sfc", victims_us) for case in CASES},
        **{AVOID[key]: shown(found) for key, found in times.items()},
    }
    # A degraded case without over-reaction contradicts the statement, whether or not SFC reacted too little.
    innocent = all_of(*(any_of(opposite(degraded[case]), over[case]) for case in others))
    measured["reacted too little, and not too much, with"] = (
        ", ".join(case for case in others if too_little[case].answer == "holds" and over[case].answer != "holds")
        or "none"
    )
    is_met = any(one.answer == "holds" for one in degraded.values())
    return {"R": Part(innocent, measured, void="" if is_met else "no pause of the sweep degrades anything")}


def _time(key: str) -> Callable[[Run], float]:
    return lambda run: run.avoid_us[key]


JUDGED = judged(
    statements={
        "R": "Of the three things to avoid (above the PFC threshold; above the SFC threshold after a pause; bandwidth "
        "unused while sources are paused) only the last is critical",
    },
    cases=CASES,
    variants=("pfc", "pfc-sfc"),
    judge=judge,
    readings=READINGS,
    reasons={
        "R": (
            "Pauses of 3, 6 and 10 µs react too little, over-react nowhere, and the victim takes 2.6, 2.6 and 1.5 "
            "times as long as with 15 µs: PFC is in charge, and holds it. No pause that reacts too little is worse "
            "than PFC alone, though, and 160 µs, which over-reacts, is (mean FCT 1248 µs instead of 987)."
        ),
    },
)
PARAMETERS = parameters(
    CASES,
    "Part 5, CASE 5; Part 4, what to avoid",
    [chosen("degraded", "victims or incast more than 15 % above 15 µs", "as in 5.5-short")],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the three times, and the mean FCT, against the pause."""
    with rc_context(STYLE):
        panels = switches(results)
        drawing = Canvas(figsize=(9, 3.2), layout="constrained")
        row = drawing.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (choice, title) in zip(row, panels.items(), strict=True):
            runs = Runs(results, choice)
            found = {case: runs(case, "pfc-sfc") for case in CASES}
            lines = {
                label: [run.avoid_us.get(key, float("nan")) for run in found.values()] for key, label in AVOID.items()
            }
            lines["mean FCT over all flows (µs)"] = [run.mean_us for run in found.values()]
            for index, (label, values) in enumerate(lines.items()):
                axes.plot(list(PAUSES_US.values()), values, "o-", markersize=3, color=COLOURS[index], label=label)
            axes.set_title(title, fontsize=8)
            axes.set_xlabel("pause (µs)")
        row[0].set_ylabel("time (µs)")
        drawing.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
