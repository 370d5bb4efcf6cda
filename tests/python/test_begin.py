"""First steps of a new user: commented files that run as printed, and a check of variants before any run."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import TOML, Command
from xoff import InputError


def test_a_new_scenario_runs_as_it_is(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("new", "scenario").stdout == "scenario.toml\n"
    # Editors find the schema by the first line.
    address = (tmp_path / "scenario.toml").read_text().splitlines()[0].removeprefix("#:schema ")
    schema = json.loads(Path(address.removeprefix("file://")).read_text())
    assert schema["$id"] == f"urn:xoff:scenario:{xoff.__version__}"
    assert xoff.check(tmp_path / "scenario.toml")["warnings"] == []
    done = xoff_here("run", "scenario.toml")
    assert (done.returncode, "40 of 40 completed" in done.stdout) == (0, True)
    # The commented-out lines are valid, too.
    text = (tmp_path / "scenario.toml").read_text()
    for line in (
        "# threshold",
        "# pause",
        "# [switch.flow_control.sfc]",
        "# until",
        "# [probe]",
        "# queues",
        "# packets",
    ):
        assert line in text
        text = text.replace(line, line[2:])
    (tmp_path / "scenario.toml").write_text(text)
    assert xoff.check(tmp_path / "scenario.toml")["warnings"] == []


def test_a_new_study_runs_as_it_is(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("new", "study", 'my "study"').stdout == 'my "study".toml\n'
    done = xoff_here("check", 'my "study".toml')
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ['my "study".toml is valid: 8 points, 3 seeds, 24 runs']
    document = tomllib.loads((tmp_path / 'my "study".toml').read_text())
    assert document["name"] == 'my "study"'
    study = xoff.sweep(document | {"seeds": 1}, out=tmp_path / "out")
    assert study.status().complete == 8
    assert study.warnings == {}


def test_new_functions_run_as_they_are(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("new", "python", "lab/fanout").stdout == "lab/fanout.toml\nlab/fanout.py\nlab/fanout-study.toml\n"
    refused = xoff_here("run", "lab/fanout.toml")
    assert (refused.returncode, "--allow-python" in refused.stderr) == (2, True)
    for words in (["check", "lab/fanout.toml"], ["check", "lab/fanout-study.toml"]):
        done = xoff_here(*words, "--allow-python")
        assert (done.returncode, done.stderr) == (0, "")
    result = xoff.run(tmp_path / "lab/fanout.toml", allow_python=True)
    assert result.summary["warnings"] == []
    # The load of the rows is the load that the scenario asks for, within the variance of some 70 requests.
    offered = xoff.check(tmp_path / "lab/fanout.toml", allow_python=True)["load"]["layers"][0]["mean"]
    assert 0.2 < offered < 0.45
    done = xoff_here("sweep", "lab/fanout-study.toml", "--allow-python", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    means = json.loads(done.stdout)["means"]
    assert {one["metric"] for one in means} == {"fct_p99_ps", "request_p99_ps"}
    assert all(one["seeds"] == 3 for one in means)
    # Wider requests take longer at the same load.
    longer = {
        (one["point"]["load"], one["point"]["fanout"]): one["mean"] for one in means if "request" in one["metric"]
    }
    assert all(longer[load, 6] > longer[load, 1] for load in (0.2, 0.4, 0.6))
    # The commented objective is valid, too.
    text = (tmp_path / "lab/fanout-study.toml").read_text().replace("# [objective]", "[objective]")
    (tmp_path / "lab/fanout-study.toml").write_text(text.replace("# minimise", "minimise"))
    assert xoff_here("check", "lab/fanout-study.toml", "--allow-python").returncode == 0
    # So is the commented congestion control.
    text = (tmp_path / "lab/fanout.toml").read_text()
    control = '[host.congestion_control.python]\nclass = "fanout:Halving"\n'
    assert "\n# ".join(f"# {control}".split("\n")[:2]) in text
    text = text.replace('[host.congestion_control.dcqcn]\npreset = "conweave"\n', control)
    (tmp_path / "lab/fanout.toml").write_text(text)
    other = xoff.run(tmp_path / "lab/fanout.toml", allow_python=True)
    assert other.summary["warnings"] == []
    assert "python" in other.summary["components"]


def test_new_functions_have_a_name_that_python_can_import(xoff_here: Command, tmp_path: Path) -> None:
    for name in ("my idea", "3rd", "json", "numpy", "class", "a-b", "Idea"):
        done = xoff_here("new", "python", name)
        assert (done.returncode, done.stdout) == (2, ""), name
        assert "allowed are lower-case letters, digits and underscores" in done.stderr
    assert xoff_here("new", "python").stdout.splitlines()[1] == "python_idea.py"
    (tmp_path / "one-study.toml").touch()
    assert "one-study.toml: exists" in xoff_here("new", "python", "one.py").stderr
    assert not (tmp_path / "one.py").exists()


NEEDS = {
    "host.congestion_control.dcqcn": {"switch.ecn"},
    "host.congestion_control.hpcc": {"switch.telemetry", "framing.header", "framing.control_frame_size"},
    "switch.flow_control.congestion_isolation": {"switch.classes"},
}
"""The requirements and costs of a part."""
PARTS = ("switch.flow_control", "switch.routing", "host.transport", "host.congestion_control", "network")


def things(document: dict[str, Any]) -> dict[str, Any]:
    """A scenario as a flat table: a key for each part, and for each other setting of the top tables."""
    found: dict[str, Any] = {}
    for table in ("network", "framing", "switch", "host"):
        for key, value in document[table].items():
            path = f"{table}.{key}"
            if path in PARTS:
                found |= {f"{path}.{part}": parameters for part, parameters in value.items()}
            else:
                found[path] = value
    return found | {
        key: value for key, value in document.items() if key not in {"network", "framing", "switch", "host"}
    }


def test_each_row_of_a_new_study_differs_from_the_base_in_one_thing(xoff_here: Command, tmp_path: Path) -> None:
    xoff_here("new", "study", "study")
    document = tomllib.loads((tmp_path / "study.toml").read_text())
    study = xoff.sweep(document | {"seeds": 1}, out=tmp_path / "out")
    base = things(xoff.resolve(document["scenario"], seed=1))
    rows = {str(point["variant"]): things(result.scenario) for point, _, result in study.results()}
    assert len(rows) == 8
    for name, row in rows.items():
        changed = {key for key in base.keys() | row.keys() if base.get(key) != row.get(key)}
        needed = {key for part in changed for key in NEEDS.get(part, set())}
        rest = changed - needed
        assert len(rest) == (name != "PFC") + name.count("in the place of"), (name, changed)
        # A part in both files has the same parameters in both.
        assert not [key for key in rest & base.keys() & row.keys() if key.startswith(PARTS)], name


def test_a_new_job_runs_as_it_is(xoff_here: Command, tmp_path: Path) -> None:
    written = ["my job.toml", "my job-operations.csv", "my job-groups.csv"]
    assert xoff_here("new", "graph", "my job").stdout.splitlines() == written
    assert xoff.check(tmp_path / "my job.toml")["warnings"] == []
    done = xoff_here("run", "my job.toml", "--out", "out")
    assert (done.returncode, "1 of 1 completed" in done.stdout) == (0, True)
    done = xoff_here("explain", "out", "--job")
    assert (done.returncode, "along its critical path" in done.stdout) == (0, True)
    assert xoff_here("new", "graph", "my job").returncode == 2


def test_a_new_training_runs_as_it_is(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("new", "training").stdout == "training.toml\n"
    assert xoff.check(tmp_path / "training.toml")["warnings"] == []
    # A fortieth of the job takes a second.
    done = xoff_here(
        "run", "training.toml", "--set", "workload[0].training.model.layers=1", "--set", "framing.payload=60KB"
    )
    assert (done.returncode, "GPT-13B: iteration" in done.stdout) == (0, True)


def test_a_new_serving_runs_as_it_is(xoff_here: Command, tmp_path: Path) -> None:
    assert xoff_here("new", "serving").stdout == "serving.toml\n"
    found = xoff.check(tmp_path / "serving.toml")
    assert found["warnings"] == []
    assert 0.1 < float(next(row["load"] for row in found["serving"] if row["pool"] == "prefill")) < 1
    # A sixth of the requests takes a second.
    key = "workload[0].serving.arrivals.requests=16"
    done = xoff_here("run", "serving.toml", "--set", key, "--out", "out")
    assert (done.returncode, "chat: TTFT" in done.stdout) == (0, True)
    assert "16 of 16 completed" in done.stdout


def test_nothing_is_replaced(xoff_here: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("mine")
    done = xoff_here("new", "scenario", "mine")
    assert (done.returncode, done.stderr) == (2, "xoff: error: mine.toml: exists; choose another name\n")
    assert (tmp_path / "mine.toml").read_text() == "mine"


def test_a_variant_can_be_without_what_the_base_has(scenario_file: Path, tmp_path: Path) -> None:
    text = 'base = "small.toml"\n[variants.PFC]\n[variants.none]\nunset = ["switch.flow_control.pfc"]\n'
    (tmp_path / "study.toml").write_text(text)
    study = xoff.sweep(tmp_path / "study.toml", out=tmp_path / "out")
    parts = [result.summary["components"] for _, _, result in study.results()]
    assert ["pfc" in one for one in parts] == [True, False]
    (tmp_path / "study.toml").write_text(text.replace("pfc", "pfx"))
    with pytest.raises(InputError, match=r"variants.none: no scenario has a setting `switch.flow_control.pfx`"):
        xoff.sweep(tmp_path / "study.toml", out=tmp_path / "other")
    (tmp_path / "study.toml").write_text(text.replace('["switch.flow_control.pfc"]', '"switch"'))
    with pytest.raises(InputError, match=r"variants.none.unset: 'switch' was given; a list of paths is needed"):
        xoff.sweep(tmp_path / "study.toml", out=tmp_path / "other")
    # The same in Python and on a command line.
    assert "pfc" not in xoff.run(scenario_file, overrides={"switch.flow_control.pfc": None}).summary["components"]


def test_null_on_a_command_line_takes_a_key_away(scenario_file: Path, xoff_here: Command) -> None:
    done = xoff_here("run", scenario_file, "--json", "--set", "switch.flow_control.pfc=null")
    assert "pfc" not in json.loads(done.stdout)["components"]


def test_all_variants_of_a_study_are_checked_before_it_runs(scenario_file: Path, xoff_here: Command) -> None:
    (scenario_file.parent / "study.toml").write_text(
        'base = "small.toml"\nseeds = 2\n[variants.a]\nhost.congestion_control.dcqcn = {}\n[variants.b]\n'
        'switch.flow_control.pfc.xoff = "900KB"\n'
    )
    done = xoff_here("check", "study.toml")
    assert done.returncode == 1
    first, impossible, warning = done.stdout.splitlines()
    assert first == "study.toml has combinations that are impossible: 1 point, 2 seeds, 2 runs"
    assert impossible.startswith("impossible variant b: switch.flow_control.pfc.xoff: 900KB is above")
    assert warning.startswith("warning host.congestion_control.dcqcn: DCQCN never reacts")
    found = json.loads(xoff_here("check", "study.toml", "--json").stdout)
    assert [one["point"] for one in found["points"]] == [{"variant": "a"}]
    assert [one["point"] for one in found["impossible"]] == ["variant b"]
    assert [one["points"] for one in found["warnings"]] == [["variant a"]]
    refused = xoff_here("check", "study.toml", "--seed", "3")
    assert (refused.returncode, "not allowed with a study" in refused.stderr) == (2, True)


def test_what_is_no_study_is_told_of_as_a_scenario(scenario_file: Path, xoff_here: Command) -> None:
    scenario_file.write_text(TOML.replace("[network.star]", "[netwerk.star]"))
    assert "unknown key `netwerk`" in xoff_here("check", scenario_file).stderr
