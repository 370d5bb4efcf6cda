"""The calculator's tables: SFC headroom and the range of the pause, for every case of the document.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, "Parameter calculation process", and the tables of Part
5. With N senders, h links between a source and the congestion point, link delay d, switch delay s and line rate C:

- SFC headroom > (N - 1) × (2hd + (2h - 1)s) × C;
- pause × C > SFC headroom, and < SFC headroom + SFC threshold.

Nothing is simulated here: `xoff size sfc` gives these numbers. The upper bounds of cases 4.1 and 4.2 are 13.6 and 13.2
µs in the document; its formula gives 9.6 and 11.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import Judged, Part, Readings, as_results, given
from xoff.results import Result
from xoff_experiments.sfc._networks import THREE_LAYER, TWO_LAYER, Case, calculated

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, parameter calculation process and tables of Part 5"

_FIVE = replace(TWO_LAYER, incast=5)


def _delay(link: int, sfc_kb: float, pfc_kb: float = 380) -> Case:
    return replace(TWO_LAYER, link_ns=link, switch_ns=2 * link, sfc_kb=sfc_kb, pfc_kb=pfc_kb)


_TABLE: dict[str, tuple[Case, tuple[float, float, float]]] = {
    "Part 4, 5-to-1": (replace(THREE_LAYER, incast=5), (420, 16.8, 24.8)),
    "1, 2": (TWO_LAYER, (120, 4.8, 12.8)),
    "2.1": (replace(TWO_LAYER, pfc_kb=780, sfc_kb=600), (120, 4.8, 28.8)),
    "2.2": (replace(TWO_LAYER, pfc_kb=1580, sfc_kb=1400), (120, 4.8, 60.8)),
    "2.3": (replace(TWO_LAYER, pfc_kb=2380, sfc_kb=2200), (120, 4.8, 92.8)),
    "2.4": (replace(TWO_LAYER, pfc_kb=3180, sfc_kb=3000), (120, 4.8, 124.8)),
    "2.5": (replace(TWO_LAYER, pfc_kb=3980, sfc_kb=3800), (120, 4.8, 156.8)),
    "3": (_FIVE, (240, 9.6, 17.6)),
    "3.1": (replace(_FIVE, pfc_kb=780, sfc_kb=600), (240, 9.6, 33.6)),
    "3.1a, 5": (replace(_FIVE, pfc_kb=780, sfc_kb=400), (240, 9.6, 25.6)),
    "3.1b": (replace(_FIVE, pfc_kb=780, sfc_kb=200), (240, 9.6, 17.6)),
    "3.2": (replace(_FIVE, pfc_kb=1180, sfc_kb=800), (240, 9.6, 41.6)),
    "4.1": (_delay(50, 200), (40, 1.6, 13.6)),
    "4.2": (_delay(100, 200), (80, 3.2, 13.2)),
    "4.3": (_delay(300, 100, 365), (240, 9.6, 13.6)),
    "4.4": (_delay(600, 50, 340), (480, 19.2, 21.2)),
    "4.5": (_delay(1200, 50, 280), (960, 38.4, 40.4)),
    "4.6": (_delay(2400, 50, 160), (1920, 76.8, 78.8)),
}
"""The document's table by case: needed headroom in KB, shortest and longest pause in µs."""


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:  # noqa: ARG001 (nothing is simulated)
    """Returns no scenarios: the calculator needs no simulation."""
    return {}


def judge(_: Readings[Result]) -> dict[str, Part]:
    """Judges that headroom and both bounds of every case equal the document's values, to the printed digits."""
    measured, published, equal = {}, {}, []
    for name, (case, (headroom, shortest, longest)) in _TABLE.items():
        found = calculated(replace(case, architecture="oq"))
        key = f"case {name}"
        measured[key] = found
        published[key] = {"headroom": headroom, "shortest": shortest, "longest": longest}
        equal += [(name, what) for what, value in published[key].items() if abs(found[what] - value) < 1e-6]
    slips = {("4.1", "longest"), ("4.2", "longest")}
    every = {(name, what) for name in _TABLE for what in ("headroom", "shortest", "longest")}
    return {
        "P": Part(set(equal) == every - slips, measured, published=published),
        "P-printed": Part(set(equal) == every, {"numbers that differ": len(every) - len(equal)}),
    }


JUDGED = Judged(
    document="sfc",
    statements={
        "P": "The formulas give the needed SFC headroom and the range of the pause of every case",
        "P-printed": "They give every number as it is printed",
    },
    ours=("P-printed",),
    runs=as_results,
    judge=judge,
    limits={"P": "A formula: no run bears on it."},
    reasons={
        "P-printed": "The upper bounds of cases 4.1 and 4.2 are printed as 13.6 and 13.2 µs; (headroom + threshold) / "
        "rate is 9.6 and 11.2 µs."
    },
    quick_reasons=True,
)
PARAMETERS = [
    given("headroom", "(N - 1) × (2hd + (2h - 1)s) × C", "Parameter calculation process"),
    given("links to the congestion point", "5 (3-layer), 3 (2-layer)", "Parameter calculation process; Part 5"),
    given("pause", "above headroom / C, below (headroom + SFC threshold) / C", "Parameter calculation process"),
]
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(_: Mapping[str, Result], path: Path) -> None:
    """Draws the range of the pause of each case, and the document's choice."""
    with rc_context(STYLE):
        drawing, axes = canvas()
        for index, (case, _printed) in enumerate(_TABLE.values()):
            found = calculated(replace(case, architecture="oq"))
            axes.plot([index, index], [found["shortest"], found["longest"]], color=COLOURS[0], linewidth=5, alpha=0.5)
        axes.set_xticks(range(len(_TABLE)), list(_TABLE), rotation=90)
        axes.set_yscale("log")
        axes.set_ylabel("range of the pause (µs)")
        write(drawing, path)
