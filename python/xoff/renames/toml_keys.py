"""The positions of keys and texts in a TOML document, by which names are replaced while everything else stays.

The text was parsed by ``tomllib`` before: this reader finds positions and does not validate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a dotted key, and its position, quotes included."""

    name: str
    start: int
    end: int
    is_quoted: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """A key with its enclosing tables, and the positions of the texts in its value. A table header has no value."""

    segments: tuple[Segment, ...]
    strings: tuple[tuple[int, int], ...]


def assignments(text: str) -> Iterator[Assignment]:
    """Yields each header and each assignment of a document, also in inline tables. Lists add no part to a key."""
    yield from _Reader(text).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Iterator[Assignment]:
        table: tuple[Segment, ...] = ()
        while self._skip():
            if self._text[self._at] == "[":
                while self._text[self._at] in "[ \t":
                    self._at += 1
                table = self._key()
                yield Assignment(table, ())
                while self._at < len(self._text) and self._text[self._at] in "] \t":
                    self._at += 1
            else:
                yield from self._assignment(table)

    def _assignment(self, table: tuple[Segment, ...]) -> Iterator[Assignment]:
        key = (*table, *self._key())
        self._skip()
        self._at += 1  # The sign `=`.
        found: list[Assignment] = []
        strings: list[tuple[int, int]] = []
        self._value(key, found, strings)
        yield Assignment(key, tuple(strings))
        yield from found

    def _skip(self) -> bool:
        """Skips blanks and comments; returns False at the end of the text."""
        while self._at < len(self._text):
            if self._text[self._at] == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif self._text[self._at] in _BLANK:
                self._at += 1
            else:
                return True
        return False

    def _key(self) -> tuple[Segment, ...]:
        found: list[Segment] = []
        while True:
            self._skip()
            start = self._at
            is_quoted = self._text[start] in "\"'"
            if is_quoted:
                self._string()
                raw = self._text[start : self._at]
                name = json.loads(raw) if raw[0] == '"' else raw[1:-1]
            else:
                while self._text[self._at] not in " \t.=]":
                    self._at += 1
                name = self._text[start : self._at]
            found.append(Segment(name, start, self._at, is_quoted))
            while self._text[self._at] in " \t":
                self._at += 1
            if self._text[self._at] != ".":
                return tuple(found)
            self._at += 1

    def _string(self) -> None:
        """Skips a text in one or three quotes, with escapes in double quotes."""
        quote = self._text[self._at]
        mark = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._at += len(mark)
        while not self._text.startswith(mark, self._at):
            self._at += 2 if quote == '"' and self._text[self._at] == "\\" else 1
        self._at += len(mark)
        # Up to two quotes may precede the three quotes that end a text.
        while len(mark) == 3 and self._text.startswith(quote, self._at):
            self._at += 1

    def _value(self, key: tuple[Segment, ...], found: list[Assignment], strings: list[tuple[int, int]]) -> None:
        self._skip()
        sign = self._text[self._at]
        if sign in "\"'":
            start = self._at
            self._string()
            strings.append((start, self._at))
        elif sign in "[{":
            self._at += 1
            while self._skip() and self._text[self._at] not in "]}":
                if self._text[self._at] == ",":
                    self._at += 1
                elif sign == "[":
                    self._value(key, found, strings)
                else:
                    found += self._assignment(key)
            self._at += 1
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}#\n":
                self._at += 1
