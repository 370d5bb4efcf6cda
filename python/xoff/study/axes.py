"""The parameters of a study: axes of a scenario's settings, groups of axes that move together, and named variants.

A `Dimension` is a list of `Level`; the points of a study are the product of its dimensions:

- An axis is a dimension with a level for each value. A value may have a name, which labels the value.
- A group of axes (``zip``) is a dimension whose levels set several paths.
- The variants are a dimension whose levels set the settings of a variant, times the variant's own axes.

In a study with a design, these are its factors (`Factor`), and a range may have neither ``step`` nor ``points``.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.study import settings

VARIANT = "variant"
OF_VARIANTS = ("axes", "unset")
"""Keys of a variant that are not settings."""
_VALUES = "values"
"""The key of an axis whose values have names."""
_RANGE = ("from", "to", "step", "points", "scale")
_MAX_VALUES = 100_000
_LISTED = 6
"""Number of elements up to which a list is shown whole."""
MAX_COMBINATIONS = 1_000_000
"""Maximum number of runs of a study."""

Value: TypeAlias = "str | int | float | bool"


@dataclass(frozen=True, slots=True)
class Span:
    """A range without steps, from which a design takes values."""

    low: Fraction
    high: Fraction
    unit: str | None
    log: bool
    whole: bool
    """Whether the setting is a whole number; each number then gets an equal share of the range."""

    def at(self, share: float) -> Value:
        """Returns the value at a share of the range, 0 to 1, rounded to four significant digits of the range."""
        if share in (0, 1):
            return _written(self.high if share else self.low, self.unit)
        if self.whole and not self.log:
            count = int(self.high - self.low) + 1
            return int(self.low) + _place(share, count)
        if self.log:
            value = Fraction(f"{float(self.low) * (float(self.high) / float(self.low)) ** share:.4g}")
        else:
            value = self.low + (self.high - self.low) * Fraction(share)
            digit = Fraction(10) ** math.floor(math.log10(float(self.high - self.low)) - 3)
            value = round(value / digit) * digit
        value = min(max(value, self.low), self.high)
        return _written(Fraction(round(value)) if self.whole or self.unit else value, self.unit)


def _place(share: float, count: int) -> int:
    """Returns the index of the equal part that contains a share; an edge belongs to the part that begins there."""
    return min(math.floor(share * count + 1e-9), count - 1)


class Name(str):
    """The name of a value. A name such as ``1MB`` is no quantity."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """The values of one path, and their column."""

    path: str
    key: str
    """The key of the axis in the study, for messages."""
    values: tuple[Any, ...] | Span
    names: tuple[str, ...] = ()
    """A name for each value; without names, a value is its own label."""

    def pairs(self) -> list[tuple[Any, Any]]:
        """Returns each value with its label; none for a range without steps."""
        values = () if isinstance(self.values, Span) else self.values
        return list(zip(values, self.names or values, strict=True))


@dataclass(frozen=True, slots=True)
class Level:
    """One step of a dimension: the settings of the scenario, and their labels."""

    settings: tuple[tuple[str, Any], ...]
    labels: tuple[tuple[str, Any], ...]
    """By path (or ``variant``): the value as given in the study."""


Dimension: TypeAlias = tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Factor:
    """A dimension of a design: a list of levels, or a range."""

    paths: tuple[str, ...]
    key: str
    """The key of the factor in the study, for messages."""
    levels: Dimension = ()
    spans: tuple[Span, ...] = ()
    """One range for each path; empty if the factor has levels."""

    def at(self, share: float) -> Level:
        """Returns the level at a share of the way from the first to the last; levels of a list have equal parts."""
        if self.levels:
            return self.levels[_place(share, len(self.levels))]
        values = [span.at(share) for span in self.spans]
        return _level(self.paths, list(zip(values, values, strict=True)))


def dimensions(document: Mapping[str, Any]) -> tuple[Dimension, ...]:
    """Returns the dimensions of ``axes``, ``zip`` and ``variants`` of a study. Raises `InputError` with the key."""
    return tuple(factor.levels for factor in _factors(document, spans=False))


def factors(document: Mapping[str, Any]) -> tuple[Factor, ...]:
    """Returns the factors of a study with a design, from the same keys as `dimensions`."""
    return tuple(_factors(document, spans=True))


def _factors(document: Mapping[str, Any], *, spans: bool) -> Iterator[Factor]:
    axes = {axis.path: axis for axis in read_axes(document.get("axes", {}), "axes", spans=spans)}
    groups = _groups(document.get("zip", []), axes)
    grouped = {path for group in groups for path in group}
    if "variants" in document:
        yield Factor((VARIANT,), "variants", _variants(document["variants"], axes))
    for path in axes:
        members = next((group for group in groups if group[0] == path), [] if path in grouped else [path])
        values = [axes[one].values for one in members]
        between = [one for one in values if isinstance(one, Span)]
        key = axes[path].key
        if not members:
            continue
        if len(between) == len(members):
            yield Factor(tuple(members), key, spans=tuple(between))
        else:
            rows = zip(*(axes[one].pairs() for one in members), strict=True)
            levels = [_level(members, row) for row in rows]
            yield Factor(tuple(members), key, tuple(levels))


def read_axes(found: Any, key: str, *, spans: bool = False) -> list[Axis]:
    """Returns the axes of a table: paths, with dots or as nested tables, to lists or ranges.

    spans: whether a range may have neither ``step`` nor ``points``.

    Raises `InputError` if a path is repeated or unknown, or its values are no list or range.
    """
    axes = list(_axes(found, "", key, spans))
    twice = next((axis for index, axis in enumerate(axes) if axis.path in {one.path for one in axes[:index]}), None)
    if twice is not None:
        raise InputError(f"{key}: duplicate `{twice.path}`")
    return axes


def _axes(found: Any, path: str, key: str, spans: bool) -> Iterator[Axis]:
    where = f"{key}.{path}" if path else key
    if isinstance(found, list | tuple):
        check_path(path, where)
        yield Axis(path, where, _listed(found, where))
    elif isinstance(found, Mapping) and {"from", "to"} & set(found):
        check_path(path, where)
        yield Axis(path, where, _range(found, path, where, spans))
    elif isinstance(found, Mapping) and isinstance(found.get(_VALUES), Mapping) and len(found) == 1:
        check_path(path, where)
        named = found[_VALUES]
        names = tuple(Name(str(name).strip()) for name in named)
        if not all(names):
            raise InputError(f"{where}.{_VALUES}: a value needs a name")
        if len(set(names)) < len(names):
            raise InputError(f"{where}.{_VALUES}: two values have the same name")
        yield Axis(path, where, _listed(list(named.values()), f"{where}.{_VALUES}"), names)
    elif isinstance(found, Mapping):
        for part, inner in found.items():
            yield from _axes(inner, f"{path}.{part}" if path else str(part), key, spans)
    else:
        example = '{ from = "5us", to = "20us", points = 4 }'
        raise InputError(f"{where}: {found!r} was given; a list or a range is needed, such as {example}")


def check_path(path: str, where: str) -> None:
    """Raises `InputError` for a path that no scenario has, with the nearest existing path."""
    if path == "seed":
        raise InputError(f"{where}: seeds are not an axis; set `seeds` of the study")
    if settings.kind(path) is None:
        near = settings.nearest(path)
        hint = f"; did you mean `{near}`?" if near else "; `xoff schema` prints all paths"
        raise InputError(f"{where}: no scenario has a setting `{path}`{hint}")


def _listed(values: Sequence[Any], where: str) -> tuple[Any, ...]:
    if not values:
        raise InputError(f"{where}: the list is empty; at least one value is needed")
    texts = [json.dumps(value, sort_keys=True, default=str) for value in values]
    twice = next((value for value, text in zip(values, texts, strict=True) if texts.count(text) > 1), None)
    if twice is not None:
        raise InputError(f"{where}: {twice!r} is listed twice")
    return tuple(values)


def _range(found: Mapping[str, Any], path: str, where: str, spans: bool) -> tuple[Any, ...] | Span:
    """Returns the values of ``{from, to, step}`` (equal steps) or ``{from, to, points, scale}`` (linear or log)."""
    for part in found:
        if part not in _RANGE:
            raise InputError(f"{where}.{part}: unknown key; allowed are {', '.join(f'`{one}`' for one in _RANGE)}")
    missing = next((part for part in ("from", "to") if part not in found), None)
    if missing is not None:
        raise InputError(f"{where}.{missing}: is missing; a range has `from`, `to`, and `step` or `points`")
    if ("step" in found) == ("points" in found) and not (spans and "step" not in found):
        raise InputError(f"{where}: one of `step` and `points` is needed")
    scale = found.get("scale", "linear")
    if scale not in ("linear", "log"):
        raise InputError(f"{where}.scale: {scale!r} was given; allowed are `linear` and `log`")
    if scale == "log" and "step" in found:
        raise InputError(f"{where}.scale: steps are equal; a logarithmic range takes `points`")
    numbers = {part: _number(found[part], f"{where}.{part}") for part in ("from", "to", "step") if part in found}
    units = {unit for _, unit in numbers.values()}
    if len(units) > 1:
        raise InputError(f"{where}: `from`, `to` and `step` need the same kind of unit")
    unit = units.pop()
    low, high = numbers["from"][0], numbers["to"][0]
    if low >= high:
        raise InputError(f"{where}: `from`, {found['from']!r}, is not below `to`, {found['to']!r}")
    if "step" in found:
        step = numbers["step"][0]
        if step <= 0 or (high - low) / step >= _MAX_VALUES:
            allowed = f"must be above zero and give fewer than {_MAX_VALUES:,} values"
            raise InputError(f"{where}.step: {found['step']!r} is out of range; {allowed}")
        values = [low + index * step for index in range(math.floor((high - low) / step) + 1)]
    elif "points" not in found:
        return _span(low, high, unit, scale, path, where)
    else:
        values = _spread(low, high, found["points"], scale, where)
    whole = unit is not None or (settings.kind(path) == "integer")
    if whole:
        values = [Fraction(round(value)) for value in values]
    return tuple(dict.fromkeys(_written(value, unit) for value in values))


def _span(low: Fraction, high: Fraction, unit: str | None, scale: Any, path: str, where: str) -> Span:
    if scale == "log" and low <= 0:
        raise InputError(f"{where}.from: a logarithmic range begins above zero")
    whole = settings.kind(path) == "integer"
    if whole and not low.denominator == high.denominator == 1:
        raise InputError(f"{where}: is a whole number; `from` and `to` have to be, too")
    return Span(low, high, unit, scale == "log", whole)


def _spread(low: Fraction, high: Fraction, points: Any, scale: str, where: str) -> list[Fraction]:
    if not isinstance(points, int) or isinstance(points, bool) or not 2 <= points <= _MAX_VALUES:
        raise InputError(f"{where}.points: {points!r} was given; a whole number from 2 to {_MAX_VALUES} is needed")
    if scale == "linear":
        return [low + (high - low) * index / (points - 1) for index in range(points)]
    if low <= 0:
        raise InputError(f"{where}.from: a logarithmic range begins above zero")
    ratio = float(high) / float(low)
    # Three digits are enough for inner points, and are readable.
    inner = [Fraction(f"{float(low) * ratio ** (index / (points - 1)):.3g}") for index in range(1, points - 1)]
    return [low, *inner, high]


def _number(value: Any, where: str) -> tuple[Fraction, str | None]:
    if isinstance(value, str) and (found := formatting.quantity(value)) is not None:
        return Fraction(found[0]), found[1]
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return Fraction(str(value)), None
    needed = 'a number, or a text with a unit such as "10us", is needed; list other values one by one'
    raise InputError(f"{where}: {value!r} was given; {needed}")


def _written(value: Fraction, unit: str | None) -> Value:
    if unit is not None:
        return formatting.quantity_text(int(value), unit)
    return int(value) if value.denominator == 1 else float(f"{float(value):.12g}")


def _groups(found: Any, axes: Mapping[str, Axis]) -> list[list[str]]:
    if not isinstance(found, list) or not all(isinstance(group, list) and group for group in found):
        example = '[["switch.flow_control.pfc.xoff", "switch.flow_control.pfc.xon"]]'
        raise InputError(f"zip: a list of lists of paths is needed, such as {example}")
    seen: set[str] = set()
    for index, group in enumerate(found):
        for path in group:
            if not isinstance(path, str) or path not in axes:
                raise InputError(f"zip[{index}]: `{path}` is not an axis; axes are {_quoted(axes)}")
            if path in seen:
                raise InputError(f"zip[{index}]: `{path}` is listed twice")
            seen.add(path)
        values = {path: axes[path].values for path in group}
        lengths = {path: "a range" if isinstance(one, Span) else len(one) for path, one in values.items()}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"`{path}` has {count}" for path, count in lengths.items())
            raise InputError(f"zip[{index}]: axes that move together need equally many values; {counts}")
    return found


def _variants(found: Any, axes: Mapping[str, Axis]) -> Dimension:
    if not isinstance(found, Mapping) or not found:
        raise InputError('variants: a table of tables is needed, such as [variants."PFC only"]')
    levels: list[Level] = []
    for name, changes in found.items():
        where = f"variants.{name}"
        if not str(name).strip():
            raise InputError("variants: a variant needs a name")
        if not isinstance(changes, Mapping):
            raise InputError(f"{where}: a table of settings is needed, as in a scenario")
        own = read_axes(changes.get("axes", {}), f"{where}.axes")
        fixed = [(path, None) for path in unset(changes, f"{where}.unset")]
        fixed += leaves({key: value for key, value in changes.items() if key not in OF_VARIANTS})
        for path, _ in fixed:
            check_path(path, where)
        for axis in own:
            if axis.path in axes:
                raise InputError(f"{axis.key}: is an axis of the whole study, too")
        listed = [axis for axis in own if not isinstance(axis.values, Span)]
        if (count := len(levels) + math.prod(len(axis.pairs()) for axis in listed)) > MAX_COMBINATIONS:
            raise InputError(f"{where}: {count:,} combinations are too many; {MAX_COMBINATIONS:,} runs are possible")
        for combination in itertools.product(*(axis.pairs() for axis in listed)):
            level = _level([axis.path for axis in listed], combination)
            levels.append(Level((*fixed, *level.settings), ((VARIANT, str(name)), *level.labels)))
    return tuple(levels)


def unset(changes: Mapping[str, Any], where: str) -> list[str]:
    """Returns the settings of the base that a study, or a variant of it, leaves out."""
    found = changes.get("unset", [])
    if not isinstance(found, list | tuple) or not all(isinstance(path, str) for path in found):
        raise InputError(f'{where}: {found!r} was given; a list of paths is needed, such as ["switch.ecn"]')
    return list(found)


def leaves(found: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the settings of a part of a scenario, as paths and values."""
    for key, value in found.items():
        inner = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, inner)
        else:
            yield inner, value


