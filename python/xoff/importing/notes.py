"""What an import could not carry over, or did in another way: a message, and the lines that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from xoff.importing.source import Source

_SHOWN = 8
# Messages that quote words may be as many as there are words: beyond these they are said together.
_MOST = 100

HEADINGS = ("Not as there, which changes results:", "Without effect on results:")
"""What stands above the messages that change results, and above the others."""


@dataclass(slots=True)
class _Note:
    """Where a message belongs, and whether results are others because of it."""

    file: str
    text: str
    lines: list[int] = field(default_factory=list)
    matters: bool = False

    def __str__(self) -> str:
        """``flows.txt, lines 3–9: …``."""
        stretches = [str(first) if first == last else f"{first}–{last}" for first, last in _stretches(self.lines)]
        where = ", ".join(stretches[:_SHOWN])
        where += f" and {len(stretches) - _SHOWN:,} more stretches" if len(stretches) > _SHOWN else ""
        many = "lines" if len(self.lines) > 1 else "line"
        return f"{self.file}, {many} {where}: {self.text}" if self.lines else f"{self.file}: {self.text}"


@dataclass(slots=True)
class Notes:
    """Messages; each is said once, with all its lines. Those that change results come first."""

    _found: dict[tuple[str, str], _Note] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def add(
        self, source: Source, lines: int | Iterable[int], text: str, *, matters: bool = True, many: str = ""
    ) -> None:
        """Say something of one or more lines of a file; of the file as a whole if there are none.

        matters: whether results are others than there because of it. many: of a text that quotes a word, what is said
        in its place when so much has been said of other words.
        """
        if many and (source.name, text) not in self._found:
            self._counts[many] += 1
            text = many if self._counts[many] > _MOST else text
        note = self._found.setdefault((source.name, text), _Note(source.name, text))
        note.lines.extend([lines] if isinstance(lines, int) else lines)
        note.matters = note.matters or matters

    def _sorted(self) -> list[_Note]:
        """What changes results, and then the rest; by file, and in a file by line."""
        files = list(dict.fromkeys(note.file for note in self._found.values()))
        return sorted(
            self._found.values(),
            key=lambda note: (not note.matters, files.index(note.file), min(note.lines, default=0)),
        )

    def records(self) -> list[dict[str, Any]]:
        """All of them as JSON: file, the first and last line of each stretch of lines, message, whether it matters."""
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
        """Those that change results, and the others, as text: ``flows.txt, lines 3–9: …``."""
        found: tuple[list[str], list[str]] = ([], [])
        for note in self._sorted():
            found[0 if note.matters else 1].append(str(note))
        return found


def _stretches(lines: Iterable[int]) -> list[tuple[int, int]]:
    """Lines as first and last of each stretch without a gap."""
    found: list[tuple[int, int]] = []
    for line in sorted(set(lines)):
        if found and found[-1][1] == line - 1:
            found[-1] = (found[-1][0], line)
        else:
            found.append((line, line))
    return found
