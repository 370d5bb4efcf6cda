"""The command ``xoff conformance``: checks of a part in random scenarios, and the scenarios of failed draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

import xoff
from small import Command
from xoff import own_core
from xoff.conformance import checks, generic, parts, runs
from xoff.plugins import building


@pytest.fixture
def different(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every run with fast-forward differ from the full run."""

    def compared(_: Mapping[str, Any], plan: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        raise runs.DifferenceError(f"differs with {len(plan)} options\nand a line that is not shown")

    monkeypatch.setattr(runs, "compared", compared)


def test_a_part_of_xoff_passes(xoff_here: Command) -> None:
    done = xoff_here("conformance", "pfc", "--draws", "4", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["name"], found["draws"], found["seed"], found["passed"]) == ("pfc", 4, 0, True)
    assert [check["check"] for check in found["checks"]] == [
        "audits",
        "ways",
        "delays",
        "fast-forward",
        "repeats",
        "counts",
    ]
    assert all(check["passed"] and check["draws"] == 4 and check["failures"] == [] for check in found["checks"])
    assert "pauses" in found["checks"][-1]["detail"]


def test_a_part_at_switches_and_at_hosts_has_rows_of_both(xoff_here: Command) -> None:
    done = xoff_here("conformance", "qcn", "--draws", "1")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[0] for line in lines if line[1] == "audits"] == [
        "switch.flow_control.qcn",
        "host.congestion_control.qcn",
    ]


@pytest.mark.parametrize("name", ["star", "permutation"])
def test_a_topology_and_a_workload_have_no_state(name: str, xoff_here: Command) -> None:
    done = xoff_here("conformance", name, "--draws", "2", "--json")
    assert done.returncode == 0, done.stdout
    assert [check["check"] for check in json.loads(done.stdout)["checks"]] == [
        "audits",
        "ways",
        "delays",
        "fast-forward",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pfx"], "conformance: `pfx` is no part; did you mean `pfc`?"),
        (["plugins.warning_of_nobody"], "conformance: `plugins.warning_of_nobody` is no part; parts are adaptive, "),
        (["pfc", "--out", "file"], "--out: file is no folder"),
        (["pfc", "--draws", "0"], "--draws"),
        (["pfc", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_input_gets_one_message(words: list[str], message: str, xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    done = xoff_here("conformance", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("different")
def test_a_failed_draw_names_the_problem_and_gets_a_file(xoff_here: Command, tmp_path: Path) -> None:
    done = xoff_here("conformance", "pfc", "--draws", "5", "--out", "failed")
    assert done.returncode == 1
    assert "switch.flow_control.pfc, fast-forward, draw 0: differs with " in done.stdout
    assert "not shown" not in done.stdout
    assert "  and 2 more draws" in done.stdout
    files = sorted((tmp_path / "failed").iterdir())
    assert [file.name for file in files] == [f"switch.flow_control.pfc-fast-forward-{draw}.json" for draw in range(5)]
    assert "failed/switch.flow_control.pfc-fast-forward-2.json" in done.stdout
    assert xoff_here("check", files[0]).returncode == 0


@pytest.mark.usefixtures("different")
def test_a_failed_draw_is_repeated_by_its_number(xoff_here: Command) -> None:
    done = xoff_here("conformance", "pfc", "--draws", "3")
    assert "xoff conformance pfc --draws 1 --seed 2 --out DIR" in done.stdout

    def failures(*words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(xoff_here("conformance", "pfc", "--json", *words).stdout)["checks"]
        return [failure for check in found for failure in check["failures"]]

    assert failures("--draws", "1", "--seed", "2") == failures("--draws", "3")[2:]


def test_an_audit_and_an_unaccepted_scenario_are_problems(
    monkeypatch: pytest.MonkeyPatch, scenario: dict[str, Any]
) -> None:
    part = parts.Part("switch.flow_control", "pfc")

    def refused(_: dict[str, Any]) -> xoff.Result:
        raise xoff.InputError("the run refuses this")

    monkeypatch.setattr(runs, "unless_doomed", refused)
    several = [checks.Check(name, "") for name in ("audits", "ways", "delays")]
    checks.examine_short(part, 0, *several)
    assert [one.problem for one in several[0].failures] == ["the run refuses this"]
    # Without a result nothing is compared, and a check without a draw has not passed.
    assert [one.draws for one in several] == [1, 0, 0]
    assert not any(one.is_passed for one in several)
    with pytest.raises(xoff.AuditError) as raised:
        # The headroom above XOFF is too small.
        xoff.run(scenario | {"switch": {"buffer": {"per_port": "40KB"}, "flow_control": {"pfc": {"xoff": "39KB"}}}})
    assert checks.said(raised.value).startswith("loss: ")


def test_what_never_repeats_or_counts_needs_a_reason(xoff_here: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "NEVER_REPEAT", {})
    monkeypatch.setattr(parts, "COUNTED_BY", {})
    done = xoff_here("conformance", "bcn", "--draws", "2")
    assert done.returncode == 1
    assert "repeats: no draw was fast-forwarded" in done.stdout
    assert "give the reason in package.metadata.xoff.never_repeats.bcn" in done.stdout
    assert "bcn, counts: no draw adds to " in done.stdout


_PACKAGE = """
[package]
name = "early_warning"
version = "0.1.0"
[dependencies]
xoff-models = "{version}"
[package.metadata.xoff]
never_repeats.early_warning = "rates follow a random number"
rare_counts."early_warning.stops" = "needs 1,000 hosts"
"""


def test_reasons_of_a_plug_in_are_read_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "Cargo.toml"
    text = _PACKAGE.format(version=".".join(xoff.__version__.split(".")[:2]))
    file.write_text(text, "utf-8")
    (one,) = building.packages([tmp_path])
    manifest = {"beside": own_core.beside(), "packages": [{"name": one.name} | one.reasons]}
    monkeypatch.setenv("XOFF_PLUGINS", str(tmp_path))
    (tmp_path / own_core.MANIFEST).write_text(json.dumps(manifest), "utf-8")
    assert parts.never_repeats()["early_warning"] == "rates follow a random number"
    assert parts.rare_counts()["early_warning.stops"] == "needs 1,000 hosts"
    for wrong, words in {
        "never_repeat.x = 'y'": "metadata.xoff: a table with never_repeats or rare_counts is needed",
        "never_repeats = 1": 'metadata.xoff.never_repeats: lines such as NAME = "reason" are needed',
        "rare_counts.x = 1": 'metadata.xoff.rare_counts: lines such as NAME = "reason" are needed',
    }.items():
        file.write_text(text.partition("never_repeats.")[0] + wrong, "utf-8")
        with pytest.raises(xoff.InputError, match=words):
            building.packages([tmp_path])


def test_parameters_of_plug_ins_are_drawn_around_their_defaults() -> None:
    class Most(Random):
        def choice(self, several: Any) -> Any:
            return several[0]

    scaled = [generic.scaled(value, Most()) for value in ("100KB", "4ms", 32, 0.5, True, "fast", None, "1.5us")]
    assert scaled == ["6.25KB", "0.25ms", 2, 0.03125, True, "fast", None, "0.09375us"]


def test_a_data_frame_becomes_a_list_in_the_file_of_a_scenario() -> None:
    part = parts.Part("workload", "table")
    scenario, _ = checks.draw_loaded(part, 0)
    assert "table" in scenario["workload"][0]
    written = checks.document(scenario)
    assert xoff.check(written)["workload"] == xoff.check(scenario)["workload"]
    assert json.loads(json.dumps(written)) == written
