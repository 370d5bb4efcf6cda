"""What the values that the document leaves open do to the time to stability.

Source: none; the document gives no value for any of these. Each is changed alone, with 20 and 40 flows in topologies A
and B; the first line has them as everywhere else. What a limiter starts at matters most: the line's rate, as nothing in
the document measures what a source sends, or 20 / N Gb/s, which it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.experiments.bcn._network import CORE_ALONE, DEFAULT, HOT_GBPS, TOPOLOGIES, Setting, scenario, until_ms
from xoff.experiments.bcn._parameters import hot_spot
from xoff.experiments.bcn._runs import COLOURS, SEEDS, Runs, cases, mean_of, runs_of, stability_ms, told
from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "BCN hot spots, IEEE 802.1au: what the deck leaves open"

JUDGED, DEGREES, QUICK, CHOICE_SEEDS = ("A", "B"), (20, 40), (10,), SEEDS[:2]
LITTLE = 0.25
REASON = (
    "Changed by more than a quarter, or not stable within the run: {}. What a limiter starts at sets how far it has "
    "to come "
    "down; edge switches without congestion points cut nobody; a drift of 10 Mb/s a millisecond undoes what samples "
    "cut."
)


def choices(degree: int) -> dict[str, Setting]:
    """Return the settings by name."""
    return {
        "as everywhere": DEFAULT,
        "limiters start at 20 / N Gb/s": replace(DEFAULT, initial_gbps=HOT_GBPS / degree),
        "gains before rounding": replace(DEFAULT, gi=1000 / 1875, gd=0.5 / 1875),
        "drift of 1 Mb/s": replace(DEFAULT, drift_mbps=1),
        "drift of 10 Mb/s": replace(DEFAULT, drift_mbps=10),
        "least rate 1 Mb/s": replace(DEFAULT, minimum_mbps=1),
        "innocents 1 Gb/s": replace(DEFAULT, innocents_gbps=1),
        "innocents 5 Gb/s": replace(DEFAULT, innocents_gbps=5),
        "PAUSE by the queue of the output": replace(DEFAULT, accounting="egress"),
        "points at the core alone": replace(DEFAULT, edges=False),
        "both, and drift: as in degree_core": CORE_ALONE,
    }


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by topology, degree, choice and seed."""
    return {
        f"{topology}/{degree}/{name}/seed {seed}": scenario(
            degree, TOPOLOGIES[topology], until_ms(degree), seed, setting
        )
        for topology in JUDGED
        for degree in (QUICK if quick else DEGREES)
        for name, setting in choices(degree).items()
        for seed in (CHOICE_SEEDS[:1] if quick else CHOICE_SEEDS)
    }


def judge(runs: Runs) -> dict[str, Part]:
    """Judge the mean of each choice against that of the first."""
    measured: dict[str, Any] = {}
    much = []
    for case in cases(runs):
        topology, degree, name = case.split("/", 2)
        usual = mean_of(stability_ms(runs, f"{topology}/{degree}/{next(iter(choices(int(degree))))}"))
        found = mean_of(stability_ms(runs, case))
        if usual is None or found is None or abs(found / usual - 1) > LITTLE:
            much.append(f"{topology}, {degree} flows, {name}")
        key = f"{topology}, {degree} flows: time to stability (ms)"
        measured.setdefault(key, {})[name] = told(stability_ms(runs, case))
    return {"choices": Part(not much, measured, reason=REASON.format("; ".join(much)))}


_JUDGED = Judged(
    document="bcn",
    statements={
        "choices": "Ours: no value that the document leaves open changes the time to stability by more than a quarter",
    },
    ours=("choices",),
    runs=runs_of,
    judge=judge,
)
PARAMETERS = hot_spot("20 and 40")
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the mean time to stability with each choice, a panel for each degree."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(8.4, 3.6), layout="constrained")
        degrees = sorted({int(name.split("/")[1]) for name in runs.names})
        panels = drawing.subplots(1, len(degrees), sharey=True, squeeze=False)[0]
        for axes, degree in zip(panels, degrees, strict=True):
            names = list(choices(degree))
            for index, topology in enumerate(JUDGED):
                means = [mean_of(stability_ms(runs, f"{topology}/{degree}/{name}")) for name in names]
                places = [row + (index - 0.5) * 0.3 for row, mean in enumerate(means) if mean is not None]
                axes.plot([mean for mean in means if mean is not None], places, "o", color=COLOURS[topology])
                for row in (row for row, mean in enumerate(means) if mean is None):
                    place = row + (index - 0.5) * 0.3
                    axes.text(0, place, " not within the run", color=COLOURS[topology], fontsize=6, va="center")
            axes.set_yticks(range(len(names)), names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlim(left=0)
            axes.set_xlabel(f"time to stability (ms), {degree} flows")
        handles = [axes.plot([], [], "o", color=COLOURS[topology], label=topology)[0] for topology in JUDGED]
        drawing.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8)
        write(drawing, path)
