"""The scripts of the build: several builds in one tree keep one environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE_SECONDS
from xoff import _core

_ROOT = Path(__file__).resolve().parents[2]
# Compiles nothing: the library is at the place of a build.
_CARGO = """#!/bin/sh
echo "$@" > arguments
mkdir -p target/try
cp core.so target/try/lib_core.so
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("flock") is None, reason="without flock builds take turns by hand")
def test_two_builds_make_one_environment(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("environment.sh", "lock.sh"):
        shutil.copy(_ROOT / "tools" / name, tmp_path / "tools" / name)
    for name in ("requirements.lock", "requirements-dev.lock"):
        (tmp_path / name).write_text("", "utf-8")
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    command = [str(shutil.which("bash")), "tools/environment.sh"]
    builds = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment | {"PYTHON": sys.executable}, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    printed = [build.communicate(timeout=PATIENCE_SECONDS)[0] for build in builds]
    assert [build.returncode for build in builds] == [0, 0, 0]
    # The first makes the environment, and the others find the environment.
    assert sorted(map(bool, printed)) == [False, False, True]
    assert (tmp_path / ".venv" / "bin" / "python").exists()
    assert not (tmp_path / ".venv" / ".development").exists()

    # The tools of the development are added to the same environment.
    made = (tmp_path / ".venv" / ".state").stat()
    for is_told in (True, False):
        done = subprocess.run([*command, "development"], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert bool(done.stdout) == is_told
    assert (tmp_path / ".venv" / ".state").stat().st_mtime_ns == made.st_mtime_ns

    # A new environment has them if the old one had.
    (tmp_path / "requirements.lock").write_text("# Changed.\n", "utf-8")
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / ".venv" / ".state").stat().st_mtime_ns != made.st_mtime_ns
    assert (tmp_path / ".venv" / ".development").exists()


def test_the_demonstration_needs_a_part_of_the_development() -> None:
    """Whatever is built, run and drawn with has the same version in both environments."""
    locks = (_ROOT / "requirements.lock", _ROOT / "requirements-dev.lock")
    small, whole = (set(lock.read_text("utf-8").splitlines()[1:]) for lock in locks)
    assert small < whole
    assert len(small) < len(whole) / 2


def test_the_core_of_make_try_is_used_by_a_command_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    for name in ("try.sh", "lock.sh"):
        shutil.copy(_ROOT / "tools" / name, tmp_path / "tools" / name)
    # The experiments are in the environment of the tests.
    (tmp_path / "tools" / "experiments.sh").touch(0o755)
    (tmp_path / "python").symlink_to(_ROOT / "python")
    cargo, python = tmp_path / "bin" / "cargo", tmp_path / ".venv" / "bin" / "python"
    for file, text in ((cargo, _CARGO), (python, f'#!/bin/sh\nexec {sys.executable} "$@"\n')):
        file.parent.mkdir(parents=True)
        file.write_text(text, "utf-8")
        file.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key not in {"CARGO_TARGET_DIR", "XOFF_PLUGINS"}}
    environment["PATH"] = f"{cargo.parent}{os.pathsep}{environment['PATH']}"

    def done(*command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    core = Path(str(_core.__file__))
    before = core.stat()
    for content, is_core in ((b"no library", False), (core.read_bytes(), True)):
        (tmp_path / "core.so").write_bytes(content)
        tried = done(str(shutil.which("bash")), "tools/try.sh")
        assert tried.returncode == 0, tried.stderr
        assert (done(tmp_path / ".venv" / "bin" / "xoff-try", "schema").returncode == 0) == is_core
    assert "--profile try" in (tmp_path / "arguments").read_text("utf-8")
    assert (core.stat().st_size, core.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
