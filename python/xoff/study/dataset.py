"""The tables of a study: a row for each run, or for each row of each run, with the parameters as columns.

Rows are in the order of points and seeds, and no column depends on the machine's time or memory: a study gives the same
rows on any machine and in any order of its runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from xoff._core import InputError
from xoff.files.new_files import synchronise
from xoff.files.safe_read import named
from xoff.formatting import plain
from xoff.study import python_metrics
from xoff.study.metrics import metrics
from xoff.study.plan import Plan, Run
from xoff.study.store import Store, is_whole

# Key of the table metadata that names the plan of a table.
_PLAN = b"xoff.plan"


def runs_table(plan: Plan, store: Store) -> pa.Table:
    """Returns a row for each run of the study that was done or is impossible.

    Columns: ``run`` (its key), the parameters, ``seed``, ``status`` (``ok``, ``audit``, ``invalid`` or ``impossible``),
    ``message``, ``fingerprint``, and the metrics, which are null without a result.
    """
    known = store.keys()
    runs: dict[tuple[int, int], Run] = {(run.point.index, run.seed): run for run in plan.runs}
    messages = {(one.point.index, one.seed): one.message for one in plan.impossible}
    rows: list[dict[str, Any]] = []
    names: dict[str, None] = {}
    for point in plan.points:
        for seed in plan.seeds:
            run = runs.get((point.index, seed))
            row: dict[str, Any] = {"run": run.key if run else None, **plan.values(point), "seed": seed}
            if run is None:
                rows.append(row | {"status": "impossible", "message": messages[point.index, seed]})
            elif run.key in known and (failure := store.failure(run.key)) is not None:
                rows.append(row | {"status": failure[0], "message": failure[1]})
            elif run.key in known:
                summary = store.summary(run.key)
                measured = metrics(summary) | python_metrics.values(plan.measured, store, run.key)
                names |= dict.fromkeys(measured)
                rows.append(row | {"status": "ok", "fingerprint": plain(summary["fingerprint"])} | measured)
    taken = {"run", "seed", "status", "message", "fingerprint", *(column.name for column in plan.columns)}
    fields = [
        pa.field("run", pa.string()),
        *(pa.field(column.name, column.type) for column in plan.columns),
        pa.field("seed", pa.uint64()),
        *(pa.field(name, pa.string()) for name in ("status", "message", "fingerprint")),
        # The metrics of the study's `metrics` come first.
        *(
            _metric(name, rows)
            for name in dict.fromkeys((*plan.metrics, *names))
            if name in names and name not in taken
        ),
    ]
    return pa.table(
        {one.name: pa.array([row.get(one.name) for row in rows], one.type) for one in fields}, schema=pa.schema(fields)
    )


def rows_of(plan: Plan, store: Store, table: str) -> Iterator[pa.Table]:
    """Yields the rows of one table of each run in turn, with the parameters and the seed in front.

    Raises `InputError` for a damaged run: a run without the table, or with other columns than the first run.
    """
    known = store.keys()
    columns: pa.Schema | None = None
    fields = [
        pa.field("run", pa.string()),
        *(pa.field(column.name, column.type) for column in plan.columns),
        pa.field("seed", pa.uint64()),
    ]
    for run in plan.runs:
        if run.key not in known or store.failure(run.key) is not None:
            continue
        result = store.result(run.key)
        if table not in result.tables:
            raise InputError(f"{result.directory}: is damaged: `{table}` is missing; run the study again")
        rows = result.table(table)
        columns = rows.schema if columns is None else columns
        if not rows.schema.equals(columns):
            raise InputError(
                f"{result.directory}: `{table}` has other columns than the runs before; one run is damaged"
            )
        values = plan.values(run.point)
        for index, field in enumerate(fields):
            value = {"run": run.key, "seed": run.seed, **values}[field.name]
            column = pa.repeat(pa.scalar(value, field.type), rows.num_rows)
            rows = rows.add_column(index, field, column)
        yield rows


def is_of(plan: Plan, file: Path) -> bool:
    """Whether a file is a complete table of this exact plan."""
    if not is_whole(file):
        return False
    try:
        metadata = pq.read_schema(file).metadata or {}
    except (pa.ArrowException, OSError):
        return False
    return bool(metadata.get(_PLAN) == plan.digest().encode())


def write(plan: Plan, store: Store, directory: Path, more: Mapping[str, pa.Table]) -> list[Path]:
    """Writes ``runs.parquet``, a file for each kept table, and the tables of `more`, by name; returns their paths."""
    pieces = {"runs": iter([runs_table(plan, store)])} | {name: rows_of(plan, store, name) for name in plan.keep}
    pieces |= {name: iter([table]) for name, table in more.items()}
    written = []
    with store.workspace() as work:
        for name, tables in pieces.items():
            target = directory / f"{name}.parquet"
            with named(target):
                _write(work / target.name, tables, {_PLAN: plan.digest().encode()})
            (work / target.name).rename(target)
            written.append(target)
    synchronise(directory)
    return written


def _write(path: Path, tables: Iterator[pa.Table], metadata: Mapping[bytes, bytes]) -> None:
    """Writes tables one after another into one file. Without tables, the file has an empty table."""
    first = next(tables, pa.table({}))
    first = first.replace_schema_metadata({**(first.schema.metadata or {}), **metadata})
    with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for rows in _merged(first, tables):
            writer.write_table(rows.replace_schema_metadata(first.schema.metadata))
    synchronise(path)


def _merged(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yields tables joined to pieces of about a million rows: small pieces would make a file slow to read."""
    pieces, rows = [first], first.num_rows
    for table in rest:
        if rows > 1_000_000:
            yield pa.concat_tables(pieces)
            pieces, rows = [], 0
        pieces.append(table)
        rows += table.num_rows
    yield pa.concat_tables(pieces)


def _metric(name: str, rows: list[dict[str, Any]]) -> pa.Field:
    whole = all(isinstance(row[name], int) for row in rows if row.get(name) is not None)
    return pa.field(name, pa.int64() if whole else pa.float64())
