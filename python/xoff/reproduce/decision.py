"""What runs decide of a sentence: that it is so, that it is not, or neither, and then how many seeds would decide it.

A sentence that chance has a part in is judged by a number of each seed, its margin, which is above zero where the
sentence is true. What is compared is paired: runs of one seed see the same traffic, so that their difference is taken
seed by seed. The sentence is so if the 95 % interval of the mean margin (Student's) lies above zero, it is not so if
the interval lies below, and otherwise it is undecided. One seed decides nothing: a single value has no interval.

Margins of different sentences are in different units: times, counts, shares. Each is kept as a share, too, of what is
compared: by what part of the larger of two values the first is below the second. It is from -1 to 1, and what either is
or is not has -1 or 1. So sentences can be put together: all of them are as far from failing as the one that is nearest
to it, and one of them as far from holding as the one that is nearest to that. (Logics of signals call this robustness:
A. Donzé and O. Maler, "Robust Satisfaction of Temporal Logic over Real-Valued Signals", FORMATS 2010.)
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
"""More seeds than this are not counted: what they would show is too small to matter."""

Answer: TypeAlias = Literal["holds", "does not hold", "undecided"]
Values: TypeAlias = Sequence[float]
"""A number of each seed, in the order of the seeds."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What runs say of a sentence."""

    answer: Answer
    leans: bool
    """What the means say, whatever chance adds."""
    alone: tuple[bool, ...] = ()
    """What each seed alone says; nothing where chance has no part."""
    seeds: int | None = None
    """If undecided: how many seeds like these would decide it; None if there is one seed, or above `MANY_SEEDS`."""
    shares: tuple[float, ...] = ()
    """The margin of each seed as a share; nothing where chance has no part."""

    @property
    def words(self) -> str:
        """The answer as a reader is told it."""
        if self.answer != "undecided":
            return self.answer
        leaning = "holds" if self.leans else "does not hold"
        if len(self.alone) == 1:
            return f"undecided (one seed: {leaning})"
        return f"undecided (mean: {leaning}; {self.seeds or f'more than {MANY_SEEDS}'} seeds would decide)"


def fact(is_so: bool) -> Decision:
    """Return what is decided without chance: a formula, a count that may not occur, a run without anything random."""
    return Decision("holds" if is_so else "does not hold", is_so)


def positive(margins: Values, shares: Values | None = None) -> Decision:
    """Decide whether the mean of a margin is above zero. Raises `ValueError` if there is none.

    shares: the same as shares of what is compared, if margins are not.
    """
    found = interval(margins)
    leans = found.mean > 0
    alone = tuple(margin > 0 for margin in margins)
    kept = tuple(min(1.0, max(-1.0, share)) for share in (margins if shares is None else shares))
    if found.low is None or found.high is None:
        return Decision("undecided", leans, alone, shares=kept)
    if found.low > 0:
        return Decision("holds", leans, alone, shares=kept)
    # Margins that are all zero are no chance: nothing is above zero.
    if found.high < 0 or found.low == found.high:
        return Decision("does not hold", leans, alone, shares=kept)
    return Decision("undecided", leans, alone, _deciding(margins), kept)


def some(counts: Values) -> Decision:
    """Decide whether something happens: the mean of a count, or of a time that it lasts, is above zero."""
    return positive(counts, [1.0 if count > 0 else -1.0 for count in counts])


def lower(mine: Values, other: Values) -> Decision:
    """Decide whether the first is below the second, seed by seed."""
    pairs = list(zip(mine, other, strict=True))
    return positive([theirs - ours for ours, theirs in pairs], [below(ours, theirs) for ours, theirs in pairs])


def below(one: float, other: float) -> float:
    """Return by what share of the larger of two values the first is below the second; if it is above, less than 0."""
    larger = max(abs(one), abs(other))
    return (other - one) / larger if larger else 0.0


def higher(mine: Values, other: Values) -> Decision:
    """Decide whether the first is above the second, seed by seed."""
    return lower(other, mine)


def lowest(values: Mapping[str, Values], one: str) -> Decision:
    """Decide whether one is below each of the others."""
    return all_of(*(lower(values[one], other) for name, other in values.items() if name != one))


def ordered(values: Sequence[Values]) -> Decision:
    """Decide whether each is below the next."""
    return all_of(*(lower(before, after) for before, after in pairwise(values)))


def within(values: Values, reference: Values, margins: Values, of: Values | None = None) -> Decision:
    """Decide whether values differ from their reference by no more than a margin, on either side.

    of: what margins are to be shares of, unless values are shares themselves.
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
    """Decide whether values are within a share of their reference, on either side."""
    sizes = [abs(one) for one in reference]
    # With a reference of zero nothing is a share of it; only zero is the same.
    return within(values, reference, [share * one for one in sizes], [one or 1.0 for one in sizes])


def never(counts: Values) -> Decision:
    """Decide whether something happens in no run: a single one with it disproves that."""
    alone = tuple(not count for count in counts)
    return Decision("holds" if all(alone) else "does not hold", all(alone), alone, shares=_as_shares(alone))


def all_of(*decisions: Decision) -> Decision:
    """Return what is so if all of these are."""
    answers = {one.answer for one in decisions}
    # What the seeds of one comparison say can be put together with what the same seeds say of another, and with what
    # has no seeds.
    seeds = {len(one.alone) for one in decisions if one.alone}
    every = [_of_seeds(one, *seeds) for one in decisions] if len(seeds) == 1 else []
    alone = tuple(map(all, zip(*(one.alone for one in every), strict=True)))
    shares = tuple(map(min, zip(*(one.shares for one in every), strict=True)))
    leans = all(one.leans for one in decisions)
    if "does not hold" in answers:
        return Decision("does not hold", leans=False, alone=alone, shares=shares)
    if "undecided" in answers:
        needed = [one.seeds for one in decisions if one.answer == "undecided"]
        known = [count for count in needed if count is not None]
        return Decision("undecided", leans, alone, max(known) if len(known) == len(needed) else None, shares)
    return Decision("holds", leans, alone, shares=shares)


def any_of(*decisions: Decision) -> Decision:
    """Return what is so if one of these is."""
    return opposite(all_of(*map(opposite, decisions)))


def opposite(one: Decision) -> Decision:
    """Return what is so if this is not."""
    answers: dict[Answer, Answer] = {"holds": "does not hold", "does not hold": "holds", "undecided": "undecided"}
    alone, shares = tuple(not is_so for is_so in one.alone), tuple(-share for share in one.shares)
    return Decision(answers[one.answer], not one.leans, alone, one.seeds, shares)


def _of_seeds(one: Decision, seeds: int) -> Decision:
    """Return a decision with what it is in so many seeds: the same in all, where chance has no part."""
    if one.alone:
        return one
    alone = (one.leans,) * seeds
    return replace(one, alone=alone, shares=_as_shares(alone))


def _as_shares(alone: Sequence[bool]) -> tuple[float, ...]:
    """Return the shares of what either is or is not."""
    return tuple(1.0 if is_so else -1.0 for is_so in alone)


def _deciding(margins: Values) -> int | None:
    """Return how many seeds with this mean and deviation have an interval without zero."""
    mean, deviation = abs(fmean(margins)), stdev(margins)

    def decides(count: int) -> bool:
        return quantile(count - 1, (1 + CONFIDENCE) / 2) * deviation / sqrt(count) < mean

    # The more seeds, the narrower: quantiles of many degrees of freedom are long sums, and few are asked for.
    counts = range(len(margins) + 1, MANY_SEEDS + 1)
    place = bisect_left(counts, True, key=decides)
    return counts[place] if place < len(counts) else None
