"""Traces of requests to LLM services, in three formats, which the first line identifies.

- Mooncake: JSON lines with ``timestamp`` (ms), ``input_length``, ``output_length`` and ``hash_ids``, a number for each
  block of 512 input tokens; blocks with equal numbers have equal text up to their ends. Source:
  ``FAST25-release/README.md`` and ``traces`` of kvcache-ai/Mooncake.
- Azure: CSV with ``TIMESTAMP`` (a date), ``ContextTokens`` and ``GeneratedTokens``. Source:
  ``AzureLLMInferenceDataset2023.md`` and ``AzureLLMInferenceDataset2024.md`` of Azure/AzurePublicDataset.
- BurstGPT: CSV with ``Timestamp`` (s), ``Request tokens``, ``Response tokens`` and further columns. A failed request
  has no response tokens. Source: ``README.md`` of HPMLL/BurstGPT.
"""

from __future__ import annotations

import csv
import json
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from xoff.importing.document import listed
from xoff.importing.notes import Notes
from xoff.importing.source import Source, shown

BLOCK = 512
"""Tokens of a block of Mooncake's prefixes."""
MAX_REQUESTS = 2**24
"""The largest number of requests of a trace: as many as a table of a scenario may have rows."""
# Above the longest context of a model.
_MAX_TOKENS = 2**24
# Blocks of the longest input, each with a number of up to 20 characters.
_MAX_RECORD = 2**20
# A cached block takes up to 200 B.
_MAX_BLOCKS = 2**24
# From 1970 to 2096.
_MAX_SECONDS = 4 * 10**9
_NS = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_KEYS = ("timestamp", "input_length", "output_length", "hash_ids")
_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_BURSTGPT = ("Timestamp", "Request tokens", "Response tokens")
# Columns without a meaning for a simulation.
_UNUSED = {"Session ID", "Elapsed time", "Model", "Total tokens", "Log Type"}
_FORMATS = (
    f"JSON lines with {listed(_KEYS)} (Mooncake), or CSV with {listed(_AZURE)} (Azure) or {listed(_BURSTGPT)} "
    "(BurstGPT)"
)
_POINTER = b"version https://git-lfs.github.com/"


@dataclass(slots=True)
class Trace:
    """The requests of a trace in the order of the file, as columns."""

    format: str
    """``Mooncake``, ``Azure`` or ``BurstGPT``."""
    first: int = 0
    """The earliest time of the file in nanoseconds, left-out requests included."""
    times: array[int] = field(default_factory=lambda: array("q"))
    """In nanoseconds, of an origin of the format."""
    inputs: array[int] = field(default_factory=lambda: array("l"))
    """Tokens."""
    outputs: array[int] = field(default_factory=lambda: array("l"))
    """Tokens."""
    left_out: int = 0
    """The number of left-out requests."""
    _blocks: array[int] = field(default_factory=lambda: array("q"))
    _ends: array[int] = field(default_factory=lambda: array("q"))

    def blocks(self, row: int) -> Sequence[int]:
        """Returns the blocks of a request of Mooncake."""
        return self._blocks[self._ends[row - 1] if row else 0 : self._ends[row]]

    def order(self) -> Sequence[int]:
        """Returns the requests in the order of their times; requests of one time keep the order of the file."""
        rows = range(len(self.times))
        is_sorted = all(self.times[row] <= self.times[row + 1] for row in rows[:-1])
        return rows if is_sorted else sorted(rows, key=self.times.__getitem__)


@dataclass(frozen=True, slots=True)
class _Record:
    """A request of a file."""

    line: int
    time: int
    """In nanoseconds."""
    input: int
    output: int
    blocks: Sequence[int] = ()


def read_trace(file: Source, notes: Notes) -> Trace:
    """Returns the requests of a trace. Raises `InputError` with line and column if a row is not valid."""
    rows = file.rows(_MAX_RECORD)
    line, head = next(rows, (1, b""))
    if head.startswith(_POINTER):
        file.wrong(line, "is a pointer of Git LFS and not the trace; fetch the trace by `git lfs pull`")
    records: Iterator[_Record]
    if head.lstrip().startswith(b"{"):
        trace = Trace("Mooncake")
        records = (_mooncake(file, number, text, notes) for number, text in file.rows(_MAX_RECORD))
    else:
        names = [name.strip() for name in _cells(file, line, head)]
        kind = next((one for one in _TABLES if set(one.columns) <= set(names)), None)
        if kind is None:
            file.wrong(line, f"the header {shown(','.join(names))} is of no known trace; known are {_FORMATS}")
        if len(set(names)) < len(names):
            file.wrong(line, "the header has a column twice")
        for name in (name for name in names if name not in {*kind.columns, *_UNUSED}):
            notes.add(file, line, f"the column {shown(name)} is not carried over", many="more columns are left out")
        trace = Trace(kind.format)
        records = _table(file, rows, names, kind)
    _fill(trace, file, records, notes)
    return trace


