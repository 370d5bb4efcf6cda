"""Reacting hosts: HPCC, DCTCP, and DCQCN and TIMELY with and without a window.

Source: a rerun of the code of HPCC's evaluation with all of its schemes, Hadoop's sizes at 50 %, and at 30 % with
incasts of 60 senders (2 % of the capacity). The rerun has 320 hosts in three tiers, our runs 128 in two tiers; neither
is oversubscribed. A further source is the HPCC authors' report on pauses. Short flows have up to 1 KB in the source,
and less than 10 KB in our runs; the 95th percentile is HPCC's. "Two orders of magnitude" is 30 times and more (the
published factors are 113 and 133). A window "takes that away" if the tail with a window is at most a tenth of the tail
without a window (published: 1/37 and 1/24).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, Canvas, write
from xoff.reproduce import Judged, Part, all_of, chosen, lower, never, ordered
from xoff.results import Result
from xoff_experiments.field._fabric import MAIN, derived, scenarios_of
from xoff_experiments.field._parameters import ARRIVALS, INCASTS, parameters
from xoff_experiments.field._runs import BINS, Runs, percentile, told

CITATION = "HPCC: High Precision Congestion Control, SIGCOMM 2019, and a rerun of its code"
PLAIN, INCASTS_TOO = "50 %", "30 % + incast"
CASES = {
    PLAIN: replace(MAIN, senders=0, oversubscription=1, ms=2.0),
    INCASTS_TOO: replace(MAIN, load=0.3, oversubscription=1, ms=2.0),
}
ROWS = {
    "PFC + HPCC": (1.7, 1.7),
    "PFC + DCTCP": (3.5, 3.25),
    "PFC + DCQCN, window": (4.3, 5.15),
    "PFC + TIMELY, window": (4.15, 9.3),
    "PFC + DCQCN": (8.6, 191.5),
    "PFC + TIMELY": (10.3, 225.5),
}
"""Published 95th percentiles of the slowdowns of flows up to 1 KB: at 50 %, and at 30 % with incasts."""
ORDER = ("PFC + HPCC", "PFC + DCTCP", "PFC + DCQCN", "PFC + TIMELY")
SEEDS = 5
MANY, AWAY = 30, 0.1
_TAIL = percentile("short", 0.95)
_WHAT = "p95 of short flows' slowdown"


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by case, row and seed."""
    if quick:
        return scenarios_of({name: replace(case, ms=0.4) for name, case in CASES.items()}, ROWS, 1)
    return scenarios_of(CASES, ROWS, SEEDS)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the order at 50 %, the effect of incasts with and without windows, and HPCC's pauses."""
    tails = {case: {row: runs.of(case, row, _TAIL) for row in ROWS} for case in CASES}
    incast = tails[INCASTS_TOO]
    free = ("PFC + DCQCN", "PFC + TIMELY")
    by_seed = {case: {row: runs.values(case, row, _TAIL) for row in ROWS} for case in CASES}
    under = by_seed[INCASTS_TOO]
    over = {row: incast[row] / incast["PFC + HPCC"] for row in free}
    left = {row: incast[f"{row}, window"] / incast[row] for row in over}
    spreads = {case: {row: told(runs.values(case, row, _TAIL)) for row in ROWS} for case in CASES}
    pauses = {row: [run.pauses for run in runs.each(f"{PLAIN}/{row}")] for row in ORDER}
    published = {case: {row: values[i] for row, values in ROWS.items()} for i, case in enumerate(CASES)}
    return {
        "3.1": Part(
            ordered([by_seed[PLAIN][row] for row in ORDER]),
            {_WHAT: spreads[PLAIN]},
            published={_WHAT: published[PLAIN]},
        ),
        "3.2": Part(
            all_of(*(lower([MANY * one for one in under["PFC + HPCC"]], under[row]) for row in free)),
            {"times HPCC's": over, _WHAT: spreads[INCASTS_TOO]},
            published={"times HPCC's": {"PFC + DCQCN": 113, "PFC + TIMELY": 133}, _WHAT: published[INCASTS_TOO]},
        ),
        "3.3": Part(
            all_of(*(lower(under[f"{row}, window"], [AWAY * one for one in under[row]]) for row in free)),
            {"with a window, share of that without": left},
            published={"with a window, share of that without": {"PFC + DCQCN": 0.027, "PFC + TIMELY": 0.041}},
        ),
        "3.4": Part(never(pauses["PFC + HPCC"]), {"pauses in all seeds": {row: sum(of) for row, of in pauses.items()}}),
    }


JUDGED = Judged(
    document="field",
    statements={
        "3.1": "Hadoop at 50 %: the tail of short flows is lowest with HPCC, then DCTCP, DCQCN and TIMELY",
        "3.2": "With incasts, tails of short flows under DCQCN and TIMELY without a window are two orders of magnitude "
        "above HPCC's",
        "3.3": "A window of one bandwidth-delay product takes that away",
        "3.4": "HPCC at 50 % makes no PFC pauses",
    },
    runs=Runs,
    judge=judge,
    reasons={
        "3.1": (
            "HPCC is lowest and TIMELY without a window highest, as published, but DCTCP is above DCQCN with a "
            "window and without: its step at 300 KB is above the 100 KB from which DCQCN is marked."
        ),
    },
)
DERIVED = derived
PARAMETERS = parameters(
    [INCASTS, *ARRIVALS, chosen("arrivals; seeds", "2 ms; five", "the rerun's are longer: queues grow on there")]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the 95th percentile of slowdowns by size."""
    runs = Runs(results)
    sizes = [size for size in BINS if size != "all"]
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8, 3.4), layout="constrained")
        for axes, case in zip(drawing.subplots(1, 2, sharey=True), CASES, strict=True):
            for index, row in enumerate(ROWS):
                values = [runs.of(case, row, percentile(size, 0.95)) for size in sizes]
                axes.plot(sizes, values, "o-", markersize=3, color=COLOURS[index], label=row)
            axes.set_yscale("log")
            axes.set_title(f"Hadoop, {case}", fontsize=8)
        drawing.axes[0].set_ylabel("p95 slowdown")
        drawing.legend(*drawing.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
        write(drawing, path)
