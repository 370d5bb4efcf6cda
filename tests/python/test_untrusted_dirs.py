"""Foreign or damaged directories: no name becomes a path, a formula or a tag, no type a traceback."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xoff
from params import first_fast
from patience import PATIENCE_SECONDS
from small import TOML, Command
from stopping import PLACED, go_on, stopped
from xoff import InputError, formatting, plots, report
from xoff.files import memory
from xoff.study import Study


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("fct_mean_ps", "fct_mean_ps"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("/etc/x", "_etc_x"),
        (".hidden", "hidden"),
        ("", "unnamed"),
        ("..", "unnamed"),
        ("a\x00b\nc", "a_b_c"),
        ("x" * 300, "x" * 100),
    ],
)
def test_a_name_is_no_path(name: str, file: str) -> None:
    assert formatting.file_name(name) == file


def _study(place: Path, scenario: dict[str, Any]) -> Path:
    xoff.sweep({"base": scenario, "axes": {"switch.forwarding_latency": ["1us", "2us"]}, "keep": []}, out=place)
    return place


def test_a_metric_of_somebody_else_is_no_path(scenario: dict[str, Any], tmp_path: Path) -> None:
    place = _study(tmp_path / "deep" / "study", scenario)
    evil = "../../../evil_fct_mean"
    for file in (place / "runs").glob("*/summary.json"):
        summary = json.loads(file.read_text())
        file.write_text(json.dumps(summary | {f"{evil}_ps": 5}))
    document = json.loads((place / "study.json").read_text())
    (place / "study.json").write_text(json.dumps(document | {"metrics": [f"{evil}_ps"]}))
    report.write(place)
    assert {path.name for path in tmp_path.iterdir()} == {"deep"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == {"study"}
    assert (place / "figures" / "_.._.._evil_fct_mean_ps.svg").is_file()


@pytest.mark.parametrize("key", ["../../x", "/etc", "0" * 23, "g" * 24, 7])
def test_a_key_of_a_run_is_no_path(scenario: dict[str, Any], tmp_path: Path, key: object) -> None:
    place = _study(tmp_path / "study", scenario)
    document = json.loads((place / "study.json").read_text())
    document["runs"][0][2] = key
    (place / "study.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="is not the directory of a study"):
        Study.open(place)


def test_names_are_plain_text_in_figures_and_on_pages(scenario: dict[str, Any], tmp_path: Path) -> None:
    names = ["$\\frac{", "a\x00b\x1b[31m", "<script>alert(1)</script>", "half \ud83d a sign"]
    workload = scenario["workload"][0]
    place = xoff.run(scenario | {"workload": [workload | {"name": f"n{i}"} for i in range(4)]}, out=tmp_path / "r")
    assert place.directory is not None
    summary = json.loads((place.directory / "summary.json").read_text())
    summary["name"] = "".join(names)
    (place.directory / "summary.json").write_text(json.dumps(summary))
    document = json.loads((place.directory / "scenario.json").read_text())
    (place.directory / "scenario.json").write_text(json.dumps(document | {"name": names[2] + names[3]}))
    flows = pq.read_table(place.directory / "flows.parquet")
    column = flows.column_names.index("workload")
    renamed = [names[int(name[1:])].encode("utf-8", "replace").decode() for name in flows["workload"].to_pylist()]
    pq.write_table(flows.set_column(column, "workload", [renamed]), place.directory / "flows.parquet")
    page = report.write(place.directory).read_text("utf-8")
    assert "<script>alert" not in page
    svg = (place.directory / "figures" / "fct_bars.svg").read_text("utf-8")
    assert "\x00" not in svg
    assert "\\frac{" in svg
    figure = xoff.load(place.directory).plot.fct_cdf()
    assert plots.save(figure, tmp_path, "again")


def _damaged(value: Any, draw: random.Random) -> Any:
    """Returns the value with one part replaced by a value of another type."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(sorted(value))
        return value | {key: _damaged(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.85:
        index = draw.randrange(len(value))
        return [*value[:index], _damaged(value[index], draw), *value[index + 1 :]]
    return draw.choice([None, True, -1, 1e300, "x", "\ud800", [], [[]], {}, {"a": {}}])


@pytest.mark.parametrize("seed", first_fast(range(40), 10))
def test_wrong_types_in_documents_end_in_one_message(
    scenario: dict[str, Any], tmp_path: Path, xoff_here: Command, seed: int
) -> None:
    draw = random.Random(seed)
    study = _study(tmp_path / "study", scenario)
    result = tmp_path / "result"
    xoff.run(scenario, out=result)
    files = [study / "study.json", *sorted((study / "runs").glob("*/*.json")), *sorted(result.glob("*.json"))]
    file = draw.choice(files)
    file.write_text(json.dumps(_damaged(json.loads(file.read_text()), draw)))
    # Figures show tables, and rarely words of documents.
    choice = () if seed % 10 == 0 else ("--format", "html")
    for place in (study, result):
        done = xoff_here("report", place, *choice)
        assert done.returncode in {0, 2}, done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.count("xoff: error") == 1
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    (tmp_path / "study.toml").write_text(
        'base = "s.json"\nkeep = []\n[axes]\n"switch.forwarding_latency" = ["1us", "2us"]\n'
    )
    assert xoff_here("sweep", "study.toml", "--out", study).returncode == 0


def test_a_damaged_data_set_is_made_again(scenario: dict[str, Any], tmp_path: Path) -> None:
    document = {"base": scenario, "axes": {"switch.forwarding_latency": ["1us", "2us"]}}
    xoff.sweep(document, out=tmp_path / "study")
    before = {file.name: file.read_bytes() for file in (tmp_path / "study").glob("*.parquet")}
    for name, content in before.items():
        (tmp_path / "study" / name).write_bytes(content[: len(content) // 2])
    xoff.sweep(document, out=tmp_path / "study")
    assert {file.name: file.read_bytes() for file in (tmp_path / "study").glob("*.parquet")} == before


def test_a_data_set_of_another_version_of_the_study_is_made_again(scenario: dict[str, Any], tmp_path: Path) -> None:
    document = {"base": scenario, "axes": {"switch.forwarding_latency": ["1us", "2us"]}}
    xoff.sweep(document, out=tmp_path / "study")
    older = (tmp_path / "study" / "runs.parquet").read_bytes()
    wider = {"base": scenario, "axes": {"switch.forwarding_latency": ["1us", "2us", "3us"]}}
    xoff.sweep(wider, out=tmp_path / "study")
    # As if the process of the first version had ended last.
    (tmp_path / "study" / "runs.parquet").write_bytes(older)
    xoff.sweep(wider, out=tmp_path / "study")
    assert pq.read_table(tmp_path / "study" / "runs.parquet").num_rows == 3


def test_tables_of_a_damaged_run_are_refused_by_name(scenario: dict[str, Any], tmp_path: Path) -> None:
    """A missing table, a table that differs from the tables of other runs, and missing or mistyped columns."""
    xoff.sweep({"base": scenario, "axes": {"switch.forwarding_latency": ["1us", "2us"]}}, out=tmp_path / "study")
    study = Study.open(tmp_path / "study")
    place = tmp_path / "study" / "runs" / study.plan.runs[-1].key / "links.parquet"
    whole = pq.read_table(place)
    first = whole.column_names[0]
    for table, why in [
        (whole.append_column("more", whole[first]), "`links` has other columns than the runs before"),
        (whole.drop_columns([first]), f"column `{first}` is missing"),
        (whole.set_column(0, first, [[1] * whole.num_rows]), f"the column `{first}` does not hold texts"),
        (whole.rename_columns([first, *[f"x{i}" for i in range(whole.num_columns - 1)]]), " is missing"),
        (whole.append_column(first, whole[first]), "two columns have one name"),
        (None, "`links` is missing"),
    ]:
        place.unlink()
        if table is not None:
            pq.write_table(table, place)
        with pytest.raises(InputError, match=why) as error:
            study.table("links")
        assert "\n" not in str(error.value)
        assert str(place.parent) in str(error.value)


def test_a_run_without_links_has_a_page(scenario: dict[str, Any], tmp_path: Path) -> None:
    xoff.run(scenario, out=tmp_path / "result")
    file = tmp_path / "result" / "links.parquet"
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    assert "The table of links is empty." in report.write(tmp_path / "result", formats=["html"]).read_text("utf-8")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("runs", []),
        ("impossible", [[0, 1, "why"], [1, 2, "why"]]),
        (
            "points",
            [{"settings": [], "labels": {"switch.forwarding_latency": "host0"}}, {"settings": [], "labels": {}}],
        ),
        ("seeds", [1, 2]),
        ("seeds", [10**30]),
    ],
)
def test_a_plan_that_does_not_fit_together_is_refused(
    scenario: dict[str, Any], tmp_path: Path, part: str, value: Any
) -> None:
    place = _study(tmp_path / "study", scenario)
    document = json.loads((place / "study.json").read_text())
    (place / "study.json").write_text(json.dumps(document | {part: value}))
    with pytest.raises(InputError, match="is not the directory of a study"):
        Study.open(place)


def test_a_run_whose_samples_are_gone_has_a_page(scenario: dict[str, Any], tmp_path: Path) -> None:
    scenario["probe"] = {"queues": "1us"}
    xoff.run(scenario, overrides={"switch.flow_control.pfc.xoff": "20KB"}, out=tmp_path / "result")
    (tmp_path / "result" / "samples.parquet").unlink()
    assert "Queues were not recorded" in report.write(tmp_path / "result", formats=["html"]).read_text("utf-8")


def test_a_run_whose_links_are_gone_has_a_page_without_replay(scenario: dict[str, Any], tmp_path: Path) -> None:
    scenario["probe"] = {"queues": "1us"}
    xoff.run(scenario, overrides={"switch.flow_control.pfc.xoff": "20KB"}, out=tmp_path / "result")
    (tmp_path / "result" / "links.parquet").unlink()
    page = report.write(tmp_path / "result", formats=["html"]).read_text("utf-8")
    assert "Queues over time" not in page
    assert "replay-data" not in page


@pytest.mark.parametrize("part", ["fingerprint", "flows", "audits"])
def test_a_run_whose_summary_lacks_a_part_is_done_again(scenario: dict[str, Any], tmp_path: Path, part: str) -> None:
    place = _study(tmp_path / "study", scenario)
    file = next((place / "runs").glob("*/summary.json"))
    file.write_text(json.dumps({key: value for key, value in json.loads(file.read_text()).items() if key != part}))
    assert Study.open(place).status().missing == 1
    assert Study.open(place).runs.num_rows == 1
    _study(place, scenario)
    assert Study.open(place).status().complete == 2


def test_a_count_beyond_64_bits_is_none(scenario: dict[str, Any], tmp_path: Path) -> None:
    place = _study(tmp_path / "study", scenario)
    file = next((place / "runs").glob("*/summary.json"))
    file.write_text(json.dumps(json.loads(file.read_text()) | {"strange": 10**400}))
    assert Study.open(place).runs["strange"].to_pylist() == [None, None]


def test_tables_of_a_study_whose_runs_are_gone(scenario: dict[str, Any], tmp_path: Path) -> None:
    study = xoff.sweep({"base": scenario}, out=tmp_path / "study")
    shutil.rmtree(tmp_path / "study" / "runs")
    with pytest.raises(InputError, match="no run of this study has a result"):
        study.table("flows")


@pytest.mark.parametrize("part", [{"workload": [{}]}, {"network": {}}, {"workload": [{"flows": [{}]}]}])
def test_a_page_says_that_a_scenario_is_damaged(scenario: dict[str, Any], tmp_path: Path, part: dict[str, Any]) -> None:
    xoff.run(scenario, out=tmp_path / "result")
    (tmp_path / "result" / "scenario.json").write_text(json.dumps(scenario | part))
    page = report.write(tmp_path / "result", formats=["html"]).read_text("utf-8")
    assert "The scenario is damaged, or of another version" in page


def test_numbers_beyond_64_bits_are_no_summary(scenario: dict[str, Any], tmp_path: Path) -> None:
    place = _study(tmp_path / "study", scenario)
    file = next((place / "runs").glob("*/summary.json"))
    summary = json.loads(file.read_text())
    file.write_text(json.dumps(summary | {"simulated_ps": 2**63}))
    assert Study.open(place).status().missing == 1
    with pytest.raises(InputError, match="simulated_ps: beyond 64 bits"):
        xoff.load(file.parent)


def test_bytes_that_are_no_text_do_not_stop_a_study(scenario: dict[str, Any], tmp_path: Path) -> None:
    place = _study(tmp_path / "study", scenario)
    (place / "study.json").write_bytes(b"\xff" + (place / "study.json").read_bytes())
    (place / "runs" / ".store").write_bytes(b"\xff\xfe")
    _study(place, scenario)
    assert Study.open(place).status().complete == 2


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"base": 1e300}, "base: the file of a scenario is needed"),
        ({"base": []}, "base: the file of a scenario is needed"),
        ({"scenario": "small.toml"}, "scenario: a table is needed"),
        (
            {"axes": {"switch.forwarding_latency": {"from": "1us", "to": "2us", "points": 2, "scale": []}}},
            "allowed are `linear`",
        ),
    ],
)
def test_parts_of_a_study_of_another_type_are_refused(
    scenario: dict[str, Any], tmp_path: Path, xoff_here: Command, document: dict[str, Any], why: str
) -> None:
    base = {} if "base" in document or "scenario" in document else {"base": scenario}
    (tmp_path / "study.json").write_text(json.dumps(base | document))
    done = xoff_here("check", "study.json")
    assert done.returncode == 2
    assert done.stderr.startswith("xoff: error: ")
    assert why in done.stderr


