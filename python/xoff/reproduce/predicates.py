"""The words of claims as all documents judge them: see recipe 5 in CONTRIBUTING.md."""

from __future__ import annotations

from collections.abc import Mapping

ABOUT_THE_SAME = 0.15
"""The share within which values are about the same."""


def about_the_same(value: float, reference: float, tolerance: float = ABOUT_THE_SAME) -> bool:
    """Tell whether a value is within a share of its reference."""
    return abs(value - reference) <= tolerance * abs(reference)


def lowest(values: Mapping[str, float], one: str) -> bool:
    """Tell whether the value of one is below that of each of the others."""
    return all(values[one] < value for name, value in values.items() if name != one)
