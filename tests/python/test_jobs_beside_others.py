"""The jobs of docs/beside-others.md: their files are imported, and take the times of LogGOPSim and ASTRA-sim."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Loads the script."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT / "python"))
    return runpy.run_path(str(_ROOT / "tools" / "jobs_beside_others.py"))


@pytest.mark.parametrize(
    ("name", "there_ns", "in_turn"),
    [
        ("ring-4", 308_997, False),
        ("broadcast-4", 2_005_998, True),
        ("tree-4", 911_996, True),
        ("sum-7", 802_994, False),
        ("all-to-all-same-4-cpus", 502_995, True),
        ("all_gather-8", 140_225, False),
        ("reduce_scatter-4", 16_150, False),
        ("all_to_all-4", 1_306, False),
        ("layers-beside-8", 184_756, False),
        ("roofline-4", 11_034_657, False),
    ],
)
def test_a_job_takes_what_it_takes_there(
    tool: dict[str, Any], tmp_path: Path, name: str, there_ns: int, in_turn: bool
) -> None:
    """As the programs said for the page: a byte may count as 0 or 1 ns, and a delay of endpoints as 1 ns."""
    files = tool["write"](name, tmp_path)
    scenario = tool["imported"](name, files, tmp_path / "here", in_turn=in_turn)
    assert tool["xoff_ns"](name, scenario) == pytest.approx(there_ns, rel=1e-3)


def test_what_the_other_programs_say_is_read(tool: dict[str, Any], tmp_path: Path) -> None:
    """The end of the last rank, of a few and of many."""
    for name, text, found in (
        ("ring-2", "Times: \\nHost 0: 5\\nHost 1: 17", 17),
        ("broadcast-32", "Maximum finishing time at host 31: 5014995 (0.005015 s)", 5_014_995),
        ("all_gather-4", "[info] sys[0] finished, 12 cycles, exposed\\nsys[3] finished, 60097 cycles", 60_097),
    ):
        peers, folder = tmp_path / f"peers-{name}", tmp_path / name
        tool["write"](name, folder)
        for command in tool["commands"](name, folder, peers):
            program = Path(command[0])
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f"#!/bin/sh\nprintf '{text}'\n")
            program.chmod(0o755)
        assert tool["other_ns"](name, folder, peers) == found


def test_every_case_has_its_files(tool: dict[str, Any], tmp_path: Path) -> None:
    for name in (*tool["GOALS"], *tool["TRACES"]):
        files = tool["write"](name, tmp_path / name)
        assert all(file.stat().st_size for file in files)
