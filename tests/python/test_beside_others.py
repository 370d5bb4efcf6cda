"""The files for other simulators describe one network and its traffic; the page's commands for xoff simulate both."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from pathlib import Path

import pytest

from small import Command

_ROOT = Path(__file__).resolve().parents[2]
_PACKETS = 10
# Six links for each packet, on any path.
_HOPS = {"htsim-128": 128 * _PACKETS * 6, "htsim-1024": 1024 * _PACKETS // 5 * 6}
_HOPS |= dict.fromkeys(("hpcc", "conweave"), _HOPS["htsim-128"])


def _commands() -> list[str]:
    page = (_ROOT / "docs" / "beside-others.md").read_text("utf-8")
    blocks = re.findall(r"```bash\n(.*?)```", page, re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line.partition(" #")[0] for line in lines if line.startswith("xoff ")]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the directory of the page; the commands start in the directory."""
    directory = tmp_path / "files"
    monkeypatch.setattr("sys.argv", ["beside_others.py", str(directory), "--packets", str(_PACKETS)])
    runpy.run_path(str(_ROOT / "tools" / "beside_others.py"), run_name="__main__")
    return directory


def test_commands_of_the_page(xoff_here: Command, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hops = {}
    for line in _commands():
        monkeypatch.chdir(files)
        done = xoff_here(*shlex.split(line)[1:])
        assert done.returncode == 0, (line, done.stderr)
        assert "is not known" not in done.stderr, line
        if line.startswith("xoff run "):
            summary = json.loads(done.stdout)
            assert not [state for state in summary["audits"].values() if state.startswith("failed")], line
            hops[line.split()[2].partition("/")[0].removeprefix("xoff-")] = summary["performance"]["data_packet_hops"]
    assert hops == _HOPS


def test_each_tier_of_the_fat_tree_has_as_many_links(files: Path) -> None:
    nodes, switches, *lines = (files / "fat_k8_100G_OS2.txt").read_text("utf-8").splitlines()
    assert nodes == "208 80 384"
    assert switches.split() == [str(node) for node in range(128, 208)]
    degree: dict[int, int] = dict.fromkeys(range(208), 0)
    for line in lines:
        for node in line.split()[:2]:
            degree[int(node)] += 1
    assert set(lines) == {f"{lower} {upper} 100Gbps 1000ns 0.000000" for lower, upper in map(_ends, lines)}
    assert [degree[node] for node in range(208)] == [1] * 128 + [8] * 80


def _ends(line: str) -> tuple[int, int]:
    lower, upper = (int(word) for word in line.split()[:2])
    return lower, upper
