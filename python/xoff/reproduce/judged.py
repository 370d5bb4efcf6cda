"""What an experiment judges: statements of a document, by predicates over runs, with reasons for what does not hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from xoff.reproduce.cases import Cases, choice_of
from xoff.reproduce.runs import RunFailed
from xoff.results import Result

R = TypeVar("R")


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


@dataclass(frozen=True, slots=True)
class Part:
    """What runs say of one statement: whether it holds, and what was measured."""

    holds: bool
    measured: dict[str, Any]
    _: KW_ONLY
    note: str = ""
    """Why it does not hold, where that depends on the runs; otherwise it is one of the reasons in `Judged`."""
    void: str = ""
    """Why there is nothing to judge, if there is nothing."""
    subject: str = ""
    """What it is judged for, where that is not a reading."""

    @property
    def verdict(self) -> str:
        """In words."""
        return self.void or ("holds" if self.holds else "does not hold")


def whole(parts: Mapping[str, Part], names: Iterable[str] | None = None) -> Part:
    """Return the verdict on a statement that holds if its parts do: those named, or all."""
    chosen = {name: parts[name] for name in (parts if names is None else names)}
    holds = bool(chosen) and all(part.holds for part in chosen.values())
    return Part(holds, {name: part.verdict for name, part in chosen.items()})


_Found: TypeAlias = tuple[Mapping[str, Part], str]
"""The verdicts on all parts; or none, and which run violated an audit."""


@dataclass(frozen=True, kw_only=True)
class Judged(Generic[R]):
    """What is claimed, of which runs, and how it is judged.

    document: what ids begin with.
    statements: by id without the document, such as ``{"5.3": …, "5.3-buffer": …}``, in the order of the page. One that
        `judge` leaves out is a whole: it holds if all those do whose ids go on with a hyphen.
    runs: from all results, an open choice and a reading, what `judge` looks at; mostly a kind of `Readings`.
    judge: the verdict on each part. If it looks at a run that violated an audit, nothing holds.
    cases: what is run, with its open choices: each statement is judged with each of those, too. Experiments whose runs
        are of many kinds list them themselves.
    readings: where the document can be read in several ways, each with what it means; every statement is judged in
        each. Ids in the first are plain, in others they end in ``/reading``.
    reasons: why a statement does not hold at full size, by id, or by id and reading: ``{"5.3/voq": …}``.
    quick_reasons: whether the reasons say something of the quick variants, too.
    varied: which statements are judged with the open choices; all if none is named.
    varied_as: what these verdicts are called.
    varied_failure: what is said of a choice with which a run violated an audit.
    """

    document: str
    statements: Mapping[str, str]
    runs: Callable[[Mapping[str, Result], str, str], R]
    judge: Callable[[R], Mapping[str, Part]]
    cases: Cases[Any] | None = None
    readings: Mapping[str, str] = field(default_factory=lambda: {"": ""})
    reasons: Mapping[str, str] = field(default_factory=dict)
    quick_reasons: bool = False
    varied: Collection[str] = ()
    varied_as: str = "with other choices"
    varied_failure: str = "does not hold"

    @property
    def published(self) -> dict[str, str]:
        """Every claim's full id and statement."""
        return {self._id(short, reading): text for short, text in self.statements.items() for reading in self.readings}

    def scenarios(self, quick: bool) -> dict[str, dict[str, Any]]:
        """Return the scenarios of the cases by name."""
        return self.cases.scenarios(quick) if self.cases else {}

    def claims(self, results: Mapping[str, Result], quick: bool) -> list[Claim]:
        """Judge each statement in each reading, and with each open choice that was run."""
        made = {choice_of(name) for name in results}
        choices = [choice for choice in (self.cases.choices if self.cases else ()) if choice in made]
        return [
            claim
            for reading in self.readings
            for claim in self._claims(
                self._parts(results, "", reading),
                {choice: self._parts(results, choice, reading) for choice in choices},
                reading,
                quick,
            )
        ]

    def _claims(self, found: _Found, others: Mapping[str, _Found], reading: str, quick: bool) -> Iterable[Claim]:
        """Make claims of the parts in one reading, and of those with each open choice."""
        parts, failure = found
        subject = f"{reading} ({self.readings[reading]})" if reading else ""
        for short, published in self.statements.items():
            part = _part(parts, short)
            measured = dict(part.measured)
            if others and (short in self.varied or not self.varied):
                measured[self.varied_as] = {
                    choice: self.varied_failure if violated else _part(varied, short).verdict
                    for choice, (varied, violated) in others.items()
                }
            reason = self.reasons.get(f"{short}/{reading}", self.reasons.get(short, ""))
            why = part.note or (reason if self.quick_reasons or not quick else "")
            note = failure or ("" if part.holds else why)
            yield Claim(self._id(short, reading), published, measured, part.holds, note, part.subject or subject)

    def _parts(self, results: Mapping[str, Result], choice: str, reading: str) -> _Found:
        """Judge the runs of a choice; or say which of them violated an audit."""
        try:
            return self.judge(self.runs(results, choice, reading)), ""
        except RunFailed as error:
            return {}, str(error)

    def _id(self, short: str, reading: str) -> str:
        suffix = "" if reading == next(iter(self.readings)) else f"/{reading}"
        return f"{self.document}/{short}{suffix}"


def _part(parts: Mapping[str, Part], short: str) -> Part:
    """Return the verdict on a statement: its own, or that of a whole."""
    return parts[short] if short in parts else whole(parts, [name for name in parts if name.startswith(f"{short}-")])
