"""A permutation on a fabric that is not oversubscribed: what spraying and REPS do for NSCC.

Source: outputs that Ultra Ethernet's reference model ships: 2 MB from each host to another, 16 hosts, end after 527.8
µs on single paths and 194.0 µs with 128 entropy values (2.7 times), 1024 hosts after 889.9 and 193.2 (4.6 times); REPS
with an ACK a packet after 198.2 µs, oblivious spraying after 212.8 (1024 hosts). Here 128 hosts, and entropy is a
random port at each leaf.

"Much sooner" is half of the time and less. "Before" is a lower mean over five seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, canvas, grouped_bars, write
from xoff.reproduce import Judged, Part, Range, chosen, given, lower
from xoff.results import Result
from xoff_experiments.field._fabric import Setting, derived, scenarios_of
from xoff_experiments.field._parameters import parameters
from xoff_experiments.field._runs import Run, Runs, told

CITATION = "outputs of Ultra Ethernet's reference model"
ROWS = ("trimming + NSCC", "trimming + NSCC + spray", "trimming + NSCC + REPS")
CASES = {"permutation": Setting(traffic="permutation", size="2MB", oversubscription=1)}
QUICK = {"permutation": Setting(traffic="permutation", size="600KB", oversubscription=1)}
SEEDS = 5
MUCH = 0.5


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by row and seed."""
    return scenarios_of(QUICK, ROWS, 1) if quick else scenarios_of(CASES, ROWS, SEEDS)


def _last(run: Run) -> float | None:
    return run.last_us


def judge(runs: Runs) -> dict[str, Part]:
    """Judges when the last flow is over."""
    single, spray, reps = (runs.of("permutation", row, _last) for row in ROWS)
    by_seed = [runs.values("permutation", row, _last) for row in ROWS]
    shown = {"last completion (µs)": {row: told(runs.values("permutation", row, _last)) for row in ROWS}}
    return {
        "6.1": Part(
            lower(by_seed[2], [MUCH * one for one in by_seed[0]]),
            {"single paths, times REPS": single / reps} | shown,
            published={"single paths, times REPS": Range(2.7, 4.6)},
        ),
        "6.2": Part(
            lower(by_seed[2], by_seed[1]),
            {"spray, times REPS": spray / reps},
            published={"spray, times REPS": 1.07},
        ),
    }


JUDGED = Judged(
    document="field",
    statements={
        "6.1": "A permutation under NSCC ends much sooner over many paths than over single ones",
        "6.2": "It ends sooner with REPS than with oblivious spraying",
    },
    runs=Runs,
    judge=judge,
)
DERIVED = derived
PARAMETERS = parameters(
    [
        given("flows", "2 MB from each host to another", "the reference model's plans"),
        chosen("seeds", "five", "they draw the permutation and the paths"),
    ]
)
READS = ("collectives", "flows")
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the last completion."""
    runs = Runs(results)
    with rc_context(STYLE):
        drawing, axes = canvas(5.2, 3)
        values = [runs.of("permutation", row, _last) for row in ROWS]
        grouped_bars(axes, list(ROWS), [("last completion", values)], digits=0)
        axes.tick_params(axis="x", labelsize=7)
        axes.set_ylabel("last completion (µs)")
        write(drawing, path)
