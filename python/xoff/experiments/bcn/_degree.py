"""A sweep over the degree of the hot spot, for one, five and ten flows of each kind an edge switch.

Three experiments share it: the main reading; limiters that start at what their sources send; and congestion points at
the core alone. The last two have fewer degrees, and two seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any, TypeAlias

from matplotlib import rc_context

from xoff.experiments.bcn._network import (
    DEGREES,
    GD,
    JITTER_KB,
    LINE_GBPS,
    QEQ_BYTES,
    SAMPLE_KB,
    START_MS,
    TOPOLOGIES,
    Setting,
    scenario,
)
from xoff.experiments.bcn._runs import COLOURS, SEEDS, Runs, degrees, mean_of, runs_of, stability_ms, told
from xoff.plots import STYLE, canvas, write
from xoff.reproduce import Judged, Part
from xoff.results import Result
from xoff.statistics import interval

TEXTS = {
    "B.2": "Topology A (one flow of each kind an edge switch): time to stability grows linearly with the degree",
    "B.3": "With five flows an edge switch head-of-line blocking from PAUSE shortens time to stability, and innocent "
    "flows pay for it by being held",
    "B.4": "With many flows the times to stability of topologies A, B and C converge",
}
QUICK = {"A": (10, 20, 30), "B": (20, 30), "C": (30,)}
COARSE = {"A": (10, 20, 30, 40, 50, 60, 70, 80), "B": (20, 40, 60, 80), "C": (40, 60, 80)}
LINEAR, ALIKE = 0.95, 0.15

Times: TypeAlias = Mapping[str, Mapping[int, list[float | None]]]
"""Times to stability by topology and degree, of all seeds."""
Means: TypeAlias = Mapping[str, Mapping[int, float | None]]
"""Their means; none where some seed never is."""
Known: TypeAlias = Mapping[str, Mapping[int, float]]
"""The means that there are, without those of links that are saturated."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Which runs, and what to expect of them."""

    reading: str
    """What ids end in; the main one has none."""
    setting: Callable[[int], Setting]
    """By degree."""
    until_ms: Callable[[int], float]
    """When a run ends, by degree."""
    cuts: Callable[[int], float]
    """The natural logarithm of how far a limiter has to come down, by degree."""
    curve: str
    """What the figure calls what is expected."""
    reasons: Mapping[str, str]
    """Why claims do not hold."""
    degrees: Mapping[str, Sequence[int]] = field(default_factory=lambda: DEGREES)
    """By topology."""
    seeds: Sequence[int] = SEEDS

    def id(self, short: str) -> str:
        """Return a claim's id in this reading, without the document."""
        return f"{short}/{self.reading}" if self.reading else short

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios by topology, degree and seed."""
        return {
            f"{topology}/{degree}/seed {seed}": scenario(
                degree, TOPOLOGIES[topology], self.until_ms(degree), seed, self.setting(degree)
            )
            for topology, known in (QUICK if quick else self.degrees).items()
            for degree in known
            for seed in self.seeds[: 2 if quick else len(self.seeds)]
        }

    def expected_ms(self, degree: int) -> float:
        """Return the time to stability that the sampling of a full link implies (see the top of `degree.py`)."""
        sample_ms = (SAMPLE_KB + JITTER_KB / 2) * 8e-3 / LINE_GBPS
        return degree * sample_ms * self.cuts(degree) / -math.log(1 - GD * QEQ_BYTES / 64)

    @property
    def judged(self) -> Judged[Runs]:
        """What is claimed, and how it is judged."""
        return Judged(
            document="bcn",
            statements={self.id(short): text for short, text in TEXTS.items()},
            runs=runs_of,
            judge=self.judge,
            reasons={self.id(short): text for short, text in self.reasons.items()},
            quick_reasons=True,
            ours=[self.id(short) for short in TEXTS] if self.reading else (),
        )

    def judge(self, runs: Runs) -> dict[str, Part]:
        """Judge growth, the order of B and A, and the spread at the end."""
        times = {
            topology: {degree: stability_ms(runs, f"{topology}/{degree}") for degree in degrees(runs, topology)}
            for topology in TOPOLOGIES
        }
        means = {name: {d: mean_of(found) for d, found in of.items()} for name, of in times.items()}
        known = {name: {d: mean for d, mean in of.items() if mean is not None and d > 2} for name, of in means.items()}
        shown = {
            f"{name}: time to stability (ms)": {d: told(of[d]) for d in (_some(list(of)) if name == "A" else of)}
            for name, of in times.items()
        }
        why = self._why(runs, known)
        return {
            self.id("B.2"): _grows(runs, times, known, shown, why),
            self.id("B.3"): _shortens(runs, means, shown, why),
            self.id("B.4"): _converges(means, shown, why),
        }

    def _why(self, runs: Runs, known: Known) -> dict[str, Any]:
        """Return what explains the times: what is expected, and how unevenly limiters are told."""
        ratio = {
            name: {d: round(mean / self.expected_ms(d), 2) for d, mean in of.items()} for name, of in known.items()
        }
        return {
            "measured over expected (see above)": {
                name: {d: of[d] for d in _some(list(of))} for name, of in ratio.items() if of
            },
            "messages, most over least of the contenders": {
                name: {
                    d: round(fmean(run.unevenness for run in runs.each(f"{name}/{d}")), 1)
                    for d in _some(degrees(runs, name))
                }
                for name in TOPOLOGIES
            },
        }

    def figure(self, results: Mapping[str, Result], path: Path) -> None:
        """Draw time to stability against degree, with intervals, and where runs ended that were not stable."""
        runs = runs_of(results)
        with rc_context(STYLE):
            drawing, axes = canvas(6.4, 3.8)
            for topology in TOPOLOGIES:
                times = {d: stability_ms(runs, f"{topology}/{d}") for d in degrees(runs, topology)}
                known = {d: [value for value in values if value is not None] for d, values in times.items()}
                known = {degree: values for degree, values in known.items() if values}
                never = [degree for degree, values in times.items() if None in values]
                ends = [self.until_ms(degree) - START_MS for degree in never]
                axes.plot(never, ends, "x", color=COLOURS[topology], markersize=4)
                found = [interval(values) for values in known.values()]
                axes.errorbar(
                    list(known),
                    [one.mean for one in found],
                    yerr=[one.margin or 0.0 for one in found],
                    color=COLOURS[topology],
                    marker="o",
                    markersize=3,
                    capsize=2,
                    label=f"{topology}: {TOPOLOGIES[topology]} + {TOPOLOGIES[topology]} an edge switch",
                )
            span = range(2, max(degrees(runs, "A")) + 1)
            axes.plot(span, [self.expected_ms(d) for d in span], color="#888888", linestyle=":", label=self.curve)
            axes.set_xlabel("contending flows; ×: not stable within the run in some seed")
            axes.set_ylabel("time to stability (ms)")
            axes.set_ylim(bottom=0)
            axes.legend(fontsize=8)
            write(drawing, path)


def _grows(runs: Runs, times: Times, known: Known, shown: dict[str, Any], why: dict[str, Any]) -> Part:
    """Judge B.2: in A a line (R² of at least 0.95 from N = 4 on), stable in every seed."""
    lines = {name: fit(of) for name, of in known.items() if len(of) > 2}
    never = [degree for degree in times["A"] if degree not in known["A"] and degree > 2]
    slope, _, explained = lines.get("A", (0.0, 0.0, 0.0))
    measured = {
        "lines (ms)": {name: f"{line[0]:.2f} · N {line[1]:+.1f}, R² {line[2]:.3f}" for name, line in lines.items()},
        "A: not stable in some seed at": never or "–",
        "longest over shortest of the seeds of a point, at most, from 4 flows on": {
            name: _apart([found for d, found in of.items() if d > 2]) for name, of in times.items()
        },
        **{key: value for key, value in shown.items() if key.startswith("A")},
        "A: settle time (ms)": {
            d: told([run.settle_ms for run in runs.each(f"A/{d}")]) for d in _some(list(times["A"]))
        },
    }
    return Part(not never and slope > 0 and explained >= LINEAR, measured | why)


def _shortens(runs: Runs, means: Means, shown: dict[str, Any], why: dict[str, Any]) -> Part:
    """Judge B.3: B is shorter than A at every degree of both, and innocents are held."""
    both = [degree for degree in means["B"] if degree in means["A"]]
    pairs = {degree: (means["A"][degree], means["B"][degree]) for degree in both}
    shorter = [degree for degree, (a, b) in pairs.items() if b is not None and (a is None or b < a)]
    # Where neither is stable within the run there is nothing to compare.
    longer = [degree for degree, (a, b) in pairs.items() if a is not None and (b is None or b >= a)]
    held = {degree: runs.mean(f"B/{degree}", lambda run: run.innocents_held()) for degree in both}
    measured = {
        "B is shorter at": shorter or "–",
        "A is shorter at": longer or "–",
        "hosts of innocents held (ms)": {d: round(held[d], 1) for d in _some(both)},
        **{key: value for key, value in shown.items() if not key.startswith("C")},
    }
    return Part(bool(shorter) and not longer and min(held.values()) > 0, measured | why)


def _converges(means: Means, shown: dict[str, Any], why: dict[str, Any]) -> Part:
    """Judge B.4: at the highest degree all are within 15 %, and closer than at the lowest."""
    three = [degree for degree in means["C"] if degree in means["A"] and degree in means["B"]]
    spread = {degree: _spread([means[name][degree] for name in TOPOLOGIES]) for degree in three}
    first, last = spread[three[0]], spread[three[-1]]
    holds = last is not None and last <= ALIKE and (len(three) < 2 or first is None or last < first)
    return Part(holds, {"spread over A, B, C (largest less smallest, over the mean)": spread} | shown | why)


def _apart(points: list[list[float | None]]) -> float | None:
    """Return how many times the shortest of a point's times the longest is, at most."""
    known = [[value for value in found if value is not None] for found in points]
    return max((round(max(found) / min(found), 2) for found in known if len(found) > 1), default=None)


def fit(points: Mapping[int, float]) -> tuple[float, float, float]:
    """Return slope and intercept of a line through points, and the share of the variance that it explains."""
    line = linear_regression(list(points), list(points.values()))
    mean = fmean(points.values())
    left = sum((value - line.slope * degree - line.intercept) ** 2 for degree, value in points.items())
    whole = sum((value - mean) ** 2 for value in points.values())
    return line.slope, line.intercept, 1 - left / whole if whole else 0.0


def _some(degrees: list[int]) -> list[int]:
    """Return a dozen of many degrees, for a table."""
    return degrees if len(degrees) <= 14 else sorted({*degrees[4::5], degrees[0]})


def _spread(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round((max(known) - min(known)) / fmean(known), 3) if len(known) == len(values) else None
