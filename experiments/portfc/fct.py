"""N.1, N.3 and N.4: completion times and throughput in NDC(4, 1), with three workloads and 8-to-1 incasts.

Source: the PortFC paper, section V-B, figures 8, 10 and 11. Load, period and length of the arrivals are open there; so
are packet size, path choice, the delay of relays, what nodes do under PFC*, and which BDP is meant. N.1 is judged with
other values of each, too, on 2.5 ms of arrivals and two seeds. Seed 1 has 20 ms of
arrivals, the four others 10 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.portfc._figures import COLOUR, bars
from experiments.portfc._ndc import COMPARED, MECHANISMS, WORKLOADS, Setting, mixed, ndc, scenario
from experiments.portfc._runs import Run, Runs, against, compared, lower_by, names, runs_of, times
from matplotlib import rc_context

from xoff.plots import STYLE, Canvas, legend_below, write
from xoff.reproduce import Cases, Judged, Part, lowest
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figures 8, 10 and 11"

SEEDS = (1, 2, 3, 4, 5)
CHOICES: dict[str, dict[str, Any]] = {
    "2.5 ms alone": {},
    "load 30 %": {"load": 0.3},
    "load 70 %": {"load": 0.7},
    "twice as many incasts": {"period_ms": 0.625},
    "packets of 4048 B": {"payload_bytes": 4000},
    "X_OFF 150 KB, X_ON 100 KB (round-trip BDP)": {"xoff_kb": 150, "xon_kb": 100},
    "IRN's BDP 156 KB": {"irn_bdp_bytes": 156_000},
    "one order of digits": {"first_hop": "highest"},
    "PFC* detects at nodes": {"relays": "native"},
    "relays take turns with own flows": {"relay_scheduler": "round_robin"},
    "relays take 1 µs": {"relay_delay_us": 1},
    "one NACK a gap": {"nack_us": 500},
}
"""Values that the paper leaves open: the fields of `Setting` to replace. The first changes only length and seeds."""


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """A workload, and what is open."""

    sizes: str = "websearch"
    seed: int = 1


def _scenario(case: Case, mechanism: str) -> dict[str, Any]:
    return scenario(mechanism, ndc(4), mixed(4, case.sizes, case), case, seed=case.seed)


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Return a case by seed: the first is the longest, open choices are short, and quick variants leave them out."""
    if quick or choice:
        arrivals_ms, period_ms = (1.5, 0.5) if quick else (2.5, 1.25)
        short = replace(case, arrivals_ms=arrivals_ms, period_ms=period_ms)
        return {} if quick and choice else {seed: replace(short, seed=seed) for seed in SEEDS[:2]}
    return {seed: replace(case, seed=seed, arrivals_ms=case.arrivals_ms if seed == 1 else 10) for seed in SEEDS}


def judge(runs: Runs) -> dict[str, Part]:
    """Judge mean and tail, small flows, and throughput."""
    small = {sizes: compared(runs, sizes, COMPARED, lambda run: run.small_us()) for sizes in WORKLOADS}
    gains = {sizes: compared(runs, sizes, COMPARED, lambda run: run.throughput_gbps()) for sizes in WORKLOADS}
    lead = {sizes: values["portfc"] / values["pfc_star"] for sizes, values in gains.items()}
    shown = {f"{WORKLOADS[sizes]}: mean throughput (Gb/s)": names(values) for sizes, values in gains.items()}
    ratios = {
        f"{WORKLOADS[sizes]}: PortFC against": against(values, COMPARED[1:], times) for sizes, values in gains.items()
    }
    return {
        "N.1-mean": _is_lowest(runs, "mean", lambda run: run.mean_us()),
        "N.1-tail": _is_lowest(runs, "p99", lambda run: run.tail_us(0.99)),
        "N.3": Part(
            all(values["portfc"] < values["irn"] for values in small.values()),
            {f"{WORKLOADS[sizes]}: mean FCT below 100 KB (µs)": names(values) for sizes, values in small.items()},
        ),
        "N.4-higher": Part(
            all(values["portfc"] > values[other] for values in gains.values() for other in COMPARED[1:]),
            shown | ratios,
        ),
        "N.4-storage": Part(
            max(lead, key=lambda sizes: lead[sizes]) == "storage" and lead["storage"] > 1,
            {"PortFC against PFC*": {WORKLOADS[sizes]: f"×{value:.2f}" for sizes, value in lead.items()}},
        ),
    }


