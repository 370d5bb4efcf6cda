"""Readings of an experiment's runs: each run is read once, and found by case and seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Generic, TypeVar

from xoff.reproduce.cases import choice_of
from xoff.results import Result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spread:
    """A value over runs with different seeds: mean and range."""

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Returns the spread of at least one value."""
        found = list(values)
        return cls(fmean(found), min(found), max(found), len(found))


class Readings(Generic[T]):
    """The runs of an experiment with one open choice, by the names of `Cases` without the choice.

    read: makes a reading from a result. Readings are cached with the results.
    reading: the judged reading of the document, if there are several.
    """

    def __init__(
        self, results: Mapping[str, Result], read: Callable[[Result], T], choice: str = "", reading: str = ""
    ) -> None:
        self.results = results
        self.choice = choice
        self.reading = reading
        self._read = read
        self._known: dict[Any, Any] = getattr(results, "known", {})
        self._prefix = f"{choice}: " if choice else ""
        everything = [*results, *getattr(results, "failures", {})]
        self.names = [name.removeprefix(self._prefix) for name in everything if choice_of(name) == choice]
        """The names of all runs, including runs with violated audits."""

    def __contains__(self, case: str) -> bool:
        return any(name.startswith(f"{case}/") for name in self.names)

    def one(self, name: str) -> T:
        """Returns the reading of a run. Raises `RunFailed` for a violated audit, `LookupError` for a missing run."""
        key = (self._read, self._prefix + name)
        if key not in self._known:
            self._known[key] = self._read(self.results[self._prefix + name])
        found: T = self._known[key]
        return found

    def starting(self, prefix: str) -> list[T]:
        """Returns the runs whose names begin with a prefix, sorted by name."""
        return [self.one(name) for name in sorted(self.names) if name.startswith(prefix)]

    def each(self, case: str) -> list[T]:
        """Returns the runs of a case, such as ``case/variant``, of all seeds, sorted by name.

        The order pairs runs of two variants.
        """
        return self.starting(f"{case}/seed ")

    def by_seed(self, case: str, value: Callable[[T], float]) -> list[float]:
        """Returns a value of each seed, in an order that pairs with other variants."""
        return [value(run) for run in self.each(case)]

    def mean(self, case: str, value: Callable[[T], float]) -> float:
        """Returns the mean of a value over the seeds, with equal weights."""
        return fmean(value(run) for run in self.each(case))

    def spread(self, case: str, value: Callable[[T], float]) -> Spread:
        """Returns mean and range of a value over the seeds of a case."""
        return Spread.of(value(run) for run in self.each(case))


def as_results(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Readings[Result]:
    """Returns the runs of an experiment as results, without a reading function."""
    return Readings(results, _as_it_is, choice, reading)


def _as_it_is(result: Result) -> Result:
    return result
