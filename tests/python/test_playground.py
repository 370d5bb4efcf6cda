"""The scenarios of the playground, natively: every value of every slider runs, and the texts of the page hold."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import playground
import pytest

import xoff
from xoff.running.document import typed

_SCENARIOS = {one["name"]: one for one in playground.scenarios()}
_MOST_PACKET_HOPS = 1_000_000
"""About a second in a browser."""


def summary(name: str, **overrides: Any) -> Any:
    """Returns the summary of a scenario with some settings."""
    return playground.run(
        _SCENARIOS[name]["toml"], {key.replace("__", "."): of for key, of in overrides.items()}
    ).summary


def test_there_are_eleven_with_five_sliders_each() -> None:
    assert len(_SCENARIOS) == 11
    assert {len(one["slider"]) for one in _SCENARIOS.values()} == {5}


@pytest.mark.parametrize("name", _SCENARIOS)
def test_every_value_of_every_slider_runs(name: str) -> None:
    made = playground.prepare(_SCENARIOS[name])
    for control in made["controls"]:
        assert len(control["values"]) == len(set(control["values"])) == len(control["fingerprints"])
        # SFC holds no flow while the threshold is as given, above every queue.
        if control["label"] != "SFC pause":
            assert len(set(control["fingerprints"])) > 1, control["label"]
        assert made["fingerprint"] in control["fingerprints"], control["label"]
    known = [node for node, *_ in made["layout"]["nodes"]]
    assert len(known) == len(set(known)) > 0


@pytest.mark.parametrize("name", _SCENARIOS)
def test_numbers_of_the_page_are_in_the_result_and_runs_are_short(name: str) -> None:
    result = playground.run(_SCENARIOS[name]["toml"], {})
    for _, path in _SCENARIOS[name]["figures"]:
        at: Any = result.summary
        first, _, rest = path.partition(".")
        if first in result.tables and rest in result.table(first).column_names:
            assert result.table(first)[rest][0].as_py() is not None
            continue
        for key in path.split("."):
            assert key in at, path
            at = at[key]
    for slider in _SCENARIOS[name]["slider"]:
        ends = [typed(one) for one in slider["choices"].values()] if "choices" in slider else slider["values"]
        run = playground.run(_SCENARIOS[name]["toml"], dict.fromkeys(slider["keys"], ends[-1]))
        assert run.summary["performance"]["packet_hops_simulated"] <= _MOST_PACKET_HOPS


def test_sfc_holds_flows_for_the_time_of_its_slider() -> None:
    threshold, pause = "switch__flow_control__sfc__threshold", "switch__flow_control__sfc__pause"
    times = [summary("victim", **{threshold: "100KB", pause: of})["fct_ps"]["max"] for of in ("10us", "50us")]
    assert times[1] > 2 * times[0]


def test_a_victim_recovers_under_sfc_and_isolation() -> None:
    threshold = "switch__flow_control__sfc__threshold"
    runs = [summary("victim"), summary("victim", **{threshold: "200KB"})]
    assert [round(run["workloads"]["victim"]["fct_ps"]["max"] / 1e6) for run in runs] == [388, 86]
    high = "switch__flow_control__congestion_isolation__high"
    runs = [summary("isolation"), summary("isolation", **{high: "200KB"})]
    assert [round(run["workloads"]["victim"]["fct_ps"]["max"] / 1e6) for run in runs] == [358, 86]


def test_under_dcqcn_the_victim_recovers_and_the_incast_pays() -> None:
    kmax, kmin = "switch__ecn__red__kmax", "switch__ecn__red__kmin"
    given, lower = summary("dcqcn"), summary("dcqcn", **{kmax: "200KB", kmin: "20KB"})
    victim, incast = (
        [run["workloads"][name]["fct_ps"]["mean"] for run in (given, lower)] for name in ("victim", "incast")
    )
    assert victim[1] < 0.5 * victim[0]
    assert incast[1] > incast[0]


@pytest.mark.parametrize(
    ("name", "setting", "measure", "least", "most"),
    [
        ("storm", {"network__overrides[0]__rate": "100Gbps"}, "mean", 0.1, 0.15),
        ("slow_link", {"switch__routing": {"reps": {}}}, "max", 0.2, 0.3),
        ("trimming", {"switch__routing": {}}, "max", 2, 4),
        ("hpcc", {"host__congestion_control__hpcc__eta": 0.5}, "mean", 1.5, 2),
        ("failure", {"network__failover__convergence_time": "100us"}, "max", 0.5, 0.7),
    ],
)
def test_a_text_holds(name: str, setting: dict[str, Any], measure: str, least: float, most: float) -> None:
    before, after = (summary(name, **to)["fct_ps"][measure] for to in ({}, setting))
    assert least <= after / before <= most


def test_the_ring_in_bcube_deadlocks_under_pfc_alone() -> None:
    portfc = {"switch__flow_control": {"portfc": {"xoff": "75KB", "xon": "50KB"}}}
    first = {"host__relay__scheduler": "relay_first"}
    runs = [summary("deadlock", **to) for to in ({}, portfc, first)]
    assert [run["audits"]["deadlock"].startswith("recorded") for run in runs] == [True, False, False]
    assert [run["flows"]["completed"] for run in runs] == [0, 12, 12]


def test_one_slow_link_slows_the_whole_ring() -> None:
    """The ring moves 14 messages of 2 MB over each link: 14 x 2 MB at 100 Gb/s are 2.24 ms."""
    [row] = (
        playground.run(_SCENARIOS["ring"]["toml"], {"network.overrides[0].rate": "100Gbps"})
        .table("collectives")
        .to_pylist()
    )
    assert row["time_ps"] == pytest.approx(2.24e9 * 4160 / 4096, rel=0.03)


def test_probes_change_no_fingerprint() -> None:
    scenario = _SCENARIOS["victim"]["toml"]
    assert playground.run(scenario, {}).fingerprint == playground.run(scenario, {"probe": None}).fingerprint


def test_an_override_of_a_document_is_an_override_of_a_file(tmp_path: Any) -> None:
    file = tmp_path / "victim.toml"
    file.write_text(_SCENARIOS["victim"]["toml"], "utf-8")
    assert xoff.run(file).fingerprint == playground.run(_SCENARIOS["victim"]["toml"], {}).fingerprint


@pytest.mark.parametrize("home", ["", "../playground.html"])
def test_without_a_toolchain_the_script_says_so_and_builds_nothing(tmp_path: Path, home: str) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "dirname", "rm", "mkdir"):
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    script = Path(__file__).resolve().parents[2] / "tools" / "playground.sh"
    command = [str(shutil.which("bash")), str(script), str(tmp_path / "out"), home]
    done = subprocess.run(command, env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "No toolchain for WebAssembly is installed: there is no playground (rustup target add"
    )
    made = {file.name: file.read_text("utf-8") for file in (tmp_path / "out").glob("*")}
    # The page of the documentation leads to a page that says the same.
    assert list(made) == (["index.html"] if home else [])
    assert not home or "without a toolchain" in made["index.html"]
