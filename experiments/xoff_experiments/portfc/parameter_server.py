"""N.6: a parameter server in NDC(4, 1) and NDC(8, 1): all push, then it broadcasts.

Source: the PortFC paper, section V-D, figures 15 and 16; 1, 2, 4 and 8 MB. Ours: the server is node 0; the paths of
flows differ by the seed. What the first stage owes to DCQCN is in `without_dcqcn.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xoff.reproduce import Cases, Judged, Part, about_the_same, all_of, chosen, given, lowest
from xoff.results import Result
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._ndc import PLAIN, PLAIN_NAME, SET_UP, Setting, ndc, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import (
    Run,
    Runs,
    Value,
    by_seed,
    compared,
    lower_by,
    name_of,
    names,
    runs_of,
    told,
)

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figures 15 and 16"

COMPARED = ("portfc", "irn", "pfc_star")
SIZES_MB = (1, 2, 4, 8)
SEEDS = (4, 5, 6, 7, 8)
SHORT = "three seeds alone"
CHOICES: dict[str, dict[str, Any]] = {
    SHORT: {},
    PLAIN_NAME: PLAIN,
    "DCQCN of ConWeave's code": {"preset": "conweave"},
    "one pool of 5 MB": {"alpha": 1024.0},
    "IRN's window 104 KB": {"irn_kb": 104},
    "DCQCN of adapters' firmware": {"preset": "mellanox"},
    "IRN's window 25 KB": {"irn_kb": 25},
}
AT_MOST = {"irn": 12.6, "pfc_star": 79.2}
"""By how many percent PortFC's first stage is at most shorter, in the paper."""


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """A network, and how much each node pushes."""

    n: int = 4
    size_mb: int = 1
    seed: int = 1


