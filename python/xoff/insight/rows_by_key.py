"""Rows of a large table by a pair of numbers, without a Python object for each row."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class RowsByKey:
    """The rows of a table by two columns of integers from 0 to 2³² - 1. Rows with a null are not found.

    A row needs 16 bytes in addition to the table, where a dictionary by pairs needs objects for each pair.
    """

    def __init__(self, table: pa.Table, first: str, second: str) -> None:
        self._table = table
        high, low = (pc.cast(table[name], pa.int64()) for name in (first, second))
        keys = pc.fill_null(pc.add(pc.multiply(high, 1 << 32), low), -1)
        order = pc.sort_indices(keys)
        self._keys, self._rows = _numbers(pc.take(keys, order)), _numbers(order)

    def get(self, first: int | None, second: int | None) -> dict[str, Any] | None:
        """Returns the row of a pair; None without such a row."""
        if first is None or second is None:
            return None
        key = (first << 32) + second
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            return None
        return self.row(self._rows[place])

    def of(self, first: int) -> list[dict[str, Any]]:
        """Returns the rows with a number in the first column, in the order of the second column."""
        places = range(bisect_left(self._keys, first << 32), bisect_left(self._keys, (first + 1) << 32))
        return [self.row(self._rows[place]) for place in places]

    def row(self, number: int) -> dict[str, Any]:
        """Returns the row with this number."""
        return dict(self._table.slice(number, 1).to_pylist()[0])


def _numbers(column: Any) -> array[int]:
    whole = pc.cast(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column, pa.int64())
    found: array[int] = array("q")
    found.frombytes(memoryview(whole.buffers()[1])[8 * whole.offset : 8 * (whole.offset + len(whole))])
    return found
