"""Files of other simulators: lines, words and numbers, with errors that name the file and the line.

The files are untrusted: no word of a file becomes a path or a part of a document unchecked.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from xoff import formatting
from xoff._core import InputError

# Flows of the largest scenario, one per line, and as many lines of comments.
MAX_BYTES = 2**30
# Operations of the largest job, one per line.
MAX_JOB_BYTES = 2**28
_MAX_LINES = 2**25
# For files of lines; files of words have lines of any length.
_MAX_LINE = 2**16
_CHUNK = 2**20
_SHOWN = 60
# Words end as in C++, where no other character is a space.
_WORD = re.compile(rb"[^ \t\n\v\f\r]+")
_WHOLE = re.compile(r"[0-9]{1,19}")
# A number of C++ that is not negative; without names such as `inf`, and without hexadecimal digits.
_NUMBER = re.compile(r"(?=.{1,40}$)([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?")

_RATES = {"": 1, "b/s": 1, "bps": 1, "B/s": 8, "Bps": 8} | {
    f"{prefix}{unit}": scale * bits
    for prefix, scale in {"k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}.items()
    for unit, bits in {"bps": 1, "b/s": 1, "Bps": 8, "B/s": 8}.items()
}
_TIMES = {"": 10**12, "s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
# Above any link or run; derived values stay within 64 bits.
_MAX_RATE = 10**13
_MAX_TIME = 281 * 10**12
MAX_NS = _MAX_TIME // 1000
# A message, or a flow, has fewer than 2^32 - 1 whole packets of 1000 B.
MAX_MESSAGE = (2**32 - 1) * 1000 - 1


@dataclass(slots=True)
class Source:
    """A file whose lines and words are read on demand: a list would take many times the size of the file."""

    path: Path
    content: bytes
    """UTF-8 text."""

    @property
    def name(self) -> str:
        """The last part of its path, for messages."""
        return formatting.plain(self.path.name)

    @property
    def last(self) -> int:
        """The number of its last line."""
        return self.content.count(b"\n") + 1

    def words(self) -> Iterator[tuple[str, int]]:
        """Yields the words as a C++ stream reads words, each with the line number."""
        line, at = 1, 0
        for found in _WORD.finditer(self.content):
            line += self.content.count(b"\n", at, found.start())
            at = found.end()
            yield found[0].decode(), line

    def lines(self) -> Iterator[tuple[int, list[str]]]:
        """Yields number and words of each line that has words, except comments, which begin with ``#``."""
        for number, line in self.rows():
            words = [word.decode() for word in line.split()]
            if not words[0].startswith("#"):
                yield number, words

    def rows(self, most: int = _MAX_LINE) -> Iterator[tuple[int, bytes]]:
        """Yields number and content of each line with other characters than spaces.

        most: the largest length of a line in bytes.
        """
        for number, line in enumerate(io.BytesIO(self.content), 1):
            if len(line) > most:
                self.wrong(number, f"is longer than {formatting.size(most)}")
            if not line.isspace():
                yield number, line

    def wrong(self, line: int, why: str) -> NoReturn:
        """Raises `InputError` for a line."""
        raise InputError(f"{self.place(line)}: {why}")

    def place(self, line: int) -> str:
        """Returns the file and a line, as messages begin."""
        return f"{self.path}: line {line}"

    def whole(self, word: str, line: int, what: str, most: int = 2**63 - 1) -> int:
        """Returns a whole number. Raises `InputError` if the word is none, or is above `most`."""
        value = int(word) if _WHOLE.fullmatch(word) else -1
        if not 0 <= value <= most:
            self.wrong(line, f"{what}: {shown(word)} is not a whole number from 0 to {most}")
        return value

    def number(self, word: str, line: int, what: str, most: int | None = None) -> Decimal:
        """Returns a non-negative number. Raises `InputError` if the word is none, or is above `most`."""
        if not _NUMBER.fullmatch(word) or (most is not None and Decimal(word) > most):
            allowed = "of zero or more" if most is None else f"from 0 to {most}"
            self.wrong(line, f"{what}: {shown(word)} is not a number {allowed}")
        return Decimal(word)

    def rate(self, word: str, line: int, what: str) -> int:
        """Returns a rate as ns-3 writes it (``100Gbps``, ``40Gb/s``, ``25000000000.0``), in bits per second."""
        return self._scaled(word, line, what, _RATES, _MAX_RATE, "a rate, such as 100Gbps")

    def time(self, word: str, line: int, what: str) -> int:
        """Returns a time as ns-3 writes it (``1us``, ``0.001ms``; seconds without a unit), in picoseconds."""
        return self._scaled(word, line, what, _TIMES, _MAX_TIME, "a time, such as 1us")

    def _scaled(self, word: str, line: int, what: str, units: dict[str, int], most: int, example: str) -> int:
        digits = re.match("[0-9.]*", word)
        number = digits[0] if digits else ""
        if not _NUMBER.fullmatch(number) or (unit := word[len(number) :]) not in units:
            self.wrong(line, f"{what}: {shown(word)} is not {example}")
        value = round(Decimal(number) * units[unit])
        if value > most:
            self.wrong(line, f"{what}: {shown(word)} is too large")
        return value

    def scaled(self, word: str, line: int, what: str, unit_ps: int) -> int:
        """Returns a number of units of time, in picoseconds."""
        value = round(self.number(word, line, what) * unit_ps)
        if value > _MAX_TIME:
            self.wrong(
                line, f"{what}: {shown(word)} is too late; a simulation ends before {formatting.time(_MAX_TIME)}"
            )
        return value


