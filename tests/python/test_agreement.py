"""The cases of docs/beside-others.md: their files are imported, and completion times are compared flow by flow."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from small import Command

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Loads the script."""
    monkeypatch.syspath_prepend(str(_ROOT / "tools"))
    return runpy.run_path(str(_ROOT / "tools" / "agreement.py"))


@pytest.mark.parametrize("name", ["hpcc-hpcc-pairs", "conweave-irn-pairs", "uec-nscc-single"])
def test_a_case_is_what_both_programs_read(
    tool: dict[str, Any], name: str, tmp_path: Path, xoff_here: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are imported, and xoff accepts the additional settings."""
    case = tool["CASES"][name]
    case.peer.write(case, tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    imported = xoff_here("import", *case.peer.imported, "--out", "here")
    assert imported.returncode == 0, imported.stderr
    sets = [word for key, value in case.xoff.items() for word in ("--set", f"{key}={value}")]
    checked = xoff_here("check", "here/scenario.toml", *sets)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(case.traffic.flows(1))}" in checked.stdout


def test_times_are_compared_flow_by_flow(tool: dict[str, Any], tmp_path: Path) -> None:
    """A line of ns-3's output: source, destination, ports, bytes, start, completion time, and ideal time."""
    file = tmp_path / "fct.txt"
    file.write_text("0b000101 0b000201 10000 100 5000000 2000000000 1010000 1000000\n", "utf-8")
    other = tool["read_other"](file)
    assert other == {(1, 2, 5_000_000, 0): 1_010_000}
    (line,) = [tool["compared"]("case", other, {key: time * 1.02 for key, time in other.items()})]
    # Means may be 1 % apart, percentiles 3 %.
    assert line.count("*") == 1
    assert "1.0200*" in line
    named = tool["differences"](other, {}, 1)
    assert [text.strip() for text in named] == ["only there: 1, such as (1, 2, 5000000, 0)"]


def test_names_say_what_a_case_is(tool: dict[str, Any]) -> None:
    assert all(name.startswith(case.peer.name) for name, case in tool["CASES"].items())
