"""Settings applied to the scenarios of an experiment: ``xoff reproduce ID --set path=value``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xoff import running
from xoff._core import InputError
from xoff.running.document import typed

Derived: TypeAlias = Callable[[str, Mapping[str, Any]], Sequence[tuple[str, str]]]
"""From the name of a run and its changed scenario to dependent settings by path, such as sizes for rates."""
_STEPS = re.compile(r"[^.\[\]]+|\[\d+\]")


def changed(
    scenarios: Mapping[str, Mapping[str, dict[str, Any]]],
    changes: Sequence[tuple[str, str]],
    derived: Mapping[str, Derived] | None = None,
) -> Mapping[str, Mapping[str, dict[str, Any]]]:
    """Returns the scenarios with changes: each change is applied to the runs with the table of the key.

    A setting of a mechanism leaves runs without the mechanism unchanged.

    derived: by experiment, the dependent settings of a changed scenario; `changes` take precedence.

    Raises `InputError` if no run has the table.
    """
    if not changes:
        return scenarios
    used: set[str] = set()
    made: dict[str, dict[str, dict[str, Any]]] = {}
    for experiment, named in scenarios.items():
        made[experiment] = {}
        for name, scenario in named.items():
            resolved = running.resolve(scenario)
            here = [(path, typed(value)) for path, value in changes if _has_table(resolved, path)]
            used |= {path for path, _ in here}
            if not here:
                made[experiment][name] = scenario
                continue
            result = running.resolve(scenario, overrides=here)
            if derived and experiment in derived:
                result = running.resolve(scenario, overrides=[*here, *derived[experiment](name, result), *here])
            made[experiment][name] = result
    for path, _ in changes:
        if path not in used:
            table = path.rpartition(".")[0]
            raise InputError(f"--set {path}: unknown table `{table}` in the runs of these experiments")
    return made


def _has_table(document: Any, path: str) -> bool:
    """Whether a resolved scenario has the table or list around the last key of a path."""
    for step in _STEPS.findall(path)[:-1]:
        if step.startswith("[") and isinstance(document, list) and int(step[1:-1]) < len(document):
            document = document[int(step[1:-1])]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            return False
    return True
