"""Runs with relative ties, full and folded, end all flows at the picosecond of the slow reference."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from reference.flow import Flow
from reference.simulator import simulate
from tests.validation.random_cases import with_shared_memory
from tests.validation.symmetric_cases import (
    Rotations,
    leaf_spine,
    permutation,
    random_symmetric,
    representative,
    trunk,
    with_drops,
    with_pauses,
)

import xoff

Change = Callable[[Random, dict[str, Any]], dict[str, Any]]

SEEDS = range(80)
FEWER = range(30)
# The order of a moment commutes with renamings: a queue drops packets by its own length, pauses leave a switch after
# all other events of a moment, and thresholds of shared memory see the bytes before the moment.
DROPS: list[Change] = [with_drops]
TROUBLE: dict[str, list[Change]] = {
    "pauses": [with_pauses],
    "pauses and drops": [with_pauses, with_drops],
    "shared memory": [with_drops, with_shared_memory],
}
# Frames of an orbit tie at the trunk, and at the uplinks, so that no order commutes with all renamings.
SHARED_PORTS = {"trunk": permutation(trunk(3), 3), "uplinks": permutation(leaf_spine(3, 3, 1), 3)}


def draw(seed: int, changes: Sequence[Change] = ()) -> tuple[dict[str, Any], Rotations]:
    rng = Random(seed)
    scenario, rotations = random_symmetric(rng)
    for change in changes:
        scenario = change(rng, scenario)
    return scenario, rotations


def end_of(flow: Flow) -> tuple[Any, ...]:
    return flow.src, flow.dst, flow.fct_ps, flow.fct_acked_ps, flow.sent, flow.retransmitted, flow.notified


def ends(result: xoff.Result) -> list[tuple[Any, ...]]:
    columns = ["src", "dst", "fct_ps", "fct_acked_ps", "packets_sent", "retransmitted", "notifications"]
    rows = sorted(result.flows.select(["flow", *columns]).to_pylist(), key=lambda row: row["flow"])
    return [tuple(row[column] for column in columns) for row in rows]


def compare(scenario: dict[str, Any], threads: int = 1) -> Rotations:
    """Compares a full and a folded run with the reference. Returns the rotations that the core found."""
    full, folded = (xoff.run(scenario, fold=fold, threads=threads) for fold in (False, True))
    rotations = [(stride, size) for stride, size in folded.summary["performance"]["folding"]["rotations"]]
    expected = [end_of(flow) for flow in simulate(scenario, rotations).flows]
    assert ends(full) == expected
    assert ends(folded) == expected
    return rotations


def orbits_differ(scenario: dict[str, Any], rotations: Rotations, *, relative: bool) -> bool:
    """Whether flows of an orbit end differently in the reference, with relative ties or with ties by port.

    The flows of an orbit have the same place among the flows of hosts of an orbit.
    """
    number_of = {node["name"]: number for number, node in enumerate(scenario["network"]["explicit"]["nodes"])}
    seen: Counter[str] = Counter()
    found: dict[tuple[int, int], set[tuple[Any, ...]]] = defaultdict(set)
    for flow in simulate(scenario, rotations if relative else ()).flows:
        found[representative(number_of[flow.src], rotations), seen[flow.src]].add(end_of(flow)[2:])
        seen[flow.src] += 1
    return any(len(ends) > 1 for ends in found.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_symmetric_cases_agree(seed: int) -> None:
    scenario, rotations = draw(seed)
    assert compare(scenario, threads=1 + seed % 3), f"the core found no rotation; the case has {rotations}"


@pytest.mark.parametrize("seed", FEWER)
@pytest.mark.parametrize("changes", [DROPS, *TROUBLE.values()], ids=["drops", *TROUBLE])
def test_cases_with_drops_and_pauses_agree(changes: Sequence[Change], seed: int) -> None:
    compare(draw(seed, changes)[0], threads=1 + seed % 3)


@pytest.mark.parametrize("scenario", SHARED_PORTS.values(), ids=SHARED_PORTS)
def test_cases_with_ties_within_an_orbit_agree(scenario: dict[str, Any]) -> None:
    compare(scenario)


@pytest.mark.parametrize("seed", SEEDS)
def test_flows_of_an_orbit_end_alike_in_the_reference(seed: int) -> None:
    assert not orbits_differ(*draw(seed), relative=True)
    assert not orbits_differ(*draw(seed, DROPS), relative=True)


def test_the_cases_are_not_trivial() -> None:
    # With ties by port, flows of an orbit end differently in many cases.
    cases = [draw(seed) for seed in SEEDS]
    assert sum(orbits_differ(*case, relative=False) for case in cases) >= len(SEEDS) // 4
    flows = [flow for case in cases for flow in simulate(*case).flows]
    assert all(flow.fct_acked_ps is not None for flow in flows)
    assert sum(flow.notified > 0 for flow in flows) >= len(flows) // 20
    assert sum(bool(simulate(*draw(seed, DROPS)).drops) for seed in FEWER) >= len(FEWER) // 4


@pytest.mark.parametrize("trouble", TROUBLE)
def test_flows_of_an_orbit_end_alike_with_pauses_and_shared_memory(trouble: str) -> None:
    cases = [draw(seed, TROUBLE[trouble]) for seed in FEWER]
    assert not any(orbits_differ(*case, relative=True) for case in cases)
    # With ties by port they do not.
    assert sum(orbits_differ(*case, relative=False) for case in cases) >= len(FEWER) // 6


def test_a_run_that_folds_ties_within_an_orbit_is_wrong() -> None:
    assert orbits_differ(SHARED_PORTS["trunk"], [(1, 3)], relative=True)
    assert orbits_differ(SHARED_PORTS["uplinks"], [(1, 3)], relative=True)
    assert not orbits_differ(SHARED_PORTS["uplinks"], [(3, 3)], relative=True)
