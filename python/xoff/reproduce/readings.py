"""What is read of an experiment's runs: each once, found by case and seed."""

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
    """A value over runs that differ by chance alone: mean and range."""

    mean: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of at least one value."""
        found = list(values)
        return cls(fmean(found), min(found), max(found), len(found))


class Readings(Generic[T]):
    """The runs of an experiment with one open choice, by the names that `Cases` gives them without it.

    read: makes of a result what claims look at; what it made is kept with the results, for whoever asks next.
    reading: which of several readings of the document is judged, for those who judge by it.
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
        """All of them, those that violated an audit included."""

    def __contains__(self, case: str) -> bool:
        return any(name.startswith(f"{case}/") for name in self.names)

    def one(self, name: str) -> T:
        """Return a run. Raises `RunFailed` if it violated an audit, `LookupError` if there is none."""
        key = (self._read, self._prefix + name)
        if key not in self._known:
            self._known[key] = self._read(self.results[self._prefix + name])
        found: T = self._known[key]
        return found

    def starting(self, prefix: str) -> list[T]:
        """Return the runs whose names start so, in the order of their names."""
        return [self.one(name) for name in sorted(self.names) if name.startswith(prefix)]

    def each(self, case: str) -> list[T]:
        """Return the runs of a case, such as ``case/variant``, with all seeds: pairs with those of another variant."""
        return self.starting(f"{case}/seed ")

    def by_seed(self, case: str, value: Callable[[T], float]) -> list[float]:
        """Return a value of each seed: pairs with that of another variant."""
        return [value(run) for run in self.each(case)]

    def mean(self, case: str, value: Callable[[T], float]) -> float:
        """Return the mean of a value over the seeds, each with the same weight."""
        return fmean(value(run) for run in self.each(case))

    def spread(self, case: str, value: Callable[[T], float]) -> Spread:
        """Return mean and range of a value over the seeds of a case."""
        return Spread.of(value(run) for run in self.each(case))


def as_results(results: Mapping[str, Result], choice: str = "", reading: str = "") -> Readings[Result]:
    """Return the runs of an experiment that looks at results as they are."""
    return Readings(results, _as_it_is, choice, reading)


def _as_it_is(result: Result) -> Result:
    return result
