"""A result directory is complete or absent, and reads back as written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import _core, report

_LONG = """
[network.leaf_spine]
leaves = 4
spines = 4
hosts_per_leaf = 4
link = { rate = "100Gbps", delay = "1us" }

[switch]
buffer = "unlimited"

[[workload]]
permutation = { size = "20GB" }
"""


def test_save_and_load(scenario: dict[str, Any], tmp_path: Path) -> None:
    result = xoff.run(scenario)
    place = result.save(tmp_path / "deep" / "result")
    again = xoff.load(place)
    assert again.fingerprint == result.fingerprint
    assert again.tables == result.tables
    for name in result.tables:
        assert again.table(name).equals(result.table(name)), name
    assert again.summary["seed"] == 7
    assert again.summary["version"] == xoff.__version__
    assert [path.name for path in place.parent.iterdir()] == ["result"]


def test_streamed_result_equals_the_one_in_memory(scenario: dict[str, Any], tmp_path: Path) -> None:
    whole, streamed = xoff.run(scenario), xoff.run(scenario, out=tmp_path / "result")
    assert streamed.tables == whole.tables
    for name in whole.tables:
        assert streamed.table(name).equals(whole.table(name)), name


def test_a_result_replaces_one_of_the_same_name(scenario: dict[str, Any], tmp_path: Path) -> None:
    xoff.run(scenario, out=tmp_path / "result")
    second = xoff.run(scenario, overrides={"workload[0].incast.size": "50KB"}, out=tmp_path / "result")
    assert second.flows["size_bytes"].to_pylist() == [50_000] * 3
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_the_directory_runs_again_to_the_same_fingerprint(scenario: dict[str, Any], tmp_path: Path) -> None:
    import polars as pl

    flows = pl.DataFrame({"src": ["host1", "host2"], "dst": ["host0", "host0"], "size": ["100KB", "20KB"]})
    scenario["workload"] = [{"name": "table", "table": flows}]
    first = xoff.run(scenario, out=tmp_path / "result")
    assert xoff.run(tmp_path / "result" / "scenario.json").fingerprint == first.fingerprint


def test_load_refuses_what_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(xoff.InputError, match="not a result directory"):
        xoff.load(tmp_path)


def test_an_exception_of_the_progress_callback_stops_the_run(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text(_LONG, "utf-8")

    def stop(progress: xoff.Progress) -> None:
        assert progress.bytes_total == 16 * 20_000_000_000
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        xoff.run(file, progress=stop, out=tmp_path / "result")
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_failed_audit_has_no_result(xoff_command: Command, scenario: dict[str, Any], tmp_path: Path) -> None:
    # 2 KB above XOFF cannot hold the bytes that arrive before the pause takes effect.
    scenario["switch"] = {"buffer": {"per_port": "20KB"}, "flow_control": {"pfc": {"xoff": "18KB", "xon": "10KB"}}}
    scenario["audits"] = {"loss": "fail"}
    with pytest.raises(xoff.AuditError) as caught:
        xoff.run(scenario)
    assert not caught.value.result.ok
    file = tmp_path / "loss.json"
    file.write_text(json.dumps(scenario), "utf-8")
    done = xoff_command("run", file, "--out", "result")
    assert done.returncode == 1
    assert done.stderr.startswith("xoff: error: the run violated an audit")
    assert not (tmp_path / "result").exists()
    recorded = xoff_command("run", file, "--set", "audits.loss=record", "--json")
    assert recorded.returncode == 0, recorded.stderr
    assert json.loads(recorded.stdout)["drops"] > 0


def test_what_a_failed_run_had_is_kept_beside(scenario: dict[str, Any], tmp_path: Path) -> None:
    # XOFF leaves less headroom than the formula's: packets are lost.
    lossy = scenario | {
        "switch": {"buffer": {"per_port": "20KB"}, "flow_control": {"pfc": {"xoff": "19KB", "xon": "1KB"}}}
    }
    with pytest.raises(xoff.AuditError) as failure:
        xoff.run(lossy, out=tmp_path / "result")
    message = str(failure.value)
    assert f"partial result: {tmp_path / 'result.failed'} (xoff report draws it)" in message
    assert message.endswith("to record the violation and keep the result: --set audits.loss=record")
    assert [path.name for path in tmp_path.iterdir()] == ["result.failed"]
    left = xoff.load(tmp_path / "result.failed")
    assert not left.ok
    assert left.drops.num_rows == left.summary["drops"] > 0
    assert 'class="not-passed"' in report.write(tmp_path / "result.failed", formats=["html"]).read_text("utf-8")
    # The message says that the same run has a result; other files with the name are left alone.
    assert xoff.run(lossy, overrides={"audits.loss": "record"}, out=tmp_path / "result").ok
    (tmp_path / "other.failed").write_text("mine")
    with pytest.raises(xoff.AuditError, match=r"no result\n  loss: .*\nto record the violation") as failure:
        xoff.run(lossy, out=tmp_path / "other")
    assert (tmp_path / "other.failed").read_text() == "mine"


def test_tables_have_the_columns_that_are_declared(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario | {"probe": {"packets": True, "queues": "1us", "delays": "all", "tokens": True}})
    declared = {table["name"]: table["columns"] for table in json.loads(_core.tables())}
    assert result.tables == sorted(declared)
    for name, columns in declared.items():
        schema = result.table(name).schema
        types = {"Utf8": "string", "Float64": "double", "Boolean": "bool"}
        wanted = [(one["name"], types.get(one["type"], one["type"].lower()), one["maybe"]) for one in columns]
        assert [(field.name, str(field.type), field.nullable) for field in schema] == wanted
        assert all(one["meaning"].endswith(".") for one in columns)


def test_threads_that_did_not_pay_are_told_of(scenario: dict[str, Any]) -> None:
    # The first 10 us may run on two threads; then a star of four hosts has too few events for them.
    result = xoff.run(scenario, threads=2)
    performance = result.summary["performance"]
    assert 0 < performance["events_on_one_thread"] <= performance["events"]
    one = xoff.run(scenario)
    assert one.summary["performance"]["events_on_one_thread"] == performance["events"]
    assert "threads" not in dict(one.rows())["performance"]
    performance["events_on_one_thread"] = performance["events"] // 4
    assert dict(result.rows())["performance"].endswith("; 25% of the events on one of 2 threads, which was faster")
    performance["events_on_one_thread"] = 0
    assert "threads" not in dict(result.rows())["performance"]
