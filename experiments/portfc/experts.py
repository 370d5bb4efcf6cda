"""N.7: mixture of experts between rails: 160 Gb/s within a server, 100 Gb/s on rails.

Source: the PortFC paper, section V-E, figures 17 and 18. Ours, for want of figures in the paper: 64 tokens of 7168 B a
node and round, top-2 gating, Zipf's law with exponent 1 over experts, 20 rounds, each after the one before. PortFC has
ATE (section III-E: threshold 0.9; window 10 µs ours), the others hash flows onto first hops, as ATE is part of the
paper's proposal; PortFC without it stands beside them. Judged with other skews and top-1, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.portfc._ndc import COMPARED, rail_only, scenario
from experiments.portfc._study import Runs, against, bars, compared, lower_by, names

from xoff.reproduce import Claim, Statements
from xoff.results import Result

CITATION = "PortFC: Designing High-Performance Deadlock-Free BCube Networks, figures 17 and 18"

TEXTS = {
    "N.7": "Rail-only, MoE traffic: PortFC's 99th percentile of the FCT is up to 79 % below IRN's, at both scales, and "
    "its throughput the highest",
    "N.7-tail": "The 99th percentile of PortFC is below that of IRN at both scales",
    "N.7-mean": "The mean FCT of PortFC is the lowest at both scales",
    "N.7-throughput": "The mean throughput of PortFC is the highest at both scales",
    "N.7-relay": "No packet is lost at relays (measured; the paper is silent)",
}
STATEMENTS = Statements("portfc", TEXTS)
CLAIMS = STATEMENTS.ids
SEEDS = (1, 2, 3, 4, 5)
TRAFFIC: dict[str, dict[str, Any]] = {
    "": {},
    "top-1: ": {"experts_per_token": 1},
    "no skew: ": {"skew": 0},
    "skew 1.5: ": {"skew": 1.5},
}
WITHOUT_ATE = "portfc without ATE"
"""Its name begins with that of the mechanism."""
REASONS = {
    "N.7-mean": "ATE costs what PortFC gains: without it the mean and the tail are lowest at both scales. After a "
    "window with a burst the weight of the faster domain falls, after quiet ones it rises to one, so that flows of a "
    "burst leave by the same domain and meet at the same relays; a hash splits every burst evenly. Of what is "
    "relayed 7 % took the faster domain first with windows of 1 µs, 46 % with 10 µs and 90 % with 100 µs: the mean "
    "FCT of Rail-only(8) was 56, 46 and 49 µs, and 38 µs with the hash.",
}


def scenarios(quick: bool) -> dict[str, dict[str, Any]]:
    """Return the scenarios by name."""
    made = {}
    for label, fields in list(TRAFFIC.items())[: 1 if quick else None]:
        moe = {"tokens": 64, "token": "7168B", "rounds": 3 if quick else 20, **fields}
        for n in (4,) if quick else (4, 8):
            for name in (*COMPARED, WITHOUT_ATE):
                for seed in SEEDS[:2] if quick or label else SEEDS:
                    one = scenario(name.partition(" ")[0], rail_only(n), [{"moe": moe}], seed=seed)
                    if name == "portfc":
                        one["host"]["first_hop"] = {"asymmetric": {"threshold": 0.9}}
                    made[f"{label}Rail-only({n})/{name}/seed {seed}"] = one
    return made


def claims(results: Mapping[str, Result]) -> list[Claim]:
    """Judge tails, means, throughput and loss."""
    runs = Runs(results)
    scales = [f"Rail-only({n})" for n in (4, 8) if any(f"Rail-only({n})" in name for name in runs.names)]
    full = REASONS if len(scales) > 1 else {}
    shown = (*COMPARED, WITHOUT_ATE)
    kinds = {
        "N.7-tail": ("p99 FCT (µs)", lambda run: run.tail_us(0.99)),
        "N.7-mean": ("mean FCT (µs)", lambda run: run.mean_us()),
        "N.7-throughput": ("mean throughput (Gb/s)", lambda run: run.throughput_gbps()),
    }
    parts: dict[str, Claim] = {}
    for short, (what, value) in kinds.items():

        def judged(label: str, short: str = short, value: Any = value) -> tuple[bool, dict[str, dict[str, float]]]:
            found = {scale: compared(runs, f"{label}{scale}", shown, value) for scale in scales}
            rivals = ("irn",) if short == "N.7-tail" else COMPARED[1:]
            sign = -1 if short == "N.7-throughput" else 1
            return all(sign * f["portfc"] < sign * f[other] for f in found.values() for other in rivals), found

        holds, found = judged("")
        measured: dict[str, Any] = {f"{scale}: {what}": names(values) for scale, values in found.items()}
        if short != "N.7-throughput":
            measured |= {
                f"{scale}: PortFC lower than": against(values, COMPARED[1:], lower_by)
                for scale, values in found.items()
            }
        others = [label for label in TRAFFIC if label and any(name.startswith(label) for name in runs.names)]
        if others:
            measured["with other traffic"] = {
                label.removesuffix(": "): "holds" if judged(label)[0] else "does not hold" for label in others
            }
        parts[short] = STATEMENTS.claim(short, holds, measured, full.get(short, ""))
    lost = {
        scale: compared(runs, scale, ("portfc", WITHOUT_ATE), lambda run: run.result.summary["drops"])
        for scale in scales
    }
    parts["N.7-relay"] = STATEMENTS.claim(
        "N.7-relay",
        not any(value for values in lost.values() for value in values.values()),
        {f"{scale}: packets lost at relays": names(values) for scale, values in lost.items()},
        full.get("N.7-relay", ""),
    )
    return [STATEMENTS.whole("N.7", parts), *parts.values()]


def figure(results: Mapping[str, Result], path: Path) -> None:
    """Draw mean, tail and throughput at both scales."""
    runs = Runs(results)
    scales = [f"Rail-only({n})" for n in (4, 8) if any(f"Rail-only({n})" in name for name in runs.names)]
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
