"""Future work of the document: variants of BCN, more flows, another topology, gains from the number of flows, QCN.

Source: the BCN hot spot deck, "Conclusion" and "Future Work". Topology B (five contenders an edge switch) with 22 and
80 flows unless stated otherwise. The deck publishes no results to compare with, so one claim of ours is judged and the
rest is reported. Runs last until well after the time to stability that `degree.py` expects. Ours:

- BCN(max) above 96 KB (4 Qeq), BCN(0,0) above 120 KB, and both; PAUSE, at 140 KB, would keep the queue from much higher
  levels;
- gains from the number of flows: Gi divided by N / 4, and Gd unchanged. A sample raises one flow by Gi Fb Ru regardless
  of the flow's share of the link (C / N), and cuts the flow in proportion: with more flows, raises outweigh cuts. N is
  exact, or wrong by a factor of two in either direction, like an estimate;
- without PAUSE, outputs have 1 MB each;
- two core switches (a two-tier Clos): the hot queue is at the output where both meet, and all switches have congestion
  points;
- QCN with the parameters of 802.1Qau, on the same runs: QCN's own Qeq is 26 KB, with a sample every 150 KB at first;
  time to stability is measured at BCN's 48 KB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import Judged, Part
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.bcn._network import DEFAULT, GI, TOPOLOGIES, Setting, scenario
from xoff_experiments.bcn._parameters import hot_spot
from xoff_experiments.bcn._runs import SEEDS, TABLES, Runs, cases, mean_of, runs_of, stability_ms, told

CITATION = "BCN hot spots, IEEE 802.1au, 'Future Work'"

PER_EDGE = TOPOLOGIES["B"]
REASON = (
    "Never stable in some seed: {}. Where it is drift: 160 limiters gain 160 Mb/s each millisecond, more than 12.2 "
    "samples a millisecond take from limiters at their share of 62.5 Mb/s, 9.75 % each: 74 Mb/s. Without PAUSE edge "
    "switches never fill, so that the core samples alone: 80 flows take longer than this run."
)
UNTIL_MS, QUICK = {22: 130.0, 80: 200.0}, {8: 73.0}
MORE, MORE_UNTIL_MS = 160, 300.0


def variants(degree: int) -> dict[str, Setting]:
    """Returns the settings by name."""
    return {
        "BCN": DEFAULT,
        "BCN(0,0)": replace(DEFAULT, stop_kb=120),
        "BCN(max)": replace(DEFAULT, max_kb=96),
        "both": replace(DEFAULT, stop_kb=120, max_kb=96),
        "gains from N": replace(DEFAULT, gi=GI * 4 / degree),
        "gains from N / 2": replace(DEFAULT, gi=GI * 8 / degree),
        "gains from 2 N": replace(DEFAULT, gi=GI * 2 / degree),
        "two cores": replace(DEFAULT, spines=2),
        "no PAUSE, 1 MB": replace(DEFAULT, pause=False, buffer="1MB"),
        "QCN": replace(DEFAULT, scheme="qcn"),
    }


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by degree, variant and seed."""
    degrees, seeds = (QUICK, SEEDS[:1]) if quick else (UNTIL_MS, SEEDS[:2])
    made = {
        f"{degree}/{name}/seed {seed}": scenario(degree, PER_EDGE, until, seed, setting)
        for degree, until in degrees.items()
        for name, setting in variants(degree).items()
        for seed in seeds
    }
    if not quick:
        made |= {
            f"{MORE}/{name}/seed {seed}": scenario(MORE, PER_EDGE, MORE_UNTIL_MS, seed, setting)
            for name, setting in (("BCN", DEFAULT), ("drift of 1 Mb/s", replace(DEFAULT, drift_mbps=1)))
            for seed in seeds
        }
    return made


def judge(runs: Runs) -> dict[str, Part]:
    """Reports every variant, and judges whether all variants become stable."""
    measured: dict[str, Any] = {}
    unstable = []
    for case in cases(runs):
        found = runs.each(case)
        times = [run.stability_ms for run in found]
        if None in times:
            unstable.append(case)
        swing = [run.verdict() for run in found].count("grows")
        degree, _, name = case.partition("/")
        measured[f"{degree} flows, {name}"] = (
            f"time to stability (ms) {told(times)}; settle time (ms) {told([run.settle_ms for run in found])}; "
            f"{fmean(run.above_share() for run in found):.0%} of the 50 ms after above 2 Qeq; "
            f"link {fmean(run.hot_gbps for run in found):.2f} Gb/s; innocents held "
            f"{fmean(run.innocents_held() for run in found):.1f} ms; {fmean(run.drops for run in found):.0f} drops "
            f"in {fmean(run.dropping_ms for run in found):.1f} ms; "
            f"swing grows in {swing} of {len(found)}"
        )
    return {"beyond": Part(not unstable, measured, reason=REASON.format(", ".join(unstable)))}


JUDGED = Judged(
    document="bcn",
    statements={
        "beyond": "Future work of the document, whose answer it leaves open; ours: each variant of BCN, more flows, "
        "gains from the number of flows, another topology and QCN become stable within the run in every seed",
    },
    ours=("beyond",),
    runs=runs_of,
    judge=judge,
)
PARAMETERS = hot_spot("22, 80 and 160")
READS = TABLES
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean time to stability of each variant, with its interval; none where a seed never is."""
    runs = runs_of(results)
    known = cases(runs)
    names = list(dict.fromkeys(case.partition("/")[2] for case in known))
    with rc_context(STYLE):
        drawing, axes = canvas(8.4, 3.8)
        series = []
        degrees = list(dict.fromkeys(case.partition("/")[0] for case in known))
        for index, degree in enumerate(degrees):
            row: list[float | None] = []
            for group, name in enumerate(names):
                times = stability_ms(runs, f"{degree}/{name}") if f"{degree}/{name}" in known else []
                row.append(mean_of(times))
                place = group + (index - (len(degrees) - 1) / 2) * 0.8 / len(degrees)
                if row[-1] is None and times:
                    axes.text(place, 3, "not within the run", rotation=90, fontsize=6, ha="center", va="bottom")
                elif row[-1] is not None:
                    margin = interval([time for time in times if time is not None]).margin
                    axes.errorbar(place, row[-1], yerr=margin or 0, color="#444444", elinewidth=0.8, capsize=1.5)
            series.append((f"{degree} flows", row))
        grouped_bars(axes, names, series, digits=0)
        axes.tick_params(axis="x", labelrotation=30, labelsize=7)
        axes.set_ylabel("time to stability (ms)")
        axes.legend(fontsize=8)
        write(drawing, path)
