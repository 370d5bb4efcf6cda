"""Intervals and comparisons: against published tables, and against their stated coverage."""

from __future__ import annotations

import random
import statistics as standard

import pytest

from xoff.statistics import compare, cumulative, interval, positive, quantile


@pytest.mark.parametrize(
    ("freedom", "probability", "value"),
    # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, upper critical values of Student's t.
    [
        (1, 0.975, 12.706), (2, 0.975, 4.303), (3, 0.975, 3.182), (4, 0.975, 2.776), (5, 0.95, 2.015),
        (9, 0.975, 2.262), (10, 0.99, 2.764), (30, 0.975, 2.042), (60, 0.9, 1.296), (100, 0.995, 2.626),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_published_tables(freedom: int, probability: float, value: float) -> None:
    assert quantile(freedom, probability) == pytest.approx(value, abs=5e-4)
    assert cumulative(freedom, quantile(freedom, probability)) == pytest.approx(probability)
    assert cumulative(freedom, -value) == pytest.approx(1 - probability, abs=1e-4)


def test_many_degrees_of_freedom_are_nearly_normal() -> None:
    assert quantile(5000, 0.975) == pytest.approx(standard.NormalDist().inv_cdf(0.975), abs=1e-3)


def test_an_interval_by_hand() -> None:
    # Mean 12, standard deviation √10, standard error √2, t(4) = 2.776.
    found = interval([8.0, 10.0, 12.0, 14.0, 16.0])
    assert found.mean == 12
    assert found.margin == pytest.approx(2.776 * 2**0.5, abs=1e-3)
    assert (interval([3.0]).low, interval([3.0]).margin, interval([3.0]).count) == (None, None, 1)
    assert interval([2.0, 2.0]).margin == 0
    with pytest.raises(ValueError, match="at least one value"):
        interval([])


def test_intervals_hold_the_true_mean_as_often_as_they_say() -> None:
    draw = random.Random(1)
    held = 0
    for _ in range(2000):
        found = interval([draw.gauss(50, 10) for _ in range(5)])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 50 <= found.high
    # Three standard deviations about 95 %.
    assert abs(held / 2000 - 0.95) < 0.015


def test_pairs_show_what_the_spread_hides() -> None:
    noise = [100.0, 220.0, 340.0, 460.0, 580.0]
    first = dict(enumerate(noise))
    second = {seed: value - 10 - (seed % 2) for seed, value in first.items()}
    found = compare(first, second)
    assert found.verdict == "lower"
    assert found.real
    assert found.relative == pytest.approx(-10.4 / 340)
    assert found.p is not None
    assert found.p < 0.05
    # Unpaired, the intervals of the two means overlap widely.
    one, other = interval(list(first.values())), interval(list(second.values()))
    assert one.low is not None
    assert other.high is not None
    assert one.low < other.high


def test_verdicts() -> None:
    base = {1: 10.0, 2: 12.0, 3: 11.0}
    assert compare(base, {1: 11.0, 2: 11.0, 3: 11.2}).verdict == "no difference shown"
    assert compare(base, base).verdict == "the same"
    assert compare(base, base).p == 1
    always = compare(base, {seed: value + 1 for seed, value in base.items()})
    assert (always.verdict, always.p) == ("higher", 0)
    assert compare(base, {2: 99.0}).verdict == "one seed"
    # Seeds of one variant alone are left out.
    assert compare(base, {1: 11.0, 2: 13.5, 9: 0.0}).first == 11
    with pytest.raises(ValueError, match="no seed in common"):
        compare(base, {4: 1.0})


def test_no_difference_is_seldom_called_real() -> None:
    draw = random.Random(2)
    wrong = 0
    for _ in range(1000):
        first, second = ({seed: draw.gauss(50, 10) for seed in range(5)} for _ in range(2))
        wrong += compare(first, second).real
    assert wrong / 1000 < 0.075


def test_no_interval_of_positive_numbers_reaches_below_zero() -> None:
    values = [1.0, 2.0, 30.0]
    assert (interval(values).low or 0) < 0
    found = positive(values)
    assert found.mean == interval(values).mean
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.mean < found.high
    # Symmetric on a logarithmic scale, and Student's for positive values, or without a known sign.
    assert found.mean / found.low == pytest.approx(found.high / found.mean)
    assert positive([8.0, 10.0, 12.0]) == interval([8.0, 10.0, 12.0])
    assert positive([-1.0, 1.0, 30.0]) == interval([-1.0, 1.0, 30.0])
    assert positive([0.0, 0.0]) == interval([0.0, 0.0])
    draw = random.Random(3)
    held = 0
    for _ in range(2000):
        sample = [draw.lognormvariate(0, 1) for _ in range(5)]
        one = positive(sample)
        held += (one.low or 0) <= 1.6487 <= (one.high or 0)
    # Five values of a very skewed distribution say little: Student's interval holds the mean in 82 %.
    assert held / 2000 > 0.82


def test_a_time_and_its_inverse_have_one_verdict() -> None:
    draw = random.Random(4)
    disagreed = 0
    for _ in range(500):
        first = {seed: draw.lognormvariate(0, 0.4) for seed in range(4)}
        second = {seed: value * draw.lognormvariate(0.35, 0.4) for seed, value in first.items()}
        times = compare(first, second)
        rates = compare(
            {seed: 1 / value for seed, value in first.items()}, {seed: 1 / one for seed, one in second.items()}
        )
        opposite = {"higher": "lower", "lower": "higher"}
        assert rates.verdict == opposite.get(times.verdict, times.verdict)
        assert rates.p == pytest.approx(times.p)
        for one in (times, rates):
            low, high = one.difference.low or 0, one.difference.high or 0
            assert low <= one.difference.mean <= high
            disagreed += ("higher" if low > 0 else "lower" if high < 0 else "no difference shown") != one.verdict
    # The printed interval agrees with the verdict, unless the mean difference itself disagrees.
    assert disagreed < 10
