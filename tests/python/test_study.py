"""Studies: requests of a study file, planned runs, and tables."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xoff
from small import Command
from xoff import InputError
from xoff.study import Study
from xoff.study.axes import Level, dimensions
from xoff.study.examination import read
from xoff.study.plan import Combinations
from xoff.study.settings import kind, kinds, nearest

_XOFF = "switch.flow_control.pfc.xoff"
_SIZE = "workload[0].incast.size"


def _values(range: dict[str, Any], path: str = "switch.flow_control.sfc.pause") -> list[Any]:
    (dimension,) = dimensions({"axes": {path: range}})
    return [dict(level.settings)[path] for level in dimension]


@pytest.mark.parametrize(
    ("range", "values"),
    [
        ({"from": "5us", "to": "20us", "step": "5us"}, ["5us", "10us", "15us", "20us"]),
        ({"from": "500ns", "to": "2us", "points": 4}, ["500ns", "1us", "1500ns", "2us"]),
        ({"from": "1us", "to": "100us", "points": 5, "scale": "log"}, ["1us", "3160ns", "10us", "31600ns", "100us"]),
    ],
)
def test_ranges_of_times(range: dict[str, Any], values: list[str]) -> None:
    assert _values(range) == values


def test_ranges_of_numbers_are_exact() -> None:
    assert _values({"from": 0.1, "to": 0.7, "step": 0.1}, "workload[0].poisson.load") == [
        0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7,
    ]  # fmt: skip
    # A setting for whole numbers gets whole numbers, each once.
    assert _values({"from": 2, "to": 5, "points": 7}, "network.star.hosts") == [2, 3, 4, 5]


def test_axes_combine_zip_and_variants(scenario: dict[str, Any]) -> None:
    plan = read({
        "base": scenario,
        "axes": {
            _SIZE: ["10KB", "20KB"],
            # Keys may also be written as nested tables, as TOML reads unquoted keys.
            "switch": {"flow_control": {"pfc": {"xoff": ["90KB", "120KB"], "xon": ["80KB", "110KB"]}}},
        },
        "zip": [[_XOFF, "switch.flow_control.pfc.xon"]],
        "variants": {
            "PFC": {},
            "SFC": {
                "switch": {"flow_control": {"sfc": {"threshold": "50KB"}}},
                "axes": {"switch.flow_control.sfc.pause": ["5us", "10us", "20us"]},
            },
        },
        "seeds": [3, 5],
    })  # fmt: skip
    assert len(plan.points) == 2 * 2 * (1 + 3)
    assert len(plan.runs) == 2 * len(plan.points)
    assert [column.name for column in plan.columns] == [
        "variant", "pause_ps", "incast_size_bytes", "xoff_bytes", "xon_bytes",
    ]  # fmt: skip
    points = [plan.values(point) for point in plan.points]
    assert {(one["xoff_bytes"], one["xon_bytes"]) for one in points} == {(90000, 80000), (120000, 110000)}
    assert {one["pause_ps"] for one in points if one["variant"] == "PFC"} == {None}
    assert {one["pause_ps"] for one in points if one["variant"] == "SFC"} == {5_000_000, 10_000_000, 20_000_000}


def test_every_setting_of_the_schema_is_known() -> None:
    assert kind("switch.flow_control.pfc.xoff") == "bytes"
    assert kind("network.leaf_spine.link.rate") == "bps"
    assert kind("workload[12].poisson.load") == "number"
    assert kind("switch.colour") is None
    assert len(kinds()) > 150


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("switch.flow_control.sfc.paus", "switch.flow_control.sfc.pause"),
        ("sfc.pause", "switch.flow_control.sfc.pause"),
        ("switch.sfc.pause", "switch.flow_control.sfc.pause"),
        ("workload[1].poison.load", "workload[1].poisson.load"),
        ("switch.pfc.xof", "switch.flow_control.pfc.xoff"),
        ("workload[0].training.tensr", "workload[0].training.parallel.tensor"),
    ],
)
def test_a_wrong_path_names_the_nearest_right_one(wrong: str, right: str) -> None:
    assert nearest(wrong) == right


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"axes": {"switch.flow_control.pfc.xof": [1]}}, "pfc.xof`; did you mean `switch.flow_control.pfc.xoff`?"),
        ({"axes": {"seed": [1, 2]}}, "axes.seed: seeds are not an axis; set `seeds`"),
        ({"axes": {_XOFF: []}}, "the list is empty"),
        ({"axes": {_XOFF: ["90KB", "90KB"]}}, "'90KB' is listed twice"),
        ({"axes": {_XOFF: "90KB"}}, "axes.switch.flow_control.pfc.xoff: '90KB' was given; a list or a range is needed"),
        ({"axes": {_XOFF: {"from": "1KB"}}}, ".to: is missing"),
        ({"axes": {_XOFF: {"from": "1KB", "to": "9KB"}}}, "one of `step` and `points` is needed"),
        ({"axes": {_XOFF: {"from": "1KB", "to": "9KB", "steps": 3}}}, "xoff.steps: unknown key"),
        ({"axes": {_XOFF: {"from": "9KB", "to": "1KB", "points": 3}}}, "is not below `to`"),
        ({"axes": {_XOFF: {"from": "1KB", "to": "9us", "points": 3}}}, "the same kind of unit"),
        ({"axes": {_XOFF: {"from": "1KB", "to": "9KB", "step": "0B"}}}, "xoff.step: '0B' is out of range"),
        ({"axes": {_XOFF: {"from": 0, "to": 9, "points": 3, "scale": "log"}}}, "begins above zero"),
        ({"axes": {_XOFF: {"from": 0, "to": 9, "points": 1}}}, "xoff.points: 1 was given"),
        ({"axes": {_XOFF: {"from": 0, "to": float("nan"), "points": 2}}}, "xoff.to: nan was given"),
        ({"axes": {_XOFF: ["90KB"]}, "zip": [["switch.classes"]]}, "zip[0]: `switch.classes` is not an axis"),
        ({"axes": {_XOFF: ["90KB", "99KB"], _SIZE: ["1KB"]}, "zip": [[_XOFF, _SIZE]]}, "need equally many values"),
        ({"variants": {"a": {"switch": {"colour": 1}}}}, "variants.a: no scenario has a setting `switch.colour`"),
        ({"variants": []}, "variants: a table of tables is needed"),
        ({"seeds": 0}, "seeds: 0 was given"),
        ({"seeds": [1, 1]}, "duplicate seed"),
        ({"seeds": "many"}, "seeds: 'many' was given"),
        ({"keep": ["flow"]}, "keep: unknown table `flow`"),
        ({"keep": ["samples"]}, 'keep: the runs do not record `samples`; set `probe.queues = "1us"`'),
        ({"axis": {}}, "axis: unknown key of a study; allowed are `name`"),
        ({"scenario": {}}, "one of `base"),
        ({"axes": {"workload[3].incast.size": ["1KB"]}}, "workload[3].incast.size: index 3 is out of range"),
        ({"axes": {_XOFF: ["300KB", "400KB"]}}, f"no combination is possible: with {_XOFF} = 300KB alone, "),
        (
            {"axes": {"workload[0].collective.size": ["1KB", "2KB"]}},
            "with workload[0].collective.size = 1KB alone, workload[0].collective: missing key `operation`; the base "
            "has no `workload[0].collective`; `workload[0]` has `incast`",
        ),
        ({"axes": {_XOFF: {"values": {" ": "90KB"}}}}, f"axes.{_XOFF}.values: a value needs a name"),
        ({"axes": {_XOFF: {"values": {"a": "90KB", "a ": "99KB"}}}}, f"{_XOFF}.values: two values have the same name"),
        ({"axes": {_XOFF: {"values": {"a": "90KB", "b": "90KB"}}}}, f"axes.{_XOFF}.values: '90KB' is listed twice"),
    ],
)  # fmt: skip
def test_a_wrong_study_is_one_message(scenario: dict[str, Any], changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        read({"base": scenario} | changes)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_base_with_a_mistake_is_named_with_its_line(scenario_file: Path) -> None:
    scenario_file.write_text(scenario_file.read_text().replace("per_port", "per_prot"))
    with pytest.raises(InputError, match=r"small\.toml: switch\.buffer\.per_prot: unknown choice .*\(line \d+\)"):
        read({"base": str(scenario_file), "seeds": [1, 2], "axes": {_XOFF: ["90KB", "99KB"]}})


def test_values_with_names(scenario: dict[str, Any], tmp_path: Path) -> None:
    senders = {"values": {"one alone": [1], "all of them": [1, 2, 3]}}
    plan = read({"scenario": scenario, "axes": {"workload[0].incast.senders": senders, _XOFF: ["90KB", "99KB"]}})
    assert [point.labels["workload[0].incast.senders"] for point in plan.points] == ["one alone"] * 2 + [
        "all of them"
    ] * 2
    assert plan.coordinates(plan.points[2]) == "senders all of them, xoff 90KB"
    moved = {"axes": {"workload[0].incast.senders": senders, _XOFF: ["90KB", "99KB"]}}
    together = read({"scenario": scenario, **moved, "zip": [["workload[0].incast.senders", _XOFF]]})
    assert [together.coordinates(point) for point in together.points] == [
        "senders one alone, xoff 90KB",
        "senders all of them, xoff 99KB",
    ]
    # A variant may have named values, and the runs are those of the values.
    study = xoff.sweep(
        {"scenario": scenario, "variants": {"near": {"axes": {"workload[0].incast.senders": senders}}}},
        out=tmp_path / "study",
    )
    assert study.runs["senders"].to_pylist() == ["one alone", "all of them"]
    assert study.runs["flows_total"].to_pylist() == [1, 3]


def test_a_name_is_no_quantity(scenario: dict[str, Any], tmp_path: Path) -> None:
    sizes = {"values": {"1MB": "50KB", "1000KB": "100KB"}}
    study = xoff.sweep({"scenario": scenario, "axes": {"workload[0].incast.size": sizes}}, out=tmp_path / "study")
    assert study.runs["size"].to_pylist() == ["1MB", "1000KB"]
    means = {mean.point["size"]: mean.interval.mean for mean in study.means("fct_mean_ps")}
    assert means["1MB"] < means["1000KB"]
    assert xoff.Study.open(tmp_path / "study").runs.equals(study.runs)


def test_what_the_base_lacks_may_come_from_an_axis(scenario: dict[str, Any]) -> None:
    del scenario["workload"][0]["incast"]["size"]
    axes = {"workload[0].incast.size": ["10KB", "20KB"], _XOFF: ["5XB"]}
    with pytest.raises(InputError, match=r"the first, size 10KB, xoff 5XB: .*`XB` in `5XB` is not a unit"):
        read({"scenario": scenario, "seeds": [1], "axes": axes})


def test_lost_tables_of_a_study_come_back(scenario: dict[str, Any], tmp_path: Path) -> None:
    rows = pa.table({"src": ["host1"], "dst": ["host0"], "size": ["5KB"]})
    source = {"scenario": {**scenario, "workload": [{"table": rows}]}, "keep": ["high_water"]}
    xoff.sweep(source, out=tmp_path / "study")
    shutil.rmtree(tmp_path / "study" / "runs" / "inputs")
    xoff.sweep({**source, "keep": ["flows"]}, out=tmp_path / "study")
    assert len(list((tmp_path / "study" / "runs" / "inputs").iterdir())) == 1
    # Tables that this version of the study does not keep are gone.
    assert sorted(file.name for file in (tmp_path / "study").glob("*.parquet")) == ["flows.parquet", "runs.parquet"]


def test_a_long_list_is_shown_by_its_ends(scenario: dict[str, Any]) -> None:
    scenario["network"]["star"]["hosts"] = 40
    plan = read({"scenario": scenario, "axes": {"workload[0].incast.senders": [list(range(1, 33)), [1, 2]]}})
    texts = [plan.columns[0].text(plan.values(point)["senders"]) for point in plan.points]
    assert texts == ["1; 2; … 32 (32 values)", "1; 2"]


def test_a_workload_leaves_by_its_index_in_the_base(scenario: dict[str, Any]) -> None:
    other = {"name": "other", "flows": [{"src": 1, "dst": 2, "size": "10KB"}]}
    scenario["workload"] = [*scenario["workload"], other, {**other, "name": "third"}]
    variants = {"first alone": {"unset": ["workload[1]", "workload[2]"]}, "not the first": {"unset": ["workload[0]"]}}
    plan = read({"scenario": scenario, "variants": variants, "axes": {"workload[2].flows[0].size": ["20KB"]}})
    named = [[one["name"] for one in plan.prepare(point, 7).document["workload"]] for point in plan.points]
    assert named == [["incast"], ["other", "third"]]
    sizes = plan.prepare(plan.points[1], 7).document["workload"][1]["flows"][0]["size"]
    assert sizes == "20KB"


def test_any_table_of_a_job_is_kept(tmp_path: Path) -> None:
    # Each iteration computes for longer than the one before.
    computed = [
        {"rank": 0, "kind": "compute", "iteration": number, "stream": "all", "duration": f"{number + 1}us"}
        for number in range(4)
    ]
    job = {
        "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"name": "job", "graph": {"operations": computed}}],
    }
    study = xoff.sweep(
        {"scenario": job, "keep": ["jobs", "operations"], "axes": {"switch.forwarding_latency": ["0ns", "1us"]}},
        out=tmp_path / "study",
    )
    assert study.plan.keep == ("operations", "jobs")
    assert {"part", "iteration", "forwarding_latency_ps"} <= set(study.table("jobs").column_names)
    runs = study.runs.to_pylist()
    assert {(row["job_job_iteration_ps"], row["job_job_iteration_p99_ps"]) for row in runs} == {(2_500_000, 4_000_000)}


def test_a_metric_with_capitals_names_its_own_workload(scenario: dict[str, Any]) -> None:
    other = {**scenario["workload"][0], "name": "b"}
    scenario["workload"] = [{**scenario["workload"][0], "name": "A"}, other]
    with pytest.raises(InputError, match=r"`A_fct_mean_ps`; did you mean `a_fct_mean_ps`\?"):
        read({"scenario": scenario, "metrics": ["A_fct_mean_ps"]})


def test_a_scenario_is_not_a_study(scenario_file: Path, xoff_here: Command) -> None:
    done = xoff_here("sweep", scenario_file)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'is a scenario; a study names one: base = "small.toml"' in done.stderr
    assert xoff_here("sweep", "no.toml").stderr == "xoff: error: no.toml: no such file\n"
    (scenario_file.parent / "bad.toml").write_text("base = ")
    assert xoff_here("sweep", "bad.toml").stderr.startswith("xoff: error: bad.toml: this is not TOML")


def test_an_impossible_combination_is_reported_and_the_rest_runs(scenario_file: Path, xoff_here: Command) -> None:
    study = scenario_file.parent / "study.toml"
    study.write_text(
        f'base = "small.toml"\nseeds = 2\n[axes]\n{_XOFF} = ["100KB", "300KB"]\n"{_SIZE}" = ["10KB", "20KB"]\n'
    )
    done = xoff_here("sweep", study, "--out", "out", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["runs"] == {"total": 4, "complete": 4, "failed": 0, "missing": 0, "others": 0}
    assert len(found["impossible"]) == 4
    # Once, and not for every seed.
    assert (
        done.stderr.count("xoff: impossible: xoff 300KB, size 10KB: switch.flow_control.pfc.xoff: 300KB is above") == 1
    )
    rows = pq.read_table(scenario_file.parent / "out" / "runs.parquet").to_pylist()
    assert [row["status"] for row in rows] == ["ok"] * 4 + ["impossible"] * 4
    assert rows[-1]["fct_mean_ps"] is None


def test_a_run_that_violates_an_audit_has_no_result(scenario: dict[str, Any], tmp_path: Path) -> None:
    scenario["switch"] = {"buffer": {"per_port": "20KB"}, "flow_control": {"pfc": {}}}
    variants = {
        "short": {"switch": {"flow_control": {"pfc": {"xoff": "19KB"}}}},
        "off": {"switch": {"buffer": "unlimited"}},
    }
    study = xoff.sweep({"base": scenario, "variants": variants}, out=tmp_path / "out")
    short, off = study.runs.to_pylist()
    assert (short["status"], off["status"]) == ("audit", "ok")
    assert "loss" in short["message"]
    assert study.status().failed == 1
    # The run would fail again, and is not repeated.
    assert study.run().simulated == 0
    assert set(study.flows["variant"].to_pylist()) == {"off"}


@pytest.mark.parametrize("kind", ["file", "document"])
def test_a_study_runs_what_was_planned(scenario: dict[str, Any], tmp_path: Path, kind: str) -> None:
    """Changes of the base during a study have no effect: each run is kept under the key of its actual inputs."""
    file = tmp_path / "base.json"
    file.write_text(json.dumps(scenario), "utf-8")
    document: dict[str, Any] = {"axes": {"switch.forwarding_latency": ["0ns", "1us"]}}
    document |= {"base": str(file)} if kind == "file" else {"scenario": scenario}
    study = Study(document, tmp_path / "out")
    scenario["workload"][0]["incast"]["size"] = "1KB"
    document["axes"]["switch.forwarding_latency"].clear()
    file.write_text(json.dumps(scenario), "utf-8")
    study.run()
    assert study.status().complete == 2
    assert {run.scenario["workload"][0]["incast"]["size"] for _, _, run in study.results()} == {"100KB"}


def test_a_study_that_holds_itself_is_refused(scenario: dict[str, Any], tmp_path: Path) -> None:
    axes: dict[str, Any] = {"switch.forwarding_latency": []}
    axes["switch.forwarding_latency"].append(axes)
    with pytest.raises(InputError, match="nested too deeply"):
        Study({"scenario": scenario, "axes": axes}, tmp_path / "out")


def test_a_changed_parameter_reruns_only_what_it_touches(scenario: dict[str, Any], tmp_path: Path) -> None:
    def simulated(**changes: Any) -> int:
        document = {"base": scenario, "axes": {_SIZE: ["10KB", "20KB"]}, "seeds": 2} | changes
        return Study(document, tmp_path / "out").run().simulated

    assert simulated() == 4
    assert simulated() == 0
    # Another spelling of the same values, and display options.
    assert simulated(axes={_SIZE: ["10000B", "0.02MB"]}, name="renamed", description="new") == 0
    assert simulated(base=scenario | {"name": "renamed"}) == 0
    assert simulated(axes={_SIZE: ["10KB", "20KB", "30KB"]}) == 2
    assert simulated(seeds=3) == 2
    assert simulated(base=scenario | {"framing": {"payload": "900B"}}) == 4
    # Kept tables are no part of a run's key, but a run without a requested table is repeated.
    assert simulated(keep=["links", "queues"]) == 4
    assert simulated(keep=["queues"]) == 0
    assert simulated(keep=["summary"]) == 0


def test_another_engine_and_another_table_are_other_runs(
    scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    flows = pa.table({"src": [1], "dst": [0], "size_bytes": [1000]})
    more = pa.table({"src": [1], "dst": [0], "size_bytes": [1001]})
    keys = [
        {run.key for run in read({"base": scenario | {"workload": [{"table": table}]}}).runs} for table in (flows, more)
    ]
    assert not keys[0] & keys[1]
    # The memory layout of a table does not matter.
    pieces = pa.concat_tables([flows.slice(0, 0), flows])
    assert {run.key for run in read({"base": scenario | {"workload": [{"table": pieces}]}}).runs} == keys[0]
    monkeypatch.setattr("xoff.study.identity.engine", lambda: "another")
    assert not {run.key for run in read({"base": scenario | {"workload": [{"table": flows}]}}).runs} & keys[0]


def test_the_data_set_is_read_by_polars_pandas_and_duckdb(scenario: dict[str, Any], tmp_path: Path) -> None:
    import duckdb
    import pandas

    study = xoff.sweep(
        {"base": scenario, "axes": {_SIZE: ["10KB", "20KB"], _XOFF: ["90KB", "120KB"]}, "seeds": 2},
        out=tmp_path / "out",
    )
    runs, flows = tmp_path / "out" / "runs.parquet", tmp_path / "out" / "flows.parquet"
    assert polars.read_parquet(runs).shape == (8, study.runs.num_columns)
    frame = polars.read_parquet(flows)
    assert frame.shape[0] == 8 * 3
    means = frame.group_by("incast_size_bytes").agg(polars.col("fct_ps").mean()).sort("incast_size_bytes")
    assert means["incast_size_bytes"].to_list() == [10_000, 20_000]
    assert (frame["size_bytes"] == frame["incast_size_bytes"]).all()
    assert pandas.read_parquet(flows)["xoff_bytes"].nunique() == 2
    query = "select incast_size_bytes, avg(fct_ps) from read_parquet(?) group by 1 order by 1"
    assert [mean for _, mean in duckdb.execute(query, [str(flows)]).fetchall()] == means["fct_ps"].to_list()
    # A row names its run, and the metrics of the runs are the metrics of their flows.
    by_run = frame.group_by("run").agg(polars.col("fct_ps").mean()).sort("run")
    table = polars.read_parquet(runs).sort("run")
    assert by_run["run"].to_list() == table["run"].to_list()
    assert by_run["fct_ps"].to_list() == pytest.approx(table["fct_mean_ps"].to_list(), abs=1)


def test_the_data_set_does_not_depend_on_how_it_came_about(scenario: dict[str, Any], tmp_path: Path) -> None:
    document = {"base": scenario, "axes": {_SIZE: ["10KB", "20KB", "30KB"]}, "seeds": 2}
    xoff.sweep(document, out=tmp_path / "one", workers=1)
    study = Study(document, tmp_path / "other")
    for number in (3, 1, 2):
        study.run(shard=(number, 3), workers=2)
    for name in ("runs.parquet", "flows.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_tables_of_an_earlier_version_of_a_study_do_not_stay(scenario: dict[str, Any], tmp_path: Path) -> None:
    document = {"base": scenario, "axes": {_SIZE: ["10KB", "20KB"]}}
    xoff.sweep(document, out=tmp_path / "out")
    assert (tmp_path / "out" / "runs.parquet").is_file()
    more = Study(document | {"seeds": 6}, tmp_path / "out")
    more.run(shard=(1, 2))
    assert not more.status().done
    # The files would be taken for files of the current study.
    assert not list((tmp_path / "out").glob("*.parquet"))
    more.run()
    assert pq.read_table(tmp_path / "out" / "runs.parquet").num_rows == 12


def test_runs_are_done_in_random_order(scenario: dict[str, Any], tmp_path: Path) -> None:
    sizes = [f"{size}KB" for size in range(1, 21)]
    study = Study({"base": scenario, "axes": {_SIZE: sizes}, "keep": []}, tmp_path / "out")
    order: list[str] = []

    class Here(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
            order.append(arguments[0].key)
            return super().submit(function, *arguments, **options)

    with Here(1) as executor:
        study.run(executor=executor)
    assert sorted(order) == sorted(run.key for run in study.plan.runs)
    assert order not in ([run.key for run in study.plan.runs], [run.key for run in study.plan.runs][::-1])


@settings(max_examples=30)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(1, 4))
def test_shards_are_the_whole(parts: int, values: int, seeds: int) -> None:
    base = {
        "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"incast": {"senders": [1], "receiver": 0, "size": "1KB"}}],
    }
    sizes = [f"{index + 1}KB" for index in range(values)]
    study = Study({"base": base, "axes": {_SIZE: sizes}, "seeds": seeds}, "nowhere")
    runs = [run.key for number in range(1, parts + 1) for run in study.part(number, parts)]
    assert sorted(runs) == sorted(run.key for run in study.plan.runs)


def test_a_study_opened_again_is_the_same(scenario: dict[str, Any], tmp_path: Path) -> None:
    study = xoff.sweep({"base": scenario, "axes": {_SIZE: ["10KB", "20KB"]}, "seeds": 3}, out=tmp_path / "out")
    again = Study.open(tmp_path / "out")
    assert again.runs == study.runs
    assert again.flows == study.flows
    assert again.status() == study.status()
    assert [one.interval for one in again.means("fct_mean_ps")] == [one.interval for one in study.means("fct_mean_ps")]
    with pytest.raises(InputError, match="opened read-only"):
        again.run()
    with pytest.raises(InputError, match="is not the directory of a study"):
        Study.open(tmp_path)
    with pytest.raises(InputError, match="did you mean `fct_mean_ps`"):
        again.means("fct_men_ps")
    with pytest.raises(LookupError, match="does not keep `queues`"):
        again.table("queues")
    point, seed, result = again.results()[0]
    assert (dict(point), seed, result.scenario["seed"]) == ({"incast_size_bytes": 10_000}, 1, 1)


def test_variants_are_compared_by_seed(tmp_path: Path) -> None:
    base = {
        "network": {"star": {"hosts": 6, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {"buffer": {"per_port": "400KB"}, "flow_control": {"pfc": {}}},
        "workload": [{"poisson": {"load": 0.5, "cdf": [[100, 0], [50000, 100]], "flows": 60}}],
    }
    variants = {
        "fast": {},
        "same": {"switch": {"forwarding_latency": "0ns"}},
        "slow": {"switch": {"forwarding_latency": "10us"}, "axes": {"workload[0].class": [0]}},
    }
    study = xoff.sweep({"base": base, "variants": variants, "seeds": 4}, out=tmp_path / "out")
    found = {name: one.comparison for name, one in study.against_first("fct_mean_ps")}
    assert found["same"].verdict == "the same"
    assert found["slow"].verdict == "higher"
    assert found["slow"].real
    # Every packet waits 10 µs more, and paired by seed hardly any other difference remains.
    assert found["slow"].difference.mean == pytest.approx(10e6, rel=0.2)
    assert len({one.interval.mean for one in study.means("fct_mean_ps")}) == 2
    with pytest.raises(InputError, match=r"variant: unknown value 'quick'; known are fast, same, slow"):
        study.compare("fct_mean_ps", "fast", "quick")


def test_a_directory_with_something_else_is_left_alone(scenario_file: Path, xoff_here: Command) -> None:
    (scenario_file.parent / "study.toml").write_text('base = "small.toml"')
    done = xoff_here("sweep", "study.toml", "--out", ".")
    assert (done.returncode, done.stdout) == (2, "")
    assert "exists and is not a study" in done.stderr
    assert sorted(path.name for path in scenario_file.parent.iterdir()) == ["small.toml", "study.toml"]


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/0"])
def test_a_wrong_shard(scenario_file: Path, xoff_here: Command, shard: str) -> None:
    (scenario_file.parent / "study.toml").write_text('base = "small.toml"')
    done = xoff_here("sweep", "study.toml", "--shard", shard)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("xoff: error: --shard")


def test_status_and_json(scenario_file: Path, xoff_here: Command) -> None:
    (scenario_file.parent / "study.toml").write_text(
        f'base = "small.toml"\nseeds = 2\n[axes]\n"{_SIZE}" = ["10KB", "20KB"]'
    )
    before = json.loads(xoff_here("sweep", "study.toml", "--status", "--json").stdout)
    assert before["runs"] == {"total": 4, "complete": 0, "failed": 0, "missing": 4, "others": 0}
    assert not (scenario_file.parent / "out").exists()
    assert xoff_here("sweep", "study.toml", "--shard", "1/2").returncode == 0
    part = json.loads(xoff_here("sweep", "study.toml", "--status", "--json").stdout)
    assert part["runs"]["complete"] + part["runs"]["missing"] == 4
    done = xoff_here("sweep", "study.toml", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert found["simulated"] == part["runs"]["missing"]
    assert found["tables"] == ["out/study/runs.parquet", "out/study/flows.parquet", "out/study/links.parquet"]
    assert {"metric", "point", "mean", "low", "high", "seeds", "of_seeds"} == found["means"][0].keys()
    text = xoff_here("sweep", "study.toml").stdout
    assert "4 of 4 runs are complete (0 simulated, 4 were there)" in text
    assert "the scenario has no random choice" in text
    assert "missing   0" in xoff_here("sweep", "study.toml", "--status").stdout


_PATHS = st.sampled_from(
    [
        _XOFF,
        _SIZE,
        "switch.forwarding_latency",
        "seed",
        "switch..delay",
        "workload[9].class",
        "switch.buffer",
        "",
        "[0]",
    ]
)
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**20), 10**20), st.floats(), st.text(max_size=6),
    st.sampled_from(["1KB", "10us", "100KB", "200Gbps", "unlimited", "log", "linear", "5us"]),
)  # fmt: skip
_RANGES = st.dictionaries(st.sampled_from(["from", "to", "step", "points", "scale", "else"]), _SCALARS, max_size=5)
_ANY = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
_AXES = st.dictionaries(_PATHS, st.lists(_SCALARS, max_size=3) | _RANGES | _ANY, max_size=3) | _ANY
_STUDIES = st.fixed_dictionaries(
    {},
    optional={
        "axes": _AXES,
        "zip": st.lists(st.lists(_PATHS, max_size=3), max_size=2) | _ANY,
        "variants": st.dictionaries(
            st.text(max_size=4), st.fixed_dictionaries({}, optional={"axes": _AXES, "switch": _ANY, "seed": _SCALARS})
        )
        | _ANY,
        "seeds": st.integers(-2, 4) | st.lists(_SCALARS, max_size=3) | _ANY,
        "keep": st.lists(st.sampled_from(["flows", "links", "samples", "summary", "x"])) | _ANY,
        "metrics": _ANY,
        "name": _SCALARS,
        "description": _SCALARS,
    },
)


@settings(max_examples=300)
@given(_STUDIES)
def test_any_study_is_a_plan_or_one_message(document: dict[str, Any]) -> None:
    base = {
        "network": {"star": {"hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {"buffer": {"per_port": "200KB"}, "flow_control": {"pfc": {}}},
        "workload": [{"incast": {"senders": [1], "receiver": 0, "size": "1KB"}}],
    }
    try:
        plan = read({"base": base} | document)
    except InputError:
        return
    assert plan.runs
    for run in plan.runs:
        values = plan.values(run.point)
        for column in plan.columns:
            assert pa.scalar(values[column.name], column.type).as_py() == values[column.name]
            assert isinstance(column.text(values[column.name]), str)
    json.dumps(plan.to_dict(), default=str)


@pytest.mark.parametrize("lengths", [(3,), (1, 4), (2, 3, 5), (7, 1, 1, 2)])
def test_points_are_made_as_they_are_asked_for(lengths: tuple[int, ...]) -> None:
    dimensions = [
        tuple(Level(((f"a{axis}", value),), ((f"a{axis}", value),)) for value in range(length))
        for axis, length in enumerate(lengths)
    ]
    points = Combinations(dimensions)
    wanted = [tuple(pair for level in levels for pair in level.settings) for levels in itertools.product(*dimensions)]
    assert [point.settings for point in points] == wanted
    assert [point.index for point in points] == list(range(len(points))) == list(range(math.prod(lengths)))
    assert points[-1] == points[len(points) - 1]
    assert points[:2] == [points[index] for index in range(min(2, len(points)))]
    sample = points.sample(4)
    assert sample == points.sample(4)
    assert len({point.index for point in sample}) == min(4, len(points))
    assert {0, len(points) - 1} <= {point.index for point in sample}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": {"a": 4_000, "b": 25_000}}, "100,000,000 combinations (4,000 × 25,000) with 1 seed are too many"),
        ({"axes": {"a": 1_000}, "seeds": 1_001}, "axes: 1,000 combinations with 1,001 seeds are too many"),
        ({"axes": {"a": 100, "b": 100, "c": 100, "d": 2}}, "2,000,000 combinations (100 × 100 × 100 × 2)"),
        ({"variants": {"x": {"axes": {"a": 2_000, "b": 2_000}}}}, "variants.x: 4,000,000 combinations are too many"),
    ],
)
def test_more_runs_than_a_study_may_have_are_refused_before_they_are_made(
    scenario: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    paths = {
        "a": "switch.forwarding_latency",
        "b": "switch.flow_control.pfc.xoff",
        "c": "framing.control_frame_size",
        "d": "framing.header",
    }

    def axes(counts: dict[str, int]) -> dict[str, Any]:
        return {paths[key]: {"from": 1, "to": 1 + count, "points": count} for key, count in counts.items()}

    study: dict[str, Any] = {"scenario": scenario, "seeds": 1} | change
    if "axes" in study:
        study["axes"] = axes(study["axes"])
    for variant in study.get("variants", {}).values():
        variant["axes"] = axes(variant["axes"])
    tracemalloc.start()
    with pytest.raises(InputError) as error:
        read(study)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message in str(error.value)
    assert "1,000,000 runs are possible" in str(error.value)
    assert most < 60e6


def test_of_many_points_some_are_checked(xoff_here: Command, scenario: dict[str, Any], tmp_path: Path) -> None:
    axes = {
        "switch.forwarding_latency": {"from": "1us", "to": "2us", "points": 100},
        "framing.header": {"from": "40B", "to": "89B", "step": "1B"},
    }
    (tmp_path / "study.json").write_text(json.dumps({"scenario": scenario, "axes": axes, "seeds": 2}))
    done = xoff_here("check", "study.json")
    assert done.returncode == 0
    assert "study.json is valid: 5,000 points, 2 seeds, 10,000 runs\n2,000 were checked" in done.stdout
    assert len(done.stdout.splitlines()) < 40
    found = json.loads(xoff_here("check", "study.json", "--json").stdout)
    assert (found["runs"], found["checked"], len(found["points"])) == (10_000, 2_000, 2_000)
