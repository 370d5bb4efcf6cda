"""Helpers of the tests of ``xoff import``: the examples, the imported scenarios, and refusals of bad files."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import xoff
from small import Command

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "import"
TOPOLOGY, FLOWS, CONFIG = (EXAMPLES / f"hpcc-{name}.txt" for name in ("topology", "flows", "config"))
MATRIX, TOPO = EXAMPLES / "alltoall.cm", EXAMPLES / "leaf-spine.topo"

Import: TypeAlias = Callable[..., dict[str, Any]]
"""The type of the fixture that imports files."""


def document_of(said: dict[str, Any]) -> dict[str, Any]:
    return tomllib.loads(Path(said["scenario"]).read_text("utf-8"))


def messages(said: dict[str, Any]) -> str:
    return "\n".join(note["message"] for note in said["notes"])


def ran(said: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs the imported scenario and returns its flows, by id; all audits hold."""
    xoff.check(said["scenario"])
    result = xoff.run(said["scenario"])
    assert set(result.audits.values()) == {"ok"}
    return sorted(result.flows.to_pylist(), key=lambda row: row["label"])


def refused(command: Command, folder: Path, kind: str, contents: list[str], file: str, line: int, why: str) -> None:
    files = []
    for index, content in enumerate(contents):
        (folder / f"{index}.txt").write_text(content, "utf-8")
        files.append(folder / f"{index}.txt")
    before = sorted(folder.rglob("*"))
    done = command("import", kind, *files, "--out", "imported")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"xoff: error: {folder / file}: line {line}: "), done.stderr
    assert why in done.stderr
    assert len(done.stderr) < 500
    assert done.stderr.count("\n") == 1
    assert sorted(folder.rglob("*")) == before
