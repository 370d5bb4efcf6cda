"""Designs: selections of combinations from which the effect of each factor follows.

``screening`` takes two levels of each factor (`factorial.py`). ``morris`` walks from random places, one factor at a
time; ``sobol`` takes pairs of random places and exchanges one factor after another. SALib draws the samples.

Sources: M. D. Morris, "Factorial Sampling Plans for Preliminary Computational Experiments", Technometrics 33 (1991); A.
Saltelli et al., "Variance based sensitivity analysis of model output", Computer Physics Communications 181 (2010).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from xoff._core import InputError
from xoff.statistics import factorial
from xoff.study.axes import Column, Factor, Level

METHODS = ("screening", "morris", "sobol")
_DEFAULTS: dict[str, dict[str, Any]] = {
    "screening": {"resolution": 4},
    "morris": {"trajectories": 10, "levels": 4, "seed": 1},
    "sobol": {"samples": 64, "pairs": False, "seed": 1},
}
_LEAST_TRAJECTORIES = 4
_LEAST_SAMPLES = 16
_SAYS = {
    3: "factors are confounded with pairs, which each row lists",
    4: "factors are clear of pairs; pairs are confounded with other pairs, which each row lists",
    5: "factors and pairs are all clear of each other",
}


class Document(TypedDict):
    """The result of `Design.to_dict`."""

    method: str
    options: dict[str, int | bool]
    factors: list[str]
    ends: list[list[str]]
    rows: list[list[float]]
    points: list[int]


@dataclass(frozen=True, slots=True)
class Design:
    """The rows of a design: for each row, its place in each factor, and its point of the study."""

    method: str
    """One of `METHODS`."""
    options: Mapping[str, Any]
    """The options of the method in ``[design]``."""
    factors: tuple[str, ...]
    ends: tuple[tuple[str, str], ...]
    """The first and the last level of each factor, as text."""
    rows: tuple[tuple[float, ...], ...]
    """The place of each row in each factor: 0, the first level, to 1, the last."""
    points: tuple[int, ...]
    """The index of each row's point; several rows may have one point."""

    @property
    def block(self) -> int:
        """The number of rows of a block. Without one of its rows, a block gives no effect."""
        count = len(self.factors)
        if self.method == "morris":
            return count + 1
        if self.method == "sobol":
            return 2 * count + 2 if self.options["pairs"] else count + 2
        return len(self.rows)

    @property
    def least(self) -> int:
        """The least number of complete blocks from which effects are computed."""
        return {"screening": 1, "morris": _LEAST_TRAJECTORIES, "sobol": _LEAST_SAMPLES}[self.method]

    def blocks(self, is_there: Callable[[int], bool]) -> list[range]:
        """Returns the rows of each block for whose points `is_there` is true."""
        every = (range(start, start + self.block) for start in range(0, len(self.rows), self.block))
        return [rows for rows in every if all(is_there(self.points[row]) for row in rows)]

    def words(self) -> str:
        """Returns a sentence on the design and its resolution."""
        count = f"{len(self.factors)} factor{'s' if len(self.factors) != 1 else ''}"
        if self.method == "screening":
            resolution = factorial.resolution(self.levels())
            every = "all combinations" if len(self.rows) == 2 ** len(self.factors) else f"resolution {resolution}"
            return f"screening of {count} with two levels each, {every}: {_SAYS[resolution]}"
        if self.method == "morris":
            return f"Morris' method for {count}: {len(self.rows) // self.block} trajectories of {self.block} points"
        pairs = ", pairs included" if self.options["pairs"] else ""
        return f"Sobol' indices of {count}{pairs}: {len(self.rows) // self.block} samples of {self.block} points"

    def levels(self) -> list[factorial.Levels]:
        """Returns the rows of a screening as levels."""
        return [tuple(int(place) for place in row) for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Returns the design as JSON can hold it; `from_dict` reads it back."""
        return asdict(self)

    @staticmethod
    def from_dict(found: Mapping[str, Any], points: int) -> Design:
        """Returns the design of a `to_dict` result, for a plan with `points` points.

        Raises `ValueError` if it is no design.
        """
        method, count = found["method"], len(found["factors"])
        if method not in METHODS or found["options"].keys() != _DEFAULTS[method].keys() or not count:
            raise ValueError("design: unknown method, or options of another method")
        design = Design(
            method,
            found["options"],
            tuple(found["factors"]),
            tuple((first, last) for first, last in found["ends"]),
            tuple(map(tuple, found["rows"])),
            tuple(found["points"]),
        )
        whole = len(design.rows) == len(design.points) > 0 and len(design.ends) == count
        if not whole or len(design.rows) % design.block or any(len(row) != count for row in design.rows):
            raise ValueError("design: rows, points and factors do not match")
        if any(not 0 <= place <= 1 for row in design.rows for place in row):
            raise ValueError("design: a place is not from 0 to 1")
        if any(not 0 <= point < points for point in design.points):
            raise ValueError("design: a point is none of the study's")
        for key, value in design.options.items():
            _check(key, value)
        if method == "screening":
            factorial.resolution(design.levels())
        if method == "morris" and not all(map(design._is_trajectory, range(0, len(design.rows), design.block))):
            raise ValueError("design: a trajectory does not move each factor once")
        return design

    def _is_trajectory(self, start: int) -> bool:
        rows = self.rows[start : start + self.block]
        moved = [
            [index for index, (one, other) in enumerate(zip(*pair, strict=True)) if one != other]
            for pair in itertools.pairwise(rows)
        ]
        return sorted(moved) == [[index] for index in range(len(self.factors))]


def read(document: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Returns method and options of ``design``; None if the study has no design. Raises `InputError` with the key."""
    found = document.get("design")
    if found is None:
        return None
    table = {"method": found} if isinstance(found, str) else found
    allowed = ", ".join(f"`{one}`" for one in METHODS)
    if not isinstance(table, Mapping) or "method" not in table:
        raise InputError(f"design: a method, or a table with `method`, is needed; allowed are {allowed}")
    method = table["method"]
    if method not in METHODS:
        raise InputError(f"design: unknown method {method!r}; allowed are {allowed}")
    options = _DEFAULTS[method] | {key: value for key, value in table.items() if key != "method"}
    for key, value in options.items():
        if key not in _DEFAULTS[method]:
            known = ", ".join(f"`{one}`" for one in _DEFAULTS[method])
            raise InputError(f"design.{key}: unknown key of {method}; allowed are {known}")
        _check(key, value)
    return method, options


def _check(key: str, value: Any) -> None:
    if key == "pairs":
        if not isinstance(value, bool):
            raise InputError(f"design.pairs: {value!r} was given; true or false is needed")
        return
    whole = isinstance(value, int) and not isinstance(value, bool)
    allowed, needed = {
        "resolution": (whole and value in factorial.RESOLUTIONS, "3, 4 or 5"),
        "trajectories": (
            whole and _LEAST_TRAJECTORIES <= value <= 10_000,
            f"a whole number from {_LEAST_TRAJECTORIES} to 10000; fewer cannot show the spread",
        ),
        "levels": (whole and value in range(2, 101, 2), "an even number from 2 to 100"),
        "samples": (
            whole and _LEAST_SAMPLES <= value <= 2**17 and value.bit_count() == 1,
            f"a power of two from {_LEAST_SAMPLES} is needed, such as 64, for an even Sobol sequence",
        ),
        "seed": (whole and 1 <= value < 2**32, "a whole number from 1 to 4294967295"),
    }[key]
    if not allowed:
        raise InputError(f"design.{key}: {value!r} was given; {needed}{'' if 'needed' in needed else ' is needed'}")


def rows(method: str, options: Mapping[str, Any], factors: Sequence[Factor], most: int) -> list[tuple[float, ...]]:
    """Returns the rows of a design of these factors, at most `most`.

    Raises `InputError` if there are too many rows, a factor has the wrong levels, or SALib is missing.
    """
    count = len(factors)
    if not 1 <= count <= factorial.MOST:
        given = "none is given" if not count else f"{count} are given"
        raise InputError(
            f"design: 1 to {factorial.MOST} factors are allowed, and {given}; factors are [axes] and [variants]"
        )
    for factor in factors:
        levels = len(factor.levels)
        if method == "screening" and levels not in {0, 2}:
            raise InputError(
                f"{factor.key}: {levels} value{'s' if levels != 1 else ''} {'were' if levels != 1 else 'was'} given; "
                "a screening compares two levels of each factor: two values, or a range's ends"
            )
        if levels == 1:
            raise InputError(f"{factor.key}: one value was given; a factor needs two at least")
    if method == "screening":
        found: list[tuple[float, ...]] = [
            tuple(map(float, run)) for run in factorial.fraction(count, options["resolution"])
        ]
        _bounded(len(found), most, "resolution")
        return found
    if method == "morris":
        _bounded(options["trajectories"] * (count + 1), most, "trajectories")
    else:
        _bounded(options["samples"] * ((2 if options["pairs"] else 1) * count + 2), most, "samples")
    return _sampled(method, options, count)


def _bounded(points: int, most: int, key: str) -> None:
    if points > most:
        raise InputError(
            f"design.{key}: {points:,} points with these factors are too many; at most {most:,} are allowed"
        )


def problem(count: int) -> dict[str, Any]:
    """Returns the description of `count` factors for SALib."""
    return {"num_vars": count, "names": [str(index) for index in range(count)], "bounds": [[0.0, 1.0]] * count}


def _sampled(method: str, options: Mapping[str, Any], count: int) -> list[tuple[float, ...]]:
    given, seed = problem(count), options["seed"]
    try:
        from SALib.sample import morris, sobol
    except ImportError:
        raise InputError(
            f'design: {method} needs SALib, which is not installed; install it with: pip install "xoff[design]"'
        ) from None
    if method == "morris":
        found = morris.sample(given, options["trajectories"], num_levels=options["levels"], seed=seed)
    else:
        found = sobol.sample(given, options["samples"], calc_second_order=options["pairs"], seed=seed)
    # Sums of steps may leave the range by a rounding error.
    return [tuple(min(max(float(place), 0.0), 1.0) for place in row) for row in found]


def combinations(
    factors: Sequence[Factor], rows: Sequence[Sequence[float]]
) -> tuple[list[tuple[Level, ...]], list[int]]:
    """Returns the distinct combinations of levels of the rows, and the index of each row's combination."""
    found: dict[str, int] = {}
    made: list[tuple[Level, ...]] = []
    places = []
    for row in rows:
        levels = tuple(factor.at(place) for factor, place in zip(factors, row, strict=True))
        key = json.dumps([level.settings for level in levels] + [level.labels for level in levels], default=id)
        if key not in found:
            found[key] = len(made)
            made.append(levels)
        places.append(found[key])
    return made, places


def named(factors: Sequence[Factor], columns: Sequence[Column]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns the names of factors, and their first and last levels as text."""
    by_path = {column.path: column for column in columns}
    short = [" and ".join(by_path[path].key for path in factor.paths) for factor in factors]
    long = [" and ".join(by_path[path].name for path in factor.paths) for factor in factors]
    names = tuple(one if short.count(one) == 1 else other for one, other in zip(short, long, strict=True))
    return names, tuple((_words(factor.at(0), by_path), _words(factor.at(1), by_path)) for factor in factors)


def _words(level: Level, columns: Mapping[str, Column]) -> str:
    return ", ".join(columns[path].text(columns[path].value(label)) for path, label in level.labels)
