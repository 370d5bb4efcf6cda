"""The scenario shown by `check` equals the run: the document with all defaults has the same fingerprint."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import xoff
from params import first_fast
from xoff.conformance.drawing import draw_scenario
from xoff.templates.writing import write_document

ROOT = Path(__file__).parents[2]
FILES = [file for file in (ROOT / "examples").glob("*.toml") if not file.name.startswith(("sweep-", "search-"))]


def test_a_host_with_ports_of_two_rates_is_settled_as_it_runs() -> None:
    # DCQCN's additive increase is a share of the port's rate: 80 Mb/s of 40 Gb/s here, 720 Mb/s of 360.
    case = ROOT / "tests/validation/cases/dcqcn_two_rates.toml"
    settled = xoff.resolve(case, settled=True)
    assert "additive_increase" not in settled["host"]["congestion_control"]["dcqcn"]
    lines = {row["line"] for row in xoff.check(case)["settled"] if row["key"].endswith("additive_increase")}
    assert len(lines) > 1
    assert xoff.run(settled).fingerprint == xoff.run(case).fingerprint


@pytest.mark.parametrize("file", sorted(FILES), ids=lambda file: file.name)
def test_a_settled_file_runs_to_the_same_fingerprint(file: Path) -> None:
    assert xoff.run(xoff.resolve(file, settled=True)).fingerprint == xoff.run(file).fingerprint


@pytest.mark.parametrize("kind", first_fast(["scenario", "graph", "training", "serving"], 3))
def test_a_settled_template_runs_to_the_same_fingerprint(kind: str, tmp_path: Path) -> None:
    file = write_document(kind, str(tmp_path / kind))[0]
    assert xoff.run(xoff.resolve(file, settled=True)).fingerprint == xoff.run(file).fingerprint


@pytest.mark.parametrize("number", range(40))
def test_a_settled_draw_runs_to_the_same_fingerprint(number: int) -> None:
    scenario = draw_scenario(Random(f"settled {number}"), {})
    settled = xoff.resolve(scenario, settled=True)
    assert xoff.run(settled).fingerprint == xoff.run(scenario).fingerprint
