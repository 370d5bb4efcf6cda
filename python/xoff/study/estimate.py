"""The estimate of a study's remaining time, as a range, from the durations of the runs so far.

The expected duration of a run is the mean duration of runs at the same point with other seeds, or, without such runs,
the mean of all runs. Runs are done in random order: the durations so far are a sample. After n runs with standard
deviation s, the sum of R remaining runs has the variance R s² + R² s² / n.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Collection, Iterable

_ENOUGH = 3
# With fewer durations: the least share of a run that is extrapolated, and the assumed relative error.
_SAYS_SOMETHING = 0.05
_GUESS = 0.3


class Estimate:
    """Collects durations; `left` returns the estimate.

    total: the number of runs to do.
    workers: number of concurrent runs; if None, measured.
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
        """Adds a duration from an earlier execution."""
        self._seconds.setdefault(point, []).append(seconds)

    def done(self, point: int, seconds: float | None) -> None:
        """Adds a finished run. None: the duration is not representative, for example of a failed run."""
        self._done += 1
        if seconds is not None:
            self._worked += seconds
            self.known(point, seconds)

    def left(
        self, pending: Iterable[int], waiting: Iterable[int], under_way: Collection[tuple[float, float]] = ()
    ) -> tuple[float, float] | None:
        """Returns the range of the remaining seconds; None while there is no duration.

        With fewer than three durations, durations of current runs are extrapolated from their progress.

        pending, waiting: the points of the runs that were begun or are queued, and of the remaining runs.
        under_way: start time and share done of each current run.
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
        # Current runs are partly done: by their share, or else by their time.
        work -= sum(
            min(now - started, overall * 0.9) if share == 0 else overall * share for started, share in under_way
        )
        spread = _GUESS * overall if is_guess else self._spread(overall, means)
        count = len(points)
        error = spread * math.sqrt(count + count * count / len(seen))
        speed = self._speed(now)
        # The last run has to finish, with any number of workers.
        least = 0.5 * min(seen) if count else 0.0
        return max((work - error) / speed, least, 0.0), max((work + error) / speed, least)

    def _spread(self, overall: float, means: dict[int, float]) -> float:
        """Returns the standard deviation of durations about their expectation: within points, or else of all runs."""
        within = [
            one - means[point] for point, durations in self._seconds.items() if len(durations) > 1 for one in durations
        ]
        between = [one - overall for durations in self._seconds.values() for one in durations]
        residuals = within if len(within) > len(between) / 2 else between
        return math.sqrt(statistics.fmean(value * value for value in residuals))

    def _speed(self, now: float) -> float:
        if self._workers is not None:
            return float(self._workers)
        # The progress of an executor is known only from its results.
        return max(self._worked / max(now - self._started, 1e-9), 1e-9) if self._worked else 1.0
