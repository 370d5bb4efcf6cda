"""N.7: mixture of experts between rails: 160 Gb/s within a server, 100 Gb/s on rails.

Source: the PortFC paper, section V-E, figures 17 and 18. Ours, for want of figures in the paper: 64 tokens of 7168 B a
node and round, top-2 gating, Zipf's law with exponent 1 over experts, 20 rounds, each after the one before. PortFC has
ATE (section III-E), the others hash flows onto first hops, as ATE is part of the paper's proposal; PortFC without it
stands beside them. The reading of ATE is that of the page: Algorithm 5, T of the first hop, over the round trip of this
hop. Equation 3 is shown next to it. "Noticeably lower" is by more than 15 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xoff.reproduce import ABOUT_THE_SAME, Cases, Judged, Part, all_of, chosen, given, higher, lower
from xoff.results import Result
from xoff_experiments.portfc._figures import bars
from xoff_experiments.portfc._ndc import COMPARED, PLAIN, PLAIN_NAME, SET_UP, Setting, rail_only, scenario
from xoff_experiments.portfc._parameters import table
from xoff_experiments.portfc._runs import Run, Runs, Value, by_seed, compared, lower_by, runs_of, told

CITATION = "Revisiting Flow Control in Node-Centric Datacenter Networks, figures 17 and 18"

SEEDS = (4, 5, 6, 7, 8)
MAIN_SEEDS = range(4, 19)
"""The seeds of the main reading: the mean of IRN varies by a third from seed to seed."""
SCALES = {f"Rail-only({n})": n for n in (4, 8)}
SHORT = "5 rounds, three seeds alone"
CHOICES: dict[str, dict[str, Any]] = {
    SHORT: {},
    PLAIN_NAME: PLAIN,
    "top-1": {"experts_per_token": 1},
    "no skew": {"skew": 0},
    "skew 1.5": {"skew": 1.5},
    "IRN's window 104 KB": {"irn_kb": 104},
    "DCQCN of adapters' firmware": {"preset": "mellanox"},
}
EQUATION_3 = "ATE by equation 3"
PROBES = {"rule of ATE": {EQUATION_3: {"raises": True}}}
"""Equation 3 is shown, and is no reading under which a statement may hold."""
WITHOUT_ATE = "portfc without ATE"
"""Mechanisms are recognised by the start of a name, here ``portfc``."""


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """A network of n servers of n GPUs, its traffic, and ATE."""

    n: int = 4
    first_hop: str = "hash"
    """The first domain on a path, without ATE. BCube's fixed order is the order of NDC networks."""
    rounds: int = 20
    experts_per_token: int = 2
    skew: float = 1
    threshold: float = 0.9
    raises: bool = False
    """Whether the weight of the faster domain rises again: equation 3."""
    seed: int = 1


def scenario_of(case: Case, name: str) -> dict[str, Any]:
    """Returns the scenario of a case under a mechanism; PortFC has ATE unless its name says otherwise."""
    moe = {
        "tokens": 64,
        "token_size": "7168B",
        "rounds": case.rounds,
        "experts_per_token": case.experts_per_token,
        "zipf_exponent": case.skew,
    }
    made = scenario(name.partition(" ")[0], rail_only(case.n), [{"moe": moe}], case, seed=case.seed)
    if name == "portfc":
        made["host"]["first_hop"] = asymmetric(case.threshold, raises=case.raises)
    return made