def _is_lowest(runs: Runs, what: str, value: Callable[[Run], float]) -> Part:
    """Judge whether the mean or the tail of PortFC is the lowest in all workloads."""
    found = {sizes: compared(runs, sizes, COMPARED, value) for sizes in WORKLOADS}
    measured: dict[str, Any] = {}
    for sizes, values in found.items():
        measured[f"{WORKLOADS[sizes]}: {what} FCT (µs)"] = names(values)
        measured[f"{WORKLOADS[sizes]}: PortFC lower than"] = against(values, COMPARED[1:], lower_by)
    return Part(all(lowest(values, "portfc") for values in found.values()), measured)


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.1": "NDC(4,1): PortFC has the lowest mean and tail FCT in all three workloads; against IRN the mean is "
        "lower by 11.7 % (Hadoop), 40.9 % (Storage) and 69.2 % (WebSearch) and the tail by 16.9 to 41.3 %; against "
        "PFC* the mean by 49.9 to 87.3 % and the tail by 53.3 to 87.7 %",
        "N.1-mean": "The mean FCT of PortFC is the lowest in all three workloads",
        "N.1-tail": "The tail FCT of PortFC is the lowest in all three workloads",
        "N.3": "IRN's completion time of small flows is not ideal: PortFC's is lower in all three workloads (figure "
        "10)",
        "N.4": "The mean throughput of PortFC is about 8 times that of PFC* on Storage and about 2 times elsewhere; "
        "1.7 to 2.3 times that of IRN; 2.4 to 3.9 times that of Go-Back-N",
        "N.4-higher": "The mean throughput of PortFC is the highest in all three workloads",
        "N.4-storage": "Its lead over PFC* is largest on Storage",
    },
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={sizes: Case(sizes=sizes) for sizes in WORKLOADS},
        variants=COMPARED,
        scenario=_scenario,
        sized=_sized,
        choices=CHOICES,
    ),
    varied=("N.1-mean", "N.1-tail"),
    reasons={
        "N.3": "75 KB of X_OFF are below K_min, so that PortFC's queues are hardly ever marked (in 4 ms of WebSearch "
        "195 packets are, and 23 668 under IRN): DCQCN stays away, sources keep their rate and are stopped by pauses, "
        "ten queues a and seven queues b of the 96 of each kind at a time. Small flows wait in them, behind others of "
        "their output; under IRN they wait in shorter, marked queues. IRN's timeouts cost little, as 5 MB lose "
        "nothing.",
        "N.4-higher": "The mean over flows of payload over FCT is that of many small flows, which are faster under "
        "IRN and Go-Back-N (see N.3). The mean FCT, which long flows decide, says the opposite.",
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw mean and tail FCT and throughput (figures 8 and 11); beside it the distributions of figure 10."""
    runs = runs_of(results)
    kinds = {
        "mean FCT": (lambda run: run.mean_us(), "FCT (µs)"),
        "95th percentile": (lambda run: run.tail_us(0.95), "FCT (µs)"),
        "99th percentile": (lambda run: run.tail_us(0.99), "FCT (µs)"),
        "99.9th percentile": (lambda run: run.tail_us(0.999), "FCT (µs)"),
        "mean throughput": (lambda run: run.throughput_gbps(), "throughput (Gb/s)"),
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
    with rc_context(STYLE):
        drawing = Canvas(figsize=(9, 3), layout="constrained")
        for axes, (sizes, title) in zip(drawing.subplots(1, len(WORKLOADS)), WORKLOADS.items(), strict=True):
            for name in COMPARED:
                run = runs.each(f"{sizes}/{name}")[0]
                for workload, dashes in (("poisson", "-"), ("incast", "--")):
                    found = run.fct_us(workload)
                    shares = [(rank + 1) / len(found) for rank in range(len(found))]
                    label = MECHANISMS[name] if workload == "poisson" else None
                    axes.step(found, shares, dashes, where="post", color=COLOUR[name], label=label, linewidth=1)
            axes.set_xscale("log")
            axes.set_title(f"{title} (dashed: incasts)", fontsize=8)
            axes.set_xlabel("FCT (µs)")
        drawing.axes[0].set_ylabel("share of the flows")
        legend_below(drawing, 5)
        write(drawing, path.with_stem(f"{path.stem}-distribution"))
