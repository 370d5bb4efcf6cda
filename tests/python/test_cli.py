"""Everyday use: formats of figures, folders of studies, all rows of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

import xoff
from small import Command
from xoff import report

STUDY = """
base = "{base}"
seeds = 1
metrics = ["fct_mean_ps"]

[axes]
"workload[0].incast.size" = {{ from = "10KB", to = "{to}", step = "10KB" }}
"""


def test_figures_come_in_the_formats_that_are_asked_for(xoff_here: Command, scenario_file: Path) -> None:
    place = scenario_file.parent / "result"
    assert xoff_here("run", scenario_file, "--out", place).returncode == 0
    done = xoff_here("report", place, "--format", "pdf", "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert "as SVG and PDF" in " ".join(done.stdout.split())
    assert not (place / "report.html").exists()
    drawn = sorted(file.name for file in (place / "figures").iterdir())
    assert {name.rpartition(".")[2] for name in drawn} == {"pdf", "svg"}
    before = {name: (place / "figures" / name).read_bytes() for name in drawn}
    xoff_here("report", place, "--format", "pdf", "--format", "svg")
    assert before == {name: (place / "figures" / name).read_bytes() for name in drawn}
    # Words can be searched for in a PDF and edited in an SVG.
    assert all(b"/FontFile2" in content for name, content in before.items() if name.endswith(".pdf"))
    assert any(b"<text" in content for name, content in before.items() if name.endswith(".svg"))
    assert xoff_here("report", place, "--format", "html").returncode == 0
    assert (place / "report.html").is_file()


def test_an_unknown_format_is_refused(xoff_here: Command, scenario_file: Path) -> None:
    place = scenario_file.parent / "result"
    xoff.run(scenario_file, out=place)
    done = xoff_here("report", place, "--format", "gif")
    assert done.returncode == 2
    assert "--format: `gif` is not known; allowed are html, svg, png, pdf" in done.stderr
    assert not (place / "figures").exists()
    with pytest.raises(xoff.InputError, match="--format"):
        report.write(place, formats=["tiff"])


def test_studies_of_one_name_are_kept_apart(
    xoff_here: Command, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scenario_file.parent)
    for folder, to in (("a", "20KB"), ("b", "30KB"), (".", "40KB")):
        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / "study.toml").write_text(STUDY.format(base=scenario_file, to=to))
        done = xoff_here("sweep", Path(folder) / "study.toml")
        assert done.returncode == 0, done.stderr
    kept = {path.name: len(xoff.Study.open(path).runs) for path in Path("out").iterdir()}
    assert kept == {"a-study": 2, "b-study": 3, "study": 4}
    Path("a/inner").mkdir()
    monkeypatch.chdir("a/inner")
    assert xoff_here("sweep", "../../b/study.toml").returncode == 0
    assert [path.name for path in Path("out").iterdir()] == ["b-study"]


def test_all_points_are_printed_on_request(
    xoff_here: Command, scenario_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scenario_file.parent)
    Path("study.toml").write_text(STUDY.format(base=scenario_file, to="320KB"))
    few = xoff_here("sweep", "study.toml").stdout
    assert "and 2 more points (--all prints them)" in few
    assert "320" not in few
    assert "320" in xoff_here("sweep", "study.toml", "--all").stdout
