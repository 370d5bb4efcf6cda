"""N.13: traditional PFC under the workloads of figures 8 to 11.

Source: the PortFC paper, section V-A: the deadlock makes the FCT very large and the throughput zero, so the figures
leave PFC out. A run with PFC ends at 30 ms: arrivals end at 10 ms, and with the other mechanisms all flows are complete
long before. PFC* is shown for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, grouped_bars, write
from xoff.reproduce import Cases, Judged, Part, Spread
from xoff.results import Result
from xoff_experiments.portfc._figures import COLOUR
from xoff_experiments.portfc._mixed import SEEDS, Case, scenario_of, sized
from xoff_experiments.portfc._ndc import MECHANISMS, PLAIN, PLAIN_NAME, SET_UP, WORKLOADS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Runs, runs_of

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, section V-A"

END_MS = 30.0
SHORT = "short runs alone"
CHOICES: dict[str, dict[str, Any]] = {
    SHORT: {},
    PLAIN_NAME: PLAIN,
    "PFC detects at nodes": {"relays": "native"},
    "paths by a hash": {"first_hop": "hash"},
    "30 % of the links": {"link_load": 0.3},
}


def _scenario(case: Case, mechanism: str) -> dict[str, Any]:
    return scenario_of(case, mechanism) | {"until": f"{END_MS:g}ms"}


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed as elsewhere; the quick variant is one of 4 ms, as deadlocks need a while."""
    return (
        {SEEDS[0]: replace(case, seed=SEEDS[0], arrivals_ms=4)} if quick and not choice else sized(case, choice, quick)
    )


def _unfinished(result: Result) -> float:
    """Returns the share of flows that never end, in percent."""
    times = result.flows["fct_ps"].to_pylist()
    return float(100 * times.count(None) / len(times))


def _last_ms(result: Result) -> float:
    """Returns the completion time of the last flow that ends."""
    columns = (result.flows[name].to_pylist() for name in ("start_ps", "fct_ps"))
    return float(max(start + fct for start, fct in zip(*columns, strict=True) if fct is not None)) / 1e9


def judge(runs: Runs) -> dict[str, Part]:
    """Judges whether runs deadlock, and the share of flows that end."""
    found = {
        f"{title}, {MECHANISMS[name]}": [run.result for run in runs.each(f"{sizes}/{name}")]
        for sizes, title in WORKLOADS.items()
        for name in ("pfc", "pfc_star")
    }
    plain = {case: results for case, results in found.items() if case.endswith("PFC")}
    deadlocks = {
        case: f"{sum(one.audits['deadlock'] != 'ok' for one in results)} of {len(results)}"
        for case, results in found.items()
    }
    unfinished = {case: Spread.of(map(_unfinished, results)) for case, results in found.items()}
    last = {case: Spread.of(map(_last_ms, results)) for case, results in found.items()}
    return {
        "N.13-deadlock": Part(
            all(one.audits["deadlock"] != "ok" for results in plain.values() for one in results),
            {"runs with a deadlock": deadlocks},
        ),
        "N.13-zero": Part(
            all(unfinished[case].low > 0 and last[case].high < END_MS / 2 for case in plain),
            {"flows that never end (%)": unfinished, "the last flow that ends does so at (ms)": last},
        ),
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.13": "Traditional PFC in BCube: its deadlock makes the FCT very large, and the throughput degrades to zero",
        "N.13-deadlock": "PFC deadlocks in every run of all three workloads",
        "N.13-zero": "Flows remain that never end, and in the last 15 ms of the run none does",
    },
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={sizes: Case(sizes=sizes) for sizes in WORKLOADS},
        variants=("pfc", "pfc_star"),
        scenario=_scenario,
        sized=_sized,
        choices=CHOICES,
    ),
    control=SHORT,
)
PARAMETERS = mixed(4)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the share of flows that never end."""
    runs = runs_of(results)
    with rc_context(STYLE):
        drawing = Canvas(figsize=(5, 3), layout="constrained")
        axes = drawing.subplots()
        series = [
            (
                MECHANISMS[name],
                [
                    Spread.of(_unfinished(run.result) for run in runs.each(f"{sizes}/{name}")).mean
                    for sizes in WORKLOADS
                ],
            )
            for name in ("pfc_star", "pfc")
        ]
        grouped_bars(axes, list(WORKLOADS.values()), series, digits=0)
        for patch, name in zip(axes.containers, ("pfc_star", "pfc"), strict=False):
            for bar in patch:
                bar.set_color(COLOUR[name])
        axes.set_ylabel("flows that never end (%)")
        axes.legend(fontsize=8)
        write(drawing, path)
