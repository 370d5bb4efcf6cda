"""How many times as fast one program is as another, from runs that took turns."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratios of all pairs of runs: a machine that slows down for a minute slows down both of a pair."""

    pairs: Sequence[float]

    @property
    def median(self) -> float:
        """Of the pairs."""
        return statistics.median(self.pairs)

    def as_json(self) -> dict[str, Any]:
        """The pairs in their order, and what they come to."""
        return {"median": self.median, "low": min(self.pairs), "high": max(self.pairs)} | asdict(self)


def in_turn(pairs: int, first: Callable[[], T], second: Callable[[], T]) -> list[tuple[T, T]]:
    """Call both, pair by pair; who begins changes, so that none always follows the other."""
    made = []
    for pair in range(pairs):
        if pair % 2:
            late = second()
            made.append((first(), late))
        else:
            early = first()
            made.append((early, second()))
    return made
