"""Data frames as values of the axes and variants of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import xoff
from xoff import InputError
from xoff.study import Study

_ROWS = {"src": [1, 2, 3], "dst": [0, 0, 0], "size": [20_000, 20_000, 20_000]}
_LATER = {**_ROWS, "start": ["0us", "10us", "20us"]}
_TABLE = "workload[0].table"
_FRAMES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pa.table}


@pytest.fixture
def base(scenario: dict[str, Any]) -> dict[str, Any]:
    return {**scenario, "workload": [{"table": "none.csv"}]}


def study(base: dict[str, Any], together: Any, later: Any) -> dict[str, Any]:
    return {"base": base, "axes": {_TABLE: {"values": {"together": together, "one by one": later}}}, "keep": ["flows"]}


@pytest.mark.parametrize("kind", _FRAMES)
def test_a_frame_is_a_value_with_a_label(base: dict[str, Any], tmp_path: Path, kind: str) -> None:
    make = _FRAMES[kind]
    found = xoff.sweep(study(base, make(_ROWS), make(_LATER)), out=tmp_path / "study")
    runs = found.runs
    assert runs["table"].to_pylist() == ["together", "one by one"]
    alone = [
        xoff.run({**base, "workload": [{"table": make(rows)}]}).summary["fct_ps"]["p99"] for rows in (_ROWS, _LATER)
    ]
    assert runs["fct_p99_ps"].to_pylist() == alone
    assert alone[0] != alone[1]


def test_equal_frames_find_their_runs_and_the_study_opens_again(base: dict[str, Any], tmp_path: Path) -> None:
    first = xoff.sweep(study(base, pandas.DataFrame(_ROWS), pandas.DataFrame(_LATER)), out=tmp_path / "study")
    again = Study(study(base, pandas.DataFrame(_ROWS), pandas.DataFrame(_LATER)), tmp_path / "study")
    assert [run.key for run in again.plan.runs] == [run.key for run in first.plan.runs]
    assert again.status().missing == 0
    opened = Study.open(tmp_path / "study")
    assert opened.runs.column_names == first.runs.column_names
    other = Study(study(base, pandas.DataFrame(_LATER), pandas.DataFrame(_ROWS)), tmp_path / "other")
    assert [run.key for run in other.plan.runs] == [run.key for run in reversed(first.plan.runs)]


def test_operations_of_a_job_and_variants_take_frames(base: dict[str, Any], tmp_path: Path) -> None:
    def ring(size: str) -> pa.Table:
        rows = [{"rank": rank, "kind": "all_reduce", "group": "all", "size": size} for rank in range(4)]
        return pa.Table.from_pylist(rows)

    groups = pa.table({"group": ["all"] * 4, "rank": [0, 1, 2, 3]})
    job = {**base, "workload": [{"graph": {"operations_table": "none.csv", "groups_table": groups}}]}
    key = "workload[0].graph.operations_table"
    variants = {"small": {key: ring("10KB")}, "large": {key: ring("1MB")}}
    found = xoff.sweep({"base": job, "variants": variants}, out=tmp_path / "study")
    assert found.plan.impossible == []
    assert found.runs["variant"].to_pylist() == ["small", "large"]


def test_a_frame_needs_a_name_and_allowed_columns(base: dict[str, Any], tmp_path: Path) -> None:
    frame = pandas.DataFrame(_ROWS)
    with pytest.raises(InputError, match=r"^axes\.workload\[0\]\.table: a data frame needs a name in tables"):
        Study({"base": base, "axes": {_TABLE: [frame]}}, tmp_path / "study")
    with pytest.raises(InputError, match=r"is listed twice$"):
        Study(study(base, frame, frame.copy()), tmp_path / "study")
    wrong = xoff.sweep(study(base, frame, frame.rename(columns={"size": "bytes"})), out=tmp_path / "study")
    assert wrong.runs["status"].to_pylist() == ["ok", "invalid"]
    failure = wrong.store.failure(wrong.plan.runs[1].key)
    assert failure is not None
    assert failure[1].startswith("workload[0].table: unknown column `bytes`")
