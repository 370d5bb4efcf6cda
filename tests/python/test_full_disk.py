"""Commands that write first files leave nothing behind on a full disk, whichever write fails."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from small import Command
from xoff.files.new_files import write_files
from xoff.templates import writing

Tree = dict[str, bytes | None]


def everything(directory: Path) -> Tree:
    """Returns the files of a directory with their contents, and its folders."""
    return {
        str(one.relative_to(directory)): one.read_bytes() if one.is_file() else None for one in directory.rglob("*")
    }


class FullDisk:
    """A disk that is full after some writes below a folder: the next one writes half of its text and fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.left = 0
        self.has_failed = True
        for name in ("write_text", "mkdir", "replace"):
            monkeypatch.setattr(Path, name, self._limited(name, getattr(Path, name), folder))

    def full_after(self, writes: int) -> None:
        """Lets some writes succeed, and one fail."""
        self.left, self.has_failed = writes, False

    def _limited(self, name: str, real: Callable[..., Any], folder: Path) -> Callable[..., Any]:
        def limited(path: Path, *words: Any, **options: Any) -> Any:
            is_write = path.absolute().is_relative_to(folder) and not (name == "mkdir" and path.is_dir())
            if is_write and not self.has_failed:
                self.left -= 1
                if self.left < 0:
                    self.has_failed = True
                    if name == "write_text":
                        real(path, words[0][: len(words[0]) // 2], *words[1:], **options)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return real(path, *words, **options)

        return limited


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FullDisk]:
    yield FullDisk(monkeypatch, tmp_path)
    monkeypatch.undo()


COMMANDS = {
    "scenario": ["new", "scenario", "a/b/small"],
    "study": ["new", "study"],
    "graph": ["new", "graph", "job"],
    "python": ["new", "python", "below/my_idea"],
    "plug-in": ["new", "plugin", "mine/my_scheme", "--part", "mechanism", "--part", "workload"],
    "example": ["new", "--example", "incast", "here/mine"],
    "examples": ["examples", "--out", "all/examples"],
    "examples into an empty folder": ["examples", "--out", "empty"],
}


@pytest.mark.parametrize("case", COMMANDS)
def test_nothing_is_left_whichever_write_fails(
    case: str, tmp_path: Path, xoff_here: Command, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_format", lambda *_: None)
    (tmp_path / "empty").mkdir()
    (tmp_path / "kept.txt").write_text("kept", "utf-8")
    before = everything(tmp_path)
    number = 0
    while True:
        disk.full_after(number)
        done = xoff_here(*COMMANDS[case])
        if not disk.has_failed:
            break
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "No space left on device" in done.stderr
        assert everything(tmp_path) == before, number
        # Of many examples, some are enough.
        number += 1 if number < 6 else 19
    assert (done.returncode, number > 1) == (0, True)
    assert len(everything(tmp_path)) > len(before)
    assert not list(tmp_path.rglob("*.part"))


def test_files_that_are_replaced_keep_their_content(tmp_path: Path, disk: FullDisk) -> None:
    texts = {tmp_path / name: "old" for name in ("one", "two")}
    write_files(texts)
    before = everything(tmp_path)
    # The two texts, a folder, and the text there.
    for number in range(4):
        disk.full_after(number)
        with pytest.raises(OSError, match="No space"):
            write_files(dict.fromkeys(texts, "new") | {tmp_path / "folder" / "three": "new"})
        assert everything(tmp_path) == before
        assert disk.has_failed


def test_a_skeleton_changes_a_checkout_as_a_whole_or_not(tmp_path: Path, disk: FullDisk) -> None:
    root = Path(__file__).resolve().parents[2]
    for place, _ in writing.KINDS["transport"].edits:
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text((root / place).read_text("utf-8"), "utf-8")
    before = everything(tmp_path)
    for number in range(2):
        disk.full_after(number)
        with pytest.raises(OSError, match="No space"):
            writing.create("transport", "mine", tmp_path)
        assert everything(tmp_path) == before
