"""The wheel: installed in an empty environment, the wheel needs neither Rust nor the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import documented
import xoff

_ROOT = Path(__file__).resolve().parents[2]


def _done(command: list[str | Path], cwd: Path) -> str:
    """Runs a command to its end; returns its output."""
    kept = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _installed(tmp_path: Path) -> tuple[Path, Path]:
    """Builds a wheel, and installs the wheel alone in an empty environment; returns the wheel and the programs."""
    maturin = Path(sys.executable).with_name("maturin")
    _done([maturin, "build", "--release", "--locked", "--quiet", "--out", tmp_path / "dist"], _ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "-abi3-" in wheel.name
    _done([sys.executable, "-m", "venv", tmp_path / "empty"], tmp_path)
    programs = tmp_path / "empty" / "bin"
    _install(programs, wheel, "")
    return wheel, programs


def _install(programs: Path, wheel: Path, extras: str) -> None:
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{wheel}{extras}"]
    _done([programs / "python", *words], programs)


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    wheel, programs = _installed(tmp_path)
    command, python = programs / "xoff", programs / "python"
    assert _done([command, "--version"], tmp_path).strip() == f"xoff {xoff.__version__}"
    place = _done([python, "-c", "import xoff; print(xoff.__file__)"], tmp_path).strip()
    assert place.startswith(str(tmp_path))
    _done([command, "new", "scenario", "mine"], tmp_path)
    found = json.loads(_done([command, "run", "mine.toml", "--out", "mine", "--json"], tmp_path))
    assert found["fingerprint"] == xoff.run(tmp_path / "mine.toml").summary["fingerprint"]
    assert subprocess.run([command, "report", "mine"], cwd=tmp_path, capture_output=True, check=False).returncode == 2
    _install(programs, wheel, "[figures]")
    _done([command, "report", "mine"], tmp_path)
    assert (tmp_path / "mine" / "report.html").is_file()
    verdict = json.loads(_done([command, "reproduce", "--quick", "sfc/5.1", "--out", "out", "--json"], tmp_path))
    assert verdict["claims"][0]["holds"]
    assert (tmp_path / "out" / "sfc-incast_3_to_1-quick.svg").is_file()
    _follow_the_documentation(tmp_path, wheel, programs)


def _follow_the_documentation(tmp_path: Path, wheel: Path, programs: Path) -> None:
    """Follows each page of the documentation in an empty folder, with the wheel and its extras."""
    _install(programs, wheel, "[figures,design,tune,chakra]")
    # Libraries that pages show beside xoff.
    libraries = ["polars", "pandas", "duckdb", "-c", _ROOT / "requirements-dev.lock"]
    _done([programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *libraries], tmp_path)
    clean = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    clean["PATH"] = f"{programs}:{clean['PATH']}"
    for page in documented.pages():
        folder = tmp_path / "pages" / page.stem
        folder.mkdir(parents=True)

        def run(*words: str | Path, place: Path = folder) -> subprocess.CompletedProcess[str]:
            command = [str(programs / "xoff"), *map(str, words)]
            return subprocess.run(command, cwd=place, env=clean, capture_output=True, text=True, check=False)

        def python(text: str, place: Path = folder) -> str:
            return _done([programs / "python", "-c", text], place)

        documented.follow(page, folder, run, python)
