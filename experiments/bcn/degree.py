"""Time to stability against the degree of the hot spot, for one, five and ten flows of each kind an edge switch.

Source: the BCN hot spot deck, "Hotspot Degree vs Time To Stability" and the three slides after it. The senders together
offer 20 Gb/s to 10, from 5 ms on; PAUSE is on, BCN(0,0) and BCN(max) are off. The document has one run a point.

Ours: innocents of an edge switch together offer 2.5 Gb/s to the next edge switch; a run ends 45 ms and 3.5 ms a flow
after it began, at 250 ms at the latest, which is some 50 ms after stability; N = 2 in
topology A saturates its links, and is drawn but not judged. Further choices are in `_network.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, linear_regression
from typing import Any

from experiments.bcn._network import DEGREES, TOPOLOGIES, scenario, until_ms
from experiments.bcn._study import COLOURS, SEEDS, Runs, claim, ids, mean_of, save, told
from matplotlib import rc_context

from xoff.plots import STYLE, canvas
from xoff.reproduce import Claim
from xoff.results import Result
from xoff.statistics import interval

CITATION = "BCN hot spots, IEEE 802.1au, 'Hotspot Degree vs Time To Stability'"

STATEMENTS = {
    "B.2": "Topology A (one flow of each kind an edge switch): time to stability grows linearly with the degree",
    "B.3": "With five flows an edge switch head-of-line blocking from PAUSE shortens time to stability, and innocent "
    "flows pay for it by being held",
    "B.4": "With many flows the times to stability of topologies A, B and C converge",
}
CLAIMS = ids(STATEMENTS)
QUICK = {"A": (10, 20, 30), "B": (20, 30), "C": (30,)}
LINEAR, ALIKE = 0.95, 0.15


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by topology, degree and seed."""
    return {
        f"{topology}/{degree}/seed {seed}": scenario(degree, TOPOLOGIES[topology], until_ms(degree), seed)
        for topology, degrees in (QUICK if quick else DEGREES).items()
        for degree in degrees
        for seed in SEEDS[: 2 if quick else 5]
    }


def fit(points: Mapping[int, float]) -> tuple[float, float, float]:
    """Return slope and intercept of a line through points, and the share of the variance that it explains."""
    line = linear_regression(list(points), list(points.values()))
    mean = fmean(points.values())
    left = sum((value - line.slope * degree - line.intercept) ** 2 for degree, value in points.items())
    whole = sum((value - mean) ** 2 for value in points.values())
    return line.slope, line.intercept, 1 - left / whole if whole else 0.0


def claims(results: Mapping[str, Result]) -> list[Claim]:
    """Judge growth (R² of at least 0.95 from N = 4 on), the order of B and A, and the spread at the end."""
    runs = Runs(results)
    times = {
        topology: {degree: runs.stability(f"{topology}/{degree}") for degree in runs.degrees(topology)}
        for topology in TOPOLOGIES
    }
    means = {name: {d: mean_of(found) for d, found in of.items()} for name, of in times.items()}
    in_a = {degree: mean for degree, mean in means["A"].items() if mean is not None and degree > 2}
    never = [degree for degree, mean in means["A"].items() if mean is None and degree > 2]
    slope, intercept, explained = fit(in_a) if len(in_a) > 2 else (0.0, 0.0, 0.0)
    both = [degree for degree in means["B"] if degree in means["A"]]
    pairs = {degree: (means["A"][degree], means["B"][degree]) for degree in both}
    shorter = [degree for degree, (a, b) in pairs.items() if b is not None and (a is None or b < a)]
    held = {degree: fmean(run.innocents_held() for run in runs.each(f"B/{degree}")) for degree in both}
    three = [degree for degree in means["C"] if degree in means["A"] and degree in means["B"]]
    spread = {degree: _spread([means[name][degree] for name in TOPOLOGIES]) for degree in three}
    first, last = spread[three[0]], spread[three[-1]]
    converges = last is not None and last <= ALIKE and (len(three) < 2 or first is None or last < first)
    some = sorted({*list(times["A"])[:: max(1, len(times["A"]) // 6)], max(times["A"])})
    shown = {
        f"{name}: time to stability (ms)": {d: told(found) for d, found in of.items() if name != "A" or d in some}
        for name, of in times.items()
    }
    by_seed = [max(known) / min(known) for found in times["A"].values() if len(known := [v for v in found if v]) > 1]
    return [
        claim(
            STATEMENTS,
            "B.2",
            not never and slope > 0 and explained >= LINEAR,
            {
                "line (ms)": f"{slope:.2f} · N + {intercept:.1f}",
                "R²": round(explained, 3),
                "never stable at": never or "–",
            }
            | {"longest over shortest of the seeds of a point, at most": round(max(by_seed), 2) if by_seed else "–"}
            | {key: value for key, value in shown.items() if key.startswith("A")},
            "Some points have no time to stability within the run." if never else "A line does not explain the points.",
        ),
        claim(
            STATEMENTS,
            "B.3",
            shorter == both and min(held.values()) > 0,
            {"B is shorter at": shorter, "not at": [d for d in both if d not in shorter] or "–"}
            | {"hosts of innocents held (ms)": {d: round(value, 1) for d, value in held.items()}}
            | {key: value for key, value in shown.items() if not key.startswith("C")},
            "At some degrees the mean time in B is not below that in A.",
        ),
        claim(
            STATEMENTS,
            "B.4",
            converges,
            {"spread over A, B, C (largest less smallest, over the mean)": spread} | shown,
            "The means still differ by more than 15 % at the highest degree, or by more than at the lowest.",
        ),
    ]


def _spread(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round((max(known) - min(known)) / fmean(known), 3) if len(known) == len(values) else None


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw time to stability against degree, with intervals; a point on the upper edge is never stable in some seed."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 3.8)
        for topology in TOPOLOGIES:
            known = {d: [v for v in runs.stability(f"{topology}/{d}") if v is not None] for d in runs.degrees(topology)}
            known = {degree: values for degree, values in known.items() if values}
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
        axes.set_xlabel("contending flows")
        axes.set_ylabel("time to stability (ms)")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
        save(drawing, path)
