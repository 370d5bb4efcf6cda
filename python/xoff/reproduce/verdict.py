"""What is said of a statement: holds, holds under a named reading, does not hold, or void."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any, Literal, TypeAlias

Verdict: TypeAlias = Literal["holds", "holds under", "does not hold", "void"]
"""``holds under``: not in the main reading, but in a fair one that is named. ``void``: the runs never met the condition
that the statement speaks of, so that there is nothing to judge."""

VERDICTS: tuple[Verdict, ...] = ("holds", "holds under", "does not hold", "void")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of a document, what was measured, and the verdict."""

    id: str
    statement: str
    verdict: Verdict
    measured: dict[str, Any]
    _: KW_ONLY
    reading: str = ""
    """The reading that is judged; with ``holds under`` the one, or those, under which it holds."""
    counted: bool = True
    """Whether the tally counts it: statements of the document alone, and each once, whatever its parts and readings."""
    published: dict[str, Any] = field(default_factory=dict)
    """The numbers that the document gives, by what was measured of the same name."""
    reason: str = ""
    """Why, if it does not hold in the main reading, or is void."""
    subject: str = ""
    """What it is judged for, where one statement is judged for several."""

    @property
    def holds(self) -> bool:
        """Whether it holds in the main reading."""
        return self.verdict == "holds"

    @property
    def words(self) -> str:
        """The verdict as a reader is told it."""
        return f"holds under {self.reading}" if self.verdict == "holds under" else self.verdict

    def as_json(self) -> dict[str, Any]:
        """Return all of it, and `holds`, for ``--json`` and the JSON of a page."""
        return asdict(self) | {"holds": self.holds}


@dataclass(frozen=True, slots=True)
class Part:
    """What runs say of one statement: whether it holds, and what was measured."""

    holds: bool
    measured: dict[str, Any]
    _: KW_ONLY
    published: dict[str, Any] = field(default_factory=dict)
    """The numbers of the document that belong to `measured`, by the same names."""
    reason: str = ""
    """Why it does not hold, where that depends on the runs; otherwise it is one of the reasons in `Judged`."""
    void: str = ""
    """Why there is nothing to judge, if there is nothing: which condition the runs never met."""
    subject: str = ""
    """What it is judged for, where that is not a reading."""

    @property
    def verdict(self) -> Verdict:
        """The verdict, without regard to other readings."""
        return "void" if self.void else "holds" if self.holds else "does not hold"


def whole(parts: Mapping[str, Part], names: Iterable[str] | None = None) -> Part:
    """Return the verdict on a statement that holds if its parts do: those named, or all. Void ones say nothing."""
    chosen = {name: parts[name] for name in (parts if names is None else names)}
    verdicts = {name: part.verdict for name, part in chosen.items()}
    judged = {verdict for verdict in verdicts.values() if verdict != "void"}
    void = "" if judged else "; ".join(dict.fromkeys(part.void for part in chosen.values()))
    return Part(judged == {"holds"}, dict(verdicts), void=void)


def tally(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """Count the statements of the document by verdict, in the order of `VERDICTS`."""
    found = [claim.verdict for claim in claims if claim.counted]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def tally_in_words(claims: Iterable[Claim]) -> str:
    """Such as ``12 statements: 7 hold, 2 hold under a named reading, 3 do not hold``."""
    found = tally(claims)
    words = {
        "holds": ("holds", "hold"),
        "holds under": ("holds under a named reading", "hold under a named reading"),
        "does not hold": ("does not hold", "do not hold"),
        "void": ("is void", "are void"),
    }
    total = sum(found.values())
    parts = [f"{count} {words[verdict][count != 1]}" for verdict, count in found.items() if count]
    return f"{total} statement{'' if total == 1 else 's'}" + (f": {', '.join(parts)}" if parts else "")
