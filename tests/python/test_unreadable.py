"""Files that are neither TOML nor JSON: the message has the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

import xoff
from small import Command
from xoff import InputError, _core


@pytest.mark.parametrize(
    ("name", "text", "where"),
    [
        ("a.toml", "a = 1\n[switch\n", "line 2: this is not TOML: "),
        ("a.toml", 'x = "abc\n', "line 1: this is not TOML: "),
        ("a.toml", "\n\nx = 1979-13-45\n", "line 3: this is not TOML: "),
        ("a.toml", "x = 1\nx = 2\n", "line 2: this is not TOML: "),
        ("a.json", '{"a": 1,\n "b" 2}', "line 2: this is not JSON: "),
        ("a.json", "[1,", "line 1: this is not JSON: "),
    ],
)
@pytest.mark.parametrize("command", ["run", "check", "sweep", "tune"])
def test_what_cannot_be_read_is_named_with_file_and_line(
    xoff_here: Command, tmp_path: Path, name: str, text: str, where: str, command: str
) -> None:
    (tmp_path / name).write_text(text)
    done = xoff_here(command, name)
    assert done.returncode == 2
    assert done.stderr.startswith(f"xoff: error: {name}: ")
    assert (where if command in {"run", "check"} else where.partition(":")[0]) in done.stderr
    assert "line 0" not in done.stderr


def test_a_mistake_that_is_in_no_line_has_the_file_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = 1")

    def unreadable(*_: object) -> None:
        raise InputError("line 0: this is not TOML: nobody knows where")

    monkeypatch.setattr(_core, "resolve", unreadable)
    with pytest.raises(InputError) as error:
        xoff.check(tmp_path / "a.toml")
    assert str(error.value) == f"{tmp_path / 'a.toml'}: this is not TOML: nobody knows where"
