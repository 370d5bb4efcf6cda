"""Causes planted into sound scenarios: a judge that reads five lines of output must pick each out of all kinds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest

import xoff
from params import first_fast
from planted import CHECKED, KINDS, Document, judge, judge_sonic, sound, varied
from small import Command
from sonic_cases import write
from test_sonic_checks import TRIPS, facts
from xoff.results import incidents

SHARE = 0.95
"""The least share of causes that the judge must find."""


def lines_of(document: Document) -> list[str]:
    """Returns what a run prints first."""
    try:
        result = xoff.run(document)
    except xoff.AuditError as error:
        result = error.result
    return incidents.lines(result.summary)


def verdicts(name: str, seed: int) -> list[tuple[str, str]]:
    """Returns what the judge picks for a planted cause, from a run and, for a setting, from a check before it.

    The first value is the kind, or ``elsewhere`` if the line names another place than the cause.
    """
    rng = Random(f"{name} {seed}")
    document = sound(rng)
    place = KINDS[name](document, rng)
    outputs = [lines_of(document)]
    if name in CHECKED:
        outputs.append([f"{one['path']}: {one['message']}" for one in xoff.check(document)["warnings"]])
    found = [judge(lines) for lines in outputs]
    return [(one.kind if place in one.line else f"elsewhere: {one.kind}", one.line) for one in found]


def test_there_are_thirty_kinds() -> None:
    assert len(KINDS) >= 30


@pytest.mark.parametrize("name", KINDS)
def test_a_planted_cause_is_in_the_first_five_lines(name: str) -> None:
    assert [kind for kind, _ in verdicts(name, 0)] == [name] * (1 + (name in CHECKED))


@pytest.mark.slow
def test_nearly_all_of_many_planted_causes_are_found() -> None:
    confused: Counter[tuple[str, str]] = Counter()
    total = 0
    for name in KINDS:
        for seed in range(20):
            found = verdicts(name, seed)
            total += len(found)
            confused.update((name, kind) for kind, _ in found if kind != name)
    assert sum(confused.values()) <= (1 - SHARE) * total, confused


@pytest.mark.parametrize("seed", first_fast(range(100), 10))
def test_a_sound_scenario_gives_nothing_to_find(seed: int) -> None:
    assert judge(lines_of(sound(Random(f"sound {seed}")))).kind == "nothing"


def test_sound_scenarios_have_no_warnings() -> None:
    found = {seed: xoff.check(varied(Random(f"varied {seed}")))["warnings"] for seed in range(1000)}
    assert {seed: warnings for seed, warnings in found.items() if warnings} == {}


@pytest.mark.parametrize("name", TRIPS)
def test_a_broken_sonic_configuration_is_named_in_the_first_five_lines(
    name: str, tmp_path: Path, xoff_here: Command
) -> None:
    made, _, _, _, files = TRIPS[name]
    given = {"roce_dscp": 26, "cnp_dscp": 48} | facts(tmp_path / "fabric", files)
    options = {"roce_dscp": "--roce-dscp", "cnp_dscp": "--cnp-dscp", "chip": "--asic", "lookup": "--lookup"}
    chosen = [text for key, value in given.items() if value is not None for text in (options[key], str(value))]
    write(tmp_path / "fabric", made())
    done = xoff_here("check", "--sonic", "fabric", *chosen)
    assert judge_sonic(done.stdout.splitlines()) == name, done.stdout


@pytest.mark.parametrize("name", ["stall", "port does not obey", "a workload without PFC"])
def test_the_commands_print_these_lines_first(name: str, tmp_path: Path, xoff_here: Command) -> None:
    rng = Random(f"{name} 0")
    document = sound(rng)
    place = KINDS[name](document, rng)
    (tmp_path / "run.json").write_text(json.dumps(document), "utf-8")
    done = xoff_here("run", "run.json", "--out", "result")
    assert done.returncode == 0, done.stderr
    found = judge(xoff_here("explain", "result").stdout.splitlines())
    assert (found.kind, place in found.line) == (name, True)
    if name in CHECKED:
        found = judge(xoff_here("check", "run.json").stdout.splitlines())
        assert (found.kind, place in found.line) == (name, True)
