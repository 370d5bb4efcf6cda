"""A victim of 100 KB beside congested flows to host 0 of NDC(4, 1), and alone: with PortFC and with PFC.

Switch level0_i joins hosts 4i to 4i + 3, and level1_j hosts j, 4 + j, 8 + j and 12 + j. Without DCQCN, which would hide
what flow control does. Starts are drawn within 1 us.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeAlias

from xoff.plots import grouped_bars
from xoff.reproduce import Spread
from xoff_experiments.portfc._ndc import Setting, ndc, scenario
from xoff_experiments.portfc._runs import Run, Runs

TO_HOST_0 = (
    (5, 0, ("level0_1", "host4", "level1_0")),
    (10, 0, ("level0_2", "host8", "level1_0")),
    (12, 0, ("level1_0",)),
)
CROWD = (*TO_HOST_0, (6, 0, ("level0_1", "host4", "level1_0")), (15, 0, ("level0_3", "host12", "level1_0")))
VICTIMS = {
    "at a switch": (13, 8, ("level0_3", "host12", "level1_0")),
    "at its source": (5, 8, ("level0_1", "host4", "level1_0")),
    "figure 4": (12, 8, ("level1_0",)),
}
ALONE = ", alone"
"""Suffix of the names of runs without the congested flows."""
SHOWN = {"PortFC": "portfc", "PFC": "pfc"}


Path: TypeAlias = tuple[int, int, tuple[str, ...]]
"""Source and destination, and the nodes between."""


def flow(path: Path, size: str, start_us: float) -> dict[str, Any]:
    """Returns a flow on a path."""
    src, dst, via = path
    return {"src": src, "dst": dst, "via": list(via), "size": size, "start": f"{start_us:.6f}us"}


def victim_scenarios(place: str, *, quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios of a victim by name."""
    made = {}
    for seed in range(1, 3 if quick else 11):
        draw = Random(seed)  # noqa: S311
        crowd = [flow(one, "1MB", draw.random()) for one in (CROWD if place == "at its source" else TO_HOST_0)]
        work = [
            {"name": "crowd", "flows": crowd},
            {"name": "victim", "flows": [flow(VICTIMS[place], "100KB", 50 + draw.random())]},
        ]
        for name in SHOWN.values():
            for suffix, flows in (("", work), (ALONE, work[1:])):
                made[f"{place}{suffix}/{name}/seed {seed}"] = scenario(
                    name, ndc(4), flows, Setting(dcqcn=False), seed=seed
                )
    return made


def _victim_us(run: Run) -> float:
    return run.mean_us("victim")


def slower(runs: Runs, place: str, mechanism: str) -> float:
    """Returns how many times as long as alone a victim takes beside the congested flows."""
    return runs.mean(f"{place}/{mechanism}", _victim_us) / runs.mean(f"{place}{ALONE}/{mechanism}", _victim_us)


def victims_told(runs: Runs, place: str) -> dict[str, dict[str, Spread]]:
    """Returns the page's text about a victim."""
    times = {
        f"{text}{suffix}": runs.spread(f"{place}{suffix}/{name}", _victim_us)
        for text, name in SHOWN.items()
        for suffix in ("", ALONE)
    }
    return {"victim's FCT (µs)": times}


def draw_victims(axes: Any, runs: Runs, places: Sequence[str]) -> None:
    """Draws the victims' FCT, alone and beside the congested flows."""
    series = [
        (f"{text}{suffix}", [runs.mean(f"{place}{suffix}/{name}", _victim_us) for place in places])
        for text, name in SHOWN.items()
        for suffix in ("", ALONE)
    ]
    grouped_bars(axes, [f"victim {place}" if place.startswith("at") else place for place in places], series, digits=0)
    axes.set_ylabel("victim's FCT (µs)")
    axes.legend(fontsize=8)
