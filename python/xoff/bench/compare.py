"""Comparison of xoff with another commit: the commit is built in a temporary directory, and both take turns.

Both are called through `xoff.run`, which changes least from commit to commit.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from xoff import display, formatting
from xoff._core import InputError
from xoff.bench import building, processes
from xoff.bench.cases import CASES
from xoff.bench.measure import QUIET
from xoff.bench.ratio import Ratio, in_turn
from xoff.summary import Summary

_RUN = """
import json, sys, xoff
try:
    result = xoff.run(json.load(sys.stdin))
except xoff.InputError as error:
    sys.exit(str(error))
print(json.dumps({"file": xoff.__file__, "summary": result.summary}))
"""
_CORE = "crates/python/Cargo.toml"


def compare(commit: str, names: Sequence[str], pairs: int) -> dict[str, Any]:
    """Builds a commit of the checkout around the current directory, and runs cases with it and with this xoff.

    Raises `InputError` if checkout or commit are missing, or the build fails.
    """
    what = f"bench --compare {formatting.plain(commit)}"
    checkout, full = _found(commit, what)
    with building.workplace() as place:
        display.err.print(f"building {full[:12]} (as slow as the first build of a checkout)")
        other = _built(checkout, full, place, what)
        cases = [_measured(name, other, place, pairs) for name in names]
    return {"commit": full, "cases": cases}


def _git(*words: str | Path) -> processes.Done:
    return processes.run(["git", *words], environment=os.environ)


def _found(commit: str, what: str) -> tuple[Path, str]:
    """Returns the checkout, and the full name of the commit."""
    top = _git("rev-parse", "--show-toplevel")
    checkout = Path(top.output.removesuffix("\n"))
    if top.code != 0 or not (checkout / _CORE).is_file():
        raise InputError(f"{what}: the current directory is not in a checkout of xoff")
    named = _git("-C", checkout, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    full = named.output.strip()
    if named.code != 0:
        raise InputError(f"{what}: not a commit of the checkout {formatting.plain(str(checkout))}")
    if _git("-C", checkout, "cat-file", "-e", f"{full}:{_CORE}").code != 0:
        raise InputError(f"{what}: {_CORE} is missing in this commit")
    return checkout, full


def _built(checkout: Path, commit: str, place: Path, what: str) -> Path:
    """Returns the directory of the other commit's Python package, with its core."""
    # Only files are extracted: the checkout would record a worktree, which would remain if this process were killed.
    packed, tree = place / "tree.tar", place / "tree"
    done = _git("-C", checkout, "archive", "--output", packed, commit)
    if done.code != 0:
        raise InputError(f"{what}: {done.reason()}")
    with tarfile.open(packed) as archive:
        archive.extractall(tree, filter="data")
    words = ("--locked", "--package", "xoff-python", "--features", "pyo3/extension-module")
    made = building.cargo(tree, place / "target", *words, what=what)
    libraries = [
        Path(name)
        for one in made
        if "cdylib" in one["target"]["kind"]
        for name in one["filenames"]
        if Path(name).suffix in {".so", ".dylib"}
    ]
    if len(libraries) != 1 or not (tree / "python" / "xoff").is_dir():
        raise InputError(f"{what}: the build gave no core of a Python package")
    shutil.copy(libraries[0], tree / "python" / "xoff" / "_core.abi3.so")
    return tree / "python"


class _RefusedError(Exception):
    """Raised if one of the two does not run a case."""


def _measured(name: str, other: Path, place: Path, pairs: int) -> dict[str, Any]:
    display.err.print(f"{name}: {escape(CASES[name][0])}")
    request = json.dumps(CASES[name][1])

    def run(package: Path, side: str) -> Summary:
        environment = QUIET | {"PYTHONPATH": str(package)}
        done = processes.run([sys.executable, "-c", _RUN], text=request, directory=place, environment=environment)
        if done.code != 0:
            raise _RefusedError(f"{side} does not run the case: {done.reason()}")
        answer = json.loads(done.output)
        if not Path(answer["file"]).resolve().is_relative_to(package):
            raise InputError(f"bench --compare: Python imports xoff from {answer['file']}, and not from {package}")
        summary: Summary = answer["summary"]
        return summary

    here = Path(__file__).resolve().parents[2]
    try:
        runs = in_turn(pairs, lambda: run(here, "this xoff"), lambda: run(other, "the commit"))
    except _RefusedError as refusal:
        # A current case may be unknown to an older commit.
        return {"name": name, "refused": str(refusal)}
    # If one side does not report its building time, the time includes building on both sides.
    is_apart = all("build_cpu_seconds" in one["performance"] for one in runs[0])
    speeds = [(_speed(mine, is_apart), _speed(yours, is_apart)) for mine, yours in runs]
    best_mine, best_yours = (max(one) for one in zip(*speeds, strict=True))
    first = [one["fingerprint"] for one in runs[0]]
    return {
        "name": name,
        "data_packet_hops_per_cpu_second": best_mine,
        "commit_data_packet_hops_per_cpu_second": best_yours,
        "building_apart": is_apart,
        "ratio": Ratio([mine / yours for mine, yours in speeds]).as_json(),
        "fingerprint": first[0],
        "commit_fingerprint": first[1],
        "same_fingerprint": first[0] == first[1],
    }


def _speed(summary: Summary, is_apart: bool) -> float:
    performance: dict[str, Any] = {**summary["performance"]}
    seconds = performance["cpu_seconds"] - (performance["build_cpu_seconds"] if is_apart else 0)
    return float(performance["data_packet_hops"] / seconds)
