"""Outputs about a job beside its summary: traces, figures, pages, explanations, metrics of studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import xoff
from small import Command
from xoff import formatting, plots, report
from xoff.exporting import fct, perfetto
from xoff.plots import jobs as job_plots
from xoff.report import run_page, study_page, summary
from xoff.report.page import Table
from xoff.results import connections
from xoff.study import Study
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


def test_messages_inside_a_server_are_no_connection() -> None:
    class Recorded:
        tables: ClassVar = ["flows", "messages", "operations"]

        def table(self, name: str) -> pa.Table:
            rows = {
                "messages": {"flow": [3, None, 3], "start_ps": [0, 1, 2], "fct_ps": [5, 5, 5], "workload": ["a"] * 3},
                "flows": {"flow": [3], "fct_ps": [7], "workload": ["a"]},
                "operations": {"workload": ["a"]},
            }
            return pa.table(rows[name])

    assert connections.ends(Recorded()) == {3: 7}


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


def together(table: Table) -> int:
    """Adds up the second column of a table."""
    return int(sum(float(row[1].key or 0) for row in table.rows))


def test_the_page_of_a_job_begins_with_its_time_and_its_path(result: xoff.Result) -> None:
    page = run_page.build(result)
    (job,) = page.jobs
    assert job.title == "job $x$ <b>"
    assert [what for what, _ in job.facts[:4]] == [
        "iteration, mean", "iteration, 99th percentile", "iteration, longest", "exposed communication",
    ]  # fmt: skip
    numbers: Any = result.summary["workloads"][job.title]["job"]
    parts, *path = job.tables
    assert [row[0].text for row in parts.rows] == ["computing", "exposed PP", "exposed TP", "waiting for other ranks"]
    # Each of the four is a mean that was rounded down.
    assert together(parts) <= numbers["iteration_ps"] < together(parts) + len(parts.rows)
    assert [table.title for table in path] == ["Critical path, by label", "Critical path, by operation"]
    for table in path:
        assert together(table) == max(result.operations["end_ps"].to_pylist())
    assert [one.title for one in job.pictures] == ["Breakdown of an iteration", "Ranks over time"]
    assert {"job", "job_parts"} <= set(page.figures)
    (table,) = (table for table in page.tables if table.title.startswith("Ranks"))
    assert len(table.rows) == 4
    facts = dict(page.facts)
    assert "2 of 2 completed" in facts["job $x$ <b>: iteration"]
    text = report.render(page)
    assert text.index('id="jobs"') < text.index('id="charts"') < text.index('id="tables"')


def test_causes_of_the_path_are_shown_where_delays_were_written_down() -> None:
    result = xoff.run(SCENARIO, overrides={"probe.delays": "all"})
    (job,) = run_page.build(result).jobs
    assert [table.title for table in job.tables][1] == "Critical path, by cause"
    assert together(job.tables[1]) == max(result.operations["end_ps"].to_pylist())


def test_charts_and_figures_of_a_job_are_of_its_messages(result: xoff.Result) -> None:
    times = plots.measured(result)
    assert times.num_rows == result.summary["workloads"]["job $x$ <b>"]["flows"]["completed"] == 192
    page = run_page.build(result)
    assert [group["title"] for group in page.charts] == [
        "Completion times of messages",
        "Slowdown by message size, in bins of equally many messages",
    ]
    for group in page.charts:
        (chart,) = group["charts"]
        assert chart["x"]["values"]
        assert all(value is not None for series in chart["series"] for value in series["values"])
    (axes,) = result.plot.fct_cdf().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("message completion time (µs)", "share of the messages")
    titles = [table.title for table in page.tables]
    assert {"Messages, the slowest first", "Connections, the largest first"} < set(titles)
    assert "Flows, the slowest first" not in titles
    assert all(table.rows for table in page.tables)


def test_flows_and_messages_of_one_run_are_charted_together() -> None:
    flows = [{"src": 0, "dst": 1, "size": "10KB"}, {"src": 2, "dst": 1, "size": "20KB"}]
    result = xoff.run({**SCENARIO, "workload": [*SCENARIO["workload"], {"name": "others", "flows": flows}]})
    times = plots.measured(result)
    assert [(name, part.num_rows) for name, part in plots.groups(times, "workload")] == [
        ("others", 2),
        ("job $x$ <b>", 192),
    ]
    assert plots.subject([("all", times)]) == "flows and messages"
    for figure in (result.plot.fct_cdf(), result.plot.fct_bars(), result.plot.slowdown_by_size()):
        figure.draw_without_rendering()


def test_the_page_of_a_job_that_did_not_end_has_no_path() -> None:
    result = xoff.run({**SCENARIO, "until": "100us"})
    (job,) = run_page.build(result).jobs
    assert dict(job.facts) == {"iterations": "0 of 2 completed", "ranks": "4"}
    assert (list(job.tables), list(job.notes)) == ([], ["No critical path: the job did not end."])
    assert report.render(run_page.build(result))


@pytest.mark.parametrize("connections", ["persistent", "per_message"])
def test_the_page_of_a_collective(connections: str) -> None:
    ring = {"operation": "all_reduce", "algorithm": "ring", "size": "40KB"}
    workload = [{"name": "ring", "collective": ring, "connections": connections}]
    page = run_page.build(xoff.run({**SCENARIO, "workload": workload}))
    assert all(table.rows for table in page.tables)
    assert all(series["values"] for group in page.charts for one in group["charts"] for series in one["series"])
    if connections == "persistent":
        (job,) = page.jobs
        assert [what for what, _ in job.facts] == ["time", "bus bandwidth", "algorithm bandwidth"]
        assert job.tables[0].title == "Critical path, by label"


def test_figures_keep_within_their_canvas(result: xoff.Result) -> None:
    (job,) = job_plots.names(result.operations)
    for figure in (
        job_plots.activity(result.operations, result.jobs, job).figure(),
        job_plots.breakdown(result.jobs, job).figure(),
    ):
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
    # A result with connections alone is a result of jobs, and needs no option.
    text = xoff_here("explain", "kept").stdout
    assert "along its critical path" in text
    done = xoff_here("explain", "kept", "--job", "--flow", "0")
    assert (done.returncode, "excludes --flow" in done.stderr) == (2, True)


def test_explaining_a_run_without_a_job_says_so(xoff_here: Command, scenario: dict[str, Any], tmp_path: Path) -> None:
    xoff.run(scenario).save(tmp_path / "kept")
    done = xoff_here("explain", "kept", "--job")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the result has no job" in done.stderr


def test_a_connection_lasts_until_its_last_message_and_has_no_time_of_its_own(
    result: xoff.Result, tmp_path: Path
) -> None:
    last = connections.ends(result)
    assert set(last) == set(result.flows["flow"].to_pylist())
    assert max(end or 0 for end in last.values()) <= result.summary["simulated_ps"]
    written = fct.write(result, tmp_path / "fct.txt", [])
    assert written.parts == {"flows": 0}
    assert written.notes == ("8 connections of jobs are left out: completion times belong to messages",)
    cut = xoff.run({**SCENARIO, "until": "100us"})
    ends = connections.ends(cut)
    assert set(ends) == set(cut.flows["flow"].to_pylist())
    assert None in ends.values()


def test_lines_and_sentences_of_a_job_are_of_messages(result: xoff.Result) -> None:
    lines = dict(result.rows())
    assert next(iter(dict(result.rows()[1:]))) == "job $x$ <b>: iteration"
    assert lines["messages"] == "192 of 192 completed"
    assert "FCT of messages, mean" in lines
    assert "flows" not in lines
    first, second, third = summary.sentences(result)
    job: Any = result.summary["workloads"]["job $x$ <b>"]["job"]
    took = f"{formatting.time(job['iteration_ps'])}: {job['compute_ps'] / job['iteration_ps']:.1%} computing, "
    assert first.startswith(f"An iteration of job $x$ <b> took {took}")
    assert second.startswith("192 of 192 messages were delivered; ")
    assert third.startswith("In the network no packet was lost")


def test_the_page_of_a_study_of_jobs_has_no_empty_chart(tmp_path: Path) -> None:
    plan = {"name": "jobs", "scenario": SCENARIO, "axes": {"network.star.link.delay": ["1us", "2us"]}}
    study = Study(plan, tmp_path / "study")
    study.run()
    page = study_page.build(study)
    assert all(group["charts"] for group in page.charts)
    assert {"fct_cdf", "slowdown_by_size"}.isdisjoint(page.figures)
    assert report.render(page)
