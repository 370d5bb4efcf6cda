"""``xoff explain``: printed text, JSON output, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xoff
from small import Command
from xoff.insight import rerun


@pytest.fixture
def kept(scenario_file: Path) -> Path:
    """The result of the small scenario, an incast, with little memory and without probes."""
    place = scenario_file.parent / "result"
    xoff.run(scenario_file, overrides={"switch.buffer": {"per_port": "60KB"}}, out=place)
    return place


def test_parts_of_a_flow_add_up(xoff_here: Command, kept: Path) -> None:
    done = xoff_here("explain", kept, "--flow", "2", "--json")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "repeats the run" in done.stderr
    flow = json.loads(done.stdout)["flow"]
    assert sum(part["ps"] for part in flow["parts"]) == flow["fct_ps"] > flow["ideal_fct_ps"]
    assert {"kind", "ps", "where", "by"} == set(flow["parts"][0])
    assert flow["parts"][0]["where"] == {"hop": 0, "node": "host3", "port": 0, "peer": "switch0"}
    assert any(part["by"] == {"flow": 0} for part in flow["parts"])

    told = xoff_here("explain", kept, "--flow", "2").stdout
    assert told.startswith("Flow 2 (host3 → host0, 100.0 KB, from 0 ps on) took ")
    # With all digits, so that the column adds up.
    rows = [line.split() for line in told.splitlines()]
    numbers = [int(row[-2].replace(".", "")) for row in rows if row and row[-1].endswith("%") and "." in row[-2]]
    [total] = [int(row[-1].replace(".", "")) for row in rows if row and row[0] == "together"]
    assert sum(numbers) == total == flow["fct_ps"]


def test_several_questions_have_one_answer(xoff_here: Command, kept: Path) -> None:
    done = xoff_here(
        "explain", kept, "--flow", "0", "--flow", "1", "--worst", "2", "--pauses", "--port", "switch0:0", "--json"
    )
    answer = json.loads(done.stdout)
    assert sorted(answer) == ["flows", "port", "trees", "worst"]
    assert [flow["flow"] for flow in answer["flows"]] == [0, 1]
    slowdowns = [flow["slowdown"] for flow in answer["worst"]]
    assert slowdowns == sorted(slowdowns, reverse=True)
    assert answer["port"]["peer"] == "host0"
    assert [flow["flow"] for flow in answer["port"]["flows"]] == [0, 1, 2]
    [tree] = answer["trees"]
    assert tree["root"] == {"node": "switch0", "port": 0, "class": 0, "cause": "pfc"}
    assert {one["flow"] for one in tree["contributors"]} == {0, 1, 2}
    assert tree["victims"] == []


def test_without_a_question_it_names_the_slowest_flows_and_where_pauses_begin(xoff_here: Command, kept: Path) -> None:
    done = xoff_here("explain", kept)
    assert done.returncode == 0
    assert "slowest flows" in done.stdout
    assert "PFC, class 0, from switch0 port 0 (to host0):" in done.stdout
    assert "filled by flow" in done.stdout


def test_a_result_that_has_its_delays_is_not_repeated(
    xoff_here: Command, scenario: dict[str, Any], tmp_path: Path
) -> None:
    xoff.run({**scenario, "probe": {"delays": "all"}}, out=tmp_path / "probed")
    done = xoff_here("explain", tmp_path / "probed")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_repeated_run_is_kept_for_the_next_question(xoff_here: Command, kept: Path) -> None:
    def asked(*words: str) -> tuple[bool, str]:
        done = xoff_here("explain", kept, *words, "--json")
        assert done.returncode == 0
        return "repeats the run" in done.stderr, done.stdout

    first = asked("--flow", "2")
    assert first[0]
    assert asked("--flow", "2") == (False, first[1])
    # Another flow needs another run, which has the first flow, too.
    assert asked("--flow", "1")[0]
    assert asked("--flow", "2") == (False, first[1])
    assert not asked("--flow", "1")[0]
    assert asked("--pauses")[0]
    assert asked("--flow", "2") == (False, first[1])
    assert [asked("--worst", "2")[0], asked("--flow", "0")[0]] == [False, False]
    # A run with other events is no answer; a new result of this name has no kept run.
    summary = json.loads((kept / "explain" / "summary.json").read_text())
    (kept / "explain" / "summary.json").write_text(json.dumps(summary | {"fingerprint": "00"}))
    assert asked("--flow", "2") == (True, first[1])
    xoff.run(kept / "scenario.json", out=kept)
    assert not (kept / "explain").exists()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("delays.parquet", b"PAR1 no table"),
        ("scenario.json", b'{"network": {}, "probe": []}'),
        ("scenario.json", b'{"network": {}, "probe": {"delays": 5}}'),
        ("flows.parquet", None),
    ],
)
def test_a_damaged_kept_run_is_repeated(xoff_here: Command, kept: Path, file: str, content: bytes | None) -> None:
    first = xoff_here("explain", kept, "--flow", "2", "--json").stdout
    if content is None:
        pq.write_table(pa.table({"flow": [1]}), kept / "explain" / file)
    else:
        (kept / "explain" / file).write_bytes(content)
    done = xoff_here("explain", kept, "--flow", "2", "--json")
    assert (done.returncode, done.stdout) == (0, first)
    assert "repeats the run" in done.stderr
    assert xoff_here("explain", kept, "--flow", "2").stderr == ""


def test_a_result_in_memory_leaves_nothing(scenario: dict[str, Any], tmp_path: Path) -> None:
    assert "delays" in rerun.repeated(xoff.run(scenario), {0}, tmp_path / "result").tables
    assert list(tmp_path.iterdir()) == []


def test_nothing_of_others_is_replaced(xoff_here: Command, kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    xoff.run(kept / "scenario.json", overrides={"seed": 9}, out=other)
    before = (other / "summary.json").read_bytes()
    (kept / "explain").symlink_to(other)
    done = xoff_here("explain", kept, "--flow", "2")
    assert (done.returncode, "is a link" in done.stderr) == (0, True)
    assert (other / "summary.json").read_bytes() == before
    # A folder of the user's is no kept run, and stays; what a killed process left does not stand in the way.
    (kept / "explain").unlink()
    (kept / "explain").mkdir()
    (kept / "explain" / "notes.txt").write_text("mine")
    assert xoff_here("run", kept / "scenario.json", "--out", kept, "--force").returncode == 2
    (kept / "explain" / "notes.txt").unlink()
    (kept / ".explain.partial-01234567").mkdir()
    assert xoff_here("run", kept / "scenario.json", "--out", kept).returncode == 0


def test_a_result_that_cannot_be_written_to_is_explained(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xoff.Result, "save", full)
    found = rerun.repeated(rerun.given(kept), {2}, kept)
    assert "delays" in found.tables
    assert "the repeated run is not kept" in capsys.readouterr().err
    assert not (kept / "explain").exists()


def test_what_cannot_be_answered_is_refused_before_a_run(xoff_here: Command, tmp_path: Path) -> None:
    document = {
        "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"collective": {"operation": "all_reduce", "algorithm": "ring", "size": "40KB"}}],
    }
    xoff.sweep({"scenario": document}, out=tmp_path / "study")
    [run] = (tmp_path / "study" / "named").iterdir()
    done = xoff_here("explain", run, "--worst", "3")
    assert done.returncode == 2
    assert done.stderr == "xoff: error: --worst: all flows are connections of jobs; use --job\n"
    assert "repeats" in xoff_here("explain", run).stderr
    # The run has been repeated for its tables, and is kept.
    assert xoff_here("explain", run, "--job", "--no-what-if").stderr == ""


def test_a_run_of_a_study_that_reads_tables_is_explained(xoff_here: Command, tmp_path: Path) -> None:
    rows = pa.table({"src": ["host1", "host2"], "dst": ["host0", "host0"], "size": ["50KB", "60KB"]})
    place = tmp_path / "given"
    place.mkdir()
    pq.write_table(rows, place / "flows.parquet")
    document = {
        "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "workload": [{"table": "flows.parquet"}],
    }
    (place / "base.json").write_text(json.dumps(document))
    study = {"base": "base.json", "axes": {"switch.forwarding_latency": ["0ns", "1us"]}}
    (place / "study.json").write_text(json.dumps(study))
    xoff.sweep(place / "study.json", out=tmp_path / "study")
    for file in place.iterdir():
        file.unlink()
    runs = sorted((tmp_path / "study" / "named").iterdir())
    assert len(runs) == 2
    for run in runs:
        done = xoff_here("explain", run, "--flow", "1", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["flow"]["flow"] == 1
    # One file for the content that both runs read.
    assert len(list((tmp_path / "study" / "runs" / "inputs").iterdir())) == 1


def test_a_run_that_failed_is_explained(xoff_here: Command, tmp_path: Path) -> None:
    # Flow 0 to host1; host1 receives nothing while the switch is paused forever.
    document = {
        "network": {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}},
        "switch": {
            "buffer": {"per_port": "200KB"},
            "flow_control": {"pfc": {"xoff": "20KB"}},
            "faults": {"lose_resumes": 2},
        },
        "workload": [{"incast": {"senders": [1, 2], "receiver": 0, "size": "200KB"}}],
    }
    with pytest.raises(xoff.AuditError):
        xoff.run(document, out=tmp_path / "stuck")
    done = xoff_here("explain", tmp_path / "stuck.failed", "--flow", "0", "--pauses")
    assert done.returncode == 0
    assert "was not delivered. The parts cover the time at the source until the end of the run." in done.stdout
    assert "paused by PFC" in done.stdout
    answer = json.loads(xoff_here("explain", tmp_path / "stuck.failed", "--flow", "0", "--json").stdout)
    assert answer["flow"]["fct_ps"] is None
    assert answer["flow"]["worst"]["kind"] in {"paused", "awaiting_ack"}


def test_what_is_not_there_is_refused(xoff_here: Command, kept: Path, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        done = xoff_here("explain", kept, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        return done.stderr

    assert "--flow 7: out of range; allowed are 0 to 2" in refused("--flow", "7")
    assert "--port switch0:9: switch0 has ports 0 to 3" in refused("--port", "switch0:9")
    assert "nodes are such as switch0" in refused("--port", "swich0:1")
    assert "--port 3: name a node and a port" in refused("--port", "3")
    assert xoff_here("explain", tmp_path / "nothing").returncode == 2
    # Of another version, or changed by hand.
    summary = json.loads((kept / "summary.json").read_text())
    (kept / "summary.json").write_text(json.dumps(summary | {"fingerprint": "00"}))
    assert "another fingerprint" in xoff_here("explain", kept).stderr


def test_flows_that_are_not_there_cannot_be_traced(scenario: dict[str, Any]) -> None:
    with pytest.raises(xoff.InputError, match=r"probe\.delays: unknown flow 3; the scenario has flows 0 to 2"):
        xoff.run({**scenario, "probe": {"delays": [0, 3]}})
    for wrong in ("some", 3, [1.5], [-1], {"flow": 3}):
        with pytest.raises(xoff.InputError, match=r"probe\.delays"):
            xoff.run({**scenario, "probe": {"delays": wrong}})
    assert "delays" not in xoff.run({**scenario, "probe": {"delays": []}}).tables


def test_names_are_only_names(xoff_here: Command, tmp_path: Path) -> None:
    names = ["[red]h0[/red]", "=cmd()", "<b>h2</b>"]
    nodes = [{"name": name, "kind": "host"} for name in names] + [{"name": "[s]", "kind": "switch"}]
    links = [{"a": name, "b": "[s]", "rate": "100Gbps", "delay": "1us"} for name in names]
    document = {
        "network": {"explicit": {"nodes": nodes, "links": links}},
        "workload": [{"incast": {"senders": names[1:], "receiver": names[0], "size": "10KB"}}],
    }
    xoff.run(document, out=tmp_path / "named")
    done = xoff_here("explain", tmp_path / "named", "--flow", "0", "--worst", "2", "--port", "[s]:0")
    assert done.returncode == 0
    assert "[red]h0[/red]" in done.stdout
    assert "[s] port 0 (to [red]h0[/red])" in done.stdout
