"""How long the rest of a study will take, as a range: from the durations so far, and no earlier than they allow.

A run of a point that other seeds have been through is expected to take their mean; any other, the mean of all. Since
runs are done in random order, those done are a sample of all, and the spread of their durations says how sure that is:
the sum of R runs unseen, when n were seen with the standard deviation s, has the variance R s² + R² s² / n.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable

_ENOUGH = 3
# Before so many runs are done: from what share on a run says how long it takes, and how far off that is taken to be.
_SAYS_SOMETHING = 0.05
_GUESS = 0.3


class Estimate:
    """Collects durations; `left` is the estimate.

    total: the runs to do.
    workers: how many run at a time; measured, if None.
    """

    def __init__(self, total: int, workers: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._workers = workers
        self._clock = clock
        self._started = clock()
        self._seconds: dict[int, list[float]] = {}
        self._worked = 0.0
        self._done = 0

    def known(self, point: int, seconds: float) -> None:
        """Add a duration from an earlier execution."""
        self._seconds.setdefault(point, []).append(seconds)

    def done(self, point: int, seconds: float | None) -> None:
        """Add a run that has just been done; None if its duration says nothing, as that of one that failed."""
        self._done += 1
        if seconds is not None:
            self._worked += seconds
            self.known(point, seconds)

    def left(
        self, pending: Iterable[int], waiting: Iterable[int], under_way: Collection[tuple[float, float]] = ()
    ) -> tuple[float, float] | None:
        """Between which seconds the rest is expected to take; None while nothing is known.

        With fewer than three durations, those of runs under way are taken from how far they are.

        pending, waiting: the points of the runs that were begun or are queued, and of those that are not.
        under_way: of runs known to have begun, when, and what share is done.
        """
        now = self._clock()
        seen = [one for durations in self._seconds.values() for one in durations]
        is_guess = len(seen) < _ENOUGH
        if is_guess:
            seen += [(now - started) / share for started, share in under_way if share >= _SAYS_SOMETHING]
        if not seen:
            return None
        overall = statistics.fmean(seen)
        means = {point: statistics.fmean(durations) for point, durations in self._seconds.items()}
        points = [*pending, *waiting]
        work = sum(means.get(point, overall) for point in points)
        # What is under way is partly done: by its share, or else by its time.
        work -= sum(
            min(now - started, overall * 0.9) if share == 0 else overall * share for started, share in under_way
        )
        spread = _GUESS * overall if is_guess else self._spread(overall, means)
        count = len(points)
        error = spread * math.sqrt(count + count * count / len(seen))
        speed = self._speed(now)
        # Nothing ends before the last run has run, on however many workers.
        least = 0.5 * min(seen) if count else 0.0
        return max((work - error) / speed, least, 0.0), max((work + error) / speed, least)

    def _spread(self, overall: float, means: dict[int, float]) -> float:
        """The standard deviation of durations about what was expected of them: within points, or else of all."""
        within = [
            one - means[point] for point, durations in self._seconds.items() if len(durations) > 1 for one in durations
        ]
        between = [one - overall for durations in self._seconds.values() for one in durations]
        residuals = within if len(within) > len(between) / 2 else between
        return math.sqrt(statistics.fmean(value * value for value in residuals))

    def _speed(self, now: float) -> float:
        if self._workers is not None:
            return float(self._workers)
        # Of an executor only what comes back is known.
        return max(self._worked / max(now - self._started, 1e-9), 1e-9) if self._worked else 1.0
