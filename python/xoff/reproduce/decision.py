"""What runs decide of a sentence: that it is so, that it is not, or neither, and then how many seeds would decide it.

A sentence that chance has a part in is judged by a number of each seed, its margin, which is above zero where the
sentence is true. What is compared is paired: runs of one seed see the same traffic, so that their difference is taken
seed by seed. The sentence is so if the 95 % interval of the mean margin (Student's) lies above zero, it is not so if
the interval lies below, and otherwise it is undecided. One seed decides nothing: a single value has no interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


def positive(margins: Values) -> Decision:
    """Decide whether the mean of a margin is above zero. Raises `ValueError` if there is none."""
    found = interval(margins)
    leans = found.mean > 0
    alone = tuple(margin > 0 for margin in margins)
    if found.low is None or found.high is None:
        return Decision("undecided", leans, alone)
    if found.low > 0:
        return Decision("holds", leans, alone)
    # Margins that are all zero are no chance: nothing is above zero.
    if found.high < 0 or found.low == found.high:
        return Decision("does not hold", leans, alone)
    return Decision("undecided", leans, alone, _deciding(margins))


def lower(mine: Values, other: Values) -> Decision:
    """Decide whether the first is below the second, seed by seed."""
    return positive([theirs - ours for ours, theirs in zip(mine, other, strict=True)])


def higher(mine: Values, other: Values) -> Decision:
    """Decide whether the first is above the second, seed by seed."""
    return lower(other, mine)


def lowest(values: Mapping[str, Values], one: str) -> Decision:
    """Decide whether one is below each of the others."""
    return all_of(*(lower(values[one], other) for name, other in values.items() if name != one))


def ordered(values: Sequence[Values]) -> Decision:
    """Decide whether each is below the next."""
    return all_of(*(lower(before, after) for before, after in pairwise(values)))


def within(values: Values, reference: Values, margins: Values) -> Decision:
    """Decide whether values differ from their reference by no more than a margin, on either side."""
    differences = [value - other for value, other in zip(values, reference, strict=True)]
    return all_of(
        positive([margin - difference for margin, difference in zip(margins, differences, strict=True)]),
        positive([margin + difference for margin, difference in zip(margins, differences, strict=True)]),
    )


def about_the_same(values: Values, reference: Values, share: float = ABOUT_THE_SAME) -> Decision:
    """Decide whether values are within a share of their reference, on either side."""
    return within(values, reference, [share * abs(one) for one in reference])


def never(counts: Values) -> Decision:
    """Decide whether something happens in no run: a single one with it disproves that."""
    return Decision("does not hold" if any(counts) else "holds", not any(counts), tuple(not count for count in counts))


def all_of(*decisions: Decision) -> Decision:
    """Return what is so if all of these are."""
    answers = {one.answer for one in decisions}
    # What the seeds of one comparison say can be put together with what the same seeds say of another.
    seeded = [one.alone for one in decisions if one.alone]
    alone = tuple(map(all, zip(*seeded, strict=True))) if len({len(one) for one in seeded}) == 1 else ()
    leans = all(one.leans for one in decisions)
    if "does not hold" in answers:
        return Decision("does not hold", leans=False, alone=alone)
    if "undecided" in answers:
        needed = [one.seeds for one in decisions if one.answer == "undecided"]
        known = [seeds for seeds in needed if seeds is not None]
        return Decision("undecided", leans, alone, max(known) if len(known) == len(needed) else None)
    return Decision("holds", leans, alone)


def any_of(*decisions: Decision) -> Decision:
    """Return what is so if one of these is."""
    return opposite(all_of(*map(opposite, decisions)))


def opposite(one: Decision) -> Decision:
    """Return what is so if this is not."""
    answers: dict[Answer, Answer] = {"holds": "does not hold", "does not hold": "holds", "undecided": "undecided"}
    return Decision(answers[one.answer], not one.leans, tuple(not is_so for is_so in one.alone), one.seeds)


def _deciding(margins: Values) -> int | None:
    """Return how many seeds with this mean and deviation have an interval without zero."""
    mean, deviation = abs(fmean(margins)), stdev(margins)
    for count in range(len(margins) + 1, MANY_SEEDS + 1):
        if quantile(count - 1, (1 + CONFIDENCE) / 2) * deviation / sqrt(count) < mean:
            return count
    return None
