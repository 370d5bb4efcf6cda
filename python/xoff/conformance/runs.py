"""Runs a scenario in several ways that have to give one result."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

import xoff
from xoff import _core, formatting
from xoff.running import Prepared, prepare

FORWARDED: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 2},
    {"threads": 1, "partitions": 3},
    {"threads": 2, "partitions": 3, "window_ps": 77_001},
]
"""Options of a run with fast-forward."""
WAYS: list[dict[str, Any]] = [
    {"threads": 2, "fast_forward": False},
    {"threads": 3, "rows": False},
    {"threads": 1, "window_ps": 1},
    {"threads": 2, "window_ps": 7_001, "clusters": False},
    {"threads": 1, "partitions": 2},
    {"threads": 2, "partitions": 5, "clusters": False},
]
"""Options of a run without an effect on results: threads, and options of the core alone."""
_SHOWN = 3


class DifferenceError(Exception):
    """Two runs of one scenario have different results."""


def results(prepared: Prepared, **plan: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, pa.Table]]:
    """Runs a scenario, and returns the summary, the performance group, and all tables."""
    output = _core.run(prepared.resolved, prepared.tables, **plan)
    summary = json.loads(output.summary)
    performance = summary.pop("performance")
    return summary, performance, {name: pa.table(output.table(name)) for name in output.tables}


def compared(
    scenario: Mapping[str, Any], plan: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Compares a run with fast-forward with a full run.

    Returns the summary, and the performance groups of the full run and of the other run. Raises `DifferenceError`.
    """
    prepared = prepare(scenario)
    full, whole, tables = results(prepared, threads=1, fast_forward=False)
    summary, performance, found = results(prepared, **plan)
    if summary != full:
        raise DifferenceError(f"with and without fast-forward differ: {_differences(full, summary)}")
    if found.keys() != tables.keys():
        raise DifferenceError(f"tables of one run alone: {', '.join(sorted(found.keys() ^ tables.keys()))}")
    unequal = [name for name, table in tables.items() if not found[name].equals(table)]
    if unequal:
        raise DifferenceError(f"with and without fast-forward differ: tables {', '.join(unequal)}")
    return full, whole, performance


def same_however_it_runs(scenario: dict[str, Any], result: xoff.Result, plans: Sequence[dict[str, Any]]) -> None:
    """Runs again in other ways; all but the performance is the same. Raises `DifferenceError`."""
    prepared = prepare(scenario)
    expected = {key: value for key, value in result.summary.items() if key != "performance"}
    for plan in plans:
        output = _core.run(prepared.resolved, prepared.tables, **plan)
        summary = {key: value for key, value in json.loads(output.summary).items() if key != "performance"}
        if summary != expected:
            options = ", ".join(f"{key} = {json.dumps(value)}" for key, value in plan.items())
            raise DifferenceError(f"with {options} another result: {_differences(expected, summary)}")


def unless_doomed(
    scenario: dict[str, Any], run: Callable[[dict[str, Any]], xoff.Result] = xoff.run
) -> xoff.Result | None:
    """Runs a scenario; returns None for a run without an end because of the mechanism.

    A mechanism may retransmit forever in step with losses (limitations.md; the run is cut off, so that pauses may
    last). Pauses relayed by relays may close cycles outside the paths of packets. The audits report both, and no
    parameters exclude either. Outside the handler no reference holds the millions of drops of such a run.
    """
    passes_on = scenario["switch"]["flow_control"].get("pfc", {}).get("relays") == "forward"
    try:
        return run(scenario)
    except xoff.AuditError as error:
        in_step = "each retransmission is lost again" in error.found
        if not in_step and not (passes_on and "deadlock: " in error.found):
            raise
    return None


def _differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """Returns the first keys with different values, and the values."""
    listed = list(_unequal(expected, found, ""))
    more = f" and {len(listed) - _SHOWN} more keys" if len(listed) > _SHOWN else ""
    return formatting.plain(", ".join(listed[:_SHOWN]) + more)


def _unequal(expected: Any, found: Any, path: str) -> list[str]:
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        keys = [*expected, *(key for key in found if key not in expected)]
        return [
            one
            for key in keys
            for one in _unequal(expected.get(key), found.get(key), f"{path}.{key}" if path else str(key))
        ]
    return [] if expected == found else [f"{path} {json.dumps(expected)} and {json.dumps(found)}"]
