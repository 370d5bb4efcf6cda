"""Commands replace no file made by the user in another way, unless `--force` is given."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import TOML, Command
from xoff import _core
from xoff.study.store import Store


def everything(directory: Path) -> dict[str, bytes]:
    """Returns the contents of a directory, by name."""
    return {
        str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file()
    }


def test_a_result_of_another_scenario_is_not_replaced(xoff_here: Command, scenario_file: Path) -> None:
    place = scenario_file.parent / "out"
    assert xoff_here("run", scenario_file, "--out", "out").returncode == 0
    before = everything(place)
    done = xoff_here("run", scenario_file, "--set", "switch.flow_control.pfc.xoff=90KB", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "xoff: error: --out out: out holds the result of another scenario, different in "
        "switch.flow_control.pfc.xoff; choose another directory, or replace the result with --force\n"
    )
    assert everything(place) == before
    other = ("run", scenario_file, "--seed", "12", "--out", "out")
    assert "different in seed;" in xoff_here(*other).stderr
    # The same scenario is run again, and --force replaces any.
    assert xoff_here("run", scenario_file, "--out", "out").returncode == 0
    assert xoff_here(*other, "--force").returncode == 0
    assert xoff.load(place).summary["seed"] == 12
    # An unreadable result cannot be known to be the same.
    (place / "scenario.json").write_text("{")
    assert "scenario.json (unreadable)" in xoff_here("run", scenario_file, "--out", "out").stderr


def test_a_cut_run_of_another_scenario_is_not_replaced(xoff_here: Command, scenario_file: Path) -> None:
    """An interrupt would write `out.cut`: the command ends before the run if another scenario is there."""
    place = scenario_file.parent / "out.cut"
    assert xoff_here("run", scenario_file, "--seed", "12", "--out", "out.cut").returncode == 0
    before = everything(place)
    done = xoff_here("run", scenario_file, "--out", "out")
    assert done.returncode == 2
    assert "--out out: out.cut holds the result of another scenario, different in seed;" in done.stderr
    assert everything(place) == before
    assert xoff_here("run", scenario_file, "--out", "out", "--force").returncode == 0


@pytest.mark.parametrize(
    "setting",
    [
        "framing.payload=900B", "switch.flow_control.pfc=null", "switch.ecn.step.threshold=50KB", "workload[0].class=0",
        "host.transport.irn={}", 'probe.queues="1us"', "name=other", "workload[0].incast.size=90KB",
    ],
)  # fmt: skip
def test_any_setting_makes_another_scenario(xoff_here: Command, scenario_file: Path, setting: str) -> None:
    assert xoff_here("run", scenario_file, "--out", "out").returncode == 0
    before = everything(scenario_file.parent / "out")
    done = xoff_here("run", scenario_file, "--set", setting, "--out", "out")
    same = xoff.resolve(scenario_file) == xoff.resolve(scenario_file, overrides=[_pair(setting)])
    assert done.returncode == (0 if same else 2)
    assert same or everything(scenario_file.parent / "out") == before


def _pair(setting: str) -> tuple[str, Any]:
    from xoff.commands.options import settings

    return settings([setting])[0]


def test_a_scenario_with_other_rows_is_another(xoff_here: Command, tmp_path: Path) -> None:
    text = TOML[: TOML.index("[[workload]]")] + '[[workload]]\ntable = "flows.csv"\n'
    (tmp_path / "table.toml").write_text(text)
    (tmp_path / "flows.csv").write_text("src,dst,size\n0,1,10KB\n")
    assert xoff_here("run", "table.toml", "--out", "out").returncode == 0
    assert xoff_here("run", "table.toml", "--out", "out").returncode == 0
    (tmp_path / "flows.csv").write_text("src,dst,size\n0,1,11KB\n")
    done = xoff_here("run", "table.toml", "--out", "out")
    assert (done.returncode, "different in workload[0].table;" in done.stderr) == (2, True)


def test_a_failed_run_of_another_scenario_is_not_replaced(xoff_here: Command, scenario_file: Path) -> None:
    lossy = ("run", scenario_file, "--set", "switch.faults.vanish=1", "--out", "out")
    assert xoff_here(*lossy).returncode == 1
    before = everything(scenario_file.parent / "out.failed")
    done = xoff_here("run", scenario_file, "--set", "switch.faults.vanish=2", "--out", "out")
    assert (done.returncode, "out.failed holds the result of another scenario" in done.stderr) == (2, True)
    assert everything(scenario_file.parent / "out.failed") == before
    assert xoff_here(*lossy).returncode == 1


@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_a_study_of_another_name_is_not_replaced(
    xoff_here: Command, scenario: dict[str, Any], tmp_path: Path, command: str
) -> None:
    axes = {"switch.flow_control.pfc.xoff": ["80KB", "90KB"]}
    study = {"name": "one", "scenario": scenario, "axes": axes, "seeds": 1}
    objective = {"objective": {"minimise": "fct_mean_ps", "runs": 2, "confirm": 1}} if command == "tune" else {}
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(study | {"name": name} | objective))
    assert xoff_here(command, "one.json", "--out", "kept").returncode in {0, 1}
    before = everything(tmp_path / "kept")
    done = xoff_here(command, "two.json", "--out", "kept")
    assert (done.returncode, "holds the study 'one', not 'two'" in done.stderr) == (2, True)
    assert everything(tmp_path / "kept") == before
    assert xoff_here(command, "one.json", "--out", "kept").returncode in {0, 1}
    assert xoff_here(command, "two.json", "--out", "kept", "--force").returncode in {0, 1}


def test_commands_that_write_refuse_a_place_that_is_taken(xoff_here: Command, scenario_file: Path) -> None:
    here = scenario_file.parent
    assert xoff_here("run", scenario_file, "--out", "result").returncode == 0
    (here / "mine").mkdir()
    (here / "mine" / "file.txt").write_text("mine")
    (here / "mine.json").write_text("mine")
    for words in (
        ("run", scenario_file, "--out", "mine"),
        ("run", scenario_file, "--out", "mine", "--force"),
        ("export", "result", "--csv", "--out", "mine"),
        ("export", "result", "--perfetto", "--out", "mine.json"),
        ("check", scenario_file, "--deadlock", "mine.json"),
        ("reproduce", "sfc/5.1", "--export", "mine"),
        ("new", "scenario", "small"),
    ):
        before = everything(here)
        assert xoff_here(*words).returncode == 2, words
        assert everything(here) == before, words


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Does something once, after the next run has made its directory and before the run is simulated."""

    def once(act: Callable[[], object]) -> None:
        real = _core.run

        def acting(*words: Any, **options: Any) -> Any:
            monkeypatch.setattr(_core, "run", real)
            act()
            return real(*words, **options)

        monkeypatch.setattr(_core, "run", acting)

    return once


