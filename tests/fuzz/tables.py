"""Tables that a scenario names: CSV and Parquet of flows, nodes, links and sizes, with wrong cells, types and bytes."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz import values
from tests.fuzz.case import Case, steps

_STAR: dict[str, Any] = {"star": {"hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}}
_FLOWS = [{"table": "flows"}]
# Valid contents of a table.
_KINDS: dict[str, tuple[list[str], list[list[Any]]]] = {
    "flows": (
        ["src", "dst", "size", "start", "id", "after", "via"],
        [[0, 1, 9000, 0, "a", "", ""], [1, 2, 500, 10, "b", "a", "switch0"], [3, 0, 1, 99, "c", "", ""]],
    ),
    "nodes": (["name", "kind", "delay"], [["h", "host", 0], ["i", "host", 0], ["s", "switch", 300_000]]),
    "links": (["a", "b", "rate", "delay"], [["h", "s", "100Gbps", "1us"], ["s", "i", "100Gbps", "1us"]]),
    "points": (["bytes", "percent"], [[100, 0.0], [1000, 50.0], [9000, 100.0]]),
}
_TYPES = [
    *(pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.bool_(), pa.null()),
    *(pa.timestamp("us"), pa.list_(pa.int64()), pa.dictionary(pa.int32(), pa.string()), pa.large_string()),
]


def draw(rng: Random) -> Case:
    """Draws a scenario with one invalid table."""
    kind = rng.choice(list(_KINDS))
    suffix = rng.choice(["csv", "csv", "tsv", "parquet", "parquet"])
    names = {one: f"{one}.csv" for one in _KINDS} | {kind: f"{kind}.{suffix}"}
    files = {names[one]: _csv(*_KINDS[one], ",") for one in _KINDS if one != kind}
    files[names[kind]] = _content(rng, kind, suffix)
    is_explicit = kind in {"nodes", "links"}
    network = {"explicit": {"nodes_table": names["nodes"], "links_table": names["links"]}} if is_explicit else _STAR
    workload: dict[str, Any] = {"table": names["flows"]}
    if kind == "points":
        workload = {"poisson": {"load": 0.1, "cdf_file": names["points"], "flows": 8}}
    if is_explicit:
        workload = {"flows": [{"src": "h", "dst": "i", "size": "2KB"}]}
    document = {"network": network, "workload": [workload]}
    return Case({**files, "case.json": values.as_json(document)}, steps(["check", "case.json"]))


def _content(rng: Random, kind: str, suffix: str) -> bytes:
    columns, rows = _KINDS[kind]
    columns, rows = list(columns), [list(row) for row in rows]
    for _ in range(rng.randint(0, 3)):
        change = rng.randrange(6)
        row = rng.randrange(len(rows)) if rows else 0
        if change == 0:
            column = rng.randrange(len(columns))
            columns[column] = rng.choice([*columns, "x", "", "☃", "start "])
        elif change == 1 and rows:
            rows.append(list(rows[row]))
        elif change == 2 and rows:
            del rows[row]
        elif rows and rows[row]:
            rows[row][rng.randrange(len(rows[row]))] = values.leaf(rng)
    if suffix == "parquet":
        content = _parquet(rng, columns, rows)
    else:
        content = _csv(columns, rows, "\t" if suffix == "tsv" else ",")
    return values.flipped(rng, content) if rng.random() < 0.5 else content


def _csv(columns: list[str], rows: list[list[Any]], delimiter: str) -> bytes:
    lines = [delimiter.join("" if cell is None else str(cell) for cell in row) for row in [columns, *rows]]
    return "\n".join(lines).encode("utf-8", "replace")


def _parquet(rng: Random, columns: list[str], rows: list[list[Any]]) -> bytes:
    arrays = []
    for index in range(len(columns)):
        cells = [row[index] for row in rows]
        wanted = rng.choice(_TYPES) if rng.random() < 0.2 else None
        try:
            arrays.append(pa.array(cells, type=wanted))
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            arrays.append(pa.array([str(cell).encode("utf-8", "replace").decode() for cell in cells]))
    file = io.BytesIO()
    try:
        pq.write_table(pa.table(arrays, names=columns), file)
    except (pa.ArrowException, ValueError):
        # Some types and names have no Parquet.
        return b"PAR1"
    return file.getvalue()