def test_a_value_with_several_lines_is_no_second_message(tmp_path: Path, xoff_here: Command) -> None:
    (tmp_path / "nodes.csv").write_text('name,kind\nh,host\ns,"a\nxoff: error: b"\n')
    (tmp_path / "links.csv").write_text("a,b,rate,delay\nh,s,1Gbps,1us\n")
    (tmp_path / "case.toml").write_text('[network.explicit]\nnodes_table = "nodes.csv"\nlinks_table = "links.csv"\n')
    done = xoff_here("check", "case.toml")
    assert done.returncode == 2
    assert done.stderr == (
        "xoff: error: network.explicit.nodes_table[1].kind: unknown kind `a\ufffdxoff: error: b`; allowed are host, "
        "switch, relay\n"
    )


def test_what_a_killed_report_leaves_is_in_nobodys_way(scenario_file: Path, xoff_here: Command) -> None:
    place = scenario_file.parent / "result"
    assert xoff_here("run", scenario_file, "--out", "result").returncode == 0
    (place / ".report-left").mkdir()
    assert xoff_here("run", scenario_file, "--seed", "9", "--out", "result", "--force").returncode == 0
    assert not (place / ".report-left").exists()


def test_a_link_stays_a_link(scenario_file: Path, xoff_here: Command) -> None:
    place = scenario_file.parent
    (place / "disk").mkdir()
    (place / "result").symlink_to(place / "disk" / "r1")
    for seed in ("1", "2"):
        assert xoff_here("run", scenario_file, "--seed", seed, "--out", "result", "--force").returncode == 0
        assert (place / "result").is_symlink()
        assert xoff.load(place / "disk" / "r1").summary["seed"] == int(seed)
    assert sorted(path.name for path in (place / "disk").iterdir()) == ["r1"]


