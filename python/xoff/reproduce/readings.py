"""What experiments share: their runs, each read once, and verdicts on statements of one document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from xoff.results import Result

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Claim:
    """What a document claims, what was measured, and whether it holds."""

    id: str
    published: str
    measured: dict[str, Any]
    holds: bool
    note: str = ""
    """Why, if it does not hold; and what else a reader should know."""
    subject: str = ""
    """What it is judged for, where one statement is judged for several."""


class Readings(Generic[T]):
    """The runs of an experiment by name, each read once. Runs of several seeds have names that end in ``/seed N``.

    read: makes of a result what claims look at.
    """

    def __init__(self, results: Mapping[str, Result], read: Callable[[Result], T]) -> None:
        self._results = results
        self._read = read
        self._known: dict[str, T] = {}
        self.names = [*results, *getattr(results, "failures", {})]
        """All of them, those that violated an audit included."""

    def one(self, name: str) -> T:
        """Return a run. Raises `RunFailed` if it violated an audit, `LookupError` if there is none."""
        if name not in self._known:
            self._known[name] = self._read(self._results[name])
        return self._known[name]

    def starting(self, prefix: str) -> list[T]:
        """Return the runs whose names start so, in the order of their names."""
        return [self.one(name) for name in sorted(self.names) if name.startswith(prefix)]

    def each(self, prefix: str) -> list[T]:
        """Return the runs of all seeds."""
        return self.starting(f"{prefix}/seed ")


@dataclass(frozen=True, slots=True)
class Statements:
    """What experiments of one document say of its claims, by id without the document, such as ``{"B.1": …}``."""

    document: str
    texts: Mapping[str, str]

    @property
    def ids(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {f"{self.document}/{short}": text for short, text in self.texts.items()}

    def claim(self, short: str, holds: bool, measured: dict[str, Any], reason: str = "") -> Claim:
        """Return a verdict; the reason is shown if the claim does not hold."""
        return Claim(f"{self.document}/{short}", self.texts[short], measured, holds, "" if holds else reason)

    def whole(self, short: str, parts: Mapping[str, Claim]) -> Claim:
        """Return the verdict on a claim that holds if all of its parts do."""
        verdicts = {part.id.partition("/")[2]: "holds" if part.holds else "does not hold" for part in parts.values()}
        return self.claim(short, all(part.holds for part in parts.values()), verdicts)
