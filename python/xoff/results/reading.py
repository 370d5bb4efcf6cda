"""Reading of result tables: a file that is no such table, does not fit into memory or is damaged is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from xoff import _core, formatting
from xoff._core import InputError
from xoff.files import memory

WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "jobs": {"part": ("compute", "exposed", "bubble")},
    "messages": {"released_by": ("begun", "message")},
    "operations": {"released_by": ("operation", "start"), "ended_by": ("arrived", "left", "computed")},
    "packets": {"event": ("arrive", "depart")},
}
"""Columns with a fixed set of words, which decide the kind of a row."""


_SINCE_0_3 = {("links", "kind")}
"""Columns of text that results of version 0.3.0 lack; they are read as empty."""


def parquet_reader(file: Path) -> Callable[[], pa.Table]:
    """Returns a function that reads a table. It raises `InputError` if the file is no table of a result."""

    def read() -> pa.Table:
        import pyarrow.parquet

        if not file.is_file():
            # A pipe never ends, and a directory would be read as a data set of other tables.
            raise InputError(f"{file}: is damaged, or not a table of a result: not a regular file")
        try:
            with pyarrow.parquet.ParquetFile(file) as content:
                _check_size(file, content.metadata)
                table = content.read()
        except (pa.ArrowException, OSError) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"{file}: is damaged, or not a table of a result: {why}") from None
        if len(set(table.column_names)) < table.num_columns:
            raise InputError(f"{file}: is damaged, or not a table of a result: two columns have one name")
        for column, (kind, is_optional) in declared().get(file.stem, {}).items():
            if column not in table.column_names and (file.stem, column) in _SINCE_0_3:
                table = table.append_column(column, pa.array([""] * table.num_rows, pa.string()))
            if column not in table.column_names:
                raise InputError(f"{file}: is damaged, or of another version: column `{column}` is missing")
            if wrong := _wrong(table[column], column, kind, is_optional=is_optional):
                raise InputError(f"{file}: is damaged: {wrong}")
        if wrong := _no_word(file.stem, table):
            raise InputError(f"{file}: is damaged: {wrong}")
        return table

    return read


def _check_size(file: Path, metadata: Any) -> None:
    """Refuses a table that would not fit into memory: a small file may repeat a value a million million times."""
    columns = (metadata.schema.column(index) for index in range(metadata.num_columns))
    # A text is stored once, and each row holds its number.
    widths = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "BYTE_ARRAY": 4}
    size = metadata.num_rows * sum(widths.get(column.physical_type, 8) for column in columns)
    if size > (most := memory.allowed()):
        why = f"{metadata.num_rows:,} rows need {formatting.size(size)} of memory"
        raise InputError(f"{file}: {why}; {formatting.size(most)} are available")


@cache
def declared() -> dict[str, dict[str, tuple[str, bool]]]:
    """Returns the columns of each result table: the type, and whether cells may be empty."""
    tables = json.loads(_core.tables())
    return {
        table["name"]: {column["name"]: (column["type"], bool(column["maybe"])) for column in table["columns"]}
        for table in tables
    }


def _wrong(cells: pa.ChunkedArray, column: str, kind: str, *, is_optional: bool) -> str | None:
    """Returns the first difference of a column from its declaration: numbers are zero or more, and most are whole."""
    import pyarrow.compute

    is_text, found = kind == "Utf8", cells.type
    if kind == "Boolean":
        if not pa.types.is_boolean(found):
            return f"the column `{column}` does not hold truth values"
        return f"a cell of the column `{column}` is empty" if cells.null_count and not is_optional else None
    if _is_text(found) is not is_text:
        return f"the column `{column}` does not hold {'texts' if is_text else 'numbers'}"
    if cells.null_count and not is_optional:
        return f"a cell of the column `{column}` is empty"
    if is_text:
        return None
    if pa.types.is_floating(found) and not kind.startswith("Float"):
        return f"the column `{column}` does not hold whole numbers"
    if pa.types.is_unsigned_integer(found):
        return None
    if pa.types.is_floating(found) and not pyarrow.compute.all(pyarrow.compute.is_finite(cells)).as_py():
        return f"a number of the column `{column}` is not finite" if len(cells) > cells.null_count else None
    least = pyarrow.compute.min(cells).as_py()
    return f"a number of the column `{column}` is below zero" if least is not None and least < 0 else None


def _no_word(name: str, table: pa.Table) -> str | None:
    """Returns the first word in a table that no run writes. The words are looked up; other texts are only shown."""
    import pyarrow.compute as pc

    for column, words in WORDS.get(name, {}).items():
        found = pc.unique(table[column].cast(pa.string())).to_pylist()
        if (wrong := next((word for word in found if word not in words), None)) is not None:
            allowed = ", ".join(words)
            return f"a cell of the column `{column}` is `{formatting.plain(wrong[:80])}`; allowed are {allowed}"
    if name == "jobs":
        exposed = table.filter(pc.equal(table["part"].cast(pa.string()), "exposed"))
        if exposed["label"].null_count:
            return "a cell of the column `label` is empty, although `part` is `exposed`"
    return None


@cache
def _is_text(kind: pa.DataType) -> bool | None:
    """Whether a type is text (True) or numeric (False); None if neither."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return False
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return True if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
