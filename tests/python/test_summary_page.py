"""``xoff report --summary``: one page of sentences about the run, the study or the search."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

import xoff
from small import Command
from test_tune import packet_study
from xoff import formatting
from xoff.report import study_page, summary


def test_sentences_on_a_run_have_its_numbers(scenario: dict[str, Any]) -> None:
    result = xoff.run(scenario, overrides={"workload[0].incast.size": "400KB"})
    assert result.summary["pfc"]["pauses"] > 0
    told = summary.sentences(result)
    assert len(told) == 3
    times, found = result.summary["fct_ps"], result.summary
    assert told[0] == (
        f"3 of 3 flows were delivered; half of them took {formatting.time(times['p50'])} at most, 99 of 100 "
        f"{formatting.time(times['p99'])}, and the slowest {formatting.time(times['max'])}."
    )
    assert f"PFC pauses {found['pfc']['pauses']:,}" in told[1]
    assert "no packet was lost" in told[1]
    worst = max(result.flows.to_pylist(), key=lambda row: row["slowdown"])
    assert f"flow {worst['flow']} ({worst['src']} → {worst['dst']}, 400.0 KB)" in told[2]
    assert f"{worst['slowdown']:.2f} times" in told[2]
    # For a run with losses the page reports the losses.
    lossy = {"switch.flow_control": None, "switch.buffer.per_port": "20KB"}
    lost = xoff.run(scenario, overrides=lossy)
    assert f"{lost.summary['drops']:,} packets were lost" in summary.sentences(lost)[1]


def test_sentences_on_a_study_have_its_means(scenario: dict[str, Any], tmp_path: Path) -> None:
    variants = {"near": {}, "far": {"switch": {"forwarding_latency": "5us"}}}
    study = xoff.sweep(
        {"scenario": scenario, "variants": variants, "seeds": 2, "metrics": ["fct_mean_ps", "pfc_pauses"]},
        out=tmp_path / "study",
    )
    told = summary.study_sentences(study)
    means = {mean.point["variant"]: mean.interval.mean for mean in study.means("fct_mean_ps")}
    assert told[0].startswith(f"FCT mean is lowest, {formatting.number(means['near'] / 1e6, 4)}")
    assert f"highest, {formatting.number(means['far'] / 1e6, 4)}" in told[0]
    assert ", with near, and" in told[0]
    assert ", with far, " in told[0]
    share = f"{means['far'] / means['near'] - 1:+.1%}"
    assert told[1].startswith(f"Against near, far changes FCT mean {share} (beyond chance)")
    assert told[2] == "The study is 4 runs, and all have a result."


def test_sentences_on_a_search_have_what_it_found(tmp_path: Path) -> None:
    tuning = xoff.tune(packet_study(runs=16, confirm=2), out=tmp_path / "tuned")
    found = study_page.searched(xoff.Study.open(tmp_path / "tuned"))
    assert found is not None
    told = summary.search_sentences(found)
    mean = tuning.best[0].unseen["fct_mean_ps"].mean
    assert told[0].startswith("Of 16 settings that were tried the best has FCT mean ")
    assert f"{formatting.number(mean / 1e6, 4)} µs over 2 unseen seeds: {tuning.best[0].words}." in told[0]
    relative = tuning.best[0].against["fct_mean_ps"].relative
    assert f"{relative:+.1%} against the scenario as it was" in told[-1]
    assert summary.search_sentences(found | {"best": []}) == [
        "None of the 16 settings that were tried keeps the limits."
    ]


def test_long_words_of_a_point_leave_room_for_the_number(scenario: dict[str, Any], tmp_path: Path) -> None:
    scenario["network"]["star"]["hosts"] = 40
    axes = {"workload[0].incast.senders": [[1, 2, 3], [f"host{number}" for number in range(1, 40)]]}
    study = xoff.sweep({"scenario": scenario, "axes": axes}, out=tmp_path / "study")
    (first, *_) = summary.study_sentences(study)
    assert first.count(" µs") == 2
    assert len(first) < 340


def test_a_page_holds_all_and_is_the_same_each_time(scenario_file: Path, xoff_here: Command) -> None:
    xoff.run(scenario_file, out=scenario_file.parent / "result")
    done = xoff_here("report", "result", "--summary")
    assert done.returncode == 0, done.stderr
    png, pdf = (scenario_file.parent / "result" / f"summary.{form}" for form in ("png", "pdf"))
    assert not (scenario_file.parent / "result" / "report.html").exists()
    # A4 at 300 dots an inch: no text needed a larger canvas.
    width, height = struct.unpack(">II", png.read_bytes()[16:24])
    assert (width, height) == (2481, 3507)
    # Searchable words.
    assert b"/FontFile2" in pdf.read_bytes()
    before = pdf.read_bytes(), png.read_bytes()
    assert xoff_here("report", "result", "--summary").returncode == 0
    assert before == (pdf.read_bytes(), png.read_bytes())


def test_long_questions_and_many_settings_stay_on_the_page(scenario: dict[str, Any], tmp_path: Path) -> None:
    many = [{"name": f"traffic {index}", **scenario["workload"][0], "start": f"{index}us"} for index in range(40)]
    for one in many:
        one["name"] = f"{one['name']} of a very long name that goes on and on"
    long = scenario | {
        "description": "Why? " * 200,
        "workload": [one | {"name": f"{n} {one['name']}"} for n, one in enumerate(many)],
    }
    xoff.run(long, out=tmp_path / "result")
    png, _ = sorted(summary.write(tmp_path / "result"), reverse=True)
    assert struct.unpack(">II", png.read_bytes()[16:24]) == (2481, 3507)


def test_what_makes_no_sense_is_refused(scenario_file: Path, xoff_here: Command) -> None:
    assert "holds neither a result" in xoff_here("report", scenario_file.parent, "--summary").stderr
    xoff.run(scenario_file, out=scenario_file.parent / "result")
    assert "--summary: is a PDF and a PNG" in xoff_here("report", "result", "--summary", "--format", "svg").stderr
    with pytest.raises(xoff.InputError, match="holds neither"):
        summary.write(scenario_file.parent)
