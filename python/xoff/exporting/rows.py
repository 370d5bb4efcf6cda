"""Rows of a result's tables as plain values; cells are checked, since tables may be damaged or foreign."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.results import Result


def rows(result: Result, name: str, *columns: str, table: pa.Table | None = None) -> Iterator[tuple[Any, ...]]:
    """Yields a tuple for each row of a table: non-negative whole numbers, and texts.

    columns: their names; in a column with the suffix ``?``, cells may be empty, and are None.

    Raises `InputError` if the table is damaged.
    """
    table = recorded(result, name) if table is None else table
    found = [_cells(name, column.rstrip("?"), table, is_optional=column.endswith("?")) for column in columns]
    for batch in pa.table(found, names=list(map(str, range(len(found))))).to_batches(1 << 16):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _cells(name: str, column: str, table: pa.Table, *, is_optional: bool) -> pa.ChunkedArray:
    cells = table.column(column)
    kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    try:
        cells = cells.cast(pa.uint64() if is_number else pa.string())
    except pa.ArrowException:
        what = "whole numbers from zero on" if is_number else "texts"
        raise InputError(f"{name}.parquet: is damaged: the column `{column}` does not hold {what}") from None
    if cells.null_count and not is_optional:
        raise InputError(f"{name}.parquet: is damaged: cells of the column `{column}` have no value")
    return cells


def recorded(result: Result, name: str, setting: str = "") -> pa.Table:
    """Returns a table. Raises `InputError`, with the command that records the table, if the table is missing.

    setting: the probe that the table needs, if any.
    """
    if name in result.tables:
        return result.table(name)
    raise InputError(f"the result has no `{name}`; repeat the run: {again(result, setting)}")


def again(result: Result, setting: str) -> str:
    """Returns the command that repeats a run exactly, and records more."""
    directory = str(result.directory or "DIR")
    words = ["xoff", "run", f"{directory}/scenario.json", *(["--set", setting] if setting else [])]
    return shlex.join([*words, "--out", f"{directory}-again"])


def given(result: Result, *keys: str) -> Any:
    """Returns a value of the scenario; None if there is none."""
    value: Any = result.scenario
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def quantity(result: Result, table: str, key: str, default: int) -> int:
    """Returns a quantity of the scenario, in picoseconds or bytes. Raises `InputError` for any other value."""
    value = given(result, table, key)
    value = default if value is None else value
    found = (value, "") if isinstance(value, int) else formatting.quantity(value) if isinstance(value, str) else None
    if value in ("0", 0):
        return 0
    if found is None or found[0] < 0:
        raise InputError(f"scenario.json: is damaged: `{table}.{key}` is no quantity")
    return found[0]


class Nodes:
    """The numbers of nodes, in order of the table of links, and the ports of each node."""

    def __init__(self, result: Result) -> None:
        self.numbers: dict[str, int] = {}
        self.ports: dict[tuple[str, int], tuple[str, int]] = {}
        """Peer and rate by node and port."""
        for node, port, peer, rate in rows(result, "links", "node", "port", "peer", "rate_bps"):
            self.numbers.setdefault(node, len(self.numbers))
            self.ports[node, port] = (peer, rate)

    def number(self, name: str) -> int:
        """Returns the number of a node. Raises `InputError` if there is no such node."""
        if name not in self.numbers:
            raise InputError(f"links.parquet: is damaged: no link of `{formatting.plain(name)}` is in it")
        return self.numbers[name]
