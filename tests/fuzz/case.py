"""Cases: files, and steps on the files. A case from any fuzzer can be saved, repeated and minimised."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_DOCUMENT = "case.json"


@dataclass(frozen=True, slots=True)
class Case:
    """Files by their paths, and the steps taken in a directory of the files.

    A step is a name of `steps.STEPS` and arguments.
    """

    files: dict[str, bytes]
    steps: tuple[tuple[str, ...], ...]

    def lay_out(self, place: Path) -> None:
        """Writes the files into a directory, and removes all other files."""
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(parents=True)
        for name, content in self.files.items():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def without(self, name: str) -> Case:
        """Returns a copy of the case without one file."""
        return Case({key: content for key, content in self.files.items() if key != name}, self.steps)

    def replaced(self, name: str, content: bytes) -> Case:
        """Returns a copy of the case with other content in one file."""
        return Case({**self.files, name: content}, self.steps)

    def text(self) -> str:
        """The case as JSON."""
        files = {name: base64.b64encode(content).decode() for name, content in self.files.items()}
        return json.dumps({"steps": self.steps, "files": files}, indent=1)


def read(text: str) -> Case:
    """Parses the text of `Case.text`."""
    document = json.loads(text)
    files = {name: base64.b64decode(content) for name, content in document["files"].items()}
    return Case(files, tuple(tuple(step) for step in document["steps"]))


def save(case: Case, finding: str, place: Path) -> None:
    """Saves a case: its files for readers, the case to repeat, and the finding."""
    case.lay_out(place / "files")
    (place / _DOCUMENT).write_text(case.text(), "utf-8")
    (place / "finding.txt").write_text(f"{finding}\n", "utf-8", errors="backslashreplace")


def load(place: Path) -> Case:
    """Loads the case saved in a directory."""
    return read((place / _DOCUMENT).read_text("utf-8"))


def tree(place: Path) -> dict[str, bytes]:
    """Returns the files of a directory, by their relative paths."""
    paths = sorted(Path(folder) / name for folder, _, names in os.walk(place) for name in names)
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


def steps(*words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Steps from sequences of words."""
    return tuple(tuple(one) for one in words)