def asymmetric(threshold: float, *, raises: bool) -> dict[str, Any]:
    """Returns ``host.first_hop`` with ATE: Algorithm 5, or equation 3, which also raises the weight."""
    return {"asymmetric": {"threshold": threshold, "volume": "in_flight", "raises": raises}}


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed; the quick variants are the smaller network for a few rounds."""
    if quick:
        return {} if choice or case.n > 4 else {seed: replace(case, seed=seed, rounds=3) for seed in SEEDS[:2]}
    if choice:
        return {seed: replace(case, seed=seed, rounds=5) for seed in SEEDS[:3]}
    return {seed: replace(case, seed=seed) for seed in MAIN_SEEDS}


def judge(runs: Runs) -> dict[str, Part]:
    """Judges tails, means, throughput and loss."""
    scales = [scale for scale in SCALES if scale in runs]
    shown = (*COMPARED, WITHOUT_ATE)
    kinds: dict[str, tuple[str, Value]] = {
        "tail": ("p99 FCT (µs)", lambda run: run.tail_us(0.99)),
        "mean": ("mean FCT (µs)", Run.mean_us),
    }
    parts: dict[str, Part] = {}
    for short, (what, value) in kinds.items():
        found = {scale: compared(runs, scale, COMPARED, value) for scale in scales}
        best = max(100 * (1 - one["portfc"] / one["irn"]) for one in found.values())
        each = [by_seed(runs, scale, ("portfc", "irn"), value) for scale in scales]
        parts[f"N.7-{short}"] = Part(
            all_of(*(lower(of["portfc"], [(1 - ABOUT_THE_SAME) * one for one in of["irn"]]) for of in each)),
            {f"{scale}: {what}": told(runs, scale, shown, value) for scale in scales}
            | {f"{scale}: PortFC lower than (%)": lower_by(one, COMPARED[1:]) for scale, one in found.items()}
            | {f"{short} lower than IRN's by at most (%)": round(best, 1)},
            published={"tail lower than IRN's by at most (%)": 79} if short == "tail" else {},
        )
    speed = [by_seed(runs, scale, COMPARED, Run.throughput_gbps) for scale in scales]
    return parts | {
        "N.7-throughput": Part(
            all_of(*(higher(of["portfc"], of[rival]) for of in speed for rival in COMPARED[1:])),
            {f"{scale}: mean throughput (Gb/s)": told(runs, scale, shown, Run.throughput_gbps) for scale in scales},
        ),
        "N.7r": Part(
            not any(_lost(run) for scale in scales for run in runs.each(f"{scale}/portfc")),
            {f"{scale}: packets lost": told(runs, scale, shown, _lost) for scale in scales},
        ),
    }


def _lost(run: Run) -> float:
    return run.result.summary["drops"]


JUDGED = Judged(
    document="portfc",
    set_up=SET_UP,
    statements={
        "N.7": "Rail-only, MoE traffic: PortFC achieves maximum throughput and noticeably lower average and tail "
        "latency than IRN, and the advantage remains when the scale grows",
        "N.7-tail": "The 99th percentile of PortFC is noticeably below that of IRN at both scales",
        "N.7-mean": "The mean FCT of PortFC is noticeably below that of IRN at both scales",
        "N.7-throughput": "The average throughput of PortFC is the highest at both scales",
        "N.7r": "PortFC loses no packet, at relays neither (ours: the paper is silent on relays)",
    },
    ours=("N.7r",),
    reasons={
        "N.7-mean": "PortFC's mean is 13 and 10 % below IRN's; noticeably is 15. ATE costs PortFC 8 and 15 % of the "
        "mean (N.7b): without it PortFC's mean is 20 and 21 % below IRN's.",
    },
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={scale: Case(n=n) for scale, n in SCALES.items()},
        variants=(*COMPARED, WITHOUT_ATE),
        scenario=scenario_of,
        sized=_sized,
        choices=CHOICES,
        probes=PROBES,
    ),
    control=SHORT,
)
TRAFFIC = [
    given("network", "160 Gb/s in a server, 100 Gb/s on rails, n servers of n GPUs", "section V-E"),
    given("ATE", "p = 0.9; Algorithm 5; T from a node to the first hop", "section III-E"),
]
MOE = [
    chosen("tokens", "64 of 7168 B a node and round, 20 rounds, 15 seeds", "DeepSeek-V3's size of a token"),
    chosen("gating", "top-2, Zipf's law with exponent 1", '"top-1 or top-2", "highly skewed"', "top-1; 0; 1.5"),
]
PARAMETERS = table(
    TRAFFIC,
    [
        *MOE,
        chosen("ATE's window", "the round trip of the faster hop, 2.06 µs", "T is a volume, p B a rate"),
    ],
)
CLAIMS = JUDGED.listed
scenarios = JUDGED.scenarios
claims = JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draws mean, tail and throughput at both scales."""
    runs = runs_of(results)
    scales = [scale for scale in SCALES if scale in runs]
    kinds: dict[str, tuple[Value, str]] = {
        "mean FCT": (Run.mean_us, "FCT (µs)"),
        "99th percentile": (lambda run: run.tail_us(0.99), "FCT (µs)"),
        "mean throughput": (Run.throughput_gbps, "throughput (Gb/s)"),
    }
    panels: dict[str, Any] = {}
    for title, (value, label) in kinds.items():
        shown = (*COMPARED, WITHOUT_ATE)
        series = {name: [runs.mean(f"{scale}/{name}", value) for scale in scales] for name in shown}
        panels[title] = (scales, series, label)
    bars(path, panels)