def test_a_place_whose_name_is_no_text_is_refused(scenario_file: Path) -> None:
    program = os.fsencode(Path(sys.executable).with_name("xoff"))
    words = [program, b"run", os.fsencode(scenario_file), b"--out", b"out\xff"]
    done = subprocess.run(words, cwd=scenario_file.parent, capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 2
    assert done.stderr == b"xoff: error: 'out\\udcff': the name is not UTF-8 text; choose another place\n"


def test_an_interrupt_while_modules_are_imported(tmp_path: Path) -> None:
    # The signal comes in the middle of the command's imports.
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit(3)\n")
    done = subprocess.run(
        [sys.executable, "-m", "xoff", "--version"], capture_output=True, text=True, check=False,
        timeout=PATIENCE_SECONDS, env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "xoff: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGQUIT])
def test_a_terminal_that_closes_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "long.toml").write_text(TOML.replace("100KB", "4GB"))
    with stopped(tmp_path, PLACED, "run", "long.toml", "--out", "result") as process:
        go_on(process, number)
        _, messages = process.communicate(timeout=PATIENCE_SECONDS)
    cut = "xoff: the run is cut; what was complete is in result.cut\n"
    assert process.returncode == 130
    assert messages.removeprefix(cut) == "xoff: interrupted\n"
    assert {path.name for path in tmp_path.iterdir()} - {"result.cut"} == {"long.toml"}


_PARTS = ["scenario.json", "summary.json", "flows.parquet", "links.parquet"]


@pytest.fixture
def foreign(scenario: dict[str, Any], tmp_path: Path) -> Path:
    """Returns a result with all tables, including rows of pauses."""
    place = tmp_path / "foreign"
    probe = {"queues": "5us", "packets": True, "delays": "all"}
    result = xoff.run(scenario | {"probe": probe}, overrides={"switch.flow_control.pfc.xoff": "20KB"}, out=place)
    assert result.table("contributions").num_rows > 1
    result.forget()
    return place


def _commands(place: Path, *options: str) -> Iterator[tuple[str, ...]]:
    yield "report", str(place), *options
    yield "explain", str(place)
    for choice in (("--perfetto",), ("--pcapng", "*"), ("--fct", "hpcc"), ("--csv",)):
        yield "export", str(place), *choice


def _ended(command: Command, place: Path, *options: str) -> set[int]:
    """Runs all commands that read a result; each completes or is refused in one line. Returns the exit codes.

    options: of ``xoff report``.
    """
    codes = set()
    for words in _commands(place, *options):
        done = command(*words)
        assert done.returncode in {0, 2}, (words, done.stderr)
        assert done.returncode == 0 or re.fullmatch("xoff: error: [^\n]{1,2100}\n", done.stderr), (words, done.stderr)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr), words
        codes.add(done.returncode)
    return codes


