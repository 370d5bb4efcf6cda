"""The speed ratio of two programs, from runs in alternation."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratios of all pairs of runs: a temporary slowdown of the machine affects both runs of a pair."""

    pairs: Sequence[float]

    @property
    def median(self) -> float:
        """The median of the pairs."""
        return statistics.median(self.pairs)

    def as_json(self) -> dict[str, Any]:
        """Returns the pairs in their order, with median, least and largest ratio."""
        return {"median": self.median, "low": min(self.pairs), "high": max(self.pairs)} | asdict(self)


def in_turn(pairs: int, first: Callable[[], T], second: Callable[[], T]) -> list[tuple[T, T]]:
    """Calls both functions, pair by pair; the order alternates. Returns the results as (first, second)."""
    made = []
    for pair in range(pairs):
        if pair % 2:
            late = second()
            made.append((first(), late))
        else:
            early = first()
            made.append((early, second()))
    return made
