"""N.5: completion times and throughput in NDC(8, 1), with three workloads and 32-to-1 incasts.

Source: the PortFC paper, section V-C, figures 12 and 14. Ours: as in NDC(4, 1); seed 1 has 20 ms of arrivals, the four
others 4 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from experiments.portfc._figures import bars
from experiments.portfc._ndc import COMPARED, WORKLOADS, Setting, mixed, ndc, scenario
from experiments.portfc._runs import Run, Runs, against, compared, lower_by, names, runs_of, times

from xoff.reproduce import Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figures 12 and 14"

SEEDS = (1, 2, 3, 4, 5)


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name; the quick ones are NDC(4, 1) with WebSearch alone."""
    made = {}
    for sizes in WORKLOADS:
        for name in COMPARED:
            for seed in SEEDS[:1] if quick else SEEDS:
                arrivals = 0.6 if quick else 20 if seed == 1 else 4
                setting = Setting(arrivals_ms=arrivals, period_ms=0.3 if quick else 4)
                made[f"{sizes}/{name}/seed {seed}"] = scenario(
                    name, ndc(8), mixed(8, sizes, setting), setting, seed=seed
                )
    return made


def judge(runs: Runs) -> dict[str, Part]:
    """Judge means, tails and throughput."""
    parts: dict[str, Part] = {}
    kinds: dict[str, tuple[str, Callable[[Run], float]]] = {
        "N.5-mean": ("mean", lambda run: run.mean_us()),
        "N.5-tail": ("p99.9", lambda run: run.tail_us(0.999)),
    }
    for short, (what, value) in kinds.items():
        holds, measured = True, dict[str, Any]()
        for sizes, title in WORKLOADS.items():
            values = compared(runs, sizes, COMPARED, value)
            holds &= all(values["portfc"] < values[other] for other in COMPARED[1:])
            measured[f"{title}: {what} FCT (µs)"] = names(values)
            measured[f"{title}: PortFC lower than"] = against(values, COMPARED[1:], lower_by)
        parts[short] = Part(holds, measured)
    for short, workload in (("N.5-poisson", "poisson"), ("N.5-incast", "incast")):
        holds, measured = True, dict[str, Any]()
        for sizes, title in WORKLOADS.items():
            values = compared(runs, sizes, COMPARED, partial(Run.throughput_gbps, workload=workload))
            measured[f"{title}: mean throughput (Gb/s)"] = names(values)
            measured[f"{title}: PortFC against"] = against(values, COMPARED[1:], times)
            if sizes == "websearch":
                holds = all(values["portfc"] > values[other] for other in COMPARED[1:])
        parts[short] = Part(holds, measured)
    return parts


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.5": "NDC(8,1): the mean FCT of PortFC is lower than that of Go-Back-N, IRN and PFC* by up to 96.5, 41.7 and "
        "19.8 %, p99.9 by up to 97.9, 16.6 and 85.5 %; the WebSearch throughput is 4.7, 2.3 and 2.0 times theirs for "
        "Poisson traffic and 21.6, 1.9 and 2.2 times for incasts",
        "N.5-mean": "The mean FCT of PortFC is the lowest in all three workloads",
        "N.5-tail": "The 99.9th percentile of PortFC is the lowest in all three workloads",
        "N.5-poisson": "WebSearch: the mean throughput of Poisson flows is highest with PortFC",
        "N.5-incast": "WebSearch: the mean throughput of incast flows is highest with PortFC",
    },
    runs=runs_of,
    judge=judge,
    reasons={
        "N.5-poisson": "The mean over flows of payload over FCT is that of many small flows, and those are faster "
        "under IRN and Go-Back-N, as in NDC(4, 1) (N.3).",
    },
)
CLAIMS = _JUDGED.listed
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw mean, percentiles and throughput."""
    runs = runs_of(results)
    kinds = {
        "mean FCT": (lambda run: run.mean_us(), "FCT (µs)"),
        "99th percentile": (lambda run: run.tail_us(0.99), "FCT (µs)"),
        "99.9th percentile": (lambda run: run.tail_us(0.999), "FCT (µs)"),
        "Poisson flows": (lambda run: run.throughput_gbps("poisson"), "mean throughput (Gb/s)"),
        "incast flows": (lambda run: run.throughput_gbps("incast"), "mean throughput (Gb/s)"),
    }
    bars(
        path,
        {
            title: (
                list(WORKLOADS.values()),
                {name: [runs.mean(f"{sizes}/{name}", value) for sizes in WORKLOADS] for name in COMPARED},
                label,
            )
            for title, (value, label) in kinds.items()
        },
    )
