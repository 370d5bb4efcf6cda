"""Every scenario in ``examples/`` is valid and runs to its end with its audits passed."""

from __future__ import annotations

from pathlib import Path

import pytest

import xoff

_EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))


@pytest.mark.parametrize(
    "file", [file for file in _EXAMPLES if not file.name.startswith(("sweep-", "search-"))], ids=lambda file: file.stem
)
def test_example(file: Path) -> None:
    result = xoff.run(file)
    assert result.ok
    assert result.summary["flows"]["completed"] == result.summary["flows"]["total"] > 0
    # Users copy the examples.
    assert xoff.check(file)["warnings"] == []
