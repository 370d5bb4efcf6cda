"""``xoff new`` writes parts that are registered, compile and pass their own tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import xoff
from xoff.new import KINDS, create

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the parts of this checkout that skeletons are written into."""
    for name in ("crates", "experiments"):
        shutil.copytree(_ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml", "pyproject.toml"):
        shutil.copy(_ROOT / name, tmp_path)
    return tmp_path


@pytest.mark.slow
def test_skeletons_compile_and_pass_their_tests(checkout: Path) -> None:
    for kind in KINDS:
        paths = create(kind, "sfc/brand_new" if kind == "experiment" else f"brand_new_{kind}", checkout)
        assert all(path.is_file() for path in paths)
    # In the checkout's own target directory what the crates depend on is compiled already.
    environment = {"CARGO_TARGET_DIR": str(_ROOT / "target")} | os.environ
    packages = ["--package", "xoff-models", "--package", "xoff-scenario"]
    done = subprocess.run(
        # The scenario layer holds a part of what registers a transport.
        ["cargo", "test", "--quiet", "--locked", *packages, "--lib", "brand_new"],  # noqa: S607
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"{len(KINDS) - 1} passed" in done.stdout


def test_an_experiment_runs(checkout: Path) -> None:
    create("experiment", "sfc/brand_new", checkout)
    script = checkout / "experiments" / "sfc" / "brand_new.py"
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
    (checkout / "crates" / "models" / "src" / "topology" / "mod.rs").write_text("//! Rewritten.\n")
    with pytest.raises(xoff.InputError, match="by hand"):
        create("topology", "dragonfly", checkout)
    assert not (checkout / "crates" / "models" / "src" / "topology" / "dragonfly.rs").exists()
