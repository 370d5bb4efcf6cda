"""The wheel: installed in an empty environment, the wheel needs neither Rust nor the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import xoff

_ROOT = Path(__file__).resolve().parents[2]


def _done(command: list[str | Path], cwd: Path) -> str:
    """Runs a command to its end; returns its output."""
    kept = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_environment(tmp_path: Path) -> None:
    maturin = Path(sys.executable).with_name("maturin")
    _done([maturin, "build", "--release", "--locked", "--quiet", "--out", tmp_path / "dist"], _ROOT)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "-abi3-" in wheel.name
    _done([sys.executable, "-m", "venv", tmp_path / "empty"], tmp_path)
    python = tmp_path / "empty" / "bin" / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _done([*pip, wheel], tmp_path)
    command = tmp_path / "empty" / "bin" / "xoff"
    assert _done([command, "--version"], tmp_path).strip() == f"xoff {xoff.__version__}"
    place = _done([python, "-c", "import xoff; print(xoff.__file__)"], tmp_path).strip()
    assert place.startswith(str(tmp_path))
    _done([command, "new", "scenario", "mine"], tmp_path)
    found = json.loads(_done([command, "run", "mine.toml", "--out", "mine", "--json"], tmp_path))
    assert found["fingerprint"] == xoff.run(tmp_path / "mine.toml").summary["fingerprint"]
    assert subprocess.run([command, "report", "mine"], cwd=tmp_path, capture_output=True, check=False).returncode == 2
    _done([*pip, f"{wheel}[figures]"], tmp_path)
    _done([command, "report", "mine"], tmp_path)
    assert (tmp_path / "mine" / "report.html").is_file()
    verdict = json.loads(_done([command, "reproduce", "--quick", "sfc/5.1", "--out", "out", "--json"], tmp_path))
    assert verdict["claims"][0]["holds"]
    assert (tmp_path / "out" / "sfc-incast_3_to_1-quick.svg").is_file()
