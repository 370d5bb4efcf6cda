"""N.14: the cause of the mechanisms' order: the same runs without DCQCN.

This experiment measures a cause and is no reading of the paper, which has DCQCN in all of its simulations. DCQCN marks
four to six times as many of IRN's packets as of PortFC's, and more of PFC*'s packets than of either. The traffic is the
traffic of figures 8 and 10 in NDC(4, 1) with 4 ms of arrivals, of figure 15 with 1 and 8 MB in NDC(4, 1), and of the
sweep of IRN's timeouts in NDC(8, 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xoff.reproduce import Judged, Part, Spread, whole
from xoff.results import Result
from xoff_experiments.portfc import irn, parameter_server
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._mixed import SEEDS, Case, scenario_of
from xoff_experiments.portfc._ndc import COMPARED, SET_UP, WORKLOADS
from xoff_experiments.portfc._parameters import mixed
from xoff_experiments.portfc._runs import Run, Runs, Value, compared, name_of, runs_of, told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figures 8, 10 and 15"

SERVER_MB = (1, 8)
DCQCN = {"without": False, "with": True}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Returns the scenarios by name, with and without DCQCN."""
    made = {}
    seeds = SEEDS[:1] if quick else SEEDS[:5]
    for how, dcqcn in DCQCN.items():
        for seed in seeds:
            for sizes in WORKLOADS:
                case = Case(sizes=sizes, seed=seed, arrivals_ms=1.5 if quick else 4, dcqcn=dcqcn)
                for name in COMPARED:
                    made[f"{sizes}, {how}/{name}/seed {seed}"] = scenario_of(case, name)
            for size in SERVER_MB[:1] if quick else SERVER_MB:
                pushes = parameter_server.Case(size_mb=size, seed=seed, dcqcn=dcqcn)
                for name in parameter_server.COMPARED:
                    made[f"{size} MB, {how}/{name}/seed {seed}"] = parameter_server.scenario_of(pushes, name)
            timed = irn.Case(n=4 if quick else 8, seed=seed, arrivals_ms=1 if quick else 2, dcqcn=dcqcn)
            for timeouts in irn.SWEEP:
                made[f"timeouts, {how}/{timeouts}/seed {seed}"] = irn.scenario_of(timed, timeouts)
    return made


def judge(runs: Runs) -> dict[str, Part]:
    """Judges the paper's statements without DCQCN, and shows the same numbers with DCQCN."""
    found = {
        (sizes, how): compared(runs, f"{sizes}, {how}", COMPARED, Run.mean_us) for sizes in WORKLOADS for how in DCQCN
    }
    small = {sizes: compared(runs, f"{sizes}, without", COMPARED, Run.small_us) for sizes in WORKLOADS}
    served = [size for size in SERVER_MB if f"{size} MB, with" in runs]
    first = {
        f"{size} MB": compared(runs, f"{size} MB, without", parameter_server.COMPARED, parameter_server.first_us)
        for size in served
    }
    parts = {
        "N.14-order": Part(
            all(
                (one["irn"] < one["pfc_star"]) == (how == "without") and one["irn"] < one["go_back_n"]
                for (_, how), one in found.items()
            ),
            _both(runs, "mean FCT (µs)", Run.mean_us) | _both(runs, "marked packets", _marks),
        ),
        "N.14-small": Part(
            all(one["portfc"] < one["irn"] for one in small.values()),
            _both(runs, "mean FCT below 100 KB (µs)", Run.small_us),
        ),
        "N.14-server": Part(
            all(abs(one[name] / one["portfc"] - 1) <= 0.05 for one in first.values() for name in one),
            {
                f"{size} MB, {how}: first stage (µs)": told(
                    runs, f"{size} MB, {how}", parameter_server.COMPARED, parameter_server.first_us
                )
                for size in served
                for how in DCQCN
            },
        ),
        "N.14-timeouts": Part(
            irn.fall({name: runs.spread(f"timeouts, without/{name}", irn.in_vain) for name in irn.SWEEP}),
            {
                f"{how}: {what}, by RTO_low and RTO_high (µs)": {
                    name: runs.spread(f"timeouts, {how}/{name}", value) for name in irn.SWEEP
                }
                for how in DCQCN
                for what, value in (
                    ("sent again in vain", irn.in_vain),
                    ("mean FCT below 100 KB (µs)", Run.small_us),
                    ("mean throughput (Gb/s)", Run.throughput_gbps),
                )
            },
        ),
    }
    return {"N.14": whole(parts)} | parts


def _marks(run: Run) -> float:
    return run.result.summary["ecn"]["marked"]


def _both(runs: Runs, what: str, value: Value) -> dict[str, dict[str, Spread]]:
    return {
        f"{title}, {how} DCQCN: {what}": {
            name_of(name): runs.spread(f"{sizes}, {how}/{name}", value) for name in COMPARED
        }
        for sizes, title in WORKLOADS.items()
        for how in DCQCN
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.14": "Ours: DCQCN is why IRN is behind PFC*, why its small flows are fast, and why the parameter server "
        "waits",
        "N.14-order": "Without DCQCN the mean FCT of IRN is before those of PFC* and Go-Back-N in all three workloads, "
        "as published; with it, PFC* is before IRN",
        "N.14-small": "Without DCQCN flows below 100 KB are faster with PortFC than with IRN",
        "N.14-server": "Without DCQCN the parameter server's first stage takes the same time, within 5 %, with all",
        "N.14-timeouts": "Without DCQCN what IRN sends again in vain falls as its timeouts grow",
    },
    ours=("N.14", "N.14-order", "N.14-small", "N.14-server", "N.14-timeouts"),
    runs=runs_of,
    judge=judge,
    reasons={
        "N.14-order": (
            "In this set-up IRN is before PFC* with DCQCN, too; the cause is IRN's window of 50 KB (N.1c). "
            "Without DCQCN IRN's mean is 6 and 9 % below PortFC's on Hadoop and Storage, and 3 % above on "
            "WebSearch."
        ),
        "N.14-small": "A window of 50 KB keeps IRN's queues short without DCQCN, too (N.3-small).",
    },
)
PARAMETERS = mixed(4)
CLAIMS = JUDGED.listed
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws the mean FCT with and without DCQCN."""
    runs = runs_of(results)
    panels: dict[str, Any] = {}
    for how in ("with", "without"):
        series = {name: [runs.mean(f"{s}, {how}/{name}", Run.mean_us) for s in WORKLOADS] for name in COMPARED}
        panels[f"{how} DCQCN"] = (list(WORKLOADS.values()), series, "mean FCT (µs)")
    bars(path, panels)
