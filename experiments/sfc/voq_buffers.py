"""Q.3: virtual output queues with dedicated and with shared buffers.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, slide "The queuing architecture's effect on SFC":
"The actual allocation method of VOQ buffers (shared and/or dedicated) also has an impact." It gives no numbers.

Dedicated is cases 1 and 3 of Part 5: 400 KB a port, PFC at 380 KB. Shared is ours: the same memory in one pool of 16
× 400 KB a switch, in which PFC has a dynamic threshold, with the α of 1/8 of public simulators, and with 1 as an
open choice. The SFC threshold of 200 KB applies to each input and output, as before.

"Has an impact" is a mean FCT of the victim or of all flows, with PFC only or PFC + SFC, that changes by more than 15
%.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.sfc._networks import TWO_LAYER, VARIANTS, flow_names
from experiments.sfc._networks import scenario as scenario_of
from experiments.sfc._study import QUICK, Run, about_the_same
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Claim
from xoff.results import Result

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, the queuing architecture's effect on SFC (buffer allocation)"
CLAIMS = {"sfc/Q.3": "The allocation of VOQ buffers, shared or dedicated, has an impact"}

_ALPHAS = {"dedicated": None, "shared": 0.125, "shared, α 1": 1.0}
_CASES = {"1 (3-to-1)": TWO_LAYER, "3 (5-to-1)": replace(TWO_LAYER, incast=5)}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by allocation, case and variant."""
    made = {}
    for allocation, alpha in _ALPHAS.items():
        for name, case in _CASES.items():
            for variant in VARIANTS:
                chosen = replace(case, data_mb=case.data_mb / (QUICK if quick else 1))
                scenario = scenario_of(chosen, "voq", variant)
                if alpha is not None:
                    scenario["switch"]["buffer"] = {"shared": {"total": "6400KB", "alpha": alpha}}
                    scenario["switch"]["flow_control"]["pfc"] = {}
                made[f"{allocation}/{name}/{variant}"] = scenario
    return made


def claims(results: Mapping[str, Result]) -> list[Claim]:
    """Judge shared against dedicated."""
    runs = {name: Run.of(result) for name, result in results.items()}
    differs = {
        allocation: any(
            not about_the_same(figure(runs[f"{allocation}/{tail}"]), figure(runs[f"dedicated/{tail}"]))
            for tail in (f"{case}/{variant}" for case in _CASES for variant in ("pfc", "pfc-sfc"))
            for figure in (_victim, _mean)
        )
        for allocation in list(_ALPHAS)[1:]
    }
    measured: dict[str, Any] = {
        f"{what}, case {case}, {variant}": {
            allocation: figure(runs[f"{allocation}/{case}/{variant}"]) for allocation in _ALPHAS
        }
        for what, figure in (("victim FCT (µs)", _victim), ("mean FCT over all flows (µs)", _mean))
        for case in _CASES
        for variant in ("pfc", "pfc-sfc")
    }
    measured["with other choices"] = {"α 1": "holds" if differs["shared, α 1"] else "does not hold"}
    note = (
        ""
        if differs["shared"]
        else "With α of 1/8 three or five busy inputs get 580 or 490 KB each, near the 400 KB of dedicated buffers; "
        "with α of 1 they get 1600 or 1070 KB, and PFC only improves. SFC keeps all of them below their thresholds, so "
        "that the allocation matters little to it."
    )
    return [
        Claim("sfc/Q.3", CLAIMS["sfc/Q.3"], measured, differs["shared"], note, subject="voq (virtual output queues)")
    ]


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw the FCT of each flow and variant for each allocation: a row for each case."""
    with rc_context(STYLE):
        drawing = Canvas(figsize=(10, 5), layout="constrained")
        grid = drawing.subplots(len(_CASES), len(_ALPHAS), sharey="row", squeeze=False)
        for row, (name, case) in zip(grid, _CASES.items(), strict=True):
            flows = flow_names(case)
            for axes, allocation in zip(row, _ALPHAS, strict=True):
                series = [
                    (label, [Run.of(results[f"{allocation}/{name}/{variant}"]).fct_us[flow] for flow in flows])
                    for variant, label in VARIANTS.items()
                ]
                grouped_bars(axes, [flow.replace("incast ", "") for flow in flows], series, digits=0)
                for text in axes.texts:
                    text.set(rotation=90, fontsize=5)
                axes.margins(y=0.15)
                axes.set_title(f"case {name}, {allocation}", fontsize=8)
            row[0].set_ylabel("FCT (µs)")
        drawing.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
        write(drawing, path)


def _victim(run: Run) -> float:
    return run.victims_us


def _mean(run: Run) -> float:
    return run.mean_us