@pytest.mark.parametrize("part", _PARTS)
@pytest.mark.parametrize("kind", ["pipe", "device", "directory", "huge", "link to nothing"])
def test_what_is_no_file_is_no_part_of_a_result(xoff_here: Command, foreign: Path, part: str, kind: str) -> None:
    """A pipe never ends, a device has no end, and a directory would be read as tables of somewhere else."""
    (foreign / part).unlink()
    match kind:
        case "pipe":
            os.mkfifo(foreign / part)
        case "device":
            (foreign / part).symlink_to("/dev/zero")
        case "directory":
            (foreign / part).mkdir()
        case "huge":
            with (foreign / part).open("wb") as file:
                # The file takes no room on the disk.
                file.truncate(2**40)
        case _:
            (foreign / part).symlink_to("nowhere")
    codes = _ended(xoff_here, foreign, "--format", "html")
    # Frames do not read completion times, and completion times do not read links.
    assert codes == {2} or part.endswith(".parquet")
    assert not list(foreign.parent.glob("foreign?*"))


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_file_is_no_part_of_a_study(
    scenario: dict[str, Any], tmp_path: Path, xoff_here: Command, kind: str
) -> None:
    """The file is refused, or made again by a sweep."""

    def put(file: Path) -> None:
        file.unlink(missing_ok=True)
        os.mkfifo(file) if kind == "pipe" else file.symlink_to("/dev/zero")

    (tmp_path / "s.json").write_text(json.dumps(scenario))
    (tmp_path / "study.toml").write_text('base = "s.json"\n[axes]\n"switch.forwarding_latency" = ["1us", "2us"]\n')
    study = tmp_path / "study"
    assert xoff_here("sweep", "study.toml", "--out", study).returncode == 0
    run = sorted((study / "runs").glob("[0-9a-f]*"))[0]
    for file in ("summary.json", "scenario.json", "flows.parquet"):
        put(run / file)
        assert xoff_here("report", study, "--format", "html").returncode in {0, 2}
        assert xoff_here("sweep", "study.toml", "--out", study).returncode == 0
        assert Study.open(study).status().complete == 2
        assert (run / file).is_file()
    put(study / "runs" / ".work-somebody")
    put(study / "study.json")
    assert xoff_here("report", study, "--format", "html").returncode == 2
    assert xoff_here("sweep", "study.toml", "--out", study).returncode == 0
    put(study / "runs" / ".store")
    done = xoff_here("sweep", "study.toml", "--out", study)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_table_of_more_rows_than_memory_has_room_for_is_refused(foreign: Path) -> None:
    """A file of some kilobytes may hold a value a million million times; this file declares the number."""
    file = foreign / "samples.parquet"
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table.slice(0, 1)] * 1000), file)
    assert xoff.load(foreign).samples.num_rows == 1000
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "allowed", lambda: 10_000)
        with pytest.raises(InputError, match=r"samples.parquet: 1,000 rows need .* of memory; 10.0 KB are"):
            xoff.load(foreign).table("samples")


