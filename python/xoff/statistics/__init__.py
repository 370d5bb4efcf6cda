"""Means with confidence intervals, and paired comparisons of variants.

Runs of one scenario with several seeds are samples. Two variants with the same seeds have the same traffic and random
numbers. Differences are therefore taken seed by seed: variation of both variants, such as a busy seed, cancels.

Intervals are Student's: mean ± t(n − 1) · s / √n. If the interval of a non-negative number (a time, a count) would
reach below zero, the interval is computed on a logarithmic scale, by the delta method: mean · exp(± t(n − 1) · s / (√n
· mean)). The verdict on non-negative numbers compares ratios seed by seed. A time and the inverse, a bandwidth, then
have the same verdict. Student's distribution is computed by finite sums for whole degrees of freedom (M. Abramowitz and
I. Stegun, "Handbook of Mathematical Functions", 1964, 26.7.3 and 26.7.4): a library with the distribution is four times
as large as xoff.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean, and the interval that holds the true mean with the given confidence."""

    mean: float
    low: float | None
    """None for a single value, which shows no spread."""
    high: float | None
    count: int

    @property
    def margin(self) -> float | None:
        """The distance from the mean to the upper end."""
        return None if self.high is None else self.high - self.mean

    @property
    def below(self) -> float | None:
        """The distance from the mean to the lower end."""
        return None if self.low is None else self.mean - self.low


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of a second variant with a first one, by a metric's value for each seed."""

    first: float
    """Mean of the first variant over the common seeds."""
    second: float
    difference: Interval
    """Second − first, over the pairs."""
    relative: float | None
    """The mean difference as a share of the first mean; None if the first mean is zero."""
    p: float | None
    """The p-value: probability of a difference at least as large if there were none; None with fewer than two pairs."""
    verdict: str
    """``lower``, ``higher``, ``no difference shown``, ``the same`` or ``one seed``."""

    @property
    def real(self) -> bool:
        """Whether the interval of the difference excludes zero."""
        return self.verdict in {"lower", "higher"}


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Returns the mean of values and its confidence interval. Raises `ValueError` without values."""
    if not values:
        raise ValueError("a mean needs at least one value")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Interval(mean, None, None, 1)
    error = statistics.stdev(values, mean) / math.sqrt(len(values))
    margin = quantile(len(values) - 1, (1 + confidence) / 2) * error
    return Interval(mean, mean - margin, mean + margin, len(values))


def positive(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Returns the `interval` of non-negative numbers, which does not reach below zero."""
    found = interval(values, confidence)
    if found.low is None or found.low >= 0 or min(values) < 0:
        return found
    factor = math.exp((found.margin or 0.0) / found.mean)
    return Interval(found.mean, found.mean / factor, found.mean * factor, found.count)


def largest_share(found: int, of: int, confidence: float = CONFIDENCE) -> float:
    """Returns the largest share of all cases that agrees with `found` of `of` random cases.

    This is the upper end of the one-sided Clopper–Pearson interval: with a larger share, as few cases as `found` have a
    probability below 1 − confidence. With none found, the share is 1 − (1 − confidence)^(1 ÷ of).

    Source: C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26, 1934.
    """
    if not 0 <= found <= of:
        raise ValueError("from zero to all cases can be found")
    if found == of:
        return 1.0

    def as_few(share: float) -> float:
        return math.fsum(
            math.comb(of, count) * share**count * (1 - share) ** (of - count) for count in range(found + 1)
        )

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if as_few(middle) < 1 - confidence else (middle, high)
    return high


def cases_needed(share: float, confidence: float = CONFIDENCE) -> int:
    """Returns the number of cases, all without a find, after which `largest_share` is at most a share."""
    if not (0 < share < 1 and 0 < confidence < 1):
        raise ValueError("share and confidence are between 0 and 1")
    return math.ceil(math.log(1 - confidence) / math.log1p(-share) - 1e-9)


def compare(first: Mapping[int, float], second: Mapping[int, float], confidence: float = CONFIDENCE) -> Comparison:
    """Compares two variants by their values for each seed; seeds of only one variant are left out.

    Raises `ValueError` if the variants have no seed in common.
    """
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        raise ValueError("the two have no seed in common")
    differences = [second[seed] - first[seed] for seed in seeds]
    mean = statistics.fmean(first[seed] for seed in seeds)
    found = interval(differences, confidence)
    judged, pairs = found, differences
    if all(first[seed] > 0 and second[seed] > 0 for seed in seeds) and len(set(differences)) > 1:
        pairs = [math.log(second[seed] / first[seed]) for seed in seeds]
        judged = interval(pairs, confidence)
        if _verdict(judged) != _verdict(found) and judged.low is not None and judged.high is not None:
            # The printed interval must agree with the verdict.
            ends = [mean * (math.exp(end) - 1) for end in (judged.low, judged.high)]
            found = Interval(found.mean, min(ends[0], found.mean), max(ends[1], found.mean), found.count)
    error = statistics.stdev(pairs) / math.sqrt(len(seeds)) if len(seeds) > 1 else None
    if error:
        p: float | None = 2 * cumulative(len(seeds) - 1, -abs(judged.mean / error))
    elif error is None:
        p = None
    else:
        # The same difference in every seed, as in a scenario without randomness.
        p = 0.0 if judged.mean else 1.0
    verdict = "the same" if not any(differences) else _verdict(judged)
    second_mean = statistics.fmean(second[seed] for seed in seeds)
    return Comparison(mean, second_mean, found, found.mean / mean if mean else None, p, verdict)


def _verdict(difference: Interval) -> str:
    if difference.low is None or difference.high is None:
        return "one seed"
    return "higher" if difference.low > 0 else "lower" if difference.high < 0 else "no difference shown"


def cumulative(freedom: int, t: float) -> float:
    """Returns the probability that Student's t with whole degrees of freedom is below a value."""
    if freedom < 1:
        raise ValueError("at least one degree of freedom is needed")
    angle = math.atan2(t, math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for index in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (index - 1) / index
        total += term
    inner = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + inner / 2


@cache
def quantile(freedom: int, probability: float) -> float:
    """Returns the quantile of Student's t for a probability from 0.5 to 1 (1 excluded)."""
    if not 0.5 <= probability < 1:
        raise ValueError("the probability is from 0.5 to 1")
    if freedom > 10_000:
        # The sums have as many terms as degrees of freedom; the normal distribution differs by less than 0.0003.
        return statistics.NormalDist().inv_cdf(probability)
    high = 1.0
    while cumulative(freedom, high) < probability:
        high *= 2
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if cumulative(freedom, middle) < probability else (low, middle)
    return (low + high) / 2