def _level(paths: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> Level:
    """Returns the level that gives each path a value; `pairs` has a value and a label for each path."""
    settings = zip(paths, (value for value, _ in pairs), strict=True)
    return Level(tuple(settings), tuple(zip(paths, (label for _, label in pairs), strict=True)))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the tables: a setting, as numbers of a unit if the setting has one."""

    name: str
    path: str
    unit: str | None
    type: pa.DataType

    def value(self, label: Any) -> Value | None:
        """Returns the value of a setting as the column holds it."""
        if label is None:
            return None
        if self.unit is not None and (found := formatting.quantity(label)) is not None:
            return found[0]
        if self.numeric:
            return float(label) if pa.types.is_floating(self.type) else int(label)
        if pa.types.is_boolean(self.type):
            return bool(label)
        return label if isinstance(label, str) else json.dumps(label, ensure_ascii=False, default=_named)

    def text(self, value: Any) -> str:
        """Returns a value of the column as text for readers."""
        if value is None:
            return "–"
        if self.unit is not None:
            return formatting.setting(value, self.unit)
        if isinstance(value, str) and value[:1] in {"{", "["}:
            # A table or a list, as JSON.
            with contextlib.suppress(ValueError):
                return _worded(json.loads(value)) or value
        return f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def key(self) -> str:
        """The last key of the setting's path."""
        return self.path.rpartition(".")[2]

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which can be placed on an axis of a figure."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_floating(self.type))


def _worded(value: Any) -> str:
    """Returns a table or list of settings in words: ``red kmin 5KB, kmax 200KB``; an empty table is ``defaults``."""
    if isinstance(value, Mapping):
        parts = [(str(key), _worded(part)) for key, part in value.items()]
        return ", ".join(key if text == "defaults" else f"{key} {text}" for key, text in parts) or "defaults"
    if isinstance(value, list) and len(value) > _LISTED:
        return f"{_worded(value[0])}; {_worded(value[1])}; … {_worded(value[-1])} ({len(value)} values)"
    if isinstance(value, list):
        return "; ".join(map(_worded, value)) or "none"
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "–"}[value]
    return str(value)


