"""Every command and every piece of Python in the README works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from small import Command
from xoff import cli, demo

_ROOT = Path(__file__).resolve().parents[2]
_TEXT = (_ROOT / "README.md").read_text("utf-8")
_BLOCKS = re.findall(r"```sh\n(.*?)```", _TEXT, re.S)
_SHELL = [line.partition("#")[0].strip() for block in _BLOCKS for line in block.splitlines()]
# The two make targets run the demonstration, which has its own test below, and this test.
_COMMANDS = [line for line in _SHELL if line and not line.startswith(("make ", "git ", "cd "))]


@pytest.mark.parametrize("line", _COMMANDS)
def test_command(xoff_command: Command, tmp_path: Path, line: str) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    program, *arguments = shlex.split(line)
    assert program == ".venv/bin/xoff"
    done = xoff_command(*arguments)
    assert done.returncode == 0, done.stderr


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", _TEXT, re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102 (the README is ours)


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.guarded(lambda: demo.demonstrate(tmp_path / "demo")) == 0
    assert (tmp_path / "demo" / "fct.svg").is_file()
    assert (tmp_path / "demo" / "pfc-sfc" / "summary.json").is_file()
    del capsys


def test_links() -> None:
    for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", _TEXT):
        assert (_ROOT / target).exists(), target
