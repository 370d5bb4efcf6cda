"""Tables that a scenario names: CSV and Parquet files, or data frames, as Arrow tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from xoff import formatting
from xoff._core import InputError
from xoff.files import memory

MAX_ROWS = 2**24
"""The largest number of rows: as many as a scenario may have flows, and more than it may have nodes and links."""
_MAX_BYTES = 8 * 2**30
ROW_BYTES = 400
"""Memory per row while reading: 350 B measured with 4,000,000 flows, and growing lists are copied."""
_LARGE_FILE = 64 * 2**20


def is_table(value: object) -> bool:
    """Whether a value exports an Arrow stream, as tables of PyArrow, polars, pandas and DuckDB do."""
    return hasattr(value, "__arrow_c_stream__")


def read_table(key: str, source: Any) -> pa.Table:
    """Returns the table at a key of the scenario. Raises `InputError` with the key and the file."""
    try:
        if is_table(source):
            return _plain(key, pa.table(source))
        if not isinstance(source, str | Path):
            raise InputError(f"{key}: a data frame or a file name is needed, not {type(source).__name__}")
        table = _plain(key, _read_file(key, Path(source)))
        if any(pa.types.is_binary(field.type) for field in table.schema):
            # The reader takes text that is not UTF-8 for bytes.
            raise InputError(f"{key}: {source} is not UTF-8 text")
        return table
    except FileNotFoundError:
        raise InputError(f"{key}: no such file: {source}") from None
    except OSError as error:
        raise InputError(f"{key}: {source} cannot be read: {_first_line(error)}") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{key}: {source} is not a valid table: {_first_line(error)}") from None


def _read_file(key: str, path: Path) -> pa.Table:
    if not path.exists():
        raise FileNotFoundError
    if path.is_dir():
        raise InputError(f"{key}: {path} is a directory; a table file is needed")
    if not path.is_file():
        # Reading a pipe or a device might never end.
        raise InputError(f"{key}: {path} is not a regular file")
    if path.suffix == ".parquet":
        import pyarrow.parquet

        # The file is read alone: its path must not be taken for partitions of a data set.
        file = pyarrow.parquet.ParquetFile(path)
        # A small file may repeat a value a thousand million times.
        _check_rows(key, path, file.metadata.num_rows)
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        if (size := sum(group.total_byte_size for group in groups)) > _MAX_BYTES:
            raise InputError(f"{key}: {path} holds {formatting.size(size)}; {formatting.size(_MAX_BYTES)} are possible")
        return file.read()
    if path.suffix in {".csv", ".tsv", ".txt"}:
        import pyarrow.csv

        if path.stat().st_size > _LARGE_FILE:
            with path.open("rb") as lines:
                # A header line, and a last line without an end, are ignored in this count.
                _check_rows(key, path, sum(part.count(b"\n") for part in iter(lambda: lines.read(2**20), b"")))
        delimiter = "\t" if path.suffix == ".tsv" else ","
        return pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            # An empty field is a missing value, also in a column of text.
            convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""]),
        )
    raise InputError(f"{key}: `{path}` has no known ending; allowed are .csv, .tsv and .parquet")


def _check_rows(key: str, path: Path, rows: int) -> None:
    """Refuses more rows than a scenario may have, or than memory allows, before they are read."""
    if rows > MAX_ROWS:
        raise InputError(f"{key}: {path} has {rows:,} rows; {MAX_ROWS:,} are possible")
    if rows * ROW_BYTES > (most := memory.allowed()):
        taken = f"{rows:,} rows, about {formatting.size(rows * ROW_BYTES)}"
        raise InputError(f"{key}: {path} has {taken}; {formatting.size(most)} of memory are left to this process")


def _plain(key: str, table: pa.Table) -> pa.Table:
    """Returns a table with dictionary columns as plain values. Raises `InputError` for two columns of one name."""
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise InputError(f"{key}: duplicate column `{twice[0]}`")
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = field.with_type(field.type.value_type)
            table = table.set_column(index, plain, table.column(index).cast(plain.type))
    return table


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
