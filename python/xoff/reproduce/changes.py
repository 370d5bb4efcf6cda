"""Settings put on the scenarios of an experiment: ``xoff reproduce ID --set path=value``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from xoff import running
from xoff._core import InputError

Derived: TypeAlias = Callable[[str, Mapping[str, Any]], Sequence[tuple[str, str]]]
"""From the name of a run and its changed scenario to what follows from it, by path: sizes that follow from links."""
_STEPS = re.compile(r"[^.\[\]]+|\[\d+\]")


def changed(
    scenarios: Mapping[str, Mapping[str, dict[str, Any]]],
    changes: Sequence[tuple[str, str]],
    derived: Mapping[str, Derived] | None = None,
) -> Mapping[str, Mapping[str, dict[str, Any]]]:
    """Return the scenarios of experiments with changes: each is made where a run has the table that the key stands in.

    So a setting of a mechanism leaves the runs without that mechanism alone. Raises `InputError` if no run has it.

    derived: by experiment, what follows from a scenario that was changed; what is set itself wins.
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
