"""The wheel: installed in an empty environment, the wheel needs neither Rust nor the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this checkout."""
    place = tmp_path_factory.mktemp("wheel")
    maturin = Path(sys.executable).with_name("maturin")
    _done([sys.executable, _ROOT / "tools" / "crates.py"], _ROOT)
    _done([sys.executable, _ROOT / "tools" / "documentation.py"], _ROOT)
    _done([maturin, "build", "--release", "--locked", "--quiet", "--out", place], _ROOT)
    (found,) = place.glob("*.whl")
    assert "-abi3-" in found.name
    assert not [name for name in zipfile.ZipFile(found).namelist() if "experiments" in name]
    return found


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of the experiments of this checkout."""
    return _experiments(tmp_path_factory.mktemp("experiments"))


def _experiments(place: Path) -> Path:
    """Builds the wheel of the experiments into a folder."""
    _done([sys.executable, "-m", "flit_core.wheel", "--outdir", place, _ROOT / "experiments"], place)
    (found,) = place.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, experiments: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with both wheels, the extras, and the libraries that pages show beside xoff."""
    found = _environment(tmp_path_factory.mktemp("whole"))
    libraries = ["polars", "pandas", "duckdb", "-c", str(_ROOT / "requirements-dev.lock")]
    _install(found, f"{wheel}[figures,design,tune,chakra]", str(experiments), *libraries)
    return found


def _environment(place: Path) -> Path:
    """Makes an environment without packages; returns the folder of its programs."""
    _done([sys.executable, "-m", "venv", place / "environment"], place)
    return place / "environment" / "bin"


def _install(programs: Path, *packages: str) -> None:
    _done([programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], programs)


@pytest.mark.slow
def test_a_wheel_works_in_an_empty_environment(wheel: Path, experiments: Path, tmp_path: Path) -> None:
    programs = _environment(tmp_path)
    _install(programs, str(wheel))
    command, python = programs / "xoff", programs / "python"
    assert _done([command, "--version"], tmp_path).strip() == f"xoff {xoff.__version__}"
    place = _done([python, "-c", "import xoff; print(xoff.__file__)"], tmp_path).strip()
    assert place.startswith(str(tmp_path))
    # Pages, keys and models are in the wheel.
    assert _done([command, "docs", "write-a-plugin"], tmp_path) == (_ROOT / "docs/how-to/write-a-plugin.md").read_text()
    assert "how-to/size-headroom" in _done([command, "docs", "lossless", "headroom"], tmp_path)
    assert "watchdog" in _done([command, "keys", "switch.flow_control.pfc"], tmp_path)
    assert "host.transport.irn" in _done([command, "models"], tmp_path)
    _done([command, "new", "scenario", "mine"], tmp_path)
    assert (tmp_path / "mine.toml").read_text("utf-8").startswith("#:schema ./scenario.schema.json\n")
    assert json.loads((tmp_path / "scenario.schema.json").read_text("utf-8")) == json.loads(xoff._core.schema())
    found = json.loads(_done([command, "run", "mine.toml", "--out", "mine", "--json"], tmp_path))
    assert found["fingerprint"] == xoff.run(tmp_path / "mine.toml").summary["fingerprint"]
    assert subprocess.run([command, "report", "mine"], cwd=tmp_path, capture_output=True, check=False).returncode == 2
    _install(programs, f"{wheel}[figures]")
    _done([command, "report", "mine"], tmp_path)
    assert (tmp_path / "mine" / "report.html").is_file()
    without = subprocess.run([command, "reproduce"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (without.returncode, without.stderr.count("\n")) == (2, 1)
    assert "pip install 'xoff[experiments]'" in without.stderr
    _install(programs, f"{wheel}[experiments]", "--find-links", str(experiments.parent))
    verdict = json.loads(_done([command, "reproduce", "--quick", "sfc/5.1", "--out", "out", "--json"], tmp_path))
    assert verdict["claims"][0]["holds"]
    assert (tmp_path / "out" / "sfc-incast_3_to_1-quick.svg").is_file()


def test_the_wheel_of_the_experiments_has_all_of_their_files(tmp_path: Path) -> None:
    folder = _ROOT / "experiments"
    files = {
        file.relative_to(folder).as_posix()
        for file in (folder / "xoff_experiments").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = set(zipfile.ZipFile(_experiments(tmp_path)).namelist())
    assert {name for name in packed if ".dist-info/" not in name} == files
    assert {Path(name).suffix for name in files} == {".py", ".md", ".csv", ".json"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem) for page in (*documented.pages(), *documented.others())]
)
def test_a_page_is_followed_with_a_wheel_alone(page: Path, programs: Path, tmp_path: Path) -> None:
    clean = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    clean["PATH"] = f"{programs}:{clean['PATH']}"

    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [str(programs / "xoff"), *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)

    def python(text: str) -> str:
        return _done([programs / "python", "-c", text], tmp_path)

    documented.follow(page, tmp_path, run, python)
