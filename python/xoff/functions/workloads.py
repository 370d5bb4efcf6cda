"""Workloads whose rows are the result of a Python function: each call with a seed of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from xoff import _core
from xoff.files.tables import read_table
from xoff.functions import FunctionError, Functions, Hosts, NotAllowedError, other_rows

ROWS = ".python.rows"
"""End of the key of the rows of a function. A scenario whose function was not called names no file at this key."""
GROUPS = ".python.groups"
"""End of the key of the groups that a function returned for a job."""


def seed_of(seed: int, workload: int) -> int:
    """Returns the seed of a workload function: below 2³², which every random generator takes.

    The seed is the first four bytes, as a big-endian number, of the SHA-256 of the text ``SEED/WORKLOAD``: the seed of
    the scenario and the number of the workload, both in decimal digits.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{workload}".encode()).digest()[:4], "big")


def has_function(document: Mapping[str, Any]) -> bool:
    """Whether a function gives the rows of a workload of a resolved scenario."""
    return any("python" in one for one in document.get("workload", ()))


def refuse_other_rows(document: Mapping[str, Any]) -> NoReturn:
    """Raises the error on a scenario whose functions returned other rows when called again."""
    called = ((number, one["python"]) for number, one in enumerate(document["workload"]) if "python" in one)
    number, python = next(called)
    raise FunctionError(f"workload[{number}].python: {other_rows(python['function'])}")


def call(
    functions: Functions | None,
    document: Mapping[str, Any],
    resolved: str,
    tables: Mapping[str, Any],
    keys: Sequence[str],
    directory: Path,
) -> dict[str, Any]:
    """Returns the tables of the functions at these keys, such as ``workload[0].python.rows``, by key.

    functions: the permission; None for a command that calls no functions.
    document, resolved: the resolved scenario, and its text.
    tables: the other tables of the scenario.
    directory: the folder in which modules are looked up first.

    Raises `InputError` with the key if functions may not be called, or a function fails.
    """
    named = {key: document["workload"][_number(key)]["python"] for key in keys}
    if functions is None:
        key, python = next(iter(named.items()))
        raise NotAllowedError(
            f"{key.removesuffix('.rows')}: `{python['function']}` is Python code, which this command does not call; "
            "run the scenario with `xoff run --allow-python --out DIR`, and use DIR/scenario.json"
        )
    # Without permission the network is not even built.
    for key, python in named.items():
        functions.check_allowed(key.removesuffix(".rows"), python["function"], directory)
    hosts = _hosts(resolved, tables)
    found = {}
    for key, python in named.items():
        number = _number(key)
        made = functions.rows(
            key.removesuffix(".rows"),
            python["function"],
            directory,
            hosts,
            seed_of(document["seed"], number),
            python.get("parameters", {}),
            is_job="graph" in document["workload"][number],
        )
        for end, name in ((ROWS, "rows"), (GROUPS, "groups")):
            if name in made:
                place = key.removesuffix(ROWS) + end
                found[place] = read_table(place, made[name])
    return found


def _hosts(resolved: str, tables: Mapping[str, Any]) -> Hosts:
    network = {key: table for key, table in tables.items() if key.startswith("network.")}
    found = json.loads(_core.hosts(resolved, network))
    return Hosts(tuple(found["names"]), tuple(found["rates_bps"]), tuple(found["switches"]))


def _number(key: str) -> int:
    """Returns the number of the workload in a key."""
    return int(key.removeprefix("workload[").partition("]")[0])
