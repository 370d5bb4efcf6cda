"""Consistency checks between the tables of a result, which may be foreign."""

from __future__ import annotations

import pyarrow as pa

from xoff._core import InputError
from xoff.results import Result


def check(result: Result, *names: str) -> None:
    """Raises `InputError` for the first table with an unknown port; `load` has checked each cell by itself."""
    links = _table(result, "links")
    ports = set(zip(links["node"].to_pylist(), links["port"].to_pylist(), strict=True))
    for name in ("links", *names):
        table = _table(result, name)
        place = f"{result.directory}: {name}.parquet" if result.directory else name
        for ends in (("node", "port"), ("origin", "origin_port")):
            if not set(ends) <= set(table.column_names):
                continue
            found = zip(*(table[column].to_pylist() for column in ends), strict=True)
            if strange := next((place for place in found if place[1] is not None and place not in ports), None):
                raise InputError(f"{place}: is damaged: unknown port {strange[1]} of {strange[0]!r}")
        if name == "contributions" and any(
            row["flow"] is not None and (row["port"] is None or row["queue"] is None) for row in table.to_pylist()
        ):
            raise InputError(f"{place}: is damaged: bytes of a flow without a queue")
    seen: set[tuple[str, str]] = set(zip(links["node"].to_pylist(), links["peer"].to_pylist(), strict=True))
    if len(ports) != links.num_rows or any((peer, node) not in seen for node, peer in seen):
        raise InputError(f"{result.directory}: links.parquet: is damaged: a link lacks a direction")


def _table(result: Result, name: str) -> pa.Table:
    try:
        return result.table(name)
    except LookupError as error:
        raise InputError(f"{result.directory or 'the result'}: {error}") from None
