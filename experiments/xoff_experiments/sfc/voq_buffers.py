"""Q.3: virtual output queues with dedicated and with shared buffers.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slide "The queuing architecture's effect on SFC":
"The actual allocation method of VOQ buffers (shared and/or dedicated) also has an impact." It gives no numbers.

Dedicated is cases 1 and 3 of Part 5: 400 KB a port, PFC at 380 KB. Shared is ours: the same memory in one pool of 16
× 400 KB a switch, in which PFC has a dynamic threshold, with the α of 1/8 of public simulators, and with 1 as an
open choice. The SFC threshold of 200 KB applies to each input and output, as before.

The slide is about the effect on SFC. "Has an impact" is therefore that the improvement of the victim's mean FCT by SFC,
against PFC only, changes by more than 15 % of itself, in both cases. Mean FCTs and PFC pauses are shown beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, write
from xoff.reproduce import Cases, Decision, Judged, Part, Readings, about_the_same, all_of, chosen, opposite, run_name
from xoff.results import Result
from xoff_experiments.sfc._figures import bars_by_flow
from xoff_experiments.sfc._networks import TWO_LAYER, VARIANTS, Case, flow_names, scenario
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import Run, Runs, shown, sized

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture's effect on SFC (buffer allocation)"

_CASES = {"1 (3-to-1)": TWO_LAYER, "3 (5-to-1)": replace(TWO_LAYER, incast=5)}
_JUDGED_VARIANTS = ("pfc", "pfc-sfc")
_OTHER = "α 1"
_ALLOCATIONS = {"dedicated": ("", "dedicated"), "shared": ("", "shared"), f"shared, {_OTHER}": (_OTHER, "shared")}
"""The open choice and the name of the runs of an allocation."""
_FIGURES: dict[str, Callable[[Run], float]] = {
    "victim FCT (µs)": lambda run: run.victims_us,
    "mean FCT over all flows (µs)": lambda run: run.mean_us,
    "PFC pauses": lambda run: run.pfc_pauses,
}


@dataclass(frozen=True, slots=True)
class Allocated:
    """A case of Part 5 with virtual output queues, and the sharing of the switch's buffer."""

    case: Case
    alpha: float | None
    """Alpha of PFC's dynamic threshold in a shared pool; None: each port has a separate buffer."""


def _scenario(allocated: Allocated, variant: str) -> dict[str, Any]:
    made = scenario(allocated.case, variant)
    if allocated.alpha is not None:
        made["switch"]["buffer"] = {"shared": {"total": "6400KB", "alpha": allocated.alpha}}
        made["switch"]["flow_control"]["pfc"] = {}
    return made


def _sized(allocated: Allocated, choice: str, quick: bool) -> dict[int | None, Allocated]:
    """Returns the runs of a case. Dedicated buffers have no α to choose."""
    if choice and allocated.alpha is None:
        return {}
    # The figure has a panel for the choice, so the quick variant runs the choice, too.
    found = sized(allocated.case, "" if quick else choice, quick)
    return {draw: replace(allocated, case=case) for draw, case in found.items()}


def _fct(flow: str) -> Callable[[Run], float]:
    return lambda run: run.fct_us[flow]


def _drawn(
    results: Mapping[str, Result], allocation: str, case: str, variant: str, value: Callable[[Run], float]
) -> list[float]:
    choice, name = _ALLOCATIONS[allocation]
    return Readings(results, Run.of, choice).by_seed(run_name(f"{name}/{case}", variant), value)


def judge(runs: Runs) -> dict[str, Part]:
    """Judges shared against dedicated buffers, on the draws present in both."""
    found = {
        f"{what}, case {case}, {variant}": {
            allocation: _drawn(runs.results, allocation, case, variant, value) for allocation in _ALLOCATIONS
        }
        for what, value in _FIGURES.items()
        for case in _CASES
        for variant in _JUDGED_VARIANTS
    }
    shared = f"shared, {_OTHER}" if runs.choice else "shared"
    measured = {what: shown(by) for what, by in found.items()}
    gains = {
        case: {allocation: _improvements(runs.results, allocation, case) for allocation in _ALLOCATIONS}
        for case in _CASES
    }
    of_gains = {f"improvement of the victim's FCT by SFC, case {case}": shown(by) for case, by in gains.items()}
    changed = [opposite(_alike(by[shared], by["dedicated"])) for by in gains.values()]
    return {"Q.3": Part(all_of(*changed), of_gains | measured)}


def _improvements(results: Mapping[str, Result], allocation: str, case: str) -> list[float]:
    """Returns the share by which SFC lowers the victim's FCT against PFC only, of each draw."""
    with_it, without = (
        _drawn(results, allocation, case, variant, lambda run: run.victims_us) for variant in ("pfc-sfc", "pfc")
    )
    return [1 - mine / other for mine, other in zip(with_it, without, strict=True)]


def _alike(shared: Sequence[float], dedicated: Sequence[float]) -> Decision:
    # A choice has fewer draws: the first draws of the main reading.
    pairs = list(zip(shared, dedicated, strict=False))
    return about_the_same([one for one, _ in pairs], [other for _, other in pairs])


JUDGED = Judged(
    document="sfc",
    statements={"Q.3": "The allocation of VOQ buffers, shared or dedicated, has an impact"},
    runs=Runs,
    judge=judge,
    cases=Cases(
        cases={
            f"{allocation}/{name}": Allocated(replace(case, architecture="voq"), alpha)
            for allocation, alpha in (("dedicated", None), ("shared", 0.125))
            for name, case in _CASES.items()
        },
        variants=tuple(VARIANTS),
        scenario=_scenario,
        sized=_sized,
        choices={_OTHER: {"alpha": 1.0}},
    ),
    reasons={
        "Q.3": "With α of 1/8 three or five busy inputs get 580 or 490 KB each, near the 400 KB of dedicated buffers; "
        "with α of 1 they get 1600 or 1070 KB, and PFC only improves. SFC keeps all of them below their thresholds, so "
        "that the allocation matters little to it."
    },
    quick_reasons=True,
)
PARAMETERS = parameters(
    _CASES,
    "Part 5, cases 1 and 3",
    [
        chosen("dedicated", "400 KB a port", "the cases' buffer"),
        chosen("shared", "16 × 400 KB a switch, α 1/8", "the same memory; α of public simulators", _OTHER),
    ],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the FCT of each flow and variant for each allocation: a row for each case."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(10, 5), layout="constrained")
        grid = drawing.subplots(len(_CASES), len(_ALLOCATIONS), sharey="row", squeeze=False)
        for row, (name, case) in zip(grid, _CASES.items(), strict=True):
            flows = flow_names(case)
            for axes, allocation in zip(row, _ALLOCATIONS, strict=True):
                series = [
                    (label, [fmean(_drawn(results, allocation, name, variant, _fct(flow))) for flow in flows])
                    for variant, label in VARIANTS.items()
                ]
                bars_by_flow(axes, flows, series, title=f"case {name}, {allocation}")
            row[0].set_ylabel("FCT (µs)")
        drawing.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)
