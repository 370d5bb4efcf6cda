"""Decisions on sentences by runs: holds, does not hold, or undecided, with the number of seeds that would decide.

A sentence about random runs is judged by its margin in each seed, a number above zero if the sentence is true.
Comparisons are paired: runs of one seed have the same traffic, so differences are taken seed by seed. The sentence
holds if the 95 % interval of the mean margin (Student's) is above zero, does not hold if it is below, and else is
undecided. One seed decides nothing.

Margins of different sentences have different units. So each margin is also kept as a share: the difference of two
values divided by the larger, from -1 to 1; a fact has -1 or 1. Shares combine: the share of a conjunction is the least
of its parts, of a disjunction the largest. (This is robustness in the sense of A. Donzé and O. Maler, "Robust
Satisfaction of Temporal Logic over Real-Valued Signals", FORMATS 2010.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from statistics import fmean, stdev
from typing import Literal, TypeAlias

from xoff.statistics import CONFIDENCE, interval, quantile

ABOUT_THE_SAME = 0.15
"""The share within which values are about the same."""
MANY_SEEDS = 1000
"""Largest proposed number of seeds. An effect that needs more seeds is too small to matter."""

Answer: TypeAlias = Literal["holds", "does not hold", "undecided"]
Values: TypeAlias = Sequence[float]
"""A number for each seed, in the order of the seeds."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of runs on a sentence."""

    answer: Answer
    leans: bool
    """True if the sentence is true for the mean, regardless of chance."""
    alone: tuple[bool, ...] = ()
    """Whether the sentence is true in each seed alone; empty without randomness."""
    seeds: int | None = None
    """For an undecided sentence: the number of such seeds for a decision. None for one seed, or above `MANY_SEEDS`."""
    shares: tuple[float, ...] = ()
    """The margin of each seed as a share; empty without randomness."""
    nearest: tuple[float, float] | None = None
    """The margin as a share, mean and half of the 95 % interval, of the comparison that decides: the one nearest to
    failing if the sentence holds, and else the one that fails most. None if nothing is compared."""

    @property
    def words(self) -> str:
        """The answer as text for readers."""
        if self.answer != "undecided":
            return self.answer
        leaning = "holds" if self.leans else "does not hold"
        if len(self.alone) == 1:
            return f"undecided (one seed: {leaning})"
        return f"undecided (mean: {leaning}; {self.seeds or f'more than {MANY_SEEDS}'} seeds would decide)"


def fact(is_so: bool) -> Decision:
    """Returns the decision of a fact: a formula, a count that must not occur, a run without randomness."""
    return Decision("holds" if is_so else "does not hold", is_so)


def positive(margins: Values, shares: Values | None = None) -> Decision:
    """Decides whether the mean of a margin is above zero. Raises `ValueError` without margins.

    shares: the margins as shares of the compared values, if `margins` are not shares.
    """
    found = interval(margins)
    leans = found.mean > 0
    alone = tuple(margin > 0 for margin in margins)
    kept = tuple(min(1.0, max(-1.0, share)) for share in (margins if shares is None else shares))
    nearest = _nearest(margins, kept)
    if found.low is None or found.high is None:
        return Decision("undecided", leans, alone, shares=kept)
    if found.low > 0:
        return Decision("holds", leans, alone, shares=kept, nearest=nearest)
    # Margins that are all zero show no variation: the mean is not above zero.
    if found.high < 0 or found.low == found.high:
        return Decision("does not hold", leans, alone, shares=kept, nearest=nearest)
    return Decision("undecided", leans, alone, _deciding(margins), kept, nearest)


def _nearest(margins: Values, shares: Values) -> tuple[float, float] | None:
    """Returns mean and half of the interval of margins, as shares of the mean compared value.

    The interval excludes zero if the decision does. None for one seed, and for truth values.
    """
    found = interval(margins)
    compared = [margin / share for margin, share in zip(margins, shares, strict=True) if share]
    if found.margin is None or {*map(abs, shares)} == {1.0}:
        return None
    scale = fmean(compared) if compared else 1.0
    return found.mean / scale, found.margin / scale


def some(counts: Values) -> Decision:
    """Decides whether something happens: whether the mean of a count, or of a duration, is above zero."""
    return positive(counts, [1.0 if count > 0 else -1.0 for count in counts])


def lower(mine: Values, other: Values) -> Decision:
    """Decides whether the first is below the second, seed by seed."""
    pairs = list(zip(mine, other, strict=True))
    return positive([theirs - ours for ours, theirs in pairs], [below(ours, theirs) for ours, theirs in pairs])


def below(one: float, other: float) -> float:
    """Returns the distance of the first value below the second as a share of the larger; negative if it is above."""
    larger = max(abs(one), abs(other))
    return (other - one) / larger if larger else 0.0


def higher(mine: Values, other: Values) -> Decision:
    """Decides whether the first is above the second, seed by seed."""
    return lower(other, mine)


