"""Poisson traffic with incasts in NDC(4, 1) and NDC(8, 1): what figures 8 to 14 are about, and their open choices.

A run is named ``choice: workload/mechanism/seed N``. Ten seeds, none of which the search for the set-up saw, have 10 ms
of arrivals each in NDC(4, 1), and 4 ms in NDC(8, 1); open choices three of 4 and 1 ms. The one-way BDP is a reading of
the paper's words, and has all seeds at full length. All flows are completed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from xoff.reproduce import Cases, Judged, Part
from xoff_experiments.portfc._ndc import COMPARED, PLAIN, PLAIN_NAME, SET_UP, WORKLOADS, Setting, mixed, ndc, scenario
from xoff_experiments.portfc._runs import Runs, runs_of

SEEDS = tuple(range(4, 14))
"""Not 1 to 3, on which the set-up was searched."""
ARRIVALS_MS = {4: 10.0, 8: 4.0}
CHOICE_MS = {4: 4.0, 8: 1.0}
QUICK_MS = {4: 1.5, 8: 0.6}
SHORT = "short runs alone"
ONE_WAY = "X_OFF 75 KB, X_ON 50 KB (one-way BDP)"
"""The letter of "D in BDP refers to the single-hop latency". The choice has the length and the seeds of the set-up."""
_FIRST_PAGE = {"port_load": 0.5, "period_ms": 4.0, "alpha": 1024.0}

CHOICES: dict[str, dict[str, Any]] = {
    SHORT: {},
    PLAIN_NAME: PLAIN,
    "50 % of both ports": {"port_load": 0.5},
    "an incast every 4 ms": {"period_ms": 4.0},
    "one pool of 5 MB": {"alpha": 1024.0},
    "50 % of both ports, an incast every 4 ms, one pool": _FIRST_PAGE,
    "marks by port": {"ecn_scope": "port"},
    "IRN's window 104 KB": {"irn_kb": 104},
    "DCQCN of adapters' firmware": {"preset": "mellanox"},
}
"""Values that the paper leaves open: the fields of `Setting` to replace. The first changes only length and seeds."""
MORE_CHOICES: dict[str, dict[str, Any]] = {
    "30 % of the links": {"link_load": 0.3},
    "an incast every 0.5 ms": {"period_ms": 0.5},
    "IRN's window 75 KB": {"irn_kb": 75},
    "IRN's window 156 KB": {"irn_kb": 156},
    "DCQCN of ConWeave's code": {"preset": "conweave"},
    "packets of 4048 B": {"payload_bytes": 4000},
    ONE_WAY: {"xoff_kb": 75, "xon_kb": 50},
    "paths by a hash": {"first_hop": "hash"},
    "PFC* detects at nodes": {"relays": "native"},
    "relays take turns with own flows": {"relay_scheduler": "round_robin"},
    "relays take 1 µs": {"relay_delay_us": 1},
    "one NACK a gap": {"nack_us": 500},
}
"""Choices judged in NDC(4, 1) alone."""
LADDERS = {
    "load": ("30 % of the links", "50 % of both ports"),
    "time between incasts": ("an incast every 0.5 ms", "an incast every 4 ms"),
    "IRN's window": ("IRN's window 75 KB", "IRN's window 104 KB", "IRN's window 156 KB"),
}
"""Choices in steps away from the main reading, from the nearest step outward."""


@dataclass(frozen=True, slots=True)
class Case(Setting):
    """A network, a workload, and the open choices."""

    n: int = 4
    sizes: str = "websearch"
    seed: int = 1
    probe: bool = False
    """Whether queues are looked at, every 10 us."""


def scenario_of(case: Case, mechanism: str) -> dict[str, Any]:
    """Returns the scenario of a case under a mechanism."""
    more = {"probe": {"queues": "10us"}} if case.probe else {}
    return scenario(mechanism, ndc(case.n), mixed(case.n, case.sizes, case), case, seed=case.seed, **more)


def sized(case: Case, choice: str, quick: bool) -> dict[int | None, Case]:
    """Returns a case by seed. Open choices are short, except `ONE_WAY`, and quick variants leave out the choices."""
    if quick and choice:
        return {}
    short = choice not in {"", ONE_WAY}
    lengths = QUICK_MS if quick else CHOICE_MS if short else ARRIVALS_MS
    some = replace(case, arrivals_ms=lengths[case.n])
    if quick and case.n == 8:
        return {SEEDS[0]: replace(some, seed=SEEDS[0])}
    return {seed: replace(some, seed=seed) for seed in (SEEDS[:2] if quick else SEEDS[:3] if short else SEEDS)}


def judged(
    n: int,
    *,
    statements: Mapping[str, str],
    judge: Callable[[Runs], Mapping[str, Part]],
    variants: Sequence[str] = COMPARED,
    workloads: Sequence[str] = tuple(WORKLOADS),
    probe: bool = False,
    reasons: Mapping[str, str] | None = None,
    ours: Collection[str] = (),
    readings: Mapping[str, str] | None = None,
) -> Judged[Runs]:
    """Returns statements on NDC(n, 1), each judged with every open choice."""
    more: dict[str, Any] = {"readings": readings} if readings else {}
    choices = CHOICES | (MORE_CHOICES if n == 4 else {})
    return Judged(
        document="portfc",
        statements=statements,
        runs=runs_of,
        judge=judge,
        cases=Cases(
            cases={sizes: Case(n=n, sizes=sizes, probe=probe) for sizes in workloads},
            variants=variants,
            scenario=scenario_of,
            sized=sized,
            choices=choices,
            probes={
                what: {step: choices[step] for step in steps if step in choices} for what, steps in LADDERS.items()
            },
        ),
        set_up=SET_UP,
        control=SHORT,
        reasons=reasons or {},
        ours=ours,
        **more,
    )
