"""Two-level designs: which combinations of choices to run, and the effect of each choice and each pair of choices.

A regular fraction of 2^m runs gives each choice a column: a set of the m bits of a run's number, whose parity is the
choice's level. The effects of two sets of choices are aliased if their columns have the same sum modulo 2. A design has
resolution R if the columns of no R - 1 or fewer choices sum to zero: in resolution III choices are aliased with pairs,
in IV pairs with pairs, in V neither. `fraction` takes for each choice the first column that keeps the resolution; with
up to eleven choices no regular fraction has fewer runs.

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
"""The largest number of choices in a design."""

Levels = tuple[int, ...]
"""The levels of a run: for each choice 0 (first level) or 1 (second level)."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of a choice, or of a pair of choices, on a metric."""

    factors: tuple[str, ...]
    """The choice, or the two choices of a pair."""
    measure: str
    """``main`` or ``pair`` of two-level designs; ``mu_star``, ``mu``, ``sigma``; ``first``, ``total``, ``pair``."""
    interval: Interval
    aliases: tuple[tuple[str, ...], ...] = ()
    """Aliases: other choices and pairs whose effects the runs do not separate from this one."""

    @property
    def name(self) -> str:
        """The choice, or the pair: ``rate × buffer``."""
        return " × ".join(self.factors)

    @property
    def verdict(self) -> str:
        """``raises`` or ``lowers`` if the interval excludes zero, ``none shown`` if not, or ``one seed``."""
        if self.interval.low is None or self.interval.high is None:
            return "one seed"
        if self.interval.low > 0:
            return "raises"
        return "lowers" if self.interval.high < 0 else "none shown"


def fraction(choices: int, resolution: int = 4) -> list[Levels]:
    """Returns the runs of the smallest design of a resolution in which each choice has either level equally often.

    choices: the number of choices, from 1 to `MOST`.
    resolution: 3, 4 or 5; with few choices the design exceeds it, up to all combinations.

    Raises `ValueError` if an argument is out of range.
    """
    if not 1 <= choices <= MOST or resolution not in RESOLUTIONS:
        raise ValueError(f"1 to {MOST} choices and a resolution of 3, 4 or 5 are possible")
    bits = max(1, choices.bit_length())
    while (columns := _columns(choices, bits, resolution)) is None:
        bits += 1
    return [tuple((run & column).bit_count() % 2 for column in columns) for run in range(2**bits)]


def _columns(choices: int, bits: int, resolution: int) -> list[int] | None:
    """Returns the first columns of which no ``resolution - 1`` sum to zero; None if there are too few.

    `sums` maps each sum of up to ``resolution - 2`` chosen columns to the least number of columns with that sum.
    """
    found: list[int] = []
    sums = {0: 0}
    # The single bits come first, so that few choices have all combinations.
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
    """Returns the resolution of a design: 3 if a choice is aliased with a pair, 4 if pairs are aliased, else 5."""
    found = _distinct([str(index) for index in range(len(levels[0]))], levels)
    return min((3 if len(chosen) == 1 else 4 for chosen, others, _ in found if others), default=5)


def effects(choices: Sequence[str], runs: Sequence[Mapping[int, float]], levels: Sequence[Levels]) -> list[Effect]:
    """Returns the effect of each choice and each pair of choices on a metric, with intervals over the seeds.

    choices: names of the choices.
    runs: the metric of each run, by seed. Each seed that all runs have gives an effect; the effects are averaged.
    levels: the levels of each run: a design of `fraction`, or another design in which effects are separate or aliased.

    The effect of a choice is the mean at its second level less the mean at its first level. The effect of a pair is
    half of the difference between the first choice's effects at the second and at the first level of the other choice.
    Aliased effects give one result, which names its aliases; a pair that is aliased with a choice is only named there.

    Raises `ValueError` if no seed is common to all runs, or if effects overlap in part.
    """
    if len(runs) != len(levels) or not runs or any(len(one) != len(choices) for one in levels):
        raise ValueError("each run needs a level for each choice")
    seeds = sorted(set(runs[0]).intersection(*runs[1:]))
    if not seeds:
        raise ValueError("no seed has the metric in all runs")
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
    """Returns the effects that the runs separate: the choice or pair, its aliases, and the runs with its high sign.

    A set of runs is a number with one bit per run. For a choice: the runs with the second level. For a pair: the runs
    with the same level of both choices.
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
        # A column and its complement are the same effect with opposite signs.
        groups.setdefault(min(column, every ^ column), []).append(name)
    if any(2 * (one ^ other).bit_count() != len(levels) for one, other in itertools.combinations([0, *groups], 2)):
        raise ValueError("the runs are not a balanced design: each pair of levels needs equally many runs")
    high = dict(candidates)
    return [(names[0], tuple(names[1:]), high[names[0]]) for names in groups.values()]