@dataclass(slots=True)
class Words:
    """The words of a file, taken one after the other."""

    source: Source
    line: int = 1
    """The line of the last taken word."""
    _left: Iterator[tuple[str, int]] = field(init=False)

    def __post_init__(self) -> None:
        self._left = self.source.words()

    def take(self, what: str) -> str:
        """Returns the next word. Raises `InputError` at the end of the file."""
        word, line = next(self._left, ("", 0))
        if not line:
            self.source.wrong(self.source.last, f"the file ends; {what} is expected")
        self.line = line
        return word

    def rest(self) -> Iterator[tuple[str, int]]:
        """Returns an iterator over the remaining words."""
        return self._left

    def whole(self, what: str, most: int = 2**63 - 1) -> int:
        """Takes a whole number."""
        return self.source.whole(self.take(what), self.line, what, most)


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes:
    """Returns the content of a regular file. Raises `InputError` if there is none, or it has more than `most` bytes."""
    try:
        # Opening a pipe without a writer would block.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            found = os.fstat(file.fileno())
            is_regular = stat.S_ISREG(found.st_mode)
            # Reading in pieces allocates no room for the largest file. A file may grow meanwhile.
            held = io.BytesIO()
            while is_regular and found.st_size <= most and held.tell() <= most and (chunk := file.read(_CHUNK)):
                held.write(chunk)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{str(path)!r}: is not the name of a file") from None
    if not is_regular:
        raise InputError(f"{path}: is not a regular file; copy the content into one")
    if max(found.st_size, held.tell()) > most:
        raise InputError(f"{path}: is larger than {formatting.size(most)}")
    return held.getvalue()


def read(path: Path, most: int = MAX_BYTES) -> Source:
    """Returns a file. Raises `InputError` if it is missing, too large, or not text."""
    content = read_bytes(path, most).removeprefix(codecs.BOM_UTF8)
    if content.count(b"\n") >= _MAX_LINES:
        raise InputError(f"{path}: has more than {_MAX_LINES:,} lines")
    if (wrong := _no_text(content)) is not None:
        line = content.count(b"\n", 0, wrong) + 1
        raise InputError(f"{path}: line {line}: is not UTF-8 text")
    return Source(path, content)


def _no_text(content: bytes) -> int | None:
    """Returns the first position that is not UTF-8.

    In pieces, as a text may take four times the memory of its bytes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    for at in range(0, 0 if content.isascii() else len(content), _CHUNK):
        chunk = content[at : at + _CHUNK]
        try:
            decoder.decode(chunk, final=at + _CHUNK >= len(content))
        except UnicodeDecodeError as error:
            # The decoder prepends the incomplete end of the previous piece.
            return at + len(chunk) - len(error.object) + error.start
    return None


def shown(word: str) -> str:
    """Returns a word of a file as messages quote it."""
    return f"`{formatting.plain(word if len(word) <= _SHOWN else word[:_SHOWN] + '…')}`"
