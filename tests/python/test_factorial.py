"""Two-level designs: separable effects, and effects on a known model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from xoff.statistics import factorial
from xoff.statistics.factorial import Levels, effects, fraction

# The fewest runs of a regular fraction of a resolution, by choices (Box, Hunter and Hunter, table 6.22).
_FEWEST = {
    3: {3: 4, 7: 8, 8: 16, 15: 16, 16: 32},
    4: {3: 8, 4: 8, 5: 16, 8: 16, 9: 32, 16: 32, 17: 64},
    5: {4: 16, 5: 16, 6: 32, 7: 64, 8: 64, 9: 128, 11: 128},
}


def _resolution(runs: Sequence[Levels]) -> int:
    """By the definition: the fewest choices of which the signs multiply to the same in all runs."""
    signs = [[2 * run[index] - 1 for run in runs] for index in range(len(runs[0]))]
    for size in range(1, len(signs) + 1):
        for chosen in itertools.combinations(signs, size):
            if abs(sum(map(math.prod, zip(*chosen, strict=True)))) == len(runs):
                return size
    return 99


@pytest.mark.parametrize("resolution", [3, 4, 5])
def test_fractions_are_the_smallest_of_their_resolution(resolution: int) -> None:
    for choices, fewest in _FEWEST[resolution].items():
        runs = fraction(choices, resolution)
        assert len(set(runs)) == len(runs) == fewest
        assert all(sum(run[index] for run in runs) == fewest // 2 for index in range(choices))
        if choices <= 11:
            assert _resolution(runs) >= resolution
            assert factorial.resolution(runs) == min(_resolution(runs), 5)


def _model(run: Levels) -> float:
    """Seven, a choice that adds 4, a choice that takes 10, and two that add 6 only together (3 each alone)."""
    first, second, third, fourth = run[:4]
    return 7 + 4 * first - 10 * second + 6 * third * fourth


def _found(choices: int, resolution: int) -> dict[str, tuple[float, tuple[tuple[str, ...], ...]]]:
    runs = fraction(choices, resolution)
    found = effects("abcdefgh"[:choices], [{1: _model(run), 2: _model(run) + 100} for run in runs], runs)
    assert all(one.interval.low == one.interval.mean == one.interval.high for one in found)
    return {one.name: (one.interval.mean, one.aliases) for one in found}


def test_effects_of_a_known_model_are_exact() -> None:
    found = _found(5, 5)
    shown = {name: mean for name, (mean, _) in found.items() if mean}
    assert shown == {"a": 4, "b": -10, "c": 3, "d": 3, "c × d": 3}
    assert len(found) == 5 + 10
    assert all(not aliases for _, aliases in found.values())


def test_pairs_that_look_alike_are_named_together() -> None:
    found = _found(4, 4)
    assert {name: mean for name, (mean, _) in found.items() if mean} == {"a": 4, "b": -10, "c": 3, "d": 3, "a × b": 3}
    # The model has c × d, which four choices in eight runs cannot tell from a × b.
    assert found["a × b"][1] == (("c", "d"),)
    assert all(not found[name][1] for name in "abcd")


def test_a_pair_that_looks_like_a_choice_is_only_named_beside_it() -> None:
    found = _found(7, 3)
    assert set(found) == set("abcdefg")
    aliases = {frozenset(pair) for _, others in found.values() for pair in others}
    assert aliases == {frozenset(pair) for pair in itertools.combinations("abcdefg", 2)}
    # The interaction of c and d is confounded with the effect of another choice.
    (other,) = (name for name, (_, others) in found.items() if ("c", "d") in others)
    assert abs(found[other][0]) == 3 + {"a": 4, "b": -10, "c": 3, "d": 3}.get(other, 0)


def test_intervals_are_over_seeds_and_what_a_seed_adds_to_all_is_in_no_effect() -> None:
    runs = fraction(2)
    noise = {1: -1.0, 2: 0.0, 3: 1.0}
    by_run = [{seed: 5 * run[0] + run[1] * value + 1000 * value for seed, value in noise.items()} for run in runs]
    first, second, pair = effects(["a", "b"], by_run, runs)
    assert (first.interval.low, first.interval.high, first.verdict) == (5, 5, "raises")
    # Student's t with two degrees of freedom is 4.3027 at 97.5 %.
    assert second.interval.mean == 0
    assert second.interval.margin == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)
    assert (second.verdict, pair.verdict) == ("none shown", "none shown")
    assert effects(["a", "b"], [{1: one[1]} for one in by_run], runs)[0].verdict == "one seed"


def test_what_is_no_design_is_refused() -> None:
    with pytest.raises(ValueError, match="equally many runs"):
        effects(["a", "b"], [{1: 0.0}] * 3, [(0, 0), (0, 1), (1, 0)])
    with pytest.raises(ValueError, match="no seed"):
        effects(["a"], [{1: 0.0}, {2: 0.0}], [(0,), (1,)])
    with pytest.raises(ValueError, match="a level for each choice"):
        effects(["a"], [{1: 0.0}], [(0,), (1,)])
    with pytest.raises(ValueError, match="resolution of 3, 4 or 5"):
        fraction(3, 6)
