"""N.7: mixture of experts between rails: 160 Gb/s within a server, 100 Gb/s on rails.

Source: the PortFC paper, section V-E, figures 17 and 18. Ours, for want of figures in the paper: 64 tokens of 7168 B a
node and round, top-2 gating, Zipf's law with exponent 1 over experts, 20 rounds, each after the one before. PortFC has
ATE (section III-E: threshold 0.9; window 10 µs ours), the others hash flows onto first hops, as ATE is part of the
paper's proposal; PortFC without it stands beside them. Judged with other skews and top-1, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.portfc._figures import bars
from experiments.portfc._ndc import COMPARED, rail_only, scenario
from experiments.portfc._runs import Run, Runs, against, compared, lower_by, names, runs_of

from xoff.reproduce import Cases, Judged, Part
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figures 17 and 18"

SEEDS = (1, 2, 3, 4, 5)
SCALES = {f"Rail-only({n})": n for n in (4, 8)}
TRAFFIC: dict[str, dict[str, Any]] = {
    "top-1": {"experts_per_token": 1},
    "no skew": {"skew": 0},
    "skew 1.5": {"skew": 1.5},
}
"""Other traffic: the fields of `Case` to replace."""
WITHOUT_ATE = "portfc without ATE"
"""Its name begins with that of the mechanism."""


@dataclass(frozen=True, slots=True)
class Case:
    """A network of n servers of n GPUs, and what they send each other."""

    n: int
    rounds: int = 20
    experts_per_token: int | None = None
    """None: as everywhere, which is two."""
    skew: float | None = None
    """None: as everywhere, which is one."""
    seed: int = 1


def _scenario(case: Case, name: str) -> dict[str, Any]:
    changed = {"experts_per_token": case.experts_per_token, "skew": case.skew}
    moe = {"tokens": 64, "token": "7168B", "rounds": case.rounds}
    moe |= {key: value for key, value in changed.items() if value is not None}
    made = scenario(name.partition(" ")[0], rail_only(case.n), [{"moe": moe}], seed=case.seed)
    if name == "portfc":
        made["host"]["first_hop"] = {"asymmetric": {"threshold": 0.9}}
    return made


def _sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Return a case by seed; the quick variants are the smaller network for a few rounds."""
    if quick:
        return {} if choice or case.n > 4 else {seed: replace(case, seed=seed, rounds=3) for seed in SEEDS[:2]}
    return {seed: replace(case, seed=seed) for seed in (SEEDS[:2] if choice else SEEDS)}


def _scales(runs: Runs) -> list[str]:
    return [scale for scale in SCALES if scale in runs]


def judge(runs: Runs) -> dict[str, Part]:
    """Judge tails, means, throughput and loss."""
    lost = {
        scale: compared(runs, scale, ("portfc", WITHOUT_ATE), lambda run: run.result.summary["drops"])
        for scale in _scales(runs)
    }
    return {
        "N.7-tail": _is_best(runs, "p99 FCT (µs)", lambda run: run.tail_us(0.99), rivals=("irn",)),
        "N.7-mean": _is_best(runs, "mean FCT (µs)", lambda run: run.mean_us()),
        "N.7-throughput": _is_best(runs, "mean throughput (Gb/s)", lambda run: run.throughput_gbps(), highest=True),
        "N.7-relay": Part(
            not any(value for values in lost.values() for value in values.values()),
            {f"{scale}: packets lost at relays": names(values) for scale, values in lost.items()},
        ),
    }


def _is_best(
    runs: Runs,
    what: str,
    value: Callable[[Run], float],
    *,
    rivals: Sequence[str] = COMPARED[1:],
    highest: bool = False,
) -> Part:
    """Judge whether PortFC's value is the lowest, or the highest, at all scales."""
    found = {scale: compared(runs, scale, (*COMPARED, WITHOUT_ATE), value) for scale in _scales(runs)}
    sign = -1 if highest else 1
    measured: dict[str, Any] = {f"{scale}: {what}": names(values) for scale, values in found.items()}
    if not highest:
        measured |= {
            f"{scale}: PortFC lower than": against(values, COMPARED[1:], lower_by) for scale, values in found.items()
        }
    return Part(all(sign * one["portfc"] < sign * one[other] for one in found.values() for other in rivals), measured)


_JUDGED = Judged(
    document="portfc",
    statements={
        "N.7": "Rail-only, MoE traffic: PortFC's 99th percentile of the FCT is up to 79 % below IRN's, at both "
        "scales, and its throughput the highest",
        "N.7-tail": "The 99th percentile of PortFC is below that of IRN at both scales",
        "N.7-mean": "The mean FCT of PortFC is the lowest at both scales",
        "N.7-throughput": "The mean throughput of PortFC is the highest at both scales",
        "N.7-relay": "No packet is lost at relays (measured; the paper is silent)",
    },
    runs=runs_of,
    judge=judge,
    cases=Cases(
        cases={scale: Case(n) for scale, n in SCALES.items()},
        variants=(*COMPARED, WITHOUT_ATE),
        scenario=_scenario,
        sized=_sized,
        choices=TRAFFIC,
    ),
    varied=("N.7-tail", "N.7-mean", "N.7-throughput"),
    varied_as="with other traffic",
    reasons={
        "N.7-mean": "ATE costs what PortFC gains: without it the mean and the tail are lowest at both scales. After a "
        "window with a burst the weight of the faster domain falls, after quiet ones it rises to one, so that flows "
        "of a burst leave by the same domain and meet at the same relays; a hash splits every burst evenly. Of what "
        "is relayed 7 % took the faster domain first with windows of 1 µs, 46 % with 10 µs and 90 % with 100 µs: the "
        "mean FCT of Rail-only(8) was 56, 46 and 49 µs, and 38 µs with the hash.",
    },
)
CLAIMS = _JUDGED.listed
scenarios = _JUDGED.scenarios
claims = _JUDGED.claims


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw mean, tail and throughput at both scales."""
    runs = runs_of(results)
    scales = _scales(runs)
    kinds = {
        "mean FCT": (lambda run: run.mean_us(), "FCT (µs)"),
        "99th percentile": (lambda run: run.tail_us(0.99), "FCT (µs)"),
        "mean throughput": (lambda run: run.throughput_gbps(), "throughput (Gb/s)"),
    }
    bars(
        path,
        {
            title: (
                scales,
                {name: [runs.mean(f"{scale}/{name}", value) for scale in scales] for name in (*COMPARED, WITHOUT_ATE)},
                label,
            )
            for title, (value, label) in kinds.items()
        },
    )
