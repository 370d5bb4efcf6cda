"""The objective of ``xoff tune``: the table ``[objective]`` of a study.

For example:

    [objective]
    minimise = "fct_p99_ps"
    constraints = { "pfc_pauses" = 0, "link_bytes" = { at_least = "1MB" } }
    runs = 200
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xoff import formatting
from xoff._core import InputError

_KEYS = ("minimise", "maximise", "constraints", "runs", "seed", "at_once", "confirm")
_MOST_GOALS = 3
_POINTS = 50
"""Default number of settings that the search tries."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A metric to minimise or to maximise."""

    metric: str
    is_least: bool

    @property
    def words(self) -> str:
        """``minimise`` or ``maximise``."""
        return "minimise" if self.is_least else "maximise"


@dataclass(frozen=True, slots=True)
class Limit:
    """The range allowed for a metric, in every seed."""

    metric: str
    least: float
    most: float

    def excess(self, value: float | None) -> float:
        """Returns the distance of a value from the range, as a share of the limit: zero inside, infinite for None."""
        if value is None:
            return math.inf
        beyond = max(self.least - value, value - self.most, 0.0)
        bound = self.least if value < self.least else self.most
        return beyond / (abs(bound) or 1.0)


@dataclass(frozen=True, slots=True)
class Objective:
    """Goals, limits, and the cost of the search."""

    goals: tuple[Goal, ...]
    limits: tuple[Limit, ...]
    runs: int
    """Number of runs of the search: settings tried, times seeds."""
    seed: int
    """Seed of the search; another seed tries other settings."""
    at_once: int
    """Settings chosen before one of them has run: the search depends on this number, not on the number of concurrent
    runs."""
    confirm: int
    """Number of unseen seeds, with which the best settings run again after the search."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of goals and limits, each once."""
        return tuple(dict.fromkeys([*(one.metric for one in self.goals), *(one.metric for one in self.limits)]))


def read(document: Mapping[str, Any], seeds: int, runs: int | None = None) -> Objective:
    """Returns the objective of a study with `seeds` seeds. Raises `InputError` with the key.

    runs: replaces the table's ``runs``.
    """
    found = document.get("objective")
    example = 'such as [objective] with minimise = "fct_p99_ps"'
    if found is None:
        raise InputError(f"objective: missing; `xoff tune` needs goals, {example}")
    if not isinstance(found, Mapping):
        raise InputError(f"objective: {found!r} was given; a table is needed, {example}")
    for key in found:
        if key not in _KEYS:
            raise InputError(f"objective.{key}: unknown key; allowed are {', '.join(f'`{one}`' for one in _KEYS)}")
    if "design" in document:
        raise InputError(
            "design: not allowed with `xoff tune`, which chooses the points; remove it, or use `xoff sweep`"
        )
    found = found if runs is None else {**found, "runs": runs}
    goals = [Goal(name, key == "minimise") for key in ("minimise", "maximise") for name in _names(found, key)]
    if not 1 <= len(goals) <= _MOST_GOALS:
        raise InputError(f"objective: {len(goals)} goals were given; 1 to {_MOST_GOALS} are possible, {example}")
    if len({goal.metric for goal in goals}) < len(goals):
        raise InputError("objective: duplicate metric")
    return Objective(
        tuple(goals),
        tuple(_limits(found.get("constraints", {}))),
        _whole(found, "runs", _POINTS * seeds, seeds, 1_000_000),
        _whole(found, "seed", 1, 0, 2**32 - 1),
        _whole(found, "at_once", 8, 1, 1000),
        _whole(found, "confirm", 5, 0, 1000),
    )


def _names(found: Mapping[str, Any], key: str) -> list[str]:
    given = found.get(key, [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(f"objective.{key}: {given!r} was given; a metric, or a list of them, is needed")
    return [_column(name) for name in names]


def _column(name: str) -> str:
    """Returns the column name of a metric; summaries write `pfc.pauses` for `pfc_pauses`."""
    return name.replace(".", "_")


def _limits(found: Any) -> list[Limit]:
    if not isinstance(found, Mapping):
        raise InputError(f"objective.constraints: {found!r} was given; a table of metrics is needed")
    limits = []
    for name, given in _flat(found):
        where = f"objective.constraints.{name}"
        ends = given if isinstance(given, Mapping) else {"at_most": given}
        if not ends:
            raise InputError(f"{where}: `at_most`, `at_least` or both are needed")
        most, least = (_number(ends[key], where) if key in ends else None for key in ("at_most", "at_least"))
        limits.append(Limit(_column(name), -math.inf if least is None else least, math.inf if most is None else most))
    return limits


def _flat(found: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Returns pairs of metric and limit: names with dots, which TOML reads as nested tables, are joined."""
    pairs: list[tuple[str, Any]] = []
    for key, value in found.items():
        name = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and not set(value) <= {"at_most", "at_least"}:
            pairs += _flat(value, name)
        else:
            pairs.append((name, value))
    return pairs


def _number(value: Any, where: str) -> float:
    if isinstance(value, str) and (found := formatting.quantity(value)) is not None:
        return float(found[0])
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise InputError(f'{where}: {value!r} was given; a number, or a text with a unit such as "50us", is needed')


def _whole(found: Mapping[str, Any], key: str, default: int, least: int, most: int) -> int:
    value = found.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        why = " (one setting with each seed)" if key == "runs" and least > 1 else ""
        raise InputError(
            f"objective.{key}: {value!r} was given; a whole number from {least} to {most:,} is needed{why}"
        )
    return value
