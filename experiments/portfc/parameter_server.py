"""N.6: a parameter server in NDC(4, 1) and NDC(8, 1): all push, then it broadcasts.

Source: the PortFC paper, section V-D, figures 15 and 16; 1, 2, 4 and 8 MB. Ours: the server is node 0, and the path of
a flow depends on its number alone, so that one seed says it all; others are other paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from experiments.portfc._figures import bars
from experiments.portfc._ndc import ndc, scenario
from experiments.portfc._runs import Run, Runs, against, compared, lower_by, names, runs_of

from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figures 15 and 16"

COMPARED = ("portfc", "irn", "pfc_star")
SIZES_MB = (1, 2, 4, 8)
SEEDS = (1, 2, 3, 4, 5)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    return {
        f"NDC({n},1), {size} MB/{name}/seed {seed}": scenario(
            name, ndc(n), [{"parameter_server": {"server": 0, "size": f"{size}MB"}}], seed=seed
        )
        for n in ((4,) if quick else (4, 8))
        for size in (SIZES_MB[:1] if quick else SIZES_MB)
        for name in COMPARED
        for seed in (SEEDS[:2] if quick else SEEDS)
    }


def stages_us(run: Run) -> tuple[float, float]:
    """Return how long the pushes took, and then the broadcast."""
    flows = run.result.flows
    columns = (flows[name].to_pylist() for name in ("dst", "start_ps", "fct_ps"))
    ends = [(dst, (start + fct) / 1e6) for dst, start, fct in zip(*columns, strict=True)]
    first = max(end for dst, end in ends if dst == "host0")
    return first, max(end for _, end in ends) - first


def _stage_us(stage: int, run: Run) -> float:
    return stages_us(run)[stage]


def judge(runs: Runs) -> dict[str, Part]:
    """Judge both stages of every size."""
    cases = list(dict.fromkeys(name.split("/")[0] for name in runs.names))
    first = {case: compared(runs, case, COMPARED, lambda run: stages_us(run)[0]) for case in cases}
    second = {case: compared(runs, case, COMPARED, lambda run: stages_us(run)[1]) for case in cases}
    largest = [case for case in cases if case.endswith(cases[-1].rpartition(",")[2])]
    fct = {
        f"{case}: {title}": compared(runs, case, COMPARED, value)
        for case in largest
        for title, value in (
            ("mean FCT (µs)", lambda run: run.mean_us()),
            ("p99 FCT (µs)", lambda run: run.tail_us(0.99)),
        )
    }

    def shortest(found: Mapping[str, Mapping[str, float]]) -> bool:
        return all(values["portfc"] < values[other] for values in found.values() for other in COMPARED[1:])

    return {
        "N.6-first": Part(
            shortest(first),
            {f"{case}: first stage (µs)": names(values) for case, values in first.items()}
            | {
                f"{case}: PortFC shorter than": against(values, COMPARED[1:], lower_by)
                for case, values in first.items()
            },
        ),
        "N.6-broadcast": Part(
            all(max(values.values()) <= 1.15 * min(values.values()) for values in second.values()),
            {f"{case}: broadcast (µs)": names(values) for case, values in second.items()},
        ),
        "N.6-fct": Part(
            shortest(fct),
            {what: names(values) for what, values in fct.items()},
        ),
    }


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.6": "Parameter server: PortFC's first stage is up to 12.6 % shorter than IRN's and up to 79.2 % shorter "
        "than PFC*'s; the broadcast takes the same time with all",
        "N.6-first": "The first stage is shortest with PortFC, for every size and both networks",
        "N.6-broadcast": "The broadcast stage takes the same time (within 15 %) with PortFC, IRN and PFC*",
        "N.6-fct": "With 8 MB mean and 99th percentile of the FCT are lowest with PortFC (figure 16)",
    },
    runs=runs_of,
    judge=judge,
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw both stages by size."""
    runs = runs_of(results)
    cases = list(dict.fromkeys(name.split("/")[0] for name in runs.names))
    panels = {}
    for network in dict.fromkeys(case.partition(", ")[0] for case in cases):
        of_it = [case for case in cases if case.startswith(f"{network}, ")]
        for stage, title in enumerate(("first stage", "broadcast")):
            panels[f"{network}: {title}"] = (
                [case.partition(", ")[2] for case in of_it],
                {name: [runs.mean(f"{case}/{name}", partial(_stage_us, stage)) for case in of_it] for name in COMPARED},
                "time (µs)",
            )
    bars(path, panels)
