"""The result of a workload function as tables: of a data frame, an Arrow table, columns, or a list of dictionaries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from xoff.files.tables import MAX_ROWS

_NEEDED = "a data frame, an Arrow table, a dictionary of columns, or a list of dictionaries is needed"
_FLOWS = ("src", "dst", "size")
_OPERATIONS = ("rank", "kind")
_SHOWN = 60


class RowsError(ValueError):
    """A function returned no rows: the rest of a sentence about the function."""


def tables(value: Any, *, is_job: bool) -> dict[str, pa.Table]:
    """Returns the tables ``rows`` and, for a job that returned groups, ``groups``.

    is_job: true for rows of operations. A job may also return ``{"operations": rows, "groups": groups}``, with groups
        as rows or as ``{name: [rank, …]}``.

    Raises `RowsError` with the rest of a sentence about the function.
    """
    empty = _OPERATIONS if is_job else _FLOWS
    if is_job and isinstance(value, Mapping) and "operations" in value and set(value) <= {"operations", "groups"}:
        found = {"rows": _table(value["operations"], empty)}
        groups = value.get("groups")
        if isinstance(groups, Mapping) and set(groups) != {"group", "rank"}:
            if wrong := next((name for name, ranks in groups.items() if not isinstance(ranks, Iterable)), None):
                raise RowsError(f"returned the group {_shown(wrong)} = {_shown(groups[wrong])}; a list is needed")
            groups = [{"group": name, "rank": rank} for name, ranks in groups.items() for rank in ranks]
        return found if groups is None else {**found, "groups": _table(groups, ("group", "rank"))}
    return {"rows": _table(value, empty)}


def _table(value: Any, empty: tuple[str, ...]) -> pa.Table:
    kind = type(value)
    try:
        if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame":
            # The index of a frame is no column.
            return pa.Table.from_pandas(value, preserve_index=False).replace_schema_metadata(None)
        if hasattr(value, "__arrow_c_stream__"):
            return pa.table(value)
    except pa.ArrowException as error:
        raise RowsError(f"returned a {kind.__name__} that is no table: {error}") from None
    if isinstance(value, Mapping):
        return _columns(value)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise RowsError(f"returned a value of type {kind.__name__}; {_NEEDED}")
    columns: dict[str, list[Any]] = {}
    count = 0
    for count, row in enumerate(value, 1):
        if not isinstance(row, Mapping):
            raise RowsError(f"returned row {count - 1} of type {type(row).__name__}; {_NEEDED}")
        if count > MAX_ROWS:
            raise RowsError(f"returned more than {MAX_ROWS:,} rows")
        for name, cell in row.items():
            if name not in columns:
                if not isinstance(name, str):
                    raise RowsError(f"returned row {count - 1} with the key {_shown(name)}; keys are text")
                columns[name] = [None] * (count - 1)
            columns[name].append(cell)
        for cells in columns.values():
            if len(cells) < count:
                cells.append(None)
    return _columns(columns or {name: [] for name in empty})


def _columns(columns: Mapping[Any, Any]) -> pa.Table:
    arrays = {}
    for name, cells in columns.items():
        if not isinstance(name, str) or isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
            raise RowsError(f"returned {_shown(name)}: {_shown(cells)}; {_NEEDED}")
        arrays[name] = _array([_cell(cell, name, row) for row, cell in enumerate(cells)])
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {count}" for name, count in lengths.items())
        raise RowsError(f"returned columns of different lengths: {told}")
    return pa.table(arrays)


def _array(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    if str in kinds and len(kinds) > 1:
        # Sizes such as 1000 and "1MB" may stand in one column.
        cells = [None if cell is None else str(cell) for cell in cells]
    return pa.array(cells) if kinds else pa.nulls(len(cells), pa.string())


def _cell(cell: Any, name: str, row: int) -> str | int | float | None:
    where = f"returned row {row} with `{name}` = {_shown(cell)}"
    if type(cell).__module__ == "numpy":
        cell = cell.tolist()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int) and not -(2**63) <= cell < 2**63:
        raise RowsError(f"{where}; whole numbers go up to {2**63 - 1}")
    if isinstance(cell, float) and not math.isfinite(cell):
        raise RowsError(f"{where}; a finite number is needed, or None for an empty cell")
    if isinstance(cell, list | tuple):
        # Names in `after` and `via` are separated by semicolons in a table.
        return ";".join(str(one) for one in cell)
    if cell is None or isinstance(cell, str | int | float):
        # Subclasses, as of enumerations, are taken by their value.
        return cell if cell is None else next(kind for kind in (str, int, float) if isinstance(cell, kind))(cell)
    raise RowsError(f"{where}, of type {type(cell).__name__}; numbers, texts, lists of names and None are allowed")


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