def scenario_of(case: Case, mechanism: str) -> dict[str, Any]:
    """Returns the scenario of a case under a mechanism."""
    work = [{"parameter_server": {"server": 0, "size": f"{case.size_mb}MB"}}]
    return scenario(mechanism, ndc(case.n), work, case, seed=case.seed)


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed; the quick variants are the smaller network with the two smallest sizes."""
    if quick and (choice or case.n > 4 or case.size_mb > 2):
        return {}
    return {seed: replace(case, seed=seed) for seed in (SEEDS[:2] if quick else SEEDS[:3] if choice else SEEDS)}


def stages_us(run: Run) -> tuple[float, float]:
    """Returns how long the pushes took, and then the broadcast."""
    flows = run.result.flows
    columns = (flows[name].to_pylist() for name in ("dst", "start_ps", "fct_ps"))
    ends = [(dst, (start + fct) / 1e6) for dst, start, fct in zip(*columns, strict=True)]
    first = max(end for dst, end in ends if dst == "host0")
    return first, max(end for _, end in ends) - first


def first_us(run: Run) -> float:
    """Returns how long the pushes took."""
    return stages_us(run)[0]


def _broadcast_us(run: Run) -> float:
    return stages_us(run)[1]


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


def judge(runs: Runs) -> dict[str, Part]:
    """Judges both stages of every size."""
    cases = list(dict.fromkeys(name.split("/")[0] for name in runs.names))
    first = {case: compared(runs, case, COMPARED, first_us) for case in cases}
    broadcast = {case: compared(runs, case, COMPARED, _broadcast_us) for case in cases}
    most = {
        rival: max(((100 * (1 - one["portfc"] / one[rival]), case) for case, one in first.items())) for rival in AT_MOST
    }
    lost = {case: runs.mean(f"{case}/irn", _lost) for case in cases}
    longer = [case for case, one in first.items() if one["irn"] > 1.02 * one["portfc"]]
    largest = [case for case in cases if case.endswith(cases[-1].rpartition(",")[2])]
    kinds: dict[str, Value] = {"mean FCT (µs)": Run.mean_us, "p99 FCT (µs)": lambda run: run.tail_us(0.99)}
    fct = {
        f"{case}: {what}": (by_seed(runs, case, COMPARED, value), told(runs, case, COMPARED, value))
        for case in largest
        for what, value in kinds.items()
    }
    return {
        "N.6-first": Part(
            all_of(*(lowest(by_seed(runs, case, COMPARED, first_us), "portfc") for case in cases)),
            {f"{case}: first stage (µs)": told(runs, case, COMPARED, first_us) for case in cases}
            | {f"{case}: PortFC shorter than (%)": lower_by(one, COMPARED[1:]) for case, one in first.items()}
            | {f"shorter than {name_of(rival)} by at most (%)": round(of_it, 1) for rival, (of_it, _) in most.items()}
            | {f"most against {name_of(rival)} with": case for rival, (_, case) in most.items()},
            published={f"shorter than {name_of(rival)} by at most (%)": of_it for rival, of_it in AT_MOST.items()},
        ),
        "N.6c": Part(
            all(lost[case] > 0 for case in longer),
            {
                "IRN: packets lost": {case: round(value) for case, value in lost.items()},
                "IRN's first stage is longer, by more than 2 %, with": ", ".join(longer) or "none",
            },
            void="" if longer else "IRN's first stage is no longer than PortFC's",
        ),
        "N.6-broadcast": Part(
            all_of(
                *(
                    about_the_same(one[rival], one["portfc"])
                    for one in (by_seed(runs, case, COMPARED, _broadcast_us) for case in cases)
                    for rival in COMPARED[1:]
                )
            ),
            {f"{case}: broadcast (µs)": names(one) for case, one in broadcast.items()},
        ),
        "N.6-fct": Part(
            all_of(*(lowest(values, "portfc") for values, _ in fct.values())),
            {what: spread for what, (_, spread) in fct.items()},
        ),
    }


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.6": "Parameter server: PortFC gets the highest performance with each flow size, in NDC(4,1) and NDC(8,1), "
        "and the broadcast takes the same time with all",
        "N.6-first": "The first stage is shortest with PortFC, for every size and both networks",
        "N.6-broadcast": "The broadcast stage takes the same time (within 15 %) with PortFC, IRN and PFC*",
        "N.6-fct": "With 8 MB mean and 99th percentile of the FCT are lowest with PortFC (figure 16)",
        "N.6c": "Packet loss increases the time of IRN's first stage: it loses packets wherever it is longer, by more "
        "than 2 %",
    },
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={f"NDC({n},1), {size} MB": Case(n=n, size_mb=size) for n in (4, 8) for size in SIZES_MB},
        variants=COMPARED,
        scenario=scenario_of,
        sized=_sized,
        choices=CHOICES,
    ),
    control=SHORT,
    reasons={
        "N.6c": (
            "In NDC(4, 1) IRN loses nothing, and is 42 to 65 % longer. In NDC(8, 1) it loses 1100 to 2200 "
            "packets. The cause is DCQCN: without it all take the same time (N.14)."
        ),
    },
)
PARAMETERS = table(
    [given("traffic", "all push 1, 2, 4 or 8 MB to one node, which then sends as much to each", "section V-D")],
    [
        chosen("seeds", "five, which differ in the paths", "nothing else is random", "three"),
    ],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws both stages by size."""
    runs = runs_of(results)
    cases = list(dict.fromkeys(name.split("/")[0] for name in runs.names))
    panels = {}
    for network in dict.fromkeys(case.partition(", ")[0] for case in cases):
        of_it = [case for case in cases if case.startswith(f"{network}, ")]
        for title, value in (("first stage", first_us), ("broadcast", _broadcast_us)):
            panels[f"{network}: {title}"] = (
                [case.partition(", ")[2] for case in of_it],
                {name: [runs.mean(f"{case}/{name}", value) for case in of_it] for name in COMPARED},
                "time (µs)",
            )
    bars(path, panels)
