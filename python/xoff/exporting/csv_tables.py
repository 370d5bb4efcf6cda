"""The tables of a result as CSV files, one each, in a directory.

A text that a spreadsheet would interpret as a formula gets an apostrophe in front, in cells and in names of columns: it
begins with ``=``, ``+``, ``-`` or ``@``, also in full width, with a tab or with a line end. Numbers stay unchanged.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from xoff import formatting
from xoff._core import InputError
from xoff.exporting.format import Written
from xoff.results import Result

_FORMULA = "^[=+@\t\r\n\uff0b\uff0d\uff1d\uff20-]"


def write(result: Result, place: Path, _choices: list[str]) -> Written:
    """Writes each table of a result. Raises `InputError` if one cannot be written as CSV."""
    place.mkdir()
    written = 0
    taken: set[str] = set()
    for name in result.tables:
        table = result.table(name)
        try:
            columns = [_harmless(column) for column in table.columns]
            names = pyarrow.compute.replace_substring_regex(pa.array(table.column_names, pa.string()), _FORMULA, r"'\0")
            harmless = pa.table(columns, names=names.to_pylist())
            pyarrow.csv.write_csv(harmless, place / f"{_own(name, taken)}.csv")
        except pa.ArrowException as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(f"{name}.parquet: cannot be written as CSV: {formatting.plain(why)}") from None
        written += table.num_rows
        result.forget()
    return Written({"tables": len(result.tables), "rows": written})


def _own(name: str, taken: set[str]) -> str:
    """Returns the file name of a table; a name that is taken, in any case of letters, gets a number."""
    first = formatting.file_name(name)
    names = (first, *(f"{first}-{number}" for number in range(2, len(taken) + 3)))
    found = next(one for one in names if one.lower() not in taken)
    taken.add(found.lower())
    return found


def _harmless(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column.cast(kind)
    return pyarrow.compute.replace_substring_regex(column.cast(pa.large_string()), _FORMULA, r"'\0")