_NAMES = {
    "markup": "<script>alert(1)</script>&\"'[red]x[/red]",
    "mathematics": "$\\frac{$_^%#{}",
    "lines": "a\nxoff: error: b\r\n\u2028c\x85",
    "terminal": "\x1b[31m\x1b]0;t\x07\x9b31m",
    "formula": "=cmd|' /C calc'!A0",
    "tab before a formula": "\t=1+1",
    "formula in full width": "\uff1d1+1",
    "path": "../../../../tmp/x",
    "NUL": "a\0b",
    "direction": "\u202egnp\u2066",
    "long": "x" * 100_000,
    "template": "{{7*7}}{% for %}%s%n",
    "script": "</script><!--`${1}`",
    "cells": 'a,"b;c',
}


def _renamed(table: pa.Table, before: str) -> pa.Table:
    for at, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_string(kind) and field.name not in {"event", "kind", "reason"}:
            cells = [None if cell is None else before + cell for cell in table.column(at).to_pylist()]
            table = table.set_column(at, field.name, pa.array(cells, pa.string()))
    return table


@pytest.mark.parametrize("case", _NAMES)
def test_names_in_tables_are_nothing_but_names(xoff_here: Command, foreign: Path, case: str) -> None:
    """Nodes, workloads and mechanisms have the names in every table; the tables are read, and shown harmless."""
    name = _NAMES[case]
    for file in foreign.glob("*.parquet"):
        pq.write_table(_renamed(pq.read_table(file), name), file)
    assert _ended(xoff_here, foreign) == {0}
    page = (foreign / "report.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "</script><!--" not in page
    for file in (foreign.parent / "foreign-csv").iterdir():
        with file.open(encoding="utf-8", newline="") as rows:
            cells = [cell for row in csv.reader(rows) for cell in row]
        assert not [cell for cell in cells if cell.startswith(tuple("=+@\t\r\n\uff1d")) or re.match("-[^0-9]", cell)]
    assert sorted(path.name for path in foreign.parent.iterdir()) == [
        "foreign", "foreign-csv", "foreign.fct.txt", "foreign.pcapng.gz", "foreign.perfetto-trace",
    ]  # fmt: skip


def test_tables_whose_names_are_alike_get_files_of_their_own(xoff_here: Command, foreign: Path) -> None:
    for name in ("a b", "a_b", "A_B", "a*b", "flows "):
        (foreign / f"{name}.parquet").write_bytes((foreign / "links.parquet").read_bytes())
    assert xoff_here("export", foreign, "--csv").returncode == 0
    written = [file.stem for file in (foreign.parent / "foreign-csv").iterdir()]
    assert len(written) == len({name.lower() for name in written}) == len(list(foreign.glob("*.parquet")))
    assert {"A_B", "a_b-2", "a_b-3", "a_b-4", "flows", "flows_"} <= set(written)


@pytest.mark.parametrize(
    ("table", "column", "value", "why"),
    [
        ("queues", "max_bytes", None, "a cell of the column `max_bytes` is empty"),
        ("samples", "time_ps", -1, "a number of the column `time_ps` is below zero"),
        ("links", "rate_bps", 1.5, "the column `rate_bps` does not hold whole numbers"),
        ("links", "utilisation", float("nan"), "a number of the column `utilisation` is not finite"),
        ("delays", "kind", None, "a cell of the column `kind` is empty"),
        ("contributions", "cause", None, "a cell of the column `cause` is empty"),
    ],
)
def test_cells_that_no_run_writes_are_refused_where_they_are_read(
    xoff_here: Command, foreign: Path, table: str, column: str, value: object, why: str
) -> None:
    file = foreign / f"{table}.parquet"
    whole = pq.read_table(file)
    cells = [value, *whole[column].to_pylist()[1:]]
    if whole.num_rows == 1:
        whole, cells = pa.concat_tables([whole, whole]), [value, whole[column][0].as_py()]
    pq.write_table(whole.set_column(whole.column_names.index(column), column, pa.array(cells)), file)
    with pytest.raises(InputError, match=f"{table}.parquet: is damaged: {why}"):
        xoff.load(foreign).table(table)
    assert _ended(xoff_here, foreign) <= {0, 2}


def test_delays_of_another_version_have_a_page(xoff_here: Command, foreign: Path) -> None:
    """Kinds unknown to this version are shown by their names."""
    file = foreign / "delays.parquet"
    table = pq.read_table(file)
    kinds = [("<new>" if kind == "transmission" else kind) for kind in table["kind"].to_pylist()]
    pq.write_table(table.set_column(table.column_names.index("kind"), "kind", [kinds]), file)
    assert _ended(xoff_here, foreign) == {0}
    page = (foreign / "report.html").read_text("utf-8")
    assert "&lt;new&gt;" in page
    assert "of another version" in page
