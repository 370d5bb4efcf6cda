"""The examples of the package: listed, and written as files that run."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import xoff
from small import TOML, Command
from xoff.commands import examples

_ROOT = Path(__file__).resolve().parents[2]


def test_the_list_has_every_example_with_a_sentence(xoff_here: Command) -> None:
    found = json.loads(xoff_here("examples", "--json").stdout)["examples"]
    files = {file.relative_to(_ROOT / "examples").as_posix() for file in (_ROOT / "examples").rglob("*.toml")}
    assert {f"{one['name']}.toml" for one in found} == {file for file in files if not file.startswith("plugins/")}
    assert all(10 < len(one["title"]) < 160 for one in found)


def test_all_examples_are_written_once(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("examples", "--out", "examples").returncode == 0
    written = {file.relative_to(tmp_path / "examples") for file in (tmp_path / "examples").rglob("*") if file.is_file()}
    kept = {file.relative_to(examples.PLACE) for file in examples.PLACE.rglob("*") if file.is_file()}
    assert written == {file for file in kept if "__pycache__" not in file.parts}
    again = xoff_here("examples", "--out", "examples")
    assert (again.returncode, again.stderr) == (
        2,
        "xoff: error: --out examples: is not empty; choose another name\n",
    )


@pytest.mark.parametrize("name", examples.names())
def test_an_example_is_complete_alone(xoff_here: Command, tmp_path: Path, name: str) -> None:
    done = xoff_here("new", "--example", name, "deep/mine")
    assert done.returncode == 0, done.stderr
    paths = [tmp_path / line for line in done.stdout.splitlines()]
    assert paths[0] == tmp_path / "deep" / "mine.toml"
    assert all(path.is_file() for path in paths)
    assert f"examples/{name}.toml" not in paths[0].read_text("utf-8")
    checked = xoff_here("check", paths[0])
    assert checked.returncode == 0, checked.stderr


def test_an_example_replaces_nothing(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "dumbbell-flows.csv").write_text("mine", "utf-8")
    done = xoff_here("new", "--example", "table")
    assert done.returncode == 2
    assert done.stderr == "xoff: error: dumbbell-flows.csv: exists; choose another name\n"
    assert [file.name for file in tmp_path.iterdir()] == ["dumbbell-flows.csv"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--example", "gallery/victm"), "no such example; did you mean `gallery/victim`? `xoff examples` lists all"),
        (("scenario", "mine", "--example", "table"), "only the name of the file is given"),
        ((), "a KIND is needed"),
    ],
)
def test_wrong_words_are_told(xoff_here: Command, words: tuple[str, ...], told: str) -> None:
    done = xoff_here("new", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_help_names_the_documentation(xoff_here: Command) -> None:
    shown = " ".join(xoff_here("--help").stdout.split())
    assert "xoff docs prints and searches the documentation, without a network." in shown
    assert "xoff examples" in shown
    assert xoff_here("-V").stdout == f"xoff {xoff.__version__}\n"


def test_a_scenario_is_read_from_standard_input(
    xoff_here: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(TOML))
    done = xoff_here("run", "-", "-q", "--out", "kept")
    assert (done.returncode, done.stdout) == (0, "")
    (tmp_path / "small.toml").write_text(TOML, "utf-8")
    assert xoff.load(tmp_path / "kept").fingerprint == xoff.run(tmp_path / "small.toml").fingerprint
    monkeypatch.setattr(sys, "stdin", io.StringIO(TOML))
    done = xoff_here("check", "-")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "standard input is valid")
    monkeypatch.setattr(sys, "stdin", io.StringIO("seed = -1"))
    done = xoff_here("run", "-")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) >= 1
    assert "Traceback" not in done.stderr


def test_an_entry_of_a_list_is_named_in_two_ways(xoff_here: Command, scenario_file: Path) -> None:
    prints = [
        json.loads(xoff_here("run", scenario_file, "--json", "--set", f"{key}=200KB").stdout)["fingerprint"]
        for key in ("workload.0.incast.size", "workload[0].incast.size")
    ]
    assert len(set(prints)) == 1
    assert prints[0] != xoff.run(scenario_file).fingerprint


def test_help_is_a_command(xoff_here: Command) -> None:
    done = xoff_here("help")
    assert done.returncode == 0
    assert "Commands" in done.stdout


def test_without_matplotlib_a_run_works_and_a_figure_says_what_to_install(tmp_path: Path) -> None:
    blocker = "import sys; sys.modules['matplotlib'] = None\nfrom xoff.commands.registry import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(xoff.__file__).parents[1])}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", blocker, *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert run("new", "scenario", "mine").returncode == 0
    done = run("run", "mine.toml", "--out", "mine")
    assert done.returncode == 0, done.stderr
    done = run("report", "mine")
    assert done.returncode == 2
    told = 'figures need Matplotlib, which is not installed; install it with: pip install "xoff[figures]"'
    assert done.stderr == f"xoff: error: {told}\n"
