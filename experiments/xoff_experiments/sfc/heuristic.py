"""H: the rate of a flow after other flows on its link complete, under heuristic congestion control and under SFC.

Source: "SFC simulation", contribution to IEEE P802.1Qdw, 2025, "Thoughts": "Heuristic congestion control algorithms
tend to underperform in terms of throughput because when one flow completes its transmission, another flow can only
explore and increase its rate incrementally rather than directly preempting bandwidth." The document shows no run of
this effect.

Ours: in the two-layer CLOS of Part 5, case 1, three senders have 5, 5 and 40 MB for one receiver. After the two short
flows, the long flow has the link alone. The measure is the long flow's goodput in the next millisecond, as a share of
the line rate. DCQCN is the document's heuristic control.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from matplotlib import rc_context

from xoff.plots import STYLE, canvas, write
from xoff.reproduce import Cases, Judged, Part, all_of, as_results, chosen, lower
from xoff.reproduce.readings import Readings
from xoff.results import Result
from xoff_experiments.sfc._networks import TWO_LAYER, VARIANTS, scenario
from xoff_experiments.sfc._parameters import parameters
from xoff_experiments.sfc._runs import CHOICE_DRAWS, DRAWS, QUICK_DRAWS, SET_UP, shown

CITATION = "SFC simulation, IEEE P802.1Qdw, 2025, Thoughts (heuristic congestion control)"

_LONG, _LONG_MB = "incast 3", 40
_AFTER_US, _BIN_US = 1000, 100
_COMPARED = ("pfc-dcqcn", "pfc-sfc")
_CHOICES = {
    "every switch signals": {"signals": "all"},
    "oq": {"architecture": "oq"},
    "oq-egress": {"architecture": "oq-egress"},
    "DCQCN preset paper": {"dcqcn": "paper"},
    "DCQCN preset hpcc": {"dcqcn": "hpcc"},
}


def _scenario(case: Any, variant: str) -> dict[str, Any]:
    made = scenario(case, variant)
    incast, _ = made["workload"]
    flows = [one | ({"size": f"{_LONG_MB}MB"} if one["id"] == _LONG else {}) for one in incast["flows"]]
    return made | {"workload": [incast | {"flows": flows}], "probe": {"packets": True}}


def _sized(case: Any, choice: str, quick: bool) -> dict[int | None, Any]:
    if quick:
        return {} if choice else {draw: replace(case, draw=draw) for draw in QUICK_DRAWS}
    return {draw: replace(case, draw=draw) for draw in (CHOICE_DRAWS if choice else DRAWS)}


def _shares(result: Result) -> list[float]:
    """Returns the long flow's share of the line rate in steps, from the moment at which the others are done."""
    flows = result.flows.select(["label", "start_ps", "fct_ps"]).to_pylist()
    ends = [one["start_ps"] + one["fct_ps"] for one in flows if one["label"] != _LONG]
    first, step = max(ends), _BIN_US * 10**6
    packets = result.packets.select(["time_ps", "node", "event", "kind", "bytes"])
    for column, value in (("event", "arrive"), ("node", "host0"), ("kind", "data")):
        packets = packets.filter(pc.equal(pc.cast(packets[column], "string"), value))
    found = []
    for index in range(_AFTER_US // _BIN_US):
        times = packets["time_ps"]
        inside = pc.and_(pc.greater_equal(times, first + index * step), pc.less(times, first + (index + 1) * step))
        arrived = pc.sum(packets.filter(inside)["bytes"]).as_py() or 0
        found.append(arrived * 8 / (_BIN_US * 1e-6) / 200e9)
    return found


def _mean(result: Result) -> float:
    shares = _shares(result)
    return sum(shares) / len(shares)


def judge(runs: Readings[Result]) -> dict[str, Part]:
    """Judge: after the others are done the long flow gets less under DCQCN than under SFC, and more as time passes."""
    after = {VARIANTS[variant]: runs.by_seed(variant, _mean) for variant in _COMPARED}
    steps = [_shares(result) for result in runs.each("pfc-dcqcn")]
    first, last = [step[0] for step in steps], [step[-1] for step in steps]
    return {
        "H": Part(
            all_of(lower(*after.values()), lower(first, last)),
            {
                f"share of the line in the {_AFTER_US} µs after the others are done": shown(after),
                f"PFC + DCQCN: in the first and the last {_BIN_US} µs of these": shown({"first": first, "last": last}),
            },
        )
    }


JUDGED = Judged(
    document="sfc",
    statements={
        "H": "Under heuristic congestion control a flow can only increase its rate incrementally when another one "
        "completes, rather than directly preempting bandwidth: it gets less than under SFC, and more as time passes",
    },
    runs=as_results,
    judge=judge,
    set_up=SET_UP,
    cases=Cases(cases={"": TWO_LAYER}, variants=_COMPARED, scenario=_scenario, sized=_sized, choices=_CHOICES),
)
PARAMETERS = parameters(
    {"": TWO_LAYER},
    "Part 5, basic settings; Thoughts",
    [chosen("flows", "two of 5 MB and one of 40 MB to one receiver, no victim", "one has to outlast the others")],
)
READS = ("flows", "packets")
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the long flow's share of the line after the others are done, of the first draw."""
    with rc_context(STYLE):
        drawing, axes = canvas()
        runs = as_results(results)
        for variant in _COMPARED:
            shares = _shares(runs.each(variant)[0])
            axes.plot([_BIN_US * (at + 0.5) for at in range(len(shares))], shares, "o-", label=VARIANTS[variant])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("time after the other flows are done (µs)")
        axes.set_ylabel("share of the line rate")
        axes.legend(fontsize=8)
        write(drawing, path)