def _fill(trace: Trace, file: Source, records: Iterator[_Record], notes: Notes) -> None:
    """Adds the records to the trace, except failures."""
    before = -1
    for one in records:
        if one.time < before:
            notes.add(file, one.line, "is earlier than a preceding request; requests are sorted", matters=False)
        trace.first = one.time if before < 0 else min(trace.first, one.time)
        before = max(before, one.time)
        if not one.input or not one.output:
            notes.add(
                file, one.line, f"requests without {'output' if one.input else 'input'} tokens failed, and are left out"
            )
            trace.left_out += 1
            continue
        if len(trace.times) >= MAX_REQUESTS:
            file.wrong(one.line, f"the trace has more than {MAX_REQUESTS:,} requests; cut the file")
        trace.times.append(one.time)
        trace.inputs.append(one.input)
        trace.outputs.append(one.output)
        if trace.format == "Mooncake":
            if len(trace._blocks) + len(one.blocks) > _MAX_BLOCKS:
                file.wrong(one.line, f"hash_ids: the trace has more than {_MAX_BLOCKS:,} blocks; cut the file")
            trace._blocks.extend(one.blocks)
            trace._ends.append(len(trace._blocks))
    if not trace.times:
        file.wrong(file.last, "the trace has no requests")


def _table(file: Source, rows: Iterator[tuple[int, bytes]], names: list[str], kind: _Kind) -> Iterator[_Record]:
    """Yields the requests of a table."""
    columns = kind.columns
    at = [names.index(name) for name in columns]
    for line, text in rows:
        cells = _cells(file, line, text)
        if len(cells) != len(names):
            file.wrong(line, f"{len(cells)} values, and the header has {len(names)}")
        begin, *tokens = (cells[place].strip() for place in at)
        given, made = (
            file.whole(word, line, name, _MAX_TOKENS) for word, name in zip(tokens, columns[1:], strict=True)
        )
        yield _Record(line, kind.time(file, line, columns[0], begin), given, made)


def _cells(file: Source, line: int, content: bytes) -> list[str]:
    """Returns the values of a row of CSV."""
    text = content.decode().strip("\r\n")
    if '"' not in text:
        return text.split(",")
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error:
        file.wrong(line, "is not a row of CSV")


def _date(file: Source, line: int, column: str, word: str) -> int:
    """Returns a date in nanoseconds since 1970. A date without an offset is UTC."""
    found = _DATE.fullmatch(word)
    try:
        seconds = -1
        if found:
            offset = "+00:00" if found[4] in (None, "Z") else found[4]
            moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{offset}")
            seconds = (moment - _EPOCH) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        seconds = -1
    if not found or not 0 <= seconds <= _MAX_SECONDS:
        file.wrong(
            line, f"{column}: {shown(word)} is not a date from 1970 to 2096, such as 2023-11-16 18:15:46.6805900"
        )
    return seconds * _NS + int((found[3] or "").ljust(9, "0"))


def _seconds(file: Source, line: int, column: str, word: str) -> int:
    """Returns a time in seconds as nanoseconds."""
    return _scaled(file, line, column, word, _NS)


def _scaled(file: Source, line: int, column: str, word: str, unit_ns: int) -> int:
    value = file.number(word, line, column)
    if value * unit_ns > _MAX_SECONDS * _NS:
        most = _MAX_SECONDS * _NS // unit_ns
        file.wrong(line, f"{column}: {shown(word)} is too late; allowed are times up to {most}")
    return round(value * unit_ns)


class _Number(str):
    """The text of a number with a fraction or an exponent."""

    __slots__ = ()


def _constant(_: str) -> NoReturn:
    """Refuses ``NaN`` and ``Infinity``."""
    raise ValueError


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns an object. Raises `ValueError` if a key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_DECODER = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_constant, object_pairs_hook=_unique)


def _mooncake(file: Source, line: int, content: bytes, notes: Notes) -> _Record:
    """Returns the request of a line of Mooncake's."""
    try:
        record = _DECODER.decode(content.decode())
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        file.wrong(line, "is not an object of JSON with unique keys")
    for key in _KEYS:
        if key not in record:
            file.wrong(line, f"{key}: missing")
    for key in (key for key in record if key not in _KEYS):
        notes.add(file, line, f"the key {shown(key)} is not carried over", many="more keys are left out")
    time, given, made = (_number(file, line, key, record[key]) for key in _KEYS[:3])
    numbers = record["hash_ids"]
    if not isinstance(numbers, list):
        file.wrong(line, "hash_ids: a list of numbers is needed")
    blocks = [file.whole(_number(file, line, "hash_ids", one), line, "hash_ids") for one in numbers]
    inputs = file.whole(given, line, "input_length", _MAX_TOKENS)
    most = -(-inputs // BLOCK)
    if len(blocks) > most:
        file.wrong(line, f"hash_ids: {len(blocks):,} blocks for {inputs:,} tokens; a block has {BLOCK} tokens")
    if len(blocks) < most:
        notes.add(file, line, "hash_ids has fewer blocks than the input; input after the last block is never cached")
    outputs = file.whole(made, line, "output_length", _MAX_TOKENS)
    return _Record(line, _scaled(file, line, "timestamp", time, 10**6), inputs, outputs, blocks)


def _number(file: Source, line: int, key: str, value: Any) -> str:
    """Returns the text of a number. Raises `InputError` for other values of JSON."""
    if not isinstance(value, _Number):
        word = "a list or an object" if isinstance(value, list | dict) else shown(str(value))
        file.wrong(line, f"{key}: {word} is not a number")
    return str(value)


@dataclass(frozen=True, slots=True)
class _Kind:
    """A format of CSV."""

    format: str
    columns: tuple[str, str, str]
    """Of the time, the input and the output."""
    time: Callable[[Source, int, str, str], int]
    """Returns the nanoseconds of a time in a line and a column."""


_TABLES = _Kind("Azure", _AZURE, _date), _Kind("BurstGPT", _BURSTGPT, _seconds)