def lowest(values: Mapping[str, Values], one: str) -> Decision:
    """Decides whether the values of one name are below those of each other name."""
    return all_of(*(lower(values[one], other) for name, other in values.items() if name != one))


def ordered(values: Sequence[Values]) -> Decision:
    """Decides whether each is below the next."""
    return all_of(*(lower(before, after) for before, after in pairwise(values)))


def within(values: Values, reference: Values, margins: Values, of: Values | None = None) -> Decision:
    """Decides whether values differ from their reference by no more than a margin, on either side.

    of: the values whose shares the margins become, unless values are shares themselves.
    """
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    sides = [
        [margin + sign * difference for margin, difference in zip(margins, differences, strict=True)]
        for sign in (-1, 1)
    ]
    return all_of(
        *(
            positive(side, None if of is None else [one / other for one, other in zip(side, of, strict=True)])
            for side in sides
        )
    )


def about_the_same(values: Values, reference: Values, share: float = ABOUT_THE_SAME) -> Decision:
    """Decides whether values are within a share of their reference, on either side."""
    sizes = [abs(one) for one in reference]
    # With a reference of zero, only zero is about the same.
    return within(values, reference, [share * one for one in sizes], [one or 1.0 for one in sizes])


def never(counts: Values) -> Decision:
    """Decides whether an event happens in no run. A single run with the event disproves the sentence."""
    alone = tuple(not count for count in counts)
    return Decision("holds" if all(alone) else "does not hold", all(alone), alone, shares=_as_shares(alone))


def all_of(*decisions: Decision) -> Decision:
    """Returns the conjunction: the decision that all sentences hold."""
    answers = {one.answer for one in decisions}
    # Decisions over equal numbers of seeds combine seed by seed, also with facts, which have no seeds.
    seeds = {len(one.alone) for one in decisions if one.alone}
    every = [_of_seeds(one, *seeds) for one in decisions] if len(seeds) == 1 else []
    alone = tuple(map(all, zip(*(one.alone for one in every), strict=True)))
    shares = tuple(map(min, zip(*(one.shares for one in every), strict=True)))
    leans = all(one.leans for one in decisions)
    nearest = _decisive(decisions)
    if "does not hold" in answers:
        return Decision("does not hold", leans=False, alone=alone, shares=shares, nearest=nearest)
    if "undecided" in answers:
        needed = [one.seeds for one in decisions if one.answer == "undecided"]
        known = [count for count in needed if count is not None]
        return Decision("undecided", leans, alone, max(known) if len(known) == len(needed) else None, shares, nearest)
    return Decision("holds", leans, alone, shares=shares, nearest=nearest)


def _decisive(decisions: Sequence[Decision]) -> tuple[float, float] | None:
    """Returns the margin of the comparison that decides a conjunction."""
    for answer, sign in (("does not hold", 1), ("undecided", 0), ("holds", -1)):
        of_it = [one for one in decisions if one.answer == answer]
        found = [one.nearest for one in of_it if one.nearest is not None]
        if of_it:
            # A fact that fails decides without a margin.
            return min(found, key=lambda one: one[0] + sign * one[1], default=None)
    return None


def any_of(*decisions: Decision) -> Decision:
    """Returns the decision on the disjunction: at least one sentence holds."""
    return opposite(all_of(*map(opposite, decisions)))


def opposite(one: Decision) -> Decision:
    """Returns the negation of a decision."""
    answers: dict[Answer, Answer] = {"holds": "does not hold", "does not hold": "holds", "undecided": "undecided"}
    alone, shares = tuple(not is_so for is_so in one.alone), tuple(-share for share in one.shares)
    nearest = None if one.nearest is None else (-one.nearest[0], one.nearest[1])
    return Decision(answers[one.answer], not one.leans, alone, one.seeds, shares, nearest)


def _of_seeds(one: Decision, seeds: int) -> Decision:
    """Returns a decision with one entry per seed: for a fact, the same entry for each of `seeds` seeds."""
    if one.alone:
        return one
    alone = (one.leans,) * seeds
    return replace(one, alone=alone, shares=_as_shares(alone))


def _as_shares(alone: Sequence[bool]) -> tuple[float, ...]:
    """Returns truth values as shares."""
    return tuple(1.0 if is_so else -1.0 for is_so in alone)


def _deciding(margins: Values) -> int | None:
    """Returns the number of seeds with this mean and deviation whose interval excludes zero.

    None if the number is above `MANY_SEEDS`.
    """
    mean, deviation = abs(fmean(margins)), stdev(margins)

    def decides(count: int) -> bool:
        return quantile(count - 1, (1 + CONFIDENCE) / 2) * deviation / sqrt(count) < mean

    # Intervals narrow with more seeds, so a bisection finds the number; quantiles of many degrees of freedom are slow.
    counts = range(len(margins) + 1, MANY_SEEDS + 1)
    place = bisect_left(counts, True, key=decides)
    return counts[place] if place < len(counts) else None
