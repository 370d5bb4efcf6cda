"""What is shown of a job beside its summary: traces, figures, pages, explanations, metrics of studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import job_plots
from xoff.exporting import perfetto
from xoff.report import run_page
from xoff.study.metrics import metrics, possible

SCENARIO: dict[str, Any] = {
    "network": {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}},
    "workload": [
        {
            "name": "job $x$ <b>",
            "training": {
                "model": {"layers": 2, "hidden": 64, "heads": 4, "sequence": 64, "vocabulary": 500},
                "parallel": {"tensor": 2, "pipeline": 2},
                "compute": {"peak": 1e12, "jitter": 0.1},
                "iterations": 2,
            },
        }
    ],
}


@pytest.fixture(scope="module")
def result() -> xoff.Result:
    return xoff.run(SCENARIO)


def test_a_trace_has_a_track_a_rank_and_an_arrow_a_message(result: xoff.Result, tmp_path: Path) -> None:
    messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", exc_type=ImportError)
    perfetto.write(result, tmp_path / "trace", [])
    trace = messages.Trace()
    trace.ParseFromString((tmp_path / "trace").read_bytes())
    names = [p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")]
    assert [name for name in names if "rank" in name] == [f"job $x$ <b>: rank {n} at host{n}" for n in range(4)]
    events = [p.track_event for p in trace.packet if p.HasField("track_event")]
    sent = [flow for event in events for flow in event.flow_ids]
    received = [flow for event in events for flow in event.terminating_flow_ids]
    pairs = sum(1 for row in result.operations.to_pylist() if row["kind"] == "send")
    assert len(sent) == pairs > 0
    assert sorted(sent) == sorted(received)
    named = [event.name for event in events if event.name.startswith("attention forward of layer 0")]
    assert len(named) == 2 * 2 * 2


def test_the_page_shows_ranks_over_time(result: xoff.Result) -> None:
    page = run_page.build(result)
    assert [one.title for one in page.jobs] == [
        "job $x$ <b>: ranks over time",
        "job $x$ <b>: what an iteration went by with",
    ]
    assert {"job", "job_parts"} <= set(page.figures)
    (table,) = (table for table in page.tables if table.title.startswith("Ranks"))
    assert len(table.rows) == 4
    facts = dict(page.facts)
    assert "2 of 2 completed" in facts["job $x$ <b>: iteration"]


def test_figures_keep_within_their_canvas(result: xoff.Result) -> None:
    (job,) = job_plots.names(result.operations)
    for figure in (job_plots.gantt(result.operations, result.jobs, job), job_plots.bars(result.jobs, job)):
        figure.draw_without_rendering()
        drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert min(drawn.x0, drawn.y0) >= -0.01
        assert drawn.x1 <= width + 0.01
        assert drawn.y1 <= height + 0.01


def test_what_the_time_went_by_with_are_metrics_of_studies(result: xoff.Result) -> None:
    found = metrics(result.summary)
    job = result.summary["workloads"]["job $x$ <b>"]["job"]
    assert found["job_x_b_job_iteration_ps"] == job["iteration_ps"]
    assert found["job_x_b_job_groups_TP_exposed_ps"] == job["groups"]["TP"]["exposed_ps"]
    assert found["job_x_b_job_mfu"] == job["mfu"]
    assert set(found) <= possible(result.scenario)


def test_a_job_is_explained_from_a_run_without_delays(xoff_here: Command, result: xoff.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "kept")
    done = xoff_here("explain", "kept", "--job", "--json")
    assert (done.returncode, "repeats the run of kept" in done.stderr) == (0, True)
    (job,) = json.loads(done.stdout)["jobs"]
    end = max(row["end_ps"] for row in result.operations.to_pylist())
    assert job["time_ps"] == end == sum(job["by_cause"].values()) == sum(job["by_label"].values())
    assert sum(step["end_ps"] - step["start_ps"] for step in job["path"]) == end
    assert len(job["slack"]) == result.operations.num_rows
    # A result whose flows are all connections is one of jobs: nothing has to be asked.
    text = xoff_here("explain", "kept").stdout
    assert "along its critical path" in text
    done = xoff_here("explain", "kept", "--job", "--flow", "0")
    assert (done.returncode, "a question of its own" in done.stderr) == (2, True)


def test_explaining_a_run_without_a_job_says_so(xoff_here: Command, scenario: dict[str, Any], tmp_path: Path) -> None:
    xoff.run(scenario).save(tmp_path / "kept")
    done = xoff_here("explain", "kept", "--job")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the result has no job" in done.stderr
