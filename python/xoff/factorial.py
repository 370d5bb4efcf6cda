"""Two-level designs: which combinations of choices to run, and what each choice and each pair of them does.

A regular fraction of 2^m runs gives each choice a column: a set of the m bits of a run's number, whose parity is the
choice's level. What two sets of choices do cannot be told apart where their columns add up to the same, bit by bit. A
design has resolution R if no R - 1 columns or fewer add up to nothing: in resolution III a choice looks like pairs of
others, in IV pairs look like pairs, in V choices and pairs are told from one another. `fraction` takes for each choice
the first column that keeps the resolution; with up to eleven choices no regular fraction has fewer runs.

Source: G. E. P. Box, J. S. Hunter and W. G. Hunter, "Statistics for Experimenters" (2005), chapters 5 and 6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xoff.statistics import Interval, interval

RESOLUTIONS = (3, 4, 5)
MOST = 64
"""More choices are none that one study decides."""

Levels = tuple[int, ...]
"""A run: 0 or 1, the first or the second level, of each choice."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a choice, or a pair of them, does to a metric."""

    factors: tuple[str, ...]
    """The choice, or the two of a pair."""
    measure: str
    """``main`` or ``pair`` of two-level designs; ``mu_star``, ``mu``, ``sigma``; ``first``, ``total``, ``pair``."""
    interval: Interval
    aliases: tuple[tuple[str, ...], ...] = ()
    """Other choices and pairs whose effects are added to this one: the runs do not tell them apart."""

    @property
    def name(self) -> str:
        """The choice, or the pair: ``rate × buffer``."""
        return " × ".join(self.factors)

    @property
    def verdict(self) -> str:
        """``raises`` or ``lowers`` if the interval leaves out zero, ``none shown`` if not, or ``one seed``."""
        if self.interval.low is None or self.interval.high is None:
            return "one seed"
        if self.interval.low > 0:
            return "raises"
        return "lowers" if self.interval.high < 0 else "none shown"


def fraction(choices: int, resolution: int = 4) -> list[Levels]:
    """The runs of the smallest design of a resolution, in which each choice has either level equally often.

    choices: how many, from 1 to `MOST`.
    resolution: 3, 4 or 5; with few choices the design is better than asked for, up to all combinations.

    Raises `ValueError` if either is something else.
    """
    if not 1 <= choices <= MOST or resolution not in RESOLUTIONS:
        raise ValueError(f"1 to {MOST} choices and a resolution of 3, 4 or 5 are possible")
    bits = max(1, choices.bit_length())
    while (columns := _columns(choices, bits, resolution)) is None:
        bits += 1
    return [tuple((run & column).bit_count() % 2 for column in columns) for run in range(2**bits)]


def _columns(choices: int, bits: int, resolution: int) -> list[int] | None:
    """The first columns of which no ``resolution - 1`` add up to nothing; None if there are too few.

    sums: what up to ``resolution - 2`` of those chosen add up to, with the fewest that do.
    """
    found: list[int] = []
    sums = {0: 0}
    # The bits themselves come first, so that few choices have all combinations.
    for column in (*(1 << bit for bit in range(bits)), *range(1, 2**bits)):
        if len(found) == choices:
            break
        if column not in sums:
            found.append(column)
            for total, count in list(sums.items()):
                if count < resolution - 2:
                    sums[total ^ column] = min(count + 1, sums.get(total ^ column, count + 1))
    return found if len(found) == choices else None


def resolution(levels: Sequence[Levels]) -> int:
    """What a design tells apart: 3 not each choice from all pairs, 4 not each pair from all others, 5 all of them."""
    found = _distinct([str(index) for index in range(len(levels[0]))], levels)
    return min((3 if len(chosen) == 1 else 4 for chosen, others, _ in found if others), default=5)


def effects(choices: Sequence[str], runs: Sequence[Mapping[int, float]], levels: Sequence[Levels]) -> list[Effect]:
    """What each choice and each pair of them does to a metric, with intervals over the seeds.

    choices: their names.
    runs: the metric of each run, by seed. Each seed that all runs have gives its own effect; these are averaged.
    levels: the levels of each run: a design of `fraction`, or another in which effects are told apart or are the same.

    The effect of a choice is the mean with its second level less the mean with its first. That of a pair is half of
    what the one does with the other at its second level, less what it does with the other at its first. Of effects that
    are added to one another there is one, which names the others; a pair that is added to a choice is named there only.

    Raises `ValueError` if there is no seed that all runs have, or effects overlap in part.
    """
    if len(runs) != len(levels) or not runs or any(len(one) != len(choices) for one in levels):
        raise ValueError("each run needs a level for each choice")
    seeds = sorted(set(runs[0]).intersection(*runs[1:]))
    if not seeds:
        raise ValueError("there is no seed of which all runs have the metric")
    found = []
    for chosen, others, high in _distinct(choices, levels):
        signs = [1 if high >> index & 1 else -1 for index in range(len(runs))]
        by_seed = [
            2 * math.fsum(sign * run[seed] for sign, run in zip(signs, runs, strict=True)) / len(runs) for seed in seeds
        ]
        found.append(Effect(chosen, "main" if len(chosen) == 1 else "pair", interval(by_seed), others))
    return found


def _distinct(
    choices: Sequence[str], levels: Sequence[Levels]
) -> list[tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]]:
    """The effects that the runs tell apart: the choice or pair, those which it cannot be told from, the runs it is in.

    Runs are bits of a number: those in which a choice has its second level, or a pair twice the same.
    """
    every = (1 << len(levels)) - 1
    columns = [sum(one[index] << run for run, one in enumerate(levels)) for index in range(len(choices))]
    candidates: list[tuple[tuple[str, ...], int]] = [
        ((name,), column) for name, column in zip(choices, columns, strict=True)
    ]
    candidates += [
        ((choices[one], choices[other]), every ^ columns[one] ^ columns[other])
        for one, other in itertools.combinations(range(len(choices)), 2)
    ]
    groups: dict[int, list[tuple[str, ...]]] = {}
    for name, column in candidates:
        # Of opposite signs one looks like the other turned round.
        groups.setdefault(min(column, every ^ column), []).append(name)
    if any(2 * (one ^ other).bit_count() != len(levels) for one, other in itertools.combinations([0, *groups], 2)):
        raise ValueError("the runs are no design in which each level meets each other one equally often")
    high = dict(candidates)
    return [(names[0], tuple(names[1:]), high[names[0]]) for names in groups.values()]
