"""Tables that a scenario names: CSV and Parquet files, or data frames, as Arrow tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa

from xoff import wording
from xoff._core import InputError

MAX_ROWS = 2**27
"""More rows are no table of nodes, links or flows that a machine could simulate."""
_MAX_BYTES = 8 * 2**30


def is_table(value: object) -> bool:
    """Tell whether a value hands its rows over as an Arrow stream (PyArrow, polars, pandas and DuckDB tables do)."""
    return hasattr(value, "__arrow_c_stream__")


def read_table(key: str, source: Any) -> pa.Table:
    """Return the table that stands at a key of the scenario. Raises `InputError`, which names the key and the file."""
    try:
        if is_table(source):
            return _plain(key, pa.table(source))
        if not isinstance(source, str | Path):
            raise InputError(f"{key}: a data frame or a file name is needed, not {type(source).__name__}")
        table = _plain(key, _read_file(key, Path(source)))
        if any(pa.types.is_binary(field.type) for field in table.schema):
            # What the reader cannot take for text it takes for bytes.
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

        # Read as one file: a name is not to be taken for a data set with partitions.
        file = pyarrow.parquet.ParquetFile(path)
        # A small file may hold a value a thousand million times.
        if file.metadata.num_rows > MAX_ROWS:
            raise InputError(f"{key}: {path} has {file.metadata.num_rows:,} rows; {MAX_ROWS:,} are possible")
        groups = [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
        if (size := sum(group.total_byte_size for group in groups)) > _MAX_BYTES:
            raise InputError(f"{key}: {path} holds {wording.size(size)}; {wording.size(_MAX_BYTES)} are possible")
        return file.read()
    if path.suffix in {".csv", ".tsv", ".txt"}:
        import pyarrow.csv

        delimiter = "\t" if path.suffix == ".tsv" else ","
        return pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            # An empty field is a missing value, also in a column of text.
            convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""]),
        )
    raise InputError(f"{key}: `{path}` has no known ending; allowed are .csv, .tsv and .parquet")


def _plain(key: str, table: pa.Table) -> pa.Table:
    """Refuse columns of the same name, and write categories (dictionaries) as the values they stand for."""
    twice = [name for name, times in Counter(table.column_names).items() if times > 1]
    if twice:
        raise InputError(f"{key}: there are several columns `{twice[0]}`; each may be there once")
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            plain = field.with_type(field.type.value_type)
            table = table.set_column(index, plain, table.column(index).cast(plain.type))
    return table


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
