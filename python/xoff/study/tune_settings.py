"""The settings of a search: those that were tried, and those that ran a second time with unseen seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xoff import statistics

if TYPE_CHECKING:
    from xoff.statistics import Comparison, Interval
    from xoff.study.plan import Point


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting that the search tried."""

    point: Point
    shares: tuple[float, ...]
    """The place in each factor, from 0 to 1."""
    values: tuple[float, ...] | None
    """The mean of each goal over the seeds; None if a run has no result."""
    excess: tuple[float, ...]
    """The largest excess over each limit, as a share of the limit; zero within the limit."""

    @property
    def keeps(self) -> bool:
        """Whether all seeds have a result, within all limits."""
        return self.values is not None and not any(self.excess)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting that ran a second time, with seeds unseen by the search."""

    point: Point
    words: str
    """The setting in words: ``kmin 40KB, pmax 0.2``."""
    seen: Mapping[str, Interval]
    """Each metric of the objective over the seeds of the search."""
    unseen: Mapping[str, Interval]
    """Each metric over the unseen seeds; empty without unseen seeds, or if no run with one has a result."""
    kept: int
    """The number of unseen seeds with which the setting kept all limits."""
    of: int
    """The number of unseen seeds."""
    against: Mapping[str, Comparison] = field(default_factory=dict)
    """Each goal against the base scenario, paired by unseen seed."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings by path, as `overrides` of `xoff.run`."""
        return dict(self.point.settings)

    @property
    def confirmed(self) -> bool:
        """Whether the setting kept all limits with every unseen seed."""
        return self.kept == self.of

    def breaking_at_most(self, confidence: float) -> float | None:
        """Returns the largest share of all seeds that may break a limit; None without unseen seeds."""
        return statistics.largest_share(self.of - self.kept, self.of, confidence) if self.of else None
