"""Tests for authors of components: random scenarios that exercise a component and reveal mistakes beyond the audits.

The checks are checks of `xoff conformance NAME`. Each mechanism, transport and congestion control runs with the
component of its signals, as sender or receiver of the signals, under incasts and long flows. Three properties hold:

- A run with fast-forward equals a full run. A field missing from a component's `state!` makes both runs differ.
- Each component is fast-forwarded in some draw, or listed in `NEVER_REPEAT` with the reason.
- Each declared count is counted in some draw, or listed in `COUNTED_BY` with the test that counts it.
"""

import json
from pathlib import Path

import pytest

from xoff.conformance import checks, parts
from xoff.conformance.parts import COUNTED_BY, NEVER_REPEAT, Part

DRAWS = 12
PARTS = parts.acting()


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.path}={part.option}")
def test_a_part_acts_counts_and_is_fast_forwarded_exactly(part: Part) -> None:
    examined = checks.Examined(part, [])
    forward = checks.Check("fast-forward", "")
    for number in range(DRAWS):
        checks.examine_loaded(examined, forward, number)
    assert [(one.draw, one.problem, json.dumps(one.scenario)) for one in forward.failures] == []
    assert len(examined.shares) == DRAWS
    # A reason that no longer holds is removed.
    assert (max(examined.shares) > 0) == (part.name not in NEVER_REPEAT), examined.shares
    assert checks.silent(part.name, [examined]) == [], "add to these counts, or name a test in COUNTED_BY"


def test_tests_that_count_are_there() -> None:
    root = Path(__file__).parents[2]
    for count, test in COUNTED_BY.items():
        file, _, function = test.partition("::")
        assert f" {function}(" in (root / file).read_text("utf-8"), count


def test_parts_of_the_lists_are_registered() -> None:
    names = {part.name for part in PARTS}
    assert names >= NEVER_REPEAT.keys()
    assert {f"{name}.{count}" for name in names for count in parts.counts_of(name)} >= COUNTED_BY.keys()