def test_of_two_scenarios_that_start_together_one_is_refused(
    xoff_here: Command, scenario_file: Path, during: Callable[[Callable[[], object]], None]
) -> None:
    """The second starts while the first writes into a directory that does not exist yet."""
    refused: list[subprocess.CompletedProcess[str]] = []
    during(lambda: refused.append(xoff_here("run", scenario_file, "--seed", "12", "--out", "out")))
    assert xoff_here("run", scenario_file, "--out", "out").returncode == 0
    assert (refused[0].returncode, refused[0].stdout, refused[0].stderr) == (
        2,
        "",
        "xoff: error: --out out: a run of another scenario is writing there, different in seed; choose another "
        "directory\n",
    )
    assert xoff.load(scenario_file.parent / "out").fingerprint == xoff.run(scenario_file).fingerprint
    assert sorted(path.name for path in scenario_file.parent.iterdir()) == ["out", "small.toml"]


@pytest.mark.parametrize("is_same", [True, False])
def test_a_result_that_appears_during_a_run_is_not_replaced_by_another(
    xoff_here: Command, scenario_file: Path, is_same: bool, during: Callable[[Callable[[], object]], None]
) -> None:
    """As on a file system without locks, where the second run does not find the first."""
    place = scenario_file.parent / "out"
    appeared: list[xoff.Result] = []
    during(lambda: appeared.append(xoff.run(scenario_file, seed=None if is_same else 12, out=place)))
    done = xoff_here("run", scenario_file, "--out", "out")
    assert done.returncode == (0 if is_same else 2)
    assert is_same or "out holds the result of another scenario, different in seed" in done.stderr
    assert xoff.load(place).fingerprint == appeared[0].fingerprint
    assert sorted(path.name for path in scenario_file.parent.iterdir()) == ["out", "small.toml"]


@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_of_two_studies_that_start_together_one_is_refused(
    xoff_here: Command, scenario: dict[str, Any], tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = {"switch.flow_control.pfc.xoff": ["80KB", "90KB"]}
    study = {"scenario": scenario, "axes": axes, "seeds": 1}
    if command == "tune":
        study["objective"] = {"minimise": "fct_mean_ps", "runs": 2, "confirm": 1}
    for name in ("one", "two"):
        (tmp_path / f"{name}.json").write_text(json.dumps(study | {"name": name}))
    real = Store.open

    def late(store: Store) -> str:
        """The other study begins after this one has looked at the directory."""
        monkeypatch.setattr(Store, "open", real)
        assert xoff_here(command, "one.json", "--out", "kept").returncode in {0, 1}
        return real(store)

    monkeypatch.setattr(Store, "open", late)
    done = xoff_here(command, "two.json", "--out", "kept")
    assert (done.returncode, "holds the study 'one', not 'two'" in done.stderr) == (2, True)
    assert json.loads((tmp_path / "kept" / "study.json").read_text())["name"] == "one"