def _named(value: Any) -> str:
    """Returns a name for a value without a form in JSON, such as a data frame or a path."""
    return str(value) if isinstance(value, Path) else type(value).__name__


def columns(found: Sequence[Dimension], taken: frozenset[str]) -> tuple[Column, ...]:
    """Returns a column for each path, named by the shortest unique end of the path, with the unit last."""
    labels: dict[str, list[Any]] = {}
    for dimension in found:
        for level in dimension:
            for path, label in level.labels:
                labels.setdefault(path, []).append(label)
    units = {path: _unit(path, values) for path, values in labels.items()}
    names: dict[str, str] = {}
    for path in labels:
        parts = re.sub(r"\[(\d+)\]", r"_\1", path).split(".")
        others = {re.sub(r"\[(\d+)\]", r"_\1", other).replace(".", "_") for other in labels if other != path}
        for length in range(1, len(parts) + 1):
            end = "_".join(parts[-length:])
            name = end + (f"_{units[path]}" if units[path] else "")
            if name not in taken and not any(f"_{other}".endswith(f"_{end}") for other in others):
                break
        names[path] = name
    return tuple(Column(names[path], path, units[path], _type(units[path], values)) for path, values in labels.items())


def _type(unit: str | None, labels: Sequence[Any]) -> pa.DataType:
    kinds = {type(label) for label in labels}
    if unit is not None or kinds == {int}:
        return pa.int64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    return pa.bool_() if kinds == {bool} else pa.string()


def _unit(path: str, labels: Sequence[Any]) -> str | None:
    unit = settings.kind(path)
    fits = unit in {"ps", "bytes", "bps"} and all(
        isinstance(label, str)
        and not isinstance(label, Name)
        and (found := formatting.quantity(label)) is not None
        and found[1] == unit
        for label in labels
    )
    return unit if fits else None


def _quoted(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"
