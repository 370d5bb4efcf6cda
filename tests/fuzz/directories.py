"""Directories of results and studies with damaged files: for reports, readers, and continued sweeps."""

from __future__ import annotations

import io
import json
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz import values
from tests.fuzz.case import Case, steps, tree
from tests.fuzz.documents import SMALL

import xoff

_TEXTS = [*values.TEXTS[:-1], "=1+1"]
_NUMBERS = [0, 1, 2, 3, 255, 2**31, 2**53, 2**63 - 1]
_STUDIES: list[dict[str, Any]] = [
    {"base": "base.json", "axes": {"switch.forwarding_latency": ["1us", "2us"]}, "seeds": 2},
    {
        "base": "base.json",
        "axes": {"switch.forwarding_latency": ["1us", "2us"], "switch.queueing": ["oq", "voq"]},
        "design": "screening",
    },
    {
        "base": "base.json",
        "axes": {"switch.forwarding_latency": ["1us", "2us"]},
        "design": {"method": "morris", "trajectories": 4},
    },
]


@cache
def _result() -> dict[str, bytes]:
    document = {**tomllib.loads(SMALL), "probe": {"queues": "5us", "packets": True, "delays": "all"}}
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        # A low threshold, so that there are pauses to explain.
        xoff.run(document, overrides={"switch.flow_control.pfc.xoff": "20KB"}, out=place / "result")
        return _timeless(tree(place))


@cache
def _study(which: int) -> dict[str, bytes]:
    """Returns the files of a study and its document."""
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        (place / "base.json").write_bytes(values.as_json(tomllib.loads(SMALL)))
        (place / "study.json").write_bytes(values.as_json(_STUDIES[which]))
        xoff.sweep(place / "study.json", out=place / "study")
        return _timeless(tree(place))


def _timeless(files: dict[str, bytes]) -> dict[str, bytes]:
    """Returns the files without durations and the mark of a store, which differ from run to run."""
    found = dict(files)
    for name, content in files.items():
        if name.endswith("/summary.json"):
            summary = json.loads(content)
            found[name] = values.as_json(summary | {"performance": dict.fromkeys(summary["performance"], 1)})
        elif name.endswith("/.store"):
            found[name] = b"0" * 32
    return found


def draw(rng: Random) -> Case:
    """Draws a damaged directory, and its reader."""
    is_study = rng.random() < 0.6
    files = dict(_study(rng.randrange(len(_STUDIES))) if is_study else _result())
    names = [name for name in files if "/" in name]
    for name in rng.sample(names, rng.choice([1, 1, 1, 2, 4])):
        new = _damaged(rng, name, files.pop(name))
        if new is not None:
            files[name] = new
    is_drawn = rng.random() < 0.2
    if is_study:
        todo = [["report", "study"]] if is_drawn else [["read-study", "study"]]
        if rng.random() < 0.2:
            todo.append(["sweep", "study.json", "study"])
        return Case(files, steps(*todo))
    # Figures take a second; `xoff explain` reads all tables.
    reader = "report" if is_drawn else rng.choice(["read-result", "export", "explain", "explain"])
    return Case(files, steps([reader, "result"]))


def _damaged(rng: Random, name: str, content: bytes) -> bytes | None:
    """Returns damaged content of a file; None for a removed file."""
    kind = rng.randrange(10)
    if kind == 0:
        return None
    if kind == 1:
        return b""
    if name.endswith(".json") and kind < 8:
        return values.as_json(values.damaged(rng, json.loads(content)))
    if name.endswith(".parquet") and kind < 7:
        return _table(rng, content)
    return values.flipped(rng, content)


def _table(rng: Random, content: bytes) -> bytes:
    """A table with a column gone, renamed, or of another type; with other rows; or with other cells."""
    table = pq.read_table(io.BytesIO(content))
    if table.num_columns:
        index = rng.randrange(table.num_columns)
        name = table.column_names[index]
        change = rng.randrange(8)
        if change == 0:
            table = table.drop_columns([name])
        elif change == 1:
            new = rng.choice(["x", "☃", table.column_names[0]])
            table = table.rename_columns([new if at == index else one for at, one in enumerate(table.column_names)])
        elif change == 2:
            table = table.set_column(index, name, _cells(rng, table.num_rows))
        elif change == 3:
            table = table.slice(0, rng.choice([0, 1]))
        elif change == 4:
            table = pa.concat_tables([table, table])
        else:
            for at in rng.sample(range(table.num_columns), rng.choice([1, 1, min(3, table.num_columns)])):
                table = table.set_column(at, table.column_names[at], _others(rng, table.column(at)))
    file = io.BytesIO()
    try:
        pq.write_table(table, file)
    except (pa.ArrowException, ValueError):
        return b"PAR1"
    return file.getvalue()


def _others(rng: Random, column: pa.ChunkedArray) -> pa.Array:
    """Returns cells of the same type, with some from other rows, extreme or hostile; or all in another order."""
    found = column.to_pylist()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    new: list[Any] = _TEXTS if pa.types.is_string(kind) else _NUMBERS
    if rng.random() < 0.2:
        rng.shuffle(found)
    share = rng.choice([0.02, 0.3, 1.0])
    one = rng.choice(new)
    is_same = rng.random() < 0.5
    for at in range(len(found)):
        if rng.random() < share:
            found[at] = one if is_same else rng.choice([*new, rng.choice(found), None])
    try:
        return pa.array(found, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return pa.array([None] * len(found), kind)


def _cells(rng: Random, rows: int) -> Any:
    kinds: list[list[Any]] = [[None], ["x"], [-1], [2**63 - 1], [1e300], [float("nan")], [b"\xff"], [[1]], [True]]
    return pa.array(rng.choice(kinds) * rows)
