"""Parameters of a test of which only the first are part of ``make test``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_fast(values: Iterable[Any], count: int) -> list[Any]:
    """Returns the values as parameters; those after the first `count` are slow.

    Used where no mutant (``make mutants``) was found only by the later values, so that they need not run every time.
    """
    return [pytest.param(value, marks=() if at < count else pytest.mark.slow) for at, value in enumerate(values)]
