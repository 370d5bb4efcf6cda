"""C.6e: elephants under CI with and without the static latency of a switch, on 48 seeds.

Source: "Simulation Analysis of Congestion Isolation", IEEE 802.1, January 2018, slide "Including Static Switch
Latency". Predicate and runs are those of C.6-elephants, with more seeds. Ten seeds leave C.6-elephants undecided. By
their deviation in version 0.3.0, 48 would decide. Ours: the statement is not counted, as C.6-elephants is a part of
C.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Cases, Judged, Part, chosen, given
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.congestion_isolation._fabric import SET_UP, Case, scenario
from xoff_experiments.congestion_isolation._parameters import PARAMETERS as _SHARED
from xoff_experiments.congestion_isolation._runs import QUICK_MS, QUICK_SEEDS, Runs
from xoff_experiments.congestion_isolation.latency import SLOWER, USUAL, added_to_elephants, elephants

CITATION = "Simulation Analysis of Congestion Isolation, IEEE 802.1, 2018, Including Static Switch Latency"

_SEEDS = range(1, 49)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges that elephants take much longer, and that pauses increase, as C.6-elephants does."""
    part = elephants(runs, "ci")
    found = interval(added_to_elephants(runs, "ci"))
    margin = "–" if found.margin is None else f"{found.margin:.0f}"
    shown = {"mean and 95 % interval of the added time (µs)": f"{found.mean:.0f} ± {margin}"}
    return {"C.6e": replace(part, measured=part.measured | shown, published={})}


def _sized(case: Case, _: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed; there are no open choices."""
    if quick:
        return {seed: replace(case, seed=seed, ms=QUICK_MS, ends=True) for seed in QUICK_SEEDS}
    return {seed: replace(case, seed=seed) for seed in _SEEDS}


JUDGED = Judged(
    document="congestion-isolation",
    statements={"C.6e": "Ours: C.6-elephants on 48 seeds, of which ten are the page's"},
    runs=Runs,
    judge=judge,
    cases=Cases(
        cases={USUAL: Case(), SLOWER: Case(switch_ns=400)},
        variants=("ci",),
        scenario=scenario,
        sized=_sized,
    ),
    set_up=SET_UP,
    ours=("C.6e",),
    reasons={
        "C.6e": (
            "Elephants take 15 ± 31 µs longer, 0.2 % of their mean, within chance. The deck has 200 µs, which is "
            "above the interval."
        ),
    },
    limits={"C.6e": "C.6-elephants is judged with other choices; only the number of seeds differs."},
)
PARAMETERS = [
    *_SHARED,
    given("latency of a switch", "none and 400 ns", "Including Static Switch Latency"),
    chosen("seeds", "1 to 48", "the number that decides by the deviation of ten seeds in version 0.3.0"),
]
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean of the added time and its 95 % interval by the number of seeds."""
    added = added_to_elephants(Runs(results), "ci")
    counts = range(2, len(added) + 1)
    found = [interval(added[:count]) for count in counts]
    with rc_context(STYLE):
        drawing = Canvas(figsize=(5, 2.8), layout="constrained")
        axes: Any = drawing.subplots()
        axes.fill_between(
            counts,
            [one.mean - (one.margin or 0) for one in found],
            [one.mean + (one.margin or 0) for one in found],
            color=COLOURS[0],
            alpha=0.25,
            linewidth=0,
        )
        axes.plot(counts, [one.mean for one in found], color=COLOURS[0], linewidth=1)
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xlabel("seeds")
        axes.set_ylabel("added to flows above 10 MB (µs)")
        write(drawing, path)
