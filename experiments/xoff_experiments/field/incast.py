"""One incast alone: 60 senders of 500 KB each, under all mechanisms.

The least possible time is the time of one flow alone plus the time of all other packets on the receiver's line.
"Near-optimal" (NDP's abstract) is within 15 % of the least. Ultra Ethernet's reference model ships outputs: 15 senders
of 2 MB end 1.1 % (NSCC), 0.5 % (RCCC) and 0.5 % (both) after the least, 127 senders 1.8, 1.2 and 1.2 %. Our statement
is: each ends within 5 % of the least, because our packets are a quarter as large and trimmed headers take four times
the share, and RCCC ends before NSCC. The reference model trims queues at one BDP and sprays packets, as our runs do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import COLOURS, STYLE, canvas, write
from xoff.reproduce import ABOUT_THE_SAME, Judged, Part, Range, all_of, chosen, lower, positive
from xoff.results import Result
from xoff.statistics import interval
from xoff_experiments.field._fabric import Setting, derived, scenarios_of
from xoff_experiments.field._parameters import INCASTS, parameters
from xoff_experiments.field._runs import Run, Runs, told
from xoff_experiments.field.answers import ROWS as ANSWERED

CITATION = "NDP, SIGCOMM 2017, abstract; outputs of Ultra Ethernet's reference model"
CASES = {"incast": Setting(traffic="incast")}
SEEDS = 5
QUICK_ROWS = (
    "PFC",
    "PFC + QCN",
    "trimming + NSCC + spray",
    "trimming + RCCC + spray",
    "trimming + RCCC + NSCC + spray",
    "trimming + NDP + spray",
)
NSCC, RCCC, BOTH = QUICK_ROWS[2:5]
ROWS = tuple(dict.fromkeys((*QUICK_ROWS, *ANSWERED)))
NEAR = 1.05


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by row and seed."""
    return scenarios_of(CASES, QUICK_ROWS, 1) if quick else scenarios_of(CASES, ROWS, SEEDS)


def _over(run: Run) -> float | None:
    return run.incast


def judge(runs: Runs) -> dict[str, Part]:
    """Judges how soon the last flow is over."""
    ndp = runs.values("incast", "trimming + NDP + spray", _over)
    found = {row: runs.values("incast", row, _over) for row in (NSCC, RCCC, BOTH)}
    what = "last completion over the least possible"
    return {
        "5.1": Part(positive([1 + ABOUT_THE_SAME - one for one in ndp]), {what: fmean(ndp)}),
        "5.2": Part(
            all_of(*(positive([NEAR - one for one in of]) for of in found.values())),
            {what: {row: fmean(of) for row, of in found.items()}},
            published={what: {NSCC: Range(1.011, 1.018), RCCC: Range(1.005, 1.012), BOTH: Range(1.005, 1.012)}},
        ),
        "5.3": Part(lower(found[RCCC], found[NSCC]), {what: {row: told(of) for row, of in found.items()}}),
    }


JUDGED = Judged(
    document="field",
    statements={
        "5.1": "NDP achieves near-optimal completion times under incast",
        "5.2": "An incast under NSCC, RCCC or both ends close to the least possible",
        "5.3": "RCCC ends it before NSCC does",
    },
    runs=Runs,
    judge=judge,
)
DERIVED = derived
PARAMETERS = parameters(
    [
        INCASTS,
        chosen("seeds", "five", "they draw the hosts and the paths"),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the last completion over the least possible, with intervals, best first."""
    runs = Runs(results)
    rows = sorted(runs.rows("incast"), key=lambda row: runs.of("incast", row, _over))
    with rc_context(STYLE):
        drawing, axes = canvas(6.4, 1.2 + 0.2 * len(rows))
        for place, row in enumerate(rows):
            found = interval(runs.values("incast", row, _over))
            axes.errorbar(found.mean, place, xerr=found.margin or 0.0, fmt="o", color=COLOURS[0], markersize=4)
        axes.set_yticks(range(len(rows)), rows, fontsize=7)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("last completion of an incast over the least possible")
        write(drawing, path)
