"""Decisions over seeds: paired margins, intervals of one value, and the number of seeds that would decide."""

from __future__ import annotations

import pytest

from xoff.reproduce import (
    about_the_same,
    all_of,
    any_of,
    below,
    fact,
    higher,
    lower,
    lowest,
    never,
    ordered,
    positive,
    some,
    within,
)
from xoff.reproduce.decision import opposite
from xoff.statistics import interval


def test_one_seed_decides_nothing() -> None:
    one = positive([100.0])
    assert (one.answer, one.leans, one.seeds) == ("undecided", True, None)
    assert one.words == "undecided (one seed: holds)"
    assert positive([-100.0]).words == "undecided (one seed: does not hold)"


def test_an_interval_decides_and_pairs_are_taken_seed_by_seed() -> None:
    assert positive([1, 2, 1, 2]).answer == "holds"
    assert positive([-1, -2, -1, -2]).answer == "does not hold"
    # Seeds differ far more than both variants: paired by seed, the variants differ in each.
    assert lower([10, 100, 1000], [11, 101, 1001.1]).answer == "holds"
    assert higher([10, 100, 1000], [11, 101, 1001.1]).answer == "does not hold"
    assert lower([10, 1000], [11, 1001]).alone == (True, True)
    # Values equal in each seed have no lower value, without chance.
    assert lower([5, 5], [5, 5]).answer == "does not hold"
    with pytest.raises(ValueError, match="argument 2"):
        lower([1], [1, 2])


def test_undecided_says_how_many_seeds_would_decide() -> None:
    margins = [3.0, -1.0, 2.0, -0.5]
    found = positive(margins)
    assert (found.answer, found.leans, found.alone) == ("undecided", True, (True, False, True, False))
    assert found.seeds is not None
    assert found.words == f"undecided (mean: holds; {found.seeds} seeds would decide)"
    # As many seeds like the given seeds.
    many = (margins * found.seeds)[: found.seeds]
    assert found.seeds > len(margins)
    assert interval(many).low == pytest.approx(0, abs=0.6)
    assert positive(margins * found.seeds).answer == "holds"
    assert positive([1.0, -1.0]).seeds is None
    assert "more than 1000 seeds" in positive([1.0, -1.0]).words


def test_about_the_same_is_bounded_on_both_sides() -> None:
    assert about_the_same([110, 110.1], [100, 100]).answer == "holds"
    assert about_the_same([90, 89.9], [100, 100]).answer == "holds"
    assert about_the_same([120, 120.1], [100, 100]).answer == "does not hold"
    assert about_the_same([80, 79.9], [100, 100]).answer == "does not hold"
    assert within([0.1, 0.1001], [0.2, 0.2], [0.12, 0.12]).answer == "holds"
    # A mean in the middle of a wide spread is undecided, and not "about the same".
    assert about_the_same([60, 140], [100, 100]).answer == "undecided"


def test_decisions_are_put_together() -> None:
    yes, no, unsure, surer = positive([1, 1]), positive([-1, -1]), positive([3, -1]), positive([3, -0.5, 2, 2])
    assert all_of(yes, yes).answer == "holds"
    assert all_of(yes, no, unsure).answer == "does not hold"
    together = all_of(yes, unsure)
    assert (together.answer, together.leans, together.alone) == ("undecided", True, (True, False))
    assert together.seeds == unsure.seeds
    # Different seeds cannot be paired.
    assert all_of(yes, surer).alone == ()
    assert all_of(yes, fact(is_so=True)).alone == (True, True)
    assert any_of(no, yes).answer == "holds"
    assert any_of(no, unsure).answer == "undecided"
    assert any_of(no, no).answer == "does not hold"
    assert opposite(unsure).leans is not unsure.leans


def test_words_of_claims() -> None:
    assert lowest({"a": [1, 1], "b": [2, 2], "c": [3, 3]}, "a").answer == "holds"
    assert lowest({"a": [1, 1], "b": [2, 2], "c": [1, 1]}, "a").answer == "does not hold"
    assert ordered([[1, 1], [2, 2], [3, 3]]).answer == "holds"
    assert ordered([[1, 1], [3, 3], [2, 2]]).answer == "does not hold"
    # One instance disproves "never happens".
    assert never([0, 0, 0]).answer == "holds"
    assert never([0, 0, 1]).answer == "does not hold"


def test_a_margin_is_a_share_whatever_is_compared() -> None:
    assert below(8, 10) == pytest.approx(0.2)
    assert below(10, 8) == pytest.approx(-0.2)
    assert below(0, 0) == 0
    assert lower([8, 5], [10, 10]).shares == (0.2, 0.5)
    assert higher([8, 5], [10, 10]).shares == (-0.2, -0.5)
    assert about_the_same([110, 80], [100, 100]).shares == pytest.approx((0.05, -0.05))
    assert within([0.1, 0.3], [0.2, 0.2], [0.12, 0.05]).shares == pytest.approx((0.02, -0.05))
    # A yes-or-no fact has no size, and a count above zero is a fact.
    assert never([0, 7]).shares == (1, -1)
    assert some([7, 0, 3]).shares == (1, -1, 1)
    assert some([7, 0, 3]).answer == "undecided"
    assert positive([7, -3]).shares == (1, -1)
    assert fact(is_so=True).shares == ()


def test_together_what_is_nearest_to_failing_counts() -> None:
    near, far = lower([9, 9], [10, 10]), lower([5, 12], [10, 10])
    assert all_of(near, far).shares == pytest.approx((0.1, -1 / 6))
    assert any_of(near, far).shares == pytest.approx((0.5, 0.1))
    assert opposite(far).shares == pytest.approx((-0.5, 1 / 6))
    assert all_of(near, fact(is_so=True)).shares == pytest.approx((0.1, 0.1))
    # A false fact fails in each seed.
    failing = all_of(near, fact(is_so=False))
    assert (failing.answer, failing.alone, failing.shares) == ("does not hold", (False, False), (-1, -1))


def test_the_margin_is_that_of_the_deciding_comparison() -> None:
    # By 1 of 10, and by 2, 4 and 6 of 10: the mean is 0.4 of the compared value.
    assert lower([9.0, 9.0, 9.0], [10.0, 10.0, 10.0]).nearest == (0.1, 0.0)
    near, far = lower([9.0] * 3, [10.0] * 3), lower([8.0, 6.0, 4.0], [10.0] * 3)
    assert far.nearest is not None
    assert far.nearest[0] == pytest.approx(0.4)
    # Its interval includes zero exactly if the decision is undecided.
    assert (far.nearest[0] > far.nearest[1]) == (far.answer == "holds")
    assert all_of(near, far).nearest == (far.nearest if far.answer == "undecided" else near.nearest)
    failing = opposite(near)
    assert failing.nearest == (-0.1, 0.0)
    assert all_of(near, failing, opposite(far)).answer == "does not hold"
    assert all_of(near, failing).nearest == failing.nearest
    # A fact, truth values and one seed have no margin, and a fact that fails decides without one.
    assert all_of(near, fact(is_so=False)).nearest is None
    assert never([0.0, 1.0]).nearest is lower([1.0], [2.0]).nearest is some([1.0, 0.0]).nearest is None
