"""Suspicious, missing or unjudged results are reported wherever results are shown, and never look like success."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from xoff import InputError, report
from xoff.study import Study, metrics
from xoff.study.store import write_failure

# A congestion control without any signal from a switch.
_UNHEARD = "host.congestion_control.dcqcn"
_WARNING = "host.congestion_control.dcqcn: DCQCN never reacts"


def test_a_warning_reaches_run_json_page_and_notebook(scenario_file: Path, xoff_here: Command) -> None:
    setting = f"{_UNHEARD}={{}}"
    done = xoff_here("run", scenario_file, "--set", setting, "--out", "result")
    assert _WARNING in done.stdout
    (warning,) = json.loads(xoff_here("run", scenario_file, "--set", setting, "--json").stdout)["warnings"]
    assert f"{warning['path']}: {warning['message']}".startswith(_WARNING)
    place = scenario_file.parent / "result"
    assert warning in xoff.check(scenario_file, overrides={_UNHEARD: {}})["warnings"]
    assert _WARNING in xoff.load(place)._repr_html_()
    assert _WARNING in report.write(place, formats=["html"]).read_text("utf-8")


def test_a_warning_reaches_sweep_and_the_page_of_a_study(scenario_file: Path, xoff_here: Command) -> None:
    (scenario_file.parent / "study.toml").write_text(
        'base = "small.toml"\nkeep = []\n[axes]\n"host.congestion_control.dcqcn" = [{}]\n'
        '"switch.forwarding_latency" = ["1us", "2us"]\n'
    )
    done = xoff_here("sweep", "study.toml", "--out", "study")
    assert f"xoff: warning: {_WARNING}" in done.stderr
    assert "(2 of 2 runs)" in done.stderr
    ((told, count),) = json.loads(xoff_here("sweep", "study.toml", "--out", "study", "--json").stdout)[
        "warnings"
    ].items()
    assert told.startswith(_WARNING)
    assert count == 2
    assert _WARNING in report.write(scenario_file.parent / "study", formats=["html"]).read_text("utf-8")


@pytest.mark.parametrize(("rates", "is_told"), [(("100Gbps", "40Gbps"), True), (("100Gbps", "100Gbps"), False)])
def test_ecmp_over_unequal_rates_is_warned_of(rates: tuple[str, str], is_told: bool) -> None:
    hosts = [{"name": f"h{index}", "kind": "host"} for index in range(2)]
    switches = [{"name": name, "kind": "switch"} for name in ("left", "right", "a", "b")]
    pairs = [("h0", "left"), ("h1", "right"), ("left", "a"), ("a", "right"), ("left", "b"), ("b", "right")]
    links = [
        {"a": one, "b": other, "delay": "1us", "rate": rates[1] if "b" in {one, other} else rates[0]}
        for one, other in pairs
    ]
    scenario: dict[str, Any] = {
        "network": {"explicit": {"nodes": hosts + switches, "links": links}},
        "workload": [{"flows": [{"src": "h0", "dst": "h1", "size": "10KB"}]}],
    }
    found = [one["message"] for one in xoff.check(scenario)["warnings"]]
    assert any("ECMP divides flows evenly" in one for one in found) == is_told
    if is_told:
        # A scheme that reads queues may do better, and gets no warning.
        sprayed = scenario | {"switch": {"routing": {"spray": {}}}}
        assert not [one for one in xoff.check(sprayed)["warnings"] if "ECMP" in one["message"]]


def test_a_run_that_was_cut_says_that_completion_was_not_judged(scenario: dict[str, Any]) -> None:
    cut = xoff.run(scenario, overrides={"until": "3us"})
    assert cut.audits["completion"] == "cut: 3 of 3 flows had not ended at the end of the run"
    assert cut.ok
    assert dict(cut.rows())["audits"].startswith("completion cut: 3 of 3")
    # All flows were over by then: the check had nothing to judge.
    assert xoff.run(scenario, overrides={"until": "10ms"}).audits["completion"] == "ok"


def test_the_way_of_a_flow_is_in_its_row(scenario: dict[str, Any]) -> None:
    assert xoff.run(scenario).flows["via"].to_pylist() == ["switch0"] * 3
    sprayed = xoff.run(scenario, overrides={"switch.routing.spray": {}, "host.transport.irn": {}})
    assert sprayed.flows["via"].to_pylist() == [""] * 3


def test_each_point_says_how_many_seeds_have_a_result(scenario_file: Path, xoff_here: Command) -> None:
    place = scenario_file.parent / "study"
    (scenario_file.parent / "study.toml").write_text(
        'base = "small.toml"\nkeep = []\nseeds = 3\nmetrics = ["drops"]\n'
        '[axes]\n"switch.forwarding_latency" = ["1us", "2us", "3us"]\n'
    )
    assert "seeds" not in xoff_here("sweep", "study.toml", "--out", "study").stdout.splitlines()[1]
    study = Study.open(place)
    # One seed of the second point fails, and each seed of the third.
    for run in [run for run in study.plan.runs if run.point.index == 2] + [study.plan.runs[4]]:
        study.store.remove(run.key)
        with study.store.workspace() as work:
            audits = {"loss": "failed: 7 packets of a lossless class were dropped", "order": "ok"}
            write_failure(work / run.key, "audit", "loss: 7 packets", audits)
            study.store.publish(work / run.key, run.key, ())
    assert repr(Study.open(place)) == "<xoff.Study study: 5 of 9 runs, 4 failed>"
    shown = Study.open(place)._repr_html_()
    assert [f"<td>{count} of 3</td>" in shown for count in (3, 2, 1, 0)] == [True, True, False, True]
    done = xoff_here("sweep", "study.toml", "--out", "study")
    assert done.returncode == 1
    rows = [line.split() for line in done.stdout.splitlines() if " of 3" in line and "µs" in line]
    assert [row[:5] for row in rows] == [
        [n, "µs", count, "of", "3"] for n, count in (("1", "3"), ("2", "2"), ("3", "0"))
    ]
    found = json.loads(xoff_here("sweep", "study.toml", "--out", "study", "--json").stdout)["means"]
    assert [(one["seeds"], one["of_seeds"]) for one in found] == [(3, 3), (2, 3)]
    page = report.write(place, formats=["html"]).read_text("utf-8")
    assert all(f"{count} of 3" in page for count in (3, 2, 0))
    # No green badge over a failure.
    assert '<li class="not-passed" title="no packet of a lossless class is dropped"><b>loss</b> failed' in page


@pytest.mark.parametrize("wrong", ["fct_man_ps", "pfc_pause", "incast_fct_p98_ps"])
def test_metrics_are_checked_before_the_first_run(scenario: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    right = {"fct_man_ps": "fct_mean_ps", "pfc_pause": "pfc_pauses", "incast_fct_p98_ps": "incast_fct_p999_ps"}[wrong]
    with pytest.raises(InputError, match=rf"metrics: unknown column `{wrong}`; did you mean `{right[:14]}"):
        Study({"base": scenario, "metrics": ["drops", wrong]}, tmp_path / "study")


@pytest.mark.parametrize("file", ["incast.toml", "websearch.toml"])
def test_the_metrics_that_are_possible_are_those_of_runs(file: str) -> None:
    example = Path(__file__).resolve().parents[2] / "examples" / file
    result = xoff.run(example, overrides={"probe.size_classes": ["10KB", "100KB"]})
    assert metrics.possible(result.scenario) == metrics.metrics(result.summary).keys()


def test_any_metrics_make_a_page(scenario: dict[str, Any], tmp_path: Path) -> None:
    document = {"base": scenario, "metrics": ["drops", "pfc_pauses"], "seeds": 2}
    xoff.sweep(document | {"axes": {"switch.forwarding_latency": ["1us", "2us"]}}, out=tmp_path / "axis")
    xoff.sweep(
        document | {"variants": {"a": {}, "b": {"switch": {"forwarding_latency": "1us"}}}}, out=tmp_path / "variants"
    )
    for name in ("axis", "variants"):
        assert "PFC pauses" in report.write(tmp_path / name, formats=["html"]).read_text("utf-8")


def test_slowdown_is_shown_first_where_sizes_differ(tmp_path: Path, scenario: dict[str, Any]) -> None:
    drawn = scenario | {"workload": [{"poisson": {"load": 0.3, "cdf": [[100, 0], [50000, 100]], "flows": 9}}]}
    assert xoff.sweep({"base": drawn}, out=tmp_path / "a").metrics()[:2] == ["slowdown_p50", "slowdown_p99"]
    assert xoff.sweep({"base": scenario}, out=tmp_path / "b").metrics()[:2] == ["fct_mean_ps", "fct_p99_ps"]
    result = xoff.run(drawn)
    every = sorted(result.flows["slowdown"].to_pylist())
    found = result.summary["slowdown"]
    assert (found["p50"], found["max"]) == (every[4], every[-1])
    assert found["mean"] == pytest.approx(sum(every) / 9)


def test_marks_that_the_given_congestion_control_does_not_use() -> None:
    """HPCC is set and reads telemetry: the advice is to remove the marks, not to set a congestion control."""
    switch = {"ecn": {"step": {"threshold": "100KB"}}, "telemetry": {}}
    star = {"star": {"hosts": 3, "link": {"rate": "100Gbps", "delay": "1us"}}}
    scenario = {"network": star, "switch": switch, "host": {"congestion_control": {"hpcc": {}}}}
    messages = {one["path"]: one["message"] for one in xoff.check(scenario)["warnings"]}
    assert messages["switch.ecn"] == (
        "no host reacts to marks: host.congestion_control is hpcc, which does without; remove it"
    )
    messages = {one["path"]: one["message"] for one in xoff.check({**scenario, "host": {}})["warnings"]}
    assert messages["switch.ecn"] == "no host reacts to marks; set host.congestion_control"
