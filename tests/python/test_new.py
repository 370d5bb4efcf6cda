"""``xoff new`` writes parts that are registered, compile, pass their own tests, and are known everywhere."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import xoff
from room import make_room
from xoff.templates.writing import KINDS, create

_ROOT = Path(__file__).resolve().parents[2]
_TARGET = Path(os.environ.get("CARGO_TARGET_DIR", _ROOT / "target"))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Returns a copy of this checkout's crates and package for the skeletons."""
    experiments = Path("experiments", "xoff_experiments")
    shutil.copytree(_ROOT / experiments, tmp_path / experiments, ignore=shutil.ignore_patterns("__pycache__"))
    _copy(tmp_path, ["crates", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "rustfmt.toml"])
    return tmp_path


def _copy(to: Path, names: list[str]) -> None:
    for name in names:
        if (_ROOT / name).is_dir():
            # The compiled core is this checkout's core.
            ignored = shutil.ignore_patterns("__pycache__", "_core.*")
            shutil.copytree(_ROOT / name, to / name, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(_ROOT / name, to)


def _done(command: list[str], cwd: Path, **environment: str) -> str:
    """Runs a command to its end; returns its output."""
    # These tests may run in a pytest worker; the tests they start do not.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=cwd, env=inherited | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _texts(root: Path) -> dict[Path, list[str]]:
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix in {".rs", ".py", ".toml", ".md"})
    return {path: path.read_text("utf-8").splitlines() for path in files}


def _create_all(checkout: Path) -> None:
    """Creates a part of every kind; each is one new file, and except for experiments one entry of a registry."""
    for kind in KINDS:
        before = _texts(checkout)
        paths = create(kind, "sfc/brand_new" if kind == "experiment" else f"brand_new_{kind}", checkout)
        after = _texts(checkout)
        (new,) = after.keys() - before.keys()
        changed = [path for path in before if after[path] != before[path]]
        assert paths == [new, *changed]
        assert len(changed) == (0 if kind == "experiment" else 1)
        for path in changed:
            lines = [line for line in difflib.ndiff(before[path], after[path]) if line[0] in "+-"]
            comment, entry = (line[1:].strip() for line in lines if line[0] == "+")
            assert len(lines) == 2
            assert re.fullmatch(r"/// .*\.", comment)
            assert re.fullmatch(rf"brand_new_{kind}(: \w+)?,", entry)


@pytest.mark.slow
def test_skeletons_compile_and_pass_their_tests(checkout: Path) -> None:
    _create_all(checkout)
    packages = ["--package", "xoff-models", "--package", "xoff-applications"]
    command = ["cargo", "test", "--quiet", "--locked", *packages, "--lib", "brand_new"]
    # The checkout's own target directory has compiled dependencies.
    said = _done(command, checkout, CARGO_TARGET_DIR=str(_TARGET))
    assert sum(map(int, re.findall(r"(\d+) passed", said))) == len(KINDS) - 1


@pytest.mark.slow
def test_new_parts_are_everywhere(checkout: Path) -> None:
    """With compiled parts of each kind and the additions of ``room.py``, all products of the registries know the parts.

    Conformance draws the parts; ``brand_new_parts.py`` tests schema, references, classes, runs, studies and pages.
    """
    _copy(checkout, ["python", "tests", "tools", "docs", "schema", "pyproject.toml"])
    _create_all(checkout)
    make_room(checkout)
    # Apart from the installed core, and kept: compiled quickly and for small runs alone.
    target = _TARGET / "brand_new"
    _done(
        ["cargo", "build", "--release", "--locked", "--package", "xoff-python", "--features", "pyo3/extension-module"],
        checkout,
        CARGO_TARGET_DIR=str(target),
        CARGO_PROFILE_RELEASE_OPT_LEVEL="1",
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS="16",
        PYO3_PYTHON=sys.executable,
    )
    library = target / "release" / ("lib_core.dylib" if sys.platform == "darwin" else "lib_core.so")
    shutil.copy(library, checkout / "python" / "xoff" / "_core.abi3.so")
    path = os.pathsep.join([str(checkout / "python"), str(checkout / "tests" / "python")])
    _done([sys.executable, "tools/generate.py"], checkout, PYTHONPATH=path)
    pytest_here = [sys.executable, "-m", "pytest", "--numprocesses", "0"]
    drawn = _done([*pytest_here, "tests/validation/test_conformance.py", "-k", "brand_new"], checkout, PYTHONPATH=path)
    assert f"{4 * (len(KINDS) - 1)} passed" in drawn, (
        "each as the network stands and where something fails, in few draws and in more"
    )
    _done([*pytest_here, "tests/python/brand_new_parts.py"], checkout, PYTHONPATH=path)


def test_an_experiment_runs(checkout: Path) -> None:
    create("experiment", "sfc/brand_new", checkout)
    script = checkout / "experiments" / "xoff_experiments" / "sfc" / "brand_new.py"
    names: dict[str, object] = {"__name__": "brand_new"}
    exec(compile(script.read_text("utf-8"), str(script), "exec"), names)  # noqa: S102 (we wrote it just now)
    results = {name: xoff.run(scenario) for name, scenario in names["scenarios"](quick=True).items()}  # type: ignore[operator]
    assert [claim.holds for claim in names["claims"](results, quick=True)] == [True]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("topology", "star"),
        ("topology", "Star"),
        ("topology", "../star"),
        ("topology", "mod"),
        ("topology", "class"),
        ("experiment", "no_document"),
        ("mechanism", "sfc/x"),
        ("mechanism", "sfc"),
        ("workload", "incast"),
        ("workload", "name"),
        ("gadget", "x"),
    ],
)
def test_refused(checkout: Path, kind: str, name: str) -> None:
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    with pytest.raises(xoff.InputError, match="new: "):
        create(kind, name, checkout)
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before


def test_a_checkout_of_another_shape_is_left_alone(checkout: Path) -> None:
    (checkout / "crates" / "models" / "src" / "paths" / "topology" / "mod.rs").write_text("//! Rewritten.\n")
    with pytest.raises(xoff.InputError, match="by hand"):
        create("topology", "dragonfly", checkout)
    assert not (checkout / "crates" / "models" / "src" / "paths" / "topology" / "dragonfly.rs").exists()
