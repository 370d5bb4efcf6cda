"""Whether the tables of a result fit together: one that was read may come from anywhere."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from xoff._core import InputError
from xoff.results import Result

# Columns whose cells may be null.
_MAYBE = {
    "flows": {"label", "fct_ps", "fct_acked_ps", "slowdown"},
    "pauses": {"origin", "origin_port", "end_ps"},
    "delays": {"by_flow", "by", "start_ps", "pause_queue", "pause_start_ps"},
    "contributions": {"in_port", "class", "peer_queue", "port", "queue", "flow"},
}
_FRACTIONS = {"slowdown", "utilisation"}


def check(result: Result, *names: str) -> None:
    """Raise `InputError` for the first table of these with a null, a negative number or a port where none can be."""
    links = _table(result, "links")
    ports = set(zip(links["node"].to_pylist(), links["port"].to_pylist(), strict=True))
    for name in ("links", *names):
        table = _table(result, name)
        place = f"{result.directory}: {name}.parquet" if result.directory else name
        for column in table.column_names:
            if wrong := _wrong(table[column], column, column in _MAYBE.get(name, set())):
                raise InputError(f"{place}: is damaged: {wrong}")
        if {"node", "port"} <= set(table.column_names):
            found = zip(table["node"].to_pylist(), table["port"].to_pylist(), strict=True)
            if strange := next((place for place in found if place[1] is not None and place not in ports), None):
                raise InputError(f"{place}: is damaged: there is no port {strange[1]} of {strange[0]!r}")
    seen: set[tuple[str, str]] = set(zip(links["node"].to_pylist(), links["peer"].to_pylist(), strict=True))
    if len(ports) != links.num_rows or any((peer, node) not in seen for node, peer in seen):
        raise InputError(
            f"{result.directory}: links.parquet: is damaged: it does not have both directions of each link"
        )


def _table(result: Result, name: str) -> pa.Table:
    try:
        return result.table(name)
    except LookupError as error:
        raise InputError(f"{result.directory or 'the result'}: {error}") from None


def _wrong(values: pa.ChunkedArray, column: str, maybe: bool) -> str | None:
    kind = values.type
    if values.null_count and not maybe:
        return f"a cell of the column `{column}` is empty"
    if column in _FRACTIONS or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return None
    if pa.types.is_floating(kind):
        return f"the column `{column}` does not hold whole numbers"
    least = pc.min(values).as_py()
    return f"a number of the column `{column}` is below zero" if least is not None and least < 0 else None
