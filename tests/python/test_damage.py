"""Results with key columns of impossible values: refused with file and column, or shown; never a traceback."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xoff
from small import Command
from xoff import InputError, _core
from xoff.results import reading

SCENARIO: dict[str, Any] = {
    "seed": 3,
    "network": {
        "leaf_spine": {"leaves": 2, "spines": 1, "hosts_per_leaf": 2, "link": {"rate": "100Gbps", "delay": "1us"}}
    },
    "framing": {"payload": "1000B"},
    "switch": {"buffer": {"per_port": "200KB"}, "flow_control": {"pfc": {"xoff": "20KB"}}},
    "probe": {"packets": True, "queues": "20us", "delays": "all", "tokens": True},
    "fault": [{"link": "leaf0-spine0", "state": "down", "at": "30us", "duration": "5us"}],
    "workload": [
        {
            "name": "job",
            "training": {
                "model": {"layers": 2, "hidden": 32, "heads": 2, "sequence": 16, "vocabulary": 50},
                "parallel": {"data": 2, "pipeline": 2},
            },
        },
        {"name": "incast", "incast": {"senders": [1, 2, 3], "receiver": 0, "size": "30KB"}},
        {
            "name": "chat",
            "serving": {
                "model": {"layers": 2, "hidden": 32, "heads": 2, "sequence": 16, "vocabulary": 50},
                "compute": {"peak": 1e12, "memory": 1e11},
                "requests": [{"arrival": "1us", "input_tokens": 8, "output_tokens": 3}] * 2,
                "prefill": {"tensor": 2},
                "decode": {"tensor": 2},
            },
        },
    ],
}
KEYS = [(table, column) for table, columns in reading.WORDS.items() for column in columns]
REFERENCES = [
    ("operations", "rank"), ("operations", "index"), ("operations", "operation"), ("operations", "released_by_index"),
    ("operations", "workload"), ("operations", "successors"), ("messages", "operation"), ("messages", "message"),
    ("delays", "operation"), ("delays", "node"), ("delays", "port"), ("links", "peer"),
]  # fmt: skip
COLUMNS = [(table["name"], column["name"]) for table in json.loads(_core.tables()) for column in table["columns"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with rows in all tables but `contributions`."""
    place = tmp_path_factory.mktemp("whole") / "whole"
    xoff.run(SCENARIO, out=place)
    return place


def damaged(whole: Path, place: Path, table: str, column: str) -> Iterator[str]:
    """Puts another value into all cells of a column, then into the first cell alone; yields a description."""
    file = whole / f"{table}.parquet"
    rows = pq.read_table(file)
    cells = rows[column].cast(rows.schema.field(column).type)
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    other: Any = "../../x" if pa.types.is_string(kind) else True if pa.types.is_boolean(kind) else 77
    if rows.num_rows == 0 or pa.types.is_floating(kind):
        return
    for name, values in (("all", [other] * rows.num_rows), ("first", [other, *cells.to_pylist()[1:]])):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(whole, place)
        at = rows.schema.get_field_index(column)
        pq.write_table(rows.set_column(at, column, pa.array(values, kind)), place / f"{table}.parquet")
        yield name


def commands(place: str) -> Iterator[tuple[str, ...]]:
    yield "report", place, "--format", "html"
    yield "explain", place, "--job", "--no-what-if"
    yield "explain", place, "--worst", "2", "--pauses"
    yield "explain", place, "--port", "leaf0:1"
    for choice in (("--perfetto",), ("--pcapng", "*"), ("--fct", "hpcc"), ("--csv",)):
        yield "export", place, *choice


def done(command: Command, here: Path, words: tuple[str, ...]) -> tuple[int, str]:
    """Runs a command that completes or is refused in one line."""
    for left in here.glob("damaged[-.]*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    found = command(*words)
    assert found.returncode in {0, 2}, (words, found.stderr)
    if found.returncode == 2:
        # The run may be repeated first, which is said.
        assert re.fullmatch("(xoff: repeats [^\n]+\n)?xoff: error: [^\n]{1,2100}\n", found.stderr), (
            words,
            found.stderr,
        )
    return found.returncode, found.stderr


@pytest.mark.parametrize(("table", "column"), KEYS)
def test_a_word_that_is_none_is_refused_with_file_and_column(
    xoff_here: Command, whole: Path, tmp_path: Path, table: str, column: str
) -> None:
    for _ in damaged(whole, tmp_path / "damaged", table, column):
        why = f"{table}.parquet: is damaged: a cell of the column `{column}` is `../../x`; allowed are "
        with pytest.raises(InputError, match=re.escape(why)):
            xoff.load(tmp_path / "damaged").table(table)
    code, said = done(xoff_here, tmp_path, ("export", "damaged", "--csv"))
    assert (code, f"{table}.parquet: is damaged" in said) == (2, True)


@pytest.mark.parametrize("column", ["part", "label", "workload", "host"])
def test_a_page_of_a_job_is_made_or_refused(xoff_here: Command, whole: Path, tmp_path: Path, column: str) -> None:
    for _ in damaged(whole, tmp_path / "damaged", "jobs", column):
        code, said = done(xoff_here, tmp_path, ("report", "damaged", "--format", "html"))
        assert (code, "jobs.parquet" in said) == ((2, True) if column == "part" else (0, False))
    file = tmp_path / "damaged" / "jobs.parquet"
    rows = pq.read_table(whole / "jobs.parquet")
    at = rows.schema.get_field_index("label")
    pq.write_table(rows.set_column(at, "label", pa.nulls(rows.num_rows, pa.string())), file)
    code, said = done(xoff_here, tmp_path, ("report", "damaged", "--format", "html"))
    assert (code, "jobs.parquet: is damaged: a cell of the column `label` is empty" in said) == (2, True)


@pytest.mark.parametrize(("table", "column"), REFERENCES)
def test_a_path_through_what_is_not_there_is_refused_with_file_and_column(
    xoff_here: Command, whole: Path, tmp_path: Path, table: str, column: str
) -> None:
    codes = set()
    for _ in damaged(whole, tmp_path / "damaged", table, column):
        code, said = done(xoff_here, tmp_path, ("explain", "damaged", "--job", "--no-what-if"))
        codes.add(code)
        assert code == 0 or re.search(r"(operations|messages|delays|links)\.parquet: is damaged", said), said
    # The first row alone may be of no operation on the path.
    assert 2 in codes


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_no_damaged_column_ends_in_a_traceback(
    xoff_here: Command, whole: Path, tmp_path: Path, table: str, column: str
) -> None:
    """Every reader meets a damaged column. A damaged first cell is met by the readers of single rows."""
    for way in damaged(whole, tmp_path / "damaged", table, column):
        for words in commands("damaged"):
            if way == "all" or words[0] == "explain":
                done(xoff_here, tmp_path, words)
