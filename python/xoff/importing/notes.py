"""Notes on an import: omitted or changed settings, with lines."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from xoff.importing.source import Source, Words

_SHOWN = 8
# A note that quotes a word may repeat for each word: beyond this number, one note stands for the rest.
_MOST = 100

HEADINGS = ("With effect on results:", "Without effect on results:")
"""The headings of notes that change results, and of other notes."""


@dataclass(slots=True)
class _Note:
    """The place and text of a note, and whether it changes results."""

    file: str
    text: str
    lines: array[int] = field(default_factory=lambda: array("L"))
    matters: bool = False

    def __str__(self) -> str:
        """The note as text: ``flows.txt, lines 3–9: …``."""
        stretches = [str(first) if first == last else f"{first}–{last}" for first, last in _stretches(self.lines)]
        where = ", ".join(stretches[:_SHOWN])
        where += f" and {len(stretches) - _SHOWN:,} more stretches" if len(stretches) > _SHOWN else ""
        many = "lines" if len(set(self.lines)) > 1 else "line"
        return f"{self.file}, {many} {where}: {self.text}" if self.lines else f"{self.file}: {self.text}"


@dataclass(slots=True)
class Notes:
    """Notes with all lines of each. Notes on changed results come first."""

    _found: dict[tuple[str, str], _Note] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(
        self, source: Source, lines: int | Iterable[int], text: str, *, matters: bool = True, many: str = ""
    ) -> None:
        """Adds a note on one or more lines of a file; on the whole file without lines.

        matters: whether results differ from the simulator's, or the file says more than the simulator reads.
        many: for a text with a quoted word, the replacement of the text after `_MOST` notes.
        """
        if many and (source.name, text) not in self._found:
            self._counts[many] += 1
            text = many if self._counts[many] > _MOST else text
        note = self._found.setdefault((source.name, text), _Note(source.name, text))
        note.lines.extend([lines] if isinstance(lines, int) else lines)
        note.matters = note.matters or matters

    def add_rest(self, words: Words, what: str, values: int) -> None:
        """Adds notes on the lines after the last word that the original reads.

        what, values: the elements of the file, and the number of words of each. Lines with as many numbers look like
        further elements, and matter; others are remarks.
        """
        last = words.line
        for line, several in groupby(words.rest(), key=lambda word: word[1]):
            given = [word for word, _ in islice(several, values + 1)]
            is_element = line > last and len(given) == values and all(word[0] in "0123456789" for word in given)
            if is_element:
                text = f"is after the announced number of {what}s: further {what}s are left out, as in the original"
            else:
                text = f"is after the last {what}, and left out, as in the original"
            self.add(words.source, line, text, matters=is_element)

    def _sorted(self) -> list[_Note]:
        """Returns the notes: first notes on changed results, then by file and line."""
        files = list(dict.fromkeys(note.file for note in self._found.values()))
        return sorted(
            self._found.values(),
            key=lambda note: (not note.matters, files.index(note.file), min(note.lines, default=0)),
        )

    def records(self) -> list[dict[str, Any]]:
        """Returns all notes as JSON: file, first and last line of each stretch of lines, message, and ``matters``."""
        return [
            {
                "file": note.file,
                "lines": [list(one) for one in _stretches(note.lines)],
                "message": note.text,
                "matters": note.matters,
            }
            for note in self._sorted()
        ]

    def texts(self) -> tuple[list[str], list[str]]:
        """Returns the notes that change results, and the other notes, as text: ``flows.txt, lines 3–9: …``."""
        found: tuple[list[str], list[str]] = ([], [])
        for note in self._sorted():
            found[0 if note.matters else 1].append(str(note))
        return found


def _stretches(lines: Iterable[int]) -> list[tuple[int, int]]:
    """Returns lines as first and last of each stretch without a gap."""
    found: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return found
