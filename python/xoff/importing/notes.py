"""What an import could not carry over, or did in another way: a message, and the lines that it is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from xoff.importing.source import Source

_SHOWN = 8


@dataclass(slots=True)
class Notes:
    """Messages in the order in which they came up; each is said once, with all its lines."""

    _lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, source: Source, lines: int | Iterable[int], text: str) -> None:
        """Say something of one or more lines of a file; of the file as a whole if there are none."""
        found = self._lines.setdefault((source.name, text), [])
        found.extend([lines] if isinstance(lines, int) else lines)

    def _sorted(self) -> Iterator[tuple[str, str, list[int]]]:
        """Yield file, message and lines: by file, and in a file by line."""
        files = list(dict.fromkeys(file for file, _ in self._lines))
        order = sorted(self._lines, key=lambda key: (files.index(key[0]), min(self._lines[key], default=0)))
        yield from ((file, text, self._lines[file, text]) for file, text in order)

    def records(self) -> list[dict[str, Any]]:
        """All of them as JSON: file, the first and last line of each stretch of lines, message."""
        return [
            {"file": file, "lines": [list(one) for one in _stretches(lines)], "message": text}
            for file, text, lines in self._sorted()
        ]

    def texts(self) -> list[str]:
        """All of them as text: ``flows.txt, lines 3–9: …``."""
        found = []
        for file, text, lines in self._sorted():
            stretches = [str(first) if first == last else f"{first}–{last}" for first, last in _stretches(lines)]
            where = ", ".join(stretches[:_SHOWN])
            where += f" and {len(stretches) - _SHOWN:,} more stretches" if len(stretches) > _SHOWN else ""
            many = "lines" if len(lines) > 1 else "line"
            found.append(f"{file}, {many} {where}: {text}" if lines else f"{file}: {text}")
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
