"""Time to stability against the degree of the hot spot, for one, five and ten flows of each kind an edge switch.

Source: the BCN hot spot deck, "Hotspot Degree vs Time To Stability" and the three slides after it. The senders together
offer 20 Gb/s to a link of 10 Gb/s, from 5 ms on; PAUSE is on, BCN(0,0) and BCN(max) are off. The document has one run
per point, so "linear" and "converges" describe single runs: each seed has its own line and spread.

Ours: innocents of an edge switch together offer 2.5 Gb/s to the next edge switch; a run ends 70 ms and 1.5 ms a flow
after its start (with congestion points at the core alone 40 and 3.5, and 7.5 for each flow above 58); N = 2 in topology
A saturates its links, and is drawn but not judged. Choices have three seeds and fewer degrees, and are in
`_network.py`.

An edge switch under PAUSE fills its own queues, and its congestion points cut contenders as well. Samples are then more
frequent than the 12.2 per ms of the hot link alone. The figure's dotted line shows the hot link alone: a full link
takes a sample every 82 µs, and each sample cuts one limiter by Gd Qeq = 9.75 %. A limiter starts at the line's 10 Gb/s
and limits nothing until ln N / 0.1026 cuts have brought the rate near 10 / N. All limiters together need N · 82 µs · ln
N / 0.1026.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any, TypeAlias

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, write
from xoff.reproduce import Cases, Judged, Part, Spread, about_the_same, all_of, fact, lower, positive, some
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.bcn._network import (
    DEGREES,
    GD,
    HOT_GBPS,
    JITTER_KB,
    LINE_GBPS,
    QEQ_BYTES,
    SAMPLE_KB,
    SET_UP,
    START_MS,
    TOPOLOGIES,
    Setting,
    scenario,
)
from xoff_experiments.bcn._parameters import hot_spot
from xoff_experiments.bcn._runs import COLOURS, SEEDS, TABLES, Runs, degrees, mean_of, runs_of, stability_ms, told

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability'"

LINEAR = 0.95
"""The share of the variance that a straight line explains."""
COARSE = {"A": (20, 40, 60, 80), "B": (20, 40, 80), "C": (40, 80)}
"""The degrees of choices, by topology."""
QUICK = {"A": (10, 20, 40), "B": (20, 40), "C": (40,)}

MORE_SEEDS = tuple(range(SEEDS[0], SEEDS[0] + 15))
"""The seeds of the main reading: eight left B.4 undecided, and 15 would decide by their deviation."""

Times: TypeAlias = Mapping[str, Mapping[int, list[float | None]]]
"""Times to stability by topology and degree, of all seeds; None is never."""


@dataclass(frozen=True, kw_only=True)
class Point(Setting):
    """A hot spot of one degree in one topology."""

    topology: str
    degree: int
    seed: int = 0
    from_sent: bool = False
    """Ours: limiters start at the rates of their sources, 20 / N Gb/s."""

    @property
    def until_ms(self) -> float:
        """The end of a run in ms (ours), long enough to become stable."""
        if self.edges:
            return 70 + 1.5 * self.degree
        return min(430, 40 + 3.5 * self.degree + 7.5 * max(0, self.degree - 58))


CHOICES: dict[str, dict[str, Any]] = {
    "congestion points at the core alone": {"edges": False},
    "PAUSE by the queue of the output": {"accounting": "egress"},
    "drift of 1 Mb/s a millisecond": {"drift_mbps": 1.0},
    "core alone, PAUSE by the output, drift of 1 Mb/s": {"edges": False, "accounting": "egress", "drift_mbps": 1.0},
    "limiters start at 20 / N Gb/s": {"from_sent": True},
    "innocents 1 Gb/s": {"innocents_gbps": 1.0},
    "innocents 5 Gb/s": {"innocents_gbps": 5.0},
}
PROBES = {"severity": {f"{total} Gb/s in all": {"hot_gbps": float(total)} for total in (25, 30)}}


def _scenario(point: Point, _: str) -> dict[str, Any]:
    setting = replace(point, initial_gbps=HOT_GBPS / point.degree) if point.from_sent else point
    return scenario(point.degree, TOPOLOGIES[point.topology], point.until_ms, point.seed, setting)


def _sized(point: Point, choice: str, quick: bool) -> dict[int | None, Point]:
    if quick and (choice or point.degree not in QUICK[point.topology]):
        return {}
    if choice and point.degree not in COARSE[point.topology]:
        return {}
    seeds = SEEDS[:3] if quick or choice else MORE_SEEDS
    return {seed: replace(point, seed=seed) for seed in seeds}


def expected_ms(degree: int) -> float:
    """Returns the time to stability implied by the sampling of a full link (see the module's text)."""
    sample_ms = (SAMPLE_KB + JITTER_KB / 2) * 8e-3 / LINE_GBPS
    return degree * sample_ms * math.log(degree) / -math.log(1 - GD * QEQ_BYTES / 64)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges growth, the order of B and A, and the spread at the end."""
    times = {
        topology: {degree: stability_ms(runs, f"{topology}/{degree}") for degree in degrees(runs, topology)}
        for topology in TOPOLOGIES
    }
    shown = {f"{name}: time to stability (ms)": {d: told(of[d]) for d in _some(list(of))} for name, of in times.items()}
    uneven = {
        name: {
            d: round(fmean(run.unevenness for run in runs.each(f"{name}/{d}")), 1) for d in _some(degrees(runs, name))
        }
        for name in TOPOLOGIES
    }
    why = {"messages, most over least of the contenders": uneven}
    return {
        "B.2": _grows(times, shown | why),
        "B.3": _shortens(runs, times, shown),
        "B.4": _converges(times, shown),
    }


def _grows(times: Times, shown: dict[str, Any]) -> Part:
    """Judges B.2: in A a line (R² of at least 0.95 from N = 4 on) in each seed, and all are stable."""
    points = {degree: found for degree, found in times["A"].items() if degree > 2}
    never = [degree for degree, found in points.items() if None in found]
    known = {degree: [one for one in found if one is not None] for degree, found in points.items()}
    measured: dict[str, Any] = {"A: not stable in some seed at": ", ".join(map(str, never)) or "none"}
    if never:
        return Part(False, measured | shown)
    lines = [
        fit({degree: found[seed] for degree, found in known.items()}) for seed in range(len(next(iter(known.values()))))
    ]
    mean = fit({degree: fmean(found) for degree, found in known.items()})
    measured |= {
        "A, means of the seeds (ms)": f"{mean[0]:.2f} · N {mean[1]:+.1f}, R² {mean[2]:.4f}",
        "A, R² of each seed": Spread.of(line[2] for line in lines),
    }
    found = all_of(some([line[0] for line in lines]), positive([line[2] - LINEAR for line in lines]))
    return Part(found, measured | shown)


def _shortens(runs: Runs, times: Times, shown: dict[str, Any]) -> Part:
    """Judges B.3: over all degrees of both B is shorter, at none is it longer beyond chance, and innocents are held."""
    both = [degree for degree in times["B"] if degree in times["A"]]
    held = {degree: runs.by_seed(f"B/{degree}", lambda run: run.innocents_held()) for degree in both}
    ended = {
        degree: [(a, b) for a, b in zip(times["A"][degree], times["B"][degree], strict=True) if a and b]
        for degree in both
    }
    seeds = len(times["B"][both[0]])
    known = {degree: pairs for degree, pairs in ended.items() if len(pairs) == seeds}
    # A run that never becomes stable ranks above every run that does.
    never = [degree for degree in both if None in times["B"][degree] and None not in times["A"][degree]]
    gains = [fmean(1 - pairs[seed][1] / pairs[seed][0] for pairs in known.values()) for seed in range(seeds) if known]
    each = {degree: lower([b for _, b in pairs], [a for a, _ in pairs]) for degree, pairs in known.items()}
    longer = [*never, *(degree for degree, one in each.items() if one.answer == "does not hold")]
    measured = {
        "B is shorter than A by, over all degrees": Spread.of(gains) if gains else "no degree ends in every seed",
        "B is shorter than A": {degree: one.words for degree, one in each.items()},
        "hosts of innocents held (ms)": {degree: Spread.of(found) for degree, found in held.items()},
    }
    shorter = [positive(gains)] if gains else [fact(is_so=False)]
    return Part(all_of(*shorter, fact(not longer), *map(some, held.values())), measured | shown)


def _converges(times: Times, shown: dict[str, Any]) -> Part:
    """Judges B.4: at the highest degree all are within 15 % of one another, and closer than at the lowest."""
    three = [degree for degree in times["C"] if degree in times["A"] and degree in times["B"]]
    known = {
        degree: {name: [one for one in times[name][degree] if one is not None] for name in TOPOLOGIES}
        for degree in three
    }
    seeds = len(times["C"][three[0]])
    spread = {
        degree: [_spread([of[name][seed] for name in TOPOLOGIES]) for seed in range(seeds)]
        for degree, of in known.items()
        if all(len(found) == seeds for found in of.values())
    }
    measured = {
        "spread over A, B, C (largest less smallest, over the mean)": {
            degree: Spread.of(found) for degree, found in spread.items()
        }
    } | shown
    first, last = three[0], three[-1]
    if last not in spread:
        return Part(False, measured)
    pairs = (("A", "B"), ("B", "C"), ("A", "C"))
    alike = [about_the_same(known[last][one], known[last][two]) for one, two in pairs]
    closer = [lower(spread[last], spread[first])] if first in spread and last != first else []
    return Part(all_of(*alike, *closer), measured)


def fit(points: Mapping[int, float]) -> tuple[float, float, float]:
    """Returns slope and intercept of a line through points, and the share of the variance explained by the line."""
    line = linear_regression(list(points), list(points.values()))
    mean = fmean(points.values())
    left = sum((value - line.slope * degree - line.intercept) ** 2 for degree, value in points.items())
    whole = sum((value - mean) ** 2 for value in points.values())
    return line.slope, line.intercept, 1 - left / whole if whole else 0.0


def _some(degrees: list[int]) -> list[int]:
    """Returns a dozen of many degrees, for a table."""
    return degrees if len(degrees) <= 14 else sorted({*degrees[4::5], degrees[0]})


def _spread(values: list[float]) -> float:
    return (max(values) - min(values)) / fmean(values)


JUDGED = Judged(
    document="bcn",
    statements={
        "B.2": "Topology A (one flow of each kind an edge switch): time to stability grows linearly with the degree",
        "B.3": "With five flows an edge switch head-of-line blocking from PAUSE shortens time to stability, and "
        "innocent flows pay for it by being held",
        "B.4": "With many flows the times to stability of topologies A, B and C converge",
    },
    runs=runs_of,
    judge=judge,
    set_up=SET_UP,
    cases=Cases(
        cases={
            f"{topology}/{degree}": Point(topology=topology, degree=degree)
            for topology, of in DEGREES.items()
            for degree in of
        },
        scenario=_scenario,
        sized=_sized,
        choices=CHOICES,
        probes=PROBES,
    ),
)
PARAMETERS = hot_spot("2 to 80")
READS = TABLES
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws time to stability against degree with intervals, and the ends of runs that did not become stable."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.8)
        for topology in TOPOLOGIES:
            times = {d: stability_ms(runs, f"{topology}/{d}") for d in degrees(runs, topology)}
            known = {d: [value for value in values if value is not None] for d, values in times.items()}
            known = {degree: values for degree, values in known.items() if values}
            never = [degree for degree, values in times.items() if None in values]
            ends = [Point(topology=topology, degree=degree).until_ms - START_MS for degree in never]
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
        axes.plot(span, [expected_ms(d) for d in span], color="#888888", linestyle=":", label="the core alone, N ln N")
        axes.set_xlabel("contending flows; ×: not stable within the run in some seed")
        axes.set_ylabel("time to stability (ms)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        write(drawing, path)


def tables(results: Mapping[str, Result]) -> dict[str, list[list[str]]]:
    """Returns the mean times to stability with each choice, at the degrees present in all choices."""
    heads = [f"{topology}, {degree} flows" for topology, of in COARSE.items() for degree in of]
    rows = [["time to stability (ms)", *heads]]
    for choice in ("", *CHOICES):
        runs = runs_of(results, choice)
        if not runs.names:
            continue
        cells = [
            "–" if (mean := mean_of(stability_ms(runs, f"{topology}/{degree}"))) is None else f"{mean:.1f}"
            for topology, of in COARSE.items()
            for degree in of
        ]
        rows.append([choice or "main reading", *cells])
    return {"Time to stability with each choice": rows} if len(rows) > 2 else {}
