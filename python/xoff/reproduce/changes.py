"""Settings put on the scenarios of an experiment: ``xoff reproduce ID --set path=value``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from xoff import running
from xoff._core import InputError

_STEPS = re.compile(r"[^.\[\]]+|\[\d+\]")


def changed(
    scenarios: Mapping[str, Mapping[str, dict[str, Any]]], changes: Sequence[tuple[str, str]]
) -> Mapping[str, Mapping[str, dict[str, Any]]]:
    """Return the scenarios of experiments with changes: each is made where a run has the table that the key stands in.

    So a setting of a mechanism leaves the runs without that mechanism alone. Raises `InputError` if no run has it.
    """
    if not changes:
        return scenarios
    used: set[str] = set()
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for experiment, named in scenarios.items():
        made[experiment] = {}
        for name, scenario in named.items():
            resolved = running.resolve(scenario)
            here = [(path, running.typed(value)) for path, value in changes if _has_table(resolved, path)]
            used |= {path for path, _ in here}
            made[experiment][name] = running.resolve(scenario, overrides=here) if here else scenario
    for path, _ in changes:
        if path not in used:
            table = path.rpartition(".")[0]
            raise InputError(f"--set {path}: no run of these experiments has `{table}`")
    return made


def _has_table(document: Any, path: str) -> bool:
    """Tell whether a resolved scenario has the table, or the list, in which the last key of a path stands."""
    for step in _STEPS.findall(path)[:-1]:
        if step.startswith("[") and isinstance(document, list) and int(step[1:-1]) < len(document):
            document = document[int(step[1:-1])]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            return False
    return True
