"""N.7m: Rail-only with Poisson traffic and incasts, which the paper evaluates "besides" MoE and draws no figure of.

Source: the PortFC paper, section V-E. Rail-only(4); the traffic is that of figures 8 to 11, with 50 % load on the
rails, which makes 31 % within servers. PortFC has ATE as in `experts.py`, and PortFC without ATE stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xoff.reproduce import Cases, Judged, Part, all_of, chosen, given, lowest, whole
from xoff.results import Result
from xoff_experiments.portfc import _mixed
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._ndc import COMPARED, PLAIN, PLAIN_NAME, SET_UP, WORKLOADS, mixed, rail_only, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, Value, by_seed, compared, lower_by, runs_of, told
from xoff_experiments.portfc.experts import PROBES, TRAFFIC, WITHOUT_ATE, asymmetric

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, section V-E"

N = 4
PORTS = 2.6
"""The rate of both ports of a node, in units of the rail's."""
CHOICES: dict[str, dict[str, Any]] = {
    _mixed.SHORT: {},
    PLAIN_NAME: PLAIN,
    "IRN's window 104 KB": {"irn_kb": 104},
    "relays mark": {"relay_marks": True},
    "DCQCN of adapters' firmware": {"preset": "mellanox"},
}


@dataclass(frozen=True, slots=True)
class Case(_mixed.Case):
    """A workload, the open choices, and ATE."""

    first_hop: str = "hash"
    """The first domain on a path, without ATE. BCube's fixed order is the order of NDC networks."""
    raises: bool = False


def scenario_of(case: Case, name: str) -> dict[str, Any]:
    """Returns the scenario of a case under a mechanism; PortFC has ATE unless its name says otherwise."""
    made = scenario(name.partition(" ")[0], rail_only(N), mixed(N, case.sizes, case, PORTS), case, seed=case.seed)
    if name == "portfc":
        made["host"]["first_hop"] = asymmetric(0.9, raises=case.raises)
    return made


def sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed: five of 5 ms, three of 2 ms with open choices, and one of 0.5 ms."""
    if quick:
        return {} if choice else {_mixed.SEEDS[0]: replace(case, seed=_mixed.SEEDS[0], arrivals_ms=0.5)}
    some = replace(case, arrivals_ms=2 if choice else 5)
    return {seed: replace(some, seed=seed) for seed in _mixed.SEEDS[: 3 if choice else 5]}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges mean and tail, and losses."""
    shown = (*COMPARED, WITHOUT_ATE)
    kinds: dict[str, tuple[str, Value]] = {
        "mean": ("mean FCT (µs)", Run.mean_us),
        "tail": ("p99 FCT (µs)", lambda run: run.tail_us(0.99)),
    }
    parts = {}
    for short, (what, value) in kinds.items():
        found = {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
        parts[f"N.7m-{short}"] = Part(
            all_of(*(lowest(by_seed(runs, sizes, COMPARED, value), "portfc") for sizes in WORKLOADS)),
            {f"{title}: {what}": told(runs, sizes, shown, value) for sizes, title in WORKLOADS.items()}
            | {
                f"{WORKLOADS[sizes]}: PortFC lower than (%)": lower_by(one, COMPARED[1:])
                for sizes, one in found.items()
            },
        )
    parts["N.7m-loss"] = Part(
        not any(
            _lost(run)
            for sizes in WORKLOADS
            for name in ("portfc", WITHOUT_ATE)
            for run in runs.each(f"{sizes}/{name}")
        ),
        {f"{title}: packets lost": told(runs, sizes, shown, _lost) for sizes, title in WORKLOADS.items()},
    )
    return {"N.7m": whole(parts), **parts}


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.7m": "Rail-only, Poisson traffic and incasts (ours: the paper evaluates it and draws no figure): PortFC has "
        "the lowest FCT and loses nothing",
        "N.7m-mean": "Rail-only: the mean FCT of PortFC is the lowest in all three workloads",
        "N.7m-tail": "Rail-only: the 99th percentile of PortFC is the lowest in all three workloads",
        "N.7m-loss": "PortFC loses no packet, at relays neither",
    },
    ours=("N.7m", "N.7m-mean", "N.7m-tail", "N.7m-loss"),
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={sizes: Case(sizes=sizes) for sizes in WORKLOADS},
        variants=(*COMPARED, WITHOUT_ATE),
        scenario=scenario_of,
        sized=sized,
        choices=CHOICES,
        probes=PROBES,
    ),
    control=_mixed.SHORT,
    reasons={
        "N.7m": "see N.7m-mean, N.7m-tail, N.7m-loss",
        "N.7m-mean": (
            "PortFC's mean is 9 and 15 % below IRN's on Hadoop and Storage, and 2 % above on WebSearch, within chance. "
            "Without ATE it is 5 % above on Hadoop, 4 on Storage and 7 on WebSearch."
        ),
        "N.7m-loss": (
            "With ATE PortFC loses nothing. Without ATE it loses 22,868 packets in one seed of WebSearch: a relay from "
            "the faster domain to a rail takes in 160 Gb/s and sends 100, and nobody pauses its feeder (N.9r). Relays "
            "that mark lose nothing."
        ),
    },
)
PARAMETERS = table(
    [*TRAFFIC, given("traffic", "Poisson arrivals of three workloads; 8 nodes send 1 MB each to one", "section V-A")],
    [
        chosen("Poisson load", "50 % of each rail, 31 % within servers", "as in NDC(4, 1)"),
        chosen("incasts", "one every 0.5 ms", "as in NDC(4, 1)"),
        chosen("length", "5 ms of arrivals, five seeds", "all flows are completed", "three of 2 ms"),
        chosen("relays mark", "no", "the paper has ECN at switches", "as switches do"),
    ],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws mean and tail."""
    runs = runs_of(results)
    kinds: dict[str, Value] = {"mean FCT": Run.mean_us, "99th percentile": lambda run: run.tail_us(0.99)}
    panels: dict[str, Any] = {}
    for title, value in kinds.items():
        series = {name: [runs.mean(f"{s}/{name}", value) for s in WORKLOADS] for name in (*COMPARED, WITHOUT_ATE)}
        panels[title] = (list(WORKLOADS.values()), series, "FCT (µs)")
    bars(path, panels)
