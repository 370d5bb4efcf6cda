"""HPCC beside DCQCN under WebSearch's sizes.

Source: HPCC's testbed (32 servers of 25 Gb/s): 99th percentiles of the slowdowns of flows below 3 KB, and the cost for
long flows. WebSearch has few flows below 3 KB, so our short flows are below 10 KB; 128 hosts of 100 Gb/s are not
oversubscribed. "Pay" is a mean slowdown of long flows above the mean under DCQCN; the published factor is its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Range, all_of, chosen, higher, lower
from xoff.results import Result
from xoff_experiments.field._fabric import MAIN, derived, scenarios_of
from xoff_experiments.field._parameters import ARRIVALS, parameters
from xoff_experiments.field._runs import BINS, Runs, mean_long, p99, told

CITATION = "HPCC: High Precision Congestion Control, SIGCOMM 2019, the testbed"
CASES = {
    f"{100 * load:.0f} %": replace(MAIN, sizes="websearch", load=load, senders=0, oversubscription=1, ms=2.0)
    for load in (0.3, 0.5)
}
ROWS = ("PFC + DCQCN", "PFC + HPCC")
PUBLISHED = {"30 %": (11.2, 2.38), "50 %": (53.9, 2.70)}
SEEDS = 5
PAY = Range(1.0, 1.24)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by load, row and seed."""
    if quick:
        return scenarios_of({name: replace(case, ms=0.6) for name, case in CASES.items()}, ROWS, 1)
    return scenarios_of(CASES, ROWS, SEEDS)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the tail of short flows, and the mean of long flows."""
    dcqcn, hpcc = ROWS
    long = {case: runs.of(case, hpcc, mean_long) / runs.of(case, dcqcn, mean_long) for case in CASES}
    by_seed = {case: {row: runs.values(case, row, p99("short")) for row in ROWS} for case in CASES}
    longs = {case: {row: runs.values(case, row, mean_long) for row in ROWS} for case in CASES}
    what, pays = "p99 of short flows' slowdown", "mean slowdown of long flows, times DCQCN's"
    return {
        "4.1": Part(
            all_of(*(lower(found[hpcc], found[dcqcn]) for found in by_seed.values())),
            {what: {f"{case}, {row}": told(runs.values(case, row, p99("short"))) for case in CASES for row in ROWS}},
            published={
                what: {
                    f"{case}, {row}": value
                    for case, pair in PUBLISHED.items()
                    for row, value in zip(ROWS, pair, strict=True)
                }
            },
        ),
        "4.2": Part(
            all_of(*(higher(found[hpcc], found[dcqcn]) for found in longs.values())),
            {pays: long},
            published={pays: PAY},
        ),
    }


JUDGED = Judged(
    document="field",
    statements={
        "4.1": "WebSearch: the tail of short flows is lower with HPCC than with DCQCN, at 30 and 50 %",
        "4.2": "Long flows pay for it with up to 1.24 times their completion time",
    },
    runs=Runs,
    judge=judge,
    reasons={
        "4.2": (
            "Long flows gain, at both loads: DCQCN cuts them, as its notifications show, and they rise again "
            "slowly; HPCC keeps them near 95 % of the line."
        )
    },
)
DERIVED = derived
PARAMETERS = parameters([*ARRIVALS, chosen("arrivals; seeds", "2 ms; five", "some 4000 flows; in the testbed more")])
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the 99th percentile of slowdowns by size."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(7, 3.2), layout="constrained")
        for axes, case in zip(drawing.subplots(1, 2, sharey=True), CASES, strict=True):
            series = [(row, [runs.of(case, row, p99(size)) for size in BINS]) for row in ROWS]
            grouped_bars(axes, list(BINS), series, digits=1)
            axes.set_title(f"WebSearch, {case}", fontsize=8)
        drawing.axes[0].set_ylabel("p99 slowdown")
        drawing.legend(*drawing.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
