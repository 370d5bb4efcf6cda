"""The objective of ``xoff tune``: the table ``[objective]`` of a study.

For example:

    [objective]
    minimise = "fct_p99_ps"
    constraints = { "pfc_pauses" = 0, "link_bytes" = { at_least = "1MB" } }
    runs = 200

A goal is a metric, or the path of a setting that an axis varies: ``minimise = "switch.buffer.per_port"`` finds the
smallest buffer within the limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xoff import formatting
from xoff._core import InputError
from xoff.statistics import CONFIDENCE, cases_needed
from xoff.study import settings

if TYPE_CHECKING:
    from xoff.study.axes import Column

_KEYS = ("minimise", "maximise", "constraints", "runs", "seed", "at_once", "confirm")
_MOST_GOALS = 3
_POINTS = 50
"""Default number of settings that the search tries."""
_AT_MOST = 0.05
"""Default of the share of seeds that may break a limit, for which the needed number of seeds is reported."""
_CONFIRM_KEYS = ("at_most", "confidence")
_MOST_SEEDS = 1000


@dataclass(frozen=True, slots=True)
class Goal:
    """A metric or a varied setting to minimise or to maximise."""

    metric: str
    """The column of the metric or of the setting."""
    is_least: bool
    path: str | None = None
    """The path of a varied setting; None for a metric of the runs."""

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
    at_most: float = _AT_MOST
    """The share of all seeds that may break a limit, for which the needed number of unseen seeds is reported."""
    confidence: float = CONFIDENCE
    """The confidence in that share."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of goals and limits, each once."""
        return tuple(dict.fromkeys([*(one.metric for one in self.goals), *(one.metric for one in self.limits)]))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The columns that are metrics of runs, and not settings."""
        varied = {one.metric for one in self.goals if one.path is not None}
        return tuple(name for name in self.columns if name not in varied)

    @property
    def seeds_needed(self) -> int:
        """The number of unseen seeds that show the share `at_most`, if the limits are kept with all of them."""
        return cases_needed(self.at_most, self.confidence)


def read(document: Mapping[str, Any], seeds: int, runs: int | None = None, columns: Sequence[Column] = ()) -> Objective:
    """Returns the objective of a study with `seeds` seeds. Raises `InputError` with the key.

    runs: replaces the table's ``runs``.
    columns: the columns of the varied settings.
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
    goals = [_goal(name, key, columns) for key in ("minimise", "maximise") for name in _names(found, key)]
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
        *_confirm(found),
    )


def _goal(name: str, key: str, columns: Sequence[Column]) -> Goal:
    """Returns the goal of this name: a varied setting by its path, or a metric."""
    varied = next((one for one in columns if one.path == name), None)
    if varied is None and "." in name and settings.kind(name) is not None:
        raise InputError(f"objective.{key}: no axis varies the setting `{name}`; add it to [axes], or name a metric")
    if varied is None:
        return Goal(_column(name), key == "minimise")
    if not varied.numeric:
        raise InputError(
            f"objective.{key}: the values of `{name}` are not numbers, so none is the smallest; "
            "give numbers or a range in [axes], or name a metric"
        )
    return Goal(varied.name, key == "minimise", name)


def _confirm(found: Mapping[str, Any]) -> tuple[int, float, float]:
    """Returns the number of unseen seeds, and the share of seeds and the confidence that this number is compared with.

    ``confirm`` is the number of seeds, or the share and the confidence from which the number follows.
    """
    given = found.get("confirm")
    if not isinstance(given, Mapping):
        return _whole(found, "confirm", 5, 0, _MOST_SEEDS), _AT_MOST, CONFIDENCE
    for key in given:
        if key not in _CONFIRM_KEYS:
            allowed = ", ".join(f"`{one}`" for one in _CONFIRM_KEYS)
            raise InputError(f"objective.confirm.{key}: unknown key; allowed are {allowed}")
    at_most, confidence = (
        _share(given.get(key, default), f"objective.confirm.{key}")
        for key, default in (("at_most", _AT_MOST), ("confidence", CONFIDENCE))
    )
    if (needed := cases_needed(at_most, confidence)) > _MOST_SEEDS:
        raise InputError(
            f"objective.confirm: at most {at_most:.4%} with {confidence:.4%} confidence needs {needed:,} unseen seeds; "
            f"{_MOST_SEEDS:,} are possible, so raise `at_most` or lower `confidence`"
        )
    return needed, at_most, confidence


def _share(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise InputError(f"{where}: {value!r} was given; a number between 0 and 1 is needed, such as 0.05")
    return float(value)


def _names(found: Mapping[str, Any], key: str) -> list[str]:
    given = found.get(key, [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"objective.{key}: {given!r} was given; a metric, the path of a varied setting, or a list is needed"
        )
    return list(names)


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
